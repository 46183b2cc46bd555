//! A configuration file with the texts of its included files. A DOCTYPE declares entities as other
//! files, for example `<!ENTITY channels SYSTEM "channels.xml">`. References such as `&channels;`
//! are replaced by these files' root elements. Only files from `/SysConfig` are included, within
//! the limits below, so that circular includes end as faults.

use std::ops::Range;
use std::sync::Arc;

use stet_xml::{Inclusions, Location, XmlError, inclusions};

use super::fault::{ConfigurationFault, place_in};
use super::files::{
    FILE_BYTES, FileLookup, FileShelf, ReadingOutcome, SourceFile, WHOLE_BYTES, limits, resolve_reference,
};

/// The largest depth of nested includes.
const MOST_DEEP: usize = 8;

/// The largest number of includes in total, including those of missing files.
const MOST_INCLUSIONS: usize = 500;

/// The largest number of bytes that are read for one file with its includes. A file counts each
/// time it is included.
const MOST_READ: usize = 4 * WHOLE_BYTES;

/// A file with its includes, and the origin of each part.
#[derive(Debug, Clone, Default)]
pub struct WholeFile {
    /// The text.
    pub text: String,
    pieces: Vec<FilePiece>,
    files: Vec<Arc<SourceFile>>,
}

/// A run of bytes from one file.
#[derive(Debug, Clone, Copy)]
struct FilePiece {
    /// The start in the whole text.
    at: usize,
    /// The index of the file in the list.
    file: usize,
    /// The start in the file.
    from: usize,
}

impl WholeFile {
    /// Returns a text without includes, for compiled-in texts.
    pub fn of_text(path: &str, text: &str) -> WholeFile {
        let file = SourceFile { path: path.to_owned(), text: Ok(text.into()), state: None };
        WholeFile {
            text: text.to_owned(),
            pieces: vec![FilePiece { at: 0, file: 0, from: 0 }],
            files: vec![Arc::new(file)],
        }
    }

    /// Returns the name of the root element, if the text is a document. It may contain references
    /// to entities that its DOCTYPE declares as files, and no others, because their expansion is
    /// unknown.
    ///
    /// # Errors
    /// The fault because of which it is no document.
    pub fn root(&self) -> Result<String, ConfigurationFault> {
        let limits = limits(WHOLE_BYTES);
        let at = |error: &XmlError| match error.location() {
            Location::Byte(at) => *at,
            Location::Path(_) => 0,
        };
        let found = inclusions(&self.text, &limits).map_err(|error| self.fault(at(&error), clause(&error)))?;
        let mut plain = self.text.clone().into_bytes();
        for (place, _) in found.gaps().filter(|(_, file)| file.is_some()) {
            plain[place].fill(b' ');
        }
        // References were replaced as a whole by ASCII, so the text is still UTF-8.
        let plain = String::from_utf8(plain).unwrap_or_default();
        stet_xml::check(&plain, &limits).map_err(|error| self.fault(at(&error), clause(&error)))
    }

    /// Returns a fault at a byte of the whole text, located in the file that the byte comes from.
    pub fn fault(&self, at: usize, fault: impl Into<String>) -> ConfigurationFault {
        let place = self.pieces.partition_point(|piece| piece.at <= at);
        let Some(piece) = place.checked_sub(1).and_then(|place| self.pieces.get(place)) else {
            return ConfigurationFault::of_file("", fault);
        };
        let file = &self.files[piece.file];
        let text = file.text.as_deref().unwrap_or_default();
        let (line, column) = place_in(text, piece.from + (at - piece.at));
        ConfigurationFault { path: file.path.clone(), line, column, fault: fault.into() }
    }

    fn push(&mut self, file: usize, text: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(FilePiece { at: self.text.len(), file, from: range.start });
            self.text.push_str(&text[range]);
        }
    }
}

/// Reads a file with its includes. Returns `None` if the file does not exist.
pub fn whole(path: &str, shelf: &FileShelf<'_>) -> ReadingOutcome<Option<WholeFile>> {
    let file = match shelf.ask(path) {
        FileLookup::Here(file) => file,
        FileLookup::Missing => return ReadingOutcome::Done(None),
        FileLookup::Unknown => return ReadingOutcome::Needs(Default::default()),
    };
    let mut taking = FileInclusion {
        shelf,
        whole: WholeFile::default(),
        open: Vec::new(),
        faults: Vec::new(),
        references: 0,
        read: 0,
        lacks: false,
        is_too_much: false,
    };
    taking.take(file, None);
    // The faults are reported when all files are there, so that they are complete.
    if taking.lacks && !taking.is_too_much {
        return ReadingOutcome::Needs(Default::default());
    }
    if taking.faults.is_empty() {
        return ReadingOutcome::Done(Some(taking.whole));
    }
    ReadingOutcome::Faulty { faults: taking.faults, unknown: Vec::new() }
}

