//! Check-out, write and check-in as one step, and the working copy between (docs/api/content.md,
//! "Writing content").

use super::*;

/// Version, text of the content as this client reads it, and who has it locked.
fn state(client: &Client, loid: &str) -> (u64, String, Value) {
    let record = read(client, loid);
    let text = String::from_utf8_lossy(&bytes_of(client, loid)).into_owned();
    (record["version"].as_u64().expect("a record has a version"), text, record["locker"]["id"].clone())
}

fn is(version: u64, text: &str, locker: Option<&str>) -> (u64, String, Value) {
    (version, text.to_owned(), json!(locker))
}

/// Returns a client that writes, one of the same user in another session, one of a reader, and an
/// object with the content `one`.
fn desk() -> (Client, Client, Client, String) {
    let server = Server::shared();
    let desk = Desk::at(server.login("editor"));
    let loid = desk.make("a.xml", b"one");
    (desk.client, server.user("editor"), server.user("admin"), loid)
}

#[test]
fn a_write_alone_replaces_the_latest_version_or_adds_one() {
    let (writer, _, reader, loid) = desk();
    let record = write(&writer, &loid, "", b"two").ok();
    shows(&record, json!({ "id": loid, "version": 1, "lastModifier": "editor" }));
    assert_eq!(state(&reader, &loid), is(1, "two", None));
    assert_eq!(write(&writer, &loid, "newVersion", b"three").ok()["version"], 2);
    assert_eq!(state(&reader, &loid), is(2, "three", None));
    assert_eq!(bytes_of_version(&reader, &loid, 1), b"two");
    // The same by the loid in the query.
    let by_loid = writer.call("stet-object-loid-content-put", &[]).query("loid", &loid).query("newVersion", 1);
    by_loid.bytes("text/xml", "four").gives(&json!({ "version": 3 }));
    assert_eq!(state(&reader, &loid), is(3, "four", None));
}

#[test]
fn a_working_copy_is_read_by_who_holds_the_lock_until_it_is_checked_in() {
    let (writer, twin, reader, loid) = desk();
    write(&writer, &loid, "checkOut&checkIn=false", b"").gives(&json!({ "locker": { "id": "editor" } }));
    assert_eq!(state(&writer, &loid), is(1, "one", Some("editor")));
    let before = read(&writer, &loid)["modified"].clone();
    write(&writer, &loid, "checkIn=false", b"draft").ok();
    let seen = || content(&writer, &loid);
    let known = seen().header("if-none-match", tag(&seen().send()));
    assert_eq!(known.send().status, 304);
    write(&writer, &loid, "checkIn=false", b"draft, again").ok();
    assert_eq!(known.send().body, b"draft, again");
    assert_eq!(seen().header("range", "bytes=-5").send().body, b"again");
    assert_eq!(bytes_of_version(&writer, &loid, 1), b"one");
    for other in [&twin, &reader] {
        assert_eq!(state(other, &loid), is(1, "one", Some("editor")));
    }
    assert_eq!(read(&writer, &loid)["modified"], before, "nothing that others see has changed");
    write(&writer, &loid, "", b"").ok();
    assert_eq!(state(&reader, &loid), is(1, "draft, again", None));
}

#[test]
fn check_in_keeps_or_releases_the_lock_as_it_is_told() {
    let (writer, _, reader, loid) = desk();
    // What the writer reads comes last.
    for (query, bytes, seen, own) in [
        ("checkOut&checkIn", "two", is(1, "two", None), "two"),
        ("checkOut&keepCheckedOut&newVersion", "three", is(2, "three", Some("editor")), "three"),
        ("keepCheckedOut", "four", is(2, "four", Some("editor")), "four"),
        ("newVersion", "five", is(3, "five", None), "five"),
        ("checkOut&checkIn=false", "draft", is(3, "five", Some("editor")), "draft"),
        // Without the lock the writer reads the shared version. A check-out continues from the
        // draft.
        ("checkIn=false&unlock", "later draft", is(3, "five", None), "five"),
        ("checkOut&checkIn=false", "", is(3, "five", Some("editor")), "later draft"),
        // And a clean one from the latest version.
        ("checkOutClean&checkIn=false", "", is(3, "five", Some("editor")), "five"),
        ("checkIn=false&unlock", "", is(3, "five", None), "five"),
    ] {
        write(&writer, &loid, query, bytes.as_bytes()).ok();
        assert_eq!(state(&reader, &loid), seen, "{query}");
        assert_eq!(String::from_utf8_lossy(&bytes_of(&writer, &loid)), own, "{query}");
    }
}

