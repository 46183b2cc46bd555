//! The operations as data, and the one place where they are carried out.

mod views;

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stet_actors::repository::Reader;
use stet_auth::{Directory, DirectoryEditor, GroupChange, GroupView, LoginLimiter, Name, NewKey, Sessions, User};
use stet_base::limits::offload;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::check_path;
use stet_domain::receipt::ReceiptStep;

pub use self::views::{GroupUpdate, KeyRequest, KeyView, Secret, SessionView, UserChange, UserView};
use crate::Newsroom;
use crate::audit::{AuditPage, TrailRequest};

/// One request; a line of JSON on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AdminRequest {
    /// Create a user.
    UserAdd(UserChange),
    /// Set a password, which ends the user's sessions.
    UserPassword {
        /// The user.
        name: String,
        /// The new password.
        password: Secret,
    },
    /// Disable a user, or enable them again.
    UserDisabled {
        /// The user.
        name: String,
        /// Whether the user is disabled.
        disabled: bool,
        /// Whether the last user who manages users and groups may be disabled.
        #[serde(default)]
        force: bool,
    },
    /// Forget a user's failed logins.
    UserUnlock {
        /// The user.
        name: String,
    },
    /// All users.
    UserList,
    /// Create a group.
    GroupAdd(GroupUpdate),
    /// Change a group.
    GroupChange(GroupUpdate),
    /// Remove a group.
    GroupRemove {
        /// The name of the group.
        name: String,
        /// Whether the last users who manage users and groups may lose that right.
        #[serde(default)]
        force: bool,
    },
    /// All groups.
    GroupList,
    /// Create a key.
    KeyAdd(KeyRequest),
    /// Revoke a key.
    KeyRevoke {
        /// The name of the key.
        name: String,
    },
    /// The keys in force.
    KeyList,
    /// The present sessions.
    SessionList {
        /// The user whose sessions are listed; all users if missing.
        user: Option<String>,
    },
    /// End a session.
    SessionEnd {
        /// The public reference of the session.
        id: String,
    },
    /// A page of the audit trail, oldest entry first.
    Audit(TrailRequest),
}

impl AdminRequest {
    /// Reports whether the request may remove the last user who manages users and groups.
    fn is_forced(&self) -> bool {
        match self {
            AdminRequest::UserDisabled { force, .. } | AdminRequest::GroupRemove { force, .. } => *force,
            AdminRequest::GroupChange(update) => update.force,
            _ => false,
        }
    }

    /// Returns the name of the key that the request creates, if it creates one. Its token is
    /// reported once, and only to the caller.
    pub fn made_key(&self) -> Option<String> {
        match self {
            AdminRequest::KeyAdd(key) => Some(key.name.clone()),
            _ => None,
        }
    }
}

/// The outcome of a request: the reply, and its side effects.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdminOutcome {
    /// The requested or changed entries.
    #[serde(flatten)]
    pub reply: AdminReply,
    /// The number of the user's sessions that were ended, if the request ends sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_ended: Option<usize>,
    /// The number of the user's keys that were ended, if the request ends keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_ended: Option<usize>,
    /// Whether a forced request left nobody who manages users and groups.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_administrator: bool,
}

/// The requested or changed entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AdminReply {
    /// Users: all, or the one that was created or changed.
    Users(Vec<UserView>),
    /// Groups: all, or the one that was created, changed or removed, in its state then.
    Groups(Vec<GroupView>),
    /// Keys: all, or the one that was revoked.
    Keys(Vec<KeyView>),
    /// The key that was created.
    NewKey {
        /// The key.
        key: KeyView,
        /// The token of the key, which can't be retrieved again.
        token: Secret,
    },
    /// Sessions: the present ones, or the one that was ended.
    Sessions(Vec<SessionView>),
    /// A page of the audit trail.
    Audit(AuditPage),
}

