//! Sessions in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use foldhash::HashMap;
use parking_lot::RwLock;
use stet_domain::object::SharedText;
use stet_domain::store::Event;

use super::super::rights::Rights;
use super::super::rows::{Grant, Session};
use super::super::token::TokenHash;

/// The validity of a session's user at one generation, with the session's rights.
#[derive(Debug)]
pub(super) struct SessionStanding {
    /// The directory's generation for which this holds.
    pub(super) generation: u64,
    pub(super) rights: Arc<Rights>,
}

/// A session in memory.
#[derive(Debug)]
pub struct LiveSession {
    pub(super) session: Session,
    /// Time of the last use, epoch milliseconds.
    pub(super) last_seen_ms: AtomicU64,
    /// The time of the last use that is on disk.
    pub(super) recorded_ms: AtomicU64,
    /// The user's state when it was last looked up.
    pub(super) standing: ArcSwapOption<SessionStanding>,
    /// Set when the session is ended, before its row is removed; has the event for the audit trail,
    /// if any.
    ended: OnceLock<Option<Box<Event>>>,
    /// The state of the quota for its calls; see [`stet_base::limits::Quota`].
    calls: Arc<AtomicU64>,
}

impl LiveSession {
    pub(super) fn new(session: Session, last_seen_ms: u64) -> LiveSession {
        LiveSession {
            session,
            last_seen_ms: AtomicU64::new(last_seen_ms),
            recorded_ms: AtomicU64::new(last_seen_ms),
            standing: ArcSwapOption::empty(),
            ended: OnceLock::new(),
            calls: Arc::default(),
        }
    }

    /// Shares the call quota of the session that this one is a copy of.
    pub(super) fn sharing(self, calls: &Arc<AtomicU64>) -> LiveSession {
        LiveSession { calls: calls.clone(), ..self }
    }

    /// Ends the session in memory at once. Returns whether it had not ended before. The event is
    /// committed with the removal of the row, even if that is done by the next sweep.
    pub(super) fn end(&self, deed: Option<Event>) -> bool {
        self.ended.set(deed.map(Box::new)).is_ok()
    }

    /// Reports whether the session has ended. Its row may still exist, if the disk has not taken
    /// the end yet.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Returns the event to be committed with the removal of the row.
    pub(super) fn deed(&self) -> Option<Event> {
        self.ended.get()?.as_deref().cloned()
    }

    /// Returns the short public reference.
    pub fn id(&self) -> &SharedText {
        &self.session.id
    }

    /// Returns the name of the user.
    pub fn user(&self) -> &SharedText {
        &self.session.user
    }

    /// Returns the recorded author of its changes: the user, or one of the user's keys, which has
    /// rights of its own.
    pub fn acts_as(&self) -> SharedText {
        match &self.session.key {
            // User names have no slash, so this is no user's name.
            Some(key) => format!("{}/{}", self.session.user, key.name).as_str().into(),
            None => self.session.user.clone(),
        }
    }

    /// Returns the session's row. Its `last_seen_ms` is from the login or the restart; see
    /// [`LiveSession::last_seen_ms`].
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the state of the call quota, which is full at a login and after a restart. Copies
    /// share it: otherwise copying would be a way around the limit.
    pub fn calls(&self) -> &Arc<AtomicU64> {
        &self.calls
    }

    /// Returns the grants of a key; `None` for a person's session, which has the rights of the
    /// user's groups.
    pub fn grants(&self) -> Option<&[Grant]> {
        self.session.key.as_ref().map(|key| &*key.grants)
    }

    /// Returns the rights of the session, as of the last request that found it.
    pub fn rights(&self) -> Arc<Rights> {
        self.standing.load().as_ref().map(|standing| standing.rights.clone()).unwrap_or_default()
    }

    /// Returns the time of the last use, epoch milliseconds.
    pub fn last_seen_ms(&self) -> u64 {
        self.last_seen_ms.load(Ordering::Relaxed)
    }

    /// Reports whether a call has used it since it began, as far as that is known.
    pub fn was_used(&self) -> bool {
        self.last_seen_ms() > self.session.created_ms
    }
}

/// The live sessions by hash, in shards, so that readers on many cores do not contend for one lock.
#[derive(Default)]
pub(super) struct LiveSessions(pub(super) [RwLock<SessionShard>; 16]);

#[derive(Default)]
pub(super) struct SessionShard {
    pub(super) sessions: HashMap<TokenHash, Arc<LiveSession>>,
    /// Number of removed rows: a row that was read before a removal must not be inserted after it.
    pub(super) removals: u64,
}

impl LiveSessions {
    pub(super) fn shard(&self, hash: &TokenHash) -> &RwLock<SessionShard> {
        &self.0[usize::from(hash.bytes()[0]) % self.0.len()]
    }

    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<LiveSession>> {
        self.shard(hash).read().sessions.get(hash).cloned()
    }

    pub(super) fn insert(&self, session: Arc<LiveSession>) {
        let hash = session.session.token_hash;
        self.shard(&hash).write().sessions.insert(hash, session);
    }

    /// Removes sessions; called by the commit that removes their rows.
    pub(super) fn remove(&self, hashes: &[TokenHash]) {
        for hash in hashes {
            let mut shard = self.shard(hash).write();
            shard.removals += 1;
            if let Some(gone) = shard.sessions.remove(hash) {
                // A request that has found it already keeps it; it must not look valid to any later
                // check.
                gone.end(None);
            }
        }
    }
}
