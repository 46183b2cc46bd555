//! Work folders, and the folders for new objects.

use std::collections::{HashMap, HashSet};

use stet_domain::object::SharedText;

use super::Site;
use super::channels::{Channels, Team, check_channel};
use crate::document::{ConfigElement, UniqueNames};

/// A work folder: a desk and its folder.
#[derive(Debug, Clone)]
pub struct WorkFolder {
    /// Identifier.
    pub id: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Path, by which calls refer to the work folder.
    pub path: SharedText,
    /// Path of the folder in which the desk works.
    pub dir: SharedText,
    /// Kind: section, subsection.
    pub kind: SharedText,
    /// Whether the work folder is used when none is named.
    pub is_default: bool,
    /// Teams that it is for; all teams if empty.
    pub teams: Vec<SharedText>,
    /// Channels that it is for; all channels if empty.
    pub channels: Vec<SharedText>,
    /// Base folders of the work folder, which precede those of the site.
    pub base_folders: Vec<BaseFolder>,
    /// Work folders below this one.
    pub children: Vec<WorkFolder>,
}

/// The folder for new objects of a type.
#[derive(Debug, Clone)]
pub struct BaseFolder {
    /// Name of the object type.
    pub content: SharedText,
    /// Channel that the base folder is for; any channel without one.
    pub channel: Option<SharedText>,
    /// Name for users.
    pub name: Option<SharedText>,
    /// Path with placeholders.
    pub work_path: SharedText,
    /// Status that clients give objects there.
    pub work_status: Option<SharedText>,
}

/// The known properties of an object for which a folder is looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct DestinationQuery<'a> {
    /// Name of the object type.
    pub content: &'a str,
    /// Path of the work folder.
    pub work_folder: &'a str,
    /// Name or id of the channel.
    pub channel: Option<&'a str>,
    /// Issue date as `yyyyMMdd`.
    pub issue_date: Option<&'a str>,
    /// Product in the call.
    pub product: Option<&'a str>,
    /// Edition in the call.
    pub edition: Option<&'a str>,
    /// Insert in the call.
    pub insert: Option<&'a str>,
    /// Team in the call.
    pub team: Option<&'a str>,
}

/// The base folder for an object, with the work folder that led to it.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'s> {
    /// The work folder of the object.
    pub work_folder: &'s WorkFolder,
    /// The label of the outermost work folder above it, or its own.
    pub section: &'s SharedText,
    /// The base folder for the object.
    pub base_folder: &'s BaseFolder,
}

impl Site {
    /// Returns the destination of such an object. A base folder of the work folder precedes one of
    /// the site, and one for the given channel precedes one for all.
    pub fn destination(&self, wanted: &DestinationQuery<'_>) -> Option<Destination<'_>> {
        let (work_folder, section) = self.work_folder(wanted.work_folder)?;
        let of = |list: &'_ [BaseFolder], for_channel: bool| {
            list.iter().position(|base| {
                let fits = match (&base.channel, wanted.channel.and_then(|name| self.channel(name))) {
                    (None, _) => !for_channel,
                    (Some(named), Some(channel)) => {
                        for_channel && self.channel(named).is_some_and(|named| named.id == channel.id)
                    }
                    (Some(_), None) => false,
                };
                *base.content == *wanted.content && fits
            })
        };
        let lists = [&work_folder.base_folders, &self.base_folders];
        let found = lists
            .into_iter()
            .find_map(|list| of(list, true).or_else(|| of(list, false)).and_then(|place| list.get(place)));
        found.map(|base_folder| Destination { work_folder, section, base_folder })
    }

    /// Returns a work folder by its path, and the label of the outermost one above it.
    pub fn work_folder(&self, path: &str) -> Option<(&WorkFolder, &SharedText)> {
        let (first, rest) = self.work_folder_places.get(path)?.split_first()?;
        let top = self.work_folders.get(*first)?;
        let found = rest.iter().try_fold(top, |at, next| at.children.get(*next))?;
        Some((found, &top.label))
    }

    /// Returns the path of the folder for a new object. Returns `None` if the site defines none, or
    /// if the path depends on a property that is not known.
    pub fn base_folder(&self, wanted: &DestinationQuery<'_>) -> Option<String> {
        let destination = self.destination(wanted)?;
        self.filled(&destination, wanted)
    }

    /// Returns the path of a destination with its placeholders filled in.
    pub fn filled(&self, destination: &Destination<'_>, wanted: &DestinationQuery<'_>) -> Option<String> {
        let (mut out, mut rest) = (String::new(), &*destination.base_folder.work_path);
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}')?;
            let date = wanted.issue_date;
            let value = match name {
                "dir" => Some(&*destination.work_folder.dir),
                "label" => Some(&*destination.work_folder.label),
                "section" => Some(&**destination.section),
                "issueDate" => date,
                "yyyy" => date?.get(..4),
                "MM" => date?.get(4..6),
                "dd" => date?.get(6..8),
                "product" => wanted.product.or(self.default_product.as_deref()),
                "edition" => wanted.edition,
                "insert" => wanted.insert,
                "channel" => wanted.channel,
                "team" => wanted.team,
                _ => None,
            };
            let value = value.filter(|value| !value.is_empty())?;
            // A value from a call is a name and must not lead elsewhere; only `dir` is a path.
            let leads =
                |value: &str| value.contains('/') || matches!(value, "." | "..") || value.contains(char::is_control);
            if name != "dir" && leads(value) {
                return None;
            }
            out.extend([before, value]);
            rest = behind;
        }
        out.push_str(rest);
        out.starts_with('/').then_some(out)
    }
}

