//! The state of a drawer in memory.
//!
//! `items` has all items by order number, including hidden ones. Positions and counts of the
//! interface only consider visible items.

use std::sync::Arc;

use super::rows::{DrawerHead, Item};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::{Loid, ShortcutId};
use crate::object::Object;
use crate::readable::{EntryPosition, ReadCheck};
use crate::sequence::{MovableItem, NumberMap, Sequence, SequenceItem};
use crate::store::Row;

/// The address of an item in a call: its object or its shortcut (docs/api/drawers.md, "Items").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawerItemAddress {
    /// The object that the item refers to.
    Object(Loid),
    /// The item's own id.
    Shortcut(ShortcutId),
}

impl std::fmt::Display for DrawerItemAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DrawerItemAddress::Object(loid) => loid.fmt(f),
            DrawerItemAddress::Shortcut(shortcut) => shortcut.fmt(f),
        }
    }
}

/// The state of a drawer: its object, its head, and all items in order.
#[derive(Debug, Clone)]
pub struct DrawerState {
    object: Object,
    head: Arc<DrawerHead>,
    items: Sequence<Item>,
    /// The object's number → order number.
    by_object: NumberMap,
    /// Shortcut id → order number.
    by_shortcut: NumberMap,
}

impl State for DrawerState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        // The estimate covers an item and its entries in both indexes.
        const ITEM: usize = 128;
        self.object.bytes() + self.items.len() * ITEM
    }
}

impl DrawerState {
    /// Creates the state of a drawer with these items, in any order.
    pub fn new(object: Object, head: DrawerHead, items: Vec<Item>) -> DrawerState {
        DrawerState {
            object,
            head: Arc::new(head),
            by_object: items.iter().map(|item| (item.object.to_number(), item.order())).collect(),
            by_shortcut: items.iter().map(|item| (item.shortcut.0.into(), item.order())).collect(),
            items: items.into_iter().collect(),
        }
    }

    /// Returns the head with the capacity and the texts.
    pub fn head(&self) -> &DrawerHead {
        &self.head
    }

    /// Returns the number of visible items.
    pub fn count(&self) -> usize {
        self.items.visible_len()
    }

    /// Returns the number of items that are hidden because their objects are in the recycle bin.
    pub fn hidden(&self) -> usize {
        self.items.len() - self.items.visible_len()
    }

    /// Returns the maximal number of items.
    pub fn capacity(&self) -> usize {
        self.head.capacity as usize
    }

    /// Reports whether the visible items fill the capacity.
    pub fn is_full(&self) -> bool {
        self.count() >= self.capacity()
    }

