//! Changing groups, and who is in them: one commit for the group and all of its members.

use std::collections::BTreeSet;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::object::FamilyKind;
use stet_actors::store::{Change, Row, Table};

use super::directory::{Directory, unknown};
use super::name::Name;
use super::rows::{Grant, Group, User, put, remove};

/// A change of a group; fields that are not given stay.
#[derive(Debug, Clone, Default)]
pub struct GroupChange {
    /// What it is for.
    pub description: Option<String>,
    /// Names of all its members.
    pub members: Option<Vec<String>>,
    /// All that its members may do.
    pub privileges: Option<Vec<Grant>>,
}

impl Directory {
    /// All groups, by name.
    ///
    /// # Errors
    /// What the store says.
    pub fn groups(&self) -> Result<Vec<Group>> {
        self.repository.rows(Table::Groups)
    }

    /// The names of a group's members, in order.
    ///
    /// # Errors
    /// What the store says.
    pub fn members(&self, group: &Name) -> Result<Vec<Name>> {
        let users = self.users()?.into_iter();
        Ok(users.filter(|user| user.groups.contains(group)).map(|user| user.name).collect())
    }

    /// Makes or replaces a group; its members stay.
    ///
    /// # Errors
    /// `InvalidName`; `ObjectNotFound`, `InvalidType` for the folder of a grant; what the store says.
    pub async fn put_group(&self, group: Group) -> Result<()> {
        let change =
            GroupChange { description: Some(group.description), members: None, privileges: Some(group.privileges) };
        self.write_group(&group.name, change, |_| Ok(())).await
    }

    /// Makes a group.
    ///
    /// # Errors
    /// `InvalidName`; `DuplicatedName`; as [`Directory::change_group`].
    pub async fn create_group(&self, name: &str, change: GroupChange) -> Result<()> {
        let must_be_new = |there| match there {
            true => Err(Error::duplicated(format!("There is a group `{name}` already."), Some(name))),
            false => Ok(()),
        };
        self.write_group(name, change, must_be_new).await
    }

    /// Changes what is named of a group.
    ///
    /// # Errors
    /// `ObjectNotFound` for the group, a member, or the folder of a grant; `InvalidType` for an object that is not a folder;
    /// what the store says.
    pub async fn change_group(&self, name: &str, change: GroupChange) -> Result<()> {
        self.write_group(name, change, |there| if there { Ok(()) } else { Err(unknown("group", name)) }).await
    }

    /// Removes a group; nobody is in it any more. Gives its name.
    ///
    /// # Errors
    /// `ObjectNotFound`; what the store says.
    pub async fn remove_group(&self, name: &str) -> Result<Name> {
        let turn = self.turn().await;
        let group = self.group(name)?.ok_or_else(|| unknown("group", name))?;
        let mut changes = vec![remove(group.place())];
        self.set_members(&group.name, &BTreeSet::new(), &mut changes)?;
        self.commit(turn, changes).await?;
        Ok(group.name)
    }

    async fn write_group(&self, name: &str, change: GroupChange, check: impl FnOnce(bool) -> Result<()>) -> Result<()> {
        let turn = self.turn().await;
        let old = self.group(name)?;
        check(old.is_some())?;
        let new = || Ok(Group { name: Name::checked(name)?, description: String::new(), privileges: Vec::new() });
        let mut group = old.map_or_else(new, Ok)?;
        if let Some(description) = change.description {
            group.description = description;
        }
        if let Some(privileges) = change.privileges {
            group.privileges = self.anchored(privileges, &group.privileges)?;
        }
        let mut changes = vec![put(&group)];
        if let Some(members) = change.members {
            let known = |member: &String| {
                let user = self.user(member)?.ok_or_else(|| unknown("user", member))?;
                Ok(user.name.clone())
            };
            let members = members.iter().map(known).collect::<Result<_>>()?;
            self.set_members(&group.name, &members, &mut changes)?;
        }
        self.commit(turn, changes).await
    }

    /// Notes the users whose membership changes.
    fn set_members(&self, group: &Name, members: &BTreeSet<Name>, changes: &mut Vec<Change>) -> Result<()> {
        for mut user in self.users()? {
            let (is, shall) = (user.groups.contains(group), members.contains(&user.name));
            if is != shall {
                user.groups.retain(|name| name != group);
                user.groups.extend(shall.then(|| group.clone()));
                changes.push(put::<User>(&user));
            }
        }
        Ok(())
    }

    /// Grants as people read them: with the folders' paths, where they have any.
    ///
    /// # Errors
    /// What the store says.
    pub fn with_paths(&self, grants: &[Grant]) -> Result<Vec<Grant>> {
        let with_path = |grant: &Grant| {
            let loid = grant.folder.as_ref().and_then(|folder| folder.parse().ok());
            let record = loid.map(|loid| self.repository.record(loid)).transpose()?.flatten();
            let path = record.map(|record| self.repository.path_of(&record)).transpose()?.flatten();
            Ok(Grant { privilege: grant.privilege, folder: path.or_else(|| grant.folder.clone()) })
        };
        grants.iter().map(with_path).collect()
    }

    /// Grants whose folders are named by loid, so that they go along when a folder is renamed or moved.
    ///
    /// # Errors
    /// `InvalidParameter` for a malformed source; `ObjectNotFound`; `InvalidType` for an object that is not a folder; what the
    /// store says.
    pub(super) fn anchored(&self, grants: Vec<Grant>, old: &[Grant]) -> Result<Vec<Grant>> {
        let anchor = |grant: Grant| {
            // A grant that is stored already stays, though its folder may have gone.
            let Some(folder) = grant.folder.as_ref().filter(|_| !old.contains(&grant)) else { return Ok(grant) };
            let record = self.repository.resolve(&Source::parse("folder", folder)?, DatabaseId::MAIN)?;
            if record.family != FamilyKind::Folder {
                let message = format!("`{folder}` is of type {}, not a folder.", record.type_name);
                return Err(Error::new(Code::InvalidType, message).with_source(folder));
            }
            Ok(Grant { folder: Some(record.loid.to_string()), ..grant })
        };
        grants.into_iter().map(anchor).collect()
    }
}
