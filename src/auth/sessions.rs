//! Sessions (decisions 4).
//!
//! # When a session ends
//!
//! At logout; when its user's password is changed or the user disabled; [`SessionOptions::idle_seconds`] after it was last used;
//! and [`SessionOptions::absolute_seconds`] after the login, used or not. A copy ends no later than its original was to: otherwise
//! copying would be a way around the absolute limit. In everything else it is on its own.
//!
//! # What a request costs
//!
//! One SHA-256, one look into a map, one store to an atomic. That a session was used is written down by [`Sessions::flush`], for all
//! sessions used since the last one together. Whether the user still stands is looked up once after each change of the directory.
//!
//! # After a restart
//!
//! A token is still good. Its session is read when it is first used. The idle time counts from the use that was last recorded, plus
//! the flush interval, but not from later than the restart: uses of the last interval before a crash could not be recorded, and a
//! session that was in steady use must not end for that. One that was taken up again after a long pause in that very interval counts
//! as if the pause had gone on; at worst its user logs in again.
//!
//! # Who is in the map
//!
//! Sessions that exist, from their login or first use until [`Sessions::sweep`] or the logout removes their row. Tokens that are no
//! good leave nothing behind, however many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::HashMap;
use parking_lot::RwLock;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_actors::repository::Repository;
use stet_actors::store::{Range, Row, Table, View, decode_value};

use super::directory::Directory;
use super::rows::{Session, put, remove};
use super::token::{Token, TokenHash, reference};

/// Rows that one commit of [`Sessions::flush`] and [`Sessions::sweep`] writes, so that others need not wait behind thousands.
const PAGE: usize = 1000;

/// A generation that the directory does not come to.
const NEVER: u64 = u64::MAX;

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Seconds without a call after which a session ends.
    pub idle_seconds: u64,
    /// Seconds after which a session ends, used or not.
    pub absolute_seconds: u64,
    /// Seconds between two calls of [`Sessions::flush`]; see the module's head.
    pub flush_seconds: u64,
}

impl Default for SessionOptions {
    /// As in decisions 4.
    fn default() -> SessionOptions {
        SessionOptions { idle_seconds: 4 * 3600, absolute_seconds: 24 * 3600, flush_seconds: 60 }
    }
}

/// A session in memory.
#[derive(Debug)]
pub struct LiveSession {
    session: Session,
    /// Epoch milliseconds.
    last_seen_ms: AtomicU64,
    /// What of that is on disk.
    recorded_ms: AtomicU64,
    /// The directory's generation in which the user was last found to stand; [`NEVER`] before that.
    stood: AtomicU64,
    /// Set at logout, before the row is removed.
    ended: AtomicBool,
    /// The budget of its calls; see [`crate::limits::Quota`].
    calls: AtomicU64,
}

impl LiveSession {
    fn new(session: Session, last_seen_ms: u64) -> LiveSession {
        LiveSession {
            session,
            last_seen_ms: AtomicU64::new(last_seen_ms),
            recorded_ms: AtomicU64::new(last_seen_ms),
            stood: AtomicU64::new(NEVER),
            ended: AtomicBool::new(false),
            calls: AtomicU64::new(0),
        }
    }

    /// Short public reference.
    pub fn id(&self) -> &Text {
        &self.session.id
    }

    /// Name of the user.
    pub fn user(&self) -> &Text {
        &self.session.user
    }

    /// What is known of the session. Its `last_seen_ms` is from the login or the restart; see [`LiveSession::last_seen_ms`].
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The budget of its calls, which begins whole at a login and after a restart.
    pub fn calls(&self) -> &AtomicU64 {
        &self.calls
    }

    /// When it was last used, epoch milliseconds.
    pub fn last_seen_ms(&self) -> u64 {
        self.last_seen_ms.load(Ordering::Relaxed)
    }
}

/// What a login gives.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// For the user, and nobody else; it can't be had again.
    pub token: Token,
    /// The session.
    pub session: Arc<LiveSession>,
}

/// See the module's head.
pub struct Sessions {
    repository: Repository,
    directory: Arc<Directory>,
    options: SessionOptions,
    started_ms: u64,
    live: Arc<Live>,
    /// Flush and sweep alone, logouts together: a flush must not write a row back that a logout has removed.
    turn: tokio::sync::RwLock<()>,
}

/// Sessions by hash. In shards, so that readers on many cores do not fight for one lock.
#[derive(Default)]
struct Live([RwLock<Shard>; 16]);

#[derive(Default)]
struct Shard {
    sessions: HashMap<TokenHash, Arc<LiveSession>>,
    /// Counts the rows removed: a row that was read before one was removed must not come into the map after it.
    removals: u64,
}

impl Live {
    fn shard(&self, hash: &TokenHash) -> &RwLock<Shard> {
        &self.0[usize::from(hash.bytes()[0]) % self.0.len()]
    }

