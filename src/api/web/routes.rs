//! Web containers (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/README.md#not-served-yet");

/// The routes of the group.
pub const ROUTES: &[Route] = &[Route {
    id: "web-channelcopy-post",
    path: "/v3/container/web/{source}/channelcopy",
    summary: "Make a channel copy of every story linked to a web container.",
    path_params: &[source("the web container")],
    body: optional::<Value>(Size::Short),
    ..POST
}];
