//! The audit trail (ours).

use stet_web::route::words::*;

use crate::audit;

/// The routes of the group.
pub const ROUTES: &[Route] = &[Route {
    id: "stet-audit-get",
    path: "/v3/audit",
    summary: "List changes with their user, time and address, the newest first.",
    query: &[
        text(
            "object",
            None,
            "Only changes of this object, as loid, uuid or path. A destroyed object is named by its loid.",
        ),
        text("user", None, "Only changes by this user."),
        number("from", None, "Only changes at this time and after, epoch milliseconds."),
        number("to", None, "Only changes before this time, epoch milliseconds."),
        number("limit", Some("100"), "Maximum number of entries, at most 1000."),
        text("after", None, "The `next` of the previous page."),
    ],
    handler: handler!(audit::list),
    ..base(Verb::Get, Privilege::Configure, "docs/api/audit.md")
}];
