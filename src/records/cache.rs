//! Records as readers see them, kept in memory, and their JSON, made once per change, display and
//! path.
//!
//! # Why a stale record can't stay
//!
//! 1. A reader misses, and reads revision 7 from the store.
//! 2. Revision 8 is committed; the cache is notified, and finds nothing to drop.
//! 3. The reader puts revision 7 into the cache, where it would stay for ever.
//!
//! So a shard counts its notices; the reader notes the count before it reads, and keeps what it
//! read only if the count is still the same. Nothing goes in but under the lock of its shard's
//! count, and what a change drops goes out under it.
//!
//! # What it takes
//!
//! Entries are weighed, and those that are used least make room. A weight must not change while its
//! entry is there, so an entry is put in once more, with another weight, each time that JSON was
//! made for it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::Weighter;
use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::object::{Attributes, Record};
use stet_actors::repository::Reader;
use stet_actors::store::observe::Observer;

use super::groups::{Forms, is_large};
use super::ways::Ways;
use super::{Basis, Display, Groups, ObjectRecord, outline};
use crate::json::Ready;
use crate::limits::bounded_cache::BoundedCache;
use crate::limits::{MemoryBudget, PIECE, Purpose, Reservation, behalf, may_be_refused};

const SHARDS: usize = 16;

/// Bytes that the attributes of an object take at most while they are read. Those of a container
/// are a part of what it takes.
const MOST_ATTRIBUTES: u64 = 8 << 20;

/// A live object's record and attributes, and its JSON under the displays asked for lately.
#[derive(Debug)]
pub struct Cached {
    /// See [`Cached::copy`].
    copy: u64,
    /// The record.
    pub record: Record,
    /// The attribute texts.
    pub attributes: Attributes,
    /// The memory of large texts that are in no cache.
    _reserved: Option<Reservation>,
    /// What displays of large attributes have in common; most objects have none.
    forms: OnceLock<Box<Forms>>,
    /// See [`Cached::outline`].
    is_outline: bool,
    shown: Mutex<Vec<Shown>>,
}

/// What readers see of a record.
#[derive(Debug)]
struct Shown {
    display: Display,
    /// The path it is shown with: that depends on the folders above, and not on the record.
    path: Option<Box<str>>,
    /// What else it was made of.
    basis: Basis,
    record: Ready<ObjectRecord>,
}

impl Cached {
    /// How many displays are kept per object: clients of one newsroom ask for a few.
    const DISPLAYS: usize = 4;

    /// Bytes of all that are kept, if there are several: of large ones, what takes long is kept for
    /// all displays.
    const SHOWN: usize = 2 << 20;

    /// Bytes of an entry beside texts and JSON: the record, and its place in the cache.
    const ITSELF: usize = 1024;

    /// Record and attributes that are not in the cache.
    fn new(record: Record, attributes: Attributes, reserved: Option<Reservation>) -> Cached {
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let copy = COPIES.fetch_add(1, Ordering::Relaxed);
        let (forms, shown) = (OnceLock::new(), Mutex::default());
        Cached { copy, record, attributes, _reserved: reserved, is_outline: false, forms, shown }
    }

    /// The [`outline()`] of it, without attributes. It is in no cache.
    pub fn outline(&self) -> Cached {
        let record = outline(&self.record);
        let attributes = Attributes::none(record.loid);
        Cached { is_outline: true, ..Cached::new(record, attributes, None) }
    }

    /// Whether it is an outline.
    pub fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// The number of this reading of the object: no two have the same, and between two looks at the
    /// cache that find the same one the object has not changed.
    pub fn copy(&self) -> u64 {
        self.copy
    }

    /// See [`RecordCache::shown`].
    fn shown(&self, display: &Display, path: Option<&str>, basis: Basis) -> Option<Ready<ObjectRecord>> {
        let names_nobody = self.record.lock.is_none();
        let fits = |shown: &&Shown| {
            let same = shown.basis == basis || names_nobody && shown.basis.agrees_but_for_people(basis);
            same && shown.display == *display && shown.path.as_deref() == path
        };
        self.shown.lock().iter().find(fits).map(|shown| shown.record.clone())
    }

