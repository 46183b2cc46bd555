//! What the service takes from the site configuration so far: the channels that stories are copied for, the content items that editors
//! find in such a copy, and the folders that new objects go to when no folder is named.

use std::collections::{HashMap, HashSet};

use stet_actors::object::{Text, file_name};

use super::document::{Document, Element, ParseError};

/// A channel that stories go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// What it is told apart by; calls may name it by this, too.
    pub id: Text,
    /// Its name, and that of copies for it.
    pub name: Text,
    /// Whether bundles hold copies for it.
    pub compound: bool,
    /// Whether the bundle's own text is this channel's, where there is no copy for it.
    pub is_neutral: bool,
    /// What may be done with some content items in a copy, by their type.
    pub actions: Vec<(Text, Vec<Text>)>,
}

/// A part of a story that can be picked out and placed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentItem {
    /// What people call it.
    pub name: Text,
    /// What it is.
    pub kind: Text,
    /// Where it stands in the content.
    pub xp: Option<Text>,
}

/// What a site is made of.
#[derive(Debug, Clone, Default)]
pub struct Site {
    channels: Vec<Channel>,
    default_channel: Option<Text>,
    default_product: Option<Text>,
    /// By path.
    work_folders: HashMap<Text, WorkFolder>,
    base_folders: Vec<BaseFolder>,
}

/// A work folder: a desk, and where it works.
#[derive(Debug, Clone)]
struct WorkFolder {
    label: Text,
    dir: Text,
    /// Label of the outermost work folder above it, or its own.
    section: Text,
    /// Those of its own come before the site's.
    base_folders: Vec<BaseFolder>,
}

/// Where new objects of a type go.
#[derive(Debug, Clone)]
struct BaseFolder {
    /// Name of the type.
    content: Text,
    /// Only for this channel.
    channel: Option<Text>,
    /// With placeholders.
    work_path: Text,
}

/// What is known of a new object for which a folder is looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Name of its type.
    pub content: &'a str,
    /// Path of its work folder.
    pub work_folder: &'a str,
    /// `yyyyMMdd`
    pub issue_date: Option<&'a str>,
    /// As the call says.
    pub product: Option<&'a str>,
    /// As the call says.
    pub edition: Option<&'a str>,
    /// As the call says.
    pub team: Option<&'a str>,
}

impl Site {
    /// Reads the text of the site configuration. Elements and attributes that are not known are passed over.
    ///
    /// # Errors
    /// The text is not well-formed, or a channel is not as it must be.
    pub fn parse(text: &str) -> Result<Site, ParseError> {
        let document = Document::parse(text, "siteConfig")?;
        let root = document.root();
        let mut channels: Vec<Channel> = Vec::new();
        let mut known = HashSet::new();
        for element in root.all("channels").flat_map(|channels| channels.all("channel")) {
            let channel = channel(element)?;
            for name in HashSet::from([channel.id.to_lowercase(), channel.name.to_lowercase()]) {
                if !known.insert(name) {
                    return Err(element.error(format!("the channel `{}` is there a second time", channel.name)));
                }
            }
            channels.push(channel);
        }
        let default_channel = root.attribute("defaultChannel").filter(|name| !name.is_empty()).map(Text::from);
        let mut work_folders = HashMap::new();
        for element in root.all("workFolders") {
            gather(element, None, &mut work_folders)?;
        }
        let base_folders = base_folders_in(root.all("baseFolders"))?;
        let default_product = root.attribute("defaultProduct").filter(|name| !name.is_empty()).map(Text::from);
        let site = Site { channels, default_channel, default_product, work_folders, base_folders };
        if let Some(missing) = site.default_channel.as_deref().filter(|name| site.channel(name).is_none()) {
            return Err(root.error(format!("there is no channel `{missing}`, which is the default one")));
        }
        Ok(site)
    }

    /// The channel with that id or name, in any case.
    pub fn channel(&self, wanted: &str) -> Option<&Channel> {
        let is_it = |name: &str| name.to_lowercase() == wanted.to_lowercase();
        self.channels.iter().find(|channel| is_it(&channel.name) || is_it(&channel.id))
    }

    /// The channel that is meant where none is named.
    pub fn default_channel(&self) -> Option<&Channel> {
        self.default_channel.as_deref().and_then(|name| self.channel(name))
    }

