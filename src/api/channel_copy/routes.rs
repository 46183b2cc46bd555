//! Channel copies of a bundle (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/README.md#not-served-yet");

const BUNDLE: PathParam = source("the bundle");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "container-bundle-channelcopy-post",
        path: "/v3/container/bundle/{source}/channelcopy",
        summary: "Make a channel copy in a bundle.",
        path_params: &[BUNDLE],
        body: optional::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "container-bundle-channelcopy-actions-get",
        path: "/v3/container/bundle/{source}/channelcopy/actions",
        summary: "List the content-item actions that a channel copy would have.",
        path_params: &[BUNDLE],
        query: &[
            text("channel", None, "Name of the channel."),
            text("inheritFrom", None, "Object that the copy is inherited from."),
        ],
        ..GET
    },
];
