//! The commands that change plans (docs/api/topic-plans.md).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{PlanState, TopicPlan};
use crate::command::{Command, CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{FamilyKind, HolderCursor, Record};
use crate::planning::{ContainerRevision, LineMoveResult, check_room};
use crate::readable::{ObjectRights, ReadCheck};
use crate::store::{ReadLevel, loid_key};

/// The topic that a command was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTopicResult {
    /// The topic.
    #[serde(with = "loid_key")]
    pub topic: Loid,
}

/// Refuses objects that a plan cannot hold: missing ones, ones that the caller may not read, and
/// those that are no topic.
pub(super) fn check_topic(topic: Loid, reads: &mut ReadCheck<'_>, context: &Context<'_>) -> Result<(), CommandFault> {
    if !context.is_alive(topic)? || !reads.may_read(topic)? {
        return Err(Error::not_found(topic).into());
    }
    let record = context.look_up::<Record>(&Record::live_key(topic))?.ok_or_else(|| Error::not_found(topic))?;
    if record.family == FamilyKind::Topic {
        return Ok(());
    }
    let message = format!("A plan holds only topics, but `{topic}` is a {}.", record.type_name);
    Err(Error::new(Code::InvalidForContainer, message).with_source(topic).into())
}

/// Adds a topic to a plan. A topic that the plan holds already stays in place, or moves to the
/// position if one is given.
#[derive(Debug, Clone, Copy)]
pub struct AddPlanTopic {
    /// The topic.
    pub topic: Loid,
    /// The position from 0 among dividers and the topics that the caller sees; −1 and `None` are
    /// the end.
    pub position: Option<i64>,
}

impl Command for AddPlanTopic {
    type Family = TopicPlan;
    type Reply = PlannedTopicResult;
    const NAME: &'static str = "topicplan.topic.add";

    fn apply(&self, plan: &mut PlanState, context: &mut Context<'_>) -> Result<PlannedTopicResult, CommandFault> {
        let mut reads = context.reads()?;
        check_topic(self.topic, &mut reads, context)?;
        let loid = plan.object().record.loid;
        if let Some(line) = plan.visible_line_of(self.topic) {
            if let Some(place) = plan.place_to_move(&line, self.position, context)? {
                plan.change(&line, line.clone(), Some(place), context);
                context.concerns(loid, self.topic);
            }
        } else {
            let place = plan.lineup().place(self.position, &mut reads)?;
            check_room(loid, plan.lines() + 1)?;
            plan.insert_topic(self.topic, place, context);
            context.concerns(loid, self.topic);
        }
        Ok(PlannedTopicResult { topic: self.topic })
    }
}

/// Removes a topic from a plan; the topic itself is not changed.
#[derive(Debug, Clone, Copy)]
pub struct RemovePlanTopic {
    /// The topic.
    pub topic: Loid,
}

impl Command for RemovePlanTopic {
    type Family = TopicPlan;
    type Reply = PlannedTopicResult;
    const NAME: &'static str = "topicplan.topic.remove";

    fn apply(&self, plan: &mut PlanState, context: &mut Context<'_>) -> Result<PlannedTopicResult, CommandFault> {
        let line = match plan.visible_line_of(self.topic) {
            Some(line) if context.reads()?.may_read(self.topic)? => line,
            _ => return Err(plan.not_held("topic", self.topic).into()),
        };
        plan.take(&[line], context)?;
        context.concerns(plan.object().record.loid, self.topic);
        Ok(PlannedTopicResult { topic: self.topic })
    }
}

/// The greatest number of topics of one move: no other change of any object runs during it.
pub const MAX_MOVED_TOPICS: usize = 500;

/// The greatest number of places, in plans and other containers, of the topics of one move: all are
/// read.
pub const MAX_MOVED_PLACES: usize = 5000;

/// Moves topics into a plan, all or none. They leave all live plans that hold them at that time.
#[derive(Debug, Clone)]
pub struct MovePlanTopics {
    /// The topics in their new order, at most [`MAX_MOVED_TOPICS`].
    pub topics: Vec<Loid>,
    /// The plan that receives the topics.
    pub target: Loid,
    /// The position of the first topic, counted from 0 among the lines that stay in the target; −1
    /// and `None` are the end.
    pub position: Option<i64>,
    /// The plans that the caller may change, of those that the topics leave; `None` for all.
    pub changeable: Option<Arc<dyn ObjectRights>>,
}

