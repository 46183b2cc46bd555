//! The scope of one step of a change of an object: the objects below it, up to a limit, and the
//! containers that hold any of them.
//!
//! The first step of a change collects the objects. If they are too many for one step, it leaves
//! [`Remainder`]s, and [`super::remainders`] continues. A folder is discarded before its objects,
//! so that nothing can be added there afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::command::{CallerIdentity, CommandFault, Context};
use crate::family::MemberFate;
use crate::folder::entries;
use crate::id::Loid;
use crate::joint::ContainerTurns;
use crate::object::{Record, Remainder, RemainderTask, containers_of};
use crate::store::{KeyRange, ReadLevel, StoreError, Table};

/// The limit on the memory of the containers of one step in bytes. A single object, with the
/// containers that hold it, may exceed it.
const STEP_BYTES: u64 = 32 << 20;

/// The objects of one step, and the containers that hold any of them.
#[derive(Default)]
pub(super) struct StepScope {
    /// The objects; a folder precedes its members.
    pub objects: Vec<Loid>,
    /// The containers, each with those of the objects that it holds.
    holders: BTreeMap<Loid, BTreeSet<Loid>>,
    /// The sum of the weights of objects and notified containers. All their states are read, so a
    /// container that takes much memory counts several times.
    weight: usize,
}

impl StepScope {
    /// Creates a scope with one object, however many containers hold it.
    pub fn beginning_with(object: Loid, context: &Context<'_>) -> Result<StepScope, CommandFault> {
        let mut part = StepScope::default();
        part.add(object, context)?;
        Ok(part)
    }

    /// Adds an object beyond the limit.
    pub fn add_last(&mut self, object: Loid, context: &Context<'_>) -> Result<(), CommandFault> {
        self.add(object, context)
    }

    fn add(&mut self, object: Loid, context: &Context<'_>) -> Result<(), CommandFault> {
        // The list is complete, as these commands run alone. Nothing is put into a container
        // between this read and the submission, and `Latest` includes all changes submitted before.
        let containers = containers_of(context.look(), ReadLevel::Latest, object)?;
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

    /// Returns the number of objects that still fit.
    fn room(&self, context: &Context<'_>) -> usize {
        // An object held by many containers counts as many.
        context.subtrees.objects_per_step.saturating_sub(self.weight)
    }

    /// Ensures that the turns of all objects and containers have been taken.
    pub fn take(&self, turns: &ContainerTurns) -> Result<(), CommandFault> {
        turns.need(self.objects.iter().chain(self.holders.keys()).copied())
    }

    /// Returns the number of levels of the objects: 1 if nothing is below the first one. The scope
    /// must contain everything below it.
    pub fn levels(&self, turns: &mut ContainerTurns) -> Result<usize, CommandFault> {
        let mut known: HashMap<Loid, usize> = self.objects.first().map(|top| (*top, 1)).into_iter().collect();
        let (mut most, mut way) = (1, Vec::new());
        for object in &self.objects {
            let mut at = *object;
            // The walk ends at an object with a known level, so that each object is visited once.
            // The first object always has one.
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

    /// Informs the containers of the new state of the objects.
    pub fn notify(
        &self,
        becomes: MemberFate,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        for (container, members) in &self.holders {
            for member in members {
                turns.member(*container, *member, becomes, context)?;
            }
        }
        Ok(())
    }

    /// Adds the objects below these folders, at any depth, while there is room. Returns the folders
    /// in which more are left.
    pub fn add_below(
        &mut self,
        folders: Vec<OpenFolder>,
        context: &Context<'_>,
    ) -> Result<Vec<OpenFolder>, CommandFault> {
        let mut known = folders.len();
        let mut queue = VecDeque::from(folders);
        let mut left = Vec::new();
        while let Some(open) = queue.pop_front() {
            let is_known = known > 0;
            known = known.saturating_sub(1);
            if is_known && self.room(context) == 0 {
                // The folder had objects left before, so a later step looks there.
                left.push(open);
            } else {
                left.extend(self.add_contents(open, &mut queue, context)?);
            }
        }
        Ok(left)
    }

    /// Adds the objects of a folder while there is room. Returns the folder again if more are left.
    fn add_contents(
        &mut self,
        mut open: OpenFolder,
        queue: &mut VecDeque<OpenFolder>,
        context: &Context<'_>,
    ) -> Result<Option<OpenFolder>, CommandFault> {
        let mut returning = false;
        let more = loop {
            let room = self.room(context);
            // One object more than fits shows whether there are more.
            let page = entries(context.look(), open.folder, &open.after, room + 1)?;
            let all = page.len() <= room;
            for (name, object) in page.into_iter().take(room) {
                if self.room(context) == 0 {
                    break;
                }
                open.after = name.to_vec();
                if context.subtrees.under_way
                    && Remainder::is_left(context.look(), ReadLevel::Latest, object, RemainderTask::Restore)?
                {
                    // Objects that are being restored are skipped until that is done.
                    returning = true;
                    continue;
                }
                self.add(object, context)?;
                queue.push_back(OpenFolder::all(object));
            }
            if all && self.room(context) > 0 {
                break false;
            }
            if self.room(context) == 0 {
                break !entries(context.look(), open.folder, &open.after, 1)?.is_empty();
            }
        };
        if returning {
            return Ok(Some(OpenFolder::all(open.folder)));
        }
        Ok(more.then_some(open))
    }

    /// Adds the objects discarded along with an entry of the recycle bin, after the key `after`,
    /// while there is room. Returns the key to continue from, if there are more.
    pub fn add_members(
        &mut self,
        entry: Loid,
        after: &[u8],
        context: &Context<'_>,
    ) -> Result<Option<Vec<u8>>, CommandFault> {
        let key = entry.to_key();
        let (mut after, all) = (after.to_vec(), KeyRange::prefix(&key));
        loop {
            let room = self.room(context);
            let range = if after.is_empty() { all.clone() } else { all.after(&[&key[..], &after].concat()) };
            // One object more shows whether there are more, and one may be the entry itself.
            let page = context.look().scan(ReadLevel::Latest, Table::BinMembers, &range, room + 2, false)?;
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
    let record = Record::find(context.look(), ReadLevel::Latest, object)?;
    let bytes = record.map_or(0, |record| record.container_bytes);
    let each = STEP_BYTES / context.subtrees.objects_per_step.max(1) as u64;
    Ok(1 + usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX / 2))
}

/// A folder in which objects are left, after a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenFolder {
    /// The folder.
    pub folder: Loid,
    /// The name; empty for all objects.
    pub after: Vec<u8>,
}

impl OpenFolder {
    /// Covers all objects in `folder`; there are none if it is another kind of object.
    pub fn all(folder: Loid) -> OpenFolder {
        OpenFolder { folder, after: Vec::new() }
    }
}

/// Creates the row for the remaining work of an entry in a folder, on behalf of a caller.
pub(super) fn remainder(entry: Loid, task: RemainderTask, open: OpenFolder, who: &CallerIdentity) -> Remainder {
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
