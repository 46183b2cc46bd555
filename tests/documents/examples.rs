//! The example of each document of `docs/api`: one call with curl, and its reply in full. The tests
//! send the calls and compare the replies; ids, times and tokens are written alike each time. The
//! same examples are in the OpenAPI document, by way of `crates/web/src/openapi/examples.json`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test main documents::examples` writes the replies anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::harness::{Endpoint, SAMPLE_PASSWORD, Server};

/// The heading of the section that has the example.
const HEADING: &str = "\n## Example\n";

/// Documents that are about no endpoint of their own.
const WITHOUT: [&str; 2] = ["README.md", "rights.md"];

/// An example as it stands in a document.
struct Example {
    path: PathBuf,
    text: String,
    /// The offset of the section in the text.
    start: usize,
}

impl Example {
    fn all() -> Vec<Example> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api");
        let files = std::fs::read_dir(folder).expect("docs/api can be listed");
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file can be listed").path()).collect();
        paths.sort();
        let wanted = |path: &PathBuf| !WITHOUT.iter().any(|name| path.ends_with(name));
        paths.into_iter().filter(wanted).map(Example::read).collect()
    }

    fn read(path: PathBuf) -> Example {
        let text = std::fs::read_to_string(&path).expect("a document can be read");
        let start = text.find(HEADING).unwrap_or_else(|| panic!("{} has no section Example", path.display()));
        Example { path, text, start }
    }

    fn section(&self) -> &str {
        &self.text[self.start..]
    }

    /// The commands.
    fn commands(&self) -> &str {
        fenced(self.section(), "bash").unwrap_or_else(|| panic!("{} has no commands", self.path.display()))
    }

    /// The section with this reply.
    fn with_reply(&self, reply: &str) -> String {
        let language = if reply.starts_with(['{', '[']) { "json" } else { "text" };
        format!("{HEADING}\n```bash\n{}```\n\n```{language}\n{}\n```\n", self.commands(), reply.trim_end())
    }
}

fn fenced<'t>(text: &'t str, language: &str) -> Option<&'t str> {
    let (_, body) = text.split_once(&format!("```{language}\n"))?;
    body.split_once("```").map(|(body, _)| body)
}

/// The endpoint and the JSON body of the last curl command, as the OpenAPI document has them.
fn described(commands: &str) -> (&'static Endpoint, Option<Value>) {
    let last = commands.rfind("curl ").expect("an example is a call of curl");
    let command = commands[last..].replace("\\\n", " ");
    let (_, address) = command.split_once("\"$B").expect("the address begins with $B");
    let path = address.split(['?', '"']).next().unwrap_or_default();
    let body = command.split_once("-d '").and_then(|(_, rest)| rest.split_once('\'')).map(|(body, _)| body);
    let default = if body.is_some() || command.contains(" -F ") { "POST" } else { "GET" };
    let method = command.split_once("-X ").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or(default);
    let fits = |endpoint: &&Endpoint| {
        let (wanted, segments) = (endpoint.path.split('/').collect::<Vec<_>>(), path.split('/').collect::<Vec<_>>());
        endpoint.method == method
            && wanted.len() == segments.len()
            && wanted.iter().zip(&segments).all(|(wanted, segment)| wanted.starts_with('{') || wanted == segment)
    };
    // A word in the path is meant before a parameter there.
    let parameters = |endpoint: &&Endpoint| endpoint.path.matches('{').count();
    let endpoint = Endpoint::all().iter().filter(fits).min_by_key(parameters);
    let endpoint = endpoint.unwrap_or_else(|| panic!("no endpoint is at {method} {path}"));
    (endpoint, body.map(|body| serde_json::from_str(body).expect("a body in an example is JSON")))
}

