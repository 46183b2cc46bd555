//! A cache of records with their attributes, and of their JSON, which is rendered once per change,
//! display and path.
//!
//! # Why a stale record can't stay
//!
//! 1. A reader misses, and reads revision 7 from the store.
//! 2. Revision 8 is committed; the cache is notified, and finds nothing to drop.
//! 3. The reader puts revision 7 into the cache, where it would stay forever.
//!
//! Therefore each shard counts its notices. The reader notes the count before it reads, and keeps
//! the record only if the count is unchanged. Insertions and removals happen under the lock of the
//! shard's count.
//!
//! # Weights
//!
//! Entries are weighed, and the least used ones are evicted. A weight must not change while its
//! entry is in the cache. Therefore an entry is inserted again with its new weight each time JSON
//! is rendered for it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::Weighter;
use stet_actors::repository::Reader;
use stet_base::json::ReadyJson;
use stet_base::limits::bounded_cache::BoundedCache;
use stet_base::limits::offload::offload_if_large;
use stet_base::limits::{MemoryBudget, MemoryPurpose, PIECE, Reservation, behalf, may_be_refused};
use stet_domain::error::Result;
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, Record};
use stet_domain::store::observe::Observer;

use super::groups::{ConvertedForms, is_large};
use super::ways::AncestorCache;
use super::{Basis, Display, Groups, ObjectRecord, outline};

const SHARDS: usize = 16;

/// The largest size of an object's attributes while they are read, in bytes. A container's
/// `container_bytes` includes them.
const MOST_ATTRIBUTES: u64 = 8 << 20;

/// A live object's record and attributes, and its JSON under the latest displays. Large attributes
/// are read when they are first needed: most calls need the record alone.
#[derive(Debug)]
pub struct CachedRecord {
    /// The number of this reading of the object; [`CachedRecord::copy`] returns it.
    copy: u64,
    /// The record.
    pub record: Record,
    /// The attribute texts, once they have been read.
    attributes: OnceLock<ReadAttributes>,
    /// The forms of large attributes that displays share; most objects have none.
    forms: OnceLock<Box<ConvertedForms>>,
    /// Whether this is an outline, without attributes.
    is_outline: bool,
    shown: Mutex<Vec<RenderedRecord>>,
}

/// The attribute texts of an object.
#[derive(Debug)]
struct ReadAttributes {
    texts: Attributes,
    /// The memory of large texts that are in no cache.
    _reserved: Option<Reservation>,
}

/// The JSON of a record under one display.
#[derive(Debug)]
struct RenderedRecord {
    display: Display,
    /// The path in the JSON, which depends on the folders above and not on the record.
    path: Option<Box<str>>,
    /// The stamp of the state it was rendered from.
    basis: Basis,
    record: ReadyJson<ObjectRecord>,
}

impl CachedRecord {
    /// The number of displays that are kept per object. Clients of one newsroom use a few.
    const DISPLAYS: usize = 4;

    /// The bytes of all kept JSON of an object. A single one may be larger. For large attributes,
    /// the costly forms are kept for all displays.
    const SHOWN: usize = 2 << 20;

    /// The bytes of an entry beside texts and JSON: the record and the cache's overhead.
    const ITSELF: usize = 1024;

    /// Creates an entry outside of the cache. Without `attributes`, they are read when they are
    /// first needed.
    fn new(record: Record, attributes: Option<Attributes>) -> CachedRecord {
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let copy = COPIES.fetch_add(1, Ordering::Relaxed);
        let (forms, shown) = (OnceLock::new(), Mutex::default());
        let attributes = attributes.map(|texts| ReadAttributes { texts, _reserved: None });
        let attributes = attributes.map_or_else(OnceLock::new, OnceLock::from);
        CachedRecord { copy, record, attributes, is_outline: false, forms, shown }
    }

    /// Returns the [`outline()`] of the record, without attributes. The result is in no cache.
    pub fn outline(&self) -> CachedRecord {
        let record = outline(&self.record);
        let attributes = Attributes::none(record.loid);
        CachedRecord { is_outline: true, ..CachedRecord::new(record, Some(attributes)) }
    }

    /// Reports whether this is an outline.
    pub fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// Returns the unique number of this reading of the object. If two reads of the cache return
    /// the same number, the object has not changed between them.
    pub fn copy(&self) -> u64 {
        self.copy
    }

    /// Returns the JSON for [`RecordCache::shown`].
    fn shown(&self, display: &Display, path: Option<&str>, basis: Basis) -> Option<ReadyJson<ObjectRecord>> {
        let names_nobody = self.record.lock.is_none();
        let fits = |shown: &&RenderedRecord| {
            let same = shown.basis == basis || names_nobody && shown.basis.agrees_but_for_people(basis);
            same && shown.display == *display && shown.path.as_deref() == path
        };
        self.shown.lock().iter().find(fits).map(|shown| shown.record.clone())
    }

