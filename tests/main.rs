//! Black-box tests: the real binary on port 0 with a data directory of its own, spoken to over
//! HTTP. One binary, for linking takes longer than running; the modules mirror `src/api`.

mod api;
mod calendar;
mod crash;
mod documents;
mod faults;
mod histories;
mod load;
mod operation;
#[cfg(target_os = "linux")]
mod overload;
#[cfg(target_os = "linux")]
mod proxies;
mod retries;
#[cfg(target_os = "linux")]
mod soak;
mod structure;
mod wire;

use stet_testkit as harness;
