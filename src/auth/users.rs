//! Users as they are administered: which there are, making one, changing one along with the password.

use stet_actors::error::{Code, Error, Result};
use stet_actors::object::file_name;
use stet_actors::store::{Range, Row, Table, View, decode_value};

use super::directory::{Directory, unknown};
use super::password::PasswordHash;
use super::rows::User;

/// Rows that are read at a time.
const PAGE: usize = 1000;

impl Directory {
    /// All users, in the order of their names.
    ///
    /// # Errors
    /// What the store says.
    pub fn users(&self) -> Result<Vec<User>> {
        let failed = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "users can't be read");
            Error::internal()
        };
        let mut users = Vec::new();
        let mut range = Range::prefix(&[]);
        loop {
            let look = self.repository.look();
            let page = look.scan(View::Committed, Table::Users, &range, PAGE, false).map_err(|error| failed(&error))?;
            for (_, row) in &page {
                users.push(decode_value::<User>(User::FORMAT, row).map_err(|error| failed(&error))?);
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => range = range.after(key),
                _ => return Ok(users),
            }
        }
    }

    /// Makes a user; without a password nobody can log in under the name.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`; as [`Directory::set_password`] for a password; what the store says.
    pub async fn make_user(&self, user: User, password: Option<&str>) -> Result<()> {
        file_name(&user.name)?;
        let hash = self.hash(password).await?;
        let name = user.name.clone();
        self.write(user.place(), |old: Option<User>, now_ms| {
            if old.is_some() {
                let message = format!("There is a user `{}` already.", user.name);
                return Err(Error::new(Code::DuplicatedName, message).with_source(&user.name));
            }
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
        if self.user(name)?.is_none() {
            return Err(unknown("user", name));
        }
        let hash = self.hash(password).await?;
        self.write(User::key(name), |old: Option<User>, now_ms| {
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
