//! The configuration with which clients lay out stories: content items, collages, page accessories
//! and shape templates; and the indexes.

use schemars::JsonSchema;
use serde::Serialize;
use stet_domain::object::SharedText;
use stet_xml::xpath::XPath;

use super::document::{ConfigElement, ConfigFile, UniqueNames};
use super::object_types::ObjectTypes;
use super::vocabulary;

/// A part of a story that can be selected and placed on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContentItem {
    /// Name for users.
    pub name: SharedText,
    /// Type, unique among all content items.
    #[serde(rename = "type")]
    pub kind: SharedText,
    /// XPath of the item in the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xp: Option<SharedText>,
    /// CSS selector of its place on a web page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css_selector: Option<SharedText>,
    /// Initial content of a new item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<SharedText>,
    /// Smallest and largest size of a picture, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub res_limits: Option<SharedText>,
    /// Objects that may be dropped on the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<ItemSource>>,
    /// Parts of a repeating item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<ItemPart>>,
    /// Whether its paths are valid. Kept, because they are parsed only once.
    #[serde(skip)]
    has_paths: bool,
}

/// A kind of object that may be dropped on a content item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemSource {
    /// Element that the object becomes.
    pub element: SharedText,
    /// Object type of the dropped object.
    #[serde(rename = "type")]
    pub kind: SharedText,
    /// XPath of the part that is taken from the dropped object.
    pub xp: SharedText,
}

/// A part of a repeating content item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemPart {
    /// XPath of the part in the item.
    pub xp: SharedText,
}

impl ContentItem {
    /// Reports whether clients can use the item: its paths are valid, and its object types exist.
    pub fn is_valid(&self, types: &ObjectTypes) -> bool {
        self.has_paths && self.sources.iter().flatten().all(|source| types.get(&source.kind).is_some())
    }

    /// Reports whether all paths are valid.
    fn are_paths(&self) -> bool {
        let sources = self.sources.iter().flatten().map(|source| &source.xp);
        let mut paths = sources.chain(self.items.iter().flatten().map(|part| &part.xp)).chain(&self.xp);
        paths.all(|path| XPath::parse(path).is_ok())
    }
}

/// All content items, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct ContentItems(pub Vec<ContentItem>);

impl ConfigFile for ContentItems {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::CONTENT_ITEMS;

    fn read(root: ConfigElement<'_>) -> ContentItems {
        let mut kinds = UniqueNames::default();
        let item = |element: ConfigElement<'_>| {
            let kind = element.required("type");
            kinds.check(element, "content item", kind);
            let text = |child: &str| element.all(child).next().map(|child| SharedText::from(child.text()));
            let source = |source: ConfigElement<'_>| ItemSource {
                element: source.required("element").into(),
                kind: source.required("type").into(),
                xp: source.required("xp").into(),
            };
            let part = |part: ConfigElement<'_>| ItemPart { xp: part.required("xp").into() };
            let has = |child: &str| element.all(child).next().is_some();
            let item = ContentItem {
                has_paths: false,
                name: element.attribute("name").unwrap_or(kind).into(),
                kind: kind.into(),
                xp: element.attribute("xp").map(SharedText::from),
                css_selector: element.attribute("cssSelector").map(SharedText::from),
                content: text("content"),
                res_limits: text("resLimits"),
                sources: has("sources").then(|| element.all_in("sources", "source").map(source).collect()),
                items: has("items").then(|| element.all_in("items", "item").map(part).collect()),
            };
            ContentItem { has_paths: item.are_paths(), ..item }
        };
        ContentItems(root.all("contentItem").map(item).collect())
    }
}

/// The layouts of a channel that combine several pictures into one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Collage {
    /// Channel.
    pub channel: SharedText,
    /// Width of the whole picture, in pixels for web channels and points for print.
    pub width: f64,
    /// Height of the whole picture, in the same unit.
    pub height: f64,
    /// Space between the pictures.
    pub gap: f64,
    /// Space around the pictures.
    pub border: f64,
    /// Background colour.
    pub background: Option<SharedText>,
    /// Media type of the resulting picture.
    pub format: Option<SharedText>,
    /// Quality of the resulting picture, 1 to 100.
    pub quality: Option<u32>,
    /// Layouts.
    pub layouts: Vec<Layout>,
}

/// An arrangement of pictures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// Name of the layout.
    pub name: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Whether the layout is used when none is named.
    pub is_default: bool,
    /// Cells, one for each picture.
    pub cells: Vec<Cell>,
}

/// The place of a picture, in hundredths of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Distance from the left.
    pub x: f64,
    /// Distance from the top.
    pub y: f64,
    /// Width of the cell.
    pub width: f64,
    /// Height of the cell.
    pub height: f64,
}

/// The collage configuration.
#[derive(Debug, Clone, Default)]
pub struct Collages(pub Vec<Collage>);

impl ConfigFile for Collages {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::COLLAGE_CONFIG;

