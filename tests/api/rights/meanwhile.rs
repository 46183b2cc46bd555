//! Rights that change, and objects that come under others, while a call is under way or before it
//! is sent again.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::*;

#[test]
fn a_change_of_a_group_holds_from_the_next_request_on_in_every_session() {
    let (server, admin, one) = desk();
    let two = server.login("reporter");
    let story = admin.story("/Top/Desk", "a.xml");
    for client in [&one, &two] {
        client.call("object-get", &[&story]).ok();
    }
    let destroy = one.call("object-destroy", &[&story]);
    destroy.fails(403, "PermissionDenied");
    grant(&admin, &["read", "destroy"]);
    destroy.ok();
    let story = admin.story("/Top/Desk", "b.xml");
    grant(&admin, &["destroy"]);
    for client in [&one, &two] {
        client.call("object-get", &[&story]).fails(403, "PermissionDenied");
    }
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "desk", "members": [] })).ok();
    two.call("object-destroy", &[&story]).fails(403, "PermissionDenied");
    admin.call("object-get", &[&story]).ok();
}

/// Covers calls whose replies are too large to be kept. When the call is repeated, the reply is
/// built from the present state.
#[test]
fn a_repeated_call_shows_nothing_that_was_moved_out_of_sight_since() {
    let (_server, admin, reporter) = desk();
    let folder = "/Top/Desk";
    new(&reporter, folder, "template.xml", "EXCEPTION").ok();
    let large = json!({ "m": { "h": "x".repeat(300_000) } });
    let options = |name: &str| json!({ "name": name, "folderPath": folder, "attributes": large });
    let template = format!("{folder}/template.xml");
    let file: &[File<'_>] = &[("content", "story.xml", "text/xml", b"<story>new</story>")];
    let calls = [
        reporter.call("stet-object-create-post", &[]).form(&options("story.xml"), file),
        reporter.call("drawer-post", &[]).json(&options("drawer")),
        reporter.call("liveblog-from-template-post", &[&template]).json(&options("night")),
    ];
    for (number, call) in calls.iter().enumerate() {
        let send = || call.clone().header("idempotency-key", format!("again-{number}")).ok();
        let made = send();
        let of = |reply: Value, member: &str| reply.get("info").unwrap_or(&reply)[member].clone();
        let loid = of(made, "id").as_str().expect("it has an id").to_owned();
        assert_eq!(of(send(), "id"), loid);
        admin.call("object-discard", &[&loid]).ok();
        admin.call("stet-object-restore-post", &[&loid]).json(&json!({ "folderPath": "/Top/Other" })).ok();
        reporter.call("object-get", &[&loid]).fails(404, "ObjectNotFound");
        // No more than which it was.
        let told = if number == 0 { json!({ "id": loid }) } else { json!({ "info": { "id": loid }, "items": [] }) };
        assert_eq!(send(), told);
    }
}

#[test]
fn rights_are_decided_after_the_body_has_arrived() {
    let (_server, admin, reporter) = desk();
    let options = json!({ "name": "late.xml", "type": "Story", "folderPath": "/Top/Desk" }).to_string();
    let part = format!("--x\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
    let head = format!(
        "POST /v3/object/create HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reporter.token(),
        part.len() + "--x--\r\n".len(),
    );
    let mut stream = std::net::TcpStream::connect(reporter.base.trim_start_matches("http://")).expect("it listens");
    stream.write_all(format!("{head}{part}").as_bytes()).expect("it reads");
    // By now the head has been looked at: it came before this call.
    reporter.call("object-get", &[&"/Top/Desk"]).ok();
    grant(&admin, &["read"]);
    stream.write_all(b"--x--\r\n").expect("it reads on");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(names(&list(&admin, "/Top/Desk")), Vec::<String>::new());
}

/// Covers a path that leads to another object while a body is delayed. The object resolved first is
/// not written, whatever the path leads to now.
#[test]
fn late_bodies_are_written_to_the_object_then_at_the_path() {
    let (_server, admin, reporter) = desk();
    let make = || {
        let body = json!({ "name": "night", "folderPath": "/Top/Desk" });
        let made = admin.call("liveblog-from-default-template-post", &[]).json(&body).ok();
        made["info"]["id"].as_str().expect("a liveblog has an id").to_owned()
    };
    let story = || admin.story("/Top/Desk", "late.xml");
    let by_path: [(&dyn Fn() -> String, &str); 2] = [
        (&make, "/v3/container/liveblog/%2FTop%2FDesk%2Fnight"),
        (&story, "/v3/object/%2FTop%2FDesk%2Flate.xml/content"),
    ];
    for (make, path) in by_path {
        let old = make();
        let contents = |object: &String| admin.call("stet-object-content-get", &[object]).send().body;
        let before = contents(&old);
        let body = "<liveblog><p>written by the reporter</p></liveblog>";
        let head = format!(
            "PUT {path}?checkOut=true&checkIn=true HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\ncontent-type: text/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            reporter.token(),
            body.len(),
        );
        let mut stream = std::net::TcpStream::connect(reporter.base.trim_start_matches("http://")).expect("it listens");
        stream.write_all(format!("{head}{}", &body[..10]).as_bytes()).expect("it reads");
        reporter.call("object-get", &[&old]).ok();
        admin.call("stet-object-move-post", &[&old]).json(&json!({ "folderPath": "/Top/Other" })).ok();
        reporter.call("object-get", &[&old]).fails(404, "ObjectNotFound");
        let new = make();
        stream.write_all(&body.as_bytes()[10..]).expect("it reads on");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(&new), "{answer}");
        assert_eq!(contents(&old), before);
        assert_eq!(contents(&new), body.as_bytes());
    }
}

#[test]
fn a_content_is_sent_for_as_long_as_it_may_be_read() {
    // Much more than an unread connection can buffer.
    const SIZE: usize = 48 << 20;
    let (server, admin, reporter) = desk();
    let options = json!({ "name": "large.bin", "type": "Story", "folderPath": "/Top/Desk" });
    let bytes = vec![b'x'; SIZE];
    let large = ("content", "large.bin", "application/octet-stream", &bytes[..]);
    let made = admin.call("stet-object-create-post", &[]).form(&options, &[large]).ok();
    let loid = made["id"].as_str().expect("it has an id").to_owned();
    // How much comes, if that is done once it has begun.
    let received = |reader: &Client, then: &dyn Fn()| {
        let head = format!(
            "GET /v3/object/{loid}/content HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\nconnection: close\r\n\r\n",
            reader.token(),
        );
        let mut stream = std::net::TcpStream::connect(reader.base.trim_start_matches("http://")).expect("it listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut begun = [0; 15];
        stream.read_exact(&mut begun).expect("it answers");
        assert_eq!(&begun, b"HTTP/1.1 200 OK");
        then();
        let mut rest = Vec::new();
        // How a connection ends that is broken off, is up to the system.
        let _ = stream.read_to_end(&mut rest);
        rest.len()
    };
    assert!(received(&reporter, &|| ()) > SIZE);
    let second = server.login("reporter");
    let ends = || {
        second.call("auth-logout-get", &[]).ok();
    };
    assert!(received(&second, &ends) < SIZE);
    assert!(received(&reporter, &|| grant(&admin, &["create"])) < SIZE);
}
