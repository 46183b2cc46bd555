//! The folders that the site configuration assigns to objects of a type (docs/api/paths.md).

use schemars::JsonSchema;
use serde::Serialize;
use stet_domain::error::{Code, Error, Result};
use stet_domain::folder::child;
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::{file_name, normal_form, parent_path};
use stet_domain::store::ReadLevel;
use stet_newsroom::creation::{Creation, CreationKind, CreationPlace, check_place};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::place::{FolderCriteria, optional_parameter};

/// The folder for objects of a type, and the values that determine it. Unknown values are empty
/// texts.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvePathBean {
    /// Name of the object type.
    content_type: String,
    /// Edition of the objects.
    edition: String,
    /// Insert of the objects.
    insert: String,
    /// Day of the issue, `yyyyMMdd`.
    issue_date: String,
    /// Team of the objects.
    team: String,
    /// Status of the objects in the folder.
    work_status: String,
    /// Path of the work folder.
    workfolder: String,
    /// Path of the folder for the objects.
    workfolder_dir: String,
}

/// The folder for objects of a type.
#[derive(Serialize, JsonSchema)]
pub struct SiteConfiguration {
    /// Name of the object type.
    r#type: String,
    /// Path of the folder.
    basefolder: String,
}

/// `GET /conf/resolve/path`
pub async fn resolve_path(call: Call) -> Result<Json<ResolvePathBean>> {
    let database = call.database()?;
    let site = call.app.sysconfig.site(database);
    if let Some(name) = optional_parameter(&call, "siteName").filter(|name| site.name.as_deref() != Some(name)) {
        let wanted = format!("the name of the site (`{}`)", site.name.as_deref().unwrap_or_default());
        return Err(Error::parameter("siteName", name, &wanted));
    }
    let said = FolderCriteria::of(&call, &site, database, "contentType")?;
    let (found, path) = said.destination(&site)?;
    Json::of(&ResolvePathBean {
        content_type: said.content.to_string(),
        edition: said.edition,
        insert: said.insert,
        issue_date: said.issue_date,
        team: said.team,
        work_status: found.base_folder.work_status.as_deref().unwrap_or_default().to_owned(),
        workfolder: found.work_folder.path.to_string(),
        workfolder_dir: path,
    })
}

/// `GET /conf/siteconfig`
pub async fn site_config(call: Call) -> Result<Json<SiteConfiguration>> {
    let database = DatabaseId::main();
    let site = call.app.sysconfig.site(database);
    let said = FolderCriteria::of(&call, &site, database, "type")?;
    let (_, path) = said.destination(&site)?;
    let name = optional_parameter(&call, "fileName").map(file_name).transpose()?;
    if call.query.boolean("autocreate") {
        // A link on another site's page must create nothing.
        call.refuse_foreign_origin()?;
        ensure_folder(&call, &path, database).await?;
    }
    if call.query.boolean("check") {
        let folder = call.find(&ObjectSource::Path(path.clone()), database)?;
        check_place(&folder, &path)?;
        if let Some(name) = &name {
            let taken = child(call.app.repository.look(), ReadLevel::Committed, folder.loid, &normal_form(name));
            let taken = taken.map_err(|error| stet_actors::runtime::store_failure(&error))?;
            if let Some(taken) = taken {
                let existing = stet_endpoint::records::readable(&call, taken)?.map(|record| record.loid.to_string());
                let message = format!("The name `{name}` is taken in `{path}`.");
                return Err(Error::duplicated(message, existing.as_deref()));
            }
        }
    }
    Json::of(&SiteConfiguration { r#type: said.content.to_string(), basefolder: path })
}

/// Creates the folder of a path with its missing parents, if it does not exist.
async fn ensure_folder(call: &Call, path: &str, database: DatabaseId) -> Result<()> {
    match call.find_seen(&ObjectSource::Path(path.to_owned()), database) {
        Ok(folder) => return check_place(&folder, path),
        Err(error) if error.code == Code::ObjectNotFound => {}
        Err(error) => return Err(error),
    }
    let Some((parent, name)) = parent_path(path).filter(|(_, name)| !name.is_empty()) else { return Ok(()) };
    let above = Some(ObjectSource::Path(parent.to_owned()));
    let place = CreationPlace::Found(call.folder_destination(above, name, database)?);
    // It is no failure if another call has created it since.
    call.create(Creation { database, place, ..Creation::of(CreationKind::Folder, name) }).await.map(drop)
}
