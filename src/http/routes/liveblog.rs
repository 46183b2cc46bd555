//! Liveblogs (interface 4.8); their posts are in [`super::post`].

use super::parts::*;

const GET: Route = base(Verb::Get, Privilege::Read, "interface 4.8");
const POST: Route = base(Verb::Post, Privilege::Read, "interface 4.8");
const PUT: Route = base(Verb::Put, Privilege::Write, "interface 4.8");
const DELETE: Route = base(Verb::Delete, Privilege::Delete, "interface 4.8");

const LIVEBLOG: PathParam = source("the liveblog");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "liveblog-delete",
        path: "/v3/container/liveblog/{source}",
        summary: "Move a liveblog to the recycle bin.",
        path_params: &[LIVEBLOG],
        ..DELETE
    },
    Route {
        id: "liveblog-content-get",
        path: "/v3/container/liveblog/{source}/content",
        summary: "Content of a liveblog, resolved or as it is stored.",
        path_params: &[LIVEBLOG],
        query: &[MAX_SIZE, VERSION, RAW, SHOW_DTD],
        headers: &["Range"],
        produces: Produces::Stream,
        codes: A,
        ..GET
    },
    Route {
        id: "liveblog-get",
        path: "/v3/container/liveblog/{source}",
        summary: "Read a liveblog.",
        path_params: &[LIVEBLOG],
        query: &[disp(false)],
        ..GET
    },
    Route {
        id: "liveblog-search-post",
        path: "/v3/container/liveblog/{source}",
        summary: "Posts of a liveblog that match a filter.",
        path_params: &[LIVEBLOG],
        body: required::<Value>(),
        ..POST
    },
    Route {
        id: "liveblog-posts-post",
        path: "/v3/container/liveblog/posts",
        summary: "Read all the posts named in the body.",
        body: required::<Value>(),
        ..POST
    },
    Route {
        id: "liveblog-from-default-template-post",
        path: "/v3/container/liveblog/from/template",
        summary: "Create a liveblog from the default template.",
        privilege: Some(Privilege::Create),
        body: required::<Value>(),
        ..POST
    },
    Route {
        id: "liveblog-from-template-post",
        path: "/v3/container/liveblog/from/template/{source}",
        summary: "Create a liveblog from a template.",
        privilege: Some(Privilege::Create),
        path_params: &[other("source", Privilege::Read, "the template")],
        body: required::<Value>(),
        ..POST
    },
    Route {
        id: "liveblog-put",
        path: "/v3/container/liveblog/{source}",
        summary: "Write a liveblog's content: check out, write and check in as one step.",
        path_params: &[LIVEBLOG],
        query: &[
            disp(false),
            flag("checkIn", true, "Check in after the write; else the working copy is saved."),
            flag("keepCheckedOut", false, "Keep the lock after the check-in."),
            flag("unlock", false, "Without a check-in: release the lock at the end."),
            flag("newVersion", false, "Check in as a new version; else the current one is replaced."),
            flag("checkOut", false, "Check out before the write."),
            flag("checkOutClean", false, "Check out from the last checked-in version, dropping a draft."),
        ],
        body: optional::<Value>(),
        ..PUT
    },
];
