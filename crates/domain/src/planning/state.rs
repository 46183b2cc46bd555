//! The state of a topic or plan in memory: its lineup, and those of its entries.

use std::fmt::Display;
use std::sync::Arc;

use imbl::OrdMap;

use super::{Divider, Line, Lineup, LineupEntry, Planning, PlanningHead};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{Object, SharedText};
use crate::sequence::NumberMap;
use crate::store::{Row, RowPlace};

/// The state of a topic or plan. A clone shares everything.
#[derive(Debug, Clone)]
pub struct PlanningState<F: Planning> {
    object: Object,
    head: Arc<PlanningHead<F>>,
    /// The entries, and the dividers between them.
    own: Lineup<F>,
    /// The number of an entry → the lines below it. Has no empty lineups.
    below: OrdMap<u128, Lineup<F>>,
    /// The id of a line below an entry → the number of that entry.
    under: NumberMap,
    pub(super) index: <F::Entry as LineupEntry>::Index,
    /// The bytes of all lines.
    bytes: usize,
}

impl<F: Planning> State for PlanningState<F> {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        self.object.bytes() + self.head.title.len() + self.head.description.len() + self.bytes
    }
}

impl<F: Planning> PlanningState<F> {
    /// Creates a container with these entries and dividers, in any order.
    pub fn new(
        object: Object,
        head: PlanningHead<F>,
        entries: Vec<F::Entry>,
        dividers: Vec<Divider<F>>,
    ) -> PlanningState<F> {
        let mut state = PlanningState {
            object,
            head: Arc::new(head),
            own: Lineup::default(),
            below: OrdMap::default(),
            under: NumberMap::default(),
            index: Default::default(),
            bytes: 0,
        };
        let entries = entries.into_iter().map(|entry| Line::Member(Arc::new(entry)));
        for line in entries.chain(dividers.into_iter().map(|divider| Line::Divider(Arc::new(divider)))) {
            state.note(None, Some(&line));
            state.change_lineup(line.under(), |lineup| lineup.keep(line));
        }
        state
    }

    /// Returns the title and description.
    pub fn head(&self) -> &PlanningHead<F> {
        &self.head
    }

    /// Returns the entries, and the dividers between them.
    pub fn lineup(&self) -> &Lineup<F> {
        &self.own
    }

    /// Returns the lines below an entry; `None` if it has none.
    pub fn below(&self, entry: Loid) -> Option<&Lineup<F>> {
        self.below.get(&entry.to_number())
    }

    /// Returns the number of lines, with those below entries.
    pub fn lines(&self) -> usize {
        self.own.len() + self.under.len()
    }

    /// Returns the divider with this id in the lineup of an entry, or of the container itself.
    ///
    /// # Errors
    /// `ObjectNotFound` if there is none.
    pub fn divider(&self, under: Option<Loid>, id: u64) -> Result<&Arc<Divider<F>>> {
        let found = self.find(id.into()).and_then(|(_, line)| line.divider());
        found.filter(|divider| divider.under() == under).ok_or_else(|| self.not_held("divider", id))
    }

    /// Returns the line with this id, and its position in its lineup.
    pub fn find(&self, id: u128) -> Option<(usize, &Line<F>)> {
        match self.under.get(id) {
            None => self.own.find(id),
            Some(entry) => self.below.get(&entry)?.find(id),
        }
    }

    /// Returns the error for a line that is missing, or that the caller may not know of.
    pub(super) fn not_held(&self, what: &str, address: impl Display) -> Error {
        let (container, loid) = (F::CONTAINER_NOUN, self.head.loid);
        let message = format!("The {container} `{loid}` has no {what} `{address}`.");
        Error::new(Code::ObjectNotFound, message).with_source(address)
    }

    /// Returns the lineup of an entry, or of the container itself.
    pub(super) fn lineup_under(&self, entry: Option<Loid>) -> Lineup<F> {
        entry.map_or_else(|| self.own.clone(), |entry| self.below(entry).cloned().unwrap_or_default())
    }

    /// Returns the place for a line that is to move to a position of its lineup. Returns `None` if
    /// it already stands there, or if no position is given.
    pub(super) fn place_to_move(
        &self,
        line: &Line<F>,
        position: Option<i64>,
        context: &Context<'_>,
    ) -> Result<Option<usize>> {
        if position.is_none() {
            return Ok(None);
        }
        let lineup = self.lineup_under(line.under());
        let place = lineup.place(position, &mut context.reads()?)?;
        Ok(Some(place).filter(|place| !lineup.stands_at(line.id(), *place)))
    }

