//! The commands that topics and plans have in common: those that change dividers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Divider, Line, NewDivider, Planning, PlanningState, check_room};
use crate::command::{Command, CommandFault, Context};
use crate::family::State;

/// The divider that a command was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DividerResult {
    /// The divider.
    pub divider: u64,
}

/// Adds a divider to a container, or to one of its entries.
#[derive(Debug, Clone)]
pub struct AddDivider<F: Planning> {
    /// The entry that gets the divider, or the container itself.
    pub under: F::Parent,
    /// The title and position of the divider.
    pub divider: NewDivider,
}

impl<F: Planning> Command for AddDivider<F> {
    type Family = F;
    type Reply = DividerResult;
    const NAME: &'static str = F::ADD_DIVIDER;

    fn apply(&self, state: &mut PlanningState<F>, context: &mut Context<'_>) -> Result<DividerResult, CommandFault> {
        self.divider.check()?;
        let (loid, under) = (state.object().record.loid, F::find_parent(state, &self.under)?);
        check_room(loid, state.lines() + 1)?;
        state.lineup_under(under).check_room_for_divider()?;
        let place = state.lineup_under(under).place(self.divider.position, &mut context.reads()?)?;
        let title = self.divider.title.clone().unwrap_or_default();
        let divider = state.insert_divider(under, title, place, context)?;
        context.concerns(loid, divider);
        Ok(DividerResult { divider })
    }
}

/// Changes a divider's title or place.
#[derive(Debug, Clone)]
pub struct UpdateDivider<F: Planning> {
    /// The entry that has the divider, or the container itself.
    pub under: F::Parent,
    /// The id of the divider.
    pub id: u64,
    /// The new title and position.
    pub divider: NewDivider,
}

impl<F: Planning> Command for UpdateDivider<F> {
    type Family = F;
    type Reply = DividerResult;
    const NAME: &'static str = F::UPDATE_DIVIDER;

    fn apply(&self, state: &mut PlanningState<F>, context: &mut Context<'_>) -> Result<DividerResult, CommandFault> {
        self.divider.check()?;
        let under = F::find_parent(state, &self.under)?;
        let old = state.divider(under, self.id)?.clone();
        let place = state.place_to_move(&Line::Divider(old.clone()), self.divider.position, context)?;
        let title = self.divider.title.as_ref().unwrap_or(&old.title).clone();
        if place.is_some() || title != old.title {
            let new = Line::Divider(Arc::new(Divider { title, ..Divider::clone(&old) }));
            context.concerns(state.object().record.loid, self.id);
            state.change(&Line::Divider(old), new, place, context);
        }
        Ok(DividerResult { divider: self.id })
    }
}

/// Removes a divider.
#[derive(Debug, Clone)]
pub struct RemoveDivider<F: Planning> {
    /// The entry that has the divider, or the container itself.
    pub under: F::Parent,
    /// The id of the divider.
    pub id: u64,
}

impl<F: Planning> Command for RemoveDivider<F> {
    type Family = F;
    type Reply = DividerResult;
    const NAME: &'static str = F::REMOVE_DIVIDER;

    fn apply(&self, state: &mut PlanningState<F>, context: &mut Context<'_>) -> Result<DividerResult, CommandFault> {
        let under = F::find_parent(state, &self.under)?;
        let line = Line::Divider(state.divider(under, self.id)?.clone());
        context.concerns(state.object().record.loid, self.id);
        state.take(&[line], context)?;
        Ok(DividerResult { divider: self.id })
    }
}
