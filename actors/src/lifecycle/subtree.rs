//! Everything that a step of a change of an object affects: objects below it, as many as one step
//! changes, and the containers that hold any of them.
//!
//! The first step of a change finds what there is; where that is too much for one step, it leaves
//! [`Remainder`]s, and [`super::remainders`] goes on. Folders go to the recycle bin before what
//! lies in them, so that nothing is added there afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::command::{Context, Fault, Who};
use crate::family::Fate;
use crate::folder::entries;
use crate::id::Loid;
use crate::joint::Turns;
use crate::object::{Record, Remainder, Task, containers_of};
use crate::store::{Range, StoreError, Table, View};

/// Bytes of memory that the containers of one step may take, unless the first object alone, with
/// what holds it, takes more.
const STEP_BYTES: u64 = 32 << 20;

/// Objects, and the containers that hold any of these.
#[derive(Default)]
pub(super) struct Part {
    /// Folders before what lies in them.
    pub objects: Vec<Loid>,
    /// Container → those of the objects that it holds.
    holders: BTreeMap<Loid, BTreeSet<Loid>>,
    /// Objects and the containers that are notified of them. All are read, so one that takes much
    /// memory counts several times.
    weight: usize,
}

impl Part {
    /// A part with that object, whatever holds it.
    pub fn beginning_with(object: Loid, context: &Context<'_>) -> Result<Part, Fault> {
        let mut part = Part::default();
        part.add(object, context)?;
        Ok(part)
    }

    /// Adds an object beyond the room that there is.
    pub fn add_last(&mut self, object: Loid, context: &Context<'_>) -> Result<(), Fault> {
        self.add(object, context)
    }

    fn add(&mut self, object: Loid, context: &Context<'_>) -> Result<(), Fault> {
        // Complete: these commands step alone, so nothing is put into a container between this look
        // and our submission; and what was put there by a change submitted before is in `Latest`.
        let containers = containers_of(context.look(), View::Latest, object)?;
        self.weight += weight_of(object, context)?;
        for container in containers {
            self.weight += match self.holders.contains_key(&container) {
                true => 1,
                false => weight_of(container, context)?,
            };
            self.holders.entry(container).or_default().insert(object);
        }
        self.objects.push(object);
        Ok(())
    }

    /// How many more it may have.
    fn room(&self, context: &Context<'_>) -> usize {
        // An object that many containers hold counts as many, but is one.
        context.subtrees.objects_per_step.saturating_sub(self.weight)
    }

    /// Makes sure that the turns of all of them have been taken.
    pub fn take(&self, turns: &Turns) -> Result<(), Fault> {
        turns.need(self.objects.iter().chain(self.holders.keys()).copied())
    }

    /// How many levels it has: 1 if nothing lies below the first object. All that lies below that
    /// one must be in it.
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

    /// Adds what lies in these folders, and below, as long as there is room. Gives the folders in
    /// which more is left.
    pub fn add_below(&mut self, folders: Vec<Open>, context: &Context<'_>) -> Result<Vec<Open>, Fault> {
        let mut known = folders.len();
        let mut queue = VecDeque::from(folders);
        let mut left = Vec::new();
        while let Some(open) = queue.pop_front() {
            let is_known = known > 0;
            known = known.saturating_sub(1);
            if is_known && self.room(context) == 0 {
                // There was something in it, and a later step looks for it.
                left.push(open);
            } else {
                left.extend(self.add_contents(open, &mut queue, context)?);
            }
        }
        Ok(left)
    }

    /// Adds what lies in a folder; and the folder again, if more does.
    fn add_contents(
        &mut self,
        mut open: Open,
        queue: &mut VecDeque<Open>,
        context: &Context<'_>,
    ) -> Result<Option<Open>, Fault> {
        let mut returning = false;
        let more = loop {
            let room = self.room(context);
            // One more than there is room for shows whether there are more.
            let page = entries(context.look(), open.folder, &open.after, room + 1)?;
            let all = page.len() <= room;
            for (name, object) in page.into_iter().take(room) {
                if self.room(context) == 0 {
                    break;
                }
                open.after = name.to_vec();
                if context.subtrees.under_way
                    && Remainder::is_left(context.look(), View::Latest, object, Task::Restore)?
                {
                    // What comes back does so first.
                    returning = true;
                    continue;
                }
                self.add(object, context)?;
                queue.push_back(Open::all(object));
            }
            if all && self.room(context) > 0 {
                break false;
            }
            if self.room(context) == 0 {
                break !entries(context.look(), open.folder, &open.after, 1)?.is_empty();
            }
        };
        if returning {
            return Ok(Some(Open::all(open.folder)));
        }
        Ok(more.then_some(open))
    }

    /// Adds what an entry of the recycle bin took along, after that key, as long as there is room.
    /// Gives the key to go on after, if there is more.
    pub fn add_members(&mut self, entry: Loid, after: &[u8], context: &Context<'_>) -> Result<Option<Vec<u8>>, Fault> {
        let key = entry.to_key();
        let (mut after, all) = (after.to_vec(), Range::prefix(&key));
        loop {
            let room = self.room(context);
            let range = if after.is_empty() { all.clone() } else { all.after(&[&key[..], &after].concat()) };
            // One more shows whether there are more; and one may be the entry.
            let page = context.look().scan(View::Latest, Table::BinMembers, &range, room + 2, false)?;
            let ends = page.len() < room + 2;
            for (key, _) in page {
                let member = Loid::from_key(&key[Loid::KEY_LEN..])
                    .ok_or_else(|| StoreError::Corrupt("a key in `bin_members` is too short".to_owned()))?;
                if member != entry {
                    if self.room(context) == 0 {
                        return Ok(Some(after));
                    }
                    self.add(member, context)?;
                }
                after = key[Loid::KEY_LEN..].to_vec();
            }
            if ends {
                return Ok(None);
            }
        }
    }
}

/// Returns an object's weight in a step: 1, and more in proportion to the memory of its container.
/// Containers of [`STEP_BYTES`] together weigh as much as all objects of a step.
fn weight_of(object: Loid, context: &Context<'_>) -> Result<usize, StoreError> {
    let record = Record::find(context.look(), View::Latest, object)?;
    let bytes = record.map_or(0, |record| record.container_bytes);
    let each = STEP_BYTES / context.subtrees.objects_per_step.max(1) as u64;
    Ok(1 + usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX / 2))
}

/// A folder in which objects are left, after a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    /// The folder.
    pub folder: Loid,
    /// The name; empty: all of them.
    pub after: Vec<u8>,
}

impl Open {
    /// All that lies in it. Anything else than a folder has nothing in it.
    pub fn all(folder: Loid) -> Open {
        Open { folder, after: Vec::new() }
    }
}

/// What is left to be done for an entry in a folder, at that caller's wish.
pub(super) fn remainder(entry: Loid, task: Task, open: Open, who: &Who) -> Remainder {
    Remainder {
        entry,
        task,
        folder: open.folder,
        after: open.after,
        user: who.user.clone(),
        session: who.session.clone(),
        address: who.address.clone(),
    }
}
