//! Keys: see the head of the module above.

use std::sync::Arc;

use stet_actors::command::Who;
use stet_actors::error::{Code, Error, Result};

use super::super::name::Name;
use super::super::rows::{Grant, KeyPart, NO_END, Session};
use super::super::token::{Token, reference};
use super::{LiveSession, NewSession, Sessions};

/// What a key is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Name, which no other key has.
    pub name: String,
    /// Name of the user under whom it acts.
    pub user: String,
    /// What it may do; one grant at least.
    pub grants: Vec<Grant>,
    /// When it ends, epoch seconds; `None` for only when it is revoked.
    pub expires_s: Option<u64>,
}

impl Sessions {
    /// Makes a key at the wish of `by`. Its token can't be had again.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`; `ObjectNotFound` for an unknown user; `InvalidParameter` for a disabled user, a list
    /// without grants or an end that has passed; as for a group's grants; what the store says.
    pub async fn make_key(&self, by: Who, new: NewKey) -> Result<NewSession> {
        let name = Name::checked(&new.name)?;
        let now_ms = self.repository.clock().now_ms();
        let expires_ms = match new.expires_s {
            None => NO_END,
            Some(end) if end.saturating_mul(1000) <= now_ms => {
                return Err(Error::parameter("expires", end, "in the future, in epoch seconds"));
            }
            // So far off that it is as good as none.
            Some(end) => end.saturating_mul(1000),
        };
        if new.grants.is_empty() {
            return Err(Error::parameter("privileges", "[]", "a list with one entry at least"));
        }
        let mut grants: Vec<Grant> = Vec::new();
        for grant in self.directory.anchored(new.grants, &[])? {
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
        let user = self.directory.user(&new.user)?.ok_or_else(|| {
            Error::new(Code::ObjectNotFound, format!("There is no user `{}`.", new.user)).with_source(&new.user)
        })?;
        if user.disabled {
            return Err(Error::parameter("user", &new.user, "a user who is not disabled"));
        }
        let _naming = self.naming.lock().await;
        if self.key_named(&name).await?.is_some() {
            let message = format!("There is a key `{name}` already: revoke it first, or take another name.");
            return Err(Error::duplicated(message, Some(&name)));
        }
        let token = Token::generate_key()?;
        let session = Session {
            token_hash: token.hash(),
            id: reference()?.into(),
            user: user.name.text().clone(),
            connection_id: "".into(),
            application_id: name.text().clone(),
            created_ms: now_ms,
            expires_ms,
            last_seen_ms: now_ms,
            // As it was when the user was found to stand.
            generation: user.key_generation,
            address: String::new(),
            key: Some(KeyPart { name: name.clone(), grants }),
        };
        let made = self
            .insert(
                token,
                session,
                &Arc::default(),
                Vec::new(),
                Some(by.deed("key.create", vec![name.to_string()], now_ms)),
            )
            .await?;
        tracing::info!(user = &*user.name, key = &*name, session = &**made.session.id(), "key made");
        Ok(made)
    }

    /// The keys in force, the oldest first.
    ///
    /// # Errors
    /// What the store says.
    pub async fn keys(&self) -> Result<Vec<Arc<LiveSession>>> {
        self.standing(|session| session.key.is_some()).await
    }

    /// Ends a key at the wish of `by`; gives what it was.
    ///
    /// # Errors
    /// `ObjectNotFound`; what the store says, see [`Sessions::end`].
    pub async fn revoke(&self, by: Who, name: &str) -> Result<Arc<LiveSession>> {
        let unknown = || Error::new(Code::ObjectNotFound, format!("There is no key `{name}`.")).with_source(name);
        let found = self.key_named(name).await?.ok_or_else(unknown)?;
        let live = self.load(&found.session.token_hash)?.ok_or_else(unknown)?;
        let own = found.session.key.as_ref().map_or(name, |key| &*key.name);
        let deed = by.deed("key.revoke", vec![own.to_owned()], self.repository.clock().now_ms());
        if !self.end_live(&live, Some(deed)).await? {
            return Err(unknown());
        }
        tracing::info!(user = &**live.user(), key = name, session = &**live.id(), "key revoked");
        Ok(live)
    }

    async fn key_named(&self, name: &str) -> Result<Option<Arc<LiveSession>>> {
        let wanted = Name::of(name);
        // One from before names had one form is found by its own text, and by any that reads the same.
        let named = |session: &Session| session.key.as_ref().is_some_and(|key| Name::of(&key.name) == wanted);
        let mut found = self.standing(named).await?;
        let own = found.iter().position(|live| live.session.key.as_ref().is_some_and(|key| *key.name == *name));
        Ok(own.map(|own| found.swap_remove(own)).or_else(|| found.pop()))
    }
}
