//! The elements of each file, from the leaves to its root.

use super::{Attribute, Child, ChildOccurrence, ValueKind, VocabularyElement};

const fn mandatory(name: &'static str, kind: ValueKind, about: &'static str) -> Attribute {
    Attribute { name, kind, required: true, about }
}

const fn optional(name: &'static str, kind: ValueKind, about: &'static str) -> Attribute {
    Attribute { name, kind, required: false, about }
}

const fn at_most_once(element: &'static VocabularyElement) -> Child {
    Child { element, times: ChildOccurrence::AtMostOnce }
}

const fn any(element: &'static VocabularyElement) -> Child {
    Child { element, times: ChildOccurrence::Any }
}

const fn at_least_once(element: &'static VocabularyElement) -> Child {
    Child { element, times: ChildOccurrence::AtLeastOnce }
}

/// Returns an element that has only a text.
const fn text(name: &'static str, kind: ValueKind, about: &'static str) -> VocabularyElement {
    VocabularyElement { name, about, attributes: &[], children: &[], text: Some(kind) }
}

/// Returns an element that has only attributes.
const fn leaf(name: &'static str, attributes: &'static [Attribute], about: &'static str) -> VocabularyElement {
    VocabularyElement { name, about, attributes, children: &[], text: None }
}

/// Returns an element that has only children.
const fn list(name: &'static str, children: &'static [Child], about: &'static str) -> VocabularyElement {
    VocabularyElement { name, about, attributes: &[], children, text: None }
}

const IS_DEFAULT: Attribute =
    optional("isDefault", ValueKind::Flag, "Whether it is the one that is meant where none is named.");

/// The families of object types.
pub const FAMILIES: &[&str] =
    &["document", "folder", "drawer", "liveblog", "topic", "topicplan", "bundle", "webcontainer"];

static CONTENT_TYPE: VocabularyElement =
    text("contentType", ValueKind::Name, "A media type from which the object type is inferred.");
static EXTENSION: VocabularyElement =
    text("extension", ValueKind::Name, "An extension of names from which the object type is inferred.");
static OBJECT_TYPE: VocabularyElement = VocabularyElement {
    name: "objectType",
    about: "A kind of object.",
    attributes: &[
        mandatory("name", ValueKind::Name, "As it stands in object records."),
        mandatory("family", ValueKind::OneOf(FAMILIES), "How the service treats its objects."),
        optional(
            "workflow",
            ValueKind::Text,
            "The workflow whose statuses it takes; without it its objects have none.",
        ),
        optional("label", ValueKind::Text, "What people read; its name without it."),
    ],
    children: &[any(&CONTENT_TYPE), any(&EXTENSION)],
    text: None,
};
/// The root of `/SysConfig/ObjectTypes/objecttypes.xml`.
pub static OBJECT_TYPES: VocabularyElement = list(
    "objectTypes",
    &[at_least_once(&OBJECT_TYPE)],
    "The object types. The first that lists a media type or extension has it.",
);

static STATUS: VocabularyElement = leaf(
    "status",
    &[
        mandatory("name", ValueKind::Name, "As it stands in object records, `Story/Ready`; no other workflow has it."),
        mandatory("identifier", ValueKind::Colour, "The colour that lists show for it."),
        optional("initial", ValueKind::Flag, "Whether a new object gets it; the first one is it where none is marked."),
        optional("closed", ValueKind::Flag, "Whether containers that have it take no changes of what they contain."),
    ],
    "A status that objects have.",
);
static TRANSITION: VocabularyElement = leaf(
    "transition",
    &[
        mandatory("from", ValueKind::Name, "A status of the workflow."),
        mandatory("to", ValueKind::Name, "Another, which may follow it."),
    ],
    "A step from one status to another. The service takes no others, unless the workflow has `enforce=\"false\"`.",
);
static WORKFLOW: VocabularyElement = VocabularyElement {
    name: "workflow",
    about: "The statuses that objects of some types pass through.",
    attributes: &[
        mandatory("name", ValueKind::Name, "What object types name it by."),
        optional("enforce", ValueKind::Flag, "Whether only its transitions are allowed; true without it."),
    ],
    children: &[at_least_once(&STATUS), any(&TRANSITION)],
    text: None,
};
/// The root of `/SysConfig/Workflows/workflows.xml`.
pub static WORKFLOWS: VocabularyElement = list("workflows", &[any(&WORKFLOW)], "The workflows.");

