//! Topic plans (docs/api/topic-plans.md).

use stet_web::route::words::*;

use crate::topic::routes::{AS, EXTENT, FORMAT};
use crate::{topic, topicplan};

const GET: Route = base(Verb::Get, Privilege::Read, "docs/api/topic-plans.md");
const POST: Route = base(Verb::Post, Privilege::Create, "docs/api/topic-plans.md");
const PUT: Route = base(Verb::Put, Privilege::Write, "docs/api/topic-plans.md");
const DELETE: Route = base(Verb::Delete, Privilege::Write, "docs/api/topic-plans.md");

const PLAN: PathParam = object("topicPlan", "the topic plan");
const TOPIC: PathParam = other("topic", Privilege::Read, "the topic");
/// The template; resolved by the handler, so that a missing one is `TemplateNotFound`.
const TEMPLATE: PathParam = word("source", "the template: a plan, as loid, uuid or path");
const DIVIDER: PathParam = word("divider", "id of the divider");

/// The routes of the group.
pub const ROUTES: &[Route] = &[
    Route {
        id: "topicplan-divider-post",
        path: "/v3/container/topicplan/{topicPlan}/divider",
        summary: "Add a divider to a topic plan.",
        privilege: Some(Privilege::Write),
        path_params: &[PLAN],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topicplan::add_divider),
        ..POST
    },
    Route {
        id: "topicplan-add-put",
        path: "/v3/container/topicplan/{topicPlan}/add/{topic}",
        summary: "Add a topic to a topic plan.",
        path_params: &[PLAN, TOPIC],
        body: optional::<topicplan::AddBody>(BodySizeRule::Short),
        handler: handler!(topicplan::add_topic),
        ..PUT
    },
    Route {
        id: "topicplan-divider-delete",
        path: "/v3/container/topicplan/{topicPlan}/divider/{divider}",
        summary: "Remove a divider from a topic plan.",
        path_params: &[PLAN, DIVIDER],
        handler: handler!(topicplan::remove_divider),
        ..DELETE
    },
    Route {
        id: "topicplan-topic-delete",
        path: "/v3/container/topicplan/{topicPlan}/delete/{topic}",
        summary: "Remove a topic from a topic plan.",
        path_params: &[PLAN, TOPIC],
        handler: handler!(topicplan::remove_topic),
        ..DELETE
    },
    Route {
        id: "topicplan-get",
        path: "/v3/container/topicplan/{topicPlan}",
        summary: "Read a topic plan with its topics.",
        path_params: &[PLAN],
        query: EXTENT,
        handler: handler!(topicplan::get),
        ..GET
    },
    Route {
        id: "topicplan-structure-get",
        path: "/v3/container/topicplan/{topicPlan}/structure",
        summary: "Read a topic plan with the ids of its topics.",
        path_params: &[PLAN],
        query: &[disp(false)],
        handler: handler!(topicplan::structure),
        ..GET
    },
    Route {
        id: "topicplan-post",
        path: "/v3/container/topicplan",
        summary: "Create an empty topic plan.",
        body: optional::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topicplan::create),
        ..POST
    },
    Route {
        id: "topicplan-from-default-template-post",
        path: "/v3/container/topicplan/from/template",
        summary: "Create a topic plan from the default template.",
        body: optional::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topicplan::create_from_default),
        ..POST
    },
    Route {
        id: "topicplan-from-template-post",
        path: "/v3/container/topicplan/from/template/{source}",
        summary: "Create a topic plan from a template.",
        path_params: &[TEMPLATE],
        body: optional::<topic::CreateTopic>(BodySizeRule::Long),
        handler: handler!(topicplan::create_from_template),
        ..POST
    },
    Route {
        id: "topicplan-divider-put",
        path: "/v3/container/topicplan/{topicPlan}/divider/{divider}",
        summary: "Change or move a divider of a topic plan.",
        path_params: &[PLAN, DIVIDER],
        body: required::<topic::DividerBody>(BodySizeRule::Short),
        handler: handler!(topicplan::update_divider),
        ..PUT
    },
    Route {
        id: "stet-topicplan-export-get",
        path: "/v3/container/topicplan/{topicPlan}/export/{format}",
        summary: "Export the items of all topics of a plan as a calendar or a table.",
        path_params: &[PLAN, FORMAT],
        query: &[AS],
        produces: ReplyFormat::Export,
        key_in_address: true,
        handler: handler!(topicplan::export),
        ..GET
    },
];
