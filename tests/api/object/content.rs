//! Contents: bytes, lengths, types and entity tags.

use super::*;

#[test]
fn large_contents_are_files_and_small_ones_rows_and_both_are_read_exactly() {
    let mut server = Server::start();
    let desk = Desk::at(server.user("reporter"));
    let (large, small) = (noise(1_000_000), noise(1000));
    let files = || {
        let mut sizes = Vec::new();
        let mut folders = vec![server.data().join("content")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                match entry.metadata().unwrap() {
                    meta if meta.is_dir() => folders.push(entry.path()),
                    meta => sizes.push(meta.len()),
                }
            }
        }
        sizes
    };
    let before = files().len();
    let kept = desk.make("small.bin", &small);
    assert_eq!(files().len(), before, "a small one needs no file");
    let made = desk.make("large.bin", &large);
    assert_eq!(files().len(), before + 1);
    assert!(files().contains(&1_000_000));
    // The same bytes again take no further file.
    let twin = desk.make("twin.bin", &large);
    assert_eq!(files().len(), before + 1);
    server.kill();
    let server = server.restart();
    let client = desk.to(&server);
    for (loid, expected) in [(&made, &large), (&twin, &large), (&kept, &small)] {
        assert!(bytes_of(&client, loid) == *expected);
        assert!(bytes(&client.call("stet-object-content-binary-get", &[loid])) == *expected);
        assert_eq!(read(&client, loid)["virtualAttributes"]["size"], expected.len());
    }
    ends_sound(server);
}

#[test]
fn a_content_says_what_it_is_and_is_never_shown_as_a_page_of_ours() {
    let desk = Desk::of("reporter");
    let page: (&str, &[u8]) = ("text/html; charset=utf-8", b"<script>");
    let made = desk.create_of("x", page, json!({ "name": "Caf\u{e9} \\ 1.html" })).ok();
    let answer = content(&desk, &id(&made)).send();
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("content-length"), Some("8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let disposition = answer.header("content-disposition").unwrap();
    assert!(disposition.starts_with("attachment; filename=\"Caf_ _ 1.html\"; filename*=UTF-8''"), "{disposition}");
    assert!(disposition.ends_with("Caf%C3%A9%20%5C%201%2Ehtml"), "{disposition}");
}

#[test]
fn an_etag_is_another_once_the_object_has_changed() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    for call in [desk.call("object-get", &[&loid]), content(&desk, &loid)] {
        let before = tag(&call.send());
        desk.again("a.xml", b"<other/>", "REPLACE");
        let changed = call.header("if-none-match", &before).send();
        assert_eq!(changed.status, 200);
        assert_ne!(tag(&changed), before);
    }
    let version = desk.call("object-get", &[&version(&loid, 1)]).send();
    assert!(version.header("etag").is_some(), "a version's record has one too");
}

#[test]
fn the_type_of_a_content_is_a_media_type_of_bounded_length() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    let put = |media_type: &str| desk.call("stet-object-content-put", &[&loid]).bytes(media_type, "two");
    let long = |length: usize| format!("text/xml; a={}", "x".repeat(length - 12));
    for wrong in ["text", "text/xml, text/html", &long(256), &long(60_000)] {
        let error = put(wrong).fails(400, "InvalidParameter");
        let message = error["message"].as_str().expect("a message is a text");
        assert!(message.contains("Content-Type") && message.len() < 600, "{message}");
    }
    assert_eq!(bytes_of(&desk, &loid), b"one");
    put(&long(255)).ok();
    assert_eq!(content(&desk, &loid).send().header("content-type"), Some(&*long(255)));
}

#[test]
fn maxsize_cuts_after_so_many_megabytes() {
    let desk = Desk::of("reporter");
    let all = noise(1_300_000);
    let made = desk.make("a.bin", &all);
    let up_to = |most: &str| content(&desk, &made).query("maxSize", most);
    for (most, len) in [("1", 1_000_000), ("2", all.len()), ("0", 0)] {
        assert!(bytes(&up_to(most)) == all[..len], "{most}");
    }
    assert_ne!(tag(&up_to("1").send()), tag(&up_to("2").send()));
    for none in ["-1", "0.5", "x"] {
        let error = up_to(none).fails(400, "InvalidParameter");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(none)), "{error}");
    }
}

#[test]
fn a_folder_has_no_content_and_an_empty_one_is_a_content() {
    let desk = Desk::of("reporter");
    content(&desk, "/News").fails(404, "ObjectNotFound");
    let made = desk.create("a.xml", b"", json!({})).gives(&json!({ "version": 1, "virtualAttributes": { "size": 0 } }));
    assert_eq!(bytes_of(&desk, &id(&made)), b"");
}
