//! Changing users and groups. Whatever the way, it ends here: in one commit with what the audit
//! trail tells of it, once if the call may be sent again, and never without somebody left who may
//! manage users and groups, unless an operator forces it (docs/api/groups-and-users.md,
//! "Administrators").

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stet_actors::command::Who;
use stet_actors::error::{Code, Error, Result};
use stet_actors::receipt::Step;
use stet_actors::repository::Note;
use stet_actors::runtime::Request;
use stet_actors::store::{Change, Key, Row};

use super::directory::{Directory, unknown};
use super::name::Name;
use super::privilege::Privilege;
use super::rows::{Group, User, put, remove};
use crate::limits::as_server;

/// Names that one entry of the audit trail lists at most.
const NAMES: usize = 1000;

/// The directory in the hands of somebody who changes it.
pub struct Changing<'d> {
    pub(super) directory: &'d Directory,
    request: Request,
    /// Whether the last administrator may go.
    forced: bool,
}

impl Directory {
    /// The directory, to be changed at the wish of `who`, whom the audit trail names.
    pub fn by(&self, who: Who) -> Changing<'_> {
        Changing { directory: self, request: Request::by(who), forced: false }
    }
}

impl Changing<'_> {
    /// The same for changes that may leave no administrator. For operators, who can make one again
    /// on the machine itself.
    #[must_use]
    pub fn forced(self) -> Self {
        Changing { forced: true, ..self }
    }

    /// The same for a change of a group by a call that may be sent again: it is made once.
    #[must_use]
    pub fn under(self, step: Option<Step>) -> Self {
        Changing { request: Request { step, ..self.request }, ..self }
    }
}

/// A row as it was and as it will be; `None` where there is none.
pub(super) struct Edit<R> {
    pub old: Option<R>,
    pub new: Option<R>,
}

/// What one change makes of the rows.
#[derive(Default)]
pub(super) struct Edits {
    pub users: Vec<Edit<User>>,
    pub group: Option<Edit<Group>>,
}

impl Changing<'_> {
    /// Replaces the user at a place by what is made of it and the time.
    ///
    /// # Errors
    /// What `make` says; `ObjectNotFound` for a group that the user would come into and that is not
    /// there, or not any more; as [`Changing::change`].
    pub(super) async fn write(&self, place: Key, make: impl FnOnce(Option<User>, u64) -> Result<User>) -> Result<()> {
        self.change("user.write", async || {
            let repository = &self.directory.repository;
            let old: Option<User> = repository.row(place.table, &place.key)?;
            let new = make(old.clone(), repository.clock().now_ms())?;
            let before = old.as_ref().map(|old| &old.groups[..]).unwrap_or_default();
            // Whoever is a member by name alone would have what a later group of that name may do.
            for group in new.groups.iter().filter(|group| !before.contains(group)) {
                self.directory.group(group)?.ok_or_else(|| unknown("group", group))?;
            }
            Ok(((), Edits { users: vec![Edit { old, new: Some(new) }], group: None }))
        })
        .await
    }

    /// Commits what `make` makes of the rows as they are, when nobody else is changing them, and
    /// gives what it says. Under that name the outcome is kept, if the call may be sent again: then
    /// nothing is made the second time.
    ///
    /// # Errors
    /// What `make` says; `PermissionDenied` for a change that would leave nobody who may manage
    /// users and groups; what the store says.
    pub(super) async fn change<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl AsyncFnOnce() -> Result<(R, Edits)>,
    ) -> Result<R> {
        let directory = self.directory;
        let noted = async || {
            let turn = directory.turn().await;
            let (reply, edits) = make().await?;
            // All other changes wait for it.
            if as_server(directory.leaves_none(&edits)).await? {
                if !self.forced {
                    return Err(last_administrator());
                }
                tracing::warn!("a change is forced that leaves no administrator");
            }
            let (on_commit, held) = (directory.on_commit(), Box::new(turn));
            Ok(Note { reply, changes: edits.changes(), deeds: edits.deeds(), on_commit, held })
        };
        directory.repository.note(name, &self.request, noted).await
    }
}

