//! Folders (docs/api/folders.md).

pub mod routes;

use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::error::{Code, Error, Result};
use stet_actors::folder::children;
use stet_actors::id::{Loid, Source};
use stet_actors::lifecycle::NewObject;
use stet_actors::object::{FamilyKind, Record, check_path};
use stet_actors::store::View;

use super::destination::database_named;
use super::object::{ChangedRecord, record_after};
use super::records::{locker_of, path_if_shown, seen_record_at};
use super::requests::{CreateOptions, DatabaseRef, WireCreateMode, folder_source};
use crate::auth::Privilege;
use crate::give_way::GiveWay;
use crate::http::body::Object;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::listing::{Items, Listing, Made, Never};
use crate::http::reply::Json;
use crate::json::{Listed, Ready};
use crate::records::{Cached, Display, ObjectRecord, Page, Sort};

/// A folder and what lies in it.
#[derive(Serialize, JsonSchema)]
pub struct FolderReply {
    /// The folder.
    pub info: Ready<ObjectRecord>,
    /// The page asked for.
    pub items: Listed<Ready<ObjectRecord>>,
    /// How many objects there are in all.
    pub total: usize,
}

/// A folder that was made, or was there.
#[derive(Serialize, JsonSchema)]
pub struct FolderCreated {
    /// The folder.
    pub info: ChangedRecord,
}

/// Body of the creation of a folder: `{name, folder|folderPath}` or `{path}`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateFolder {
    /// Name of the new folder.
    name: Option<String>,
    /// Loid, uuid or path of the folder it goes into; the user's home without it.
    folder: Option<String>,
    /// Path of the folder it goes into.
    folder_path: Option<String>,
    /// All in one: the new folder's path.
    path: Option<String>,
    /// The main one without it.
    database_id: Option<DatabaseRef>,
    /// When the name is taken; without it a folder of that name is as good.
    create_mode: Option<WireCreateMode>,
    options: Option<Object<CreateOptions>>,
}

/// Refuses an object that is not a folder.
///
/// # Errors
/// `InvalidType`.
pub fn check_folder(record: &Record, source: &str) -> Result<()> {
    if record.family == FamilyKind::Folder {
        return Ok(());
    }
    let message = format!("`{source}` is of type {}, not a folder.", record.type_name);
    Err(Error::new(Code::InvalidType, message).with_source(source))
}

/// `POST /v3/folder`: makes a folder with its parents; one that exists is the answer.
pub async fn create(call: Call) -> Result<Json<FolderCreated>> {
    let request: CreateFolder = call.json()?;
    let app = &call.app;
    let database = database_named(&call, request.database_id.as_ref())?;
    let (parent, name) = match (&request.path, &request.name) {
        (Some(path), _) => {
            check_path(path, app.repository.path_limits())?;
            // A path that is only slashes is the root, which exists.
            match stet_actors::object::parent_path(path) {
                Some((parent, name)) if !name.is_empty() => {
                    (Some(Source::Path(parent.to_owned())), Some(name.to_owned()))
                }
                _ => (Some(Source::Path(path.clone())), None),
            }
        }
        (None, Some(name)) => {
            (folder_source(request.folder.as_deref(), request.folder_path.as_deref())?, Some(name.clone()))
        }
        (None, None) => {
            let message = "A folder needs a `name`, or a `path` with it.";
            return Err(Error::new(Code::InvalidName, message));
        }
    };
    let place = app.destination(&call, parent, database)?;
    let made = match name {
        Some(name) => {
            let mut object = NewObject::folder(&name);
            let inner = request.options.as_ref().and_then(|options| options.0.create_mode);
            if let Some(mode @ (WireCreateMode::Exception | WireCreateMode::AutoRename)) = inner.or(request.create_mode)
            {
                object.mode = mode.into();
            }
            call.change_unnamed(place.create(object)).await?.loid
        }
        None => place.folder,
    };
    let display = Display { path: true, ..call.display_of_body()? };
    Json::of(&FolderCreated { info: record_after(app, made, &display)? })
}

/// `GET /v3/folder/{source}`
pub async fn list(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.resolve("source")?;
    check_folder(&folder, call.param("source"))?;
    listing(call, &folder, Shown::All).await
}

/// `GET /v3/folder/{source}/subfolders`
pub async fn subfolders(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.resolve("source")?;
    check_folder(&folder, call.param("source"))?;
    listing(call, &folder, Shown::Folders).await
}

/// `GET /v3/folder/root`
pub async fn root_folder(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.find(&Source::Path("/".to_owned()), call.database()?)?;
    listing(call, &folder, Shown::All).await
}

/// `GET /v3/folder/home`
pub async fn home(call: Call) -> Result<Json<FolderReply>> {
    let path = call.app.home_of(call.caller()?.user())?;
    own_folder(call, path).await
}