    /// See [`RecordCache::keep_shown`].
    fn keep_shown(&self, display: &Display, path: Option<&str>, basis: Basis, record: Ready<ObjectRecord>) {
        let mut kept = self.shown.lock();
        // Others may have made the same meanwhile.
        kept.retain(|shown| shown.display != *display || shown.path.as_deref() != path);
        let bytes = |kept: &[Shown]| kept.iter().map(|shown| shown.record.text().len()).sum::<usize>();
        while kept.len() == Cached::DISPLAYS || !kept.is_empty() && bytes(&kept) + record.text().len() > Cached::SHOWN {
            kept.remove(0);
        }
        kept.push(Shown { display: display.clone(), path: path.map(Box::from), basis, record });
    }

    /// See [`RecordCache::groups`].
    async fn groups(&self, display: &Display) -> Result<Groups> {
        if is_large(&self.attributes) {
            // As in `Groups::of`.
            return Box::pin(self.forms.get_or_init(Box::default).groups(&self.attributes, display)).await;
        }
        Groups::of_small(&self.attributes, display)
    }

    /// Bytes that it takes now.
    fn bytes(&self) -> u64 {
        let bytes = |shown: &Shown| shown.record.text().len() + shown.path.as_deref().map_or(0, str::len);
        let json = self.shown.lock().iter().map(bytes).sum::<usize>();
        let forms = self.forms.get().map_or(0, |forms| forms.bytes());
        (Cached::ITSELF + self.record.text_bytes() + self.attributes.text_bytes() + forms + json) as u64
    }
}

/// A cached record is a record.
impl Deref for Cached {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

#[derive(Clone)]
struct Entry {
    cached: Arc<Cached>,
    /// [`Cached::bytes`] when it was put in.
    weight: u64,
}

impl Entry {
    fn new(cached: Arc<Cached>) -> Entry {
        let weight = cached.bytes();
        Entry { cached, weight }
    }
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<Loid, Entry> for ByWeight {
    fn weight(&self, _: &Loid, entry: &Entry) -> u64 {
        entry.weight
    }
}

/// See the module's head.
pub struct RecordCache {
    /// How often each shard was notified of changes.
    notices: [Mutex<u64>; SHARDS],
    entries: BoundedCache<Loid, Entry, ByWeight>,
    /// How often the cache was notified of any change.
    changes: AtomicU64,
    /// The path that was found last: the records of a list mostly lie in one folder.
    last_path: Mutex<Option<LastPath>>,
    /// The folders on the way to those that callers may read.
    pub ways: Ways,
    /// The budget of calls, which pays for attributes that are too large for the cache.
    memory: MemoryBudget,
}

/// The path of a folder while there had been so many changes.
struct LastPath {
    folder: Loid,
    changes: u64,
    path: Arc<str>,
}

impl RecordCache {
    /// A cache of that many bytes, beside the memory of calls.
    pub fn new(bytes: u64, memory: MemoryBudget) -> RecordCache {
        RecordCache {
            notices: Default::default(),
            // An entry is some 4 KiB.
            entries: BoundedCache::new("records", bytes, 4 << 10, SHARDS, ByWeight),
            changes: AtomicU64::new(0),
            last_path: Mutex::default(),
            ways: Ways::default(),
            memory,
        }
    }

    /// The memory that calls take.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// Stands still as long as no object changes: what was made of records since it last did is
    /// still right.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The path of a folder, if it was the last one that was found, and there have been no more
    /// than these changes.
    pub fn last_path(&self, folder: Loid, changes: u64) -> Option<Arc<str>> {
        let last = self.last_path.lock();
        last.as_ref().filter(|last| last.folder == folder && last.changes == changes).map(|last| last.path.clone())
    }

