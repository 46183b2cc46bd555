//! What every endpoint has in common (docs/api/README.md).

mod base_path;
mod contract;
mod conventions;
mod failures;
mod limits;
mod openapi;
pub mod raw;
mod rights;
mod tokens;

use std::collections::HashMap;

use serde_json::Value;

use crate::harness::*;

/// A loid that names nothing.
const NOWHERE: &str = "1$1.0.999999999";

/// The name of a post at the timestamp 0.
const POST: &str = "19700101-000000-000";

/// Calls of an endpoint of which nothing is known but what the document says of it.
pub trait Blind {
    /// The path with this in place of each source, and something that fits in place of the rest.
    fn path_with(&self, source: &str) -> String;
    /// A path and query that the endpoint takes, with this in place of each source.
    fn call_with(&self, source: &str) -> String;
    /// A call that reaches the handler.
    fn call(&self) -> String;
    /// A call whose source is of the kind that the endpoint wants, as far as the sample newsroom has one.
    fn fitting_call(&self) -> String;
    /// Sends a call with a body that is JSON and says nothing, or with none.
    fn send(&self, client: &Client, call: &str) -> Answer;
}

impl Blind for Endpoint {
    fn path_with(&self, source: &str) -> String {
        let value = |name: &str| match name {
            "position" => "0".to_owned(),
            "version" => "1".to_owned(),
            "databaseId" => "main".to_owned(),
            "view" => "list".to_owned(),
            "format" => "binary".to_owned(),
            "post" => POST.to_owned(),
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

    fn call(&self) -> String {
        self.call_with(NOWHERE)
    }

    fn fitting_call(&self) -> String {
        self.call_with(match self.path.as_str() {
            path if path.starts_with("/v3/folder/") => "/News/City",
            path if path.starts_with("/v3/container/drawer/") => "/Drawers/city-desk",
            _ => "/News/City/harbour-ferry.xml",
        })
    }

    fn send(&self, client: &Client, call: &str) -> Answer {
        match self.body.as_str() {
            "none" => client.send(&self.method, call, &[], b""),
            _ if self.multipart => client.send(&self.method, call, &[MULTIPART], b"--x--\r\n"),
            _ => client.send(&self.method, call, &[JSON], b"{}"),
        }
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const MULTIPART: (&str, &str) = ("content-type", "multipart/form-data; boundary=x");

/// All endpoints: those of `endpoints.json` as it has them, and ours as the server's document has them.
fn endpoints(server: &Server) -> Vec<Endpoint> {
    let document = server.client().get("/openapi.json").json();
    let mut served: HashMap<String, Endpoint> =
        Endpoint::in_document(&document).into_iter().map(|endpoint| (endpoint.id.clone(), endpoint)).collect();
    let text = |row: &Value, key: &str| row[key].as_str().expect("a row has its fields").to_owned();
    let rows: Vec<Value> = serde_json::from_str(include_str!("../../endpoints.json")).expect("the file is JSON");
    let mut all: Vec<Endpoint> = rows
        .iter()
        .map(|row| {
            let id = text(row, "id");
            let here = served.remove(&id).unwrap_or_else(|| panic!("the server does not tell of {id}"));
            let query = row["query"].as_array().expect("a row has a query").iter();
            Endpoint {
                method: text(row, "method"),
                path: text(row, "path"),
                token: text(row, "token"),
                // See `from_document`.
                body: if here.takes_bytes { "none".to_owned() } else { text(row, "body") },
                query: query
                    .map(|known| (text(known, "name"), text(known, "type"), known["required"] == true))
                    .collect(),
                ..here
            }
        })
        .collect();
    assert_eq!(all.len(), 186);
    let mut ours: Vec<Endpoint> = served.into_values().collect();
    ours.sort_by(|one, other| one.id.cmp(&other.id));
    assert!(ours.iter().all(|endpoint| endpoint.id.starts_with("stet-")));
    all.extend(ours);
    all
}

/// The methods that some endpoint has at a path, which may be one that fits several patterns.
fn methods_at(endpoints: &[Endpoint], path: &str) -> Vec<String> {
    let fits = |pattern: &str| {
        let same = |(pattern, segment): (&str, &str)| pattern.starts_with('{') || pattern == segment;
        pattern.split('/').count() == path.split('/').count() && pattern.split('/').zip(path.split('/')).all(same)
    };
    let mut methods: Vec<String> =
        endpoints.iter().filter(|endpoint| fits(&endpoint.path)).map(|endpoint| endpoint.method.clone()).collect();
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

/// Gathers what is wrong, so that one run tells of all of it.
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
