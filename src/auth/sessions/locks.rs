//! Locks end with the session that holds them (docs/api/content.md, "Locks"), and by themselves.
//!
//! A session that is ended on request gives its locks back before that is answered. What ends
//! without a call (a session that idles out or whose user is disabled, a lock that has not been
//! used) is found by [`Sessions::release_locks`]; so are locks that a crash, or a call under way,
//! left behind an ended session.

use std::collections::HashSet;

use stet_actors::checkout::Release;
use stet_actors::command::Who;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Text;
use stet_actors::runtime::Request;
use stet_actors::store::{Range, Table, View, key_of};

use super::{LiveSession, PAGE, Sessions};

impl Sessions {
    /// Gives back what an ended session holds. The next [`Sessions::release_locks`] finds locks
    /// that can't be given back now.
    pub(super) async fn release_locks_of(&self, ended: &LiveSession) {
        let mut range = Range::prefix(&key_of(&[ended.id().as_bytes(), &[0]]));
        loop {
            let page = match self.locks(&range) {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(session = &**ended.id(), %error, "the locks of an ended session are still there");
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

    /// Takes off the locks that have expired, and those of sessions that have ended. Returns how
    /// many. To be called now and then: an expired lock counts as none without it. One that can't
    /// be taken off does not hold up the others; it is logged.
    ///
    /// # Errors
    /// That locks or sessions can't be read.
    pub async fn release_locks(&self) -> Result<usize> {
        let mut released = 0;
        let mut range = Range::prefix(&[]);
        let now_ms = self.ended_by_ms();
        // What is known of sessions. One that has ended does not come back; that one ends
        // meanwhile, the next call finds.
        let (mut standing, mut over) = (HashSet::new(), HashSet::new());
        loop {
            let page = self.locks(&range)?;
            let Some(last) = page.last() else { return Ok(released) };
            range = range.after(&key_of_lock(last));
            if page.iter().any(|(session, _)| !standing.contains(session) && !over.contains(session)) {
                // After the locks were read: whoever holds one of these was there by now, or has
                // ended.
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
                    Err(error) => still_there(object, &error),
                }
            }
        }
    }

    /// Whether the lock is off now; if not, that is logged.
    async fn release(&self, object: Loid, session: Option<Text>) -> bool {
        match self.repository.joint(Release { object, session }, Request::by(Who::system())).await {
            Ok(()) => true,
            // An object that is not there any more has none.
            Err(error) if error.code == Code::ObjectNotFound => true,
            Err(error) => {
                still_there(object, &error);
                false
            }
        }
    }

    /// Some locks: the sessions that hold them, and the objects.
    fn locks(&self, range: &Range) -> Result<Vec<(Text, Loid)>> {
        let read = self.repository.look().scan(View::Committed, Table::Locks, range, PAGE, false);
        let rows = read.map_err(|error| {
            tracing::error!(%error, "locks can't be read");
            Error::internal()
        })?;
        let parse = |key: &[u8]| {
            // The session's reference, 0, the object.
            let at = key.len().checked_sub(Loid::KEY_LEN + 1)?;
            Some((std::str::from_utf8(&key[..at]).ok()?.into(), Loid::from_key(&key[at + 1..])?))
        };
        Ok(rows.iter().filter_map(|(key, _)| parse(key)).collect())
    }
}

fn key_of_lock((session, object): &(Text, Loid)) -> bytes::Bytes {
    key_of(&[session.as_bytes(), &[0], &object.to_key()])
}

fn still_there(object: Loid, error: &Error) {
    tracing::warn!(%object, %error, "a lock that is over is still there");
}
