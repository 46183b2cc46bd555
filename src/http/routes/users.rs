//! Users, keys and sessions as they are looked after (decisions 4, 8).

use super::parts::*;
use crate::admin::{KeyRequest, UserChange, UserView};
use crate::api::{auth, key, session, user};

const GET: Route = Route { codes: A, ..base(Verb::Get, Privilege::ManageGroups, "ours") };
const POST: Route = Route { codes: S, ..base(Verb::Post, Privilege::ManageGroups, "ours") };
const PUT: Route = base(Verb::Put, Privilege::ManageGroups, "ours");
const DELETE: Route = base(Verb::Delete, Privilege::ManageGroups, "ours");

const NAME: PathParam = word("name", "name of the user");

/// The routes of users and their passwords.
pub const USERS: &[Route] = &[
    Route {
        id: "stet-user-list-get",
        path: "/v3/user",
        summary: "List the users.",
        reply: Some(type_of::<user::UserList>),
        handler: handler!(user::list),
        ..GET
    },
    Route {
        id: "stet-user-get",
        path: "/v3/user/{name}",
        summary: "Read a user.",
        path_params: &[NAME],
        codes: S,
        reply: Some(type_of::<UserView>),
        handler: handler!(user::get),
        ..GET
    },
    Route {
        id: "stet-user-create-post",
        secret: true,
        path: "/v3/user",
        summary: "Make a user.",
        body: required::<UserChange>(),
        reply: Some(type_of::<UserView>),
        handler: handler!(user::create),
        ..POST
    },
    Route {
        id: "stet-user-update-put",
        secret: true,
        path: "/v3/user/{name}",
        summary: "Change what is named of a user, the password too.",
        path_params: &[NAME],
        body: required::<UserChange>(),
        reply: Some(type_of::<UserView>),
        handler: handler!(user::change),
        ..PUT
    },
    Route {
        id: "stet-user-password-post",
        secret: true,
        path: "/v3/user/password",
        summary: "Change one's own password; ends all of one's sessions, the calling one too.",
        privilege: None,
        body: required::<user::PasswordRequest>(),
        codes: A,
        reply: Some(type_of::<auth::Ended>),
        handler: handler!(user::set_own_password),
        ..POST
    },
];

/// The routes of sessions.
pub const SESSIONS: &[Route] = &[
    Route {
        id: "stet-session-list-get",
        path: "/v3/session",
        summary: "List one's own sessions; with `manageGroups` those of others.",
        privilege: None,
        query: &[
            text(
                "user",
                None,
                "Name of the user whose sessions are listed; another than the caller needs `manageGroups`.",
            ),
            flag("all", false, "List the sessions of all users, which needs `manageGroups`; `user` goes first."),
        ],
        codes: S,
        reply: Some(type_of::<session::SessionList>),
        handler: handler!(session::list),
        ..GET
    },
    Route {
        id: "stet-session-delete",
        path: "/v3/session/{id}",
        summary: "End one of one's own sessions; with `manageGroups` any.",
        privilege: None,
        path_params: &[word("id", "public reference of the session")],
        reply: Some(type_of::<auth::Ended>),
        handler: handler!(session::end),
        ..DELETE
    },
];

/// The routes of keys.
pub const KEYS: &[Route] = &[
    Route {
        id: "stet-key-list-get",
        path: "/v3/key",
        summary: "List the keys in force.",
        reply: Some(type_of::<key::KeyList>),
        handler: handler!(key::list),
        ..GET
    },
    Route {
        id: "stet-key-create-post",
        secret: true,
        path: "/v3/key",
        summary: "Make a key for a machine client; its token is told this once.",
        body: required::<KeyRequest>(),
        reply: Some(type_of::<key::NewKeyReply>),
        handler: handler!(key::create),
        ..POST
    },
    Route {
        id: "stet-key-delete",
        path: "/v3/key/{name}",
        summary: "Revoke a key.",
        path_params: &[word("name", "name of the key")],
        reply: Some(type_of::<auth::Ended>),
        handler: handler!(key::revoke),
        ..DELETE
    },
];
