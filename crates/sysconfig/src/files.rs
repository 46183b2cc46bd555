//! Configuration files from any source. A reading states which files it needs, and is repeated with
//! them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stet_domain::id::Loid;
use stet_xml::Limits;

use super::fault::ConfigurationFault;

/// The folder that contains all configuration.
pub const FOLDER: &str = "/SysConfig";

/// The largest size of one file, in bytes.
pub const FILE_BYTES: usize = 4 << 20;

/// The largest size of a file with its includes, in bytes.
pub const WHOLE_BYTES: usize = 8 << 20;

/// The largest number of files that one reading may need.
const MOST_FILES: usize = 1000;

/// The largest size of all files of one reading, in bytes.
pub const MOST_BYTES: usize = 32 << 20;

/// Returns the limits of one file with `max_bytes`. Namespaces and attributes are few, because
/// parsers compare each with the others.
pub const fn limits(max_bytes: usize) -> Limits {
    Limits { max_depth: 64, max_bytes, max_attributes: 256, max_namespaces: 64, ..Limits::UNBOUNDED }
}

/// A configuration file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path of the file in the repository.
    pub path: String,
    /// Text of the file, or a clause about why it has none.
    pub text: Result<Arc<str>, String>,
    /// Object and content of the file; `None` if the file is not from an object.
    pub state: Option<ContentState>,
}

/// A state of an object's content, which changes with the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentState {
    /// The object.
    pub object: Loid,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
}

/// Files by the paths by which they were requested; `None` for one that does not exist.
pub type Files = BTreeMap<String, Option<Arc<SourceFile>>>;

/// Returns a clause if files, together with `more` needed ones, exceed the limits of one reading.
pub fn too_much(files: &Files, more: usize) -> Option<String> {
    if files.len() + more > MOST_FILES {
        return Some(format!("more than {MOST_FILES} files are needed"));
    }
    let bytes = |file: &Arc<SourceFile>| file.text.as_ref().map_or(0, |text| text.len());
    let bytes: usize = files.values().flatten().map(bytes).sum();
    (bytes > MOST_BYTES).then(|| format!("files of more than {MOST_BYTES} bytes are needed"))
}

/// The files that a reading has, and the paths that it lacks.
#[derive(Debug)]
pub struct FileShelf<'f> {
    files: &'f Files,
    needed: RefCell<BTreeSet<String>>,
}

/// The answer to a request for a file.
#[derive(Debug)]
pub enum FileLookup<'f> {
    /// A file that exists.
    Here(&'f Arc<SourceFile>),
    /// A file that does not exist.
    Missing,
    /// A file that has not been looked up yet.
    Unknown,
}

impl<'f> FileShelf<'f> {
    /// Creates a shelf of known files.
    pub fn of(files: &'f Files) -> FileShelf<'f> {
        FileShelf { files, needed: RefCell::default() }
    }

    /// Returns a file. One that has not been looked up is noted as needed.
    pub fn ask(&self, path: &str) -> FileLookup<'f> {
        match self.files.get(path) {
            Some(Some(file)) => FileLookup::Here(file),
            Some(None) => FileLookup::Missing,
            None => {
                self.needed.borrow_mut().insert(path.to_owned());
                FileLookup::Unknown
            }
        }
    }

    /// Returns the requested paths that have not been looked up.
    pub fn needed(self) -> BTreeSet<String> {
        self.needed.into_inner()
    }
}

/// The result of a reading.
#[derive(Debug)]
pub enum ReadingOutcome<T> {
    /// The value of the files.
    Done(T),
    /// Further files are needed.
    Needs(BTreeSet<String>),
    /// Files that can't be applied.
    Faulty {
        /// Faults in the files.
        faults: Vec<ConfigurationFault>,
        /// Unknown parts, which would be ignored.
        unknown: Vec<ConfigurationFault>,
    },
}

/// Returns the path of a file to which another one refers: absolute, or relative to the folder of
/// that file. Returns `None` for a path outside of [`FOLDER`].
pub fn resolve_reference(from: &str, reference: &str) -> Option<String> {
    let mut steps: Vec<&str> = match reference.starts_with('/') {
        true => Vec::new(),
        false => from.split('/').filter(|step| !step.is_empty()).collect(),
    };
    if !reference.starts_with('/') {
        steps.pop();
    }
    for step in reference.split('/').filter(|step| !step.is_empty() && *step != ".") {
        if step == ".." {
            steps.pop()?;
        } else {
            steps.push(step);
        }
    }
    let path = format!("/{}", steps.join("/"));
    is_configuration(&path).then_some(path)
}

/// Reports whether a path leads into [`FOLDER`].
pub fn is_configuration(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
        && !path.split('/').any(|step| step == "." || step == "..")
}
