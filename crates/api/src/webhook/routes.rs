//! Webhooks.

use stet_web::route::words::*;
use stet_webhooks::WebhookSettings;

use crate::webhook::{self, PositionRequest};

const ABOUT: &str = "docs/api/webhooks.md";
const GET: Route = base(Verb::Get, Privilege::Configure, ABOUT);
const POST: Route = base(Verb::Post, Privilege::Configure, ABOUT);
const PUT: Route = base(Verb::Put, Privilege::Configure, ABOUT);
const DELETE: Route = base(Verb::Delete, Privilege::Configure, ABOUT);

/// The path parameter `{id}`.
const ID: &[PathParam] = &[word("id", "id of the webhook")];

/// The routes of webhooks.
pub const ROUTES: &[Route] = &[
    Route {
        id: "stet-webhook-list-get",
        path: "/v3/webhook",
        summary: "List the webhooks, the oldest first.",
        codes: CODES_WITHOUT_OBJECT,
        handler: handler!(webhook::list),
        ..GET
    },
    Route {
        id: "stet-webhook-create-post",
        secret: true,
        path: "/v3/webhook",
        summary: "Create a webhook, which reports changes to another system. Its secret is shown only in this reply.",
        body: required::<WebhookSettings>(BodySizeRule::Long),
        handler: handler!(webhook::create),
        ..POST
    },
    Route {
        id: "stet-webhook-get",
        path: "/v3/webhook/{id}",
        summary: "Show a webhook: its settings, state and progress.",
        path_params: ID,
        handler: handler!(webhook::get),
        ..GET
    },
    Route {
        id: "stet-webhook-put",
        path: "/v3/webhook/{id}",
        summary: "Change the given settings of a webhook, pause or resume it.",
        path_params: ID,
        body: required::<WebhookSettings>(BodySizeRule::Long),
        handler: handler!(webhook::change),
        ..PUT
    },
    Route {
        id: "stet-webhook-delete",
        path: "/v3/webhook/{id}",
        summary: "Remove a webhook.",
        path_params: ID,
        handler: handler!(webhook::remove),
        ..DELETE
    },
    Route {
        id: "stet-webhook-secret-post",
        secret: true,
        path: "/v3/webhook/{id}/secret",
        summary: "Give a webhook a new secret, which is shown only in this reply.",
        path_params: ID,
        handler: handler!(webhook::renew_secret),
        ..POST
    },
    Route {
        id: "stet-webhook-position-post",
        path: "/v3/webhook/{id}/position",
        summary: "Set the event after which a webhook goes on, to send events again or to skip some.",
        path_params: ID,
        body: required::<PositionRequest>(BodySizeRule::Long),
        handler: handler!(webhook::set_position),
        ..POST
    },
    Route {
        id: "stet-webhook-delivery-get",
        path: "/v3/webhook/{id}/delivery",
        summary: "List the last 50 attempts of a webhook to deliver an event, the newest first.",
        path_params: ID,
        handler: handler!(webhook::deliveries),
        ..GET
    },
    Route {
        id: "stet-webhook-test-post",
        path: "/v3/webhook/{id}/test",
        summary: "Send a test to the receiver of a webhook, and show the outcome.",
        path_params: ID,
        effect: CallEffect::Acts,
        handler: handler!(webhook::test),
        ..POST
    },
];
