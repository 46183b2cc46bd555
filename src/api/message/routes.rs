//! Mail between users (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/README.md#not-served-yet");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "message-inbox-get",
        path: "/v3/message/inbox",
        summary: "List the mails that the user has received.",
        query: &[LIMIT, SORT_BY, disp(true)],
        ..GET
    },
    Route {
        id: "message-outbox-get",
        path: "/v3/message/outbox",
        summary: "List the mails that the user has sent.",
        query: &[LIMIT, SORT_BY, disp(true)],
        ..GET
    },
    Route {
        id: "message-sendmail-post",
        path: "/v3/message/sendmail",
        summary: "Send a mail to users and groups.",
        body: optional::<Value>(Size::Short),
        produces: Produces::Any,
        ..POST
    },
];