    /// Replaces the line `old` with `new` in the figures and indexes; the lineup stays.
    pub(super) fn note(&mut self, old: Option<&Line<F>>, new: Option<&Line<F>>) {
        self.bytes = self.bytes + new.map_or(0, Line::bytes) - old.map_or(0, Line::bytes);
        let (before, after) = (old.and_then(Line::member), new.and_then(Line::member));
        F::Entry::reindex(&mut self.index, before.map(|entry| &**entry), after.map(|entry| &**entry));
        match (old, new) {
            (None, Some(new)) => {
                if let Some(entry) = new.under() {
                    self.under.insert(new.id(), entry.to_number());
                }
            }
            (Some(old), None) => self.under.remove(old.id()),
            _ => {}
        }
    }

    /// Changes the lineup of an entry, or of the container itself.
    pub(super) fn change_lineup<T>(&mut self, under: Option<Loid>, change: impl FnOnce(&mut Lineup<F>) -> T) -> T {
        let Some(entry) = under.map(Loid::to_number) else { return change(&mut self.own) };
        let lineup = self.below.entry(entry).or_default();
        let changed = change(lineup);
        if lineup.is_empty() {
            self.below.remove(&entry);
        }
        changed
    }

    /// Inserts a line in front of a place in the lineup that it belongs to. `old` is the line
    /// according to its row, if it comes from another lineup.
    pub(super) fn insert(&mut self, old: Option<&Line<F>>, new: &Line<F>, place: usize, context: &mut Context<'_>) {
        let line = self.change_lineup(new.under(), |lineup| lineup.insert(old, new, place, context));
        self.note(None, Some(&line));
    }

    /// Inserts a new divider in front of a place in the lineup of an entry, or of the container
    /// itself. Returns its id.
    ///
    /// # Errors
    /// The errors of [`Context::next_number`].
    pub(super) fn insert_divider(
        &mut self,
        under: Option<Loid>,
        title: SharedText,
        place: usize,
        context: &mut Context<'_>,
    ) -> Result<u64> {
        let id = context.next_number()?;
        let divider = Divider::new(self.head.loid, under, id, title);
        self.insert(None, &Line::Divider(Arc::new(divider)), place, context);
        Ok(id)
    }

    /// Replaces a line with a new state of it, at its place or at another place of its lineup.
    pub(super) fn change(&mut self, old: &Line<F>, new: Line<F>, place: Option<usize>, context: &mut Context<'_>) {
        self.note(Some(old), Some(&new));
        self.change_lineup(old.under(), |lineup| match place {
            None => lineup.replace(old, new, context),
            Some(place) => lineup.shift(old, &new, place, context),
        });
    }

    /// Removes lines permanently, with all lines below them.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn take(&mut self, lines: &[Line<F>], context: &mut Context<'_>) -> Result<(), CommandFault> {
        let gone: Vec<Line<F>> = lines.iter().flat_map(|line| self.with_all_below(line)).collect();
        let entries: Vec<Loid> = gone.iter().filter_map(Line::member).map(|entry| entry.loid()).collect();
        F::erase(&entries, context)?;
        for line in &gone {
            self.note(Some(line), None);
            self.change_lineup(line.under(), |lineup| lineup.take(line, context));
        }
        Ok(())
    }

    /// Returns a line, and all lines below it.
    pub(super) fn with_all_below(&self, line: &Line<F>) -> Vec<Line<F>> {
        let below = line.member().and_then(|entry| self.below(entry.loid()));
        std::iter::once(line).chain(below.into_iter().flat_map(Lineup::lines)).cloned().collect()
    }

    /// Sets the head.
    pub(super) fn set_head(&mut self, head: PlanningHead<F>, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Removes all lines.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn clear(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let lines: Vec<Line<F>> = self.own.lines().cloned().collect();
        self.take(&lines, context)
    }

    /// Removes all rows of a container that is being destroyed.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.clear(context)?;
        context.remove(&*self.head);
        Ok(())
    }

    /// Returns the places of the rows that this state should have among the parts, for tests and
    /// checks.
    pub fn rows(&self) -> Vec<RowPlace> {
        let lines = self.own.lines().chain(self.below.values().flat_map(Lineup::lines));
        std::iter::once(self.head.place()).chain(lines.map(Line::place)).collect()
    }
}
