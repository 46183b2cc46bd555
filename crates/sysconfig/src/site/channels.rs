//! Channels, and the teams that work for them.

use std::collections::{HashMap, HashSet};

use stet_domain::object::{SharedText, file_name};

use super::products::{Insert, Product, inserts};
use crate::document::{ConfigElement, UniqueNames};

/// A channel on which stories are published.
#[derive(Debug, Clone)]
pub struct Channel {
    /// Identifier; calls may use it instead of the name.
    pub id: SharedText,
    /// Name of the channel, and of its channel copies.
    pub name: SharedText,
    /// Kind: print, web, tablet, wap.
    pub kind: SharedText,
    /// Editions in the order of the file.
    pub editions: Vec<Edition>,
    /// Inserts in the order of the file.
    pub inserts: Vec<Insert>,
    /// Product of the channel.
    pub product: Option<SharedText>,
    /// Calendar of the product that the channel follows.
    pub calendar: Option<SharedText>,
    /// Channel from which copies for this one are inherited.
    pub template_channel: Option<SharedText>,
    /// Groups of styles in the order of the file.
    pub styles: Vec<StylesGroup>,
    /// Whether bundles contain copies for the channel.
    pub compound: bool,
    /// Whether the bundle's own text serves for the channel while there is no copy for it.
    pub is_neutral: bool,
    /// Allowed actions for content items in a copy, by the item's type.
    pub actions: Vec<(SharedText, Vec<SharedText>)>,
    /// Path of the page accessories file.
    pub page_accessories: Option<SharedText>,
    /// Path of the shape templates file.
    pub shape_templates: Option<SharedText>,
}

/// An edition of a product or channel.
#[derive(Debug, Clone)]
pub struct Edition {
    /// Name of the edition.
    pub name: SharedText,
    /// Whether the edition is used when none is named.
    pub is_default: bool,
}

/// Templates with their stylesheets.
#[derive(Debug, Clone)]
pub struct StylesGroup {
    /// Paths of the templates.
    pub templates: Vec<SharedText>,
    /// Stylesheets in the order of the file.
    pub stylesheets: Vec<Stylesheet>,
}

/// A stylesheet.
#[derive(Debug, Clone)]
pub struct Stylesheet {
    /// Path of the stylesheet.
    pub href: SharedText,
    /// Label for users.
    pub label: Option<SharedText>,
    /// Whether the stylesheet is used when none is named.
    pub is_default: bool,
}

/// A group of people who work together.
#[derive(Debug, Clone)]
pub struct Team {
    /// Name of the team.
    pub name: SharedText,
    /// Whether the team is used when none is named.
    pub is_default: bool,
    /// Channels that the team works for, in the order of the file.
    pub channels: Vec<TeamChannel>,
}

/// A channel of a team.
#[derive(Debug, Clone)]
pub struct TeamChannel {
    /// Name of the channel.
    pub name: SharedText,
    /// Whether the channel is used when none is named.
    pub is_default: bool,
}

/// The channels, with an index by id and name in lower case.
#[derive(Debug, Clone, Default)]
pub struct Channels {
    list: Vec<Channel>,
    places: HashMap<String, usize>,
}

impl Channels {
    /// Returns the channels in the order of the file.
    pub fn list(&self) -> &[Channel] {
        &self.list
    }

    /// Returns the channel with this id or name, without regard to case.
    pub fn named(&self, wanted: &str) -> Option<&Channel> {
        self.list.get(*self.places.get(&wanted.to_lowercase())?)
    }
}

pub(super) fn editions(element: ConfigElement<'_>) -> Vec<Edition> {
    let mut known = UniqueNames::default();
    let edition = |element: ConfigElement<'_>| {
        let name = element.required("name");
        known.check(element, "edition", name);
        Edition { name: name.into(), is_default: element.flag("isDefault") }
    };
    element.all_in("editions", "edition").map(edition).collect()
}