    fn get(&self, hash: &TokenHash) -> Option<Arc<LiveSession>> {
        self.shard(hash).read().sessions.get(hash).cloned()
    }
}

impl Sessions {
    /// The sessions in a repository.
    pub fn new(repository: Repository, directory: Arc<Directory>, options: SessionOptions) -> Sessions {
        let started_ms = repository.clock().now_ms();
        Sessions {
            repository,
            directory,
            options,
            started_ms,
            live: Arc::default(),
            turn: tokio::sync::RwLock::default(),
        }
    }

    /// How many are in memory.
    #[cfg(test)]
    pub(super) fn in_memory(&self) -> usize {
        self.live.0.iter().map(|shard| shard.read().sessions.len()).sum()
    }

    /// How long sessions last.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Begins a session. Whether there are such a connection and application is for the caller to know.
    ///
    /// # Errors
    /// `InvalidLogin`, see [`Directory::check_password`]; `Overloaded`; what the store says.
    pub async fn log_in(
        &self,
        connection_id: &str,
        application_id: &str,
        user: &str,
        password: &str,
    ) -> Result<NewSession> {
        let user = self.directory.check_password(user, password).await?;
        let begun = self
            .begin(|token_hash, id, now_ms| Session {
                token_hash,
                id,
                user: user.name.clone(),
                connection_id: connection_id.into(),
                application_id: application_id.into(),
                created_ms: now_ms,
                expires_ms: now_ms.saturating_add(self.options.absolute_seconds.saturating_mul(1000)),
                last_seen_ms: now_ms,
                // As it was when the password was checked: if it has been changed since, the session is born dead.
                generation: user.generation,
            })
            .await?;
        tracing::info!(user = &*user.name, session = &**begun.session.id(), "logged in");
        Ok(begun)
    }

    /// Begins a second session of the same user, with its own token; see the module's head.
    ///
    /// # Errors
    /// As [`Sessions::find`]; what the store says.
    pub async fn copy(&self, token: &str) -> Result<NewSession> {
        let original = self.find(token)?;
        self.begin(|token_hash, id, now_ms| Session {
            token_hash,
            id,
            created_ms: now_ms,
            last_seen_ms: now_ms,
            ..original.session.clone()
        })
        .await
    }

    /// The session of a token, which counts as used now.
    ///
    /// # Errors
    /// `InvalidToken` for a token that is unknown, ended or expired; what the store says.
    pub fn find(&self, token: &str) -> Result<Arc<LiveSession>> {
        let hash = TokenHash::of(token).ok_or_else(invalid_token)?;
        let live = self.load(&hash)?.ok_or_else(invalid_token)?;
        let now_ms = self.repository.clock().now_ms();
        if !self.stands(&live, now_ms)? {
            return Err(invalid_token());
        }
        // Relaxed: nothing else hangs on it, and of two uses at once either time will do.
        live.last_seen_ms.store(now_ms, Ordering::Relaxed);
        Ok(live)
    }

    /// Ends a session: the token is no good from now on.
    ///
    /// # Errors
    /// As [`Sessions::find`]; what the store says. If the disk refuses, the session is dead all the same as long as the server runs,
    /// and the next [`Sessions::sweep`] tries to make that last.
    pub async fn end(&self, token: &str) -> Result<()> {
        let live = self.find(token)?;
        if live.ended.swap(true, Ordering::AcqRel) {
            return Err(invalid_token());
        }
        let _turn = self.turn.read().await;
        self.remove(vec![live.session.token_hash]).await?;
        tracing::info!(user = &**live.user(), session = &**live.id(), "logged out");
        Ok(())
    }

    /// Writes down when the sessions used since the last call were last used; tells how many those were. To be called every
    /// [`SessionOptions::flush_seconds`] and before the repository is shut down.
    ///
    /// # Errors
    /// What the store says; then the next call writes what this one could not.
    pub async fn flush(&self) -> Result<usize> {
        let _turn = self.turn.write().await;
        let mut used = Vec::new();
        for shard in &self.live.0 {
            for live in shard.read().sessions.values() {
                let seen_ms = live.last_seen_ms();
                if seen_ms > live.recorded_ms.load(Ordering::Relaxed) && !live.ended.load(Ordering::Acquire) {
                    used.push((live.clone(), seen_ms));
                }
            }
        }
        for page in used.chunks(PAGE) {
            let row = |(live, seen_ms): &(Arc<LiveSession>, u64)| {
                put(&Session { last_seen_ms: *seen_ms, ..live.session.clone() })
            };
            let changes = page.iter().map(row).collect();
            self.repository.commit(|set| set.changes = changes).await?;
            for (live, seen_ms) in page {
                live.recorded_ms.store(*seen_ms, Ordering::Relaxed);
            }
        }
        Ok(used.len())
    }

