//! Liveblogs (docs/api/liveblogs.md); their posts are in [`super::post`].

use stet_endpoint::requests;
use stet_web::route::words::*;

use crate::liveblog;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/liveblogs.md");
const POST: Route = base(Verb::Post, Privilege::Read, "docs/api/liveblogs.md");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/liveblogs.md");
const DELETE: Route = base(Verb::Delete, Privilege::Delete, "docs/api/liveblogs.md");

const LIVEBLOG: PathParam = source("the liveblog");
/// The parameter of a template. It is resolved later: an unreadable template gets the same reply as
/// a missing one, which has a code of its own.
const TEMPLATE: PathParam = word("source", "the template, as loid, uuid or path");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "liveblog-delete",
        path: "/v3/container/liveblog/{source}",
        summary: "Move a liveblog to the recycle bin.",
        path_params: &[LIVEBLOG],
        handler: handler!(liveblog::discard),
        ..DELETE
    },
    Route {
        id: "liveblog-content-get",
        path: "/v3/container/liveblog/{source}/content",
        summary: "Read the content of a liveblog, resolved or as stored.",
        path_params: &[LIVEBLOG],
        query: &[MAX_SIZE, VERSION, RAW, SHOW_DTD],
        headers: &["Range"],
        produces: ReplyFormat::Stream,
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(liveblog::content),
        ..GET
    },
    Route {
        id: "liveblog-get",
        path: "/v3/container/liveblog/{source}",
        summary: "Read a liveblog.",
        path_params: &[LIVEBLOG],
        query: &[disp(false)],
        sorts: true,
        handler: handler!(liveblog::get),
        ..GET
    },
    Route {
        id: "liveblog-search-post",
        path: "/v3/container/liveblog/{source}",
        summary: "List the posts of a liveblog that match a filter.",
        path_params: &[LIVEBLOG],
        body: required::<liveblog::SearchRequest>(BodySizeRule::Long),
        handler: handler!(liveblog::search),
        ..POST
    },
    Route {
        id: "liveblog-posts-post",
        source: "docs/api/posts.md",
        path: "/v3/container/liveblog/posts",
        summary: "Read all the posts named in the body.",
        body: required::<requests::ObjectListRequest>(BodySizeRule::Long),
        handler: handler!(liveblog::posts),
        ..POST
    },
    Route {
        id: "liveblog-from-default-template-post",
        path: "/v3/container/liveblog/from/template",
        summary: "Create a liveblog from the default template.",
        privilege: Some(Privilege::Create),
        body: required::<liveblog::CreateLiveblog>(BodySizeRule::Long),
        handler: handler!(liveblog::create_from_default),
        ..POST
    },
    Route {
        id: "liveblog-from-template-post",
        path: "/v3/container/liveblog/from/template/{source}",
        summary: "Create a liveblog from a template.",
        privilege: Some(Privilege::Create),
        path_params: &[TEMPLATE],
        body: required::<liveblog::CreateLiveblog>(BodySizeRule::Long),
        handler: handler!(liveblog::create_from_template),
        ..POST
    },
    Route {
        id: "liveblog-put",
        path: "/v3/container/liveblog/{source}",
        summary: "Write a liveblog's content: check out, write and check in as one step.",
        path_params: &[LIVEBLOG],
        query: &[
            disp(false),
            flag("checkIn", true, "Check in after the write; otherwise the working copy is saved."),
            flag("keepCheckedOut", false, "Keep the lock after the check-in."),
            flag("unlock", false, "Without a check-in: release the lock at the end."),
            flag("newVersion", false, "Check in as a new version; otherwise the current one is replaced."),
            flag("checkOut", false, "Check out before the write."),
            flag("checkOutClean", false, "Check out from the last checked-in version and discard a draft."),
        ],
        body: BodyRule::Bytes,
        handler: handler!(liveblog::write_content),
        ..PUT
    },
    Route {
        id: "stet-liveblog-feed-get",
        key_in_address: true,
        source: "docs/api/liveblogs.md",
        path: "/v3/container/liveblog/{source}/feed/{format}",
        summary: "Read the approved posts of a liveblog as a feed.",
        path_params: &[LIVEBLOG, word("format", "`atom`, `json` (JSON Feed) or `jsonld` (schema.org)")],
        query: &[
            number("limit", Some("50"), "Maximum number of posts, at most 1000."),
            number("offset", Some("0"), "Number of posts to skip."),
        ],
        produces: ReplyFormat::Stream,
        codes: &[200, 304, 401, 403, 404],
        handler: handler!(liveblog::feed),
        ..GET
    },
    Route {
        id: "stet-liveblog-public-get",
        path: "/v3/container/liveblog/{source}/public",
        summary: "Tell whether a liveblog is public, and the address of its page for readers.",
        path_params: &[LIVEBLOG],
        // It follows from the configuration and the place, which are no part of the revision.
        tag: TagRule::Never,
        handler: handler!(liveblog::public::public_address),
        ..GET
    },
];
