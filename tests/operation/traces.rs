//! Traces, as a collector gets them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Of;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::harness::*;

/// The spans that a collector has received.
#[derive(Default)]
struct Taken {
    /// The attributes of the senders.
    resources: Vec<BTreeMap<String, String>>,
    spans: Vec<Span>,
}

/// A collector, until this process ends.
struct Collector {
    url: String,
    taken: Arc<Mutex<Taken>>,
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Of::StringValue(text)) => text.clone(),
        Some(Of::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    attributes.iter().map(|of| (of.key.clone(), text(of.value.as_ref()))).collect()
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let url = format!("http://{}/v1/traces", listener.local_addr().expect("it has an address"));
        let taken = Arc::new(Mutex::new(Taken::default()));
        let takes = taken.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let takes = takes.clone();
                std::thread::spawn(move || {
                    let mut out = stream.try_clone().expect("a connection has two ends");
                    let mut lines = BufReader::new(stream);
                    while let Some(body) = request(&mut lines) {
                        let request = ExportTraceServiceRequest::decode(&body[..]).expect("it is OTLP");
                        let mut taken = takes.lock().expect("nobody panics with it");
                        for of in request.resource_spans {
                            taken.resources.extend(of.resource.map(|resource| texts(&resource.attributes)));
                            taken.spans.extend(of.scope_spans.into_iter().flat_map(|of| of.spans));
                        }
                        out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("it reads");
                    }
                });
            }
        });
        Collector { url, taken }
    }

    fn spans(&self) -> Vec<Span> {
        self.taken.lock().expect("nobody panics with it").spans.clone()
    }

    /// The spans of that name.
    fn named(&self, name: &str) -> Vec<Span> {
        self.spans().into_iter().filter(|span| span.name == name).collect()
    }
}

/// The body of the next request on a connection, if there is one.
fn request(lines: &mut BufReader<std::net::TcpStream>) -> Option<Vec<u8>> {
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length is a number");
        }
        head += &line;
    }
    assert!(head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("application/x-protobuf"), "{head}");
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some(body)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn requests_are_spans_in_the_clients_trace_and_changes_are_child_spans() {
    let collector = Collector::start();
    let mut server = Server::with(&[("TRACES__ENDPOINT", &collector.url)]);
    let client = server.login("editor");
    let drawer = client.drawer(&own_folder(), "drawer", 3);
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let path = format!("/v3/container/drawer/{}/item/clear", encoded(&drawer));
    let traced = format!("00-{trace}-{parent}-01");
    let headers = [("traceparent", traced.as_str()), ("content-type", "application/json")];
    let answer = client.send("PUT", &path, &headers, b"{}");
    assert_eq!(answer.status, 200);
    // The client that began the trace does not want it sampled.
    let unwanted = format!("00-1{}-{parent}-00", &trace[1..]);
    client.send("GET", "/v3/folder/home", &[("traceparent", &unwanted)], b"").ok();
    assert_eq!(client.get("/nowhere").status, 404);
    client.get("/metrics");
    // The last ones are sent at the end.
    let token = client.token.clone().expect("it is logged in");
    assert_eq!(server.terminate(), Some(0));

    let cleared: Vec<Span> = collector.spans().into_iter().filter(|span| hex(&span.trace_id) == trace).collect();
    let [of_change, of_request] = &cleared[..] else { panic!("{cleared:?}") };
    let (of_change, of_request) =
        if hex(&of_request.parent_span_id) == parent { (of_change, of_request) } else { (of_request, of_change) };
    assert_eq!(hex(&of_request.parent_span_id), parent);
    assert_eq!(of_change.parent_span_id, of_request.span_id);
    assert!(of_change.name.starts_with("drawer."), "{}", of_change.name);
    assert!(of_request.start_time_unix_nano <= of_change.start_time_unix_nano);
    assert!(of_change.end_time_unix_nano <= of_request.end_time_unix_nano);
    let told = texts(&of_request.attributes);
    let wanted = [
        ("http.request.method", "PUT"),
        ("http.response.status_code", "200"),
        ("http.route", "/v3/container/drawer/{source}/item/clear"),
        ("stet.request.id", answer.header("x-request-id").expect("each answer has one")),
        ("url.path", &path),
    ];
    assert_eq!(told.iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), wanted);
    assert!(
        collector.spans().iter().all(|span| hex(&span.trace_id)[1..] != trace[1..] || hex(&span.trace_id) == trace)
    );
    assert_eq!(collector.named("none").len(), 1, "there is no such endpoint, and probes are not traced");
    assert!(!collector.named("auth-login-post").is_empty(), "a trace of its own");
    let all = format!("{:?}", collector.spans());
    for secret in [token.as_str(), ADMIN_PASSWORD, SAMPLE_PASSWORD, "editor"] {
        assert!(!all.contains(secret), "{secret} is in a span");
    }
    let taken = collector.taken.lock().expect("nobody panics with it");
    assert_eq!(taken.resources[0]["service.name"], "stet");
    assert_eq!(taken.resources[0]["service.version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_collector_that_is_away_keeps_nobody_waiting_and_is_told_of() {
    // Nothing listens there.
    let mut server = Server::with(&[("TRACES__ENDPOINT", "http://127.0.0.1:1/v1/traces")]);
    let client = server.login("editor");
    client.drawer(&own_folder(), "drawer", 3);
    let failed = || server.client().count("stet_trace_batches_total{outcome=\"failed\"}");
    wait_patiently_until("it was tried", || failed() > 0);
    wait_until("it is in the log", || server.log().contains("traces can't be sent"));
    client.get("/v3/folder/home").ok();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn without_a_collector_nothing_is_sent_and_of_many_traces_few_are() {
    let collector = Collector::start();
    let mut server = Server::with(&[("TRACES__ENDPOINT", &collector.url), ("TRACES__SAMPLE_ONE_IN", "1000000")]);
    server.login("editor").drawer(&own_folder(), "drawer", 3);
    assert_eq!(server.terminate(), Some(0));
    assert!(collector.spans().is_empty());
    let mut server = Server::start();
    let client = server.login("editor");
    let body = json!({});
    client.post("/v3/auth/nowhere", &body);
    let ended = server.client().get("/metrics");
    let text = String::from_utf8(ended.body).expect("metrics are text");
    assert!(text.contains("stet_trace_batches_total{outcome=\"sent\"} 0"), "{text}");
    assert_eq!(server.terminate(), Some(0));
}
