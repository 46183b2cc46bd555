//! Lineups: the ordered lines of a topic, of a topic item or of a plan.

use std::sync::Arc;

use super::{Line, LineupEntry, Planning};
use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::readable::ReadCheck;
use crate::sequence::{MovableItem, NumberMap, Sequence, SequenceItem};

/// The maximal number of lines in a container, including dividers. All of them are in its state in
/// memory, and in a reply.
pub const MAX_LINES: usize = 20_000;

/// The maximal number of dividers in one lineup. A reply has all of them at once, in addition to
/// the entries.
pub const MAX_DIVIDERS: usize = 1000;

/// The ordered lines of a topic, of a topic item or of a plan. A clone shares everything.
#[derive(Debug, Clone)]
pub struct Lineup<F: Planning> {
    lines: Sequence<Line<F>>,
    /// Line id → order number.
    by_id: NumberMap,
    /// The number of dividers among the lines.
    dividers: usize,
}

impl<F: Planning> Default for Lineup<F> {
    fn default() -> Lineup<F> {
        Lineup { lines: Sequence::default(), by_id: NumberMap::default(), dividers: 0 }
    }
}

impl<F: Planning> Lineup<F> {
    /// Returns all lines in order, including hidden ones.
    pub fn lines(&self) -> impl Iterator<Item = &Line<F>> {
        self.lines.iter()
    }

    /// Returns all entries in order, including hidden ones.
    pub fn members(&self) -> impl Iterator<Item = &Arc<F::Entry>> {
        self.lines().filter_map(Line::member)
    }

    /// Returns the visible lines, first to last.
    pub fn visible(&self) -> impl Iterator<Item = &Line<F>> {
        self.lines.visible_at(0)
    }

    /// Returns the number of lines, including hidden ones.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Reports whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of visible lines.
    pub fn count(&self) -> usize {
        self.lines.visible_len()
    }

    /// Returns the line with an id, hidden or not. The first value is its visible position, or the
    /// one that it would have.
    pub fn find(&self, id: u128) -> Option<(usize, &Line<F>)> {
        let order = self.by_id.get(id)?;
        Some((self.lines.rank(order).1, self.lines.get(order)?))
    }

    /// Converts a position among the lines that the caller may read to one among all visible lines.
    /// `None`, −1 and positions after the last line mean the end.
    ///
    /// # Errors
    /// `InvalidParameter` for less than −1; errors of the store.
    pub fn place(&self, position: Option<i64>, reads: &mut ReadCheck<'_>) -> Result<usize> {
        let position = match position {
            None | Some(-1) => return Ok(usize::MAX),
            Some(position) => usize::try_from(position)
                .map_err(|_| Error::parameter("position", position, "0 or more, or -1 for the end"))?,
        };
        let objects = self.visible().map(|line| line.member().and_then(|entry| entry.object()));
        Ok(reads.place(position, self.count(), objects)?.or_end())
    }

    /// Inserts a line before the visible position `position`, or at the end if that is beyond the
    /// last line. Its order number is ignored. `old` is the line according to its row, if it was
    /// released from another lineup.
    pub fn insert(
        &mut self,
        old: Option<&Line<F>>,
        new: &Line<F>,
        position: usize,
        context: &mut Context<'_>,
    ) -> Line<F> {
        let line = new.at(self.room_at(position, context));
        line.put(old, context);
        self.keep(line.clone());
        line
    }

    /// Moves a line to the visible position `position` among the others. `new` is the line after
    /// the move; its order number is ignored.
    pub fn shift(&mut self, old: &Line<F>, new: &Line<F>, position: usize, context: &mut Context<'_>) {
        // The line stays one of the same kind, with the same id.
        self.lines.remove(old.order());
        let line = new.at(self.room_at(position, context));
        line.put(Some(old), context);
        self.by_id.insert(line.id(), line.order());
        self.lines.put(line);
    }

    /// Replaces a line with a new state of it.
    pub fn replace(&mut self, old: &Line<F>, new: Line<F>, context: &mut Context<'_>) {
        new.put(Some(old), context);
        self.keep(new);
    }

    /// Removes a line and its row.
    pub fn take(&mut self, line: &Line<F>, context: &mut Context<'_>) {
        line.remove(context);
        self.let_go(line);
    }

    /// Removes a line but not its row, which is to be written elsewhere.
    pub fn let_go(&mut self, line: &Line<F>) {
        if self.lines.remove(line.order()).is_some_and(|gone| gone.divider().is_some()) {
            self.dividers -= 1;
        }
        self.by_id.remove(line.id());
    }

    /// Adds a line whose row exists already.
    pub fn keep(&mut self, line: Line<F>) {
        if line.divider().is_some() && self.lines.get(line.order()).is_none() {
            self.dividers += 1;
        }
        self.by_id.insert(line.id(), line.order());
        self.lines.put(line);
    }

    /// Refuses another divider if the lineup has the maximal number.
    ///
    /// # Errors
    /// `TooLarge`, with the limit.
    pub fn check_room_for_divider(&self) -> Result<()> {
        if self.dividers < MAX_DIVIDERS {
            return Ok(());
        }
        let message = format!("The order has {MAX_DIVIDERS} dividers; more are not allowed.");
        Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_DIVIDERS))
    }

    /// Reports whether a line already is where a move to `place` would put it.
    pub fn stands_at(&self, id: u128, place: usize) -> bool {
        self.find(id).is_some_and(|(position, _)| place.min(self.count().saturating_sub(1)) == position)
    }

    fn room_at(&mut self, position: usize, context: &mut Context<'_>) -> u128 {
        let Lineup { lines, by_id, .. } = self;
        lines.room_at(lines.index_at(position), |old, new| {
            new.put(Some(old), context);
            by_id.insert(new.id(), new.order());
        })
    }
}

/// Refuses more lines than a container may have.
///
/// # Errors
/// `TooLarge`, with the limit.
pub fn check_room(container: Loid, lines: usize) -> Result<()> {
    if lines <= MAX_LINES {
        return Ok(());
    }
    let message = format!("`{container}` would have {lines} items and dividers; at most {MAX_LINES} are allowed.");
    Err(Error::new(Code::TooLarge, message).with_source(container).with_detail("limit", MAX_LINES))
}
