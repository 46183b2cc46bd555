//! The object record (docs/api/objects.md, "The object record") as it is stored.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use super::copy::ChannelCopy;
use super::family_kind::FamilyKind;
use super::name::name_key;
use crate::id::{Loid, ObjectUuid};
use crate::store::{ReadLevel, Row, RowPlace, RowReader, StoreError, Table, decode_value, key_of, loid_key};

/// A text that is shared, not copied, when a record is cloned.
pub type SharedText = Arc<str>;

/// An exclusive lock (docs/api/content.md, "Locks").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The name of the user who holds the lock.
    pub user: SharedText,
    /// The session in which it was taken.
    pub session: SharedText,
    /// The time at which it was taken, epoch seconds.
    pub at: u64,
    /// The time at which it expires, epoch seconds.
    pub expires: u64,
}

/// The note of an object's discarding, which exists while it is in the recycle bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardNote {
    /// The time of discarding, epoch seconds.
    pub at: u64,
    /// The name of the user who discarded it.
    pub by: SharedText,
    /// The object that was discarded: this one, or a folder above it. Restoring the entry restores
    /// everything discarded along with it.
    #[serde(with = "loid_key")]
    pub entry: Loid,
    /// The path of the object at that time.
    pub path: SharedText,
}

/// The location of the bytes of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentLocation {
    /// A row in [`Table::Bodies`], under the version's loid.
    Row,
    /// A file, named by the hash.
    File,
}

/// The bytes of an object's latest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The media type.
    pub content_type: SharedText,
    /// The number of bytes.
    pub size: u64,
    /// The SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// The location of the bytes: a row or a file.
    pub stored: ContentLocation,
}

/// The row that describes an object. It is small: attribute texts and parts are rows of their own,
/// so that a change of any of them rewrites no more than necessary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The object's loid.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The object's uuid.
    pub uuid: ObjectUuid,
    /// The object's name, unique in its folder.
    pub name: SharedText,
    /// The name of the object's type.
    #[serde(rename = "type")]
    pub type_name: SharedText,
    /// The family, which determines what the object's actor can do.
    pub family: FamilyKind,
    /// The folder of the object; `None` for the root.
    pub folder: Option<FolderKey>,
    /// The path of the work folder.
    pub work_folder: Option<SharedText>,
    /// The issue date, `yyyyMMdd`.
    pub issue_date: Option<SharedText>,
    /// The time of creation, epoch seconds.
    pub created: u64,
    /// The time of the last change of the object or its parts, epoch seconds.
    pub modified: u64,
    /// The name of the user who made the object.
    pub creator: SharedText,
    /// The name of the user who last changed the object.
    pub last_modifier: SharedText,
    /// The number of the latest version; 0 while there is no content.
    pub version: u32,
    /// The id that the objects of one story family share.
    pub suid: Option<SharedText>,
    /// The name of the workflow status.
    pub status: Option<SharedText>,
    /// The number of changes of the object and its parts, from which the ETag is made.
    pub revision: u64,
    /// The latest version's bytes.
    pub content: Option<Content>,
    /// The lock, which may have expired.
    pub lock: Option<Lock>,
    /// The note of the recycle bin, while the object is discarded.
    pub bin: Option<DiscardNote>,
    /// The origin of the copy, if the object is a channel copy.
    #[serde(default)]
    pub copy: Option<ChannelCopy>,
    /// The memory of the object's container in bytes, including parts; 0 if unknown. It is reserved
    /// before the container is loaded.
    #[serde(default)]
    pub container_bytes: u64,
}

/// A folder's loid inside a stored record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderKey(#[serde(with = "loid_key")] pub Loid);