impl Site {
    /// Returns the work folder of users who have none of their own. Among those for the team, it is
    /// the one marked as the default, or else the first; if none is for the team, among all.
    pub fn default_work_folder(&self, team: Option<&Team>) -> Option<&WorkFolder> {
        let for_team = team.and_then(|team| {
            default_of(&self.work_folders, &|folder| folder.teams.is_empty() || folder.teams.contains(&team.name))
        });
        for_team.or_else(|| default_of(&self.work_folders, &|_| true))
    }
}

/// Returns the default folder among those that fit, at any depth, or else the first fitting one at
/// the top level.
fn default_of<'f>(folders: &'f [WorkFolder], fits: &impl Fn(&WorkFolder) -> bool) -> Option<&'f WorkFolder> {
    fn marked<'f>(folders: &'f [WorkFolder], fits: &impl Fn(&WorkFolder) -> bool) -> Option<&'f WorkFolder> {
        // The recursion is bounded, because the depth of configuration files is.
        let one = |folder: &'f WorkFolder| {
            Some(folder).filter(|folder| folder.is_default && fits(folder)).or_else(|| marked(&folder.children, fits))
        };
        folders.iter().find_map(one)
    }
    marked(folders, fits).or_else(|| folders.iter().find(|folder| fits(folder)))
}

/// Returns the indexes that lead to each work folder, by its path.
pub(super) fn places(work_folders: &[WorkFolder]) -> HashMap<SharedText, Vec<usize>> {
    fn below(list: &[WorkFolder], way: &[usize], found: &mut HashMap<SharedText, Vec<usize>>) {
        for (place, folder) in list.iter().enumerate() {
            let own: Vec<usize> = way.iter().copied().chain([place]).collect();
            below(&folder.children, &own, found);
            found.insert(folder.path.clone(), own);
        }
    }
    let mut found = HashMap::new();
    below(work_folders, &[], &mut found);
    found
}

pub(super) fn read(root: ConfigElement<'_>, channels: &Channels, teams: &[Team]) -> Vec<WorkFolder> {
    let teams = teams.iter().map(|team| &*team.name).collect();
    let mut reading = WorkFolderReader { channels, teams, known: UniqueNames::default() };
    root.all_in("workFolders", "workFolder").map(|element| reading.work_folder(element)).collect()
}

struct WorkFolderReader<'s> {
    channels: &'s Channels,
    teams: HashSet<&'s str>,
    known: UniqueNames,
}

impl WorkFolderReader<'_> {
    fn work_folder(&mut self, element: ConfigElement<'_>) -> WorkFolder {
        let (path, label) = (element.required("path"), element.required("label"));
        self.known.check(element, "work folder", path);
        let names = |child: &str| -> Vec<SharedText> {
            let named = element.all(child).map(|child| (child, child.required("name")));
            named
                .map(|(child, name)| {
                    match child.name() {
                        "team" if !self.teams.contains(name) => {
                            child.fault(format!("there is no team `{name}`"));
                        }
                        "channel" => check_channel(child, name, self.channels),
                        _ => {}
                    }
                    name.into()
                })
                .collect()
        };
        let (teams, channels) = (names("team"), names("channel"));
        WorkFolder {
            id: element.attribute("id").unwrap_or(path).into(),
            label: label.into(),
            path: path.into(),
            dir: element.attribute("dir").unwrap_or(path).into(),
            kind: element.attribute("type").unwrap_or("section").into(),
            is_default: element.flag("isDefault"),
            teams,
            channels,
            base_folders: base_folders(element, self.channels),
            children: element.all("workFolder").map(|child| self.work_folder(child)).collect(),
        }
    }
}

/// The names of placeholders, which are written in braces.
const PLACEHOLDERS: [&str; 12] =
    ["dir", "label", "section", "issueDate", "yyyy", "MM", "dd", "product", "edition", "insert", "channel", "team"];

pub(super) fn base_folders(element: ConfigElement<'_>, channels: &Channels) -> Vec<BaseFolder> {
    let base = |element: ConfigElement<'_>| {
        let work_path = element.required("workPath");
        for opened in work_path.split('{').skip(1) {
            let name = opened.split_once('}').map_or(opened, |(name, _)| name);
            if !opened.contains('}') || !PLACEHOLDERS.contains(&name) {
                let known = PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
                element.fault(format!("`workPath` has `{{{name}`, which is not one of {known}"));
            }
        }
        if !work_path.starts_with(['/', '{']) {
            element.fault(format!("`workPath` must begin with `/` or a placeholder, but is `{work_path}`"));
        }
        if let Some(channel) = element.attribute("channel") {
            check_channel(element, channel, channels);
        }
        BaseFolder {
            content: element.required("content").into(),
            channel: element.attribute("channel").map(SharedText::from),
            name: element.attribute("name").map(SharedText::from),
            work_path: work_path.into(),
            work_status: element.attribute("workStatus").map(SharedText::from),
        }
    };
    element.all("baseFolder").map(base).collect()
}