/// The executor of administrative requests on behalf of one actor.
#[derive(Clone)]
pub struct Admin {
    /// Users and groups.
    pub directory: Arc<Directory>,
    /// Sessions and keys.
    pub sessions: Arc<Sessions>,
    /// The counts of failed logins; `None` while no server runs.
    pub attempts: Option<Arc<LoginLimiter>>,
    /// The source of the audit trail while a server runs.
    repository: Option<Reader>,
    /// The actor, for the audit trail.
    pub who: CallerIdentity,
    /// The receipt step for a change of a group, if the call has an `Idempotency-Key`.
    step: Option<ReceiptStep>,
    /// Whether the last administrator may be removed. Only [`Admin::carry_out`] sets it; calls over
    /// HTTP can't.
    forced: bool,
}

impl Admin {
    /// Creates the executor for a running server.
    pub fn of(newsroom: &Newsroom, who: CallerIdentity) -> Admin {
        let (directory, sessions) = (newsroom.directory.clone(), newsroom.sessions.clone());
        let (attempts, repository) = (Some(newsroom.attempts.clone()), Some(newsroom.repository.clone()));
        Admin { directory, sessions, attempts, repository, who, step: None, forced: false }
    }

    /// Creates the executor for a command without a server.
    pub fn alone(directory: Arc<Directory>, sessions: Arc<Sessions>) -> Admin {
        let who = CallerIdentity::operator();
        Admin { directory, sessions, attempts: None, repository: None, who, step: None, forced: false }
    }

    /// Sets the receipt step, so that a repeated call creates or changes its group only once.
    #[must_use]
    pub fn under(self, step: Option<ReceiptStep>) -> Admin {
        Admin { step, ..self }
    }

    /// Carries out one request of an operator.
    ///
    /// # Errors
    /// Those of the operation; nothing is changed then.
    pub async fn carry_out(&self, request: AdminRequest) -> Result<AdminOutcome> {
        let forced = request.is_forced();
        let (sessions_ended, keys_ended) = self.will_end(&request).await?;
        let reply = Admin { forced, ..self.clone() }.reply_to(request).await?;
        let no_administrator = forced && !self.directory.has_administrator().await?;
        Ok(AdminOutcome { reply, sessions_ended, keys_ended, no_administrator })
    }

    /// Returns how many sessions and keys a request ends along with its change of a user; `None` if
    /// it ends none.
    async fn will_end(&self, request: &AdminRequest) -> Result<(Option<usize>, Option<usize>)> {
        let (user, keys_too) = match request {
            AdminRequest::UserPassword { name, .. } => (self.user(name)?.name, false),
            AdminRequest::UserDisabled { name, disabled: true, .. } => (self.user(name)?.name, true),
            _ => return Ok((None, None)),
        };
        let sessions = self.sessions.list(Some(&user)).await?.len();
        if !keys_too {
            return Ok((Some(sessions), None));
        }
        let keys = self.sessions.keys().await?.iter().filter(|key| **key.user() == *user).count();
        Ok((Some(sessions), Some(keys)))
    }

