//! Files without a record: each becomes a new object, unless that exists already.
//!
//! An agency's item is one object in all its versions, whatever the files' names. So its object has
//! a uuid derived from the item's guid and the target folder of the import (version 5 of RFC 9562).
//! The server finds the object by that uuid wherever it is by then, and concurrent imports can't
//! create it twice. The object's attributes contain its version.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{CallError, FormUpload, TransferClient, encoded};
use super::files::hash_of;
use super::layout::below;
use super::progress::{TransferOutcome, TransferProgress};
use super::wire::{self, WireNewsItem, WireNewsItemVersion};
use crate::media_type_of;

/// Attempts to compare an object that changes during the comparison.
const ATTEMPTS: usize = 5;

/// The outcome for a file, with a reason if the user should see one.
type PlainFileOutcome = (TransferOutcome, Option<String>);

/// The import of files without a record.
pub struct PlainFileImport<'p> {
    client: &'p TransferClient,
    progress: &'p TransferProgress,
    /// The path of the target folder of the whole import.
    top: &'p str,
    /// Whether a newer version of an item becomes a new version of its object.
    update: bool,
    /// The uuid of the folder at `top`, once it was needed.
    top_uuid: OnceLock<Uuid>,
}

/// A file to be imported, with its target.
struct IncomingFile<'f> {
    file: &'f Path,
    folder: &'f str,
    name: &'f str,
    content_type: &'f str,
}

/// An existing object.
struct ExistingObject {
    uuid: String,
    path: Option<String>,
    name: String,
    sha256: Option<String>,
    tag: Option<String>,
    stamp: WireNewsItemVersion,
}

