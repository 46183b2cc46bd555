//! The endpoints according to the OpenAPI document in `tests/golden`. A separate test compares that
//! document with the one that the server sends.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

use serde_json::Value;

use crate::document;
use crate::encoded;

/// An endpoint of the OpenAPI document.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub id: String,
    pub method: String,
    /// The path, with `{parameters}`.
    pub path: String,
    /// The need for a token: `required`, `none-listed` or `login`.
    pub token: String,
    /// The query parameters: name, kind, and whether it is required.
    pub query: Vec<(String, String, bool)>,
    /// The names of the headers that the endpoint knows.
    pub headers: Vec<String>,
    /// The need for a body: `none`, `optional` or `required`.
    pub body: String,
    /// `true` if the body is a multipart form.
    pub multipart: bool,
    /// `true` if the body may be any bytes.
    pub takes_bytes: bool,
    /// `true` if a reply may have the short form that a client prefers.
    pub replies_minimally: bool,
    /// The privilege that the caller needs.
    pub privilege: Option<String>,
    /// The place where the privilege is checked: `server`, `path` or `named`.
    pub scope: String,
}

static ALL: LazyLock<Vec<Endpoint>> = LazyLock::new(|| Endpoint::in_document(document::whole()));

static BY_ID: LazyLock<HashMap<&str, &Endpoint>> =
    LazyLock::new(|| ALL.iter().map(|endpoint| (endpoint.id.as_str(), endpoint)).collect());

impl Endpoint {
    /// Returns all endpoints.
    pub fn all() -> &'static [Endpoint] {
        &ALL
    }

    /// Returns the endpoint with this id, such as `drawer-item-post`.
    pub fn of(id: &str) -> &'static Endpoint {
        BY_ID.get(id).unwrap_or_else(|| panic!("no endpoint has the id `{id}`"))
    }

    /// Returns the endpoints that a document describes.
    pub fn in_document(document: &Value) -> Vec<Endpoint> {
        let paths = document["paths"].as_object().expect("the document has paths");
        let operations = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("a path has methods");
            methods.iter().map(move |(method, operation)| Endpoint::read(document, path, method, operation))
        });
        operations.collect()
    }

    fn read(document: &Value, path: &str, method: &str, operation: &Value) -> Endpoint {
        let parameters = operation["parameters"].as_array().expect("an operation has parameters");
        // Parts that many operations share are under `components`.
        let parameters = parameters.iter().map(|parameter| match parameter["$ref"].as_str() {
            Some(reference) => document.pointer(&reference[1..]).expect("a reference leads somewhere"),
            None => parameter,
        });
        let name = |parameter: &Value| parameter["name"].as_str().expect("a parameter has a name").to_owned();
        let of = |place: &'static str| parameters.clone().filter(move |parameter| parameter["in"] == place);
        let query =
            of("query").map(|parameter| (name(parameter), kind(&parameter["schema"]), parameter["required"] == true));
        let body = &operation["requestBody"];
        let security = operation["security"].as_array().expect("an operation says what it wants");
        let token = if security.is_empty() {
            "login"
        } else if security.contains(&serde_json::json!({})) {
            "none-listed"
        } else {
            "required"
        };
        let takes_bytes = body["content"]["*/*"].is_object();
        // Where any bytes are allowed, an empty body is allowed, too, and no JSON can be malformed.
        let wants = if body.is_null() || takes_bytes {
            "none"
        } else if body["required"] == true {
            "required"
        } else {
            "optional"
        };
        Endpoint {
            id: operation["operationId"].as_str().expect("an operation has an id").to_owned(),
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            token: token.to_owned(),
            query: query.collect(),
            headers: of("header").map(name).collect(),
            body: wants.to_owned(),
            multipart: body["content"]["multipart/form-data"].is_object(),
            takes_bytes,
            replies_minimally: operation["responses"]["200"]["content"]["application/vnd.stet.minimal+json"]
                .is_object(),
            privilege: operation["x-stet-privilege"].as_str().map(str::to_owned),
            scope: operation["x-stet-scope"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the fault of a JSON body for the endpoint according to the document; `None` if it is
    /// valid.
    pub fn fault_of_body(&self, body: &Value) -> Option<String> {
        document::fault_of_body(&self.method, &self.path, body)
    }

    /// Reports whether the endpoint belongs to the older surface, which has no envelope.
    pub fn older(&self) -> bool {
        !self.path.starts_with("/v3/")
    }

    /// Reports whether the endpoint has this query parameter.
    pub fn takes(&self, name: &str) -> bool {
        self.query.iter().any(|(known, ..)| known == name)
    }

    /// Reports whether the endpoint knows this header.
    pub fn knows(&self, header: &str) -> bool {
        self.headers.iter().any(|known| known == header)
    }

    /// Returns the names of the path's parameters, first to last.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter_map(parameter)
    }

    /// Returns the path with these arguments in place of the parameters, first to last.
    pub fn path_of(&self, arguments: &[&dyn Display]) -> String {
        let wanted = self.parameters().count();
        assert_eq!(arguments.len(), wanted, "{} is at {}", self.id, self.path);
        let mut arguments = arguments.iter();
        let segments = self.path.split('/').map(|segment| match parameter(segment) {
            Some(_) => encoded(&arguments.next().expect("they have been counted").to_string()),
            None => segment.to_owned(),
        });
        segments.collect::<Vec<_>>().join("/")
    }
}

/// Returns the name of a path segment that is a parameter.
pub fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Returns the kind of a parameter's values, in the words of `tests/endpoints.json`.
fn kind(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("array") => "list<string>".to_owned(),
        kind => kind.expect("a parameter has a type").to_owned(),
    }
}
