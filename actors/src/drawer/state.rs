//! A drawer in memory.
//!
//! `items` has all items, hidden ones too, by order number. What the interface calls position and
//! count speaks of the visible ones.

use std::sync::Arc;

use super::rows::{DrawerHead, Item};
use crate::command::{Context, Fault};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::{Loid, ShortcutId};
use crate::object::Object;
use crate::readable::Reads;
use crate::sequence::{Movable, Numbers, Ordered, Sequence};
use crate::store::Row;

/// What a call names an item by: the object, or the shortcut (docs/api/drawers.md, "Items").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// By the object it stands for.
    Object(Loid),
    /// By its own id.
    Shortcut(ShortcutId),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Object(loid) => loid.fmt(f),
            Address::Shortcut(shortcut) => shortcut.fmt(f),
        }
    }
}

/// See the module's head.
#[derive(Debug, Clone)]
pub struct DrawerState {
    object: Object,
    head: Arc<DrawerHead>,
    items: Sequence<Item>,
    /// The object's number → order number.
    by_object: Numbers,
    /// Shortcut id → order number.
    by_shortcut: Numbers,
}

impl State for DrawerState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        // An item, and its place in both indexes.
        const ITEM: usize = 128;
        self.object.bytes() + self.items.len() * ITEM
    }
}

impl DrawerState {
    /// A drawer with these items, in any order.
    pub fn new(object: Object, head: DrawerHead, items: Vec<Item>) -> DrawerState {
        DrawerState {
            object,
            head: Arc::new(head),
            by_object: items.iter().map(|item| (item.object.to_number(), item.order())).collect(),
            by_shortcut: items.iter().map(|item| (item.shortcut.0.into(), item.order())).collect(),
            items: items.into_iter().collect(),
        }
    }

    /// Capacity, title and so on.
    pub fn head(&self) -> &DrawerHead {
        &self.head
    }

    /// How many items can be seen.
    pub fn count(&self) -> usize {
        self.items.visible_len()
    }

    /// How many items are hidden because their objects lie in the recycle bin.
    pub fn hidden(&self) -> usize {
        self.items.len() - self.items.visible_len()
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.head.capacity as usize
    }

    /// Whether an addition would need another item's place.
    pub fn is_full(&self) -> bool {
        self.count() >= self.capacity()
    }