    /// Keeps the path of a folder, which was found after so many changes had been noted.
    pub fn note_path(&self, folder: Loid, changes: u64, path: Arc<str>) -> Arc<str> {
        *self.last_path.lock() = Some(LastPath { folder, changes, path: path.clone() });
        path
    }

    fn notices(&self, loid: Loid) -> &Mutex<u64> {
        &self.notices[loid.number as usize % SHARDS]
    }

    /// The record of a live object; `None` when there is none. Attributes that are too large for
    /// the cache are paid for by the caller as long as this is held.
    ///
    /// # Errors
    /// `Overloaded` if there is no memory for its attributes; what the store says.
    pub fn get(&self, repository: &Reader, loid: Loid) -> Result<Option<Arc<Cached>>> {
        if let Some(entry) = self.entries.get(&loid) {
            return Ok(if repository.is_leaving(&entry.cached.record)? { None } else { Some(entry.cached) });
        }
        let before = *self.notices(loid).lock();
        let Some(record) = repository.record(loid)? else { return Ok(None) };
        let (attributes, reserved) = self.attributes(repository, &record)?;
        let cached = Arc::new(Cached::new(record, attributes, reserved));
        self.keep(before, cached.clone());
        Ok(Some(cached))
    }

    /// The attributes of an object, with the memory that they take if the cache can't keep them.
    fn attributes(&self, repository: &Reader, record: &Record) -> Result<(Attributes, Option<Reservation>)> {
        // The parts of a container count there, too.
        let most = record.container_bytes.min(MOST_ATTRIBUTES);
        if most <= PIECE as u64 {
            return Ok((repository.attributes(record.loid)?, None));
        }
        let reserved = self.memory.reservation(behalf(), Purpose::Replies);
        if may_be_refused() {
            reserved.grow_to(most)?;
        } else {
            reserved.force_to(most);
        }
        let attributes = repository.attributes(record.loid)?;
        let bytes = attributes.text_bytes() as u64;
        if bytes <= self.entries.most() / 2 {
            return Ok((attributes, None));
        }
        reserved.shrink_to(bytes);
        Ok((attributes, Some(reserved)))
    }

    /// The record of a live object without what goes with it, read from the store if it is not
    /// here; `None` when there is none.
    ///
    /// # Errors
    /// What the store says.
    pub fn record(&self, repository: &Reader, loid: Loid) -> Result<Option<Record>> {
        match self.entries.get(&loid) {
            Some(entry) => Ok(Some(entry.cached.record.clone())),
            None => repository.record(loid),
        }
    }

    /// Keeps a record that was read when its shard had had `before` notices, if there was none
    /// since.
    fn keep(&self, before: u64, cached: Arc<Cached>) {
        let notices = self.notices(cached.loid).lock();
        if *notices == before {
            self.entries.insert(cached.loid, Entry::new(cached));
        }
    }

    /// What readers see of a record under a display, with that path, if it has been made. `basis`
    /// is as it is now.
    pub fn shown(
        &self,
        cached: &Cached,
        display: &Display,
        path: Option<&str>,
        basis: Basis,
    ) -> Option<Ready<ObjectRecord>> {
        cached.shown(display, path, basis)
    }

    /// Keeps what readers see of a record; `basis` from before anything was looked up for it.
    pub fn keep_shown(
        &self,
        cached: &Cached,
        display: &Display,
        path: Option<&str>,
        basis: Basis,
        record: Ready<ObjectRecord>,
    ) {
        cached.keep_shown(display, path, basis, record);
        self.weigh(cached);
    }

    /// The groups of a record as a display shows them. Of large ones each form is made once.
    ///
    /// # Errors
    /// That a stored text can't be read.
    pub async fn groups(&self, cached: &Cached, display: &Display) -> Result<Groups> {
        let before = cached.bytes();
        let groups = cached.groups(display).await?;
        if cached.bytes() != before {
            self.weigh(cached);
        }
        Ok(groups)
    }

