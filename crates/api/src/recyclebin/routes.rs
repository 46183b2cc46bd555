//! The recycle bin (ours).

use stet_web::route::words::*;

use crate::recyclebin;

/// The routes of the group.
pub const ROUTES: &[Route] = &[Route {
    id: "stet-recyclebin-get",
    path: "/v3/recyclebin",
    summary: "List the objects in the recycle bin, the last discarded first.",
    query: &[SORT_BY, DATABASE, disp(true)],
    filters: true,
    tag: TagRule::Never,
    handler: handler!(recyclebin::list),
    codes: CODES_WITHOUT_OBJECT,
    ..base(Verb::Get, Privilege::Read, "docs/api/objects.md")
}];
