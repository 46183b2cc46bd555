//! Cross references (docs/api/cross-references.md).

use stet_web::route::words::*;

use crate::crossreference;

/// The one group whose documented codes have a 400.
const CODES: &[u16] = &[200, 400, 401, 403, 404];

const POST: Route = Route { codes: CODES, ..base(Verb::Post, Privilege::Read, "docs/api/cross-references.md") };

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "crossreference-get-post",
        path: "/v3/crossreference",
        summary: "Look up cross references by an XPath.",
        body: required::<crossreference::FindRequest>(BodySizeRule::Long),
        handler: handler!(crossreference::find),
        ..POST
    },
    Route {
        id: "crossreference-set-post",
        path: "/v3/crossreference/{source}",
        summary: "Set a cross reference, by an XPath and an index among the nodes that it selects.",
        privilege: Some(Privilege::Write),
        path_params: &[source("the object to change")],
        body: required::<crossreference::SetRequest>(BodySizeRule::Long),
        handler: handler!(crossreference::set),
        ..POST
    },
];
