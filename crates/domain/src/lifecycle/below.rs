//! The check that all objects below another are within the caller's reach.

use std::collections::VecDeque;

use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::folder::children;
use crate::id::Loid;
use crate::object::{Reach, Record};
use crate::store::{KeyRange, ReadLevel, RowPlace, StoreError, Table};

/// Refuses to act on an object with everything in it, if any of that, at whatever depth, is out of
/// the caller's reach. Otherwise the creator of a bundle could discard what others made in it, or
/// gain rights to it at its new location. An object with more members than one step looks at is
/// refused, too.
///
/// The check is complete for commands that run alone: nothing can be added between the check and
/// the submission.
///
/// # Errors
/// `PermissionDenied`; errors of the store.
pub(super) fn check_reach(record: &Record, reach: Reach, context: &Context<'_>) -> Result<(), CommandFault> {
    if reach == Reach::All {
        return Ok(());
    }
    let why = match check_ownership(record, reach, context)? {
        SubtreeOwnership::Within => return Ok(()),
        SubtreeOwnership::Others => "it contains objects that other users created",
        SubtreeOwnership::TooMany => "it contains too many objects to check",
    };
    let message =
        format!("`{}` may not do this to `{}`, although they created it: {why}.", context.who.user, record.loid);
    Err(Error::new(Code::PermissionDenied, message).with_source(record.loid).into())
}

enum SubtreeOwnership {
    Within,
    Others,
    TooMany,
}

fn check_ownership(record: &Record, reach: Reach, context: &Context<'_>) -> Result<SubtreeOwnership, StoreError> {
    let covers = |record: &Record| reach.covers(&record.creator, &context.who.user);
    if !covers(record) {
        return Ok(SubtreeOwnership::Others);
    }
    // One object more than allowed shows whether there are too many.
    let most = context.subtrees.objects_per_step.saturating_add(1);
    if record.is_discarded() {
        let members = KeyRange::prefix(&record.loid.to_key());
        let members = context.look().scan(ReadLevel::Latest, Table::BinMembers, &members, most, false)?;
        for (key, _) in &members {
            let loid = Loid::from_key(&key[Loid::KEY_LEN..])
                .ok_or_else(|| StoreError::Corrupt("a key in `bin_members` is too short".to_owned()))?;
            let key = RowPlace { table: Table::Recycled, key: bytes::Bytes::copy_from_slice(&loid.to_key()) };
            if context.look_up::<Record>(&key)?.is_some_and(|member| !covers(&member)) {
                return Ok(SubtreeOwnership::Others);
            }
        }
        return Ok(if members.len() < most { SubtreeOwnership::Within } else { SubtreeOwnership::TooMany });
    }
    let (mut open, mut room) = (VecDeque::new(), most);
    open.extend(record.family.holds_by_name().then_some(record.loid));
    while let Some(folder) = open.pop_front() {
        let (below, _) = children(context.look(), ReadLevel::Latest, folder, room)?;
        room -= below.len();
        for loid in below {
            let Some(child) = context.look_up::<Record>(&Record::live_key(loid))? else { continue };
            if !covers(&child) {
                return Ok(SubtreeOwnership::Others);
            }
            open.extend(child.family.holds_by_name().then_some(loid));
        }
        if room == 0 {
            return Ok(SubtreeOwnership::TooMany);
        }
    }
    Ok(SubtreeOwnership::Within)
}
