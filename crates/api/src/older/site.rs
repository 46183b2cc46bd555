//! The site configuration, as clients of the older surface see it: channels, content items, teams
//! and work folders (docs/api/channels.md, content-items.md, teams.md, work-folders.md).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::limits::yielding::YieldTimer;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, ObjectSource};
use stet_domain::object::SharedText;
use stet_sysconfig::{Calendar, Channel, ContentItem, DestinationQuery, Site, WorkFolder};
use stet_web::call::Call;
use stet_web::reply::Json;

use super::place::{optional_parameter, team};
use crate::conf::channel_id;

/// A channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelEntry {
    /// Id by which calls refer to the channel.
    id: SharedText,
    /// Name, by which calls may refer to the channel too.
    name: SharedText,
    /// Kind of channel: print, web, tablet or wap.
    r#type: SharedText,
    /// Editions, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    editions: Vec<NamedEntry>,
    /// Templates with their stylesheets.
    styles_group: Vec<StylesGroupEntry>,
    /// With `showCalendar`: the calendar of the channel; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    calendar: Option<Option<CalendarEntry>>,
    /// With `showCompound`: whether bundles hold copies for the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    compound: Option<bool>,
    /// With `showInserts`: the inserts of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    inserts: Option<Vec<NamedEntry>>,
    /// With `showTemplateChannels`: whether the bundle's own text is for this channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_template_channel: Option<bool>,
    /// With `showTemplateChannels`: the channel from which copies for this one are inherited; null
    /// without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    template_channel: Option<Option<SharedText>>,
    /// With `showWorkfolders`: paths of the work folders that serve the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    workfolders: Option<Vec<SharedText>>,
}

/// A reference by name.
#[derive(Serialize, JsonSchema)]
pub struct NamedEntry {
    /// Name of the thing.
    name: SharedText,
}

/// Templates with their stylesheets.
#[derive(Serialize, JsonSchema)]
pub struct StylesGroupEntry {
    /// Paths of the templates; absent without `showTemplates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<Vec<SharedText>>,
    /// Stylesheets in the order of the file.
    stylesheets: Vec<StylesheetEntry>,
}

/// A stylesheet.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StylesheetEntry {
    /// Path of the stylesheet.
    href: SharedText,
    /// Label for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<SharedText>,
    /// Whether it is the default.
    is_default: bool,
}

/// A calendar.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalendarEntry {
    /// Name of the calendar.
    name: SharedText,
    /// Product of the calendar.
    product: SharedText,
    /// Time zone of its days.
    time_zone: Option<String>,
    /// Date format of clients.
    date_format: Option<SharedText>,
    /// Days of the week with an issue: MO to SU.
    publishes: Vec<&'static str>,
}

/// A team.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamEntry {
    /// Name of the team.
    name: SharedText,
    /// Whether it is the default.
    is_default: bool,
    /// Channels of the team; empty without `showChannels`.
    channels: Vec<TeamChannelEntry>,
}

/// A channel of a team.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamChannelEntry {
    /// Name of the channel.
    name: SharedText,
    /// Whether it is the team's default.
    is_default: bool,
}

/// A work folder.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkfolderEntry {
    /// Unique id.
    id: SharedText,
    /// Label for users.
    label: SharedText,
    /// Path by which calls refer to it.
    path: SharedText,
    /// Kind of work folder: section, subsection.
    r#type: SharedText,
    /// Path of the folder for its objects.
    dir: SharedText,
    /// Whether it is the default.
    is_default: bool,
    /// Number of its child work folders that match the call.
    child_count: usize,
    /// Base folders for its new objects; empty without `showBasefolders`.
    base_folders: Vec<BaseFolderEntry>,
}

/// The folder for new objects of a type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseFolderEntry {
    /// Name of the object type.
    content: SharedText,
    /// Label for users.
    name: SharedText,
    /// Path of the folder; absent if it depends on the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_path: Option<String>,
}

fn names<'n>(names: impl Iterator<Item = &'n SharedText>) -> Vec<NamedEntry> {
    names.map(|name| NamedEntry { name: name.clone() }).collect()
}

