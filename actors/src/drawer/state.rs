//! A drawer in memory.
//!
//! `items` has all items, hidden ones too, sorted by order number. What the interface calls position and count speaks of
//! the visible ones; `hidden` has the order numbers of the others, sorted, and is nearly always empty.

use std::sync::Arc;

use imbl::{HashMap, Vector};

use super::order;
use super::rows::{DrawerHead, Item};
use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::{Loid, ShortcutId};
use crate::object::Object;
use crate::store::Row;

/// What a call names an item by: the object, or the shortcut (decisions 5).
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
    items: Vector<Item>,
    hidden: Vector<u128>,
    by_object: HashMap<Loid, u128>,
    by_shortcut: HashMap<ShortcutId, u128>,
}

impl State for DrawerState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }
}

impl DrawerState {
    /// A drawer with these items, in any order.
    pub fn new(object: Object, head: DrawerHead, mut items: Vec<Item>) -> DrawerState {
        items.sort_unstable_by_key(Item::order);
        DrawerState {
            object,
            head: Arc::new(head),
            hidden: items.iter().filter(|item| item.hidden).map(Item::order).collect(),
            by_object: items.iter().map(|item| (item.object, item.order())).collect(),
            by_shortcut: items.iter().map(|item| (item.shortcut, item.order())).collect(),
            items: items.into_iter().collect(),
        }
    }

    /// Capacity, title and so on.
    pub fn head(&self) -> &DrawerHead {
        &self.head
    }

    /// How many items can be seen.
    pub fn count(&self) -> usize {
        self.items.len() - self.hidden.len()
    }