/// The privileges that commands may require.
pub const PRIVILEGES: &[&str] =
    &["read", "create", "write", "delete", "destroy", "moderate", "forceUnlock", "manageGroups", "configure"];

static APPLIES_TO: VocabularyElement =
    text("appliesTo", ValueKind::Name, "An object type that the command is for; without one, any.");
static PARAMETER: VocabularyElement = VocabularyElement {
    name: "parameter",
    about: "Something that the command is given.",
    attributes: &[mandatory("name", ValueKind::Name, "Its name.")],
    children: &[],
    text: Some(ValueKind::Text),
};
static SET: VocabularyElement = leaf(
    "set",
    &[mandatory("status", ValueKind::Name, "The status.")],
    "The status that the command gives to an object.",
);
static COMMAND: VocabularyElement = VocabularyElement {
    name: "command",
    about: "What clients offer to do to an object in one step.",
    attributes: &[
        mandatory("name", ValueKind::Name, "What jobs name it by."),
        optional("label", ValueKind::Text, "What people read; its name without it."),
        optional("group", ValueKind::Text, "The menu that it stands in."),
        optional("shortcut", ValueKind::Text, "The keys that call it."),
        optional("privilege", ValueKind::OneOf(PRIVILEGES), "What a user needs on the object."),
        optional("confirm", ValueKind::Flag, "Whether the user is asked once more."),
    ],
    children: &[any(&APPLIES_TO), any(&PARAMETER), at_most_once(&SET)],
    text: None,
};
/// The root of `/SysConfig/Commands/commands.xml`.
pub static COMMANDS: VocabularyElement = list("commands", &[any(&COMMAND)], "The commands.");

static DESCRIPTION: VocabularyElement = text("description", ValueKind::Text, "What it is for.");
static SELECT: VocabularyElement = leaf(
    "select",
    &[
        optional("type", ValueKind::Name, "Their type."),
        optional("status", ValueKind::Name, "Their status."),
        optional("folder", ValueKind::Path, "The folder that they lie in or below."),
        optional("unchangedDays", ValueKind::Whole(0, 100_000), "Days since their last change."),
    ],
    "Which objects the command is given.",
);
static JOB: VocabularyElement = VocabularyElement {
    name: "job",
    about: "A command that clients run by the clock.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("label", ValueKind::Text, "What people read; its name without it."),
        mandatory("command", ValueKind::Name, "The command's name."),
        mandatory(
            "schedule",
            ValueKind::Name,
            "Minute, hour, day of the month, month and day of the week (0 is Sunday), as in cron.",
        ),
        optional("enabled", ValueKind::Flag, "Whether it runs; true without it."),
    ],
    children: &[at_most_once(&DESCRIPTION), any(&PARAMETER), any(&SELECT)],
    text: None,
};
/// The root of `/SysConfig/Jobs/jobs.xml`.
pub static JOBS: VocabularyElement = list("jobs", &[any(&JOB)], "The jobs.");

/// The lists that catalogs are for.
pub const LISTS: &[&str] = &["ALL", "FOLDER", "DRAWER", "BUNDLE", "MESSAGE"];
/// Units of widths.
pub const UNITS: &[&str] = &["PIXEL", "POINT", "MILLIMETER", "INCH", "pixel", "point", "millimeter", "inch"];

