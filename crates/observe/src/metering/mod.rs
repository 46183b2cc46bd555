//! Metrics that are not counted where things happen: the list of all metrics ([`catalogue`]), and
//! figures that are read on request or periodically. These are the process, the data directory, and
//! the slowest turn of the last minute.

mod catalogue;
mod data;
mod process;
mod slowest;

pub use self::data::DataFigures;
pub use self::process::allocated_bytes;
pub use self::slowest::slow_turn;

/// Describes all metrics, and sets those that begin at 0. Must be called after the recorder is
/// installed.
pub fn begin() {
    catalogue::begin();
    let commit = option_env!("STET_COMMIT").unwrap_or("unknown");
    metrics::gauge!("stet_build_info", "version" => env!("CARGO_PKG_VERSION"), "commit" => commit).set(1.0);
}

/// Updates the figures that are read on request. Returns, in Prometheus' text format, what the
/// recorder can't hold.
pub fn report() -> String {
    slowest::report();
    process::report()
}
