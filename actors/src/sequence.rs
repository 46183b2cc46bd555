//! A persistent ordered sequence: items by order number, each found by number or by place in logarithmic time.
//!
//! A B+ tree whose inner nodes know how many items lie below each child and how many of those are visible. A clone
//! shares everything with its original, and a change copies the few nodes on its way: what an insertion costs does not
//! depend on how many items there are. `imbl`'s vector can be shared as well, but an insertion amid 1,000 items
//! takes it 15 times as long as amid 10 (`cargo bench -p stet-actors --bench apply`), and its maps don't know places.
//!
//! Invariants: order numbers ascend strictly; no node but the root is empty, none has more than [`WIDTH`] entries; all
//! leaves are equally deep; `Child`'s figures are those of its node.

#[cfg(test)]
mod tests;

use std::sync::Arc;

/// Entries of a node at most. More make the tree shallower and each copy longer.
const WIDTH: usize = 32;

/// Entries up to which a node is merged with a neighbour: below `WIDTH`, so that the next insertion doesn't split it again.
const MERGED: usize = WIDTH * 3 / 4;

/// What stands in a [`Sequence`].
pub trait Ordered: Clone {
    /// Its place among the others; no two have the same.
    fn order(&self) -> u128;

    /// Whether it counts for positions that readers speak of.
    fn is_visible(&self) -> bool;
}

/// See the module's head.
#[derive(Debug, Clone)]
pub struct Sequence<T> {
    root: Child<T>,
}

#[derive(Debug, Clone)]
enum Node<T> {
    Leaf(Arc<Vec<T>>),
    Inner(Arc<Vec<Child<T>>>),
}

/// A node, and what is to be known of it without looking.
#[derive(Debug, Clone)]
struct Child<T> {
    node: Node<T>,
    len: usize,
    visible: usize,
    /// The greatest order number; 0 of an empty root.
    last: u128,
}

impl<T: Ordered> Child<T> {
    fn new(node: Node<T>) -> Child<T> {
        let mut child = Child { node, len: 0, visible: 0, last: 0 };
        child.count();
        child
    }

    /// Brings the figures up to date with the node.
    fn count(&mut self) {
        (self.len, self.visible, self.last) = match &self.node {
            Node::Leaf(items) => (
                items.len(),
                items.iter().filter(|item| item.is_visible()).count(),
                items.last().map_or(0, Ordered::order),
            ),
            Node::Inner(children) => (
                children.iter().map(|child| child.len).sum(),
                children.iter().map(|child| child.visible).sum(),
                children.last().map_or(0, |child| child.last),
            ),
        };
    }

    /// Puts an item in, or in the place of the one with its number. The second half, if the node had to be split.
    fn put(&mut self, item: T) -> Option<Child<T>> {
        let split = match &mut self.node {
            Node::Leaf(items) => match items.binary_search_by_key(&item.order(), Ordered::order) {
                Ok(at) => {
                    Arc::make_mut(items)[at] = item;
                    None
                }
                Err(at) => insert(items, at, item).map(Node::Leaf),
            },
            Node::Inner(children) => {
                // Behind all others: into the last child.
                let at = below(children, item.order()).min(children.len() - 1);
                let split = Arc::make_mut(children)[at].put(item);
                split.and_then(|split| insert(children, at + 1, split)).map(Node::Inner)
            }
        };
        self.count();
        split.map(Child::new)
    }

    /// Takes out an item that is there.
    fn remove(&mut self, order: u128) {
        match &mut self.node {
            Node::Leaf(items) => {
                if let Ok(at) = items.binary_search_by_key(&order, Ordered::order) {
                    Arc::make_mut(items).remove(at);
                }
            }
            Node::Inner(children) => {
                let at = below(children, order);
                let children = Arc::make_mut(children);
                children[at].remove(order);
                tidy(children, at);
            }
        }
        self.count();
    }

    fn entries(&self) -> usize {
        match &self.node {
            Node::Leaf(items) => items.len(),
            Node::Inner(children) => children.len(),
        }
    }