    fn read(root: ConfigElement<'_>) -> Collages {
        let mut channels = UniqueNames::default();
        let collage = |element: ConfigElement<'_>| {
            let channel = element.required("channel");
            channels.check(element, "collage", channel);
            let measure = |attribute: &str| element.number(attribute).unwrap_or_default();
            Collage {
                channel: channel.into(),
                width: measure("width"),
                height: measure("height"),
                gap: measure("gap"),
                border: measure("border"),
                background: element.attribute("background").map(SharedText::from),
                format: element.attribute("format").map(SharedText::from),
                quality: element.number("quality"),
                layouts: element.all("layout").map(layout).collect(),
            }
        };
        Collages(root.all("collage").map(collage).collect())
    }
}

fn layout(element: ConfigElement<'_>) -> Layout {
    let name = element.required("name");
    let cell = |cell: ConfigElement<'_>| {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|side| cell.number(side).unwrap_or_default());
        Cell { x, y, width, height }
    };
    Layout {
        name: name.into(),
        label: element.attribute("label").unwrap_or(name).into(),
        is_default: element.flag("isDefault"),
        cells: element.all("cell").map(cell).collect(),
    }
}

/// Fields that are searched together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Name of the index.
    pub name: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Number or name of the index's database; null for all databases.
    pub database: Option<SharedText>,
    /// Whether the index is used when none is named.
    pub is_default: bool,
    /// Fields of the index.
    pub fields: Vec<IndexField>,
}

/// A field to search by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IndexField {
    /// Name of the field.
    pub name: SharedText,
    /// Type of the values: string, text, keyword, integer, date, time.
    pub r#type: SharedText,
    /// Source of the values: record, metadata, content.
    pub source: SharedText,
    /// Path of the value in the source.
    pub path: SharedText,
    /// Whether lists can be sorted by the field.
    pub sortable: bool,
}

/// All indexes, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct Indexes(pub Vec<Index>);

impl ConfigFile for Indexes {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::INDEXES;

    fn read(root: ConfigElement<'_>) -> Indexes {
        let mut names = UniqueNames::default();
        let field = |element: ConfigElement<'_>| IndexField {
            name: element.required("name").into(),
            r#type: element.attribute("type").unwrap_or("string").into(),
            source: element.required("source").into(),
            path: element.required("path").into(),
            sortable: element.flag("sortable"),
        };
        let index = |element: ConfigElement<'_>| {
            let name = element.required("name");
            names.check(element, "index", name);
            Index {
                name: name.into(),
                label: element.attribute("label").unwrap_or(name).into(),
                database: element.attribute("database").map(SharedText::from),
                is_default: element.flag("isDefault"),
                fields: element.all("field").map(field).collect(),
            }
        };
        Indexes(root.all("index").map(index).collect())
    }
}

/// A box, bar or line beside a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accessory {
    /// Identifier, unique on its page.
    pub id: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Kind: bar, box, field, list, strip, table, text.
    pub kind: SharedText,
    /// Position on the page.
    pub position: Option<SharedText>,
    /// Width in columns.
    pub columns: Option<u32>,
    /// Height in lines.
    pub lines: Option<u32>,
    /// Largest number of entries.
    pub max: Option<u32>,
    /// XPath of the part of the story that it shows.
    pub xp: Option<SharedText>,
    /// Path of the drawer whose items it shows.
    pub drawer: Option<SharedText>,
    /// Interval after which it is rendered again.
    pub refresh: Option<SharedText>,
    /// Whether it is on the page unless users remove it.
    pub is_default: bool,
    /// Text that it shows.
    pub content: Option<SharedText>,
    /// Sections that it is offered for; all sections if empty.
    pub sections: Vec<SharedText>,
}

/// A kind of page, with its accessories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageKind {
    /// Identifier in calls.
    pub id: SharedText,
    /// Label for users.
    pub label: SharedText,
    /// Accessories in the order of the file.
    pub accessories: Vec<Accessory>,
}

/// The page accessories of a channel.
#[derive(Debug, Clone)]
pub struct PageAccessories {
    /// Channel.
    pub channel: SharedText,
    /// Accessories of every page.
    pub common: Vec<Accessory>,
    /// Pages in the order of the file.
    pub pages: Vec<PageKind>,
    /// Estimated bytes of a list of all pages, in which each page includes the accessories of every
    /// page.
    pub offered_bytes: usize,
}

impl ConfigFile for PageAccessories {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::PAGE_ACCESSORIES;

    fn read(root: ConfigElement<'_>) -> PageAccessories {
        let mut ids = UniqueNames::default();
        let page = |element: ConfigElement<'_>| {
            let id = element.required("id");
            ids.check(element, "page", id);
            PageKind {
                id: id.into(),
                label: element.attribute("label").unwrap_or(id).into(),
                accessories: accessories(element),
            }
        };
        let common: Vec<Accessory> = root.all("accessoryGroup").flat_map(accessories).collect();
        let pages: Vec<PageKind> = root.all("page").map(page).collect();
        let bytes = |list: &[Accessory]| list.iter().map(Accessory::bytes).sum::<usize>();
        let own: usize = pages.iter().map(|page| 100 + bytes(&page.accessories)).sum();
        let offered_bytes = own.saturating_add(pages.len().saturating_mul(bytes(&common)));
        if offered_bytes > MOST_OFFERED_BYTES {
            root.fault(format!(
                "the accessories have more than {MOST_OFFERED_BYTES} bytes, counting those of every page once for \
                 each page"
            ));
        }
        PageAccessories { channel: root.required("channel").into(), common, pages, offered_bytes }
    }
}

