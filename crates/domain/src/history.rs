//! The history of containers that keep their past: drawers.
//!
//! Each event of such a container has the former values of the rows that its change has altered.
//! The rows of today and the events after a revision lead back to the rows of that revision. Of
//! several former values of a row, the oldest counts. So it does not matter if the rows of today
//! were read while changes went on, as long as the events of those changes are read afterwards.
//!
//! Rows keep their past by [`Row::KEEPS_PAST`], families by
//! [`FamilyKind::keeps_past`](crate::object::FamilyKind::keeps_past). Attribute texts do not. A
//! change that alters nothing of the record but its stamp (revision, modifier, time, memory) has no
//! former record: events have the stamp.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::id::Loid;
use crate::object::{Attributes, Record};
use crate::store::{
    DecodeError, Event, KeyRange, ReadLevel, Row, RowCursor, RowPlace, RowReader, StoreError, Table, decode_value,
    encode_value, key_of,
};

/// The maximum number of bytes of the former rows of one change of a container. A larger change
/// has none, and the history of the container begins with it.
pub const MAX_FORMER_BYTES: usize = 1 << 20;

const FORMAT: u8 = 1;

/// A row of a container as it was before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerRow {
    /// The number of the table, then the key without the loid of the container, with which it
    /// begins.
    key: Bytes,
    /// The former value; `None` if there was no such row.
    pub value: Option<Bytes>,
}

impl FormerRow {
    /// Returns the place of the row, which belongs to `container`; `None` if it has none.
    pub fn place(&self, container: Loid) -> Option<RowPlace> {
        let (table, rest) = self.key.split_first()?;
        Some(RowPlace { table: Table::from_number(*table)?, key: key_of(&[&container.to_key(), rest]) })
    }

    /// Returns the key within the kind of parts that has this number; `None` for any other row.
    pub fn part_key(&self, kind: u8) -> Option<&[u8]> {
        self.key.strip_prefix(&[Table::Parts as u8, kind])
    }
}

/// Returns the former rows of the container of an event; `None` if they were not noted.
///
/// # Errors
/// They can't be decoded.
pub fn former_rows(event: &Event) -> Result<Option<Vec<FormerRow>>, DecodeError> {
    match &event.before {
        Some(before) if before.is_empty() => Ok(Some(Vec::new())),
        Some(before) => decode_value(FORMAT, before).map(Some),
        None => Ok(None),
    }
}

/// The former rows that a command has noted, by container.
#[derive(Debug, Default)]
pub struct FormerRowNotes {
    of: HashMap<Loid, ContainerNotes>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct ContainerNotes {
    rows: BTreeMap<Bytes, Option<Bytes>>,
    bytes: usize,
}

impl FormerRowNotes {
    /// Notes the value of a row before the command. Of several notes of a row the first counts.
    pub fn note(&mut self, place: &RowPlace, value: impl FnOnce() -> Option<Bytes>) {
        let Some((container, rest)) = place.key.split_at_checked(Loid::KEY_LEN) else { return };
        let Some(container) = Loid::from_key(container) else { return };
        let notes = self.of.entry(container).or_default();
        if notes.bytes > MAX_FORMER_BYTES {
            return;
        }
        let key = key_of(&[&[place.table as u8], rest]);
        if let Entry::Vacant(vacant) = notes.rows.entry(key) {
            let value = value();
            let bytes = vacant.key().len() + value.as_ref().map_or(0, Bytes::len);
            vacant.insert(value);
            notes.bytes += bytes;
            self.bytes += bytes;
            if notes.bytes > MAX_FORMER_BYTES {
                notes.rows.clear();
            }
        }
    }

    /// Notes a change of the container with that record, which keeps its past.
    pub fn note_record(&mut self, before: &Record, after: &Record) {
        self.of.entry(before.loid).or_default();
        if is_beyond_stamp(before, after) {
            self.note(&place_of_record(before.loid), || Some(encode_value(Record::FORMAT, before)));
        }
    }

    /// Forgets the notes of a container, which is destroyed.
    pub fn forget(&mut self, container: Loid) {
        self.of.remove(&container);
    }

    /// Returns the bytes of all notes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes and returns the notes of a container for [`Event::before`]; `None` if they are too
    /// large, or if it keeps no past.
    pub fn take(&mut self, container: Loid) -> Option<Bytes> {
        let ContainerNotes { rows, bytes } = self.of.remove(&container)?;
        if rows.is_empty() {
            return (bytes == 0).then(Bytes::new);
        }
        let rows: Vec<FormerRow> = rows.into_iter().map(|(key, value)| FormerRow { key, value }).collect();
        Some(encode_value(FORMAT, &rows))
    }
}

fn place_of_record(object: Loid) -> RowPlace {
    RowPlace { table: Table::Objects, key: Bytes::copy_from_slice(&object.to_key()) }
}

/// Reports whether a change of a record goes beyond the stamp, which events have as well.
fn is_beyond_stamp(before: &Record, after: &Record) -> bool {
    let stamped = Record {
        revision: after.revision,
        modified: after.modified,
        last_modifier: after.last_modifier.clone(),
        container_bytes: after.container_bytes,
        ..before.clone()
    };
    stamped != *after
}

/// The rows of a container: of today, or taken back to a revision.
#[derive(Debug)]
pub struct ContainerRows {
    container: Loid,
    rows: BTreeMap<RowPlace, Bytes>,
    /// The rows that are as they were at the revision. Older events come first.
    settled: HashSet<RowPlace>,
}

impl ContainerRows {
    /// Reads the committed rows of a container; `None` if there is no such object. Events that are
    /// to take them back must be read afterwards.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read(look: &dyn RowReader, container: Loid) -> Result<Option<ContainerRows>, StoreError> {
        let Some(record) = Record::find(look, ReadLevel::Committed, container)? else { return Ok(None) };
        let mut rows = BTreeMap::new();
        let mut cursor = RowCursor::over(Table::Parts, KeyRange::prefix(&container.to_key()));
        while let Some(batch) = cursor.batch(look)? {
            rows.extend(batch.into_iter().map(|(key, value)| (RowPlace { table: Table::Parts, key }, value)));
        }
        let attributes = Attributes::key(container);
        if let Some(value) = look.get(ReadLevel::Committed, attributes.table, &attributes.key)? {
            rows.insert(attributes, value);
        }
        let mut read = ContainerRows { container, rows, settled: HashSet::new() };
        read.put_record(&record);
        Ok(Some(read))
    }

