//! The spool: committed records on the local disk until the target has them.
//!
//! The thread that commits hands each record over in memory ([`CommitTap::committed`]). They are
//! appended to a file when the service ships them, and at each checkpoint of the store, which does
//! not give up its own copy in the journal before the file is synced ([`CommitTap::keep`]). So a
//! crash leaves each record in the journal, in the spool or at the target.
//!
//! Changes never wait for the spool and never fail because of it. If it is full or can't be
//! written, it drops all records and notes a gap. Then the target needs a new base, and the spool
//! collects again from there ([`Spool::begin`]).

mod format;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use stet_domain::store::Seq;
use stet_store::{CommitTap, CommittedRecord};

use self::format::{RecordReader, ScannedFile, encode, scan};

/// The size in bytes from which records go into another file.
const FILE_BYTES: u64 = 16 << 20;

/// The size in bytes from which encoded records are written together.
const BUFFER_BYTES: usize = 1 << 20;

/// A file of records in their order.
struct SpoolFile {
    path: PathBuf,
    /// The last change set before it.
    previous: Seq,
    /// The last change set in it.
    last: Seq,
    bytes: u64,
    /// Bytes at its beginning that were shipped.
    shipped_bytes: u64,
}

/// Records that the commits have handed over.
#[derive(Default)]
struct FreshRecords {
    records: Vec<CommittedRecord>,
    /// The last change set that was handed over.
    last: Seq,
    /// Whether the service is wanted for something else.
    is_awaited: bool,
}

/// The files, and the place up to which they were shipped.
struct SpoolFiles {
    files: VecDeque<SpoolFile>,
    /// The file that is written, which is the newest one.
    open: Option<File>,
    /// The last record in the files.
    last: Seq,
    /// The last record that was shipped.
    shipped: Seq,
    /// The reason why records are missing after `last`, if they are.
    gap: Option<String>,
}

/// The spool of a data directory.
pub struct Spool {
    folder: PathBuf,
    max_bytes: u64,
    fresh: Mutex<FreshRecords>,
    /// Notified when a record is handed over.
    bell: Condvar,
    files: Mutex<SpoolFiles>,
}

