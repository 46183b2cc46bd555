//! Check-out, write and check-in as one step, and the working copy between (docs/api/content.md, "Writing content").

use serde_json::{Value, json};

use super::{bytes_of, id, noise, object, upload};
use crate::harness::*;

fn write(client: &Client, loid: &str, query: &str, bytes: &[u8]) -> Answer {
    client.send("PUT", &format!("{}/content?{query}", object(loid)), &[], bytes)
}

/// Version, text of the content as this client reads it, and who has it locked.
fn state(client: &Client, loid: &str) -> (u64, String, Value) {
    let record = client.get(&object(loid)).ok();
    let text = String::from_utf8_lossy(&bytes_of(client, loid)).into_owned();
    (record["version"].as_u64().expect("a record has a version"), text, record["locker"]["id"].clone())
}

fn is(version: u64, text: &str, locker: Option<&str>) -> (u64, String, Value) {
    (version, text.to_owned(), json!(locker))
}

/// Somebody who writes, the same user elsewhere, and somebody else who reads; an object with the content `one`.
fn desk() -> (Client, Client, Client, String) {
    let server = Server::shared();
    let writer = server.login("editor");
    let loid = id(&upload(&writer, &own_folder(), "a.xml", b"one", json!({})).ok());
    (writer, server.login("editor"), server.login("admin"), loid)
}

#[test]
fn a_write_alone_replaces_the_latest_version_or_adds_one() {
    let (writer, _, reader, loid) = desk();
    let first = reader.get(&object(&loid)).header("etag").expect("it has an ETag").to_owned();
    let record = write(&writer, &loid, "", b"two").ok();
    assert_eq!(
        (&record["id"], &record["version"], &record["lastModifier"]),
        (&json!(loid), &json!(1), &json!("editor"))
    );
    assert_eq!(state(&reader, &loid), is(1, "two", None));
    assert_eq!(write(&writer, &loid, "newVersion=true", b"three").ok()["version"], 2);
    assert_eq!(state(&reader, &loid), is(2, "three", None));
    let path = format!("{}/content", object(&loid));
    assert_eq!(reader.get(&format!("{path}?version=1")).body, b"two");
    writer.send("PUT", &path, &[("if-match", &first)], b"late").fails(412, "PreconditionFailed");
    let now = reader.get(&path).header("etag").expect("it has an ETag").to_owned();
    writer.send("PUT", &path, &[("if-match", &now)], b"in time").ok();
    assert_eq!(state(&reader, &loid), is(2, "in time", None));
    let shown = write(&writer, &loid, "showPath=true&showXml=true", b"x").ok();
    assert!(shown["path"].is_string() && shown["attributesXml"].is_string(), "{shown}");
    // The same by the loid in the query.
    let by_loid = format!("/v3/object/loid/content?loid={}&newVersion=1", encoded(&loid));
    assert_eq!(writer.send("PUT", &by_loid, &[], b"four").ok()["version"], 3);
    assert_eq!(state(&reader, &loid), is(3, "four", None));
}

#[test]
fn a_working_copy_is_read_by_who_holds_the_lock_until_it_is_checked_in() {
    let (writer, twin, reader, loid) = desk();
    assert_eq!(write(&writer, &loid, "checkOut=true&checkIn=false", b"").ok()["locker"]["id"], "editor");
    assert_eq!(state(&writer, &loid), is(1, "one", Some("editor")));
    let before = writer.get(&object(&loid)).ok()["modified"].clone();
    write(&writer, &loid, "checkIn=false", b"draft").ok();
    let path = format!("{}/content", object(&loid));
    let tag = writer.get(&path).header("etag").expect("it has an ETag").to_owned();
    assert_eq!(writer.send("GET", &path, &[("if-none-match", &tag)], b"").status, 304);
    write(&writer, &loid, "checkIn=false", b"draft, again").ok();
    assert_eq!(writer.send("GET", &path, &[("if-none-match", &tag)], b"").body, b"draft, again");
    assert_eq!(writer.send("GET", &path, &[("range", "bytes=-5")], b"").body, b"again");
    assert_eq!(writer.get(&format!("{path}?version=1")).body, b"one");
    for other in [&twin, &reader] {
        assert_eq!(state(other, &loid), is(1, "one", Some("editor")));
    }
    assert_eq!(writer.get(&object(&loid)).ok()["modified"], before, "nothing that others see has changed");
    write(&writer, &loid, "", b"").ok();
    assert_eq!(state(&reader, &loid), is(1, "draft, again", None));
}

