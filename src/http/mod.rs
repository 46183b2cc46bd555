//! The web layer: routes as data, and what is derived from them. No rules of the domain are here.

pub mod app;
pub(crate) mod authorise;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod change;
pub(crate) mod client;
pub mod connection;
pub(crate) mod cookie;
pub(crate) mod cors;
pub(crate) mod dates;
pub(crate) mod dispatch;
pub mod error;
pub(crate) mod etag;
pub(crate) mod identify;
pub(crate) mod intake;
pub mod listing;
pub(crate) mod media_type;
pub(crate) mod meters;
pub(crate) mod minimal;
pub(crate) mod openapi;
pub(crate) mod origin;
pub(crate) mod pace;
pub(crate) mod pieces;
pub(crate) mod prefer;
pub(crate) mod probe;
pub(crate) mod query;
pub(crate) mod range;
pub(crate) mod reply;
pub(crate) mod route;
pub(crate) mod router;
pub(crate) mod shared;
pub(crate) mod steps;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod wording;
