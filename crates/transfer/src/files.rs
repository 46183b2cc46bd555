//! Reading the files of a tree, which must be regular files. A link could lead out of the tree, and
//! a named pipe would never end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// Opens a regular file for reading. Never blocks, whatever the name refers to.
///
/// # Errors
/// The file is missing or may not be read, or is a link, a pipe, a device or a folder.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            io::Error::new(ErrorKind::InvalidInput, "it is a link, which is not followed")
        }
        _ => error,
    })?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// The errors of [`open`], and `FileTooLarge`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte beyond the limit detects a file that is too large, even if it grows during the read.
    open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Returns the SHA-256 of a regular file, in hexadecimal.
///
/// # Errors
/// The errors of [`open`].
pub fn hash_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hasher, mut piece) = (BufReader::new(open(path)?), Sha256::new(), vec![0; 128 << 10]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&piece[..read]);
    }
}

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_alone_are_opened() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "four").expect("it can be written");
        std::os::unix::fs::symlink("file", at("link")).expect("it can be made");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
            .expect("it can be made");
        assert_eq!(read(&at("file"), 4).expect("it is a file"), b"four");
        assert_eq!(read(&at("file"), 3).expect_err("too large").kind(), ErrorKind::FileTooLarge);
        for name in ["link", "pipe", ""] {
            assert_eq!(hash_of(&at(name)).expect_err(name).kind(), ErrorKind::InvalidInput, "{name}");
        }
    }
}