    /// Keeps the JSON for [`RecordCache::keep_shown`].
    fn keep_shown(&self, display: &Display, path: Option<&str>, basis: Basis, record: ReadyJson<ObjectRecord>) {
        let mut kept = self.shown.lock();
        // Another call may have rendered the same.
        kept.retain(|shown| shown.display != *display || shown.path.as_deref() != path);
        let bytes = |kept: &[RenderedRecord]| kept.iter().map(|shown| shown.record.text().len()).sum::<usize>();
        while kept.len() == CachedRecord::DISPLAYS
            || !kept.is_empty() && bytes(&kept) + record.text().len() > CachedRecord::SHOWN
        {
            kept.remove(0);
        }
        kept.push(RenderedRecord { display: display.clone(), path: path.map(Box::from), basis, record });
    }

    /// Returns the groups for [`RecordCache::groups`].
    async fn groups(&self, attributes: &Attributes, display: &Display) -> Result<Groups> {
        if is_large(attributes) {
            // On the heap, for the reason given in `Groups::of`.
            return Box::pin(self.forms.get_or_init(Box::default).groups(attributes, display)).await;
        }
        Groups::of_small(attributes, display)
    }

    /// Returns the current size in bytes.
    fn bytes(&self) -> u64 {
        let bytes = |shown: &RenderedRecord| shown.record.text().len() + shown.path.as_deref().map_or(0, str::len);
        let json = self.shown.lock().iter().map(bytes).sum::<usize>();
        let forms = self.forms.get().map_or(0, |forms| forms.bytes());
        let attributes = self.attributes.get().map_or(0, |read| read.texts.text_bytes());
        (CachedRecord::ITSELF + self.record.text_bytes() + attributes + forms + json) as u64
    }
}

/// Access to the record's fields.
impl Deref for CachedRecord {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

#[derive(Clone)]
struct RecordEntry {
    cached: Arc<CachedRecord>,
    /// The result of [`CachedRecord::bytes`] at the insertion.
    weight: u64,
}

impl RecordEntry {
    fn new(cached: Arc<CachedRecord>) -> RecordEntry {
        let weight = cached.bytes();
        RecordEntry { cached, weight }
    }
}

#[derive(Clone)]
struct RecordWeigher;

impl Weighter<Loid, RecordEntry> for RecordWeigher {
    fn weight(&self, _: &Loid, entry: &RecordEntry) -> u64 {
        entry.weight
    }
}

/// The cache of live objects' records.
pub struct RecordCache {
    /// The number of notices of changes per shard.
    notices: [Mutex<u64>; SHARDS],
    entries: BoundedCache<Loid, RecordEntry, RecordWeigher>,
    /// The number of all notices of changes.
    changes: AtomicU64,
    /// The path that was determined last. Most records of a list lie in one folder.
    last_path: Mutex<Option<LastPath>>,
    /// The folders on the way to folders that callers may read.
    pub ways: AncestorCache,
    /// The budget of calls, which is charged for attributes too large for the cache.
    memory: MemoryBudget,
}

/// The path of a folder, valid while the count of changes is the same.
struct LastPath {
    folder: Loid,
    changes: u64,
    path: Arc<str>,
}

impl RecordCache {
    /// Creates a cache of at most `bytes`, which are not part of the memory budget.
    pub fn new(bytes: u64, memory: MemoryBudget) -> RecordCache {
        RecordCache {
            notices: Default::default(),
            // The size of an entry is estimated as 4 KiB.
            entries: BoundedCache::new("records", bytes, 4 << 10, SHARDS, RecordWeigher),
            changes: AtomicU64::new(0),
            last_path: Mutex::default(),
            ways: AncestorCache::default(),
            memory,
        }
    }

    /// Returns the memory budget of calls.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// Returns the number of notices. While it is unchanged, anything computed from records is
    /// still right.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the path of a folder if it was the last one determined, and the count of changes is
    /// still the same.
    pub fn last_path(&self, folder: Loid, changes: u64) -> Option<Arc<str>> {
        let last = self.last_path.lock();
        last.as_ref().filter(|last| last.folder == folder && last.changes == changes).map(|last| last.path.clone())
    }

    /// Keeps the path of a folder that was determined after `changes` notices.
    pub fn note_path(&self, folder: Loid, changes: u64, path: Arc<str>) -> Arc<str> {
        *self.last_path.lock() = Some(LastPath { folder, changes, path: path.clone() });
        path
    }

