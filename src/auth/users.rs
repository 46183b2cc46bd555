//! Administration of users: listing them, making one, changing one along with the password.

use stet_actors::error::{Error, Result};
use stet_actors::store::{Row, Table};

use super::directory::{Directory, unknown};
use super::name::Name;
use super::password::PasswordHash;
use super::rows::User;

impl Directory {
    /// All users, in the order of their names.
    ///
    /// # Errors
    /// What the store says.
    pub fn users(&self) -> Result<Vec<User>> {
        self.repository.rows(Table::Users)
    }

    /// Makes a user; without a password nobody can log in under the name.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`, also where folders of that name are another user's; as [`Directory::set_password`] for a
    /// password; what the store says.
    pub async fn make_user(&self, user: User, password: Option<&str>) -> Result<()> {
        let name = Name::for_user(&user.name)?;
        let taken = || Error::duplicated(format!("There is a user `{name}` already."), Some(name.as_ref()));
        if self.user(&name)?.is_some() {
            return Err(taken());
        }
        let hash = self.hash(password).await?;
        self.write(user.place(), |old: Option<User>, now_ms| {
            if old.is_some() {
                return Err(taken());
            }
            self.new_user(&name)?;
            let mut user = user;
            user.end_sessions_and_keys(now_ms);
            user.take_password(hash, now_ms);
            Ok(user)
        })
        .await?;
        tracing::info!(user = &*name, "user made");
        Ok(())
    }

    /// Changes what is named of a user, and the password if one is given: both or neither. A new password ends the user's
    /// sessions, disabling the sessions and keys.
    ///
    /// # Errors
    /// `ObjectNotFound`; what `change` says; as [`Directory::set_password`] for a password; what the store says.
    pub async fn edit_user(
        &self,
        name: &str,
        password: Option<&str>,
        change: impl FnOnce(&mut User) -> Result<()>,
    ) -> Result<()> {
        let place = self.user(name)?.ok_or_else(|| unknown("user", name))?.place();
        let hash = self.hash(password).await?;
        self.write(place, |old: Option<User>, now_ms| {
            let old = old.ok_or_else(|| unknown("user", name))?;
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

    async fn hash(&self, password: Option<&str>) -> Result<Option<PasswordHash>> {
        match password {
            Some(password) => self.passwords.hash(password).await.map(Some),
            None => Ok(None),
        }
    }
}

impl User {
    /// Sets the password, if there is one to set, and ends the sessions.
    fn take_password(&mut self, hash: Option<PasswordHash>, now_ms: u64) {
        if hash.is_some() {
            self.password = hash;
            self.password_changed_ms = now_ms;
            self.end_sessions(now_ms);
        }
    }
}
