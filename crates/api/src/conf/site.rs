//! The site configuration and the files that are refreshed with it.

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::cache::RefreshExtent;
use stet_auth::Privilege;
use stet_base::limits::offload;
use stet_base::nearest::with_nearest;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_sysconfig::caches::RefreshFailure;
use stet_sysconfig::files::FOLDER;
use stet_sysconfig::{Catalog, Catalogs, Collage, Index, ListKind, Site, WholeFile, WidthUnit, parse};
use stet_web::call::Call;
use stet_web::etag::ETag;
use stet_web::reply::{Json, Reply};

use crate::auth::{ConnectionInfo, connection_info};
use crate::cache::RefreshError;

/// The text of an empty site configuration.
const EMPTY: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<siteConfig/>\n";

/// `GET /v3/conf/siteconfigxml`
pub async fn site_config_xml(call: Call) -> Result<Reply> {
    let database = call.database()?;
    let everything = call.query.boolean("forceRefresh");
    if everything || call.query.boolean("refresh") {
        // Everyone may read, but few may change the configuration in force.
        let who = call.identity()?;
        call.refuse_foreign_origin()?;
        call.access().check_everywhere(Privilege::Configure)?;
        let extent = if everything { RefreshExtent::Everything } else { RefreshExtent::Changed };
        let refreshed = call.app.sysconfig.sites.of(database).refresh(extent, who).await;
        refreshed.map_err(|refused| not_refreshed(&call, refused))?;
    }
    let in_force = call.app.sysconfig.sites.of(database).in_force();
    let tag = ETag::of_bytes(in_force.value.content.text_sha256);
    if call.has(&tag) {
        return Ok(Reply::not_modified(tag));
    }
    let text = &in_force.value.content.text;
    let text = if text.is_empty() { bytes::Bytes::from_static(EMPTY) } else { text.clone() };
    Ok(Reply::xml(text).with_etag(tag))
}

fn not_refreshed(call: &Call, refused: RefreshFailure) -> Error {
    if let RefreshFailure::Failed(error) = refused {
        return error;
    }
    let database = call.database().unwrap_or(stet_domain::id::DatabaseId::main());
    let errors = RefreshError::of(&call.app, database, "site", refused);
    let message = format!(
        "The site configuration has {}. The previous configuration stays in force.",
        count_with_noun(errors.len(), "fault")
    );
    // Texts and numbers are always serialisable.
    let errors = serde_json::to_value(errors).unwrap_or_default();
    Error::new(Code::InvalidBody, message).with_detail("errors", errors)
}

/// The collage configuration.
#[derive(Serialize, JsonSchema)]
pub struct CollageReply {
    /// The collages, one for each channel with layouts.
    items: Vec<Collage>,
}

/// `GET /v3/conf/collage`
pub async fn collage(call: Call) -> Result<Json<CollageReply>> {
    let content = call.app.sysconfig.site_content(call.database()?);
    let wanted = call.query.text("channel").filter(|name| !name.is_empty());
    let wanted = match wanted {
        Some(name) => Some(channel_id(&content.site, name)?),
        None => None,
    };
    Json::made(content.bytes, move || {
        let id_of = |name: &str| content.site.channel(name).map(|channel| channel.id.clone());
        let is_wanted = |collage: &&Collage| wanted.is_none() || id_of(&collage.channel) == wanted;
        Ok(CollageReply { items: content.collages.0.iter().filter(is_wanted).cloned().collect() })
    })
    .await
}

/// Returns the id of a channel that a call names.
///
/// # Errors
/// `InvalidParameter` for an unknown channel.
pub(crate) fn channel_id(site: &Site, name: &str) -> Result<SharedText> {
    // Lists only as many as are useful.
    let names = || site.channels.list().iter().take(20).map(|channel| &*channel.name).collect::<Vec<_>>().join(", ");
    let known = site.channel(name).map(|channel| channel.id.clone());
    known.ok_or_else(|| {
        let error = Error::parameter("channel", name, &format!("a channel of the site configuration ({})", names()));
        with_nearest(error, name, site.channels.list().iter().map(|channel| &*channel.name))
    })
}

/// The indexes.
#[derive(Serialize, JsonSchema)]
pub struct IndexesReply {
    /// The indexes of the database.
    items: Vec<Index>,
}

/// `GET /v3/conf/indexes`
pub async fn indexes(call: Call) -> Result<Json<IndexesReply>> {
    let database = call.database()?;
    let content = call.app.sysconfig.site_content(database);
    let app = call.app.clone();
    Json::made(content.bytes, move || {
        // An index for a database that is not configured belongs to no database.
        let is_of =
            |index: &&Index| index.database.as_deref().is_none_or(|named| app.database(Some(named)) == Ok(database));
        Ok(IndexesReply { items: content.indexes.0.iter().filter(is_of).cloned().collect() })
    })
    .await
}

/// The database connections.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionsReply {
    /// The connections that a login may name as `connectionId`.
    items: Vec<ConnectionInfo>,
    /// The databases, with `showRepositories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    repositories: Option<Vec<RepositoryInfo>>,
    /// Number of the default database, with `showRepositories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_repository: Option<u16>,
}

