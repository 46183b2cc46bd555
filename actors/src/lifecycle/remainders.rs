//! The later steps of a change of a subtree. Each does a bounded part of the work that the first
//! step has left.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::destroy::{Destroy, remove};
use super::discard::{Discard, bin_of, take_along};
use super::restore::{Restore, bring_back};
use super::subtree::{Open, Part};
use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::Result;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::{PathLimits, Record, Remainder, Task};
use crate::store::{Look, Range, Row, StoreError, Table, View, decode_value};

/// The reply of a step whose rows have changed since it was made. The step has done nothing, but
/// there may be other work now.
const LOOK_AGAIN: bool = true;

/// A step of the remaining work for an entry.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The remainders, all of one entry and task, as they are stored.
    rows: Vec<Remainder>,
    /// The objects that the step has changed.
    changed: Arc<Mutex<Vec<Loid>>>,
}

/// The commands of steps. Each leaves events under the name of the command that began the change.
pub(crate) enum GoOn {
    /// [`Task::Gather`]
    Gather(Gather),
    /// [`Task::Restore`]
    Restore(BringBack),
    /// [`Task::Destroy`]
    Destroy(Remove),
}

impl GoOn {
    /// Creates the next step from remainders; the first row decides the task.
    pub fn with(mut rows: Vec<Remainder>) -> Option<(GoOn, Step)> {
        let task = rows.first()?.task;
        rows.retain(|row| row.task == task);
        let step = Step { rows, changed: Arc::default() };
        let command = match task {
            Task::Gather => GoOn::Gather(Gather(step.clone())),
            Task::Restore => GoOn::Restore(BringBack(step.clone())),
            Task::Destroy => GoOn::Destroy(Remove(step.clone())),
        };
        Some((command, step))
    }
}

impl Step {
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

    fn note(&self, part: &Part) {
        self.changed.lock().clone_from(&part.objects);
    }

    /// Changes a part of the objects that were discarded along with the entry. If the change
    /// includes the entry (`ends`), it is changed after the last of them.
    fn of_members(
        &self,
        ends: bool,
        turns: &mut Turns,
        context: &mut Context<'_>,
        change: impl FnOnce(&Part, &mut Turns, &mut Context<'_>) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        let Some(row) = self.rows.first() else { return Ok(false) };
        if !self.is_left(context)? {
            return Ok(LOOK_AGAIN);
        }
        let mut part = Part::default();
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
pub(crate) struct Gather(Step);

impl Joint for Gather {
    type Reply = bool;
    const NAME: &'static str = Discard::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<bool, Fault> {
        let rows = &self.0.rows;
        let Some(first) = rows.first() else { return Ok(false) };
        if !self.0.is_left(context)? {
            return Ok(LOOK_AGAIN);
        }
        let lost = || StoreError::Corrupt(format!("{} has more to take along, and is not in the bin", first.entry));
        let bin = bin_of(first.entry, context)?.ok_or_else(lost)?;
        let mut part = Part::default();
        let open = rows.iter().map(|row| Open { folder: row.folder, after: row.after.clone() }).collect();
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
pub(crate) struct BringBack(Step);

impl Joint for BringBack {
    type Reply = bool;
    const NAME: &'static str = Restore::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<bool, Fault> {
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
pub(crate) struct Remove(Step);

impl Joint for Remove {
    type Reply = bool;
    const NAME: &'static str = Destroy::NAME;
    const ALONE: bool = true;
    const GOES_ON: bool = true;

    fn wants(&self) -> Vec<Loid> {
        Vec::new()
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<bool, Fault> {
        self.0.of_members(true, turns, context, remove)
    }
}

/// Checks a page of all locks for those below an object that the caller may not break. Returns the
/// key to continue from, if there are more.
///
/// # Errors
/// `ObjectLocked`, `ObjectLockedByMe`; errors of the store.
pub(crate) fn check_locks_below(
    top: Loid,
    after: Option<&[u8]>,
    limit: usize,
    context: &Context<'_>,
) -> Result<Option<bytes::Bytes>, Fault> {
    let all = Range::prefix(&[]);
    let range = after.map_or(all.clone(), |key| all.after(key));
    let page = context.look().scan(View::Latest, Table::Locks, &range, limit, false)?;
    for (key, _) in &page {
        let object = key.len().checked_sub(Loid::KEY_LEN).and_then(|at| Loid::from_key(&key[at..]));
        let object = object.ok_or_else(|| StoreError::Corrupt("a key in `locks` has no loid".to_owned()))?;
        let Some(record) = live(object, context.look())? else { continue };
        if let Err(locked) = check_lock(&record, context)
            && lies_below(&record, top, context.look())?
        {
            return Err(locked.into());
        }
    }
    Ok(if page.len() < limit { None } else { page.last().map(|(key, _)| key.clone()) })
}

fn live(object: Loid, look: &dyn Look) -> Result<Option<Record>, StoreError> {
    let value = look.get(View::Latest, Table::Objects, &object.to_key())?;
    Ok(value.map(|value| decode_value(Record::FORMAT, &value)).transpose()?)
}

fn lies_below(record: &Record, top: Loid, look: &dyn Look) -> Result<bool, StoreError> {
    let mut folder = record.folder();
    // The loop ends at the maximal depth of objects.
    for _ in 0..=PathLimits::WIDEST.depth {
        let Some(at) = folder else { break };
        if at == top {
            return Ok(true);
        }
        folder = live(at, look)?.and_then(|record| record.folder());
    }
    Ok(false)
}
