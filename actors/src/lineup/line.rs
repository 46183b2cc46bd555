//! A line of a lineup: a member or a divider.

use std::sync::Arc;

use super::Divider;
use crate::command::Context;
use crate::id::Loid;
use crate::sequence::{Movable, Ordered};

/// What a family puts into a lineup beside dividers.
pub trait Member: Movable {
    /// Distinguishes it from all other lines of its container.
    fn id(&self) -> u128;

    /// The object that must be read by whoever is to see it; `None`: everybody sees it who sees the
    /// lineup.
    fn object(&self) -> Option<Loid>;

    /// Writes its row, `old` as it was.
    fn put(&self, old: Option<&Self>, context: &mut Context<'_>);

    /// Removes its row.
    fn remove(&self, context: &mut Context<'_>);
}

/// See the module's head.
#[derive(Debug, Clone)]
pub enum Line<M, const KIND: u8> {
    /// One of the family.
    Member(M),
    /// A divider.
    Divider(Arc<Divider<KIND>>),
}

impl<M: Member, const KIND: u8> Line<M, KIND> {
    /// The member, if it is one.
    pub fn member(&self) -> Option<&M> {
        match self {
            Line::Member(member) => Some(member),
            Line::Divider(_) => None,
        }
    }

    /// The divider, if it is one.
    pub fn divider(&self) -> Option<&Arc<Divider<KIND>>> {
        match self {
            Line::Member(_) => None,
            Line::Divider(divider) => Some(divider),
        }
    }

    /// Distinguishes it from all other lines of its container.
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

impl<M: Member, const KIND: u8> Ordered for Line<M, KIND> {
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

impl<M: Member, const KIND: u8> Movable for Line<M, KIND> {
    fn at(&self, order: u128) -> Line<M, KIND> {
        match self {
            Line::Member(member) => Line::Member(member.at(order)),
            Line::Divider(divider) => Line::Divider(Arc::new(divider.at(order))),
        }
    }
}
