//! The rights of users to act on objects (docs/api/rights.md).

mod hidden;
mod homes;
mod meanwhile;

use serde_json::{Value, json};

use crate::harness::*;

/// A server whose `reporter` has all that editing takes below `/Desk`, and nothing elsewhere.
fn desk() -> (Server, Client, Client) {
    let server = Server::start();
    let admin = server.user("admin");
    admin.call("folder-post", &[]).json(&json!({ "path": "/Top/Desk" })).ok();
    admin.call("folder-post", &[]).json(&json!({ "path": "/Top/Other" })).ok();
    grant(&admin, &["read", "create", "write", "delete"]);
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.user("reporter");
    (server, admin, reporter)
}

fn grant(admin: &Client, privileges: &[&str]) {
    let privileges: Vec<Value> =
        privileges.iter().map(|privilege| json!({ "privilege": privilege, "folder": "/Top/Desk" })).collect();
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    if admin.call("group-create-post", &[]).json(&group).send().status == 409 {
        admin.call("group-update-post", &[]).json(&group).ok();
    }
}

/// A creation of a story in a folder.
fn new<'c>(client: &'c Client, folder: &str, name: &str, mode: &str) -> Call<'c> {
    let options = json!({ "name": name, "type": "Story", "folderPath": folder, "createMode": mode });
    let content: &[File<'_>] = &[("content", name, "text/xml", b"<story>new</story>")];
    client.call("stet-object-create-post", &[]).form(&options, content)
}

fn id_of(client: &Client, path: &str) -> String {
    client.call("object-get", &[&path]).ok()["id"].as_str().expect("a record has an id").to_owned()
}

fn names(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a listing has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

fn list(client: &Client, folder: &str) -> Value {
    client.call("folder-get", &[&folder]).ok()
}

#[test]
fn something_new_needs_create_where_it_goes() {
    let (_server, admin, reporter) = desk();
    reporter.story("/Top/Desk/new/folder", "a.xml");
    // The home, where objects without a folder are created.
    let options = json!({ "name": "home.xml", "type": "Story" });
    let home = json!({ "path": "/Users/reporter/home.xml" });
    reporter.call("stet-object-create-post", &[]).form(&options, &[]).gives(&home);
    reporter.call("drawer-automatic-post", &[]).ok();
    // Whether a path leads anywhere makes no difference.
    let upload = |folder: &str| {
        let error = new(&reporter, folder, "b.xml", "EXCEPTION").fails(403, "PermissionDenied");
        error["message"].as_str().expect("an error has a message").replace(&format!("`{folder}`"), "`*`")
    };
    let messages = ["/Top", "/Top/Other", "/Top/Other/deeper", "/Top/Nowhere/x", "/Nowhere"].map(upload);
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    reporter.call("folder-post", &[]).json(&json!({ "path": "/Top/Other/x" })).fails(403, "PermissionDenied");
    reporter.call("drawer-post", &[]).json(&json!({ "folder": "/Top/Other" })).fails(403, "PermissionDenied");
    let other = id_of(&admin, "/Top/Other");
    reporter.call("folder-post", &[]).json(&json!({ "name": "x", "folder": other })).fails(404, "ObjectNotFound");
    assert_eq!(names(&list(&admin, "/Top/Other")), Vec::<String>::new());
}

#[test]
fn a_right_goes_with_the_folder_and_not_with_its_path() {
    let (server, admin, reporter) = desk();
    let story = reporter.story("/Top/Desk", "a.xml");
    let old = id_of(&admin, "/Top/Desk");
    admin.call("object-discard", &[&old]).ok();
    reporter.call("object-get", &[&story]).fails(404, "ObjectNotFound");
    admin.call("folder-post", &[]).json(&json!({ "path": "/Top/Desk" })).ok();
    reporter.call("object-get", &[&"/Top/Desk"]).fails(404, "ObjectNotFound");
    new(&reporter, "/Top/Desk", "b.xml", "EXCEPTION").fails(403, "PermissionDenied");
    let back = json!({ "createMode": "AUTO_RENAME" });
    let back = admin.call("stet-object-restore-post", &[&old]).json(&back).ok();
    let path = back["path"].as_str().expect("it has a path").to_owned();
    assert_ne!(path, "/Top/Desk");
    let server = server.restart();
    let reporter = reporter.to(&server);
    assert_eq!(names(&list(&reporter, &path)), ["a.xml"]);
    reporter.story(&path, "b.xml");
}

#[test]
fn users_with_only_create_change_and_discard_only_their_own_objects() {
    let server = Server::start();
    let (editor, contributor) = (server.user("editor"), server.user("contributor"));
    let own = contributor.story("/News/Culture", "mine.xml");
    let others = editor.story("/News/Culture", "theirs.xml");
    let version = |name: &str, mode: &str| new(&contributor, "/News/Culture", name, mode);
    for mode in ["REPLACE", "NEW_VERSION"] {
        assert_eq!(version("mine.xml", mode).ok()["id"], json!(own));
        let before = editor.call("object-get", &[&others]).ok();
        let refused = version("theirs.xml", mode).fails(403, "PermissionDenied");
        assert_eq!(refused["details"]["privilege"], "write", "{refused}");
        assert_eq!(editor.call("object-get", &[&others]).ok(), before);
    }
    contributor.call("object-discard", &[&others]).fails(403, "PermissionDenied");
    contributor.call("object-destroy", &[&own]).fails(403, "PermissionDenied");
    contributor.call("object-discard", &[&own]).ok();
    contributor.call("stet-object-restore-post", &[&own]).ok();
    // A drawer of one's own, and one that is not.
    let drawer = contributor.drawer("/News/Culture", "clips", 5);
    let add = |drawer: &str| contributor.call("drawer-item-post", &[&drawer, &others]).send();
    add(&drawer).ok();
    let city = id_of(&editor, "/Drawers/city-desk");
    let before = editor.items(&city);
    add(&city).fails(403, "PermissionDenied");
    contributor.call("drawer-item-move-put", &[&drawer, &others, &city]).fails(403, "PermissionDenied");
    assert_eq!((editor.items(&city), editor.items(&drawer)), (before, vec![others]));
    // A folder may hold what others put there.
    contributor.call("folder-post", &[]).json(&json!({ "path": "/News/Culture/shared" })).ok();
    contributor.call("object-discard", &[&"/News/Culture/shared"]).fails(403, "PermissionDenied");
}

#[test]
fn without_read_no_other_privilege_holds() {
    let (_server, admin, reporter) = desk();
    let story = admin.story("/Top/Desk", "a.xml");
    grant(&admin, &["create", "write", "delete"]);
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION", "AUTO_RENAME"] {
        let error = new(&reporter, "/Top/Desk", "a.xml", mode).fails(403, "PermissionDenied");
        assert_eq!(error["details"]["existing"], Value::Null);
    }
    reporter.call("folder-post", &[]).json(&json!({ "path": "/Top/Desk" })).fails(403, "PermissionDenied");
    reporter.call("object-discard", &[&story]).fails(404, "ObjectNotFound");
}

