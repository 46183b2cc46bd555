//! Messages between users (docs/api/messages.md).

use stet_web::route::words::*;

use super::MailRequest;
use crate::message;

const SOURCE: &str = "docs/api/messages.md";
const GET: Route = Route { tag: TagRule::Never, ..base(Verb::Get, Privilege::Read, SOURCE) };
const POST: Route = base(Verb::Post, Privilege::Create, SOURCE);
const PUT: Route = Route { path_params: &[MESSAGE], ..base(Verb::Put, Privilege::Read, SOURCE) };
const DELETE: Route = Route { path_params: &[MESSAGE], ..base(Verb::Delete, Privilege::Read, SOURCE) };

const MESSAGE: PathParam = word("message", "id of the message");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "message-inbox-get",
        path: "/v3/message/inbox",
        summary: "List the messages that the user has received, the newest first.",
        query: &[LIMIT, SORT_BY, disp(true)],
        handler: handler!(message::inbox),
        ..GET
    },
    Route {
        id: "message-outbox-get",
        path: "/v3/message/outbox",
        summary: "List the messages that the user has sent, the newest first.",
        query: &[LIMIT, SORT_BY, disp(true)],
        handler: handler!(message::outbox),
        ..GET
    },
    Route {
        id: "message-sendmail-post",
        path: "/v3/message/sendmail",
        summary: "Send a message to users and groups.",
        body: optional::<MailRequest>(BodySizeRule::Long),
        produces: ReplyFormat::Any,
        handler: handler!(message::send_mail),
        ..POST
    },
    Route {
        id: "stet-message-read-put",
        path: "/v3/message/{message}/read",
        summary: "Mark a message in the inbox as read.",
        handler: handler!(message::mark_read),
        ..PUT
    },
    Route {
        id: "stet-message-delete",
        path: "/v3/message/{message}",
        summary: "Remove a message from the user's own inbox and outbox.",
        handler: handler!(message::remove),
        ..DELETE
    },
];
