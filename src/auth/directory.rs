//! Users and groups.
//!
//! # Why nothing stale stays in memory
//!
//! Every change is a commit that, before it is answered, empties the cache and raises its
//! generation. A reader that misses notes the generation before it reads the row, and keeps what it
//! read only if the generation is still the same: what was read before a commit can't be kept after
//! it. Changes are rare, so emptying all of it is cheaper than tracking what depends on what.
//!
//! # Names
//!
//! Whatever text names a user or group, it means the one whose [`Name`] it is: rows are made under
//! that. A row from before names had one form keeps its own. It is found by the text that it has,
//! and by any that reads the same if no other row does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use parking_lot::RwLock;
use stet_actors::command::Who;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::object::{MAX_NAME_BYTES, PathLimits, Text};
use stet_actors::repository::Repository;
use stet_actors::runtime::store_failure;
use stet_actors::store::{Key, Range, Row, Table, View};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::name::{Name, Older};
use super::password::{Passwords, Verdict};
use super::rights::Rights;
use super::rows::{Grant, Group, User};

/// See the module's head.
pub struct Directory {
    pub(super) repository: Repository,
    pub(super) passwords: Passwords,
    /// Whether users may be let in by single sign-on, without a password of theirs here.
    pub(super) by_sign_on: bool,
    cache: Arc<Cache>,
    /// One change at a time, from reading the row to its being on disk.
    turn: Arc<Mutex<()>>,
    /// Names of users that are not as they would be made now. There will be no more of them, so
    /// they are looked for once.
    older_users: OnceLock<Older>,
    /// The same of groups.
    older_groups: OnceLock<Older>,
}

#[derive(Default)]
struct Cache {
    /// Raised, with `rows` locked, by every change.
    generation: AtomicU64,
    rows: RwLock<Rows>,
}

/// Only users and groups that exist: made-up names take no room.
#[derive(Default)]
struct Rows {
    users: HashMap<Text, Arc<User>>,
    rights: HashMap<Text, Arc<Rights>>,
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
    /// The users and groups in a repository; `by_sign_on`: whether users may be let in by single
    /// sign-on, too.
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

    /// Stands still as long as no user and no group changes: names that were read since it last did
    /// are still right.
    pub fn changes(&self) -> u64 {
        self.cache.generation()
    }

    /// Resolves when what is kept of users and groups is as the rows say by now.
    pub async fn agrees(&self) {
        self.repository.views_agree().await;
    }

    /// How long and deep the paths of homes and work folders may be.
    pub fn path_limits(&self) -> PathLimits {
        self.repository.path_limits()
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
        let Some(user) = self.named::<User>(Table::Users, name)?.map(Arc::new) else { return Ok(None) };
        self.cache.keep(read_at, |rows| drop(rows.users.insert(user.name.text().clone(), user.clone())));
        Ok(Some(user))
    }

    /// The group of that name.
    ///
    /// # Errors
    /// What the store says.
    pub fn group(&self, name: &str) -> Result<Option<Group>> {
        self.named(Table::Groups, name)
    }

    /// How people write a user's name; the name itself where nothing better is known.
    pub fn full_name(&self, name: &str) -> String {
        match self.user(name) {
            Ok(Some(user)) if !user.full_name.is_empty() => user.full_name.clone(),
            // A store that fails has logged it, and a name is no reason to fail along with it.
            _ => name.to_owned(),
        }
    }

    /// What a user may do: the sum of the groups' grants. Nothing for an unknown or disabled user.
    ///
    /// # Errors
    /// What the store says.
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

    /// What grants add up to.
    pub(super) fn sum(&self, grants: &[Grant]) -> Result<Rights> {
        // Groups are stored with loids; a text that is none names no folder.
        Rights::sum(grants, |folder| Ok(folder.parse::<Loid>().ok()))
    }

    /// The user of that name, if that is the password.
    ///
    /// # Errors
    /// `InvalidLogin`: the same, after the same work, whether user or password is wrong, the user
    /// is disabled or has no password. `Overloaded`; what the store says.
    pub async fn check_password(&self, name: &str, password: &str) -> Result<Arc<User>> {
        let user = self.user(name)?;
        let hash = user.as_ref().filter(|user| !user.disabled).and_then(|user| user.password.as_ref());
        let verdict = self.passwords.verify(hash, password).await?;
        match (user, verdict) {
            (Some(user), Verdict::Right) => Ok(user),
            (Some(user), Verdict::RightAsTyped) => Ok(self.by(Who::system()).renew_hash(user, password).await),
            (known, _) => {
                // A name that nobody has is not logged: it may be a password in the wrong field.
                // The line has the client all the same.
                tracing::warn!(user = known.as_ref().map(|user| &*user.name), "login refused");
                Err(Error::new(Code::InvalidLogin, "The user name or the password is wrong, or the user is disabled."))
            }
        }
    }

    /// Goes up with every change: what was found out at one generation holds until the next.
    pub(super) fn generation(&self) -> u64 {
        self.cache.generation()
    }

    /// The place of the user of that name, or where one would be made.
    pub(super) fn place_of(&self, name: &str) -> Result<Key> {
        Ok(self.user(name)?.map_or_else(|| User::new(name).place(), |user| user.place()))
    }

    /// A new user, of whom there is nothing but the name.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName` where folders of that name are an older user's; what the
    /// store says.
    pub(super) fn new_user(&self, name: &str) -> Result<User> {
        let name = Name::for_user(name)?;
        if let Some(older) = self.older(Table::Users)?.of_same_folder(&name) {
            let message = format!("The folders of a user `{name}` are those of the user `{older}`.");
            return Err(Error::duplicated(message, Some(older)));
        }
        Ok(User::new(&name))
    }

    /// The row that a text names; see the module's head.
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

    /// The names of users, or of groups, that are not as they would be made now.
    fn older(&self, table: Table) -> Result<&Older> {
        let kept = if table == Table::Users { &self.older_users } else { &self.older_groups };
        if let Some(older) = kept.get() {
            return Ok(older);
        }
        let found = self.repository.look().scan(View::Committed, table, &Range::prefix(&[]), usize::MAX, false);
        let rows = found.map_err(|error| store_failure(&error))?;
        Ok(kept.get_or_init(|| Older::among(rows.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok()))))
    }

    fn row<R: Row>(&self, table: Table, name: &str) -> Result<Option<R>> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        self.repository.row(table, name.as_bytes())
    }

    /// Waits until nobody else is changing anything. The change is based on what is read then.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// What is done when a change is on disk.
    pub(super) fn on_commit(&self) -> Box<dyn FnOnce() + Send> {
        let cache = self.cache.clone();
        Box::new(move || cache.clear())
    }
}

/// The error for the name of a user or group that does not exist.
pub(super) fn unknown(kind: &str, name: &str) -> Error {
    Error::new(Code::ObjectNotFound, format!("There is no {kind} `{name}`.")).with_source(name)
}
