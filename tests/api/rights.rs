//! Who may do what with which object (docs/api/rights.md).

use std::io::{Read, Write};

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
fn without_read_no_other_privilege_holds() {
    let (_server, admin, reporter) = desk();
    let story = admin.story("/Top/Desk", "a.xml");
    grant(&admin, &["create", "write", "delete"]);
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION", "AUTO_RENAME"] {
        let options = json!({ "name": "a.xml", "type": "Story", "folderPath": "/Top/Desk", "createMode": mode });
        let error = reporter.upload("/v3/object/create", &options, None).fails(403, "PermissionDenied");
        assert_eq!(error["details"]["existing"], Value::Null);
    }
    reporter.post("/v3/folder", &json!({ "path": "/Top/Desk" })).fails(403, "PermissionDenied");
    reporter.delete(&format!("{}/discard", object(&story))).fails(404, "ObjectNotFound");
}

#[test]
fn what_lies_in_the_recycle_bin_is_not_there_for_those_who_may_not_bring_it_back() {
    let (_server, admin, reporter) = desk();
    grant(&admin, &["read", "create"]);
    let drawer = admin.drawer("/Top/Desk", "gone", 5);
    let path = format!("/v3/container/drawer/{drawer}");
    let etag = admin.get(&path).header("etag").expect("a drawer has an ETag").to_owned();
    admin.delete(&format!("{}/discard", object(&drawer))).ok();
    reporter.delete(&format!("{}/discard", object(&drawer))).fails(404, "ObjectNotFound");
    reporter.put(&path, &json!({ "title": "x" })).fails(404, "ObjectNotFound");
    // Nor does a precondition tell of it.
    for tag in [etag.as_str(), "\"1-0\""] {
        for client in [&admin, &reporter] {
            client.send("PUT", &path, &[("if-match", tag)], b"{\"title\":\"x\"}").fails(404, "ObjectNotFound");
        }
    }
}

#[test]
fn a_home_that_is_missing_is_made_for_whoever_may_create_anywhere() {
    let (server, admin, _) = desk();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["desk"] });
    admin.post("/v3/user", &user).ok();
    let login =
        json!({ "connectionId": "Editorial", "applicationId": "t", "username": "newcomer", "password": "a good one" });
    let mut newcomer = server.client();
    newcomer.token = newcomer.post("/v3/auth/login", &login).ok()["token"]["value"].as_str().map(str::to_owned);
    newcomer.get("/v3/folder/home").fails(404, "ObjectNotFound");
    newcomer.post("/v3/folder", &json!({ "path": "/Users/other" })).fails(403, "PermissionDenied");
    newcomer.post("/v3/folder", &json!({ "path": "/Users/newcomers" })).fails(403, "PermissionDenied");
    newcomer.post("/v3/container/drawer/automatic", &json!({})).ok();
    assert_eq!(names(&newcomer.get("/v3/folder/home").ok()), ["Clipboard"]);
}

