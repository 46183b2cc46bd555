//! Folders (docs/api/folders.md).

pub mod routes;

use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::error::{Code, Error, Result};
use stet_actors::expect::Tag;
use stet_actors::folder::children;
use stet_actors::id::{Loid, Source};
use stet_actors::lifecycle::{Meet, NewObject};
use stet_actors::object::{FamilyKind, Record, check_path};
use stet_actors::store::{StoreError, View};

use super::object::{ChangedRecord, reply_after};
use super::records::{locker_of, path_if_shown, shown};
use super::requests::{CreateOptions, DatabaseRef, WireCreateMode, database_named, folder_source};
use crate::access::Seen;
use crate::auth::Privilege;
use crate::give_way::{self, GiveWay};
use crate::http::app::App;
use crate::http::body::Object;
use crate::http::call::Call;
use crate::http::etag::ETag;
use crate::http::listing::{Items, Listing, Made, Never};
use crate::http::pieces::no_room;
use crate::http::reply::Json;
use crate::json::{Listed, Ready};
use crate::records::{Cached, Display, Gathering, ObjectRecord, Page, Sort, outline};

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
    let request: CreateFolder = call.json().await?;
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
    let (made, left) = match name {
        Some(name) => {
            let mut object = NewObject::folder(&name);
            let inner = request.options.as_ref().and_then(|options| options.0.create_mode);
            if let Some(mode @ (WireCreateMode::Exception | WireCreateMode::AutoRename)) = inner.or(request.create_mode)
            {
                object.mode = mode.into();
            }
            let done = call.change_all(place.create(object)).await?;
            (done.reply.loid, done.left)
        }
        None => {
            let done = call.change_all(Meet { object: place.folder }).await?;
            (place.folder, done.left)
        }
    };
    let display = Display { path: true, ..call.display_of_body().await? };
    reply_after(&call, made, left.as_ref(), &display, |info| FolderCreated { info }).await
}

/// `GET /v3/folder/{source}`
pub async fn list(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.resolve("source")?;
    check_folder(&folder, call.param("source"))?;
    listing(call, &folder, Kind::All).await
}

/// `GET /v3/folder/{source}/subfolders`
pub async fn subfolders(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.resolve("source")?;
    check_folder(&folder, call.param("source"))?;
    listing(call, &folder, Kind::Folders).await
}

/// `GET /v3/folder/root`
pub async fn root_folder(call: Call) -> Result<Json<FolderReply>> {
    let folder = call.find(&Source::Path("/".to_owned()), call.database()?)?;
    listing(call, &folder, Kind::All).await
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
    listing(call, &folder, Kind::All).await
}

/// Which objects of a folder a listing has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    All,
    Folders,
}

async fn listing(call: Call, folder: &Cached, kind: Kind) -> Result<Json<FolderReply>> {
    let (sort, page, display) = (Sort::parse(call.query.text("sortBy"))?, call.query.page(), call.display());
    let (entries, total) = entries(&call, folder, kind, sort, page).await?;
    let path = path_if_shown(&call.app, folder, &display)?;
    let info = shown(&call.app, folder, &display, path.as_deref()).await?;
    let of_folder = info.text().to_owned();
    let entries = Entries { entries, next: 0, path, display };
    let mut listing = Listing::of(&call, entries, |items, _| FolderReply { info, items, total }).await?;
    let of = Tag::of(folder);
    let tag = match listing.whole() {
        Some(whole) => whole.tag(of),
        None => {
            let of_entries = listing.list_mut().facts(&call).await?;
            ETag::new(of, (of_folder, of_entries, total))
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
            let record = match call.access().seen(&record)? {
                Seen::Whole => record,
                Seen::OnTheWay => outline(&record),
                Seen::Nothing => continue,
            };
            (loid, record.revision, locker_of(app, &record)).hash(&mut hasher);
            // An outline is of no revision.
            (&record.name, &record.type_name).hash(&mut hasher);
        }
        Ok(hasher.finish())
    }
}

impl Items for Entries {
    type Item = Ready<ObjectRecord>;
    type Inner = Never;
    type Innermost = Never;
    type Failed = Never;
    type Fault = Error;

    async fn make(&mut self, call: &Call, _: bool) -> Result<Made<Ready<ObjectRecord>>> {
        let Some(loid) = self.entries.get(self.next) else { return Ok(Made::End) };
        // Gone since the names were read: as if it had been before.
        let Some(entry) = call.app.records.get(&call.app.repository, *loid)? else { return Ok(Made::Nothing) };
        let Some(entry) = call.as_seen(entry)? else { return Ok(Made::Nothing) };
        let path = self.path.as_ref().map(|path| format!("{}/{}", path.trim_end_matches('/'), entry.record.name));
        Ok(Made::Item(shown(&call.app, &entry, &self.display, path.as_deref()).await?))
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Loid>()
    }
}

/// Names of a folder that are read at once where a call is answered; more are read on another thread.
const NAMES_AT_ONCE: usize = 256;

/// Those of the objects in a folder that the caller sees which are on that page, in order, and how many there are in all. Of all
/// these no more is read than the order and the caller's rights ask for, and attributes of none; what is kept of them meanwhile
/// counts among the replies that wait for their clients.
///
/// # Errors
/// `Overloaded` when there is no room for that; what the store says.
async fn entries(call: &Call, folder: &Record, kind: Kind, sort: Sort, page: Page) -> Result<(Vec<Loid>, usize)> {
    let (app, access) = (&call.app, call.access());
    // The right to read a folder extends to everything below it.
    let all = access.sees_all() || access.may(Privilege::Read, folder)?;
    let as_named = all && kind == Kind::All && sort.keeps_order();
    let mut gathering = Gathering::new(sort, page, app.replies.nothing(&call.holder()));
    let loids = names(app, folder.loid).await?;
    if !gathering.counts(size_of_val(&*loids)) {
        return Err(no_room());
    }
    if as_named {
        let total = loids.len();
        return Ok((page.cut(loids), total));
    }
    let mut way = GiveWay::new();
    for loid in loids {
        way.now_and_then().await;
        let Some(record) = app.records.record(&app.repository, loid)? else { continue };
        if kind != Kind::All && record.family != FamilyKind::Folder {
            continue;
        }
        // The order shows what it goes by.
        let record = match if all { Seen::Whole } else { access.seen(&record)? } {
            Seen::Whole => record,
            Seen::OnTheWay => outline(&record),
            Seen::Nothing => continue,
        };
        if !gathering.push(&record) {
            return Err(no_room());
        }
    }
    Ok(gathering.page().await)
}

/// What lies in a folder, by name, as it was at one moment.
async fn names(app: &App, folder: Loid) -> Result<Vec<Loid>> {
    let unlisted = |error: StoreError| {
        tracing::error!(%error, "a folder can't be listed");
        Error::internal()
    };
    let few = children(app.repository.look(), View::Committed, folder, None, NAMES_AT_ONCE).map_err(unlisted)?;
    let (loids, None) = few else {
        let repository = app.repository.clone();
        let read = move || children(repository.look(), View::Committed, folder, None, usize::MAX);
        return Ok(give_way::aside(read).await?.map_err(unlisted)?.0);
    };
    Ok(loids)
}
