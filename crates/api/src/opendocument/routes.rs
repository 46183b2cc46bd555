//! Opening of generic containers (docs/api/bundles.md).

use stet_web::route::words::*;

use crate::opendocument;

/// The common properties of the routes. A check-out is a change, though callers who only read need
/// no more than `read`.
const POST: Route = Route { effect: CallEffect::Acts, ..base(Verb::Post, Privilege::Read, "docs/api/bundles.md") };

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "opendocument-source-post",
        path: "/v3/container/{source}/opendocument",
        summary: "Open a container: its record, members, content and lock in one reply.",
        path_params: &[source("the container")],
        body: optional::<opendocument::OpenRequest>(BodySizeRule::Short),
        handler: handler!(opendocument::open_named),
        ..POST
    },
    Route {
        id: "opendocument-post",
        path: "/v3/container/opendocument",
        summary: "Open the container named in the body.",
        body: optional::<opendocument::OpenRequest>(BodySizeRule::Short),
        handler: handler!(opendocument::open_one),
        ..POST
    },
    Route {
        id: "opendocuments-post",
        path: "/v3/container/opendocuments",
        summary: "Open the containers named in the body.",
        body: optional::<opendocument::OpenRequest>(BodySizeRule::Long),
        handler: handler!(opendocument::open_several),
        ..POST
    },
];
