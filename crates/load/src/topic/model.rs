//! A simulation of topics and their plan (docs/api/topics.md, "Order"): lines in order, and the
//! effects of changes on them.
//!
//! Items and dividers are one kind of line. An item's fields (its comment and attachment) move with
//! it from topic to topic, so they are kept elsewhere, in [`super::fields`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::replay::evidence::{AcknowledgedChange, UNREPORTED};
use crate::replay::{ContainerModel, print};

/// The number of a line: an item, a divider, or a topic of the plan.
pub type LineNumber = u32;

/// The number of any line that is not the load's own.
pub const FOREIGN: LineNumber = u32::MAX;

/// Returns the number of a topic as a line of the plan.
pub fn topic_line(topic: u16) -> LineNumber {
    FOREIGN - 1 - LineNumber::from(topic)
}

/// A change of one container. Positions count among the other lines; -1 and anything beyond the
/// last line mean the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicChange {
    /// Adds an item or divider.
    Add(LineNumber, i32),
    /// Moves an item or divider to another position of its container.
    Shift(LineNumber, i32),
    /// Moves a topic to another position of the plan.
    Order(LineNumber, i32),
    /// Changes an item's comment.
    Edit(LineNumber),
    /// Changes an item's attachment.
    Attach(LineNumber),
    /// Removes an item or divider.
    Remove(LineNumber),
    /// Removes an item, which is moved to another topic.
    Leave(LineNumber),
    /// Inserts an item that is moved here from another topic. The item may already be here.
    Arrive(LineNumber, i32),
}

impl TopicChange {
    /// Returns the changed line.
    pub fn line(self) -> LineNumber {
        match self {
            TopicChange::Add(line, _)
            | TopicChange::Shift(line, _)
            | TopicChange::Order(line, _)
            | TopicChange::Edit(line)
            | TopicChange::Attach(line)
            | TopicChange::Remove(line)
            | TopicChange::Leave(line)
            | TopicChange::Arrive(line, _) => line,
        }
    }
}

/// The hash of each line's id, by which reads identify lines.
pub type Ids = HashMap<LineNumber, u64>;

/// The lines of a topic or plan in the simulation.
#[derive(Debug, Clone)]
pub struct TopicModel {
    lines: Vec<LineNumber>,
    ids: Arc<Ids>,
}

impl TopicModel {
    /// Creates a container with these lines.
    pub fn new(lines: Vec<LineNumber>, ids: Arc<Ids>) -> TopicModel {
        TopicModel { lines, ids }
    }

    /// Moves a line to a position among the others. Reports whether its position changed.
    fn shift(&mut self, from: usize, position: i32) -> bool {
        let line = self.lines.remove(from);
        self.insert(line, position) != from
    }

    fn insert(&mut self, line: LineNumber, position: i32) -> usize {
        let place = usize::try_from(position).unwrap_or(usize::MAX).min(self.lines.len());
        self.lines.insert(place, line);
        place
    }
}

impl ContainerModel for TopicModel {
    type Change = TopicChange;
    const CONTAINER: &'static str = "topic";
    const MEMBER: &'static str = "line";

    fn members(&self) -> &[LineNumber] {
        &self.lines
    }

    fn apply(&mut self, change: TopicChange) -> Option<bool> {
        let place = self.lines.iter().position(|line| *line == change.line());
        match (change, place) {
            (TopicChange::Add(line, position) | TopicChange::Arrive(line, position), None) => {
                self.insert(line, position);
                Some(true)
            }
            // A moved item is always removed and inserted again, even within one topic.
            (TopicChange::Arrive(_, position), Some(from)) => {
                self.shift(from, position);
                Some(true)
            }
            (TopicChange::Shift(_, position) | TopicChange::Order(_, position), Some(from)) => {
                Some(self.shift(from, position))
            }
            (TopicChange::Edit(_) | TopicChange::Attach(_), Some(_)) => Some(true),
            (TopicChange::Remove(_) | TopicChange::Leave(_), Some(from)) => {
                self.lines.remove(from);
                Some(true)
            }
            (TopicChange::Add(..), Some(_)) | (_, None) => None,
        }
    }

    fn fits(_before: &TopicModel, after: &TopicModel, acked: &AcknowledgedChange<TopicChange>) -> bool {
        let place = || after.lines.iter().position(|line| *line == acked.change.line());
        acked.place == UNREPORTED || place().is_some_and(|place| place == acked.place as usize)
    }

    fn print(&self) -> u64 {
        // A line without a known id is in no reply that was understood, so any number will do.
        print(self.lines.iter().map(|line| self.ids.get(line).copied().unwrap_or(0)))
    }

    fn member(change: TopicChange) -> LineNumber {
        change.line()
    }

    fn name(change: TopicChange) -> String {
        match change {
            TopicChange::Add(line, position) => format!("line {line}, new at position {position},"),
            TopicChange::Shift(line, position) => format!("the shift of line {line} to position {position}"),
            TopicChange::Order(line, position) => {
                format!("topic {} at position {position} of the plan", topic_line(0).saturating_sub(line))
            }
            TopicChange::Edit(line) => format!("the edit of item {line}"),
            TopicChange::Attach(line) => format!("what was attached to item {line}"),
            TopicChange::Remove(line) => format!("the removal of line {line}"),
            TopicChange::Leave(line) => format!("the move of item {line} to another topic"),
            TopicChange::Arrive(line, position) => format!("the move of item {line} to position {position}"),
        }
    }

    /// The reply shows the item, which other clients may have moved or shifted since
    /// (docs/api/topics.md, "Replies").
    fn may_be_told_late(change: TopicChange) -> bool {
        matches!(change, TopicChange::Shift(..) | TopicChange::Edit(_) | TopicChange::Attach(_))
    }

    /// Within one topic no item leaves. Then the adding half is the whole move.
    fn is_torn(left: bool, was_there: bool) -> bool {
        left || !was_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[LineNumber], change: TopicChange) -> Option<Vec<LineNumber>> {
        let mut paper = TopicModel::new(lines.to_vec(), Arc::default());
        let changed = paper.apply(change);
        let moves = !matches!(change, TopicChange::Edit(_) | TopicChange::Attach(_) | TopicChange::Arrive(..));
        assert!(!moves || (changed == Some(true)) == (paper.lines != lines), "it tells whether it changed something");
        changed.map(|_| paper.lines)
    }

    #[test]
    fn the_rules_for_positions_are_the_interfaces() {
        use TopicChange::*;
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
        let of = |lines: &[LineNumber]| TopicModel::new(lines.to_vec(), ids.clone()).print();
        assert_eq!(of(&[1, 2]), print([70, 80].into_iter()));
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
    }
}
