//! Traces by OpenTelemetry, if a collector is configured: of each request a span, part of the trace
//! that its client began if it sends `traceparent`, and below it one for each change, from its
//! command to the disk. They go to the collector by OTLP over HTTP.
//!
//! Without a collector there is nothing of this but a look at an `Option`. With one, a thread of
//! its own sends what has gathered every few seconds; while the collector is slow or away, 2048
//! spans wait, and further ones are dropped: nobody waits for it.
//!
//! What a span says is what the log says at finer levels: endpoint, path without the query (a token
//! may stand there), status. No name of a user, no address, nothing of a body.

mod sender;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix_web::http::header::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};

use self::sender::Sender;
use crate::config::TracesConfig;

/// How long the end of the server waits for the collector to take the last spans.
const PATIENCE: Duration = Duration::from_secs(2);

/// See the module's head. Clones share it.
#[derive(Clone)]
pub struct Traces(Arc<Inner>);

struct Inner {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl Traces {
    /// Traces, if a collector is configured.
    pub fn configured(config: &TracesConfig) -> Option<Traces> {
        if config.endpoint.is_empty() {
            return None;
        }
        // What was checked is an address.
        let traces = Traces::to(config);
        traces.inspect_err(|error| tracing::error!(%error, "there are no traces: `traces.endpoint` is of no use")).ok()
    }

    fn to(config: &TracesConfig) -> Result<Traces, ExporterBuildError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender::new())
            .with_endpoint(&config.endpoint)
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let resource = Resource::builder()
            .with_service_name(config.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let ratio = 1.0 / f64::from(config.sample_one_in.max(1));
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio)));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(sampler)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer("stet");
        Ok(Traces(Arc::new(Inner { provider, tracer, propagator: TraceContextPropagator::new() })))
    }

    /// Begins the span of a request that came at `started`.
    pub fn begin(&self, headers: &HeaderMap, started: SystemTime) -> Trace {
        let parent = self.0.propagator.extract_with_context(&Context::new(), &Headers(headers));
        // Its name is known when its endpoint is.
        let builder = self.0.tracer.span_builder("request").with_kind(SpanKind::Server).with_start_time(started);
        let span = builder.start_with_context(&self.0.tracer, &parent);
        Trace(Arc::new(Begun { tracer: self.0.tracer.clone(), context: parent.with_span(span) }))
    }

    /// Sends what has gathered, and ends; waits for the collector for a moment. To be called where
    /// it may wait.
    pub fn end(&self) {
        if let Err(error) = self.0.provider.shutdown_with_timeout(PATIENCE) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The headers of a request, as the propagator reads them.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}

/// The span of a request, until the last clone is dropped.
#[derive(Clone)]
pub struct Trace(Arc<Begun>);

struct Begun {
    tracer: SdkTracer,
    context: Context,
}

/// A span below that of a request, until it is dropped. Elsewhere, for it is large, and whoever
/// waits meanwhile holds it.
pub struct Step {
    _span: Box<Span>,
}

/// What a request was, and what became of it.
pub struct Answered<'a> {
    /// Id of the endpoint.
    pub endpoint: &'static str,
    /// The pattern of its path, if there is such an endpoint.
    pub route: Option<&'static str>,
    /// The HTTP method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// The request's id in the log.
    pub id: &'a str,
}

impl Trace {
    /// Begins a span for a step of the request; it ends when it is dropped.
    pub fn step(&self, name: &'static str) -> Step {
        let Begun { tracer, context } = &*self.0;
        let builder = tracer.span_builder(name).with_kind(SpanKind::Internal);
        Step { _span: Box::new(builder.start_with_context(tracer, context)) }
    }

    /// Ends the span of the request.
    pub fn answered(&self, answered: &Answered<'_>) {
        let span = self.0.context.span();
        if !span.is_recording() {
            return;
        }
        span.update_name(answered.endpoint);
        // The names are those of OpenTelemetry's semantic conventions.
        span.set_attribute(KeyValue::new("http.request.method", answered.method.to_owned()));
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(answered.status)));
        span.set_attribute(KeyValue::new("url.path", answered.path.to_owned()));
        span.set_attribute(KeyValue::new("stet.request.id", answered.id.to_owned()));
        if let Some(route) = answered.route {
            span.set_attribute(KeyValue::new("http.route", route));
        }
        if answered.status >= 500 {
            span.set_attribute(KeyValue::new("error.type", answered.status.to_string()));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}
