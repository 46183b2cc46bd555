//! The later steps of a change of a subtree. Each does a bounded part of the work that the first
//! step has left.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::destroy::{DestroyObject, remove};
use super::discard::{DiscardObject, bin_of, take_along};
use super::restore::{RestoreObject, bring_back};
use super::subtree::{OpenFolder, StepScope};
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::Result;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{PathLimits, Record, Remainder, RemainderTask};
use crate::store::{KeyRange, ReadLevel, Row, RowReader, StoreError, Table, decode_value};

/// The reply of a step whose rows have changed since it was made. The step has done nothing, but
/// there may be other work now.
const LOOK_AGAIN: bool = true;

/// A step of the remaining work for an entry.
#[derive(Debug, Clone)]
pub struct SubtreeStep {
    /// The remainders, all of one entry and task, as they are stored.
    rows: Vec<Remainder>,
    /// The objects that the step has changed.
    changed: Arc<Mutex<Vec<Loid>>>,
}

/// The commands of steps. Each leaves events under the name of the command that began the change.
pub enum StepCommand {
    /// [`RemainderTask::Gather`]
    Gather(GatherObjects),
    /// [`RemainderTask::Restore`]
    Restore(RestoreMembers),
    /// [`RemainderTask::Destroy`]
    Destroy(DestroyMembers),
}

impl StepCommand {
    /// Creates the next step from remainders; the first row decides the task.
    pub fn with(mut rows: Vec<Remainder>) -> Option<(StepCommand, SubtreeStep)> {
        let task = rows.first()?.task;
        rows.retain(|row| row.task == task);
        let step = SubtreeStep { rows, changed: Arc::default() };
        let command = match task {
            RemainderTask::Gather => StepCommand::Gather(GatherObjects(step.clone())),
            RemainderTask::Restore => StepCommand::Restore(RestoreMembers(step.clone())),
            RemainderTask::Destroy => StepCommand::Destroy(DestroyMembers(step.clone())),
        };
        Some((command, step))
    }
}

impl SubtreeStep {
    /// Takes the list of objects that the step has changed.
    pub fn changed(&self) -> Vec<Loid> {
        std::mem::take(&mut self.changed.lock())
    }

    /// Returns the last of the rows, from which the search for the next step continues.
    pub fn last(&self) -> Option<&Remainder> {
        self.rows.last()
    }

