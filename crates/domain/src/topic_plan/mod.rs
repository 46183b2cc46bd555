//! Topic plans: topics in a manual order, with dividers between them (docs/api/topic-plans.md).
//!
//! A plan holds topics as a drawer holds objects. It is notified when a topic is discarded,
//! restored or destroyed, but not of changes inside a topic. A plan holds a topic at most once.

mod commands;
mod make;
mod prove;
mod rows;
mod state;

pub use self::commands::{
    AddPlanDivider, AddPlanTopic, MAX_MOVED_PLACES, MAX_MOVED_TOPICS, MovePlanTopics, PlanDividerResult,
    PlannedTopicResult, RemovePlanDivider, RemovePlanTopic, UpdatePlanDivider,
};
pub use self::make::{MAX_NEW_LINES, NewPlan, NewPlanLine};
pub use self::rows::{DIVIDER, HEAD, PlanDivider, PlanHead, PlanLineup, PlanLineupLine, PlannedTopic, TOPIC};
pub use self::state::PlanState;
use crate::command::{Command, CommandFault, Context};
use crate::family::{Family, MemberFate};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, PartReader};
use crate::proof::Proof;
use crate::store::StoreError;

/// The family of topic plans.
#[derive(Debug)]
pub struct TopicPlan;

impl Family for TopicPlan {
    type State = PlanState;
    type New = NewPlan;
    const KIND: FamilyKind = FamilyKind::TopicPlan;
    const PARTS: &'static [PartKind] = &[HEAD, TOPIC, DIVIDER];
    const HAS_CONTENT: bool = false;
    const PART_EVENTS: &'static [&'static str] =
        &[AddPlanDivider::NAME, UpdatePlanDivider::NAME, RemovePlanDivider::NAME];

    fn load(object: Object, parts: &PartReader<'_>) -> Result<PlanState, StoreError> {
        Ok(PlanState::new(object, parts.head(HEAD)?, parts.all(TOPIC)?, parts.all(DIVIDER)?))
    }

    fn make(new: &NewPlan, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        new.make(object, context)
    }

    fn write_over(
        new: &NewPlan,
        plan: &mut PlanState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        new.write_over(plan, mode, context)
    }

    fn member(
        plan: &mut PlanState,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        plan.member(member, becomes, context);
        Ok(())
    }

    fn dissolve(plan: &mut PlanState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        plan.dissolve(context);
        Ok(())
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove(record, proof)
    }
}
