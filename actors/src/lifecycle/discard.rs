//! Moving an object to the recycle bin.

use std::collections::HashMap;
use std::sync::Arc;

use super::below::check_reach;
use super::subtree::{Open, Part, remainder};
use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::family::Fate;
use crate::folder::path_of;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::{Bin, PathLimits, Reach, Record, Task, Text};
use crate::store::{Key, StoreError, Table, View};

/// Moves an object to the recycle bin, with everything below it. Versions, attributes and places in
/// containers are kept; the name becomes free.
#[derive(Debug, Clone, Copy)]
pub struct Discard {
    /// The object.
    pub object: Loid,
    /// The reach of the caller's right, to which everything in the object must belong; see
    /// [`check_reach`].
    pub reach: Reach,
}

/// Refuses the root folder, which must always exist.
pub(super) fn check_removable(record: &Record) -> Result<(), Fault> {
    if record.folder.is_some() {
        return Ok(());
    }
    let error = Error::new(Code::InvalidForContainer, "The root folder can't be removed.");
    Err(error.with_source(record.loid).into())
}

impl Joint for Discard {
    type Reply = ();
    const NAME: &'static str = "object.discard";
    const ALONE: bool = true;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn top(&self) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        check_removable(&record)?;
        check_reach(&record, self.reach, context)?;
        let (part, left) = live(&record, turns, context)?;
        begin(&record, &part, left, turns, context)
    }
}

/// Returns a live object with the objects below it, up to the limit of one step, and the folders in
/// which more are left.
pub(super) fn live(record: &Record, turns: &mut Turns, context: &Context<'_>) -> Result<(Part, Vec<Open>), Fault> {
    turns.need(record.folder())?;
    let mut part = Part::beginning_with(record.loid, context)?;
    let left = part.add_below(vec![Open::all(record.loid)], context)?;
    part.take(turns)?;
    for object in &part.objects {
        check_lock(&turns.any(*object)?.record, context)?;
    }
    if !left.is_empty() && !context.subtrees.locks_seen {
        return Err(Fault::NeedsLocks(record.loid));
    }
    Ok((part, left))
}

/// Makes the first step: discards the object with a part of the objects below it, and notes the
/// rest as remainders.
pub(super) fn begin(
    record: &Record,
    part: &Part,
    left: Vec<Open>,
    turns: &mut Turns,
    context: &mut Context<'_>,
) -> Result<(), Fault> {
    context.is_about(record.loid);
    let bin = Bin {
        at: context.now_s(),
        by: context.who.user.clone(),
        entry: record.loid,
        // A path that would be too deep is replaced by its end.
        path: match path_of(context.look(), View::Latest, record)? {
            Some(path) => path.into(),
            None => end_of_path(&record.name),
        },
    };
    take_along(&bin, part, turns, context)?;
    for open in left {
        context.put(None, &remainder(record.loid, Task::Gather, open, context.who));
    }
    Ok(())
}

/// Moves objects to the recycle bin, along with an entry or as the entry itself. The folder of each
/// is either among them, before it, or in the bin already.
pub(super) fn take_along(entry: &Bin, part: &Part, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
    let mut paths: HashMap<Loid, Text> = HashMap::from([(entry.entry, entry.path.clone())]);
    for object in &part.objects {
        let record = &mut turns.any(*object)?.record;
        if *object != entry.entry {
            let folder = record.folder().ok_or_else(|| nowhere(*object))?;
            let above = match paths.get(&folder) {
                Some(above) => above.clone(),
                None => {
                    let bin = bin_of(folder, context)?.ok_or_else(|| nowhere(*object))?;
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
        record.bin = Some(Bin { path, ..entry.clone() });
        // Objects in the bin have no lock.
        record.lock = None;
    }
    part.notify(Fate::Hidden, turns, context)
}

fn end_of_path(name: &str) -> Text {
    format!("/…/{name}").into()
}

/// Returns the note of the bin for an object, if it is discarded.
pub(super) fn bin_of(object: Loid, context: &Context<'_>) -> Result<Option<Bin>, StoreError> {
    let key = Key { table: Table::Recycled, key: bytes::Bytes::copy_from_slice(&object.to_key()) };
    Ok(context.look_up::<Record>(&key)?.and_then(|record| record.bin))
}

fn nowhere(object: Loid) -> StoreError {
    StoreError::Corrupt(format!("{object} lies in no folder that is in the recycle bin"))
}
