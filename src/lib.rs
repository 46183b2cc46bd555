//! stet: an open newsroom content-repository server.
//!
//! The domain and its actors are the crate `stet_actors`; this one has the web layer, persistence, sessions and the binary.

pub mod access;
pub mod admin;
pub mod api;
pub mod audit;
pub mod auth;
pub mod check;
pub mod cli;
pub mod config;
pub mod content;
pub mod events;
pub mod exit;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod json;
pub mod limits;
pub mod listen;
pub mod newsroom;
pub mod receipts;
pub mod records;
pub mod sample;
pub mod server;
pub mod sysconfig;
pub mod telemetry;
pub mod tls;
