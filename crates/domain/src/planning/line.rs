//! A line of a lineup: an entry or a divider.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Divider, Planning};
use crate::command::Context;
use crate::id::Loid;
use crate::sequence::{MovableItem, SequenceItem};
use crate::store::{Row, RowPlace};

/// An entry of a lineup that is not a divider: an item of a topic, a topic of a plan.
pub trait LineupEntry: Row + MovableItem + Debug {
    /// An index of a container's entries, beside that of their loids.
    type Index: Debug + Clone + Default + Send + Sync + Unpin + 'static;

    /// Returns the loid, which is unique among the entries of the container.
    fn loid(&self) -> Loid;

    /// Returns the entry in whose lineup this one stands; `None` for the container's own lineup.
    fn under(&self) -> Option<Loid> {
        None
    }

    /// Returns the object that a reader must be allowed to read to see the entry. With `None` all
    /// readers of the lineup see it.
    fn object(&self) -> Option<Loid>;

    /// Returns the object that the entry holds, and whether the entry treats it as discarded.
    fn held(&self) -> Option<(Loid, bool)>;

    /// Returns the approximate bytes of memory, with those of the entries in indexes.
    fn bytes(&self) -> usize;

    /// Replaces the state `old` of an entry with `new` in the index.
    fn reindex(index: &mut Self::Index, old: Option<&Self>, new: Option<&Self>) {
        let _ = (index, old, new);
    }
}

/// A line of a lineup.
#[derive(Debug, Clone)]
pub enum Line<F: Planning> {
    /// An entry of the family.
    Member(Arc<F::Entry>),
    /// A divider.
    Divider(Arc<Divider<F>>),
}

impl<F: Planning> Line<F> {
    /// Returns the entry, if the line is one.
    pub fn member(&self) -> Option<&Arc<F::Entry>> {
        match self {
            Line::Member(member) => Some(member),
            Line::Divider(_) => None,
        }
    }

    /// Returns the divider, if the line is one.
    pub fn divider(&self) -> Option<&Arc<Divider<F>>> {
        match self {
            Line::Member(_) => None,
            Line::Divider(divider) => Some(divider),
        }
    }

    /// Returns the id, which is unique among the lines of the container. The number of a divider is
    /// part of no loid.
    pub fn id(&self) -> u128 {
        match self {
            Line::Member(member) => member.loid().to_number(),
            Line::Divider(divider) => divider.id.into(),
        }
    }

    /// Returns the entry in whose lineup the line stands; `None` for the container's own lineup.
    pub(super) fn under(&self) -> Option<Loid> {
        match self {
            Line::Member(member) => member.under(),
            Line::Divider(divider) => divider.under(),
        }
    }

    /// Returns the approximate bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        // The other fields of a divider, and its index entries.
        const DIVIDER: usize = 384;
        match self {
            Line::Member(member) => member.bytes(),
            Line::Divider(divider) => DIVIDER + divider.title.len(),
        }
    }

    /// Returns the place of the row.
    pub(super) fn place(&self) -> RowPlace {
        match self {
            Line::Member(member) => member.place(),
            Line::Divider(divider) => divider.place(),
        }
    }

    pub(super) fn put(&self, old: Option<&Line<F>>, context: &mut Context<'_>) {
        match self {
            Line::Member(new) => context.put(old.and_then(Line::member).map(|old| &**old), &**new),
            Line::Divider(new) => context.put(old.and_then(Line::divider).map(|old| &**old), &**new),
        }
    }

    pub(super) fn remove(&self, context: &mut Context<'_>) {
        match self {
            Line::Member(member) => context.remove(&**member),
            Line::Divider(divider) => context.remove(&**divider),
        }
    }
}

impl<F: Planning> SequenceItem for Line<F> {
    fn order(&self) -> u128 {
        match self {
            Line::Member(member) => member.order(),
            Line::Divider(divider) => divider.order(),
        }
    }

    fn is_visible(&self) -> bool {
        match self {
            Line::Member(member) => member.is_visible(),
            Line::Divider(_) => true,
        }
    }
}

impl<F: Planning> MovableItem for Line<F> {
    fn at(&self, order: u128) -> Line<F> {
        match self {
            Line::Member(member) => Line::Member(Arc::new(member.at(order))),
            Line::Divider(divider) => Line::Divider(Arc::new(divider.at(order))),
        }
    }
}
