//! Administration of users: listing, creating and changing them, along with their passwords.

use std::ops::ControlFlow;
use std::sync::Arc;

use stet_actors::runtime::store_failure;
use stet_base::limits::RowPager;
use stet_domain::error::{Code, Error, Result};
use stet_domain::store::{KeyRange, Row, RowCursor, Table, decode_value};

use super::change::DirectoryEditor;
use super::directory::{Directory, unknown_name_error};
use super::name::Name;
use super::password::PasswordHash;
use super::rows::User;

impl Directory {
    /// Returns all users, in the order of their names.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn users(&self) -> Result<Vec<User>> {
        self.repository.rows(Table::Users)
    }

    /// Passes all users to `see`, one after the other, until it breaks. Yields now and then,
    /// because the number of users is not limited.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) async fn each_user(&self, mut see: impl FnMut(User) -> ControlFlow<()>) -> Result<()> {
        let cursor = RowCursor::over(Table::Users, KeyRange::prefix(&[]));
        let mut pager = RowPager::new(self.repository.look(), cursor);
        while let Some((_, row)) = pager.next().await.map_err(|error| store_failure(&error))? {
            let user = decode_value(User::FORMAT, &row).map_err(|error| store_failure(&error.into()))?;
            if see(user).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl DirectoryEditor<'_> {
    /// Creates a user, or replaces all fields of one but the password. Disabling ends the user's
    /// sessions and keys for good.
    ///
    /// # Errors
    /// The errors of [`DirectoryEditor::change_or_make_user`].
    pub async fn put_user(&self, user: User) -> Result<()> {
        self.write(self.directory.place_of(&user.name)?, |old: Option<User>, now_ms| {
            let mut user = user;
            let made = old.is_none();
            let old = old.map_or_else(|| self.directory.new_user(&user.name), Ok)?;
            user.keep_from(old);
            if made || user.disabled {
                user.end_sessions_and_keys(now_ms);
            }
            Ok(user)
        })
        .await
    }

    /// Changes a user with `change`, or creates one; `change` is given whether the user is new. See
    /// [`DirectoryEditor::put_user`].
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName` for the name of a new user whose folders would be another's;
    /// errors of `change`; `PermissionDenied` for the last administrator; errors of the store.
    pub async fn change_or_make_user(
        &self,
        name: &str,
        change: impl FnOnce(&mut User, bool) -> Result<()>,
    ) -> Result<()> {
        self.write(self.directory.place_of(name)?, |old: Option<User>, now_ms| {
            let made = old.is_none();
            let old = old.map_or_else(|| self.directory.new_user(name), Ok)?;
            let mut user = old.clone();
            change(&mut user, made)?;
            user.keep_from(old);
            if made || user.disabled {
                user.end_sessions_and_keys(now_ms);
            }
            Ok(user)
        })
        .await
    }

    /// Sets a user's password, and ends the user's sessions.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidParameter` for a password that the user must not have, see
    /// [`PasswordRules`](super::PasswordRules); `Overloaded`; errors of the store.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<()> {
        let user = self.directory.user(name)?.ok_or_else(|| unknown_name_error("user", name))?;
        self.replace_password(&user, password, |_| Ok(())).await
    }

    /// Sets the password on behalf of the user, who has given the present one: `known` is the user
    /// as of that check. Computing the hash takes a while; changes of the user during that time
    /// stand.
    ///
    /// # Errors
    /// The errors of [`DirectoryEditor::set_password`]; `PermissionDenied` if the user has another
    /// password by now, or is disabled.
    pub async fn change_password(&self, known: &User, password: &str) -> Result<()> {
        let is_good = |user: &User| {
            if user.password == known.password && !user.disabled {
                return Ok(());
            }
            let message = "While `old` was checked, the user's password was changed or the user was disabled.";
            Err(Error::new(Code::PermissionDenied, message))
        };
        self.replace_password(known, password, is_good).await
    }

    /// Replaces the hash of a password that was just verified by one of the same password in its
    /// normal form. Nothing else of the user changes, and no session ends. On failure the old hash
    /// stays, which is valid as well.
    pub(super) async fn renew_hash(&self, user: Arc<User>, password: &str) -> Arc<User> {
        let renew = async || {
            // The present rules don't matter: the password is not a new one.
            let hash = self.directory.passwords.hash_again(password).await?;
            self.write(user.place(), |old: Option<User>, _| {
                let mut now = old.ok_or_else(|| unknown_name_error("user", &user.name))?;
                if now.password == user.password {
                    now.password = Some(hash);
                }
                Ok(now)
            })
            .await?;
            self.directory.user(&user.name)
        };
        match renew().await {
            Ok(renewed) => {
                tracing::info!(user = &*user.name, "password hash renewed");
                renewed.unwrap_or(user)
            }
            Err(error) => {
                tracing::warn!(user = &*user.name, %error, "a password hash could not be renewed");
                user
            }
        }
    }

    async fn replace_password(
        &self,
        user: &User,
        password: &str,
        check: impl FnOnce(&User) -> Result<()>,
    ) -> Result<()> {
        let hash = self.directory.hash(&user.name, password).await?;
        self.write(user.place(), |old: Option<User>, now_ms| {
            let mut user = old.ok_or_else(|| unknown_name_error("user", &user.name))?;
            check(&user)?;
            user.take_password(Some(hash), now_ms);
            Ok(user)
        })
        .await?;
        tracing::info!(user = &*user.name, "password set");
        Ok(())
    }

    /// Creates a user; without a password no login by password is possible.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`, also if folders of that name are another user's; those of
    /// [`DirectoryEditor::set_password`] for a password; errors of the store.
    pub async fn make_user(&self, user: User, password: Option<&str>) -> Result<()> {
        let name = Name::for_user(&user.name)?;
        let taken = || Error::duplicated(format!("A user `{name}` already exists."), Some(name.as_ref()));
        if self.directory.user(&name)?.is_some() {
            return Err(taken());
        }
        let hash = self.hash(&name, password).await?;
        self.write(user.place(), |old: Option<User>, now_ms| {
            if old.is_some() {
                return Err(taken());
            }
            self.directory.new_user(&name)?;
            let mut user = user;
            user.end_sessions_and_keys(now_ms);
            user.take_password(hash, now_ms);
            Ok(user)
        })
        .await?;
        tracing::info!(user = &*name, "user created");
        Ok(())
    }

    /// Changes a user with `change`, and the password if one is given, both or neither. A new
    /// password ends the user's sessions; disabling also ends the keys.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of `change`; those of [`DirectoryEditor::set_password`] for a
    /// password; errors of the store.
    pub async fn edit_user(
        &self,
        name: &str,
        password: Option<&str>,
        change: impl FnOnce(&mut User) -> Result<()>,
    ) -> Result<()> {
        let user = self.directory.user(name)?.ok_or_else(|| unknown_name_error("user", name))?;
        let hash = self.hash(&user.name, password).await?;
        self.write(user.place(), |old: Option<User>, now_ms| {
            let old = old.ok_or_else(|| unknown_name_error("user", name))?;
            let mut user = old.clone();
            change(&mut user)?;
            user.keep_from(old);
            user.take_password(hash, now_ms);
            if user.disabled {
                user.end_sessions_and_keys(now_ms);
            }
            Ok(user)
        })
        .await?;
        tracing::info!(user = name, password = password.is_some(), "user changed");
        Ok(())
    }

    async fn hash(&self, user: &Name, password: Option<&str>) -> Result<Option<PasswordHash>> {
        match password {
            Some(password) => self.directory.hash(user, password).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Directory {
    /// Hashes a new password of the user.
    async fn hash(&self, user: &Name, password: &str) -> Result<PasswordHash> {
        self.passwords.hash(self.passwords.rules.accept(user, password)?).await
    }
}

impl User {
    /// Sets the password, if one is given, and ends the sessions.
    fn take_password(&mut self, hash: Option<PasswordHash>, now_ms: u64) {
        if hash.is_some() {
            self.password = hash;
            self.password_changed_ms = now_ms;
            self.end_sessions(now_ms);
        }
    }
}
