//! Listing of sessions, and ending those of other users.

use std::sync::Arc;

use stet_base::limits::{RowPager, yielding};
use stet_domain::error::{Code, Error, Result};

use super::super::rows::Session;
use super::sweep::{all_sessions, decode_session, unreadable};
use super::{LiveSession, Sessions};

impl Sessions {
    /// Returns the sessions of a user, or of all users, the oldest first. Keys are left out, and so
    /// are sessions whose end is on disk.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn list(&self, user: Option<&str>) -> Result<Vec<Arc<LiveSession>>> {
        self.lasting(|session| session.key.is_none() && user.is_none_or(|user| *session.user == *user)).await
    }

    /// Ends the session with that public reference, and returns it. If a user is given, the session
    /// must be that user's.
    ///
    /// # Errors
    /// `ObjectNotFound` if there is none: it may have ended on disk, be another user's or a key.
    /// Errors of the store, see [`Sessions::end`].
    pub async fn end_by_id(&self, id: &str, user: Option<&str>) -> Result<Arc<LiveSession>> {
        let unknown = || Error::new(Code::ObjectNotFound, format!("There is no session `{id}`.")).with_source(id);
        let wanted = |session: &Session| {
            session.key.is_none() && *session.id == *id && user.is_none_or(|user| *session.user == *user)
        };
        let found = self.lasting(wanted).await?.pop().ok_or_else(unknown)?;
        // Requests use the sessions in the map.
        let live = self.load(&found.session.token_hash)?.ok_or_else(unknown)?;
        if !self.end_live(&live, None).await? {
            return Err(unknown());
        }
        tracing::info!(user = &**live.user(), session = &**live.id(), "session ended on request");
        Ok(live)
    }

    /// Returns the wanted sessions or keys that are valid, the oldest first.
    pub(super) async fn standing(&self, wanted: impl Fn(&Session) -> bool) -> Result<Vec<Arc<LiveSession>>> {
        self.standing_at(self.now_ms(), wanted).await
    }

    /// Returns the wanted sessions or keys that are valid at a time in epoch milliseconds, the
    /// oldest first.
    pub(super) async fn standing_at(
        &self,
        now_ms: u64,
        wanted: impl Fn(&Session) -> bool,
    ) -> Result<Vec<Arc<LiveSession>>> {
        let mut found = self.lasting_at(now_ms, wanted).await?;
        found.retain(|live| !live.has_ended());
        Ok(found)
    }

    /// Returns the wanted sessions or keys that are valid by what is on disk, the oldest first.
    /// They include those that have ended in memory alone: the disk has not taken their end yet or
    /// has refused it, and a restart would revive them.
    pub(super) async fn lasting(&self, wanted: impl Fn(&Session) -> bool) -> Result<Vec<Arc<LiveSession>>> {
        self.lasting_at(self.now_ms(), wanted).await
    }

    fn now_ms(&self) -> u64 {
        self.repository.clock().now_ms()
    }

    /// Returns the wanted sessions or keys that are valid by what is on disk at a time. All rows
    /// are read: each session of the last day has some hundred bytes, and the calls that need it
    /// are rare. A session whose user can't be read counts as valid. That is no reason to end it,
    /// nor to withhold the others.
    async fn lasting_at(&self, now_ms: u64, wanted: impl Fn(&Session) -> bool) -> Result<Vec<Arc<LiveSession>>> {
        let mut found = Vec::new();
        let mut pager = RowPager::new(self.repository.look(), all_sessions());
        while let Some((_, row)) = pager.next().await.map_err(unreadable)? {
            let Some(session) = decode_session(&row).filter(&wanted) else { continue };
            let known = self.live.get(&session.token_hash);
            let live = known.unwrap_or_else(|| Arc::new(self.resumed(session)));
            let lasts = self.lasts(&live, now_ms).unwrap_or_else(|error| {
                tracing::warn!(session = &**live.id(), %error, "cannot find out whether a session is still valid");
                true
            });
            if lasts {
                found.push(live);
            }
        }
        let order = |live: &LiveSession| (live.session.created_ms, live.id().clone());
        Ok(yielding::sort_yielding(found, |one, other| order(one).cmp(&order(other))).await)
    }
}
