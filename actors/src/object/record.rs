//! The object record (docs/api/objects.md, "The object record") as it is stored.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::copy::ChannelCopy;
use super::name::name_key;
use crate::id::{Loid, ObjectUuid};
use crate::store::{Key, Look, Row, StoreError, Table, View, decode_value, key_of, loid_key};

/// Text that is shared rather than copied when a record is.
pub type Text = Arc<str>;

/// Which family of containers an object belongs to: what its actor can do. Set at creation from the
/// object type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FamilyKind {
    /// An object without parts of its own: a story, a picture.
    Document,
    /// Holds objects under names.
    Folder,
    /// Holds shortcuts to objects.
    Drawer,
    /// Holds posts.
    Liveblog,
    /// Holds topic items.
    Topic,
    /// Holds topics.
    TopicPlan,
    /// Holds a document for each channel.
    Bundle,
    /// Links stories to the web.
    WebContainer,
}

impl FamilyKind {
    /// The family's name in configuration, logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            FamilyKind::Document => "document",
            FamilyKind::Folder => "folder",
            FamilyKind::Drawer => "drawer",
            FamilyKind::Liveblog => "liveblog",
            FamilyKind::Topic => "topic",
            FamilyKind::TopicPlan => "topicplan",
            FamilyKind::Bundle => "bundle",
            FamilyKind::WebContainer => "webcontainer",
        }
    }
}

/// An exclusive lock (docs/api/content.md, "Locks").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Name of the user who holds it.
    pub user: Text,
    /// The session it was taken in.
    pub session: Text,
    /// When it was taken, epoch seconds.
    pub at: u64,
    /// When it ends by itself, epoch seconds.
    pub expires: u64,
}

/// How a discarded object came into the recycle bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// When, epoch seconds.
    pub at: u64,
    /// Name of the user.
    pub by: Text,
    /// The object that was discarded: this one, or a folder that took it along. Restoring that
    /// restores all.
    #[serde(with = "loid_key")]
    pub entry: Loid,
    /// Its path at that time.
    pub path: Text,
}

/// Where the bytes of a version lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stored {
    /// In [`Table::Bodies`] under the version's loid.
    Row,
    /// In a file named by the hash.
    File,
}

/// The bytes of an object, as its latest version has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Media type.
    pub content_type: Text,
    /// Bytes.
    pub size: u64,
    /// SHA-256.
    pub sha256: [u8; 32],
    /// Where they lie.
    pub stored: Stored,
}

/// What the repository knows of an object. Small: attribute texts and parts are rows of their own,
/// so that a change of any of them rewrites no more than it must.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The object's loid.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// Its uuid.
    pub uuid: ObjectUuid,
    /// Its name, unique in its folder.
    pub name: Text,
    /// Name of its type in the objecttypes family.
    #[serde(rename = "type")]
    pub type_name: Text,
    /// What its actor can do.
    pub family: FamilyKind,
    /// The folder it lies in; `None` for the root.
    pub folder: Option<FolderKey>,
    /// The work folder's path.
    pub work_folder: Option<Text>,
    /// `yyyyMMdd`
    pub issue_date: Option<Text>,
    /// Epoch seconds.
    pub created: u64,
    /// Epoch seconds of the last change of the object or its parts.
    pub modified: u64,
    /// Name of the user who made it.
    pub creator: Text,
    /// Name of the user who last changed it.
    pub last_modifier: Text,
    /// Number of the latest version; 0 while there is no content.
    pub version: u32,
    /// What the objects of one story family share.
    pub suid: Option<Text>,
    /// Name of its workflow status.
    pub status: Option<Text>,
    /// Counts the changes of the object and its parts; the ETag.
    pub revision: u64,
    /// The latest version's bytes.
    pub content: Option<Content>,
    /// Who has it locked.
    pub lock: Option<Lock>,
    /// Set while it lies in the recycle bin.
    pub bin: Option<Bin>,
    /// Set if it is a channel copy.
    #[serde(default)]
    pub copy: Option<ChannelCopy>,
    /// Bytes of memory that the object's container takes, parts included; 0 if unknown. Room is
    /// reserved by it before the container is read.
    #[serde(default)]
    pub container_bytes: u64,
}

/// A folder's loid inside a stored record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderKey(#[serde(with = "loid_key")] pub Loid);

impl Record {
    /// The record of an object, in the recycle bin or not.
    ///
    /// # Errors
    /// What the store says, or that the row can't be understood.
    pub fn find(look: &dyn Look, view: View, loid: Loid) -> Result<Option<Record>, StoreError> {
        let key = loid.to_key();
        let value = match look.get(view, Table::Objects, &key)? {
            Some(value) => Some(value),
            None => look.get(view, Table::Recycled, &key)?,
        };
        Ok(value.map(|value| decode_value(Record::FORMAT, &value)).transpose()?)
    }

