//! Recovery of the store from failures of its files.
//!
//! redb closes itself permanently after the first I/O error, so recovery means opening a new
//! `Database` on the same file. [`KeptFile`] holds the file open and locked across that. So no
//! other process can take it, and the directory need not be usable at that moment. Each opening
//! works through a [`Lease`], which remembers the reason of its failure and can be ended. Then a
//! `Database` that was given up can no longer write, nor its readers read, once the next one has
//! taken over.

use std::collections::HashMap;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use super::backend::DiskError;
use super::over::WriteLayer;

/// A file that stays open and locked while databases on it are reopened.
#[derive(Debug)]
pub(super) struct KeptFile {
    file: Box<dyn StorageBackend>,
    locked: Mutex<Vec<(Bound<u64>, Bound<u64>)>>,
    unsynced: Mutex<UnsyncedWrites>,
}

/// The places written since the last successful sync.
#[derive(Debug, Default)]
struct UnsyncedWrites {
    /// Lengths by offset. It is a map, so that a store that never syncs does not collect entries
    /// without end.
    parts: HashMap<u64, usize>,
    /// Whether a sync has failed since.
    failed: bool,
}

impl UnsyncedWrites {
    fn note(&mut self, offset: u64, len: usize) {
        let noted = self.parts.entry(offset).or_default();
        *noted = len.max(*noted);
    }
}

impl KeptFile {
    pub fn new(file: Box<dyn StorageBackend>) -> Arc<KeptFile> {
        Arc::new(KeptFile { file, locked: Mutex::default(), unsynced: Mutex::default() })
    }

    /// Reports whether the creation of a database in the file was interrupted by a crash. If so,
    /// the file must be cleared.
    ///
    /// redb writes a new file's first bytes last. While they are zero nothing was ever committed,
    /// but redb refuses the file. This must be called after an attempt to open it, which takes the
    /// lock: otherwise another process may just be creating it.
    pub fn is_unfinished(&self) -> io::Result<bool> {
        let mut first = [0; 9];
        let unfinished = self.file.len()? >= first.len() as u64 && {
            self.file.read(0, &mut first)?;
            first == [0; 9]
        };
        Ok(unfinished)
    }

    /// Empties the file.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)
    }

    /// Returns the file's length.
    pub fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.unsynced.lock().note(offset, data.len());
        self.file.write(offset, data)
    }

    fn sync(&self) -> io::Result<()> {
        let parts = std::mem::take(&mut self.unsynced.lock().parts);
        let outcome = self.file.sync_data();
        let mut unsynced = self.unsynced.lock();
        unsynced.failed |= outcome.is_err();
        if unsynced.failed {
            parts.into_iter().for_each(|(offset, len)| unsynced.note(offset, len));
        }
        outcome
    }

    /// Writes and syncs the data of failed syncs again.
    ///
    /// After a failed sync the system forgets what it could not write. The pages are clean, a later
    /// sync succeeds, and reads still return what the disk does not have. In a crash, a database on
    /// top of that would lose pages that it has every reason to rely on, and not only those of the
    /// failed commit. No database may be open during this call.
    pub fn write_back(&self) -> io::Result<()> {
        let parts = {
            let unsynced = self.unsynced.lock();
            if !unsynced.failed {
                return Ok(());
            }
            unsynced.parts.clone()
        };
        let len = self.file.len()?;
        self.file.set_len(len)?;
        let mut bytes = Vec::new();
        for (offset, size) in parts {
            bytes.resize(size.min(len.saturating_sub(offset) as usize), 0);
            self.file.read(offset, &mut bytes)?;
            self.file.write(offset, &bytes)?;
        }
        self.file.sync_data()?;
        *self.unsynced.lock() = UnsyncedWrites::default();
        Ok(())
    }

    /// Creates a lease for a database that writes.
    pub fn lease(self: &Arc<KeptFile>) -> Lease {
        Lease(Arc::new(LeaseState {
            kept: self.clone(),
            ended: AtomicBool::new(false),
            fault: Mutex::new(None),
            over: None,
        }))
    }

    /// Creates a lease whose writes stay in memory, for reads on a disk that refuses every write.
    pub fn read_only_lease(self: &Arc<KeptFile>) -> io::Result<Lease> {
        let over = Some(Mutex::new(WriteLayer::new(self.file.len()?)));
        Ok(Lease(Arc::new(LeaseState {
            kept: self.clone(),
            ended: AtomicBool::new(false),
            fault: Mutex::new(None),
            over,
        })))
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        // This releases the lock. No caller is left to receive an error, and the end of the process
        // releases it too.
        let _ = self.file.close();
    }
}

/// One opening of a kept file. Clones are the same lease.
#[derive(Debug, Clone)]
pub(super) struct Lease(Arc<LeaseState>);

#[derive(Debug)]
struct LeaseState {
    kept: Arc<KeptFile>,
    ended: AtomicBool,
    fault: Mutex<Option<DiskError>>,
    over: Option<Mutex<WriteLayer>>,
}

impl Lease {
    /// Refuses all operations from now on.
    pub fn end(&self) {
        self.0.ended.store(true, Ordering::Release);
    }

    /// Reports whether the lease has ended.
    pub fn is_ended(&self) -> bool {
        self.0.ended.load(Ordering::Acquire)
    }

    /// Returns the first failure under this lease. redb itself only reports that there was an
    /// earlier one.
    pub fn fault(&self) -> Option<DiskError> {
        self.0.fault.lock().clone()
    }

    fn run<T>(&self, work: impl FnOnce(&LeaseState) -> io::Result<T>) -> io::Result<T> {
        if self.is_ended() {
            return Err(io::Error::other("the file was reopened"));
        }
        work(&self.0).inspect_err(|error| self.note(error))
    }

    /// Notes a failure, if it is the first.
    pub fn note(&self, error: &io::Error) {
        self.0.fault.lock().get_or_insert_with(|| DiskError::of(error));
    }
}

impl StorageBackend for Lease {
    fn len(&self) -> io::Result<u64> {
        self.run(|inner| match &inner.over {
            Some(over) => Ok(over.lock().len()),
            None => inner.kept.file.len(),
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.run(|inner| match &inner.over {
            Some(over) => over.lock().read(&*inner.kept.file, offset, out),
            None => inner.kept.file.read(offset, out),
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.run(|inner| match &inner.over {
            Some(over) => {
                over.lock().set_len(len);
                Ok(())
            }
            None => inner.kept.file.set_len(len),
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.run(|inner| if inner.over.is_some() { Ok(()) } else { inner.kept.sync() })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.run(|inner| match &inner.over {
            Some(over) => over.lock().write(&*inner.kept.file, offset, data),
            None => inner.kept.write(offset, data),
        })
    }

    fn close(&self) -> io::Result<()> {
        self.end();
        Ok(())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        let mut locked = self.0.kept.locked.lock();
        if locked.contains(&(start, end)) {
            return Ok(true);
        }
        let taken = self.0.kept.file.try_lock_range(start, end)?;
        if taken {
            locked.push((start, end));
        }
        Ok(taken)
    }

    fn unlock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<(), BackendError> {
        // The lock is held until the file itself is closed.
        Ok(())
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.kept.file.query_lock_range(start, end)
    }
}
