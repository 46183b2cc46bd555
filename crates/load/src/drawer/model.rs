//! The model of a drawer: a bounded list (docs/api/drawers.md) and its changes.

use super::plan::DrawerOperationKind;
use crate::replay::evidence::{AcknowledgedChange, UNREPORTED};
use crate::replay::{ContainerModel, print};

/// A change as one drawer sees it. A move is a removal from one drawer and an insertion into
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawerChange {
    /// An addition at the tail; an object that is present stays in place.
    Add(u32),
    /// A placement at a position; -1 and positions behind the last are the tail.
    Position(u32, i32),
    /// A move to a position among the present items.
    Shift(u32, i32),
    /// A removal by a deletion.
    Delete(u32),
    /// A removal by a move to another drawer.
    Leave(u32),
    /// An insertion at the tail by a move from another drawer; an object that is present stays in
    /// place.
    Arrive(u32),
}

impl DrawerChange {
    /// Returns the change that an operation makes; `None` for moves and reads.
    pub fn of(kind: DrawerOperationKind, object: u32, position: i32) -> Option<DrawerChange> {
        match kind {
            DrawerOperationKind::Add => Some(DrawerChange::Add(object)),
            DrawerOperationKind::Position => Some(DrawerChange::Position(object, position)),
            DrawerOperationKind::Shift => Some(DrawerChange::Shift(object, position)),
            DrawerOperationKind::Delete => Some(DrawerChange::Delete(object)),
            DrawerOperationKind::Read | DrawerOperationKind::Move => None,
        }
    }

    /// Returns the changed object.
    pub fn object(self) -> u32 {
        match self {
            DrawerChange::Add(object)
            | DrawerChange::Position(object, _)
            | DrawerChange::Shift(object, _)
            | DrawerChange::Delete(object)
            | DrawerChange::Leave(object)
            | DrawerChange::Arrive(object) => object,
        }
    }
}

/// A drawer as a bounded list of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawerModel {
    /// The objects, first to last.
    pub items: Vec<u32>,
    /// The greatest number of items.
    pub capacity: usize,
}

impl DrawerModel {
    /// Creates a drawer with these objects.
    pub fn new(items: Vec<u32>, capacity: usize) -> DrawerModel {
        DrawerModel { items, capacity }
    }

    /// Returns the index of an object.
    pub fn place(&self, object: u32) -> Option<usize> {
        self.items.iter().position(|item| *item == object)
    }
}

impl ContainerModel for DrawerModel {
    type Change = DrawerChange;
    const CONTAINER: &'static str = "drawer";
    const MEMBER: &'static str = "object";

    fn members(&self) -> &[u32] {
        &self.items
    }

    fn apply(&mut self, change: DrawerChange) -> Option<bool> {
        let (count, place) = (self.items.len(), self.place(change.object()));
        let full = count >= self.capacity;
        match (change, place) {
            (DrawerChange::Add(_) | DrawerChange::Arrive(_), Some(_)) => Some(false),
            (DrawerChange::Add(object) | DrawerChange::Arrive(object), None) => {
                if full {
                    return None;
                }
                self.items.push(object);
                Some(true)
            }
            (DrawerChange::Position(object, position), None) => {
                let at = usize::try_from(position).unwrap_or(count).min(count);
                if full && at == count {
                    return None;
                }
                self.items.insert(at, object);
                self.items.truncate(self.capacity);
                Some(true)
            }
            (DrawerChange::Shift(_, position), Some(_)) if position >= 0 && position as usize >= count => None,
            (DrawerChange::Position(object, position) | DrawerChange::Shift(object, position), Some(from)) => {
                let to = usize::try_from(position).unwrap_or(count).min(count - 1);
                if to == from {
                    return Some(false);
                }
                self.items.remove(from);
                self.items.insert(to, object);
                Some(true)
            }
            (DrawerChange::Delete(_) | DrawerChange::Leave(_), Some(from)) => {
                self.items.remove(from);
                Some(true)
            }
            (DrawerChange::Shift(..) | DrawerChange::Delete(_) | DrawerChange::Leave(_), None) => None,
        }
    }

