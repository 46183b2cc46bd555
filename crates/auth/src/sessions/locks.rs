//! The release of locks, with the session that holds them (docs/api/content.md, "Locks") or when
//! they expire.
//!
//! A session that is ended on request releases its locks before the reply.
//! [`Sessions::release_locks`] finds the others: the locks of sessions that have idled out or whose
//! user was disabled, and locks that were not used. It also finds locks that a crash, or a call in
//! progress, left behind an ended session.

use std::collections::HashSet;

use stet_actors::runtime::ChangeRequest;
use stet_domain::checkout::ReleaseLock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use stet_domain::store::{KeyRange, ReadLevel, Table, key_of};

use super::{LiveSession, PAGE, Sessions};

impl Sessions {
    /// Releases the locks of an ended session. The next [`Sessions::release_locks`] finds locks
    /// that can't be released now.
    pub(super) async fn release_locks_of(&self, ended: &LiveSession) {
        let mut range = KeyRange::prefix(&key_of(&[ended.id().as_bytes(), &[0]]));
        loop {
            let page = match self.locks(&range) {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(session = &**ended.id(), %error, "cannot release the locks of an ended session");
                    return;
                }
            };
            let Some(last) = page.last() else { return };
            range = range.after(&key_of_lock(last));
            for (session, object) in page {
                self.release(object, Some(session)).await;
            }
        }
    }

    /// Releases the locks that have expired, and those of ended sessions. Returns their number.
    /// Called periodically; an expired lock has no effect even before that. A lock that can't be
    /// released is logged and does not hold up the others.
    ///
    /// # Errors
    /// Errors in reading locks or sessions.
    pub async fn release_locks(&self) -> Result<usize> {
        let mut released = 0;
        let mut range = KeyRange::prefix(&[]);
        let now_ms = self.ended_by_ms();
        // The sessions checked so far. An ended session does not come back; one that ends during
        // this call is found by the next.
        let (mut standing, mut over) = (HashSet::new(), HashSet::new());
        loop {
            let page = self.locks(&range)?;
            let Some(last) = page.last() else { return Ok(released) };
            range = range.after(&key_of_lock(last));
            if page.iter().any(|(session, _)| !standing.contains(session) && !over.contains(session)) {
                // Read after the locks: by now the session of each lock was there, or has ended.
                standing = self.standing_at(now_ms, |_| true).await?.iter().map(|live| live.id().clone()).collect();
                over.extend(page.iter().map(|(session, _)| session).filter(|id| !standing.contains(*id)).cloned());
            }
            for (session, object) in page {
                let ended = (!standing.contains(&session)).then_some(session);
                let is_over = || {
                    let lock = self.repository.any_record(object)?.and_then(|record| record.lock);
                    Ok::<bool, Error>(lock.is_some_and(|lock| ended.is_some() || lock.expires <= now_ms / 1000))
                };
                match is_over() {
                    Ok(true) => released += usize::from(self.release(object, ended).await),
                    Ok(false) => {}
                    Err(error) => warn_lock_remains(object, &error),
                }
            }
        }
    }

    /// Releases a lock. Returns whether it is released now; a failure is logged.
    async fn release(&self, object: Loid, session: Option<SharedText>) -> bool {
        match self.repository.joint(ReleaseLock { object, session }, ChangeRequest::by(CallerIdentity::system())).await
        {
            Ok(()) => true,
            // An object that no longer exists has no lock.
            Err(error) if error.code == Code::ObjectNotFound => true,
            Err(error) => {
                warn_lock_remains(object, &error);
                false
            }
        }
    }

    /// Reads a page of locks: the sessions that hold them, and the objects.
    fn locks(&self, range: &KeyRange) -> Result<Vec<(SharedText, Loid)>> {
        let read = self.repository.look().scan(ReadLevel::Committed, Table::Locks, range, PAGE, false);
        let rows = read.map_err(|error| {
            tracing::error!(%error, "locks can't be read");
            Error::internal()
        })?;
        let parse = |key: &[u8]| {
            // The key has the session's reference, 0, the object.
            let at = key.len().checked_sub(Loid::KEY_LEN + 1)?;
            Some((std::str::from_utf8(&key[..at]).ok()?.into(), Loid::from_key(&key[at + 1..])?))
        };
        Ok(rows.iter().filter_map(|(key, _)| parse(key)).collect())
    }
}

fn key_of_lock((session, object): &(SharedText, Loid)) -> bytes::Bytes {
    key_of(&[session.as_bytes(), &[0], &object.to_key()])
}

fn warn_lock_remains(object: Loid, error: &Error) {
    tracing::warn!(%object, %error, "cannot release the lock of an ended session");
}
