//! Posts of a liveblog (docs/api/posts.md).

use stet_web::route::words::*;

use stet_endpoint::requests;

use crate::liveblog;

// With the right to create posts, callers may change their own. The command checks that changing
// another user's takes `moderate` as well (docs/api/posts.md, "States").
const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/posts.md");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/posts.md");
const PUT: Route = base(Verb::Put, Privilege::Create, "docs/api/posts.md");
const DELETE: Route = base(Verb::Delete, Privilege::Create, "docs/api/posts.md");

const LIVEBLOG: PathParam = source("the liveblog");
/// The parameter of a post. A name is not a source, so the value is parsed later.
const THE_POST: PathParam = word("post", "the post, as loid, uuid or name");

/// The body of a post's form: `options` (docs/api/posts.md, "Adding and changing"), the content,
/// and any number of attachments.
const fn form(needs_first: bool) -> BodyRule {
    BodyRule::Multipart { options: type_of::<liveblog::PostOptions>, files: &["content", "attachments"], needs_first }
}

/// The body of a call that changes several posts.
const LISTED: BodyRule = required::<requests::ObjectListRequest>(BodySizeRule::Long);

/// The common properties of routes that return files.
const FILE: Route = Route {
    headers: &["Range", "If-Range"],
    produces: ReplyFormat::Stream,
    codes: &[200, 206, 304, 401, 403, 404, 416],
    ..GET
};

/// The parameter for the version of a post's content. Only the present one can be read.
const PRESENT_VERSION: QueryParam =
    number("version", Some("-1"), "Number of the current version, or -1 or 0 for it. Earlier versions can't be read.");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "liveblog-post-delete",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Remove a post, whatever its state.",
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::remove_post),
        ..DELETE
    },
    Route {
        id: "liveblog-post-get",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Read a post.",
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::get_post),
        ..GET
    },
    Route {
        id: "liveblog-post-create",
        path: "/v3/container/liveblog/{source}/post",
        summary: "Create a post.",
        path_params: &[LIVEBLOG],
        body: form(true),
        handler: handler!(liveblog::create_post),
        ..POST
    },
    Route {
        id: "liveblog-post-put",
        path: "/v3/container/liveblog/{source}/post/{post}",
        summary: "Change a post.",
        path_params: &[LIVEBLOG, THE_POST],
        body: form(false),
        handler: handler!(liveblog::update_post),
        ..PUT
    },
    Route {
        id: "liveblog-post-approve-post",
        path: "/v3/container/liveblog/{source}/post/{post}/approve",
        summary: "Approve a post.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::approve),
        ..POST
    },
    Route {
        id: "liveblog-post-delete-post",
        path: "/v3/container/liveblog/{source}/post/{post}/delete",
        summary: "Set a post to deleted; it stays in the liveblog.",
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::mark_deleted),
        ..POST
    },
    Route {
        id: "liveblog-post-pending-post",
        path: "/v3/container/liveblog/{source}/post/{post}/pending",
        summary: "Set a post to pending.",
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::set_pending),
        ..POST
    },
    Route {
        id: "liveblog-post-reject-post",
        path: "/v3/container/liveblog/{source}/post/{post}/reject",
        summary: "Reject a post.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG, THE_POST],
        handler: handler!(liveblog::reject),
        ..POST
    },
    Route {
        id: "stet-liveblog-posts-approve-post",
        path: "/v3/container/liveblog/{source}/posts/approve",
        summary: "Approve the posts named in the body.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG],
        body: LISTED,
        handler: handler!(liveblog::approve_posts),
        ..POST
    },
    Route {
        id: "stet-liveblog-posts-reject-post",
        path: "/v3/container/liveblog/{source}/posts/reject",
        summary: "Reject the posts named in the body.",
        privilege: Some(Privilege::Moderate),
        path_params: &[LIVEBLOG],
        body: LISTED,
        handler: handler!(liveblog::reject_posts),
        ..POST
    },
    Route {
        id: "stet-liveblog-posts-pending-post",
        path: "/v3/container/liveblog/{source}/posts/pending",
        summary: "Set the posts named in the body to pending.",
        path_params: &[LIVEBLOG],
        body: LISTED,
        handler: handler!(liveblog::set_posts_pending),
        ..POST
    },
    Route {
        id: "stet-liveblog-posts-delete-post",
        path: "/v3/container/liveblog/{source}/posts/delete",
        summary: "Set the posts named in the body to deleted; they stay in the liveblog.",
        path_params: &[LIVEBLOG],
        body: LISTED,
        handler: handler!(liveblog::mark_posts_deleted),
        ..POST
    },
    Route {
        id: "stet-liveblog-posts-put",
        path: "/v3/container/liveblog/{source}/posts",
        summary: "Pin, unpin or tag the posts named in the body.",
        path_params: &[LIVEBLOG],
        body: required::<liveblog::ChangePosts>(BodySizeRule::Long),
        handler: handler!(liveblog::update_posts),
        ..PUT
    },
    Route {
        id: "stet-liveblog-posts-delete",
        path: "/v3/container/liveblog/{source}/posts",
        summary: "Remove the posts named in the body, whatever their states.",
        path_params: &[LIVEBLOG],
        body: LISTED,
        handler: handler!(liveblog::remove_posts),
        ..DELETE
    },
    Route {
        id: "stet-liveblog-post-attachment-get",
        path: "/v3/container/liveblog/{source}/post/{post}/attachment/{id}",
        summary: "Download an attachment of a post.",
        source: "docs/api/posts.md",
        path_params: &[LIVEBLOG, THE_POST, word("id", "the attachment's id")],
        handler: handler!(liveblog::attachment),
        ..FILE
    },
    Route {
        id: "stet-liveblog-post-content-get",
        source: "docs/api/posts.md",
        path: "/v3/container/liveblog/{source}/post/{post}/content",
        summary: "Download the content of a post.",
        path_params: &[LIVEBLOG, THE_POST],
        query: &[PRESENT_VERSION],
        handler: handler!(liveblog::post_content),
        ..FILE
    },
];