static COLUMN: VocabularyElement = leaf(
    "column",
    &[
        mandatory("id", ValueKind::Name, "Names it in replies; no other of the view has it."),
        optional("title", ValueKind::Text, "What people read above it; its id without it."),
        mandatory("width", ValueKind::Number(0.0, 100_000.0), "How wide it is."),
        optional("widthUnit", ValueKind::OneOf(UNITS), "In what; PIXEL without it."),
        mandatory(
            "path",
            ValueKind::Name,
            "A field of the object record, or a path into a group: /attributes, /sysattributes, /usagetickets, /virtualattributes.",
        ),
    ],
    "A column.",
);
static VIEW: VocabularyElement = VocabularyElement {
    name: "view",
    about: "A named set of columns, 100 at most.",
    attributes: &[
        mandatory("name", ValueKind::Name, "What calls name it by."),
        optional("title", ValueKind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&COLUMN)],
    text: None,
};
static CATALOG: VocabularyElement = VocabularyElement {
    name: "catalog",
    about: "Views for some lists.",
    attributes: &[
        optional("name", ValueKind::Text, "What people read."),
        optional(
            "type",
            ValueKind::OneOf(LISTS),
            "Which lists; ALL without it. Views of folders and bundles are made by the service, those of drawers and messages by clients.",
        ),
        optional("path", ValueKind::Path, "The branch of the repository that they are for; all of it without it."),
        optional("groups", ValueKind::Text, "Names of groups with spaces or commas between them; without it for all."),
        IS_DEFAULT,
    ],
    children: &[any(&VIEW)],
    text: None,
};
/// The root of `/SysConfig/Columns/columnCfgCatalogs.cfg`.
pub static COLUMN_CATALOGS: VocabularyElement = list("columnCatalogs", &[any(&CATALOG)], "The column catalogs.");

static EDITION: VocabularyElement =
    leaf("edition", &[mandatory("name", ValueKind::Name, "Its name."), IS_DEFAULT], "An edition.");
