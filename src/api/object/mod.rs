//! Objects (interface 4.17, decisions 3, 4 and 6).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::object::{Record, Version};

use super::records::{BulkError, record_of, seen_record_of};
use super::requests::ObjectListRequest;
use crate::auth::Privilege;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::etag::ETag;
use crate::http::reply::{Content, Reply, to_json};
use crate::records::{ObjectRecord, render, render_version};

mod content;
mod creation;
mod locks;
mod pictures;
mod removal;
pub mod routes;
mod versions;
mod writing;

pub(super) use self::content::latest_of;
pub use self::content::{bytes_of, content, content_by_loid};
pub(super) use self::content::{opened, stored};
pub use self::creation::{CreateObject, create};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::creation::{Form, read_parts};
pub(super) use self::creation::{ProductInfo, check_issue_date, status_of, with_product_info};
pub use self::locks::{UnlockRequest, lock, unlock};
pub use self::pictures::content_as;
pub use self::removal::{RestoreRequest, destroy, destroy_all, discard, discard_all, restore};
pub use self::versions::{VersionList, restore_version, versions};
pub use self::writing::{switches, write_content, write_content_by_loid};

/// What a bulk call did to an object.
#[derive(Serialize, JsonSchema)]
pub struct BulkItem {
    /// As the client gave it.
    pub source: String,
    /// The object's loid.
    pub id: String,
}

/// A record as the only thing in a reply.
pub type RecordReply = ObjectRecord;

/// The answer to a single discard, destroy or restore.
#[derive(Serialize, JsonSchema)]
pub struct Removed {
    /// The object's loid.
    pub id: String,
}

/// `GET /v3/object/{source}`: an object, or it as one of its versions has it.
pub async fn get(call: Call) -> Result<Reply> {
    let (revision, json) = shown(&call, &call.source("source")?, call.database()?, &call.display())?;
    let tag = ETag::new(revision, &json);
    Ok(Reply::new(Content::Json(json.into())).with_etag(tag))
}

/// The JSON of the object or version that a source names, and the object's revision.
fn shown(call: &Call, source: &Source, database: DatabaseId, display: &Display) -> Result<(u64, String)> {
    let app = &call.app;
    let record = call.find(source, database)?;
    let json = match version_named(app, source, &record)? {
        Some(version) => {
            let attributes = app.repository.attributes(record.loid)?;
            let mut shown = render_version(app, &record, &attributes, &version, display)?;
            if display.path {
                shown.path = Some(app.repository.path_of(&record)?);
            }
            String::from_utf8_lossy(&to_json(&shown)?).into_owned()
        }
        None => seen_record_of(call, &record, display)?,
    };
    // A folder on the way has changed for this caller when what they see of it has.
    let readable = call.access().may(Privilege::Read, &record)?;
    Ok((if readable { record.revision } else { 0 }, json))
}

/// The version that the source names, if it names one.
pub(super) fn version_named(app: &App, source: &Source, record: &Record) -> Result<Option<Version>> {
    match source {
        Source::Loid(loid) if loid.version != 0 => version(app, record, loid.version).map(Some),
        _ => Ok(None),
    }
}

/// Refuses a version, which can't be changed, where an object is to be changed.
pub(super) fn check_whole(source: &Source) -> Result<()> {
    match source {
        Source::Loid(loid) if loid.version != 0 => {
            let message =
                format!("`{loid}` is a version, which can't be changed: name the object, `{}`.", loid.object());
            Err(Error::new(Code::InvalidType, message).with_source(loid))
        }
        _ => Ok(()),
    }
}

/// The live object that is to be removed.
fn target(call: &Call, needed: Privilege, source: &Source, database: DatabaseId) -> Result<Loid> {
    let record = call.find_for(needed, source, database)?;
    check_whole(source)?;
    Ok(record.loid)
}

/// The same, in the recycle bin or not.
fn any_target(call: &Call, needed: Privilege, source: &Source, database: DatabaseId) -> Result<Loid> {
    let record = call.app.repository.resolve_any(source, database)?;
    call.access().check(needed, &record, source)?;
    check_whole(source)?;
    Ok(record.loid)
}

fn version(app: &App, record: &Record, number: u32) -> Result<Version> {
    let loid = record.loid.at_version(number);
    let key = Version::key(loid);
    app.repository.row(key.table, &key.key)?.ok_or_else(|| Error::not_found(loid))
}

/// `POST /v3/object`: the records of all sources, and what could not be found.
pub async fn list(call: Call) -> Result<Reply> {
    let request = ObjectListRequest::of(&call)?;
    let app = &call.app;
    let display = call.display_of_body()?;
    let database = call.database()?;
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for source in &request.sources {
        match Source::parse("sources", source).and_then(|source| shown(&call, &source, database, &display)) {
            Ok((_, json)) => items.push(json),
            Err(error) => errors.push(BulkError::new(app, source, &error)),
        }
    }
    let errors = String::from_utf8_lossy(&to_json(&errors)?).into_owned();
    let json = format!("{{\"items\":[{}],\"errors\":{errors}}}", items.join(","));
    Ok(Reply::new(Content::Json(json.into())))
}

/// `GET /v3/object/{source}/lastversionloid`: as plain text; the object's own loid while it has no version.
pub async fn last_version_loid(call: Call) -> Result<Reply> {
    let record = call.resolve("source")?;
    Ok(Reply::text(record.loid.at_version(record.version).to_string()))
}

/// The object's record with its path: what creations answer.
fn reply_with(app: &App, object: Loid) -> Result<Reply> {
    let display = Display { path: true, ..Display::with_defaults(false) };
    Ok(Reply::new(Content::Json(record_after(app, object, &display)?.into())))
}

/// The JSON of a record after a change that has been made. Another call may have discarded or destroyed the object since; that
/// makes no failure of the change.
///
/// # Errors
/// What the store says.
pub fn record_after(app: &App, object: Loid, display: &Display) -> Result<String> {
    if let Some(json) = record_of(app, object, display)? {
        return Ok(json);
    }
    let Some(record) = app.repository.any_record(object)? else {
        return Ok(json!({ "id": object.to_string() }).to_string());
    };
    let mut shown = render(app, &record, &app.repository.attributes(object)?, display)?;
    if display.path {
        shown.path = Some(app.repository.path_of(&record)?);
    }
    Ok(String::from_utf8_lossy(&to_json(&shown)?).into_owned())
}
