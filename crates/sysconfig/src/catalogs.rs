//! The column catalogs: the views of lists.

use std::collections::HashSet;
use std::sync::Arc;

use stet_domain::object::SharedText;

use super::document::{ConfigElement, ConfigFile, parse};
use super::vocabulary;
use super::whole::WholeFile;

/// The largest number of columns of a view. Each is looked up for each object of a list.
const MOST_COLUMNS: usize = 100;

/// The largest number of steps in the path of a column.
const MOST_STEPS: usize = 32;

/// The lists that a catalog is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// All lists.
    All,
    /// Folders.
    Folder,
    /// Drawers.
    Drawer,
    /// Bundles.
    Bundle,
    /// Messages, whose columns are fields of messages.
    Message,
}

impl ListKind {
    const NAMES: [(&str, ListKind); 5] = [
        ("ALL", ListKind::All),
        ("FOLDER", ListKind::Folder),
        ("DRAWER", ListKind::Drawer),
        ("BUNDLE", ListKind::Bundle),
        ("MESSAGE", ListKind::Message),
    ];

    /// Returns all names in calls and catalogs.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ListKind::NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns the lists of this name, without regard to case.
    pub fn named(name: &str) -> Option<ListKind> {
        ListKind::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, lists)| *lists)
    }

    /// Returns the name in calls and catalogs.
    pub fn name(self) -> &'static str {
        ListKind::NAMES.iter().find(|(_, lists)| *lists == self).map_or("", |(name, _)| *name)
    }
}

/// A unit of width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WidthUnit {
    /// One pixel: 96 are an inch.
    Pixel,
    /// One point: 72 are an inch.
    Point,
    /// One millimetre: 25.4 are an inch.
    Millimeter,
    /// An inch.
    Inch,
}

impl WidthUnit {
    /// All units with their names in calls and catalogs.
    pub const NAMES: [(&str, WidthUnit); 4] = [
        ("PIXEL", WidthUnit::Pixel),
        ("POINT", WidthUnit::Point),
        ("MILLIMETER", WidthUnit::Millimeter),
        ("INCH", WidthUnit::Inch),
    ];

    /// Returns the unit of this name, without regard to case.
    pub fn named(name: &str) -> Option<WidthUnit> {
        WidthUnit::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, unit)| *unit)
    }

    /// Returns the name in calls and catalogs.
    pub fn name(self) -> &'static str {
        WidthUnit::NAMES.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| *name)
    }

    fn of_an_inch(self) -> f64 {
        match self {
            WidthUnit::Pixel => 96.0,
            WidthUnit::Point => 72.0,
            WidthUnit::Millimeter => 25.4,
            WidthUnit::Inch => 1.0,
        }
    }
}

/// The path of a column's value in an object record as replies show it: `["attributes", "metadata",
/// "headline"]`.
pub type Steps = Vec<SharedText>;

/// A column of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Identifier in replies, unique in the view.
    pub id: SharedText,
    /// Heading of the column.
    pub title: SharedText,
    width: f64,
    unit: WidthUnit,
    /// Path as written in the catalog.
    pub path: SharedText,
    /// Path in the names of object records.
    pub steps: Steps,
}

impl Column {
    /// Returns the unit of the width in the catalog.
    pub fn unit(&self) -> WidthUnit {
        self.unit
    }

    /// Returns the width in a unit, rounded to two digits.
    pub fn width(&self, unit: WidthUnit) -> f64 {
        if unit == self.unit {
            return self.width;
        }
        (self.width * unit.of_an_inch() / self.unit.of_an_inch() * 100.0).round() / 100.0
    }
}

/// A named set of columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnView {
    /// Name in calls.
    pub name: SharedText,
    /// Title for users.
    pub title: SharedText,
    /// Columns from left to right, at least one.
    pub columns: Vec<Column>,
    /// Whether the view is used when none is named.
    pub is_default: bool,
}

