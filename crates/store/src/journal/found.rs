//! Reading a journal without writing anything: finds the valid records and what is missing.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use redb::StorageBackend;
use stet_domain::store::Seq;

use super::{FORMAT, GROWTH, StoredRecord, corrupt, unreadable};
use crate::backend::{Backends, StoreFile, is_bad_place};
use crate::blob::{self, NumberedChangeSet};
use crate::lease::{KeptFile, Lease};
use crate::mark::Mark;
use crate::options::{JournalLoss, OpenError};
use crate::record::{FileHead, HEAD, MarkContent, PAGE, RecordHead, Salt};

/// The facts about a journal that are known before it is read.
#[derive(Debug, Clone, Copy)]
pub struct JournalFacts {
    /// The last change set in the tables.
    pub folded: Seq,
    /// The salt noted in the tables; `None` before there is a journal.
    pub salt: Option<Salt>,
    /// Whether a journal was created. If so, a missing file is a loss.
    pub made: bool,
}

/// The contents of a journal.
pub struct JournalContents {
    /// The file, if it exists, and the salt in its head.
    pub(super) file: Option<(Arc<KeptFile>, Salt)>,
    pub(super) mark: Option<Mark>,
    /// The records that must be kept, oldest first.
    pub(super) needed: VecDeque<StoredRecord>,
    /// The change sets that are not folded, complete up to `reach`.
    pub sets: Vec<NumberedChangeSet>,
    /// The change set up to which everything is in the tables or in `sets`.
    pub reach: Seq,
    /// The number of records that contained `sets`. Their bytes follow.
    pub records: usize,
    pub(super) bytes: u64,
    /// The last change set of the newest record, if that was written only in part. A crash does
    /// that, before the record is acknowledged.
    pub torn: Option<Seq>,
    /// The loss, if anything is missing.
    pub loss: Option<JournalLoss>,
}

impl JournalContents {
    /// Reports whether there is a journal.
    pub fn is_there(&self) -> bool {
        self.file.is_some()
    }

    /// Reads the journal, and writes nothing.
    ///
    /// # Errors
    /// The files cannot be read, or a newer stet wrote them.
    pub fn read(backends: &dyn Backends, known: &JournalFacts) -> Result<JournalContents, OpenError> {
        let JournalFacts { folded, salt, made } = *known;
        let kept = backends.open_existing(StoreFile::Journal).map_err(unreadable)?.map(KeptFile::new);
        let first = kept.as_ref().map(first_page).transpose().map_err(unreadable)?.flatten();
        let head = first.as_ref().and_then(|first| FileHead::read(first));
        // Tables that do not know their journal's salt yet trust the mark of the file's own salt.
        let marked = salt.or(head.as_ref().map(|head| head.salt));
        let marked = marked.map(|salt| Mark::open(backends, salt)).transpose()?.flatten();
        let (marked, mark) = marked.unzip();
        let marked = marked.unwrap_or_default();
        let sure = marked.first().map(|marked| marked.sure);
        let mut found = JournalContents {
            file: None,
            mark,
            needed: VecDeque::new(),
            sets: Vec::new(),
            reach: folded,
            records: 0,
            bytes: 0,
            torn: None,
            loss: None,
        };
        let lost =
            |why: &str| JournalLoss { why: why.to_owned(), kept: folded, last: sure.map(|sure| sure.max(folded)) };
        let Some(kept) = kept.filter(|_| first.is_some()) else {
            found.loss = made.then(|| lost("journal.wal is missing or empty"));
            return Ok(found);
        };
        let Some(head) = head else {
            found.loss = Some(lost("journal.wal is damaged: it has no valid header"));
            return Ok(found);
        };
        if head.format > FORMAT {
            return Err(OpenError::Newer { file: "journal.wal", found: head.format, known: FORMAT });
        }
        if salt.is_some_and(|salt| salt != head.salt) {
            found.loss = Some(lost("journal.wal belongs to another data directory"));
            return Ok(found);
        }
        let lease = kept.lease();
        let claims = claims(&lease, head.salt).map_err(unreadable)?;
        if let Some(number) = sure
            && is_foreign(&lease, head.salt, &claims, &marked).map_err(unreadable)?
        {
            found.loss = Some(lost(&format!(
                "journal.wal was not written by this data directory: its change {number} differs from the one in \
                 journal.mark. It may belong to a copy of the directory"
            )));
            return Ok(found);
        }
        JournalReader { lease, salt: head.salt, found: &mut found, folded, newest: sure.unwrap_or_default() }
            .run(&claims)?;
        found.file = Some((kept, head.salt));
        if found.loss.is_none() && salt.is_some() && found.mark.is_none() {
            let why = "journal.mark is missing, damaged or belongs to another data directory".to_owned();
            found.loss = Some(JournalLoss { why, kept: found.reach, last: None });
        }
        Ok(found)
    }
}

