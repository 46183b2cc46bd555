//! Bundles and their views (docs/api/bundles.md).

use stet_web::route::words::*;

use crate::bundle;
use crate::folder::views::ViewBody;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/bundles.md");
const LIST: Route = Route { filters: true, ..GET };
const POST: Route = Route { filters: true, ..base(Verb::Post, Privilege::Read, "docs/api/bundles.md") };

const BUNDLE: PathParam = source("the bundle");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "bundle-root-get",
        path: "/v3/bundle/{source}/root",
        summary: "Read the outermost bundle of a bundle or channel copy.",
        path_params: &[BUNDLE],
        handler: handler!(bundle::root),
        ..GET
    },
    Route {
        id: "bundle-items-get",
        path: "/v3/bundle/{source}",
        summary: "List the items of a bundle.",
        path_params: &[BUNDLE],
        query: &[SORT_BY, disp(true)],
        handler: handler!(bundle::list),
        ..LIST
    },
    Route {
        id: "bundle-view-get",
        path: "/v3/bundle/{source}/view",
        summary: "List a bundle in the default view.",
        path_params: &[BUNDLE],
        query: &[SORT_BY, VIEW_PATH, disp(false), WIDTH_UNIT, VIEW_DATABASE],
        handler: handler!(bundle::view),
        ..LIST
    },
    Route {
        id: "bundle-view-post",
        path: "/v3/bundle/{source}/view",
        summary: "List a bundle in the default view, the parameters in the body.",
        path_params: &[BUNDLE],
        body: optional::<ViewBody>(BodySizeRule::Short),
        handler: handler!(bundle::view),
        ..POST
    },
    Route {
        id: "bundle-view-named-get",
        path: "/v3/bundle/{source}/view/{view}",
        summary: "List a bundle in a named view.",
        path_params: &[BUNDLE, VIEW],
        query: &[SORT_BY, VIEW_PATH, disp(true), WIDTH_UNIT],
        handler: handler!(bundle::view),
        ..LIST
    },
    Route {
        id: "bundle-view-named-post",
        path: "/v3/bundle/{source}/view/{view}",
        summary: "List a bundle in a named view, the parameters in the body.",
        path_params: &[BUNDLE, VIEW],
        body: optional::<ViewBody>(BodySizeRule::Short),
        handler: handler!(bundle::view),
        ..POST
    },
    Route {
        id: "bundle-recursive-get",
        path: "/v3/bundle/{source}/recursive",
        summary: "List a bundle with its sub-bundles.",
        path_params: &[BUNDLE],
        query: &[flag("recursive", true, "Walk the sub-bundles too."), SORT_BY, disp(true)],
        handler: handler!(bundle::recursive),
        ..LIST
    },
    Route {
        id: "bundle-chain-get",
        path: "/v3/bundle/{source}/chain",
        summary: "List a channel copy and the chain of copies that it was inherited from.",
        path_params: &[BUNDLE],
        query: &[SORT_BY, disp(true)],
        handler: handler!(bundle::chain),
        ..GET
    },
];