/// A database.
#[derive(Serialize, JsonSchema)]
pub struct RepositoryInfo {
    /// The number in front of its loids.
    id: u16,
    /// The name, which calls may give instead of the number.
    name: String,
}

/// `GET /v3/conf/connections`
pub async fn connections(call: Call) -> Result<Json<ConnectionsReply>> {
    let config = &call.app.config;
    let shows = call.query.boolean("showRepositories");
    let repositories =
        || config.databases.iter().map(|known| RepositoryInfo { id: known.id, name: known.name.clone() }).collect();
    Json::of(&ConnectionsReply {
        items: config.connections.iter().map(connection_info).collect(),
        repositories: shows.then(repositories),
        default_repository: shows.then_some(stet_domain::id::DatabaseId::main().0),
    })
}

/// Column catalogs.
#[derive(Serialize, JsonSchema)]
pub struct CatalogsReply {
    /// The catalogs that the caller may use, in the order of the file.
    items: Vec<CatalogInfo>,
}

/// A column catalog.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogInfo {
    /// The name for people.
    name: SharedText,
    /// The kind of lists that the catalog is for.
    #[schemars(extend("enum" = ["ALL", "FOLDER", "DRAWER", "BUNDLE", "MESSAGE"]))]
    r#type: &'static str,
    /// The branch of the repository that the catalog is for.
    path: SharedText,
    /// Whether the catalog is preferred to others that fit.
    is_default: bool,
    /// The views, in the order of the file.
    views: Vec<CatalogView>,
}

/// A view of a catalog.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogView {
    /// The name that calls use.
    name: SharedText,
    /// The title for people.
    title: SharedText,
    /// Whether the view is used if a call names none.
    is_default: bool,
    /// The columns, from left to right.
    columns: Vec<CatalogColumn>,
}

/// A column of a view.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogColumn {
    /// The id of the column in replies.
    id: SharedText,
    /// The heading for people.
    title: SharedText,
    /// The width, in the unit of `widthUnit`.
    width: f64,
    /// The unit of the width.
    #[schemars(extend("enum" = ["PIXEL", "POINT", "MILLIMETER", "INCH"]))]
    width_unit: &'static str,
    /// The source of the column's values.
    path: SharedText,
}

/// `GET /v3/conf/catalogs`
pub async fn catalogs(call: Call) -> Result<Json<CatalogsReply>> {
    let database = call.database()?;
    let kind = call.query.text("type").unwrap_or_default();
    let lists = ListKind::named(kind).ok_or_else(|| {
        let names: Vec<&str> = ListKind::names().collect();
        with_nearest(Error::parameter("type", kind, &format!("one of {}", names.join(", "))), kind, names)
    })?;
    let file = call.query.text("file").unwrap_or_default();
    if file.is_empty() || file.contains('/') || file == ".." {
        return Err(Error::parameter("file", file, "the name of a file of column catalogs"));
    }
    let path = format!("{FOLDER}/Columns/{file}");
    let (found, bytes) = match &*path {
        stet_sysconfig::CATALOGS_PATH => {
            let content = call.app.sysconfig.site_content(database);
            (content.catalogs.clone(), content.bytes)
        }
        _ => {
            let text = call.app.sysconfig.xml_files.get(database, &path, true).await?.text.clone();
            let bytes = text.len();
            let read = move || {
                // The cache has checked that it is UTF-8.
                let text = std::str::from_utf8(&text).unwrap_or_default();
                let parsed = parse::<Catalogs>(&WholeFile::of_text(&path, text));
                parsed.map(|parsed| std::sync::Arc::new(parsed.value)).map_err(|mut faults| faults.swap_remove(0))
            };
            let read = offload::offload(read).await?.map_err(|fault| {
                let message = format!("The file is not a valid file of column catalogs: {fault}.");
                Error::new(Code::InvalidParameter, message).with_source(file)
            })?;
            (read, bytes)
        }
    };
    let groups: Vec<SharedText> = match call.session() {
        Some(session) => {
            let user = call.app.directory.user(session.user())?;
            user.iter().flat_map(|user| &user.groups).map(|group| SharedText::from(&**group)).collect()
        }
        // Only the catalogs for everyone remain.
        None => Vec::new(),
    };
    Json::made(bytes, move || {
        let items = found.valid(lists, &groups).map(|catalog| CatalogInfo::of(catalog)).collect();
        Ok(CatalogsReply { items })
    })
    .await
}

impl CatalogInfo {
    fn of(catalog: &Catalog) -> CatalogInfo {
        let views = catalog.views.iter().map(|view| CatalogView {
            name: view.name.clone(),
            title: view.title.clone(),
            is_default: view.is_default,
            columns: view
                .columns
                .iter()
                .map(|column| {
                    let unit: WidthUnit = column.unit();
                    CatalogColumn {
                        id: column.id.clone(),
                        title: column.title.clone(),
                        width: column.width(unit),
                        width_unit: unit.name(),
                        path: column.path.clone(),
                    }
                })
                .collect(),
        });
        CatalogInfo {
            name: catalog.name.clone(),
            r#type: catalog.lists().name(),
            path: catalog.path.clone(),
            is_default: catalog.is_default,
            views: views.collect(),
        }
    }
}
