//! The elements of each file, from the leaves to its root.

use super::{Attribute, Child, Element, Kind, Times};

const fn needed(name: &'static str, kind: Kind, about: &'static str) -> Attribute {
    Attribute { name, kind, required: true, about }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Attribute {
    Attribute { name, kind, required: false, about }
}

const fn at_most_once(element: &'static Element) -> Child {
    Child { element, times: Times::AtMostOnce }
}

const fn any(element: &'static Element) -> Child {
    Child { element, times: Times::Any }
}

const fn at_least_once(element: &'static Element) -> Child {
    Child { element, times: Times::AtLeastOnce }
}

/// Returns an element that has only a text.
const fn text(name: &'static str, kind: Kind, about: &'static str) -> Element {
    Element { name, about, attributes: &[], children: &[], text: Some(kind) }
}

/// Returns an element that has only attributes.
const fn leaf(name: &'static str, attributes: &'static [Attribute], about: &'static str) -> Element {
    Element { name, about, attributes, children: &[], text: None }
}

/// Returns an element that has only children.
const fn list(name: &'static str, children: &'static [Child], about: &'static str) -> Element {
    Element { name, about, attributes: &[], children, text: None }
}

const IS_DEFAULT: Attribute =
    optional("isDefault", Kind::Flag, "Whether it is the one that is meant where none is named.");

/// The families of object types.
pub const FAMILIES: &[&str] =
    &["document", "folder", "drawer", "liveblog", "topic", "topicplan", "bundle", "webcontainer"];

static CONTENT_TYPE: Element = text("contentType", Kind::Name, "A media type from which the object type is inferred.");
static EXTENSION: Element =
    text("extension", Kind::Name, "An extension of names from which the object type is inferred.");
static OBJECT_TYPE: Element = Element {
    name: "objectType",
    about: "A kind of object.",
    attributes: &[
        needed("name", Kind::Name, "As it stands in object records."),
        needed("family", Kind::OneOf(FAMILIES), "How the service treats its objects."),
        optional("workflow", Kind::Text, "The workflow whose statuses it takes; without it its objects have none."),
        optional("label", Kind::Text, "What people read; its name without it."),
    ],
    children: &[any(&CONTENT_TYPE), any(&EXTENSION)],
    text: None,
};
/// The root of `/SysConfig/ObjectTypes/objecttypes.xml`.
pub static OBJECT_TYPES: Element = list(
    "objectTypes",
    &[at_least_once(&OBJECT_TYPE)],
    "The object types. The first that lists a media type or extension has it.",
);

static STATUS: Element = leaf(
    "status",
    &[
        needed("name", Kind::Name, "As it stands in object records, `Story/Ready`; no other workflow has it."),
        needed("identifier", Kind::Colour, "The colour that lists show for it."),
        optional("initial", Kind::Flag, "Whether a new object gets it; the first one is it where none is marked."),
        optional("closed", Kind::Flag, "Whether containers that have it take no changes of what they contain."),
    ],
    "A status that objects have.",
);
static TRANSITION: Element = leaf(
    "transition",
    &[
        needed("from", Kind::Name, "A status of the workflow."),
        needed("to", Kind::Name, "Another, which may follow it."),
    ],
    "A step from one status to another. The service takes no others, unless the workflow has `enforce=\"false\"`.",
);
static WORKFLOW: Element = Element {
    name: "workflow",
    about: "The statuses that objects of some types pass through.",
    attributes: &[
        needed("name", Kind::Name, "What object types name it by."),
        optional("enforce", Kind::Flag, "Whether only its transitions are allowed; true without it."),
    ],
    children: &[at_least_once(&STATUS), any(&TRANSITION)],
    text: None,
};
/// The root of `/SysConfig/Workflows/workflows.xml`.
pub static WORKFLOWS: Element = list("workflows", &[any(&WORKFLOW)], "The workflows.");

/// The privileges that commands may require.
pub const PRIVILEGES: &[&str] =
    &["read", "create", "write", "delete", "destroy", "moderate", "forceUnlock", "manageGroups", "configure"];

static APPLIES_TO: Element = text("appliesTo", Kind::Name, "An object type that the command is for; without one, any.");
static PARAMETER: Element = Element {
    name: "parameter",
    about: "Something that the command is given.",
    attributes: &[needed("name", Kind::Name, "Its name.")],
    children: &[],
    text: Some(Kind::Text),
};
static SET: Element =
    leaf("set", &[needed("status", Kind::Name, "The status.")], "The status that the command gives to an object.");
static COMMAND: Element = Element {
    name: "command",
    about: "What clients offer to do to an object in one step.",
    attributes: &[
        needed("name", Kind::Name, "What jobs name it by."),
        optional("label", Kind::Text, "What people read; its name without it."),
        optional("group", Kind::Text, "The menu that it stands in."),
        optional("shortcut", Kind::Text, "The keys that call it."),
        optional("privilege", Kind::OneOf(PRIVILEGES), "What a user needs on the object."),
        optional("confirm", Kind::Flag, "Whether the user is asked once more."),
    ],
    children: &[any(&APPLIES_TO), any(&PARAMETER), at_most_once(&SET)],
    text: None,
};
/// The root of `/SysConfig/Commands/commands.xml`.
pub static COMMANDS: Element = list("commands", &[any(&COMMAND)], "The commands.");

static DESCRIPTION: Element = text("description", Kind::Text, "What it is for.");
static SELECT: Element = leaf(
    "select",
    &[
        optional("type", Kind::Name, "Their type."),
        optional("status", Kind::Name, "Their status."),
        optional("folder", Kind::Path, "The folder that they lie in or below."),
        optional("unchangedDays", Kind::Whole(0, 100_000), "Days since their last change."),
    ],
    "Which objects the command is given.",
);
static JOB: Element = Element {
    name: "job",
    about: "A command that clients run by the clock.",
    attributes: &[
        needed("name", Kind::Name, "Its name."),
        optional("label", Kind::Text, "What people read; its name without it."),
        needed("command", Kind::Name, "The command's name."),
        needed(
            "schedule",
            Kind::Name,
            "Minute, hour, day of the month, month and day of the week (0 is Sunday), as in cron.",
        ),
        optional("enabled", Kind::Flag, "Whether it runs; true without it."),
    ],
    children: &[at_most_once(&DESCRIPTION), any(&PARAMETER), any(&SELECT)],
    text: None,
};
/// The root of `/SysConfig/Jobs/jobs.xml`.
pub static JOBS: Element = list("jobs", &[any(&JOB)], "The jobs.");

/// The lists that catalogs are for.
pub const LISTS: &[&str] = &["ALL", "FOLDER", "DRAWER", "BUNDLE", "MESSAGE"];
/// Units of widths.
pub const UNITS: &[&str] = &["PIXEL", "POINT", "MILLIMETER", "INCH", "pixel", "point", "millimeter", "inch"];

static COLUMN: Element = leaf(
    "column",
    &[
        needed("id", Kind::Name, "Names it in replies; no other of the view has it."),
        optional("title", Kind::Text, "What people read above it; its id without it."),
        needed("width", Kind::Number(0.0, 100_000.0), "How wide it is."),
        optional("widthUnit", Kind::OneOf(UNITS), "In what; PIXEL without it."),
        needed(
            "path",
            Kind::Name,
            "A field of the object record, or a path into a group: /attributes, /sysattributes, /usagetickets, /virtualattributes.",
        ),
    ],
    "A column.",
);
static VIEW: Element = Element {
    name: "view",
    about: "A named set of columns, 100 at most.",
    attributes: &[
        needed("name", Kind::Name, "What calls name it by."),
        optional("title", Kind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&COLUMN)],
    text: None,
};
static CATALOG: Element = Element {
    name: "catalog",
    about: "Views for some lists.",
    attributes: &[
        optional("name", Kind::Text, "What people read."),
        optional(
            "type",
            Kind::OneOf(LISTS),
            "Which lists; ALL without it. Views of folders and bundles are made by the service, those of drawers and messages by clients.",
        ),
        optional("path", Kind::Path, "The branch of the repository that they are for; all of it without it."),
        optional("groups", Kind::Text, "Names of groups with spaces or commas between them; without it for all."),
        IS_DEFAULT,
    ],
    children: &[any(&VIEW)],
    text: None,
};
/// The root of `/SysConfig/Columns/columnCfgCatalogs.cfg`.
pub static COLUMN_CATALOGS: Element = list("columnCatalogs", &[any(&CATALOG)], "The column catalogs.");

static EDITION: Element = leaf("edition", &[needed("name", Kind::Name, "Its name."), IS_DEFAULT], "An edition.");
static EDITIONS: Element = list("editions", &[any(&EDITION)], "Editions.");
static INSERT: Element = leaf(
    "insert",
    &[
        needed("name", Kind::Name, "Its name."),
        optional(
            "days",
            Kind::Text,
            "Days of the week on which it appears, such as `SA SU`; checked, and for people who read the file.",
        ),
        IS_DEFAULT,
    ],
    "A part of a product that is printed by itself.",
);
static INSERTS: Element = list("inserts", &[any(&INSERT)], "Inserts.");
/// Days of the week.
pub const DAYS: &[&str] = &["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
static PUBLISHES: Element =
    leaf("publishes", &[needed("day", Kind::OneOf(DAYS), "The day of the week.")], "A day of the week with an issue.");
static HOLIDAY: Element = leaf(
    "holiday",
    &[
        needed("day", Kind::MonthAndDay, "The day, in each year that has it."),
        optional("reason", Kind::Text, "For people who read the file."),
    ],
    "A day of every year without an issue.",
);
static EXCEPTION: Element = leaf(
    "exception",
    &[
        needed("date", Kind::Day, "The day."),
        needed("publishes", Kind::Flag, "Whether there is an issue on it."),
        optional("reason", Kind::Text, "For people who read the file."),
    ],
    "A day that is unlike its day of the week, or unlike other holidays.",
);
static CALENDAR: Element = Element {
    name: "calendar",
    about: "On which days there are issues.",
    attributes: &[
        needed("name", Kind::Name, "What channels name it by."),
        optional("timeZone", Kind::TimeZone, "Where its days begin and end; UTC without it."),
        optional("dateFormat", Kind::Name, "How clients write its days."),
    ],
    children: &[any(&PUBLISHES), any(&HOLIDAY), any(&EXCEPTION)],
    text: None,
};
static PRODUCT: Element = Element {
    name: "product",
    about: "A newspaper, magazine or site.",
    attributes: &[
        needed("name", Kind::Name, "What calls name it by."),
        optional("title", Kind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_most_once(&EDITIONS), at_most_once(&INSERTS), any(&CALENDAR)],
    text: None,
};
static PRODUCTS: Element = list("products", &[any(&PRODUCT)], "The products.");

static TEMPLATE: Element = text("template", Kind::Path, "Path of a template.");
static STYLESHEET: Element = leaf(
    "stylesheet",
    &[
        needed("href", Kind::Path, "Path of the stylesheet."),
        optional("label", Kind::Text, "What people read."),
        IS_DEFAULT,
    ],
    "A stylesheet.",
);
static STYLES_GROUP: Element =
    list("stylesGroup", &[any(&TEMPLATE), any(&STYLESHEET)], "Templates, and the stylesheets that go with them.");
static CHANNEL_ITEM: Element = leaf(
    "contentItem",
    &[
        needed("type", Kind::Name, "A content item's type."),
        needed("actions", Kind::Name, "What may be done with it, names with spaces between them."),
    ],
    "What editors may do with a part of a story in its copy for the channel.",
);
static CHANNEL_ITEMS: Element = list("contentItems", &[any(&CHANNEL_ITEM)], "Content items of a channel.");
static CHANNEL: Element = Element {
    name: "channel",
    about: "A way on which stories reach readers.",
    attributes: &[
        needed("id", Kind::Name, "Tells it apart; calls may name it by this."),
        needed("name", Kind::Name, "Its name, and that of copies for it."),
        optional("type", Kind::Name, "What it is: print, web, tablet, wap."),
        optional("product", Kind::Name, "The product that it belongs to."),
        optional("calendar", Kind::Name, "The calendar of that product that it follows."),
        optional("compound", Kind::Flag, "Whether bundles hold copies for it."),
        optional("isTemplateChannel", Kind::Flag, "Whether the bundle's own text is this channel's."),
        optional(
            "templateChannel",
            Kind::Name,
            "The channel that clients inherit copies for it from: they name it in their calls.",
        ),
        optional("pageAccessories", Kind::Path, "The file of its page accessories."),
        optional("shapeTemplates", Kind::Path, "The file of its shape templates."),
    ],
    children: &[at_most_once(&EDITIONS), at_most_once(&INSERTS), any(&STYLES_GROUP), at_most_once(&CHANNEL_ITEMS)],
    text: None,
};
static CHANNELS: Element = list("channels", &[any(&CHANNEL)], "The channels.");

static TEAM_CHANNEL: Element =
    leaf("channel", &[needed("name", Kind::Name, "Its name."), IS_DEFAULT], "A channel that the team works for.");
static TEAM: Element = Element {
    name: "team",
    about: "People who work together.",
    attributes: &[needed("name", Kind::Name, "Its name."), IS_DEFAULT],
    children: &[any(&TEAM_CHANNEL)],
    text: None,
};
static TEAMS: Element = list("teams", &[any(&TEAM)], "The teams.");

static BASE_FOLDER: Element = leaf(
    "baseFolder",
    &[
        needed("content", Kind::Name, "Name of the object type."),
        optional("channel", Kind::Name, "Counts only where this channel is named."),
        optional("name", Kind::Text, "What people read."),
        needed("workPath", Kind::Name, "Where its objects go, with placeholders."),
        optional(
            "workStatus",
            Kind::Name,
            "The status that clients give them there; a creation that names none has the first of its workflow.",
        ),
    ],
    "Where new objects of a type go.",
);
static BASE_FOLDERS: Element = list("baseFolders", &[any(&BASE_FOLDER)], "Where new objects go in all work folders.");
static OF_TEAM: Element = leaf("team", &[needed("name", Kind::Name, "Its name.")], "A team that it is for.");
static OF_CHANNEL: Element = leaf("channel", &[needed("name", Kind::Name, "Its name.")], "A channel that it is for.");
static WORK_FOLDER: Element = Element {
    name: "workFolder",
    about: "A desk, and where it works. Without teams or channels it is for all.",
    attributes: &[
        optional("id", Kind::Name, "Tells it apart; its path without it."),
        needed("label", Kind::Name, "What people read."),
        needed("path", Kind::Path, "What calls name it by."),
        optional("dir", Kind::Path, "The folder that it works in; its path without it."),
        optional("type", Kind::Name, "What it is: section, subsection."),
        IS_DEFAULT,
    ],
    children: &[any(&OF_TEAM), any(&OF_CHANNEL), any(&BASE_FOLDER), any(&WORK_FOLDER)],
    text: None,
};
static WORK_FOLDERS: Element = list("workFolders", &[any(&WORK_FOLDER)], "The work folders.");

static DEFINITION: Element =
    leaf("definition", &[needed("path", Kind::Path, "Path of its file.")], "A metadata definition.");
static METADATA: Element = list("metadata", &[any(&DEFINITION)], "The metadata definitions.");

/// The root of `/SysConfig/Site/siteconfig.xml`.
pub static SITE_CONFIG: Element = Element {
    name: "siteConfig",
    about: "The site configuration.",
    attributes: &[
        optional("name", Kind::Name, "Name of the site."),
        optional("defaultProduct", Kind::Text, "The product that is meant where none is named."),
        optional("defaultChannel", Kind::Text, "The channel that is meant where none is named."),
    ],
    children: &[
        at_most_once(&PRODUCTS),
        at_most_once(&CHANNELS),
        at_most_once(&TEAMS),
        at_most_once(&WORK_FOLDERS),
        at_most_once(&BASE_FOLDERS),
        at_most_once(&METADATA),
    ],
    text: None,
};

static CONTENT: Element = text("content", Kind::Text, "What a new one starts with.");
static RES_LIMITS: Element = text("resLimits", Kind::Text, "Smallest and largest size of a picture, in pixels.");
static SOURCE: Element = leaf(
    "source",
    &[
        needed("element", Kind::Name, "The element that it becomes."),
        needed("type", Kind::Name, "The object type that may be dropped on it."),
        needed("xp", Kind::Name, "Which part of that is taken."),
    ],
    "What may be dropped on it.",
);
static SOURCES: Element = list("sources", &[any(&SOURCE)], "What may be dropped on it.");
static ITEM: Element =
    leaf("item", &[needed("xp", Kind::Name, "Where it stands in the item.")], "A part of an item that repeats.");
static ITEMS: Element = list("items", &[any(&ITEM)], "The parts of an item that repeats.");
static CONTENT_ITEM: Element = Element {
    name: "contentItem",
    about: "A part of a story that can be picked out and placed by itself.",
    attributes: &[
        optional("name", Kind::Text, "What people call it; its type without it."),
        needed("type", Kind::Name, "What it is; no other in the file has it."),
        optional("xp", Kind::Text, "Where it stands in the content."),
        optional("cssSelector", Kind::Text, "Where it goes on a web page."),
    ],
    children: &[at_most_once(&CONTENT), at_most_once(&RES_LIMITS), at_most_once(&SOURCES), at_most_once(&ITEMS)],
    text: None,
};
/// The root of `/SysConfig/ContentItems/contentItems.xml`.
pub static CONTENT_ITEMS: Element = list("contentItems", &[any(&CONTENT_ITEM)], "The content items.");

const HUNDREDTHS: Kind = Kind::Number(0.0, 100.0);
const MEASURE: Kind = Kind::Number(0.0, 100_000.0);
static CELL: Element = leaf(
    "cell",
    &[
        needed("x", HUNDREDTHS, "From the left, in hundredths of the whole."),
        needed("y", HUNDREDTHS, "From the top."),
        needed("width", HUNDREDTHS, "Its width."),
        needed("height", HUNDREDTHS, "Its height."),
    ],
    "The place of a picture.",
);
static LAYOUT: Element = Element {
    name: "layout",
    about: "How pictures stand together.",
    attributes: &[
        needed("name", Kind::Name, "Its name."),
        optional("label", Kind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&CELL)],
    text: None,
};
static COLLAGE: Element = Element {
    name: "collage",
    about: "The layouts of a channel in which several pictures are put together as one.",
    attributes: &[
        needed("channel", Kind::Name, "The channel."),
        needed("width", MEASURE, "Width of the whole: pixels for web channels, points for print."),
        needed("height", MEASURE, "Its height."),
        optional("gap", MEASURE, "What stays free between pictures."),
        optional("border", MEASURE, "What stays free around them."),
        optional("background", Kind::Text, "Colour behind them."),
        optional("format", Kind::Text, "Media type of the picture that is made."),
        optional("quality", Kind::Whole(1, 100), "Its quality."),
    ],
    children: &[any(&LAYOUT)],
    text: None,
};
/// The root of `/SysConfig/Collage/collage.xml`.
pub static COLLAGE_CONFIG: Element = list("collageConfig", &[any(&COLLAGE)], "The collage configuration.");

static FIELD: Element = leaf(
    "field",
    &[
        needed("name", Kind::Name, "Its name."),
        optional(
            "type",
            Kind::OneOf(&["string", "text", "keyword", "integer", "date", "time"]),
            "What it holds; string without it.",
        ),
        needed("source", Kind::OneOf(&["record", "metadata", "content"]), "Where it comes from."),
        needed("path", Kind::Name, "Where it stands there."),
        optional("sortable", Kind::Flag, "Whether lists can be sorted by it."),
    ],
    "What can be searched by. Clients are shown it; the service searches by no index yet.",
);
static INDEX: Element = Element {
    name: "index",
    about: "Fields that are looked up together. Clients are shown it; the service searches by no index yet.",
    attributes: &[
        needed("name", Kind::Name, "Its name."),
        optional("database", Kind::Name, "The database that it is for; all without it."),
        optional("label", Kind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[any(&FIELD)],
    text: None,
};
/// The root of `/SysConfig/Indexes/indexes.xml`.
pub static INDEXES: Element = list("indexes", &[any(&INDEX)], "The indexes.");

static ACCESSORY_CONTENT: Element = text("content", Kind::Text, "What it says.");
static ACCESSORY_SECTION: Element = leaf(
    "appliesTo",
    &[needed("section", Kind::Name, "The section.")],
    "A section that it is offered for; without one, all.",
);
static ACCESSORY: Element = Element {
    name: "accessory",
    about: "A box, bar or line that can stand beside a story.",
    attributes: &[
        needed("id", Kind::Name, "Tells it apart on its page."),
        optional("label", Kind::Text, "What people read; its id without it."),
        needed("kind", Kind::Name, "What it is: bar, box, field, list, strip, table, text."),
        optional("position", Kind::Name, "Where it stands."),
        optional("columns", Kind::Whole(0, 1000), "Its width in columns."),
        optional("lines", Kind::Whole(0, 10_000), "Its height in lines."),
        optional("max", Kind::Whole(0, 10_000), "Entries at most."),
        optional("xp", Kind::Text, "What it shows of the story."),
        optional("drawer", Kind::Path, "The drawer whose items it shows."),
        optional("refresh", Kind::Text, "How often it is made anew."),
        IS_DEFAULT,
    ],
    children: &[at_most_once(&ACCESSORY_CONTENT), any(&ACCESSORY_SECTION)],
    text: None,
};
static ACCESSORY_GROUP: Element = Element {
    name: "accessoryGroup",
    about: "Accessories of every page.",
    attributes: &[optional("name", Kind::Text, "What people read.")],
    children: &[any(&ACCESSORY)],
    text: None,
};
static PAGE: Element = Element {
    name: "page",
    about: "A kind of page.",
    attributes: &[
        needed("id", Kind::Name, "What calls name it by."),
        optional("label", Kind::Text, "What people read; its id without it."),
    ],
    children: &[any(&ACCESSORY)],
    text: None,
};
/// The root of a file to which a channel refers as `pageAccessories`.
pub static PAGE_ACCESSORIES: Element = Element {
    name: "pageAccessories",
    about: "The page accessories of a channel.",
    attributes: &[needed("channel", Kind::Name, "The channel.")],
    children: &[any(&ACCESSORY_GROUP), any(&PAGE)],
    text: None,
};

static FRAME: Element = leaf(
    "frame",
    &[
        needed("element", Kind::Name, "The content item that goes there."),
        optional("columns", Kind::Whole(0, 1000), "Its width in columns."),
        optional("lines", Kind::Whole(0, 10_000), "Its height in lines."),
        optional("style", Kind::Text, "Its style."),
    ],
    "A place for a part of a story.",
);
static OF_WORK_FOLDER: Element =
    text("workFolder", Kind::Path, "A work folder that it is for, with all below it; without one, all.");
static SHAPE_TEMPLATE: Element = Element {
    name: "shapeTemplate",
    about: "A shape that a story can take.",
    attributes: &[
        needed("id", Kind::Name, "Tells it apart."),
        optional("name", Kind::Text, "What people read; its id without it."),
        optional("width", Kind::Text, "Its width in columns, or `auto`."),
        optional("height", Kind::Text, "Its height in lines, or `auto`."),
        optional("minWords", Kind::Whole(0, 1_000_000), "Words of a text that fits, at least."),
        optional("maxWords", Kind::Whole(0, 1_000_000), "And at most."),
        IS_DEFAULT,
    ],
    children: &[any(&OF_WORK_FOLDER), any(&FRAME)],
    text: None,
};
/// The root of a file to which a channel refers as `shapeTemplates`.
pub static SHAPE_TEMPLATES: Element = Element {
    name: "shapeTemplates",
    about: "The shape templates of a channel.",
    attributes: &[needed("channel", Kind::Name, "The channel.")],
    children: &[any(&SHAPE_TEMPLATE)],
    text: None,
};

static DEFINED_FOR: Element = leaf(
    "appliesTo",
    &[
        optional("type", Kind::Name, "An object type; without it, all."),
        optional("workFolder", Kind::Path, "A work folder, with all below it; without it, all."),
    ],
    "Objects that it is for.",
);
static CHILD: Element = leaf(
    "child",
    &[
        needed("name", Kind::Name, "The child."),
        needed("occurs", Kind::OneOf(&["", "?", "*", "+"]), "How often: empty for once, or `?`, `*`, `+`."),
    ],
    "A child of the element.",
);
static DEFAULT_CONTENT: Element = text("defaultContent", Kind::Text, "What a new one starts with.");
static VALUE: Element = text("value", Kind::Text, "A value.");
static LIST_VALUES: Element = list("listValues", &[any(&VALUE)], "The values of a list.");
/// The levels of validation: not checked, shown but not checked, reported, refused.
pub const VALIDITIES: &[&str] = &["None", "ShowOnly", "Warn", "Strict"];

/// An element of a metadata definition. Properties that a DTD can't state as attributes are only in
/// the file.
pub static DEFINED_ELEMENT: Element = Element {
    name: "element",
    about: "An element of the metadata, and how a form shows it.",
    attributes: &[
        needed("name", Kind::Name, "Its name."),
        optional("title", Kind::Text, "What people read; its name without it."),
        optional("shortTitle", Kind::Text, "The same where there is little room."),
        optional(
            "distinct",
            Kind::Flag,
            "Whether each value may stand once beside the others; checked as `validity` says.",
        ),
        optional("validity", Kind::OneOf(VALIDITIES), "How strictly it is checked; as the definition says without it."),
        optional("expandMode", Kind::OneOf(&["Expanded", "Collapsed"]), "How it is shown first."),
        optional("visibility", Kind::OneOf(&["ReadOnly", "Invisible"]), "What users may do with it; all without it."),
        optional(
            "type",
            Kind::OneOf(&[
                "string",
                "list",
                "date-time",
                "tree-db",
                "tree-db/XMLfile",
                "tree-db/filesystem",
                "dataSourceMaster",
            ]),
            "What its values are; as the DTD says without it, else string.",
        ),
        optional("listName", Kind::Name, "The tree list of its values, by name: a file of /SysConfig/TreeLists."),
        optional("fileName", Kind::Path, "The tree list of its values, by path."),
        optional("prefix", Kind::Text, "The branch of the tree that its values lie in."),
        optional("filter", Kind::Text, "What names of values must match."),
        optional("result", Kind::OneOf(&["LeafOnly", "Fullpath"]), "How much of the path a value is."),
        optional("showPartPage", Kind::Flag, "Whether it is shown with a part of a page."),
        optional("template", Kind::Text, "How a day or time is written."),
        optional("dataSourceUrl", Kind::Text, "Where values are looked up."),
        optional("dataSourceResultTemplate", Kind::Text, "What of an entry found there is the value."),
        optional(
            "isHeadline",
            Kind::Flag,
            "Whether its text is the title of liveblogs, topics and plans that have none; one element at most.",
        ),
    ],
    children: &[any(&CHILD), at_most_once(&DEFAULT_CONTENT), at_most_once(&LIST_VALUES)],
    text: None,
};
/// The root of a file to which the site configuration refers as a metadata `definition`.
pub static METADATA_DEFINITION: Element = Element {
    name: "metadataDefinition",
    about: "The metadata of some object types.",
    attributes: &[
        needed("docType", Kind::Name, "The root of the metadata."),
        optional("dtd", Kind::Path, "Path of its DTD, which says what elements there are and what stands in them."),
        optional(
            "validity",
            Kind::OneOf(VALIDITIES),
            "How strictly elements are checked that do not say it themselves; `None` without it.",
        ),
        IS_DEFAULT,
    ],
    children: &[any(&DEFINED_FOR), any(&DEFINED_ELEMENT)],
    text: None,
};

static WEB_TYPE: Element = text("WebType", Kind::Name, "What a story appears as.");
static WEB_TYPES: Element = list("WebTypes", &[any(&WEB_TYPE)], "What stories appear as online.");
/// The root of a file of `/SysConfig/TreeLists` for a list without branches.
pub static WEB_CONFIGURATION: Element = Element {
    name: "WebConfiguration",
    about: "What stories appear as online; a tree list without branches.",
    attributes: &[optional("product", Kind::Name, "The product that it is for.")],
    children: &[at_most_once(&WEB_TYPES)],
    text: None,
};

static NODE: Element = Element {
    name: "node",
    about: "A node of the tree.",
    attributes: &[needed("name", Kind::Name, "Its name.")],
    children: &[any(&NODE)],
    text: None,
};
/// The root of a file of `/SysConfig/TreeLists`.
pub static TREE_LIST: Element = Element {
    name: "treeList",
    about: "A tree of values.",
    attributes: &[optional("name", Kind::Text, "Its name.")],
    children: &[any(&NODE)],
    text: None,
};

/// The roots of all files.
pub static ROOTS: &[&Element] = &[
    &SITE_CONFIG,
    &OBJECT_TYPES,
    &WORKFLOWS,
    &COMMANDS,
    &JOBS,
    &COLUMN_CATALOGS,
    &CONTENT_ITEMS,
    &COLLAGE_CONFIG,
    &INDEXES,
    &PAGE_ACCESSORIES,
    &ACCESSORY_GROUP,
    &SHAPE_TEMPLATES,
    &METADATA_DEFINITION,
    &TREE_LIST,
    &WEB_CONFIGURATION,
];
