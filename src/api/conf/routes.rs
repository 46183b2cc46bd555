//! Configuration (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const GET: Route = Route { codes: A, ..base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet") };
const POST: Route = Route { codes: A, ..base(Verb::Post, Privilege::Read, "docs/api/README.md#not-served-yet") };

const STORY: PathParam = source("the story");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "conf-xmlfiles-clearcache-post",
        path: "/v3/conf/xmlfiles/clearcache",
        summary: "Empty the in-memory cache of configuration files and their entities.",
        privilege: Some(Privilege::Configure),
        produces: Produces::Any,
        ..POST
    },
    Route {
        id: "conf-collage-get",
        path: "/v3/conf/collage",
        summary: "Read the collage configuration.",
        query: &[DATABASE, text("channel", None, "Name of the channel.")],
        ..GET
    },
    Route {
        id: "conf-catalogs-get",
        path: "/v3/conf/catalogs",
        summary: "Column catalogs valid for the current user; the default ones without a token.",
        token: Token::NotListed,
        privilege: None,
        query: &[
            text("file", Some("columnCfgCatalogs.cfg"), "Name of the column catalog file."),
            text("type", Some("ALL"), "Kind of catalogs."),
            DATABASE,
        ],
        ..GET
    },
    Route {
        id: "conf-xmlfile-get",
        path: "/v3/conf/xmlfile",
        summary: "Read a configuration file.",
        token: Token::NotListed,
        privilege: None,
        query: &[
            text("path", None, "Path of the file."),
            DATABASE,
            flag(
                "resolveHrefEntity",
                false,
                "Put in the text of the entities that are references to other files; true for a page-accessories file.",
            ),
        ],
        produces: Produces::Xml,
        ..GET
    },
    Route {
        id: "conf-connections-get",
        path: "/v3/conf/connections",
        summary: "List the database connections.",
        token: Token::NotListed,
        privilege: None,
        query: &[flag("showRepositories", false, "Show the repositories and the default one.")],
        codes: &[200],
        ..GET
    },
    Route {
        id: "conf-indexes-get",
        path: "/v3/conf/indexes",
        summary: "List the indexes.",
        token: Token::NotListed,
        privilege: None,
        query: &[DATABASE],
        ..GET
    },
    Route {
        id: "conf-pageaccessories-post",
        path: "/v3/conf/{source}/pageaccessories",
        summary: "Page accessories for a story.",
        path_params: &[STORY],
        body: required::<Value>(Size::Short),
        codes: S,
        ..POST
    },
    Route {
        id: "conf-shapetemplates-list-post",
        path: "/v3/conf/shapetemplates/list",
        summary: "List the shape templates.",
        body: required::<Value>(Size::Short),
        codes: S,
        ..POST
    },
    Route {
        id: "conf-shapetemplates-source-list-post",
        path: "/v3/conf/shapetemplates/{source}/list",
        summary: "List the shape templates for a story.",
        path_params: &[STORY],
        body: optional::<Value>(Size::Short),
        codes: S,
        ..POST
    },
    Route {
        id: "conf-siteconfigxml-get",
        path: "/v3/conf/siteconfigxml",
        summary: "Read the site configuration as XML.",
        token: Token::NotListed,
        privilege: None,
        query: &[
            DATABASE,
            flag("refresh", false, "Read again the entities that have changed."),
            flag("forceRefresh", false, "Read every entity again."),
        ],
        produces: Produces::Xml,
        ..GET
    },
    Route {
        id: "conf-resolvepath-get",
        path: "/v3/conf/{source}/resolvepath",
        summary: "Resolve an object's path through the site configuration.",
        path_params: &[source("the object")],
        codes: S,
        ..GET
    },
];
