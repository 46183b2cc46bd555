//! `stet config apply`: brings the configuration files of a repository to the state of a directory,
//! once they have been checked.
//!
//! The files are checked together with the repository's other files, as they would be read
//! afterwards. Nothing is written if there is any fault. Each file becomes a new version of its
//! object, or a new object. In the end the caches are refreshed, so that all files come into force
//! together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{CallError, FormUpload, TransferClient, encoded};
use super::files;
use super::layout::{RECORD, is_part};
use crate::{TransferError, media_type_of};

/// The folder of all configuration.
const FOLDER: &str = "/SysConfig";

/// Levels of folders that are walked.
const MAX_DEPTH: usize = 64;

/// Most files of a directory. A wrong directory, such as a home directory, has more.
const MAX_FILES: usize = 10_000;

/// Most bytes of a file that is checked. Larger ones are written, but can't be read as
/// configuration.
const MAX_CHECKED_BYTES: u64 = 16 << 20;

/// The result of a check of configuration files.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ConfigFindings {
    /// A line for each fault, and for each unknown name that would be ignored.
    pub lines: Vec<String>,
    /// The number of lines that prevent the files from being applied.
    pub faults: usize,
}

/// A function that returns the bytes of a configuration file by its path in the repository; `None`
/// if there is none.
pub type ReadFile<'r> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, String> + 'r;

/// Checks configuration files. This crate does not know their formats.
///
/// # Errors
/// A sentence that says why a file can't be read.
pub type CheckFiles = fn(&mut ReadFile<'_>) -> Result<ConfigFindings, String>;

/// A directory to apply, with the server and the options.
pub struct ConfigDeployment<'a> {
    /// The server, in the chosen database.
    pub client: &'a TransferClient,
    /// The server, in its main database, whose files count where the database has none.
    pub main: &'a TransferClient,
    /// The directory that contains `SysConfig`, or is it.
    pub directory: &'a Path,
    /// Whether nothing is written and the changes are only listed.
    pub dry_run: bool,
    /// The check.
    pub check: CheckFiles,
}

/// A file that differs from what the repository has.
struct DifferingFile {
    path: String,
    file: PathBuf,
    /// The object of the same path; `None` for a new file.
    stored: Option<StoredConfigFile>,
}

/// The object of a configuration file.
struct StoredConfigFile {
    kind: String,
    content_type: Option<String>,
    sha256: Option<String>,
    tag: Option<String>,
}

fn failed(what: &str, why: impl std::fmt::Display) -> TransferError {
    TransferError::Failed(format!("{what}: {why}"))
}