static EDITIONS: VocabularyElement = list("editions", &[any(&EDITION)], "Editions.");
static INSERT: VocabularyElement = leaf(
    "insert",
    &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional(
            "days",
            ValueKind::Text,
            "Days of the week on which it appears, such as `SA SU`; checked, and for people who read the file.",
        ),
        IS_DEFAULT,
    ],
    "A part of a product that is printed by itself.",
);
static INSERTS: VocabularyElement = list("inserts", &[any(&INSERT)], "Inserts.");
/// Days of the week.
pub const DAYS: &[&str] = &["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
static PUBLISHES: VocabularyElement = leaf(
    "publishes",
    &[mandatory("day", ValueKind::OneOf(DAYS), "The day of the week.")],
    "A day of the week with an issue.",
);
static HOLIDAY: VocabularyElement = leaf(
    "holiday",
    &[
        mandatory("day", ValueKind::MonthAndDay, "The day, in each year that has it."),
        optional("reason", ValueKind::Text, "For people who read the file."),
    ],
    "A day of every year without an issue.",
);
static EXCEPTION: VocabularyElement = leaf(
    "exception",
    &[
        mandatory("date", ValueKind::Day, "The day."),
        mandatory("publishes", ValueKind::Flag, "Whether there is an issue on it."),
        optional("reason", ValueKind::Text, "For people who read the file."),
    ],
    "A day that is unlike its day of the week, or unlike other holidays.",
);
static CALENDAR: VocabularyElement = VocabularyElement {
    name: "calendar",
    about: "On which days there are issues.",
    attributes: &[
        mandatory("name", ValueKind::Name, "What channels name it by."),
        optional("timeZone", ValueKind::TimeZone, "Where its days begin and end; UTC without it."),
        optional("dateFormat", ValueKind::Name, "How clients write its days."),
    ],
    children: &[any(&PUBLISHES), any(&HOLIDAY), any(&EXCEPTION)],
    text: None,
};
static PRODUCT: VocabularyElement = VocabularyElement {
    name: "product",
    about: "A newspaper, magazine or site.",
    attributes: &[
        mandatory("name", ValueKind::Name, "What calls name it by."),
        optional("title", ValueKind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_most_once(&EDITIONS), at_most_once(&INSERTS), any(&CALENDAR)],
    text: None,
};
static PRODUCTS: VocabularyElement = list("products", &[any(&PRODUCT)], "The products.");

static TEMPLATE: VocabularyElement = text("template", ValueKind::Path, "Path of a template.");
static STYLESHEET: VocabularyElement = leaf(
    "stylesheet",
    &[
        mandatory("href", ValueKind::Path, "Path of the stylesheet."),
        optional("label", ValueKind::Text, "What people read."),
        IS_DEFAULT,
    ],
    "A stylesheet.",
);
static STYLES_GROUP: VocabularyElement =
    list("stylesGroup", &[any(&TEMPLATE), any(&STYLESHEET)], "Templates, and the stylesheets that go with them.");
static CHANNEL_ITEM: VocabularyElement = leaf(
    "contentItem",
    &[
        mandatory("type", ValueKind::Name, "A content item's type."),
        mandatory("actions", ValueKind::Name, "What may be done with it, names with spaces between them."),
    ],
    "What editors may do with a part of a story in its copy for the channel.",
);
static CHANNEL_ITEMS: VocabularyElement = list("contentItems", &[any(&CHANNEL_ITEM)], "Content items of a channel.");
static CHANNEL: VocabularyElement = VocabularyElement {
    name: "channel",
    about: "A way on which stories reach readers.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Tells it apart; calls may name it by this."),
        mandatory("name", ValueKind::Name, "Its name, and that of copies for it."),
        optional("type", ValueKind::Name, "What it is: print, web, tablet, wap."),
        optional("product", ValueKind::Name, "The product that it belongs to."),
        optional("calendar", ValueKind::Name, "The calendar of that product that it follows."),
        optional("compound", ValueKind::Flag, "Whether bundles hold copies for it."),
        optional("isTemplateChannel", ValueKind::Flag, "Whether the bundle's own text is this channel's."),
        optional(
            "templateChannel",
            ValueKind::Name,
            "The channel that clients inherit copies for it from: they name it in their calls.",
        ),
        optional("pageAccessories", ValueKind::Path, "The file of its page accessories."),
        optional("shapeTemplates", ValueKind::Path, "The file of its shape templates."),
    ],
    children: &[at_most_once(&EDITIONS), at_most_once(&INSERTS), any(&STYLES_GROUP), at_most_once(&CHANNEL_ITEMS)],
    text: None,
};
static CHANNELS: VocabularyElement = list("channels", &[any(&CHANNEL)], "The channels.");

static TEAM_CHANNEL: VocabularyElement = leaf(
    "channel",
    &[mandatory("name", ValueKind::Name, "Its name."), IS_DEFAULT],
    "A channel that the team works for.",
);
static TEAM: VocabularyElement = VocabularyElement {
    name: "team",
    about: "People who work together.",
    attributes: &[mandatory("name", ValueKind::Name, "Its name."), IS_DEFAULT],
    children: &[any(&TEAM_CHANNEL)],
    text: None,
};
static TEAMS: VocabularyElement = list("teams", &[any(&TEAM)], "The teams.");

static BASE_FOLDER: VocabularyElement = leaf(
    "baseFolder",
    &[
        mandatory("content", ValueKind::Name, "Name of the object type."),
        optional("channel", ValueKind::Name, "Counts only where this channel is named."),
        optional("name", ValueKind::Text, "What people read."),
        mandatory("workPath", ValueKind::Name, "Where its objects go, with placeholders."),
        optional(
            "workStatus",
            ValueKind::Name,
            "The status that clients give them there; a creation that names none has the first of its workflow.",
        ),
    ],
    "Where new objects of a type go.",
);
static BASE_FOLDERS: VocabularyElement =
    list("baseFolders", &[any(&BASE_FOLDER)], "Where new objects go in all work folders.");
static OF_TEAM: VocabularyElement =
    leaf("team", &[mandatory("name", ValueKind::Name, "Its name.")], "A team that it is for.");
