//! Web containers (docs/api/bundles.md).

use stet_web::route::words::*;

use crate::{channel_copy, web};

const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/bundles.md");

/// The routes of the group.
pub const ROUTES: &[Route] = &[Route {
    id: "web-channelcopy-post",
    path: "/v3/container/web/{source}/channelcopy",
    summary: "Create a channel copy of every story linked to a web container.",
    path_params: &[source("the web container")],
    body: optional::<channel_copy::ChannelCopyRequest>(BodySizeRule::Short),
    handler: handler!(web::channel_copies),
    ..POST
}];
