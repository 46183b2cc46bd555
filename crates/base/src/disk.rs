//! The free space of a disk.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::StatVfs;

/// Returns the bytes that are free for this process on the file system of a path.
///
/// # Errors
/// Errors of the operating system.
pub fn free_at(path: &Path) -> io::Result<u64> {
    Ok(free(&rustix::fs::statvfs(path)?))
}

/// Returns the bytes that are free for this process on the file system of an open file.
///
/// # Errors
/// Errors of the operating system.
pub fn free_of(file: impl AsFd) -> io::Result<u64> {
    Ok(free(&rustix::fs::fstatvfs(file)?))
}

/// Returns the bytes that are free for this process, by the figures of a file system.
fn free(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}