static OF_CHANNEL: VocabularyElement =
    leaf("channel", &[mandatory("name", ValueKind::Name, "Its name.")], "A channel that it is for.");
static WORK_FOLDER: VocabularyElement = VocabularyElement {
    name: "workFolder",
    about: "A desk, and where it works. Without teams or channels it is for all.",
    attributes: &[
        optional("id", ValueKind::Name, "Tells it apart; its path without it."),
        mandatory("label", ValueKind::Name, "What people read."),
        mandatory("path", ValueKind::Path, "What calls name it by."),
        optional("dir", ValueKind::Path, "The folder that it works in; its path without it."),
        optional("type", ValueKind::Name, "What it is: section, subsection."),
        IS_DEFAULT,
    ],
    children: &[any(&OF_TEAM), any(&OF_CHANNEL), any(&BASE_FOLDER), any(&WORK_FOLDER)],
    text: None,
};
static WORK_FOLDERS: VocabularyElement = list("workFolders", &[any(&WORK_FOLDER)], "The work folders.");

static DEFINITION: VocabularyElement =
    leaf("definition", &[mandatory("path", ValueKind::Path, "Path of its file.")], "A metadata definition.");
static METADATA: VocabularyElement = list("metadata", &[any(&DEFINITION)], "The metadata definitions.");

/// The root of `/SysConfig/Site/siteconfig.xml`.
pub static SITE_CONFIG: VocabularyElement = VocabularyElement {
    name: "siteConfig",
    about: "The site configuration.",
    attributes: &[
        optional("name", ValueKind::Name, "Name of the site."),
        optional("defaultProduct", ValueKind::Text, "The product that is meant where none is named."),
        optional("defaultChannel", ValueKind::Text, "The channel that is meant where none is named."),
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

static CONTENT: VocabularyElement = text("content", ValueKind::Text, "What a new one starts with.");
static RES_LIMITS: VocabularyElement =
    text("resLimits", ValueKind::Text, "Smallest and largest size of a picture, in pixels.");
static SOURCE: VocabularyElement = leaf(
    "source",
    &[
        mandatory("element", ValueKind::Name, "The element that it becomes."),
        mandatory("type", ValueKind::Name, "The object type that may be dropped on it."),
        mandatory("xp", ValueKind::Name, "Which part of that is taken."),
    ],
    "What may be dropped on it.",
);
static SOURCES: VocabularyElement = list("sources", &[any(&SOURCE)], "What may be dropped on it.");
static ITEM: VocabularyElement = leaf(
    "item",
    &[mandatory("xp", ValueKind::Name, "Where it stands in the item.")],
    "A part of an item that repeats.",
);
static ITEMS: VocabularyElement = list("items", &[any(&ITEM)], "The parts of an item that repeats.");
static CONTENT_ITEM: VocabularyElement = VocabularyElement {
    name: "contentItem",
    about: "A part of a story that can be picked out and placed by itself.",
    attributes: &[
        optional("name", ValueKind::Text, "What people call it; its type without it."),
        mandatory("type", ValueKind::Name, "What it is; no other in the file has it."),
        optional("xp", ValueKind::Text, "Where it stands in the content."),
        optional("cssSelector", ValueKind::Text, "Where it goes on a web page."),
    ],
    children: &[at_most_once(&CONTENT), at_most_once(&RES_LIMITS), at_most_once(&SOURCES), at_most_once(&ITEMS)],
    text: None,
};
/// The root of `/SysConfig/ContentItems/contentItems.xml`.
pub static CONTENT_ITEMS: VocabularyElement = list("contentItems", &[any(&CONTENT_ITEM)], "The content items.");

const HUNDREDTHS: ValueKind = ValueKind::Number(0.0, 100.0);
const MEASURE: ValueKind = ValueKind::Number(0.0, 100_000.0);
static CELL: VocabularyElement = leaf(
    "cell",
    &[
        mandatory("x", HUNDREDTHS, "From the left, in hundredths of the whole."),
        mandatory("y", HUNDREDTHS, "From the top."),
        mandatory("width", HUNDREDTHS, "Its width."),
        mandatory("height", HUNDREDTHS, "Its height."),
    ],
    "The place of a picture.",
);
static LAYOUT: VocabularyElement = VocabularyElement {
    name: "layout",
    about: "How pictures stand together.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("label", ValueKind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&CELL)],
    text: None,
};
static COLLAGE: VocabularyElement = VocabularyElement {
    name: "collage",
    about: "The layouts of a channel in which several pictures are put together as one.",
    attributes: &[
        mandatory("channel", ValueKind::Name, "The channel."),
        mandatory("width", MEASURE, "Width of the whole: pixels for web channels, points for print."),
        mandatory("height", MEASURE, "Its height."),
        optional("gap", MEASURE, "What stays free between pictures."),
        optional("border", MEASURE, "What stays free around them."),
        optional("background", ValueKind::Text, "Colour behind them."),
        optional("format", ValueKind::Text, "Media type of the picture that is made."),
        optional("quality", ValueKind::Whole(1, 100), "Its quality."),
    ],
    children: &[any(&LAYOUT)],
    text: None,
};
/// The root of `/SysConfig/Collage/collage.xml`.
pub static COLLAGE_CONFIG: VocabularyElement = list("collageConfig", &[any(&COLLAGE)], "The collage configuration.");

static FIELD: VocabularyElement = leaf(
    "field",
    &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional(
            "type",
            ValueKind::OneOf(&["string", "text", "keyword", "integer", "date", "time"]),
            "What it holds; string without it.",
        ),
        mandatory("source", ValueKind::OneOf(&["record", "metadata", "content"]), "Where it comes from."),
        mandatory("path", ValueKind::Name, "Where it stands there."),
        optional("sortable", ValueKind::Flag, "Whether lists can be sorted by it."),
    ],
    "What can be searched by. Clients are shown it; the service searches by no index yet.",
);
static INDEX: VocabularyElement = VocabularyElement {
    name: "index",
    about: "Fields that are looked up together. Clients are shown it; the service searches by no index yet.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("database", ValueKind::Name, "The database that it is for; all without it."),
        optional("label", ValueKind::Text, "What people read; its name without it."),
        IS_DEFAULT,
    ],
    children: &[any(&FIELD)],
    text: None,
};
/// The root of `/SysConfig/Indexes/indexes.xml`.
pub static INDEXES: VocabularyElement = list("indexes", &[any(&INDEX)], "The indexes.");

