//! Reading of rows for a check of all of them, and reporting of faults.

use bytes::Bytes;

use crate::id::Loid;
use crate::object::{Content, ContentLocation, Record, Version};
use crate::part::{PartKind, PartReader};
use crate::store::{KeyRange, ReadLevel, Row, RowPlace, RowReader, StoreError, Table, decode_value};

/// A function that returns the fault in a content's bytes, if there is one. It gets the row of the
/// bytes if they are in an existing row.
pub type DamageCheck<'a> = dyn Fn(&Content, Option<&Bytes>) -> Option<String> + 'a;

/// A reader of rows on disk for a check, which also reports faults.
pub struct Proof<'a> {
    look: &'a dyn RowReader,
    damage: &'a DamageCheck<'a>,
    report: &'a mut dyn FnMut(String),
}

impl<'a> Proof<'a> {
    /// Creates a reader that takes rows from `look` and checks contents with `damage`. Each fault
    /// is given to `report` as one sentence.
    pub fn new(look: &'a dyn RowReader, damage: &'a DamageCheck<'a>, report: &'a mut dyn FnMut(String)) -> Proof<'a> {
        Proof { look, damage, report }
    }

    /// Reports a fault.
    pub fn fault(&mut self, fault: String) {
        (self.report)(fault);
    }

    /// Returns a value as it is stored.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn get(&self, key: &RowPlace) -> Result<Option<Bytes>, StoreError> {
        self.look.get(ReadLevel::Committed, key.table, &key.key)
    }

    /// Returns a row. An undecodable one is reported where its own table is checked, and counts as
    /// none.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn row<R: Row>(&self, key: &RowPlace) -> Result<Option<R>, StoreError> {
        Ok(self.get(key)?.and_then(|value| decode_value(R::FORMAT, &value).ok()))
    }

    /// Reports whether an object has a record in `table`: [`Table::Objects`] or
    /// [`Table::Recycled`].
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_in(&self, table: Table, object: Loid) -> Result<bool, StoreError> {
        Ok(self.look.get(ReadLevel::Committed, table, &object.to_key())?.is_some())
    }

    /// Returns the head of a container, the only part of its kind. A missing one is reported.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn head<R: Row>(&mut self, record: &Record, kind: PartKind) -> Result<HeadState<R>, StoreError> {
        let place = kind.place(record.loid, &[]);
        if self.get(&place)?.is_none() {
            self.fault(format!("{}: the {} has no head", place_of(&record.place()), record.family.name()));
            return Ok(HeadState::Missing);
        }
        Ok(self.row(&place)?.map_or(HeadState::Unreadable, HeadState::There))
    }

    /// Calls `each` for all parts of a kind, with their keys as texts. Rows that can't be decoded
    /// or have a wrong key are left out, as they are reported elsewhere.
    ///
    /// # Errors
    /// Errors of the store or of `each`.
    pub fn each<R: Row>(
        &mut self,
        container: Loid,
        kind: PartKind,
        mut each: impl FnMut(&mut Proof<'a>, &str, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        PartReader::new(self.look, container).each(kind, |key, value| {
            let key = RowPlace { table: Table::Parts, key };
            match decode_value::<R>(R::FORMAT, &value) {
                Ok(row) if row.place() == key => each(self, &place_of(&key), row),
                _ => Ok(()),
            }
        })
    }

    /// Returns the keys of a container's parts within a kind.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn keys(&self, container: Loid, kind: PartKind) -> Result<Vec<Bytes>, StoreError> {
        let mut keys = Vec::new();
        let within = kind.place(container, &[]).key.len();
        PartReader::new(self.look, container).each(kind, |key, _| {
            keys.push(key.slice(within..));
            Ok(())
        })?;
        Ok(keys)
    }

    /// Checks that an object held by a part exists, and is in the recycle bin if and only if
    /// `hidden` is set.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn member(&mut self, place: &str, object: Loid, hidden: bool) -> Result<(), StoreError> {
        let discarded = self.is_in(Table::Recycled, object)?;
        if !discarded && !self.is_in(Table::Objects, object)? {
            self.fault(format!("{place}: it stands for {object}, which is not there"));
        } else if hidden != discarded {
            let state = if hidden { "hidden" } else { "shown" };
            self.fault(format!("{place}: it is {state}, which {object} does not ask for"));
        }
        Ok(())
    }

    /// Checks that the bytes of a content exist and are right, in the row `small` or in a file.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn bytes(&mut self, place: &str, content: &Content, small: &RowPlace) -> Result<(), StoreError> {
        let small = match content.stored {
            ContentLocation::Row => self.get(small)?,
            ContentLocation::File => None,
        };
        if let Some(damage) = (self.damage)(content, small.as_ref()) {
            self.fault(format!("{place}: {damage}"));
        }
        Ok(())
    }

    /// Checks that the version that a record names exists, has the record's content, and is the
    /// latest.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn latest_version(&mut self, place: &str, record: &Record) -> Result<(), StoreError> {
        // No record has the greatest version number: see `Draft::body_loid`.
        let above = record.loid.at_version(record.version.saturating_add(1));
        let all = KeyRange::prefix(&record.loid.to_key()[..Loid::KEY_LEN - 4]);
        let range = KeyRange { from: Bytes::copy_from_slice(&above.to_key()), ..all };
        for (key, _) in self.look.scan(ReadLevel::Committed, Table::Versions, &range, 1, false)? {
            let latest = record.version;
            self.fault(format!("{place}: there is {} above its latest version {latest}", format_key(&key)));
        }
        if record.version == 0 {
            return Ok(());
        }
        let key = Version::key(record.loid.at_version(record.version));
        if self.get(&key)?.is_none() {
            self.fault(format!("{place}: its version {} is not there", record.version));
        } else if let Some(version) = self.row::<Version>(&key)?
            && record.content.as_ref() != Some(&version.content)
        {
            self.fault(format!("{place}: its content is not that of its latest version"));
        }
        Ok(())
    }
}

/// The result of [`Proof::head`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadState<R> {
    /// A head that was decoded.
    There(R),
    /// A head that can't be decoded, which is reported where its own table is checked.
    Unreadable,
    /// No head, which was reported.
    Missing,
}

/// Formats a row key for people.
pub fn place_of(key: &RowPlace) -> String {
    format!("{} {}", key.table.name(), format_key(&key.key))
}

/// Formats the bytes of a key for people.
pub fn format_key(key: &[u8]) -> String {
    match Loid::from_key(key) {
        Some(loid) if key.len() == Loid::KEY_LEN => loid.to_string(),
        Some(loid) => format!("{loid} {}", key[Loid::KEY_LEN..].escape_ascii()),
        None => key.escape_ascii().to_string(),
    }
}