    /// How many items are hidden because their objects lie in the recycle bin.
    pub fn hidden(&self) -> usize {
        self.hidden.len()
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
            Address::Object(loid) => self.by_object.get(&loid),
            Address::Shortcut(shortcut) => self.by_shortcut.get(&shortcut),
        }?;
        let index = self.index_of(*order);
        let item = &self.items[index];
        let position = index - self.hidden.iter().take_while(|hidden| *hidden < order).count();
        (!item.hidden).then_some((position, item))
    }

    /// The item so named.
    ///
    /// # Errors
    /// `ObjectNotFound` when the drawer does not hold it, or hides it.
    pub fn get(&self, address: Address) -> Result<(usize, Item)> {
        self.find(address).map(|(position, item)| (position, *item)).ok_or_else(|| self.not_held(address))
    }

    /// The answer to an item that is not there.
    pub fn not_held(&self, address: Address) -> Error {
        let drawer = self.object.record.loid;
        Error::new(Code::ObjectNotFound, format!("The drawer `{drawer}` holds no item `{address}`."))
            .with_source(address)
    }

    /// Index in `items` of an order number that is there, else of the first one behind it.
    fn index_of(&self, order: u128) -> usize {
        self.items.binary_search_by_key(&order, Item::order).unwrap_or_else(|index| index)
    }

    /// Index in `items` of a visible position; the position `count` is the end.
    fn index_at(&self, position: usize) -> usize {
        let mut index = position;
        for hidden in &self.hidden {
            if self.index_of(*hidden) <= index {
                index += 1;
            } else {
                break;
            }
        }
        index.min(self.items.len())
    }

    /// Changes the head.
    pub(crate) fn set_head(&mut self, head: DrawerHead, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Puts an item that is not there in front of the visible position `position` (`count` or more: at the tail),
    /// and makes room: hidden items yield first, then the last visible one goes (interface 8.2.4).
    pub(crate) fn insert(
        &mut self,
        object: Loid,
        shortcut: ShortcutId,
        position: usize,
        context: &mut Context<'_>,
    ) -> Item {
        let index = if position >= self.count() { self.items.len() } else { self.index_at(position) };
        let order = self.room_at(index, context);
        let item = Item::new(self.object.record.loid, shortcut, object, order, false);
        context.put(None, &item);
        self.keep(index, item);
        self.trim(context);
        item
    }

    /// Moves an item to the visible position `position` among the others.
    pub(crate) fn shift(&mut self, item: Item, position: usize, context: &mut Context<'_>) -> Item {
        let at = self.index_of(item.order());
        self.forget(at);
        let index = if position >= self.count() { self.items.len() } else { self.index_at(position) };
        let order = self.room_at(index, context);
        let moved = item.at(order);
        context.put(Some(&item), &moved);
        self.keep(index, moved);
        moved
    }

    /// Takes an item out, hidden or not.
    pub(crate) fn take(&mut self, item: &Item, context: &mut Context<'_>) {
        context.remove(item);
        self.forget(self.index_of(item.order()));
    }

    /// Takes everything out.
    pub(crate) fn take_all(&mut self, context: &mut Context<'_>) {
        for item in &self.items {
            context.remove(item);
        }
        self.items.clear();
        self.hidden.clear();
        self.by_object.clear();
        self.by_shortcut.clear();
    }

    /// The drawer ceases to be: its items and its head go.
    pub(crate) fn dissolve(&mut self, context: &mut Context<'_>) {
        self.take_all(context);
        context.remove(&*self.head);
    }

    /// Drops what does not fit any more: hidden items first, from the tail, then visible ones.
    pub(crate) fn trim(&mut self, context: &mut Context<'_>) {
        while self.items.len() > self.capacity() {
            let index = match self.hidden.last() {
                Some(order) => self.index_of(*order),
                None => self.items.len() - 1,
            };
            #[cfg(feature = "planted-bugs")]
            let index = index - crate::planted::trim_offset().min(index);
            let item = self.items[index];
            item.concern(context);
            self.take(&item, context);
        }
    }

    /// Hides or shows the item of an object, because it was discarded or restored. It keeps its place.
    /// Tells whether there was something to do.
    pub fn set_hidden(&mut self, object: Loid, hidden: bool, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(&object).copied() else { return false };
        let index = self.index_of(order);
        let old = self.items[index];
        if old.hidden == hidden {
            return false;
        }
        let new = Item { hidden, ..old };
        context.put(Some(&old), &new);
        self.items.set(index, new);
        match self.hidden.binary_search(&order) {
            Ok(at) if !hidden => {
                self.hidden.remove(at);
            }
            Err(at) if hidden => self.hidden.insert(at, order),
            // `hidden` has exactly the order numbers of the hidden items.
            _ => {}
        }
        true
    }

    /// Takes the item of an object out, hidden or not, because the object was destroyed.
    pub fn take_object(&mut self, object: Loid, context: &mut Context<'_>) -> bool {
        let Some(order) = self.by_object.get(&object).copied() else { return false };
        let item = self.items[self.index_of(order)];
        self.take(&item, context);
        true
    }

    /// An order number for an item in front of `index`, spreading the items around if there is none.
    fn room_at(&mut self, index: usize, context: &mut Context<'_>) -> u128 {
        let room = |items: &Vector<Item>| {
            let before = index.checked_sub(1).and_then(|before| items.get(before));
            order::between(before.map(Item::order), items.get(index).map(Item::order))
        };
        if let Some(order) = room(&self.items) {
            return order;
        }
        let (from, orders) = order::spread(self.items.len(), |at| self.items[at].order(), index);
        let spread: Vec<(Item, Item)> = orders
            .iter()
            .enumerate()
            .map(|(at, order)| (self.items[from + at], self.items[from + at].at(*order)))
            .collect();
        let hidden_before = self.hidden.clone();
        for (at, (old, new)) in spread.iter().enumerate() {
            if old == new {
                continue;
            }
            context.put(Some(old), new);
            self.items.set(from + at, *new);
            self.by_object.insert(new.object, new.order());
            self.by_shortcut.insert(new.shortcut, new.order());
            if let Ok(place) = hidden_before.binary_search(&old.order()) {
                self.hidden.set(place, new.order());
            }
        }
        room(&self.items).expect("spread leaves neighbours at least two apart: 10,000 items in 2^128 numbers")
    }

    fn keep(&mut self, index: usize, item: Item) {
        self.by_object.insert(item.object, item.order());
        self.by_shortcut.insert(item.shortcut, item.order());
        self.items.insert(index, item);
    }

    fn forget(&mut self, index: usize) {
        let item = self.items.remove(index);
        self.by_object.remove(&item.object);
        self.by_shortcut.remove(&item.shortcut);
        if let Ok(at) = self.hidden.binary_search(&item.order()) {
            self.hidden.remove(at);
        }
    }

    /// The rows that this state should have on disk, for tests and checks.
    pub fn rows(&self) -> Vec<crate::store::Key> {
        std::iter::once(self.head.place()).chain(self.items.iter().map(Row::place)).collect()
    }
}
