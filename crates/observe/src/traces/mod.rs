//! OpenTelemetry traces, if a collector is configured. Each request has a span, which is part of
//! its client's trace if it sends `traceparent`. Below it, each change has a span from its command
//! to the disk. Spans are sent to the collector by OTLP over HTTP.
//!
//! Without a collector, the only cost is a check of an `Option`. With one, a separate thread sends
//! the collected spans every few seconds. While the collector is slow or away, 2048 spans wait and
//! further ones are dropped, so nothing waits for it.
//!
//! A span contains what the log contains at finer levels: endpoint, path without the query (which
//! may contain a token), status. It contains no user names, no addresses and nothing of a body.

mod sender;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};
use stet_config::TracesConfig;

use self::sender::Sender;

/// The time that the shutdown of the server waits for the collector to take the last spans.
const PATIENCE: Duration = Duration::from_secs(2);

/// The exporter of traces. Clones share it.
#[derive(Clone)]
pub struct Traces(Arc<Inner>);

struct Inner {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl Traces {
    /// Returns the exporter, if a collector is configured.
    pub fn configured(config: &TracesConfig) -> Option<Traces> {
        if config.endpoint.is_empty() {
            return None;
        }
        // The endpoint was checked with the configuration.
        let traces = Traces::to(config);
        traces.inspect_err(|error| tracing::error!(%error, "cannot send traces to `traces.endpoint`")).ok()
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

    /// Begins the span of a request that arrived at `started`.
    pub fn begin(&self, client: &ClientTrace<'_>, started: SystemTime) -> Trace {
        let parent = self.0.propagator.extract_with_context(&Context::new(), client);
        // The final name is set when the endpoint is known.
        let builder = self.0.tracer.span_builder("request").with_kind(SpanKind::Server).with_start_time(started);
        let span = builder.start_with_context(&self.0.tracer, &parent);
        Trace(Arc::new(RequestSpan { tracer: self.0.tracer.clone(), context: parent.with_span(span) }))
    }

    /// Sends the collected spans and ends the exporter. Blocks for up to two seconds while it waits
    /// for the collector.
    pub fn end(&self) {
        if let Err(error) = self.0.provider.shutdown_with_timeout(PATIENCE) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The trace of a client that a request is part of, as its headers state it (W3C Trace Context).
pub struct ClientTrace<'r> {
    /// The value of `traceparent`.
    pub parent: Option<&'r str>,
    /// The value of `tracestate`.
    pub state: Option<&'r str>,
}

impl Extractor for ClientTrace<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.parent,
            "tracestate" => self.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// The span of a request. It ends with its last clone.
#[derive(Clone)]
pub struct Trace(Arc<RequestSpan>);

struct RequestSpan {
    tracer: SdkTracer,
    context: Context,
}

/// A span below that of a request, until it is dropped. It is on the heap, because it is large and
/// part of the futures that hold it.
pub struct TraceSpan {
    _span: Box<Span>,
}

/// The details of a request and its response, for its span.
pub struct TracedResponse<'a> {
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
    /// Begins a span for a step of the request, which ends when the result is dropped.
    pub fn step(&self, name: &'static str) -> TraceSpan {
        let RequestSpan { tracer, context } = &*self.0;
        let builder = tracer.span_builder(name).with_kind(SpanKind::Internal);
        TraceSpan { _span: Box::new(builder.start_with_context(tracer, context)) }
    }

    /// Ends the span of the request.
    pub fn answered(&self, answered: &TracedResponse<'_>) {
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
