//! Configuration files, wherever they come from: what is read of them says which it needs, and is
//! read again when they are there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stet_actors::id::Loid;
use stet_xml::Limits;

use super::fault::Fault;

/// The folder that all configuration lies in.
pub const FOLDER: &str = "/SysConfig";

/// Bytes that one file may have.
pub const FILE_BYTES: usize = 4 << 20;

/// Bytes that a file may have with all that it takes in.
pub const WHOLE_BYTES: usize = 8 << 20;

/// Files that one reading may need.
const MOST_FILES: usize = 1000;

/// Bytes that all files of one reading may have.
pub const MOST_BYTES: usize = 32 << 20;

/// The bounds on one file with `max_bytes`. Namespaces and attributes are few, for readers look
/// each of them up among the others.
pub const fn limits(max_bytes: usize) -> Limits {
    Limits { max_depth: 64, max_bytes, max_attributes: 256, max_namespaces: 64, ..Limits::UNBOUNDED }
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it was found, in the repository.
    pub path: String,
    /// Its text, or a clause that says why it has none that can be read.
    pub text: Result<Arc<str>, String>,
    /// Which state of which object it was; `None` where it is no object's.
    pub state: Option<State>,
}

/// A state of an object's content. Each change of the content makes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The object.
    pub object: Loid,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
}

/// Files by the paths they were asked for under; `None` for one that there is not.
pub type Files = BTreeMap<String, Option<Arc<SourceFile>>>;

/// Says, as a clause, that files are too much for one reading, if they and `more` of them are.
pub fn too_much(files: &Files, more: usize) -> Option<String> {
    if files.len() + more > MOST_FILES {
        return Some(format!("more than {MOST_FILES} files are needed"));
    }
    let bytes = |file: &Arc<SourceFile>| file.text.as_ref().map_or(0, |text| text.len());
    let bytes: usize = files.values().flatten().map(bytes).sum();
    (bytes > MOST_BYTES).then(|| format!("files of more than {MOST_BYTES} bytes are needed"))
}

/// What a reading has of files, and which it lacks.
#[derive(Debug)]
pub struct Shelf<'f> {
    files: &'f Files,
    needed: RefCell<BTreeSet<String>>,
}

/// A file that was asked for.
#[derive(Debug)]
pub enum Asked<'f> {
    /// It is here.
    Here(&'f Arc<SourceFile>),
    /// There is none.
    Missing,
    /// Nobody has looked yet.
    Unknown,
}

impl<'f> Shelf<'f> {
    /// The files that are known.
    pub fn of(files: &'f Files) -> Shelf<'f> {
        Shelf { files, needed: RefCell::default() }
    }

    /// A file; one that nobody has looked for is noted as needed.
    pub fn ask(&self, path: &str) -> Asked<'f> {
        match self.files.get(path) {
            Some(Some(file)) => Asked::Here(file),
            Some(None) => Asked::Missing,
            None => {
                self.needed.borrow_mut().insert(path.to_owned());
                Asked::Unknown
            }
        }
    }

    /// The paths of what was asked for and not known.
    pub fn needed(self) -> BTreeSet<String> {
        self.needed.into_inner()
    }
}

/// What a reading comes to.
#[derive(Debug)]
pub enum Read<T> {
    /// What the files say.
    Done(T),
    /// Further files are needed.
    Needs(BTreeSet<String>),
    /// They can't be taken over.
    Faulty {
        /// What is wrong in them.
        faults: Vec<Fault>,
        /// What in them is not known, and would be passed over.
        unknown: Vec<Fault>,
    },
}

/// The path of a file that another one refers to: absolute, or relative to the folder of that;
/// `None` for what does not lie in [`FOLDER`].
pub fn referred(from: &str, reference: &str) -> Option<String> {
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

/// Whether a path leads into [`FOLDER`].
pub fn is_configuration(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
        && !path.split('/').any(|step| step == "." || step == "..")
}
