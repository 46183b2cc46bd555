//! Users and groups.
//!
//! # Why nothing stale stays in memory
//!
//! Every change is a commit that clears the cache and raises its generation before the reply is
//! sent. A reader that misses the cache notes the generation before it reads the row. It caches the
//! row only if the generation is still the same, so nothing that was read before a commit is cached
//! after it. Changes are rare, so clearing everything is cheaper than tracking dependencies.
//!
//! # Names
//!
//! A text names the user or group with the same [`Name`]; new rows are stored under that. A row
//! from before names were normalised keeps its own name. It is found by that text, and by any text
//! with the same normal form if no other row has it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use parking_lot::RwLock;
use stet_actors::repository::Repository;
use stet_actors::runtime::store_failure;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::{MAX_NAME_BYTES, PathLimits, SharedText};
use stet_domain::store::{KeyRange, ReadLevel, Row, RowPlace, Table};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::name::{Name, OlderNames};
use super::password::{PasswordVerdict, Passwords};
use super::rights::Rights;
use super::rows::{Grant, User, UserGroup};

/// The users and groups of a repository.
pub struct Directory {
    pub(super) repository: Repository,
    pub(super) passwords: Passwords,
    /// Whether users may log in by single sign-on, without a password here.
    pub(super) by_sign_on: bool,
    cache: Arc<DirectoryCache>,
    /// One change at a time, from reading the row until its commit.
    turn: Arc<Mutex<()>>,
    /// Names of users that differ from what a new user would get. No more of them can arise, so
    /// they are collected once.
    older_users: OnceLock<OlderNames>,
    /// Names of groups that differ from what a new group would get, also collected once.
    older_groups: OnceLock<OlderNames>,
}

#[derive(Default)]
struct DirectoryCache {
    /// Raised by every change, while `rows` is locked.
    generation: AtomicU64,
    rows: RwLock<DirectoryRows>,
}

/// The cached rows: only users and groups that exist, so that made-up names take no room.
#[derive(Default)]
struct DirectoryRows {
    users: HashMap<SharedText, Arc<User>>,
    rights: HashMap<SharedText, Arc<Rights>>,
}

impl DirectoryCache {
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Caches what was read at the generation `read_at`, unless something has changed since.
    fn keep(&self, read_at: u64, add: impl FnOnce(&mut DirectoryRows)) {
        let mut rows = self.rows.write();
        if self.generation() == read_at {
            add(&mut rows);
        }
    }

    fn clear(&self) {
        let mut rows = self.rows.write();
        self.generation.fetch_add(1, Ordering::Release);
        *rows = DirectoryRows::default();
    }
}

impl Directory {
    /// Creates the directory of a repository. `by_sign_on` states whether users may also log in by
    /// single sign-on.
    pub fn new(repository: Repository, passwords: Passwords, by_sign_on: bool) -> Directory {
        let (older_users, older_groups) = (OnceLock::new(), OnceLock::new());
        Directory {
            repository,
            passwords,
            by_sign_on,
            cache: Arc::default(),
            turn: Arc::default(),
            older_users,
            older_groups,
        }
    }

    /// Returns a number that stays the same as long as no user or group changes. Names that were
    /// read since its last change are still right.
    pub fn changes(&self) -> u64 {
        self.cache.generation()
    }

    /// Waits until the cached users and groups agree with the rows.
    pub async fn agrees(&self) {
        self.repository.views_agree().await;
    }

    /// Returns the limits for the paths of homes and work folders.
    pub fn path_limits(&self) -> PathLimits {
        self.repository.path_limits()
    }

