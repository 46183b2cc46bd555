//! Sessions (docs/api/auth.md, "Sessions"), and keys, which are sessions of machines.
//!
//! # When a session ends
//!
//! At logout; when its user's password is changed or the user disabled;
//! [`SessionOptions::idle_seconds`] after its last use; and [`SessionOptions::absolute_seconds`]
//! after the login, used or not. A copy ends no later than its original would have: otherwise
//! copying would be a way around the absolute limit. For the same reason both share one quota of
//! calls, until a restart. In everything else they are independent. A caller who may manage groups
//! can end any session by its public reference, and all users can end their own.
//!
//! A user has at most [`SessionOptions::per_user`] sessions. A login or copy beyond that ends the
//! user's least recently used session, in the same commit. So a login always succeeds, and the
//! session that ends is one left open elsewhere. Refusing would lock people out because of programs
//! that log in for each call and never log out.
//!
//! A session is ended in memory first, and with it the event for the audit trail is set; then its
//! row is removed. Until the row is removed, the session exists for all calls that list or end
//! sessions, because a crash would revive it: the disk may refuse, and the caller may leave. The
//! event is committed with the removal of the row, even if that is done by the sweep.
//!
//! # Keys
//!
//! A key is a session for a machine client. It has no idle limit, ends only at its own end, if it
//! has one, and survives its user's change of password. It ends for good when it is revoked or its
//! user disabled. It acts for the user, whose home and name it has, but may do exactly what it was
//! granted, more or less than the user's groups. A caller who can create keys may change groups as
//! well, so nothing is gained by it. A key can't be copied or logged out, is not listed as a
//! session and does not count against the limit.
//!
//! # What a request costs
//!
//! One SHA-256, one lookup in a map, one store to an atomic. [`Sessions::flush`] records the use of
//! sessions, for all sessions used since the last flush together. Whether the user still exists and
//! is enabled is looked up once after each change of the directory.
//!
//! # After a restart
//!
//! A token is still valid. Its session is read when it is first used. The idle time counts from the
//! last recorded use plus the flush interval, but not from later than the restart. Uses in the last
//! interval before a crash could not be recorded, and must not end a session in steady use. A
//! session that was used again after a long pause in that very interval counts as if the pause had
//! gone on; at worst its user logs in again.
//!
//! # What is in the map
//!
//! Existing sessions and keys, from their login or first use until [`Sessions::sweep`] or the
//! logout removes their row. Invalid tokens leave nothing behind, however many there are.

mod keys;
mod limit;
mod list;
mod live;
mod locks;
mod sweep;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stet_actors::repository::Repository;
use stet_domain::ends::ExpiryTime;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_domain::store::{Event, Row, RowChange};
use tokio::sync::{Mutex, RwLock};

pub use self::keys::NewKey;
use self::limit::SessionQueues;
pub use self::live::LiveSession;
use self::live::{LiveSessions, SessionStanding};
use super::directory::Directory;
use super::rows::{Session, User};
use super::token::{Token, TokenHash, reference};

/// Number of rows that one commit of [`Sessions::flush`] or [`Sessions::sweep`] writes, so that
/// other commits need not wait behind thousands.
const PAGE: usize = 1000;

/// The durations and limits of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Seconds without a call after which a session ends.
    pub idle_seconds: u64,
    /// Seconds after which a session ends, used or not.
    pub absolute_seconds: u64,
    /// Seconds between two calls of [`Sessions::flush`]; see the module's head.
    pub flush_seconds: u64,
    /// Maximum number of sessions of one user at a time; 0 for no limit.
    pub per_user: usize,
}

impl Default for SessionOptions {
    /// Returns the values of docs/api/auth.md, "Sessions"; the number of sessions is that of the
    /// configuration.
    fn default() -> SessionOptions {
        SessionOptions { idle_seconds: 4 * 3600, absolute_seconds: 24 * 3600, flush_seconds: 60, per_user: 100 }
    }
}

/// The result of a login or of the creation of a key.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The token, for the user alone; it can't be read again.
    pub token: Token,
    /// The session.
    pub session: Arc<LiveSession>,
}

