//! Items of agencies: recognised in any encoding, one object for all versions of an item.

use serde_json::Value;

use super::*;

fn newsml(encoding: &str, guid: &str, version: u32, headline: &str) -> String {
    format!(
        "<?xml version='1.0' encoding='{encoding}'?>\n<newsItem xmlns='http://iptc.org/std/nar/2006-10-01/' guid='{guid}' \
         version='{version}'><contentMeta><headline>{headline}</headline></contentMeta></newsItem>"
    )
}

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// Bytes of a text of Latin letters.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).expect("it is a Latin letter")).collect()
}

fn import(server: &Server, from: &Path, folder: &str, more: &[&str]) -> Run {
    through(server, &[&["import", path(from), "--into", folder], more].concat())
}

/// The record of an object, with its attributes.
fn record(client: &Client, path: &str) -> Value {
    client.get(&format!("/v3/object/{}", encoded(path))).ok()
}

fn names(client: &Client, folder: &str) -> Vec<String> {
    let listed = client.get(&format!("/v3/folder/{}", encoded(folder))).ok();
    let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
    listed["items"].as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn items_in_any_encoding_have_attributes_and_other_files_are_named() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let guid = |n: u32| format!("tag:encoding-{n}");
    put(files.path(), "latin1.xml", latin1(&newsml("ISO-8859-1", &guid(1), 1, "F\u{e4}hre")));
    put(files.path(), "utf16.xml", utf16(&newsml("UTF-16", &guid(2), 1, "F\u{e4}hre")));
    let windows = newsml("windows-1252", &guid(3), 1, "@").into_bytes();
    let windows: Vec<u8> = windows.into_iter().map(|byte| if byte == b'@' { 0x80 } else { byte }).collect();
    put(files.path(), "windows.xml", windows);
    put(files.path(), "ninjs.json", utf16(&json!({ "guid": guid(4), "headline": "F\u{e4}hre" }).to_string()));
    put(files.path(), "long.json", json!({ "uri": guid(5), "headline": "x".repeat(5000) }).to_string());
    put(files.path(), "wrong.xml", b"<?xml version='1.0' encoding='utf-8'?><a>\xe4</a>");
    put(files.path(), "own.xml", "<story/>");
    put(files.path(), "photo.jpg", b"\xff\xd8\xff");
    let out = done(import(server, files.path(), &folder, &[]));
    assert!(out.starts_with("8 created, 0 already present; "), "{out}");
    let last = out.lines().last().expect("there is a last line");
    assert!(last.starts_with("2 files were not recognised as wire items"), "{out}");
    assert!(last.contains("/own.xml, ") && last.ends_with("/wrong.xml"), "{out}");

    let client = server.user("admin");
    let metadata = |name: &str| record(&client, &format!("{folder}/{name}"))["attributes"]["metadata"].clone();
    for (name, headline, n) in [
        ("latin1.xml", "F\u{e4}hre", 1),
        ("utf16.xml", "F\u{e4}hre", 2),
        ("windows.xml", "\u{20ac}", 3),
        ("ninjs.json", "F\u{e4}hre", 4),
        ("long.json", &"x".repeat(4096), 5),
    ] {
        let metadata = metadata(name);
        assert_eq!((&metadata["headline"], &metadata["guid"]), (&json!(headline), &json!(guid(n))), "{name}");
    }
    let again = done(import(server, files.path(), &folder, &[]));
    assert!(again.starts_with("0 created, 8 already present; "), "{again}");
}

