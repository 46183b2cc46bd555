//! What clients lay stories out with: content items, collages, page accessories, shape templates;
//! and the indexes.

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::object::Text;
use stet_xml::xpath::XPath;

use super::document::{ConfigFile, Element, Once};
use super::object_types::ObjectTypes;
use super::vocabulary;

/// A part of a story that can be picked out and placed by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContentItem {
    /// What people call it.
    pub name: Text,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Text,
    /// Where it stands in the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xp: Option<Text>,
    /// Where it goes on a web page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css_selector: Option<Text>,
    /// What a new one starts with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// Smallest and largest size of a picture, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub res_limits: Option<Text>,
    /// What may be dropped on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<ItemSource>>,
    /// The parts of an item that repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<ItemPart>>,
    /// Whether its paths can be understood: they are read once.
    #[serde(skip)]
    has_paths: bool,
}

/// What may be dropped on a content item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemSource {
    /// The element that it becomes.
    pub element: Text,
    /// The object type that may be dropped.
    #[serde(rename = "type")]
    pub kind: Text,
    /// Which part of that is taken.
    pub xp: Text,
}

/// A part of a content item that repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemPart {
    /// Where it stands in the item.
    pub xp: Text,
}

impl ContentItem {
    /// Whether clients can use it: its paths can be understood, and there are the object types that
    /// it names.
    pub fn is_valid(&self, types: &ObjectTypes) -> bool {
        self.has_paths && self.sources.iter().flatten().all(|source| types.get(&source.kind).is_some())
    }

    /// Whether its paths can be understood.
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
    const ROOT: &'static vocabulary::Element = &vocabulary::CONTENT_ITEMS;

    fn read(root: Element<'_>) -> ContentItems {
        let mut kinds = Once::default();
        let item = |element: Element<'_>| {
            let kind = element.required("type");
            kinds.check(element, "content item", kind);
            let text = |child: &str| element.all(child).next().map(|child| Text::from(child.text()));
            let source = |source: Element<'_>| ItemSource {
                element: source.required("element").into(),
                kind: source.required("type").into(),
                xp: source.required("xp").into(),
            };
            let part = |part: Element<'_>| ItemPart { xp: part.required("xp").into() };
            let has = |child: &str| element.all(child).next().is_some();
            let item = ContentItem {
                has_paths: false,
                name: element.attribute("name").unwrap_or(kind).into(),
                kind: kind.into(),
                xp: element.attribute("xp").map(Text::from),
                css_selector: element.attribute("cssSelector").map(Text::from),
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

/// The layouts of a channel in which several pictures are put together as one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Collage {
    /// The channel.
    pub channel: Text,
    /// Width of the whole: pixels for web channels, points for print.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What stays free between pictures.
    pub gap: f64,
    /// What stays free around them.
    pub border: f64,
    /// Colour behind them.
    pub background: Option<Text>,
    /// Media type of the picture that is made.
    pub format: Option<Text>,
    /// Its quality, 1 to 100.
    pub quality: Option<u32>,
    /// How the pictures stand.
    pub layouts: Vec<Layout>,
}

/// How pictures stand together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// Its name.
    pub name: Text,
    /// What people read.
    pub label: Text,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
    /// The places of the pictures.
    pub cells: Vec<Cell>,
}

/// The place of a picture, in hundredths of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// The collage configuration.
#[derive(Debug, Clone, Default)]
pub struct Collages(pub Vec<Collage>);

impl ConfigFile for Collages {
    const ROOT: &'static vocabulary::Element = &vocabulary::COLLAGE_CONFIG;