/// The sessions and keys of a repository.
pub struct Sessions {
    repository: Repository,
    directory: Arc<Directory>,
    options: SessionOptions,
    started_ms: u64,
    live: Arc<LiveSessions>,
    /// Exclusive for flush and sweep, shared by logouts: a flush must not write a row back that a
    /// logout has removed. Like the others here, it is held until the commit is decided.
    turn: Arc<RwLock<()>>,
    /// One beginning of a session at a time for each user, so that two can't take the same last
    /// place.
    beginnings: SessionQueues,
    /// One new key at a time, so that two can't take the same name.
    naming: Arc<Mutex<()>>,
}

/// A session whose row is removed.
struct EndedSession {
    hash: TokenHash,
    /// The event for the audit trail.
    deed: Option<Event>,
}

impl Sessions {
    /// Creates the sessions of a repository.
    pub fn new(repository: Repository, directory: Arc<Directory>, options: SessionOptions) -> Sessions {
        let started_ms = repository.clock().now_ms();
        Sessions {
            repository,
            directory,
            options,
            started_ms,
            live: Arc::default(),
            turn: Arc::default(),
            beginnings: SessionQueues::default(),
            naming: Arc::default(),
        }
    }

    /// Returns the number of sessions in memory.
    #[cfg(test)]
    pub(super) fn in_memory(&self) -> usize {
        self.live.0.iter().map(|shard| shard.read().sessions.len()).sum()
    }

    /// Returns the durations and limits of sessions.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Begins a session for a client at `address`. The caller checks that connection and
    /// application exist.
    ///
    /// # Errors
    /// `InvalidLogin`, see [`Directory::check_password`]; `Overloaded`; errors of the store.
    pub async fn log_in(
        &self,
        connection_id: &str,
        application_id: &str,
        user: &str,
        password: &str,
        address: &str,
    ) -> Result<NewSession> {
        let user = self.directory.check_password(user, password).await?;
        self.log_in_as(connection_id, application_id, &user, address).await
    }

