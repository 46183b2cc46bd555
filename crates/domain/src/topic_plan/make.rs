//! The creation of a plan, and the overwriting of an existing one that a creation names.

use super::commands::check_topic;
use super::rows::PlanHead;
use super::state::PlanState;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{CreateMode, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, Object, SharedText, check_texts};

/// The greatest number of topics and dividers of a new plan: all are inserted in one step.
pub const MAX_NEW_LINES: usize = 1000;

/// The values of a new plan.
#[derive(Debug, Clone, Default)]
pub struct NewPlan {
    /// The title; `None` takes that of `begins_with`.
    pub title: Option<SharedText>,
    /// The description; `None` takes that of `begins_with`.
    pub description: Option<SharedText>,
    /// The title and description of the template, or empty. An existing plan keeps its own, unless
    /// it is replaced.
    pub begins_with: (SharedText, SharedText),
    /// The initial lines, first to last; a topic that is repeated is added once.
    pub lines: Vec<NewPlanLine>,
}

/// An initial line of a plan.
#[derive(Debug, Clone)]
pub enum NewPlanLine {
    /// A divider with this title.
    Divider(SharedText),
    /// An existing topic.
    Topic(Loid),
}

impl NewPlan {
    /// Writes head and lines of a new plan. Returns the bytes of memory that it takes.
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        self.check()?;
        let (title, description) = self.head_over(&self.begins_with);
        let head = PlanHead { loid: object.record.loid, title, description };
        context.put(None, &head);
        let mut plan = PlanState::new(object, head, Vec::new(), Vec::new());
        self.fill(&mut plan, context)?;
        Ok(plan.bytes())
    }

    /// Overwrites an existing plan.
    pub(super) fn write_over(
        &self,
        plan: &mut PlanState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        self.check()?;
        let there = plan.head().clone();
        let (title, description) = if mode == CreateMode::Replace {
            plan.clear(context);
            self.head_over(&self.begins_with)
        } else {
            self.head_over(&(there.title.clone(), there.description.clone()))
        };
        plan.set_head(PlanHead { title, description, ..there }, context);
        self.fill(plan, context)
    }

    /// Returns the given title and description, each with a default.
    fn head_over(&self, (title, description): &(SharedText, SharedText)) -> (SharedText, SharedText) {
        let said = |said: &Option<SharedText>, other: &SharedText| said.as_ref().unwrap_or(other).clone();
        (said(&self.title, title), said(&self.description, description))
    }

    fn check(&self) -> Result<()> {
        check_texts([
            ("title", self.title.as_deref(), MAX_TITLE_BYTES),
            ("description", self.description.as_deref(), MAX_DESCRIPTION_BYTES),
        ])?;
        let lines = self.lines.len();
        if lines > MAX_NEW_LINES {
            let message =
                format!("The new plan would have {lines} topics and dividers; at most {MAX_NEW_LINES} are allowed.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_NEW_LINES));
        }
        Ok(())
    }

    fn fill(&self, plan: &mut PlanState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        crate::lineup::check_room(plan.object().record.loid, plan.lineup().len() + self.lines.len())?;
        let mut reads = context.reads()?;
        for line in &self.lines {
            match line {
                NewPlanLine::Divider(title) => {
                    plan.lineup().check_room_for_divider()?;
                    plan.insert_divider(context.next_number()?, title.clone(), usize::MAX, context);
                }
                NewPlanLine::Topic(topic) if plan.topic(*topic).is_none() => {
                    check_topic(*topic, &mut reads, context)?;
                    plan.insert_topic(*topic, usize::MAX, context);
                }
                NewPlanLine::Topic(_) => {}
            }
        }
        Ok(())
    }
}
