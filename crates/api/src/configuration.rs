//! The configuration of one user, which a login shows with `loadConfig` (docs/api/configuration.md,
//! "What a login shows").

use schemars::JsonSchema;
use serde::Serialize;
use stet_auth::Privilege;
use stet_auth::User;
use stet_config::for_user;
use stet_domain::error::{Code, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::file_name;
use stet_endpoint::records::path_if_shown;
use stet_newsroom::access::Access;
use stet_newsroom::records::Display;
use stet_newsroom::records::{ObjectRecord, render};
use stet_web::app::App;

/// The configuration of a user.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserConfiguration {
    /// Path of the home folder.
    home: String,
    /// Path of the work folder.
    work_folder: String,
    /// The team.
    team: Option<String>,
    /// Path of the automatic drawer, which is created at its first use.
    automatic_drawer: String,
    /// The databases of the repository.
    databases: Vec<DatabaseInfo>,
    /// The home folder; null if it does not exist in the requested database, or the user may not
    /// read it.
    home_record: Option<ObjectRecord>,
    /// The work folder, likewise.
    work_folder_record: Option<ObjectRecord>,
}

/// A database.
#[derive(Serialize, JsonSchema)]
pub struct DatabaseInfo {
    /// The number in front of loids.
    id: u16,
    /// The name, which calls may give instead of the number.
    name: String,
}

/// Builds the configuration of a user, with records according to the display options.
///
/// # Errors
/// Errors of the store.
pub async fn of_user(
    app: &App,
    access: Access<'_>,
    user: &User,
    database: DatabaseId,
    display: &Display,
) -> Result<UserConfiguration> {
    let (home, work_folder) = (app.home_of(&user.name)?, app.work_folder_of(&user.name)?);
    let drawer = &app.config.drawer;
    let (folder, name) = (for_user(&drawer.automatic_folder, &user.name), for_user(&drawer.automatic_name, &user.name));
    // The name as it is stored: some characters are replaced.
    let name = file_name(&name).unwrap_or(name);
    Ok(UserConfiguration {
        home_record: record_at(app, access, &home, database, display).await?,
        work_folder_record: record_at(app, access, &work_folder, database, display).await?,
        home,
        work_folder,
        team: user.team.clone(),
        automatic_drawer: format!("{folder}/{name}"),
        databases: app
            .config
            .databases
            .iter()
            .map(|known| DatabaseInfo { id: known.id, name: known.name.clone() })
            .collect(),
    })
}

/// Returns the record of the object at a path, if it exists and the user may read it.
async fn record_at(
    app: &App,
    access: Access<'_>,
    path: &str,
    database: DatabaseId,
    display: &Display,
) -> Result<Option<ObjectRecord>> {
    let cached = match app.resolve(&ObjectSource::Path(path.to_owned()), database) {
        Ok(cached) => cached,
        Err(error) if matches!(error.code, Code::ObjectNotFound | Code::InvalidPath) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !access.may(Privilege::Read, &cached)? {
        return Ok(None);
    }
    let mut record =
        render(app, &cached.record, app.records.groups(&app.repository, &cached, display).await?, display)?;
    record.path = path_if_shown(app, &cached.record, display)?;
    Ok(Some(record))
}