impl Record {
    /// Returns the record of an object, in the recycle bin or not.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn find(look: &dyn RowReader, view: ReadLevel, loid: Loid) -> Result<Option<Record>, StoreError> {
        let key = loid.to_key();
        let value = match look.get(view, Table::Objects, &key)? {
            Some(value) => Some(value),
            None => look.get(view, Table::Recycled, &key)?,
        };
        Ok(value.map(|value| decode_value(Record::FORMAT, &value)).transpose()?)
    }

    /// Creates the record of a new object at revision 1, without a folder or any optional field.
    pub fn new(
        loid: Loid,
        name: &str,
        type_name: &str,
        family: FamilyKind,
        creator: &SharedText,
        now_ms: u64,
    ) -> Record {
        Record {
            loid,
            uuid: ObjectUuid::generate(now_ms),
            name: name.into(),
            type_name: type_name.into(),
            family,
            folder: None,
            work_folder: None,
            issue_date: None,
            created: now_ms / 1000,
            modified: now_ms / 1000,
            creator: creator.clone(),
            last_modifier: creator.clone(),
            version: 0,
            suid: None,
            status: None,
            revision: 1,
            content: None,
            lock: None,
            bin: None,
            copy: None,
            container_bytes: 0,
        }
    }

    /// Returns the folder of the object; `None` for the root.
    pub fn folder(&self) -> Option<Loid> {
        self.folder.map(|key| key.0)
    }

    /// Returns the lock that is valid at a time (epoch seconds); an expired one counts as none.
    pub fn lock_at(&self, now_s: u64) -> Option<&Lock> {
        self.lock.as_ref().filter(|lock| lock.expires > now_s)
    }

    /// Returns the key of the record of a live object.
    pub fn live_key(loid: Loid) -> RowPlace {
        RowPlace { table: Table::Objects, key: Bytes::copy_from_slice(&loid.to_key()) }
    }

    /// Returns the number of bytes of all texts.
    pub fn text_bytes(&self) -> usize {
        let own = [&self.name, &self.type_name, &self.creator, &self.last_modifier];
        let more = [&self.work_folder, &self.issue_date, &self.suid, &self.status].into_iter().flatten();
        let content = self.content.iter().map(|content| &content.content_type);
        let lock = self.lock.iter().flat_map(|lock| [&lock.user, &lock.session]);
        let bin = self.bin.iter().flat_map(|bin| [&bin.by, &bin.path]);
        let copy = self.copy.iter().flat_map(|copy| std::iter::once(&copy.channel).chain(&copy.inherit_from));
        own.into_iter().chain(more).chain(content).chain(lock).chain(bin).chain(copy).map(|text| text.len()).sum()
    }

    /// Reports whether the object is in the recycle bin.
    pub fn is_discarded(&self) -> bool {
        self.bin.is_some()
    }

    /// Returns the folder and the name by which the object is found; `None` in the recycle bin.
    pub fn stands(&self) -> Option<(Loid, &str)> {
        Some((self.folder().filter(|_| !self.is_discarded())?, &self.name))
    }
}

impl Row for Record {
    fn place(&self) -> RowPlace {
        let table = if self.is_discarded() { Table::Recycled } else { Table::Objects };
        RowPlace { table, key: Bytes::copy_from_slice(&self.loid.to_key()) }
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        let loid = self.loid.to_key();
        let mut add = |table, key, value| entries.push((RowPlace { table, key }, value));
        add(Table::Uuids, Bytes::copy_from_slice(self.uuid.0.as_bytes()), Bytes::copy_from_slice(&loid));
        if let Some(lock) = &self.lock {
            add(Table::Locks, key_of(&[lock.session.as_bytes(), &[0], &loid]), Bytes::new());
        }
        match &self.bin {
            None => {
                if let Some((folder, name)) = self.stands() {
                    add(Table::Names, name_key(folder, name), Bytes::copy_from_slice(&loid));
                }
                if let Some(suid) = &self.suid {
                    add(Table::Suids, key_of(&[suid.as_bytes(), &[0], &loid]), Bytes::new());
                }
            }
            Some(bin) => {
                add(Table::BinMembers, key_of(&[&bin.entry.to_key(), &loid]), Bytes::new());
                if bin.entry == self.loid {
                    let database = self.loid.database.0.to_be_bytes();
                    add(Table::Bin, key_of(&[&database, &bin.at.to_be_bytes(), &loid]), Bytes::new());
                }
            }
        }
    }

