//! Compression with zstd, with a bound on what is unpacked.

use std::fmt::Display;
use std::io::Read;

use zstd::stream::read::Decoder;

use crate::{BackupError, BackupResult};

/// The maximum number of bytes that an object unpacks to: 512 MiB. The largest commit of the store,
/// with a change set of 256 MiB, fits in one archive file.
pub const MAX_RAW_BYTES: usize = 512 << 20;

/// The level of compression. Higher ones take twice the time for a few percent.
const LEVEL: i32 = 3;

/// The binary logarithm of the largest window that a frame may demand: 8 MiB. Frames of [`LEVEL`]
/// need 2 MiB.
const WINDOW_LOG: u32 = 23;

/// Compresses bytes to one zstd frame.
pub(crate) fn pack(raw: &[u8]) -> BackupResult<Vec<u8>> {
    zstd::bulk::compress(raw, LEVEL)
        .map_err(|error| BackupError::Refused(format!("{} bytes could not be compressed: {error}.", raw.len())))
}

/// Decompresses one zstd frame of the object with that name. Allocates little more than what the
/// frame unpacks to, or twice `at_most`.
///
/// # Errors
/// `Damaged`: the bytes are no whole frame, more than one frame, or unpack to more than `at_most`.
pub(crate) fn unpack(object: &dyn Display, packed: &[u8], at_most: usize) -> BackupResult<Vec<u8>> {
    let broken = |error| BackupError::damaged(object, format!("it can't be unpacked: {error}"));
    let mut decoder = Decoder::with_buffer(packed).map_err(broken)?.single_frame();
    decoder.window_log_max(WINDOW_LOG).map_err(broken)?;
    let mut raw = Vec::new();
    decoder.by_ref().take(at_most as u64 + 1).read_to_end(&mut raw).map_err(broken)?;
    if raw.len() > at_most {
        return Err(BackupError::damaged(object, format!("it unpacks to more than {at_most} bytes")));
    }
    let rest = decoder.finish();
    if rest.is_empty() { Ok(raw) } else { Err(BackupError::damaged(object, "bytes follow its zstd frame")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_unpacked_up_to_its_bound() {
        let raw = vec![7; 10_000];
        let packed = pack(&raw).unwrap();
        assert_eq!(unpack(&"name", &packed, 10_000).unwrap(), raw);
        let refused = unpack(&"name", &packed, 9_999).unwrap_err();
        assert_eq!(refused, BackupError::damaged(&"name", "it unpacks to more than 9999 bytes"));
    }

    #[test]
    fn nothing_but_one_whole_frame_is_taken() {
        let packed = pack(b"some bytes").unwrap();
        for end in 0..packed.len() {
            assert!(unpack(&"name", &packed[..end], 100).is_err(), "{end} bytes of {}", packed.len());
        }
        let twice = [&packed[..], &packed[..]].concat();
        assert!(unpack(&"name", &twice, 100).is_err());
        assert!(unpack(&"name", b"no frame", 100).is_err());
    }

    /// Checks that a frame can't demand a window that takes much memory.
    #[test]
    fn a_frame_with_a_large_window_is_refused() {
        // Magic, descriptor without a size, a window of 128 MiB, one last block of four raw bytes.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x21, 0, 0, 1, 2, 3, 4];
        assert!(unpack(&"name", &frame, 100).is_err());
        let mut small = frame;
        small[5] = 13 << 3;
        assert_eq!(unpack(&"name", &small, 100).unwrap(), [1, 2, 3, 4]);
    }
}
