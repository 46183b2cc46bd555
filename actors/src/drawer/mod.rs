//! Drawers: bounded, ordered lists of shortcuts to objects (docs/api/drawers.md).

mod commands;
mod make;
mod prove;
mod rows;
mod state;
mod update;

pub use self::commands::{Add, Clear, Move, Moved, Placed, Position, Remove, Removed, Shift, Update};
pub use self::make::{NewDrawer, check_capacity};
pub use self::rows::{DrawerHead, HEAD, ITEM, Item};
pub use self::state::{Address, DrawerState};
pub use self::update::UpdateDrawer;
use crate::command::{Context, Fault};
use crate::family::{Family, Fate};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, Parts};
use crate::proof::Proof;
use crate::store::StoreError;

/// The largest capacity a drawer can have.
pub const MAX_CAPACITY: u32 = 10_000;

/// The family of drawers.
#[derive(Debug)]
pub struct Drawer;

impl Family for Drawer {
    type State = DrawerState;
    type New = NewDrawer;
    const KIND: FamilyKind = FamilyKind::Drawer;
    const PARTS: &'static [PartKind] = &[HEAD, ITEM];
    const HAS_CONTENT: bool = false;

    fn load(object: Object, parts: &Parts<'_>) -> Result<DrawerState, StoreError> {
        Ok(DrawerState::new(object, parts.head(HEAD)?, parts.all(ITEM)?))
    }

    fn make(new: &NewDrawer, object: Object, context: &mut Context<'_>) -> Result<usize, Fault> {
        new.make(object, context)
    }

    fn write_over(
        new: &NewDrawer,
        drawer: &mut DrawerState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        new.write_over(drawer, mode, context)
    }

    fn member(drawer: &mut DrawerState, member: Loid, becomes: Fate, context: &mut Context<'_>) -> Result<(), Fault> {
        match becomes {
            Fate::Hidden => drawer.set_hidden(member, true, context),
            Fate::Shown => drawer.set_hidden(member, false, context),
            Fate::Gone => drawer.take_object(member, context),
        };
        Ok(())
    }

    fn dissolve(drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), Fault> {
        drawer.dissolve(context)
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove(record, proof)
    }
}
