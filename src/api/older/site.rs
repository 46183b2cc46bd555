//! What the site configuration has, as clients of the older surface see it: channels, content
//! items, teams, work folders (docs/api/channels.md, content-items.md, teams.md, work-folders.md).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::object::Text;

use super::place::{named, team};
use crate::api::conf::channel_id;
use crate::http::call::Call;
use crate::http::reply::Json;
use crate::limits::yielding::YieldTimer;
use crate::sysconfig::{Calendar, Channel, ContentItem, Site, Wanted, WorkFolder};

/// A channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelEntry {
    /// What calls name it by.
    id: Text,
    /// Its name, by which calls may name it, too.
    name: Text,
    /// print, web, tablet or wap.
    r#type: Text,
    /// If it has editions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    editions: Vec<Named>,
    /// Templates, and the stylesheets that go with them.
    styles_group: Vec<StylesGroupEntry>,
    /// With `showCalendar`: the calendar that it follows; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    calendar: Option<Option<CalendarEntry>>,
    /// With `showCompound`: whether bundles hold copies for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    compound: Option<bool>,
    /// With `showInserts`: the inserts that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    inserts: Option<Vec<Named>>,
    /// With `showTemplateChannels`: whether the bundle's own text is this channel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_template_channel: Option<bool>,
    /// With `showTemplateChannels`: the channel that copies for it are inherited from; null without
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    template_channel: Option<Option<Text>>,
    /// With `showWorkfolders`: paths of the work folders that serve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    workfolders: Option<Vec<Text>>,
}

/// Something with a name.
#[derive(Serialize, JsonSchema)]
pub struct Named {
    /// Its name.
    name: Text,
}

/// Templates, and the stylesheets that go with them.
#[derive(Serialize, JsonSchema)]
pub struct StylesGroupEntry {
    /// Paths; not without `showTemplates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<Vec<Text>>,
    /// In the order of the file.
    stylesheets: Vec<StylesheetEntry>,
}

/// A stylesheet.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StylesheetEntry {
    /// Its path.
    href: Text,
    /// What people read.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Text>,
    /// Whether it is the one that is meant where none is named.
    is_default: bool,
}

/// A calendar.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalendarEntry {
    /// Its name.
    name: Text,
    /// The product whose it is.
    product: Text,
    /// Where its days begin and end.
    time_zone: Option<String>,
    /// How clients write its days.
    date_format: Option<Text>,
    /// Days of the week with an issue: MO to SU.
    publishes: Vec<&'static str>,
}

/// A team.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamEntry {
    /// Its name.
    name: Text,
    /// Whether it is the one that is meant where none is named.
    is_default: bool,
    /// What it works for; empty without `showChannels`.
    channels: Vec<TeamChannelEntry>,
}

/// A channel of a team.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamChannelEntry {
    /// Its name.
    name: Text,
    /// Whether it is the one that is meant where none is named.
    is_default: bool,
}

/// A work folder.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkfolderEntry {
    /// Tells it apart.
    id: Text,
    /// What people read.
    label: Text,
    /// What calls name it by.
    path: Text,
    /// What it is: section, subsection.
    r#type: Text,
    /// The folder that it works in.
    dir: Text,
    /// Whether it is the one that is meant where none is named.
    is_default: bool,
    /// How many of the work folders in it are for what was asked.
    child_count: usize,
    /// Where new objects of its go; empty without `showBasefolders`.
    base_folders: Vec<BaseFolderEntry>,
}

/// Where new objects of a type go.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseFolderEntry {
    /// Name of the object type.
    content: Text,
    /// What people read.
    name: Text,
    /// Path of the folder; not where it depends on the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    work_path: Option<String>,
}

fn names<'n>(names: impl Iterator<Item = &'n Text>) -> Vec<Named> {
    names.map(|name| Named { name: name.clone() }).collect()
}

/// Which work folder an object is for; `None`: any.
struct Serves<'a> {
    channel: Option<&'a Channel>,
    team: Option<&'a str>,
    content: Option<&'a str>,
    site: &'a Site,
}

impl Serves<'_> {
    fn is(&self, folder: &WorkFolder) -> bool {
        let named = |list: &[Text], channel: &Channel| {
            list.iter().any(|name| self.site.channel(name).is_some_and(|known| known.id == channel.id))
        };
        let channel = self.channel.is_none_or(|it| folder.channels.is_empty() || named(&folder.channels, it));
        let team = self.team.is_none_or(|it| folder.teams.is_empty() || folder.teams.iter().any(|name| **name == *it));
        channel && team && self.content.is_none_or(|content| self.destination(folder, content))
    }

    fn destination(&self, folder: &WorkFolder, content: &str) -> bool {
        let channel = self.channel.map(|channel| &*channel.name);
        self.site.destination(&Wanted { content, work_folder: &folder.path, channel, ..Wanted::default() }).is_some()
    }
}