/// Makes the calls of an example, and returns what they print.
fn carried_out(commands: &str, server: &Server, token: &str) -> String {
    let run = Command::new("bash")
        .args([
            "-ec",
            &commands.replace("curl ", "curl -sS --fail-with-body ").replace("harbour-sample", SAMPLE_PASSWORD),
        ])
        .env("B", &server.client().base)
        .env("TOKEN", token)
        .output()
        .expect("there is a bash");
    let printed = String::from_utf8(run.stdout).expect("replies in examples are text");
    assert!(run.status.success(), "{commands}\n{printed}\n{}", String::from_utf8_lossy(&run.stderr));
    printed
}

/// Writes what differs from run to run the same way each time.
#[derive(Default)]
struct Settler {
    loids: Vec<String>,
    uuids: Vec<String>,
}

impl Settler {
    fn reply(&mut self, printed: &str) -> String {
        match serde_json::from_str::<Value>(printed) {
            Ok(mut reply) => {
                leave_out_machine(&mut reply);
                self.value("", &mut reply);
                serde_json::to_string_pretty(&reply).expect("JSON can be written")
            }
            Err(_) => self.text(printed),
        }
    }

    fn value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(key, value)| self.value(key, value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(key, item)),
            Value::Number(number) => match number.as_u64() {
                Some(1_600_000_000..4_000_000_000) => *value = json!(1_795_250_000),
                Some(1_600_000_000_000..4_000_000_000_000) => *value = json!(1_795_250_000_000_u64),
                _ => {}
            },
            Value::String(text) => {
                *text = match key {
                    "value" | "token" => shown_token(text).unwrap_or_else(|| self.text(text)),
                    "secret" => "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDMkVTAtLV8Gc=".to_owned(),
                    "session" | "requestId" if !text.is_empty() => "n5yk29sffv6t".to_owned(),
                    "hrefPdf" => self.preview_address(text),
                    "address" if !text.is_empty() => "127.0.0.1".to_owned(),
                    // A server beside other tests may answer before everything can be found.
                    "indexedUpTo" => "212-4294967295".to_owned(),
                    "issueDate" | "fromIssueDate" if text.len() == 8 => "20261127".to_owned(),
                    _ => self.text(text),
                };
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The address of a preview at another server, with a loid in its path and a part of one in its
    /// query.
    fn preview_address(&mut self, text: &str) -> String {
        let (_, path) = text.split_once("/v3/").expect("an address has a path");
        let (path, number) = path.rsplit_once("&eomid=").expect("the address of a preview has a query");
        let path = self.text(path);
        let loid = self.word(&format!("1${number}"));
        format!("http://127.0.0.1:8080/v3/{path}&eomid={}", loid.trim_start_matches("1$"))
    }

    /// Replaces the loids, uuids and numbers of milliseconds in a text.
    fn text(&mut self, text: &str) -> String {
        let is_part = |char: char| char.is_ascii_hexdigit() || matches!(char, '$' | '.' | '-');
        let mut settled = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            settled.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
            settled.push_str(&self.word(&rest[..end]));
            rest = &rest[end..];
        }
        settled + rest
    }

    fn word(&mut self, word: &str) -> String {
        let place = |known: &mut Vec<String>, word: &str| {
            known.iter().position(|known| known == word).unwrap_or_else(|| {
                known.push(word.to_owned());
                known.len() - 1
            })
        };
        if word.contains('$') && word.contains('.') {
            let (head, number) = word.rsplit_once('.').unwrap_or_default();
            return format!("{head}.{}", 66_001 + place(&mut self.loids, number));
        }
        if word.len() == 36 && word.matches('-').count() == 4 {
            return format!("01a21843-c6b3-7daa-a4c2-{:012}", 1 + place(&mut self.uuids, word));
        }
        let digits = |length: usize| word.len() == length && word.bytes().all(|byte| byte.is_ascii_digit());
        match word {
            _ if digits(13) => "1795250000000".to_owned(),
            _ if digits(10) => "1795250000".to_owned(),
            // The name of a post.
            _ if word.len() == 19 && word.matches('-').count() == 2 => "20261121-083320-000".to_owned(),
            _ => word.to_owned(),
        }
    }
}

