//! How a drawer is stored: one head, one row an item.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::command::Context;
use crate::id::{Loid, ShortcutId};
use crate::object::{Text, hold};
use crate::part::PartKind;
use crate::sequence::{Movable, Ordered, StoredOrder};
use crate::store::{Key, Row, loid_key};

/// The kind of [`DrawerHead`].
pub const HEAD: PartKind = PartKind::of::<DrawerHead>(1);

/// The kind of [`Item`].
pub const ITEM: PartKind = PartKind::of::<Item>(2);

/// What a drawer has beside its record and items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawerHead {
    /// The drawer.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// How many items fit.
    pub capacity: u32,
    /// Whether it is a user's automatic drawer.
    pub automatic: bool,
    /// Title; may be empty.
    pub title: Text,
    /// Description; may be empty.
    pub description: Text,
}

impl Row for DrawerHead {
    fn place(&self) -> Key {
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
    /// The object it stands for.
    #[serde(with = "loid_key")]
    pub object: Loid,
    /// Its place among the items.
    pub(super) order: StoredOrder,
    /// Whether the object lies in the recycle bin.
    pub hidden: bool,
}

impl Item {
    /// Notes that the item and its object are concerned: a search for the history of the object
    /// finds it here, too.
    pub(super) fn concern(&self, context: &mut Context<'_>) {
        context.concerns(self.drawer, self.shortcut);
        context.concerns(self.drawer, self.object);
    }
}

impl Item {
    /// An item at `order`.
    pub fn new(drawer: Loid, shortcut: ShortcutId, object: Loid, order: u128, hidden: bool) -> Item {
        Item { drawer, shortcut, object, order: order.into(), hidden }
    }
}

impl Ordered for Item {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        !self.hidden
    }
}

impl Movable for Item {
    fn at(&self, order: u128) -> Item {
        Item { order: order.into(), ..*self }
    }
}

impl Row for Item {
    fn place(&self) -> Key {
        ITEM.place(self.drawer, &self.shortcut.0.to_be_bytes())
    }

    fn index(&self, entries: &mut Vec<(Key, Bytes)>) {
        hold(self.object, &self.place(), entries);
    }

    fn same_index(&self, other: &Item) -> bool {
        (self.drawer, self.shortcut, self.object) == (other.drawer, other.shortcut, other.object)
    }
}
