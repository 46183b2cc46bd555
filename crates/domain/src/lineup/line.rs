//! A line of a lineup: a member or a divider.

use std::sync::Arc;

use super::Divider;
use crate::command::Context;
use crate::id::Loid;
use crate::sequence::{MovableItem, SequenceItem};

/// An entry of a lineup that is not a divider; its type depends on the family.
pub trait LineupEntry: MovableItem {
    /// Returns the id, which is unique among the lines of the container.
    fn id(&self) -> u128;

    /// Returns the object that a reader must be allowed to read to see the entry. With `None` all
    /// readers of the lineup see it.
    fn object(&self) -> Option<Loid>;

    /// Writes the entry's row; `old` is the previous one.
    fn put(&self, old: Option<&Self>, context: &mut Context<'_>);

    /// Removes the entry's row.
    fn remove(&self, context: &mut Context<'_>);
}

/// A line of a lineup.
#[derive(Debug, Clone)]
pub enum Line<M, const KIND: u8> {
    /// An entry of the family.
    Member(M),
    /// A divider.
    Divider(Arc<Divider<KIND>>),
}

impl<M: LineupEntry, const KIND: u8> Line<M, KIND> {
    /// Returns the entry, if the line is one.
    pub fn member(&self) -> Option<&M> {
        match self {
            Line::Member(member) => Some(member),
            Line::Divider(_) => None,
        }
    }

    /// Returns the divider, if the line is one.
    pub fn divider(&self) -> Option<&Arc<Divider<KIND>>> {
        match self {
            Line::Member(_) => None,
            Line::Divider(divider) => Some(divider),
        }
    }

    /// Returns the id, which is unique among the lines of the container.
    pub fn id(&self) -> u128 {
        match self {
            Line::Member(member) => member.id(),
            Line::Divider(divider) => divider.id.into(),
        }
    }

    pub(super) fn put(&self, old: Option<&Line<M, KIND>>, context: &mut Context<'_>) {
        match (self, old) {
            (Line::Member(new), old) => new.put(old.and_then(Line::member), context),
            (Line::Divider(new), old) => context.put(old.and_then(Line::divider).map(|old| &**old), &**new),
        }
    }

    pub(super) fn remove(&self, context: &mut Context<'_>) {
        match self {
            Line::Member(member) => member.remove(context),
            Line::Divider(divider) => context.remove(&**divider),
        }
    }
}

impl<M: LineupEntry, const KIND: u8> SequenceItem for Line<M, KIND> {
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

impl<M: LineupEntry, const KIND: u8> MovableItem for Line<M, KIND> {
    fn at(&self, order: u128) -> Line<M, KIND> {
        match self {
            Line::Member(member) => Line::Member(member.at(order)),
            Line::Divider(divider) => Line::Divider(Arc::new(divider.at(order))),
        }
    }
}
