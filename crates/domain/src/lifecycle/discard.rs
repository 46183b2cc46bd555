//! Moving an object to the recycle bin.

use std::collections::HashMap;
use std::sync::Arc;

use super::below::check_reach;
use super::subtree::{OpenFolder, StepScope, remainder};
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::MemberFate;
use crate::folder::path_of;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{DiscardNote, PathLimits, Reach, Record, RemainderTask, SharedText};
use crate::store::{ReadLevel, RowPlace, StoreError, Table};

/// Moves an object to the recycle bin, with everything below it. Versions, attributes and places in
/// containers are kept; the name becomes free.
#[derive(Debug, Clone, Copy)]
pub struct DiscardObject {
    /// The object.
    pub object: Loid,
    /// The reach of the caller's right, to which everything in the object must belong; see
    /// [`check_reach`].
    pub reach: Reach,
}

/// Refuses the root folder, which must always exist.
pub(super) fn check_removable(record: &Record) -> Result<(), CommandFault> {
    if record.folder.is_some() {
        return Ok(());
    }
    let error = Error::new(Code::InvalidForContainer, "The root folder can't be removed.");
    Err(error.with_source(record.loid).into())
}

impl JointCommand for DiscardObject {
    type Reply = ();
    const NAME: &'static str = "object.discard";
    const ALONE: bool = true;
    const REMOVES: bool = true;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn top(&self) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        check_removable(&record)?;
        check_reach(&record, self.reach, context)?;
        let (part, left) = collect_live(&record, turns, context)?;
        begin_discard(&record, &part, left, turns, context)
    }
}

/// Returns a live object with the objects below it, up to the limit of one step, and the folders in
/// which more are left.
pub(super) fn collect_live(
    record: &Record,
    turns: &mut ContainerTurns,
    context: &Context<'_>,
) -> Result<(StepScope, Vec<OpenFolder>), CommandFault> {
    turns.need(record.folder())?;
    let mut part = StepScope::beginning_with(record.loid, context)?;
    let left = part.add_below(vec![OpenFolder::all(record.loid)], context)?;
    part.take(turns)?;
    for object in &part.objects {
        check_lock(&turns.any(*object)?.record, context)?;
    }
    if !left.is_empty() && !context.subtrees.locks_seen {
        return Err(CommandFault::NeedsLocks(record.loid));
    }
    Ok((part, left))
}

/// Makes the first step: discards the object with a part of the objects below it, and notes the
/// rest as remainders.
pub(super) fn begin_discard(
    record: &Record,
    part: &StepScope,
    left: Vec<OpenFolder>,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    context.is_about(record.loid);
    let bin = DiscardNote {
        at: context.now_s(),
        by: context.who.user.clone(),
        entry: record.loid,
        // A path that would be too deep is replaced by its end.
        path: match path_of(context.look(), ReadLevel::Latest, record)? {
            Some(path) => path.into(),
            None => end_of_path(&record.name),
        },
    };
    take_along(&bin, part, turns, context)?;
    for open in left {
        context.put(None, &remainder(record.loid, RemainderTask::Gather, open, context.who));
    }
    Ok(())
}

/// Moves objects to the recycle bin, along with an entry or as the entry itself. The folder of each
/// is either among them, before it, or in the bin already.
pub(super) fn take_along(
    entry: &DiscardNote,
    part: &StepScope,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let mut paths: HashMap<Loid, SharedText> = HashMap::from([(entry.entry, entry.path.clone())]);
    for object in &part.objects {
        let record = &mut turns.any(*object)?.record;
        if *object != entry.entry {
            let folder = record.folder().ok_or_else(|| missing_folder_error(*object))?;
            let above = match paths.get(&folder) {
                Some(above) => above.clone(),
                None => {
                    let bin = bin_of(folder, context)?.ok_or_else(|| missing_folder_error(*object))?;
                    paths.entry(folder).or_insert(bin.path).clone()
                }
            };
            let is_deep = above.matches('/').count() >= PathLimits::WIDEST.depth;
            let path = if is_deep { end_of_path(&record.name) } else { format!("{above}/{}", record.name).into() };
            paths.insert(*object, path);
        }
        // Every object has a path by now.
        let path = paths.get(object).cloned().unwrap_or_default();
        let record = Arc::make_mut(record);
        record.bin = Some(DiscardNote { path, ..entry.clone() });
        // Objects in the bin have no lock.
        record.lock = None;
    }
    part.notify(MemberFate::Hidden, turns, context)
}

fn end_of_path(name: &str) -> SharedText {
    format!("/…/{name}").into()
}

/// Returns the note of the bin for an object, if it is discarded.
pub(super) fn bin_of(object: Loid, context: &Context<'_>) -> Result<Option<DiscardNote>, StoreError> {
    let key = RowPlace { table: Table::Recycled, key: bytes::Bytes::copy_from_slice(&object.to_key()) };
    Ok(context.look_up::<Record>(&key)?.and_then(|record| record.bin))
}

fn missing_folder_error(object: Loid) -> StoreError {
    StoreError::Corrupt(format!("{object} lies in no folder that is in the recycle bin"))
}
