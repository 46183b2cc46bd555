//! Names and priorities of threads. The names show whoever looks at a running server (`top -H`)
//! where its time goes.

use std::ffi::CStr;

/// Nice value of threads whose work is large: they have a third of the weight of others, so that
/// their work goes on also where other programs take all processors.
const NICE: i32 = 5;

/// Lowers the priority of the calling thread, for good. Where processors are few, its work takes
/// the time that other threads leave, and they need not wait for it.
pub fn lower_priority() {
    // Linux: the calling thread only. Elsewhere this would be the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "a thread keeps the priority that it has");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = NICE;
}

/// Names the calling thread, in 15 bytes. Threads of an arbiter have longer names of their own, of
/// which the system keeps the beginning that all have in common.
pub fn name_this(name: &CStr) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_name(name) {
        tracing::debug!(?name, %error, "a thread keeps the name that it has");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
