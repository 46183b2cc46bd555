//! Groups (docs/api/groups-and-users.md, "Groups").

pub mod routes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_auth::Privilege;
use stet_auth::{Grant, GroupChange, GroupView};
use stet_domain::error::{Code, Error, Result};
use stet_web::body::JsonObject;
use stet_web::call::Call;
use stet_web::reply::Json;

use super::user::admin;

/// Body of a group's creation or change. In a change, fields that are left out keep their values.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRequest {
    /// Name of the group.
    group_name: Option<String>,
    /// Alternative name of `groupName`.
    name: Option<String>,
    /// Purpose of the group.
    description: Option<String>,
    /// Names of all its members.
    members: Option<Vec<String>>,
    /// All privileges of its members.
    privileges: Option<Vec<JsonObject<GrantRequest>>>,
}

/// A privilege of the members of a group.
///
/// Unknown keys are refused, because a misspelt `folder` would grant the privilege everywhere.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// Privilege to grant.
    privilege: Privilege,
    /// Loid, uuid or path of a folder: the privilege holds in it and below it. Without one it holds
    /// everywhere.
    folder: Option<String>,
}

/// A deleted group.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupDeleted {
    /// Name of the group.
    pub group_name: String,
}

/// Names of groups.
pub type GroupNames = Vec<String>;

impl GroupRequest {
    fn parts(self) -> Result<(String, GroupChange)> {
        let name = self.group_name.or(self.name).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::new(Code::InvalidName, "The group needs a `groupName`."))?;
        let grant =
            |JsonObject(grant): JsonObject<GrantRequest>| Grant { privilege: grant.privilege, folder: grant.folder };
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
    let removed = call.app.directory.by(call.identity()?).remove_group(name).await?;
    Json::of(&GroupDeleted { group_name: removed.to_string() })
}

/// `GET /conf/group/list`
pub async fn list(call: Call) -> Result<Json<GroupNames>> {
    // Users and groups are those of the whole server, whichever database is named.
    call.database()?;
    let groups = call.app.directory.groups()?;
    Json::of(&groups.iter().map(|group| group.name.to_string()).collect::<GroupNames>())
}
