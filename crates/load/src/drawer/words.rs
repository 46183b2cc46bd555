//! What the verification found, in words.

use super::model::Change;

/// A change in words.
pub fn name(change: Change) -> String {
    match change {
        Change::Add(object) => format!("the addition of object {object}"),
        Change::Position(object, position) => format!("object {object} at position {position}"),
        Change::Shift(object, position) => format!("the shift of object {object} to position {position}"),
        Change::Delete(object) => format!("the deletion of object {object}"),
        Change::Leave(object) => format!("the move of object {object} to another drawer"),
        Change::Arrive(object) => format!("the move of object {object} from another drawer"),
    }
}

/// What the end has that it should not have, or has not.
pub fn difference(wanted: &[u32], held: &[u32]) -> String {
    let lost: Vec<_> = wanted.iter().filter(|item| !held.contains(item)).collect();
    let new: Vec<_> = held.iter().filter(|item| !wanted.contains(item)).collect();
    let doubled = held.iter().enumerate().find(|(index, item)| held[..*index].contains(item));
    if let Some((_, item)) = doubled {
        return format!("in the end object {item} is there twice");
    }
    if let Some(item) = lost.first() {
        return format!("in the end {} acknowledged items are missing, object {item} for one", lost.len());
    }
    if let Some(item) = new.first() {
        return format!("in the end {} items are there that should not be, object {item} for one", new.len());
    }
    "in the end the items are there, but not in the order that was acknowledged".to_owned()
}
