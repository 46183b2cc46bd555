//! Taking and releasing locks, and the check that protects locked objects.

use std::sync::Arc;

use super::live_record;
use crate::command::{CallerIdentity, CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{Lock, Record, SharedText};

/// Reports whether a lock is the caller's, taken in this very session.
pub fn is_held_by(lock: &Lock, user: &str, session: &str) -> bool {
    *lock.user == *user && *lock.session == *session
}

/// Refuses a change of an object that is locked, unless the caller holds the lock in this session.
///
/// # Errors
/// `ObjectLocked`; `ObjectLockedByMe` for a lock of the same user in another session.
pub fn check_lock(record: &Record, context: &Context<'_>) -> Result<()> {
    match record.lock_at(context.now_s()) {
        Some(lock) if !is_held_by(lock, &context.who.user, &context.who.session) => {
            Err(locked_error(record.loid, lock, context.who))
        }
        _ => Ok(()),
    }
}

fn locked_error(object: Loid, lock: &Lock, who: &CallerIdentity) -> Error {
    let error = if lock.user == who.user {
        Error::new(Code::ObjectLockedByMe, format!("`{object}` is locked by `{}` in another session.", lock.user))
    } else {
        Error::new(Code::ObjectLocked, format!("`{object}` is locked by `{}`.", lock.user))
    };
    error.with_source(object).with_detail("lockedBy", &*lock.user).with_detail("lockExpires", lock.expires)
}

/// Returns the lock that the caller has from now on; `lasts_s` seconds without use end it.
pub fn lock_of(held: Option<&Lock>, lasts_s: u64, context: &Context<'_>) -> Lock {
    let now = context.now_s();
    Lock {
        user: context.who.user.clone(),
        session: context.who.session.clone(),
        at: held.map_or(now, |held| held.at),
        expires: now.saturating_add(lasts_s),
    }
}

/// Locks an object for the caller's session, or extends the lock that the session has.
#[derive(Debug, Clone, Copy)]
pub struct TakeLock {
    /// The object.
    pub object: Loid,
    /// Seconds without use after which the lock ends.
    pub lasts_s: u64,
}

impl JointCommand for TakeLock {
    type Reply = ();
    const NAME: &'static str = "object.lock";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = live_record(self.object, turns)?;
        context.expects(&record);
        check_lock(&record, context)?;
        let lock = lock_of(record.lock_at(context.now_s()), self.lasts_s, context);
        set(self.object, Some(lock), &record, turns, context)
    }
}

/// Removes the lock from an object. Content that was saved under it stays as a draft.
#[derive(Debug, Clone, Copy)]
pub struct UnlockObject {
    /// The object.
    pub object: Loid,
    /// Whether to break a lock of another session or user.
    pub force: bool,
    /// Whether the caller has `forceUnlock`, the privilege to break another user's lock.
    pub may_break: bool,
}

impl JointCommand for UnlockObject {
    type Reply = ();
    const NAME: &'static str = "object.unlock";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = live_record(self.object, turns)?;
        context.expects(&record);
        let who = context.who;
        let Some(lock) = record.lock_at(context.now_s()) else {
            let message = format!("`{}` is not locked.", self.object);
            return Err(Error::new(Code::ObjectNotLocked, message).with_source(self.object).into());
        };
        if !self.force {
            check_lock(&record, context)?;
        } else if lock.user != who.user && !self.may_break {
            let message =
                format!("`{}` lacks the privilege `forceUnlock` to break the lock of `{}`.", who.user, lock.user);
            let error = Error::new(Code::PermissionDenied, message).with_source(self.object);
            return Err(error.with_detail("privilege", "forceUnlock").into());
        }
        set(self.object, None, &record, turns, context)
    }
}

/// Removes a lock that has ended; any other lock stays.
#[derive(Debug, Clone)]
pub struct ReleaseLock {
    /// The object.
    pub object: Loid,
    /// The session that has ended; `None` if the lock itself has expired.
    pub session: Option<SharedText>,
}

impl JointCommand for ReleaseLock {
    type Reply = ();
    const NAME: &'static str = "object.lock.release";

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        let Some(lock) = &record.lock else { return Ok(()) };
        let over = match &self.session {
            Some(session) => lock.session == *session,
            None => lock.expires <= context.now_s(),
        };
        if over { set(self.object, None, &record, turns, context) } else { Ok(()) }
    }
}

fn set(
    object: Loid,
    lock: Option<Lock>,
    record: &Record,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    if record.lock == lock {
        return Ok(());
    }
    Arc::make_mut(&mut turns.any(object)?.record).lock = lock;
    context.keep_stamp();
    context.is_about(object);
    Ok(())
}
