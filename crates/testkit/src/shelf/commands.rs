//! The commands that change shelves.

use stet_domain::command::{Command, CommandFault, Context};
use stet_domain::error::{Code, Error};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::joint::{ContainerTurns, JointCommand};
use stet_domain::object::SharedText;

use super::rows::SlotContent;
use super::{Shelf, ShelfState};

/// Puts an object or a divider on a board, at a position among all visible slots.
#[derive(Debug, Clone)]
pub struct PutOnShelf {
    /// The name of an existing board.
    pub board: SharedText,
    /// The object or divider.
    pub stands: SlotContent,
    /// The position from 0; beyond the last slot it is the end.
    pub position: usize,
}

impl Command for PutOnShelf {
    type Family = Shelf;
    /// The id of the new slot.
    type Reply = u64;
    const NAME: &'static str = "test.shelf.put";

    fn apply(&self, shelf: &mut ShelfState, context: &mut Context<'_>) -> Result<u64, CommandFault> {
        if !shelf.head().boards.contains(&self.board) {
            return Err(Error::new(Code::ObjectNotFound, format!("The shelf has no board `{}`.", self.board)).into());
        }
        if let Some(object) = self.stands.object() {
            if !context.is_alive(object)? {
                return Err(Error::not_found(object).into());
            }
            context.concerns(shelf.object().record.loid, object);
        }
        let id = context.next_number()?;
        shelf.put(id, &self.board, self.stands.clone(), self.position, context);
        Ok(id)
    }
}

/// Removes a slot with its content.
#[derive(Debug, Clone)]
pub struct TakeFromShelf {
    /// The id of the slot.
    pub slot: u64,
}

impl Command for TakeFromShelf {
    type Family = Shelf;
    type Reply = ();
    const NAME: &'static str = "test.shelf.take";

    fn apply(&self, shelf: &mut ShelfState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let slot = shelf.slot(self.slot)?;
        shelf.take(&slot, context);
        context.concerns(shelf.object().record.loid, slot.id);
        Ok(())
    }
}

/// Moves a slot to the first board of another shelf, or to another position of the same shelf.
#[derive(Debug, Clone)]
pub struct CarrySlot {
    /// The id of the slot.
    pub slot: u64,
    /// The source shelf.
    pub from: Loid,
    /// The target shelf.
    pub to: Loid,
    /// The position in the target shelf, as in [`PutOnShelf::position`].
    pub position: usize,
}

impl JointCommand for CarrySlot {
    type Reply = ();
    const NAME: &'static str = "test.shelf.carry";

    fn wants(&self) -> Vec<Loid> {
        vec![self.from, self.to]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let from = turns.get::<Shelf>(self.from)?;
        context.expects(&from.object().record);
        let slot = from.slot(self.slot)?;
        if self.from == self.to {
            from.carry(&slot, self.position, context);
            return Ok(());
        }
        if let Some(object) = slot.stands.object()
            && !context.is_alive(object)?
        {
            return Err(Error::not_found(object).into());
        }
        turns.get::<Shelf>(self.from)?.take(&slot, context);
        let to = turns.get::<Shelf>(self.to)?;
        let board = to.head().boards[0].clone();
        to.put(slot.id, &board, slot.stands, self.position, context);
        Ok(())
    }
}
