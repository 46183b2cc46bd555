//! Changes of groups and their members: one commit for the group and all of its members.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::FamilyKind;
use stet_domain::store::Table;

use super::change::{DirectoryEditor, DirectoryEdits, RowEdit};
use super::directory::{Directory, unknown_name_error};
use super::name::Name;
use super::rows::{Grant, User, UserGroup};

/// A change of a group; absent fields stay as they are.
#[derive(Debug, Clone, Default)]
pub struct GroupChange {
    /// The purpose of the group.
    pub description: Option<String>,
    /// Names of all members.
    pub members: Option<Vec<String>>,
    /// Names of users who become members.
    pub join: Vec<String>,
    /// Names of users who leave the group.
    pub leave: Vec<String>,
    /// All grants of the members.
    pub privileges: Option<Vec<Grant>>,
}

/// A group, as requests and replies show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// Name of the group.
    pub group_name: String,
    /// Purpose of the group.
    pub description: String,
    /// Names of the members.
    pub members: Vec<String>,
    /// Grants of the members.
    pub privileges: Vec<Grant>,
}

/// Maximum number of grants of a group or key. Each access to an object is checked against all of
/// them.
const MAX_GRANTS: usize = 1000;

impl Directory {
    /// Returns the views of all groups, by name. It takes long, so call it on a thread that serves
    /// no requests.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn group_views(&self) -> Result<Vec<GroupView>> {
        let mut members: BTreeMap<Name, Vec<String>> = BTreeMap::new();
        for user in self.users()? {
            for group in &user.groups {
                members.entry(group.clone()).or_default().push(user.name.to_string());
            }
        }
        let view = |group: UserGroup| {
            let members = members.remove(&group.name).unwrap_or_default();
            let privileges = group.privileges.iter().map(|grant| self.with_path(grant)).collect::<Result<_>>()?;
            Ok(GroupView { group_name: group.name.to_string(), description: group.description, members, privileges })
        };
        self.groups()?.into_iter().map(view).collect()
    }

    /// Returns the view of a group.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn group_view(&self, name: &str) -> Result<GroupView> {
        let group = self.group(name)?.ok_or_else(|| unknown_name_error("group", name))?;
        let mut members = Vec::new();
        let see = |user: User| {
            members.extend(user.groups.contains(&group.name).then(|| user.name.to_string()));
            ControlFlow::Continue(())
        };
        self.each_user(see).await?;
        let privileges = self.with_paths(&group.privileges).await?;
        Ok(GroupView { group_name: group.name.to_string(), description: group.description, members, privileges })
    }

    /// Returns all groups, by name.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn groups(&self) -> Result<Vec<UserGroup>> {
        self.repository.rows(Table::Groups)
    }
}

impl DirectoryEditor<'_> {
    /// Creates or replaces a group; its members stay.
    ///
    /// # Errors
    /// `InvalidName`; `ObjectNotFound`, `InvalidType` for the folder of a grant; errors of the
    /// store.
    pub async fn put_group(&self, group: UserGroup) -> Result<()> {
        let UserGroup { description, privileges, .. } = group;
        let change =
            GroupChange { description: Some(description), privileges: Some(privileges), ..GroupChange::default() };
        self.write_group(&group.name, change, |_| Ok(())).await
    }

    /// Creates a group.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`; those of [`DirectoryEditor::change_group`].
    pub async fn create_group(&self, name: &str, change: GroupChange) -> Result<()> {
        let must_be_new = |there| match there {
            true => Err(Error::duplicated(format!("A group `{name}` already exists."), Some(name))),
            false => Ok(()),
        };
        self.write_group(name, change, must_be_new).await
    }

    /// Changes the given fields of a group.
    ///
    /// # Errors
    /// `ObjectNotFound` for the group, a member, or the folder of a grant; `InvalidType` for an
    /// object that is not a folder; `PermissionDenied` if the change would leave no administrator;
    /// errors of the store.
    pub async fn change_group(&self, name: &str, change: GroupChange) -> Result<()> {
        self.write_group(name, change, |there| if there { Ok(()) } else { Err(unknown_name_error("group", name)) })
            .await
    }

    /// Removes a group with all memberships. Returns its name.
    ///
    /// # Errors
    /// `ObjectNotFound`; `PermissionDenied` if the change would leave no administrator; errors of
    /// the store.
    pub async fn remove_group(&self, name: &str) -> Result<Name> {
        self.change("group.delete", async || {
            let group = self.directory.group(name)?.ok_or_else(|| unknown_name_error("group", name))?;
            let users = self.directory.with_members(&group.name, |_| false).await?;
            Ok((group.name.clone(), DirectoryEdits { users, group: Some(RowEdit { old: Some(group), new: None }) }))
        })
        .await
    }

    async fn write_group(&self, name: &str, change: GroupChange, check: impl FnOnce(bool) -> Result<()>) -> Result<()> {
        self.change("group.write", async || Ok(((), self.edits(name, change, check).await?))).await
    }

    /// Derives the edits of the current rows from a change of a group. `check` is given whether the
    /// group exists.
    async fn edits(
        &self,
        name: &str,
        change: GroupChange,
        check: impl FnOnce(bool) -> Result<()>,
    ) -> Result<DirectoryEdits> {
        let old = self.directory.group(name)?;
        check(old.is_some())?;
        let new = || Ok(UserGroup { name: Name::checked(name)?, description: String::new(), privileges: Vec::new() });
        let mut group = old.clone().map_or_else(new, Ok)?;
        if let Some(description) = change.description {
            group.description = description;
        }
        if let Some(privileges) = change.privileges {
            group.privileges = self.directory.anchored(privileges, &group.privileges).await?;
        }
        let mut users = Vec::new();
        if change.members.is_some() || !change.join.is_empty() || !change.leave.is_empty() {
            let members = match change.members {
                Some(names) => Some(self.directory.names_of_users(&names).await?),
                None => None,
            };
            let join = self.directory.names_of_users(&change.join).await?;
            let leave = self.directory.names_of_users(&change.leave).await?;
            let changing = self.directory.with_members(&group.name, |user| {
                let is =
                    members.as_ref().map_or_else(|| user.groups.contains(&group.name), |all| all.contains(&user.name));
                (is || join.contains(&user.name)) && !leave.contains(&user.name)
            });
            users = changing.await?;
        }
        Ok(DirectoryEdits { users, group: Some(RowEdit { old, new: Some(group) }) })
    }
}