    fn read(root: Element<'_>) -> Collages {
        let mut channels = Once::default();
        let collage = |element: Element<'_>| {
            let channel = element.required("channel");
            channels.check(element, "collage", channel);
            let measure = |attribute: &str| element.number(attribute).unwrap_or_default();
            Collage {
                channel: channel.into(),
                width: measure("width"),
                height: measure("height"),
                gap: measure("gap"),
                border: measure("border"),
                background: element.attribute("background").map(Text::from),
                format: element.attribute("format").map(Text::from),
                quality: element.number("quality"),
                layouts: element.all("layout").map(layout).collect(),
            }
        };
        Collages(root.all("collage").map(collage).collect())
    }
}

fn layout(element: Element<'_>) -> Layout {
    let name = element.required("name");
    let cell = |cell: Element<'_>| {
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

/// Fields that are looked up together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Its name.
    pub name: Text,
    /// What people read.
    pub label: Text,
    /// Number or name of the database that it is for; null for all.
    pub database: Option<Text>,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// What can be searched by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Field {
    /// Its name.
    pub name: Text,
    /// What it holds: string, text, keyword, integer, date, time.
    pub r#type: Text,
    /// Where it comes from: record, metadata, content.
    pub source: Text,
    /// Where it stands there.
    pub path: Text,
    /// Whether lists can be sorted by it.
    pub sortable: bool,
}

/// All indexes, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct Indexes(pub Vec<Index>);

impl ConfigFile for Indexes {
    const ROOT: &'static vocabulary::Element = &vocabulary::INDEXES;

    fn read(root: Element<'_>) -> Indexes {
        let mut names = Once::default();
        let field = |element: Element<'_>| Field {
            name: element.required("name").into(),
            r#type: element.attribute("type").unwrap_or("string").into(),
            source: element.required("source").into(),
            path: element.required("path").into(),
            sortable: element.flag("sortable"),
        };
        let index = |element: Element<'_>| {
            let name = element.required("name");
            names.check(element, "index", name);
            Index {
                name: name.into(),
                label: element.attribute("label").unwrap_or(name).into(),
                database: element.attribute("database").map(Text::from),
                is_default: element.flag("isDefault"),
                fields: element.all("field").map(field).collect(),
            }
        };
        Indexes(root.all("index").map(index).collect())
    }
}

/// A box, bar or line that can stand beside a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accessory {
    /// Tells it apart on its page.
    pub id: Text,
    /// What people read.
    pub label: Text,
    /// What it is: bar, box, field, list, strip, table, text.
    pub kind: Text,
    /// Where it stands.
    pub position: Option<Text>,
    /// Its width in columns.
    pub columns: Option<u32>,
    /// Its height in lines.
    pub lines: Option<u32>,
    /// Entries at most.
    pub max: Option<u32>,
    /// What it shows of the story.
    pub xp: Option<Text>,
    /// The drawer whose items it shows.
    pub drawer: Option<Text>,
    /// How often it is made anew.
    pub refresh: Option<Text>,
    /// Whether it stands there unless it is taken away.
    pub is_default: bool,
    /// What it says.
    pub content: Option<Text>,
    /// Sections that it is offered for; none: all.
    pub sections: Vec<Text>,
}

/// A kind of page, and what can stand on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What calls name it by.
    pub id: Text,
    /// What people read.
    pub label: Text,
    /// In the order of the file.
    pub accessories: Vec<Accessory>,
}

/// The page accessories of a channel.
#[derive(Debug, Clone)]
pub struct PageAccessories {
    /// The channel.
    pub channel: Text,
    /// Accessories of every page.
    pub common: Vec<Accessory>,
    /// In the order of the file.
    pub pages: Vec<Page>,
    /// About as many bytes as it takes to list all pages, with the accessories of every page on
    /// each.
    pub offered_bytes: usize,
}

impl ConfigFile for PageAccessories {
    const ROOT: &'static vocabulary::Element = &vocabulary::PAGE_ACCESSORIES;