    async fn reply_to(&self, request: AdminRequest) -> Result<AdminReply> {
        let user = |view| AdminReply::Users(vec![view]);
        let group = |view| AdminReply::Groups(vec![view]);
        Ok(match request {
            AdminRequest::UserAdd(change) => user(self.add_user(change).await?),
            AdminRequest::UserPassword { name, password } => {
                let change = UserChange { password: Some(password), ..UserChange::default() };
                user(self.change_user(&name, change).await?)
            }
            AdminRequest::UserDisabled { name, disabled, force: _ } => {
                let change = UserChange { disabled: Some(disabled), ..UserChange::default() };
                user(self.change_user(&name, change).await?)
            }
            AdminRequest::UserUnlock { name } => {
                let view = self.user(&name)?;
                if let Some(attempts) = &self.attempts {
                    attempts.forgive(&Name::of(&name));
                }
                user(view)
            }
            AdminRequest::UserList => AdminReply::Users(self.users()?),
            AdminRequest::GroupAdd(update) => {
                let (name, change) = update.parts();
                group(self.add_group(&name, change).await?)
            }
            AdminRequest::GroupChange(update) => {
                let (name, change) = update.parts();
                group(self.change_group(&name, change).await?)
            }
            AdminRequest::GroupRemove { name, force: _ } => {
                let view = self.directory.group_view(&name).await?;
                self.changing().remove_group(&name).await?;
                group(view)
            }
            AdminRequest::GroupList => AdminReply::Groups(self.directory.group_views()?),
            AdminRequest::KeyAdd(request) => {
                let (key, token) = self.add_key(request).await?;
                AdminReply::NewKey { key, token }
            }
            AdminRequest::KeyRevoke { name } => {
                let key = self.sessions.revoke(self.who.clone(), &name).await?;
                AdminReply::Keys(vec![KeyView::of(&key, &self.directory).await?])
            }
            AdminRequest::KeyList => AdminReply::Keys(self.keys().await?),
            AdminRequest::SessionList { user } => {
                let user = user.map(|user| self.user(&user)).transpose()?;
                let sessions = self.sessions.list(user.as_ref().map(|user| user.name.as_str())).await?;
                AdminReply::Sessions(sessions.iter().map(|live| SessionView::of(live, None)).collect())
            }
            AdminRequest::SessionEnd { id } => {
                let ended = self.sessions.end_by_id(&id, None).await?;
                AdminReply::Sessions(vec![SessionView::of(&ended, None)])
            }
            AdminRequest::Audit(request) => AdminReply::Audit(self.audit(request).await?),
        })
    }

    /// Reads a page of the audit trail, which only a running server can.
    async fn audit(&self, request: TrailRequest) -> Result<AuditPage> {
        let Some(repository) = self.repository.clone() else {
            return Err(Error::new(
                Code::RepositoryError,
                "Only a running server answers requests for the audit trail.",
            ));
        };
        offload::offload_at_once(move || request.answer(repository.events())).await?
    }