/// The criteria for work folders. `None` accepts any value.
struct WorkFolderCriteria<'a> {
    channel: Option<&'a Channel>,
    team: Option<&'a str>,
    content: Option<&'a str>,
    site: &'a Site,
}

impl WorkFolderCriteria<'_> {
    fn is(&self, folder: &WorkFolder) -> bool {
        let named = |list: &[SharedText], channel: &Channel| {
            list.iter().any(|name| self.site.channel(name).is_some_and(|known| known.id == channel.id))
        };
        let channel = self.channel.is_none_or(|it| folder.channels.is_empty() || named(&folder.channels, it));
        let team = self.team.is_none_or(|it| folder.teams.is_empty() || folder.teams.iter().any(|name| **name == *it));
        channel && team && self.content.is_none_or(|content| self.destination(folder, content))
    }

    fn destination(&self, folder: &WorkFolder, content: &str) -> bool {
        let channel = self.channel.map(|channel| &*channel.name);
        self.site
            .destination(&DestinationQuery {
                content,
                work_folder: &folder.path,
                channel,
                ..DestinationQuery::default()
            })
            .is_some()
    }
}

/// `GET /conf/channel/list`
pub async fn channels(call: Call) -> Result<Json<Vec<ChannelEntry>>> {
    let database = call.database()?;
    // Each work folder once, however often it is named.
    let mut work_folders = BTreeSet::new();
    let mut timer = YieldTimer::start();
    let sources = call.query.list("loidsSource");
    let most = call.app.config.limits.list_sources;
    if sources.len() > most {
        let message = format!("`loidsSource` names {} objects; at most {most} are allowed.", sources.len());
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", most));
    }
    for source in sources.iter().filter(|source| !source.is_empty()) {
        timer.yield_if_due().await;
        let object = call.find(&ObjectSource::parse("loidsSource", source)?, database)?;
        work_folders.extend(object.work_folder.clone());
    }
    let content = call.app.sysconfig.site_content(database);
    let shows = |switch: &str| call.query.boolean(switch);
    let (calendar, compound, inserts) = (shows("showCalendar"), shows("showCompound"), shows("showInserts"));
    let (template_channels, templates) = (shows("showTemplateChannels"), shows("showTemplates"));
    let with_folders = shows("showWorkfolders");
    // Each channel is compared with work folders: those of the objects, or all of them.
    let rounds = if with_folders { content.site.channels.list().len() } else { work_folders.len() };
    Json::made(content.bytes.saturating_mul(rounds.max(1)), move || {
        let site = &content.site;
        let mut listed = 0;
        let entry = |channel: &Channel| {
            let serves = WorkFolderCriteria { channel: Some(channel), team: None, content: None, site };
            // A channel is listed for objects if all of their work folders serve it.
            let is_for = |path: &SharedText| site.work_folder(path).is_none_or(|(folder, _)| serves.is(folder));
            work_folders.iter().all(is_for).then(|| ChannelEntry {
                id: channel.id.clone(),
                name: channel.name.clone(),
                r#type: channel.kind.clone(),
                editions: names(channel.editions.iter().map(|edition| &edition.name)),
                styles_group: channel.styles.iter().map(|group| styles(group, templates)).collect(),
                calendar: calendar.then(|| calendar_of(site, channel)),
                compound: compound.then_some(channel.compound),
                inserts: inserts.then(|| names(channel.inserts.iter().map(|insert| &insert.name))),
                is_template_channel: template_channels.then_some(channel.is_neutral),
                template_channel: template_channels.then(|| channel.template_channel.clone()),
                workfolders: with_folders.then(|| {
                    let mut paths = Vec::new();
                    all_below(&site.work_folders, &mut |folder| {
                        if listed < MOST_LISTED && serves.is(folder) {
                            listed += 1;
                            paths.push(folder.path.clone());
                        }
                    });
                    paths
                }),
            })
        };
        let entries = site.channels.list().iter().filter_map(entry).collect();
        if listed == MOST_LISTED {
            let message =
                format!("`showWorkfolders` would list {MOST_LISTED} or more work folders, counted for each channel.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_LISTED));
        }
        Ok(entries)
    })
    .await
}

/// The largest number of work folders listed with channels. Each channel may list all of the site.
const MOST_LISTED: usize = 100_000;

/// Calls `see` for work folders and all below them. The limit on the depth of configuration files
/// bounds the recursion.
fn all_below(folders: &[WorkFolder], see: &mut impl FnMut(&WorkFolder)) {
    for folder in folders {
        see(folder);
        all_below(&folder.children, see);
    }
}

fn styles(group: &stet_sysconfig::StylesGroup, templates: bool) -> StylesGroupEntry {
    let sheet = |sheet: &stet_sysconfig::Stylesheet| StylesheetEntry {
        href: sheet.href.clone(),
        label: sheet.label.clone(),
        is_default: sheet.is_default,
    };
    StylesGroupEntry {
        templates: templates.then(|| group.templates.clone()),
        stylesheets: group.stylesheets.iter().map(sheet).collect(),
    }
}

fn calendar_of(site: &Site, channel: &Channel) -> Option<CalendarEntry> {
    let product = site.product(channel.product.as_deref()?)?;
    let calendar: &Calendar =
        product.calendars.iter().find(|calendar| Some(&calendar.name) == channel.calendar.as_ref())?;
    Some(CalendarEntry {
        name: calendar.name.clone(),
        product: product.name.clone(),
        time_zone: calendar.time_zone.iana_name().map(str::to_owned),
        date_format: calendar.date_format.clone(),
        publishes: calendar.weekdays().collect(),
    })
}

/// Returns the content items; with `validate`, without invalid ones.
async fn items_of<T>(call: &Call, make: fn(Vec<ContentItem>) -> T) -> Result<Json<T>>
where
    T: Serialize + 'static,
{
    let content = call.app.sysconfig.site_content(DatabaseId::main());
    let types = call.app.sysconfig.object_types(DatabaseId::main());
    let validate = call.query.boolean("validate");
    Json::made(content.bytes, move || {
        let is_shown = |item: &&ContentItem| !validate || item.is_valid(&types);
        Ok(make(content.content_items.0.iter().filter(is_shown).cloned().collect()))
    })
    .await
}

/// `GET /conf/contentItems/list`
pub async fn content_items(call: Call) -> Result<Json<Vec<ContentItem>>> {
    items_of(&call, |items| items).await
}

/// `GET /conf/contentItems/map`
pub async fn content_item_map(call: Call) -> Result<Json<BTreeMap<String, ContentItem>>> {
    items_of(&call, |items| items.into_iter().map(|item| (item.kind.to_string(), item)).collect()).await
}

/// `GET /conf/team/list`
pub async fn teams(call: Call) -> Result<Json<Vec<TeamEntry>>> {
    let content = call.app.sysconfig.site_content(call.database()?);
    let shown = call.query.boolean("showChannels");
    Json::made(content.bytes, move || {
        let team = |team: &stet_sysconfig::Team| TeamEntry {
            name: team.name.clone(),
            is_default: team.is_default,
            channels: team
                .channels
                .iter()
                .filter(|_| shown)
                .map(|channel| TeamChannelEntry { name: channel.name.clone(), is_default: channel.is_default })
                .collect(),
        };
        Ok(content.site.teams.iter().map(team).collect())
    })
    .await
}

/// `GET /conf/workfolder/list`
pub async fn work_folders(call: Call) -> Result<Json<Vec<WorkfolderEntry>>> {
    let database = call.database()?;
    let content = call.app.sysconfig.site_content(database);
    let site = &content.site;
    let channel = optional_parameter(&call, "channel").map(|name| channel_id(site, name)).transpose()?;
    // Without a named team, work folders of all teams are listed, not only those of the caller's
    // own.
    let of_team = match optional_parameter(&call, "team") {
        Some(_) => team(&call, site)?.map(|team| team.name.clone()),
        None => None,
    };
    let types = call.app.sysconfig.object_types(database);
    let kind = match optional_parameter(&call, "contentType") {
        Some(kind) => Some(types.named(kind)?.name.clone()),
        None => None,
    };
    let parent = optional_parameter(&call, "parent").map(SharedText::from);
    if let Some(path) = parent.as_ref().filter(|path| site.work_folder(path).is_none()) {
        return Err(Error::new(Code::ObjectNotFound, format!("There is no work folder `{path}`.")).with_source(path));
    }
    let depth = call.query.integer("depth").unwrap_or(1);
    let depth = if depth <= 0 { usize::MAX } else { usize::try_from(depth).unwrap_or(usize::MAX) };
    let with_base_folders = call.query.boolean("showBasefolders");
    Json::made(content.bytes, move || {
        let site = &*content.site;
        let channel = channel.and_then(|id| site.channel(&id));
        let serves = WorkFolderCriteria { channel, team: of_team.as_deref(), content: kind.as_deref(), site };
        let top = match parent.and_then(|path| site.work_folder(&path)) {
            Some((folder, _)) => &folder.children,
            None => &site.work_folders,
        };
        let (mut entries, listing) = (Vec::new(), WorkFolderListing { serves, with_base_folders });
        listing.add(top, depth, &mut entries)?;
        Ok(entries)
    })
    .await
}

/// The largest number of work folders listed with their base folders. Each of them may have as many
/// base folders as the site.
const MOST_WITH_BASE_FOLDERS: usize = 200;

/// The options of a listing of work folders.
struct WorkFolderListing<'a> {
    serves: WorkFolderCriteria<'a>,
    with_base_folders: bool,
}

