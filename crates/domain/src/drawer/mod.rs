//! Drawers: bounded, ordered lists of shortcuts to objects (docs/api/drawers.md).

mod commands;
mod make;
mod past;
mod prove;
mod rows;
mod state;
mod update;

pub use self::commands::{
    AddDrawerItems, ClearDrawer, DrawerHeadUpdate, DrawerMoveResult, DrawerRemovalResult, ItemPositions,
    MoveDrawerItem, PlaceDrawerItem, RemoveDrawerItems, ShiftDrawerItem,
};
pub use self::make::{NewDrawer, check_capacity};
pub use self::past::{
    DrawerItemStep, DrawerPast, DrawerStep, DrawerUndoStep, RevertDrawer, UndoDrawerChange, changed_since,
};
pub use self::rows::{DrawerHead, HEAD, ITEM, Item};
pub use self::state::{DrawerItemAddress, DrawerState};
pub use self::update::UpdateDrawer;
use crate::command::{CommandFault, Context};
use crate::family::{Family, MemberFate};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, PartReader};
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

    fn load(object: Object, parts: &PartReader<'_>) -> Result<DrawerState, StoreError> {
        Ok(DrawerState::new(object, parts.head(HEAD)?, parts.all(ITEM)?))
    }

    fn make(new: &NewDrawer, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        new.make(object, context)
    }

    fn write_over(
        new: &NewDrawer,
        drawer: &mut DrawerState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        new.write_over(drawer, mode, context)
    }

    fn member(
        drawer: &mut DrawerState,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        match becomes {
            MemberFate::Hidden => drawer.set_hidden(member, true, context),
            MemberFate::Shown => drawer.set_hidden(member, false, context),
            MemberFate::Gone => drawer.take_object(member, context),
        };
        Ok(())
    }

    fn dissolve(drawer: &mut DrawerState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        drawer.dissolve(context)
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove(record, proof)
    }
}
