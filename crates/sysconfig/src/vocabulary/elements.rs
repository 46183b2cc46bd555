//! The elements of each file, from the leaves to its root.

use stet_domain::object::FamilyKind;

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
    optional("isDefault", ValueKind::Flag, "Whether it is the default, used where none is named.");

static CONTENT_TYPE: VocabularyElement =
    text("contentType", ValueKind::Name, "A media type from which the object type is inferred.");
static EXTENSION: VocabularyElement =
    text("extension", ValueKind::Name, "An extension of names from which the object type is inferred.");
static OBJECT_TYPE: VocabularyElement = VocabularyElement {
    name: "objectType",
    about: "A kind of object.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name, as in object records."),
        mandatory(
            "family",
            ValueKind::OneOf(&FamilyKind::NAMES),
            "The family, which decides how the server treats its objects.",
        ),
        optional("workflow", ValueKind::Text, "The workflow of its objects. If omitted, they have no status."),
        optional("label", ValueKind::Text, "Its label for users; by default its name."),
    ],
    children: &[any(&CONTENT_TYPE), any(&EXTENSION)],
    text: None,
};
/// The root of `/SysConfig/ObjectTypes/objecttypes.xml`.
pub static OBJECT_TYPES: VocabularyElement = list(
    "objectTypes",
    &[at_least_once(&OBJECT_TYPE)],
    "The object types. If several list a media type or extension, the first one counts.",
);

static STATUS: VocabularyElement = leaf(
    "status",
    &[
        mandatory(
            "name",
            ValueKind::Name,
            "Its name, as in object records, such as `Story/Ready`. Unique among all workflows.",
        ),
        mandatory("identifier", ValueKind::Colour, "Its colour in lists."),
        optional("initial", ValueKind::Flag, "Whether new objects get it. By default, they get the first status."),
        optional("closed", ValueKind::Flag, "Whether the contents of containers with this status can't be changed."),
    ],
    "A status that objects have.",
);
static TRANSITION: VocabularyElement = leaf(
    "transition",
    &[
        mandatory("from", ValueKind::Name, "A status of the workflow."),
        mandatory("to", ValueKind::Name, "A status that may follow it."),
    ],
    "An allowed change from one status to another. The server refuses all others, unless the workflow has \
     `enforce=\"false\"`.",
);
static WORKFLOW: VocabularyElement = VocabularyElement {
    name: "workflow",
    about: "The statuses that objects of some types pass through.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name, to which object types refer."),
        optional("enforce", ValueKind::Flag, "Whether only its transitions are allowed; by default true."),
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
    text("appliesTo", ValueKind::Name, "An object type that the command is for. If omitted, it is for all types.");
static PARAMETER: VocabularyElement = VocabularyElement {
    name: "parameter",
    about: "A parameter of the command.",
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
    about: "An action that clients offer for an object.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name, to which jobs refer."),
        optional("label", ValueKind::Text, "Its label for users; by default its name."),
        optional("group", ValueKind::Text, "The menu that contains it."),
        optional("shortcut", ValueKind::Text, "Its keyboard shortcut."),
        optional("privilege", ValueKind::OneOf(PRIVILEGES), "The privilege that a user needs on the object."),
        optional("confirm", ValueKind::Flag, "Whether the user must confirm it."),
    ],
    children: &[any(&APPLIES_TO), any(&PARAMETER), at_most_once(&SET)],
    text: None,
};
/// The root of `/SysConfig/Commands/commands.xml`.
pub static COMMANDS: VocabularyElement = list("commands", &[any(&COMMAND)], "The commands.");

