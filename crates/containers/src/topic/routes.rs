//! Topics, their items and dividers (docs/api/topics.md).

use stet_web::route::words::*;

use stet_endpoint::requests;

use crate::topic;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/topics.md");
const POST: Route = base(Verb::Post, Privilege::Write, "docs/api/topics.md");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/topics.md");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "docs/api/topics.md");

const TOPIC: PathParam = object("topic", "the topic");
/// The parameter of an item. Items are parts of their topic, and are looked up there.
const ITEM: PathParam = word("topicItem", "the topic item, as loid or uuid");
const SUBITEM: PathParam = word("topicSubItem", "the topic subitem, as loid or uuid");
/// The parameter of a template. A missing one is `TemplateNotFound`, so it is looked up later.
const TEMPLATE: PathParam = word("source", "the template: a topic, as loid, uuid or path");
const ATTACHMENT: PathParam = other("attachment", Privilege::Read, "the object to attach");
const DIVIDER: PathParam = word("divider", "id of the divider");

/// The parameter for the format of an export.
pub(crate) const FORMAT: PathParam = word("format", "`ics`, a calendar (RFC 5545), or `csv`, a table (RFC 4180)");

/// The parameter for the components of an exported calendar.
pub(crate) const AS: QueryParam =
    list("as", false, "How a calendar shows items: as `todos` (the default), as `events` at their deadlines, or both.");

