//! Everything that a change of an object affects: all objects below it, and the containers that hold any of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::command::{Context, Fault};
use crate::family::Fate;
use crate::id::Loid;
use crate::joint::Turns;
use crate::object::containers_of;
use crate::store::{Range, StoreError, Table, View};

/// An object, what lies below it, and the containers that hold any of these; the turns of all are there.
pub(super) struct Subtree {
    /// The object first, then what is below.
    pub objects: Vec<Loid>,
    /// Container → those of the objects that it holds.
    holders: BTreeMap<Loid, BTreeSet<Loid>>,
}

impl Subtree {
    /// How many levels it has: 1 if nothing lies below the object.
    pub fn levels(&self, turns: &mut Turns) -> Result<usize, Fault> {
        let mut known: HashMap<Loid, usize> = self.objects.first().map(|top| (*top, 1)).into_iter().collect();
        let (mut most, mut way) = (1, Vec::new());
        for object in &self.objects {
            let mut at = *object;
            // Up to one that is known, so each is come by once; at the latest the object itself is.
            while !known.contains_key(&at) {
                way.push(at);
                match turns.any(at)?.record.folder() {
                    Some(folder) => at = folder,
                    None => break,
                }
            }
            let mut level = known.get(&at).copied().unwrap_or(0);
            while let Some(below) = way.pop() {
                level += 1;
                known.insert(below, level);
            }
            most = most.max(level);
        }
        Ok(most)
    }

    /// Informs the containers of what becomes of the objects.
    pub fn notify(&self, becomes: Fate, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        for (container, members) in &self.holders {
            for member in members {
                turns.member(*container, *member, becomes, context)?;
            }
        }
        Ok(())
    }
}

/// Collects a live object and what lies below it.
pub(super) fn live(top: Loid, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let mut objects = vec![top];
    let mut next = 0;
    while let Some(at) = objects.get(next).copied() {
        next += 1;
        let below = turns.below(at, context.look())?;
        turns.need(below.iter().copied())?;
        objects.extend(below);
    }
    with_holders(objects, turns, context)
}

/// Collects an entry of the recycle bin and what it took along.
pub(super) fn discarded(entry: Loid, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let range = Range::prefix(&entry.to_key());
    let mut objects = vec![entry];
    for (key, _) in context.look().scan(View::Latest, Table::BinMembers, &range, usize::MAX, false)? {
        let member = Loid::from_key(&key[Loid::KEY_LEN..])
            .ok_or_else(|| StoreError::Corrupt("a key in `bin_members` is too short".to_owned()))?;
        if member != entry {
            objects.push(member);
        }
    }
    turns.need(objects.iter().copied())?;
    with_holders(objects, turns, context)
}

fn with_holders(objects: Vec<Loid>, turns: &mut Turns, context: &Context<'_>) -> Result<Subtree, Fault> {
    let mut holders: BTreeMap<Loid, BTreeSet<Loid>> = BTreeMap::new();
    for object in &objects {
        for container in containers_of(context.look(), View::Latest, *object)? {
            holders.entry(container).or_default().insert(*object);
        }
    }
    // Complete: these commands step alone, so nothing is put into a container between this look and our submission; and what was
    // put there by a change submitted before is in `Latest`.
    turns.need(holders.keys().copied())?;
    Ok(Subtree { objects, holders })
}
