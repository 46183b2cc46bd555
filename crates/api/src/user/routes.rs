//! Administration of users.

use stet_newsroom::administration::UserChange;
use stet_web::route::words::*;

use crate::user;

const GET: Route =
    Route { codes: CODES_WITHOUT_OBJECT, ..base(Verb::Get, Privilege::ManageGroups, "docs/api/groups-and-users.md") };
const POST: Route =
    Route { codes: USUAL_CODES, ..base(Verb::Post, Privilege::ManageGroups, "docs/api/groups-and-users.md") };
const PUT: Route = base(Verb::Put, Privilege::ManageGroups, "docs/api/groups-and-users.md");

const NAME: PathParam = word("name", "name of the user");

/// The routes of users and their passwords.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-user-list-get",
        path: "/v3/user",
        summary: "List the users.",
        handler: handler!(user::list),
        ..GET
    },
    Route {
        id: "stet-user-get",
        path: "/v3/user/{name}",
        summary: "Read a user.",
        path_params: &[NAME],
        codes: USUAL_CODES,
        handler: handler!(user::get),
        ..GET
    },
    Route {
        id: "stet-user-create-post",
        secret: true,
        path: "/v3/user",
        summary: "Make a user.",
        body: required::<UserChange>(BodySizeRule::Long),
        handler: handler!(user::create),
        ..POST
    },
    Route {
        id: "stet-user-update-put",
        secret: true,
        path: "/v3/user/{name}",
        summary: "Change the fields of a user that the body names, including the password.",
        path_params: &[NAME],
        body: required::<UserChange>(BodySizeRule::Long),
        handler: handler!(user::change),
        ..PUT
    },
    Route {
        id: "stet-user-password-post",
        cookie: true,
        secret: true,
        path: "/v3/user/password",
        summary: "Change the user's own password and end all of the user's sessions, including the calling one.",
        privilege: None,
        body: required::<user::PasswordRequest>(BodySizeRule::Short),
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(user::set_own_password),
        ..POST
    },
];