    /// The items that can be seen, first to last.
    pub fn visible(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.hidden)
    }

    /// The visible item so named, and its position.
    pub fn find(&self, address: Address) -> Option<(usize, &Item)> {
        let order = match address {
            Address::Object(loid) => self.by_object.get(loid.to_number()),
            Address::Shortcut(shortcut) => self.by_shortcut.get(shortcut.0.into()),
        }?;
        let item = self.items.get(order).filter(|item| !item.hidden)?;
        Some((self.items.rank(order).1, item))
    }

    /// The item so named.
    ///
    /// # Errors
    /// `ObjectNotFound` when the drawer does not hold it, or hides it.
    pub fn get(&self, address: Address) -> Result<(usize, Item)> {
        self.find(address).map(|(position, item)| (position, *item)).ok_or_else(|| self.not_held(address))
    }

    /// The position that stands for one among the items that the caller sees; see [`Reads::place`].
    pub(super) fn place(&self, position: usize, reads: &mut Reads<'_>) -> Result<Result<usize, usize>> {
        reads.place(position, self.count(), self.visible().map(|item| Some(item.object)))
    }

    /// The error for an item that the drawer does not hold.
    pub fn not_held(&self, address: Address) -> Error {
        let drawer = self.object.record.loid;
        Error::new(Code::ObjectNotFound, format!("The drawer `{drawer}` holds no item `{address}`."))
            .with_source(address)
    }

    /// Changes the head.
    pub(super) fn set_head(&mut self, head: DrawerHead, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Puts an item that is not there in front of the visible position `position` (`count` or more:
    /// at the tail), and makes room: hidden items yield first, then the last visible one goes
    /// (docs/api/drawers.md, "Capacity").
    pub(super) fn insert(
        &mut self,
        object: Loid,
        shortcut: ShortcutId,
        position: usize,
        context: &mut Context<'_>,
    ) -> Item {
        let order = self.room_at(position, context);
        let item = Item::new(self.object.record.loid, shortcut, object, order, false);
        context.put(None, &item);
        self.keep(item);
        self.trim(context);
        item
    }

    /// Moves an item to the visible position `position` among the others.
    pub(super) fn shift(&mut self, item: Item, position: usize, context: &mut Context<'_>) -> Item {
        self.items.remove(item.order());
        let order = self.room_at(position, context);
        let moved = item.at(order);
        context.put(Some(&item), &moved);
        self.keep(moved);
        moved
    }

    /// Takes an item out, hidden or not.
    pub(super) fn take(&mut self, item: &Item, context: &mut Context<'_>) {
        context.remove(item);
        self.forget(item);
    }

    /// Takes everything out.
    ///
    /// # Errors
    /// [`Fault::IsLarge`].
    pub(super) fn take_all(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        context.alters(self.items.len())?;
        for item in &self.items {
            context.remove(item);
        }
        self.items = Sequence::default();
        self.by_object = Numbers::default();
        self.by_shortcut = Numbers::default();
        Ok(())
    }

    /// Removes the drawer: its items and its head.
    ///
    /// # Errors
    /// [`Fault::IsLarge`].
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        self.take_all(context)?;
        context.remove(&*self.head);
        Ok(())
    }

    /// Drops what does not fit any more: hidden items first, from the tail, then visible ones.
    pub(super) fn trim(&mut self, context: &mut Context<'_>) {
        while self.items.len() > self.capacity() {
            let end = self.items.len() - 1;
            #[cfg(feature = "planted-bugs")]
            let end = end - crate::planted::trim_offset().min(end);
            let last = self.items.last_hidden().or_else(|| self.items.nth(end)).copied();
            let Some(item) = last else { return };
            item.concern(context);
            self.take(&item, context);
        }
    }

    /// Hides or shows the item of an object, because it was discarded or restored. It keeps its
    /// place. Returns whether there was something to do.
    pub fn set_hidden(&mut self, object: Loid, hidden: bool, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(object.to_number()) else { return false };
        let Some(old) = self.items.get(order).copied().filter(|item| item.hidden != hidden) else { return false };
        let new = Item { hidden, ..old };
        context.put(Some(&old), &new);
        self.items.put(new);
        true
    }

    /// Takes the item of an object out, hidden or not, because the object was destroyed.
    pub fn take_object(&mut self, object: Loid, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(object.to_number()) else { return false };
        let Some(item) = self.items.get(order).copied() else { return false };
        self.take(&item, context);
        true
    }

    /// An order number for an item in front of the visible position `position`.
    fn room_at(&mut self, position: usize, context: &mut Context<'_>) -> u128 {
        let DrawerState { items, by_object, by_shortcut, .. } = self;
        items.room_at(items.index_at(position), |old, new| {
            context.put(Some(old), new);
            by_object.insert(new.object.to_number(), new.order());
            by_shortcut.insert(new.shortcut.0.into(), new.order());
        })
    }

    fn keep(&mut self, item: Item) {
        self.by_object.insert(item.object.to_number(), item.order());
        self.by_shortcut.insert(item.shortcut.0.into(), item.order());
        self.items.put(item);
    }

    fn forget(&mut self, item: &Item) {
        self.items.remove(item.order());
        self.by_object.remove(item.object.to_number());
        self.by_shortcut.remove(item.shortcut.0.into());
    }

    /// The rows that this state should have on disk, for tests and checks.
    pub fn rows(&self) -> Vec<crate::store::Key> {
        std::iter::once(self.head.place()).chain(self.items.iter().map(Row::place)).collect()
    }
}
