//! `journal.wal`: one record per commit, written and synced. Folded records are overwritten by new
//! ones.
//!
//! The tables' fill level determines which records are needed, so none is ever marked or removed. A
//! record up to that level may be overwritten, except for the newest, from which the next one
//! continues. Records are written wherever there is room. Their numbers give the order, and each
//! names its predecessor, so that a gap is noticed. The file has its own format instead of redb's
//! because a commit here is one write and one sync. A tree needs several pages, their checksums and
//! an allocator: this format halves the processor time of a commit.
//!
//! A crash leaves every acknowledged record intact, and of the newest one, which was being written,
//! any part. So records that are missing before others, or before the number in `journal.mark`, are
//! reported as a loss ([`JournalContents`]). So is a journal in which the record of `journal.mark`
//! is another one. Only one loss cannot be detected: that of the newest record alone, if a power
//! failure lost `journal.mark` as well.
//!
//! After a failed append it is unknown whether its record is on disk. It can only be the last.
//! [`Journal::reopen`] finds out, before any further record is written.

mod found;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use redb::StorageBackend;
use stet_domain::store::Seq;

pub(super) use self::found::{JournalContents, JournalFacts};
use self::found::{read, read_what_can_be};
use super::backend::{Backends, DiskError, StoreFile};
use super::blob::{self, ChangeSetParts, NumberedChangeSet};
use super::lease::{KeptFile, Lease};
use super::mark::Mark;
use super::options::OpenError;
use super::record::{FileHead, MarkContent, PAGE, RecordHead, Salt};

/// The format number of a `journal.wal` that this stet writes.
pub(super) const FORMAT: u64 = 1;

/// The minimum number of bytes by which the file grows. They are written as zeros beforehand, since
/// a sync that must also record a new length or new blocks takes the file system much longer.
const GROWTH: u64 = 1 << 20;

/// The maximum size in bytes of a record buffer that is kept for the next record.
const KEPT: usize = 32 << 20;

/// An existing record.
#[derive(Debug, Clone, Copy)]
struct StoredRecord {
    at: u64,
    head: RecordHead,
}

impl StoredRecord {
    fn end(&self) -> u64 {
        self.at + self.head.size() as u64
    }
}

/// The journal, open for appending.
pub(super) struct Journal {
    kept: Arc<KeptFile>,
    lease: Lease,
    salt: Salt,
    /// `None` until the tables have the salt.
    mark: Option<Mark>,
    /// The file's length.
    len: u64,
    /// The records that must be kept, oldest first; never empty.
    needed: VecDeque<StoredRecord>,
    /// The range for the next records, in which no record is needed.
    room: Range<u64>,
    /// A record whose append has failed.
    doubtful: Option<StoredRecord>,
    /// The record being written. The buffer is kept for the next one.
    record: Vec<u8>,
    /// The total size in bytes of the records read at the start.
    bytes: u64,
    /// Whether the file could not be written back yet after it was read.
    unsure: bool,
}

impl Journal {
    /// Opens the file, or creates one if none was ever created. Returns the change sets after those
    /// in the tables, and makes them durable.
    pub fn open(backends: &dyn Backends, known: &JournalFacts) -> Result<(Journal, Vec<NumberedChangeSet>), OpenError> {
        let found = JournalContents::read(backends, known)?;
        let JournalContents { file, mark, needed, sets, reach, records, bytes, torn, loss } = found;
        let folded = known.folded;
        let read = if file.is_some() { "read journal.wal" } else { "journal.wal does not exist" };
        let (first, last) = (sets.first().map(|set| set.seq), sets.last().map(|set| set.seq));
        tracing::info!(folded, records, bytes, first, last, torn, loss = loss.is_some(), "{read}");
        if let Some(torn) = torn {
            tracing::warn!(
                change = torn,
                "the newest record of journal.wal is incomplete: a crash interrupted it before it was acknowledged"
            );
        }
        if let Some(loss) = loss {
            return Err(OpenError::Lost(loss));
        }
        let Some((kept, salt)) = file else { return Ok((Journal::make(backends, folded)?, Vec::new())) };
        let lease = kept.lease();
        let len = lease.len().map_err(unreadable)?;
        let mut journal = Journal { needed, mark, bytes, ..Journal::with(kept, lease, salt, len) };
        journal.make_sure_at_start()?;
        if !journal.unsure {
            journal.note(journal.marked(reach));
        }
        Ok((journal, sets))
    }

    fn with(kept: Arc<KeptFile>, lease: Lease, salt: Salt, len: u64) -> Journal {
        let (needed, record) = (VecDeque::new(), Vec::new());
        let (mark, doubtful) = (None, None);
        Journal { kept, lease, salt, mark, len, needed, room: 0..0, doubtful, record, bytes: 0, unsure: false }
    }