    fn fits(before: &DrawerModel, after: &DrawerModel, acked: &AcknowledgedChange<DrawerChange>) -> bool {
        let shows = if matches!(acked.change, DrawerChange::Delete(_)) { before } else { after };
        let place = || shows.place(acked.change.object()).and_then(|place| u32::try_from(place).ok());
        (acked.count == UNREPORTED || acked.count as usize == after.items.len())
            && (acked.place == UNREPORTED || Some(acked.place) == place())
    }

    fn print(&self) -> u64 {
        print(self.items.iter().copied().map(u64::from))
    }

    fn member(change: DrawerChange) -> u32 {
        change.object()
    }

    fn name(change: DrawerChange) -> String {
        match change {
            DrawerChange::Add(object) => format!("the addition of object {object}"),
            DrawerChange::Position(object, position) => format!("object {object} at position {position}"),
            DrawerChange::Shift(object, position) => format!("the shift of object {object} to position {position}"),
            DrawerChange::Delete(object) => format!("the deletion of object {object}"),
            DrawerChange::Leave(object) => format!("the move of object {object} to another drawer"),
            DrawerChange::Arrive(object) => format!("the move of object {object} from another drawer"),
        }
    }

    /// Reports whether only half of a move was made. A move of an object that the target already
    /// has only removes it from the source.
    fn is_torn(left: bool, was_there: bool) -> bool {
        !(left && was_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(items: &[u32], capacity: usize, change: DrawerChange) -> Option<Vec<u32>> {
        let mut model = DrawerModel::new(items.to_vec(), capacity);
        let before = model.clone();
        let outcome = model.apply(change);
        assert_eq!(outcome == Some(true), model != before, "it tells whether it changed something");
        outcome.map(|_| model.items)
    }

    #[test]
    fn the_rules_for_capacity_are_the_interfaces() {
        use DrawerChange::*;
        assert_eq!(after(&[1, 2], 3, Position(9, 0)), Some(vec![9, 1, 2]));
        assert_eq!(after(&[1, 2, 3], 3, Position(9, 1)), Some(vec![1, 9, 2]), "the last goes");
        assert_eq!(after(&[1, 2], 3, Position(9, 7)), Some(vec![1, 2, 9]));
        assert_eq!(after(&[1, 2, 3], 3, Position(9, 3)), None);
        assert_eq!(after(&[1, 2, 3], 3, Position(9, -1)), None);
        assert_eq!(after(&[1, 2, 3], 3, Position(1, -1)), Some(vec![2, 3, 1]), "one that is there needs no room");
        assert_eq!(after(&[1, 2, 3], 3, Add(9)), None);
        assert_eq!(after(&[1, 2, 3], 3, Add(2)), Some(vec![1, 2, 3]));
        assert_eq!(after(&[1, 2, 3], 3, Shift(1, 2)), Some(vec![2, 3, 1]));
        assert_eq!(after(&[1, 2, 3], 4, Shift(1, 3)), None);
        assert_eq!(after(&[1], 3, Shift(9, 0)), None);
        assert_eq!(after(&[1, 2], 3, Delete(1)), Some(vec![2]));
        assert_eq!(after(&[1], 3, Leave(9)), None);
        assert_eq!(after(&[1], 3, Arrive(9)), Some(vec![1, 9]));
        assert_eq!(after(&[1], 1, Arrive(9)), None);
        assert_eq!(after(&[1], 1, Arrive(1)), Some(vec![1]));
    }

    #[test]
    fn a_print_distinguishes_orders() {
        let prints = [&[][..], &[0], &[0, 0], &[1, 2], &[2, 1], &[1, 2, 3]].map(|items| print(items.iter().copied()));
        for (index, print) in prints.iter().enumerate() {
            assert!(!prints[index + 1..].contains(print));
        }
    }
}
