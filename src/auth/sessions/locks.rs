//! Locks end with the session that holds them (decisions 4), and by themselves.
//!
//! A session that is ended on request gives its locks back before that is answered. What ends without a call (a session that
//! idles out or whose user is disabled, a lock that has not been used) is found by [`Sessions::release_locks`]; so are locks that
//! a crash, or a call under way, left behind an ended session.

use std::collections::HashSet;

use stet_actors::checkout::Release;
use stet_actors::command::Who;
use stet_actors::error::{Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::Text;
use stet_actors::runtime::Request;
use stet_actors::store::{Range, Table, View, key_of};

use super::{LiveSession, PAGE, Sessions};

impl Sessions {
    /// Gives back what an ended session holds. What can't be given back now is found by the next [`Sessions::release_locks`].
    pub(super) async fn release_locks_of(&self, ended: &LiveSession) {
        let outcome = async {
            for (session, object) in self.locks(&Range::prefix(&key_of(&[ended.id().as_bytes(), &[0]])))? {
                self.release(object, Some(session)).await?;
            }
            Ok::<(), Error>(())
        };
        if let Err(error) = outcome.await {
            tracing::warn!(session = &**ended.id(), %error, "the locks of an ended session are still there");
        }
    }

    /// Takes off the locks that have expired, and those of sessions that have ended; tells how many it looked at for that. To be
    /// called now and then: an expired lock counts as none without it.
    ///
    /// # Errors
    /// What the store says.
    pub async fn release_locks(&self) -> Result<usize> {
        let mut released = 0;
        let mut range = Range::prefix(&[]);
        loop {
            let page = self.locks(&range)?;
            let Some((session, object)) = page.last() else { return Ok(released) };
            range = range.after(&key_of(&[session.as_bytes(), &[0], &object.to_key()]));
            // After the locks were read: whoever holds one of these was there by now, or has ended.
            let standing: HashSet<Text> = self.standing(|_| true).await?.iter().map(|live| live.id().clone()).collect();
            let now_s = self.repository.clock().now_s();
            for (session, object) in page {
                let record = self.repository.any_record(object)?;
                let Some(lock) = record.and_then(|record| record.lock) else { continue };
                let ended = (!standing.contains(&session)).then_some(session);
                if ended.is_some() || lock.expires <= now_s {
                    self.release(object, ended).await?;
                    released += 1;
                }
            }
        }
    }

    async fn release(&self, object: Loid, session: Option<Text>) -> Result<()> {
        self.repository.joint(Release { object, session }, Request::by(Who::system())).await
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
