//! Records as readers see them, kept in memory, and their JSON, made once per change, display and path.
//!
//! # Why a stale record can't stay
//!
//! 1. A reader misses, and reads revision 7 from the store.
//! 2. Revision 8 is committed; the cache is told, and finds nothing to drop.
//! 3. The reader puts revision 7 into the cache, where it would stay for ever.
//!
//! So a shard counts what it was told; the reader notes the count before it reads, and keeps what it read only if the count is still
//! the same.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;
use stet_actors::error::Result;
use stet_actors::id::Loid;
use stet_actors::object::{Attributes, Record};
use stet_actors::repository::Repository;
use stet_actors::store::observe::Observer;

use super::{Display, ObjectRecord};
use crate::json::Ready;

const SHARDS: usize = 16;

/// A live object's record and attributes, and what readers see of it under the displays asked for lately.
#[derive(Debug)]
pub struct Cached {
    /// The record.
    pub record: Record,
    /// The attribute texts.
    pub attributes: Attributes,
    shown: Mutex<Vec<Shown>>,
}

/// What readers see of a record.
#[derive(Debug)]
struct Shown {
    display: Display,
    /// The path it is shown with: that depends on the folders above, and not on the record.
    path: Option<Box<str>>,
    record: Ready<ObjectRecord>,
}

impl Cached {
    /// How many displays are kept per object: clients of one newsroom ask for a few.
    const DISPLAYS: usize = 4;

    /// Record and attributes that are not in the cache.
    pub fn new(record: Record, attributes: Attributes) -> Cached {
        Cached { record, attributes, shown: Mutex::default() }
    }

    /// What readers see under a display, with that path; made if it is not there.
    ///
    /// # Errors
    /// What `make` says.
    pub fn shown(
        &self,
        display: &Display,
        path: Option<&str>,
        make: impl FnOnce(&Cached) -> Result<ObjectRecord>,
    ) -> Result<Ready<ObjectRecord>> {
        let fits = |shown: &&Shown| shown.display == *display && shown.path.as_deref() == path;
        if let Some(shown) = self.shown.lock().iter().find(fits) {
            return Ok(shown.record.clone());
        }
        let record = Ready::of(&make(self)?)?;
        let mut kept = self.shown.lock();
        if kept.len() == Cached::DISPLAYS {
            kept.remove(0);
        }
        kept.push(Shown { display: display.clone(), path: path.map(Box::from), record: record.clone() });
        Ok(record)
    }
}

struct Shard {
    /// How often it was told of changes.
    told: u64,
    entries: LruCache<Loid, Arc<Cached>>,
}

/// A cached record is a record.
impl Deref for Cached {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

/// See the module's head.
pub struct RecordCache {
    shards: Vec<Mutex<Shard>>,
    /// How often the cache was told of changes of anything.
    changes: AtomicU64,
}

impl RecordCache {
    /// A cache of about that many objects.
    pub fn new(objects: usize) -> RecordCache {
        let each = NonZeroUsize::new(objects / SHARDS).unwrap_or(NonZeroUsize::MIN);
        let shard = || Mutex::new(Shard { told: 0, entries: LruCache::new(each) });
        RecordCache { shards: (0..SHARDS).map(|_| shard()).collect(), changes: AtomicU64::new(0) }
    }

    /// Stands still as long as no object changes: what was made of records since it last did is still right.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn shard(&self, loid: Loid) -> &Mutex<Shard> {
        &self.shards[loid.number as usize % SHARDS]
    }

    /// The record of a live object; `None` when there is none.
    ///
    /// # Errors
    /// What the store says.
    pub fn get(&self, repository: &Repository, loid: Loid) -> Result<Option<Arc<Cached>>> {
        let told = {
            let mut shard = self.shard(loid).lock();
            if let Some(cached) = shard.entries.get(&loid) {
                return Ok(Some(cached.clone()));
            }
            shard.told
        };
        let Some(record) = repository.record(loid)? else { return Ok(None) };
        let cached = Arc::new(Cached::new(record, repository.attributes(loid)?));
        let mut shard = self.shard(loid).lock();
        if shard.told == told {
            shard.entries.put(loid, cached.clone());
        }
        Ok(Some(cached))
    }
}

impl Observer for RecordCache {
    fn changed(&self, objects: &[Loid]) {
        for loid in objects {
            let mut shard = self.shard(*loid).lock();
            shard.told += 1;
            shard.entries.pop(loid);
        }
        // Last: whoever sees the new count finds nothing old any more.
        self.changes.fetch_add(1, Ordering::Release);
    }
}