    /// The record of a new object without a folder, a type of its own, or anything else that may be
    /// left out; at revision 1.
    pub fn new(loid: Loid, name: &str, type_name: &str, family: FamilyKind, creator: &Text, now_ms: u64) -> Record {
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

    /// The folder that the object lies in; `None` for the root.
    pub fn folder(&self) -> Option<Loid> {
        self.folder.map(|key| key.0)
    }

    /// The lock that holds at a time, epoch seconds: one that has expired counts as none.
    pub fn lock_at(&self, now_s: u64) -> Option<&Lock> {
        self.lock.as_ref().filter(|lock| lock.expires > now_s)
    }

    /// Where the record of a live object lives.
    pub fn live_key(loid: Loid) -> Key {
        Key { table: Table::Objects, key: Bytes::copy_from_slice(&loid.to_key()) }
    }

    /// Bytes of all its texts.
    pub fn text_bytes(&self) -> usize {
        let own = [&self.name, &self.type_name, &self.creator, &self.last_modifier];
        let more = [&self.work_folder, &self.issue_date, &self.suid, &self.status].into_iter().flatten();
        let content = self.content.iter().map(|content| &content.content_type);
        let lock = self.lock.iter().flat_map(|lock| [&lock.user, &lock.session]);
        let bin = self.bin.iter().flat_map(|bin| [&bin.by, &bin.path]);
        let copy = self.copy.iter().flat_map(|copy| std::iter::once(&copy.channel).chain(&copy.inherit_from));
        own.into_iter().chain(more).chain(content).chain(lock).chain(bin).chain(copy).map(|text| text.len()).sum()
    }

    /// Whether the object lies in the recycle bin.
    pub fn is_discarded(&self) -> bool {
        self.bin.is_some()
    }

    /// The folder in which it is found, and by which name; in the recycle bin it is found in none.
    pub fn stands(&self) -> Option<(Loid, &str)> {
        Some((self.folder().filter(|_| !self.is_discarded())?, &self.name))
    }
}

impl Row for Record {
    fn place(&self) -> Key {
        let table = if self.is_discarded() { Table::Recycled } else { Table::Objects };
        Key { table, key: Bytes::copy_from_slice(&self.loid.to_key()) }
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        let loid = self.loid.to_key();
        let mut add = |table, key, value| entries.push((Key { table, key }, value));
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

/// The attribute texts of an object: XML, stored as it came (docs/api/objects.md, "Attributes").
/// `None` where nothing was ever given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The object.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// `attributes`
    pub attributes: Option<Text>,
    /// `systemAttributes`, with the root `props`.
    pub system_attributes: Option<Text>,
    /// `usageTickets`, with the root `tl`.
    pub usage_tickets: Option<Text>,
}

impl Attributes {
    /// An object without attribute texts.
    pub fn none(loid: Loid) -> Attributes {
        Attributes { loid, attributes: None, system_attributes: None, usage_tickets: None }
    }

    /// The texts in the stored form of a row, in their order there. None if it can't be read.
    pub(crate) fn texts_in(row: &[u8]) -> [Option<&str>; 3] {
        /// The fields of [`Attributes`], with texts that are not copied.
        #[derive(Deserialize)]
        struct Borrowed<'a>(
            IgnoredAny,
            #[serde(borrow)] Option<&'a str>,
            #[serde(borrow)] Option<&'a str>,
            #[serde(borrow)] Option<&'a str>,
        );
        match decode_value(Attributes::FORMAT, row) {
            Ok(Borrowed(_, attributes, system_attributes, usage_tickets)) => {
                [attributes, system_attributes, usage_tickets]
            }
            Err(_) => [None; 3],
        }
    }

    /// Bytes of all its texts.
    pub fn text_bytes(&self) -> usize {
        let Attributes { loid: _, attributes, system_attributes, usage_tickets } = self;
        [attributes, system_attributes, usage_tickets].into_iter().flatten().map(|text| text.len()).sum()
    }

    /// Where they live.
    pub fn key(loid: Loid) -> Key {
        Key { table: Table::Attributes, key: Bytes::copy_from_slice(&loid.to_key()) }
    }
}

impl Row for Attributes {
    fn place(&self) -> Key {
        Attributes::key(self.loid)
    }
}

impl ObjectUuid {
    /// A new version 7 uuid for the time `now_ms`.
    pub fn generate(now_ms: u64) -> ObjectUuid {
        let nanos = (now_ms % 1000) as u32 * 1_000_000;
        let stamp = uuid::Timestamp::from_unix(uuid::timestamp::context::NoContext, now_ms / 1000, nanos);
        ObjectUuid(Uuid::new_v7(stamp))
    }
}
