//! Users, keys and nobody, for whom callers act.

use std::sync::{Arc, LazyLock};

use stet_auth::{Grant, LiveSession, Privilege, Rights};
use stet_domain::error::Result;
use stet_domain::object::SharedText;

use super::Access;
use crate::Newsroom;

/// The rights of the operator.
static ALL_RIGHTS: LazyLock<Arc<Rights>> = LazyLock::new(|| {
    let grants = Privilege::ALL.map(|privilege| Grant { privilege, folder: None });
    let sum: Result<Rights> = Rights::sum(&grants, |_| Ok(None));
    Arc::new(sum.unwrap_or_default())
});

/// The user, key or nobody for whom something is done.
#[derive(Clone)]
pub enum Principal {
    /// Nobody: only the public configuration may be read.
    Anonymous,
    /// The holder of a session or a key.
    Session(Arc<LiveSession>),
    /// A user for whom the server works without a session. Their rights are those of the moment.
    User(SharedText),
    /// The operator of the server, who may do everything, in the name of a user.
    Operator(SharedText),
}

impl Principal {
    /// Returns the user's name; `None` for nobody.
    pub fn user(&self) -> Option<&SharedText> {
        match self {
            Principal::Anonymous => None,
            Principal::Session(session) => Some(session.user()),
            Principal::User(user) | Principal::Operator(user) => Some(user),
        }
    }

    /// Reports whether this is a person, and not a key for a machine.
    pub fn is_person(&self) -> bool {
        match self {
            Principal::Anonymous => false,
            Principal::Session(session) => session.grants().is_none(),
            Principal::User(_) | Principal::Operator(_) => true,
        }
    }

    /// Returns the present rights.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn rights(&self, newsroom: &Newsroom) -> Result<Arc<Rights>> {
        match self {
            Principal::Anonymous => Ok(Arc::default()),
            Principal::Session(session) => Ok(session.rights()),
            Principal::User(user) => newsroom.directory.rights_of(user),
            Principal::Operator(_) => Ok(ALL_RIGHTS.clone()),
        }
    }

    /// Returns the access to objects with these rights.
    pub fn access<'a>(&'a self, newsroom: &'a Newsroom, rights: &'a Rights) -> Access<'a> {
        match self.user() {
            Some(user) => Access::of_user(newsroom, user, rights, self.is_person()),
            None => Access::anonymous(newsroom),
        }
    }
}

impl From<Option<Arc<LiveSession>>> for Principal {
    fn from(session: Option<Arc<LiveSession>>) -> Principal {
        session.map_or(Principal::Anonymous, Principal::Session)
    }
}
