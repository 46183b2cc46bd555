//! Topic plans: topics in a manual order, with dividers between them (docs/api/topic-plans.md).
//!
//! A plan holds topics as a drawer holds objects. It is notified when a topic is discarded,
//! restored or destroyed, but not of changes inside a topic. A plan holds a topic at most once.

mod commands;
mod rows;

use std::sync::Arc;

use self::commands::check_topic;
pub use self::commands::{
    AddPlanTopic, MAX_MOVED_PLACES, MAX_MOVED_TOPICS, MovePlanTopics, PlannedTopicResult, RemovePlanTopic,
};
pub use self::rows::PlannedTopic;
use super::{Divider, Line, NewPlanning, Planning, PlanningHead, PlanningState};
use crate::command::{CommandFault, Context};
use crate::error::Result;
use crate::family::MemberFate;
use crate::id::Loid;
use crate::object::{FamilyKind, SharedText};
use crate::part::PartKind;
use crate::sequence::SequenceItem;

/// The family of topic plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicPlan;

/// The state of a plan.
pub type PlanState = PlanningState<TopicPlan>;

/// The values of a new plan. A topic that its lines repeat is added once.
pub type NewPlan = NewPlanning<TopicPlan>;

/// An initial line of a plan.
#[derive(Debug, Clone)]
pub enum NewPlanLine {
    /// A divider with this title.
    Divider(SharedText),
    /// An existing topic.
    Topic(Loid),
}

impl Planning for TopicPlan {
    type Entry = PlannedTopic;
    /// Nothing stands below the topics of a plan.
    type Parent = ();
    type NewLine = NewPlanLine;
    const FAMILY: FamilyKind = FamilyKind::TopicPlan;
    const HEAD: PartKind = PartKind::of::<PlanningHead<TopicPlan>>(10);
    const ENTRY: PartKind = PartKind::of::<PlannedTopic>(11);
    const DIVIDER: PartKind = PartKind::of::<Divider<TopicPlan>>(12);
    const ADD_DIVIDER: &'static str = "topicplan.divider.add";
    const UPDATE_DIVIDER: &'static str = "topicplan.divider.update";
    const REMOVE_DIVIDER: &'static str = "topicplan.divider.remove";
    const EVENTS_OF_PARTS: &'static [&'static str] =
        &[TopicPlan::ADD_DIVIDER, TopicPlan::UPDATE_DIVIDER, TopicPlan::REMOVE_DIVIDER];
    const CONTAINER_NOUN: &'static str = "plan";
    const ENTRY_NOUN: &'static str = "topic";

    fn find_parent(_: &PlanState, (): &()) -> Result<Option<Loid>> {
        Ok(None)
    }

    fn count(lines: &[NewPlanLine]) -> usize {
        lines.len()
    }

    fn append(plan: &mut PlanState, lines: &[NewPlanLine], context: &mut Context<'_>) -> Result<(), CommandFault> {
        let mut reads = context.reads()?;
        for line in lines {
            match line {
                NewPlanLine::Divider(title) => {
                    plan.lineup().check_room_for_divider()?;
                    plan.insert_divider(None, title.clone(), usize::MAX, context)?;
                }
                NewPlanLine::Topic(topic) if plan.visible_line_of(*topic).is_none() => {
                    check_topic(*topic, &mut reads, context)?;
                    plan.insert_topic(*topic, usize::MAX, context);
                }
                NewPlanLine::Topic(_) => {}
            }
        }
        Ok(())
    }

    fn update_holders(
        plan: &mut PlanState,
        topic: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let Some(old) = plan.line_of(topic) else { return Ok(()) };
        let Line::Member(entry) = &old else { return Ok(()) };
        let hidden = match becomes {
            MemberFate::Gone => return plan.take(&[old], context),
            MemberFate::Hidden => true,
            MemberFate::Shown => false,
        };
        if entry.hidden != hidden {
            let new = PlannedTopic { hidden, ..**entry };
            plan.change(&old, Line::Member(Arc::new(new)), None, context);
        }
        Ok(())
    }
}

impl PlanState {
    /// Returns a topic's line, hidden or not.
    fn line_of(&self, topic: Loid) -> Option<Line<TopicPlan>> {
        self.find(topic.to_number()).map(|(_, line)| line.clone())
    }

    /// Returns a topic's line; `None` for a topic in the recycle bin.
    fn visible_line_of(&self, topic: Loid) -> Option<Line<TopicPlan>> {
        self.line_of(topic).filter(Line::is_visible)
    }

    /// Inserts a topic, which the plan does not hold yet, in front of a place.
    fn insert_topic(&mut self, topic: Loid, place: usize, context: &mut Context<'_>) {
        let new = PlannedTopic::new(self.head().loid, topic);
        self.insert(None, &Line::Member(Arc::new(new)), place, context);
    }
}
