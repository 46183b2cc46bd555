//! Reading: views of containers, rows, and what sources name.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::ends::Ends;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::folder::{self, walk};
use crate::id::{DatabaseId, Loid, Source};
use crate::object::{
    Attributes, Correlate, Link, PathLimits, Record, Remainder, Standing, Task, Version, check_path, correlates_of,
    links_from, standing,
};
use crate::runtime::{Published, Registry, store_failure};
use crate::store::{Backlog, EventLog, Health, Look, Range, Row, StoreError, Table, View, decode_value};

/// The repository for those who read only. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct Reader {
    pub(super) registry: Arc<Registry>,
}

impl Reader {
    /// A container as it is on disk, loading it if need be.
    ///
    /// # Errors
    /// `ObjectNotFound`, also while it lies in the recycle bin; `InvalidType`; that it can't be
    /// loaded.
    pub async fn view<F: Family>(&self, container: Loid) -> Result<Arc<Published<F::State>>> {
        let view = self.any_view::<F>(container).await?;
        let record = &crate::family::State::object(&view.state).record;
        if record.is_discarded() || self.is_leaving(record)? {
            return Err(Error::not_found(container));
        }
        Ok(view)
    }

    /// A container as it is on disk, in the recycle bin or not; see [`Reader::view`].
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType`; that it can't be loaded.
    pub async fn any_view<F: Family>(&self, container: Loid) -> Result<Arc<Published<F::State>>> {
        let now_ms = self.clock().steady_ms();
        self.registry.get::<F>(container)?.view(container, now_ms).await
    }

    /// A live container as it is on disk, if it is in memory; see [`Reader::view`].
    pub fn loaded<F: Family>(&self, container: Loid) -> Option<Arc<Published<F::State>>> {
        let view = self.registry.loaded::<F>(container)?;
        let record = &crate::family::State::object(&view.state).record;
        // What can't be found out is found out by `view`.
        let is_there = !record.is_discarded() && !self.is_leaving(record).unwrap_or(true);
        is_there.then_some(view)
    }

    /// Whether the object is in memory as a container of that family.
    pub fn is_in_memory<F: Family>(&self, container: Loid) -> bool {
        self.registry.kind_of(container) == Some(F::KIND)
    }

    /// The record of a live object, as it is on disk.
    ///
    /// # Errors
    /// What the store says.
    pub fn record(&self, loid: Loid) -> Result<Option<Record>> {
        let found = self.steady(|| self.row(Table::Objects, &loid.to_key()))?;
        Ok(found.and_then(|(record, standing)| (!matches!(standing, Standing::Leaving(_))).then_some(record)))
    }

    /// A record, and how it stood while it was so: of one that changes between the two looks
    /// neither is worth anything.
    fn steady(&self, read: impl Fn() -> Result<Option<Record>>) -> Result<Option<(Record, Standing)>> {
        loop {
            // Before the record is read: what is under way may be done by the time that its
            // standing is looked at.
            let under_way = self.registry.shared().remains.are_under_way();
            let Some(record) = read()? else { return Ok(None) };
            if !under_way {
                return Ok(Some((record, Standing::Settled)));
            }
            let stands = standing(self.look(), View::Committed, &record).map_err(|error| store_failure(&error))?;
            if read()?.as_ref() == Some(&record) {
                return Ok(Some((record, stands)));
            }
        }
    }

    /// Whether an object that is live as its record has it goes along with a folder that is
    /// discarded or destroyed: then it is not to be found, like the folder.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_leaving(&self, record: &Record) -> Result<bool> {
        Ok(matches!(self.standing(record)?, Standing::Leaving(_)))
    }

    fn standing(&self, record: &Record) -> Result<Standing> {
        if !self.registry.shared().remains.are_under_way() {
            return Ok(Standing::Settled);
        }
        standing(self.look(), View::Committed, record).map_err(|error| store_failure(&error))
    }

    /// The record of an object, live or discarded.
    ///
    /// # Errors
    /// What the store says.
    pub fn any_record(&self, loid: Loid) -> Result<Option<Record>> {
        Record::find(self.look(), View::Committed, loid).map_err(|error| store_failure(&error))
    }

    /// The attribute texts of an object.
    ///
    /// # Errors
    /// What the store says.
    pub fn attributes(&self, loid: Loid) -> Result<Attributes> {
        Ok(self.row(Table::Attributes, &loid.to_key())?.unwrap_or_else(|| Attributes::none(loid)))
    }

    /// A row as it is on disk.
    ///
    /// # Errors
    /// What the store says, or that the row can't be understood.
    pub fn row<R: Row>(&self, table: Table, key: &[u8]) -> Result<Option<R>> {
        let read = || match self.look().get(View::Committed, table, key)? {
            Some(value) => Ok(Some(decode_value(R::FORMAT, &value)?)),
            None => Ok(None),
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// All rows of a table, by key; for tables that are small.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn rows<R: Row>(&self, table: Table) -> Result<Vec<R>> {
        self.rows_within(table, &Range::prefix(&[]), usize::MAX, false)
    }

    /// Rows of a part of a table, by key: the first ones, or backwards the last ones, `limit` at
    /// most.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn rows_within<R: Row>(&self, table: Table, range: &Range, limit: usize, backwards: bool) -> Result<Vec<R>> {
        let read = || {
            let rows = self.look().scan(View::Committed, table, range, limit, backwards)?;
            rows.iter().map(|(_, value)| Ok(decode_value(R::FORMAT, value)?)).collect::<Result<Vec<R>, StoreError>>()
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// The object that a source names: a live one, or one of its versions. Paths are looked up in
    /// `database`.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, what the store says.
    pub fn resolve(&self, source: &Source, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        self.record(loid.object())?.ok_or_else(|| Error::not_found(source))
    }

    /// As [`Reader::resolve`], for objects in the recycle bin too.
    ///
    /// # Errors
    /// As [`Reader::resolve`].
    pub fn resolve_any(&self, source: &Source, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        let found = self.steady(|| self.any_record(loid.object()))?;
        let (record, standing) = found.ok_or_else(|| Error::not_found(source))?;
        let Standing::Leaving(entry) = standing else { return Ok(record) };
        // What is destroyed is gone from the bin, too. Once that is done, the record is.
        let is_destroyed = Remainder::is_left(self.look(), View::Committed, entry, Task::Destroy);
        let is_there =
            !is_destroyed.map_err(|error| store_failure(&error))? && self.any_record(loid.object())?.is_some();
        if is_there { Ok(record) } else { Err(Error::not_found(source)) }
    }

    /// Refuses the loid of a version that is not there.
    ///
    /// # Errors
    /// `ObjectNotFound`, what the store says.
    pub fn check_version(&self, loid: Loid, source: &Source) -> Result<()> {
        if loid.version == 0 || self.row::<Version>(Table::Versions, &loid.to_key())?.is_some() {
            return Ok(());
        }
        Err(Error::not_found(source))
    }

    /// The loid that a source names, whether or not there is such an object.
    ///
    /// # Errors
    /// `InvalidPath`, what the store says.
    pub fn loid_of(&self, source: &Source, database: DatabaseId) -> Result<Option<Loid>> {
        let found = match source {
            Source::Loid(loid) => Ok(Some(*loid)),
            Source::Uuid(uuid) => self
                .look()
                .get(View::Committed, Table::Uuids, uuid.0.as_bytes())
                .map(|value| value.and_then(|value| Loid::from_key(&value))),
            Source::Path(path) => {
                walk(self.look(), View::Committed, folder::root(database), check_path(path, self.path_limits())?)
            }
        };
        found.map_err(|error| store_failure(&error))
    }

    /// The container that a part with a loid of its own is in, such as a post or an item of a
    /// topic; `None`: there is no such part.
    ///
    /// # Errors
    /// What the store says.
    pub fn container_of(&self, part: Loid) -> Result<Option<Loid>> {
        let entry = self.look().get(View::Committed, Table::PartOf, &part.object().to_key());
        Ok(entry.map_err(|error| store_failure(&error))?.and_then(|entry| Loid::from_key(&entry)))
    }

    /// The links of an object or item of a topic, by their names there.
    ///
    /// # Errors
    /// What the store says.
    pub fn correlates(&self, of: Loid) -> Result<Vec<Correlate>> {
        correlates_of(self.look(), View::Committed, of).map_err(|error| store_failure(&error))
    }

    /// The same with their names on both sides; their order says nothing.
    ///
    /// # Errors
    /// What the store says.
    pub fn links(&self, of: Loid) -> Result<Vec<Link>> {
        links_from(self.look(), View::Committed, of).map_err(|error| store_failure(&error))
    }

    /// How long and how deep paths may be.
    pub fn path_limits(&self) -> PathLimits {
        self.registry.shared().options.limits.paths
    }

    /// The path of an object; `None` for one that lies deeper than any configuration allows.
    ///
    /// # Errors
    /// What the store says.
    pub fn path_of(&self, record: &Record) -> Result<Option<String>> {
        folder::path_of(self.look(), View::Committed, record).map_err(|error| store_failure(&error))
    }

    /// The rows underneath, for listings. Use [`View::Committed`].
    pub fn look(&self) -> &dyn Look {
        // `Store: Look`.
        &*self.registry.shared().store
    }

    /// The log of what has happened.
    pub fn events(&self) -> &dyn EventLog {
        &*self.registry.shared().store
    }

    /// Resolves when views, and caches that follow commits, show all that rows show by now: rows do
    /// a moment before. Whoever has looked at rows waits for this before anybody hears of it, who
    /// might look at a view next.
    pub async fn views_agree(&self) {
        let store = &self.registry.shared().store;
        let seen = store.committed();
        #[cfg(feature = "planted-bugs")]
        if crate::planted::reads_hastily() {
            return;
        }
        let mut looks = 0;
        // A store that is closed shows nothing any more.
        while store.published() < seen && store.health() != Health::Closed {
            looks += 1;
            // Microseconds, as a rule.
            if looks < 32 {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// How the store is.
    pub fn health(&self) -> Health {
        self.registry.shared().store.health()
    }

    /// What waits for the disk.
    pub fn backlog(&self) -> Backlog {
        self.registry.shared().store.backlog()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.registry.shared().clock
    }

    /// The clock that things end by.
    pub fn ends(&self) -> &Arc<Ends> {
        &self.registry.shared().ends
    }
}
