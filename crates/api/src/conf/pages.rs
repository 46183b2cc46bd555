//! Page accessories and shape templates of a channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::nearest::with_nearest;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::DatabaseId;
use stet_domain::object::SharedText;
use stet_endpoint::requests::{DatabaseRef, database_named};
use stet_sysconfig::{Accessory, Channel, ShapeTemplate, Site, SiteContent};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::site::channel_id;

/// The body of a call for page accessories.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessoriesRequest {
    /// Name or id of the channel; without it the site's default one.
    channel: Option<String>,
    /// Id of the requested page; without it all pages are returned.
    page_id: Option<String>,
}

/// The body of a call for shape templates.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShapesRequest {
    /// Name or id of the channel; without it the site's default one.
    channel: Option<String>,
    /// Path of a work folder: only its templates are returned. Without it, the work folder of the
    /// named story counts, if there is one.
    work_folder: Option<String>,
    /// Number or name of the database; the story's database if a story is named.
    database_id: Option<DatabaseRef>,
}

/// The page accessories for a story.
#[derive(Serialize, JsonSchema)]
pub struct AccessoriesReply {
    /// Name of the channel.
    channel: SharedText,
    /// The section of the story's work folder; null if the site defines none.
    section: Option<SharedText>,
    /// The kinds of pages.
    items: Vec<PageInfo>,
}

/// A kind of page with its accessories.
#[derive(Serialize, JsonSchema)]
pub struct PageInfo {
    /// The id that calls use.
    id: SharedText,
    /// The label for people.
    label: SharedText,
    /// The accessories for stories of that section; those of every page come first.
    accessories: Vec<Accessory>,
}

/// Shape templates.
#[derive(Serialize, JsonSchema)]
pub struct ShapesReply {
    /// Name of the channel.
    channel: SharedText,
    /// The templates, in the order of the file.
    items: Vec<ShapeTemplate>,
}

/// Returns the named channel, or else the default one.
fn channel_of<'s>(content: &'s SiteContent, named: Option<&str>) -> Result<&'s Channel> {
    let site = &content.site;
    let named = match named.filter(|name| !name.is_empty()) {
        Some(name) => site.channel(&channel_id(site, name)?),
        None => site.default_channel(),
    };
    let missing = "`channel` is required, because the site configuration has no default channel.";
    named.ok_or_else(|| Error::new(Code::InvalidBody, missing).with_detail("path", "$.channel"))
}

/// `POST /v3/conf/{source}/pageaccessories`
pub async fn page_accessories(call: Call) -> Result<Json<AccessoriesReply>> {
    let request: AccessoriesRequest = call.json().await?;
    let story = call.resolve("source")?;
    let content = call.app.sysconfig.site_content(story.loid.database);
    let channel = channel_of(&content, request.channel.as_deref())?;
    let file = channel.page_accessories.as_ref().and_then(|path| content.page_accessories.get(path));
    let (file, channel) = (file.cloned(), channel.name.clone());
    let work_folder = story.work_folder.as_deref().and_then(|path| content.site.work_folder(path));
    let section = work_folder.map(|(_, section)| section.clone());
    let bytes = file.as_ref().map_or(0, |file| file.offered_bytes);
    Json::made(bytes, move || {
        let is_offered = |accessory: &&Accessory| {
            let of_section = |section: &SharedText| accessory.sections.contains(section);
            accessory.sections.is_empty() || section.as_ref().is_some_and(of_section)
        };
        let wanted = request.page_id.as_deref().filter(|id| !id.is_empty());
        let pages = file.iter().flat_map(|file| file.pages.iter().map(|page| (page, &file.common)));
        let pages = pages.filter(|(page, _)| wanted.is_none_or(|wanted| *page.id == *wanted));
        let items: Vec<PageInfo> = pages
            .map(|(page, common)| PageInfo {
                id: page.id.clone(),
                label: page.label.clone(),
                accessories: common.iter().chain(&page.accessories).filter(is_offered).cloned().collect(),
            })
            .collect();
        if let (Some(wanted), true) = (wanted, items.is_empty()) {
            let known = file.iter().flat_map(|file| &file.pages).take(20).map(|page| &*page.id);
            let known: Vec<&str> = known.collect();
            let error = Error::parameter("pageId", wanted, &format!("a page of the channel ({})", known.join(", ")));
            return Err(with_nearest(error, wanted, known));
        }
        Ok(AccessoriesReply { channel, section, items })
    })
    .await
}

/// `POST /v3/conf/shapetemplates/list`
pub async fn shape_templates(call: Call) -> Result<Json<ShapesReply>> {
    let request: ShapesRequest = call.json().await?;
    let database = database_named(&call, request.database_id.as_ref())?;
    shapes(&call, database, &request, None).await
}

/// `POST /v3/conf/shapetemplates/{source}/list`
pub async fn shape_templates_of(call: Call) -> Result<Json<ShapesReply>> {
    let request: ShapesRequest = call.json().await?;
    let story = call.resolve("source")?;
    shapes(&call, story.loid.database, &request, story.work_folder.as_deref()).await
}

/// Refuses a path that is neither a work folder of the site nor in one. The work folder of a story
/// is not checked, since it may be older than the configuration.
pub(super) fn check_work_folder(site: &Site, path: &str) -> Result<()> {
    let mut above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above));
    if above.any(|path| site.work_folder(path).is_some()) {
        return Ok(());
    }
    Err(Error::parameter("workFolder", path, "the path of a work folder of the site configuration, or of one in it"))
}

async fn shapes(
    call: &Call,
    database: DatabaseId,
    request: &ShapesRequest,
    of_story: Option<&str>,
) -> Result<Json<ShapesReply>> {
    let content = call.app.sysconfig.site_content(database);
    let channel = channel_of(&content, request.channel.as_deref())?;
    let named = request.work_folder.as_deref().filter(|path| !path.is_empty());
    if let Some(path) = named {
        check_work_folder(&content.site, path)?;
    }
    let work_folder = named.or(of_story).map(str::to_owned);
    let file = channel.shape_templates.as_ref().and_then(|path| content.shape_templates.get(path)).cloned();
    let channel = channel.name.clone();
    Json::made(content.bytes, move || {
        let templates = file.iter().flat_map(|file| &file.templates);
        let fits = |template: &&ShapeTemplate| work_folder.as_deref().is_none_or(|path| template.is_for(path));
        Ok(ShapesReply { channel, items: templates.filter(fits).cloned().collect() })
    })
    .await
}