#[test]
fn a_newer_version_of_an_item_updates_its_object_if_asked() {
    let (server, folder) = (Server::shared(), own_folder());
    let client = server.user("admin");
    let files = tempfile::tempdir().expect("a directory can be made");
    let at = |name: &str| files.path().join(name);
    for version in 1..4 {
        let item = newsml("utf-8", "tag:update", version, &format!("Headline {version}"));
        put(&at(&version.to_string()), &format!("news-{version}.xml"), item);
        let created = format!("2026-01-0{version}T00:00:00Z");
        let ninjs =
            json!({ "uri": "http://update", "versioncreated": created, "headline": format!("Headline {version}") });
        put(&at(&version.to_string()), &format!("item-{version}.json"), ninjs.to_string());
    }
    let first = done(import(server, &at("2"), &folder, &[]));
    assert!(first.starts_with("2 created, 0 already present; "), "{first}");
    // Editors move and rename it.
    client
        .call("stet-object-rename-post", &[&format!("{folder}/news-2.xml")])
        .json(&json!({ "name": "ferry.xml" }))
        .ok();
    client.call("folder-post", &[]).json(&json!({ "path": format!("{folder}/City") })).ok();
    client
        .call("stet-object-move-post", &[&format!("{folder}/ferry.xml")])
        .json(&json!({ "folderPath": format!("{folder}/City") }))
        .ok();
    let ferry = format!("{folder}/City/ferry.xml");
    let before = record(&client, &ferry);

    let told = import(server, &at("3"), &folder, &[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.out.starts_with("0 created, 0 already present, 2 left out; "), "{}", told.out);
    assert_eq!(told.err.matches("it is a newer version: ").count(), 2, "{}", told.err);
    assert!(told.err.contains(&format!("version 3; `{ferry}` has version 2. `--update` imports it")), "{}", told.err);
    assert!(!told.err.contains("differs"), "{}", told.err);
    assert_eq!(record(&client, &ferry), before);

    let updated = done(import(server, &at("3"), &folder, &["--update"]));
    assert!(updated.starts_with("0 created, 0 already present, 2 updated; "), "{updated}");
    let after = record(&client, &ferry);
    assert_eq!(
        (&after["id"], &after["pstate"], &after["name"]),
        (&before["id"], &before["pstate"], &json!("ferry.xml"))
    );
    assert_eq!((&after["version"], &after["attributes"]["metadata"]["headline"]), (&json!(2), &json!("Headline 3")));
    let content = client.get(&format!("/v3/object/{}/content", encoded(&ferry))).body;
    assert_eq!(content, std::fs::read(at("3/news-3.xml")).expect("it is there"));
    assert_eq!(record(&client, &format!("{folder}/item-2.json"))["version"], 2);

    // Existing and older items are left unchanged, with and without `--update`.
    for more in [&["--update"] as &[&str], &[]] {
        let again = done(import(server, &at("3"), &folder, more));
        assert!(again.starts_with("0 created, 2 already present; "), "{again}");
        let older = import(server, &at("1"), &folder, more);
        assert_eq!(older.code, Some(0), "{}", older.err);
        assert!(older.out.starts_with("0 created, 0 already present, 2 left out; "), "{}", older.out);
        assert!(older.err.contains("it is version 1, older than version 3, which `"), "{}", older.err);
    }
    assert_eq!(record(&client, &ferry)["version"], 2);
    assert_eq!(names(&client, &folder), ["City", "item-2.json"]);

    // What editors have discarded does not come back.
    client.call("object-discard", &[&format!("{folder}/item-2.json")]).ok();
    let discarded = import(server, &at("3"), &folder, &["--update"]);
    assert!(discarded.err.contains("the object of `http://update` is in the recycle bin"), "{}", discarded.err);
}

/// Objects of imports before items were known by their guids have uuids of their own.
#[test]
fn an_item_that_has_the_name_of_its_file_is_found_by_that() {
    let (server, folder) = (Server::shared(), own_folder());
    let client = server.user("admin");
    let files = tempfile::tempdir().expect("a directory can be made");
    let old = json!({ "name": "a.xml", "folderPath": folder, "attributes": "<metadata><guid>tag:old</guid><itemVersion>1</itemVersion></metadata>" });
    let file = ("content", "a.xml", "text/xml", b"<a/>".as_slice());
    client.call("stet-object-create-post", &[]).form(&old, &[file]).ok();
    put(files.path(), "a.xml", newsml("utf-8", "tag:old", 2, "New"));
    let told = import(server, files.path(), &folder, &[]);
    assert!(told.code == Some(0) && told.err.contains("it is a newer version: version 2"), "{}", told.err);
    let updated = done(import(server, files.path(), &folder, &["--update"]));
    assert!(updated.starts_with("0 created, 0 already present, 1 updated; "), "{updated}");
    assert_eq!(record(&client, &format!("{folder}/a.xml"))["attributes"]["metadata"]["headline"], "New");

    // The name may be that of another item: agencies use names again.
    put(files.path(), "a.xml", newsml("utf-8", "tag:other", 3, "Other"));
    let other = import(server, files.path(), &folder, &["--update"]);
    assert!(other.code == Some(1) && other.err.contains("exists with another content"), "{}", other.err);
}

#[test]
fn one_version_in_several_forms_is_an_object_each() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    for n in 1..4 {
        put(files.path(), &format!("{n}.xml"), newsml("utf-8", "tag:forms", 7, &format!("Form {n}")));
    }
    let made = done(import(server, files.path(), &folder, &[]));
    assert!(made.starts_with("3 created, 0 already present; "), "{made}");
    let again = done(import(server, files.path(), &folder, &["--update"]));
    assert!(again.starts_with("0 created, 3 already present; "), "{again}");
}

/// Regression test: the second import took the objects of the first one for something else.
#[test]
fn imports_of_one_tree_at_once_find_nothing_that_differs() {
    let (first, second, folder) = (Server::shared(), Server::start(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    for n in 0..60 {
        put(&source, &format!("{}/{n}.xml", n % 3), newsml("utf-8", &format!("tag:at-once-{n}"), 1, &n.to_string()));
        put(&source, &format!("{}/{n}.txt", n % 3), n.to_string());
    }
    let at_once = |server: &Server, from: &Path| {
        let ended: Vec<Run> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| import(server, from, &folder, &[]))).collect();
            runs.into_iter().map(|run| run.join().expect("it ends")).collect()
        });
        let made = |run: Run| done(run).split(' ').next().and_then(|made| made.parse::<u64>().ok()).expect("a number");
        ended.into_iter().map(made).sum::<u64>()
    };
    assert_eq!(at_once(first, &source), 120);
    done(through(first, &["export", path(&out), "--folder", &folder]));
    // Folders may be made by each, so they are not counted.
    assert!((120..=129).contains(&at_once(&second, &out)));
    let again = files.path().join("again");
    done(through(&second, &["export", path(&again), "--folder", &folder]));
    same(&out, &again);
}
