//! `journal.mark`: the number of the newest change that was acknowledged, beside the journal.
//!
//! The journal alone can't say that its newest records are missing: what has been cut off, or
//! zeroed, looks like what was never written. So the writer notes, after each sync of the journal
//! and before anybody is answered, up to where the journal goes. The note is written and not
//! synced: another block in the journal's own sync was measured at a tenth of a commit, this write
//! at some 4 µs of 140 to 380. A process that is killed leaves it exact. A loss of power leaves it
//! as of some earlier moment, never of a later one; then the tables' last checkpoint, seconds ago,
//! is what the journal must reach beyond.
//!
//! Beside the number stands the checksum of the record that ends with it. A copy of the directory
//! goes on with the same salt and the same numbers, and with other records: so the journal of a
//! copy is told from the one that was written here.
//!
//! Two halves are written by turns, so that a write torn by a loss of power leaves one of them.

use std::io;
use std::sync::Arc;

use super::backend::{Backends, DiskError, StoreFile, is_bad_place};
use super::lease::{Kept, Lease};
use super::options::OpenError;
use super::record::{MARK, Marked, PAGE, Salt};
use redb::StorageBackend;

/// Where the halves begin.
const HALVES: [u64; 2] = [0, PAGE as u64];

/// The file, open for writing.
pub(super) struct Mark {
    lease: Lease,
    salt: Salt,
    /// The half that is written next.
    next: usize,
    /// The last write failed, and that has been told.
    failing: bool,
}

impl Mark {
    /// Makes the file anew, on disk when it returns.
    pub fn make(backends: &dyn Backends, salt: Salt, marked: Marked) -> Result<Mark, OpenError> {
        let kept = Kept::new(backends.open(StoreFile::Mark).map_err(|error| failed(&error))?);
        let mut mark = Mark { lease: kept.lease(), salt, next: 0, failing: false };
        let write = |mark: &mut Mark| {
            mark.lease.set_len(0)?;
            mark.lease.write(0, &[0; 2 * PAGE])?;
            mark.write(marked)?;
            mark.write(marked)?;
            mark.lease.sync_data()
        };
        write(&mut mark).map_err(|error| failed(&error))?;
        Ok(mark)
    }

    /// Opens the file of the journal with this salt: what it says, in one half or in both, and it
    /// to go on with. `None`: it is missing or damaged, or that of another journal.
    pub fn open(backends: &dyn Backends, salt: Salt) -> Result<Option<(Vec<Marked>, Mark)>, OpenError> {
        let Some(file) = backends.open_existing(StoreFile::Mark).map_err(|error| failed(&error))? else {
            return Ok(None);
        };
        let kept = Kept::new(file);
        let halves = halves(&kept, salt).map_err(|error| failed(&error))?;
        let Some(sure) = halves.iter().flatten().map(|marked| marked.sure).max() else { return Ok(None) };
        // The newer half stays. Of one change both may speak: of its record, and of the one that a
        // clean close has written after it.
        let next = usize::from(halves[0].is_some_and(|marked| marked.sure == sure));
        let newest = halves.into_iter().flatten().filter(|marked| marked.sure == sure).collect();
        Ok(Some((newest, Mark { lease: kept.lease(), salt, next, failing: false })))
    }

    /// Notes up to where every change is on disk. It is an aid for later: that it can't be written
    /// stops nothing.
    pub fn note(&mut self, marked: Marked) {
        match self.write(marked) {
            Ok(()) => self.failing = false,
            Err(error) => {
                if !self.failing {
                    tracing::warn!(%error, "journal.mark can't be written: a loss of the newest changes might not be told");
                }
                self.failing = true;
            }
        }
    }

    /// Makes it durable, before the file is closed in good order.
    pub fn finish(&mut self, marked: Marked) -> io::Result<()> {
        self.write(marked)?;
        self.lease.sync_data()
    }

    /// Writes a half, as a whole page: of a part the system would read the rest first, and for ever
    /// fail where that can't be read.
    fn write(&mut self, marked: Marked) -> io::Result<()> {
        let (mut page, half) = ([0; PAGE], self.salt.mark(marked));
        page[..half.len()].copy_from_slice(&half);
        self.lease.write(HALVES[self.next], &page)?;
        self.next = 1 - self.next;
        Ok(())
    }
}

/// What the halves say.
fn halves(kept: &Arc<Kept>, salt: Salt) -> io::Result<[Option<Marked>; 2]> {
    let lease = kept.lease();
    let len = lease.len()?;
    let mut found = [None; 2];
    for (at, found) in HALVES.into_iter().zip(&mut found) {
        let mut half = [0; MARK];
        if at + MARK as u64 <= len {
            match lease.read(at, &mut half) {
                Ok(()) => *found = salt.marked(&half),
                // As if it were damaged.
                Err(error) if is_bad_place(&error) => {
                    tracing::warn!(%error, at, "a half of journal.mark can't be read")
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

fn failed(error: &io::Error) -> OpenError {
    OpenError::Io(format!("journal.mark: {}", DiskError::of(error).text))
}