struct FileInclusion<'s, 'f> {
    shelf: &'s FileShelf<'f>,
    whole: WholeFile,
    /// The paths of the files that are being included, from the outermost one.
    open: Vec<String>,
    faults: Vec<ConfigurationFault>,
    /// The number of references so far.
    references: usize,
    /// The number of bytes read so far. A file counts with its full size each time it is included,
    /// although only its root element is.
    read: usize,
    /// Whether a file has not been looked up yet.
    lacks: bool,
    /// Whether a limit is exceeded, which ends the search for files.
    is_too_much: bool,
}

impl FileInclusion<'_, '_> {
    /// Appends a file. For an included one, `by` makes a fault at the reference to it.
    fn take(&mut self, file: &Arc<SourceFile>, by: Option<&dyn Fn(String) -> ConfigurationFault>) {
        let refused = |fault: String| match by {
            Some(by) => by(format!("`{}` can't be included: {fault}", file.path)),
            None => ConfigurationFault::of_file(&file.path, fault),
        };
        let text = match &file.text {
            Ok(text) => text.clone(),
            Err(why) => return self.faults.push(refused(why.clone())),
        };
        if self.open.contains(&file.path) {
            return self.faults.push(refused("it includes itself, directly or through other files".to_owned()));
        }
        if self.open.len() >= MOST_DEEP {
            return self.faults.push(refused(format!("files may include each other at most {MOST_DEEP} levels deep")));
        }
        self.read = self.read.saturating_add(text.len());
        if self.read > MOST_READ {
            self.is_too_much = true;
            return self.faults.push(refused(format!("at most {MOST_READ} bytes may be read for one file")));
        }
        let found = match inclusions(&text, &limits(FILE_BYTES)) {
            Ok(found) => found,
            Err(error) => return self.faults.push(fault_of(&file.path, &text, &error)),
        };
        let number = self.whole.files.len();
        self.whole.files.push(file.clone());
        self.open.push(file.path.clone());
        self.put(number, file, &text, &found, by.is_some());
        self.open.pop();
    }

    /// Appends the text of a file; of an included one, only its root element.
    fn put(&mut self, number: usize, file: &SourceFile, text: &str, found: &Inclusions, is_taken_in: bool) {
        let begin = if is_taken_in { found.root.start } else { 0 };
        let end = if is_taken_in { found.root.end } else { text.len() };
        let mut from = begin;
        for (place, entity) in found.gaps() {
            if place.start < from || place.end > end {
                continue;
            }
            self.whole.push(number, text, from..place.start);
            from = place.end;
            let Some(reference) = entity else { continue };
            // Located only for a fault, because finding a line takes time in proportion to the
            // text.
            let at = |fault: String| {
                let (line, column) = place_in(text, place.start);
                ConfigurationFault { path: file.path.clone(), line, column, fault }
            };
            self.references += 1;
            if self.references > MOST_INCLUSIONS {
                self.is_too_much = true;
                return self.faults.push(at(format!("at most {MOST_INCLUSIONS} files may be included")));
            }
            let Some(path) = resolve_reference(&file.path, reference) else {
                let fault = format!("`{reference}` is not included, because it is not in {}", super::files::FOLDER);
                self.faults.push(at(fault));
                continue;
            };
            match self.shelf.ask(&path) {
                FileLookup::Here(other) => {
                    let other = other.clone();
                    self.take(&other, Some(&at));
                }
                FileLookup::Missing => self.faults.push(at(format!("`{path}` is to be included, but does not exist"))),
                FileLookup::Unknown => self.lacks = true,
            }
            if self.whole.text.len() > WHOLE_BYTES || self.faults.len() >= super::fault::MOST_FAULTS {
                self.is_too_much = true;
                let fault = format!("the file has more than {WHOLE_BYTES} bytes, counting the included files");
                if self.whole.text.len() > WHOLE_BYTES && self.faults.is_empty() {
                    self.faults.push(at(fault));
                }
                return;
            }
        }
        self.whole.push(number, text, from..end);
    }
}

/// Returns the fault of a text that is no document.
pub(super) fn fault_of(path: &str, text: &str, error: &XmlError) -> ConfigurationFault {
    let at = match error.location() {
        Location::Byte(at) => *at,
        Location::Path(_) => 0,
    };
    let (line, column) = place_in(text, at);
    ConfigurationFault { path: path.to_owned(), line, column, fault: clause(error) }
}

/// Returns an error's message without its position, which faults give as line and column.
pub(super) fn clause(error: &XmlError) -> String {
    let sentence = error.to_string();
    let fault = sentence.split_once(" of the XML text, ").map_or(&*sentence, |(_, fault)| fault);
    fault.trim_end_matches('.').to_owned()
}