#[test]
fn check_in_keeps_or_releases_the_lock_as_it_is_told() {
    let (writer, _, reader, loid) = desk();
    write(&writer, &loid, "checkOut=true&checkIn=true", b"two").ok();
    assert_eq!(state(&reader, &loid), is(1, "two", None), "from the unlocked state");
    write(&writer, &loid, "checkOut=true&keepCheckedOut=true&newVersion=true", b"three").ok();
    assert_eq!(state(&reader, &loid), is(2, "three", Some("editor")));
    write(&writer, &loid, "keepCheckedOut=true", b"four").ok();
    assert_eq!(state(&reader, &loid), is(2, "four", Some("editor")));
    write(&writer, &loid, "newVersion=true", b"five").ok();
    assert_eq!(state(&reader, &loid), is(3, "five", None));
    write(&writer, &loid, "checkOut=true&checkIn=false", b"draft").ok();
    assert_eq!(state(&reader, &loid), is(3, "five", Some("editor")));
    write(&writer, &loid, "checkIn=false&unlock=true", b"later draft").ok();
    assert_eq!(state(&reader, &loid), is(3, "five", None));
    // Without the lock the writer reads what everybody does; a check-out goes on from the draft.
    assert_eq!(state(&writer, &loid), is(3, "five", None));
    write(&writer, &loid, "checkOut=true&checkIn=false", b"").ok();
    assert_eq!(state(&writer, &loid), is(3, "later draft", Some("editor")));
    write(&writer, &loid, "checkOutClean=true&checkIn=false", b"").ok();
    assert_eq!(state(&writer, &loid), is(3, "five", Some("editor")), "and a clean one from the latest version");
    write(&writer, &loid, "checkIn=false&unlock=true", b"").ok();
    assert_eq!(state(&writer, &loid), is(3, "five", None));
}

#[test]
fn without_content_there_must_be_something_checked_out() {
    let (writer, twin, _, loid) = desk();
    for query in ["", "newVersion=true", "keepCheckedOut=true", "checkIn=false", "checkIn=false&unlock=true"] {
        let error = write(&writer, &loid, query, b"").fails_on(query, 403, "ObjectNotCheckedOut");
        assert_eq!(error["source"], loid);
    }
    write(&writer, &loid, "checkOut=true&checkIn=false", b"draft").ok();
    for query in ["", "checkIn=false", "checkOut=true", "checkOutClean=true"] {
        write(&twin, &loid, query, b"x").fails_on(query, 403, "ObjectLockedByMe");
        write(&twin, &loid, query, b"").fails_on(query, 403, "ObjectLockedByMe");
    }
    assert_eq!(state(&writer, &loid), is(1, "draft", Some("editor")));
}

#[test]
fn what_others_write_takes_no_draft_away_and_is_not_written_over_by_it() {
    let (writer, _, other, loid) = desk();
    write(&writer, &loid, "checkOut=true&checkIn=false&unlock=true", b"draft").ok();
    write(&other, &loid, "", b"two").ok();
    assert_eq!(state(&other, &loid), is(1, "two", None));
    let error = write(&other, &loid, "checkIn=false", b"three").fails(403, "ObjectNotCheckedOut");
    assert_eq!((&error["source"], &error["details"]["draftOf"]), (&json!(loid), &json!("editor")));
    write(&writer, &loid, "checkOut=true&checkIn=false", b"").ok();
    assert_eq!(state(&writer, &loid), is(1, "draft", Some("editor")), "it is there to be gone on with");
    assert_eq!(write(&writer, &loid, "", b"").ok()["version"], 2, "and becomes a version of its own");
    assert_eq!(state(&other, &loid), is(2, "draft", None));
    assert_eq!(other.get(&format!("{}/content?version=1", object(&loid))).body, b"two");
}

#[test]
fn a_draft_outlives_the_session_that_saved_it() {
    let server = Server::shared();
    let (writer, _, reader, loid) = desk();
    let large = noise(100_000);
    write(&writer, &loid, "checkOut=true&checkIn=false", &large).ok();
    writer.get("/v3/auth/logout").ok();
    assert_eq!(state(&reader, &loid), is(1, "one", None));
    let again = server.login("editor");
    write(&again, &loid, "checkOut=true&checkIn=false", b"").ok();
    assert!(bytes_of(&again, &loid) == large);
    write(&again, &loid, "newVersion=true", b"").ok();
    assert!(bytes_of(&reader, &loid) == large);
    assert_eq!(reader.get(&object(&loid)).ok()["version"], 2);
    // What is broken by force is kept, too, and goes to whoever checks out next.
    write(&again, &loid, "checkOut=true&checkIn=false", b"broken off").ok();
    reader.post(&format!("{}/unlock", object(&loid)), &json!({ "force": true })).ok();
    write(&again, &loid, "", b"").fails(403, "ObjectNotCheckedOut");
    write(&reader, &loid, "checkOut=true", b"").ok();
    assert_eq!(state(&reader, &loid), is(2, "broken off", None));
}

