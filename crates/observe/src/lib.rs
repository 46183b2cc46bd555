//! The output of a running server for operators: the log ([`telemetry`], [`log_lines`]), metrics
//! ([`metering`]), and spans of OpenTelemetry ([`traces`]).
//!
//! The crate describes every metric, but does not know who counts it. Readers start at
//! [`telemetry`].

pub mod log_lines;
pub mod metering;
pub mod telemetry;
pub mod traces;
