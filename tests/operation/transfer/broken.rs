//! Failures during a transfer: they are reported, the rest is done, and an interrupted transfer can
//! be continued.

use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use super::*;

#[test]
fn an_import_that_is_killed_is_begun_again() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    for n in 0..600 {
        put(files.path(), &format!("{}/{n}.xml", n % 7), format!("<a n='{n}'/>"));
    }
    let client = server.user("admin");
    let count = || client.get(&format!("/v3/folder/{}/filter?recursive=true&excludeFolders=true", encoded(&folder)));
    let arguments = ["import", path(files.path()), "--into", &folder, "--clients", "2", "--url", &client.base];
    for wanted in [1, 200] {
        let mut command = stet(&arguments);
        command.env("STET_PASSWORD", ADMIN_PASSWORD).stdout(Stdio::null());
        let mut child = command.spawn().expect("the binary can be started");
        wait_until("some are made", || {
            let answer = count();
            answer.status == 200 && answer.ok()["total"].as_u64() >= Some(wanted)
        });
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let before = count().ok()["total"].as_u64().expect("a number");
    let ended = done(through(server, &arguments[..6]));
    let made: u64 = ended.split(' ').next().and_then(|made| made.parse().ok()).expect("it says how many");
    assert!(ended.contains(&format!(" created, {} already present; ", 600 - made)), "{ended}");
    assert!(made <= 600 - before, "{ended} with {before} before");
    assert_eq!(count().ok()["total"], 600);
}

#[test]
fn unimportable_files_are_named_and_the_others_imported() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let top = files.path();
    let record = |name: &str, more: Value| {
        let mut record = json!({
            "format": 1, "uuid": uuid::Uuid::now_v7().to_string(), "name": name, "type": "Story", "family": "document", "created": 1, "modified": 1,
            "creator": "a", "lastModifier": "a",
        });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        put(top, &format!("{name}.record.json"), record.to_string());
    };
    let content = |sha256: &str| json!({ "content": { "contentType": "text/xml", "size": 4, "sha256": sha256 } });
    put(top, "good.xml", "<a/>");
    put(top, "sub/good.xml", "<a/>");
    put(top, ".ignored", "x");
    put(top, "broken.xml.record.json", "{");
    put(top, "broken.xml", "<a/>");
    put(top, "newer.xml.record.json", "{\"format\": 2}");
    record("hash.xml", content(&"0".repeat(64)));
    put(top, "hash.xml", "<a/>");
    record("lost.xml", content(&"0".repeat(64)));
    record("type.xml", json!({ "type": "Drawer" }));
    record("folder", json!({ "type": "Folder", "family": "folder", "attributes": "<a" }));
    put(top, "folder/below.xml", "<a/>");
    std::os::unix::fs::symlink("good.xml", top.join("link.xml")).expect("it can be made");
    put(top, "noname.zzz/x", "x");
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.xml");
    std::fs::write(top.join(odd), "<a/>").expect("it can be written");
    let ended = through(server, &["import", path(top), "--into", &folder]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    for (name, why) in [
        ("failed: ", "broken.xml.record.json: EOF"),
        ("failed: ", "newer.xml.record.json: it has the format 2"),
        ("failed: ", "has another SHA-256"),
        ("failed: ", "lost.xml: No such file"),
        ("failed: ", "type.xml.record.json: A Drawer can't be imported"),
        ("failed: ", "folder.record.json: `attributes` is invalid"),
        ("failed: ", ".xml: its name is not UTF-8"),
        ("left out: ", "link.xml: it is neither a file nor a folder"),
        ("stet: some objects failed or differ: ", "3 created"),
    ] {
        let told = ended.err.lines().any(|line| line.starts_with(name) && line.contains(why));
        assert!(told, "{name}{why} in:\n{}", ended.err);
    }
    assert!(!ended.err.contains("ignored"), "{}", ended.err);
    let client = server.user("admin");
    let listed = client.get(&format!("/v3/folder/{}/filter?recursive=true", encoded(&folder))).ok();
    let names: Vec<_> = listed["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["good.xml", "noname.zzz", "x", "sub", "good.xml"]);
}

/// Regression test: a pipe beside a record was waited for without end, and a link led out of the
/// tree.
#[test]
fn beside_a_record_only_a_regular_file_is_read() {
    let (server, folder) = (Server::shared(), own_folder());
    let files = tempfile::tempdir().expect("a directory can be made");
    let top = files.path().join("in");
    put(files.path(), "secret", "<a/>");
    let record = |name: &str, family: &str| {
        let kind = if family == "bundle" { "EOM::CompoundStory" } else { "Story" };
        let mut record = json!({
            "format": 1, "uuid": uuid::Uuid::now_v7().to_string(), "name": name, "type": kind, "family": family, "created": 1,
            "modified": 1, "creator": "a", "lastModifier": "a",
        });
        if family == "document" {
            let sha256 = "d41d8cd98f00b204e9800998ecf8427e".repeat(2);
            record["content"] = json!({ "contentType": "text/xml", "size": 4, "sha256": sha256 });
        }
        record.to_string()
    };
    for name in ["link.xml", "pipe.xml", "folder.xml"] {
        put(&top, &format!("{name}.record.json"), record(name, "document"));
    }
    put(&top, "bundle.xml.record.json", record("bundle.xml", "bundle"));
    put(&top, "bundle.xml.copies/good.xml.record.json", record("good.xml", "bundle"));
    put(&top, "other.xml.record.json", record("other.xml", "bundle"));
    let pipe = |name: &str| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, top.join(name), mode).expect("it can be made");
    };
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, top.join(name)).expect("it can be made");
    link(&files.path().join("secret"), "link.xml");
    std::fs::create_dir(top.join("folder.xml")).expect("it can be made");
    for name in ["pipe.xml", "odd.record.json", "bundle.xml.copies/odd.record.json"] {
        pipe(name);
    }
    link(&top.join("pipe.xml.record.json"), "linked.record.json");
    link(&top.join("bundle.xml.copies"), "other.xml.copies");
    let ended = through(server, &["import", path(&top), "--into", &folder]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    for (name, why) in [
        ("link.xml: ", "it is a link, which is not followed"),
        ("pipe.xml: ", "it is not a regular file"),
        ("folder.xml: ", "it is not a regular file"),
        ("in/odd.record.json: ", "it is not a regular file"),
        ("copies/odd.record.json: ", "it is not a regular file"),
        ("linked.record.json: ", "it is not a regular file"),
    ] {
        let told =
            ended.err.lines().any(|line| line.starts_with("failed: ") && line.contains(name) && line.contains(why));
        assert!(told, "{name}{why} in:\n{}", ended.err);
    }
    assert!(ended.err.contains("3 created") && ended.err.contains("6 failed"), "{}", ended.err);
}