impl Directory {
    /// Returns the names of users as their rows spell them.
    ///
    /// # Errors
    /// `ObjectNotFound` for an unknown user; errors of the store.
    async fn names_of_users(&self, names: &[String]) -> Result<BTreeSet<Name>> {
        let mut timer = YieldTimer::start();
        let mut known = BTreeSet::new();
        for name in names {
            known.insert(self.user(name)?.ok_or_else(|| unknown_name_error("user", name))?.name.clone());
            timer.yield_if_due().await;
        }
        Ok(known)
    }

    /// Returns the edits of users whose membership changes if exactly those for whom `shall` is
    /// true are members of a group.
    async fn with_members(&self, group: &Name, shall: impl Fn(&User) -> bool) -> Result<Vec<RowEdit<User>>> {
        let mut edits = Vec::new();
        let see = |old: User| {
            let (is, shall) = (old.groups.contains(group), shall(&old));
            if is != shall {
                let mut new = old.clone();
                new.groups.retain(|name| name != group);
                new.groups.extend(shall.then(|| group.clone()));
                edits.push(RowEdit { old: Some(old), new: Some(new) });
            }
            ControlFlow::Continue(())
        };
        self.each_user(see).await?;
        Ok(edits)
    }

    /// Returns grants for people, with the folders' paths where those resolve to them. The result
    /// can be given again with the same meaning ([`Directory::anchored`]), so a folder of another
    /// database than the main one keeps its loid.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn with_paths(&self, grants: &[Grant]) -> Result<Vec<Grant>> {
        let mut timer = YieldTimer::start();
        let mut with_paths = Vec::with_capacity(grants.len());
        for grant in grants {
            with_paths.push(self.with_path(grant)?);
            timer.yield_if_due().await;
        }
        Ok(with_paths)
    }

    fn with_path(&self, grant: &Grant) -> Result<Grant> {
        let loid = grant.folder.as_ref().and_then(|folder| folder.parse().ok());
        let record = loid.map(|loid| self.repository.record(loid)).transpose()?.flatten();
        let record = record.filter(|record| record.loid.database == DatabaseId::main());
        let path = record.map(|record| self.repository.path_of(&record)).transpose()?.flatten();
        Ok(Grant { privilege: grant.privilege, folder: path.or_else(|| grant.folder.clone()) })
    }

    /// Returns grants whose folders are named by loid, so that a grant follows its folder when that
    /// is renamed or moved.
    ///
    /// # Errors
    /// `TooLarge` for more than [`MAX_GRANTS`]; `InvalidParameter` for a malformed source;
    /// `ObjectNotFound`; `InvalidType` for an object that is not a folder; errors of the store.
    pub(super) async fn anchored(&self, grants: Vec<Grant>, old: &[Grant]) -> Result<Vec<Grant>> {
        // The grants of a group from before there was a limit may become fewer.
        if grants.len() > MAX_GRANTS.max(old.len()) {
            let message = format!("`privileges` has {} entries; at most {MAX_GRANTS} are allowed.", grants.len());
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MAX_GRANTS));
        }
        let mut timer = YieldTimer::start();
        let mut anchored = Vec::with_capacity(grants.len());
        for grant in grants {
            timer.yield_if_due().await;
            // A grant that is stored already stays, even if its folder was deleted.
            let Some(folder) = grant.folder.as_ref().filter(|_| !old.contains(&grant)) else {
                anchored.push(grant);
                continue;
            };
            let record = self.repository.resolve(&ObjectSource::parse("folder", folder)?, DatabaseId::main())?;
            if record.family != FamilyKind::Folder {
                let message = format!("`{folder}` is of type {}, not a folder.", record.type_name);
                return Err(Error::new(Code::InvalidType, message).with_source(folder));
            }
            anchored.push(Grant { folder: Some(record.loid.to_string()), ..grant });
        }
        Ok(anchored)
    }
}
