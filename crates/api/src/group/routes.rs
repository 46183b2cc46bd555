//! Groups (docs/api/groups-and-users.md).

use stet_web::route::words::*;

use crate::group;

const POST: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Post, Privilege::ManageGroups, "docs/api/groups-and-users.md") };
const DELETE: Route = Route {
    codes: CODES_WITHOUT_OBJECT,
    ..base(Verb::Delete, Privilege::ManageGroups, "docs/api/groups-and-users.md")
};

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "group-create-post",
        path: "/v3/group/create",
        summary: "Create a group.",
        body: optional::<group::GroupRequest>(BodySizeRule::Long),
        handler: handler!(group::create),
        ..POST
    },
    Route {
        id: "group-delete",
        path: "/v3/group/delete",
        summary: "Remove a group.",
        query: &[needed("groupName", "Name of the group.")],
        handler: handler!(group::delete),
        ..DELETE
    },
    Route {
        id: "group-update-post",
        path: "/v3/group/update",
        summary: "Change the fields of a group that the body names.",
        body: optional::<group::GroupRequest>(BodySizeRule::Long),
        handler: handler!(group::update),
        ..POST
    },
];
