//! The row of a topic item.

use bytes::Bytes;
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use super::Topic;
use crate::id::{Loid, ObjectUuid};
use crate::object::{FolderKey, Record, SharedText, hold};
use crate::planning::{LineupEntry, Planning};
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, Table, loid_key};

// An item is one row, which is rewritten at each of its changes, so its size has limits. Those of
// its texts are in `object::text`.

/// The greatest number of assignees of an item.
pub const MAX_ASSIGNEES: usize = 100;

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

    /// Reports whether another state of the item differs in its status and in nothing else.
    pub(super) fn differs_by_status(&self, new: &TopicItem) -> bool {
        let mut same = new.clone();
        same.record.status.clone_from(&self.record.status);
        self.record.status != new.record.status && same == *self
    }
}

impl Row for TopicItem {
    fn place(&self) -> RowPlace {
        Topic::ENTRY.place(self.topic, &self.loid().to_key())
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

impl SequenceItem for TopicItem {
    fn order(&self) -> u128 {
        self.order.into()
    }

    /// Returns true: an item is visible even if its attachment is hidden.
    fn is_visible(&self) -> bool {
        true
    }
}

impl MovableItem for TopicItem {
    fn at(&self, order: u128) -> TopicItem {
        TopicItem { order: order.into(), ..self.clone() }
    }
}

/// The index of the items of a topic.
#[derive(Debug, Clone, Default)]
pub struct TopicIndex {
    pub(super) by_uuid: OrdMap<ObjectUuid, Loid>,
    /// Attached objects, each with its item.
    pub(super) attached: OrdSet<(Loid, Loid)>,
}

impl LineupEntry for TopicItem {
    type Index = TopicIndex;

    fn loid(&self) -> Loid {
        self.record.loid
    }

    fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }

    fn object(&self) -> Option<Loid> {
        None
    }

    fn held(&self) -> Option<(Loid, bool)> {
        self.attachment.map(|attached| (attached.object, attached.hidden))
    }

    fn bytes(&self) -> usize {
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

    fn reindex(index: &mut TopicIndex, old: Option<&TopicItem>, new: Option<&TopicItem>) {
        let keys = |item: &TopicItem| (item.loid(), item.record.uuid, item.attachment.map(|attached| attached.object));
        let (old, new) = (old.map(keys), new.map(keys));
        if old == new {
            return;
        }
        if let Some((item, uuid, attached)) = old {
            index.by_uuid.remove(&uuid);
            attached.map(|object| index.attached.remove(&(object, item)));
        }
        if let Some((item, uuid, attached)) = new {
            index.by_uuid.insert(uuid, item);
            attached.map(|object| index.attached.insert((object, item)));
        }
    }
}