impl Edits {
    fn changes(&self) -> Vec<Change> {
        let users = self.users.iter().filter_map(Edit::change);
        users.chain(self.group.iter().filter_map(Edit::change)).collect()
    }

    /// What the audit trail tells: actions, each with the names that it is about.
    fn deeds(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut deeds = Vec::new();
        if let Some(group) = &self.group {
            let name = |group: &Group| vec![group.name.to_string()];
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
        for Edit { old, new } in &self.users {
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

impl<R: Row + PartialEq> Edit<R> {
    fn change(&self) -> Option<Change> {
        match (&self.old, &self.new) {
            (old, Some(new)) => (old.as_ref() != Some(new)).then(|| put(new)),
            (Some(old), None) => Some(remove(old.place())),
            (None, None) => None,
        }
    }
}

impl User {
    /// What was done to a user, memberships apart.
    fn deeds_since(&self, old: Option<&User>) -> Vec<&'static str> {
        let Some(old) = old else { return vec!["user.create"] };
        let mut rest = self.clone();
        rest.keep_from(old.clone());
        rest.disabled = old.disabled;
        rest.groups.clone_from(&old.groups);
        let done = [
            ("user.disable", self.disabled && !old.disabled),
            ("user.enable", !self.disabled && old.disabled),
            // The same password, hashed anew, is no change of it, and ends no session.
            ("user.password", self.password != old.password && self.generation != old.generation),
            ("user.change", rest != *old),
        ];
        done.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect()
    }
}

/// The groups whose members may manage users and groups everywhere.
struct Managing {
    /// In the one form, for users may have them in another.
    groups: HashSet<Name>,
    /// Whether users are let in without a password of theirs here.
    by_sign_on: bool,
}

impl Managing {
    fn of<'g>(groups: impl Iterator<Item = &'g Group>, by_sign_on: bool) -> Managing {
        let manages = |group: &&Group| {
            group.privileges.iter().any(|grant| grant.privilege == Privilege::ManageGroups && grant.folder.is_none())
        };
        Managing { groups: groups.filter(manages).map(|group| Name::of(&group.name)).collect(), by_sign_on }
    }

    fn makes_administrator(&self, user: &User) -> bool {
        // Without a password one is let in by single sign-on alone.
        let may_log_in = !user.disabled && (user.password.is_some() || self.by_sign_on);
        may_log_in && user.groups.iter().any(|group| self.groups.contains(&Name::of(group)))
    }
}

impl Directory {
    /// Whether somebody is an administrator.
    ///
    /// # Errors
    /// What the store says.
    pub async fn has_administrator(&self) -> Result<bool> {
        let managing = Managing::of(self.groups()?.iter(), self.by_sign_on);
        let mut is_one = false;
        let see = |user: User| {
            is_one = managing.makes_administrator(&user);
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.each_user(see).await?;
        Ok(is_one)
    }

    /// Whether nobody would be an administrator after a change, and somebody is.
    async fn leaves_none(&self, edits: &Edits) -> Result<bool> {
        let takes_from_user = |Edit { old, new }: &Edit<User>| {
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
        let before = Managing::of(groups.iter(), self.by_sign_on);
        let edited = edits.group.as_ref().and_then(|edit| edit.old.as_ref()).map(|group| &group.name);
        let others = groups.iter().filter(|group| Some(&group.name) != edited);
        let edited_group = edits.group.iter().filter_map(|edit| edit.new.as_ref());
        let after = Managing::of(others.chain(edited_group), self.by_sign_on);
        let mut was_one = false;
        for Edit { old, new } in &edits.users {
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

/// The error for a change that nobody could take back.
fn last_administrator() -> Error {
    let message =
        "This would leave no administrator: no user who can log in and may manage users and groups everywhere.";
    Error::new(Code::PermissionDenied, message).with_detail("reason", "lastAdministrator")
}

/// Whether a change was refused because it would leave no administrator.
pub fn leaves_no_administrator(error: &Error) -> bool {
    error.code == Code::PermissionDenied && error.details.as_ref().is_some_and(|it| it["reason"] == "lastAdministrator")
}
