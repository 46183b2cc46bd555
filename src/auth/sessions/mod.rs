//! Sessions (docs/api/auth.md, "Sessions"), and keys, which are sessions of machines.
//!
//! # When a session ends
//!
//! At logout; when its user's password is changed or the user disabled;
//! [`SessionOptions::idle_seconds`] after it was last used; and
//! [`SessionOptions::absolute_seconds`] after the login, used or not. A copy ends no later than its
//! original was to: otherwise copying would be a way around the absolute limit. For the same reason
//! both have one budget of calls, until a restart. In everything else they are independent. Someone
//! who may manage groups can end any session by its public reference, and everyone their own.
//!
//! One user has [`SessionOptions::per_user`] sessions at most. A login or copy beyond that ends the
//! session of the user that was least recently used, in the same commit: a user who logs in always
//! succeeds, and the session that ends is one left open elsewhere. Refusing would lock people out
//! because of programs that log in for each call and never out again.
//!
//! Whoever ends a session kills it in memory first, and with it what the audit trail is to tell of
//! that; then its row is removed. Until the row has gone, the session is there for all who list
//! sessions or end one, for it would be again after a crash: the disk may refuse, and the caller
//! may go away. Whoever removes the row in the end, be it the sweep, tells of the deed.
//!
//! # Keys
//!
//! A key is a session for a machine client. It does not idle out, ends at no limit but its own, if
//! it was given one, and survives its user's change of password; it dies when it is revoked or its
//! user disabled, for good. It acts under the user, whose home and name it has, but may do exactly
//! what it was granted, be that more or less than the user's groups may: whoever makes keys may
//! change groups as well, so nothing is gained by it. It can't be copied or logged out, is no
//! session in lists and does not count against the limit.
//!
//! # What a request costs
//!
//! One SHA-256, one look into a map, one store to an atomic. That a session was used is written
//! down by [`Sessions::flush`], for all sessions used since the last one together. Whether the user
//! still exists and is enabled is looked up once after each change of the directory.
//!
//! # After a restart
//!
//! A token is still good. Its session is read when it is first used. The idle time counts from the
//! use that was last recorded, plus the flush interval, but not from later than the restart: uses
//! of the last interval before a crash could not be recorded, and a session that was in steady use
//! must not end for that. One that was taken up again after a long pause in that very interval
//! counts as if the pause had gone on; at worst its user logs in again.
//!
//! # What is in the map
//!
//! Sessions and keys that exist, from their login or first use until [`Sessions::sweep`] or the
//! logout removes their row. Tokens that are invalid leave nothing behind, however many there are.

mod keys;
mod limit;
mod list;
mod live;
mod locks;
mod sweep;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stet_actors::ends::EndTime;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_actors::repository::Repository;
use stet_actors::store::{Event, Row};
use tokio::sync::{Mutex, RwLock};

pub use self::keys::NewKey;
use self::limit::Turns;
pub use self::live::LiveSession;
use self::live::{Live, Standing};
use super::directory::Directory;
use super::rows::{Session, User, put, remove};
use super::token::{Token, TokenHash, reference};

/// Rows that one commit of [`Sessions::flush`] and [`Sessions::sweep`] writes, so that others need
/// not wait behind thousands.
const PAGE: usize = 1000;

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Seconds without a call after which a session ends.
    pub idle_seconds: u64,
    /// Seconds after which a session ends, used or not.
    pub absolute_seconds: u64,
    /// Seconds between two calls of [`Sessions::flush`]; see the module's head.
    pub flush_seconds: u64,
    /// Sessions that one user may have at a time; 0 for any number.
    pub per_user: usize,
}

impl Default for SessionOptions {
    /// As in docs/api/auth.md, "Sessions"; the number of sessions is the configuration's.
    fn default() -> SessionOptions {
        SessionOptions { idle_seconds: 4 * 3600, absolute_seconds: 24 * 3600, flush_seconds: 60, per_user: 100 }
    }
}

/// What a login gives.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The token, for the user alone; it can't be read again.
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
    /// Flush and sweep alone, logouts together: a flush must not write a row back that a logout has
    /// removed. As all turns here it is held until the commit is decided.
    turn: Arc<RwLock<()>>,
    /// One beginning of a session at a time for each user, so that no two take the same last place.
    beginnings: Turns,
    /// One new key at a time, so that no two take the same name.
    naming: Arc<Mutex<()>>,
}

