//! The caches of users and groups. Their rows are written by the server, so a cache knows when it
//! is outdated, and reads them again.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::cache::{CacheOrigin, RefreshExtent};
use stet_auth::{Directory, GroupView, User};
use stet_base::json::ReadyJson;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Error, Result};
use stet_domain::id::DatabaseId;

use super::EntryList;
use super::origin::RefreshFailure;

/// A user, with the details that every user may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CachedUser {
    /// The name to log in with.
    pub name: String,
    /// Full name.
    pub full_name: String,
    /// Job of the user.
    pub description: String,
    /// Whether the user is disabled.
    pub disabled: bool,
    /// Names of the user's groups.
    pub groups: Vec<String>,
    /// Team of the user.
    pub team: Option<String>,
}

/// The cached users or groups.
pub struct People<I> {
    items: ReadyJson<Vec<I>>,
    /// The items without references to folders.
    outline: ReadyJson<Vec<I>>,
    /// The result of [`Directory::changes`] before the last reading; `None` before the first one.
    changes: Option<u64>,
}

impl<I: Serialize> People<I> {
    /// Returns the value before the first reading.
    pub fn none() -> People<I> {
        // An empty list can always be serialised.
        let items: ReadyJson<Vec<I>> = ReadyJson::of(&Vec::new()).expect("it can be serialised");
        People { outline: items.clone(), items, changes: None }
    }
}

impl<I> EntryList<I> for People<I> {
    fn items(&self, all: bool) -> &ReadyJson<Vec<I>> {
        if all { &self.items } else { &self.outline }
    }
}

/// Defines an origin whose items `read` returns.
macro_rules! origin {
    ($(#[$about:meta])* $origin:ident, $name:literal, $item:ty, $read:path, $outline:path) => {
        $(#[$about])*
        pub struct $origin {
            directory: Arc<Directory>,
            database: DatabaseId,
        }

        impl $origin {
            /// Creates the origin for a database. All databases have the same users and groups:
            /// those of the server.
            pub fn new(directory: Arc<Directory>, database: DatabaseId) -> $origin {
                $origin { directory, database }
            }
        }

        impl CacheOrigin for $origin {
            type Value = People<$item>;
            type Fault = RefreshFailure;

            fn name(&self) -> &'static str {
                $name
            }

            fn database(&self) -> u16 {
                self.database.0
            }

            fn read(&self, _: Arc<Self::Value>, _: RefreshExtent, _: CallerIdentity) -> BoxFuture<'static, Result<Arc<Self::Value>, RefreshFailure>> {
                let directory = self.directory.clone();
                let work = move || -> Result<Self::Value> {
                    let changes = Some(directory.changes());
                    let people: Vec<$item> = $read(&directory)?;
                    let items = ReadyJson::of(&people)?;
                    Ok(People { outline: $outline(people, &items)?, items, changes })
                };
                Box::pin(async move {
                    // There may be many users.
                    match tokio::task::spawn_blocking(work).await {
                        Ok(read) => read.map(Arc::new).map_err(RefreshFailure::Failed),
                        Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
                        Err(_) => Err(RefreshFailure::Failed(Error::internal())),
                    }
                })
            }

            fn failed(&self) -> RefreshFailure {
                RefreshFailure::Failed(Error::internal())
            }

            fn is_current(&self, value: &Self::Value) -> bool {
                value.changes == Some(self.directory.changes())
            }
        }
    };
}

origin! {
    /// All users.
    UsersOrigin, "users", CachedUser, users, users_outline
}

origin! {
    /// All groups.
    GroupsOrigin, "groups", GroupView, Directory::group_views, groups_outline
}

/// Returns the users unchanged: they contain no references to folders.
fn users_outline(_: Vec<CachedUser>, items: &ReadyJson<Vec<CachedUser>>) -> Result<ReadyJson<Vec<CachedUser>>> {
    Ok(items.clone())
}

/// Returns the groups without grants below a folder, whose name only its readers may see.
fn groups_outline(mut groups: Vec<GroupView>, _: &ReadyJson<Vec<GroupView>>) -> Result<ReadyJson<Vec<GroupView>>> {
    groups.iter_mut().for_each(|group| group.privileges.retain(|grant| grant.folder.is_none()));
    ReadyJson::of(&groups)
}

fn users(directory: &Directory) -> Result<Vec<CachedUser>> {
    let shown = |user: User| CachedUser {
        name: user.name.to_string(),
        full_name: user.full_name,
        description: user.description,
        disabled: user.disabled,
        groups: user.groups.iter().map(ToString::to_string).collect(),
        team: user.team,
    };
    Ok(directory.users()?.into_iter().map(shown).collect())
}
