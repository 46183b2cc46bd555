//! Versions: the list, and an old one again (docs/api/content.md, "Versions").

use super::*;

fn versions(client: &Client, loid: &str, query: &str) -> Value {
    with(client.call("stet-object-versions-get", &[&loid]), query).ok()
}

/// A member of each version in a list.
fn each(list: &Value, member: &str) -> Vec<u64> {
    let items = list["items"].as_array().expect("a list has items").iter();
    items.map(|item| item[member].as_u64().expect("it is a number")).collect()
}

#[test]
fn versions_are_listed_the_newest_first_with_all_that_tells_them_apart() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"abc");
    let mode = json!({ "createMode": "NEW_VERSION" });
    desk.create("a.xml", b"", mode.clone()).by(&Server::shared().user("admin")).ok();
    desk.create("a.xml", b"third", mode).ok();
    let list = versions(&desk, &loid, "");
    let newest = json!({ "version": 3, "created": read(&desk, &loid)["modified"] });
    let oldest = json!({ "version": 1, "id": version(&loid, 1), "author": "editor", "size": 3, "contentType": "text/xml",
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" });
    let items = json!([newest, { "version": 2, "author": "admin" }, oldest]);
    includes(&list, &json!({ "total": 3, "items": items }));
    for (source, query, total, numbers) in
        [(&loid, "limit=1&offset=1", 3, vec![2]), (&loid, "offset=3", 3, vec![]), (&desk.folder, "", 0, vec![])]
    {
        let page = versions(&desk, source, query);
        assert_eq!((page["total"].as_u64(), each(&page, "version")), (Some(total), numbers), "{query}");
    }
}

#[test]
fn an_old_version_is_restored_as_the_newest_and_stays_what_it_is() {
    let mut server = Server::start();
    let desk = Desk::at(server.user("reporter"));
    let large = noise(100_000);
    let loid = desk.make("a.xml", b"small");
    desk.again("a.xml", &large, "NEW_VERSION");
    desk.again("a.xml", b"last", "NEW_VERSION");
    let restore = |version: &str| desk.call("stet-object-version-restore-post", &[&loid, &version]);
    for (from, number, bytes) in [("1", 4, &b"small"[..]), ("2", 5, &large), ("1", 6, b"small")] {
        restore(from).gives(&json!({ "version": number }));
        assert!(bytes_of(&desk, &loid) == bytes);
    }
    // Replacing the newest leaves the one that it came from alone.
    desk.again("a.xml", b"other", "REPLACE");
    assert_eq!(each(&versions(&desk, &loid, ""), "size"), [5, 100_000, 5, 4, 100_000, 5]);
    for (version, bytes) in [(1, &b"small"[..]), (4, b"small"), (6, b"other"), (3, b"last")] {
        assert_eq!(bytes_of_version(&desk, &loid, version), bytes, "{version}");
    }
    restore("7").fails(404, "ObjectNotFound");
    for none in ["0", "-1", "x"] {
        restore(none).fails(400, "InvalidParameter");
    }
    server.kill();
    let server = server.restart();
    assert_eq!(each(&versions(&desk.to(&server), &loid, ""), "version"), [6, 5, 4, 3, 2, 1]);
    ends_sound(server);
}