#[test]
fn existing_objects_that_differ_are_reported_and_left_unchanged() {
    let (server, folder) = (Server::shared(), own_folder());
    let client = server.user("admin");
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    put(&source, "a.xml", "<a/>");
    put(&source, "b.xml", "<b/>");
    let import = |from: &Path| through(server, &["import", path(from), "--into", &folder]);
    done(import(&source));
    done(through(server, &["export", path(&out), "--folder", &folder]));
    let at = format!("{folder}/a.xml");
    let id = client.get(&format!("/v3/object/{}", encoded(&at))).ok()["id"].as_str().expect("an id").to_owned();
    client.call("stet-object-content-put", &[&id]).bytes("text/xml", "<changed/>").ok();
    for (from, there) in [(&source, "1 already present"), (&out, "1 already present")] {
        let ended = import(from);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains("differs: ") && ended.err.contains("was not changed"), "{}", ended.err);
        assert!(ended.err.contains(&format!("0 created, {there}, 1 differ; ")), "{}", ended.err);
    }
    assert_eq!(client.get(&format!("/v3/object/{}/content", encoded(&id))).body, b"<changed/>");
    // An export continues, and writes the changed objects.
    let ended = done(through(server, &["export", path(&out), "--folder", &folder]));
    assert!(ended.starts_with("1 written, 1 already present; "), "{ended}");
    assert_eq!(std::fs::read(out.join("a.xml")).expect("it is there"), b"<changed/>");
}

