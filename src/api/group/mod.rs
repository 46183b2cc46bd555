//! Groups (docs/api/groups-and-users.md, "Groups").

pub mod routes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::error::{Code, Error, Result};

use super::user::admin;
use crate::auth::Privilege;
use crate::auth::{Grant, GroupChange, GroupView};
use crate::http::body::Object;
use crate::http::call::Call;
use crate::http::reply::Json;

/// Body of a group's creation, and of its change: then what is not named stays.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRequest {
    /// Name of the group.
    group_name: Option<String>,
    /// The same.
    name: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// Names of all its members.
    members: Option<Vec<String>>,
    /// All that its members may do.
    privileges: Option<Vec<Object<GrantRequest>>>,
}

/// Something that the members of a group may do.
///
/// An unknown key is refused: a misspelt `folder` would allow it everywhere.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// What.
    privilege: Privilege,
    /// Loid, uuid or path of the folder below which, itself included; everywhere without it.
    folder: Option<String>,
}

/// A group that is no more.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupDeleted {
    /// The name it had.
    pub group_name: String,
}

/// Names of groups.
pub type GroupNames = Vec<String>;

impl GroupRequest {
    fn parts(self) -> Result<(String, GroupChange)> {
        let name = self.group_name.or(self.name).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::new(Code::InvalidName, "The group needs a `groupName`."))?;
        let grant = |Object(grant): Object<GrantRequest>| Grant { privilege: grant.privilege, folder: grant.folder };
        let privileges = self.privileges.map(|grants| grants.into_iter().map(grant).collect());
        Ok((
            name,
            GroupChange { description: self.description, members: self.members, privileges, ..GroupChange::default() },
        ))
    }
}

/// `POST /v3/group/create`
pub async fn create(call: Call) -> Result<Json<GroupView>> {
    let (name, change) = call.json::<GroupRequest>().await?.parts()?;
    Json::of(&admin(&call)?.under(call.step()).add_group(&name, change).await?)
}

/// `POST /v3/group/update`
pub async fn update(call: Call) -> Result<Json<GroupView>> {
    let (name, change) = call.json::<GroupRequest>().await?.parts()?;
    Json::of(&admin(&call)?.under(call.step()).change_group(&name, change).await?)
}

/// `DELETE /v3/group/delete`
pub async fn delete(call: Call) -> Result<Json<GroupDeleted>> {
    let name = call.query.text("groupName").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::new(Code::InvalidParameter, "`groupName` is required."))?;
    let removed = call.app.directory.by(call.who()?).remove_group(name).await?;
    Json::of(&GroupDeleted { group_name: removed.to_string() })
}

/// `GET /conf/group/list`
pub async fn list(call: Call) -> Result<Json<GroupNames>> {
    // Users and groups are those of the whole server, whichever database is asked for.
    call.database()?;
    let groups = call.app.directory.groups()?;
    Json::of(&groups.iter().map(|group| group.name.to_string()).collect::<GroupNames>())
}