/// A catalog of views for some lists.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Name for users.
    pub name: SharedText,
    lists: ListKind,
    /// Path of the folder that the catalog is for, with all below it.
    pub path: SharedText,
    /// Groups whose members may use the catalog; all users if empty.
    groups: Vec<SharedText>,
    /// Whether lists without a catalog of their own use it.
    pub is_default: bool,
    /// Views in the order of the file.
    pub views: Vec<Arc<ColumnView>>,
}

/// All catalogs of a database.
#[derive(Debug, Clone)]
pub struct Catalogs(Vec<Arc<Catalog>>);

/// The built-in catalog without a file: name, type and time of the last change.
const MINIMUM: &str = "<columnCatalogs><catalog name='minimum' type='ALL' path='/'><view name='default' title='Objects'>\
                       <column id='name' title='Name' width='240' path='name'/>\
                       <column id='type' title='Type' width='90' path='type'/>\
                       <column id='modified' title='Changed' width='130' path='modified'/></view></catalog></columnCatalogs>";

impl Default for Catalogs {
    fn default() -> Catalogs {
        // A test parses it.
        parse(&WholeFile::of_text("the built-in column catalog", MINIMUM))
            .map_or(Catalogs(Vec::new()), |parsed| parsed.value)
    }
}

impl ConfigFile for Catalogs {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::COLUMN_CATALOGS;

    fn read(root: ConfigElement<'_>) -> Catalogs {
        Catalogs(root.all("catalog").map(catalog).map(Arc::new).collect())
    }
}

impl Catalogs {
    /// Returns the catalogs for these lists that a member of these groups may use, in the order of
    /// the file. With [`ListKind::All`], returns those for any list.
    pub fn valid(&self, lists: ListKind, groups: &[SharedText]) -> impl Iterator<Item = &Arc<Catalog>> {
        let serves =
            move |catalog: &Catalog| lists == ListKind::All || catalog.lists == ListKind::All || catalog.lists == lists;
        self.0.iter().filter(move |catalog| serves(catalog) && catalog.is_for(groups))
    }

    /// Returns the view of this name for a list at a path, for a member of these groups; without a
    /// name, the default view.
    ///
    /// A catalog is for its own path and everything below. Among several, the one with the longest
    /// path comes first. Then one for this kind of list precedes one for all, then one marked as
    /// the default, then the first in the file.
    pub fn view(
        &self,
        name: Option<&str>,
        lists: ListKind,
        path: &str,
        groups: &[SharedText],
    ) -> Option<Arc<ColumnView>> {
        let mut views = self.views(lists, path, groups);
        let found = match name {
            Some(name) => views.iter().position(|view| &*view.name == name),
            None if views.is_empty() => None,
            None => Some(views.iter().position(|view| view.is_default).unwrap_or(0)),
        };
        found.map(|place| views.swap_remove(place))
    }

    /// Returns the views of a list for a member of these groups, the best fitting catalog's first.
    pub fn views(&self, lists: ListKind, path: &str, groups: &[SharedText]) -> Vec<Arc<ColumnView>> {
        let mut serving: Vec<&Catalog> = self
            .0
            .iter()
            .map(|catalog| &**catalog)
            .filter(|catalog| catalog.serves(lists, path) && catalog.is_for(groups))
            .collect();
        // The sort is stable: equal ones keep the order of the file.
        serving.sort_by_key(|catalog| {
            (std::cmp::Reverse(catalog.path.len()), catalog.lists == ListKind::All, !catalog.is_default)
        });
        serving.into_iter().flat_map(|catalog| catalog.views.iter().cloned()).collect()
    }
}

impl Catalog {
    /// Returns the lists that the catalog is for.
    pub fn lists(&self) -> ListKind {
        self.lists
    }

    fn serves(&self, lists: ListKind, path: &str) -> bool {
        let below = path.strip_prefix(self.path.trim_end_matches('/'));
        (self.lists == ListKind::All || self.lists == lists)
            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn is_for(&self, groups: &[SharedText]) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|group| groups.contains(group))
    }
}