#[test]
fn without_content_there_must_be_something_checked_out() {
    let (writer, twin, _, loid) = desk();
    for query in ["", "newVersion", "keepCheckedOut", "checkIn=false", "checkIn=false&unlock"] {
        let error = write(&writer, &loid, query, b"").send().fails_on(query, 403, "ObjectNotCheckedOut");
        assert_eq!(error["source"], loid);
    }
    write(&writer, &loid, "checkOut&checkIn=false", b"draft").ok();
    for query in ["", "checkIn=false", "checkOut", "checkOutClean"] {
        for bytes in ["x", ""] {
            write(&twin, &loid, query, bytes.as_bytes()).send().fails_on(query, 403, "ObjectLockedByMe");
        }
    }
    assert_eq!(state(&writer, &loid), is(1, "draft", Some("editor")));
}

#[test]
fn an_empty_object_of_json_is_no_body() {
    let (writer, _, reader, loid) = desk();
    let put = |loid: &str, query: &str, kind: &str, body: &str| {
        with(writer.call("stet-object-content-put", &[&loid]), query).bytes(kind, body).send()
    };
    for (kind, body) in
        [("application/json", "{}"), ("application/json; charset=utf-8", " {}\n"), ("text/x+json", "{ }")]
    {
        put(&loid, "checkIn", kind, body).fails_on(kind, 403, "ObjectNotCheckedOut");
        write(&writer, &loid, "checkOut&checkIn=false", b"draft").ok();
        put(&loid, "checkIn=false", kind, body).ok();
        assert_eq!(state(&writer, &loid), is(1, "draft", Some("editor")), "{kind}");
        put(&loid, "checkIn", kind, body).ok();
        assert_eq!(state(&reader, &loid), is(1, "draft", None), "{kind}");
        write(&writer, &loid, "", b"one").ok();
    }
    // Any other JSON is a content, and so are such bytes of another type.
    put(&loid, "", "text/plain", "{}").ok();
    assert_eq!(state(&reader, &loid), is(1, "{}", None));
    put(&loid, "", "application/json", "[]").ok();
    assert_eq!(state(&reader, &loid), is(1, "[]", None));
    // Where there is JSON it may be meant as such.
    put(&loid, "", "application/json", "{}").ok();
    assert_eq!(state(&reader, &loid), is(1, "{}", None));
    assert_eq!(content(&reader, &loid).send().header("content-type"), Some("application/json"));
}

#[test]
fn versions_of_others_keep_a_draft_and_are_not_overwritten_by_it() {
    let (writer, _, other, loid) = desk();
    write(&writer, &loid, "checkOut&checkIn=false&unlock", b"draft").ok();
    write(&other, &loid, "", b"two").ok();
    assert_eq!(state(&other, &loid), is(2, "two", None), "the version of the writer, which they have not seen, stays");
    write(&other, &loid, "checkOut&checkIn", b"two").ok();
    for query in ["checkIn=false", "checkOut&checkIn=false"] {
        let error = write(&other, &loid, query, b"three").fails(403, "ObjectNotCheckedOut");
        includes(&error, &json!({ "source": loid, "details": { "draftOf": "editor" } }));
    }
    write(&writer, &loid, "checkOut&checkIn=false", b"").ok();
    assert_eq!(state(&writer, &loid), is(2, "draft", Some("editor")), "it is there to be gone on with");
    assert_eq!(write(&writer, &loid, "", b"").ok()["version"], 3, "and becomes a version of its own");
    assert_eq!(state(&other, &loid), is(3, "draft", None));
    assert_eq!(bytes_of_version(&other, &loid, 2), b"two");
}

#[test]
fn a_draft_outlives_the_session_that_saved_it() {
    let (writer, again, reader, loid) = desk();
    let large = noise(100_000);
    write(&writer, &loid, "checkOut&checkIn=false", &large).ok();
    writer.call("auth-logout-get", &[]).ok();
    assert_eq!(state(&reader, &loid), is(1, "one", None));
    write(&again, &loid, "checkOut&checkIn=false", b"").ok();
    assert!(bytes_of(&again, &loid) == large);
    write(&again, &loid, "newVersion", b"").ok();
    assert!(bytes_of(&reader, &loid) == large);
    assert_eq!(read(&reader, &loid)["version"], 2);
    // A draft whose lock is broken is kept, too, for the next user who checks out.
    write(&again, &loid, "checkOut&checkIn=false", b"broken off").ok();
    unlock(&reader, &loid, true).ok();
    write(&again, &loid, "", b"").fails(403, "ObjectNotCheckedOut");
    write(&reader, &loid, "checkOut", b"").ok();
    assert_eq!(state(&reader, &loid), is(2, "broken off", None));
}