    /// Weighs an entry again, if it is still there; what takes more than there is room for goes.
    fn weigh(&self, cached: &Cached) {
        let _held = self.notices(cached.loid).lock();
        if let Some(entry) = self.entries.peek(&cached.loid).filter(|entry| entry.cached.copy == cached.copy) {
            self.entries.replace(cached.loid, Entry::new(entry.cached));
        }
    }
}

impl Observer for RecordCache {
    fn changed(&self, objects: &[Loid]) {
        for loid in objects {
            let mut notices = self.notices(*loid).lock();
            *notices += 1;
            self.entries.remove(loid);
        }
        // Behind the entries: they are read for it.
        self.ways.changed(objects);
        // Last: whoever sees the new count finds nothing old any more.
        self.changes.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;
    use stet_actors::object::FamilyKind;

    use super::*;

    fn read(number: u64, attributes: usize) -> Arc<Cached> {
        let loid = Loid::new(DatabaseId::FIRST, number);
        let record = Record::new(loid, "a", "Story", FamilyKind::Document, &"editor".into(), 1_700_000_000_000);
        let texts = Attributes { attributes: Some("x".repeat(attributes).into()), ..Attributes::none(loid) };
        Arc::new(Cached::new(record, texts, None))
    }

    fn kept(cache: &RecordCache, cached: &Cached) -> Option<u64> {
        cache.entries.peek(&cached.loid).map(|entry| entry.cached.copy())
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let cache = RecordCache::new(1 << 20, MemoryBudget::new(1 << 20));
        let old = read(1, 10);
        let before = *cache.notices(old.loid).lock();
        cache.changed(&[old.loid]);
        cache.keep(before, old.clone());
        assert_eq!(kept(&cache, &old), None);
        let new = read(1, 10);
        let now = *cache.notices(new.loid).lock();
        cache.keep(now, new.clone());
        assert_eq!(kept(&cache, &new), Some(new.copy()));
        // A reader that still has the old one makes JSON for itself alone.
        cache.keep_shown(&old, &Display::with_defaults(true), None, Basis::default(), Ready::of_length(3));
        assert_eq!(kept(&cache, &new), Some(new.copy()));
        assert!(new.shown.lock().is_empty());
        cache.changed(&[new.loid]);
        assert_eq!(kept(&cache, &new), None);
        cache.keep_shown(&new, &Display::with_defaults(true), None, Basis::default(), Ready::of_length(3));
        assert_eq!(kept(&cache, &new), None, "to make JSON brings nothing back");
    }

    #[test]
    fn attributes_and_json_weigh_and_there_is_no_more_than_there_is_room_for() {
        let room = 16 << 20;
        let cache = RecordCache::new(room, MemoryBudget::new(1 << 20));
        let displays = (0..16u8).map(|bits| {
            let mut display = Display::with_defaults(bits & 1 != 0);
            (display.xml, display.json, display.attributes) = (bits & 2 != 0, bits & 4 != 0, bits & 8 != 0);
            display
        });
        let displays: Vec<_> = displays.collect();
        for number in 0..100 {
            let cached = read(number, 100_000);
            cache.keep(0, cached.clone());
            for display in &displays {
                let weight = cached.bytes();
                cache.keep_shown(&cached, display, None, Basis::default(), Ready::of_length(50_000));
                assert!(cached.bytes() >= weight);
                assert!(cache.entries.weight() <= room);
            }
            let itself = Cached::ITSELF + cached.record.text_bytes();
            assert_eq!(cached.bytes(), (itself + 100_000 + Cached::DISPLAYS * 50_000) as u64);
        }
        let held: u64 = cache.entries.iter().map(|(_, entry)| entry.cached.bytes()).sum();
        assert_eq!(cache.entries.weight(), held, "what they weigh is what they take");
        assert!(held > room / 4, "{held}");
        let huge = read(1000, 2 << 20);
        cache.keep(0, huge.clone());
        assert_eq!(kept(&cache, &huge), None, "what is larger than a shard's room is not kept");
    }
}