    /// Creates a new file in place of any existing one. Its first record has no changes; the next
    /// record continues from it.
    pub fn make(backends: &dyn Backends, folded: Seq) -> Result<Journal, OpenError> {
        let kept = KeptFile::new(backends.open(StoreFile::Journal).map_err(unreadable)?);
        let lease = kept.lease();
        let mut journal = Journal::with(kept, lease, Salt::random(), 0);
        let write = |journal: &mut Journal| {
            journal.lease.set_len(0)?;
            journal.fold_mark(folded)?;
            journal.lease.write(0, &journal.head().page())?;
            journal.lease.sync_data()
        };
        write(&mut journal).map_err(unreadable)?;
        Ok(journal)
    }

    /// Returns the salt, which the tables keep.
    pub fn salt(&self) -> Salt {
        self.salt
    }

    /// Returns the total size in bytes of the records read at the start.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Creates `journal.mark` for this journal, which is not used before the tables have its salt.
    pub fn make_mark(&mut self, backends: &dyn Backends, sure: Seq) -> Result<(), OpenError> {
        self.mark = Some(Mark::make(backends, self.salt, self.marked(sure))?);
        Ok(())
    }

    fn note(&mut self, marked: MarkContent) {
        if let Some(mark) = &mut self.mark {
            mark.note(marked);
        }
    }

    /// Returns the content of the mark for when every change up to `sure` is on disk.
    fn marked(&self, sure: Seq) -> MarkContent {
        let newest = self.needed.back().filter(|newest| newest.head.last == sure);
        MarkContent { sure, sum: newest.map(|newest| newest.head.sum) }
    }

    fn head(&self) -> FileHead {
        FileHead { format: FORMAT, salt: self.salt }
    }

    /// Writes a record without changes, beside the newest one, and syncs it: everything up to
    /// `folded` is in the tables. From then on only this record is needed.
    fn fold_mark(&mut self, folded: Seq) -> io::Result<()> {
        let record =
            self.salt.sealed(folded, folded, &mut self.record, |payload| blob::encode(std::iter::empty(), payload));
        let at = match self.needed.back() {
            Some(newest) if newest.at == PAGE as u64 => newest.end(),
            _ => PAGE as u64,
        };
        let mark = StoredRecord { at, head: record };
        self.lease.write(mark.at, &self.record)?;
        self.lease.sync_data()?;
        self.len = self.len.max(mark.end());
        self.needed = VecDeque::from([mark]);
        self.room = 0..0;
        Ok(())
    }

    /// Makes the read records durable. If the disk is too full even for overwriting, this is
    /// postponed to the first append.
    fn make_sure_at_start(&mut self) -> Result<(), OpenError> {
        let Err(error) = self.make_sure() else { return Ok(()) };
        let fault = DiskError::of(&error);
        if !fault.full {
            return Err(OpenError::Io(format!("journal.wal: {}", fault.text)));
        }
        // Some file systems need room even to overwrite. The store is still useful for reads.
        tracing::warn!("the disk is full: journal.wal could not be synced yet");
        self.unsure = true;
        Ok(())
    }

