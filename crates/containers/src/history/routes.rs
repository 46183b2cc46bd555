//! The history of containers (ours).

use stet_web::route::words::*;

use crate::history::{self, RevertRequest, UndoRequest};

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/history.md");
const POST: Route = base(Verb::Post, Privilege::Write, "docs/api/history.md");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-history-get",
        path: "/v3/container/{source}/history",
        summary: "List the changes of a container, the newest first: who changed what, and when.",
        path_params: &[source("the container: a drawer, a folder, a liveblog or any other object")],
        query: &[
            number("before", None, "Only changes to revisions below this one: the `next` of the page before."),
            number("limit", Some("50"), "Number of changes, 1 to 200."),
        ],
        tag: TagRule::Never,
        handler: handler!(history::list),
        ..GET
    },
    Route {
        id: "stet-revert-post",
        path: "/v3/container/{source}/revert",
        summary: "Make a drawer as it was at an earlier revision, as a new change.",
        path_params: &[source("the drawer")],
        body: required::<RevertRequest>(BodySizeRule::Short),
        handler: handler!(history::revert),
        ..POST
    },
    Route {
        id: "stet-undo-post",
        path: "/v3/container/{source}/undo",
        summary: "Undo one's own latest change of a drawer, or another of one's own.",
        path_params: &[source("the drawer")],
        body: optional::<UndoRequest>(BodySizeRule::Short),
        handler: handler!(history::undo),
        ..POST
    },
];