    /// Begins a session of a user who was authenticated by other means than a password.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn log_in_as(
        &self,
        connection_id: &str,
        application_id: &str,
        user: &User,
        address: &str,
    ) -> Result<NewSession> {
        let begun = self
            .begin(user.name.text(), &Arc::default(), |token_hash, id, now_ms| Session {
                token_hash,
                id,
                user: user.name.text().clone(),
                connection_id: connection_id.into(),
                application_id: application_id.into(),
                created_ms: now_ms,
                expires_ms: now_ms.saturating_add(self.options.absolute_seconds.saturating_mul(1000)),
                last_seen_ms: now_ms,
                // The generation at the lookup of the user: if they have been disabled or given
                // another password since, the session is invalid from the beginning.
                generation: user.generation,
                address: address.to_owned(),
                key: None,
            })
            .await?;
        tracing::info!(user = &*user.name, session = &**begun.session.id(), "logged in");
        Ok(begun)
    }

    /// Begins a second session of the same user, with its own token, for a client at `address`; see
    /// the module's head.
    ///
    /// # Errors
    /// The errors of [`Sessions::find`]; `PermissionDenied` for a key; errors of the store.
    pub async fn copy(&self, token: &str, address: &str) -> Result<NewSession> {
        let original = self.find(token)?;
        no_key(&original, "copied")?;
        self.begin(original.user(), original.calls(), |token_hash, id, now_ms| Session {
            token_hash,
            id,
            created_ms: now_ms,
            last_seen_ms: now_ms,
            address: address.to_owned(),
            ..original.session.clone()
        })
        .await
    }

    /// Refuses a session that has ended since it was found, and updates its rights.
    ///
    /// # Errors
    /// `InvalidToken`; errors of the store.
    pub fn check(&self, live: &LiveSession) -> Result<()> {
        if self.stands(live, self.repository.clock().now_ms())? { Ok(()) } else { Err(invalid_token()) }
    }

    /// Records that a long call still uses a session, which has just been checked.
    pub fn used_still(&self, live: &LiveSession) {
        live.last_seen_ms.store(self.repository.clock().now_ms(), Ordering::Relaxed);
    }

    /// Returns the session of a token, and records its use.
    ///
    /// # Errors
    /// `InvalidToken` for a token that is unknown, ended or expired; errors of the store.
    pub fn find(&self, token: &str) -> Result<Arc<LiveSession>> {
        let live = self.known(token)?;
        let now_ms = self.repository.clock().now_ms();
        if !self.stands(&live, now_ms)? {
            return Err(invalid_token());
        }
        // Relaxed: nothing else depends on it, and of two concurrent uses either time will do.
        live.last_seen_ms.store(now_ms, Ordering::Relaxed);
        Ok(live)
    }

    /// Returns the session of a token that is to be ended. It may have ended in memory already, if
    /// its row still exists because the disk has not taken the end. It does not count as used.
    ///
    /// # Errors
    /// The errors of [`Sessions::find`].
    pub fn find_to_end(&self, token: &str) -> Result<Arc<LiveSession>> {
        let live = self.known(token)?;
        // A key is revoked by its name; the token of an ended one is just invalid.
        let may_be = live.session.key.is_none() || !live.has_ended();
        if may_be && self.lasts(&live, self.repository.clock().now_ms())? { Ok(live) } else { Err(invalid_token()) }
    }

    /// Returns the session of a token, whether or not it is valid.
    fn known(&self, token: &str) -> Result<Arc<LiveSession>> {
        let hash = TokenHash::of(token).ok_or_else(invalid_token)?;
        self.load(&hash)?.ok_or_else(invalid_token)
    }

    /// Ends a session: the token is invalid from now on.
    ///
    /// # Errors
    /// The errors of [`Sessions::find_to_end`]; `PermissionDenied` for a key; errors of the store.
    /// If the disk refuses, the session is still invalid as long as the server runs. The same call
    /// again, or the next [`Sessions::sweep`], retries the removal.
    pub async fn end(&self, token: &str) -> Result<()> {
        let live = self.find_to_end(token)?;
        no_key(&live, "logged out")?;
        if !self.end_live(&live, None).await? {
            return Err(invalid_token());
        }
        tracing::info!(user = &**live.user(), session = &**live.id(), "logged out");
        Ok(())
    }

    /// Ends a session in the map. Returns whether it still existed, as stated by its row. A session
    /// that had ended in memory alone, because the disk refused or the caller left, is ended for
    /// good now.
    async fn end_live(&self, live: &LiveSession, deed: Option<Event>) -> Result<bool> {
        let ends = live.end(deed);
        let turn: Box<dyn Send> = if ends {
            Box::new(self.turn.clone().read_owned().await)
        } else {
            // Exclusive: the call that ended it before may be removing the row right now.
            Box::new(self.turn.clone().write_owned().await)
        };
        let place = live.session.place();
        // A sweep may have removed it already.
        let is_there = self.repository.row::<Session>(place.table, &place.key)?.is_some();
        if is_there {
            self.remove(vec![EndedSession { hash: live.session.token_hash, deed: live.deed() }], turn).await?;
        } else {
            drop(turn);
        }
        if ends || is_there {
            self.release_locks_of(live).await;
        }
        Ok(ends || is_there)
    }

    /// Returns the time by which sessions and locks are removed for good, in epoch milliseconds; 0
    /// while the clock may be wrong. Those that have ended by the clock are invalid even before
    /// their removal.
    fn ended_by_ms(&self) -> u64 {
        self.repository.ends().now().map_or(0, ExpiryTime::ms)
    }

    /// Reports whether a session is valid.
    fn stands(&self, live: &LiveSession, now_ms: u64) -> Result<bool> {
        Ok(!live.has_ended() && self.lasts(live, now_ms)?)
    }

    /// Reports whether a session is valid by what is on disk, as long as its row exists. It may
    /// have ended in memory.
    fn lasts(&self, live: &LiveSession, now_ms: u64) -> Result<bool> {
        let key = live.session.key.is_some();
        let idle_ms = self.options.idle_seconds.saturating_mul(1000);
        if now_ms >= live.session.expires_ms || (!key && now_ms >= live.last_seen_ms().saturating_add(idle_ms)) {
            return Ok(false);
        }
        // Taken before the user is looked up: the result holds at least from this generation on.
        let generation = self.directory.generation();
        if live.standing.load().as_ref().is_some_and(|standing| standing.generation == generation) {
            return Ok(true);
        }
        let user = self.directory.user(live.user())?;
        let stands = user.is_some_and(|user| {
            let generation = if key { user.key_generation } else { user.generation };
            !user.disabled && generation == live.session.generation
        });
        if stands {
            let rights = match live.grants() {
                Some(own) => Arc::new(self.directory.sum(own)?),
                None => self.directory.rights_of(live.user())?,
            };
            let found = Arc::new(SessionStanding { generation, rights });
            // Another request may have stored a newer result.
            live.standing.rcu(|known| match known {
                Some(newer) if newer.generation > generation => Some(newer.clone()),
                _ => Some(found.clone()),
            });
        }
        Ok(stands)
    }

    /// Begins a session of a user, and ends those beyond the limit.
    async fn begin(
        &self,
        user: &str,
        calls: &Arc<AtomicU64>,
        make: impl FnOnce(TokenHash, SharedText, u64) -> Session,
    ) -> Result<NewSession> {
        let beginning = self.beginnings.of(user).await?;
        let surplus = self.surplus(user).await?;
        // A flush must not write back the sessions that end.
        let turn = if surplus.is_empty() { None } else { Some(self.turn.clone().read_owned().await) };
        let token = Token::generate()?;
        let session = make(token.hash(), reference()?.into(), self.repository.clock().now_ms());
        let gone = surplus.iter().map(|live| live.session.token_hash).collect();
        // Releasing locks may take long, and a flush that waited for it would delay every logout.
        // So the exclusive rights end with the commit.
        let new = self.insert(token, session, calls, gone, None, (turn, beginning)).await?;
        for ended in surplus {
            self.release_locks_of(&ended).await;
            tracing::info!(user, session = &**ended.id(), "session ended to make room for a login");
        }
        Ok(new)
    }

    /// Adds a session and removes others in one commit. `turn` is held until then, so that what was
    /// checked before stays true.
    async fn insert(
        &self,
        token: Token,
        session: Session,
        calls: &Arc<AtomicU64>,
        gone: Vec<TokenHash>,
        event: Option<Event>,
        turn: impl Send + 'static,
    ) -> Result<NewSession> {
        let mut changes = vec![RowChange::put(&session)];
        changes.extend(gone.iter().map(|hash| RowChange::remove(Session::key(hash))));
        let seen_ms = session.last_seen_ms;
        let session = Arc::new(LiveSession::new(session, seen_ms).sharing(calls));
        let (live, begun) = (self.live.clone(), session.clone());
        self.repository
            .commit_holding(turn, |set| {
                set.changes = changes;
                set.events = event.into_iter().collect();
                set.on_commit = Box::new(move |_| {
                    // Not later: a sweep that removes the row again must find the session in
                    // memory.
                    live.insert(begun);
                    live.remove(&gone);
                });
            })
            .await?;
        Ok(NewSession { token, session })
    }

    /// Returns the session of a hash, from memory or from its row.
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

    /// Creates the live session of a row, with the grace of the module's head. Rows that this
    /// process has written get none. Nor do keys, which have no idle limit: their last use is shown
    /// as recorded.
    fn resumed(&self, session: Session) -> LiveSession {
        if session.key.is_some() {
            let seen_ms = session.last_seen_ms;
            return LiveSession::new(session, seen_ms);
        }
        let grace_ms = self.options.flush_seconds.saturating_mul(1000);
        let latest_ms = session.last_seen_ms.saturating_add(grace_ms).min(self.started_ms);
        let seen_ms = session.last_seen_ms.max(latest_ms);
        LiveSession::new(session, seen_ms)
    }

    /// Removes sessions from disk, then from memory; `turn` is held until the commit.
    async fn remove(&self, gone: Vec<EndedSession>, turn: impl Send + 'static) -> Result<()> {
        let (hashes, deeds): (Vec<TokenHash>, Vec<_>) =
            gone.into_iter().map(|EndedSession { hash, deed }| (hash, deed)).unzip();
        let changes = hashes.iter().map(|hash| RowChange::remove(Session::key(hash))).collect();
        let live = self.live.clone();
        self.repository
            .commit_holding(turn, |set| {
                set.changes = changes;
                set.events = deeds.into_iter().flatten().collect();
                set.on_commit = Box::new(move |_| live.remove(&hashes));
            })
            .await
    }
}

/// Returns the error for any fault of a token, without the token.
fn invalid_token() -> Error {
    Error::new(Code::InvalidToken, "The token is unknown, or its session has ended: log in again.")
}

/// Refuses an action that is possible for sessions of people only.
fn no_key(live: &LiveSession, what: &str) -> Result<()> {
    let Some(key) = &live.session.key else { return Ok(()) };
    let message = format!("`{}` is a key and can't be {what}. It is valid until it expires or is revoked.", key.name);
    Err(Error::new(Code::PermissionDenied, message).with_detail("key", &*key.name))
}