/// `GET /v3/folder/work`
pub async fn work(call: Call) -> Result<Json<FolderReply>> {
    let path = call.app.work_folder_of(call.caller()?.user())?;
    own_folder(call, path).await
}

async fn own_folder(call: Call, path: String) -> Result<Json<FolderReply>> {
    let folder = call.find(&Source::Path(path.clone()), call.database()?)?;
    check_folder(&folder, &path)?;
    listing(call, &folder, Shown::All).await
}

/// What a listing shows of a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    Folders,
}

async fn listing(call: Call, folder: &Cached, wanted: Shown) -> Result<Json<FolderReply>> {
    let (sort, page, display) = (Sort::parse(call.query.text("sortBy"))?, call.query.page(), call.display());
    let (entries, total) = entries(&call, folder, wanted, &sort, page).await?;
    let path = path_if_shown(&call.app, folder, &display)?;
    let info = seen_record_at(&call, folder, &display, path.as_deref())?;
    let of_folder = ETag::new(0, info.text());
    let entries = Entries { entries, next: 0, path, display };
    let mut listing = Listing::of(&call, entries, |items, _| FolderReply { info, items, total }).await?;
    // A folder on the way has changed for this caller when what they see of it has.
    let readable = call.access().may(Privilege::Read, folder)?;
    let revision = if readable { folder.revision } else { 0 };
    let tag = match listing.whole() {
        Some(whole) => whole.tag(revision),
        None => {
            let of_entries = listing.list_mut().facts(&call).await?;
            ETag::new(revision, (of_folder.value().as_bytes(), of_entries, total))
        }
    };
    Ok(listing.answer(call).with_etag(tag))
}

/// Objects in a folder.
struct Entries {
    entries: Vec<Loid>,
    next: usize,
    /// The folder's, if paths are shown.
    path: Option<String>,
    display: Display,
}

impl Entries {
    /// What the entries of a reply too large to be looked at as a whole are told apart by.
    async fn facts(&self, call: &Call) -> Result<u64> {
        let (app, mut way) = (&call.app, GiveWay::new());
        let mut hasher = DefaultHasher::new();
        (&self.display, &self.path).hash(&mut hasher);
        for loid in &self.entries {
            way.now_and_then().await;
            let Some(record) = app.records.record(&app.repository, *loid)? else { continue };
            let readable = call.access().may(Privilege::Read, &record)?;
            (loid, readable, readable.then_some(record.revision), locker_of(app, &record)).hash(&mut hasher);
            if !readable {
                (&record.name, &record.status, record.created).hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }
}

impl Items for Entries {
    type Item = Ready<ObjectRecord>;
    type Inner = Never;
    type Failed = Never;
    type Fault = Error;

    async fn make(&mut self, call: &Call, late: bool) -> Result<Made<Ready<ObjectRecord>>> {
        let Some(loid) = self.entries.get(self.next) else { return Ok(Made::End) };
        // Gone since the names were read: as if it had been before.
        let Some(entry) = call.app.records.get(&call.app.repository, *loid)? else { return Ok(Made::Nothing) };
        if late && !call.access().sees(&entry)? {
            return Ok(Made::Nothing);
        }
        let path = self.path.as_ref().map(|path| format!("{}/{}", path.trim_end_matches('/'), entry.record.name));
        Ok(Made::Item(seen_record_at(call, &entry, &self.display, path.as_deref())?))
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Loid>()
    }
}

/// The page of a folder's objects that is asked for, of those that the caller sees, by name unless sorted otherwise; and how many
/// there are in all.
async fn entries(call: &Call, folder: &Record, wanted: Shown, sort: &Sort, page: Page) -> Result<(Vec<Loid>, usize)> {
    let (app, access) = (&call.app, call.access());
    // The right to read a folder extends to everything below it.
    let all = access.sees_all() || access.may(Privilege::Read, folder)?;
    let look = app.repository.look();
    let (loids, _) = children(look, View::Committed, folder.loid, None, usize::MAX).map_err(|error| {
        tracing::error!(%error, "a folder can't be listed");
        Error::internal()
    })?;
    if all && wanted == Shown::All && sort.keeps_order() {
        let total = loids.len();
        return Ok((page.cut(loids), total));
    }
    let mut way = GiveWay::new();
    let (mut found, mut records) = (Vec::new(), Vec::new());
    for loid in loids {
        way.now_and_then().await;
        // Gone since the names were read: as if it had been before.
        let Some(record) = app.records.record(&app.repository, loid)? else { continue };
        let fits = wanted == Shown::All || record.family == FamilyKind::Folder;
        if fits && (all || access.sees(&record)?) {
            found.push(loid);
            if !sort.keeps_order() {
                records.push(record);
            }
        }
    }
    let total = found.len();
    if sort.keeps_order() {
        return Ok((page.cut(found), total));
    }
    sort.apply(&mut records, |record| record);
    Ok((page.cut(records).iter().map(|record| record.loid).collect(), total))
}
