//! `journal.mark`: the number of the newest acknowledged change, beside the journal.
//!
//! The journal alone cannot show that its newest records are missing: a truncated or zeroed part
//! looks as if it was never written. So after each sync of the journal, and before any reply, the
//! writer notes how far the journal extends. The note is written and not synced. Another block in
//! the journal's own sync was measured at a tenth of a commit, this write at about 4 µs of 140 to
//! 380. After a kill of the process the mark is exact. After a power failure it may be from an
//! earlier moment, but never from a later one. Then the journal must still extend beyond the
//! tables' last checkpoint, which is seconds old.
//!
//! Beside the number is the checksum of the record that ends with it. A copy of the directory
//! continues with the same salt and the same numbers, but with other records. So the checksum
//! distinguishes the journal of a copy from the one written here.
//!
//! Two halves are written alternately, so that a write torn by a power failure leaves one intact.

use std::io;
use std::sync::Arc;

use super::backend::{Backends, DiskError, StoreFile, is_bad_place};
use super::lease::{KeptFile, Lease};
use super::options::OpenError;
use super::record::{MARK, MarkContent, PAGE, Salt};
use redb::StorageBackend;

/// The offsets of the halves.
const HALVES: [u64; 2] = [0, PAGE as u64];

/// The file, open for writing.
pub(super) struct Mark {
    lease: Lease,
    salt: Salt,
    /// The half that is written next.
    next: usize,
    /// Whether the last write failed, which has been logged.
    failing: bool,
}

impl Mark {
    /// Creates the file in place of any existing one. It is on disk when this returns.
    pub fn make(backends: &dyn Backends, salt: Salt, marked: MarkContent) -> Result<Mark, OpenError> {
        let kept = KeptFile::new(backends.open(StoreFile::Mark).map_err(|error| mark_error(&error))?);
        let mut mark = Mark { lease: kept.lease(), salt, next: 0, failing: false };
        let write = |mark: &mut Mark| {
            mark.lease.set_len(0)?;
            mark.lease.write(0, &[0; 2 * PAGE])?;
            mark.write(marked)?;
            mark.write(marked)?;
            mark.lease.sync_data()
        };
        write(&mut mark).map_err(|error| mark_error(&error))?;
        Ok(mark)
    }

    /// Opens the file of the journal with this salt. Returns its content, from one half or both,
    /// and the mark for further notes. Returns `None` if the file is missing, damaged or that of
    /// another journal.
    pub fn open(backends: &dyn Backends, salt: Salt) -> Result<Option<(Vec<MarkContent>, Mark)>, OpenError> {
        let Some(file) = backends.open_existing(StoreFile::Mark).map_err(|error| mark_error(&error))? else {
            return Ok(None);
        };
        let kept = KeptFile::new(file);
        let halves = halves(&kept, salt).map_err(|error| mark_error(&error))?;
        let Some(sure) = halves.iter().flatten().map(|marked| marked.sure).max() else { return Ok(None) };
        // The newer half is kept. Both may name the same change: one with its record, the other
        // with the one that a clean close has written after it.
        let next = usize::from(halves[0].is_some_and(|marked| marked.sure == sure));
        let newest = halves.into_iter().flatten().filter(|marked| marked.sure == sure).collect();
        Ok(Some((newest, Mark { lease: kept.lease(), salt, next, failing: false })))
    }

    /// Notes how far every change is on disk. A failure is only logged, because the mark matters
    /// only for detecting a later loss.
    pub fn note(&mut self, marked: MarkContent) {
        match self.write(marked) {
            Ok(()) => self.failing = false,
            Err(error) => {
                if !self.failing {
                    tracing::warn!(
                        %error,
                        "cannot write journal.mark: a loss of the newest changes might go unnoticed"
                    );
                }
                self.failing = true;
            }
        }
    }

    /// Makes the mark durable, before the file is closed in good order.
    pub fn finish(&mut self, marked: MarkContent) -> io::Result<()> {
        self.write(marked)?;
        self.lease.sync_data()
    }

    /// Writes a half as a whole page. For a partial write the system would read the rest first, and
    /// fail permanently if that cannot be read.
    fn write(&mut self, marked: MarkContent) -> io::Result<()> {
        let (mut page, half) = ([0; PAGE], self.salt.mark(marked));
        page[..half.len()].copy_from_slice(&half);
        self.lease.write(HALVES[self.next], &page)?;
        self.next = 1 - self.next;
        Ok(())
    }
}

/// Reads both halves.
fn halves(kept: &Arc<KeptFile>, salt: Salt) -> io::Result<[Option<MarkContent>; 2]> {
    let lease = kept.lease();
    let len = lease.len()?;
    let mut found = [None; 2];
    for (at, found) in HALVES.into_iter().zip(&mut found) {
        let mut half = [0; MARK];
        if at + MARK as u64 <= len {
            match lease.read(at, &mut half) {
                Ok(()) => *found = salt.marked(&half),
                // This is treated as damage.
                Err(error) if is_bad_place(&error) => {
                    tracing::warn!(%error, at, "a half of journal.mark can't be read")
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

fn mark_error(error: &io::Error) -> OpenError {
    OpenError::Io(format!("journal.mark: {}", DiskError::of(error).text))
}