/// Covers a bundle whose creator may only create, and whose members were created by others.
#[test]
fn bundle_creators_move_and_discard_only_what_they_created() {
    let server = Server::start();
    let (editor, contributor) = (server.user("editor"), server.user("contributor"));
    let bundle = |client: &Client, folder: &str, name: &str| {
        let options = json!({ "name": name, "type": "CompoundStory", "folder": folder });
        let made = client.call("stet-object-create-post", &[]).form(&options, &[]).ok();
        made["id"].as_str().expect("an object has an id").to_owned()
    };
    let copy = |client: &Client, bundle: &String| {
        let made =
            client.call("container-bundle-channelcopy-post", &[bundle]).json(&json!({ "channel": "Tabloid" })).ok();
        made["id"].as_str().expect("an object has an id").to_owned()
    };
    let relocate = |client: &Client, object: &String, to: &str| {
        client.call("stet-object-move-post", &[object]).json(&json!({ "folderPath": to })).send()
    };
    contributor.call("folder-post", &[]).json(&json!({ "path": "/Users/contributor" })).ok();
    let outer = bundle(&contributor, "/News/Culture", "outer");
    let inner = bundle(&contributor, &outer, "inner");
    let theirs = copy(&editor, &inner);
    contributor.call("object-discard", &[&theirs]).fails(403, "PermissionDenied");
    for object in [&outer, &inner] {
        contributor.call("object-discard", &[object]).fails(403, "PermissionDenied");
        let bulk = contributor.call("objects-discard", &[]).json(&json!({ "sources": [object] })).ok();
        assert_eq!((bulk["items"].as_array().map(Vec::len), &bulk["errors"][0]["source"]), (Some(0), &json!(object)));
        relocate(&contributor, object, "/Users/contributor").fails(403, "PermissionDenied");
    }
    editor.call("object-get", &[&theirs]).ok();
    // It is still theirs to work on.
    let rename = contributor.call("stet-object-rename-post", &[&outer]).json(&json!({ "name": "feature" }));
    rename.ok();
    copy(&contributor, &outer);
    // They can't restore it elsewhere either, if another user has discarded it.
    editor.call("object-discard", &[&outer]).ok();
    let restore = |client: &Client, body: Value| client.call("stet-object-restore-post", &[&outer]).json(&body).send();
    restore(&contributor, json!({ "folderPath": "/Users/contributor" })).fails(403, "PermissionDenied");
    restore(&contributor, json!({})).fails(403, "PermissionDenied");
    restore(&editor, json!({})).ok();
    // All theirs again.
    editor.call("object-discard", &[&theirs]).ok();
    relocate(&contributor, &inner, "/Users/contributor").ok();
    contributor.call("object-discard", &[&outer]).ok();
    restore(&contributor, json!({})).ok();
}