static DESCRIPTION: VocabularyElement = text("description", ValueKind::Text, "Its purpose.");
static SELECT: VocabularyElement = leaf(
    "select",
    &[
        optional("type", ValueKind::Name, "Their type."),
        optional("status", ValueKind::Name, "Their status."),
        optional("folder", ValueKind::Path, "A folder that contains them, directly or further below."),
        optional("unchangedDays", ValueKind::Whole(0, 100_000), "The number of days since their last change."),
    ],
    "The objects to which the command is applied.",
);
static JOB: VocabularyElement = VocabularyElement {
    name: "job",
    about: "A command that clients run on a schedule.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("label", ValueKind::Text, "Its label for users; by default its name."),
        mandatory("command", ValueKind::Name, "The command's name."),
        mandatory(
            "schedule",
            ValueKind::Name,
            "Minute, hour, day of the month, month and day of the week (0 is Sunday), as in cron.",
        ),
        optional("enabled", ValueKind::Flag, "Whether it runs; by default true."),
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
        mandatory("id", ValueKind::Name, "Its id in replies, unique in the view."),
        optional("title", ValueKind::Text, "Its heading; by default its id."),
        mandatory("width", ValueKind::Number(0.0, 100_000.0), "Its width."),
        optional("widthUnit", ValueKind::OneOf(UNITS), "The unit of the width; by default PIXEL."),
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
    about: "A named set of at most 100 columns.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name in calls."),
        optional("title", ValueKind::Text, "Its label for users; by default its name."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&COLUMN)],
    text: None,
};
static CATALOG: VocabularyElement = VocabularyElement {
    name: "catalog",
    about: "Views for certain lists.",
    attributes: &[
        optional("name", ValueKind::Text, "Its label for users."),
        optional(
            "type",
            ValueKind::OneOf(LISTS),
            "The kind of lists; by default ALL. The server applies the views of folders and bundles, clients those \
             of drawers and messages.",
        ),
        optional("path", ValueKind::Path, "The folder below which they apply; by default the whole repository."),
        optional(
            "groups",
            ValueKind::Text,
            "The groups that they are for, separated by spaces or commas; by default all.",
        ),
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
            "The days of the week on which it appears, such as `SA SU`. They are checked, but have no effect.",
        ),
        IS_DEFAULT,
    ],
    "A part of a product that is printed separately.",
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
        mandatory("day", ValueKind::MonthAndDay, "The day, without a year."),
        optional("reason", ValueKind::Text, "A note for readers of the file."),
    ],
    "A day without an issue in every year.",
);
static EXCEPTION: VocabularyElement = leaf(
    "exception",
    &[
        mandatory("date", ValueKind::Day, "The day."),
        mandatory("publishes", ValueKind::Flag, "Whether an issue appears on it."),
        optional("reason", ValueKind::Text, "A note for readers of the file."),
    ],
    "A single day that differs from the rules for its day of the week and for holidays.",
);
static CALENDAR: VocabularyElement = VocabularyElement {
    name: "calendar",
    about: "The days on which issues appear.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name, to which channels refer."),
        optional("timeZone", ValueKind::TimeZone, "The time zone of its days; by default UTC."),
        optional("dateFormat", ValueKind::Name, "The format in which clients write its days."),
    ],
    children: &[any(&PUBLISHES), any(&HOLIDAY), any(&EXCEPTION)],
    text: None,
};
static PRODUCT: VocabularyElement = VocabularyElement {
    name: "product",
    about: "A newspaper, magazine or site.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name in calls."),
        optional("title", ValueKind::Text, "Its label for users; by default its name."),
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
        optional("label", ValueKind::Text, "Its label for users."),
        IS_DEFAULT,
    ],
    "A stylesheet.",
);
static STYLES_GROUP: VocabularyElement =
    list("stylesGroup", &[any(&TEMPLATE), any(&STYLESHEET)], "Templates and their stylesheets.");
