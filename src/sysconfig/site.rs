//! What the service takes from the site configuration so far: the channels that stories are copied for, and with them the content
//! items that editors find in such a copy.

use std::collections::HashSet;

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

/// The channels of a site.
#[derive(Debug, Clone, Default)]
pub struct Site {
    channels: Vec<Channel>,
    default_channel: Option<Text>,
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
        let site = Site { channels, default_channel };
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

    /// All channels, in the order of the file.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }
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
