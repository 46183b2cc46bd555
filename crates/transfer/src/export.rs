//! `stet export`: writes the contents of a folder as a tree of files.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::client::{CallError, TransferClient, encoded};
use super::files::{hash_of, hex};
use super::former;
use super::layout::{MEMBERS, Names, RECORD, below, beside};
use super::part::{self, PartFile};
use super::places::PlaceIndex;
use super::progress::{TransferOutcome, TransferProgress};
use super::record::{ChannelCopy, ExportContent, ExportLink, ExportRecord};
use super::work::TransferQueue;

/// The number of records that one call reads.
const BATCH: usize = 50;

/// Attempts to read an object that changes while it is read.
const ATTEMPTS: usize = 10;

/// A unit of work of an export.
enum ExportTask {
    /// The contents of a folder or bundle.
    Folder(ExportSource),
    /// Some objects of a folder or bundle.
    Objects {
        /// The directory on disk.
        directory: PathBuf,
        /// The path in the repository.
        path: String,
        /// The name on disk and the loid of each object.
        objects: Vec<(String, String)>,
        /// The listing that contained them.
        listing: u32,
        /// Uuids of the bundle and its copies by loid; empty for objects of a folder.
        uuids: HashMap<String, String>,
    },
}

/// A folder or bundle whose contents are to be exported.
struct ExportSource {
    /// The loid or path for calls.
    source: String,
    /// The path in the repository.
    path: String,
    /// The directory on disk.
    directory: PathBuf,
    /// The bundle's loid and uuid; `None` for a folder.
    bundle: Option<(String, String)>,
}

/// An export of a folder of a server into a directory.
pub struct Export<'e> {
    client: &'e TransferClient,
    progress: &'e TransferProgress,
    /// The places of the written objects. If an object was moved during the export, the place in
    /// the later listing counts.
    places: PlaceIndex<u32>,
    listings: AtomicU32,
}

/// Options that show everything that a record file contains.
fn export_options() -> Value {
    json!({ "showXml": true, "useUnparsedXml": true, "showAdditionalInfo": true, "showVirtualAttributes": true })
}

/// Parameters that show only the fields needed to walk on.
const OUTLINE: &str = "showAdditionalInfo=true&showSystemAttributes=false&showAttributes=false&showUsageTickets=false&showVirtualAttributes=false";