#[test]
fn what_a_session_may_do_is_decided_when_its_body_has_come() {
    let (_server, admin, reporter) = desk();
    let options = json!({ "name": "late.xml", "type": "Story", "folderPath": "/Top/Desk" }).to_string();
    let part = format!("--x\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
    let head = format!(
        "POST /v3/object/create HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reporter.token.as_deref().expect("it is logged in"),
        part.len() + "--x--\r\n".len(),
    );
    let mut stream = std::net::TcpStream::connect(reporter.base.trim_start_matches("http://")).expect("it listens");
    stream.write_all(format!("{head}{part}").as_bytes()).expect("it reads");
    // By now the head has been looked at: it came before this call.
    reporter.get(&object("/Top/Desk")).ok();
    grant(&admin, &["read"]);
    stream.write_all(b"--x--\r\n").expect("it reads on");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(names(&list(&admin, "/Top/Desk")), Vec::<String>::new());
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
    // Places are counted among them, coming and going.
    assert_eq!(reply["items"][0]["position"], 0);
    let page = reporter.get(&format!("{path}?showItems=true&limit=1")).ok();
    assert_eq!(page["items"][0]["source"], json!(seen));
    // The reply to a change neither.
    let put = format!("{path}/item/{}/position/0", encoded(&more));
    let reply = reporter.put(&put, &json!({})).ok();
    assert_eq!((&reply["info"]["count"], &reply["items"][0]["position"]), (&json!(2), &json!(0)));
    assert_eq!(reporter.items(&drawer), [more.clone(), seen.clone()]);
    assert_eq!(admin.items(&drawer), [hidden.clone(), more.clone(), seen.clone()]);
    let put = format!("{path}/item/{}/position/7", encoded(&more));
    assert_eq!(reporter.put(&put, &json!({})).ok()["items"][0]["position"], 1);
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone(), more.clone()]);
    // A position that is none is named as it was sent, among those that they see.
    let items = reporter.get(&format!("{path}?showItems=true")).ok()["items"].clone();
    let own = items[0]["id"].as_str().expect("an item has an id").to_owned();
    let refused = reporter.put(&format!("{path}/shortcut/{own}/position/2"), &json!({}));
    let refused = refused.fails(400, "InvalidParameter")["message"].clone();
    assert_eq!(refused, "`position` must be between 0 and 1, or -1 for the tail, but is `2`.");
    reporter.put(&format!("{path}/shortcut/{own}/position/1"), &json!({})).ok();
    reporter.put(&format!("{path}/shortcut/{own}/position/0"), &json!({})).ok();
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone(), more.clone()]);
    // Nor does a capacity that is too small for all of them tell how many there are.
    let refused = reporter.put(&path, &json!({ "capacity": 2 })).fails(400, "InvalidParameter")["message"].clone();
    assert_eq!(refused, "`capacity` must be at least the present count, but is `2`.");
    // Nor is it there under its shortcut id, which is no secret.
    let shortcut = admin.get(&format!("{path}?showItems=true")).ok()["items"][0]["id"].clone();
    let shortcut = shortcut.as_str().expect("an item has an id").to_owned();
    let message = |error: &Value, id: &str| error["message"].as_str().map(|text| text.replace(id, "*"));
    let other = reporter.drawer("/Top/Desk", "other", 5);
    for (method, rest) in [("DELETE", String::new()), ("PUT", format!("/move/{other}"))] {
        let there =
            reporter.send(method, &format!("{path}/item/{shortcut}{rest}"), &[], b"").fails(404, "ObjectNotFound");
        let not = reporter.send(method, &format!("{path}/item/99999999{rest}"), &[], b"").fails(404, "ObjectNotFound");
        assert_eq!(message(&there, &shortcut), message(&not, "99999999"));
    }
    reporter.put(&format!("{path}/shortcut/{shortcut}/position/1"), &json!({})).fails(404, "ObjectNotFound");
    let gone = reporter.delete_with(&format!("{path}/item"), &json!({ "sources": [shortcut] })).ok();
    assert_eq!(gone["errors"][0]["code"], "CMS.ObjectNotFound");
    assert_eq!(admin.items(&drawer).len(), 3);
    reporter.post(&format!("{path}/item/{}", encoded(&hidden)), &json!({})).fails(404, "ObjectNotFound");
    reporter.post(&format!("{path}/item"), &json!({ "sources": [hidden] })).fails(404, "ObjectNotFound");
    // A drawer that may not be read is in no list of those that hold an object.
    let other = admin.drawer("/Top/Other", "elsewhere", 10);
    admin.post(&format!("/v3/container/drawer/{other}/item/{}", encoded(&seen)), &json!({})).ok();
    let holders =
        |client: &Client| client.get(&format!("/v3/container/drawer/object/{}", encoded(&seen))).ok()["total"].clone();
    assert_eq!((holders(&reporter), holders(&admin)), (json!(1), json!(2)));
}