    /// Returns all users, ordered by name.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn users(&self) -> Result<Vec<UserView>> {
        Ok(self.directory.users()?.iter().map(UserView::of).collect())
    }

    /// One user.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub fn user(&self, name: &str) -> Result<UserView> {
        let user = self
            .directory
            .user(name)?
            .ok_or_else(|| Error::new(Code::ObjectNotFound, format!("There is no user `{name}`.")).with_source(name))?;
        Ok(UserView::of(&user))
    }

    /// Creates a user.
    ///
    /// # Errors
    /// `InvalidBody` without a name; `InvalidName`; `DuplicatedName`; `ObjectNotFound` for a group;
    /// `InvalidPath` for a folder; `InvalidParameter` for the password; errors of the store.
    pub async fn add_user(&self, change: UserChange) -> Result<UserView> {
        let name = change.name.clone().ok_or_else(|| {
            Error::new(Code::InvalidBody, "The body is invalid at `$.name`: a user needs a name.")
                .with_detail("path", "$.name")
        })?;
        let groups = self.check(&change)?;
        let mut user = User::new(&name);
        let password = change.password.clone();
        apply(change, groups, &mut user);
        self.changing().make_user(user, password.as_ref().map(Secret::text)).await?;
        self.user(&name)
    }

    /// Changes the given fields of a user.
    ///
    /// # Errors
    /// `ObjectNotFound` for the user or a group; `InvalidParameter` for another name or the
    /// password; `InvalidPath` for a folder; errors of the store.
    pub async fn change_user(&self, name: &str, change: UserChange) -> Result<UserView> {
        let name = &self.user(name)?.name;
        let is_another = |other: &&str| *other != name && Name::of(other) != Name::of(name);
        if let Some(other) = change.name.as_deref().filter(is_another) {
            return Err(Error::parameter("name", other, &format!("`{name}`, for users can't be renamed")));
        }
        let groups = self.check(&change)?;
        let password = change.password.clone();
        let change = |user: &mut User| {
            apply(change, groups, user);
            Ok(())
        };
        self.changing().edit_user(name, password.as_ref().map(Secret::text), change).await?;
        self.user(name)
    }

    fn changing(&self) -> DirectoryEditor<'_> {
        let changing = self.directory.by(self.who.clone()).under(self.step.clone());
        if self.forced { changing.forced() } else { changing }
    }

    /// Creates a group.
    ///
    /// # Errors
    /// The errors of [`DirectoryEditor::create_group`].
    pub async fn add_group(&self, name: &str, change: GroupChange) -> Result<GroupView> {
        self.changing().create_group(name, change).await?;
        self.directory.group_view(name).await
    }

    /// Changes the given fields of a group.
    ///
    /// # Errors
    /// The errors of [`DirectoryEditor::change_group`].
    pub async fn change_group(&self, name: &str, change: GroupChange) -> Result<GroupView> {
        self.changing().change_group(name, change).await?;
        self.directory.group_view(name).await
    }

    /// Returns the keys in force, the oldest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn keys(&self) -> Result<Vec<KeyView>> {
        let mut views = Vec::new();
        for live in self.sessions.keys().await? {
            views.push(KeyView::of(&live, &self.directory).await?);
        }
        Ok(views)
    }

    /// Creates a key; returns it with its token.
    ///
    /// # Errors
    /// The errors of [`Sessions::make_key`].
    pub async fn add_key(&self, request: KeyRequest) -> Result<(KeyView, Secret)> {
        let KeyRequest { name, user, privileges, expires } = request;
        let made = self
            .sessions
            .make_key(self.who.clone(), NewKey { name, user, grants: privileges, expires_s: expires })
            .await?;
        Ok((KeyView::of(&made.session, &self.directory).await?, Secret::new(made.token.text().to_owned())))
    }

    /// Checks that groups exist and folders are paths. Returns the groups, if some are given.
    fn check(&self, change: &UserChange) -> Result<Option<Vec<Name>>> {
        let known = |group: &String| {
            let unknown =
                || Error::new(Code::ObjectNotFound, format!("There is no group `{group}`.")).with_source(group);
            Ok(self.directory.group(group)?.ok_or_else(unknown)?.name)
        };
        let named = |groups: &Vec<String>| {
            // Each group once, in their order.
            let (mut names, mut seen) = (Vec::new(), HashSet::new());
            for group in groups {
                let name = known(group)?;
                if seen.insert(name.clone()) {
                    names.push(name);
                }
            }
            Ok::<_, Error>(names)
        };
        let groups = change.groups.as_ref().map(named).transpose()?;
        for folder in [&change.home, &change.work_folder].into_iter().flatten().filter(|folder| !folder.is_empty()) {
            check_path(folder, self.directory.path_limits())?;
        }
        Ok(groups)
    }
}

/// Sets the given fields; `groups` are those of the change, under the directory's names.
fn apply(change: UserChange, groups: Option<Vec<Name>>, user: &mut User) {
    let set = |place: &mut String, value: Option<String>| {
        if let Some(value) = value {
            *place = value;
        }
    };
    set(&mut user.full_name, change.full_name);
    set(&mut user.description, change.description);
    let set = |place: &mut Option<String>, value: Option<String>| {
        if let Some(value) = value {
            *place = Some(value).filter(|value| !value.is_empty());
        }
    };
    set(&mut user.home, change.home);
    set(&mut user.work, change.work_folder);
    set(&mut user.team, change.team);
    set(&mut user.home_email, change.home_email);
    set(&mut user.business_email, change.business_email);
    if let Some(groups) = groups {
        user.groups = groups;
    }
    if let Some(disabled) = change.disabled {
        user.disabled = disabled;
    }
}
