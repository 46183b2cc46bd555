//! Keys for machine clients.

use stet_newsroom::administration::KeyRequest;
use stet_web::route::words::*;

use crate::key;

const GET: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Get, Privilege::ManageGroups, "docs/api/keys.md") };
const POST: Route = Route { codes: USUAL_CODES, ..base(Verb::Post, Privilege::ManageGroups, "docs/api/keys.md") };
const DELETE: Route = base(Verb::Delete, Privilege::ManageGroups, "docs/api/keys.md");

/// The routes of keys.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-key-list-get",
        path: "/v3/key",
        summary: "List the valid keys.",
        handler: handler!(key::list),
        ..GET
    },
    Route {
        id: "stet-key-create-post",
        secret: true,
        path: "/v3/key",
        summary: "Create a key for a program. Its token is shown only in this reply.",
        body: required::<KeyRequest>(BodySizeRule::Long),
        handler: handler!(key::create),
        ..POST
    },
    Route {
        id: "stet-key-delete",
        path: "/v3/key/{name}",
        summary: "Revoke a key.",
        path_params: &[word("name", "name of the key")],
        handler: handler!(key::revoke),
        ..DELETE
    },
];