#[test]
fn imports_without_rights_are_refused_and_options_are_checked() {
    let (server, files) = (Server::shared(), tempfile::tempdir().expect("a directory can be made"));
    let base = &server.client().base;
    put(files.path(), "in/a.xml", "<a/>");
    put(files.path(), "empty", "\n");
    let source = files.path().join("in");
    let with = |more: &[&str]| {
        let mut command = stet(&[&["import", path(&source)], more].concat());
        command.env("STET_PASSWORD", "wrong");
        run(command)
    };
    let empty = files.path().join("empty");
    for (more, code, why) in [
        (&["--url", base] as &[&str], 1, "can't log in"),
        (&["--url", "127.0.0.1:1"], 2, "begins neither"),
        (&["--url", base, "--into", "News"], 2, "is not a path like"),
        (&["--url", base, "--key-file", path(&empty)], 2, "is empty"),
        (&["--url", base, "--ca", path(&empty)], 2, "no certificate"),
        (&["--url", base, "--data", "x"], 2, "cannot be used with"),
        (&["--password-file", "x"], 2, "required"),
        (&["--url", base, "--clients", "0"], 2, "1..=64"),
    ] {
        let ended = with(more);
        assert_eq!(ended.code, Some(code), "{more:?}: {}", ended.err);
        assert!(ended.err.contains(why), "{more:?}: {}", ended.err);
    }
    let ended = run(stet(&["import", path(&empty), "--url", base]));
    assert_eq!(ended.code, Some(2), "{}", ended.err);

    // A key that may only read imports nothing, and exports.
    let admin = server.user("admin");
    let folder = own_folder();
    let object = json!({ "name": "a.xml", "type": "Story", "folderPath": folder });
    admin.call("stet-object-create-post", &[]).form(&object, &[]).ok();
    let name = folder.replace('/', "");
    let body = json!({ "name": name, "user": "admin", "privileges": [{ "privilege": "read" }] });
    let key = admin.post("/v3/key", &body).ok()["token"].as_str().expect("a token").to_owned();
    put(files.path(), "key", key);
    let (key, out) = (files.path().join("key"), files.path().join("out"));
    let ended = with(&["--url", base, "--key-file", path(&key), "--into", &folder]);
    assert!(ended.code == Some(1) && ended.err.contains("PermissionDenied"), "{}", ended.err);
    let ended = run(stet(&["export", path(&out), "--folder", &folder, "--url", base, "--key-file", path(&key)]));
    assert!(done(ended).starts_with("1 written"));
    assert_eq!(tree(&out).len(), 1);
}

#[test]
fn a_server_that_is_killed_amid_an_import_has_none_by_halves() {
    let folder = own_folder();
    let files = tempfile::tempdir().expect("a directory can be made");
    let (source, out) = (files.path().join("in"), files.path().join("out"));
    for n in 0..150 {
        put(&source, &format!("{}/{n}.xml", n % 5), format!("<a n='{n}'/>"));
    }
    // With records, links and channel copies.
    let shared = Server::shared();
    let client = shared.user("admin");
    done(through(shared, &["import", path(&source), "--into", &folder]));
    let loid = |name: &str| {
        let reply = client.get(&format!("/v3/object/{}", encoded(&format!("{folder}/{name}")))).ok();
        reply["id"].as_str().expect("an id").to_owned()
    };
    for n in (0..140).step_by(5) {
        let (one, other) = (loid(&format!("0/{n}.xml")), loid(&format!("1/{}.xml", n + 1)));
        let body = json!({ "sourceLinkName": "a", "targetLinkName": "b", "targetSource": other });
        client.call("stet-object-correlate-post", &[&one]).json(&body).ok();
        let options = json!({ "name": format!("b{n}.xml"), "type": "EOM::CompoundStory", "folderPath": folder });
        let file = ("content", "b", "text/xml", b"<b/>".as_slice());
        let bundle = client.call("stet-object-create-post", &[]).form(&options, &[file]).ok()["id"].clone();
        let bundle = bundle.as_str().expect("an id");
        for copy in [
            json!({ "channel": "Web", "inheritFrom": "Neutral" }),
            json!({ "channel": "Tabloid", "inheritFrom": "Web" }),
        ] {
            client.call("container-bundle-channelcopy-post", &[&bundle]).json(&copy).ok();
        }
    }
    done(through(shared, &["export", path(&out), "--folder", &folder]));
    let mut server = Server::start();
    for wanted in [3, 60, 140] {
        let base = server.client().base;
        let arguments = ["import", path(&out), "--into", &folder, "--clients", "3", "--url", &base];
        let mut command = stet(&arguments);
        command.env("STET_PASSWORD", ADMIN_PASSWORD).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary can be started");
        let watching = server.login("admin");
        wait_until("some are made", || {
            let path = format!("/v3/folder/{}/filter?recursive=true&excludeFolders=true", encoded(&folder));
            let answer = watching.get(&path);
            answer.status == 200 && answer.ok()["total"].as_u64() >= Some(wanted)
        });
        server.kill();
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        server = server.restart();
    }
    done(through(&server, &["import", path(&out), "--into", &folder]));
    let again = files.path().join("again");
    done(through(&server, &["export", path(&again), "--folder", &folder]));
    same(&out, &again);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
