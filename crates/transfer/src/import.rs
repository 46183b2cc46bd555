//! `stet import`: creates the objects of a tree of files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::client::{CallError, FormUpload, TransferClient, encoded};
use super::files::hash_of;
use super::layout::{MEMBERS, RECORD, below};
use super::places::PlaceIndex;
use super::plain::PlainFileImport;
use super::progress::{TransferOutcome, TransferProgress};
use super::record::ExportRecord;
use super::work::TransferQueue;

/// Levels of folders and bundles that are walked: as many as a path can have.
const MAX_DEPTH: usize = 200;

/// An import of a tree of files into a folder of a server.
pub struct Import<'i> {
    client: &'i TransferClient,
    progress: &'i TransferProgress,
    /// The places of the records. Of two records of one object, the one that was changed later
    /// counts; if they are equally old, the file that was written later.
    places: PlaceIndex<(u64, SystemTime)>,
    /// Files without a record.
    plain: PlainFileImport<'i>,
}

/// An object to be created.
struct ImportTask {
    /// The object's record file; a plain file has none.
    record: Option<PathBuf>,
    /// The file with the content, if there is any.
    content: Option<PathBuf>,
    /// The path of the target folder or bundle.
    into: String,
    /// The object's name, if it is a plain file.
    name: String,
}

/// The objects found, by level: first those in folders, then the members of bundles, then those of
/// bundles in bundles. The objects of one inner list belong to one bundle and are created in order.
type ImportLevels = BTreeMap<usize, Vec<Vec<ImportTask>>>;