/// Reads the first page of a journal; returns `None` if its creation was not finished. The head is
/// written last, so nothing was committed without it.
fn first_page(kept: &Arc<KeptFile>) -> io::Result<Option<Vec<u8>>> {
    let lease = kept.lease();
    let len = lease.len()?;
    let mut first = vec![0; PAGE.min(len as usize)];
    match lease.read(0, &mut first) {
        // A page that cannot be read is damaged. It is not one that was never written.
        Err(error) if is_bad_place(&error) => {
            tracing::warn!(%error, "the first page of journal.wal can't be read");
            first.fill(u8::MAX);
        }
        read => read?,
    }
    let unfinished = len <= 2 * PAGE as u64 && first.iter().all(|byte| *byte == 0);
    Ok((!unfinished).then_some(first))
}

/// The state of reading the records.
struct JournalReader<'a> {
    lease: Lease,
    salt: Salt,
    found: &'a mut JournalContents,
    folded: Seq,
    /// The newest change that must have been in the journal.
    newest: Seq,
}

impl JournalReader<'_> {
    fn run(mut self, claims: &[StoredRecord]) -> Result<(), OpenError> {
        let (old, new) = claims.split_at(claims.partition_point(|place| place.head.last <= self.folded));
        let mut hidden = None;
        for place in new {
            match read(&self.lease, self.salt, place) {
                Ok(Some(record)) => self.take(place, record)?,
                // The remainder of the last record, torn by a crash, or of one that was overwritten
                // in part.
                Ok(None) => self.found.torn = Some(place.head.last),
                // The record may have been acknowledged, as the mark may be older.
                Err(error) if is_bad_place(&error) => hidden = Some(place.head.last),
                Err(error) => return Err(unreadable(error)),
            }
        }
        if let Some(last) = hidden.filter(|last| *last > self.found.reach) {
            self.newest = self.newest.max(last);
            self.miss(format!("the record of change {last} in journal.wal can't be read"));
        }
        let mut old = old.iter().rev();
        while self.found.needed.is_empty()
            && let Some(place) = old.next()
        {
            if read_if_it_can(&self.lease, self.salt, place).map_err(unreadable)?.is_some() {
                self.found.needed.push_back(*place);
            }
        }
        if self.found.needed.is_empty() {
            self.miss("journal.wal has lost its records".to_owned());
        } else if self.newest > self.found.reach {
            self.miss("the newest records of journal.wal are missing or damaged".to_owned());
        }
        self.found.torn = self.found.torn.filter(|torn| *torn > self.newest.max(self.found.reach));
        if let Some(loss) = &mut self.found.loss {
            loss.last = Some(self.newest.max(loss.kept));
        }
        Ok(())
    }

    /// Takes a sound record, which is newer than the previous ones.
    fn take(&mut self, place: &StoredRecord, record: Vec<u8>) -> Result<(), OpenError> {
        let RecordHead { previous, last, length, .. } = place.head;
        let (first, reach) = (self.found.needed.is_empty(), self.found.reach);
        self.found.needed.push_back(*place);
        self.newest = self.newest.max(last);
        if first && previous > self.folded {
            let folded = self.folded;
            self.miss(format!(
                "state.redb ends at change {folded}, but journal.wal begins after change {previous}. One of them may \
                 have been restored without the other"
            ));
        } else if !first && previous != reach {
            self.miss(format!("journal.wal is damaged: the record after change {reach} is missing"));
        }
        if self.found.loss.is_some() {
            // This record was computed from the missing ones.
            return Ok(());
        }
        // Keys and values share the record's memory.
        let payload = Bytes::from(record).slice(HEAD..HEAD + length);
        let decoded = blob::decode(&payload).map_err(|why| corrupt(&format!("record {last}: {why}")))?;
        self.found.sets.extend(decoded.into_iter().filter(|set| set.seq > self.folded));
        self.found.reach = last;
        self.found.records += 1;
        self.found.bytes += place.head.size() as u64;
        Ok(())
    }

    fn miss(&mut self, why: String) {
        let kept = self.found.reach;
        self.found.loss.get_or_insert(JournalLoss { why, kept, last: None });
    }
}