    /// Reports whether the rows are still as they were read. They may have been pending, and their
    /// commit may have failed while the step waited for its turn. Then the change never took place,
    /// and there is nothing to continue.
    fn is_left(&self, context: &Context<'_>) -> Result<bool, StoreError> {
        for row in &self.rows {
            if context.look_up(&row.place())?.as_ref() != Some(row) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn note(&self, part: &StepScope) {
        self.changed.lock().clone_from(&part.objects);
    }

    /// Changes a part of the objects that were discarded along with the entry. If the change
    /// includes the entry (`ends`), it is changed after the last of them.
    fn of_members(
        &self,
        ends: bool,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
        change: impl FnOnce(&StepScope, &mut ContainerTurns, &mut Context<'_>) -> Result<(), CommandFault>,
    ) -> Result<bool, CommandFault> {
        let Some(row) = self.rows.first() else { return Ok(false) };
        if !self.is_left(context)? {
            return Ok(LOOK_AGAIN);
        }
        let mut part = StepScope::default();
        let left = part.add_members(row.entry, &row.after, context)?;
        if ends && left.is_none() {
            part.add_last(row.entry, context)?;
        }
        part.take(turns)?;
        self.note(&part);
        context.is_about(row.entry);
        change(&part, turns, context)?;
        match left {
            Some(after) => context.put(Some(row), &Remainder { after, ..row.clone() }),
            None => context.remove(row),
        }
        Ok(true)
    }
}

/// Moves a part of the objects below a discarded folder to the recycle bin. The reply, as for the
/// other steps, is whether it made progress.
pub struct GatherObjects(SubtreeStep);

impl JointCommand for GatherObjects {
    type Reply = bool;
    const NAME: &'static str = DiscardObject::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        let rows = &self.0.rows;
        let Some(first) = rows.first() else { return Ok(false) };
        if !self.0.is_left(context)? {
            return Ok(LOOK_AGAIN);
        }
        let lost = || StoreError::Corrupt(format!("{} has more to take along, and is not in the bin", first.entry));
        let bin = bin_of(first.entry, context)?.ok_or_else(lost)?;
        let mut part = StepScope::default();
        let open = rows.iter().map(|row| OpenFolder { folder: row.folder, after: row.after.clone() }).collect();
        let left = part.add_below(open, context)?;
        let mut left: BTreeMap<Loid, Vec<u8>> = left.into_iter().map(|open| (open.folder, open.after)).collect();
        part.take(turns)?;
        self.0.note(&part);
        context.is_about(first.entry);
        take_along(&bin, &part, turns, context)?;
        let mut goes_on = !part.objects.is_empty();
        for row in rows {
            let still = left.remove(&row.folder);
            goes_on |= still.as_ref() != Some(&row.after);
            match still {
                None => context.remove(row),
                Some(after) if after != row.after => context.put(Some(row), &Remainder { after, ..row.clone() }),
                Some(_) => {}
            }
        }
        for (folder, after) in left {
            context.put(None, &Remainder { folder, after, ..first.clone() });
        }
        Ok(goes_on)
    }
}

/// Restores a part of the objects that were discarded along with an entry.
pub struct RestoreMembers(SubtreeStep);

impl JointCommand for RestoreMembers {
    type Reply = bool;
    const NAME: &'static str = RestoreObject::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        self.0.of_members(false, turns, context, |part, turns, context| {
            // A folder that was restored before its objects must not get a new stamp by them.
            for object in &part.objects {
                if let Some(folder) = turns.any(*object)?.record.folder() {
                    context.keep_stamp_of(folder);
                }
            }
            bring_back(part, turns, context)
        })
    }
}

/// Destroys a part of the objects that were discarded along with an entry, and at last the entry
/// itself.
pub struct DestroyMembers(SubtreeStep);

impl JointCommand for DestroyMembers {
    type Reply = bool;
    const NAME: &'static str = DestroyObject::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<bool, CommandFault> {
        self.0.of_members(true, turns, context, remove)
    }
}

/// Checks a page of all locks for those below an object that the caller may not break. Returns the
/// key to continue from, if there are more.
///
/// # Errors
/// `ObjectLocked`, `ObjectLockedByMe`; errors of the store.
pub fn check_locks_below(
    top: Loid,
    after: Option<&[u8]>,
    limit: usize,
    context: &Context<'_>,
) -> Result<Option<bytes::Bytes>, CommandFault> {
    let all = KeyRange::prefix(&[]);
    let range = after.map_or(all.clone(), |key| all.after(key));
    let page = context.look().scan(ReadLevel::Latest, Table::Locks, &range, limit, false)?;
    for (key, _) in &page {
        let object = key.len().checked_sub(Loid::KEY_LEN).and_then(|at| Loid::from_key(&key[at..]));
        let object = object.ok_or_else(|| StoreError::Corrupt("a key in `locks` has no loid".to_owned()))?;
        let Some(record) = find_live_record(object, context.look())? else { continue };
        if let Err(locked) = check_lock(&record, context)
            && lies_below(&record, top, context.look())?
        {
            return Err(locked.into());
        }
    }
    Ok(if page.len() < limit { None } else { page.last().map(|(key, _)| key.clone()) })
}

fn find_live_record(object: Loid, look: &dyn RowReader) -> Result<Option<Record>, StoreError> {
    let value = look.get(ReadLevel::Latest, Table::Objects, &object.to_key())?;
    Ok(value.map(|value| decode_value(Record::FORMAT, &value)).transpose()?)
}

fn lies_below(record: &Record, top: Loid, look: &dyn RowReader) -> Result<bool, StoreError> {
    let mut folder = record.folder();
    // The loop ends at the maximal depth of objects.
    for _ in 0..=PathLimits::WIDEST.depth {
        let Some(at) = folder else { break };
        if at == top {
            return Ok(true);
        }
        folder = find_live_record(at, look)?.and_then(|record| record.folder());
    }
    Ok(false)
}
