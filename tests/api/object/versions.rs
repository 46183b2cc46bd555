//! Versions: the list, and an old one again (docs/api/content.md, "Versions").

use serde_json::{Value, json};

use super::{bytes_of, id, noise, object, upload};
use crate::harness::*;

fn versions(client: &Client, loid: &str, query: &str) -> Value {
    client.get(&format!("{}/versions{query}", object(loid))).ok()
}

fn numbers(list: &Value) -> Vec<u64> {
    let items = list["items"].as_array().expect("a list has items").iter();
    items.map(|item| item["version"].as_u64().expect("a version has a number")).collect()
}

#[test]
fn versions_are_listed_the_newest_first_with_all_that_tells_them_apart() {
    let server = Server::shared();
    let (client, other) = (server.login("editor"), server.login("admin"));
    let folder = own_folder();
    let loid = id(&upload(&client, &folder, "a.xml", b"abc", json!({})).ok());
    upload(&other, &folder, "a.xml", b"", json!({ "createMode": "NEW_VERSION" })).ok();
    upload(&client, &folder, "a.xml", b"third", json!({ "createMode": "NEW_VERSION" })).ok();
    let list = versions(&client, &loid, "");
    assert_eq!((list["total"].as_u64(), numbers(&list)), (Some(3), vec![3, 2, 1]));
    let oldest = &list["items"][2];
    assert_eq!(oldest["id"], loid.replace(".0.", ".1."));
    assert_eq!((&oldest["author"], &oldest["size"]), (&json!("editor"), &json!(3)));
    assert_eq!(oldest["contentType"], "text/xml");
    assert_eq!(oldest["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(list["items"][1]["author"], "admin");
    assert_eq!(list["items"][0]["created"], client.get(&object(&loid)).ok()["modified"]);
    let page = versions(&client, &loid, "?limit=1&offset=1");
    assert_eq!((page["total"].as_u64(), numbers(&page)), (Some(3), vec![2]));
    assert_eq!(numbers(&versions(&client, &loid, "?offset=3")), Vec::<u64>::new());
    let folder = versions(&client, &folder, "");
    assert_eq!((folder["total"].as_u64(), numbers(&folder)), (Some(0), vec![]));
    client.get(&format!("{}/versions", object("1$1.0.999999999"))).fails(404, "ObjectNotFound");
}

#[test]
fn an_old_version_is_restored_as_the_newest_and_stays_what_it_is() {
    let mut server = Server::start();
    let client = server.login("reporter");
    let folder = own_folder();
    let large = noise(100_000);
    let loid = id(&upload(&client, &folder, "a.xml", b"small", json!({})).ok());
    upload(&client, &folder, "a.xml", &large, json!({ "createMode": "NEW_VERSION" })).ok();
    upload(&client, &folder, "a.xml", b"last", json!({ "createMode": "NEW_VERSION" })).ok();
    let restore = |version: &str| client.post(&format!("{}/versions/{version}/restore", object(&loid)), &json!({}));
    assert_eq!(restore("1").ok()["version"], 4);
    assert_eq!(bytes_of(&client, &loid), b"small");
    assert_eq!(restore("2").ok()["version"], 5);
    assert!(bytes_of(&client, &loid) == large);
    // Replacing the newest leaves the one that it came from alone.
    restore("1").ok();
    upload(&client, &folder, "a.xml", b"other", json!({ "createMode": "REPLACE" })).ok();
    let list = versions(&client, &loid, "");
    let sizes: Vec<_> = list["items"].as_array().expect("items").iter().map(|item| item["size"].clone()).collect();
    assert_eq!(sizes, [5, 100_000, 5, 4, 100_000, 5]);
    for (version, bytes) in [("1", &b"small"[..]), ("4", b"small"), ("6", b"other"), ("3", b"last")] {
        let answer = client.get(&format!("{}/content?version={version}", object(&loid)));
        assert_eq!(answer.body, bytes, "{version}");
    }
    for (version, status, code) in
        [("7", 404, "ObjectNotFound"), ("0", 400, "InvalidParameter"), ("-1", 400, "InvalidParameter")]
    {
        restore(version).fails_on(version, status, code);
    }
    restore("x").fails(400, "InvalidParameter");
    assert_eq!(versions(&client, &loid, "")["total"], 6);
    let of_version = format!("{}/versions/1/restore", object(&loid.replace(".0.", ".1.")));
    client.post(&of_version, &json!({})).fails(400, "InvalidType");
    let error = server.login("reader").post(&format!("{}/versions/1/restore", object(&loid)), &json!({}));
    assert!([403, 404].contains(&error.status));
    server.kill();
    let mut server = server.restart();
    assert_eq!(numbers(&versions(&client.to(&server), &loid, "")), [6, 5, 4, 3, 2, 1]);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_restore_under_a_key_is_carried_out_once() {
    let client = Server::shared().login("reporter");
    let loid = client.story(&own_folder(), "a.xml");
    let path = format!("{}/versions/1/restore", object(&loid));
    for _ in 0..2 {
        let answer = client.send("POST", &path, &[("idempotency-key", "restore-once")], b"");
        assert_eq!(answer.ok()["version"], 2);
    }
    let answer = client.send("POST", &path, &[("if-match", "\"1-0\"")], b"");
    answer.fails(412, "PreconditionFailed");
    assert_eq!(versions(&client, &loid, "")["total"], 2);
}
