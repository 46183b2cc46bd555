//! `/v3/object/{source}/rename` and `/v3/object/{source}/move`

use std::collections::HashSet;

use super::*;

fn rename<'c>(client: &'c Client, source: &str, name: &str) -> Call<'c> {
    client.call("stet-object-rename-post", &[&source]).json(&json!({ "name": name }))
}

fn to<'c>(client: &'c Client, source: &str, folder: &str) -> Call<'c> {
    client.call("stet-object-move-post", &[&source]).json(&json!({ "folderPath": folder }))
}

fn path(client: &Client, source: &str) -> String {
    let record = client.call("object-get", &[&source]).query("showPath", true).ok();
    record["path"].as_str().expect("it has a path").to_owned()
}

fn folder(client: &Client, path: &str) -> String {
    let made = client.call("folder-post", &[]).json(&json!({ "path": path })).ok();
    made["info"]["id"].as_str().expect("a folder has an id").to_owned()
}

#[test]
fn renames_stay_in_the_folder_and_taken_names_are_refused_or_numbered() {
    let (client, top) = (Server::shared().user("editor"), own_folder());
    let (a, b) = (client.story(&top, "a.xml"), client.story(&top, "b.xml"));
    let reply = rename(&client, &a, "c:d.xml").ok();
    assert_eq!((&reply["id"], &reply["name"]), (&json!(a), &json!("c_d.xml")));
    assert_eq!(path(&client, &a), format!("{top}/c_d.xml"));
    client.call("object-get", &[&format!("{top}/a.xml")]).fails(404, "ObjectNotFound");
    let before = client.call("object-get", &[&a]).ok()["revision"].clone();
    assert_eq!(rename(&client, &a, "c_d.xml").ok()["revision"], before, "the same again changes nothing");

    let taken = rename(&client, &a, "b.xml").fails(409, "DuplicatedName");
    assert!(taken["message"].as_str().is_some_and(|message| message.contains("`b.xml`")), "{taken}");
    let free =
        client.call("stet-object-rename-post", &[&a]).json(&json!({ "name": "b.xml", "createMode": "AUTO_RENAME" }));
    assert_eq!(free.ok()["name"], "b (2).xml");
    for (name, code) in [("", "InvalidName"), ("a/b", "InvalidName"), (&*"x".repeat(256), "InvalidName")] {
        rename(&client, &b, name).fails(400, code);
    }
    let replace = json!({ "name": "b.xml", "createMode": "REPLACE" });
    client.call("stet-object-rename-post", &[&a]).json(&replace).fails(400, "InvalidParameter");
    client.call("stet-object-rename-post", &[&a]).json(&json!({})).fails(400, "InvalidBody");
    assert_eq!((path(&client, &a), path(&client, &b)), (format!("{top}/b (2).xml"), format!("{top}/b.xml")));
    rename(&Server::shared().user("admin"), "/", "root").fails(409, "InvalidForContainer");
}

#[test]
fn a_folder_takes_along_all_that_lies_in_it_and_nothing_else_changes() {
    let (client, top) = (Server::shared().user("editor"), own_folder());
    let story = client.story(&format!("{top}/from/deep/er"), "a.xml");
    let (from, target) = (folder(&client, &format!("{top}/from")), folder(&client, &format!("{top}/to")));
    let before = client.call("object-get", &[&story]).ok();
    let drawer = client.drawer(&top, "drawer", 5);
    client.call("drawer-item-post", &[&drawer, &story]).ok();

    let reply = to(&client, &from, &format!("{top}/to")).ok();
    assert_eq!((&reply["id"], &reply["name"]), (&json!(from), &json!("from")));
    assert_eq!(path(&client, &story), format!("{top}/to/from/deep/er/a.xml"));
    assert_eq!(client.call("object-get", &[&story]).ok(), before, "the object itself is as it was");
    assert_eq!(client.items(&drawer).len(), 1);
    rename(&client, &from, "other").ok();
    assert_eq!(path(&client, &story), format!("{top}/to/other/deep/er/a.xml"));
    client.call("object-get", &[&format!("{top}/from/deep/er/a.xml")]).fails(404, "ObjectNotFound");
    assert!(!client.story(&format!("{top}/from"), "b.xml").is_empty(), "its name is free");

    // Moves into itself, below itself, and to an object that is no folder.
    for inside in [format!("{top}/to/other"), format!("{top}/to/other/deep/er")] {
        to(&client, &from, &inside).fails(409, "InvalidForContainer");
    }
    to(&client, &from, &story).fails(400, "InvalidType");
    to(&client, &from, &format!("{top}/nowhere")).fails(404, "ObjectNotFound");
    to(&Server::shared().user("admin"), "/", &top).fails(409, "InvalidForContainer");
    let same = client.call("object-get", &[&from]).ok()["revision"].clone();
    assert_eq!(to(&client, &from, &format!("{top}/to")).ok()["revision"], same, "it is there already");
    let nowhere = client.call("stet-object-move-post", &[&from]).json(&json!({})).fails(400, "InvalidBody");
    assert_eq!(nowhere["details"]["path"], "$.folder");

    let here = client.story(&target, "same");
    let named = folder(&client, &format!("{top}/more/same"));
    to(&client, &named, &target).fails(409, "DuplicatedName");
    let body = json!({ "folder": target, "createMode": "AUTO_RENAME" });
    assert_eq!(client.call("stet-object-move-post", &[&named]).json(&body).ok()["name"], "same (2)");
    assert_eq!(path(&client, &here), format!("{top}/to/same"));
}

