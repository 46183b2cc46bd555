//! Checks of configuration files that put nothing into force.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::content::{CachedConfiguration, SiteContent};
use super::fault::ConfigurationFault;
use super::files::{FILE_BYTES, FOLDER, FileShelf, Files, ReadingOutcome, SourceFile, too_much};
use super::references::ReferenceSources;
use super::{Commands, Jobs, ObjectTypes, Workflows};

/// The findings of a check.
#[derive(Debug, Default)]
pub struct ConfigurationCheck {
    /// Faults, because of which the files would not be applied.
    pub faults: Vec<ConfigurationFault>,
    /// Unknown parts, which would be ignored.
    pub unknown: Vec<ConfigurationFault>,
    /// The paths of the files that were read, without duplicates.
    pub files: Vec<String>,
}

impl ConfigurationCheck {
    /// Adds the files and findings of a reading.
    pub fn note(&mut self, files: &Files, faults: Vec<ConfigurationFault>, unknown: Vec<ConfigurationFault>) {
        for path in files.iter().filter(|(_, file)| file.is_some()).map(|(path, _)| path) {
            if !self.files.contains(path) {
                self.files.push(path.clone());
            }
        }
        for (list, more) in [(&mut self.faults, faults), (&mut self.unknown, unknown)] {
            // A file that several others include is parsed for each.
            let new: Vec<ConfigurationFault> = more.into_iter().filter(|fault| !list.contains(fault)).collect();
            list.extend(new);
        }
    }
}

/// Checks the files in a folder that contains `SysConfig`, or is it.
///
/// # Errors
/// A file can't be read.
pub fn check_folder(folder: &Path) -> io::Result<ConfigurationCheck> {
    let inner = folder.join(FOLDER.trim_start_matches('/'));
    let base = if inner.is_dir() { inner } else { folder.to_owned() };
    check_sources(&mut |path: &str| file_of(&base, path))
}

/// Checks files. `read` returns their bytes by their paths in the repository.
///
/// # Errors
/// Errors of `read`.
pub fn check_with<E>(read: &mut FileBytesReader<'_, E>) -> Result<ConfigurationCheck, E> {
    check_sources(&mut |path: &str| {
        let bytes = read(path)?;
        Ok(bytes.map(|bytes| {
            let text = if bytes.len() > FILE_BYTES { Err(too_large(bytes.len() as u64)) } else { as_text(&bytes) };
            SourceFile { path: path.to_owned(), text, state: None }
        }))
    })
}

/// A function that returns a file's bytes by its path in the repository; `None` if there is none.
pub type FileBytesReader<'b, E> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, E> + 'b;

/// A function that returns a file by its path in the repository; `None` if there is none.
type SourceFileReader<'s, E> = dyn FnMut(&str) -> Result<Option<SourceFile>, E> + 's;

fn check_sources<E>(source: &mut SourceFileReader<'_, E>) -> Result<ConfigurationCheck, E> {
    let mut checked = ConfigurationCheck::default();
    let types = read::<ObjectTypes, E>(source, &mut checked)?;
    let workflows = read::<Workflows, E>(source, &mut checked)?;
    let commands = read::<Commands, E>(source, &mut checked)?;
    read::<Jobs, E>(source, &mut checked)?;
    let site = read::<SiteContent, E>(source, &mut checked)?;
    let sources = ReferenceSources {
        types: types.as_ref(),
        workflows: workflows.as_ref(),
        commands: commands.as_ref(),
        site: site.as_ref().map(|content| &*content.site),
    };
    checked.note(&Files::new(), sources.faults(), Vec::new());
    Ok(checked)
}

/// Reads the files of one cache and notes their findings. Returns their content, unless a file is
/// faulty or all are missing.
fn read<T: CachedConfiguration, E>(
    source: &mut SourceFileReader<'_, E>,
    checked: &mut ConfigurationCheck,
) -> Result<Option<T>, E> {
    let mut files = Files::new();
    loop {
        let shelf = FileShelf::of(&files);
        match T::read(&shelf) {
            ReadingOutcome::Done(parsed) => {
                checked.note(&files, Vec::new(), parsed.unknown);
                return Ok(files.values().any(Option::is_some).then_some(parsed.value));
            }
            ReadingOutcome::Faulty { faults, unknown } => {
                checked.note(&files, faults, unknown);
                return Ok(None);
            }
            ReadingOutcome::Needs(_) => {}
        }
        let needed = shelf.needed();
        let mut left = needed.len();
        for path in needed {
            if let Some(why) = too_much(&files, left) {
                checked.note(&files, vec![ConfigurationFault::of_file(FOLDER, why)], Vec::new());
                return Ok(None);
            }
            let file = source(&path)?;
            files.insert(path, file.map(Arc::new));
            left -= 1;
        }
    }
}

/// Returns a file of the folder that takes the place of [`FOLDER`].
fn file_of(base: &Path, path: &str) -> io::Result<Option<SourceFile>> {
    // Only paths in that folder are requested.
    let below = path.strip_prefix(FOLDER).unwrap_or_default().trim_start_matches('/');
    let place = base.join(below);
    let size = match std::fs::metadata(&place) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let text = if size > FILE_BYTES as u64 { Err(too_large(size)) } else { as_text(&std::fs::read(&place)?) };
    Ok(Some(SourceFile { path: path.to_owned(), text, state: None }))
}

fn too_large(bytes: u64) -> String {
    format!("it has {bytes} bytes, more than the {FILE_BYTES} that are read")
}

/// Returns the text of a file without a byte order mark, or a clause about why it is no text.
pub fn as_text(bytes: &[u8]) -> Result<Arc<str>, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text).into()),
        Err(error) => Err(format!("it is not a UTF-8 text: byte {} is invalid", error.valid_up_to())),
    }
}