    /// Returns the record.
    ///
    /// # Errors
    /// A record that is missing or can't be decoded.
    pub fn record(&self) -> Result<Record, StoreError> {
        let missing = || StoreError::Corrupt(format!("the container {} has no record", self.container));
        let value = self.rows.get(&place_of_record(self.container)).ok_or_else(missing)?;
        Ok(decode_value(Record::FORMAT, value)?)
    }

    /// Takes back the change of an event. The events after a revision are given in their order, the
    /// oldest first.
    pub fn take_back(&mut self, former: Vec<FormerRow>) {
        for row in former {
            let Some(place) = row.place(self.container) else { continue };
            if self.settled.insert(place.clone()) {
                match row.value {
                    Some(value) => _ = self.rows.insert(place, value),
                    None => _ = self.rows.remove(&place),
                }
            }
        }
    }

    /// Gives the record a revision and the stamp of the event that led to it. Without that event
    /// the object is as it was created.
    ///
    /// # Errors
    /// The record can't be decoded.
    pub fn stamp(&mut self, revision: u64, event: Option<&Event>) -> Result<(), StoreError> {
        let mut record = self.record()?;
        record.revision = revision;
        (record.modified, record.last_modifier) = match event {
            Some(event) => (event.at_ms / 1000, event.user.as_str().into()),
            None => (record.created, record.creator.clone()),
        };
        // Whatever it was then, it is in use now.
        record.bin = None;
        self.put_record(&record);
        Ok(())
    }

    fn put_record(&mut self, record: &Record) {
        self.rows.insert(place_of_record(record.loid), encode_value(Record::FORMAT, record));
    }
}

impl RowReader for ContainerRows {
    fn get(&self, _: ReadLevel, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.rows.get(&RowPlace { table, key: Bytes::copy_from_slice(key) }).cloned())
    }

    fn scan(
        &self,
        _: ReadLevel,
        table: Table,
        range: &KeyRange,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let from = RowPlace { table, key: range.from.clone() };
        let is_inside = |place: &RowPlace| place.table == table && range.to.as_ref().is_none_or(|to| place.key < *to);
        let found = self.rows.range(from..).take_while(|(place, _)| is_inside(place));
        let found = found.map(|(place, value)| (place.key.clone(), value.clone()));
        Ok(if backwards {
            let mut all: Vec<_> = found.collect();
            all.reverse();
            all.truncate(limit);
            all
        } else {
            found.take(limit).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::object::FamilyKind;

    const DRAWER: Loid = Loid::new(DatabaseId::FIRST, 9);

    fn place(key: u64) -> RowPlace {
        RowPlace { table: Table::Parts, key: key_of(&[&DRAWER.to_key(), &[2], &key.to_be_bytes()]) }
    }

    fn decoded(before: Option<Bytes>) -> Option<Vec<FormerRow>> {
        let event = crate::command::CallerIdentity::operator().deed("test", Vec::new(), 0);
        former_rows(&Event { before, ..event }).unwrap()
    }

    #[test]
    fn the_first_note_of_a_row_counts_and_leads_back_to_its_place() {
        let mut notes = FormerRowNotes::default();
        notes.note(&place(7), || None);
        notes.note(&place(7), || Some(Bytes::from_static(b"later")));
        notes.note(&place(8), || Some(Bytes::from_static(b"old")));
        let rows = decoded(notes.take(DRAWER)).expect("they were noted");
        assert_eq!(rows.iter().map(|row| row.place(DRAWER)).collect::<Vec<_>>(), [Some(place(7)), Some(place(8))]);
        assert_eq!((&rows[0].value, rows[1].value.as_deref()), (&None, Some(&b"old"[..])));
        assert_eq!(rows[0].part_key(2), Some(&7_u64.to_be_bytes()[..]));
        assert_eq!((rows[0].part_key(1), decoded(notes.take(DRAWER))), (None, None));
    }

    #[test]
    fn a_change_that_is_too_large_has_no_former_rows() {
        let mut notes = FormerRowNotes::default();
        for key in 0..3 {
            notes.note(&place(key), || Some(vec![0; MAX_FORMER_BYTES / 2].into()));
        }
        let bytes = notes.bytes();
        notes.note(&place(4), || panic!("it is not even encoded"));
        assert_eq!((notes.take(DRAWER), notes.bytes()), (None, bytes));
    }

    #[test]
    fn a_record_is_noted_if_more_than_its_stamp_has_changed() {
        let record = Record::new(DRAWER, "d", "Drawer", FamilyKind::Drawer, &"ada".into(), 0);
        let stamped = Record { revision: 2, modified: 9, last_modifier: "ben".into(), ..record.clone() };
        let mut notes = FormerRowNotes::default();
        notes.note_record(&record, &stamped);
        assert_eq!(decoded(notes.take(DRAWER)), Some(Vec::new()));
        notes.note_record(&record, &Record { name: "other".into(), ..stamped });
        let rows = decoded(notes.take(DRAWER)).expect("it was noted");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].place(DRAWER), Some(place_of_record(DRAWER)));
    }
}
