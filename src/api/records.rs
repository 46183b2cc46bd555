//! What replies show of records.

use schemars::JsonSchema;
use serde::Serialize;

use stet_actors::error::{Error, Result};
use stet_actors::family::State;
use stet_actors::id::Loid;
use stet_actors::object::Record;

use crate::auth::Privilege;
use crate::http::app::App;
use crate::http::call::Call;
use crate::json::Ready;
use crate::records::Display;
use crate::records::{Cached, ObjectRecord, render};

/// A bulk reply: what was done or found, and what was not.
#[derive(Serialize, JsonSchema)]
pub struct BulkReply<T> {
    /// What was done or found.
    pub items: Vec<T>,
    /// One for each source that failed.
    pub errors: Vec<BulkError>,
}

/// A source of a bulk call that failed.
#[derive(Serialize, JsonSchema)]
pub struct BulkError {
    /// As the client gave it.
    pub source: String,
    /// The code with its prefix.
    pub code: String,
    /// A whole sentence.
    pub message: String,
}

impl BulkError {
    /// What became of one source.
    pub fn new(app: &App, source: &str, error: &Error) -> BulkError {
        let code = format!("{}{}", app.config.compat.code_prefix, error.code.name());
        BulkError { source: source.to_owned(), code, message: error.message.clone() }
    }
}

/// The record of a live object, path included if asked for; `None` when there is no such object.
///
/// # Errors
/// What the store says.
pub fn record_of(app: &App, loid: Loid, display: &Display) -> Result<Option<Ready<ObjectRecord>>> {
    let Some(cached) = app.records.get(&app.repository, loid)? else { return Ok(None) };
    let path = path_if_shown(app, &cached, display)?;
    shown(app, &cached, display, path.as_deref()).map(Some)
}

/// The record of an object, live or in the recycle bin; `None` for one that is gone for good.
///
/// # Errors
/// What the store says.
pub fn any_record_of(app: &App, loid: Loid, display: &Display) -> Result<Option<Ready<ObjectRecord>>> {
    if let Some(shown) = record_of(app, loid, display)? {
        return Ok(Some(shown));
    }
    let Some(record) = app.repository.any_record(loid)? else { return Ok(None) };
    let mut shown = render(app, &record, &app.repository.attributes(loid)?, display)?;
    shown.path = path_if_shown(app, &record, display)?;
    Ready::of(&shown).map(Some)
}

/// The record of a live object as the caller may see it, path included if asked for. Of a folder that is merely on the way to
/// what may be seen, all is left out that shows what goes on in it.
///
/// # Errors
/// What the store says.
pub fn seen_record_of(call: &Call, cached: &Cached, display: &Display) -> Result<Ready<ObjectRecord>> {
    let path = path_if_shown(&call.app, cached, display)?;
    seen_record_at(call, cached, display, path.as_deref())
}

/// As [`seen_record_of`], with a path that is known.
///
/// # Errors
/// What the store says.
pub fn seen_record_at(
    call: &Call,
    cached: &Cached,
    display: &Display,
    path: Option<&str>,
) -> Result<Ready<ObjectRecord>> {
    let (app, access) = (&call.app, call.access());
    if access.sees_all() || access.may(Privilege::Read, cached)? {
        return shown(app, cached, display, path);
    }
    let mut record = rendered(app, cached, display, path)?;
    (record.modified, record.last_modifier) = (record.created, record.creator.clone());
    (record.virtual_attributes, record.virtual_attributes_xml) = (None, None);
    Ready::of(&record)
}

/// A record with that path, made once per change.
///
/// # Errors
/// What the store says.
pub fn shown(app: &App, cached: &Cached, display: &Display, path: Option<&str>) -> Result<Ready<ObjectRecord>> {
    app.records.shown(cached, display, path, app.directory.changes(), |cached| {
        Ready::of(&rendered(app, cached, display, path)?)
    })
}

fn rendered(app: &App, cached: &Cached, display: &Display, path: Option<&str>) -> Result<ObjectRecord> {
    let record = render(app, &cached.record, &cached.attributes, display)?;
    Ok(ObjectRecord { path: path.map(str::to_owned), ..record })
}

/// A container's own record, at the state that a reply speaks of.
///
/// # Errors
/// What the store says.
pub fn info_of(app: &App, state: &impl State, display: &Display) -> Result<ObjectRecord> {
    let object = state.object();
    let record = render(app, &object.record, &object.attributes, display)?;
    Ok(ObjectRecord { path: path_if_shown(app, &object.record, display)?, ..record })
}

/// The path of a record, where the display asks for it.
///
/// # Errors
/// What the store says.
pub fn path_if_shown(app: &App, record: &Record, display: &Display) -> Result<Option<String>> {
    if display.path { app.path_of(record) } else { Ok(None) }
}