    /// The path of the folder that a new object goes to: `None` if the site says of none, or of one that depends on what is not known.
    pub fn base_folder(&self, wanted: &Wanted<'_>) -> Option<String> {
        let work_folder = self.work_folders.get(wanted.work_folder)?;
        let found = [&work_folder.base_folders, &self.base_folders].into_iter().flatten();
        // One for a channel is for calls that name a channel, and creations name none.
        let found = found.into_iter().find(|base| *base.content == *wanted.content && base.channel.is_none())?;
        self.filled(&found.work_path, work_folder, wanted)
    }

    /// A path with what stands for its placeholders.
    fn filled(&self, path: &str, work_folder: &WorkFolder, wanted: &Wanted<'_>) -> Option<String> {
        let (mut out, mut rest) = (String::new(), path);
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}')?;
            let date = wanted.issue_date;
            let value = match name {
                "dir" => Some(&*work_folder.dir),
                "label" => Some(&*work_folder.label),
                "section" => Some(&*work_folder.section),
                "issueDate" => date,
                "yyyy" => date?.get(..4),
                "MM" => date?.get(4..6),
                "dd" => date?.get(6..8),
                "product" => wanted.product.or(self.default_product.as_deref()),
                "edition" => wanted.edition,
                "team" => wanted.team,
                _ => None,
            };
            let value = value.filter(|value| !value.is_empty())?;
            // What a call says is a name, and leads nowhere else; a directory is a path.
            if name != "dir" && value.contains('/') {
                return None;
            }
            out.extend([before, value]);
            rest = behind;
        }
        out.push_str(rest);
        out.starts_with('/').then_some(out)
    }

    /// All channels, in the order of the file.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }
}

/// Notes the work folders in an element, and those in them.
fn gather(
    element: Element<'_>,
    section: Option<&Text>,
    known: &mut HashMap<Text, WorkFolder>,
) -> Result<(), ParseError> {
    for found in element.all("workFolder") {
        let (path, label) = (found.required("path")?, Text::from(found.required("label")?));
        let section = section.unwrap_or(&label).clone();
        let dir = found.attribute("dir").filter(|dir| !dir.is_empty()).unwrap_or(path);
        let work_folder = WorkFolder {
            base_folders: base_folders_in(std::iter::once(found))?,
            dir: dir.into(),
            section: section.clone(),
            label,
        };
        if known.insert(path.into(), work_folder).is_some() {
            return Err(found.error(format!("the work folder `{path}` is there a second time")));
        }
        gather(found, Some(&section), known)?;
    }
    Ok(())
}

fn base_folders_in<'d>(elements: impl Iterator<Item = Element<'d>>) -> Result<Vec<BaseFolder>, ParseError> {
    let base = |element: Element<'d>| {
        Ok(BaseFolder {
            content: element.required("content")?.into(),
            channel: element.attribute("channel").filter(|name| !name.is_empty()).map(Text::from),
            work_path: element.required("workPath")?.into(),
        })
    };
    elements.flat_map(|element| element.all("baseFolder")).map(base).collect()
}

fn channel(element: Element<'_>) -> Result<Channel, ParseError> {
    let (id, name) = (element.required("id")?, element.required("name")?);
    // A copy is named like its channel.
    if file_name(name).map_or(true, |as_file| as_file != name) {
        return Err(element.error(format!("`{name}` can't be the name of an object, and so not that of a channel")));
    }
    let mut actions = Vec::new();
    for item in element.all("contentItems").flat_map(|items| items.all("contentItem")) {
        let listed = item.required("actions")?.split_whitespace().map(Text::from).collect();
        actions.push((Text::from(item.required("type")?), listed));
    }
    Ok(Channel {
        id: id.into(),
        name: name.into(),
        compound: element.flag("compound")?,
        is_neutral: element.flag("isTemplateChannel")?,
        actions,
    })
}

/// Reads the text of the content items.
///
/// # Errors
/// The text is not well-formed, or an item is not as it must be.
pub fn content_items(text: &str) -> Result<Vec<ContentItem>, ParseError> {
    let document = Document::parse(text, "contentItems")?;
    let mut items: Vec<ContentItem> = Vec::new();
    for element in document.root().all("contentItem") {
        let kind = element.required("type")?;
        if items.iter().any(|item| *item.kind == *kind) {
            return Err(element.error(format!("the content item `{kind}` is there a second time")));
        }
        items.push(ContentItem {
            name: element.attribute("name").filter(|name| !name.is_empty()).unwrap_or(kind).into(),
            kind: kind.into(),
            xp: element.attribute("xp").filter(|xp| !xp.is_empty()).map(Text::from),
        });
    }
    Ok(items)
}
