//! Iterators over a [`Sequence`](super::Sequence).

use super::SequenceItem;
use super::node::{Child, SequenceNode};

/// An iterator over the items of a [`Sequence`](super::Sequence) in order.
#[derive(Debug)]
pub struct Iter<'a, T> {
    /// The rest of the inner nodes above `leaf`, outermost first.
    pub(super) path: Vec<std::slice::Iter<'a, Child<T>>>,
    pub(super) leaf: std::slice::Iter<'a, T>,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn descend(&mut self, mut child: &'a Child<T>) {
        loop {
            match &child.node {
                SequenceNode::Leaf(items) => {
                    self.leaf = items.iter();
                    return;
                }
                SequenceNode::Inner(children) => {
                    let mut children = children.iter();
                    let Some(first) = children.next() else { return };
                    self.path.push(children);
                    child = first;
                }
            }
        }
    }
}

impl<'a, T: SequenceItem> Iter<'a, T> {
    /// Descends to the item that has `skip` items of its kind before it, or to the end if there is
    /// none.
    pub(super) fn descend_to(
        &mut self,
        mut child: &'a Child<T>,
        mut skip: usize,
        count: fn(&Child<T>) -> usize,
        is_one: fn(&T) -> bool,
    ) {
        loop {
            match &child.node {
                SequenceNode::Leaf(items) => {
                    let ones = items.iter().enumerate().filter(|(_, item)| is_one(item));
                    let at = ones.map(|(at, _)| at).nth(skip).unwrap_or(items.len());
                    self.leaf = items[at..].iter();
                    return;
                }
                SequenceNode::Inner(children) => {
                    let mut left = children.iter();
                    let found = left.find(|child| {
                        let here = skip < count(child);
                        if !here {
                            skip -= count(child);
                        }
                        here
                    });
                    let Some(next) = found else { return };
                    self.path.push(left);
                    child = next;
                }
            }
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.leaf.next() {
                return Some(item);
            }
            match self.path.last_mut()?.next() {
                Some(child) => self.descend(child),
                None => {
                    self.path.pop();
                }
            }
        }
    }
}

/// An iterator over the visible items of a [`Sequence`](super::Sequence) in order.
#[derive(Debug)]
pub struct VisibleItems<'a, T>(pub(super) Iter<'a, T>);

impl<'a, T: SequenceItem> Iterator for VisibleItems<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let VisibleItems(iter) = self;
        loop {
            if let Some(item) = iter.leaf.find(|item| item.is_visible()) {
                return Some(item);
            }
            // A node without visible items is skipped as a whole.
            match iter.path.last_mut()?.find(|child| child.visible > 0) {
                Some(Child { node: SequenceNode::Leaf(items), .. }) => iter.leaf = items.iter(),
                Some(Child { node: SequenceNode::Inner(children), .. }) => iter.path.push(children.iter()),
                None => {
                    iter.path.pop();
                }
            }
        }
    }
}
