//! Configuration (docs/api/configuration.md).

use stet_web::route::words::*;

use crate::conf;

const GET: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Get, Privilege::Read, "docs/api/configuration.md") };
const POST: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Post, Privilege::Read, "docs/api/configuration.md") };

const STORY: PathParam = source("the story");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "conf-xmlfiles-clearcache-post",
        path: "/v3/conf/xmlfiles/clearcache",
        summary: "Empty the in-memory cache of configuration files and their entities.",
        privilege: Some(Privilege::Configure),
        produces: ReplyFormat::Any,
        handler: handler!(conf::clear_cache),
        ..POST
    },
    Route {
        id: "conf-collage-get",
        path: "/v3/conf/collage",
        summary: "Read the collage configuration.",
        query: &[DATABASE, text("channel", None, "Name of the channel.")],
        handler: handler!(conf::collage),
        ..GET
    },
    Route {
        id: "conf-catalogs-get",
        path: "/v3/conf/catalogs",
        summary: "Column catalogs valid for the current user; the default ones without a token.",
        token: TokenRule::NotListed,
        privilege: None,
        query: &[
            text("file", Some("columnCfgCatalogs.cfg"), "Name of the column catalog file."),
            text("type", Some("ALL"), "Kind of catalogs."),
            DATABASE,
        ],
        handler: handler!(conf::catalogs),
        ..GET
    },
    Route {
        id: "conf-xmlfile-get",
        path: "/v3/conf/xmlfile",
        summary: "Read a configuration file.",
        token: TokenRule::NotListed,
        privilege: None,
        query: &[
            needed("path", "Path of the file."),
            DATABASE,
            flag(
                "resolveHrefEntity",
                false,
                "Replace entities that refer to other files by their text. Must be true for a page-accessories file.",
            ),
        ],
        produces: ReplyFormat::Xml,
        tag: TagRule::OfBytes,
        handler: handler!(conf::xml_file),
        ..GET
    },
    Route {
        id: "conf-connections-get",
        path: "/v3/conf/connections",
        summary: "List the database connections.",
        token: TokenRule::NotListed,
        privilege: None,
        query: &[flag("showRepositories", false, "Show the repositories and the default one.")],
        codes: &[200],
        handler: handler!(conf::connections),
        ..GET
    },
    Route {
        id: "conf-indexes-get",
        path: "/v3/conf/indexes",
        summary: "List the indexes.",
        token: TokenRule::NotListed,
        privilege: None,
        query: &[DATABASE],
        handler: handler!(conf::indexes),
        ..GET
    },
    Route {
        id: "conf-pageaccessories-post",
        path: "/v3/conf/{source}/pageaccessories",
        summary: "Page accessories for a story.",
        path_params: &[STORY],
        body: required::<conf::AccessoriesRequest>(BodySizeRule::Short),
        codes: USUAL_CODES,
        handler: handler!(conf::page_accessories),
        ..POST
    },
    Route {
        id: "conf-shapetemplates-list-post",
        path: "/v3/conf/shapetemplates/list",
        summary: "List the shape templates.",
        body: required::<conf::ShapesRequest>(BodySizeRule::Short),
        codes: USUAL_CODES,
        handler: handler!(conf::shape_templates),
        ..POST
    },
    Route {
        id: "conf-shapetemplates-source-list-post",
        path: "/v3/conf/shapetemplates/{source}/list",
        summary: "List the shape templates for a story.",
        path_params: &[STORY],
        body: optional::<conf::ShapesRequest>(BodySizeRule::Short),
        codes: USUAL_CODES,
        handler: handler!(conf::shape_templates_of),
        ..POST
    },
    Route {
        id: "stet-shape-story-get",
        path: "/v3/shape/story/{source}",
        summary: "Read the shape of a story, created from a shape template.",
        path_params: &[STORY],
        tag: TagRule::Never,
        query: &[
            text("channel", None, "Name or id of the channel; the site's default one without it."),
            text("workFolder", None, "Path of a work folder in place of the story's own."),
            text("pageId", None, "Id of the page that the story is for; the shape names it."),
        ],
        codes: USUAL_CODES,
        handler: handler!(conf::story_shape),
        ..GET
    },
    Route {
        id: "conf-siteconfigxml-get",
        path: "/v3/conf/siteconfigxml",
        summary: "Read the site configuration as XML.",
        token: TokenRule::NotListed,
        privilege: None,
        query: &[
            DATABASE,
            flag("refresh", false, "Read again the entities that have changed."),
            flag("forceRefresh", false, "Read every entity again."),
        ],
        produces: ReplyFormat::Xml,
        tag: TagRule::OfBytes,
        handler: handler!(conf::site_config_xml),
        ..GET
    },
    Route {
        id: "conf-resolvepath-get",
        path: "/v3/conf/{source}/resolvepath",
        summary: "Resolve an object's path through the site configuration.",
        path_params: &[source("the object")],
        codes: USUAL_CODES,
        tag: TagRule::Never,
        handler: handler!(conf::resolve_path),
        ..GET
    },
];
