//! Black-box tests: the real binary on port 0 with a data directory of its own, called over HTTP.
//! All tests are one binary, because linking takes longer than running. The modules of `api` are
//! roughly the resources of `crates/api/src` and `crates/containers/src`.

mod api;
mod calendar;
#[cfg(target_os = "linux")]
mod console;
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