#[test]
fn a_tag_and_a_lock_hold_an_object_where_it_is() {
    let (client, top) = (Server::shared().user("editor"), own_folder());
    let (story, target) = (client.story(&top, "a.xml"), folder(&client, &format!("{top}/to")));
    let stale = client.call("object-get", &[&story]).send().header("etag").expect("it has a tag").to_owned();
    rename(&client, &story, "b.xml").ok();
    rename(&client, &story, "c.xml").header("if-match", &stale).fails(412, "PreconditionFailed");
    to(&client, &story, &target).header("if-match", &stale).fails(412, "PreconditionFailed");
    let other = Server::shared().user("admin");
    other.call("stet-object-lock-post", &[&story]).ok();
    rename(&client, &story, "c.xml").fails(403, "ObjectLocked");
    to(&client, &story, &target).fails(403, "ObjectLocked");
    // A locked object below a folder does not block it.
    rename(&client, &top, &top.replace('/', "-")).ok();
    assert_eq!(to(&other, &story, &target).ok()["id"], json!(story));
}

#[test]
fn rights_of_a_moved_object_follow_from_its_new_folder() {
    let server = Server::start();
    let admin = server.user("admin");
    let grant = |privilege: &str, folder: &str| json!({ "privilege": privilege, "folder": folder });
    for path in ["/Open", "/Inbox", "/Closed"] {
        folder(&admin, path);
    }
    let grants = [grant("read", "/Open"), grant("write", "/Open"), grant("read", "/Inbox"), grant("create", "/Inbox")];
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&group).ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.user("reporter");
    let story = admin.story("/Open/Sub", "a.xml");
    to(&reporter, "/Open/Sub", "/Closed").fails(404, "ObjectNotFound");
    to(&reporter, "/Open/Sub", "/Open/Sub").fails(403, "PermissionDenied");
    to(&reporter, "/Open/Sub", "/Inbox").ok();
    assert_eq!(path(&reporter, &story), "/Inbox/Sub/a.xml");
    rename(&reporter, &story, "b.xml").fails(403, "PermissionDenied");
    to(&admin, "/Inbox/Sub", "/Closed").ok();
    reporter.call("object-get", &[&story]).fails(404, "ObjectNotFound");
    rename(&reporter, &story, "b.xml").fails(404, "ObjectNotFound");
}

/// Checks that the depth below a moved object counts, as far as one step looks. Beyond that, an
/// object may not be moved deeper than it was.
#[test]
fn nothing_comes_to_lie_deeper_than_a_path_may_lead() {
    for (step, deeper) in [("1000", 200), ("1", 400)] {
        let server = Server::with(&[("LIMITS__PATH_DEPTH", "6"), ("RUNTIME__OBJECTS_PER_STEP", step)]);
        let client = server.user("admin");
        folder(&client, "/a/b/c/d/e");
        let story = client.story("/x/y/z", "s.xml");
        to(&client, "/x/y", "/a/b/c/d").fails(400, "InvalidPath");
        let answer = to(&client, "/x/y", "/a/b/c").send();
        assert_eq!(answer.status, deeper, "{step}");
        if deeper == 200 {
            assert_eq!(path(&client, &story), "/a/b/c/y/z/s.xml");
            to(&client, "/a/b/c/y", "/x").ok();
        }
        to(&client, "/x/y", "/a").ok();
        assert_eq!(path(&client, &story), "/a/y/z/s.xml");
        to(&client, &story, "/a/b/c/d/e").ok();
        assert_eq!(path(&client, &story), "/a/b/c/d/e/s.xml");
    }
}

/// Folders that go into each other at once would be cut off from the root; names that many want are
/// each one's own.
#[test]
fn concurrent_moves_and_renames_keep_the_tree_whole_and_names_unique() {
    let mut server = Server::start();
    let admin = server.user("admin");
    let folders: Vec<String> = (0..4).map(|number| folder(&admin, &format!("/Tree/{number}"))).collect();
    let stories: Vec<String> = (0..4).map(|number| admin.story(&format!("/Tree/{number}"), "a.xml")).collect();
    let root = folder(&admin, "/Tree");
    std::thread::scope(|scope| {
        for client in 0..6 {
            let (admin, folders, stories, root) = (server.user("admin"), &folders, &stories, &root);
            scope.spawn(move || {
                for round in 0..25 {
                    let (object, target) = (&folders[(client + round) % 4], &folders[(client * 3 + round * 7 + 1) % 4]);
                    let target = if round % 5 == 4 { root } else { target };
                    let body = json!({ "folder": target, "createMode": "AUTO_RENAME" });
                    let moved = admin.call("stet-object-move-post", &[object]).json(&body).send();
                    assert!([200, 409].contains(&moved.status), "{moved:?}");
                    let renamed = json!({ "name": format!("{}.xml", round % 3), "createMode": "AUTO_RENAME" });
                    admin.call("stet-object-rename-post", &[&stories[client % 4]]).json(&renamed).ok();
                    let story = json!({ "folder": folders[round % 4], "createMode": "AUTO_RENAME" });
                    admin.call("stet-object-move-post", &[&stories[(client + 1) % 4]]).json(&story).ok();
                }
            });
        }
    });
    let paths: HashSet<String> = folders.iter().chain(&stories).map(|object| path(&admin, object)).collect();
    assert_eq!(paths.len(), 8);
    assert!(paths.iter().all(|path| path.starts_with("/Tree/")), "{paths:?}");
    server.kill();
    let (code, told) = server.check();
    assert_eq!(code, Some(0), "{told}");
    let server = server.restart();
    let admin = server.user("admin");
    let after: HashSet<String> = folders.iter().chain(&stories).map(|object| path(&admin, object)).collect();
    assert_eq!(after, paths);
    let listed = admin.call("folder-filter-get", &[&"/Tree"]).query("recursive", true).ok();
    assert_eq!(listed["total"], 8);
}
