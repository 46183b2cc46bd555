//! Folders (docs/api/folders.md).

pub mod filter;
pub(crate) mod listing;
pub mod routes;
pub mod views;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::json::{ReadyJson, ReplyList};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::lifecycle::ConfirmObject;
use stet_domain::object::{CreateMode, check_path};
use stet_endpoint::requests::{CreateOptions, DatabaseRef, WireCreateMode, database_named, folder_source};
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace, check_folder};
use stet_newsroom::records::{CachedRecord, Display, ObjectRecord};
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use self::listing::{FolderListingKind, listing};
use super::object::{ChangedRecord, reply_after};

/// A folder or bundle and the objects in it.
#[derive(Serialize, JsonSchema)]
pub struct FolderReply {
    /// The folder or bundle.
    pub info: ReadyJson<ObjectRecord>,
    /// The page asked for.
    pub items: ReplyList<ReadyJson<ObjectRecord>>,
    /// Total number of objects.
    pub total: usize,
}

/// A folder that was created, or that existed already.
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
    /// Loid, uuid or path of the parent folder; the user's home by default.
    folder: Option<String>,
    /// Path of the parent folder.
    folder_path: Option<String>,
    /// Path of the new folder, in place of name and parent folder.
    path: Option<String>,
    /// Database; the main one by default.
    database_id: Option<DatabaseRef>,
    /// Name of the workflow status of a new folder; none by default.
    status: Option<String>,
    /// Reaction to a name that is taken. By default, an existing folder of that name is returned.
    create_mode: Option<WireCreateMode>,
    options: Option<JsonObject<CreateOptions>>,
}

/// `POST /v3/folder`: creates a folder with its missing parents. An existing folder is returned.
pub async fn create(call: Call) -> Result<PreferredReply<FolderCreated>> {
    let request: CreateFolder = call.json().await?;
    let app = &call.app;
    let database = database_named(&call, request.database_id.as_ref())?;
    let (parent, name) = match (&request.path, &request.name) {
        (Some(path), _) => {
            check_path(path, app.repository.path_limits())?;
            // A path that is only slashes is the root, which exists.
            match stet_domain::object::parent_path(path) {
                Some((parent, name)) if !name.is_empty() => {
                    (Some(ObjectSource::Path(parent.to_owned())), Some(name.to_owned()))
                }
                _ => (Some(ObjectSource::Path(path.clone())), None),
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
    let display = call.display_over(Display { path: true, ..call.display() }).await?;
    let (made, left) = match name {
        Some(name) => {
            let inner = request.options.as_ref().and_then(|options| options.0.create_mode);
            let mode = match inner.or(request.create_mode) {
                Some(mode @ (WireCreateMode::Exception | WireCreateMode::AutoRename)) => mode.into(),
                _ => CreateMode::Existing,
            };
            let place = CreationPlace::Found(call.folder_destination(parent, &name, database)?);
            let creation =
                Creation { mode, database, place, status: request.status, ..Creation::of(CreationKind::Folder, name) };
            let done = call.create(creation).await?;
            (done.reply.loid, done.left)
        }
        None => {
            let object = call.destination(parent, database)?.folder;
            let done = call.change_jointly(ConfirmObject { object }).await?;
            (object, done.left)
        }
    };
    reply_after(&call, made, left.as_ref(), &display, 0, |info| FolderCreated { info }).await
}

/// Returns the folder that is named in the call's path.
///
/// # Errors
/// The errors of [`Caller::resolve`](stet_newsroom::caller::Caller::resolve); `InvalidType`.
fn folder_in_path(call: &Call) -> Result<Arc<CachedRecord>> {
    let folder = call.resolve_seen("source")?;
    check_folder(&folder, call.param("source"))?;
    Ok(folder)
}

/// Returns the root of `database`.
///
/// # Errors
/// `DatabaseNotFound`.
fn root(call: &Call, database: DatabaseId) -> Result<Arc<CachedRecord>> {
    call.find_seen(&ObjectSource::Path("/".to_owned()), database)
}

/// Returns the caller's home.
///
/// # Errors
/// `ObjectNotFound` if it does not exist.
fn home_of_caller(call: &Call, database: DatabaseId) -> Result<Arc<CachedRecord>> {
    own_folder(call, call.app.home_of(call.user()?)?, database)
}

/// Returns the caller's work folder.
///
/// # Errors
/// `ObjectNotFound` if it does not exist.
fn work_of_caller(call: &Call, database: DatabaseId) -> Result<Arc<CachedRecord>> {
    own_folder(call, call.app.work_folder_of(call.user()?)?, database)
}

fn own_folder(call: &Call, path: String, database: DatabaseId) -> Result<Arc<CachedRecord>> {
    let folder = call.find_seen(&ObjectSource::Path(path.clone()), database)?;
    check_folder(&folder, &path)?;
    Ok(folder)
}

/// `GET /v3/folder/{source}`
pub async fn list(call: Call) -> Result<Json<FolderReply>> {
    let folder = folder_in_path(&call)?;
    listing(call, &folder, FolderListingKind::All).await
}

/// `GET /v3/folder/{source}/subfolders`
pub async fn subfolders(call: Call) -> Result<Json<FolderReply>> {
    let folder = folder_in_path(&call)?;
    listing(call, &folder, FolderListingKind::Folders).await
}

/// `GET /v3/folder/root`
pub async fn root_folder(call: Call) -> Result<Json<FolderReply>> {
    let folder = root(&call, call.database()?)?;
    listing(call, &folder, FolderListingKind::All).await
}

/// `GET /v3/folder/home`
pub async fn home(call: Call) -> Result<Json<FolderReply>> {
    let folder = home_of_caller(&call, call.database()?)?;
    listing(call, &folder, FolderListingKind::All).await
}

/// `GET /v3/folder/work`
pub async fn work(call: Call) -> Result<Json<FolderReply>> {
    let folder = work_of_caller(&call, call.database()?)?;
    listing(call, &folder, FolderListingKind::All).await
}
