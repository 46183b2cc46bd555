//! Rules that hold for every endpoint (docs/api/README.md).

mod base_path;
mod compression;
mod contract;
mod conventions;
mod failures;
mod large_texts;
mod limits;
mod messages;
mod numbers;
mod openapi;
mod pipelining;
pub mod raw;
mod tokens;
mod warnings;

use serde_json::Value;

use crate::harness::*;

/// A loid that names nothing.
const NOWHERE: &str = "1$1.0.999999999";

/// Calls of an endpoint built from its description in the document alone.
pub trait Blind {
    /// The path with this in place of each source, and something that fits in place of the rest.
    fn path_with(&self, source: &str) -> String;
    /// A path and query that the endpoint takes, with this in place of each source.
    fn call_with(&self, source: &str) -> String;
    /// A call about something of the sample, of the kind that an endpoint that is not served yet
    /// wants.
    fn fitting_call(&self) -> String;
    /// Sends a call with a body that is JSON and says nothing, or with none.
    fn send(&self, client: &Client, call: &str) -> Answer;
    /// The error of an answer that has this status, checked for the form of its surface; null if it
    /// has another.
    fn error(&self, answer: &Answer, status: u16) -> Value;
    /// Returns a readable form of an answer.
    fn told(&self, answer: &Answer) -> String;
}

impl Blind for Endpoint {
    fn path_with(&self, source: &str) -> String {
        let value = |name: &str| match name {
            "position" => "0".to_owned(),
            "version" => "1".to_owned(),
            "databaseId" => "main".to_owned(),
            "view" => "list".to_owned(),
            "format" => "binary".to_owned(),
            "post" => "19700101-000000-000".to_owned(),
            _ => encoded(source),
        };
        let segment = |segment: &str| parameter(segment).map_or_else(|| segment.to_owned(), value);
        self.path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    fn call_with(&self, source: &str) -> String {
        let required = self.query.iter().filter(|(_, _, required)| *required);
        let mut query: Vec<_> = required.map(|(name, _, _)| format!("{name}={}", encoded(source))).collect();
        if self.path.ends_with("/events") {
            // The answer would go on for as long as anybody reads it.
            query.push("wait=false".to_owned());
        }
        let glue = if query.is_empty() { "" } else { "?" };
        format!("{}{glue}{}", self.path_with(source), query.join("&"))
    }

    fn fitting_call(&self) -> String {
        let folder = self.path.starts_with("/v3/folder/");
        self.call_with(if folder { "/News/City" } else { "/News/City/harbour-ferry.xml" })
    }

    fn send(&self, client: &Client, call: &str) -> Answer {
        match self.body.as_str() {
            "none" => client.send(&self.method, call, &[], b""),
            _ if self.multipart => client.send(&self.method, call, &[MULTIPART], b"--x--\r\n"),
            _ => client.send(&self.method, call, &[JSON], b"{}"),
        }
    }

    fn error(&self, answer: &Answer, status: u16) -> Value {
        if answer.status == status { error_of(answer, self.older()) } else { Value::Null }
    }

    fn told(&self, answer: &Answer) -> String {
        let body = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
        format!("{} {} {}: {} {body}", self.id, self.method, self.path, answer.status)
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const MULTIPART: (&str, &str) = ("content-type", "multipart/form-data; boundary=x");

/// The methods that some endpoint has at a path, which may be one that fits several patterns.
fn methods_at(path: &str) -> Vec<String> {
    let fits = |pattern: &str| {
        let same = |(pattern, segment): (&str, &str)| pattern.starts_with('{') || pattern == segment;
        pattern.split('/').count() == path.split('/').count() && pattern.split('/').zip(path.split('/')).all(same)
    };
    let fitting = Endpoint::all().iter().filter(|endpoint| fits(&endpoint.path));
    let mut methods: Vec<String> = fitting.map(|endpoint| endpoint.method.clone()).collect();
    if methods.contains(&"GET".to_owned()) {
        methods.push("HEAD".to_owned());
    }
    methods.sort();
    methods.dedup();
    methods
}

/// The error of an answer, checked for the form of its surface.
fn error_of(answer: &Answer, older: bool) -> Value {
    let json = answer.json();
    let error = if older {
        assert!(json.get("status").is_none() && json.get("result").is_none(), "an envelope around {json}");
        json
    } else {
        assert_eq!(json["status"], "error", "{json}");
        json["result"].clone()
    };
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    assert_eq!(error["requestId"].as_str(), answer.header("x-request-id"), "{error}");
    error
}

/// A collection of faults, so that one run reports all of them.
#[derive(Default)]
pub struct Faults(Vec<String>);

impl Faults {
    pub fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    #[track_caller]
    pub fn none(self) {
        assert!(self.0.is_empty(), "{} faults:\n{}", self.0.len(), self.0.join("\n"));
    }
}