    fn notices(&self, loid: Loid) -> &Mutex<u64> {
        &self.notices[loid.number as usize % SHARDS]
    }

    /// Returns the record of a live object; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn get(&self, repository: &Reader, loid: Loid) -> Result<Option<Arc<CachedRecord>>> {
        if let Some(entry) = self.entries.get(&loid) {
            return Ok(if repository.is_leaving(&entry.cached.record)? { None } else { Some(entry.cached) });
        }
        let before = *self.notices(loid).lock();
        let Some(record) = repository.record(loid)? else { return Ok(None) };
        // An upper bound: the parts of a container are counted there, too.
        let are_small = record.container_bytes <= PIECE as u64;
        let attributes = are_small.then(|| repository.attributes(loid)).transpose()?;
        let cached = Arc::new(CachedRecord::new(record, attributes));
        self.keep(before, cached.clone());
        Ok(Some(cached))
    }

    /// Returns the attribute texts of a record. Large ones are read by the first call, on another
    /// thread, and may then be of a later revision than the record. Those too large for the cache
    /// are charged to the caller while the record is held.
    ///
    /// # Errors
    /// `Overloaded` if there is no memory for them; errors of the store.
    pub async fn attributes<'c>(&self, repository: &Reader, cached: &'c CachedRecord) -> Result<&'c Attributes> {
        if let Some(read) = cached.attributes.get() {
            return Ok(&read.texts);
        }
        // On the heap: large ones are rare, and the state of each reply would reserve space for it.
        let read = Box::pin(self.read_attributes(repository, &cached.record)).await?;
        let read = cached.attributes.get_or_init(|| read);
        self.weigh(cached);
        Ok(&read.texts)
    }

    async fn read_attributes(&self, repository: &Reader, record: &Record) -> Result<ReadAttributes> {
        let most = record.container_bytes.min(MOST_ATTRIBUTES);
        let reserved = self.memory.reservation(behalf(), MemoryPurpose::Replies);
        if may_be_refused() {
            reserved.grow_to(most)?;
        } else {
            reserved.force_to(most);
        }
        // A row is copied from its page, and its texts from the row. That takes longer than a turn.
        let (reader, loid) = (repository.clone(), record.loid);
        let texts = offload_if_large(most as usize, move || reader.attributes(loid)).await??;
        let bytes = texts.text_bytes() as u64;
        if bytes <= self.entries.most() / 2 {
            return Ok(ReadAttributes { texts, _reserved: None });
        }
        reserved.shrink_to(bytes);
        Ok(ReadAttributes { texts, _reserved: Some(reserved) })
    }

    /// Returns a copy of the record of a live object without its attributes. It is read from the
    /// store if it is not cached. Returns `None` if the object does not exist.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn record(&self, repository: &Reader, loid: Loid) -> Result<Option<Record>> {
        match self.entries.get(&loid) {
            Some(entry) => Ok(Some(entry.cached.record.clone())),
            None => repository.record(loid),
        }
    }

    /// Keeps a record that was read after `before` notices of its shard, if there was none since.
    fn keep(&self, before: u64, cached: Arc<CachedRecord>) {
        let notices = self.notices(cached.loid).lock();
        if *notices == before {
            self.entries.insert(cached.loid, RecordEntry::new(cached));
        }
    }

    /// Returns the JSON of a record under a display and with a path, if it was rendered before.
    /// `basis` is the current one.
    pub fn shown(
        &self,
        cached: &CachedRecord,
        display: &Display,
        path: Option<&str>,
        basis: Basis,
    ) -> Option<ReadyJson<ObjectRecord>> {
        cached.shown(display, path, basis)
    }

    /// Keeps the JSON of a record. `basis` must be taken before anything is read for it.
    pub fn keep_shown(
        &self,
        cached: &CachedRecord,
        display: &Display,
        path: Option<&str>,
        basis: Basis,
        record: ReadyJson<ObjectRecord>,
    ) {
        cached.keep_shown(display, path, basis, record);
        self.weigh(cached);
    }

    /// Returns the groups of a record under a display. Each form of large ones is rendered once.
    ///
    /// # Errors
    /// A stored text can't be read; errors of [`RecordCache::attributes`].
    pub async fn groups(&self, repository: &Reader, cached: &CachedRecord, display: &Display) -> Result<Groups> {
        if !display.shows_attributes() {
            return Groups::of_small(&Attributes::none(cached.loid), display);
        }
        let attributes = self.attributes(repository, cached).await?;
        let before = cached.bytes();
        let groups = cached.groups(attributes, display).await?;
        if cached.bytes() != before {
            self.weigh(cached);
        }
        Ok(groups)
    }

    /// Weighs an entry again, if it is still cached; entries beyond the room are evicted.
    fn weigh(&self, cached: &CachedRecord) {
        let _held = self.notices(cached.loid).lock();
        if let Some(entry) = self.entries.peek(&cached.loid).filter(|entry| entry.cached.copy == cached.copy) {
            self.entries.replace(cached.loid, RecordEntry::new(entry.cached));
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
        // After the entries, because the folders are computed from them.
        self.ways.changed(objects);
        // Last: a reader that sees the new count finds nothing outdated any more.
        self.changes.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use stet_base::limits::offload::Offload;
    use stet_domain::id::DatabaseId;
    use stet_domain::lifecycle::NewObject;
    use stet_domain::object::FamilyKind;

    use super::*;
    use crate::testing::NewsroomFixture;

    fn read(number: u64, attributes: usize) -> Arc<CachedRecord> {
        let loid = Loid::new(DatabaseId::FIRST, number);
        let record = Record::new(loid, "a", "Story", FamilyKind::Document, &"editor".into(), 1_700_000_000_000);
        let texts = Attributes { attributes: Some("x".repeat(attributes).into()), ..Attributes::none(loid) };
        Arc::new(CachedRecord::new(record, Some(texts)))
    }

    fn kept(cache: &RecordCache, cached: &CachedRecord) -> Option<u64> {
        cache.entries.peek(&cached.loid).map(|entry| entry.cached.copy())
    }

    #[actix::test]
    async fn large_attributes_are_read_when_they_are_shown_and_only_once() {
        let fixture = NewsroomFixture::new().await;
        let (repository, cache) = (&fixture.newsroom.repository, &fixture.newsroom.records);
        let create = async |name: &str, bytes: usize| {
            let attributes = Some(format!("<story>{}</story>", "x".repeat(bytes)).into());
            fixture.create(NewObject { attributes, ..NewObject::document(name, "Story") }).await
        };
        let (small, large) = (create("small", 100).await, create("large", PIECE + 1).await);
        let get = |loid| cache.get(repository, loid).expect("it can be read").expect("it exists");
        assert!(get(small).attributes.get().is_some());
        let cached = get(large);
        for display in [Display::bare(), Display { json: false, xml: false, ..Display::with_defaults(true) }] {
            cache.groups(repository, &cached, &display).await.expect("nothing is to be read");
        }
        assert!(cached.attributes.get().is_none());
        let weight = cached.bytes();
        // While all turns on other threads are taken, nothing can be read there.
        let turns: Vec<_> = std::iter::from_fn(|| Offload::turn().now_or_never()?.ok()).collect();
        let mut reading = Box::pin(cache.attributes(repository, &cached));
        assert!(reading.as_mut().now_or_never().is_none(), "they are read on another thread");
        drop(turns);
        let attributes = reading.await.expect("they can be read");
        assert_eq!(attributes, &repository.attributes(large).expect("they can be read"));
        assert!(cached.bytes() > weight + PIECE as u64);
        let again = get(large);
        let again = cache.attributes(repository, &again).now_or_never().expect("they are there");
        let again = again.expect("they can be read");
        assert!(std::ptr::eq(attributes, again), "they are kept with their record");
    }

    #[test]
    fn a_record_read_before_a_change_is_not_cached_after_it() {
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
        // A reader that still holds the old one renders JSON for itself alone.
        cache.keep_shown(&old, &Display::with_defaults(true), None, Basis::default(), ReadyJson::of_length(3));
        assert_eq!(kept(&cache, &new), Some(new.copy()));
        assert!(new.shown.lock().is_empty());
        cache.changed(&[new.loid]);
        assert_eq!(kept(&cache, &new), None);
        cache.keep_shown(&new, &Display::with_defaults(true), None, Basis::default(), ReadyJson::of_length(3));
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
                cache.keep_shown(&cached, display, None, Basis::default(), ReadyJson::of_length(50_000));
                assert!(cached.bytes() >= weight);
                assert!(cache.entries.weight() <= room);
            }
            let itself = CachedRecord::ITSELF + cached.record.text_bytes();
            assert_eq!(cached.bytes(), (itself + 100_000 + CachedRecord::DISPLAYS * 50_000) as u64);
        }
        let held: u64 = cache.entries.iter().map(|(_, entry)| entry.cached.bytes()).sum();
        assert_eq!(cache.entries.weight(), held, "what they weigh is what they take");
        assert!(held > room / 4, "{held}");
        let huge = read(1000, 2 << 20);
        cache.keep(0, huge.clone());
        assert_eq!(kept(&cache, &huge), None, "what is larger than a shard's room is not kept");
    }
}
