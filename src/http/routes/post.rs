//! Posts of a liveblog (interface 4.9, 3).

use super::parts::*;

const GET: Route = base(Verb::Get, Privilege::Read, "interface 4.9");
const POST: Route = base(Verb::Post, Privilege::Write, "interface 4.9");
const PUT: Route = base(Verb::Put, Privilege::Write, "interface 4.9");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "interface 4.9");

const LIVEBLOG: PathParam = source("the liveblog");
const THE_POST: PathParam = object("post", "the post");

/// `options` as interface 2.3 has them, the content, and any number of attachments.
const FORM: Body = Body::Multipart(type_of::<Value>, &["content", "attachments"]);

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "liveblog-post-delete",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Remove a post, whatever its state.",
        path_params: &[LIVEBLOG, THE_POST],
        ..DELETE
    },
    Route {
        id: "liveblog-post-get",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Read a post.",
        path_params: &[LIVEBLOG, THE_POST],
        ..GET
    },
    Route {
        id: "liveblog-post-create",
        path: "/v3/container/liveblog/{source}/post",
        summary: "Create a post.",
        privilege: Some(Privilege::Create),
        path_params: &[LIVEBLOG],
        body: FORM,
        ..POST
    },
    Route {
        id: "liveblog-post-put",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Change a post.",
        path_params: &[LIVEBLOG, THE_POST],
        body: FORM,
        ..PUT
    },
    Route {
        id: "liveblog-post-approve-post",
        path: "/v3/container/liveblog/{source}/post/{post}/approve",
        summary: "Approve a post.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG, THE_POST],
        ..POST
    },
    Route {
        id: "liveblog-post-delete-post",
        path: "/v3/container/liveblog/{source}/post/{post}/delete",
        summary: "Set a post to deleted; it stays in the liveblog.",
        path_params: &[LIVEBLOG, THE_POST],
        ..POST
    },
    Route {
        id: "liveblog-post-pending-post",
        path: "/v3/container/liveblog/{source}/post/{post}/pending",
        summary: "Set a post to pending.",
        path_params: &[LIVEBLOG, THE_POST],
        ..POST
    },
    Route {
        id: "liveblog-post-reject-post",
        path: "/v3/container/liveblog/{source}/post/{post}/reject",
        summary: "Reject a post.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG, THE_POST],
        ..POST
    },
];
