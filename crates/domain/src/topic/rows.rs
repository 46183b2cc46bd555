//! The rows of a topic: one head, one row per item or subitem, one row per divider.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::id::Loid;
use crate::lineup::{self, LineupEntry};
use crate::object::{FolderKey, Record, SharedText, hold};
use crate::part::PartKind;
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, Table, loid_key};

/// The kind of [`TopicHead`].
pub const HEAD: PartKind = PartKind::of::<TopicHead>(7);

/// The kind of [`TopicItem`].
pub const ITEM: PartKind = PartKind::of::<TopicItem>(8);

/// The number of the kind of a topic's dividers.
const DIVIDER_NUMBER: u8 = 9;

/// The kind of [`TopicDivider`].
pub const DIVIDER: PartKind = TopicDivider::PART;

/// A divider of a topic, or of one of its items.
pub type TopicDivider = lineup::Divider<DIVIDER_NUMBER>;

/// The lineup of a topic, or of one of its items.
pub type TopicLineup = lineup::Lineup<Arc<TopicItem>, DIVIDER_NUMBER>;

/// A line of a [`TopicLineup`].
pub type TopicLineupLine = lineup::Line<Arc<TopicItem>, DIVIDER_NUMBER>;

// An item is one row, which is rewritten at each of its changes, so its size has limits. Those of
// its texts are in `object::text`.

/// The greatest number of assignees of an item.
pub const MAX_ASSIGNEES: usize = 100;

/// The title and description of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicHead {
    /// The topic.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The title, which may be empty.
    pub title: SharedText,
    /// The description, which may be empty.
    pub description: SharedText,
}

impl Row for TopicHead {
    fn place(&self) -> RowPlace {
        HEAD.place(self.loid, &[])
    }
}

/// A word that clients send as a text or as a number, and receive in the same form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextOrNumber {
    /// A text, which may be empty.
    Text(SharedText),
    /// A whole number.
    Number(i64),
}

impl Default for TextOrNumber {
    fn default() -> TextOrNumber {
        TextOrNumber::Text("".into())
    }
}

/// The object that is attached to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicAttachment {
    /// The object.
    #[serde(with = "loid_key")]
    pub object: Loid,
    /// Whether the object lies in the recycle bin.
    pub hidden: bool,
}

/// An item of a topic, or a subitem of one. It has a loid and attributes like an object, but is
/// created and removed as a part of its topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicItem {
    /// The topic.
    #[serde(with = "loid_key")]
    pub topic: Loid,
    /// The fields that every object has. The folder is the topic. The revision is that of the topic
    /// at the item's last change.
    pub record: Record,
    /// The parent item of a subitem; `None` for an item.
    pub(super) under: Option<FolderKey>,
    pub(super) order: StoredOrder,
    /// The kind of content that is planned; may be empty, as all texts here.
    pub content_type: SharedText,
    /// A free text.
    pub comment: SharedText,
    /// The task of the assignees.
    pub occupation: SharedText,
    /// The urgency.
    pub priority: TextOrNumber,
    /// The urgency, in the newsroom's own words.
    pub custom_priority: TextOrNumber,
    /// The product that the item is for.
    pub product: SharedText,
    /// The edition that the item is for.
    pub edition: SharedText,
    /// The names of the assignees, as they were given.
    pub assignees: Vec<SharedText>,
    /// The due time, in epoch seconds.
    pub due: Option<u64>,
    /// The object that was created for the item.
    pub attachment: Option<TopicAttachment>,
}

impl TopicItem {
    /// Creates an item of a topic, or a subitem of the item `under`, with empty fields.
    pub fn new(topic: Loid, under: Option<Loid>, record: Record) -> TopicItem {
        let none = SharedText::from("");
        TopicItem {
            topic,
            record: Record { folder: Some(FolderKey(topic)), ..record },
            under: under.map(FolderKey),
            order: 0.into(),
            content_type: none.clone(),
            comment: none.clone(),
            occupation: none.clone(),
            priority: TextOrNumber::default(),
            custom_priority: TextOrNumber::default(),
            product: none.clone(),
            edition: none,
            assignees: Vec::new(),
            due: None,
            attachment: None,
        }
    }

    /// Returns the item's loid.
    pub fn loid(&self) -> Loid {
        self.record.loid
    }

    /// Reports whether another state of the item differs in its status and in nothing else.
    pub(super) fn differs_by_status(&self, new: &TopicItem) -> bool {
        let mut same = new.clone();
        same.record.status.clone_from(&self.record.status);
        self.record.status != new.record.status && same == *self
    }

    /// Returns the parent item of a subitem.
    pub fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }

    /// Returns the approximate bytes of memory of the item, with its entries in the topic's
    /// indexes.
    pub(super) fn bytes(&self) -> usize {
        // A record with its index entries, and the other fields without their texts.
        const ITSELF: usize = 1280;
        const EACH: usize = 32;
        let word = |word: &TextOrNumber| if let TextOrNumber::Text(text) = word { text.len() } else { 0 };
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
    fn place(&self) -> RowPlace {
        ITEM.place(self.topic, &self.loid().to_key())
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        let (item, topic) = (self.loid().to_key(), self.topic.to_key());
        let part_of = RowPlace { table: Table::PartOf, key: Bytes::copy_from_slice(&item) };
        entries.push((part_of, Bytes::copy_from_slice(&topic)));
        let uuid = Bytes::copy_from_slice(self.record.uuid.0.as_bytes());
        entries.push((RowPlace { table: Table::Uuids, key: uuid }, Bytes::copy_from_slice(&item)));
        if let Some(attached) = &self.attachment {
            hold(attached.object, &self.place(), entries);
        }
    }

    fn same_index(&self, new: &TopicItem) -> bool {
        let facts = |item: &TopicItem| (item.loid(), item.record.uuid, item.topic, item.attachment.map(|it| it.object));
        facts(self) == facts(new)
    }
}

impl SequenceItem for Arc<TopicItem> {
    fn order(&self) -> u128 {
        self.order.into()
    }

    /// Returns true: an item is visible even if its attachment is hidden.
    fn is_visible(&self) -> bool {
        true
    }
}

impl MovableItem for Arc<TopicItem> {
    fn at(&self, order: u128) -> Arc<TopicItem> {
        Arc::new(TopicItem { order: order.into(), ..TopicItem::clone(self) })
    }
}

impl LineupEntry for Arc<TopicItem> {
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

/// Returns the id of an item among the lines of its topic. Numbers are unique across the loids of
/// all databases and the dividers.
pub(super) fn id_of(item: Loid) -> u128 {
    item.number.into()
}