impl<'i> Import<'i> {
    /// Creates an import into a folder of that server. With `update`, newer versions of wire items
    /// become new versions of their objects.
    pub fn new(client: &'i TransferClient, progress: &'i TransferProgress, into: &'i str, update: bool) -> Import<'i> {
        Import {
            client,
            progress,
            places: PlaceIndex::default(),
            plain: PlainFileImport::new(client, progress, into, update),
        }
    }

    /// Imports a directory into that folder, on the given number of threads.
    pub fn run(&self, directory: &Path, into: &str, threads: usize) {
        self.note_places(directory, 0);
        let mut found = ImportLevels::new();
        self.walk(directory, into, 0, &mut found);
        for (_, groups) in found {
            TransferQueue::all(groups, threads, |jobs, _| self.make_all(jobs));
        }
    }

    fn fail(&self, what: &Path, why: &dyn std::fmt::Display) {
        self.progress.note(TransferOutcome::Failed, &what.display().to_string(), Some(why));
    }

    /// Notes the place of each object's record before any object is created. Unreadable files are
    /// reported by the walk.
    fn note_places(&self, directory: &Path, depth: usize) {
        let Ok(entries) = entries(directory) else { return };
        for (name, kind) in &entries {
            let (path, Some(name)) = (directory.join(name), name.to_str()) else { continue };
            if *kind == DirectoryEntryKind::Directory && depth < MAX_DEPTH && !is_passed_over(name, &entries) {
                self.note_places(&path, depth + 1);
            }
            if *kind == DirectoryEntryKind::File
                && name.ends_with(RECORD)
                && let Ok(record) = ExportRecord::read(&path)
                && let (Ok(uuid), Ok(there)) = (record.uuid.parse(), std::fs::metadata(&path))
            {
                let written = there.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                self.places.note(uuid, (record.modified, written), &path, &there);
            }
        }
    }

    /// Reports whether another record of the object counts, and prints a note if so.
    fn is_older(&self, record: &ExportRecord, file: &Path) -> bool {
        let older = record.uuid.parse().is_ok_and(|uuid| self.places.is_elsewhere(uuid, file));
        if older {
            let why = "the same object has a newer record elsewhere in the tree";
            self.progress.note(TransferOutcome::LeftOut, &file.display().to_string(), Some(&why));
        }
        older
    }

    /// Collects the objects of a directory, and creates the folders on the way.
    fn walk(&self, directory: &Path, into: &str, depth: usize, found: &mut ImportLevels) {
        let entries = match entries(directory) {
            Ok(entries) => entries,
            Err(error) => return self.fail(directory, &error),
        };
        if depth > MAX_DEPTH {
            return self.fail(directory, &"it is nested too deeply");
        }
        for (name, kind) in &entries {
            let path = directory.join(name);
            let Some(name) = name.to_str() else {
                self.fail(&path, &"its name is not UTF-8");
                continue;
            };
            let on_disk = name.strip_suffix(RECORD);
            let has_record = |name: &str| has_record(name, &entries);
            match (kind, on_disk) {
                (DirectoryEntryKind::Other, Some(_)) => self.fail(&path, &"it is not a regular file"),
                (DirectoryEntryKind::File, Some(on_disk)) => {
                    self.walk_recorded(directory, on_disk, into, depth, &entries, found)
                }
                _ if has_record(name) => {}
                (DirectoryEntryKind::Directory, _) if name.strip_suffix(MEMBERS).is_some_and(has_record) => {}
                _ if is_passed_over(name, &entries) => {}
                (DirectoryEntryKind::Directory, _) => {
                    let made = self.client.post("/v3/folder", &json!({ "path": below(into, name) }));
                    match made {
                        Ok(_) => self.walk(&path, &below(into, name), depth + 1, found),
                        Err(error) => self.fail(&path, &error),
                    }
                }
                (DirectoryEntryKind::File, None) => {
                    let (into, name) = (into.to_owned(), name.to_owned());
                    found.entry(0).or_default().push(vec![ImportTask {
                        record: None,
                        content: Some(path),
                        into,
                        name,
                    }]);
                }
                (DirectoryEntryKind::Other, _) => {
                    self.progress.note(
                        TransferOutcome::LeftOut,
                        &path.display().to_string(),
                        Some(&"it is neither a file nor a folder"),
                    );
                }
            }
        }
    }

    /// Walks the files that belong to a record: its content, its folder or its members.
    fn walk_recorded(
        &self,
        directory: &Path,
        on_disk: &str,
        into: &str,
        depth: usize,
        entries: &BTreeMap<OsString, DirectoryEntryKind>,
        found: &mut ImportLevels,
    ) {
        let file = directory.join(format!("{on_disk}{RECORD}"));
        let record = match ExportRecord::read(&file) {
            Ok(record) => record,
            Err(why) => return self.fail(&file, &why),
        };
        let kind = |name: &str| entries.get(&OsString::from(name)).copied();
        let older = self.is_older(&record, &file);
        if record.is_folder() {
            // The folder of an older record may contain objects that are nowhere else. They are
            // imported to that place.
            let job = ImportTask { record: Some(file), content: None, into: into.to_owned(), name: String::new() };
            if (older || self.make(&job)) && kind(on_disk) == Some(DirectoryEntryKind::Directory) {
                self.walk(&directory.join(on_disk), &below(into, &record.name), depth + 1, found);
            }
            return;
        }
        if !older {
            let content = record.content.is_some().then(|| directory.join(on_disk));
            let job = ImportTask { record: Some(file), content, into: into.to_owned(), name: String::new() };
            found.entry(0).or_default().push(vec![job]);
        }
        let members = format!("{on_disk}{MEMBERS}");
        if kind(&members) == Some(DirectoryEntryKind::Directory) {
            let into = (!older).then(|| below(into, &record.name));
            self.walk_bundle(&directory.join(members), into.as_deref(), 1, found);
        }
    }

    /// Walks the members of a bundle. Without a path, the bundle's record was an older one.
    fn walk_bundle(&self, directory: &Path, into: Option<&str>, level: usize, found: &mut ImportLevels) {
        let entries = match entries(directory) {
            Ok(entries) => entries,
            Err(error) => return self.fail(directory, &error),
        };
        if level > MAX_DEPTH {
            return self.fail(directory, &"it is nested too deeply");
        }
        let mut members = Vec::new();
        for name in entries.keys() {
            let Some(on_disk) = name.to_str().and_then(|name| name.strip_suffix(RECORD)) else { continue };
            let file = directory.join(name);
            // A link or a pipe under such a name is refused, as in a folder.
            match ExportRecord::read(&file) {
                Ok(record) => members.push((record, file, on_disk.to_owned())),
                Err(why) => self.fail(&file, &why),
            }
        }
        let mut jobs = Vec::new();
        for (record, file, on_disk) in in_order(members) {
            let older = self.is_older(&record, &file);
            let content = record.content.is_some().then(|| directory.join(&on_disk));
            match into {
                _ if older => {}
                Some(into) => {
                    jobs.push(ImportTask { record: Some(file), content, into: into.to_owned(), name: String::new() });
                }
                None => self.fail(&file, &"its bundle has a newer record elsewhere in the tree, without it"),
            }
            let inner = format!("{on_disk}{MEMBERS}");
            if entries.get(&OsString::from(&inner)) == Some(&DirectoryEntryKind::Directory) {
                let inner = directory.join(inner);
                let into = into.filter(|_| !older).map(|into| below(into, &record.name));
                self.walk_bundle(&inner, into.as_deref(), level + 1, found);
            }
        }
        found.entry(level).or_default().push(jobs);
    }

    fn make_all(&self, jobs: Vec<ImportTask>) {
        for job in jobs {
            self.make(&job);
        }
    }

    /// Creates an object; returns whether it exists now.
    fn make(&self, job: &ImportTask) -> bool {
        let file = job.record.as_ref().or(job.content.as_ref());
        let what = file.map(|file| file.display().to_string()).unwrap_or_default();
        let made = match &job.record {
            Some(record) => self.recorded(record, job),
            None => match &job.content {
                Some(file) => self.plain.make(file, &job.into, &job.name),
                None => Ok((TransferOutcome::Done, None)),
            },
        };
        match made {
            Ok((fate, why)) => {
                self.progress.note(fate, &what, why.as_ref().map(|why| why as &dyn std::fmt::Display));
                true
            }
            Err(error) => {
                self.progress.note(TransferOutcome::Failed, &what, Some(&error));
                false
            }
        }
    }

    /// Creates the object that a record describes.
    fn recorded(&self, file: &Path, job: &ImportTask) -> Result<(TransferOutcome, Option<String>), CallError> {
        let record = ExportRecord::read(file).map_err(CallError::Disk)?;
        let upload = match (&record.content, &job.content) {
            (Some(content), Some(path)) => {
                let there = hash_of(path).map_err(|error| CallError::Disk(format!("{}: {error}", path.display())))?;
                if there != content.sha256 {
                    let why =
                        "has another SHA-256 than its record: the export was interrupted, or the file was changed";
                    return Err(CallError::Disk(format!("{} {why}", path.display())));
                }
                Some(FormUpload { file: path, content_type: &content.content_type })
            }
            _ => None,
        };
        // A call without the bytes shows whether they are needed.
        if let Some(known) = self.known(&record)? {
            return Ok(known);
        }
        let reply = self.client.form("/v3/object/import", &record.options(&job.into), upload);
        match reply {
            Ok(reply) if reply["created"] == true => {
                self.progress.add_bytes(record.content.map_or(0, |content| content.size));
                Ok((TransferOutcome::Done, None))
            }
            // Another import created it in between; its reply does not show the content.
            Ok(reply) => match self.known(&record)? {
                Some(known) => Ok(known),
                None => Ok(compare_with_existing(&record, &reply["info"])),
            },
            Err(error) if error.is("DuplicatedName") && !record.is_folder() => self.plain.met(
                &below(&job.into, &record.name),
                record.content.as_ref().map(|content| &*content.sha256),
                error,
            ),
            Err(error) => Err(error),
        }
    }

    /// Returns the outcome for an object that exists already; `None` if it does not.
    fn known(&self, record: &ExportRecord) -> Result<Option<(TransferOutcome, Option<String>)>, CallError> {
        let shown = "showSystemAttributes=false&showAttributes=false&showUsageTickets=false&showAdditionalInfo=true";
        match self.client.get(&format!("/v3/object/{}?{shown}", encoded(&record.uuid))) {
            Ok(there) => Ok(Some(compare_with_existing(record, &there))),
            Err(error) if error.is("ObjectNotFound") => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Compares a record with the object that has its uuid already; returns the outcome.
fn compare_with_existing(record: &ExportRecord, there: &Value) -> (TransferOutcome, Option<String>) {
    if record.is_folder() {
        return (TransferOutcome::There, None);
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut differing = Vec::new();
    for (field, ours, theirs) in [
        (
            "content",
            record.content.as_ref().map(|content| content.sha256.clone()),
            text(&there["additionalInfo"]["sha256"]),
        ),
        ("name", Some(record.name.clone()), text(&there["name"])),
        ("status", record.status.clone(), text(&there["statusInfo"]["name"])),
        ("suid", record.suid.clone(), text(&there["suid"])),
        ("workFolder", record.work_folder.clone(), text(&there["workFolder"])),
        ("issueDate", record.issue_date.clone(), text(&there["issueDate"])),
        ("modified", Some(record.modified.to_string()), there["modified"].as_u64().map(|at| at.to_string())),
    ] {
        if ours != theirs {
            differing.push(field);
        }
    }
    if differing.is_empty() {
        return (TransferOutcome::There, None);
    }
    let (uuid, which) = (&record.uuid, differing.join(", "));
    (TransferOutcome::Differs, Some(format!("`{uuid}` exists with another {which}, and was not changed")))
}

/// Sorts the members of a bundle so that each follows its source of inheritance.
fn in_order(mut members: Vec<(ExportRecord, PathBuf, String)>) -> Vec<(ExportRecord, PathBuf, String)> {
    let mut ordered: Vec<(ExportRecord, PathBuf, String)> = Vec::with_capacity(members.len());
    while !members.is_empty() {
        let waits = |record: &ExportRecord, members: &[(ExportRecord, PathBuf, String)]| {
            let from = record.channel_copy.as_ref().and_then(|copy| copy.inherited_from.as_ref());
            from.is_some_and(|from| members.iter().any(|(other, ..)| other.uuid == *from && other.uuid != record.uuid))
        };
        let (later, now): (Vec<_>, Vec<_>) =
            (0..members.len()).partition(|at| members.get(*at).is_some_and(|(record, ..)| waits(record, &members)));
        // A cycle, which should not occur, is left in its order.
        let now = if now.is_empty() { later } else { now };
        for at in now.into_iter().rev() {
            ordered.push(members.remove(at));
        }
    }
    ordered
}

/// The kind of a directory's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectoryEntryKind {
    File,
    Directory,
    /// A link, a socket and the like, which are not followed.
    Other,
}

/// Reports whether a record belongs to that name.
fn has_record(name: &str, entries: &BTreeMap<OsString, DirectoryEntryKind>) -> bool {
    entries.contains_key(&OsString::from(format!("{name}{RECORD}")))
}

/// Reports whether a name is skipped: leftovers of interrupted exports and files that desktops
/// create. They begin with a dot; a name of an object is never skipped.
fn is_passed_over(name: &str, entries: &BTreeMap<OsString, DirectoryEntryKind>) -> bool {
    let is_held = || name.strip_suffix(MEMBERS).is_some_and(|name| has_record(name, entries));
    name.starts_with('.') && !has_record(name, entries) && !is_held()
}

/// Returns the names in a directory, in order.
fn entries(directory: &Path) -> std::io::Result<BTreeMap<OsString, DirectoryEntryKind>> {
    let mut entries = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let kind = match (kind.is_file(), kind.is_dir()) {
            (true, _) => DirectoryEntryKind::File,
            (_, true) => DirectoryEntryKind::Directory,
            _ => DirectoryEntryKind::Other,
        };
        entries.insert(entry.file_name(), kind);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::super::record::ChannelCopy;
    use super::*;

    fn copy(uuid: &str, from: Option<&str>) -> (ExportRecord, PathBuf, String) {
        let shown = json!({
            "pstate": { "uuid": uuid }, "name": uuid, "type": "Story", "created": 1, "additionalInfo": { "family": "document" }, "modified": 1, "creator": "a", "lastModifier": "a",
        });
        let mut record = ExportRecord::of(&shown).expect("it is complete");
        let (channel, inherited_from) = (uuid.to_owned(), from.map(str::to_owned));
        record.channel_copy = Some(ChannelCopy { channel, inherit_from: None, inherited_from, follows: true });
        (record, PathBuf::new(), uuid.to_owned())
    }

    #[test]
    fn copies_come_behind_what_they_were_inherited_from() {
        let order = |members: Vec<_>| in_order(members).into_iter().map(|(_, _, name)| name).collect::<String>();
        let chain = || vec![copy("a", Some("b")), copy("b", Some("c")), copy("c", Some("bundle")), copy("d", None)];
        let ordered = order(chain());
        let place = |name| ordered.find(name).expect("all are there");
        assert_eq!(ordered.len(), 4);
        assert!(place('c') < place('b') && place('b') < place('a'), "{ordered}");
        assert_eq!(order(vec![copy("a", Some("b")), copy("b", Some("a"))]).len(), 2, "a circle");
        assert_eq!(order(vec![copy("a", Some("a"))]), "a");
    }
}
