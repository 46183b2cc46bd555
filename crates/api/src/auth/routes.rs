//! Login, logout and the connection (docs/api/auth.md).

use stet_web::route::words::*;

use crate::auth;

const GET: Route =
    Route { privilege: None, codes: &[200, 401], ..base(Verb::Get, Privilege::Read, "docs/api/auth.md") };
const POST: Route =
    Route { privilege: None, codes: &[200, 401], ..base(Verb::Post, Privilege::Read, "docs/api/auth.md") };

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "auth-connection-check-get",
        path: "/v3/auth/connection/check",
        summary: "Report whether the current connection is alive.",
        handler: handler!(auth::check),
        ..GET
    },
    Route {
        id: "auth-connection-get",
        path: "/v3/auth/connection",
        summary: "Connection details of the user's most recent login.",
        handler: handler!(auth::connection),
        ..GET
    },
    Route {
        id: "auth-login-get",
        cookie: true,
        secret: true,
        path: "/v3/auth/login",
        summary: "Log in with a CAS ticket.",
        token: TokenRule::Login,
        query: &[
            needed("applicationId", "Name of the client program."),
            needed("connectionId", "Connection to log in to."),
            needed("ticket", "Ticket of the CAS server."),
            QueryParam::Display { additional_info: false, path: false, web: false },
            flag("loadConfig", true, "Load and resolve the user configuration."),
            flag("showUserInfo", false, "Show the user."),
            flag("showGroups", true, "Show the user's groups; takes effect together with `showUserInfo`."),
            flag("showPrivileges", false, "Show the user's privileges."),
            DATABASE,
            flag("showAvailableConnections", false, "Show the available connections."),
            flag("showWebType", false, "Show the web type."),
            text("webProduct", None, "Web product used to search the web type."),
        ],
        handler: handler!(auth::log_in_with_ticket),
        ..GET
    },
    Route {
        id: "auth-logout-get",
        cookie: true,
        ends_session: true,
        path: "/v3/auth/logout",
        summary: "End the session and invalidate its token.",
        handler: handler!(auth::log_out),
        ..GET
    },
    Route {
        id: "auth-copy-post",
        cookie: true,
        secret: true,
        path: "/v3/auth/copy",
        summary: "Open a second session of the same user, with a token of its own.",
        token: TokenRule::InBody,
        body: required::<auth::CopyRequest>(BodySizeRule::Short),
        codes: &[200],
        handler: handler!(auth::copy),
        ..POST
    },
    Route {
        id: "auth-login-post",
        cookie: true,
        secret: true,
        path: "/v3/auth/login",
        summary: "Log in with a user name and password.",
        token: TokenRule::Login,
        body: required::<auth::LoginRequest>(BodySizeRule::Short),
        handler: handler!(auth::log_in),
        ..POST
    },
];