/// Leaves out the findings about a server that differ from machine to machine.
fn leave_out_machine(reply: &mut Value) {
    let Some(result) = reply.get_mut("result") else { return };
    let Some(findings) = result.get_mut("findings").and_then(Value::as_array_mut) else { return };
    findings.retain(|finding| finding["check"] == "configuration" || finding["check"] == "listening");
    let all_is_well = findings.iter().all(|finding| finding["level"] == "ok");
    assert!(all_is_well, "the numbers would differ: {findings:?}");
    (result["warnings"], result["failures"]) = (json!(0), json!(0));
}

/// Returns the token that documents show in place of a session's or a key's; `None` for any other
/// text.
fn shown_token(text: &str) -> Option<String> {
    const SHOWN: &str = "lK2v0sZt6mZkq1sUuI0u1XkY3mPqf0aB";
    const OF_KEYS: &str = "stk_";
    let random = text.strip_prefix(OF_KEYS).unwrap_or(text);
    let is_token = random.len() == SHOWN.len()
        && random.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let prefix = if random.len() < text.len() { OF_KEYS } else { "" };
    is_token.then(|| format!("{prefix}{SHOWN}"))
}

/// Compares a file with its expected text, and shows the first line that differs.
fn same(kept: &str, wanted: &str, path: &Path) {
    let differing = kept.lines().zip(wanted.lines()).find(|(kept, wanted)| kept != wanted);
    let path = path.display();
    assert!(differing.is_none(), "{path} has `{}`, but it is `{}`", differing.unwrap().0, differing.unwrap().1);
    assert_eq!(kept.lines().count(), wanted.lines().count(), "lines of {path}");
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/web/src/openapi/examples.json")
}

#[test]
fn each_document_has_an_example_as_the_server_answers_it() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let server = Server::start();
    let token = server.login("admin").token.clone().expect("a login gives a token");
    let mut operations: BTreeMap<&str, Value> = BTreeMap::new();
    for example in Example::all() {
        let reply = Settler::default().reply(&carried_out(example.commands(), &server, &token));
        let section = example.with_reply(&reply);
        if update {
            let head = example.text[..example.start].trim_end();
            std::fs::write(&example.path, format!("{head}\n{section}")).expect("a document can be written");
        } else {
            same(example.section(), &section, &example.path);
        }
        let (endpoint, body) = described(example.commands());
        let mut operation = Map::new();
        operation.extend(body.map(|body| ("request".to_owned(), body)));
        operation.insert("reply".to_owned(), serde_json::from_str(&reply).unwrap_or(Value::String(reply)));
        operations.insert(&endpoint.id, Value::Object(operation));
    }
    let written = serde_json::to_string_pretty(&operations).expect("JSON can be written") + "\n";
    if update {
        std::fs::write(golden(), written).expect("the examples can be written");
    } else {
        let kept = std::fs::read_to_string(golden()).expect("the examples can be read");
        same(&kept, &written, &golden());
    }
}

#[test]
fn each_resource_of_the_openapi_document_has_an_example() {
    let document = Server::shared().client().get("/openapi.json").json();
    let mut with_example: BTreeMap<String, bool> = BTreeMap::new();
    for methods in document["paths"].as_object().expect("the document has paths").values() {
        for operation in methods.as_object().expect("a path has methods").values() {
            let source = operation["x-stet-source"].as_str().expect("an operation has a source").to_owned();
            let replies = operation["responses"]["200"]["content"].as_object().expect("a success has a body");
            *with_example.entry(source).or_default() |= replies.values().any(|reply| reply.get("example").is_some());
            let description = operation["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{} has no description", operation["operationId"]);
        }
    }
    let without: Vec<_> = with_example.iter().filter(|(_, has)| !**has).map(|(source, _)| source.as_str()).collect();
    assert!(without.is_empty(), "no operation has an example in {without:?}");
}
