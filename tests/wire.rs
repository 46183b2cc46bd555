//! Real news items, as agencies publish them: what goes in must come out byte for byte, before and after a crash.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::*;

/// A file of the collection.
struct WireFile {
    /// Below the collection.
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

/// Creates an object of a file; gives its loid.
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

#[test]
fn wire_items_come_out_byte_for_byte_before_and_after_a_crash() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/wire");
    if !top.is_dir() {
        println!("skipped: there are no wire items at {}", top.display());
        return;
    }
    let mut files = Vec::new();
    collect(&top, &top, &mut files);
    files.retain(|file| file.path.ends_with(".xml") || file.path.ends_with(".json"));
    assert!(files.len() > 50, "the collection is there: {} files", files.len());
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
