//! Sessions in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use foldhash::HashMap;
use parking_lot::RwLock;
use stet_actors::object::Text;
use stet_actors::store::Event;

use super::super::rights::Rights;
use super::super::rows::{Grant, Session};
use super::super::token::TokenHash;

/// That the user of a session stands, and what the session may do.
#[derive(Debug)]
pub(super) struct Standing {
    /// The directory's generation for which it holds.
    pub(super) generation: u64,
    pub(super) rights: Arc<Rights>,
}

/// A session in memory.
#[derive(Debug)]
pub struct LiveSession {
    pub(super) session: Session,
    /// Epoch milliseconds.
    pub(super) last_seen_ms: AtomicU64,
    /// What of that is on disk.
    pub(super) recorded_ms: AtomicU64,
    /// The user's state when it was last looked up.
    pub(super) standing: ArcSwapOption<Standing>,
    /// Set when it is ended, before its row is removed: what the audit trail is to tell of that.
    ended: OnceLock<Option<Box<Event>>>,
    /// The budget of its calls; see [`crate::limits::Quota`].
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

    /// The same session with the budget of the one that it is a copy of.
    pub(super) fn sharing(self, calls: &Arc<AtomicU64>) -> LiveSession {
        LiveSession { calls: calls.clone(), ..self }
    }

    /// Ends it in memory, at once; whether it had not been before. Whoever removes the row tells of
    /// the deed in the same commit, be it the next sweep: then it was this call that ended the
    /// session all the same.
    pub(super) fn end(&self, deed: Option<Event>) -> bool {
        self.ended.set(deed.map(Box::new)).is_ok()
    }

    /// Whether it is dead. Its row may be there still, if the disk has not taken that yet.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// What is to be told by whoever removes the row.
    pub(super) fn deed(&self) -> Option<Event> {
        self.ended.get()?.as_deref().cloned()
    }

    /// Short public reference.
    pub fn id(&self) -> &Text {
        &self.session.id
    }

    /// Name of the user.
    pub fn user(&self) -> &Text {
        &self.session.user
    }

    /// Who is recorded as the author of its changes: the user, or one of the user's keys, which has
    /// rights of its own.
    pub fn acts_as(&self) -> Text {
        match &self.session.key {
            // No user's name has a slash.
            Some(key) => format!("{}/{}", self.session.user, key.name).as_str().into(),
            None => self.session.user.clone(),
        }
    }

    /// The session's row. Its `last_seen_ms` is from the login or the restart; see
    /// [`LiveSession::last_seen_ms`].
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The budget of its calls, which begins whole at a login and after a restart. Copies share it:
    /// otherwise copying would be a way around the limit.
    pub fn calls(&self) -> &Arc<AtomicU64> {
        &self.calls
    }

    /// What the session may do where it is a key's; `None` for a person's, who may do what their
    /// groups may.
    pub fn grants(&self) -> Option<&[Grant]> {
        self.session.key.as_ref().map(|key| &*key.grants)
    }

    /// What it may do, as of the request that it was last found for.
    pub fn rights(&self) -> Arc<Rights> {
        self.standing.load().as_ref().map(|standing| standing.rights.clone()).unwrap_or_default()
    }

    /// When it was last used, epoch milliseconds.
    pub fn last_seen_ms(&self) -> u64 {
        self.last_seen_ms.load(Ordering::Relaxed)
    }

    /// Whether a call has used it since it began, as far as that is known.
    pub fn was_used(&self) -> bool {
        self.last_seen_ms() > self.session.created_ms
    }
}

/// Sessions by hash. In shards, so that readers on many cores do not fight for one lock.
#[derive(Default)]
pub(super) struct Live(pub(super) [RwLock<Shard>; 16]);

#[derive(Default)]
pub(super) struct Shard {
    pub(super) sessions: HashMap<TokenHash, Arc<LiveSession>>,
    /// Counts the rows removed: a row that was read before one was removed must not come into the
    /// map after it.
    pub(super) removals: u64,
}

impl Live {
    pub(super) fn shard(&self, hash: &TokenHash) -> &RwLock<Shard> {
        &self.0[usize::from(hash.bytes()[0]) % self.0.len()]
    }

    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<LiveSession>> {
        self.shard(hash).read().sessions.get(hash).cloned()
    }

    pub(super) fn insert(&self, session: Arc<LiveSession>) {
        let hash = session.session.token_hash;
        self.shard(&hash).write().sessions.insert(hash, session);
    }

    /// To be called by the commit that removes the rows.
    pub(super) fn remove(&self, hashes: &[TokenHash]) {
        for hash in hashes {
            let mut shard = self.shard(hash).write();
            shard.removals += 1;
            if let Some(gone) = shard.sessions.remove(hash) {
                // A request that has found it already keeps it; nothing else may take it for one
                // that lasts.
                gone.end(None);
            }
        }
    }
}
