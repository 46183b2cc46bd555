//! stet: an open newsroom content-repository server.
//!
//! The domain and its actors are the crate `stet_actors`; this one has the web layer, persistence, sessions and the binary.

pub mod access;
pub mod admin;
pub mod api;
pub mod app;
pub mod audit;
pub mod auth;
pub mod check;
pub mod cli;
pub mod config;
pub mod content;
pub mod events;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod limits;
pub mod listen;
pub mod load;
pub mod open_files;
pub mod receipts;
pub mod records;
pub mod sample;
pub mod server;
pub mod store;
pub mod sysconfig;
pub mod telemetry;
pub mod tls;
pub mod xml;

// A family that nobody but the tests has.
#[cfg(test)]
#[path = "../actors/tests/shelf/mod.rs"]
mod shelf;
