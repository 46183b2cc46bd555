//! Creation, listing and revocation of keys; see the head of the module above.

use std::sync::Arc;

use futures_util::future::join_all;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};

use super::super::name::Name;
use super::super::rows::{Grant, KeyPart, NO_END, Session};
use super::super::token::{Token, reference};
use super::{LiveSession, NewSession, Sessions};

/// The properties of a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Name, unique among keys.
    pub name: String,
    /// Name of the user for whom the key acts.
    pub user: String,
    /// Grants of the key, at least one.
    pub grants: Vec<Grant>,
    /// Time of the end, epoch seconds; `None` if it ends only when it is revoked.
    pub expires_s: Option<u64>,
}

impl Sessions {
    /// Creates a key on behalf of `by`. Its token can't be read again.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`; `ObjectNotFound` for an unknown user; `InvalidParameter`
    /// for a disabled user, a list without grants or an end that has passed; those of a group's
    /// grants; errors of the store.
    pub async fn make_key(&self, by: CallerIdentity, new: NewKey) -> Result<NewSession> {
        let name = Name::checked(&new.name)?;
        let now_ms = self.repository.clock().now_ms();
        let expires_ms = match new.expires_s {
            None => NO_END,
            Some(end) if end.saturating_mul(1000) <= now_ms => {
                return Err(Error::parameter("expires", end, "in the future, in epoch seconds"));
            }
            // An end beyond all numbers is as good as none.
            Some(end) => end.saturating_mul(1000),
        };
        if new.grants.is_empty() {
            return Err(Error::parameter("privileges", "[]", "a list with at least one entry"));
        }
        let mut grants: Vec<Grant> = Vec::new();
        for grant in self.directory.anchored(new.grants, &[]).await? {
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
        let naming = self.naming.clone().lock_owned().await;
        if !self.keys_named(&name).await?.is_empty() {
            let message = format!("A key `{name}` already exists. Revoke it first, or choose another name.");
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
            // The generation at the lookup of the user.
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
                naming,
            )
            .await?;
        tracing::info!(user = &*user.name, key = &*name, session = &**made.session.id(), "key created");
        Ok(made)
    }

    /// Returns the keys in force, the oldest first. They include keys that are revoked in memory
    /// alone, because the disk has not taken it.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn keys(&self) -> Result<Vec<Arc<LiveSession>>> {
        self.lasting(|session| session.key.is_some()).await
    }

    /// Revokes a key on behalf of `by`, and returns it. If several have the name, as older versions
    /// permitted, all are revoked: a caller has no way to distinguish them.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store, see [`Sessions::end`].
    pub async fn revoke(&self, by: CallerIdentity, name: &str) -> Result<Arc<LiveSession>> {
        let unknown = || Error::new(Code::ObjectNotFound, format!("There is no key `{name}`.")).with_source(name);
        let mut found = self.keys_named(name).await?;
        if found.is_empty() {
            // A key may be in the middle of its commit although its caller has left.
            drop(self.naming.lock().await);
            found = self.keys_named(name).await?;
        }
        let end = async |found: &LiveSession| {
            // Requests use the keys in the map.
            let Some(live) = self.load(&found.session.token_hash)? else { return Ok(None) };
            let own = live.session.key.as_ref().map_or(name, |key| &*key.name);
            let deed = by.deed("key.revoke", vec![own.to_owned()], self.repository.clock().now_ms());
            Ok::<_, Error>(self.end_live(&live, Some(deed)).await?.then_some(live))
        };
        let mut revoked = None;
        // All end in memory at once, whatever becomes of the others.
        for outcome in join_all(found.iter().map(|found| end(found))).await {
            revoked = revoked.or(outcome?);
        }
        let live = revoked.ok_or_else(unknown)?;
        tracing::info!(user = &**live.user(), key = name, session = &**live.id(), "key revoked");
        Ok(live)
    }

    async fn keys_named(&self, name: &str) -> Result<Vec<Arc<LiveSession>>> {
        let wanted = Name::of(name);
        // A key from before names were normalised is found by its own text, and by any text with
        // the same normal form.
        let named = |session: &Session| session.key.as_ref().is_some_and(|key| Name::of(&key.name) == wanted);
        let mut found = self.lasting(named).await?;
        let text = |live: &LiveSession| live.session.key.as_ref().map(|key| key.name.clone());
        let own = found.iter().find(|live| text(live).is_some_and(|text| *text == *name)).or(found.last());
        if let Some(own) = own.map(|live| text(live)) {
            found.retain(|live| text(live) == own);
        }
        Ok(found)
    }
}
