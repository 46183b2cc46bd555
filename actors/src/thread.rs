//! What the threads are called, so that whoever looks at a running server (`top -H`) sees where its time goes.

use std::ffi::CStr;

/// Names the calling thread, in 15 bytes. Those of an arbiter have longer names of their own, of which the system keeps what is the
/// same for all of them.
pub fn name_this(name: &CStr) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_name(name) {
        tracing::debug!(?name, %error, "a thread keeps the name that it has");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
