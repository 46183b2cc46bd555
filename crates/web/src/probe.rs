//! Requests beside the endpoints: health, readiness, metrics, the OpenAPI document and the
//! documentation, which are outside the base path, and the console, to which `/` redirects.

use std::sync::Arc;

use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use stet_base::limits::offload::offload_at_once;
use stet_config::Config;
use stet_domain::error::Result;
use stet_domain::store::Health;

use super::app::{App, ServerStage};
use super::console::{self, ConsoleRequest};
use super::documents::{self, DocumentPage};
use super::kept_text::KeptText;
use super::openapi;

/// A request outside the endpoints.
#[derive(Debug, Clone, Copy)]
pub enum Probe {
    /// A redirect to the console, or to the documentation without it.
    Start,
    /// A request to the console.
    Console(ConsoleRequest),
    /// A redirect to the documentation.
    Documents,
    /// A page of the documentation.
    Document(&'static DocumentPage),
    /// Whether the process serves.
    Health,
    /// Whether the server accepts calls and changes.
    Readiness,
    /// The metrics for Prometheus.
    Metrics,
    /// The OpenAPI document.
    OpenApi,
}

impl Probe {
    /// Returns the probe at a path, if there is one.
    pub fn at(config: &Config, path: &str) -> Option<Probe> {
        if let Some(request) = ConsoleRequest::at(config, path) {
            return Some(Probe::Console(request));
        }
        Some(match path {
            "/" => Probe::Start,
            "/docs" => Probe::Documents,
            "/healthz" => Probe::Health,
            "/readyz" => Probe::Readiness,
            "/metrics" => Probe::Metrics,
            "/openapi.json" => Probe::OpenApi,
            _ => Probe::Document(documents::page(path.strip_prefix("/docs/")?)?),
        })
    }

    /// Answers the probe. The client is neither identified nor limited, so each answer must be
    /// cheap at any rate of requests.
    pub async fn answer(self, app: &Arc<App>, http: &HttpRequest) -> HttpResponse {
        let is_read = matches!(*http.method(), Method::GET | Method::HEAD);
        let outcome = match self {
            // Its refusals have its headers, too.
            Probe::Console(request) => Ok(request.answer(http)),
            _ if !is_read => Ok(HttpResponse::MethodNotAllowed().insert_header(("allow", "GET, HEAD")).finish()),
            Probe::Start => Ok(redirect(&console::start_address(&app.config))),
            Probe::Documents => Ok(redirect("docs/")),
            Probe::Document(page) => Ok(document(page)),
            Probe::Health => Ok(health(app)),
            Probe::Readiness => Ok(readiness(app)),
            Probe::Metrics => metrics(app, http).await,
            Probe::OpenApi => openapi(app, http).await,
        };
        // Only while the server is stopping.
        outcome.unwrap_or_else(|_| HttpResponse::ServiceUnavailable().finish())
    }
}

/// Redirects to an address of this server. Browsers must not cache the answer, because the path may
/// get a page of its own later.
pub(super) fn redirect(address: &str) -> HttpResponse {
    HttpResponse::TemporaryRedirect().insert_header((header::LOCATION, address)).finish()
}

/// Returns a page of the documentation.
fn document(page: &'static DocumentPage) -> HttpResponse {
    let policy = (header::CONTENT_SECURITY_POLICY, documents::POLICY);
    let mut response = HttpResponse::Ok();
    response.content_type(page.media_type).insert_header(policy);
    response.insert_header((header::CACHE_CONTROL, "max-age=300")).body(page.body.clone())
}

/// Returns the OpenAPI document, which is generated on first use.
async fn openapi(app: &Arc<App>, http: &HttpRequest) -> Result<HttpResponse> {
    let made_of = app.clone();
    let document =
        move || KeptText::new(openapi::document(made_of.groups, &made_of.config.server.base_path).to_string());
    let make = || offload_at_once(document);
    app.openapi.get_or_try_init(make).await?.answer("application/json", http, app.config.server.compress_bytes).await
}

/// Reports the health of the process. Only a closed store makes it unhealthy, because only a
/// restart can repair that.
fn health(app: &App) -> HttpResponse {
    if app.stage() == ServerStage::Ready && app.repository.health() == Health::Closed {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "broken", "why": "the store is closed" }));
    }
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

/// The time in milliseconds that the disk may take for a commit before the store counts as failed.
/// It is far longer than a healthy disk takes, and the last bound of the histogram of commits.
const STALLED_MS: u64 = 10_000;

/// The state of the store: a word for metrics, and a sentence for people if something is wrong.
struct StoreCondition {
    word: &'static str,
    why: Option<String>,
    /// Whether changes are carried out, or may succeed at the next attempt.
    serves: bool,
    /// The time for which the current commit has waited for the disk, in milliseconds.
    waits_ms: u64,
}

/// The possible words of a [`StoreCondition`].
const WORDS: [&str; 6] = ["ok", "full", "lagging", "failing", "stalled", "closed"];

fn store_condition(app: &App) -> StoreCondition {
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
    StoreCondition { word, why, serves, waits_ms }
}

/// Reports whether the server should get requests: not while it starts or drains, nor after the
/// store has failed. A full disk does not count: reads continue, and only an attempted change can
/// find that there is room again.
fn readiness(app: &App) -> HttpResponse {
    let (serves, why) = match app.stage() {
        ServerStage::Starting => (false, Some("starting".to_owned())),
        ServerStage::Draining => (false, Some("draining".to_owned())),
        ServerStage::Ready => {
            let StoreCondition { serves, why, .. } = store_condition(app);
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

/// Returns all metrics, with the current state of the store.
async fn metrics(app: &Arc<App>, http: &HttpRequest) -> Result<HttpResponse> {
    let made_of = app.clone();
    let text = app.shown_metrics.made(move || {
        let app = made_of;
        let StoreCondition { word, waits_ms, .. } = store_condition(&app);
        for known in WORDS {
            metrics::gauge!("stet_store_state", "state" => known).set(f64::from(u8::from(known == word)));
        }
        metrics::gauge!("stet_store_pending").set(app.repository.backlog().sets as f64);
        metrics::gauge!("stet_store_commit_waits_seconds").set(waits_ms as f64 / 1000.0);
        app.metrics.render()
    });
    text.await?.answer("text/plain; version=0.0.4", http, app.config.server.compress_bytes).await
}
