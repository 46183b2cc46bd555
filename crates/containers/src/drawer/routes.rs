//! Drawers (docs/api/drawers.md).

use stet_endpoint::requests;
use stet_web::route::words::*;

use crate::drawer;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/drawers.md");
const POST: Route = base(Verb::Post, Privilege::Write, "docs/api/drawers.md");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/drawers.md");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "docs/api/drawers.md");

const DRAWER: PathParam = source("the drawer");
const PLACE: PathParam = position("position for the item; 0 is first, -1 is last");
/// Parameter of calls that add or place an item. They name the object; the shortcut id of an item
/// that the drawer holds is taken, too.
const OBJECT: PathParam = word("item", "the object, as loid, uuid or path");
/// Parameter of calls that remove or move an item, which take either name of it
/// (docs/api/drawers.md, "Items"). So the value is parsed later.
const ITEM: PathParam = word("item", "the item: its object or its shortcut id");
const SHORTCUT: PathParam = word("shortcut", "the item: its shortcut id or its object");
const SHOW_ITEMS: QueryParam = flag("showItems", false, "Show the items.");

const AT: QueryParam = text("at", None, "Show the drawer as it was: a revision, or a time.");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "drawer-shortcut-position-put",
        path: "/v3/container/drawer/{source}/shortcut/{shortcut}/position/{position}",
        summary: "Move an item to another position of its drawer.",
        path_params: &[DRAWER, SHORTCUT, PLACE],
        handler: handler!(drawer::position_shortcut),
        ..PUT
    },
    Route {
        id: "drawer-item-clear-put",
        path: "/v3/container/drawer/{source}/item/clear",
        summary: "Remove all items from a drawer.",
        path_params: &[DRAWER],
        handler: handler!(drawer::clear),
        ..PUT
    },
    Route {
        id: "drawer-item-delete",
        path: "/v3/container/drawer/{source}/item/{item}",
        summary: "Remove an item from a drawer.",
        path_params: &[DRAWER, ITEM],
        handler: handler!(drawer::delete_item),
        ..DELETE
    },
    Route {
        id: "drawer-items-delete",
        path: "/v3/container/drawer/{source}/item",
        summary: "Remove the items named in the body from a drawer. Missing items are reported.",
        path_params: &[DRAWER],
        body: required::<requests::ItemListRequest>(BodySizeRule::Long),
        handler: handler!(drawer::delete_items),
        ..DELETE
    },
    Route {
        id: "drawer-get",
        path: "/v3/container/drawer/{source}",
        summary: "Read a drawer, on request with its items.",
        path_params: &[DRAWER],
        query: &[disp(false), SHOW_ITEMS, AT],
        handler: handler!(drawer::get),
        ..GET
    },
    Route {
        id: "drawer-by-object-get",
        path: "/v3/container/drawer/object/{source}",
        summary: "List the drawers that hold an object.",
        path_params: &[source("the object to look for")],
        query: &[disp(false), SHOW_ITEMS],
        tag: TagRule::Never,
        sorts: true,
        handler: handler!(drawer::get_by_object),
        ..GET
    },
    Route {
        id: "drawer-post",
        path: "/v3/container/drawer",
        summary: "Create a drawer.",
        privilege: Some(Privilege::Create),
        body: optional::<drawer::CreateDrawer>(BodySizeRule::Long),
        handler: handler!(drawer::create),
        ..POST
    },
    Route {
        id: "drawer-automatic-post",
        path: "/v3/container/drawer/automatic",
        summary: "Read the user's automatic drawer, which the first call creates.",
        privilege: Some(Privilege::Create),
        body: optional::<drawer::CreateDrawer>(BodySizeRule::Long),
        handler: handler!(drawer::create_automatic),
        ..POST
    },
    Route {
        id: "drawer-items-post",
        path: "/v3/container/drawer/{source}/item",
        summary: "Add the items named in the body to a drawer: all or none.",
        path_params: &[DRAWER],
        body: required::<requests::ItemListRequest>(BodySizeRule::Long),
        handler: handler!(drawer::add_items),
        ..POST
    },
    Route {
        id: "drawer-item-position-put",
        path: "/v3/container/drawer/{source}/item/{item}/position/{position}",
        summary: "Put an object at a position of a drawer.",
        path_params: &[DRAWER, OBJECT, PLACE],
        handler: handler!(drawer::position_item),
        ..PUT
    },
    Route {
        id: "drawer-item-post",
        path: "/v3/container/drawer/{source}/item/{item}",
        summary: "Add an object to a drawer.",
        path_params: &[DRAWER, OBJECT],
        body: optional::<Value>(BodySizeRule::Short),
        handler: handler!(drawer::add_item),
        ..POST
    },
    Route {
        id: "drawer-item-move-put",
        path: "/v3/container/drawer/{source}/item/{item}/move/{target}",
        summary: "Move an item from one drawer to another.",
        path_params: &[DRAWER, ITEM, other("target", Privilege::Write, "the drawer to move the item to")],
        handler: handler!(drawer::move_item),
        ..PUT
    },
    Route {
        id: "drawer-put",
        path: "/v3/container/drawer/{source}",
        summary: "Change a drawer's name, title, description, capacity or attributes.",
        path_params: &[DRAWER],
        body: optional::<drawer::UpdateRequest>(BodySizeRule::Long),
        handler: handler!(drawer::update),
        ..PUT
    },
];
