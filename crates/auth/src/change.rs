//! Changes of users and groups. Every change is one commit with its entries in the audit trail, and
//! is made once if the call may be repeated. A change that leaves nobody who may manage users and
//! groups is refused, unless an operator forces it (docs/api/groups-and-users.md,
//! "Administrators").

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stet_actors::repository::StandaloneChange;
use stet_actors::runtime::ChangeRequest;
use stet_base::limits::as_server;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::receipt::ReceiptStep;
use stet_domain::store::{Row, RowChange, RowPlace};

use super::directory::{Directory, unknown_name_error};
use super::name::Name;
use super::privilege::Privilege;
use super::rows::{User, UserGroup};

/// Maximum number of names in one entry of the audit trail.
const NAMES: usize = 1000;

/// A handle on the directory for changes by one author.
pub struct DirectoryEditor<'d> {
    pub(super) directory: &'d Directory,
    request: ChangeRequest,
    /// Whether a change may remove the last administrator.
    forced: bool,
}

impl Directory {
    /// Returns a handle for changes by `who`, whom the audit trail records.
    pub fn by(&self, who: CallerIdentity) -> DirectoryEditor<'_> {
        DirectoryEditor { directory: self, request: ChangeRequest::by(who), forced: false }
    }
}

impl DirectoryEditor<'_> {
    /// Permits changes that leave no administrator. For operators, who can create one again on the
    /// machine itself.
    #[must_use]
    pub fn forced(self) -> Self {
        DirectoryEditor { forced: true, ..self }
    }

    /// Sets the receipt step of a call that may be repeated, so that its change of a group is made
    /// once.
    #[must_use]
    pub fn under(self, step: Option<ReceiptStep>) -> Self {
        DirectoryEditor { request: ChangeRequest { step, ..self.request }, ..self }
    }
}

/// A row before and after a change; `None` where it does not exist.
pub(super) struct RowEdit<R> {
    pub old: Option<R>,
    pub new: Option<R>,
}

/// The changes of rows that are committed together.
#[derive(Default)]
pub(super) struct DirectoryEdits {
    pub users: Vec<RowEdit<User>>,
    pub group: Option<RowEdit<UserGroup>>,
}

impl DirectoryEditor<'_> {
    /// Replaces the user in a row by the result of `make`, which receives the old user and the
    /// time.
    ///
    /// # Errors
    /// Errors of `make`; `ObjectNotFound` for a new group of the user that does not exist; those of
    /// [`DirectoryEditor::change`].
    pub(super) async fn write(
        &self,
        place: RowPlace,
        make: impl FnOnce(Option<User>, u64) -> Result<User>,
    ) -> Result<()> {
        self.change("user.write", async || {
            let repository = &self.directory.repository;
            let old: Option<User> = repository.row(place.table, &place.key)?;
            let new = make(old.clone(), repository.clock().now_ms())?;
            let before = old.as_ref().map(|old| &old.groups[..]).unwrap_or_default();
            // A member of a missing group would have the rights of a later group of that name.
            for group in new.groups.iter().filter(|group| !before.contains(group)) {
                self.directory.group(group)?.ok_or_else(|| unknown_name_error("group", group))?;
            }
            Ok(((), DirectoryEdits { users: vec![RowEdit { old, new: Some(new) }], group: None }))
        })
        .await
    }

    /// Commits the edits that `make` derives from the current rows, while no other change runs.
    /// Returns the reply of `make`. If the call may be repeated, the outcome is kept under `name`,
    /// and a retry changes nothing.
    ///
    /// # Errors
    /// Errors of `make`; `PermissionDenied` for a change that would leave nobody who may manage
    /// users and groups; errors of the store.
    pub(super) async fn change<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl AsyncFnOnce() -> Result<(R, DirectoryEdits)>,
    ) -> Result<R> {
        let directory = self.directory;
        let noted = async || {
            let turn = directory.turn().await;
            let (reply, edits) = make().await?;
            // All other changes wait for this one.
            if as_server(directory.leaves_none(&edits)).await? {
                if !self.forced {
                    return Err(last_administrator_error());
                }
                tracing::warn!("forced a change that leaves no administrator");
            }
            let (on_commit, held) = (directory.on_commit(), Box::new(turn));
            Ok(StandaloneChange { reply, changes: edits.changes(), deeds: edits.deeds(), on_commit, held })
        };
        directory.repository.note(name, &self.request, noted).await
    }
}

impl DirectoryEdits {
    fn changes(&self) -> Vec<RowChange> {
        let users = self.users.iter().filter_map(RowEdit::change);
        users.chain(self.group.iter().filter_map(RowEdit::change)).collect()
    }

    /// Returns the actions for the audit trail, each with the names concerned.
    fn deeds(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut deeds = Vec::new();
        if let Some(group) = &self.group {
            let name = |group: &UserGroup| vec![group.name.to_string()];
            match (&group.old, &group.new) {
                (None, Some(new)) => deeds.push(("group.create", name(new))),
                (Some(old), None) => deeds.push(("group.delete", name(old))),
                (Some(old), Some(new)) => {
                    let changed = [
                        ("group.privileges", old.privileges != new.privileges),
                        ("group.change", old.description != new.description),
                    ];
                    deeds.extend(changed.into_iter().filter(|(_, is)| *is).map(|(kind, _)| (kind, name(new))));
                }
                (None, None) => {}
            }
        }
        let (mut joined, mut left) = (BTreeMap::<&Name, Vec<String>>::new(), BTreeMap::<&Name, Vec<String>>::new());
        for RowEdit { old, new } in &self.users {
            let Some(new) = new else { continue };
            let before = old.as_ref().map(|old| &old.groups[..]).unwrap_or_default();
            for group in new.groups.iter().filter(|group| !before.contains(group)) {
                joined.entry(group).or_default().push(new.name.to_string());
            }
            for group in before.iter().filter(|group| !new.groups.contains(group)) {
                left.entry(group).or_default().push(new.name.to_string());
            }
            deeds.extend(new.deeds_since(old.as_ref()).into_iter().map(|kind| (kind, vec![new.name.to_string()])));
        }
        for (kind, members) in [("group.join", joined), ("group.leave", left)] {
            for (group, names) in members {
                let with_group = |names: &[String]| [&[group.to_string()], names].concat();
                deeds.extend(names.chunks(NAMES).map(|names| (kind, with_group(names))));
            }
        }
        deeds
    }
}

