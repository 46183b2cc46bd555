//! Planning: topics (docs/api/topics.md), and plans that order topics (docs/api/topic-plans.md).
//!
//! The containers of both families have a title, a description and a [`Lineup`]: entries in a
//! manual order, with dividers between them. The entries of a topic are items, each with a lineup
//! of its own. Those of a plan are topics. [`Planning`] states how the families differ.
//!
//! Positions count visible lines from 0. An entry whose object is in the recycle bin keeps its
//! place, but does not count. A line keeps its order number while others are added and removed
//! ([`crate::sequence::MovableItem`]).

mod commands;
mod divider;
mod family;
mod head;
mod line;
mod lineup;
mod make;
mod moved;
pub mod plan;
mod prove;
mod state;
pub mod topic;

pub use self::commands::{AddDivider, DividerResult, RemoveDivider, UpdateDivider};
pub use self::divider::{Divider, NewDivider};
pub use self::family::Planning;
pub use self::head::PlanningHead;
pub use self::line::{Line, LineupEntry};
pub use self::lineup::{Lineup, MAX_DIVIDERS, MAX_LINES, check_room};
pub use self::make::{MAX_NEW_LINES, NewPlanning};
pub use self::moved::{ContainerRevision, LineMoveResult};
pub use self::state::PlanningState;
use crate::command::{CommandFault, Context};
use crate::family::{Family, MemberFate};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, PartReader};
use crate::proof::Proof;
use crate::store::StoreError;

impl<F: Planning> Family for F {
    type State = PlanningState<F>;
    type New = NewPlanning<F>;
    const KIND: FamilyKind = F::FAMILY;
    const PARTS: &'static [PartKind] = &[F::HEAD, F::ENTRY, F::DIVIDER];
    const HAS_CONTENT: bool = false;
    const PART_EVENTS: &'static [&'static str] = F::EVENTS_OF_PARTS;

    fn load(object: Object, parts: &PartReader<'_>) -> Result<PlanningState<F>, StoreError> {
        Ok(PlanningState::new(object, parts.head(F::HEAD)?, parts.all(F::ENTRY)?, parts.all(F::DIVIDER)?))
    }

    fn make(new: &NewPlanning<F>, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        new.make(object, context)
    }

    fn write_over(
        new: &NewPlanning<F>,
        state: &mut PlanningState<F>,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        new.write_over(state, mode, context)
    }

    fn member(
        state: &mut PlanningState<F>,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        F::update_holders(state, member, becomes, context)
    }

    fn dissolve(state: &mut PlanningState<F>, context: &mut Context<'_>) -> Result<(), CommandFault> {
        state.dissolve(context)
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove::<F>(record, proof)
    }
}