static ACCESSORY_CONTENT: VocabularyElement = text("content", ValueKind::Text, "What it says.");
static ACCESSORY_SECTION: VocabularyElement = leaf(
    "appliesTo",
    &[mandatory("section", ValueKind::Name, "The section.")],
    "A section that it is offered for; without one, all.",
);
static ACCESSORY: VocabularyElement = VocabularyElement {
    name: "accessory",
    about: "A box, bar or line that can stand beside a story.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Tells it apart on its page."),
        optional("label", ValueKind::Text, "What people read; its id without it."),
        mandatory("kind", ValueKind::Name, "What it is: bar, box, field, list, strip, table, text."),
        optional("position", ValueKind::Name, "Where it stands."),
        optional("columns", ValueKind::Whole(0, 1000), "Its width in columns."),
        optional("lines", ValueKind::Whole(0, 10_000), "Its height in lines."),
        optional("max", ValueKind::Whole(0, 10_000), "Entries at most."),
        optional("xp", ValueKind::Text, "What it shows of the story."),
        optional("drawer", ValueKind::Path, "The drawer whose items it shows."),
        optional("refresh", ValueKind::Text, "How often it is made anew."),
        IS_DEFAULT,
    ],
    children: &[at_most_once(&ACCESSORY_CONTENT), any(&ACCESSORY_SECTION)],
    text: None,
};
static ACCESSORY_GROUP: VocabularyElement = VocabularyElement {
    name: "accessoryGroup",
    about: "Accessories of every page.",
    attributes: &[optional("name", ValueKind::Text, "What people read.")],
    children: &[any(&ACCESSORY)],
    text: None,
};
static PAGE: VocabularyElement = VocabularyElement {
    name: "page",
    about: "A kind of page.",
    attributes: &[
        mandatory("id", ValueKind::Name, "What calls name it by."),
        optional("label", ValueKind::Text, "What people read; its id without it."),
    ],
    children: &[any(&ACCESSORY)],
    text: None,
};
/// The root of a file to which a channel refers as `pageAccessories`.
pub static PAGE_ACCESSORIES: VocabularyElement = VocabularyElement {
    name: "pageAccessories",
    about: "The page accessories of a channel.",
    attributes: &[mandatory("channel", ValueKind::Name, "The channel.")],
    children: &[any(&ACCESSORY_GROUP), any(&PAGE)],
    text: None,
};