    /// Takes the right neighbour's entries in.
    fn absorb(&mut self, right: Child<T>) {
        match (&mut self.node, right.node) {
            (Node::Leaf(items), Node::Leaf(more)) => Arc::make_mut(items).extend(Arc::unwrap_or_clone(more)),
            (Node::Inner(children), Node::Inner(more)) => Arc::make_mut(children).extend(Arc::unwrap_or_clone(more)),
            _ => unreachable!("all leaves are equally deep"),
        }
        self.count();
    }
}

/// Index of the child that the number falls to; behind the last if it is greater than all.
fn below<T>(children: &[Child<T>], order: u128) -> usize {
    children.partition_point(|child| child.last < order)
}

/// Inserts an entry; the second half, if there was no room. Who adds at one end leaves full nodes behind.
fn insert<E: Clone>(entries: &mut Arc<Vec<E>>, at: usize, entry: E) -> Option<Arc<Vec<E>>> {
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

/// After a removal below the child at `at`: drops it if it is empty, merges it with a neighbour if both are small.
fn tidy<T: Ordered>(children: &mut Vec<Child<T>>, at: usize) {
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

impl<T: Ordered> Default for Sequence<T> {
    fn default() -> Sequence<T> {
        Sequence { root: Child::new(Node::Leaf(Arc::default())) }
    }
}

impl<T: Ordered> Sequence<T> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.root.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of them are visible.
    pub fn visible_len(&self) -> usize {
        self.root.visible
    }

    /// The item with this number.
    pub fn get(&self, order: u128) -> Option<&T> {
        let mut child = &self.root;
        loop {
            match &child.node {
                Node::Leaf(items) => {
                    return items.binary_search_by_key(&order, Ordered::order).ok().map(|at| &items[at]);
                }
                Node::Inner(children) => child = children.get(below(children, order))?,
            }
        }
    }

    /// How many items stand before this number, and how many of them are visible.
    pub fn rank(&self, order: u128) -> (usize, usize) {
        let (mut before, mut visible) = (0, 0);
        let mut child = &self.root;
        loop {
            match &child.node {
                Node::Leaf(items) => {
                    let passed = items.iter().take_while(|item| item.order() < order);
                    return passed.fold((before, visible), |(before, visible), item| {
                        (before + 1, visible + usize::from(item.is_visible()))
                    });
                }
                Node::Inner(children) => {
                    let at = below(children, order);
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

    /// The item at this index, hidden ones counted.
    pub fn nth(&self, index: usize) -> Option<&T> {
        self.select(index, |child| child.len, |_| true)
    }

    /// The item at this position, hidden ones not counted.
    pub fn nth_visible(&self, position: usize) -> Option<&T> {
        self.select(position, |child| child.visible, Ordered::is_visible)
    }

    /// The last item that is not visible.
    pub fn last_hidden(&self) -> Option<&T> {
        let hidden = self.len() - self.visible_len();
        self.select(hidden.checked_sub(1)?, |child| child.len - child.visible, |item| !item.is_visible())
    }

    /// The item that has `skip` of its kind before it.
    fn select(&self, mut skip: usize, count: fn(&Child<T>) -> usize, is_one: fn(&T) -> bool) -> Option<&T> {
        let mut child = &self.root;
        loop {
            match &child.node {
                Node::Leaf(items) => return items.iter().filter(|item| is_one(item)).nth(skip),
                Node::Inner(children) => {
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

    /// Puts an item in, or in the place of the one with its number.
    pub fn put(&mut self, item: T) {
        if let Some(right) = self.root.put(item) {
            let left = self.root.clone();
            self.root = Child::new(Node::Inner(Arc::new(vec![left, right])));
        }
    }

    /// Takes the item with this number out; `None` when there is none.
    pub fn remove(&mut self, order: u128) -> Option<T> {
        // Looked for first: what is not there must not cost copies.
        let item = self.get(order)?.clone();
        self.root.remove(order);
        loop {
            let only = match &self.root.node {
                Node::Inner(children) if children.len() == 1 => children[0].clone(),
                Node::Inner(children) if children.is_empty() => Sequence::default().root,
                _ => return Some(item),
            };
            self.root = only;
        }
    }

    /// All items in order.
    pub fn iter(&self) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend(&self.root);
        iter
    }

    /// The items from this index on, hidden ones counted. What stands before is not walked.
    pub fn iter_at(&self, index: usize) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend_to(&self.root, index, |child| child.len, |_| true);
        iter
    }

    /// The visible items from this position on. Neither what stands before nor stretches of hidden items are walked.
    pub fn visible_at(&self, position: usize) -> Visible<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter() };
        iter.descend_to(&self.root, position, |child| child.visible, Ordered::is_visible);
        Visible(iter)
    }
}

impl<T: Ordered> FromIterator<T> for Sequence<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Sequence<T> {
        let mut sequence = Sequence::default();
        for item in items {
            sequence.put(item);
        }
        sequence
    }
}

impl<'a, T: Ordered> IntoIterator for &'a Sequence<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// A persistent map from numbers to numbers, made of a [`Sequence`]: a change of it copies less than one of a hash trie.
#[derive(Debug, Clone, Default)]
pub struct Numbers(Sequence<Pair>);

#[derive(Debug, Clone, Copy)]
struct Pair {
    key: u128,
    value: u128,
}

impl Ordered for Pair {
    fn order(&self) -> u128 {
        self.key
    }

    fn is_visible(&self) -> bool {
        true
    }
}

impl Numbers {
    /// The number kept for a key.
    pub fn get(&self, key: u128) -> Option<u128> {
        self.0.get(key).map(|pair| pair.value)
    }

    /// Keeps a number for a key, in place of what was kept.
    pub fn insert(&mut self, key: u128, value: u128) {
        self.0.put(Pair { key, value });
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: u128) {
        self.0.remove(key);
    }
}

impl FromIterator<(u128, u128)> for Numbers {
    fn from_iter<I: IntoIterator<Item = (u128, u128)>>(pairs: I) -> Numbers {
        Numbers(pairs.into_iter().map(|(key, value)| Pair { key, value }).collect())
    }
}

/// The items of a [`Sequence`] in order.
#[derive(Debug)]
pub struct Iter<'a, T> {
    /// What is left of the inner nodes above `leaf`, outermost first.
    path: Vec<std::slice::Iter<'a, Child<T>>>,
    leaf: std::slice::Iter<'a, T>,
}

impl<'a, T> Iter<'a, T> {
    fn descend(&mut self, mut child: &'a Child<T>) {
        loop {
            match &child.node {
                Node::Leaf(items) => {
                    self.leaf = items.iter();
                    return;
                }
                Node::Inner(children) => {
                    let mut children = children.iter();
                    let Some(first) = children.next() else { return };
                    self.path.push(children);
                    child = first;
                }
            }
        }
    }
}

impl<'a, T: Ordered> Iter<'a, T> {
    /// Descends to the item that has `skip` of its kind before it; to nothing if there is none.
    fn descend_to(
        &mut self,
        mut child: &'a Child<T>,
        mut skip: usize,
        count: fn(&Child<T>) -> usize,
        is_one: fn(&T) -> bool,
    ) {
        loop {
            match &child.node {
                Node::Leaf(items) => {
                    let ones = items.iter().enumerate().filter(|(_, item)| is_one(item));
                    let at = ones.map(|(at, _)| at).nth(skip).unwrap_or(items.len());
                    self.leaf = items[at..].iter();
                    return;
                }
                Node::Inner(children) => {
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

/// The visible items of a [`Sequence`] in order.
#[derive(Debug)]
pub struct Visible<'a, T>(Iter<'a, T>);

impl<'a, T: Ordered> Iterator for Visible<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let Visible(iter) = self;
        loop {
            if let Some(item) = iter.leaf.find(|item| item.is_visible()) {
                return Some(item);
            }
            // A node in which nothing is visible is passed over whole.
            match iter.path.last_mut()?.find(|child| child.visible > 0) {
                Some(Child { node: Node::Leaf(items), .. }) => iter.leaf = items.iter(),
                Some(Child { node: Node::Inner(children), .. }) => iter.path.push(children.iter()),
                None => {
                    iter.path.pop();
                }
            }
        }
    }
}
