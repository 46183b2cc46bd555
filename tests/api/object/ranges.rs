//! Reading the bytes of an object: parts of them, and what says which they are (docs/api/content.md, "Ranges"; RFC 9110).

use serde_json::json;

use super::{bytes_of, id, noise, object, upload};
use crate::harness::*;

fn content(source: &str) -> String {
    format!("{}/content", object(source))
}

/// Status, `Content-Range` and bytes.
fn part(client: &Client, path: &str, headers: &[(&str, &str)]) -> (u16, String, Vec<u8>) {
    let answer = client.send("GET", path, headers, b"");
    let range = answer.header("content-range").unwrap_or_default().to_owned();
    (answer.status, range, answer.body)
}

#[test]
fn a_range_is_answered_with_that_part_of_a_row_and_of_a_file() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    for size in [1000, 300_000] {
        let bytes = noise(size);
        let loid = id(&upload(&client, &folder, &format!("{size}.bin"), &bytes, json!({})).ok());
        for path in [content(&loid), format!("{}/binary", content(&loid)), by_loid(&loid)] {
            let whole = client.get(&path);
            assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
            assert!(whole.body == bytes);
            let last = size - 1;
            for (range, from, to) in [
                ("bytes=0-0".to_owned(), 0, 0),
                ("bytes=10-99".to_owned(), 10, 99),
                (format!("bytes={}-", size - 5), size - 5, last),
                ("bytes=-7".to_owned(), size - 7, last),
                (format!("bytes=5-{}", size * 2), 5, last),
            ] {
                let answer = client.send("GET", &path, &[("range", &range)], b"");
                assert_eq!(answer.status, 206, "{range}");
                assert_eq!(answer.header("content-range"), Some(&*format!("bytes {from}-{to}/{size}")));
                assert_eq!(answer.header("content-length"), Some(&*(to - from + 1).to_string()));
                assert_eq!(answer.header("etag"), whole.header("etag"));
                assert!(answer.body == bytes[from..=to], "{range}");
            }
            let behind = client.send("GET", &path, &[("range", &format!("bytes={size}-"))], b"");
            assert_eq!(behind.header("content-range"), Some(&*format!("bytes */{size}")));
            let error = behind.fails(416, "RangeNotSatisfiable");
            assert_eq!(error["details"]["size"], size);
            for ignored in ["lines=1-2", "bytes=9-2", "bytes=0-1,5-6", "bytes=x"] {
                let (status, range, all) = part(&client, &path, &[("range", ignored)]);
                assert_eq!((status, range.as_str(), all == bytes), (200, "", true), "{ignored}");
            }
        }
    }
}

fn by_loid(loid: &str) -> String {
    format!("/v3/object/loid/content?loid={}", encoded(loid))
}

#[test]
fn a_range_counts_within_what_maxsize_leaves() {
    let client = Server::shared().login("reporter");
    let bytes = noise(1_200_000);
    let loid = id(&upload(&client, &own_folder(), "a.bin", &bytes, json!({})).ok());
    let path = format!("{}?maxSize=1", content(&loid));
    let (status, range, end) = part(&client, &path, &[("range", "bytes=-10")]);
    assert_eq!((status, range.as_str()), (206, "bytes 999990-999999/1000000"));
    assert!(end == bytes[999_990..1_000_000]);
    client.send("GET", &path, &[("range", "bytes=1000000-")], b"").fails(416, "RangeNotSatisfiable");
    let none = format!("{}?maxSize=0", content(&loid));
    client.send("GET", &none, &[("range", "bytes=0-")], b"").fails(416, "RangeNotSatisfiable");
    for most in ["0.5", "-1", "x"] {
        let error = client.get(&format!("{}?maxSize={most}", content(&loid))).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(most)), "{error}");
    }
}

#[test]
fn a_part_of_a_content_that_has_changed_is_all_of_the_new_one() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let loid = id(&upload(&client, &folder, "a.xml", b"<first/>", json!({})).ok());
    let path = content(&loid);
    let first = client.get(&path);
    let tag = first.header("etag").expect("it has an ETag").to_owned();
    // The time is told once its second is over.
    wait_until("the content has a time", || client.get(&path).header("last-modified").is_some());
    let time = client.get(&path).header("last-modified").expect("it was there").to_owned();
    for state in [&tag, &time] {
        let (status, _, bytes) = part(&client, &path, &[("range", "bytes=1-5"), ("if-range", state)]);
        assert_eq!((status, bytes), (206, b"first".to_vec()), "{state}");
    }
    // 304 comes before any range.
    let (status, ..) = part(&client, &path, &[("range", "bytes=99-"), ("if-none-match", &tag)]);
    assert_eq!(status, 304);
    upload(&client, &folder, "a.xml", b"<other/>", json!({ "createMode": "REPLACE" })).ok();
    for state in [tag.as_str(), &time, "W/\"1-0\"", "nonsense"] {
        let (status, range, bytes) = part(&client, &path, &[("range", "bytes=1-5"), ("if-range", state)]);
        assert_eq!((status, range.as_str(), bytes), (200, "", b"<other/>".to_vec()), "{state}");
    }
}

#[test]
fn a_version_is_read_in_parts_like_the_latest() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let loid = id(&upload(&client, &folder, "a.xml", b"one", json!({})).ok());
    upload(&client, &folder, "a.xml", b"two", json!({ "createMode": "NEW_VERSION" })).ok();
    for (path, bytes) in [
        (format!("{}?version=1", content(&loid)), b"ne"),
        (format!("{}&version=1", by_loid(&loid)), b"ne"),
        (content(&loid.replace(".0.", ".1.")), b"ne"),
        (format!("{}?version=2", content(&loid)), b"wo"),
        (format!("{}?version=-1", content(&loid)), b"wo"),
    ] {
        let (status, range, found) = part(&client, &path, &[("range", "bytes=1-")]);
        assert_eq!((status, range.as_str(), found), (206, "bytes 1-2/3", bytes.to_vec()), "{path}");
    }
    client.get(&format!("{}?version=3", content(&loid))).fails(404, "ObjectNotFound");
    assert_eq!(bytes_of(&client, &loid), b"two");
}

#[test]
fn head_says_what_get_would_and_sends_nothing() {
    let client = Server::shared().login("reporter");
    let bytes = noise(100_000);
    let loid = id(&upload(&client, &own_folder(), "a.bin", &bytes, json!({})).ok());
    for path in [content(&loid), by_loid(&loid)] {
        let (get, head) = (client.get(&path), client.send("HEAD", &path, &[("range", "bytes=0-1")], b""));
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-length", "content-type", "etag", "accept-ranges", "content-disposition"] {
            assert_eq!(head.header(name), get.header(name), "{name}");
            assert!(head.header(name).is_some(), "{name}");
        }
        let tag = get.header("etag").expect("it has an ETag");
        assert_eq!(client.send("HEAD", &path, &[("if-none-match", tag)], b"").status, 304);
    }
}

#[test]
fn the_loid_in_the_query_names_what_may_be_read() {
    let server = Server::shared();
    let client = server.login("reporter");
    let loid = client.story(&own_folder(), "a.xml");
    assert_eq!(client.get(&by_loid(&loid)).body, b"<story/>");
    client.get("/v3/object/loid/content").fails(400, "InvalidParameter");
    client.get(&by_loid("nonsense")).fails(400, "InvalidParameter");
    client.get(&by_loid("1$1.0.999999999")).fails(404, "ObjectNotFound");
    server.client().get(&by_loid(&loid)).fails(401, "InvalidToken");
}
