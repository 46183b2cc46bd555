//! Names and priorities of threads. Administrators see by the names (`top -H`) where a running
//! server's time is spent.

use std::ffi::CStr;

/// The nice value of threads for large work. They have a third of the weight of others, so their
/// work continues even where other programs occupy all processors.
const NICE: i32 = 5;

/// Lowers the priority of the calling thread permanently. Where processors are few, its work uses
/// the time that other threads leave, and those need not wait for it.
pub fn lower_priority() {
    // Linux: the calling thread only. Elsewhere this would be the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "cannot change the priority of a thread");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = NICE;
}

/// Names the calling thread, in 15 bytes. Threads of an arbiter have longer names of their own, of
/// which the system keeps only the common beginning.
pub fn name_this(name: &CStr) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_name(name) {
        tracing::debug!(?name, %error, "cannot change the name of a thread");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
