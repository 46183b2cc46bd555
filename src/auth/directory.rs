//! Users and groups.
//!
//! # Why nothing stale stays in memory
//!
//! Every change is a commit that, before it is answered, empties the cache and raises its generation. A reader that misses notes
//! the generation before it reads the row, and keeps what it read only if the generation is still the same: what was read before a
//! commit can't be kept after it. Changes are rare, so emptying all of it is cheaper than knowing what depends on what.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::HashMap;
use parking_lot::RwLock;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::{MAX_NAME_BYTES, Text, file_name};
use stet_actors::repository::Repository;
use stet_actors::store::{Key, Row, Table};
use tokio::sync::Mutex;

use super::password::Passwords;
use super::rows::{Group, User, put};
use crate::http::route::Privilege;

/// See the module's head.
pub struct Directory {
    pub(super) repository: Repository,
    pub(super) passwords: Passwords,
    cache: Arc<Cache>,
    /// One change at a time, from reading the row to its being on disk.
    turn: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Cache {
    /// Raised, with `rows` locked, by every change.
    generation: AtomicU64,
    rows: RwLock<Rows>,
}

/// Only what exists: names that someone made up take no room.
#[derive(Default)]
struct Rows {
    users: HashMap<Text, Arc<User>>,
    privileges: HashMap<Text, Arc<BTreeSet<Privilege>>>,
}

impl Cache {
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps what was read since the generation was `read_at`, unless something has changed.
    fn keep(&self, read_at: u64, add: impl FnOnce(&mut Rows)) {
        let mut rows = self.rows.write();
        if self.generation() == read_at {
            add(&mut rows);
        }
    }

    fn clear(&self) {
        let mut rows = self.rows.write();
        self.generation.fetch_add(1, Ordering::Release);
        *rows = Rows::default();
    }
}

impl Directory {
    /// The users and groups in a repository.
    pub fn new(repository: Repository, passwords: Passwords) -> Directory {
        Directory { repository, passwords, cache: Arc::default(), turn: Arc::default() }
    }

    /// The user of that name.
    ///
    /// # Errors
    /// What the store says.
    pub fn user(&self, name: &str) -> Result<Option<Arc<User>>> {
        if let Some(user) = self.cache.rows.read().users.get(name) {
            return Ok(Some(user.clone()));
        }
        let read_at = self.cache.generation();
        let Some(user) = self.row::<User>(Table::Users, name)?.map(Arc::new) else { return Ok(None) };
        self.cache.keep(read_at, |rows| drop(rows.users.insert(user.name.clone(), user.clone())));
        Ok(Some(user))
    }

    /// The group of that name.
    ///
    /// # Errors
    /// What the store says.
    pub fn group(&self, name: &str) -> Result<Option<Group>> {
        self.row(Table::Groups, name)
    }

    /// How people write a user's name; the name itself where nothing better is known.
    pub fn full_name(&self, name: &str) -> String {
        match self.user(name) {
            Ok(Some(user)) if !user.full_name.is_empty() => user.full_name.clone(),
            // A store that fails has logged it, and a name is no reason to fail along with it.
            _ => name.to_owned(),
        }
    }

    /// What a user may do everywhere: the union over the groups. Nothing for an unknown or disabled user.
    ///
    /// Grants below a folder are not in it. It is what routes are checked with, before anyone knows which object is meant; what is
    /// allowed below a folder depends on the object, and is in [`Group::privileges`].
    ///
    /// # Errors
    /// What the store says.
    pub fn privileges_of(&self, name: &str) -> Result<Arc<BTreeSet<Privilege>>> {
        if let Some(privileges) = self.cache.rows.read().privileges.get(name) {
            return Ok(privileges.clone());
        }
        let read_at = self.cache.generation();
        let Some(user) = self.user(name)? else { return Ok(Arc::default()) };
        let mut privileges = BTreeSet::new();
        for group in user.groups.iter().filter(|_| !user.disabled) {
            let grants = self.group(group)?.map(|group| group.privileges).unwrap_or_default();
            privileges.extend(grants.iter().filter(|grant| grant.folder.is_none()).map(|grant| grant.privilege));
        }
        let privileges = Arc::new(privileges);
        self.cache.keep(read_at, |rows| drop(rows.privileges.insert(user.name.clone(), privileges.clone())));
        Ok(privileges)
    }

