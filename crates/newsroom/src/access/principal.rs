//! Users, keys and nobody, for whom callers act.

use std::sync::{Arc, LazyLock};

use stet_auth::{Grant, LiveSession, Privilege, Rights};
use stet_domain::error::Result;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::SharedText;

use super::Access;
use crate::Newsroom;

/// The rights of the operator.
static ALL_RIGHTS: LazyLock<Arc<Rights>> = LazyLock::new(|| {
    let grants = Privilege::ALL.map(|privilege| Grant { privilege, folder: None });
    let sum: Result<Rights> = Rights::sum(&grants, |_| Ok(None));
    Arc::new(sum.unwrap_or_default())
});

/// The name of a reader, which no user has.
static NO_NAME: LazyLock<SharedText> = LazyLock::new(|| "".into());

/// The user, key, reader or nobody for whom something is done.
#[derive(Clone)]
pub enum Principal {
    /// Nobody: only the public configuration may be read.
    Anonymous,
    /// A reader of public pages, with rights to read below public folders and no others.
    Reader(Arc<Rights>),
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
            Principal::Anonymous | Principal::Reader(_) => None,
            Principal::Session(session) => Some(session.user()),
            Principal::User(user) | Principal::Operator(user) => Some(user),
        }
    }

    /// Reports whether this is a person, and not a key for a machine.
    pub fn is_person(&self) -> bool {
        match self {
            Principal::Anonymous | Principal::Reader(_) => false,
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
            Principal::Reader(rights) => Ok(rights.clone()),
            Principal::Session(session) => Ok(session.rights()),
            Principal::User(user) => newsroom.directory.rights_of(user),
            Principal::Operator(_) => Ok(ALL_RIGHTS.clone()),
        }
    }

    /// Returns the access to objects with these rights.
    pub fn access<'a>(&'a self, newsroom: &'a Newsroom, rights: &'a Rights) -> Access<'a> {
        match self {
            Principal::Anonymous => Access::anonymous(newsroom),
            Principal::Reader(_) => Access::of_user(newsroom, &NO_NAME, rights, false),
            Principal::Session(_) | Principal::User(_) | Principal::Operator(_) => {
                let user = self.user().unwrap_or(&NO_NAME);
                Access::of_user(newsroom, user, rights, self.is_person())
            }
        }
    }

    /// Returns a reader who may read what is in these folders of the main database, at any depth,
    /// or is named itself. A missing folder allows nothing.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reader(newsroom: &Newsroom, folders: &[String]) -> Result<Principal> {
        let find = |path: &str| newsroom.repository.loid_of(&ObjectSource::Path(path.to_owned()), DatabaseId::main());
        let grant = |folder: &String| Grant { privilege: Privilege::Read, folder: Some(folder.clone()) };
        let grants: Vec<Grant> = folders.iter().map(grant).collect();
        Ok(Principal::Reader(Arc::new(Rights::sum(&grants, find)?)))
    }
}

impl From<Option<Arc<LiveSession>>> for Principal {
    fn from(session: Option<Arc<LiveSession>>) -> Principal {
        session.map_or(Principal::Anonymous, Principal::Session)
    }
}
