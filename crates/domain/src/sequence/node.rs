//! The nodes of a [`Sequence`](super::Sequence), with insertion and removal of entries.

use std::sync::Arc;

use super::SequenceItem;

/// The greatest number of entries of a node. More make the tree shallower and each copy longer.
pub(super) const WIDTH: usize = 32;

/// The number of entries up to which a node is merged with a neighbour. Below `WIDTH`, so that the
/// next insertion does not split it again.
pub(super) const MERGED: usize = WIDTH * 3 / 4;

#[derive(Debug, Clone)]
pub(super) enum SequenceNode<T> {
    Leaf(Arc<Vec<T>>),
    Inner(Arc<Vec<Child<T>>>),
}

/// A node, with the figures of the items below it.
#[derive(Debug, Clone)]
pub(super) struct Child<T> {
    pub(super) node: SequenceNode<T>,
    pub(super) len: usize,
    pub(super) visible: usize,
    /// The greatest order number; 0 for an empty root.
    pub(super) last: u128,
}

impl<T: SequenceItem> Child<T> {
    pub(super) fn new(node: SequenceNode<T>) -> Child<T> {
        let mut child = Child { node, len: 0, visible: 0, last: 0 };
        child.count();
        child
    }

    /// Brings the figures up to date with the node.
    pub(super) fn count(&mut self) {
        (self.len, self.visible, self.last) = match &self.node {
            SequenceNode::Leaf(items) => (
                items.len(),
                items.iter().filter(|item| item.is_visible()).count(),
                items.last().map_or(0, SequenceItem::order),
            ),
            SequenceNode::Inner(children) => (
                children.iter().map(|child| child.len).sum(),
                children.iter().map(|child| child.visible).sum(),
                children.last().map_or(0, |child| child.last),
            ),
        };
    }

    /// Inserts an item, or replaces the one with its number. Returns the second half if the node
    /// had to be split.
    pub(super) fn put(&mut self, item: T) -> Option<Child<T>> {
        let split = match &mut self.node {
            SequenceNode::Leaf(items) => match items.binary_search_by_key(&item.order(), SequenceItem::order) {
                Ok(at) => {
                    Arc::make_mut(items)[at] = item;
                    None
                }
                Err(at) => insert(items, at, item).map(SequenceNode::Leaf),
            },
            SequenceNode::Inner(children) => {
                // A number above all others: into the last child.
                let at = child_index(children, item.order()).min(children.len() - 1);
                let split = Arc::make_mut(children)[at].put(item);
                split.and_then(|split| insert(children, at + 1, split)).map(SequenceNode::Inner)
            }
        };
        self.count();
        split.map(Child::new)
    }

    /// Removes an item that exists.
    pub(super) fn remove(&mut self, order: u128) {
        match &mut self.node {
            SequenceNode::Leaf(items) => {
                if let Ok(at) = items.binary_search_by_key(&order, SequenceItem::order) {
                    Arc::make_mut(items).remove(at);
                }
            }
            SequenceNode::Inner(children) => {
                let at = child_index(children, order);
                let children = Arc::make_mut(children);
                children[at].remove(order);
                tidy(children, at);
            }
        }
        self.count();
    }

    pub(super) fn entries(&self) -> usize {
        match &self.node {
            SequenceNode::Leaf(items) => items.len(),
            SequenceNode::Inner(children) => children.len(),
        }
    }

    /// Appends the right neighbour's entries.
    pub(super) fn absorb(&mut self, right: Child<T>) {
        match (&mut self.node, right.node) {
            (SequenceNode::Leaf(items), SequenceNode::Leaf(more)) => {
                Arc::make_mut(items).extend(Arc::unwrap_or_clone(more))
            }
            (SequenceNode::Inner(children), SequenceNode::Inner(more)) => {
                Arc::make_mut(children).extend(Arc::unwrap_or_clone(more))
            }
            _ => unreachable!("all leaves are equally deep"),
        }
        self.count();
    }
}

/// Returns the index of the child that covers the number; the number of children if it is above
/// all.
pub(super) fn child_index<T>(children: &[Child<T>], order: u128) -> usize {
    children.partition_point(|child| child.last < order)
}

/// Inserts an entry. Returns the second half if the node was full. Insertions at one end only leave
/// full nodes behind.
pub(super) fn insert<E: Clone>(entries: &mut Arc<Vec<E>>, at: usize, entry: E) -> Option<Arc<Vec<E>>> {
    if entries.len() == WIDTH {
        let middle = match at {
            0 => 0,
            WIDTH => WIDTH,
            _ => WIDTH / 2,
        };
        let mut right = entries[middle..].to_vec();
        let mut left = entries[..middle].to_vec();
        if at <= middle && middle < WIDTH {
            left.insert(at, entry);
        } else {
            right.insert(at - middle, entry);
        }
        *entries = Arc::new(left);
        return Some(Arc::new(right));
    }
    match Arc::get_mut(entries) {
        Some(entries) => entries.insert(at, entry),
        None => {
            let mut copy = Vec::with_capacity(entries.len() + 1);
            copy.extend_from_slice(&entries[..at]);
            copy.push(entry);
            copy.extend_from_slice(&entries[at..]);
            *entries = Arc::new(copy);
        }
    }
    None
}

/// Tidies up after a removal below the child at `at`: drops it if it is empty, or merges it with a
/// neighbour if both are small.
pub(super) fn tidy<T: SequenceItem>(children: &mut Vec<Child<T>>, at: usize) {
    if children[at].len == 0 {
        children.remove(at);
        return;
    }
    for left in [at.checked_sub(1), Some(at)].into_iter().flatten() {
        if left + 1 < children.len() && children[left].entries() + children[left + 1].entries() <= MERGED {
            let right = children.remove(left + 1);
            children[left].absorb(right);
            return;
        }
    }
}
