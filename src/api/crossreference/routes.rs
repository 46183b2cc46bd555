//! Cross references (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

/// The one group whose documented codes have a 400.
const CODES: &[u16] = &[200, 400, 401, 403, 404];

const POST: Route = Route { codes: CODES, ..base(Verb::Post, Privilege::Read, "docs/api/README.md#not-served-yet") };

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "crossreference-get-post",
        path: "/v3/crossreference",
        summary: "Look up cross references by an XPath.",
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "crossreference-set-post",
        path: "/v3/crossreference/{source}",
        summary: "Set a cross reference, by an XPath and an index among the nodes that it finds.",
        privilege: Some(Privilege::Write),
        path_params: &[source("the object to change")],
        body: required::<Value>(Size::Short),
        ..POST
    },
];