/// `GET /conf/channel/list`
pub async fn channels(call: Call) -> Result<Json<Vec<ChannelEntry>>> {
    let database = call.database()?;
    // Each once, however often it is named.
    let mut work_folders = BTreeSet::new();
    let mut way = YieldTimer::new();
    let sources = call.query.list("loidsSource");
    let most = call.app.config.limits.list_sources;
    if sources.len() > most {
        let message = format!("`loidsSource` names {} objects, and {most} are allowed.", sources.len());
        return Err(Error::new(Code::TooLarge, message).with_detail("limit", most));
    }
    for source in sources.iter().filter(|source| !source.is_empty()) {
        way.yield_if_due().await;
        let object = call.find(&Source::parse("loidsSource", source)?, database)?;
        work_folders.extend(object.work_folder.clone());
    }
    let content = call.app.sysconfig.site_content(database);
    let shows = |switch: &str| call.query.boolean(switch);
    let (calendar, compound, inserts) = (shows("showCalendar"), shows("showCompound"), shows("showInserts"));
    let (template_channels, templates) = (shows("showTemplateChannels"), shows("showTemplates"));
    let with_folders = shows("showWorkfolders");
    // Each channel is held against work folders: those of the objects, or all of them.
    let rounds = if with_folders { content.site.channels.list().len() } else { work_folders.len() };
    Json::made(content.bytes.saturating_mul(rounds.max(1)), move || {
        let site = &content.site;
        let mut listed = 0;
        let entry = |channel: &Channel| {
            let serves = Serves { channel: Some(channel), team: None, content: None, site };
            // A channel is for objects if all of their work folders serve it.
            let is_for = |path: &Text| site.work_folder(path).is_none_or(|(folder, _)| serves.is(folder));
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
                format!("`showWorkfolders` would list {MOST_LISTED} work folders or more, each of each channel.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_LISTED));
        }
        Ok(entries)
    })
    .await
}

/// Work folders that are listed with channels: each channel may have all of the site.
const MOST_LISTED: usize = 100_000;

/// Shows work folders and all in them. The depth of configuration files is bounded.
fn all_below(folders: &[WorkFolder], see: &mut impl FnMut(&WorkFolder)) {
    for folder in folders {
        see(folder);
        all_below(&folder.children, see);
    }
}

fn styles(group: &crate::sysconfig::StylesGroup, templates: bool) -> StylesGroupEntry {
    let sheet = |sheet: &crate::sysconfig::Stylesheet| StylesheetEntry {
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

/// The content items, without those that are not valid where that is asked.
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
        let team = |team: &crate::sysconfig::Team| TeamEntry {
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
    let channel = named(&call, "channel").map(|name| channel_id(site, name)).transpose()?;
    // A team that is not named is none's, and not the caller's own: all are listed.
    let of_team = match named(&call, "team") {
        Some(_) => team(&call, site)?.map(|team| team.name.clone()),
        None => None,
    };
    let types = call.app.sysconfig.object_types(database);
    let kind = match named(&call, "contentType") {
        Some(kind) => Some(types.named(kind)?.name.clone()),
        None => None,
    };
    let parent = named(&call, "parent").map(Text::from);
    if let Some(path) = parent.as_ref().filter(|path| site.work_folder(path).is_none()) {
        return Err(Error::new(Code::ObjectNotFound, format!("There is no work folder `{path}`.")).with_source(path));
    }
    let depth = call.query.integer("depth").unwrap_or(1);
    let depth = if depth <= 0 { usize::MAX } else { usize::try_from(depth).unwrap_or(usize::MAX) };
    let with_base_folders = call.query.boolean("showBasefolders");
    Json::made(content.bytes, move || {
        let site = &*content.site;
        let channel = channel.and_then(|id| site.channel(&id));
        let serves = Serves { channel, team: of_team.as_deref(), content: kind.as_deref(), site };
        let top = match parent.and_then(|path| site.work_folder(&path)) {
            Some((folder, _)) => &folder.children,
            None => &site.work_folders,
        };
        let (mut entries, listing) = (Vec::new(), Listed { serves, with_base_folders });
        listing.add(top, depth, &mut entries)?;
        Ok(entries)
    })
    .await
}

/// Work folders that are listed with their base folders, each of which may have as many as the
/// site.
const MOST_WITH_BASE_FOLDERS: usize = 200;

/// What is listed of work folders.
struct Listed<'a> {
    serves: Serves<'a>,
    with_base_folders: bool,
}

impl Listed<'_> {
    /// The depth of configuration files is bounded.
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
                    "More than {MOST_WITH_BASE_FOLDERS} work folders are not listed with their base folders: name a `parent` or less `depth`."
                );
                return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_WITH_BASE_FOLDERS));
            }
            if depth > 1 {
                self.add(&folder.children, depth - 1, entries)?;
            }
        }
        Ok(())
    }

    /// Those that objects of the work folder go to: its own, and the site's for types that it has
    /// none for.
    fn base_folders(&self, folder: &WorkFolder) -> Vec<BaseFolderEntry> {
        let (site, channel) = (self.serves.site, self.serves.channel.map(|channel| &*channel.name));
        let content = self.serves.content;
        let (mut contents, mut seen) = (Vec::new(), HashSet::new());
        for base in folder.base_folders.iter().chain(site.base_folders()) {
            if content.is_none_or(|content| *base.content == *content) && seen.insert(&base.content) {
                contents.push(&base.content);
            }
        }
        let entry = |content: &Text| {
            let team = self.serves.team;
            let wanted = Wanted { content, work_folder: &folder.path, channel, team, ..Wanted::default() };
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