fn catalog(element: ConfigElement<'_>) -> Catalog {
    let kind = element.attribute("type").unwrap_or("ALL");
    // The vocabulary allows no others.
    let lists = ListKind::named(kind).unwrap_or(ListKind::All);
    let (mut views, mut names): (Vec<Arc<ColumnView>>, _) = (Vec::new(), HashSet::new());
    for child in element.all("view") {
        let view = view(child, lists);
        if !names.insert(view.name.clone()) {
            child.fault(format!("the view `{}` is defined twice", view.name));
        }
        views.push(Arc::new(view));
    }
    let groups = element.attribute("groups").unwrap_or_default();
    let groups = groups.split([' ', ',', '\t', '\n']).filter(|group| !group.is_empty()).map(SharedText::from).collect();
    Catalog {
        name: element.attribute("name").unwrap_or_default().into(),
        lists,
        path: element.attribute("path").unwrap_or("/").into(),
        groups,
        is_default: element.flag("isDefault"),
        views,
    }
}

fn view(element: ConfigElement<'_>, lists: ListKind) -> ColumnView {
    let name: SharedText = element.required("name").into();
    let (mut columns, mut ids) = (Vec::new(), HashSet::new());
    for child in element.all("column") {
        let column = column(child, lists);
        if !ids.insert(column.id.clone()) {
            child.fault(format!("the view `{name}` has a second column `{}`", column.id));
        }
        columns.push(column);
    }
    if columns.len() > MOST_COLUMNS {
        element.fault(format!("the view `{name}` has {} columns, not 1 to {MOST_COLUMNS}", columns.len()));
    }
    let title = element.attribute("title").unwrap_or(&name).into();
    ColumnView { name, title, columns, is_default: element.flag("isDefault") }
}

fn column(element: ConfigElement<'_>, lists: ListKind) -> Column {
    let id: SharedText = element.required("id").into();
    let path = element.required("path");
    let steps = steps(path, lists).unwrap_or_else(|fault| {
        element.fault(format!("the path of `{id}` is `{path}`, {fault}"));
        Steps::new()
    });
    Column {
        title: element.attribute("title").unwrap_or(&id).into(),
        // The vocabulary allows no other numbers and units.
        width: element.number("width").unwrap_or_default(),
        unit: element.attribute("widthUnit").and_then(WidthUnit::named).unwrap_or(WidthUnit::Pixel),
        id,
        path: path.into(),
        steps,
    }
}

/// The groups that a path may lead into, with their names in catalogs and in records.
const GROUPS: [(&str, &str); 4] = [
    ("attributes", "attributes"),
    ("sysattributes", "systemAttributes"),
    ("usagetickets", "usageTickets"),
    ("virtualattributes", "virtualAttributes"),
];

/// The fields of a record outside its groups.
const FIELDS: [&str; 18] = [
    "id",
    "name",
    "type",
    "path",
    "pstate",
    "databaseId",
    "workFolder",
    "issueDate",
    "created",
    "modified",
    "creator",
    "lastModifier",
    "version",
    "suid",
    "locked",
    "locker",
    "statusInfo",
    "revision",
];

/// Converts a path to the names in records, or returns a clause about its fault.
fn steps(path: &str, lists: ListKind) -> Result<Steps, String> {
    let (is_group, rest) = path.strip_prefix('/').map_or((false, path), |rest| (true, rest));
    let mut steps: Steps = rest.split('/').map(SharedText::from).collect();
    if steps.iter().any(|step| step.is_empty()) || steps.len() > MOST_STEPS {
        return Err(format!("which is not 1 to {MOST_STEPS} names with `/` between them"));
    }
    let first = &mut steps[0];
    if is_group {
        let Some((_, group)) = GROUPS.iter().find(|(name, _)| **name == **first) else {
            let names: Vec<_> = GROUPS.iter().map(|(name, _)| format!("/{name}")).collect();
            return Err(format!("which does not begin with one of {}", names.join(", ")));
        };
        *first = (*group).into();
    } else if lists != ListKind::Message && !FIELDS.contains(&&**first) {
        return Err(format!("which is not a field of a record: {}", FIELDS.join(", ")));
    }
    Ok(steps)
}
