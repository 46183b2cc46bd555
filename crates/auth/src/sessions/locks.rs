//! The release of locks, with the session that holds them (docs/api/content.md, "Locks") or when
//! they expire.
//!
//! A session that is ended on request releases its locks before the reply.
//! [`Sessions::release_locks`] finds the others: the locks of sessions that have idled out or whose
//! user was disabled, and locks that were not used. It also finds locks that a crash, or a call in
//! progress, left behind an ended session.

use std::collections::HashSet;

use stet_actors::runtime::ChangeRequest;
use stet_base::limits::RowPager;
use stet_domain::checkout::ReleaseLock;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use stet_domain::store::{KeyRange, RowCursor, Table, key_of};

use super::{LiveSession, Sessions};

impl Sessions {
    /// Releases the locks of an ended session. The next [`Sessions::release_locks`] finds locks
    /// that can't be released now.
    pub(super) async fn release_locks_of(&self, ended: &LiveSession) {
        let range = KeyRange::prefix(&key_of(&[ended.id().as_bytes(), &[0]]));
        let mut pager = RowPager::new(self.repository.look(), RowCursor::over(Table::Locks, range));
        loop {
            match pager.next().await {
                Ok(Some((key, _))) => {
                    if let Some((session, object)) = parse_lock(&key) {
                        self.release(object, Some(session)).await;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(session = &**ended.id(), %error, "cannot release the locks of an ended session");
                    return;
                }
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
        let (mut released, mut cursor) = (0, RowCursor::over(Table::Locks, KeyRange::prefix(&[])));
        let now_ms = self.ended_by_ms();
        // The sessions checked so far. An ended session does not come back; one that ends during
        // this call is found by the next.
        let (mut standing, mut over) = (HashSet::new(), HashSet::new());
        while let Some(rows) = cursor.batch(self.repository.look()).map_err(|error| {
            tracing::error!(%error, "locks can't be read");
            Error::internal()
        })? {
            let locks: Vec<_> = rows.iter().filter_map(|(key, _)| parse_lock(key)).collect();
            if locks.iter().any(|(session, _)| !standing.contains(session) && !over.contains(session)) {
                // Read after the locks: by now the session of each lock was there, or has ended.
                standing = self.standing_at(now_ms, |_| true).await?.iter().map(|live| live.id().clone()).collect();
                over.extend(locks.iter().map(|(session, _)| session).filter(|id| !standing.contains(*id)).cloned());
            }
            for (session, object) in locks {
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
        Ok(released)
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
}

/// Returns the session that holds a lock, and the object, from the lock's key; `None` for another
/// key.
fn parse_lock(key: &[u8]) -> Option<(SharedText, Loid)> {
    // The key has the session's reference, 0, the object.
    let at = key.len().checked_sub(Loid::KEY_LEN + 1)?;
    Some((std::str::from_utf8(&key[..at]).ok()?.into(), Loid::from_key(&key[at + 1..])?))
}

fn warn_lock_remains(object: Loid, error: &Error) {
    tracing::warn!(%object, %error, "cannot release the lock of an ended session");
}
