//! What operators ask for, outside the base path: health, readiness, metrics, and the OpenAPI document.

use actix_web::HttpResponse;
use actix_web::http::Method;
use serde_json::json;
use stet_actors::store::Health;

use super::openapi;
use super::routes;
use crate::app::{App, Stage};

/// Answers a probe; `None` when the path is none.
pub fn answer(app: &App, method: &Method, path: &str) -> Option<HttpResponse> {
    let answer: fn(&App) -> HttpResponse = match path {
        "/healthz" => health,
        "/readyz" => readiness,
        "/metrics" => |app| HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(app.metrics.render()),
        "/openapi.json" => |app| {
            let make = || openapi::document(routes::all(), &app.config.server.base_path).to_string().into();
            HttpResponse::Ok().content_type("application/json").body(app.openapi.get_or_init(make).clone())
        },
        _ => return None,
    };
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Some(HttpResponse::MethodNotAllowed().insert_header(("allow", "GET, HEAD")).finish());
    }
    Some(answer(app))
}

/// The process is there and answers.
fn health(_: &App) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

/// Whether it is of use to send requests: not while starting or draining, nor when the store has failed.
fn readiness(app: &App) -> HttpResponse {
    let why = match (app.stage(), app.repository.store().health()) {
        (Stage::Starting, _) => "starting".to_owned(),
        (Stage::Draining, _) => "draining".to_owned(),
        (Stage::Ready, Health::Ok) => return HttpResponse::Ok().json(json!({ "status": "ready" })),
        (Stage::Ready, Health::Full) => "the disk is full: reads only".to_owned(),
        (Stage::Ready, Health::Failing(_)) => "the store fails".to_owned(),
        (Stage::Ready, Health::Closed) => "the store is closed".to_owned(),
    };
    HttpResponse::ServiceUnavailable().json(json!({ "status": "not ready", "why": why }))
}