/// The largest [`PageAccessories::offered_bytes`], because one call may list all pages.
const MOST_OFFERED_BYTES: usize = 4 << 20;

impl Accessory {
    fn bytes(&self) -> usize {
        let texts = [&self.position, &self.xp, &self.drawer, &self.refresh, &self.content];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        let sections: usize = self.sections.iter().map(|section| section.len()).sum();
        200 + self.id.len() + self.label.len() + self.kind.len() + texts + sections
    }
}

fn accessories(element: ConfigElement<'_>) -> Vec<Accessory> {
    let mut ids = UniqueNames::default();
    let accessory = |element: ConfigElement<'_>| {
        let id = element.required("id");
        ids.check(element, "accessory", id);
        let text = |attribute: &str| element.attribute(attribute).map(SharedText::from);
        Accessory {
            id: id.into(),
            label: element.attribute("label").unwrap_or(id).into(),
            kind: element.required("kind").into(),
            position: text("position"),
            columns: element.number("columns"),
            lines: element.number("lines"),
            max: element.number("max"),
            xp: text("xp"),
            drawer: text("drawer"),
            refresh: text("refresh"),
            is_default: element.flag("isDefault"),
            content: element.all("content").map(|content| content.text().into()).next(),
            sections: element.all("appliesTo").map(|section| section.required("section").into()).collect(),
        }
    };
    element.all("accessory").map(accessory).collect()
}

/// A form that a story can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShapeTemplate {
    /// Identifier.
    pub id: SharedText,
    /// Name for users.
    pub name: SharedText,
    /// Width in columns, or `auto`.
    pub width: Option<SharedText>,
    /// Height in lines, or `auto`.
    pub height: Option<SharedText>,
    /// Smallest number of words of a fitting text.
    pub min_words: Option<u32>,
    /// Largest number of words of a fitting text.
    pub max_words: Option<u32>,
    /// Whether the template is used when none is named.
    pub is_default: bool,
    /// Work folders that it is for, including those below; all work folders if empty.
    pub work_folders: Vec<SharedText>,
    /// Frames for the parts of a story.
    pub frames: Vec<ShapeFrame>,
}

/// A place for a part of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShapeFrame {
    /// Content item of the frame.
    pub element: SharedText,
    /// Width in columns.
    pub columns: Option<u32>,
    /// Height in lines.
    pub lines: Option<u32>,
    /// Style of the frame.
    pub style: Option<SharedText>,
}

/// The shape templates of a channel.
#[derive(Debug, Clone)]
pub struct ShapeTemplates {
    /// Channel.
    pub channel: SharedText,
    /// Templates in the order of the file.
    pub templates: Vec<ShapeTemplate>,
}

impl ConfigFile for ShapeTemplates {
    const ROOT: &'static vocabulary::VocabularyElement = &vocabulary::SHAPE_TEMPLATES;

    fn read(root: ConfigElement<'_>) -> ShapeTemplates {
        let mut ids = UniqueNames::default();
        let frame = |element: ConfigElement<'_>| ShapeFrame {
            element: element.required("element").into(),
            columns: element.number("columns"),
            lines: element.number("lines"),
            style: element.attribute("style").map(SharedText::from),
        };
        let template = |element: ConfigElement<'_>| {
            let id = element.required("id");
            ids.check(element, "shape template", id);
            let text = |attribute: &str| element.attribute(attribute).map(SharedText::from);
            ShapeTemplate {
                id: id.into(),
                name: element.attribute("name").unwrap_or(id).into(),
                width: text("width"),
                height: text("height"),
                min_words: element.number("minWords"),
                max_words: element.number("maxWords"),
                is_default: element.flag("isDefault"),
                work_folders: element.all("workFolder").map(|folder| folder.text().into()).collect(),
                frames: element.all("frame").map(frame).collect(),
            }
        };
        ShapeTemplates {
            channel: root.required("channel").into(),
            templates: root.all("shapeTemplate").map(template).collect(),
        }
    }
}

impl ShapeTemplate {
    /// Reports whether a text with this number of words fits.
    pub fn holds(&self, words: usize) -> bool {
        let least = self.min_words.is_none_or(|least| words >= least as usize);
        least && self.max_words.is_none_or(|most| words <= most as usize)
    }

    /// Reports whether the template is for stories of a work folder.
    pub fn is_for(&self, work_folder: &str) -> bool {
        let lies_in = |folder: &SharedText| {
            work_folder.strip_prefix(&**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.work_folders.is_empty() || self.work_folders.iter().any(lies_in)
    }
}
