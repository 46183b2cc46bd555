//! The web layer: routes as data, and what is derived from them. No rules of the domain are here.

pub mod app;
pub mod authorise;
pub mod body;
pub mod call;
pub mod calls;
pub mod client;
pub mod cors;
pub mod dispatch;
pub mod display;
pub mod error;
pub mod etag;
pub mod identify;
pub mod meters;
pub mod openapi;
pub mod pace;
pub mod pieces;
pub mod probe;
pub mod query;
pub mod range;
pub mod reply;
pub mod route;
pub mod router;
#[cfg(test)]
pub mod testing;