#[test]
fn drafts_survive_a_crash_and_are_checked_with_the_rest() {
    let mut server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let (small, large) = (noise(10), noise(100_000));
    let loids: Vec<String> = [&small, &large]
        .iter()
        .enumerate()
        .map(|(number, bytes)| {
            let loid = id(&upload(&client, &folder, &format!("{number}.bin"), b"one", json!({})).ok());
            write(&client, &loid, "checkOut=true&checkIn=false", bytes).ok();
            loid
        })
        .collect();
    server.kill();
    let mut server = server.restart();
    let client = client.to(&server);
    for (loid, bytes) in loids.iter().zip([&small, &large]) {
        assert!(bytes_of(&client, loid) == *bytes);
    }
    write(&client, &loids[0], "", b"").ok();
    assert!(bytes_of(&server.login("admin"), &loids[0]) == small);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("drafts/1"), "{output}");
}

#[test]
fn the_type_is_what_the_call_says_or_stays() {
    let (writer, _, reader, loid) = desk();
    let path = format!("{}/content", object(&loid));
    let kind = |said: &[(&str, &str)]| {
        writer.send("PUT", &path, said, b"x").ok();
        reader.get(&path).header("content-type").expect("there is one").to_owned()
    };
    assert_eq!(kind(&[]), "text/xml");
    assert_eq!(kind(&[("content-type", "image/png")]), "image/png");
    assert_eq!(kind(&[("content-type", "application/octet-stream")]), "image/png");
    let empty = writer.upload("/v3/object/create", &json!({ "name": "b", "folderPath": own_folder() }), None).ok();
    assert_eq!(write(&writer, &id(&empty), "", b"x").ok()["version"], 1, "the first content is version 1");
    let path = format!("{}/content", object(&id(&empty)));
    assert_eq!(reader.get(&path).header("content-type"), Some("application/octet-stream"));
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "200000")]);
    let client = server.login("editor");
    let loid = client.story(&own_folder(), "a.xml");
    let error = write(&client, &loid, "", &noise(200_001)).fails(413, "TooLarge");
    assert_eq!(error["details"]["limit"], 200_000);
    assert_eq!(bytes_of(&client, &loid), b"<story/>");
    write(&client, &loid, "", &noise(200_000)).ok();
    let unfinished = || std::fs::read_dir(server.data().join("content/tmp")).expect("it is there").count();
    wait_until("nothing is left of the first", || unfinished() == 0);
    write(&client, &loid.replace(".0.", ".1."), "", b"x").fails(400, "InvalidType");
    write(&client, "/News", "", b"x").fails(400, "InvalidType");
    write(&client, "/Drawers/city-desk", "", b"x").fails(400, "InvalidType");
    write(&client, "1$1.0.999999999", "", b"x").fails(404, "ObjectNotFound");
    write(&client, &loid, "checkIn=perhaps", b"x").fails(400, "InvalidParameter");
    client.send("PUT", "/v3/object/loid/content", &[], b"x").fails(400, "InvalidParameter");
    let reader = server.login("reader");
    write(&reader, "/News/City/harbour-ferry.xml", "", b"x").fails(403, "PermissionDenied");
    let by_loid = format!("/v3/object/loid/content?loid={}", encoded("/News/City/harbour-ferry.xml"));
    reader.send("PUT", &by_loid, &[], b"x").fails(403, "PermissionDenied");
}

#[test]
fn of_many_writes_at_once_each_is_whole() {
    let (writer, _, reader, loid) = desk();
    let outcomes = super::at_once(|number| {
        let text = format!("writer {number}");
        write(&writer.afresh(), &loid, "newVersion=true", text.as_bytes()).ok()["version"].as_u64()
    });
    let mut numbers: Vec<u64> = outcomes.into_iter().flatten().collect();
    numbers.sort_unstable();
    assert_eq!(state(&reader, &loid).0, 17);
    let mut texts: Vec<String> = (2..=17)
        .map(|version| {
            let answer = reader.get(&format!("{}/content?version={version}", object(&loid)));
            String::from_utf8_lossy(&answer.body).into_owned()
        })
        .collect();
    texts.sort_unstable();
    let mut wanted: Vec<String> = (0..16).map(|number| format!("writer {number}")).collect();
    wanted.sort_unstable();
    assert_eq!(texts, wanted);
}

#[test]
fn who_reads_while_others_replace_gets_one_content_whole() {
    let (writer, _, reader, loid) = desk();
    // Rows of several lengths, and a file; each of one letter, which its length tells.
    let lengths = [1, 50, 7_000, 32_000, 40_000];
    let whole = |number: usize| vec![b'a' + number as u8; lengths[number]];
    write(&writer, &loid, "", &whole(0)).ok();
    let path = format!("{}/content", object(&loid));
    super::at_once(|thread| {
        let (writer, reader) = (writer.afresh(), reader.afresh());
        for round in 0..20 {
            if thread < 4 {
                write(&writer, &loid, "", &whole((thread + round) % lengths.len())).ok();
                continue;
            }
            let answer = reader.get(&path);
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            let number = lengths.iter().position(|length| *length == answer.body.len());
            let number = number.unwrap_or_else(|| panic!("{} bytes were never written", answer.body.len()));
            assert!(answer.body == whole(number), "{} bytes of another content", answer.body.len());
        }
    });
}