    fn read(root: Element<'_>) -> PageAccessories {
        let mut ids = Once::default();
        let page = |element: Element<'_>| {
            let id = element.required("id");
            ids.check(element, "page", id);
            Page {
                id: id.into(),
                label: element.attribute("label").unwrap_or(id).into(),
                accessories: accessories(element),
            }
        };
        let common: Vec<Accessory> = root.all("accessoryGroup").flat_map(accessories).collect();
        let pages: Vec<Page> = root.all("page").map(page).collect();
        let bytes = |list: &[Accessory]| list.iter().map(Accessory::bytes).sum::<usize>();
        let own: usize = pages.iter().map(|page| 100 + bytes(&page.accessories)).sum();
        let offered_bytes = own.saturating_add(pages.len().saturating_mul(bytes(&common)));
        if offered_bytes > MOST_OFFERED_BYTES {
            root.fault(format!(
                "with those of every page on each page, the accessories have more than {MOST_OFFERED_BYTES} bytes"
            ));
        }
        PageAccessories { channel: root.required("channel").into(), common, pages, offered_bytes }
    }
}

/// Bytes of the accessories of all pages, with those of every page counted for each: a call may ask
/// for all.
const MOST_OFFERED_BYTES: usize = 4 << 20;

impl Accessory {
    fn bytes(&self) -> usize {
        let texts = [&self.position, &self.xp, &self.drawer, &self.refresh, &self.content];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        let sections: usize = self.sections.iter().map(|section| section.len()).sum();
        200 + self.id.len() + self.label.len() + self.kind.len() + texts + sections
    }
}

fn accessories(element: Element<'_>) -> Vec<Accessory> {
    let mut ids = Once::default();
    let accessory = |element: Element<'_>| {
        let id = element.required("id");
        ids.check(element, "accessory", id);
        let text = |attribute: &str| element.attribute(attribute).map(Text::from);
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

/// A shape that a story can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShapeTemplate {
    /// Tells it apart.
    pub id: Text,
    /// What people read.
    pub name: Text,
    /// Its width in columns, or `auto`.
    pub width: Option<Text>,
    /// Its height in lines, or `auto`.
    pub height: Option<Text>,
    /// Words of a text that fits, at least.
    pub min_words: Option<u32>,
    /// And at most.
    pub max_words: Option<u32>,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
    /// Work folders that it is for, with all below them; none: all.
    pub work_folders: Vec<Text>,
    /// The places for the parts of a story.
    pub frames: Vec<Frame>,
}

/// A place for a part of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Frame {
    /// The content item that goes there.
    pub element: Text,
    /// Its width in columns.
    pub columns: Option<u32>,
    /// Its height in lines.
    pub lines: Option<u32>,
    /// Its style.
    pub style: Option<Text>,
}

/// The shape templates of a channel.
#[derive(Debug, Clone)]
pub struct ShapeTemplates {
    /// The channel.
    pub channel: Text,
    /// In the order of the file.
    pub templates: Vec<ShapeTemplate>,
}

impl ConfigFile for ShapeTemplates {
    const ROOT: &'static vocabulary::Element = &vocabulary::SHAPE_TEMPLATES;

    fn read(root: Element<'_>) -> ShapeTemplates {
        let mut ids = Once::default();
        let frame = |element: Element<'_>| Frame {
            element: element.required("element").into(),
            columns: element.number("columns"),
            lines: element.number("lines"),
            style: element.attribute("style").map(Text::from),
        };
        let template = |element: Element<'_>| {
            let id = element.required("id");
            ids.check(element, "shape template", id);
            let text = |attribute: &str| element.attribute(attribute).map(Text::from);
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
    /// Whether a text of that many words fits.
    pub fn holds(&self, words: usize) -> bool {
        let least = self.min_words.is_none_or(|least| words >= least as usize);
        least && self.max_words.is_none_or(|most| words <= most as usize)
    }

    /// Whether it is for stories of a work folder.
    pub fn is_for(&self, work_folder: &str) -> bool {
        let lies_in = |folder: &Text| {
            work_folder.strip_prefix(&**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.work_folders.is_empty() || self.work_folders.iter().any(lies_in)
    }
}