static FRAME: VocabularyElement = leaf(
    "frame",
    &[
        mandatory("element", ValueKind::Name, "The content item that goes there."),
        optional("columns", ValueKind::Whole(0, 1000), "Its width in columns."),
        optional("lines", ValueKind::Whole(0, 10_000), "Its height in lines."),
        optional("style", ValueKind::Text, "Its style."),
    ],
    "A place for a part of a story.",
);
static OF_WORK_FOLDER: VocabularyElement =
    text("workFolder", ValueKind::Path, "A work folder that it is for, with all below it; without one, all.");
static SHAPE_TEMPLATE: VocabularyElement = VocabularyElement {
    name: "shapeTemplate",
    about: "A shape that a story can take.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Tells it apart."),
        optional("name", ValueKind::Text, "What people read; its id without it."),
        optional("width", ValueKind::Text, "Its width in columns, or `auto`."),
        optional("height", ValueKind::Text, "Its height in lines, or `auto`."),
        optional("minWords", ValueKind::Whole(0, 1_000_000), "Words of a text that fits, at least."),
        optional("maxWords", ValueKind::Whole(0, 1_000_000), "And at most."),
        IS_DEFAULT,
    ],
    children: &[any(&OF_WORK_FOLDER), any(&FRAME)],
    text: None,
};
/// The root of a file to which a channel refers as `shapeTemplates`.
pub static SHAPE_TEMPLATES: VocabularyElement = VocabularyElement {
    name: "shapeTemplates",
    about: "The shape templates of a channel.",
    attributes: &[mandatory("channel", ValueKind::Name, "The channel.")],
    children: &[any(&SHAPE_TEMPLATE)],
    text: None,
};

static DEFINED_FOR: VocabularyElement = leaf(
    "appliesTo",
    &[
        optional("type", ValueKind::Name, "An object type; without it, all."),
        optional("workFolder", ValueKind::Path, "A work folder, with all below it; without it, all."),
    ],
    "Objects that it is for.",
);
static CHILD: VocabularyElement = leaf(
    "child",
    &[
        mandatory("name", ValueKind::Name, "The child."),
        mandatory("occurs", ValueKind::OneOf(&["", "?", "*", "+"]), "How often: empty for once, or `?`, `*`, `+`."),
    ],
    "A child of the element.",
);
static DEFAULT_CONTENT: VocabularyElement = text("defaultContent", ValueKind::Text, "What a new one starts with.");
static VALUE: VocabularyElement = text("value", ValueKind::Text, "A value.");
static LIST_VALUES: VocabularyElement = list("listValues", &[any(&VALUE)], "The values of a list.");
/// The levels of validation: not checked, shown but not checked, reported, refused.
pub const VALIDITIES: &[&str] = &["None", "ShowOnly", "Warn", "Strict"];