    /// Makes a user, or replaces all of one but the password. Disabling ends the user's sessions and keys for good.
    ///
    /// # Errors
    /// `InvalidName`; what the store says.
    pub async fn put_user(&self, user: User) -> Result<()> {
        file_name(&user.name)?;
        self.write(user.place(), |old: Option<User>, now_ms| {
            let mut user = user;
            let made = old.is_none();
            user.keep_from(old.unwrap_or_else(|| User::new(&user.name)));
            if made || user.disabled {
                user.end_sessions_and_keys(now_ms);
            }
            Ok(user)
        })
        .await
    }

    /// Changes what is named of a user; see [`Directory::put_user`].
    ///
    /// # Errors
    /// `ObjectNotFound`; what `change` says; what the store says.
    pub async fn change_user(&self, name: &str, change: impl FnOnce(&mut User) -> Result<()>) -> Result<()> {
        self.write(User::key(name), |old: Option<User>, now_ms| {
            let old = old.ok_or_else(|| unknown("user", name))?;
            let mut user = old.clone();
            change(&mut user)?;
            user.keep_from(old);
            if user.disabled {
                user.end_sessions_and_keys(now_ms);
            }
            Ok(user)
        })
        .await
    }

    /// Sets a user's password, and ends the user's sessions.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidParameter` for an empty or far too long password; `Overloaded`; what the store says.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<()> {
        if self.user(name)?.is_none() {
            return Err(unknown("user", name));
        }
        let hash = self.passwords.hash(password).await?;
        self.write(User::key(name), |old: Option<User>, now_ms| {
            let mut user = old.ok_or_else(|| unknown("user", name))?;
            user.password = Some(hash);
            user.password_changed_ms = now_ms;
            user.end_sessions(now_ms);
            Ok(user)
        })
        .await?;
        tracing::info!(user = name, "password set");
        Ok(())
    }

    /// Makes or replaces a group.
    ///
    /// # Errors
    /// `InvalidName`; what the store says.
    pub async fn put_group(&self, group: Group) -> Result<()> {
        file_name(&group.name)?;
        self.write(group.place(), |_, _| Ok(group)).await
    }

    /// Changes what is named of a group.
    ///
    /// # Errors
    /// `ObjectNotFound`; what `change` says; what the store says.
    pub async fn change_group(&self, name: &str, change: impl FnOnce(&mut Group) -> Result<()>) -> Result<()> {
        self.write(Group::key(name), |old: Option<Group>, _| {
            let mut group = old.ok_or_else(|| unknown("group", name))?;
            let name = group.name.clone();
            change(&mut group)?;
            // Another name would be another row.
            group.name = name;
            Ok(group)
        })
        .await
    }

    /// The user of that name, if that is the password.
    ///
    /// # Errors
    /// `InvalidLogin`: the same, after the same work, whether user or password is wrong, the user is disabled or has no password.
    /// `Overloaded`; what the store says.
    pub async fn check_password(&self, name: &str, password: &str) -> Result<Arc<User>> {
        let user = self.user(name)?;
        let hash = user.as_ref().filter(|user| !user.disabled).and_then(|user| user.password.as_ref());
        let right = self.passwords.verify(hash, password).await?;
        match user {
            Some(user) if right => Ok(user),
            known => {
                // A name that nobody has is not logged: it may be a password in the wrong field.
                tracing::warn!(user = known.as_ref().map(|user| &*user.name), "login refused");
                Err(Error::new(Code::InvalidLogin, "The user name or the password is wrong, or the user is disabled."))
            }
        }
    }

    /// Goes up with every change: what was found out at one generation holds until the next.
    pub(super) fn generation(&self) -> u64 {
        self.cache.generation()
    }

    fn row<R: Row>(&self, table: Table, name: &str) -> Result<Option<R>> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        self.repository.row(table, name.as_bytes())
    }

    /// Replaces the row at a place by what is made of it and the time.
    pub(super) async fn write<R: Row>(&self, place: Key, make: impl FnOnce(Option<R>, u64) -> Result<R>) -> Result<()> {
        let turn = self.turn.clone().lock_owned().await;
        let old = self.repository.row(place.table, &place.key)?;
        let new = make(old, self.repository.clock().now_ms())?;
        let cache = self.cache.clone();
        self.repository
            .commit(|set| {
                set.changes = vec![put(&new)];
                set.on_commit = Box::new(move |_| {
                    cache.clear();
                    // Kept until here, even if the caller has gone: the next change must find this one on disk.
                    drop(turn);
                });
            })
            .await
    }
}

pub(super) fn unknown(kind: &str, name: &str) -> Error {
    Error::new(Code::ObjectNotFound, format!("There is no {kind} `{name}`.")).with_source(name)
}