impl ConfigDeployment<'_> {
    /// Checks the files, writes those that differ, and refreshes the caches. Returns a report with
    /// a line for each file.
    ///
    /// # Errors
    /// `Faults` if the files have faults, `Failed` if something can't be read or written.
    pub fn run(&self) -> Result<String, TransferError> {
        let files = configuration_files(self.directory)?;
        let found = (self.check)(&mut |path| self.read(&files, path)).map_err(TransferError::Failed)?;
        let mut told: String = found.lines.iter().map(|line| format!("{line}\n")).collect();
        if found.faults > 0 {
            return Err(TransferError::Faults {
                told,
                message: format!("{}; nothing was written", count(found.faults, "fault", "faults")),
            });
        }
        let (differing, kind) = self.differing(&files)?;
        let same = files.len() - differing.len();
        let unchanged = format!("{} unchanged", count(same, "file", "files"));
        if self.dry_run {
            for one in &differing {
                told += &format!("would be {}: {}\n", one.what(), one.path);
            }
            return Ok(format!("{told}{} would be written, {unchanged}", count(differing.len(), "file", "files")));
        }
        if !differing.is_empty() {
            // Files that the server has may be at fault: the new ones may repair them.
            self.refresh().map_err(|why| failed("nothing was written: the caches can't be refreshed", why))?;
        }
        for (place, one) in differing.iter().enumerate() {
            self.write(one, kind.as_deref()).map_err(|error| {
                let before = count(place, "file was", "files were");
                let message =
                    format!("{}: {error}. {before} written before it; the caches were not refreshed", one.path);
                TransferError::Failed(format!("{told}{message}"))
            })?;
            told += &format!("{}: {}\n", one.what(), one.path);
        }
        let written = count(differing.len(), "file was", "files were");
        let but = |why: &str| format!("{told}{written} written, but {why}");
        if let Some(fault) = self.refresh().map_err(|why| failed(&but("the caches can't be refreshed"), why))? {
            return Err(failed(&but("a cache was not refreshed"), fault));
        }
        Ok(format!("{told}{} written, {unchanged}; the caches are refreshed", count(differing.len(), "file", "files")))
    }

    /// Returns a file as it will be: the directory's, or else the repository's.
    fn read(&self, files: &BTreeMap<String, PathBuf>, path: &str) -> Result<Option<Vec<u8>>, String> {
        if let Some(file) = files.get(path) {
            return files::read(file, MAX_CHECKED_BYTES)
                .map(Some)
                .map_err(|error| format!("{}: {error}", file.display()));
        }
        for client in [self.client, self.main] {
            let mut bytes = Vec::new();
            match client.download(&format!("/v3/object/{}/content?raw=true", encoded(path)), &mut bytes) {
                Ok(()) => return Ok(Some(bytes)),
                Err(error) if error.is("ObjectNotFound") || error.is("InvalidType") => {}
                Err(error) => return Err(format!("{path}: {error}")),
            }
        }
        Ok(None)
    }

    /// Returns the files that differ, and the type of the existing configuration objects.
    fn differing(
        &self,
        files: &BTreeMap<String, PathBuf>,
    ) -> Result<(Vec<DifferingFile>, Option<String>), TransferError> {
        let (mut differing, mut kind) = (Vec::new(), None);
        for (path, file) in files {
            let stored = self.stored(path).map_err(|error| failed(path, error))?;
            let hash = files::hash_of(file).map_err(|error| failed(&file.display().to_string(), error))?;
            if let Some(stored) = &stored {
                kind.get_or_insert_with(|| stored.kind.clone());
            }
            if stored.as_ref().is_none_or(|stored| stored.sha256.as_ref() != Some(&hash)) {
                differing.push(DifferingFile { path: path.clone(), file: file.clone(), stored });
            }
        }
        Ok((differing, kind))
    }

    fn stored(&self, path: &str) -> Result<Option<StoredConfigFile>, CallError> {
        let shown =
            "showAdditionalInfo=true&showVirtualAttributes=true&showAttributes=false&showSystemAttributes=false";
        let (shown, tag) = match self.client.get_tagged(&format!("/v3/object/{}?{shown}", encoded(path))) {
            Err(error) if error.is("ObjectNotFound") => return Ok(None),
            reply => reply?,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(Some(StoredConfigFile {
            kind: text(&shown["type"]).unwrap_or_default(),
            content_type: text(&shown["virtualAttributes"]["contentType"]),
            sha256: text(&shown["additionalInfo"]["sha256"]),
            tag,
        }))
    }

    /// Writes a file as a new version of its object, unless that has changed since it was compared,
    /// or as a new object of type `kind`.
    fn write(&self, one: &DifferingFile, kind: Option<&str>) -> Result<(), CallError> {
        let (folder, name) = one.path.rsplit_once('/').unwrap_or((FOLDER, &one.path));
        let mut options = json!({ "name": name, "folderPath": folder });
        let content_type = match &one.stored {
            Some(stored) => {
                options["createMode"] = "NEW_VERSION".into();
                stored.content_type.as_deref()
            }
            None => {
                if let Some(kind) = kind {
                    options["type"] = kind.into();
                }
                None
            }
        };
        let content_type = content_type.or_else(|| media_type_of(name)).unwrap_or("text/xml");
        let tag = one.stored.as_ref().and_then(|stored| stored.tag.as_deref());
        let upload = FormUpload { file: &one.file, content_type };
        self.client.form_if("/v3/object/create", &options, Some(upload), tag).map(drop)
    }

    /// Refreshes the caches. This happens before anything is written, too, so that a caller without
    /// the right learns it in time. Returns the first fault of a file that keeps a cache from being
    /// refreshed.
    fn refresh(&self) -> Result<Option<String>, CallError> {
        let replies =
            [self.main.get("/v3/conf/cache/refresh"), self.main.post("/v3/conf/xmlfiles/clearcache", &json!({}))];
        for reply in replies {
            let reply = reply?;
            let errors = reply["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(first) = errors.first() {
                let text = |name: &str| first[name].as_str().unwrap_or_default().to_owned();
                let (cache, path, message) = (text("cache"), text("path"), text("message"));
                return Ok(Some(format!("cache `{cache}`: {path}: {message}")));
            }
        }
        Ok(None)
    }
}