impl<R: Row + PartialEq> RowEdit<R> {
    fn change(&self) -> Option<RowChange> {
        match (&self.old, &self.new) {
            (old, Some(new)) => (old.as_ref() != Some(new)).then(|| RowChange::put(new)),
            (Some(old), None) => Some(RowChange::remove(old.place())),
            (None, None) => None,
        }
    }
}

impl User {
    /// Returns the actions that have changed a user, apart from memberships.
    fn deeds_since(&self, old: Option<&User>) -> Vec<&'static str> {
        let Some(old) = old else { return vec!["user.create"] };
        let mut rest = self.clone();
        rest.keep_from(old.clone());
        rest.disabled = old.disabled;
        rest.groups.clone_from(&old.groups);
        let done = [
            ("user.disable", self.disabled && !old.disabled),
            ("user.enable", !self.disabled && old.disabled),
            // The same password with a new hash is no change of it, and ends no session.
            ("user.password", self.password != old.password && self.generation != old.generation),
            ("user.change", rest != *old),
        ];
        done.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect()
    }
}

/// The groups whose members may manage users and groups everywhere.
struct ManagerGroups {
    /// Normalised, since users may name them in another form.
    groups: HashSet<Name>,
    /// Whether users may log in without a password here.
    by_sign_on: bool,
}

impl ManagerGroups {
    fn of<'g>(groups: impl Iterator<Item = &'g UserGroup>, by_sign_on: bool) -> ManagerGroups {
        let manages = |group: &&UserGroup| {
            group.privileges.iter().any(|grant| grant.privilege == Privilege::ManageGroups && grant.folder.is_none())
        };
        ManagerGroups { groups: groups.filter(manages).map(|group| Name::of(&group.name)).collect(), by_sign_on }
    }

    fn makes_administrator(&self, user: &User) -> bool {
        // Users without a password can only log in by single sign-on.
        let may_log_in = !user.disabled && (user.password.is_some() || self.by_sign_on);
        may_log_in && user.groups.iter().any(|group| self.groups.contains(&Name::of(group)))
    }
}

impl Directory {
    /// Reports whether there is an administrator.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn has_administrator(&self) -> Result<bool> {
        let managing = ManagerGroups::of(self.groups()?.iter(), self.by_sign_on);
        let mut is_one = false;
        let see = |user: User| {
            is_one = managing.makes_administrator(&user);
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.each_user(see).await?;
        Ok(is_one)
    }

    /// Reports whether a change would remove the last administrator.
    async fn leaves_none(&self, edits: &DirectoryEdits) -> Result<bool> {
        let takes_from_user = |RowEdit { old, new }: &RowEdit<User>| {
            let loses = |(old, new): (&User, &User)| {
                (new.disabled && !old.disabled) || old.groups.iter().any(|group| !new.groups.contains(group))
            };
            old.as_ref().is_some_and(|old| new.as_ref().is_none_or(|new| loses((old, new))))
        };
        let takes_from_group = edits.group.as_ref().is_some_and(|edit| edit.old.is_some());
        if !takes_from_group && !edits.users.iter().any(takes_from_user) {
            return Ok(false);
        }
        let groups = self.groups()?;
        let before = ManagerGroups::of(groups.iter(), self.by_sign_on);
        let edited = edits.group.as_ref().and_then(|edit| edit.old.as_ref()).map(|group| &group.name);
        let others = groups.iter().filter(|group| Some(&group.name) != edited);
        let edited_group = edits.group.iter().filter_map(|edit| edit.new.as_ref());
        let after = ManagerGroups::of(others.chain(edited_group), self.by_sign_on);
        let mut was_one = false;
        for RowEdit { old, new } in &edits.users {
            if new.as_ref().is_some_and(|user| after.makes_administrator(user)) {
                return Ok(false);
            }
            was_one |= old.as_ref().is_some_and(|user| before.makes_administrator(user));
        }
        if !was_one && before.groups == after.groups {
            return Ok(false);
        }
        let edited: BTreeSet<&Name> =
            edits.users.iter().filter_map(|edit| edit.old.as_ref()).map(|user| &user.name).collect();
        let mut is_one = false;
        let see = |user: User| {
            if edited.contains(&user.name) {
                return ControlFlow::Continue(());
            }
            is_one = after.makes_administrator(&user);
            was_one |= before.makes_administrator(&user);
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.each_user(see).await?;
        Ok(was_one && !is_one)
    }
}

/// Returns the error for a change that nobody could undo.
fn last_administrator_error() -> Error {
    let message =
        "The change would leave no administrator: no user who can log in and may manage users and groups everywhere.";
    Error::new(Code::PermissionDenied, message).with_detail("reason", "lastAdministrator")
}

/// Reports whether a change was refused because it would leave no administrator.
pub fn leaves_no_administrator(error: &Error) -> bool {
    error.code == Code::PermissionDenied && error.details.as_ref().is_some_and(|it| it["reason"] == "lastAdministrator")
}
