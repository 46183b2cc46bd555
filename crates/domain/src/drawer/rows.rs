//! The stored form of a drawer: one head, and one row for each item.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::id::{Loid, ShortcutId};
use crate::object::{SharedText, hold};
use crate::part::PartKind;
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, loid_key};

/// The part kind of [`DrawerHead`].
pub const HEAD: PartKind = PartKind::of::<DrawerHead>(1);

/// The part kind of [`Item`].
pub const ITEM: PartKind = PartKind::of::<Item>(2);

/// The fields of a drawer beside its record and items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawerHead {
    /// The drawer.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The maximal number of items.
    pub capacity: u32,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// The title; may be empty.
    pub title: SharedText,
    /// The description; may be empty.
    pub description: SharedText,
}

impl Row for DrawerHead {
    const KEEPS_PAST: bool = true;

    fn place(&self) -> RowPlace {
        HEAD.place(self.loid, &[])
    }
}

/// One item: a shortcut to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The drawer.
    #[serde(with = "loid_key")]
    pub drawer: Loid,
    /// The item's own id.
    pub shortcut: ShortcutId,
    /// The object that the item refers to.
    #[serde(with = "loid_key")]
    pub object: Loid,
    /// The order number, which places the item among the others.
    pub(super) order: StoredOrder,
    /// Whether the object is in the recycle bin.
    pub hidden: bool,
}

impl Item {
    /// Names the item and its object in the drawer's event. A search for the history of the object
    /// then finds the event too.
    pub(super) fn concern(&self, context: &mut Context<'_>) {
        context.concerns(self.drawer, self.shortcut);
        context.concerns(self.drawer, self.object);
    }
}

impl Item {
    /// Creates an item at `order`.
    pub fn new(drawer: Loid, shortcut: ShortcutId, object: Loid, order: u128, hidden: bool) -> Item {
        Item { drawer, shortcut, object, order: order.into(), hidden }
    }
}

impl SequenceItem for Item {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        !self.hidden
    }
}

impl MovableItem for Item {
    fn at(&self, order: u128) -> Item {
        Item { order: order.into(), ..*self }
    }
}

impl Row for Item {
    const KEEPS_PAST: bool = true;

    fn place(&self) -> RowPlace {
        ITEM.place(self.drawer, &self.shortcut.0.to_be_bytes())
    }

    fn index(&self, entries: &mut Vec<(RowPlace, Bytes)>) {
        hold(self.object, &self.place(), entries);
    }

    fn same_index(&self, other: &Item) -> bool {
        (self.drawer, self.shortcut, self.object) == (other.drawer, other.shortcut, other.object)
    }
}
