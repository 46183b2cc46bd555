//! Requests outside the base path, mostly from operators: health, readiness, metrics, the OpenAPI
//! document, and the documentation, which `/` leads to.

use std::sync::Arc;

use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use stet_actors::error::Result;
use stet_actors::store::Health;

use super::app::{App, Stage};
use super::kept_text::KeptText;
use super::openapi;
use crate::documents::{self, Page};
use crate::limits::offload::offload_at_once;

/// What is asked outside the endpoints.
#[derive(Debug, Clone, Copy)]
pub enum Probe {
    /// A redirect to the documentation, to this address relative to the request's.
    Documents(&'static str),
    Document(&'static Page),
    Health,
    Readiness,
    Metrics,
    OpenApi,
}

impl Probe {
    /// The probe at a path, if there is one.
    pub fn at(path: &str) -> Option<Probe> {
        Some(match path {
            "/" => Probe::Documents("docs/"),
            "/docs" => Probe::Documents("docs/"),
            "/healthz" => Probe::Health,
            "/readyz" => Probe::Readiness,
            "/metrics" => Probe::Metrics,
            "/openapi.json" => Probe::OpenApi,
            _ => Probe::Document(documents::page(path.strip_prefix("/docs/")?)?),
        })
    }

    /// Answers it. Whoever asks is not known and not counted, so none may cost more than a look,
    /// however often it is asked.
    pub async fn answer(self, app: &Arc<App>, http: &HttpRequest) -> HttpResponse {
        if !matches!(*http.method(), Method::GET | Method::HEAD) {
            return HttpResponse::MethodNotAllowed().insert_header(("allow", "GET, HEAD")).finish();
        }
        let outcome = match self {
            Probe::Documents(address) => Ok(redirect(address)),
            Probe::Document(page) => Ok(document(page)),
            Probe::Health => Ok(health(app)),
            Probe::Readiness => Ok(readiness(app)),
            Probe::Metrics => metrics(app, http).await,
            Probe::OpenApi => openapi(app, http).await,
        };
        // Only while the server ends.
        outcome.unwrap_or_else(|_| HttpResponse::ServiceUnavailable().finish())
    }
}

/// Leads to an address of this server. Other pages may be here one day, so no browser keeps the
/// answer.
fn redirect(address: &'static str) -> HttpResponse {
    HttpResponse::TemporaryRedirect().insert_header((header::LOCATION, address)).finish()
}

/// Sends a page of the documentation.
fn document(page: &'static Page) -> HttpResponse {
    let policy = (header::CONTENT_SECURITY_POLICY, documents::POLICY);
    let mut response = HttpResponse::Ok();
    response.content_type(page.media_type).insert_header(policy);
    response.insert_header((header::CACHE_CONTROL, "max-age=300")).body(page.body.clone())
}

/// The OpenAPI document, made when it is first asked for.
async fn openapi(app: &Arc<App>, http: &HttpRequest) -> Result<HttpResponse> {
    let made_of = app.clone();
    let document =
        move || KeptText::new(openapi::document(made_of.groups, &made_of.config.server.base_path).to_string());
    let make = || offload_at_once(document);
    app.openapi.get_or_try_init(make).await?.answer("application/json", http, app.config.server.compress_bytes).await
}

/// The process is there, answers, and need not be started again: only that brings back a store that
/// has broken down.
fn health(app: &App) -> HttpResponse {
    if app.stage() == Stage::Ready && app.repository.health() == Health::Closed {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "broken", "why": "the store is closed" }));
    }
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

/// How long the disk may owe an answer before the store counts as failed, milliseconds: far beyond
/// what a disk in order takes, and the last bound of the histogram of commits.
const STALLED_MS: u64 = 10_000;

/// How the store is, in a word for metrics, and in a sentence for people where something is wrong.
struct Standing {
    word: &'static str,
    why: Option<String>,
    /// Whether changes are carried out, or may be with the next try.
    serves: bool,
    /// Since when the commit under way has been with the disk, milliseconds.
    waits_ms: u64,
}

/// The words of [`Standing`].
const WORDS: [&str; 6] = ["ok", "full", "lagging", "failing", "stalled", "closed"];

fn standing(app: &App) -> Standing {
    let repository = &app.repository;
    let since_ms = repository.backlog().since_ms;
    let waits_ms = since_ms.map_or(0, |since| repository.clock().now_ms().saturating_sub(since));
    let (word, why, serves) = match repository.health() {
        Health::Closed => ("closed", Some("the store is closed".to_owned()), false),
        Health::Failing(_) => ("failing", Some("the disk fails: changes or reads are refused".to_owned()), false),
        _ if waits_ms >= STALLED_MS => {
            ("stalled", Some(format!("the disk has not answered for {} s: changes wait", waits_ms / 1000)), false)
        }
        Health::Full => ("full", Some("the disk is full: changes may be refused, reads go on".to_owned()), true),
        Health::Lagging(_) => ("lagging", Some("checkpoints fail: changes stay in the journal".to_owned()), true),
        Health::Ok => ("ok", None, true),
    };
    Standing { word, why, serves, waits_ms }
}

/// Whether it is of use to send requests: not while starting or draining, nor when the store has
/// failed. A full disk is no reason: reads go on, and only a change can find out that there is room
/// again.
fn readiness(app: &App) -> HttpResponse {
    let (serves, why) = match app.stage() {
        Stage::Starting => (false, Some("starting".to_owned())),
        Stage::Draining => (false, Some("draining".to_owned())),
        Stage::Ready => {
            let Standing { serves, why, .. } = standing(app);
            (serves, why)
        }
    };
    let mut answer = json!({ "status": if serves { "ready" } else { "not ready" } });
    if let Some(why) = why {
        answer["why"] = why.into();
    }
    let mut response = if serves { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    response.json(answer)
}

/// All metrics, with the state of the store at this moment.
async fn metrics(app: &Arc<App>, http: &HttpRequest) -> Result<HttpResponse> {
    let made_of = app.clone();
    let text = app.shown_metrics.made(move || {
        let app = made_of;
        let Standing { word, waits_ms, .. } = standing(&app);
        for known in WORDS {
            metrics::gauge!("stet_store_state", "state" => known).set(f64::from(u8::from(known == word)));
        }
        metrics::gauge!("stet_store_pending").set(app.repository.backlog().sets as f64);
        metrics::gauge!("stet_store_commit_waits_seconds").set(waits_ms as f64 / 1000.0);
        app.metrics.render()
    });
    text.await?.answer("text/plain; version=0.0.4", http, app.config.server.compress_bytes).await
}