static CHANNEL_ITEM: VocabularyElement = leaf(
    "contentItem",
    &[
        mandatory("type", ValueKind::Name, "The type of a content item."),
        mandatory("actions", ValueKind::Name, "The names of the allowed actions, separated by spaces."),
    ],
    "The actions that editors may take on a content item in a copy for the channel.",
);
static CHANNEL_ITEMS: VocabularyElement = list("contentItems", &[any(&CHANNEL_ITEM)], "Content items of a channel.");
static CHANNEL: VocabularyElement = VocabularyElement {
    name: "channel",
    about: "A way by which stories reach readers.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Its unique id, which calls may use as well."),
        mandatory("name", ValueKind::Name, "Its name, which is also the name of copies for it."),
        optional("type", ValueKind::Name, "Its kind: print, web, tablet or wap."),
        optional("product", ValueKind::Name, "Its product."),
        optional("calendar", ValueKind::Name, "Its calendar, one of the product's."),
        optional("compound", ValueKind::Flag, "Whether bundles hold copies for it."),
        optional("isTemplateChannel", ValueKind::Flag, "Whether a bundle's own text is the text for this channel."),
        optional(
            "templateChannel",
            ValueKind::Name,
            "The channel from which clients let copies for this one inherit; they name it in their calls.",
        ),
        optional("pageAccessories", ValueKind::Path, "Path of its file of page accessories."),
        optional("shapeTemplates", ValueKind::Path, "Path of its file of shape templates."),
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
        optional("channel", ValueKind::Name, "The channel for which it applies; by default all."),
        optional("name", ValueKind::Text, "Its label for users."),
        mandatory("workPath", ValueKind::Name, "Path of the folder for its objects, with placeholders."),
        optional(
            "workStatus",
            ValueKind::Name,
            "The status that clients give them. If a call that creates an object names none, the object gets the \
             first of its workflow.",
        ),
    ],
    "The folder for new objects of a type.",
);
static BASE_FOLDERS: VocabularyElement =
    list("baseFolders", &[any(&BASE_FOLDER)], "The folders for new objects in all work folders.");
static OF_TEAM: VocabularyElement =
    leaf("team", &[mandatory("name", ValueKind::Name, "Its name.")], "A team that it is for.");
static OF_CHANNEL: VocabularyElement =
    leaf("channel", &[mandatory("name", ValueKind::Name, "Its name.")], "A channel that it is for.");
static WORK_FOLDER: VocabularyElement = VocabularyElement {
    name: "workFolder",
    about: "A desk and its folder. If it names no teams or channels, it is for all.",
    attributes: &[
        optional("id", ValueKind::Name, "Its unique id; by default its path."),
        mandatory("label", ValueKind::Name, "Its label for users."),
        mandatory("path", ValueKind::Path, "Its name in calls."),
        optional("dir", ValueKind::Path, "Its folder in the repository; by default its path."),
        optional("type", ValueKind::Name, "Its kind: section or subsection."),
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
        optional("defaultProduct", ValueKind::Text, "The default product, used where none is named."),
        optional("defaultChannel", ValueKind::Text, "The default channel, used where none is named."),
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

static CONTENT: VocabularyElement = text("content", ValueKind::Text, "The initial content of a new one.");
static RES_LIMITS: VocabularyElement =
    text("resLimits", ValueKind::Text, "Smallest and largest size of a picture, in pixels.");
static SOURCE: VocabularyElement = leaf(
    "source",
    &[
        mandatory("element", ValueKind::Name, "The element into which a dropped object is converted."),
        mandatory("type", ValueKind::Name, "The type of the objects."),
        mandatory("xp", ValueKind::Name, "The part of the object that is used."),
    ],
    "Objects that may be dropped on it.",
);
static SOURCES: VocabularyElement = list("sources", &[any(&SOURCE)], "Objects that may be dropped on it.");
static ITEM: VocabularyElement = leaf(
    "item",
    &[mandatory("xp", ValueKind::Name, "Its location in the item, as a path.")],
    "A part of a repeating item.",
);
static ITEMS: VocabularyElement = list("items", &[any(&ITEM)], "The parts of a repeating item.");
static CONTENT_ITEM: VocabularyElement = VocabularyElement {
    name: "contentItem",
    about: "A part of a story that can be selected and placed on its own.",
    attributes: &[
        optional("name", ValueKind::Text, "Its label for users; by default its type."),
        mandatory("type", ValueKind::Name, "Its type, unique in the file."),
        optional("xp", ValueKind::Text, "Its location in the content, as a path."),
        optional("cssSelector", ValueKind::Text, "Its location on a web page."),
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
        mandatory("x", HUNDREDTHS, "Distance from the left, in percent of the whole width."),
        mandatory("y", HUNDREDTHS, "Distance from the top, in percent of the whole height."),
        mandatory("width", HUNDREDTHS, "Its width."),
        mandatory("height", HUNDREDTHS, "Its height."),
    ],
    "The place of a picture.",
);
static LAYOUT: VocabularyElement = VocabularyElement {
    name: "layout",
    about: "An arrangement of pictures.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("label", ValueKind::Text, "Its label for users; by default its name."),
        IS_DEFAULT,
    ],
    children: &[at_least_once(&CELL)],
    text: None,
};
static COLLAGE: VocabularyElement = VocabularyElement {
    name: "collage",
    about: "The layouts for combining several pictures into one for a channel.",
    attributes: &[
        mandatory("channel", ValueKind::Name, "The channel."),
        mandatory("width", MEASURE, "Width of the whole: pixels for web channels, points for print."),
        mandatory("height", MEASURE, "Its height."),
        optional("gap", MEASURE, "The space between pictures."),
        optional("border", MEASURE, "The space around all pictures."),
        optional("background", ValueKind::Text, "The background colour."),
        optional("format", ValueKind::Text, "Media type of the combined picture."),
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
            "The type of its values; by default string.",
        ),
        mandatory("source", ValueKind::OneOf(&["record", "metadata", "content"]), "The source of its values."),
        mandatory("path", ValueKind::Name, "Path of its values in the source."),
        optional("sortable", ValueKind::Flag, "Whether lists can be sorted by it."),
    ],
    "A searchable field. The server returns it to clients, but does not search by indexes yet.",
);
static INDEX: VocabularyElement = VocabularyElement {
    name: "index",
    about: "Fields that are searched together. The server returns it to clients, but does not search by indexes yet.",
    attributes: &[
        mandatory("name", ValueKind::Name, "Its name."),
        optional("database", ValueKind::Name, "The database that it is for; by default all."),
        optional("label", ValueKind::Text, "Its label for users; by default its name."),
        IS_DEFAULT,
    ],
    children: &[any(&FIELD)],
    text: None,
};
/// The root of `/SysConfig/Indexes/indexes.xml`.
pub static INDEXES: VocabularyElement = list("indexes", &[any(&INDEX)], "The indexes.");