impl MovePlanTopics {
    /// Returns the target, and the live plans that hold any of these topics, each with its topics
    /// among these. Plans in the recycle bin keep their topics.
    ///
    /// `PermissionDenied` if the caller may not change one of the plans, which the error does not
    /// name; `TooLarge` if the topics stand in more than [`MAX_MOVED_PLACES`]; store errors.
    fn plans(&self, topics: &[Loid], context: &Context<'_>) -> Result<BTreeMap<Loid, Vec<Loid>>, CommandFault> {
        let (mut plans, mut others) = (BTreeMap::from([(self.target, Vec::new())]), HashSet::new());
        let mut room = MAX_MOVED_PLACES;
        let mut changeable = ReadCheck::over(self.changeable.as_deref(), context.look())?;
        let view = ReadLevel::Latest;
        #[cfg(feature = "planted-bugs")]
        let view = crate::planted::view_of_a_move(view);
        for topic in topics {
            let mut holders = HolderCursor::of(*topic);
            while let Some(batch) = holders.batch(context.look(), view)? {
                room = room.checked_sub(batch.len()).ok_or_else(|| {
                    let message = format!(
                        "The topics to move are in more than {MAX_MOVED_PLACES} places, which is too many for one call."
                    );
                    Error::new(Code::TooLarge, message).with_source(topic).with_detail("limit", MAX_MOVED_PLACES)
                })?;
                for holder in batch {
                    if others.contains(&holder) {
                        continue;
                    }
                    if let Some(held) = plans.get_mut(&holder) {
                        held.push(*topic);
                        continue;
                    }
                    let record = context.look_up::<Record>(&Record::live_key(holder))?;
                    let is_plan = record.is_some_and(|record| record.family == FamilyKind::TopicPlan);
                    if !is_plan || !context.is_alive(holder)? {
                        others.insert(holder);
                    } else if changeable.may_read(holder)? {
                        plans.insert(holder, vec![*topic]);
                    } else {
                        let why = format!("`{topic}` can't be moved, because it is in a plan that you may not change.");
                        return Err(Error::new(Code::PermissionDenied, why).with_source(topic).into());
                    }
                }
            }
        }
        Ok(plans)
    }
}

impl JointCommand for MovePlanTopics {
    type Reply = LineMoveResult<PlannedTopicResult>;
    const NAME: &'static str = "topicplan.topic.move";
    /// True, since the command must find every plan that holds the topics, including one that a
    /// concurrent move or addition puts them into.
    const ALONE: bool = true;

    fn about(&self, _: &LineMoveResult<PlannedTopicResult>) -> Option<Loid> {
        Some(self.target)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.target]
    }

    fn apply(
        &self,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<LineMoveResult<PlannedTopicResult>, CommandFault> {
        context.expects(&turns.get::<TopicPlan>(self.target)?.object().record);
        let mut named = HashSet::new();
        let topics: Vec<Loid> = self.topics.iter().copied().filter(|topic| named.insert(*topic)).collect();
        if topics.len() > MAX_MOVED_TOPICS {
            let message =
                format!("The call names {} topics; at most {MAX_MOVED_TOPICS} can be moved at once.", topics.len());
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_MOVED_TOPICS).into());
        }
        let mut reads = context.reads()?;
        topics.iter().try_for_each(|topic| check_topic(*topic, &mut reads, context))?;
        let plans = self.plans(&topics, context)?;
        context.alters(topics.len() + plans.values().map(Vec::len).sum::<usize>())?;
        turns.need(plans.keys().copied())?;
        let mut revisions = Vec::with_capacity(plans.len());
        for (loid, held) in plans {
            let plan = turns.get::<TopicPlan>(loid)?;
            revisions.push(ContainerRevision::from(loid, plan.object().record.revision));
            for topic in held {
                let Some(line) = plan.line_of(topic) else { continue };
                plan.take(&[line], context)?;
                if loid != self.target {
                    context.concerns(loid, topic);
                }
            }
        }
        let target = turns.get::<TopicPlan>(self.target)?;
        check_room(self.target, target.lineup().len() + topics.len())?;
        let mut place = target.lineup().place(self.position, &mut reads)?;
        for topic in &topics {
            target.insert_topic(*topic, place, context);
            context.concerns(self.target, topic);
            place = place.saturating_add(1);
        }
        Ok(LineMoveResult { lines: topics.into_iter().map(|topic| PlannedTopicResult { topic }).collect(), revisions })
    }
}