impl<'p> PlainFileImport<'p> {
    /// Creates the import into the folder `top`.
    pub fn new(
        client: &'p TransferClient,
        progress: &'p TransferProgress,
        top: &'p str,
        update: bool,
    ) -> PlainFileImport<'p> {
        PlainFileImport { client, progress, top, update, top_uuid: OnceLock::new() }
    }

    /// Creates an object from a file, unless it exists.
    pub fn make(&self, file: &Path, folder: &str, name: &str) -> Result<PlainFileOutcome, CallError> {
        let content_type = media_type_of(name).unwrap_or("application/octet-stream");
        let incoming = IncomingFile { file, folder, name, content_type };
        let item = wire::recognise(file);
        if item.is_none() && wire::could_be_item(name) {
            self.progress.note_unrecognised(&file.display().to_string());
        }
        let uuid = item.as_ref().map(|item| self.uuid_of(item)).transpose()?.flatten();
        match (&item, uuid) {
            (Some(item), Some(uuid)) => self.make_item(&incoming, item, &uuid),
            (item, _) => self.make_file(&incoming, item.as_ref()),
        }
    }

    /// Creates an object that is identified by its name alone.
    fn make_file(
        &self,
        incoming: &IncomingFile<'_>,
        item: Option<&WireNewsItem>,
    ) -> Result<PlainFileOutcome, CallError> {
        match self.create(incoming, item, None) {
            Err(error) if error.is("DuplicatedName") => {
                self.met(&below(incoming.folder, incoming.name), Some(&incoming.hash()?), error)
            }
            Err(error) => Err(error),
            Ok(()) => Ok((TransferOutcome::Done, None)),
        }
    }

    /// Creates the object of an item, or compares the item with the existing version.
    fn make_item(
        &self,
        incoming: &IncomingFile<'_>,
        item: &WireNewsItem,
        uuid: &str,
    ) -> Result<PlainFileOutcome, CallError> {
        for attempt in 0..ATTEMPTS {
            match self.create(incoming, Some(item), Some(uuid)) {
                Err(error) if error.is("DuplicatedName") => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok((TransferOutcome::Done, None)),
            }
            let path = below(incoming.folder, incoming.name);
            let stored = match self.stored(uuid)? {
                Some(stored) => stored,
                // The name is taken: perhaps by the item itself, if an import created it that did
                // not recognise items yet.
                None => match self.stored(&path)? {
                    Some(stored) if stored.sha256.as_deref() == Some(&incoming.hash()?) => {
                        return Ok((TransferOutcome::There, None));
                    }
                    Some(stored) if stored.stamp.guid == item.guid => stored,
                    Some(_) => return Ok((TransferOutcome::Differs, Some(differs(&path)))),
                    // It was removed since. If it happens twice, there is another reason.
                    None if attempt == 0 => continue,
                    None => break,
                },
            };
            if let Some(outcome) = self.compare(incoming, item, &stored)? {
                return Ok(outcome);
            }
        }
        let guid = item.guid.as_deref().unwrap_or_default();
        let why = format!("the object of `{guid}` is in the recycle bin, may not be read, or keeps changing");
        Ok((TransferOutcome::LeftOut, Some(why)))
    }

    /// Compares an item with its object, and updates the object if wanted. Returns `None` if the
    /// object has changed in between.
    fn compare(
        &self,
        incoming: &IncomingFile<'_>,
        item: &WireNewsItem,
        stored: &ExistingObject,
    ) -> Result<Option<PlainFileOutcome>, CallError> {
        if stored.sha256.as_deref() == Some(&incoming.hash()?) {
            return Ok(Some((TransferOutcome::There, None)));
        }
        let ours = WireNewsItemVersion::of(item);
        let (here, there, place) = (ours.describe(), stored.stamp.describe(), stored.place());
        match ours.compare(&stored.stamp) {
            Some(Ordering::Greater) if self.update => self.write(incoming, item, stored),
            Some(Ordering::Greater) => {
                let why = format!("it is a newer version: {here}; `{place}` has {there}. `--update` imports it");
                Ok(Some((TransferOutcome::LeftOut, Some(why))))
            }
            Some(Ordering::Less) => {
                let why = format!("it is {here}, older than {there}, which `{place}` has");
                Ok(Some((TransferOutcome::LeftOut, Some(why))))
            }
            // Agencies send one version in several forms; each is an object of its own.
            Some(Ordering::Equal) | None => self.make_file(incoming, Some(item)).map(Some),
        }
    }

    /// Writes an item as a new version of its object. Returns `None` if the object has changed in
    /// between.
    fn write(
        &self,
        incoming: &IncomingFile<'_>,
        item: &WireNewsItem,
        stored: &ExistingObject,
    ) -> Result<Option<PlainFileOutcome>, CallError> {
        let Some((folder, name)) = stored.path.as_deref().and_then(|path| path.rsplit_once('/')) else {
            let why = format!("`{}` is in a folder that may not be read", stored.place());
            return Ok(Some((TransferOutcome::LeftOut, Some(why))));
        };
        let folder = if folder.is_empty() { "/" } else { folder };
        let mut options =
            json!({ "name": name, "folderPath": folder, "uuid": stored.uuid, "createMode": "NEW_VERSION" });
        options["attributes"] = item.attributes().into();
        match self.client.form_if("/v3/object/create", &options, Some(incoming.upload()), stored.tag.as_deref()) {
            Ok(_) => {
                self.progress.add_bytes(incoming.size());
                Ok(Some((TransferOutcome::Updated, None)))
            }
            // It was changed, moved or renamed after it had been read.
            Err(error) if error.is("PreconditionFailed") || error.is("DuplicatedName") => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(
        &self,
        incoming: &IncomingFile<'_>,
        item: Option<&WireNewsItem>,
        uuid: Option<&str>,
    ) -> Result<(), CallError> {
        let mut options = json!({ "name": incoming.name, "folderPath": incoming.folder });
        if let Some(item) = item {
            options["attributes"] = item.attributes().into();
        }
        if let Some(uuid) = uuid {
            options["uuid"] = uuid.into();
        }
        self.client.form("/v3/object/create", &options, Some(incoming.upload()))?;
        self.progress.add_bytes(incoming.size());
        Ok(())
    }

    /// Returns the uuid of an item's object; `None` if the caller may not see the target folder of
    /// the import.
    fn uuid_of(&self, item: &WireNewsItem) -> Result<Option<String>, CallError> {
        let Some(top) = self.top_uuid()? else { return Ok(None) };
        Ok(item.guid.as_deref().map(|guid| Uuid::new_v5(&top, guid.as_bytes()).to_string()))
    }

    /// Returns the uuid of the import's target folder, and creates that folder if it is missing.
    fn top_uuid(&self) -> Result<Option<Uuid>, CallError> {
        if let Some(known) = self.top_uuid.get() {
            return Ok(Some(*known));
        }
        let top = Some(self.top.trim_end_matches('/')).filter(|top| !top.is_empty()).unwrap_or("/");
        let shown = match self.client.get(&format!("/v3/object/{}", encoded(top))) {
            Err(error) if error.is("ObjectNotFound") => {
                let made = self.client.post("/v3/folder", &json!({ "path": top }));
                made.map(|mut reply| reply["info"].take())
            }
            shown => shown,
        };
        let shown = match shown {
            Err(error) if error.is("PermissionDenied") => return Ok(None),
            shown => shown?,
        };
        let uuid = shown["pstate"]["uuid"].as_str().and_then(|uuid| uuid.parse().ok());
        let uuid = uuid.ok_or_else(|| CallError::Lost(format!("`{top}` has no uuid")))?;
        Ok(Some(*self.top_uuid.get_or_init(|| uuid)))
    }

    /// Returns the object that a uuid or path names, if it exists.
    fn stored(&self, source: &str) -> Result<Option<ExistingObject>, CallError> {
        let shown = "showPath=true&showXml=true&useUnparsedXml=true&showAdditionalInfo=true&showSystemAttributes=false";
        let path = format!("/v3/object/{}?{shown}&showUsageTickets=false", encoded(source));
        let (shown, tag) = match self.client.get_tagged(&path) {
            Ok(reply) => reply,
            Err(error) if error.is("ObjectNotFound") => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(Some(ExistingObject {
            uuid: text(&shown["pstate"]["uuid"]).unwrap_or_default(),
            path: text(&shown["path"]),
            name: text(&shown["name"]).unwrap_or_default(),
            sha256: text(&shown["additionalInfo"]["sha256"]),
            tag,
            stamp: WireNewsItemVersion::of_attributes(shown["attributesXml"].as_str().unwrap_or_default()),
        }))
    }

    /// Compares a content with the object whose name a new object would have.
    pub fn met(&self, path: &str, sha256: Option<&str>, refused: CallError) -> Result<PlainFileOutcome, CallError> {
        match self.stored(path)? {
            // The uuid is taken, or the name belongs to an object that the caller may not see.
            None => Err(refused),
            Some(there) if there.sha256.as_deref() == sha256 => Ok((TransferOutcome::There, None)),
            Some(_) => Ok((TransferOutcome::Differs, Some(differs(path)))),
        }
    }
}

fn differs(path: &str) -> String {
    format!("`{path}` exists with another content, and was not changed")
}

impl ExistingObject {
    fn place(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.name)
    }
}

impl IncomingFile<'_> {
    fn upload(&self) -> FormUpload<'_> {
        FormUpload { file: self.file, content_type: self.content_type }
    }

    fn hash(&self) -> Result<String, CallError> {
        hash_of(self.file).map_err(|error| CallError::Disk(format!("{}: {error}", self.file.display())))
    }

    fn size(&self) -> u64 {
        std::fs::metadata(self.file).map_or(0, |file| file.len())
    }
}
