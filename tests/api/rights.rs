//! Who may do what with which object (decisions 4).

use serde_json::{Value, json};

use crate::harness::*;

/// A server whose `reporter` has all that editing takes below `/Desk`, and nothing elsewhere.
fn desk() -> (Server, Client, Client) {
    let server = Server::start();
    let admin = server.login("admin");
    admin.post("/v3/folder", &json!({ "path": "/Top/Desk" })).ok();
    admin.post("/v3/folder", &json!({ "path": "/Top/Other" })).ok();
    grant(&admin, &["read", "create", "write", "delete"]);
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    (server, admin, reporter)
}

fn grant(admin: &Client, privileges: &[&str]) {
    let privileges: Vec<Value> =
        privileges.iter().map(|privilege| json!({ "privilege": privilege, "folder": "/Top/Desk" })).collect();
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    let made = admin.post("/v3/group/create", &group);
    if made.status == 409 {
        admin.post("/v3/group/update", &group).ok();
    }
}

fn object(source: &str) -> String {
    format!("/v3/object/{}", encoded(source))
}

fn names(reply: &Value) -> Vec<String> {
    let items = reply["items"].as_array().expect("a listing has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

fn list(client: &Client, folder: &str) -> Value {
    client.get(&format!("/v3/folder/{}", encoded(folder))).ok()
}

#[test]
fn a_change_of_a_group_holds_from_the_next_request_on_in_every_session() {
    let (server, admin, one) = desk();
    let two = server.login("reporter");
    let story = admin.story("/Top/Desk", "a.xml");
    for client in [&one, &two] {
        client.get(&object(&story)).ok();
    }
    one.delete(&format!("{}/destroy", object(&story))).fails(403, "PermissionDenied");
    grant(&admin, &["read", "destroy"]);
    one.delete(&format!("{}/destroy", object(&story))).ok();
    let story = admin.story("/Top/Desk", "b.xml");
    grant(&admin, &["destroy"]);
    for client in [&one, &two] {
        client.get(&object(&story)).fails(403, "PermissionDenied");
    }
    admin.post("/v3/group/update", &json!({ "groupName": "desk", "members": [] })).ok();
    two.delete(&format!("{}/destroy", object(&story))).fails(403, "PermissionDenied");
    admin.get(&object(&story)).ok();
}

#[test]
fn what_may_not_be_read_is_not_there_by_any_of_its_names() {
    let (_server, admin, reporter) = desk();
    let story = admin.story("/Top/Other", "a.xml");
    let record = admin.get(&object(&story)).ok();
    let uuid = record["pstate"]["uuid"].as_str().expect("a record has a uuid").to_owned();
    let missing = reporter.get(&object("1$1.0.999999999")).fails(404, "ObjectNotFound");
    for (source, like) in [
        (story.clone(), "1$1.0.999999999"),
        (uuid, "01890000-0000-7000-8000-000000000000"),
        ("/Top/Other/a.xml".to_owned(), "/Top/Other/b.xml"),
    ] {
        let there = reporter.get(&object(&source)).fails(404, "ObjectNotFound");
        let not = reporter.get(&object(like)).fails(404, "ObjectNotFound");
        let message = |error: &Value, source: &str| error["message"].as_str().map(|text| text.replace(source, "*"));
        assert_eq!(message(&there, &source), message(&not, like));
    }
    assert_eq!(missing["details"], Value::Null);
    // In lists, too, and to those who would remove it.
    let body = json!({ "sources": [story, "1$1.0.999999999"] });
    for reply in [reporter.post("/v3/object", &body).ok(), reporter.delete_with("/v3/object/discard", &body).ok()] {
        assert_eq!(reply["items"], json!([]));
        assert_eq!(reply["errors"][0]["code"], "CMS.ObjectNotFound");
        assert_eq!(reply["errors"][1]["code"], "CMS.ObjectNotFound");
    }
    // From the recycle bin as before it.
    admin.delete(&format!("{}/discard", object(&story))).ok();
    reporter.post(&format!("{}/restore", object(&story)), &json!({})).fails(404, "ObjectNotFound");
    admin.post(&format!("{}/restore", object(&story)), &json!({})).ok();
}

#[test]
fn folders_on_the_way_are_seen_and_nothing_else_in_them() {
    let (_server, admin, reporter) = desk();
    admin.story("/Top", "secret.xml");
    admin.story("/Top/Desk", "a.xml");
    assert_eq!(names(&list(&reporter, "/Top")), ["Desk"]);
    assert_eq!(list(&reporter, "/Top")["total"], 1);
    assert_eq!(names(&list(&admin, "/Top")), ["Desk", "Other", "secret.xml"]);
    assert_eq!(names(&list(&reporter, "/Top/Desk")), ["a.xml"]);
    // The root leads to the desk and to the home.
    assert_eq!(names(&list(&reporter, "/")), ["Top", "Users"]);
    assert_eq!(names(&list(&reporter, "/Users")), ["reporter"]);
    // How much there is in such a folder is told to nobody who may not read it.
    for record in [
        list(&reporter, "/Top")["info"].clone(),
        list(&reporter, "/")["items"][0].clone(),
        reporter.get(&object("/Top")).ok(),
    ] {
        assert!(record.get("virtualAttributes").is_none(), "{record}");
    }
    assert!(list(&reporter, "/Top/Desk")["info"]["virtualAttributes"].is_object());
    reporter.delete(&format!("{}/discard", object("/Top"))).fails(403, "PermissionDenied");
}

#[test]
fn something_new_needs_create_where_it_goes() {
    let (_server, admin, reporter) = desk();
    reporter.story("/Top/Desk/new/folder", "a.xml");
    // The home, where what nobody gives a place goes.
    let options = json!({ "name": "home.xml", "type": "Story" });
    let made = reporter.upload("/v3/object/create", &options, None).ok();
    assert_eq!(made["path"], "/Users/reporter/home.xml");
    reporter.post("/v3/container/drawer/automatic", &json!({})).ok();
    // Whether a path leads anywhere makes no difference.
    let upload = |folder: &str| {
        let options = json!({ "name": "b.xml", "type": "Story", "folderPath": folder });
        reporter.upload("/v3/object/create", &options, None).fails(403, "PermissionDenied")["message"].clone()
    };
    let messages = ["/Top", "/Top/Other", "/Top/Other/deeper", "/Top/Nowhere/x", "/Nowhere"].map(upload);
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    reporter.post("/v3/folder", &json!({ "path": "/Top/Other/x" })).fails(403, "PermissionDenied");
    reporter.post("/v3/container/drawer", &json!({ "folder": "/Top/Other" })).fails(403, "PermissionDenied");
    let other = admin.get(&object("/Top/Other")).ok()["id"].as_str().expect("it has an id").to_owned();
    reporter.post("/v3/folder", &json!({ "name": "x", "folder": other })).fails(404, "ObjectNotFound");
    assert_eq!(names(&list(&admin, "/Top/Other")), Vec::<String>::new());
}

#[test]
fn a_right_goes_with_the_folder_and_not_with_its_path() {
    let (server, admin, reporter) = desk();
    let story = reporter.story("/Top/Desk", "a.xml");
    let old = admin.get(&object("/Top/Desk")).ok()["id"].as_str().expect("it has an id").to_owned();
    admin.delete(&format!("{}/discard", object(&old))).ok();
    reporter.get(&object(&story)).fails(404, "ObjectNotFound");
    admin.post("/v3/folder", &json!({ "path": "/Top/Desk" })).ok();
    reporter.get(&object("/Top/Desk")).fails(404, "ObjectNotFound");
    let options = json!({ "name": "b.xml", "type": "Story", "folderPath": "/Top/Desk" });
    reporter.upload("/v3/object/create", &options, None).fails(403, "PermissionDenied");
    let back = admin.post(&format!("{}/restore", object(&old)), &json!({ "createMode": "AUTO_RENAME" })).ok();
    let path = back["path"].as_str().expect("it has a path").to_owned();
    assert_ne!(path, "/Top/Desk");
    let server = server.restart();
    let reporter = reporter.to(&server);
    assert_eq!(names(&list(&reporter, &path)), ["a.xml"]);
    reporter.story(&path, "b.xml");
}

#[test]
fn who_may_only_create_changes_and_discards_what_they_created_and_nothing_else() {
    let server = Server::start();
    let (editor, contributor) = (server.login("editor"), server.login("contributor"));
    let own = contributor.story("/News/Culture", "mine.xml");
    let others = editor.story("/News/Culture", "theirs.xml");
    let version = |name: &str, mode: &str| {
        let options = json!({ "name": name, "type": "Story", "folderPath": "/News/Culture", "createMode": mode });
        contributor.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story>new</story>")))
    };
    for mode in ["REPLACE", "NEW_VERSION"] {
        assert_eq!(version("mine.xml", mode).ok()["id"], json!(own));
        let before = editor.get(&object(&others)).ok();
        version("theirs.xml", mode).fails(403, "PermissionDenied");
        assert_eq!(editor.get(&object(&others)).ok(), before);
    }
    contributor.delete(&format!("{}/discard", object(&others))).fails(403, "PermissionDenied");
    contributor.delete(&format!("{}/destroy", object(&own))).fails(403, "PermissionDenied");
    contributor.delete(&format!("{}/discard", object(&own))).ok();
    contributor.post(&format!("{}/restore", object(&own)), &json!({})).ok();
    // A drawer of one's own, and one that is not.
    let drawer = contributor.drawer("/News/Culture", "clips", 5);
    let add = |drawer: &str| {
        contributor.post(&format!("/v3/container/drawer/{drawer}/item/{}", encoded(&others)), &json!({}))
    };
    add(&drawer).ok();
    let city = editor.get(&object("/Drawers/city-desk")).ok()["id"].as_str().expect("it has an id").to_owned();
    let before = editor.items(&city);
    add(&city).fails(403, "PermissionDenied");
    let away = format!("/v3/container/drawer/{drawer}/item/{}/move/{}", encoded(&others), encoded(&city));
    contributor.put(&away, &json!({})).fails(403, "PermissionDenied");
    assert_eq!((editor.items(&city), editor.items(&drawer)), (before, vec![others]));
    // A folder may hold what others put there.
    contributor.post("/v3/folder", &json!({ "path": "/News/Culture/shared" })).ok();
    let shared = object("/News/Culture/shared");
    contributor.delete(&format!("{shared}/discard")).fails(403, "PermissionDenied");
}

#[test]
fn a_drawer_shows_of_its_items_only_those_that_may_be_read() {
    let (_server, admin, reporter) = desk();
    let drawer = admin.drawer("/Top/Desk", "mixed", 10);
    let hidden = admin.story("/Top/Other", "hidden.xml");
    let seen = admin.story("/Top/Desk", "seen.xml");
    let more = admin.story("/Top/Desk", "more.xml");
    let path = format!("/v3/container/drawer/{drawer}");
    admin.post(&format!("{path}/item"), &json!({ "sources": [hidden, seen] })).ok();
    let reply = reporter.get(&format!("{path}?showItems=true")).ok();
    assert_eq!((&reply["info"]["count"], reporter.items(&drawer)), (&json!(1), vec![seen.clone()]));
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone()]);
    // Nor does what others asked for come out of a cache, or the other way round.
    assert_eq!(reporter.items(&drawer), std::slice::from_ref(&seen));
    // The reply to a change neither.
    let reply = reporter.post(&format!("{path}/item/{}", encoded(&more)), &json!({})).ok();
    assert_eq!(reply["info"]["count"], 2);
    reporter.post(&format!("{path}/item/{}", encoded(&hidden)), &json!({})).fails(404, "ObjectNotFound");
    reporter.post(&format!("{path}/item"), &json!({ "sources": [hidden] })).fails(404, "ObjectNotFound");
    // A drawer that may not be read is in no list of those that hold an object.
    let other = admin.drawer("/Top/Other", "elsewhere", 10);
    admin.post(&format!("/v3/container/drawer/{other}/item/{}", encoded(&seen)), &json!({})).ok();
    let holders =
        |client: &Client| client.get(&format!("/v3/container/drawer/object/{}", encoded(&seen))).ok()["total"].clone();
    assert_eq!((holders(&reporter), holders(&admin)), (json!(1), json!(2)));
}
