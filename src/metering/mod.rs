//! What `/metrics` tells beyond what the code counts on its way: which metrics there are
//! ([`catalogue`]), and what is looked up when somebody asks, or now and then: the process, the
//! data directory, the slowest turn of the last minute.

mod catalogue;
mod data;
mod process;
mod slowest;

pub use self::data::DataFigures;
pub(crate) use self::process::resident_bytes;
pub use self::slowest::slow_turn;

/// Describes all metrics and begins those that begin with 0; to be called when the metrics have
/// been set up.
pub fn begin() {
    catalogue::begin();
    let commit = option_env!("STET_COMMIT").unwrap_or("unknown");
    metrics::gauge!("stet_build_info", "version" => env!("CARGO_PKG_VERSION"), "commit" => commit).set(1.0);
}

/// Brings up to date what is looked up when somebody asks. Gives what the recorder can't hold, in
/// Prometheus' text format.
pub fn report() -> String {
    slowest::report();
    process::report()
}
