//! Lineups: what stands in one order, members of a family (items of a topic, topics of a plan) and
//! dividers between them.
//!
//! Positions count what can be seen, from 0: members whose object lies in the recycle bin keep
//! their place and do not count. Whoever stands somewhere keeps its order number while others come
//! and go ([`crate::sequence::Movable`]).

mod divider;
mod line;
mod moved;

pub use self::divider::{Divider, NewDivider};
pub use self::line::{Line, Member};
pub use self::moved::{Moved, Revised};
use crate::command::Context;
use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::readable::Reads;
use crate::sequence::{Movable, Numbers, Ordered, Sequence};

/// How many lines a container may have, dividers included: all of them are in memory with it, and a
/// reply has them all.
pub const MAX_LINES: usize = 20_000;

/// How many dividers an order may have: a reply has them beside what stands between them, all at
/// once.
pub const MAX_DIVIDERS: usize = 1000;

/// See the module's head. A clone shares everything. `KIND` is the number of the kind of its
/// dividers.
#[derive(Debug, Clone)]
pub struct Lineup<M: Member, const KIND: u8> {
    lines: Sequence<Line<M, KIND>>,
    /// Id of a line → its order number.
    by_id: Numbers,
    /// How many of the lines are dividers.
    dividers: usize,
}

impl<M: Member, const KIND: u8> Default for Lineup<M, KIND> {
    fn default() -> Lineup<M, KIND> {
        Lineup { lines: Sequence::default(), by_id: Numbers::default(), dividers: 0 }
    }
}

impl<M: Member, const KIND: u8> Lineup<M, KIND> {
    /// All lines in order, hidden ones too.
    pub fn lines(&self) -> impl Iterator<Item = &Line<M, KIND>> {
        self.lines.iter()
    }

    /// All members in order, hidden ones too.
    pub fn members(&self) -> impl Iterator<Item = &M> {
        self.lines().filter_map(Line::member)
    }

    /// The lines that can be seen, first to last.
    pub fn visible(&self) -> impl Iterator<Item = &Line<M, KIND>> {
        self.lines.visible_at(0)
    }

    /// How many lines there are, hidden ones too.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many lines can be seen.
    pub fn count(&self) -> usize {
        self.lines.visible_len()
    }

    /// The line of that id, hidden or not, and the position that it has or would have.
    pub fn find(&self, id: u128) -> Option<(usize, &Line<M, KIND>)> {
        let order = self.by_id.get(id)?;
        Some((self.lines.rank(order).1, self.lines.get(order)?))
    }

    /// Where a line is to stand: the place among all that can be seen that stands for a position as
    /// the caller counts, who sees what they may read. Nothing said, −1 and what lies behind the
    /// last mean the end.
    ///
    /// # Errors
    /// `InvalidParameter` for less than −1; what the store says.
    pub fn place(&self, position: Option<i64>, reads: &mut Reads<'_>) -> Result<usize> {
        const END: usize = usize::MAX;
        let position = match position {
            None | Some(-1) => return Ok(END),
            Some(position) => usize::try_from(position)
                .map_err(|_| Error::parameter("position", position, "0 or more, or -1 for the end"))?,
        };
        let objects = self.visible().map(|line| line.member().and_then(Member::object));
        Ok(reads.place(position, self.count(), objects)?.unwrap_or(END))
    }

    /// Puts a line that is not there in front of the visible position `position`; behind the last:
    /// at the end. `make` is given its order number.
    pub fn insert(
        &mut self,
        position: usize,
        make: impl FnOnce(u128) -> Line<M, KIND>,
        context: &mut Context<'_>,
    ) -> Line<M, KIND> {
        let line = make(self.room_at(position, context));
        line.put(None, context);
        self.keep(line.clone());
        line
    }

    /// Puts a line that stood elsewhere, and was let go there, in front of the visible position
    /// `position`; `old` is as its row has it.
    pub fn insert_moved(
        &mut self,
        old: &Line<M, KIND>,
        new: &Line<M, KIND>,
        position: usize,
        context: &mut Context<'_>,
    ) -> Line<M, KIND> {
        let line = new.at(self.room_at(position, context));
        line.put(Some(old), context);
        self.keep(line.clone());
        line
    }

    /// Moves a line to the visible position `position` among the others; `new` is what it is then,
    /// wherever that says that it stands.
    pub fn shift(&mut self, old: &Line<M, KIND>, new: &Line<M, KIND>, position: usize, context: &mut Context<'_>) {
        // It stays one of the same kind, known by the same id.
        self.lines.remove(old.order());
        let line = new.at(self.room_at(position, context));
        line.put(Some(old), context);
        self.by_id.insert(line.id(), line.order());
        self.lines.put(line);
    }

    /// Puts a line in the place of what it was.
    pub fn replace(&mut self, old: &Line<M, KIND>, new: Line<M, KIND>, context: &mut Context<'_>) {
        new.put(Some(old), context);
        self.keep(new);
    }

    /// Takes a line out, with its row.
    pub fn take(&mut self, line: &Line<M, KIND>, context: &mut Context<'_>) {
        line.remove(context);
        self.let_go(line);
    }

    /// Takes a line out whose row stays, to be written elsewhere.
    pub fn let_go(&mut self, line: &Line<M, KIND>) {
        if self.lines.remove(line.order()).is_some_and(|gone| gone.divider().is_some()) {
            self.dividers -= 1;
        }
        self.by_id.remove(line.id());
    }

    /// Keeps a line as its row has it.
    pub fn keep(&mut self, line: Line<M, KIND>) {
        if line.divider().is_some() && self.lines.get(line.order()).is_none() {
            self.dividers += 1;
        }
        self.by_id.insert(line.id(), line.order());
        self.lines.put(line);
    }

    /// Refuses a divider more where there would be too many.
    ///
    /// # Errors
    /// `TooLarge`, with the limit.
    pub fn check_room_for_divider(&self) -> Result<()> {
        if self.dividers < MAX_DIVIDERS {
            return Ok(());
        }
        let message = format!("There are {MAX_DIVIDERS} dividers in this order, and no more are allowed.");
        Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_DIVIDERS))
    }

    /// Whether a line stands where one that is moved to a place would stand.
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

/// Refuses lines that would be too many in a container.
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
