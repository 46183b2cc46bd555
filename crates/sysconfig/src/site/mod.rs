//! The site configuration: products with editions and calendars, channels, teams, work folders and
//! folders for new objects. It also names the further files that belong to it.

mod channels;
mod folders;
mod products;

use std::collections::HashMap;

use stet_domain::object::SharedText;

pub use self::channels::{Channel, Channels, StylesGroup, Stylesheet, Team};
pub use self::folders::{BaseFolder, Destination, DestinationQuery, WorkFolder};
pub use self::products::{Calendar, Product, day_at};
use super::document::{ConfigElement, ConfigFile};
use super::vocabulary;

/// The site configuration.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// Name of the site.
    pub name: Option<SharedText>,
    /// Products in the order of the file.
    pub products: Vec<Product>,
    /// Channels on which stories are published.
    pub channels: Channels,
    /// Teams in the order of the file.
    pub teams: Vec<Team>,
    /// Outermost work folders in the order of the file.
    pub work_folders: Vec<WorkFolder>,
    /// Indexes that lead to a work folder, from the outermost one, by its path.
    work_folder_places: HashMap<SharedText, Vec<usize>>,
    base_folders: Vec<BaseFolder>,
    /// Paths of the metadata definitions.
    pub definitions: Vec<SharedText>,
    default_channel: Option<SharedText>,
    default_product: Option<SharedText>,
}

impl ConfigFile for Site {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::SITE_CONFIG;

    fn read(root: ConfigElement<'_>) -> Site {
        check_bounds(root);
        let products = products::read(root);
        let channels = channels::read(root, &products);
        let teams = channels::teams(root, &channels);
        let work_folders = folders::read(root, &channels, &teams);
        let work_folder_places = folders::places(&work_folders);
        let base_folders = root.all("baseFolders").flat_map(|list| folders::base_folders(list, &channels)).collect();
        let definitions =
            root.all_in("metadata", "definition").map(|element| element.required("path").into()).collect();
        let default_channel = root.attribute("defaultChannel").map(SharedText::from);
        if let Some(name) = default_channel.as_deref().filter(|name| channels.named(name).is_none()) {
            root.fault(format!("the default channel `{name}` does not exist"));
        }
        let named = root.attribute("defaultProduct");
        // A site without a list of products may still name one.
        if let Some(name) =
            named.filter(|name| !products.is_empty() && !products.iter().any(|known| &*known.name == *name))
        {
            root.fault(format!("the default product `{name}` does not exist"));
        }
        let marked = || products.iter().find(|product| product.is_default).map(|product| product.name.clone());
        let default_product = named.map(SharedText::from).or_else(marked);
        Site {
            name: root.attribute("name").map(SharedText::from),
            products,
            channels,
            teams,
            work_folders,
            work_folder_places,
            base_folders,
            definitions,
            default_channel,
            default_product,
        }
    }
}

/// Checks the sizes of a site's lists, which replies combine with each other.
fn check_bounds(root: ConfigElement<'_>) {
    const MOST: usize = 1000;
    const MOST_WORK_FOLDERS: usize = 10_000;
    for (list, name) in
        [("products", "product"), ("channels", "channel"), ("teams", "team"), ("baseFolders", "baseFolder")]
    {
        if root.all_in(list, name).nth(MOST).is_some() {
            root.fault(format!("`{list}` has more than {MOST} elements `{name}`"));
        }
    }
    /// Counts the work folders in an element, and their teams, channels and base folders.
    fn count(element: ConfigElement<'_>, folders: &mut usize, named: &mut usize) {
        for folder in element.all("workFolder") {
            *folders += 1;
            *named += ["team", "channel", "baseFolder"].map(|name| folder.all(name).count()).iter().sum::<usize>();
            count(folder, folders, named);
        }
    }
    let (mut folders, mut named) = (0, 0);
    root.all("workFolders").for_each(|list| count(list, &mut folders, &mut named));
    if folders > MOST_WORK_FOLDERS || named > 2 * MOST_WORK_FOLDERS {
        root.fault(format!(
            "there are more than {MOST_WORK_FOLDERS} work folders, or they have more than {} teams, channels and \
             base folders",
            2 * MOST_WORK_FOLDERS
        ));
    }
}

impl Site {
    /// Returns the channel with this id or name, without regard to case.
    pub fn channel(&self, wanted: &str) -> Option<&Channel> {
        self.channels.named(wanted)
    }

    /// Returns the folders for new objects in all work folders.
    pub fn base_folders(&self) -> &[BaseFolder] {
        &self.base_folders
    }

    /// Returns the product of this name.
    pub fn product(&self, wanted: &str) -> Option<&Product> {
        self.products.iter().find(|product| *product.name == *wanted)
    }

    /// Returns the product that is used when none is named.
    pub fn default_product(&self) -> Option<&Product> {
        self.default_product.as_deref().and_then(|name| self.product(name))
    }

    /// Returns the team of this name.
    pub fn team(&self, wanted: &str) -> Option<&Team> {
        self.teams.iter().find(|team| *team.name == *wanted)
    }

    /// Returns the channel that is used when none is named.
    pub fn default_channel(&self) -> Option<&Channel> {
        self.default_channel.as_deref().and_then(|name| self.channel(name))
    }
}
