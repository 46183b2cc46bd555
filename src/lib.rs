//! stet: an open newsroom content-repository server.
//!
//! The domain and its actors are the crate `stet_actors`; this one has the web layer, persistence,
//! sessions and the binary.

// Printing panics if the output is closed: see `exit`.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod admin;
pub mod backup;
pub mod check;
pub mod cli;
pub mod doctor;
pub mod exit;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod listen;
pub mod manual;
pub mod probe;
pub mod reload;
mod sample;
pub mod server;
pub mod service_manager;
mod tls;
