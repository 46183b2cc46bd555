//! Administration of sessions.

use stet_web::route::words::*;

use crate::session;

const GET: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Get, Privilege::ManageGroups, "docs/api/auth.md") };
const DELETE: Route = base(Verb::Delete, Privilege::ManageGroups, "docs/api/auth.md");

/// The routes of sessions.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-session-list-get",
        path: "/v3/session",
        summary: "List the caller's sessions, or with `manageGroups` those of other users.",
        privilege: None,
        query: &[
            text(
                "user",
                None,
                "Name of the user whose sessions are listed. Any user but the caller needs `manageGroups`.",
            ),
            flag(
                "all",
                false,
                "List the sessions of all users, which needs `manageGroups`. Ignored if `user` is given.",
            ),
        ],
        codes: USUAL_CODES,
        handler: handler!(session::list),
        ..GET
    },
    Route {
        id: "stet-session-delete",
        path: "/v3/session/{id}",
        summary: "End one of the caller's sessions, or with `manageGroups` any session.",
        privilege: None,
        path_params: &[word("id", "public reference of the session")],
        handler: handler!(session::end),
        ..DELETE
    },
];