    /// Returns the visible items, first to last.
    pub fn visible(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.hidden)
    }

    /// Returns all items, hidden ones too, first to last.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// Returns the item with an id, hidden or not.
    pub fn any_item(&self, shortcut: ShortcutId) -> Option<&Item> {
        self.items.get(self.by_shortcut.get(shortcut.0.into())?)
    }

    /// Returns the item of an object, hidden or not.
    pub fn any_item_of(&self, object: Loid) -> Option<&Item> {
        self.items.get(self.by_object.get(object.to_number())?)
    }

    /// Returns the visible item at an address, and its position.
    pub fn find(&self, address: DrawerItemAddress) -> Option<(usize, &Item)> {
        let order = match address {
            DrawerItemAddress::Object(loid) => self.by_object.get(loid.to_number()),
            DrawerItemAddress::Shortcut(shortcut) => self.by_shortcut.get(shortcut.0.into()),
        }?;
        let item = self.items.get(order).filter(|item| !item.hidden)?;
        Some((self.items.rank(order).1, item))
    }

    /// Returns the visible item at an address, and its position.
    ///
    /// # Errors
    /// `ObjectNotFound` if the drawer does not hold the item, or hides it.
    pub fn get(&self, address: DrawerItemAddress) -> Result<(usize, Item)> {
        self.find(address).map(|(position, item)| (position, *item)).ok_or_else(|| self.not_held(address))
    }

    /// Converts a position among the items that the caller sees; see [`ReadCheck::place`].
    pub(super) fn place(&self, position: usize, reads: &mut ReadCheck<'_>) -> Result<EntryPosition> {
        reads.place(position, self.count(), self.visible().map(|item| Some(item.object)))
    }

    /// Returns the error for an item that the drawer does not hold.
    pub fn not_held(&self, address: DrawerItemAddress) -> Error {
        let drawer = self.object.record.loid;
        Error::new(Code::ObjectNotFound, format!("The drawer `{drawer}` holds no item `{address}`."))
            .with_source(address)
    }

    /// Replaces the head.
    pub(super) fn set_head(&mut self, head: DrawerHead, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Inserts an item before the visible position `position`; `count` or more means the end. If
    /// the drawer overflows, hidden items are dropped first, then the last visible one
    /// (docs/api/drawers.md, "Capacity").
    pub(super) fn insert(
        &mut self,
        object: Loid,
        shortcut: ShortcutId,
        position: usize,
        context: &mut Context<'_>,
    ) -> Item {
        let item = self.insert_at(object, shortcut, self.items.index_at(position), context);
        self.trim(context);
        item
    }

    /// Inserts an item at the end. The drawer may overflow.
    pub(super) fn append(&mut self, object: Loid, shortcut: ShortcutId, context: &mut Context<'_>) -> Item {
        self.insert_at(object, shortcut, self.items.len(), context)
    }

    fn insert_at(&mut self, object: Loid, shortcut: ShortcutId, index: usize, context: &mut Context<'_>) -> Item {
        let order = self.room_at(index, context);
        let item = Item::new(self.object.record.loid, shortcut, object, order, false);
        context.put(None, &item);
        self.keep(item);
        item
    }

    /// Moves an item to the visible position `position` among the others.
    pub(super) fn shift(&mut self, item: Item, position: usize, context: &mut Context<'_>) -> Item {
        self.shift_to(item, |items| items.index_at(position), context)
    }

    /// Moves an item to the index that is chosen among the others.
    fn shift_to(
        &mut self,
        item: Item,
        index: impl FnOnce(&Sequence<Item>) -> usize,
        context: &mut Context<'_>,
    ) -> Item {
        self.items.remove(item.order());
        let order = self.room_at(index(&self.items), context);
        let moved = item.at(order);
        context.put(Some(&item), &moved);
        self.keep(moved);
        moved
    }

    /// Puts the given items into the given order, with as few moves as possible. Each that moves
    /// stands right behind the one before it; the first one, if it moves, is at the beginning.
    /// Returns those that were moved.
    pub(super) fn arrange(&mut self, wanted: &[ShortcutId], context: &mut Context<'_>) -> Vec<ShortcutId> {
        let items: Vec<Item> = wanted.iter().filter_map(|shortcut| self.any_item(*shortcut)).copied().collect();
        let orders: Vec<u128> = items.iter().map(SequenceItem::order).collect();
        let (mut moved, mut last) = (Vec::new(), None);
        for (item, stays) in items.iter().zip(longest_ascending(&orders)) {
            // A move may spread the items around, which gives them other numbers.
            let before = last.and_then(|last| self.any_item(last)).map(SequenceItem::order);
            last = Some(item.shortcut);
            let Some(item) = self.any_item(item.shortcut).copied().filter(|_| !stays) else { continue };
            let index = |items: &Sequence<Item>| before.map_or(0, |order| items.rank(order).0 + 1);
            self.shift_to(item, index, context);
            moved.push(item.shortcut);
        }
        moved
    }

    /// Removes an item, hidden or not.
    pub(super) fn take(&mut self, item: &Item, context: &mut Context<'_>) {
        context.remove(item);
        self.forget(item);
    }

    /// Removes all items.
    ///
    /// # Errors
    /// [`CommandFault::IsLarge`].
    pub(super) fn take_all(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        context.alters(self.items.len())?;
        for item in &self.items {
            context.remove(item);
        }
        self.items = Sequence::default();
        self.by_object = NumberMap::default();
        self.by_shortcut = NumberMap::default();
        Ok(())
    }

    /// Destroys the drawer: removes its items and its head.
    ///
    /// # Errors
    /// [`CommandFault::IsLarge`].
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.take_all(context)?;
        context.remove(&*self.head);
        Ok(())
    }

    /// Drops the items that exceed the capacity: hidden ones first, from the end, then visible
    /// ones.
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

    /// Hides or shows the item of an object, because it was discarded or restored. The item keeps
    /// its place. Returns whether anything has changed.
    pub fn set_hidden(&mut self, object: Loid, hidden: bool, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(object.to_number()) else { return false };
        let Some(old) = self.items.get(order).copied().filter(|item| item.hidden != hidden) else { return false };
        let new = Item { hidden, ..old };
        context.put(Some(&old), &new);
        self.items.put(new);
        true
    }

    /// Removes the item of a destroyed object, hidden or not. Returns whether there was one.
    pub fn take_object(&mut self, object: Loid, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(object.to_number()) else { return false };
        let Some(item) = self.items.get(order).copied() else { return false };
        self.take(&item, context);
        true
    }

    /// Returns an order number for an item before that index.
    fn room_at(&mut self, index: usize, context: &mut Context<'_>) -> u128 {
        let DrawerState { items, by_object, by_shortcut, .. } = self;
        items.room_at(index, |old, new| {
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

    /// Returns the keys of the rows that this state should have on disk, for tests and checks.
    pub fn rows(&self) -> Vec<crate::store::RowPlace> {
        std::iter::once(self.head.place()).chain(self.items.iter().map(Row::place)).collect()
    }
}

/// Reports for each number whether it belongs to a longest ascending selection.
fn longest_ascending(numbers: &[u128]) -> Vec<bool> {
    // For each length, the index of the least number with which a selection of that length ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (index, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut chosen = vec![false; numbers.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        chosen[index] = true;
        next = before[index];
    }
    chosen
}
