//! Making a plan, and writing over an existing one that a creation names.

use super::commands::check_topic;
use super::rows::PlanHead;
use super::state::PlanState;
use crate::command::{Context, Fault};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{CreateMode, MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, Object, Text, check_texts};

/// How many topics and dividers a plan may begin with: all are put in one step.
pub const MAX_NEW_LINES: usize = 1000;

/// What is said of a new plan.
#[derive(Debug, Clone, Default)]
pub struct NewPlan {
    /// That of `begins_with` without it.
    pub title: Option<Text>,
    /// Likewise.
    pub description: Option<Text>,
    /// Title and description of what it is made of, or nothing; one that is there keeps its own,
    /// unless it is replaced.
    pub begins_with: (Text, Text),
    /// What it begins with, first to last; a topic once.
    pub lines: Vec<NewLine>,
}

/// A line that a plan begins with.
#[derive(Debug, Clone)]
pub enum NewLine {
    /// A divider with that title.
    Divider(Text),
    /// A topic that is there.
    Topic(Loid),
}

impl NewPlan {
    /// Puts head and lines of a new plan.
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, Fault> {
        self.check()?;
        let (title, description) = self.head_over(&self.begins_with);
        let head = PlanHead { loid: object.record.loid, title, description };
        context.put(None, &head);
        let mut plan = PlanState::new(object, head, Vec::new(), Vec::new());
        self.fill(&mut plan, context)?;
        Ok(plan.bytes())
    }

    /// Writes it over a plan that is there.
    pub(super) fn write_over(
        &self,
        plan: &mut PlanState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
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

    /// Title and description that are said, and where nothing is said these.
    fn head_over(&self, (title, description): &(Text, Text)) -> (Text, Text) {
        let said = |said: &Option<Text>, other: &Text| said.as_ref().unwrap_or(other).clone();
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
                format!("A plan can't begin with {lines} topics and dividers, but with {MAX_NEW_LINES} at most.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_NEW_LINES));
        }
        Ok(())
    }

    fn fill(&self, plan: &mut PlanState, context: &mut Context<'_>) -> Result<(), Fault> {
        crate::lineup::check_room(plan.object().record.loid, plan.lineup().len() + self.lines.len())?;
        let mut reads = context.reads()?;
        for line in &self.lines {
            match line {
                NewLine::Divider(title) => {
                    plan.lineup().check_room_for_divider()?;
                    plan.insert_divider(context.next_number()?, title.clone(), usize::MAX, context);
                }
                NewLine::Topic(topic) if plan.topic(*topic).is_none() => {
                    check_topic(*topic, &mut reads, context)?;
                    plan.insert_topic(*topic, usize::MAX, context);
                }
                NewLine::Topic(_) => {}
            }
        }
        Ok(())
    }
}
