//! Reading: views of containers, rows, and resolution of sources.

use std::sync::Arc;
use std::time::Duration;

use crate::runtime::{ContainerView, Registry, store_failure};
use stet_domain::clock::Clock;
use stet_domain::ends::ExpiryClock;
use stet_domain::error::{Error, Result};
use stet_domain::family::Family;
use stet_domain::folder::{self, walk};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{
    Attributes, Correlate, Link, ObjectStanding, PathLimits, Record, Remainder, RemainderTask, Version, check_path,
    correlates_of, find_standing, links_from,
};
use stet_domain::store::{
    Backlog, EventId, EventLog, Health, KeyRange, ReadLevel, Row, RowReader, StoreError, Table, decode_value,
};

/// The read-only handle of the repository. Clones are handles to the same repository.
#[derive(Clone)]
pub struct Reader {
    pub(super) registry: Arc<Registry>,
}

impl Reader {
    /// Returns the view of a container, and loads it if necessary.
    ///
    /// # Errors
    /// `ObjectNotFound`, also for a container in the recycle bin; `InvalidType`; a failure to load
    /// it.
    pub async fn view<F: Family>(&self, container: Loid) -> Result<Arc<ContainerView<F::State>>> {
        let view = self.any_view::<F>(container).await?;
        let record = &stet_domain::family::State::object(&view.state).record;
        if record.is_discarded() || self.is_leaving(record)? {
            return Err(Error::not_found(container));
        }
        Ok(view)
    }

