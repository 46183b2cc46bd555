//! The creation of a topic or plan, and the overwriting of an existing one that a creation names.

use std::sync::Arc;

use super::{Planning, PlanningHead, PlanningState, check_room};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{CreateMode, Object, SharedText};

/// The greatest number of lines of a new container: all are created in one step.
pub const MAX_NEW_LINES: usize = 1000;

/// The values of a new topic or plan.
#[derive(Debug, Clone)]
pub struct NewPlanning<F: Planning> {
    /// The title; `None` takes that of `begins_with`.
    pub title: Option<SharedText>,
    /// The description; `None` takes that of `begins_with`.
    pub description: Option<SharedText>,
    /// The title and description of the template, or empty. An existing container keeps its own,
    /// unless it is replaced.
    pub begins_with: (SharedText, SharedText),
    /// The initial lines, first to last.
    pub lines: Vec<F::NewLine>,
}

impl<F: Planning> Default for NewPlanning<F> {
    fn default() -> NewPlanning<F> {
        NewPlanning { title: None, description: None, begins_with: Default::default(), lines: Vec::new() }
    }
}

impl<F: Planning> NewPlanning<F> {
    /// Writes head and lines of a new container. Returns the bytes of memory that it takes.
    pub(super) fn make(&self, mut object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        let head = self.head_of_new(object.record.loid)?;
        context.alters(self.count()?)?;
        context.put(None, &head);
        // The entries get the revision that the container begins with.
        Arc::make_mut(&mut object.record).revision -= 1;
        let mut state = PlanningState::new(object, head, Vec::new(), Vec::new());
        F::append(&mut state, &self.lines, context)?;
        Ok(state.bytes())
    }

    /// Overwrites an existing container.
    pub(super) fn write_over(
        &self,
        state: &mut PlanningState<F>,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let (loid, replaces) = (state.object().record.loid, mode == CreateMode::Replace);
        let head = if replaces {
            self.head_of_new(loid)?
        } else {
            state.head().clone().with(self.title.as_ref(), self.description.as_ref())?
        };
        let lines = self.count()?;
        context.alters(lines + if replaces { state.lines() } else { 0 })?;
        if replaces {
            state.clear(context)?;
        }
        state.set_head(head, context);
        check_room(loid, state.lines() + lines)?;
        F::append(state, &self.lines, context)
    }

    /// Returns the head of a new or replaced container.
    fn head_of_new(&self, loid: Loid) -> Result<PlanningHead<F>> {
        let (title, description) = self.begins_with.clone();
        PlanningHead::new(loid, title, description).with(self.title.as_ref(), self.description.as_ref())
    }

    /// Returns the number of initial lines.
    ///
    /// # Errors
    /// `TooLarge` if there are more than [`MAX_NEW_LINES`].
    fn count(&self) -> Result<usize> {
        let lines = F::count(&self.lines);
        if lines <= MAX_NEW_LINES {
            return Ok(lines);
        }
        let message = format!(
            "The new {} would have {lines} {}s and dividers; at most {MAX_NEW_LINES} are allowed.",
            F::CONTAINER_NOUN,
            F::ENTRY_NOUN
        );
        Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_NEW_LINES))
    }
}