    /// Writes the whole file again, as it reads. An earlier process may have ended before a sync,
    /// or after a failed one; then reads return data that the disk does not have. That includes
    /// removed records, whose place reads as zeros.
    ///
    /// A page that cannot be read is written as zeros, if it contains nothing needed. A disk
    /// usually finds another place for it.
    fn make_sure(&self) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut start = 0;
        while start < self.len {
            bytes.resize(GROWTH.min(self.len - start) as usize, 0);
            for at in read_what_can_be(&self.lease, start, &mut bytes)? {
                let page = at..at + PAGE as u64;
                let is_needed = |place: &StoredRecord| place.at < page.end && page.start < place.end();
                if at == 0 || self.needed.iter().any(is_needed) {
                    return Err(io::Error::other(format!("the page at {at} can no longer be read")));
                }
            }
            self.lease.write(start, &bytes)?;
            start += bytes.len() as u64;
        }
        self.lease.sync_data()
    }

    /// Returns the last change set of the newest record.
    pub fn last(&self) -> Seq {
        self.needed.back().map_or(0, |place| place.head.last)
    }

    /// Appends the record of a commit whose last change set is `last`. Records no longer needed,
    /// because the tables are filled up to `folded`, make room. The record is on disk when this
    /// returns `Ok`. After an error that is unknown until [`Journal::reopen`]. Returns the number
    /// of bytes written.
    pub fn append<'a>(
        &mut self,
        last: Seq,
        sets: impl Iterator<Item = ChangeSetParts<'a>>,
        folded: Seq,
    ) -> io::Result<u64> {
        if self.unsure {
            self.make_sure()?;
            self.unsure = false;
        }
        while self.needed.len() > 1 && self.needed.front().is_some_and(|place| place.head.last <= folded) {
            self.needed.pop_front();
        }
        // The tables may have been filled further without the journal.
        let previous = self.last().max(folded);
        let mut record = std::mem::take(&mut self.record);
        let head = self.salt.sealed(previous, last, &mut record, |payload| blob::encode(sets, payload));
        let outcome = self.write(StoredRecord { at: 0, head }, &record);
        // A huge change set must not occupy its memory permanently.
        if record.capacity() <= KEPT {
            self.record = record;
        }
        outcome.map(|()| head.size() as u64)
    }

    fn write(&mut self, mut place: StoredRecord, record: &[u8]) -> io::Result<()> {
        place.at = self.room_for(record.len() as u64)?;
        self.doubtful = Some(place);
        self.lease.write(place.at, record)?;
        self.lease.sync_data()?;
        self.stands(place);
        Ok(())
    }

    /// Notes that a record is on disk.
    fn stands(&mut self, place: StoredRecord) {
        // The mark is noted before any of its changes is acknowledged.
        self.note(MarkContent { sure: place.head.last, sum: Some(place.head.sum) });
        self.doubtful = None;
        self.room.start = place.end();
        self.needed.push_back(place);
    }

    /// Returns a place where `size` bytes can be written.
    fn room_for(&mut self, size: u64) -> io::Result<u64> {
        if self.room.end.saturating_sub(self.room.start) < size {
            let gap = self.largest_gap();
            let within = gap.end - gap.start;
            self.room = if within >= size.max(GROWTH / 2) {
                gap
            } else {
                match self.grown(size) {
                    // The disk may be full. Writing into the gap needs no new blocks.
                    Err(_) if within >= size => gap,
                    grown => grown?,
                }
            };
        }
        Ok(self.room.start)
    }

    /// Returns the largest range of the file in which no record is needed.
    fn largest_gap(&self) -> Range<u64> {
        let mut needed: Vec<Range<u64>> = self.needed.iter().map(|place| place.at..place.end()).collect();
        needed.sort_unstable_by_key(|range| range.start);
        let starts = needed.iter().map(|range| range.start).chain([self.len]);
        let ends = [PAGE as u64].into_iter().chain(needed.iter().map(|range| range.end));
        let gaps = ends.zip(starts).map(|(end, start)| end..start.max(end));
        gaps.max_by_key(|gap| gap.end - gap.start).unwrap_or(0..0)
    }

    /// Lengthens the file and returns the room after all needed records.
    fn grown(&mut self, size: u64) -> io::Result<Range<u64>> {
        let begin = self.needed.iter().map(StoredRecord::end).max().unwrap_or(PAGE as u64);
        let end = begin + size.max(GROWTH);
        let before = self.len;
        if let Err(error) = self.lengthen(end) {
            // The room is returned to the disk. Other processes need it, and a change that is too
            // large would otherwise keep it permanently.
            if self.lease.set_len(before).is_ok() {
                self.len = before;
            }
            return Err(error);
        }
        Ok(begin..self.len)
    }

    /// Writes zeros up to `end`.
    fn lengthen(&mut self, end: u64) -> io::Result<()> {
        let zeros = vec![0; GROWTH as usize];
        while self.len < end {
            let step = GROWTH.min(end - self.len);
            self.lease.write(self.len, &zeros[..step as usize])?;
            self.len += step;
        }
        Ok(())
    }

    /// Reopens the file after a failed append and decides whether the record is there. It is if it
    /// is `last`, that is, if a caller still waits for it. Any other record is removed, because it
    /// was answered with an error.
    ///
    /// A record that is found is written again, and removal is a write too. Both are synced before
    /// this returns: only a successful sync proves anything.
    pub fn reopen(&mut self, last: Option<Seq>) -> io::Result<bool> {
        self.lease.end();
        self.lease = self.kept.lease();
        self.kept.write_back().inspect_err(|error| self.lease.note(error))?;
        self.len = self.lease.len()?;
        self.room = 0..0;
        let Some(place) = self.doubtful else { return Ok(false) };
        // A record that cannot be read back intact will not be found intact after a crash either.
        // It needs no removal, for which a full disk may have no room.
        let found = match read(&self.lease, self.salt, &place)? {
            Some(record) if last == Some(place.head.last) => {
                self.lease.write(place.at, &record)?;
                self.lease.sync_data()?;
                self.stands(place);
                true
            }
            Some(_) => {
                self.lease.write(place.at, &[0; PAGE])?;
                self.lease.sync_data()?;
                false
            }
            None => false,
        };
        self.doubtful = None;
        Ok(found)
    }

    /// Shrinks the file, once the tables have all committed changes. Nothing may be appended
    /// afterwards.
    pub fn finish(&mut self, folded: Seq) -> io::Result<()> {
        if self.last() > folded || self.doubtful.is_some() {
            return Ok(());
        }
        self.fold_mark(folded)?;
        let marked = self.marked(folded);
        if let Some(mark) = &mut self.mark {
            mark.finish(marked)?;
        }
        let end = self.needed.iter().map(StoredRecord::end).max().unwrap_or(self.len);
        self.lease.set_len(end)?;
        self.lease.sync_data()
    }
}

fn unreadable(error: io::Error) -> OpenError {
    OpenError::Io(format!("journal.wal: {error}"))
}

fn corrupt(why: &str) -> OpenError {
    OpenError::Corrupt(format!("journal.wal: {why}"))
}