/// A session whose row is removed.
struct Gone {
    hash: TokenHash,
    /// What the audit trail tells of that.
    deed: Option<Event>,
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
            turn: Arc::default(),
            beginnings: Turns::default(),
            naming: Arc::default(),
        }
    }

    /// The number of sessions in memory.
    #[cfg(test)]
    pub(super) fn in_memory(&self) -> usize {
        self.live.0.iter().map(|shard| shard.read().sessions.len()).sum()
    }

    /// How long sessions last.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Begins a session for a client at `address`. Whether there are such a connection and
    /// application is for the caller to know.
    ///
    /// # Errors
    /// `InvalidLogin`, see [`Directory::check_password`]; `Overloaded`; what the store says.
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

    /// Begins a session of a user who has shown by other means than a password who they are.
    ///
    /// # Errors
    /// What the store says.
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
                // As it was when the user was looked up: if they have been disabled or given
                // another password since, the session is born dead.
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
    /// As [`Sessions::find`]; `PermissionDenied` for a key; what the store says.
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

    /// Refuses a session that has ended since it was found, and brings its rights up to date.
    ///
    /// # Errors
    /// `InvalidToken`; what the store says.
    pub fn check(&self, live: &LiveSession) -> Result<()> {
        if self.stands(live, self.repository.clock().now_ms())? { Ok(()) } else { Err(invalid_token()) }
    }

    /// Notes that a session, which has just been checked, is in use by a call that takes long.
    pub fn used_still(&self, live: &LiveSession) {
        live.last_seen_ms.store(self.repository.clock().now_ms(), Ordering::Relaxed);
    }

    /// The session of a token, which counts as used now.
    ///
    /// # Errors
    /// `InvalidToken` for a token that is unknown, ended or expired; what the store says.
    pub fn find(&self, token: &str) -> Result<Arc<LiveSession>> {
        let live = self.known(token)?;
        let now_ms = self.repository.clock().now_ms();
        if !self.stands(&live, now_ms)? {
            return Err(invalid_token());
        }
        // Relaxed: nothing else hangs on it, and of two uses at once either time will do.
        live.last_seen_ms.store(now_ms, Ordering::Relaxed);
        Ok(live)
    }

    /// The session of a token that is to be ended: one, too, that is dead already, if its row is
    /// there still, for the disk has not taken its end. It does not count as used.
    ///
    /// # Errors
    /// As [`Sessions::find`].
    pub fn find_to_end(&self, token: &str) -> Result<Arc<LiveSession>> {
        let live = self.known(token)?;
        // A key is revoked by its name: to its token a dead one is just that.
        let may_be = live.session.key.is_none() || !live.has_ended();
        if may_be && self.lasts(&live, self.repository.clock().now_ms())? { Ok(live) } else { Err(invalid_token()) }
    }

    /// The session of a token, whether or not it still is one.
    fn known(&self, token: &str) -> Result<Arc<LiveSession>> {
        let hash = TokenHash::of(token).ok_or_else(invalid_token)?;
        self.load(&hash)?.ok_or_else(invalid_token)
    }

    /// Ends a session: the token is invalid from now on.
    ///
    /// # Errors
    /// As [`Sessions::find_to_end`]; `PermissionDenied` for a key; what the store says. If the disk
    /// refuses, the session is dead all the same as long as the server runs, and the same call
    /// again, or the next [`Sessions::sweep`], tries to make that last.
    pub async fn end(&self, token: &str) -> Result<()> {
        let live = self.find_to_end(token)?;
        no_key(&live, "logged out")?;
        if !self.end_live(&live, None).await? {
            return Err(invalid_token());
        }
        tracing::info!(user = &**live.user(), session = &**live.id(), "logged out");
        Ok(())
    }

    /// Ends a session that is in the map. Returns whether it was still there, which is for its row
    /// to say: one that is dead in memory alone, for the disk has refused its end or the caller was
    /// gone before, is ended now.
    async fn end_live(&self, live: &LiveSession, deed: Option<Event>) -> Result<bool> {
        let ends = live.end(deed);
        let turn: Box<dyn Send> = if ends {
            Box::new(self.turn.clone().read_owned().await)
        } else {
            // Alone: whoever has ended it before may be removing the row right now.
            Box::new(self.turn.clone().write_owned().await)
        };
        let place = live.session.place();
        // A sweep may have been there first.
        let is_there = self.repository.row::<Session>(place.table, &place.key)?.is_some();
        if is_there {
            self.remove(vec![Gone { hash: live.session.token_hash, deed: live.deed() }], turn).await?;
        } else {
            drop(turn);
        }
        if ends || is_there {
            self.release_locks_of(live).await;
        }
        Ok(ends || is_there)
    }

    /// The time by which sessions and locks are taken away for good, epoch milliseconds: one before
    /// all others while the clock may be wrong. Those that have ended by the clock count as none
    /// without that.
    fn ended_by_ms(&self) -> u64 {
        self.repository.ends().now().map_or(0, EndTime::ms)
    }

    /// Whether a session still is one.
    fn stands(&self, live: &LiveSession, now_ms: u64) -> Result<bool> {
        Ok(!live.has_ended() && self.lasts(live, now_ms)?)
    }

    /// The same by what is on disk: whether it is one as long as its row is there, be it dead in
    /// memory.
    fn lasts(&self, live: &LiveSession, now_ms: u64) -> Result<bool> {
        let key = live.session.key.is_some();
        let idle_ms = self.options.idle_seconds.saturating_mul(1000);
        if now_ms >= live.session.expires_ms || (!key && now_ms >= live.last_seen_ms().saturating_add(idle_ms)) {
            return Ok(false);
        }
        // Taken before the user is looked up: what is found out holds at least from there.
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
            let found = Arc::new(Standing { generation, rights });
            // Another request may have found out something newer meanwhile.
            live.standing.rcu(|known| match known {
                Some(newer) if newer.generation > generation => Some(newer.clone()),
                _ => Some(found.clone()),
            });
        }
        Ok(stands)
    }

    /// Begins a session of a user, and ends those that it leaves no room for.
    async fn begin(
        &self,
        user: &str,
        calls: &Arc<AtomicU64>,
        make: impl FnOnce(TokenHash, Text, u64) -> Session,
    ) -> Result<NewSession> {
        let beginning = self.beginnings.of(user).await?;
        let surplus = self.surplus(user).await?;
        // Those that end must not be written back by a flush.
        let turn = if surplus.is_empty() { None } else { Some(self.turn.clone().read_owned().await) };
        let token = Token::generate()?;
        let session = make(token.hash(), reference()?.into(), self.repository.clock().now_ms());
        let gone = surplus.iter().map(|live| live.session.token_hash).collect();
        // Giving locks back may take long, and must not delay others: a flush that waited for it
        // would keep every logout waiting. So the turns end with the commit.
        let new = self.insert(token, session, calls, gone, None, (turn, beginning)).await?;
        for ended in surplus {
            self.release_locks_of(&ended).await;
            tracing::info!(user, session = &**ended.id(), "ended to make room for a login");
        }
        Ok(new)
    }

    /// Puts a session in, and takes others out, in one commit, until which the turn is held in
    /// which it was found that this may be.
    async fn insert(
        &self,
        token: Token,
        session: Session,
        calls: &Arc<AtomicU64>,
        gone: Vec<TokenHash>,
        event: Option<Event>,
        turn: impl Send + 'static,
    ) -> Result<NewSession> {
        let mut changes = vec![put(&session)];
        changes.extend(gone.iter().map(|hash| remove(Session::key(hash))));
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

    /// A session read from its row, with the grace of the module's head. A row that this process
    /// wrote gets none, nor does a key, which no time without use ends: when it was last used, if
    /// ever, is told as it is known.
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

    /// Removes sessions from disk, and then from memory, in a turn.
    async fn remove(&self, gone: Vec<Gone>, turn: impl Send + 'static) -> Result<()> {
        let (hashes, deeds): (Vec<TokenHash>, Vec<_>) =
            gone.into_iter().map(|Gone { hash, deed }| (hash, deed)).unzip();
        let changes = hashes.iter().map(|hash| remove(Session::key(hash))).collect();
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

/// The same for all that is wrong with a token, and without the token.
fn invalid_token() -> Error {
    Error::new(Code::InvalidToken, "The token is unknown, or its session has ended: log in again.")
}

/// Refuses what is done to sessions of people only.
fn no_key(live: &LiveSession, what: &str) -> Result<()> {
    let Some(key) = &live.session.key else { return Ok(()) };
    let message = format!("`{}` is a key and can't be {what}: it ends when it is revoked.", key.name);
    Err(Error::new(Code::PermissionDenied, message).with_detail("key", &*key.name))
}
