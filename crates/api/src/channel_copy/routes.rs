//! Channel copies of a bundle (docs/api/bundles.md).

use stet_web::route::words::*;

use crate::channel_copy;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/bundles.md");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/bundles.md");

const BUNDLE: PathParam = source("the bundle");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "container-bundle-channelcopy-post",
        path: "/v3/container/bundle/{source}/channelcopy",
        summary: "Create a channel copy in a bundle.",
        path_params: &[BUNDLE],
        body: optional::<channel_copy::ChannelCopyRequest>(BodySizeRule::Short),
        handler: handler!(channel_copy::create),
        ..POST
    },
    Route {
        id: "container-bundle-channelcopy-actions-get",
        path: "/v3/container/bundle/{source}/channelcopy/actions",
        summary: "List the content-item actions that a channel copy would have.",
        path_params: &[BUNDLE],
        query: &[
            text("channel", None, "Name of the channel."),
            text("inheritFrom", None, "Name of the channel that the copy would be inherited from."),
        ],
        handler: handler!(channel_copy::actions),
        ..GET
    },
];
