//! What goes along with an object: what lies below a folder, and the drawers that hold a shortcut to any of it.

use std::collections::BTreeSet;

use crate::command::{Context, Fault};
use crate::folder::children;
use crate::id::Loid;
use crate::joint::Turns;
use crate::object::{FamilyKind, containers_of};
use crate::store::{Range, StoreError, Table, View};

/// An object, what lies below it, and the drawers concerned; the turns of all are there.
pub(super) struct Subtree {
    /// The object first, then what is below.
    pub members: Vec<Loid>,
    /// Drawers with a shortcut to a member.
    pub drawers: BTreeSet<Loid>,
}

/// Collects a live object and what lies below it.
pub(super) fn live(top: Loid, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let mut members = vec![top];
    let mut next = 0;
    while let Some(at) = members.get(next).copied() {
        next += 1;
        // A folder's turn is taken before its names are read: none can be added meanwhile.
        if turns.any(at)?.record.family == FamilyKind::Folder {
            let (below, _) = children(context.look(), View::Latest, at, None, usize::MAX)?;
            turns.need(below.iter().copied())?;
            members.extend(below);
        }
    }
    with_drawers(members, turns, context)
}

/// Collects an entry of the recycle bin and what it took along.
pub(super) fn discarded(entry: Loid, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let range = Range::prefix(&entry.to_key());
    let mut members = vec![entry];
    for (key, _) in context.look().scan(View::Latest, Table::BinMembers, &range, usize::MAX, false)? {
        let member = Loid::from_key(&key[Loid::KEY_LEN..])
            .ok_or_else(|| StoreError::Corrupt("a key in `bin_members` is too short".to_owned()))?;
        if member != entry {
            members.push(member);
        }
    }
    turns.need(members.iter().copied())?;
    with_drawers(members, turns, context)
}

fn with_drawers(members: Vec<Loid>, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let mut drawers = BTreeSet::new();
    for member in &members {
        drawers.extend(containers_of(context.look(), View::Latest, *member)?);
    }
    // Complete: these commands step alone, so no shortcut is added between this look and our submission; and one whose
    // addition was submitted before is in `Latest`.
    turns.need(drawers.iter().copied())?;
    Ok(Subtree { members, drawers })
}