    /// Returns the view of a container, in the recycle bin or not; see [`Reader::view`].
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType`; a failure to load it.
    pub async fn any_view<F: Family>(&self, container: Loid) -> Result<Arc<ContainerView<F::State>>> {
        let now_ms = self.clock().steady_ms();
        self.registry.get::<F>(container)?.view(container, now_ms).await
    }

    /// Returns the view of a live container, if it is in memory; see [`Reader::view`].
    pub fn loaded<F: Family>(&self, container: Loid) -> Option<Arc<ContainerView<F::State>>> {
        let view = self.registry.loaded::<F>(container)?;
        let record = &stet_domain::family::State::object(&view.state).record;
        // Errors are reported by `view`.
        let is_there = !record.is_discarded() && !self.is_leaving(record).unwrap_or(true);
        is_there.then_some(view)
    }

    /// Reports whether the object is in memory as a container of that family.
    pub fn is_in_memory<F: Family>(&self, container: Loid) -> bool {
        self.registry.kind_of(container) == Some(F::KIND)
    }

    /// Returns the record of a live object, as it is on disk.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn record(&self, loid: Loid) -> Result<Option<Record>> {
        let found = self.steady(|| self.row(Table::Objects, &loid.to_key()))?;
        Ok(found.and_then(|(record, standing)| (!matches!(standing, ObjectStanding::Leaving(_))).then_some(record)))
    }

    /// Returns a record with its standing at the same moment. If the record changes between the two
    /// reads, both are read again.
    fn steady(&self, read: impl Fn() -> Result<Option<Record>>) -> Result<Option<(Record, ObjectStanding)>> {
        loop {
            // Asked before the record is read: a change that is under way may be done by the time
            // the standing is read.
            let under_way = self.registry.shared().remains.are_under_way();
            let Some(record) = read()? else { return Ok(None) };
            if !under_way {
                return Ok(Some((record, ObjectStanding::Settled)));
            }
            let stands =
                find_standing(self.look(), ReadLevel::Committed, &record).map_err(|error| store_failure(&error))?;
            if read()?.as_ref() == Some(&record) {
                return Ok(Some((record, stands)));
            }
        }
    }

    /// Reports whether an object that is live by its record leaves along with a discarded or
    /// destroyed folder. Such an object is not found, like the folder.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_leaving(&self, record: &Record) -> Result<bool> {
        Ok(matches!(self.standing(record)?, ObjectStanding::Leaving(_)))
    }

    fn standing(&self, record: &Record) -> Result<ObjectStanding> {
        if !self.registry.shared().remains.are_under_way() {
            return Ok(ObjectStanding::Settled);
        }
        find_standing(self.look(), ReadLevel::Committed, record).map_err(|error| store_failure(&error))
    }

    /// Returns the record of an object, live or discarded.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn any_record(&self, loid: Loid) -> Result<Option<Record>> {
        Record::find(self.look(), ReadLevel::Committed, loid).map_err(|error| store_failure(&error))
    }

    /// Returns the attribute texts of an object.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn attributes(&self, loid: Loid) -> Result<Attributes> {
        Ok(self.row(Table::Attributes, &loid.to_key())?.unwrap_or_else(|| Attributes::none(loid)))
    }

    /// Returns a row as it is on disk.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn row<R: Row>(&self, table: Table, key: &[u8]) -> Result<Option<R>> {
        let read = || match self.look().get(ReadLevel::Committed, table, key)? {
            Some(value) => Ok(Some(decode_value(R::FORMAT, &value)?)),
            None => Ok(None),
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// Returns all rows of a small table, by key.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn rows<R: Row>(&self, table: Table) -> Result<Vec<R>> {
        self.rows_within(table, &KeyRange::prefix(&[]), usize::MAX, false)
    }

    /// Returns at most `limit` rows of a range, by key: the first ones, or the last ones if
    /// `backwards`.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn rows_within<R: Row>(&self, table: Table, range: &KeyRange, limit: usize, backwards: bool) -> Result<Vec<R>> {
        let read = || {
            let rows = self.look().scan(ReadLevel::Committed, table, range, limit, backwards)?;
            rows.iter().map(|(_, value)| Ok(decode_value(R::FORMAT, value)?)).collect::<Result<Vec<R>, StoreError>>()
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// Returns the record of the live object that a source names, itself or by one of its versions.
    /// Paths are looked up in `database`.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, errors of the store.
    pub fn resolve(&self, source: &ObjectSource, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        self.record(loid.object())?.ok_or_else(|| Error::not_found(source))
    }

    /// Returns the record of the object that a source names, in the recycle bin or not.
    ///
    /// # Errors
    /// The errors of [`Reader::resolve`].
    pub fn resolve_any(&self, source: &ObjectSource, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        let found = self.steady(|| self.any_record(loid.object()))?;
        let (record, standing) = found.ok_or_else(|| Error::not_found(source))?;
        let ObjectStanding::Leaving(entry) = standing else { return Ok(record) };
        // A destroyed object is no longer in the bin either. When that is done, the record is gone.
        let is_destroyed = Remainder::is_left(self.look(), ReadLevel::Committed, entry, RemainderTask::Destroy);
        let is_there =
            !is_destroyed.map_err(|error| store_failure(&error))? && self.any_record(loid.object())?.is_some();
        if is_there { Ok(record) } else { Err(Error::not_found(source)) }
    }

    /// Refuses the loid of a version that does not exist.
    ///
    /// # Errors
    /// `ObjectNotFound`, errors of the store.
    pub fn check_version(&self, loid: Loid, source: &ObjectSource) -> Result<()> {
        if loid.version == 0 || self.row::<Version>(Table::Versions, &loid.to_key())?.is_some() {
            return Ok(());
        }
        Err(Error::not_found(source))
    }

    /// Returns the loid that a source names, whether or not such an object exists.
    ///
    /// # Errors
    /// `InvalidPath`, errors of the store.
    pub fn loid_of(&self, source: &ObjectSource, database: DatabaseId) -> Result<Option<Loid>> {
        let found = match source {
            ObjectSource::Loid(loid) => Ok(Some(*loid)),
            ObjectSource::Uuid(uuid) => self
                .look()
                .get(ReadLevel::Committed, Table::Uuids, uuid.0.as_bytes())
                .map(|value| value.and_then(|value| Loid::from_key(&value))),
            ObjectSource::Path(path) => {
                walk(self.look(), ReadLevel::Committed, folder::root(database), check_path(path, self.path_limits())?)
            }
        };
        found.map_err(|error| store_failure(&error))
    }

    /// Returns the container of a part with a loid of its own, such as a post or an item of a
    /// topic. It is `None` if there is no such part.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn container_of(&self, part: Loid) -> Result<Option<Loid>> {
        let entry = self.look().get(ReadLevel::Committed, Table::PartOf, &part.object().to_key());
        Ok(entry.map_err(|error| store_failure(&error))?.and_then(|entry| Loid::from_key(&entry)))
    }

    /// Returns the links of an object or item of a topic, sorted by their names there.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn correlates(&self, of: Loid) -> Result<Vec<Correlate>> {
        correlates_of(self.look(), ReadLevel::Committed, of).map_err(|error| store_failure(&error))
    }

    /// Returns the links of an object or item, with the names on both sides, in no particular
    /// order.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn links(&self, of: Loid) -> Result<Vec<Link>> {
        links_from(self.look(), ReadLevel::Committed, of).map_err(|error| store_failure(&error))
    }

    /// Returns the limits of the length and depth of paths.
    pub fn path_limits(&self) -> PathLimits {
        self.registry.shared().options.limits.paths
    }

    /// Returns the path of an object; `None` for one that lies deeper than any configuration
    /// allows.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn path_of(&self, record: &Record) -> Result<Option<String>> {
        folder::path_of(self.look(), ReadLevel::Committed, record).map_err(|error| store_failure(&error))
    }

    /// Returns the rows of the store, for listings. Use [`ReadLevel::Committed`].
    pub fn look(&self) -> &dyn RowReader {
        // Every `Store` is a `RowReader`.
        &*self.registry.shared().store
    }

    /// Returns the log of events.
    pub fn events(&self) -> &dyn EventLog {
        &*self.registry.shared().store
    }

    /// Returns the place in the log after all events whose changes views show. No later event is
    /// before it.
    pub fn end_of_log(&self) -> EventId {
        EventId::end_of(self.registry.shared().store.published())
    }

    /// Resolves when views, and caches that follow commits, show everything that rows show at the
    /// time of the call. Rows are a moment ahead of views. A reader of rows waits for this before
    /// it sends a reply, as the client may read a view next.
    pub async fn views_agree(&self) {
        let store = &self.registry.shared().store;
        let seen = store.committed();
        #[cfg(feature = "planted-bugs")]
        if stet_domain::planted::reads_hastily() {
            return;
        }
        let mut looks = 0;
        // A closed store publishes nothing any more.
        while store.published() < seen && store.health() != Health::Closed {
            looks += 1;
            // As a rule the wait takes microseconds.
            if looks < 32 {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Returns the health of the store.
    pub fn health(&self) -> Health {
        self.registry.shared().store.health()
    }

    /// Returns the changes that wait for the disk.
    pub fn backlog(&self) -> Backlog {
        self.registry.shared().store.backlog()
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.registry.shared().clock
    }

    /// Returns the clock for expiry.
    pub fn ends(&self) -> &Arc<ExpiryClock> {
        &self.registry.shared().ends
    }
}
