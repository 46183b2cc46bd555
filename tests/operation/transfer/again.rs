//! An export into a directory with an earlier one, which it continues.

use super::*;

/// Regression test: each killed export left its partial files behind, until they filled the disk.
#[test]
fn part_files_of_a_killed_export_are_removed_by_the_next() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    put(&source, "City/a.xml", "<a/>");
    done(through(server, &["import", path(&source), "--into", &folder]));
    put(&out, ".stet-abcdef.part", "<a");
    put(&out, "City/.stet-ghijkl.part", "<a");
    put(&out, "City/.stet-note", "of somebody");
    done(through(server, &["export", path(&out), "--folder", &folder]));
    let found = tree(&out);
    let names: Vec<_> = found.keys().map(|name| path(name)).collect();
    assert_eq!(names, ["City/.stet-note", "City/a.xml", "City/a.xml.record.json", "City.record.json"]);
}

/// Regression test: its content was taken for the partial file of a killed export.
#[test]
fn an_object_that_is_called_as_a_part_keeps_its_content() {
    let (server, folder) = (Server::shared(), own_folder());
    let client = server.user("admin");
    let files = tempfile::tempdir().expect("a directory can be made");
    let name = ".stet-object.part";
    let options = json!({ "name": name, "type": "Text", "folderPath": folder });
    let file = ("content", name, "text/plain", b"kept".as_slice());
    let made = client.call("stet-object-create-post", &[]).form(&options, &[file]).ok();
    let uuid = made["pstate"]["uuid"].as_str().expect("a uuid");
    for written in ["1 written, 0 already present; ", "0 written, 1 already present; "] {
        let ended = done(through(server, &["export", path(files.path()), "--folder", &folder]));
        assert!(ended.starts_with(written), "{ended}");
        let found = tree(files.path());
        let names: Vec<_> = found.keys().map(|name| path(name)).collect();
        assert_eq!(names, [uuid.to_owned(), format!("{uuid}.record.json")]);
        assert_eq!(found[Path::new(uuid)], b"kept");
    }
    let into = own_folder();
    let second = Server::start();
    done(through(&second, &["import", path(files.path()), "--into", &into]));
    let content = second.user("admin").get(&format!("/v3/object/{}/content", encoded(&format!("{into}/{name}"))));
    assert_eq!(content.body, b"kept");
}

/// Sends a story to another folder.
fn send(client: &Client, from: &str, to: &str) {
    client.call("stet-object-move-post", &[&from]).json(&json!({ "folderPath": to })).ok();
}

/// Regression test: the old record stayed, and an import took the first one that it found: the old
/// text, at the old place.
#[test]
fn moved_and_renamed_objects_are_exported_once() {
    let (first, second) = (Server::shared(), Server::start());
    let (client, folder) = (first.user("admin"), own_folder());
    let at = |below: &str| format!("{folder}{below}");
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    for name in ["a.xml", "b.xml", "gone.xml", "Desk/City/c.xml", "Desk/City/gone.xml", "News/d.xml"] {
        put(&source, name, name);
    }
    let export = |to: &Path| done(through(first, &["export", path(to), "--folder", &folder]));
    done(through(first, &["import", path(&source), "--into", &folder]));
    let bundle = json!({ "name": "e.xml", "type": "EOM::CompoundStory", "folderPath": folder });
    let bundle = client.call("stet-object-create-post", &[]).form(&bundle, &[]).ok()["id"].clone();
    for channel in ["Web", "Tabloid"] {
        let body = json!({ "channel": channel });
        client.call("container-bundle-channelcopy-post", &[&bundle.as_str().expect("a loid")]).json(&body).ok();
    }
    assert!(export(&out).starts_with("12 written, 0 already present; "));

    put(&out, "kept/a.xml.record.json", std::fs::read(out.join("a.xml.record.json")).expect("it is there"));
    send(&client, &at("/a.xml"), &at("/News"));
    send(&client, &at("/Desk/City"), &at("/News"));
    send(&client, &at("/e.xml"), &at("/News"));
    client.call("stet-object-content-put", &[&at("/News/a.xml")]).bytes("text/xml", "new").ok();
    client.call("stet-object-rename-post", &[&at("/b.xml")]).json(&json!({ "name": "a.xml" })).ok();
    for discarded in ["/gone.xml", "/News/City/gone.xml", "/News/e.xml/Tabloid"] {
        client.call("object-discard", &[&at(discarded)]).ok();
    }
    let again = export(&out);
    assert!(again.contains(" already present, 5 removed from their former places; "), "{again}");
    let found = tree(&out);
    let names: Vec<_> = found.keys().map(|name| path(name)).filter(|name| !name.ends_with(".record.json")).collect();
    // Files of discarded objects stay. The moved folder has another place.
    assert_eq!(names, ["Desk/City/gone.xml", "News/City/c.xml", "News/a.xml", "News/d.xml", "a.xml", "gone.xml"],);
    let set_aside = found.keys().filter(|name| path(name).starts_with('.')).count();
    assert_eq!(set_aside, 1, "what the bundle held and holds no more");
    assert!(
        found.contains_key(Path::new("kept/a.xml.record.json")),
        "an export looks where one writes, and nowhere else"
    );
    std::fs::remove_dir_all(out.join("kept")).expect("it can be removed");
    let again = export(&out);
    assert!(again.starts_with("0 written, ") && !again.contains("removed"), "{again}");

    done(through(&second, &["import", path(&out), "--into", &folder]));
    let client = second.user("admin");
    let text = |path: &str| client.get(&format!("/v3/object/{}/content", encoded(&at(path)))).body;
    assert_eq!((text("/News/a.xml"), text("/a.xml")), (b"new".to_vec(), b"b.xml".to_vec()));
    assert_eq!(client.get(&format!("/v3/object/{}", encoded(&at("/b.xml")))).status, 404);
}

/// An export that was cut short has removed nothing yet.
#[test]
fn the_newer_of_two_records_of_an_object_is_imported() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let record = |file: &str, uuid: u128, modified: u32, family: &str| {
        let name = file.rsplit('/').next().expect("it has a name");
        let uuid = uuid::Uuid::from_u128(uuid::Uuid::now_v7().as_u128() & !0xff | uuid).to_string();
        json!({ "format": 1, "uuid": uuid, "name": name, "type": "Story", "family": family, "created": 1, "modified": modified,
            "creator": "a", "lastModifier": "a" })
    };
    let twice = |old: &str, new: &str, family: &str| {
        let one = record(new, 1, 20, family);
        let mut other = one.clone();
        other["modified"] = json!(10);
        if family == "folder" {
            other["type"] = json!("Folder");
        }
        put(files.path(), &format!("{old}.record.json"), other.to_string());
        other["modified"] = json!(20);
        put(files.path(), &format!("{new}.record.json"), other.to_string());
    };
    twice("a/story", "z/story", "document");
    twice("z/second", "a/second", "document");
    twice("a/Desk", "z/Desk", "folder");
    put(files.path(), "a/Desk/nowhere-else.xml", "<a/>");
    let ended = through(server, &["import", path(files.path()), "--into", &folder]);
    assert!(done(ended).starts_with("4 created, 0 already present, 3 left out; "));
    let client = server.user("admin");
    let status = |path: &str| client.get(&format!("/v3/object/{}", encoded(&format!("{folder}{path}")))).status;
    assert_eq!(["/a/story", "/z/story", "/a/second", "/z/second"].map(status), [404, 200, 200, 404]);
    assert_eq!(["/z/Desk", "/a/Desk/nowhere-else.xml"].map(status), [200, 200]);
}
