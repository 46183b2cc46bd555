//! A persistent ordered sequence: items by order number, each found by number or by index in
//! logarithmic time.
//!
//! A B+ tree whose inner nodes know how many items lie below each child, and how many of those are
//! visible. A clone shares all nodes with its original. A change copies only the few nodes on its
//! way, so the cost of an insertion hardly depends on the number of items. `imbl`'s vector can be
//! shared as well, but an insertion amid 1,000 items takes it 15 times as long as amid 10 (`cargo
//! bench -p stet-actors --bench apply`). Its maps do not know indexes.
//!
//! Invariants: order numbers ascend strictly; no node but the root is empty, none has more than
//! [`node::WIDTH`] entries; all leaves are equally deep; `Child`'s figures are those of its node.

mod iter;
mod node;
mod numbers;
mod order;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::iter::{Iter, VisibleItems};
use self::node::{Child, SequenceNode, child_index};
pub use self::numbers::NumberMap;
pub use self::order::{MovableItem, StoredOrder};

/// An item of a [`Sequence`].
pub trait SequenceItem: Clone {
    /// Returns the item's order number, which is unique in its sequence.
    fn order(&self) -> u128;

    /// Reports whether the item counts for the positions that readers see.
    fn is_visible(&self) -> bool;
}

/// A persistent sequence of items in the order of their numbers.
#[derive(Debug, Clone)]
pub struct Sequence<T> {
    root: Child<T>,
}

impl<T: SequenceItem> Default for Sequence<T> {
    fn default() -> Sequence<T> {
        Sequence { root: Child::new(SequenceNode::Leaf(Arc::default())) }
    }
}

impl<T: SequenceItem> Sequence<T> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.root.len
    }

    /// Reports whether the sequence has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of visible items.
    pub fn visible_len(&self) -> usize {
        self.root.visible
    }

    /// Returns the item with this number.
    pub fn get(&self, order: u128) -> Option<&T> {
        let mut child = &self.root;
        loop {
            match &child.node {
                SequenceNode::Leaf(items) => {
                    return items.binary_search_by_key(&order, SequenceItem::order).ok().map(|at| &items[at]);
                }
                SequenceNode::Inner(children) => child = children.get(child_index(children, order))?,
            }
        }
    }

    /// Returns the number of items before this order number, and how many of them are visible.
    pub fn rank(&self, order: u128) -> (usize, usize) {
        let (mut before, mut visible) = (0, 0);
        let mut child = &self.root;
        loop {
            match &child.node {
                SequenceNode::Leaf(items) => {
                    let passed = items.iter().take_while(|item| item.order() < order);
                    return passed.fold((before, visible), |(before, visible), item| {
                        (before + 1, visible + usize::from(item.is_visible()))
                    });
                }
                SequenceNode::Inner(children) => {
                    let at = child_index(children, order);
                    for passed in &children[..at] {
                        before += passed.len;
                        visible += passed.visible;
                    }
                    match children.get(at) {
                        Some(next) => child = next,
                        None => return (before, visible),
                    }
                }
            }
        }
    }

    /// Returns the item at this index, hidden items counted.
    pub fn nth(&self, index: usize) -> Option<&T> {
        self.select(index, |child| child.len, |_| true)
    }

    /// Returns the item at this position, hidden items not counted.
    pub fn nth_visible(&self, position: usize) -> Option<&T> {
        self.select(position, |child| child.visible, SequenceItem::is_visible)
    }

    /// Returns the last item that is not visible.
    pub fn last_hidden(&self) -> Option<&T> {
        let hidden = self.len() - self.visible_len();
        self.select(hidden.checked_sub(1)?, |child| child.len - child.visible, |item| !item.is_visible())
    }

    /// Returns the item that has `skip` items of its kind before it.
    fn select(&self, mut skip: usize, count: fn(&Child<T>) -> usize, is_one: fn(&T) -> bool) -> Option<&T> {
        let mut child = &self.root;
        loop {
            match &child.node {
                SequenceNode::Leaf(items) => return items.iter().filter(|item| is_one(item)).nth(skip),
                SequenceNode::Inner(children) => {
                    child = children.iter().find(|child| {
                        let here = skip < count(child);
                        if !here {
                            skip -= count(child);
                        }
                        here
                    })?;
                }
            }
        }
    }

    /// Inserts an item, or replaces the one with its number.
    pub fn put(&mut self, item: T) {
        if let Some(right) = self.root.put(item) {
            let left = self.root.clone();
            self.root = Child::new(SequenceNode::Inner(Arc::new(vec![left, right])));
        }
    }

    /// Removes the item with this number; `None` if there is none.
    pub fn remove(&mut self, order: u128) -> Option<T> {
        // Looked up first: a missing item must cost no copies.
        let item = self.get(order)?.clone();
        self.root.remove(order);
        loop {
            let only = match &self.root.node {
                SequenceNode::Inner(children) if children.len() == 1 => children[0].clone(),
                SequenceNode::Inner(children) if children.is_empty() => Sequence::default().root,
                _ => return Some(item),
            };
            self.root = only;
        }
    }

    /// Iterates over all items in order.
    pub fn iter(&self) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend(&self.root);
        iter
    }

    /// Iterates over the items from this index on, hidden items counted. Skips the items before it
    /// without a walk.
    pub fn iter_at(&self, index: usize) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend_to(&self.root, index, |child| child.len, |_| true);
        iter
    }

    /// Iterates over the visible items from this position on. Skips earlier items and stretches of
    /// hidden items without a walk.
    pub fn visible_at(&self, position: usize) -> VisibleItems<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend_to(&self.root, position, |child| child.visible, SequenceItem::is_visible);
        VisibleItems(iter)
    }
}

impl<T: SequenceItem> FromIterator<T> for Sequence<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Sequence<T> {
        let mut sequence = Sequence::default();
        for item in items {
            sequence.put(item);
        }
        sequence
    }
}

impl<'a, T: SequenceItem> IntoIterator for &'a Sequence<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