    /// Removes the sessions that have ended, from memory and from disk; tells how many. To be called now and then: a session
    /// ends without it.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sweep(&self) -> Result<usize> {
        let now_ms = self.repository.clock().now_ms();
        let mut swept = 0;
        let mut range = Range::prefix(&[]);
        loop {
            // For each page anew, so that a logout need not wait for all of them.
            let turn = self.turn.write().await;
            let page = self.repository.look().scan(View::Committed, Table::Sessions, &range, PAGE, false);
            let page = page.map_err(|error| {
                tracing::error!(%error, "sessions can't be swept");
                Error::internal()
            })?;
            let dead: Vec<TokenHash> = page.iter().filter_map(|(_, row)| self.dead(row, now_ms)).collect();
            swept += dead.len();
            if !dead.is_empty() {
                self.remove(dead).await?;
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => range = range.after(key),
                _ => return Ok(swept),
            }
            drop(turn);
            // Requests on this thread go first.
            tokio::task::yield_now().await;
        }
    }

    /// The hash of a session whose row may go.
    fn dead(&self, row: &[u8], now_ms: u64) -> Option<TokenHash> {
        let session: Session = match decode_value(Session::FORMAT, row) {
            Ok(session) => session,
            Err(error) => {
                tracing::error!(%error, "a session can't be understood");
                return None;
            }
        };
        let hash = session.token_hash;
        let live = self.live.get(&hash).unwrap_or_else(|| Arc::new(self.resumed(session)));
        // A user who can't be read is no reason to end a session.
        (!self.stands(&live, now_ms).unwrap_or(true)).then_some(hash)
    }

    /// Whether a session still is one.
    fn stands(&self, live: &LiveSession, now_ms: u64) -> Result<bool> {
        let idle_ms = self.options.idle_seconds.saturating_mul(1000);
        if live.ended.load(Ordering::Acquire)
            || now_ms >= live.session.expires_ms
            || now_ms >= live.last_seen_ms().saturating_add(idle_ms)
        {
            return Ok(false);
        }
        // Taken before the user is looked up: what is found out holds at least from there.
        let generation = self.directory.generation();
        if live.stood.load(Ordering::Acquire) == generation {
            return Ok(true);
        }
        let user = self.directory.user(live.user())?;
        let stands = user.is_some_and(|user| !user.disabled && user.generation == live.session.generation);
        if stands {
            live.stood.store(generation, Ordering::Release);
        }
        Ok(stands)
    }

    async fn begin(&self, make: impl FnOnce(TokenHash, Text, u64) -> Session) -> Result<NewSession> {
        let token = Token::generate()?;
        let session = make(token.hash(), reference()?.into(), self.repository.clock().now_ms());
        let (hash, change, seen_ms) = (session.token_hash, put(&session), session.last_seen_ms);
        let session = Arc::new(LiveSession::new(session, seen_ms));
        let (live, begun) = (self.live.clone(), session.clone());
        self.repository
            .commit(|set| {
                set.changes = vec![change];
                // Not later: a sweep that removes the row again must find the session in memory.
                set.on_commit = Box::new(move |_| drop(live.shard(&hash).write().sessions.insert(hash, begun)));
            })
            .await?;
        Ok(NewSession { token, session })
    }

    /// The session of a hash, from memory or from its row.
    fn load(&self, hash: &TokenHash) -> Result<Option<Arc<LiveSession>>> {
        let shard = self.live.shard(hash);
        loop {
            let removals = {
                let shard = shard.read();
                if let Some(live) = shard.sessions.get(hash) {
                    return Ok(Some(live.clone()));
                }
                shard.removals
            };
            let place = Session::key(hash);
            let Some(session) = self.repository.row::<Session>(place.table, &place.key)? else { return Ok(None) };
            let mut shard = shard.write();
            if shard.removals == removals {
                let live = shard.sessions.entry(*hash).or_insert_with(|| Arc::new(self.resumed(session)));
                return Ok(Some(live.clone()));
            }
        }
    }

    /// A session read from its row, with the grace of the module's head. A row that this process wrote gets none.
    fn resumed(&self, session: Session) -> LiveSession {
        let grace_ms = self.options.flush_seconds.saturating_mul(1000);
        let latest_ms = session.last_seen_ms.saturating_add(grace_ms).min(self.started_ms);
        let seen_ms = session.last_seen_ms.max(latest_ms);
        LiveSession::new(session, seen_ms)
    }

    async fn remove(&self, hashes: Vec<TokenHash>) -> Result<()> {
        let changes = hashes.iter().map(|hash| remove(Session::key(hash))).collect();
        let live = self.live.clone();
        self.repository
            .commit(|set| {
                set.changes = changes;
                set.on_commit = Box::new(move |_| {
                    for hash in &hashes {
                        let mut shard = live.shard(hash).write();
                        shard.removals += 1;
                        shard.sessions.remove(hash);
                    }
                });
            })
            .await
    }
}

/// The same for all that is wrong with a token, and without the token.
fn invalid_token() -> Error {
    Error::new(Code::InvalidToken, "The token is unknown, or its session has ended: log in again.")
}
