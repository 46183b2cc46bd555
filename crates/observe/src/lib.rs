//! Log lines, metrics and traces of stet's server

pub mod log_lines;
pub mod metering;
pub mod telemetry;
pub mod traces;