/// An element of a metadata definition. Properties that a DTD can't state as attributes are only in
/// the file.
pub static DEFINED_ELEMENT: VocabularyElement = VocabularyElement {
    name: "element",
    about: "An element of the metadata, and how a form shows it.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("title", ValueKind::Text, "What people read; its name without it."),
        optional("shortTitle", ValueKind::Text, "The same where there is little room."),
        optional(
            "distinct",
            ValueKind::Flag,
            "Whether each value may stand once beside the others; checked as `validity` says.",
        ),
        optional(
            "validity",
            ValueKind::OneOf(VALIDITIES),
            "How strictly it is checked; as the definition says without it.",
        ),
        optional("expandMode", ValueKind::OneOf(&["Expanded", "Collapsed"]), "How it is shown first."),
        optional(
            "visibility",
            ValueKind::OneOf(&["ReadOnly", "Invisible"]),
            "What users may do with it; all without it.",
        ),
        optional(
            "type",
            ValueKind::OneOf(&[
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
        optional("listName", ValueKind::Name, "The tree list of its values, by name: a file of /SysConfig/TreeLists."),
        optional("fileName", ValueKind::Path, "The tree list of its values, by path."),
        optional("prefix", ValueKind::Text, "The branch of the tree that its values lie in."),
        optional("filter", ValueKind::Text, "What names of values must match."),
        optional("result", ValueKind::OneOf(&["LeafOnly", "Fullpath"]), "How much of the path a value is."),
        optional("showPartPage", ValueKind::Flag, "Whether it is shown with a part of a page."),
        optional("template", ValueKind::Text, "How a day or time is written."),
        optional("dataSourceUrl", ValueKind::Text, "Where values are looked up."),
        optional("dataSourceResultTemplate", ValueKind::Text, "What of an entry found there is the value."),
        optional(
            "isHeadline",
            ValueKind::Flag,
            "Whether its text is the title of liveblogs, topics and plans that have none; one element at most.",
        ),
    ],
    children: &[any(&CHILD), at_most_once(&DEFAULT_CONTENT), at_most_once(&LIST_VALUES)],
    text: None,
};
/// The root of a file to which the site configuration refers as a metadata `definition`.
pub static METADATA_DEFINITION: VocabularyElement = VocabularyElement {
    name: "metadataDefinition",
    about: "The metadata of some object types.",
    attributes: &[
        mandatory("docType", ValueKind::Name, "The root of the metadata."),
        optional(
            "dtd",
            ValueKind::Path,
            "Path of its DTD, which says what elements there are and what stands in them.",
        ),
        optional(
            "validity",
            ValueKind::OneOf(VALIDITIES),
            "How strictly elements are checked that do not say it themselves; `None` without it.",
        ),
        IS_DEFAULT,
    ],
    children: &[any(&DEFINED_FOR), any(&DEFINED_ELEMENT)],
    text: None,
};

static WEB_TYPE: VocabularyElement = text("WebType", ValueKind::Name, "What a story appears as.");
static WEB_TYPES: VocabularyElement = list("WebTypes", &[any(&WEB_TYPE)], "What stories appear as online.");
/// The root of a file of `/SysConfig/TreeLists` for a list without branches.
pub static WEB_CONFIGURATION: VocabularyElement = VocabularyElement {
    name: "WebConfiguration",
    about: "What stories appear as online; a tree list without branches.",
    attributes: &[optional("product", ValueKind::Name, "The product that it is for.")],
    children: &[at_most_once(&WEB_TYPES)],
    text: None,
};

static NODE: VocabularyElement = VocabularyElement {
    name: "node",
    about: "A node of the tree.",
    attributes: &[mandatory("name", ValueKind::Name, "Its name.")],
    children: &[any(&NODE)],
    text: None,
};
/// The root of a file of `/SysConfig/TreeLists`.
pub static TREE_LIST: VocabularyElement = VocabularyElement {
    name: "treeList",
    about: "A tree of values.",
    attributes: &[optional("name", ValueKind::Text, "Its name.")],
    children: &[any(&NODE)],
    text: None,
};

/// The roots of all files.
pub static ROOTS: &[&VocabularyElement] = &[
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