/// Regression test: the creator of a bundle could overwrite members that others had created, by a
/// creation under their name. Every other change of them was refused.
#[test]
fn bundle_creators_overwrite_nothing_that_others_made_in_it() {
    let server = Server::start();
    let (editor, contributor) = (server.user("editor"), server.user("contributor"));
    let create = |client: &Client, place: Value, name: &str, mode: &str| {
        let mut options = json!({ "name": name, "type": "CompoundStory", "createMode": mode });
        options.as_object_mut().expect("it is one").extend(place.as_object().expect("it is one").clone());
        let content: &[File<'_>] = &[("content", name, "text/xml", b"<story/>")];
        client.call("stet-object-create-post", &[]).form(&options, content).send()
    };
    let culture = json!({ "folderPath": "/News/Culture" });
    let outer = create(&contributor, culture, "outer", "EXCEPTION").ok()["id"].clone();
    let by_loid = json!({ "folder": outer });
    let theirs = create(&editor, by_loid.clone(), "theirs", "EXCEPTION").ok();
    create(&contributor, by_loid.clone(), "mine", "EXCEPTION").ok();
    for place in [by_loid, json!({ "folderPath": "/News/Culture/outer" })] {
        for mode in ["REPLACE", "NEW_VERSION"] {
            let refused = create(&contributor, place.clone(), "theirs", mode).fails(403, "PermissionDenied");
            assert_eq!(refused["details"]["privilege"], "write", "{refused}");
            // Objects that they created themselves are still theirs there. Users who may write
            // there may overwrite them.
            create(&contributor, place.clone(), "mine", mode).ok();
            create(&editor, place.clone(), "mine", mode).ok();
        }
    }
    let now = editor.call("object-get", &[&theirs["id"].as_str().expect("an object has an id")]).ok();
    assert_eq!((&now["version"], &now["revision"]), (&theirs["version"], &theirs["revision"]));
}

/// Regression test: a group saved as it was read got another grant. A folder of the archive became
/// the folder of that path in the main database.
#[test]
fn grants_can_be_sent_back_as_shown_in_any_database() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let admin = server.user("admin");
    let folder = |database: u64| {
        let body = json!({ "path": "/News/Archived", "databaseId": database });
        admin.call("folder-post", &[]).json(&body).ok()["info"]["id"].as_str().expect("it has an id").to_owned()
    };
    let (here, there) = (folder(1), folder(2));
    let read = |folder: &str| json!([{ "privilege": "read", "folder": folder }]);
    let group = json!({ "groupName": "archivists", "members": [], "privileges": read(&there) });
    let shown = admin.call("group-create-post", &[]).json(&group).ok();
    assert_eq!(shown["privileges"], read(&there));
    let again = admin.call("group-update-post", &[]).json(&shown).ok();
    assert_eq!(again["privileges"], read(&there));
    let key = json!({ "name": "feed", "user": "admin", "privileges": read(&there) });
    assert_eq!(admin.call("stet-key-create-post", &[]).json(&key).ok()["key"]["privileges"], read(&there));
    // What a path leads to is shown by it.
    let main = json!({ "groupName": "archivists", "privileges": read(&here) });
    assert_eq!(admin.call("group-update-post", &[]).json(&main).ok()["privileges"], read("/News/Archived"));
    // The empty field of a form does not grant everything to everybody.
    let empty = json!({ "groupName": "archivists", "privileges": read("") });
    admin.call("group-update-post", &[]).json(&empty).fails(400, "InvalidParameter");
}
