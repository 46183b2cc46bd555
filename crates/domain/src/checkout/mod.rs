//! Locks, check-out and check-in, versions (docs/api/content.md): for objects of any family.
//!
//! # Locks
//!
//! An object has one lock at most. A user holds it in one session, and each use of it there
//! prolongs it. It keeps others, and the user's own other sessions, from writing the object's
//! content and record: its name, its attributes, its existence. The lock does not extend to the
//! contents of a container: items of a locked drawer and posts of a locked liveblog can be changed.
//!
//! An expired lock counts as none at once; [`ReleaseLock`] removes it from the record some time
//! later. A lock also ends when the object is discarded. Locking and unlocking raise the revision,
//! but do not count as a change of the object: `modified` stays.
//!
//! # Drafts
//!
//! A save without a check-in makes the object's draft. The draft stays when the lock ends, for
//! whatever reason. A check-out continues from it. [`WriteSwitches::check_out_clean`] deletes it,
//! and so does the check-in of a caller who has the object checked out. The holder of the lock
//! reads the draft in place of the latest version.
//!
//! A caller who did not hold the lock before the write has not seen the draft. Such a write with
//! bytes never deletes the draft of another user, even if it checks out. It leaves the draft alone
//! and saves nothing over it. If it keeps the lock, it first turns the draft into a version, before
//! its own bytes.
//!
//! A draft knows the content that it is based on ([`Draft::base`](crate::object::Draft::base)). If
//! that was replaced since, or has a later version, the draft is checked in as a new version. It
//! never replaces what others have written.

//!
//! # The latest version
//!
//! A check-in without `newVersion` replaces the latest version. It replaces another user's version
//! only if the caller is known to have seen it: they held the lock before the call, or name the
//! version by `If-Match`.

mod follow;
mod lock;
mod rewrite;
mod versions;
mod write;

use std::sync::Arc;

pub use self::follow::{catch_up, propagate_content};
pub use self::lock::{ReleaseLock, TakeLock, UnlockObject, is_held_by};
pub use self::lock::{check_lock, lock_of};
pub use self::rewrite::RewriteContent;
pub use self::versions::RestoreVersion;
pub use self::write::{WriteContent, WriteSwitches};
pub use self::write::{drop_draft, latest_is_unseen, set_draft_aside};
use crate::command::{CommandFault, Context};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{Content, ContentLocation, NewContent, Record, SmallBody};
use crate::store::{ReadLevel, StoreError};

/// Returns the record of an object that is not in the recycle bin.
fn live_record(object: Loid, turns: &mut ContainerTurns) -> Result<Arc<Record>, CommandFault> {
    let record = turns.any(object)?.record.clone();
    if record.is_discarded() {
        return Err(Error::not_found(object).into());
    }
    Ok(record)
}

/// Prepares a stored content to be stored again. A small one, whose bytes are under `body`, is
/// copied; a file is shared.
pub fn reuse_content(content: &Content, body: Loid, context: &Context<'_>) -> Result<NewContent, CommandFault> {
    let small = match content.stored {
        ContentLocation::File => None,
        ContentLocation::Row => {
            let key = SmallBody::key(body);
            let bytes = context.look().get(ReadLevel::Latest, key.table, &key.key)?;
            Some(bytes.ok_or_else(|| StoreError::Corrupt(format!("the bytes of {body} are not there")))?)
        }
    };
    Ok(NewContent { content: content.clone(), small, pin: None })
}
