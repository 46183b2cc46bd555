//! How a topic is stored: one head, one row an item or subitem, one row a divider.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::id::Loid;
use crate::lineup::{self, Member};
use crate::object::{FolderKey, Record, Text, hold};
use crate::part::PartKind;
use crate::sequence::{Movable, Ordered, StoredOrder};
use crate::store::{Key, Row, Table, loid_key};

/// The kind of [`TopicHead`].
pub const HEAD: PartKind = PartKind::of::<TopicHead>(7);

/// The kind of [`TopicItem`].
pub const ITEM: PartKind = PartKind::of::<TopicItem>(8);

/// The number of the kind of a topic's dividers.
const DIVIDER_NUMBER: u8 = 9;

/// The kind of [`Divider`].
pub const DIVIDER: PartKind = Divider::PART;

/// A divider of a topic, or of one of its items.
pub type Divider = lineup::Divider<DIVIDER_NUMBER>;

/// The lineup of a topic, or of one of its items.
pub type Lineup = lineup::Lineup<Arc<TopicItem>, DIVIDER_NUMBER>;

/// A line of a [`Lineup`].
pub type Line = lineup::Line<Arc<TopicItem>, DIVIDER_NUMBER>;

// An item is one row, written anew at each of its changes: what it may hold has bounds; those of
// its texts are in `object::text`.

/// How many assignees an item may have.
pub const MAX_ASSIGNEES: usize = 100;

/// What a topic has beside its record and items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicHead {
    /// The topic.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub description: Text,
}

impl Row for TopicHead {
    fn place(&self) -> Key {
        HEAD.place(self.loid, &[])
    }
}

/// A word that clients give as a text or as a number, and get back as they gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// May be empty.
    Text(Text),
    /// A whole number.
    Number(i64),
}

impl Default for Word {
    fn default() -> Word {
        Word::Text("".into())
    }
}

/// The object that hangs on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The object.
    #[serde(with = "loid_key")]
    pub object: Loid,
    /// Whether it lies in the recycle bin.
    pub hidden: bool,
}

/// An item of a topic, or a subitem of one. It has a loid and attributes like an object, but lives
/// and ends with its topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicItem {
    /// The topic.
    #[serde(with = "loid_key")]
    pub topic: Loid,
    /// What every object has; the folder is the topic, and the revision that of the topic at the
    /// item's last change.
    pub record: Record,
    /// The item that it is a subitem of; `None`: an item.
    pub(super) under: Option<FolderKey>,
    pub(super) order: StoredOrder,
    /// What kind of content is planned; may be empty, as all texts here.
    pub content_type: Text,
    /// Free text.
    pub comment: Text,
    /// What the assignees do.
    pub occupation: Text,
    /// How urgent it is.
    pub priority: Word,
    /// How urgent it is, in the newsroom's own words.
    pub custom_priority: Word,
    /// The product that it is for.
    pub product: Text,
    /// The edition that it is for.
    pub edition: Text,
    /// Who is to do it: names, as they were given.
    pub assignees: Vec<Text>,
    /// When it is to be done, epoch seconds.
    pub due: Option<u64>,
    /// The object that was made of it.
    pub attachment: Option<Attached>,
}

impl TopicItem {
    /// An item of a topic, or a subitem of the item `under`, of which nothing is said yet.
    pub fn new(topic: Loid, under: Option<Loid>, record: Record) -> TopicItem {
        let none = Text::from("");
        TopicItem {
            topic,
            record: Record { folder: Some(FolderKey(topic)), ..record },
            under: under.map(FolderKey),
            order: 0.into(),
            content_type: none.clone(),
            comment: none.clone(),
            occupation: none.clone(),
            priority: Word::default(),
            custom_priority: Word::default(),
            product: none.clone(),
            edition: none,
            assignees: Vec::new(),
            due: None,
            attachment: None,
        }
    }

    /// Its loid.
    pub fn loid(&self) -> Loid {
        self.record.loid
    }

    /// Returns whether another state of the item has another status, and is the same otherwise.
    pub(super) fn differs_by_status(&self, new: &TopicItem) -> bool {
        let mut same = new.clone();
        same.record.status.clone_from(&self.record.status);
        self.record.status != new.record.status && same == *self
    }

    /// The item that it is a subitem of.
    pub fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }

    /// Bytes that it takes in memory with its places in the topic's indexes, about.
    pub(super) fn bytes(&self) -> usize {
        // A record, and what finds it; then what is beside the texts of the rest.
        const ITSELF: usize = 1280;
        const EACH: usize = 32;
        let word = |word: &Word| if let Word::Text(text) = word { text.len() } else { 0 };
        let texts = [&self.content_type, &self.comment, &self.occupation, &self.product, &self.edition];
        ITSELF
            + self.record.text_bytes()
            + texts.into_iter().chain(&self.assignees).map(|text| text.len()).sum::<usize>()
            + word(&self.priority)
            + word(&self.custom_priority)
            + self.assignees.len() * EACH
    }
}

impl Row for TopicItem {
    fn place(&self) -> Key {
        ITEM.place(self.topic, &self.loid().to_key())
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        let (item, topic) = (self.loid().to_key(), self.topic.to_key());
        let part_of = Key { table: Table::PartOf, key: Bytes::copy_from_slice(&item) };
        entries.push((part_of, Bytes::copy_from_slice(&topic)));
        let uuid = Bytes::copy_from_slice(self.record.uuid.0.as_bytes());
        entries.push((Key { table: Table::Uuids, key: uuid }, Bytes::copy_from_slice(&item)));
        if let Some(attached) = &self.attachment {
            hold(attached.object, &self.place(), entries);
        }
    }

    fn same_index(&self, new: &TopicItem) -> bool {
        let facts = |item: &TopicItem| (item.loid(), item.record.uuid, item.topic, item.attachment.map(|it| it.object));
        facts(self) == facts(new)
    }
}

impl Ordered for Arc<TopicItem> {
    fn order(&self) -> u128 {
        self.order.into()
    }

    /// Its attachment may be hidden; the item is not.
    fn is_visible(&self) -> bool {
        true
    }
}

impl Movable for Arc<TopicItem> {
    fn at(&self, order: u128) -> Arc<TopicItem> {
        Arc::new(TopicItem { order: order.into(), ..TopicItem::clone(self) })
    }
}

impl Member for Arc<TopicItem> {
    fn id(&self) -> u128 {
        id_of(self.loid())
    }

    fn object(&self) -> Option<Loid> {
        None
    }

    fn put(&self, old: Option<&Arc<TopicItem>>, context: &mut Context<'_>) {
        context.put(old.map(|old| &**old), &**self);
    }

    fn remove(&self, context: &mut Context<'_>) {
        context.remove(&**self);
    }
}

/// The id of an item among the lines of its topic: numbers are given once, for loids of all
/// databases and dividers together.
pub(super) fn id_of(item: Loid) -> u128 {
    item.number.into()
}
