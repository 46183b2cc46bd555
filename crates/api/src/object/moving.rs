//! Renames of objects, and moves from folder to folder (docs/api/objects.md, "Renaming and
//! moving").

use schemars::JsonSchema;
use serde::Deserialize;
use stet_auth::Privilege;
use stet_domain::error::{Code, Error, Result};
use stet_domain::lifecycle::{MoveObject, RenameObject};
use stet_domain::object::CreateMode;
use stet_endpoint::requests::{CreateOptions, WireCreateMode, folder_source};
use stet_newsroom::creation::check_place;
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::prefer::PreferredReply;

use super::{ChangedRecord, reply_with, target};

/// Body of a rename.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenameRequest {
    /// New name; `:`, `"` and `|` become `_`.
    name: String,
    /// Reaction to a name that is taken: `EXCEPTION` or `AUTO_RENAME`.
    create_mode: Option<WireCreateMode>,
    options: Option<JsonObject<CreateOptions>>,
}

/// Body of a move to another folder. One of the first two fields is required.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MoveRequest {
    /// Loid, uuid or path of the folder.
    folder: Option<String>,
    /// Path of the folder.
    folder_path: Option<String>,
    /// Reaction to a name that is taken: `EXCEPTION` or `AUTO_RENAME`.
    create_mode: Option<WireCreateMode>,
    options: Option<JsonObject<CreateOptions>>,
}

/// Returns the reaction to a name that is taken, for calls that neither create nor replace objects.
///
/// # Errors
/// `InvalidParameter`.
pub(super) fn name_mode(
    options: Option<&JsonObject<CreateOptions>>,
    given: Option<WireCreateMode>,
) -> Result<CreateMode> {
    let mode = CreateOptions::mode(options, given);
    if matches!(mode, CreateMode::Exception | CreateMode::AutoRename) {
        return Ok(mode);
    }
    let given = if mode == CreateMode::Replace { "REPLACE" } else { "NEW_VERSION" };
    Err(Error::parameter("createMode", given, "EXCEPTION or AUTO_RENAME here"))
}

/// `POST /v3/object/{source}/rename`
pub async fn rename(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let RenameRequest { name, create_mode, options } = call.json().await?;
    let display = call.display_of_change().await?;
    let object = target(&call, Privilege::Write, &call.source("source")?, call.database()?)?;
    let mode = name_mode(options.as_ref(), create_mode)?;
    let done = call.change_jointly(RenameObject { object, name, mode }).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}

/// `POST /v3/object/{source}/move`
pub async fn relocate(call: Call) -> Result<PreferredReply<ChangedRecord>> {
    let (request, display): (MoveRequest, _) = (call.json().await?, call.display_of_change().await?);
    let (moved, database) = (call.source("source")?, call.database()?);
    let record = call.find_for(Privilege::Write, &moved, database)?;
    let (object, reach) = (record.loid, call.access().reach_in(Privilege::Write, &record)?);
    let mode = name_mode(request.options.as_ref(), request.create_mode)?;
    let Some(source) = folder_source(request.folder.as_deref(), request.folder_path.as_deref())? else {
        let message = "`folder` or `folderPath` must name the target folder.";
        return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$.folder"));
    };
    let folder = call.find_for(Privilege::Create, &source, object.database)?;
    check_place(&folder, &source.to_string())?;
    call.access().check_move(&record, &folder, &moved)?;
    let done = call.change_jointly(MoveObject { object, folder: folder.loid, mode, reach }).await?;
    reply_with(&call, object, done.left.as_ref(), &display).await
}