    fn same_index(&self, other: &Record) -> bool {
        let facts = |r: &Record| (r.loid, r.uuid, r.folder(), r.bin.as_ref().map(|bin| (bin.at, bin.entry)));
        let locker = |r: &'_ Record| r.lock.as_ref().map(|lock| lock.session.clone());
        facts(self) == facts(other)
            && self.name == other.name
            && self.suid == other.suid
            && locker(self) == locker(other)
    }
}

/// The attribute texts of an object: XML, stored as the client sent it (docs/api/objects.md,
/// "Attributes"). A text that was never given is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The object.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// `attributes`
    #[serde(deserialize_with = "decode_text")]
    pub attributes: Option<SharedText>,
    /// `systemAttributes`, with the root `props`.
    #[serde(deserialize_with = "decode_text")]
    pub system_attributes: Option<SharedText>,
    /// `usageTickets`, with the root `tl`.
    #[serde(deserialize_with = "decode_text")]
    pub usage_tickets: Option<SharedText>,
}

/// Decodes a text with a single copy. It may have megabytes, and the default makes two.
fn decode_text<'de, D: Deserializer<'de>>(row: D) -> Result<Option<SharedText>, D::Error> {
    Ok(Option::<&str>::deserialize(row)?.map(SharedText::from))
}

impl Attributes {
    /// Creates the row of an object without attribute texts.
    pub fn none(loid: Loid) -> Attributes {
        Attributes { loid, attributes: None, system_attributes: None, usage_tickets: None }
    }

    /// Returns the texts of at least `least` bytes in a stored row, as ranges of its bytes. A row
    /// that can't be decoded has none.
    pub fn large_texts(row: &[u8], least: usize) -> Vec<Range<usize>> {
        /// The fields of [`Attributes`], with borrowed texts.
        #[derive(Deserialize)]
        struct BorrowedAttributes<'a>(
            IgnoredAny,
            #[serde(borrow)] Option<&'a str>,
            #[serde(borrow)] Option<&'a str>,
            #[serde(borrow)] Option<&'a str>,
        );
        if row.len() < least {
            return Vec::new();
        }
        let Ok(BorrowedAttributes(_, attributes, system_attributes, usage_tickets)) =
            decode_value(Attributes::FORMAT, row)
        else {
            return Vec::new();
        };
        let texts = [attributes, system_attributes, usage_tickets].into_iter().flatten();
        let place = |text: &str| {
            // The text is part of the row.
            let begin = text.as_ptr().addr() - row.as_ptr().addr();
            begin..begin + text.len()
        };
        texts.filter(|text| text.len() >= least).map(place).collect()
    }

    /// Returns the number of bytes of all texts.
    pub fn text_bytes(&self) -> usize {
        let Attributes { loid: _, attributes, system_attributes, usage_tickets } = self;
        [attributes, system_attributes, usage_tickets].into_iter().flatten().map(|text| text.len()).sum()
    }

    /// Returns the key of an object's attribute texts.
    pub fn key(loid: Loid) -> RowPlace {
        RowPlace { table: Table::Attributes, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}

impl Row for Attributes {
    fn place(&self) -> RowPlace {
        Attributes::key(self.loid)
    }
}

impl ObjectUuid {
    /// Generates a version 7 uuid for the time `now_ms`.
    pub fn generate(now_ms: u64) -> ObjectUuid {
        let nanos = (now_ms % 1000) as u32 * 1_000_000;
        let stamp = uuid::Timestamp::from_unix(uuid::timestamp::context::NoContext, now_ms / 1000, nanos);
        ObjectUuid(Uuid::new_v7(stamp))
    }
}