#[test]
fn drafts_survive_a_crash_and_are_checked_with_the_rest() {
    let mut server = Server::start();
    let desk = Desk::at(server.user("editor"));
    let drafts = [10, 100_000].map(|len| {
        let (loid, bytes) = (desk.make(&format!("{len}.bin"), b"one"), noise(len));
        write(&desk, &loid, "checkOut&checkIn=false", &bytes).ok();
        (loid, bytes)
    });
    server.kill();
    let server = server.restart();
    let client = desk.to(&server);
    for (loid, bytes) in &drafts {
        assert!(bytes_of(&client, loid) == *bytes);
    }
    let (loid, small) = &drafts[0];
    write(&client, loid, "", b"").ok();
    assert!(bytes_of(&server.user("admin"), loid) == *small);
    let output = ends_sound(server);
    assert!(output.contains("drafts/1"), "{output}");
}

#[test]
fn the_type_is_what_the_call_says_or_stays() {
    let desk = Desk::of("editor");
    let kind = |loid: &str, said: &[(&str, &str)]| {
        let path = Endpoint::of("stet-object-content-put").path_of(&[&loid]);
        let record = desk.send("PUT", &path, said, b"x").ok();
        assert_eq!(record["version"], 1, "the first content is version 1");
        content(&desk, loid).send().header("content-type").expect("there is one").to_owned()
    };
    let loid = desk.make("a.xml", b"one");
    assert_eq!(kind(&loid, &[]), "text/xml");
    assert_eq!(kind(&loid, &[("content-type", "image/png")]), "image/png");
    assert_eq!(kind(&loid, &[("content-type", "application/octet-stream")]), "image/png");
    // The type that curl and other clients send by default.
    assert_eq!(kind(&loid, &[("content-type", "application/x-www-form-urlencoded")]), "image/png");
    let empty = id(&desk.create_empty("b", json!({})).ok());
    assert_eq!(kind(&empty, &[]), "application/octet-stream");
}

#[test]
fn refused_content_writes_leave_nothing_behind() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "200000")]);
    let desk = Desk::at(server.user("editor"));
    let loid = desk.make("a.xml", b"one");
    let error = write(&desk, &loid, "", &noise(200_001)).fails(413, "TooLarge");
    assert_eq!(error["details"]["limit"], 200_000);
    assert_eq!(bytes_of(&desk, &loid), b"one");
    write(&desk, &loid, "", &noise(200_000)).ok();
    let unfinished = || std::fs::read_dir(server.data().join("content/tmp")).expect("it is there").count();
    wait_until("nothing is left of the first", || unfinished() == 0);
    for other in [&*version(&loid, 1), "/News", "/Drawers/city-desk"] {
        write(&desk, other, "", b"x").fails(400, "InvalidType");
    }
}

#[test]
fn concurrent_content_writes_are_each_stored_whole() {
    let (writer, _, reader, loid) = desk();
    at_once(|number| write(&writer.afresh(), &loid, "newVersion", format!("writer {number}").as_bytes()).ok());
    assert_eq!(state(&reader, &loid).0, 17);
    let texts: HashSet<Vec<u8>> = (2..=17).map(|version| bytes_of_version(&reader, &loid, version)).collect();
    assert_eq!(texts, (0..16).map(|number| format!("writer {number}").into_bytes()).collect());
}

#[test]
fn contents_read_during_replacements_are_whole() {
    let (writer, _, reader, loid) = desk();
    // Rows of several lengths, and a file. Each consists of one letter, so that its length
    // identifies it.
    let lengths = [1, 50, 7_000, 32_000, 40_000];
    let whole = |number: usize| vec![b'a' + number as u8; lengths[number]];
    write(&writer, &loid, "", &whole(0)).ok();
    at_once(|thread| {
        let (writer, reader) = (writer.afresh(), reader.afresh());
        for round in 0..20 {
            if thread < 4 {
                write(&writer, &loid, "", &whole((thread + round) % lengths.len())).ok();
                continue;
            }
            let found = bytes_of(&reader, &loid);
            let number = lengths.iter().position(|length| *length == found.len());
            let number = number.unwrap_or_else(|| panic!("{} bytes were never written", found.len()));
            assert!(found == whole(number), "{} bytes of another content", found.len());
        }
    });
}

#[test]
fn the_latest_version_is_what_the_holder_of_the_lock_asks_for_by_number() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"first");
    write(&desk, &loid, "checkOut&checkIn=false", b"draft").ok();
    for id in ["stet-object-content-get", "stet-object-content-binary-get"] {
        let call = || desk.call(id, &[&loid]);
        assert_eq!(bytes(&call()), b"draft");
        assert_eq!(bytes(&call().query("version", "")), b"draft", "it counts as absent");
        for version in [-1, 1] {
            assert_eq!(bytes(&call().query("version", version)), b"first", "{version}");
        }
    }
}