/// The parameters for the extent of a reply about a topic or plan.
pub(crate) const EXTENT: &[QueryParam] = &[
    disp(false),
    flag("showCorrelates", false, "Show correlated objects."),
    flag("showAttachment", false, "Show attached objects."),
    flag("limitToChildren", true, "Stop at the direct children."),
];

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "topic-divider-post",
        path: "/v3/container/topic/{topic}/divider",
        summary: "Add a divider to a topic.",
        path_params: &[TOPIC],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topic::add_divider),
        ..POST
    },
    Route {
        id: "topicitem-divider-post",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider",
        summary: "Add a divider to a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topic::add_divider),
        ..POST
    },
    Route {
        id: "topicitem-post",
        path: "/v3/container/topic/{topic}/topicitem",
        summary: "Add an item to a topic.",
        path_params: &[TOPIC],
        body: required::<topic::ItemBody>(BodySizeRule::Long),
        handler: handler!(topic::add_item),
        ..POST
    },
    Route {
        id: "topicsubitem-post",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem",
        summary: "Add a subitem to a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<topic::ItemBody>(BodySizeRule::Long),
        handler: handler!(topic::add_subitem),
        ..POST
    },
    Route {
        id: "topicitem-attach-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/attach/{attachment}",
        summary: "Attach an object to a topic item.",
        path_params: &[TOPIC, ITEM, ATTACHMENT],
        body: optional::<topic::AttachBody>(BodySizeRule::Short),
        handler: handler!(topic::attach),
        ..PUT
    },
    Route {
        id: "topicsubitem-attach-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}/attach/{attachment}",
        summary: "Attach an object to a topic subitem.",
        path_params: &[TOPIC, ITEM, SUBITEM, ATTACHMENT],
        body: optional::<topic::AttachBody>(BodySizeRule::Short),
        handler: handler!(topic::attach),
        ..PUT
    },
    Route {
        id: "topic-divider-delete",
        path: "/v3/container/topic/{topic}/divider/{divider}",
        summary: "Remove a divider from a topic.",
        path_params: &[TOPIC, DIVIDER],
        handler: handler!(topic::remove_divider),
        ..DELETE
    },
    Route {
        id: "topicitem-divider-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider/{divider}",
        summary: "Remove a divider from a topic item.",
        path_params: &[TOPIC, ITEM, DIVIDER],
        handler: handler!(topic::remove_divider),
        ..DELETE
    },
    Route {
        id: "topicitem-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}",
        summary: "Remove an item from a topic.",
        path_params: &[TOPIC, ITEM],
        handler: handler!(topic::remove_item),
        ..DELETE
    },
    Route {
        id: "stet-topicitems-delete",
        path: "/v3/container/topic/{topic}/topicitem",
        summary: "Remove the items and subitems named in the body.",
        path_params: &[TOPIC],
        body: required::<requests::ObjectListRequest>(BodySizeRule::Long),
        handler: handler!(topic::remove_items),
        ..DELETE
    },
    Route {
        id: "topicsubitem-delete",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}",
        summary: "Remove a subitem from a topic item.",
        path_params: &[TOPIC, ITEM, SUBITEM],
        handler: handler!(topic::remove_item),
        ..DELETE
    },
    Route {
        id: "topic-get",
        path: "/v3/container/topic/{topic}",
        summary: "Read a topic with its items.",
        path_params: &[TOPIC],
        query: EXTENT,
        handler: handler!(topic::get),
        ..GET
    },
    Route {
        id: "topic-structure-get",
        path: "/v3/container/topic/{topic}/structure",
        summary: "Read a topic with the ids of its items.",
        path_params: &[TOPIC],
        query: &[disp(false)],
        handler: handler!(topic::structure),
        ..GET
    },
    Route {
        id: "topic-move-put",
        path: "/v3/container/topic/move",
        summary: "Move topic items into a topic, or topics into a topic plan.",
        body: required::<topic::MoveBody>(BodySizeRule::Long),
        handler: handler!(topic::move_into),
        ..PUT
    },
    Route {
        id: "topic-post",
        path: "/v3/container/topic",
        summary: "Create an empty topic.",
        privilege: Some(Privilege::Create),
        body: required::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topic::create),
        ..POST
    },
    Route {
        id: "topic-from-default-template-post",
        path: "/v3/container/topic/from/template",
        summary: "Create a topic from the default template.",
        privilege: Some(Privilege::Create),
        body: required::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topic::create_from_default),
        ..POST
    },
    Route {
        id: "topic-from-template-post",
        path: "/v3/container/topic/from/template/{source}",
        summary: "Create a topic from a template.",
        privilege: Some(Privilege::Create),
        path_params: &[TEMPLATE],
        body: required::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topic::create_from_template),
        ..POST
    },
    Route {
        id: "topic-put",
        path: "/v3/container/topic/{topic}",
        summary: "Change a topic's title and description.",
        path_params: &[TOPIC],
        body: required::<topic::UpdateBody>(BodySizeRule::Long),
        handler: handler!(topic::update),
        ..PUT
    },
    Route {
        id: "topic-divider-put",
        path: "/v3/container/topic/{topic}/divider/{divider}",
        summary: "Change or move a divider of a topic.",
        path_params: &[TOPIC, DIVIDER],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topic::update_divider),
        ..PUT
    },
    Route {
        id: "topicitem-divider-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/divider/{divider}",
        summary: "Change or move a divider of a topic item.",
        path_params: &[TOPIC, ITEM, DIVIDER],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topic::update_divider),
        ..PUT
    },
    Route {
        id: "topicitem-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}",
        summary: "Change a topic item.",
        path_params: &[TOPIC, ITEM],
        body: required::<topic::ItemBody>(BodySizeRule::Long),
        handler: handler!(topic::update_item),
        ..PUT
    },
    Route {
        id: "topicsubitem-put",
        path: "/v3/container/topic/{topic}/topicitem/{topicItem}/topicsubitem/{topicSubItem}",
        summary: "Change a topic subitem.",
        path_params: &[TOPIC, ITEM, SUBITEM],
        body: required::<topic::ItemBody>(BodySizeRule::Long),
        handler: handler!(topic::update_item),
        ..PUT
    },
    Route {
        id: "stet-topic-export-get",
        path: "/v3/container/topic/{topic}/export/{format}",
        summary: "Export the items of a topic as a calendar or a table.",
        path_params: &[TOPIC, FORMAT],
        query: &[AS],
        produces: ReplyFormat::Export,
        key_in_address: true,
        handler: handler!(topic::export::topic),
        ..GET
    },
];