    /// Returns the user of that name.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn user(&self, name: &str) -> Result<Option<Arc<User>>> {
        if let Some(user) = self.cache.rows.read().users.get(name) {
            return Ok(Some(user.clone()));
        }
        let read_at = self.cache.generation();
        let Some(user) = self.named::<User>(Table::Users, name)?.map(Arc::new) else { return Ok(None) };
        self.cache.keep(read_at, |rows| drop(rows.users.insert(user.name.text().clone(), user.clone())));
        Ok(Some(user))
    }

    /// Returns the group of that name.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn group(&self, name: &str) -> Result<Option<UserGroup>> {
        self.named(Table::Groups, name)
    }

    /// Returns a user's full name; the name itself if no full name is known.
    pub fn full_name(&self, name: &str) -> String {
        match self.user(name) {
            Ok(Some(user)) if !user.full_name.is_empty() => user.full_name.clone(),
            // A failing store has logged it, and a full name is no reason to fail as well.
            _ => name.to_owned(),
        }
    }

    /// Returns a user's rights: the sum of the groups' grants. An unknown or disabled user has
    /// none.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn rights_of(&self, name: &str) -> Result<Arc<Rights>> {
        if let Some(rights) = self.cache.rows.read().rights.get(name) {
            return Ok(rights.clone());
        }
        let read_at = self.cache.generation();
        let Some(user) = self.user(name)? else { return Ok(Arc::default()) };
        let mut grants = Vec::new();
        for group in user.groups.iter().filter(|_| !user.disabled) {
            grants.extend(self.group(group)?.map(|group| group.privileges).unwrap_or_default());
        }
        let rights = Arc::new(self.sum(&grants)?);
        self.cache.keep(read_at, |rows| drop(rows.rights.insert(user.name.text().clone(), rights.clone())));
        Ok(rights)
    }

    /// Returns the sum of grants.
    pub(super) fn sum(&self, grants: &[Grant]) -> Result<Rights> {
        // Grants are stored with loids; any other text names no folder.
        Rights::sum(grants, |folder| Ok(folder.parse::<Loid>().ok()))
    }

    /// Returns the user of that name if the password is right.
    ///
    /// # Errors
    /// `InvalidLogin`: the same error, after the same work, whether the user or password is wrong,
    /// or the user is disabled or has no password. `Overloaded`; errors of the store.
    pub async fn check_password(&self, name: &str, password: &str) -> Result<Arc<User>> {
        let user = self.user(name)?;
        let hash = user.as_ref().filter(|user| !user.disabled).and_then(|user| user.password.as_ref());
        let verdict = self.passwords.verify(hash, password).await?;
        match (user, verdict) {
            (Some(user), PasswordVerdict::Right) => Ok(user),
            (Some(user), PasswordVerdict::RightAsTyped) => {
                Ok(self.by(CallerIdentity::system()).renew_hash(user, password).await)
            }
            (known, _) => {
                // An unknown name is not logged: it may be a password in the wrong field. The log
                // line has the client nevertheless.
                tracing::warn!(user = known.as_ref().map(|user| &*user.name), "login refused");
                Err(Error::new(Code::InvalidLogin, "The user name or the password is wrong, or the user is disabled."))
            }
        }
    }

    /// Returns the number that every change raises. Results of one generation hold until the next.
    pub(super) fn generation(&self) -> u64 {
        self.cache.generation()
    }

    /// Returns the key of the row of that user, whether or not it exists yet.
    pub(super) fn place_of(&self, name: &str) -> Result<RowPlace> {
        Ok(self.user(name)?.map_or_else(|| User::new(name).place(), |user| user.place()))
    }

    /// Returns a new user with nothing but a name.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName` if an older user has the folders of that name; errors of the
    /// store.
    pub(super) fn new_user(&self, name: &str) -> Result<User> {
        let name = Name::for_user(name)?;
        if let Some(older) = self.older(Table::Users)?.of_same_folder(&name) {
            let message =
                format!("A user `{name}` would have the same folders as the user `{older}`. Choose another name.");
            return Err(Error::duplicated(message, Some(older)));
        }
        Ok(User::new(&name))
    }

    /// Returns the row that a text names; see "Names" in the module's head.
    fn named<R: Row>(&self, table: Table, text: &str) -> Result<Option<R>> {
        let name = Name::of(text);
        if *name != *text
            && let Some(row) = self.row(table, text)?
        {
            return Ok(Some(row));
        }
        if let Some(row) = self.row(table, &name)? {
            return Ok(Some(row));
        }
        self.older(table)?.row(&name).map_or(Ok(None), |older| self.row(table, older))
    }

    /// Returns the names of users or groups that differ from what new ones would get.
    fn older(&self, table: Table) -> Result<&OlderNames> {
        let kept = if table == Table::Users { &self.older_users } else { &self.older_groups };
        if let Some(older) = kept.get() {
            return Ok(older);
        }
        let found = self.repository.look().scan(ReadLevel::Committed, table, &KeyRange::prefix(&[]), usize::MAX, false);
        let rows = found.map_err(|error| store_failure(&error))?;
        Ok(kept.get_or_init(|| OlderNames::among(rows.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok()))))
    }

    fn row<R: Row>(&self, table: Table, name: &str) -> Result<Option<R>> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        self.repository.row(table, name.as_bytes())
    }

    /// Waits for the exclusive right to change users and groups. The change is based on what is
    /// read after that.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// Returns the callback that clears the cache when a change is on disk.
    pub(super) fn on_commit(&self) -> Box<dyn FnOnce() + Send> {
        let cache = self.cache.clone();
        Box::new(move || cache.clear())
    }
}

/// Returns the error for the name of a user or group that does not exist.
pub(super) fn unknown_name_error(kind: &str, name: &str) -> Error {
    Error::new(Code::ObjectNotFound, format!("There is no {kind} `{name}`.")).with_source(name)
}
