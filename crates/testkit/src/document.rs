//! The check of every reply in every test against the OpenAPI document. The status must be listed
//! for the operation, and the body must match its schema.
//!
//! The document is the one in `tests/golden`; a separate test compares it with the document that
//! the server sends. So servers that are about to be killed, or have no room for another call, need
//! not be asked.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::Answer;

/// Known replies that differ from the document: the operation, and a part of the fault. The list
/// should be empty.
const NOT_YET: &[(&str, &str)] = &[];

/// The environment variable with the file to which all tests of one run write faults instead of
/// failing.
const REPORT_FILE: &str = "STET_SCHEMA_FAULTS";

static DOCUMENT: LazyLock<Document> = LazyLock::new(Document::read);

struct Document {
    whole: Value,
    /// The paths by method, each with the location of its operation in the document.
    routers: HashMap<String, matchit::Router<String>>,
    /// The compiled schemas by location in the document.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// Checks the reply to a call against the document. Two kinds of replies are not checked: those to
/// calls of no endpoint, as on a server that is mounted elsewhere, and those without a request id,
/// which are not the server's.
pub fn hold(method: &str, path: &str, answer: &Answer) {
    let nobodys = answer.status == 404 && String::from_utf8_lossy(&answer.body).contains("NoSuchEndpoint");
    if nobodys || answer.header("x-request-id").is_none() {
        return;
    }
    // A reply to HEAD has the headers of a body without the body.
    let decoded = (method != "HEAD").then(|| answer.decoded());
    let answer = decoded.as_ref().unwrap_or(answer);
    let Some((id, fault)) = DOCUMENT.fault_of(method, path, answer) else { return };
    if NOT_YET.iter().any(|(known, part)| *known == id && fault.contains(part)) {
        return;
    }
    let text = format!("{id} {}: {fault}", answer.status);
    match std::env::var_os(REPORT_FILE) {
        Some(file) => {
            let open = std::fs::OpenOptions::new().create(true).append(true).open(file);
            let written = open.and_then(|mut file| writeln!(file, "{}", text.replace('\n', " ")));
            written.expect("the file can be written");
        }
        None => panic!(
            "{method} {path} is not answered as the document says.\n{text}\n{}",
            String::from_utf8_lossy(&answer.body)
        ),
    }
}

/// Returns the document.
pub(crate) fn whole() -> &'static Value {
    &DOCUMENT.whole
}

/// Returns the fault of a JSON body of an operation's request, according to the document.
pub(crate) fn fault_of_body(method: &str, path: &str, body: &Value) -> Option<String> {
    let operation = format!("/paths/{}/{}", escaped(path), method.to_ascii_lowercase());
    DOCUMENT.validator(&format!("{operation}/requestBody/content/application~1json/schema")).fault_of(body)
}

/// Returns the fault that a schema finds.
trait Faults {
    fn fault_of(&self, json: &Value) -> Option<String>;
}

impl Faults for Validator {
    fn fault_of(&self, json: &Value) -> Option<String> {
        if self.is_valid(json) {
            return None;
        }
        let faults: Vec<_> = self
            .iter_errors(json)
            .map(|error| {
                let text: String = error.to_string().chars().take(300).collect();
                format!("at `{}` {text}", error.instance_path())
            })
            .collect();
        Some(faults.join("; "))
    }
}

impl Document {
    fn read() -> Document {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/openapi.json");
        let text = std::fs::read_to_string(file).expect("the document can be read");
        let whole: Value = serde_json::from_str(&text).expect("the document is JSON");
        let mut routers: HashMap<String, matchit::Router<String>> = HashMap::new();
        for (path, methods) in whole["paths"].as_object().expect("the document has paths") {
            for method in methods.as_object().expect("a path has methods").keys() {
                let pointer = format!("/paths/{}/{method}", escaped(path));
                let router = routers.entry(method.to_ascii_uppercase()).or_default();
                router.insert(path, pointer).expect("paths are unlike each other");
            }
        }
        Document { whole, routers, validators: Mutex::default() }
    }

    /// Returns the operation that answered, and the fault of its reply, if there is one.
    fn fault_of(&self, method: &str, path: &str, answer: &Answer) -> Option<(String, String)> {
        // The path of a mounted server has a prefix.
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.find("/v3/").map_or(path, |begin| &path[begin..]);
        let verb = if method == "HEAD" { "GET" } else { method };
        let operation = &**self.routers.get(verb)?.at(path).ok()?.value;
        let id = self.whole.pointer(operation)?["operationId"].as_str()?.to_owned();
        let fault = self.fault(operation, method, answer)?;
        Some((id, fault))
    }

    fn fault(&self, operation: &str, method: &str, answer: &Answer) -> Option<String> {
        let mut response = format!("{operation}/responses/{}", answer.status);
        let Some(found) = self.whole.pointer(&response) else { return Some("the status is not listed".to_owned()) };
        if let Some(reference) = found["$ref"].as_str() {
            response = reference.trim_start_matches('#').to_owned();
        }
        let content = &self.whole.pointer(&response).expect("a reference leads somewhere")["content"];
        if method == "HEAD" {
            return None;
        }
        let Some(content) = content.as_object() else {
            return (!answer.body.is_empty()).then(|| "a body came, and none is described".to_owned());
        };
        let essence = |media_type: &str| media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let came = essence(answer.header("content-type").unwrap_or_default());
        let Some(described) = content.keys().find(|known| essence(known) == came) else {
            return (!content.contains_key("*/*")).then(|| format!("`{came}` is not among the media types"));
        };
        // A body that is not JSON may be any bytes.
        if !came.ends_with("json") {
            return None;
        }
        let json: Value = match serde_json::from_slice(&answer.body) {
            Ok(json) => json,
            Err(error) => return Some(format!("it is no JSON: {error}")),
        };
        self.validator(&format!("{response}/content/{}/schema", escaped(described))).fault_of(&json)
    }

    fn validator(&self, place: &str) -> Arc<Validator> {
        if let Some(known) = self.validators.lock().expect("nobody panics with it").get(place) {
            return known.clone();
        }
        let mut schema = self.whole.pointer(place).expect("a media type has a schema").clone();
        let components = self.referred(&schema);
        schema["components"] = json!({ "schemas": components });
        let compiled = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&schema)
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        let compiled = Arc::new(compiled);
        // Two tests may have compiled it at the same time; either result is right.
        self.validators.lock().expect("nobody panics with it").insert(place.to_owned(), compiled.clone());
        compiled
    }

    /// Returns the schemas that one refers to, directly or indirectly.
    fn referred(&self, schema: &Value) -> Map<String, Value> {
        fn gather(value: &Value, names: &mut BTreeSet<String>) {
            match value {
                Value::Object(fields) => {
                    let name = fields.get("$ref").and_then(|it| it.as_str()?.strip_prefix("#/components/schemas/"));
                    names.extend(name.map(str::to_owned));
                    fields.values().for_each(|value| gather(value, names));
                }
                Value::Array(values) => values.iter().for_each(|value| gather(value, names)),
                _ => {}
            }
        }
        let (mut found, mut wanted) = (Map::new(), BTreeSet::new());
        gather(schema, &mut wanted);
        while let Some(name) = wanted.pop_first() {
            if !found.contains_key(&name) {
                let schema = self.whole["components"]["schemas"][&name].clone();
                gather(&schema, &mut wanted);
                found.insert(name, schema);
            }
        }
        found
    }
}

/// Returns a key in the form that it has in a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
