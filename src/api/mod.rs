//! Thin handlers, one file a resource, named as in the interface: extract, ask, reply.

pub mod auth;
pub mod drawer;
pub mod folder;
pub mod object;
pub mod records;
pub mod requests;

use serde_json::Value;
use stet_actors::id::Loid;

use crate::app::App;
use crate::http::display::Display;

/// An object's record as a JSON value; `None` when it can't be had.
pub fn current_record(app: &App, loid: Loid, display: &Display) -> Option<Value> {
    let json = records::record_of(app, loid, display).ok()??;
    serde_json::from_str(&json).ok()
}
