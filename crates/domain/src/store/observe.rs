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

    /// Reports that messages with these numbers were sent or removed, like [`Observer::changed`].
    fn messages_changed(&self, numbers: &[u64]) {
        let _ = numbers;
    }
}

/// Both receive the reports, the first one first.
impl<A: Observer, B: Observer> Observer for (Arc<A>, Arc<B>) {
    fn changed(&self, objects: &[Loid]) {
        self.0.changed(objects);
        self.1.changed(objects);
    }

    fn messages_changed(&self, numbers: &[u64]) {
        self.0.messages_changed(numbers);
        self.1.messages_changed(numbers);
    }
}

/// An observer may be absent.
impl<A: Observer> Observer for Option<Arc<A>> {
    fn changed(&self, objects: &[Loid]) {
        if let Some(observer) = self {
            observer.changed(objects);
        }
    }

    fn messages_changed(&self, numbers: &[u64]) {
        if let Some(observer) = self {
            observer.messages_changed(numbers);
        }
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
        let messages: Vec<u64> = set
            .changes
            .iter()
            .filter(|change| change.table == Table::Messages)
            .filter_map(|change| Some(u64::from_be_bytes(change.key.as_ref().try_into().ok()?)))
            .collect();
        if !changed.is_empty() || !messages.is_empty() {
            let observer = self.observer.clone();
            let publish = std::mem::replace(&mut set.on_commit, Box::new(|_| ()));
            set.on_commit = Box::new(move |seq| {
                publish(seq);
                if !changed.is_empty() {
                    observer.changed(&changed);
                }
                if !messages.is_empty() {
                    observer.messages_changed(&messages);
                }
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

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::id::DatabaseId;
    use crate::store::memory::MemoryStore;
    use crate::store::{RowChange, key_of};

    #[derive(Default)]
    struct ReportList(Mutex<(Vec<Loid>, Vec<u64>)>);

    impl Observer for ReportList {
        fn changed(&self, objects: &[Loid]) {
            self.0.lock().0.extend(objects);
        }

        fn messages_changed(&self, numbers: &[u64]) {
            self.0.lock().1.extend(numbers);
        }
    }

    #[test]
    fn observers_are_notified_of_objects_and_messages_only() {
        let (first, second) = (Arc::new(ReportList::default()), Arc::new(ReportList::default()));
        let both = (first.clone(), Arc::new((Arc::new(Some(second.clone())), Arc::new(None::<Arc<ReportList>>))));
        let store = ObservedStore::new(Arc::new(MemoryStore::new()), Arc::new(both));
        let (live, discarded) = (Loid::new(DatabaseId::FIRST, 7), Loid::new(DatabaseId::FIRST, 8));
        let mut set = ChangeSet::fence(store.epoch(), |_| ());
        for (table, key) in [
            (Table::Objects, key_of(&[&live.to_key()])),
            (Table::Recycled, key_of(&[&discarded.to_key()])),
            (Table::Messages, key_of(&[&9_u64.to_be_bytes()])),
            (Table::Marks, key_of(&[b"mark"])),
        ] {
            set.changes.push(RowChange { table, key, value: Some(Bytes::from_static(b"x")) });
        }
        store.submit(set).expect("it is taken");
        for list in [first, second] {
            assert_eq!(*list.0.lock(), (vec![live, discarded], vec![9]));
        }
    }
}