pub(super) fn read(root: ConfigElement<'_>, products: &[Product]) -> Channels {
    let products: HashMap<&str, &Product> = products.iter().map(|product| (&*product.name, product)).collect();
    let mut inherits = Vec::new();
    let mut channels = Channels::default();
    for element in root.all_in("channels", "channel") {
        let found = channel(element);
        for name in HashSet::from([found.id.to_lowercase(), found.name.to_lowercase()]) {
            if channels.places.insert(name, channels.list.len()).is_some() {
                element.fault(format!("the channel `{}` is defined twice", found.name));
            }
        }
        check_product(element, &products);
        inherits.extend(element.attribute("templateChannel").map(|name| (element, name)));
        channels.list.push(found);
    }
    for (element, name) in inherits {
        check_channel(element, name, &channels);
    }
    channels
}

fn channel(element: ConfigElement<'_>) -> Channel {
    let (id, name) = (element.required("id"), element.required("name"));
    // A copy has its channel's name.
    if file_name(name).map_or(true, |as_file| as_file != name) {
        element.fault(format!("`{name}` can't be the name of a channel, because it can't be the name of an object"));
    }
    let actions = element.all_in("contentItems", "contentItem").map(|item| {
        let listed = item.required("actions").split_whitespace().map(SharedText::from).collect();
        (SharedText::from(item.required("type")), listed)
    });
    let file = |attribute: &str| element.attribute(attribute).map(SharedText::from);
    Channel {
        id: id.into(),
        name: name.into(),
        kind: element.attribute("type").unwrap_or("web").into(),
        editions: editions(element),
        inserts: inserts(element),
        product: element.attribute("product").map(SharedText::from),
        calendar: element.attribute("calendar").map(SharedText::from),
        template_channel: element.attribute("templateChannel").map(SharedText::from),
        styles: element.all("stylesGroup").map(styles_group).collect(),
        compound: element.flag("compound"),
        is_neutral: element.flag("isTemplateChannel"),
        actions: actions.collect(),
        page_accessories: file("pageAccessories"),
        shape_templates: file("shapeTemplates"),
    }
}

fn styles_group(element: ConfigElement<'_>) -> StylesGroup {
    let stylesheet = |element: ConfigElement<'_>| Stylesheet {
        href: element.required("href").into(),
        label: element.attribute("label").map(SharedText::from),
        is_default: element.flag("isDefault"),
    };
    StylesGroup {
        templates: element.all("template").map(|template| template.text().into()).collect(),
        stylesheets: element.all("stylesheet").map(stylesheet).collect(),
    }
}

fn check_product(element: ConfigElement<'_>, products: &HashMap<&str, &Product>) {
    let Some(name) = element.attribute("product") else {
        if element.attribute("calendar").is_some() {
            element.fault("a channel that names a `calendar` must also name its `product`");
        }
        return;
    };
    let Some(product) = products.get(name) else {
        return element.fault(format!("there is no product `{name}`"));
    };
    if let Some(calendar) = element.attribute("calendar")
        && !product.calendars.iter().any(|known| &*known.name == calendar)
    {
        element.fault(format!("the product `{name}` has no calendar `{calendar}`"));
    }
}

pub(super) fn check_channel(element: ConfigElement<'_>, name: &str, channels: &Channels) {
    if channels.named(name).is_none() {
        element.fault(format!("there is no channel `{name}`"));
    }
}

pub(super) fn teams(root: ConfigElement<'_>, channels: &Channels) -> Vec<Team> {
    let mut known = UniqueNames::default();
    let team = |element: ConfigElement<'_>| {
        let name = element.required("name");
        known.check(element, "team", name);
        let mut own = UniqueNames::default();
        let channel = |element: ConfigElement<'_>| {
            let name = element.required("name");
            own.check(element, "channel", name);
            check_channel(element, name, channels);
            TeamChannel { name: name.into(), is_default: element.flag("isDefault") }
        };
        Team {
            name: name.into(),
            is_default: element.flag("isDefault"),
            channels: element.all("channel").map(channel).collect(),
        }
    };
    root.all_in("teams", "team").map(team).collect()
}