/// Reports whether the journal contains the mark's change, but in no record with the noted
/// checksum. That change was the last of its record. The empty record of a clean close has the
/// number of the record before it, and contains no change. So it does not identify the journal: the
/// mark may be older than it when the record before it has been overwritten.
fn is_foreign(lease: &Lease, salt: Salt, claims: &[StoredRecord], marked: &[MarkContent]) -> io::Result<bool> {
    let known = marked.iter().find(|marked| marked.sum.is_some());
    let Some(MarkContent { sure, .. }) = known.copied() else { return Ok(false) };
    let mut others = false;
    for place in claims {
        let RecordHead { previous, last, sum, .. } = place.head;
        let (has_it, ends_there) = (previous < sure && sure <= last, last == sure);
        if (has_it || ends_there) && read_if_it_can(lease, salt, place)?.is_some() {
            if ends_there && marked.iter().any(|marked| marked.sum == Some(sum)) {
                return Ok(false);
            }
            others |= has_it;
        }
    }
    Ok(others)
}

/// Returns all pages that begin like a record, ordered by number. A page that cannot be read is
/// none.
fn claims(lease: &Lease, salt: Salt) -> io::Result<Vec<StoredRecord>> {
    let len = lease.len()?;
    let mut claims = Vec::new();
    let mut bytes = Vec::new();
    let mut start = PAGE as u64;
    while start < len {
        bytes.resize(GROWTH.min(len - start) as usize, 0);
        for at in read_what_can_be(lease, start, &mut bytes)? {
            tracing::warn!(at, "a page of journal.wal can't be read");
        }
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            let at = start + (number * PAGE) as u64;
            claims.extend(salt.claim(page).map(|head| StoredRecord { at, head }));
        }
        start += bytes.len() as u64;
    }
    claims.sort_by_key(|place| (place.head.last, place.head.previous));
    Ok(claims)
}

/// Reads a range of the file that begins with a page. Pages that cannot be read become zeros.
/// Returns the offsets of these pages.
pub(super) fn read_what_can_be(lease: &Lease, start: u64, bytes: &mut [u8]) -> io::Result<Vec<u64>> {
    match lease.read(start, bytes) {
        Err(error) if is_bad_place(&error) => {}
        read => return read.map(|()| Vec::new()),
    }
    let mut bad = Vec::new();
    for (number, page) in bytes.chunks_mut(PAGE).enumerate() {
        let at = start + (number * PAGE) as u64;
        match lease.read(at, page) {
            Err(error) if is_bad_place(&error) => {
                page.fill(0);
                bad.push(at);
            }
            read => read?,
        }
    }
    Ok(bad)
}

/// Returns the bytes of a record, if it can be read and is sound.
fn read_if_it_can(lease: &Lease, salt: Salt, place: &StoredRecord) -> io::Result<Option<Vec<u8>>> {
    read(lease, salt, place).or_else(|error| if is_bad_place(&error) { Ok(None) } else { Err(error) })
}

/// Returns the bytes of a record, if it is sound.
pub(super) fn read(lease: &Lease, salt: Salt, place: &StoredRecord) -> io::Result<Option<Vec<u8>>> {
    if place.end() > lease.len()? {
        return Ok(None);
    }
    let mut record = vec![0; place.head.size()];
    lease.read(place.at, &mut record)?;
    let sound = salt.open(&record).is_some_and(|(head, _)| head == place.head);
    Ok(sound.then_some(record))
}
