//! The folder that the site configuration assigns to an object.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::limits::offload;
use stet_domain::error::{Code, Error, Result};
use stet_sysconfig::DestinationQuery;
use stet_web::call::Call;
use stet_web::reply::Json;
use stet_xml::edit::{Path, first_texts};

/// The folder for an object, with the values that lead to it. An unknown value is an empty text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedPath {
    /// Path of the folder.
    path: String,
    /// Name of the object's type.
    content_type: String,
    /// The edition of the object.
    edition: String,
    /// The insert of the object.
    insert: String,
    /// The day of the issue, `yyyyMMdd`.
    issue_date: String,
    /// The team.
    team: String,
    /// The workflow status of objects in the folder.
    work_status: String,
    /// Path of the work folder.
    workfolder: String,
    /// Path of the folder, again.
    workfolder_dir: String,
}

/// The system attributes that creations keep about the product.
static SAID: LazyLock<[Path; 4]> = LazyLock::new(|| {
    // They are valid paths, as a test shows.
    ["/props/productInfo/name", "/props/productInfo/edition", "/props/productInfo/insert", "/props/team"]
        .map(|path| Path::parse(path).expect("it is a path"))
});

/// `GET /v3/conf/{source}/resolvepath`
pub async fn resolve_path(call: Call) -> Result<Json<ResolvedPath>> {
    let object = call.resolve("source")?;
    let attributes = call.app.records.attributes(&call.app.repository, &object).await?;
    let [product, edition, insert, team] = match attributes.system_attributes.clone() {
        Some(text) => {
            let limits = call.app.attribute_limits();
            let read = move || first_texts(&text, SAID.each_ref(), &limits);
            // A text that was stored under other limits counts as empty.
            offload::offload_if_large(attributes.text_bytes(), read).await?.unwrap_or_default()
        }
        None => Default::default(),
    };
    let site = call.app.sysconfig.site(object.loid.database);
    let issue_date = object.issue_date.as_deref();
    let wanted = DestinationQuery {
        content: &object.type_name,
        work_folder: object.work_folder.as_deref().unwrap_or_default(),
        channel: None,
        issue_date,
        product: product.as_deref(),
        edition: edition.as_deref(),
        insert: insert.as_deref(),
        team: team.as_deref(),
    };
    let found = site.destination(&wanted);
    let resolved = found.and_then(|found| Some((found, site.filled(&found, &wanted)?)));
    let Some((found, path)) = resolved else {
        let message = format!(
            "The site configuration has no folder for a {} of the work folder `{}`.",
            object.type_name, wanted.work_folder
        );
        return Err(Error::new(Code::ObjectNotFound, message).with_source(call.param("source")));
    };
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    Json::of(&ResolvedPath {
        workfolder_dir: path.clone(),
        path,
        content_type: object.type_name.to_string(),
        edition: text(wanted.edition),
        insert: text(wanted.insert),
        issue_date: text(wanted.issue_date),
        team: text(wanted.team),
        work_status: text(found.base_folder.work_status.as_deref()),
        workfolder: found.work_folder.path.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_attribute_paths_are_valid() {
        assert_eq!(SAID.len(), 4);
    }
}
