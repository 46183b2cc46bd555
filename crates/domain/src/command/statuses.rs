//! Workflow rules for commands: changes of status, and closed containers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::{CommandFault, Context};
use crate::error::Result;
use crate::id::{DatabaseId, Loid};
use crate::object::{Object, Record, SharedText};
use crate::store::Table;
use crate::workflow::{StatusRights, WorkflowStatusChange, Workflows, closed_status_error};

/// The workflow rules that apply to one command, and the status changes that it makes.
#[derive(Default)]
pub(super) struct CommandStatuses<'a> {
    workflows: Option<&'a dyn Workflows>,
    rights: Option<&'a dyn StatusRights>,
    pub(super) changes: Vec<WorkflowStatusChange>,
    /// The statuses of new objects and parts.
    new: Vec<WorkflowStatusChange>,
    /// The containers in which only statuses change.
    alone: Vec<Loid>,
    /// The noted rows that closed containers accept.
    accepted: Vec<Range<usize>>,
}

impl<'a> Context<'a> {
    /// Returns the context of a command that is held to these workflows, for a caller with these
    /// rights. Without workflows every change of status is allowed, and no container is closed.
    #[must_use]
    pub fn governed_by(
        mut self,
        workflows: Option<&'a dyn Workflows>,
        rights: Option<&'a dyn StatusRights>,
    ) -> Context<'a> {
        (self.statuses.workflows, self.statuses.rights) = (workflows, rights);
        self
    }

    /// Notes the change of a part's status. The runtime finds changes of an object's own status
    /// itself.
    pub fn note_status(&mut self, container: Loid, before: &Record, after: &Record) {
        if before.status != after.status {
            self.statuses.changes.push(change_of(container, before, after));
        }
    }

    /// Notes the status of an object or part that the command makes in that folder or container.
    pub fn note_new_status(&mut self, place: Loid, made: &Record) {
        if made.status.is_some() {
            let before = Record { status: None, ..made.clone() };
            self.statuses.new.push(change_of(place, &before, made));
        }
    }

    /// Notes that only the statuses given to [`Context::note_status`] change in a container. Its
    /// only event is that of the status, and the container may be closed. `begun` is the number of
    /// rows that were noted before the change ([`Context::rows_noted`]).
    pub fn changes_only_status(&mut self, container: Loid, begun: usize) {
        self.statuses.alone.push(container);
        self.accept_in_closed(begun);
    }

    /// Exempts the rows noted since `begun` from the rule for closed containers. They follow from a
    /// change of an object that the container holds.
    pub fn accept_in_closed(&mut self, begun: usize) {
        self.statuses.accepted.push(begun..self.rows.noted().len());
    }

    /// Returns the number of rows noted so far.
    pub fn rows_noted(&self) -> usize {
        self.rows.noted().len()
    }

    /// Returns whether the workflow of a type has a status; false without workflows.
    pub fn has_status(&self, database: DatabaseId, type_name: &str, status: &str) -> bool {
        self.statuses.workflows.is_some_and(|workflows| workflows.has_status(database, type_name, status))
    }

    /// Checks the command's changes of containers against the workflows. Each container is given
    /// before and after the command; `None` for one that is destroyed.
    ///
    /// # Errors
    /// `InvalidStatus`, `StatusNotFound`, `InvalidType`, `PermissionDenied`, for new objects too;
    /// `InvalidForContainer` for a change of the members of a closed container.
    pub fn check_statuses<'o>(
        &mut self,
        containers: impl Iterator<Item = (&'o Object, Option<&'o Object>)>,
    ) -> Result<(), CommandFault> {
        let mut closed_ones: HashMap<Loid, &SharedText> = HashMap::new();
        let mut retyped = HashSet::new();
        for (before, after) in containers {
            let Some(after) = after else { continue };
            let loid = before.record.loid;
            if let Some(status) = &before.record.status
                && self.statuses.workflows.is_some_and(|workflows| workflows.is_closed(loid.database, status))
            {
                closed_ones.insert(loid, status);
            }
            if let Some(workflows) = self.statuses.workflows
                && before.record.type_name != after.record.type_name
            {
                workflows.check_type_change(&before.record, &after.record)?;
                retyped.insert(loid);
                // Otherwise changing the type and back would evade the privilege of a status.
                for record in [&before.record, &after.record] {
                    if let (Some(rights), Some(_)) = (self.statuses.rights, &record.status) {
                        rights.check(&change_of(loid, &before.record, record), self.look)?;
                    }
                }
            }
            if before.record.status != after.record.status {
                self.statuses.changes.push(change_of(loid, &before.record, &after.record));
                if self.rows.noted().is_empty() && differ_by_status(before, after) {
                    self.statuses.alone.push(loid);
                }
            }
        }
        for change in &self.statuses.changes {
            if let Some(workflows) = self.statuses.workflows
                && !retyped.contains(&change.object)
            {
                workflows.check(change)?;
            }
            if let Some(rights) = self.statuses.rights {
                rights.check(change, self.look)?;
            }
        }
        self.check_new_statuses()?;
        if closed_ones.is_empty() {
            return Ok(());
        }
        let accepted = |at: usize| self.statuses.accepted.iter().any(|range| range.contains(&at));
        for (at, change) in self.rows.noted().iter().enumerate() {
            // A part that exists only once, such as the head with the title, has no key within its
            // kind.
            let is_member = change.table == Table::Parts && change.key.len() > Loid::KEY_LEN + 1;
            if is_member
                && let Some(container) = Loid::from_key(&change.key)
                && let Some(status) = closed_ones.get(&container)
                && !accepted(at)
            {
                return Err(closed_status_error(container, status).into());
            }
        }
        Ok(())
    }

    fn check_new_statuses(&self) -> Result<()> {
        let (Some(workflows), Some(rights)) = (self.statuses.workflows, self.statuses.rights) else { return Ok(()) };
        for made in &self.statuses.new {
            let is_first = |status: &SharedText| workflows.is_first(made.container.database, &made.type_name, status);
            if made.to.as_ref().is_some_and(|status| !is_first(status)) {
                rights.check_new(made, self.look)?;
            }
        }
        Ok(())
    }

    /// Returns the number of events for a changed container: one for each changed status, and one
    /// for the command itself unless only statuses change.
    pub fn events_of(&self, container: Loid) -> u64 {
        let statuses = self.statuses.changes.iter().filter(|change| change.container == container).count();
        let own = statuses == 0 || !self.statuses.alone.contains(&container);
        (statuses + usize::from(own)) as u64
    }
}

fn change_of(container: Loid, before: &Record, after: &Record) -> WorkflowStatusChange {
    WorkflowStatusChange {
        container,
        object: after.loid,
        type_name: after.type_name.clone(),
        from: before.status.clone(),
        to: after.status.clone(),
    }
}

/// Returns whether two states of an object differ in nothing but the status.
fn differ_by_status(before: &Object, after: &Object) -> bool {
    let mut same = Record::clone(&after.record);
    same.status.clone_from(&before.record.status);
    same == *before.record && Arc::ptr_eq(&before.attributes, &after.attributes)
}