impl DifferingFile {
    fn what(&self) -> &'static str {
        if self.stored.is_some() { "changed" } else { "new" }
    }
}

/// Formats a number of things, such as `1 file`.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns the configuration files in a directory by their paths in the repository. The directory
/// is `SysConfig` or contains it.
///
/// # Errors
/// `Failed` when there are no files or too many, or when one can't be read.
pub fn configuration_files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, TransferError> {
    let inner = directory.join(FOLDER.trim_start_matches('/'));
    let base = if inner.is_dir() { inner } else { directory.to_owned() };
    let mut found = BTreeMap::new();
    collect(&base, FOLDER, 0, &mut found)?;
    if found.is_empty() {
        // For a wrong directory, a report without faults or differences would be false comfort.
        return Err(failed(&base.display().to_string(), "there is no configuration file"));
    }
    Ok(found)
}

/// Finds the regular files below a directory. Records of an export and names that begin with a dot
/// are skipped.
fn collect(
    directory: &Path,
    at: &str,
    depth: usize,
    found: &mut BTreeMap<String, PathBuf>,
) -> Result<(), TransferError> {
    let wrong = |error: &dyn std::fmt::Display| failed(&directory.display().to_string(), error);
    if depth > MAX_DEPTH {
        return Err(wrong(&"it is nested too deeply"));
    }
    for entry in std::fs::read_dir(directory).map_err(|error| wrong(&error))? {
        let entry = entry.map_err(|error| wrong(&error))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(failed(&entry.path().display().to_string(), "its name is not UTF-8"));
        };
        if name.starts_with('.') || name.ends_with(RECORD) || is_part(name) {
            continue;
        }
        let (kind, path) = (entry.file_type().map_err(|error| wrong(&error))?, format!("{at}/{name}"));
        if kind.is_dir() {
            collect(&entry.path(), &path, depth + 1, found)?;
        } else if kind.is_file() {
            found.insert(path, entry.path());
        } else {
            return Err(failed(&entry.path().display().to_string(), "it is neither a file nor a folder"));
        }
        if found.len() > MAX_FILES {
            return Err(wrong(&format!("there are more than {MAX_FILES} files below it: is it the right directory?")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_directory_are_found_by_their_paths_in_the_repository() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("Site")).expect("it can be made");
        for name in ["Site/a.xml", "Site/a.xml.record.json", ".git", ".stet-a.part", "b.xml"] {
            std::fs::write(at(name), "<a/>").expect("it can be written");
        }
        let collected = || {
            let mut found = BTreeMap::new();
            collect(directory.path(), FOLDER, 0, &mut found).map(|()| found.into_keys().collect::<Vec<_>>())
        };
        assert_eq!(collected(), Ok(vec!["/SysConfig/Site/a.xml".to_owned(), "/SysConfig/b.xml".to_owned()]));
        std::os::unix::fs::symlink("b.xml", at("link.xml")).expect("it can be made");
        assert!(collected().is_err(), "a link that is passed over would not be applied, unsaid");
    }
}