impl WorkFolderListing<'_> {
    /// Adds work folders to the listing. The limit on the depth of configuration files bounds the
    /// recursion.
    fn add(&self, folders: &[WorkFolder], depth: usize, entries: &mut Vec<WorkfolderEntry>) -> Result<()> {
        for folder in folders.iter().filter(|folder| self.serves.is(folder)) {
            entries.push(WorkfolderEntry {
                id: folder.id.clone(),
                label: folder.label.clone(),
                path: folder.path.clone(),
                r#type: folder.kind.clone(),
                dir: folder.dir.clone(),
                is_default: folder.is_default,
                child_count: folder.children.iter().filter(|child| self.serves.is(child)).count(),
                base_folders: if self.with_base_folders { self.base_folders(folder) } else { Vec::new() },
            });
            if self.with_base_folders && entries.len() > MOST_WITH_BASE_FOLDERS {
                let message = format!(
                    "At most {MOST_WITH_BASE_FOLDERS} work folders can be listed with their base folders. Name a \
                     `parent` or a smaller `depth`."
                );
                return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_WITH_BASE_FOLDERS));
            }
            if depth > 1 {
                self.add(&folder.children, depth - 1, entries)?;
            }
        }
        Ok(())
    }

    /// Returns the base folders for objects of the work folder: its own, and the site's for the
    /// other types.
    fn base_folders(&self, folder: &WorkFolder) -> Vec<BaseFolderEntry> {
        let (site, channel) = (self.serves.site, self.serves.channel.map(|channel| &*channel.name));
        let content = self.serves.content;
        let (mut contents, mut seen) = (Vec::new(), HashSet::new());
        for base in folder.base_folders.iter().chain(site.base_folders()) {
            if content.is_none_or(|content| *base.content == *content) && seen.insert(&base.content) {
                contents.push(&base.content);
            }
        }
        let entry = |content: &SharedText| {
            let team = self.serves.team;
            let wanted =
                DestinationQuery { content, work_folder: &folder.path, channel, team, ..DestinationQuery::default() };
            let found = site.destination(&wanted)?;
            Some(BaseFolderEntry {
                content: content.clone(),
                name: found.base_folder.name.clone().unwrap_or_else(|| content.clone()),
                work_path: site.filled(&found, &wanted),
            })
        };
        contents.into_iter().filter_map(entry).collect()
    }
}
