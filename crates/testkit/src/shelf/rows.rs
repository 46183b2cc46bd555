//! The rows of a shelf: one head, and one row for each slot.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stet_domain::id::Loid;
use stet_domain::object::{FolderKey, SharedText, hold};
use stet_domain::part::PartKind;
use stet_domain::sequence::{MovableItem, SequenceItem, StoredOrder};
use stet_domain::store::{Row, RowPlace, loid_key};

/// The kind of [`ShelfHead`].
pub const HEAD: PartKind = PartKind::of::<ShelfHead>(250);

/// The kind of [`Slot`].
pub const SLOT: PartKind = PartKind::of::<Slot>(251);

/// The fields of a shelf besides its record and slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfHead {
    /// The loid of the shelf.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The names of the boards.
    pub boards: Vec<SharedText>,
}

impl Row for ShelfHead {
    fn place(&self) -> RowPlace {
        HEAD.place(self.loid, &[])
    }
}

/// The content of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotContent {
    /// An object.
    Object(FolderKey),
    /// A divider with this title.
    Divider(SharedText),
}

impl SlotContent {
    /// Returns the object, if it is one.
    pub fn object(&self) -> Option<Loid> {
        match self {
            SlotContent::Object(key) => Some(key.0),
            SlotContent::Divider(_) => None,
        }
    }
}

/// A slot of a shelf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The loid of the shelf.
    #[serde(with = "loid_key")]
    pub shelf: Loid,
    /// The id of the slot.
    pub id: u64,
    /// The name of the board.
    pub board: SharedText,
    /// The object or divider in the slot.
    pub stands: SlotContent,
    /// The position among the slots.
    pub order: StoredOrder,
    /// `true` if the slot is hidden because its object is in the recycle bin.
    pub hidden: bool,
}

impl Row for Slot {
    fn place(&self) -> RowPlace {
        SLOT.place(self.shelf, &self.id.to_be_bytes())
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        if let Some(object) = self.stands.object() {
            hold(object, &self.place(), entries);
        }
    }
}

impl SequenceItem for Slot {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        !self.hidden
    }
}

impl MovableItem for Slot {
    fn at(&self, order: u128) -> Slot {
        Slot { order: order.into(), ..self.clone() }
    }
}
