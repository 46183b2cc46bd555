//! The differences between the families of planning.

use std::fmt::Debug;

use super::{LineupEntry, PlanningState};
use crate::command::{CommandFault, Context};
use crate::error::Result;
use crate::family::MemberFate;
use crate::id::Loid;
use crate::object::FamilyKind;
use crate::part::PartKind;

/// A family of containers with a title, a description and a lineup.
pub trait Planning: Debug + Copy + Eq + Send + Sync + 'static {
    /// The entries between the dividers.
    type Entry: LineupEntry;

    /// The address of the entry below which a divider stands.
    type Parent: Debug + Clone + Send + Sync + 'static;

    /// An initial line of a new container.
    type NewLine: Debug + Clone + Send + Sync + 'static;

    /// The kind of objects that belong to the family.
    const FAMILY: FamilyKind;

    /// The kind of the head.
    const HEAD: PartKind;

    /// The kind of entries.
    const ENTRY: PartKind;

    /// The kind of dividers.
    const DIVIDER: PartKind;

    /// The name of the command that adds a divider.
    const ADD_DIVIDER: &'static str;

    /// The name of the command that changes a divider.
    const UPDATE_DIVIDER: &'static str;

    /// The name of the command that removes a divider.
    const REMOVE_DIVIDER: &'static str;

    /// The names of the commands whose events name parts, and no objects.
    const EVENTS_OF_PARTS: &'static [&'static str];

    /// The noun for a container in messages.
    const CONTAINER_NOUN: &'static str;

    /// The noun for an entry in messages.
    const ENTRY_NOUN: &'static str;

    /// Returns the entry with an address; `None` stands for the container itself.
    ///
    /// # Errors
    /// `ObjectNotFound` if there is no such entry.
    fn find_parent(state: &PlanningState<Self>, parent: &Self::Parent) -> Result<Option<Loid>>;

    /// Returns the number of initial lines, with those below them.
    fn count(lines: &[Self::NewLine]) -> usize;

    /// Appends initial lines to a container that has room for them.
    ///
    /// # Errors
    /// An error if a rule forbids one of them.
    fn append(
        state: &mut PlanningState<Self>,
        lines: &[Self::NewLine],
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault>;

    /// Removes everything that entries have beside their own rows.
    ///
    /// # Errors
    /// Errors of the store.
    fn erase(entries: &[Loid], context: &mut Context<'_>) -> Result<(), CommandFault> {
        let _ = (entries, context);
        Ok(())
    }

    /// Applies the new state of an object to the entries that hold it
    /// ([`crate::family::Family::member`]).
    ///
    /// # Errors
    /// Errors of the store.
    fn update_holders(
        state: &mut PlanningState<Self>,
        object: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault>;
}