impl<'e> Export<'e> {
    /// Creates an export from that server.
    pub fn new(client: &'e TransferClient, progress: &'e TransferProgress) -> Export<'e> {
        Export { client, progress, places: PlaceIndex::default(), listings: AtomicU32::new(0) }
    }

    /// Writes the contents of a folder into a directory, on the given number of threads.
    pub fn run(&self, folder: &str, directory: &Path, threads: usize) {
        let first = ExportSource {
            source: folder.to_owned(),
            path: folder.to_owned(),
            directory: directory.to_owned(),
            bundle: None,
        };
        TransferQueue::all(vec![ExportTask::Folder(first)], threads, |task, work| match task {
            ExportTask::Folder(held) => {
                let path = held.path.clone();
                if let Err(error) = self.list(held, work) {
                    self.progress.note(TransferOutcome::Failed, &path, Some(&error));
                }
            }
            ExportTask::Objects { directory, path, objects, listing, uuids } => {
                self.write_all(&directory, &path, &objects, listing, &uuids, work)
            }
        });
        former::remove(directory, &self.places, self.progress);
    }

    /// Returns the names of all databases but the main one. Each is reported as left out.
    pub fn other_databases(&self) -> Vec<String> {
        let reply = match self.client.get("/v3/conf/connections?showRepositories=true") {
            Ok(reply) => reply,
            Err(error) => {
                self.progress.note(TransferOutcome::Failed, "the list of databases", Some(&error));
                return Vec::new();
            }
        };
        let mut others = Vec::new();
        for database in reply["repositories"].as_array().into_iter().flatten() {
            if database["id"] != reply["defaultRepository"] {
                let name = database["name"].as_str().unwrap_or_default();
                let why = format!("export it separately, with `--database {}`", database["id"]);
                self.progress.note(TransferOutcome::LeftOut, &format!("database `{name}`"), Some(&why));
                others.push(format!("`{name}`"));
            }
        }
        others
    }

    fn list(&self, held: ExportSource, work: &TransferQueue<ExportTask>) -> Result<(), CallError> {
        let ExportSource { source, path, directory, bundle } = held;
        let (what, more) = if bundle.is_some() { ("bundle", "&recursive=false") } else { ("folder", "") };
        let reply = self.client.get(&format!("/v3/{what}/{}?{OUTLINE}{more}", encoded(&source)))?;
        let listing = self.listings.fetch_add(1, Ordering::Relaxed);
        let items = reply["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if bundle.is_none() || !items.is_empty() {
            std::fs::create_dir_all(&directory).map_err(|error| disk(&directory, &error))?;
        }
        part::sweep(&directory);
        let (mut names, mut objects, mut uuids) = (Names::default(), Vec::new(), HashMap::new());
        uuids.extend(bundle);
        for item in items {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (name, id) = (text(&item["name"]), text(&item["id"]));
            let Ok(uuid) = text(&item["pstate"]["uuid"]).parse::<Uuid>() else {
                self.progress.note(TransferOutcome::Failed, &below(&path, &name), Some(&"it has no uuid"));
                continue;
            };
            match item["additionalInfo"]["family"].as_str() {
                Some("folder" | "document" | "bundle" | "webcontainer") => {
                    objects.push((names.take(&name, uuid), id.clone()));
                    if what == "bundle" {
                        uuids.insert(id, uuid.to_string());
                    }
                }
                family => {
                    let why =
                        format!("a {} is not exported", family.unwrap_or("part of a folder that you may not read"));
                    self.progress.note(TransferOutcome::LeftOut, &below(&path, &name), Some(&why));
                }
            }
        }
        let tasks = objects.chunks(BATCH).map(|objects| ExportTask::Objects {
            directory: directory.clone(),
            path: path.clone(),
            objects: objects.to_vec(),
            listing,
            uuids: uuids.clone(),
        });
        work.add(tasks);
        Ok(())
    }

    fn write_all(
        &self,
        directory: &Path,
        path: &str,
        objects: &[(String, String)],
        listing: u32,
        uuids: &HashMap<String, String>,
        work: &TransferQueue<ExportTask>,
    ) {
        let ids: Vec<&str> = objects.iter().map(|(_, id)| id.as_str()).collect();
        let mut records = match self.client.post("/v3/object", &json!({ "sources": ids, "options": export_options() }))
        {
            Ok(reply) => FetchedRecords::of(reply),
            Err(error) => return self.progress.note(TransferOutcome::Failed, path, Some(&error)),
        };
        for (on_disk, id) in objects {
            let shown = records.take(id);
            let name = shown.as_ref().ok().and_then(|shown| shown["name"].as_str());
            let what = below(path, name.unwrap_or(on_disk));
            let written =
                shown.and_then(|shown| self.write(directory, &what, on_disk, id, listing, shown, uuids, work));
            match written {
                Ok(fate) => self.progress.note(fate, &what, None),
                // The object was discarded after the names had been read.
                Err(error) if error.is("ObjectNotFound") => {}
                Err(error) => self.progress.note(TransferOutcome::Failed, &what, Some(&error)),
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        directory: &Path,
        what: &str,
        on_disk: &str,
        id: &str,
        listing: u32,
        mut shown: Value,
        uuids: &HashMap<String, String>,
        work: &TransferQueue<ExportTask>,
    ) -> Result<TransferOutcome, CallError> {
        let content_file = directory.join(on_disk);
        let mut attempt = 0;
        let (record, fetched) = loop {
            let mut record = ExportRecord::of(&shown).map_err(|field| {
                CallError::Lost(format!("its record has no `{field}`; the server may be another version of stet"))
            })?;
            record.links = self.links(id, what)?;
            if let Some(ChannelCopy { inherited_from, .. }) = &mut record.channel_copy {
                let from = shown["channelCopy"]["inheritedFrom"].as_str();
                *inherited_from = from.and_then(|from| uuids.get(from)).cloned();
            }
            let fetched = match &record.content {
                None => Some(false),
                Some(content) => self.fetch(id, content, &content_file)?,
            };
            attempt += 1;
            match fetched {
                Some(fetched) => break (record, fetched),
                None if attempt == ATTEMPTS => {
                    return Err(CallError::Lost("it kept changing while it was read".to_owned()));
                }
                None => shown = self.read(id)?,
            }
        };
        let file = beside(directory, on_disk, RECORD);
        let written = record.written();
        let same = std::fs::read(&file).is_ok_and(|there| there == written.as_bytes());
        if !same {
            replace(&file, &written)?;
        }
        if let (Ok(uuid), Ok(there)) = (record.uuid.parse(), std::fs::metadata(&file)) {
            self.places.note(uuid, listing, &file, &there);
        }
        let members = match &*record.family {
            "folder" => Some((directory.join(on_disk), None)),
            "bundle" => Some((beside(directory, on_disk, MEMBERS), Some((id.to_owned(), record.uuid.clone())))),
            _ => None,
        };
        if let Some((directory, bundle)) = members {
            work.add([ExportTask::Folder(ExportSource {
                source: id.to_owned(),
                path: what.to_owned(),
                directory,
                bundle,
            })]);
        }
        Ok(if same && !fetched { TransferOutcome::There } else { TransferOutcome::Done })
    }

    fn read(&self, id: &str) -> Result<Value, CallError> {
        let reply = self.client.post("/v3/object", &json!({ "sources": [id], "options": export_options() }))?;
        FetchedRecords::of(reply).take(id)
    }

    /// Returns the links of an object with other objects.
    fn links(&self, id: &str, what: &str) -> Result<Vec<ExportLink>, CallError> {
        let reply = self.client.get(&format!("/v3/object/{}/correlates", encoded(id)))?;
        let mut links = Vec::new();
        for item in reply["items"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let other = &item["object"];
            let (Some(link_name), Some(other_link_name), Some(side)) =
                (text(&item["linkName"]), text(&item["otherLinkName"]), text(&item["side"]))
            else {
                return Err(CallError::Lost("its links have no names on both sides".to_owned()));
            };
            match text(&other["pstate"]["uuid"]) {
                Some(uuid) => links.push(ExportLink { link_name, other_link_name, side, other: uuid }),
                None => self.progress.note(
                    TransferOutcome::LeftOut,
                    what,
                    Some(&format!("a link `{link_name}` with a hidden object")),
                ),
            }
        }
        links.sort_unstable();
        Ok(links)
    }

    /// Downloads the content to its file, unless the file has it already. Returns whether it was
    /// downloaded; `None` if the object has another content by now.
    fn fetch(&self, id: &str, content: &ExportContent, file: &Path) -> Result<Option<bool>, CallError> {
        let there = std::fs::metadata(file).is_ok_and(|there| there.len() == content.size);
        if there && hash_of(file).is_ok_and(|there| there == content.sha256) {
            return Ok(Some(false));
        }
        let mut hasher = Sha256::new();
        let mut size = 0;
        let part = PartFile::of(file).map_err(|error| disk(file, &error))?;
        let mut out = HashingWriter { out: std::io::BufWriter::new(part.file()), hasher: &mut hasher, size: &mut size };
        self.client.download(&format!("/v3/object/{}/content?raw=true", encoded(id)), &mut out)?;
        out.flush().map_err(|error| disk(file, &error))?;
        drop(out);
        if hex(&hasher.finalize()) != content.sha256 {
            return Ok(None);
        }
        part.become_file(file).map_err(|error| disk(file, &error))?;
        self.progress.add_bytes(size);
        Ok(Some(true))
    }
}

/// The records and failures of a reply. Under status 200, each object may have failed on its own.
#[derive(Default)]
struct FetchedRecords {
    /// The records by loid.
    shown: HashMap<String, Value>,
    failed: HashMap<String, CallError>,
}

impl FetchedRecords {
    fn of(mut reply: Value) -> FetchedRecords {
        let mut records = FetchedRecords::default();
        let mut list = |name: &str| reply[name].as_array_mut().map(std::mem::take).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for record in list("items") {
            records.shown.insert(text(&record["id"]), record);
        }
        for failure in list("errors") {
            records.failed.insert(text(&failure["source"]), CallError::told(200, &failure));
        }
        records
    }

    /// Returns the record, or the reason for its absence.
    fn take(&mut self, id: &str) -> Result<Value, CallError> {
        let untold = || CallError::Lost("the reply does not mention it".to_owned());
        self.shown.remove(id).ok_or_else(|| self.failed.remove(id).unwrap_or_else(untold))
    }
}

/// A writer that hashes and counts the bytes that it passes on.
struct HashingWriter<'t, W: Write> {
    out: W,
    hasher: &'t mut Sha256,
    size: &'t mut u64,
}

