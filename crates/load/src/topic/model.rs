//! A simulation of topics and their plan (docs/api/topics.md, "Order"): lines in order, and the
//! effects of changes on them.
//!
//! Items and dividers are one kind of line. An item's fields (its comment and attachment) move with
//! it from topic to topic, so they are kept elsewhere, in [`super::fields`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::replay::evidence::{Ack, UNREPORTED};
use crate::replay::{Paper, print};

/// The number of a line: an item, a divider, or a topic of the plan.
pub type Line = u32;

/// The number of any line that is not the load's own.
pub const FOREIGN: Line = u32::MAX;

/// Returns the number of a topic as a line of the plan.
pub fn topic_line(topic: u16) -> Line {
    FOREIGN - 1 - Line::from(topic)
}

/// A change of one container. Positions count among the other lines; -1 and anything beyond the
/// last line mean the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Adds an item or divider.
    Add(Line, i32),
    /// Moves an item or divider to another position of its container.
    Shift(Line, i32),
    /// Moves a topic to another position of the plan.
    Order(Line, i32),
    /// Changes an item's comment.
    Edit(Line),
    /// Changes an item's attachment.
    Attach(Line),
    /// Removes an item or divider.
    Remove(Line),
    /// Removes an item, which is moved to another topic.
    Leave(Line),
    /// Inserts an item that is moved here from another topic. The item may already be here.
    Arrive(Line, i32),
}

impl Change {
    /// Returns the changed line.
    pub fn line(self) -> Line {
        match self {
            Change::Add(line, _)
            | Change::Shift(line, _)
            | Change::Order(line, _)
            | Change::Edit(line)
            | Change::Attach(line)
            | Change::Remove(line)
            | Change::Leave(line)
            | Change::Arrive(line, _) => line,
        }
    }
}

/// The hash of each line's id, by which reads identify lines.
pub type Ids = HashMap<Line, u64>;

/// The lines of a topic or plan in the simulation.
#[derive(Debug, Clone)]
pub struct Lines {
    lines: Vec<Line>,
    ids: Arc<Ids>,
}

impl Lines {
    /// Creates a container with these lines.
    pub fn new(lines: Vec<Line>, ids: Arc<Ids>) -> Lines {
        Lines { lines, ids }
    }

    /// Moves a line to a position among the others. Reports whether its position changed.
    fn shift(&mut self, from: usize, position: i32) -> bool {
        let line = self.lines.remove(from);
        self.insert(line, position) != from
    }

    fn insert(&mut self, line: Line, position: i32) -> usize {
        let place = usize::try_from(position).unwrap_or(usize::MAX).min(self.lines.len());
        self.lines.insert(place, line);
        place
    }
}

impl Paper for Lines {
    type Change = Change;
    const CONTAINER: &'static str = "topic";
    const MEMBER: &'static str = "line";

    fn members(&self) -> &[Line] {
        &self.lines
    }

    fn apply(&mut self, change: Change) -> Option<bool> {
        let place = self.lines.iter().position(|line| *line == change.line());
        match (change, place) {
            (Change::Add(line, position) | Change::Arrive(line, position), None) => {
                self.insert(line, position);
                Some(true)
            }
            // A moved item is always removed and inserted again, even within one topic.
            (Change::Arrive(_, position), Some(from)) => {
                self.shift(from, position);
                Some(true)
            }
            (Change::Shift(_, position) | Change::Order(_, position), Some(from)) => Some(self.shift(from, position)),
            (Change::Edit(_) | Change::Attach(_), Some(_)) => Some(true),
            (Change::Remove(_) | Change::Leave(_), Some(from)) => {
                self.lines.remove(from);
                Some(true)
            }
            (Change::Add(..), Some(_)) | (_, None) => None,
        }
    }

    fn fits(_before: &Lines, after: &Lines, acked: &Ack<Change>) -> bool {
        let place = || after.lines.iter().position(|line| *line == acked.change.line());
        acked.place == UNREPORTED || place().is_some_and(|place| place == acked.place as usize)
    }

    fn print(&self) -> u64 {
        // A line without a known id is in no reply that was understood, so any number will do.
        print(self.lines.iter().map(|line| self.ids.get(line).copied().unwrap_or(0)))
    }

    fn member(change: Change) -> Line {
        change.line()
    }

    fn name(change: Change) -> String {
        match change {
            Change::Add(line, position) => format!("line {line}, new at position {position},"),
            Change::Shift(line, position) => format!("the shift of line {line} to position {position}"),
            Change::Order(line, position) => {
                format!("topic {} at position {position} of the plan", topic_line(0).saturating_sub(line))
            }
            Change::Edit(line) => format!("the edit of item {line}"),
            Change::Attach(line) => format!("what was attached to item {line}"),
            Change::Remove(line) => format!("the removal of line {line}"),
            Change::Leave(line) => format!("the move of item {line} to another topic"),
            Change::Arrive(line, position) => format!("the move of item {line} to position {position}"),
        }
    }

    /// The reply shows the item, which other clients may have moved or shifted since
    /// (docs/api/topics.md, "Replies").
    fn may_be_told_late(change: Change) -> bool {
        matches!(change, Change::Shift(..) | Change::Edit(_) | Change::Attach(_))
    }

    /// Within one topic no item leaves. Then the adding half is the whole move.
    fn is_torn(left: bool, was_there: bool) -> bool {
        left || !was_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[Line], change: Change) -> Option<Vec<Line>> {
        let mut paper = Lines::new(lines.to_vec(), Arc::default());
        let changed = paper.apply(change);
        let moves = !matches!(change, Change::Edit(_) | Change::Attach(_) | Change::Arrive(..));
        assert!(!moves || (changed == Some(true)) == (paper.lines != lines), "it tells whether it changed something");
        changed.map(|_| paper.lines)
    }

    #[test]
    fn the_rules_for_positions_are_the_interfaces() {
        use Change::*;
        for (change, wanted) in [
            (Add(9, 1), Some(vec![1, 9, 2, 3])),
            (Add(9, -1), Some(vec![1, 2, 3, 9])),
            (Add(9, 7), Some(vec![1, 2, 3, 9])),
            (Add(1, 0), None),
            (Shift(1, 1), Some(vec![2, 1, 3])),
            (Shift(1, -1), Some(vec![2, 3, 1])),
            (Shift(3, 8), Some(vec![1, 2, 3])),
            (Shift(9, 0), None),
            (Order(2, 0), Some(vec![2, 1, 3])),
            (Edit(2), Some(vec![1, 2, 3])),
            (Attach(9), None),
            (Remove(2), Some(vec![1, 3])),
            (Leave(9), None),
            (Arrive(9, 0), Some(vec![9, 1, 2, 3])),
            (Arrive(1, 1), Some(vec![2, 1, 3])),
            (Arrive(1, 0), Some(vec![1, 2, 3])),
        ] {
            assert_eq!(after(&[1, 2, 3], change), wanted, "{change:?}");
        }
    }

    #[test]
    fn a_print_is_made_of_ids() {
        let ids: Arc<Ids> = Arc::new([(1, 70), (2, 80)].into());
        let of = |lines: &[Line]| Lines::new(lines.to_vec(), ids.clone()).print();
        assert_eq!(of(&[1, 2]), print([70, 80].into_iter()));
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
    }
}