impl Spool {
    /// Opens the spool in a folder, which is created if it is missing. It holds at most that many
    /// bytes.
    ///
    /// # Errors
    /// The folder can't be read or created.
    pub fn open(folder: &Path, max_bytes: u64) -> io::Result<Spool> {
        fs::create_dir_all(folder)?;
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "spool"));
        paths.sort();
        let mut spool = SpoolFiles { files: VecDeque::new(), open: None, last: 0, shipped: 0, gap: None };
        let mut is_broken = false;
        for path in paths {
            let found = if is_broken { None } else { scan(&path, spool.last)? };
            match found {
                Some(ScannedFile { previous, last, bytes }) => {
                    // What a crash has cut off is in the journal.
                    let is_whole = fs::metadata(&path)?.len() == bytes;
                    let file = OpenOptions::new().write(true).open(&path)?;
                    file.set_len(bytes)?;
                    // Its end may never have been synced, and nothing else will do that.
                    file.sync_all()?;
                    spool.last = last;
                    spool.files.push_back(SpoolFile { path, previous, last, bytes, shipped_bytes: 0 });
                    is_broken = !is_whole;
                }
                None => {
                    is_broken = true;
                    fs::remove_file(path)?;
                }
            }
        }
        let fresh = FreshRecords { last: spool.last, ..FreshRecords::default() };
        Ok(Spool {
            folder: folder.to_owned(),
            max_bytes,
            fresh: Mutex::new(fresh),
            bell: Condvar::new(),
            files: Mutex::new(spool),
        })
    }

    /// Begins to collect after a gap, or in a new spool. From then on no record is missing after
    /// [`Spool::begins_after`], so the target needs a base that has everything up to there.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn begin(&self) -> io::Result<()> {
        let mut files = self.files.lock();
        self.remove_all(&mut files);
        let mut fresh = self.fresh.lock();
        fresh.records.clear();
        // The next start reads in its name where the records begin, even if none follows.
        self.add_file(&mut files, fresh.last)?;
        files.gap = None;
        files.last = fresh.last;
        files.shipped = fresh.last;
        Ok(())
    }

    /// Returns the change after which the spool has every record. Some of them may be shipped.
    pub fn begins_after(&self) -> Seq {
        self.files.lock().files.front().map_or(0, |file| file.previous)
    }

    /// Notes that the target has everything up to `seq`, and removes files that are not needed.
    ///
    /// # Errors
    /// A file can't be removed.
    pub fn shipped(&self, seq: Seq) -> io::Result<()> {
        let mut files = self.files.lock();
        files.shipped = files.shipped.max(seq);
        files.tidy()
    }

    /// Waits until a record waits for its shipping, at most for `longest`.
    pub fn wait(&self, longest: Duration) {
        let mut fresh = self.fresh.lock();
        if fresh.records.is_empty() && !fresh.is_awaited {
            self.bell.wait_for(&mut fresh, longest);
        }
        fresh.is_awaited = false;
    }

    /// Returns the oldest records that were not shipped, of at most `max_bytes` unless a single one
    /// is larger.
    ///
    /// # Errors
    /// The files can't be read or written.
    pub fn next(&self, max_bytes: usize) -> io::Result<Vec<CommittedRecord>> {
        let mut files = self.files.lock();
        self.write(&mut files, false);
        files.tidy()?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        let SpoolFiles { files, shipped, .. } = &mut *files;
        for file in files {
            let mut reader = RecordReader::open(&file.path, file.shipped_bytes)?;
            while bytes < max_bytes
                && let Some(record) = reader.next()?
            {
                if record.last <= *shipped {
                    file.shipped_bytes = reader.at();
                } else {
                    bytes += record.payload.len();
                    records.push(record);
                }
            }
            if !records.is_empty() {
                break;
            }
        }
        Ok(records)
    }

    /// Returns the reason why records are missing, if they are.
    pub fn gap(&self) -> Option<String> {
        self.files.lock().gap.clone()
    }

    /// Ends a [`Spool::wait`].
    pub fn wake(&self) {
        self.fresh.lock().is_awaited = true;
        self.bell.notify_one();
    }

    /// Returns the time of the oldest record that was not shipped, in epoch milliseconds.
    pub fn oldest_ms(&self) -> Option<u64> {
        let records = self.next(1).unwrap_or_default();
        records.first().map(|record| record.at_ms)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the last change set that the spool has been handed.
    pub fn last(&self) -> Seq {
        self.fresh.lock().last
    }

    /// Returns the last change set that was shipped, and the bytes that wait.
    pub fn progress(&self) -> (Seq, u64) {
        let files = self.files.lock();
        // The newest file stays when all of it was shipped.
        let waiting = files.files.iter().filter(|file| file.last > files.shipped);
        (files.shipped, waiting.map(|file| file.bytes - file.shipped_bytes).sum())
    }

    /// Appends the records that were handed over to the files.
    fn write(&self, files: &mut SpoolFiles, sync: bool) {
        let records = {
            let mut fresh = self.fresh.lock();
            std::mem::take(&mut fresh.records)
        };
        if files.gap.is_some() {
            return;
        }
        if let Err(error) = self.append(files, &records, sync) {
            self.give_up(files, format!("the spool can't be written: {error}"));
        }
        let bytes = files.files.iter().map(|file| file.bytes).sum::<u64>();
        if bytes > self.max_bytes {
            self.give_up(files, format!("the spool has more than backup.spool_bytes ({})", self.max_bytes));
        }
    }

    fn append(&self, files: &mut SpoolFiles, records: &[CommittedRecord], sync: bool) -> io::Result<()> {
        let mut encoded = Vec::new();
        let already = files.last;
        for record in records.iter().filter(|record| record.last > already) {
            let is_full = files.files.back().is_none_or(|file| file.bytes + encoded.len() as u64 >= FILE_BYTES);
            if files.open.is_none() || is_full {
                files.flush(&mut encoded)?;
                self.add_file(files, record.previous)?;
            }
            encode(record, &mut encoded);
            files.last = record.last;
            if encoded.len() >= BUFFER_BYTES {
                files.flush(&mut encoded)?;
            }
        }
        files.flush(&mut encoded)?;
        match &files.open {
            Some(file) if sync => file.sync_data(),
            _ => Ok(()),
        }
    }

    /// Begins a file for records after `previous`.
    fn add_file(&self, files: &mut SpoolFiles, previous: Seq) -> io::Result<()> {
        if let Some(full) = files.open.take() {
            full.sync_data()?;
        }
        let path = self.folder.join(format!("{:020}.spool", previous + 1));
        let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        File::open(&self.folder)?.sync_all()?;
        files.open = Some(file);
        // One without records has the same name.
        if files.files.back().is_some_and(|newest| newest.path == path) {
            files.files.pop_back();
        }
        files.files.push_back(SpoolFile { path, previous, last: previous, bytes: 0, shipped_bytes: 0 });
        Ok(())
    }

    /// Drops all records: whatever comes next, the target needs a new base.
    fn give_up(&self, files: &mut SpoolFiles, why: String) {
        if files.files.is_empty() {
            // The first start with a backup.
            tracing::info!(why, "the backup needs a base");
        } else {
            tracing::error!(why, "changes are missing from the backup; a new base is needed");
        }
        self.remove_all(files);
        files.gap = Some(why);
    }

    fn remove_all(&self, files: &mut SpoolFiles) {
        files.open = None;
        for file in files.files.drain(..) {
            if let Err(error) = fs::remove_file(&file.path) {
                tracing::warn!(%error, path = %file.path.display(), "a file of the spool can't be removed");
            }
        }
    }
}

impl SpoolFiles {
    /// Removes files of which everything was shipped. The newest one stays: the next start reads in
    /// it which record was the last.
    fn tidy(&mut self) -> io::Result<()> {
        while self.files.len() > 1 && self.files.front().is_some_and(|file| file.last <= self.shipped) {
            if let Some(file) = self.files.pop_front() {
                fs::remove_file(file.path)?;
            }
        }
        Ok(())
    }

    /// Writes encoded records to the newest file.
    fn flush(&mut self, encoded: &mut Vec<u8>) -> io::Result<()> {
        if let (Some(open), Some(file)) = (&mut self.open, self.files.back_mut()) {
            open.write_all(encoded)?;
            file.bytes += encoded.len() as u64;
            file.last = self.last;
            encoded.clear();
        }
        Ok(())
    }
}

impl CommitTap for Spool {
    fn opened(&self, folded: Seq, committed: Seq) {
        let mut files = self.files.lock();
        let why = if files.last < folded {
            format!("the changes from {} to {folded} were made without a backup", files.last + 1)
        } else if files.last > committed {
            // The first start was interrupted, or somebody has put older tables in their place.
            format!("the data directory was set back from change {} to {committed}", files.last)
        } else {
            return;
        };
        self.give_up(&mut files, why);
        self.fresh.lock().last = folded;
    }

    fn committed(&self, record: CommittedRecord) {
        let mut fresh = self.fresh.lock();
        if record.last <= fresh.last {
            return;
        }
        fresh.last = record.last;
        fresh.records.push(record);
        self.bell.notify_one();
    }

    fn keep(&self, _: Seq) {
        self.write(&mut self.files.lock(), true);
    }
}
