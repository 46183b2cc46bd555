//! Topics, their items and dividers (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet");
const POST: Route = base(Verb::Post, Privilege::Write, "docs/api/README.md#not-served-yet");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/README.md#not-served-yet");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "docs/api/README.md#not-served-yet");

const TOPIC: PathParam = object("topic", "the topic");
const ITEM: PathParam = object("topicItem", "the topic item");
const SUBITEM: PathParam = object("topicSubItem", "the topic subitem");
const ATTACHMENT: PathParam = other("attachment", Privilege::Read, "the object to attach");
const DIVIDER: PathParam = word("divider", "id of the divider");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "topic-divider-post",
        path: "/v3/container/topic/{topic}/divider",
        summary: "Add a divider to a topic.",
        path_params: &[TOPIC],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicitem-divider-post",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider",
        summary: "Add a divider to a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicitem-post",
        path: "/v3/container/topic/{topic}/topicitem",
        summary: "Add an item to a topic.",
        path_params: &[TOPIC],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicsubitem-post",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem",
        summary: "Add a subitem to a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicitem-attach-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/attach/{attachment}",
        summary: "Attach an object to a topic item.",
        path_params: &[TOPIC, ITEM, ATTACHMENT],
        body: optional::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topicsubitem-attach-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}/attach/{attachment}",
        summary: "Attach an object to a topic subitem.",
        path_params: &[TOPIC, ITEM, SUBITEM, ATTACHMENT],
        body: optional::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topic-divider-delete",
        path: "/v3/container/topic/{topic}/divider/{divider}",
        summary: "Remove a divider from a topic.",
        path_params: &[TOPIC, DIVIDER],
        ..DELETE
    },
    Route {
        id: "topicitem-divider-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider/{divider}",
        summary: "Remove a divider from a topic item.",
        path_params: &[TOPIC, ITEM, DIVIDER],
        ..DELETE
    },
    Route {
        id: "topicitem-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}",
        summary: "Remove an item from a topic.",
        path_params: &[TOPIC, ITEM],
        ..DELETE
    },
    Route {
        id: "topicsubitem-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}",
        summary: "Remove a subitem from a topic item.",
        path_params: &[TOPIC, ITEM, SUBITEM],
        ..DELETE
    },
    Route {
        id: "topic-get",
        path: "/v3/container/topic/{topic}",
        summary: "Read a topic with its items.",
        path_params: &[TOPIC],
        query: &[
            disp(false),
            flag("showCorrelates", false, "Show correlated objects."),
            flag("showAttachment", false, "Show attached objects."),
            flag("limitToChildren", true, "Stop at the direct children."),
        ],
        ..GET
    },
    Route {
        id: "topic-structure-get",
        path: "/v3/container/topic/{topic}/structure",
        summary: "Read a topic with the ids of its items.",
        path_params: &[TOPIC],
        query: &[disp(false)],
        ..GET
    },
    Route {
        id: "topic-move-put",
        path: "/v3/container/topic/move",
        summary: "Move topic items into a topic, or topics into a topic plan.",
        body: required::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topic-post",
        path: "/v3/container/topic",
        summary: "Create an empty topic.",
        privilege: Some(Privilege::Create),
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topic-from-default-template-post",
        path: "/v3/container/topic/from/template",
        summary: "Create a topic from the default template.",
        privilege: Some(Privilege::Create),
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topic-from-template-post",
        path: "/v3/container/topic/from/template/{source}",
        summary: "Create a topic from a template.",
        privilege: Some(Privilege::Create),
        path_params: &[other("source", Privilege::Read, "the template")],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topic-put",
        path: "/v3/container/topic/{topic}",
        summary: "Change a topic's title and description.",
        path_params: &[TOPIC],
        body: required::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topic-divider-put",
        path: "/v3/container/topic/{topic}/divider/{divider}",
        summary: "Change or move a divider of a topic.",
        path_params: &[TOPIC, DIVIDER],
        body: required::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topicitem-divider-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider/{divider}",
        summary: "Change or move a divider of a topic item.",
        path_params: &[TOPIC, ITEM, DIVIDER],
        body: required::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topicitem-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}",
        summary: "Change a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topicsubitem-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}",
        summary: "Change a topic subitem.",
        path_params: &[TOPIC, ITEM, SUBITEM],
        body: required::<Value>(Size::Short),
        ..PUT
    },
];
