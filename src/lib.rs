//! stet: an open newsroom content-repository server.
//!
//! The domain and its actors are the crate `stet_actors`; this one has the web layer, persistence, sessions and the binary.

mod access;
pub mod admin;
mod api;
pub mod app;
mod audit;
mod auth;
pub mod check;
pub mod cli;
pub mod config;
pub mod content;
pub mod events;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
mod limits;
mod listen;
pub mod load;
mod open_files;
mod receipts;
mod records;
mod sample;
pub mod server;
pub mod store;
mod sysconfig;
pub mod telemetry;
mod tls;
mod weighed;
pub mod xml;
