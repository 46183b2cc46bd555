//! Reads of containers from the store that do not block other containers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::RuntimeServices;
use super::memory::ReadingRoom;
use stet_domain::family::Family;
use stet_domain::id::Loid;
use stet_domain::object::{Attributes, Object, Record};
use stet_domain::part::PartReader;
use stet_domain::store::{ReadLevel, Row, RowReader, StoreError, Table, decode_value};

/// Reports whether a change of the object may be pending. Every change of an object writes its
/// record. While this container is not loaded nothing else submits one, so the result can only
/// change from true to false.
fn may_be_pending(look: &dyn RowReader, loid: Loid) -> bool {
    let key = loid.to_key();
    let differs = |table| {
        let committed = look.get(ReadLevel::Committed, table, &key);
        !matches!((committed, look.get(ReadLevel::Latest, table, &key)), (Ok(on_disk), Ok(latest)) if on_disk == latest)
    };
    differs(Table::Objects) || differs(Table::Recycled)
}

/// Reads the committed state of a container; `None` if the object does not exist.
pub(crate) fn read_object<F: Family>(look: &dyn RowReader, loid: Loid) -> Result<Option<F::State>, StoreError> {
    let key = loid.to_key();
    let Some(record) = Record::find(look, ReadLevel::Committed, loid)? else { return Ok(None) };
    if record.family != F::KIND {
        return Err(StoreError::Corrupt(format!("{loid} is of family {:?}, not {:?}", record.family, F::KIND)));
    }
    let attributes = match look.get(ReadLevel::Committed, Table::Attributes, &key)? {
        Some(attributes) => decode_value(Attributes::FORMAT, &attributes)?,
        None => Attributes::none(loid),
    };
    let object = Object { record: Arc::new(record), attributes: Arc::new(attributes) };
    F::load(object, &PartReader::new(look, loid)).map(Some)
}

/// Reads a container on a blocking thread, once there is room in memory. Returns `None` if it is to
/// be read `settled` and a change is pending, and at the end of the process. The caller keeps the
/// room until the state counts as loaded.
pub(super) async fn read_from_disk<F: Family>(
    shared: &RuntimeServices,
    loid: Loid,
    settled: bool,
) -> Option<Result<(Option<F::State>, Option<ReadingRoom>), StoreError>> {
    let store = shared.store.clone();
    // Without an object nothing needs to be read.
    let stated = match Record::find(&*store, ReadLevel::Committed, loid) {
        Ok(record) => record.map(|record| record.container_bytes),
        Err(error) => return Some(Err(error)),
    };
    let room = match stated {
        Some(bytes) => match shared.memory.reserve(bytes).await {
            None => return Some(Err(StoreError::Overloaded)),
            room => room,
        },
        None => None,
    };
    let read = move || {
        let work = || (!settled || !may_be_pending(&*store, loid)).then(|| read_object::<F>(&*store, loid));
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| Some(Err(StoreError::Corrupt(format!("loading {loid} panicked")))))
    };
    let state = tokio::task::spawn_blocking(read).await.ok().flatten()?;
    Some(state.map(|state| (state, room)))
}
