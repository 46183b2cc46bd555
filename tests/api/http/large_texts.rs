//! Replies with attributes so large that they are sent as pieces of their own. In every other
//! respect they equal those with small attributes.

use serde_json::{Value, json};

use super::*;

/// Attribute texts, below and above the size from which they are shared, and above the size of a
/// reply that is rendered at once.
const SIZES: [usize; 4] = [10, 100_000, 300_000, 1_500_000];

/// Objects that show the same attributes, and the reads that show the objects.
struct Shown {
    folder: String,
    objects: Vec<String>,
    reads: Vec<Read>,
}

/// A request that reads objects, by method, path and body.
type Read = (&'static str, String, Vec<u8>);

fn id_of(made: &Value) -> String {
    made["id"].as_str().or(made["info"]["id"].as_str()).expect("a new object has an id").to_owned()
}

impl Shown {
    /// Creates a story, a bundle with another one, a drawer with the story, and a topic.
    fn new(client: &Client) -> Shown {
        let folder = own_folder();
        let story = client.story(&folder, "story");
        let made = |path: &str, body: Value| id_of(&client.post(path, &body).ok());
        let bundle = json!({ "name": "bundle", "folderPath": folder, "type": "CompoundStory" });
        let bundle = id_of(&client.upload("/v3/object/create", &bundle, None).ok());
        let copy = format!("/v3/container/bundle/{bundle}/channelcopy");
        let copy = made(&copy, json!({ "channel": "Web", "inheritFrom": "Neutral" }));
        let drawer = json!({ "name": "drawer", "folderPath": folder, "sources": [story] });
        let drawer = made("/v3/container/drawer", drawer);
        let topic = made("/v3/container/topic", json!({ "name": "topic", "folderPath": folder }));
        let body = |body: Value| body.to_string().into_bytes();
        let place = encoded(&folder);
        let reads = vec![
            ("GET", format!("/v3/object/{story}"), vec![]),
            ("POST", "/v3/object".to_owned(), body(json!({ "sources": [story, "/nowhere", topic] }))),
            ("GET", format!("/v3/folder/{place}"), vec![]),
            ("GET", format!("/v3/folder/{place}?showXml=true&showPath=true"), vec![]),
            ("GET", format!("/v3/folder/{place}/view"), vec![]),
            ("GET", format!("/v3/bundle/{bundle}"), vec![]),
            ("GET", format!("/v3/bundle/{bundle}/root"), vec![]),
            ("GET", format!("/v3/bundle/{copy}/chain"), vec![]),
            ("GET", format!("/v3/bundle/{bundle}/view"), vec![]),
            ("POST", "/v3/container/opendocument".to_owned(), body(json!({ "source": bundle, "showXml": true }))),
            ("POST", "/v3/container/opendocuments".to_owned(), body(json!({ "sources": [bundle, "/nowhere"] }))),
            ("GET", format!("/v3/container/drawer/{drawer}?showItems=true"), vec![]),
            ("GET", format!("/v3/container/topic/{topic}"), vec![]),
        ];
        Shown { folder, objects: vec![story, bundle, copy, drawer, topic], reads }
    }

    /// Writes attributes of that many bytes to all objects.
    fn set(&self, client: &Client, bytes: usize) {
        let operators = json!([{ "set": { "xpath": "/attributes/story/headline", "content": text(bytes) } }]);
        let body = json!({ "updateFields": [{ "sourceIds": self.objects, "operators": operators }] });
        let changed = client.post("/v3/object/metadata/change/fields", &body).ok();
        assert_eq!(changed["errors"], json!([]), "{}", self.folder);
    }
}

/// Returns a text of that many bytes with letters that JSON and XML escape.
fn text(bytes: usize) -> String {
    format!("<\"{}\">", "x".repeat(bytes - 4))
}

fn send(client: &Client, (method, path, body): &Read, headers: &[(&str, &str)]) -> Answer {
    let json = [("content-type", "application/json")];
    client.send(method, path, &[&json[..if body.is_empty() { 0 } else { 1 }], headers].concat(), body)
}

/// Returns a reply with a small text in place of the large one, and without what each change
/// changes.
fn normalised(mut value: Value, bytes: usize) -> Value {
    match &mut value {
        Value::String(text) => *text = text.replace(&"x".repeat(bytes - 4), &"x".repeat(SIZES[0] - 4)),
        Value::Array(all) => all.iter_mut().for_each(|one| *one = normalised(one.take(), bytes)),
        Value::Object(all) => {
            for (name, one) in all.iter_mut() {
                let is_changing = matches!(name.as_str(), "revision" | "modified" | "version" | "versionCount");
                *one = if is_changing { Value::Null } else { normalised(one.take(), bytes) };
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    value
}

#[test]
fn replies_with_large_attributes_are_those_with_small_ones_but_for_the_text() {
    let client = Server::shared().user("editor");
    let shown = Shown::new(&client);
    let mut small: Vec<String> = Vec::new();
    for bytes in SIZES {
        shown.set(&client, bytes);
        for (place, read) in shown.reads.iter().enumerate() {
            let (_, path, _) = read;
            let answer = send(&client, read, &[]);
            let value = answer.json();
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.body.len() > bytes, "{path}: the text is there");
            assert!(value.to_string().as_bytes() == answer.body, "{path}: {bytes} are not written as JSON is here");
            let form = normalised(value, bytes).to_string();
            match small.get(place) {
                None => small.push(form),
                Some(small) => assert!(*small == form, "{path}: {small:.3000}\nand with {bytes}\n{form:.3000}"),
            }
        }
    }
}

#[test]
fn large_attributes_are_compressed_tagged_and_announced_as_small_ones_are() {
    let client = Server::shared().user("editor");
    let shown = Shown::new(&client);
    for bytes in [SIZES[1], SIZES[3]] {
        shown.set(&client, bytes);
        for read in &shown.reads {
            let (method, path, _) = read;
            let plain = send(&client, read, &[]);
            let coded = send(&client, read, &[("accept-encoding", "gzip")]);
            assert_eq!(coded.header("content-encoding"), Some("gzip"), "{path}");
            assert!(coded.decoded().body == plain.body, "{path}: gzip gives something else");
            let length = plain.header("content-length").map(|length| length.parse().expect("it is a number"));
            assert!(length.is_none_or(|length: usize| length == plain.body.len()), "{path}");
            let glue = if path.contains('?') { '&' } else { '?' };
            let warned = send(&client, &(*method, format!("{path}{glue}unknown=1"), read.2.clone()), &[]).json();
            assert!(warned["result"] == plain.json()["result"], "{path}: the result is another with a warning");
            assert_eq!(warned["warnings"][0]["name"], "unknown", "{path}");
            if *method != "GET" {
                continue;
            }
            let tag = plain.header("etag").expect("it has one");
            assert_eq!(send(&client, read, &[]).header("etag"), Some(tag), "{path}");
            let again = send(&client, read, &[("if-none-match", tag)]);
            assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)), "{path}");
            let head = client.send("HEAD", path, &[], b"");
            let announced = (head.status, head.body.len(), head.header("etag"), head.header("content-length"));
            assert_eq!(announced, (200, 0, Some(tag), plain.header("content-length")), "{path}");
        }
    }
}

#[test]
fn changes_of_objects_with_large_attributes_are_repeated_under_their_key() {
    let client = Server::shared().user("editor");
    let folder = own_folder();
    for bytes in SIZES {
        let key = format!("large-{bytes}-{folder}").replace('/', "-");
        let body = json!({
            "name": format!("t{bytes}"), "folderPath": folder, "attributes": { "story": { "headline": text(bytes) } },
        });
        let headers = [("content-type", "application/json"), ("idempotency-key", &*key)];
        let made = || client.send("POST", "/v3/container/topic", &headers, body.to_string().as_bytes());
        let (first, again) = (made(), made());
        assert!(first.ok()["info"]["attributes"]["story"]["headline"] == text(bytes), "{bytes}");
        assert!(first.body == again.body, "{bytes}: another reply");
        // Long replies are not stored, and are rendered again.
        let replayed = again.header("idempotency-replayed").is_some();
        assert_eq!(replayed, bytes < 256 << 10, "{bytes}");
    }
}
