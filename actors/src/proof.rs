//! How a check of all rows reads them, and where it reports faults.

use bytes::Bytes;

use crate::id::Loid;
use crate::object::{Content, Record, Stored, Version};
use crate::part::{PartKind, Parts};
use crate::store::{Key, Look, Range, Row, StoreError, Table, View, decode_value};

/// What is wrong with the bytes of a content: with those of its row, if they lie in one that is
/// there.
pub type Damage<'a> = dyn Fn(&Content, Option<&Bytes>) -> Option<String> + 'a;

/// See the module's head. It reads what is on disk.
pub struct Proof<'a> {
    look: &'a dyn Look,
    damage: &'a Damage<'a>,
    report: &'a mut dyn FnMut(String),
}

impl<'a> Proof<'a> {
    /// Reads rows from `look`, asks `damage` about the bytes of contents, and reports faults, a
    /// sentence each, to `report`.
    pub fn new(look: &'a dyn Look, damage: &'a Damage<'a>, report: &'a mut dyn FnMut(String)) -> Proof<'a> {
        Proof { look, damage, report }
    }

    /// Reports a fault.
    pub fn fault(&mut self, fault: String) {
        (self.report)(fault);
    }

    /// A value as it is stored.
    ///
    /// # Errors
    /// What the store says.
    pub fn get(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        self.look.get(View::Committed, key.table, &key.key)
    }

    /// A row. An unreadable one is reported where its own table is checked, and counts as none.
    ///
    /// # Errors
    /// What the store says.
    pub fn row<R: Row>(&self, key: &Key) -> Result<Option<R>, StoreError> {
        Ok(self.get(key)?.and_then(|value| decode_value(R::FORMAT, &value).ok()))
    }

    /// Whether there is a record of an object, in [`Table::Objects`] or [`Table::Recycled`].
    ///
    /// # Errors
    /// What the store says.
    pub fn is_in(&self, table: Table, object: Loid) -> Result<bool, StoreError> {
        Ok(self.look.get(View::Committed, table, &object.to_key())?.is_some())
    }

    /// The head of a container, its one part of a kind. A missing one is reported.
    ///
    /// # Errors
    /// What the store says.
    pub fn head<R: Row>(&mut self, record: &Record, kind: PartKind) -> Result<Head<R>, StoreError> {
        let place = kind.place(record.loid, &[]);
        if self.get(&place)?.is_none() {
            self.fault(format!("{}: the {} has no head", place_of(&record.place()), record.family.name()));
            return Ok(Head::Missing);
        }
        Ok(self.row(&place)?.map_or(Head::Unreadable, Head::There))
    }

    /// All parts of a container of a kind, and where they stand. Those that can't be read, or stand
    /// elsewhere than they should, have been reported, and are left out.
    ///
    /// # Errors
    /// What the store or `each` says.
    pub fn each<R: Row>(
        &mut self,
        container: Loid,
        kind: PartKind,
        mut each: impl FnMut(&mut Proof<'a>, &str, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Parts::new(self.look, container).each(kind, |key, value| {
            let key = Key { table: Table::Parts, key };
            match decode_value::<R>(R::FORMAT, &value) {
                Ok(row) if row.place() == key => each(self, &place_of(&key), row),
                _ => Ok(()),
            }
        })
    }

    /// The keys that parts of a container have within a kind.
    ///
    /// # Errors
    /// What the store says.
    pub fn keys(&self, container: Loid, kind: PartKind) -> Result<Vec<Bytes>, StoreError> {
        let mut keys = Vec::new();
        let within = kind.place(container, &[]).key.len();
        Parts::new(self.look, container).each(kind, |key, _| {
            keys.push(key.slice(within..));
            Ok(())
        })?;
        Ok(keys)
    }

    /// An object that a part holds is there, and `hidden` says whether it lies in the recycle bin.
    ///
    /// # Errors
    /// What the store says.
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

    /// The bytes of a content are there, and are the right ones: in the row `small`, or in a file.
    ///
    /// # Errors
    /// What the store says.
    pub fn bytes(&mut self, place: &str, content: &Content, small: &Key) -> Result<(), StoreError> {
        let small = match content.stored {
            Stored::Row => self.get(small)?,
            Stored::File => None,
        };
        if let Some(damage) = (self.damage)(content, small.as_ref()) {
            self.fault(format!("{place}: {damage}"));
        }
        Ok(())
    }

    /// The version that a record names exists, is as the record says, and is the latest.
    ///
    /// # Errors
    /// What the store says.
    pub fn latest_version(&mut self, place: &str, record: &Record) -> Result<(), StoreError> {
        // No record has that version: see `Draft::body_loid`.
        let above = record.loid.at_version(record.version.saturating_add(1));
        let all = Range::prefix(&record.loid.to_key()[..Loid::KEY_LEN - 4]);
        let range = Range { from: Bytes::copy_from_slice(&above.to_key()), ..all };
        for (key, _) in self.look.scan(View::Committed, Table::Versions, &range, 1, false)? {
            let latest = record.version;
            self.fault(format!("{place}: there is {} above its latest version {latest}", readable(&key)));
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

/// What [`Proof::head`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head<R> {
    /// It can be read.
    There(R),
    /// It exists and can't be read, which is reported where its own table is checked.
    Unreadable,
    /// It does not exist, which was reported.
    Missing,
}

/// A place as people can read it.
pub fn place_of(key: &Key) -> String {
    format!("{} {}", key.table.name(), readable(&key.key))
}

/// A key as people can read it.
pub fn readable(key: &[u8]) -> String {
    match Loid::from_key(key) {
        Some(loid) if key.len() == Loid::KEY_LEN => loid.to_string(),
        Some(loid) => format!("{loid} {}", key[Loid::KEY_LEN..].escape_ascii()),
        None => key.escape_ascii().to_string(),
    }
}
