//! A store that reports which objects have changed, for caches above it that must never show an
//! outdated record.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Backlog, ChangeSet, Epoch, Event, EventId, EventLog, EventPeriod, Health, KeyRange, LogDirection, LogPassage,
    ReadLevel, ResumeRequest, RowReader, Seq, Store, StoreError, SubmitRefusal, Table,
};
use crate::ends::ExpiryClock;
use crate::id::Loid;

/// A receiver of reports of committed changes.
pub trait Observer: Send + Sync + 'static {
    /// Reports that the record, attributes or parts of these objects have changed. Called on the
    /// writer's thread, after readers can see the change and before the answer is sent; must be
    /// quick.
    fn changed(&self, objects: &[Loid]);
}

/// Both receive the reports, the first one first.
impl<A: Observer, B: Observer> Observer for (Arc<A>, Arc<B>) {
    fn changed(&self, objects: &[Loid]) {
        self.0.changed(objects);
        self.1.changed(objects);
    }
}

/// A store that reports which objects have changed.
pub struct ObservedStore<S: ?Sized> {
    observer: Arc<dyn Observer>,
    store: Arc<S>,
}

impl<S: Store + ?Sized> ObservedStore<S> {
    /// Wraps a store whose commits are reported to `observer`.
    pub fn new(store: Arc<S>, observer: Arc<dyn Observer>) -> ObservedStore<S> {
        ObservedStore { observer, store }
    }
}

impl<S: Store + ?Sized> RowReader for ObservedStore<S> {
    fn get(&self, view: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.store.get(view, table, key)
    }

    fn scan(
        &self,
        view: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.store.scan(view, table, range, limit, backwards)
    }
}

impl<S: Store + ?Sized> EventLog for ObservedStore<S> {
    fn events_of(&self, resumed: &ResumeRequest) -> Result<(Vec<Event>, bool), StoreError> {
        self.store.events_of(resumed)
    }

    fn events(&self, way: LogDirection, times: &EventPeriod) -> Result<LogPassage, StoreError> {
        self.store.events(way, times)
    }

    fn oldest(&self) -> Result<Option<EventId>, StoreError> {
        self.store.oldest()
    }
}

impl<S: Store + ?Sized> Store for ObservedStore<S> {
    fn submit(&self, mut set: ChangeSet) -> Result<Seq, Box<SubmitRefusal>> {
        // Each change of an object writes its record, so the record tables show all changes.
        let changed: Vec<Loid> = set
            .changes
            .iter()
            .filter(|change| matches!(change.table, Table::Objects | Table::Recycled))
            .filter_map(|change| Loid::from_key(&change.key))
            .collect();
        if !changed.is_empty() {
            let observer = self.observer.clone();
            let publish = std::mem::replace(&mut set.on_commit, Box::new(|_| ()));
            set.on_commit = Box::new(move |seq| {
                publish(seq);
                observer.changed(&changed);
            });
        }
        self.store.submit(set)
    }

    fn epoch(&self) -> Epoch {
        self.store.epoch()
    }

    fn committed(&self) -> Seq {
        self.store.committed()
    }

    fn published(&self) -> Seq {
        self.store.published()
    }

    fn health(&self) -> Health {
        self.store.health()
    }

    fn is_certain(&self) -> bool {
        self.store.is_certain()
    }

    fn ends(&self) -> Option<Arc<ExpiryClock>> {
        self.store.ends()
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}
