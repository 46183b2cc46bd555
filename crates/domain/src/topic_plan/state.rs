//! The state of a plan in memory: its lineup.

use std::sync::Arc;

use super::rows::{PlanDivider, PlanHead, PlanLineup, PlanLineupLine, PlannedTopic, id_of};
use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::family::{MemberFate, State};
use crate::id::Loid;
use crate::lineup::NewDivider;
use crate::object::{Object, SharedText};
use crate::sequence::MovableItem;
use crate::store::{Row, RowPlace};

/// The state of a plan. A clone shares everything.
#[derive(Debug, Clone)]
pub struct PlanState {
    object: Object,
    head: Arc<PlanHead>,
    lineup: PlanLineup,
    /// The bytes of all titles of dividers.
    titles: usize,
}

impl State for PlanState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        // A planned topic, or a divider without its title, and the index entries of either.
        const LINE: usize = 384;
        let texts = self.head.title.len() + self.head.description.len() + self.titles;
        self.object.bytes() + texts + self.lineup.len() * LINE
    }
}

impl PlanState {
    /// Creates a plan with these topics and dividers, in any order.
    pub fn new(object: Object, head: PlanHead, topics: Vec<PlannedTopic>, dividers: Vec<PlanDivider>) -> PlanState {
        let mut state = PlanState { object, head: Arc::new(head), lineup: PlanLineup::default(), titles: 0 };
        topics.into_iter().for_each(|topic| state.lineup.keep(PlanLineupLine::Member(topic)));
        for divider in dividers {
            state.titles += divider.title.len();
            state.lineup.keep(PlanLineupLine::Divider(Arc::new(divider)));
        }
        state
    }

    /// Returns the title and description.
    pub fn head(&self) -> &PlanHead {
        &self.head
    }

    /// Returns the topics, and the dividers between them.
    pub fn lineup(&self) -> &PlanLineup {
        &self.lineup
    }

    /// Returns a topic's position and entry; `None` for a hidden one.
    pub fn topic(&self, topic: Loid) -> Option<(usize, &PlannedTopic)> {
        let (position, line) = self.lineup.find(id_of(topic))?;
        line.member().filter(|found| !found.hidden).map(|found| (position, found))
    }

    /// Returns the error for a topic that is missing, or that the caller may not know of.
    pub fn not_held(&self, topic: Loid) -> Error {
        let plan = self.head.loid;
        Error::new(Code::ObjectNotFound, format!("The plan `{plan}` has no topic `{topic}`.")).with_source(topic)
    }

    /// Returns the divider with this id.
    ///
    /// # Errors
    /// `ObjectNotFound` if there is none.
    pub fn divider(&self, id: u64) -> Result<&Arc<PlanDivider>> {
        let found = self.lineup.find(id.into()).and_then(|(_, line)| line.divider());
        found.ok_or_else(|| {
            let plan = self.head.loid;
            Error::new(Code::ObjectNotFound, format!("The plan `{plan}` has no divider `{id}`.")).with_source(id)
        })
    }

    /// Inserts a topic, which the plan does not hold yet, in front of a place.
    pub(super) fn insert_topic(&mut self, topic: Loid, place: usize, context: &mut Context<'_>) {
        let new = PlannedTopic::new(self.head.loid, topic);
        self.lineup.insert(place, |order| PlanLineupLine::Member(new.at(order)), context);
    }

    /// Moves a topic of the plan to a place among the others. Returns whether that changed
    /// anything.
    pub(super) fn shift_topic(&mut self, topic: Loid, place: usize, context: &mut Context<'_>) -> bool {
        let Some(line) = self.lineup.find(id_of(topic)).map(|(_, line)| line.clone()) else { return false };
        let moves = !self.lineup.stands_at(line.id(), place);
        if moves {
            self.lineup.shift(&line, &line, place, context);
        }
        moves
    }

    /// Removes a topic, hidden or not. Returns whether the plan held it.
    pub(super) fn take_topic(&mut self, topic: Loid, context: &mut Context<'_>) -> bool {
        let Some(line) = self.lineup.find(id_of(topic)).map(|(_, line)| line.clone()) else { return false };
        self.lineup.take(&line, context);
        true
    }

    /// Inserts a divider with this id.
    pub(super) fn insert_divider(&mut self, id: u64, title: SharedText, place: usize, context: &mut Context<'_>) {
        self.titles += title.len();
        let new = PlanDivider::new(self.head.loid, None, id, title);
        self.lineup.insert(place, |order| PlanLineupLine::Divider(Arc::new(new.at(order))), context);
    }

    /// Changes the given fields of a divider.
    pub(super) fn change_divider(
        &mut self,
        old: &Arc<PlanDivider>,
        said: &NewDivider,
        place: Option<usize>,
        context: &mut Context<'_>,
    ) {
        let new = PlanDivider { title: said.title.as_ref().unwrap_or(&old.title).clone(), ..PlanDivider::clone(old) };
        self.titles = self.titles - old.title.len() + new.title.len();
        let (old, new) = (PlanLineupLine::Divider(old.clone()), PlanLineupLine::Divider(Arc::new(new)));
        match place.filter(|place| !self.lineup.stands_at(old.id(), *place)) {
            Some(place) => self.lineup.shift(&old, &new, place, context),
            None if old.divider() == new.divider() => {}
            None => self.lineup.replace(&old, new, context),
        }
    }

    /// Removes a divider.
    pub(super) fn take_divider(&mut self, divider: &Arc<PlanDivider>, context: &mut Context<'_>) {
        self.titles -= divider.title.len();
        self.lineup.take(&PlanLineupLine::Divider(divider.clone()), context);
    }

    /// Sets the head.
    pub(super) fn set_head(&mut self, head: PlanHead, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Applies the fate of a topic to its entry.
    pub(super) fn member(&mut self, topic: Loid, becomes: MemberFate, context: &mut Context<'_>) {
        let hidden = match becomes {
            MemberFate::Gone => {
                self.take_topic(topic, context);
                return;
            }
            MemberFate::Hidden => true,
            MemberFate::Shown => false,
        };
        let found = self.lineup.find(id_of(topic)).and_then(|(_, line)| line.member()).copied();
        if let Some(old) = found.filter(|old| old.hidden != hidden) {
            let new = PlannedTopic { hidden, ..old };
            self.lineup.replace(&PlanLineupLine::Member(old), PlanLineupLine::Member(new), context);
        }
    }

    /// Removes all lines.
    pub(super) fn clear(&mut self, context: &mut Context<'_>) {
        let lines: Vec<PlanLineupLine> = self.lineup.lines().cloned().collect();
        lines.iter().for_each(|line| self.lineup.take(line, context));
        self.titles = 0;
    }

    /// Removes all rows of a plan that is being destroyed.
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) {
        self.clear(context);
        context.remove(&*self.head);
    }

    /// Returns the places of the rows that this state should have among the parts, for tests and
    /// checks.
    pub fn rows(&self) -> Vec<RowPlace> {
        let places = self.lineup.lines().map(|line| match line {
            PlanLineupLine::Member(topic) => topic.place(),
            PlanLineupLine::Divider(divider) => divider.place(),
        });
        std::iter::once(self.head.place()).chain(places).collect()
    }
}
