//! Real news items, as agencies publish them. They must come out byte for byte, before and after a
//! crash. As posts of a liveblog they must be unchanged in every representation.

use std::path::{Path, PathBuf};

use quick_xml::Reader;
use quick_xml::events::Event;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Value, json};

use crate::harness::*;

mod planning;

/// A file of the collection.
struct WireFile {
    /// The path below the collection.
    path: String,
    bytes: Vec<u8>,
}

fn collect(folder: &Path, top: &Path, found: &mut Vec<WireFile>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("it can be listed")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, top, found);
        } else {
            let name = path.strip_prefix(top).expect("it lies below").to_string_lossy().into_owned();
            found.push(WireFile { path: name, bytes: std::fs::read(&path).expect("it can be read") });
        }
    }
}

/// Creates an object from a file, and returns its loid.
fn create(client: &Client, folder: &str, file: &WireFile) -> String {
    let (below, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let content_type = if name.ends_with(".json") { "application/json" } else { "application/xml" };
    let options = json!({ "name": name, "folderPath": format!("{folder}/{below}") });
    let made = client.upload("/v3/object/create", &options, Some((name, content_type, &file.bytes))).ok();
    let kind = match name.rsplit_once('.') {
        Some((_, "json")) => "WireItem",
        _ => "Story",
    };
    assert_eq!(made["type"], kind, "{}", file.path);
    assert_eq!(made["virtualAttributes"]["size"], file.bytes.len(), "{}", file.path);
    made["id"].as_str().expect("a new object has an id").to_owned()
}

fn read_back(client: &Client, drawer: &str, expected: &[(String, &WireFile)]) {
    let loids: Vec<&str> = expected.iter().map(|(loid, _)| loid.as_str()).collect();
    assert_eq!(client.items(drawer), loids);
    for (loid, file) in expected {
        for form in ["content", "content/binary"] {
            let answer = client.get(&format!("/v3/object/{}/{form}", encoded(loid)));
            assert_eq!(answer.status, 200, "{}", file.path);
            assert!(answer.body == file.bytes, "{} has changed on its way", file.path);
        }
    }
}

/// Returns all items of the collection; none, with a message, where it is missing.
fn items() -> Vec<WireFile> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/wire");
    if !top.is_dir() {
        println!("skipped: there are no wire items at {}", top.display());
        return Vec::new();
    }
    let mut files = Vec::new();
    collect(&top, &top, &mut files);
    files.retain(|file| file.path.ends_with(".xml") || file.path.ends_with(".json"));
    assert!(files.len() > 50, "the collection is there: {} files", files.len());
    files
}

/// Returns the names, attributes and texts of an element and all elements below it.
fn told(root: Node<'_, '_>) -> Vec<String> {
    let mut all = Vec::new();
    for node in root.descendants() {
        let name = |namespace: Option<&str>, name: &str| format!("{{{}}}{name}", namespace.unwrap_or_default());
        if node.is_element() {
            all.push(name(node.tag_name().namespace(), node.tag_name().name()));
            let attributes = node.attributes();
            all.extend(attributes.map(|found| format!("{}={}", name(found.namespace(), found.name()), found.value())));
        }
        all.extend(node.text().filter(|_| node.is_text()).map(str::to_owned));
    }
    all
}

#[test]
fn wire_items_come_out_byte_for_byte_before_and_after_a_crash() {
    let files = items();
    if files.is_empty() {
        return;
    }
    let mut server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "wire", 200);
    let add = |loids: &[String]| {
        let path = format!("/v3/container/drawer/{}/item", encoded(&drawer));
        client.post(&path, &json!({ "sources": loids })).ok();
    };
    let (first, second) = files.split_at(files.len() / 2);
    let mut known = Vec::new();
    for half in [first, second] {
        let loids: Vec<String> = half.iter().map(|file| create(&client, &folder, file)).collect();
        add(&loids);
        known.extend(loids.into_iter().zip(half));
        read_back(&client, &drawer, &known);
    }
    server.kill();
    let mut server = server.restart();
    read_back(&client.to(&server), &drawer, &known);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_liveblog_of_wire_items_is_well_formed_and_says_what_they_say() {
    let files = items();
    if files.is_empty() {
        return;
    }
    let editor = Server::shared().login("editor");
    let liveblog = editor.liveblog(&own_folder(), "wire");
    let path = |rest: &str| format!("/v3/container/liveblog/{}/{rest}", encoded(&liveblog));
    for (number, file) in files.iter().enumerate() {
        let content_type = if file.path.ends_with(".xml") { "application/xml" } else { "application/json" };
        let content = [("content", "item", content_type, file.bytes.as_slice())];
        let options = json!({ "title": file.path, "timestamp": number });
        editor.send_form("POST", &path("post"), &[], &options, &content).ok();
    }
    let resolved = editor.get(&path("content?showDtd=true"));
    assert_eq!(resolved.status, 200);
    let text = String::from_utf8(resolved.body).expect("it is UTF-8");
    let mut reader = Reader::from_str(&text);
    while !matches!(reader.read_event().expect("it is well-formed"), Event::Eof) {}
    let options = || ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&text, options()).expect("it is well-formed");
    let place = document.descendants().find(|node| node.attribute("posts") == Some("here")).expect("it is there");
    let posts: Vec<_> = place.children().filter(Node::is_element).collect();
    assert_eq!(posts.len(), files.len());
    for (post, file) in posts.into_iter().zip(files.iter().rev()) {
        let child = |name: &str| post.children().find(|child| child.tag_name().name() == name).expect("it is there");
        assert_eq!(child("title").text(), Some(file.path.as_str()), "the newest first");
        let (content, item) = (child("content"), std::str::from_utf8(&file.bytes).expect("they all are UTF-8"));
        if file.path.ends_with(".json") {
            assert_eq!(content.text(), Some(item.trim_start_matches('\u{feff}')), "{}", file.path);
            continue;
        }
        assert_eq!(content.attribute("form"), Some("xml"), "{}", file.path);
        let root = content.first_element_child().expect("the item's root");
        let item =
            Document::parse_with_options(item.trim_start_matches('\u{feff}'), options()).expect("it is well-formed");
        assert!(told(root) == told(item.root_element()), "{} says something else", file.path);
    }
    for (format, entries) in [("atom", files.len()), ("json", files.len())] {
        let feed = editor.get(&path(&format!("feed/{format}?limit=1000")));
        let feed = feed_rs::parser::parse(feed.body.as_slice()).expect("it is a feed");
        let titles: Vec<_> = feed.entries.into_iter().filter_map(|entry| Some(entry.title?.content)).collect();
        assert_eq!(titles.len(), entries, "{format}");
        assert!(titles.iter().eq(files.iter().rev().map(|file| &file.path)), "{format}");
    }
    let ld: Value = editor.get(&path("feed/jsonld?limit=1000")).json();
    assert_eq!(ld["liveBlogUpdate"].as_array().expect("it has updates").len(), files.len());
}