impl<W: Write> Write for HashingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        *self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn disk(file: &Path, error: &std::io::Error) -> CallError {
    CallError::Disk(format!("{}: {error}", file.display()))
}

/// Writes a text to a file, replacing an existing one.
fn replace(file: &Path, text: &str) -> Result<(), CallError> {
    let put = || {
        let part = PartFile::of(file)?;
        part.file().write_all(text.as_bytes())?;
        part.become_file(file)
    };
    put().map_err(|error| disk(file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: every object that could not be read was taken for discarded, and left out
    /// silently.
    #[test]
    fn an_object_that_could_not_be_read_is_none_that_has_gone() {
        let failed = |source: &str, code: &str| json!({ "source": source, "code": code, "message": "It is so." });
        let mut records = FetchedRecords::of(json!({
            "items": [{ "id": "1$1.0.1", "name": "a" }],
            "errors": [failed("1$1.0.2", "CMS.ObjectNotFound"), failed("1$1.0.3", "CMS.RepositoryError")],
        }));
        assert_eq!(records.take("1$1.0.1").map(|record| record["name"].clone()).ok(), Some(json!("a")));
        assert!(records.take("1$1.0.2").is_err_and(|error| error.is("ObjectNotFound")));
        assert!(records.take("1$1.0.3").is_err_and(|error| error.is("RepositoryError")));
        assert!(records.take("1$1.0.4").is_err_and(|error| !error.is("ObjectNotFound")));
    }
}