static ACCESSORY_CONTENT: VocabularyElement = text("content", ValueKind::Text, "Its text.");
static ACCESSORY_SECTION: VocabularyElement = leaf(
    "appliesTo",
    &[mandatory("section", ValueKind::Name, "The section.")],
    "A section for which it is offered. If omitted, it is offered for all.",
);
static ACCESSORY: VocabularyElement = VocabularyElement {
    name: "accessory",
    about: "A box, bar or line that can stand beside a story.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Its id, unique on its page."),
        optional("label", ValueKind::Text, "Its label for users; by default its id."),
        mandatory("kind", ValueKind::Name, "Its kind: bar, box, field, list, strip, table or text."),
        optional("position", ValueKind::Name, "Its position."),
        optional("columns", ValueKind::Whole(0, 1000), "Its width in columns."),
        optional("lines", ValueKind::Whole(0, 10_000), "Its height in lines."),
        optional("max", ValueKind::Whole(0, 10_000), "The maximum number of entries."),
        optional("xp", ValueKind::Text, "The part of the story that it shows."),
        optional("drawer", ValueKind::Path, "The drawer whose items it shows."),
        optional("refresh", ValueKind::Text, "The interval at which its content is renewed."),
        IS_DEFAULT,
    ],
    children: &[at_most_once(&ACCESSORY_CONTENT), any(&ACCESSORY_SECTION)],
    text: None,
};
static ACCESSORY_GROUP: VocabularyElement = VocabularyElement {
    name: "accessoryGroup",
    about: "Accessories of every page.",
    attributes: &[optional("name", ValueKind::Text, "Its label for users.")],
    children: &[any(&ACCESSORY)],
    text: None,
};
static PAGE: VocabularyElement = VocabularyElement {
    name: "page",
    about: "A kind of page.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Its name in calls."),
        optional("label", ValueKind::Text, "Its label for users; by default its id."),
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
        mandatory("element", ValueKind::Name, "The content item in the frame."),
        optional("columns", ValueKind::Whole(0, 1000), "Its width in columns."),
        optional("lines", ValueKind::Whole(0, 10_000), "Its height in lines."),
        optional("style", ValueKind::Text, "Its style."),
    ],
    "A place for a part of a story.",
);
static OF_WORK_FOLDER: VocabularyElement = text(
    "workFolder",
    ValueKind::Path,
    "A work folder that it is for, including all below. If omitted, it is for all.",
);
static SHAPE_TEMPLATE: VocabularyElement = VocabularyElement {
    name: "shapeTemplate",
    about: "A shape that a story can take.",
    attributes: &[
        mandatory("id", ValueKind::Name, "Its unique id."),
        optional("name", ValueKind::Text, "Its label for users; by default its id."),
        optional("width", ValueKind::Text, "Its width in columns, or `auto`."),
        optional("height", ValueKind::Text, "Its height in lines, or `auto`."),
        optional("minWords", ValueKind::Whole(0, 1_000_000), "The minimum number of words of a fitting text."),
        optional("maxWords", ValueKind::Whole(0, 1_000_000), "The maximum number of words of a fitting text."),
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
        optional("type", ValueKind::Name, "An object type; by default all."),
        optional("workFolder", ValueKind::Path, "A work folder, including all below; by default all."),
    ],
    "Objects that it is for.",
);
static CHILD: VocabularyElement = leaf(
    "child",
    &[
        mandatory("name", ValueKind::Name, "The child."),
        mandatory(
            "occurs",
            ValueKind::OneOf(&["", "?", "*", "+"]),
            "How often the child may occur: empty for exactly once, or `?`, `*`, `+`.",
        ),
    ],
    "A child of the element.",
);
static DEFAULT_CONTENT: VocabularyElement =
    text("defaultContent", ValueKind::Text, "The initial content of a new one.");
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
        optional("title", ValueKind::Text, "Its label for users; by default its name."),
        optional("shortTitle", ValueKind::Text, "Its short label."),
        optional(
            "distinct",
            ValueKind::Flag,
            "Whether values must be unique among siblings; checked according to `validity`.",
        ),
        optional(
            "validity",
            ValueKind::OneOf(VALIDITIES),
            "How strictly it is checked; by default as stated for the whole definition.",
        ),
        optional("expandMode", ValueKind::OneOf(&["Expanded", "Collapsed"]), "Its initial state in a form."),
        optional(
            "visibility",
            ValueKind::OneOf(&["ReadOnly", "Invisible"]),
            "A restriction for users; by default none.",
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
            "The type of its values; by default as in the DTD, or else string.",
        ),
        optional("listName", ValueKind::Name, "The tree list of its values, by name: a file of /SysConfig/TreeLists."),
        optional("fileName", ValueKind::Path, "The tree list of its values, by path."),
        optional("prefix", ValueKind::Text, "The branch of the tree that contains its values."),
        optional("filter", ValueKind::Text, "A pattern that names of values must match."),
        optional(
            "result",
            ValueKind::OneOf(&["LeafOnly", "Fullpath"]),
            "The part of the tree path that is stored as the value.",
        ),
        optional("showPartPage", ValueKind::Flag, "Whether it is shown for a part of a page."),
        optional("template", ValueKind::Text, "The format of a day or time."),
        optional("dataSourceUrl", ValueKind::Text, "The address at which values are looked up."),
        optional("dataSourceResultTemplate", ValueKind::Text, "The part of a found entry that is the value."),
        optional(
            "isHeadline",
            ValueKind::Flag,
            "Whether its text is the title of liveblogs, topics and plans without one. At most one element may have \
             it.",
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
        optional("dtd", ValueKind::Path, "Path of its DTD, which defines the elements and their content."),
        optional(
            "validity",
            ValueKind::OneOf(VALIDITIES),
            "How strictly elements without their own `validity` are checked; by default `None`.",
        ),
        IS_DEFAULT,
    ],
    children: &[any(&DEFINED_FOR), any(&DEFINED_ELEMENT)],
    text: None,
};

static WEB_TYPE: VocabularyElement = text("WebType", ValueKind::Name, "A form in which a story appears online.");
static WEB_TYPES: VocabularyElement = list("WebTypes", &[any(&WEB_TYPE)], "The forms in which stories appear online.");
/// The root of a file of `/SysConfig/TreeLists` for a list without branches.
pub static WEB_CONFIGURATION: VocabularyElement = VocabularyElement {
    name: "WebConfiguration",
    about: "The forms in which stories appear online: a tree list without branches.",
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
