//! Topic plans (docs/api/README.md, "Not served yet").

use crate::http::route::words::*;

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/README.md#not-served-yet");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/README.md#not-served-yet");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/README.md#not-served-yet");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "docs/api/README.md#not-served-yet");

const PLAN: PathParam = object("topicPlan", "the topic plan");
const TOPIC: PathParam = other("topic", Privilege::Read, "the topic");
const DIVIDER: PathParam = word("divider", "id of the divider");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "topicplan-divider-post",
        path: "/v3/container/topicplan/{topicPlan}/divider",
        summary: "Add a divider to a topic plan.",
        privilege: Some(Privilege::Write),
        path_params: &[PLAN],
        body: required::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicplan-add-put",
        path: "/v3/container/topicplan/{topicPlan}/add/{topic}",
        summary: "Add a topic to a topic plan.",
        path_params: &[PLAN, TOPIC],
        body: optional::<Value>(Size::Short),
        ..PUT
    },
    Route {
        id: "topicplan-divider-delete",
        path: "/v3/container/topicplan/{topicPlan}/divider/{divider}",
        summary: "Remove a divider from a topic plan.",
        path_params: &[PLAN, DIVIDER],
        ..DELETE
    },
    Route {
        id: "topicplan-topic-delete",
        path: "/v3/container/topicplan/{topicPlan}/delete/{topic}",
        summary: "Take a topic out of a topic plan.",
        path_params: &[PLAN, TOPIC],
        ..DELETE
    },
    Route {
        id: "topicplan-get",
        path: "/v3/container/topicplan/{topicPlan}",
        summary: "Read a topic plan with its topics.",
        path_params: &[PLAN],
        query: &[
            disp(false),
            flag("showCorrelates", false, "Show correlated objects."),
            flag("showAttachment", false, "Show attached objects."),
            flag("limitToChildren", true, "Stop at the direct children."),
        ],
        ..GET
    },
    Route {
        id: "topicplan-structure-get",
        path: "/v3/container/topicplan/{topicPlan}/structure",
        summary: "Read a topic plan with the ids of its topics.",
        path_params: &[PLAN],
        query: &[disp(false)],
        ..GET
    },
    Route {
        id: "topicplan-post",
        path: "/v3/container/topicplan",
        summary: "Create an empty topic plan.",
        body: optional::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicplan-from-default-template-post",
        path: "/v3/container/topicplan/from/template",
        summary: "Create a topic plan from the default template.",
        body: optional::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicplan-from-template-post",
        path: "/v3/container/topicplan/from/template/{source}",
        summary: "Create a topic plan from a template.",
        path_params: &[other("source", Privilege::Read, "the template")],
        body: optional::<Value>(Size::Short),
        ..POST
    },
    Route {
        id: "topicplan-divider-put",
        path: "/v3/container/topicplan/{topicPlan}/divider/{divider}",
        summary: "Change or move a divider of a topic plan.",
        path_params: &[PLAN, DIVIDER],
        body: required::<Value>(Size::Short),
        ..PUT
    },
];
