//! Putting replies together from records whose JSON is there already.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use stet_actors::error::{Code, Error, Result};
use stet_actors::family::State;
use stet_actors::id::Loid;
use stet_actors::object::Record;

use crate::auth::Privilege;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::display::Display;
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

/// The JSON of a live object's record, path included if asked for; `None` when there is no such object.
///
/// # Errors
/// What the store says.
pub fn record_of(app: &App, loid: Loid, display: &Display) -> Result<Option<String>> {
    let Some(cached) = app.records.get(&app.repository, loid)? else { return Ok(None) };
    let json = json_of(app, &cached, display)?;
    if !display.path {
        return Ok(Some(json.to_string()));
    }
    Ok(Some(with_path(&json, &app.repository.path_of(&cached.record)?)))
}

/// The JSON of a live object's record as the caller may see it, path included if asked for. Of a folder that is merely on the way to
/// what may be seen, all is left out that tells what goes on in it.
///
/// # Errors
/// What the store says.
pub fn seen_record_of(call: &Call, cached: &Cached, display: &Display) -> Result<String> {
    let (app, access) = (&call.app, call.access());
    let json = if access.sees_all() || access.may(Privilege::Read, cached)? {
        json_of(app, cached, display)?
    } else {
        let mut record = render(app, &cached.record, &cached.attributes, display)?;
        (record.modified, record.last_modifier) = (record.created, record.creator.clone());
        (record.virtual_attributes, record.virtual_attributes_xml) = (None, None);
        text_of(&record)?.into()
    };
    Ok(match path_if_shown(app, cached, display)? {
        Some(path) => with_path(&json, &path),
        None => json.to_string(),
    })
}

/// The JSON of a record without its path, made once per change.
///
/// # Errors
/// What the store says.
pub fn json_of(app: &App, cached: &Cached, display: &Display) -> Result<Arc<str>> {
    let mut plain = display.clone();
    // The path depends on the folders above and not on the record, so it is no part of what is kept.
    plain.path = false;
    app.records.json(cached, &plain, |cached| text_of(&render(app, &cached.record, &cached.attributes, &plain)?))
}

/// The JSON of a container's own record, at the state that a reply speaks of.
///
/// # Errors
/// What the store says.
pub fn info_of(app: &App, state: &impl State, display: &Display) -> Result<String> {
    let object = state.object();
    let mut info = render(app, &object.record, &object.attributes, display)?;
    if display.path {
        info.path = Some(app.repository.path_of(&object.record)?);
    }
    text_of(&info)
}

/// Adds the path to a record's JSON.
pub fn with_path(json: &str, path: &str) -> String {
    // A record is never the empty object.
    format!("{{\"path\":{},{}", quoted(path), json.trim_start_matches('{'))
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text_of(record: &ObjectRecord) -> Result<String> {
    // Most records fit in, so that the text need not move while it grows.
    let mut json = Vec::with_capacity(1024);
    let written = serde_json::to_writer(&mut json, record).map_err(|error| error.to_string());
    let text = written.and_then(|()| String::from_utf8(json).map_err(|error| error.to_string()));
    text.map_err(|error| {
        tracing::error!(%error, "a record can't be serialised");
        Error::internal()
    })
}

/// The path of a record, where the display asks for it.
///
/// # Errors
/// What the store says.
pub fn path_if_shown(app: &App, record: &Record, display: &Display) -> Result<Option<String>> {
    if display.path { app.repository.path_of(record).map(Some) } else { Ok(None) }
}

impl App {
    /// Adds the current record to a failed precondition (decisions 1).
    ///
    /// # Errors
    /// The outcome's own.
    pub fn with_current<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| {
            let loid = error.source.as_ref().and_then(|source| source.parse().ok());
            let (Code::PreconditionFailed, Some(loid)) = (error.code, loid) else { return error };
            let display = Display::with_defaults(false);
            match current_record(self, loid, &display) {
                Some(current) => error.with_detail("current", current),
                None => error,
            }
        })
    }
}

/// An object's record as a JSON value; `None` when it can't be had.
fn current_record(app: &App, loid: Loid, display: &Display) -> Option<Value> {
    let json = record_of(app, loid, display).ok()??;
    serde_json::from_str(&json).ok()
}
