//! Discard, restore and destroy calls for objects (docs/api/objects.md, "The recycle bin").

use schemars::JsonSchema;
use serde::Deserialize;
use stet_auth::Privilege;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::lifecycle::{DestroyObject, DiscardObject, RestoreObject};
use stet_endpoint::records::{BulkBuilder, BulkItem, BulkReply};
use stet_endpoint::requests::{BulkSources, CreateOptions, ObjectListRequest, WireCreateMode, folder_source};
use stet_newsroom::creation::check_place;
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;
use stet_web::reply::Json;

use super::moving::name_mode;
use super::{ChangedRecord, RemovedObject, any_target, reply_with, whole_target};

/// Body of a restore. All fields are optional.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreRequest {
    /// Folder to restore into; the former folder by default.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// Reaction to a name that is taken: `EXCEPTION` or `AUTO_RENAME`.
    create_mode: Option<WireCreateMode>,
    options: Option<JsonObject<CreateOptions>>,
}

/// `DELETE /v3/object/{source}/discard`
pub async fn discard(call: Call) -> Result<Json<RemovedObject>> {
    discard_object(&call, &call.source("source")?, call.database()?).await
}

/// Moves an object to the recycle bin.
///
/// # Errors
/// `ObjectNotFound`, `PermissionDenied`, errors of the command.
pub(crate) async fn discard_object(
    call: &Call,
    source: &ObjectSource,
    database: DatabaseId,
) -> Result<Json<RemovedObject>> {
    let (object, reach) = whole_target(call, Privilege::Delete, source, database)?;
    call.change_jointly(DiscardObject { object, reach }).await?;
    Json::of(&RemovedObject { id: object.to_string() })
}

/// `DELETE /v3/object/{source}/destroy`: destroys an object in a folder or in the recycle bin.
pub async fn destroy(call: Call) -> Result<Json<RemovedObject>> {
    // Ownership does not give this privilege to anyone.
    let (object, _) = any_target(&call, Privilege::Destroy, &call.source("source")?, call.database()?)?;
    call.change_jointly(DestroyObject { object }).await?;
    Json::of(&RemovedObject { id: object.to_string() })
}

/// `DELETE /v3/object/discard`
pub async fn discard_all(call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    bulk(call, false).await
}

/// `DELETE /v3/object/destroy`
pub async fn destroy_all(call: Call) -> Result<Json<BulkReply<BulkItem>>> {
    bulk(call, true).await
}

async fn bulk(mut call: Call, destroy: bool) -> Result<Json<BulkReply<BulkItem>>> {
    let BulkSources { given, database } = ObjectListRequest::of(&call).await?;
    let (mut bulk, mut each) = (BulkBuilder::of(&call, &given), call.each_of(given.len())?);
    let mut timer = YieldTimer::start();
    for (place, source) in given.iter().enumerate() {
        timer.yield_if_due().await;
        let outcome = async {
            let one = each.at(place)?;
            if let Some(object) = one.done_before() {
                return Ok(BulkItem { source: source.clone(), id: object.to_string() });
            }
            let parsed = ObjectSource::parse("sources", source)?;
            let object = if destroy {
                let (object, _) = any_target(one.caller(), Privilege::Destroy, &parsed, database)?;
                one.change(object, DestroyObject { object }).await?;
                object
            } else {
                let (object, reach) = whole_target(one.caller(), Privilege::Delete, &parsed, database)?;
                one.change(object, DiscardObject { object, reach }).await?;
                object
            };
            Ok(BulkItem { source: source.clone(), id: object.to_string() })
        };
        bulk.note(place, outcome.await);
    }
    bulk.answer().await
}

/// `POST /v3/object/{source}/restore`
pub async fn restore(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let (request, display): (RestoreRequest, _) = (call.json().await?, call.display_of_change().await?);
    let (object, reach) = any_target(&call, Privilege::Delete, &call.source("source")?, call.database()?)?;
    let mode = name_mode(request.options.as_ref(), request.create_mode)?;
    let folder = match folder_source(request.folder.as_deref(), request.folder_path.as_deref())? {
        Some(source) => {
            let folder = call.find_for(Privilege::Create, &source, object.database)?;
            check_place(&folder, &source.to_string())?;
            Some(folder.loid)
        }
        None => None,
    };
    let done = call.change_jointly(RestoreObject { object, folder, mode, reach }).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}
