//! The older, unversioned resources (docs/api/README.md, "Base path and surfaces"). They document
//! no codes of their own; docs/api/README.md, "Codes", holds for all.

use stet_web::route::words::*;

use crate::{auth, group, message, object, older};

const GET: Route = Route { codes: &[], ..base(Verb::Get, Privilege::Read, "docs/api/README.md") };
const POST: Route = Route { privilege: None, codes: &[], ..base(Verb::Post, Privilege::Read, "docs/api/README.md") };
const DELETE: Route = Route { codes: &[], ..base(Verb::Delete, Privilege::Delete, "docs/api/README.md") };

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "old-auth-login-post",
        cookie: true,
        source: "docs/api/auth.md",
        secret: true,
        path: "/auth/login",
        summary: "Log in with a form.",
        token: TokenRule::Login,
        body: BodyRule::Form(type_of::<auth::LoginRequest>, BodySizeRule::Short),
        handler: handler!(auth::older_log_in),
        ..POST
    },
    Route {
        id: "old-auth-logout-get",
        cookie: true,
        ends_session: true,
        source: "docs/api/auth.md",
        path: "/auth/logout",
        summary: "End the session.",
        privilege: None,
        handler: handler!(auth::older_log_out),
        ..GET
    },
    Route {
        id: "old-calendar-nextpublicationdate-get",
        further: &[404],
        source: "docs/api/calendar.md",
        path: "/calendar/nextPublicationDate",
        summary: "Read the next publication date of a product.",
        query: &[
            needed("fromIssueDate", "Date to start from."),
            needed("product", "Name of the product."),
            text("simpleDateFormat", Some("yyyyMMdd"), "Format of the dates."),
        ],
        handler: handler!(older::next_publication_date),
        ..GET
    },
    Route {
        id: "old-channel-list-get",
        source: "docs/api/channels.md",
        path: "/conf/channel/list",
        summary: "List the channels.",
        query: &[
            list("loidsSource", true, "Loids of the objects that the channels are for."),
            DATABASE,
            flag("showCalendar", false, "Show the calendar of each channel."),
            flag("showCompound", false, "Show whether bundles hold copies for each channel."),
            flag("showInserts", false, "Show the inserts of each channel."),
            flag(
                "showTemplateChannels",
                false,
                "Show which channels are template channels, and the template channel of each.",
            ),
            flag("showTemplates", true, "Show the templates of each channel."),
            flag("showWorkfolders", false, "Show the workfolders for each channel."),
        ],
        handler: handler!(older::channels),
        ..GET
    },
    Route {
        id: "old-contentitems-list-get",
        source: "docs/api/content-items.md",
        path: "/conf/contentItems/list",
        summary: "List the content items.",
        query: &[flag("validate", true, "Leave out content items that are not valid.")],
        handler: handler!(older::content_items),
        ..GET
    },
    Route {
        id: "old-contentitems-map-get",
        source: "docs/api/content-items.md",
        path: "/conf/contentItems/map",
        summary: "Content items keyed by their type.",
        query: &[flag("validate", true, "Leave out content items that are not valid.")],
        handler: handler!(older::content_item_map),
        ..GET
    },
    Route {
        id: "old-group-list-get",
        about_people: true,
        source: "docs/api/groups-and-users.md",
        path: "/conf/group/list",
        summary: "List the names of the groups.",
        query: &[DATABASE],
        handler: handler!(group::list),
        ..GET
    },
    Route {
        id: "old-metadata-dtd-get",
        further: &[404],
        source: "docs/api/metadata.md",
        path: "/conf/metadata/dtd",
        summary: "Read a metadata definition.",
        query: &[
            open_flag("defaultMetadata", "Read the default definition."),
            text("id", None, "Id of an object with the definition."),
            text("path", None, "Path of an object with the definition."),
            text("sessionId", None, "Session that the path belongs to."),
            text("type", None, "Object type that the definition is for."),
            text("workFolder", None, "Path of the workfolder."),
        ],
        handler: handler!(older::definition),
        ..GET
    },
    Route {
        id: "old-metadata-treedb-get",
        further: &[404],
        source: "docs/api/metadata.md",
        path: "/conf/metadata/dtd/treedb",
        summary: "Tree paths below a node of a metadata definition.",
        query: &[
            needed("node", "Name of the element."),
            text("id", None, "Id of an object with the definition."),
            text("path", None, "Path of an object with the definition."),
            text("sessionId", None, "Session that the path belongs to."),
        ],
        handler: handler!(older::tree),
        ..GET
    },
    Route {
        id: "old-metadata-treedbxml-get",
        further: &[404],
        source: "docs/api/metadata.md",
        path: "/conf/metadata/dtd/treedbxml",
        summary: "Tree values below a node of a metadata definition, as XML.",
        query: &[
            needed("node", "Name of the element."),
            text("id", None, "Id of an object with the definition."),
            text("path", None, "Path of an object with the definition."),
            text("sessionId", None, "Session that the path belongs to."),
        ],
        produces: ReplyFormat::Xml,
        handler: handler!(older::tree_xml),
        ..GET
    },
    Route {
        id: "old-resolve-path-get",
        source: "docs/api/paths.md",
        path: "/conf/resolve/path",
        summary: "Resolve a path from a content type and its context.",
        query: &[
            needed("contentType", "Type of the content."),
            text("channel", None, "Name of the channel."),
            DATABASE,
            text("edition", None, "Name of the edition."),
            text("insert", None, "Name of the insert."),
            text("issueDate", None, "Issue date, `yyyyMMdd`."),
            text("sectionPath", None, "Path of the section."),
            text("siteName", None, "Name of the site."),
            text("team", None, "Name of the team."),
            text("workfolder", None, "Path of the workfolder."),
        ],
        handler: handler!(older::resolve_path),
        ..GET
    },
    Route {
        id: "old-siteconfig-get",
        further: &[403, 404, 409, 507],
        source: "docs/api/paths.md",
        path: "/conf/siteconfig",
        summary: "Site configuration for an object type.",
        query: &[
            needed("type", "Object type."),
            open_flag("autocreate", "Create the folder if it is missing."),
            text("channel", None, "Name of the channel."),
            flag("check", false, "Check that the folder exists."),
            text("fileName", None, "Name for an object in the folder. With `check`, it must be free."),
            text("workfolder", None, "Path of the workfolder."),
        ],
        handler: handler!(older::site_config),
        ..GET
    },
    Route {
        id: "old-team-list-get",
        source: "docs/api/teams.md",
        path: "/conf/team/list",
        summary: "List the teams.",
        query: &[DATABASE, flag("showChannels", false, "Show the channels of each team.")],
        handler: handler!(older::teams),
        ..GET
    },
    Route {
        id: "old-user-list-get",
        about_people: true,
        source: "docs/api/people.md",
        path: "/conf/user/list",
        summary: "List the users.",
        query: &[
            DATABASE,
            text("query", None, "Part of a name."),
            flag("showExtraInfo", false, "Show addresses and calendars."),
        ],
        handler: handler!(older::users),
        ..GET
    },
    Route {
        id: "old-userdata-get",
        further: &[404],
        source: "docs/api/people.md",
        path: "/conf/userdata",
        summary: "Team, workfolder and product of the user.",
        query: &[flag("checkWorkfolder", false, "Check that the workfolder exists.")],
        handler: handler!(older::user_data),
        ..GET
    },
    Route {
        id: "old-workfolder-list-get",
        source: "docs/api/work-folders.md",
        path: "/conf/workfolder/list",
        summary: "List the workfolders.",
        query: &[
            text("channel", None, "Name of the channel."),
            text("contentType", None, "Type of the content."),
            DATABASE,
            number("depth", Some("1"), "Number of levels."),
            text("parent", None, "Path of the workfolder to start at."),
            flag("showBasefolders", false, "Show the base folders."),
            text("team", None, "Name of the team."),
        ],
        handler: handler!(older::work_folders),
        ..GET
    },
    Route {
        id: "old-pageplan-delete",
        source: "docs/api/page-plans.md",
        path: "/containers/pagePlan",
        summary: "Remove a page plan.",
        query: &[
            text("sessionId", None, "Session that the path belongs to."),
            needed("source", "The page plan: a loid, uuid or path."),
        ],
        handler: handler!(older::remove_page_plan),
        ..DELETE
    },
    Route {
        id: "stet-old-login-post",
        cookie: true,
        source: "docs/api/auth.md",
        secret: true,
        path: "/login",
        summary: "Log in with a form.",
        token: TokenRule::Login,
        body: BodyRule::Form(type_of::<auth::LoginRequest>, BodySizeRule::Short),
        handler: handler!(auth::older_log_in),
        ..POST
    },
    Route {
        id: "stet-old-message-get",
        source: "docs/api/messages.md",
        tag: TagRule::Never,
        path: "/message",
        summary: "List the messages that the user has received, the newest first.",
        query: &[LIMIT, SORT_BY, disp(true)],
        handler: handler!(message::inbox),
        ..GET
    },
    Route {
        id: "stet-old-message-post",
        source: "docs/api/messages.md",
        path: "/message",
        summary: "Send a message to users and groups.",
        privilege: Some(Privilege::Create),
        body: optional::<message::MailRequest>(BodySizeRule::Long),
        handler: handler!(message::send_mail),
        ..POST
    },
    Route {
        id: "stet-old-object-linked-get",
        source: "docs/api/objects.md",
        tag: TagRule::Never,
        path: "/object/linked",
        summary: "List the links of an object and its channel copies.",
        query: &[
            needed("id", "Loid, uuid or path of the object."),
            DATABASE,
            text("roleType", None, "Only links with this name on the object's side."),
        ],
        handler: handler!(older::linked),
        ..GET
    },
    Route {
        id: "stet-old-object-story-post",
        source: "docs/api/objects.md",
        path: "/object/story",
        summary: "Create a story from its content or from the configured template, or write an existing story.",
        privilege: Some(Privilege::Create),
        alternative: AlternativePrivilege::Or(Privilege::Write),
        query: &[
            text("id", None, "Loid, uuid or path of the story to write. If omitted, a story is created."),
            flag("newVersion", false, "With `id`: write a new version; otherwise the latest is replaced."),
            DATABASE,
        ],
        body: BodyRule::MultipartOrBytes { options: type_of::<object::CreateObject>, files: &["content"] },
        handler: handler!(object::story),
        ..POST
    },
];
