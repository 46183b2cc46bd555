//! Locks, check-out and check-in, versions (docs/api/content.md): for objects of any family.
//!
//! # Locks
//!
//! An object has one lock at most. A user holds it in one session, and each use of it there
//! prolongs it. It keeps others, and the user's own other sessions, from writing the object's
//! content and record: its name, its attributes, its existence. The lock does not extend to the
//! contents of a container: items of a locked drawer and posts of a locked liveblog can be changed.
//!
//! An expired lock counts as none at once; it is taken out of the record by [`Release`] some time
//! later. A lock ends, too, when the object is discarded. Locking and unlocking raise the revision,
//! but do not count as a change of the object: `modified` stays.
//!
//! # Drafts
//!
//! A save without a check-in makes the object's draft. It stays when the lock ends, however that
//! ends; a check-out goes on from it, [`Switches::check_out_clean`] and the check-in of whoever has
//! the object checked out drop it. Who holds the lock reads it in place of the latest version.
//!
//! A write with bytes by who does not hold the lock before it, and so has not seen the draft, takes
//! none of another user away, whether or not it checks out: it leaves it alone, saves nothing over
//! it, and where it keeps the lock puts it before its own bytes as a version.
//!
//! A draft knows which content it comes from ([`Draft::base`](crate::object::Draft::base)). If that
//! was replaced since, or has a version after it, the draft is checked in as a new version, never
//! over what others have written.

//!
//! # The latest version
//!
//! A check-in without `newVersion` replaces the latest version. It replaces that of another user
//! only if the caller is known to have seen it: by the lock, which they held before the call, or by
//! `If-Match`.

mod follow;
mod lock;
mod rewrite;
mod versions;
mod write;

use std::sync::Arc;

pub(crate) use self::follow::{catch_up, spread};
pub use self::lock::{Release, TakeLock, Unlock, is_held_by};
pub(crate) use self::lock::{check_lock, lock_of};
pub use self::rewrite::Rewrite;
pub use self::versions::RestoreVersion;
pub use self::write::{Switches, WriteContent};
pub(crate) use self::write::{drop_draft, latest_is_unseen, set_draft_aside};
use crate::command::{Context, Fault};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::{Content, NewContent, Record, SmallBody, Stored};
use crate::store::{StoreError, View};

/// The record of an object that is not in the recycle bin.
fn live(object: Loid, turns: &mut Turns) -> Result<Arc<Record>, Fault> {
    let record = turns.any(object)?.record.clone();
    if record.is_discarded() {
        return Err(Error::not_found(object).into());
    }
    Ok(record)
}

/// A content that is stored already, to be stored again: a small one under `body` is copied, a file
/// is shared.
pub(crate) fn again(content: &Content, body: Loid, context: &Context<'_>) -> Result<NewContent, Fault> {
    let small = match content.stored {
        Stored::File => None,
        Stored::Row => {
            let key = SmallBody::key(body);
            let bytes = context.look().get(View::Latest, key.table, &key.key)?;
            Some(bytes.ok_or_else(|| StoreError::Corrupt(format!("the bytes of {body} are not there")))?)
        }
    };
    Ok(NewContent { content: content.clone(), small, pin: None })
}
