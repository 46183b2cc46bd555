//! Who may do what with which object (docs/api/rights.md).

use std::io::{Read, Write};

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
fn a_change_of_a_group_holds_from_the_next_request_on_in_every_session() {
    let (server, admin, one) = desk();
    let two = server.login("reporter");
    let story = admin.story("/Top/Desk", "a.xml");
    for client in [&one, &two] {
        client.call("object-get", &[&story]).ok();
    }
    let destroy = one.call("object-destroy", &[&story]);
    destroy.fails(403, "PermissionDenied");
    grant(&admin, &["read", "destroy"]);
    destroy.ok();
    let story = admin.story("/Top/Desk", "b.xml");
    grant(&admin, &["destroy"]);
    for client in [&one, &two] {
        client.call("object-get", &[&story]).fails(403, "PermissionDenied");
    }
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "desk", "members": [] })).ok();
    two.call("object-destroy", &[&story]).fails(403, "PermissionDenied");
    admin.call("object-get", &[&story]).ok();
}

#[test]
fn what_may_not_be_read_is_not_there_by_any_of_its_names() {
    let (_server, admin, reporter) = desk();
    let story = admin.story("/Top/Other", "a.xml");
    let record = admin.call("object-get", &[&story]).ok();
    let uuid = record["pstate"]["uuid"].as_str().expect("a record has a uuid").to_owned();
    let missing = reporter.call("object-get", &[&"1$1.0.999999999"]).fails(404, "ObjectNotFound");
    for (source, like) in [
        (story.clone(), "1$1.0.999999999"),
        (uuid, "01890000-0000-7000-8000-000000000000"),
        ("/Top/Other/a.xml".to_owned(), "/Top/Other/b.xml"),
    ] {
        let there = reporter.call("object-get", &[&source]).fails(404, "ObjectNotFound");
        let not = reporter.call("object-get", &[&like]).fails(404, "ObjectNotFound");
        let message = |error: &Value, source: &str| error["message"].as_str().map(|text| text.replace(source, "*"));
        assert_eq!(message(&there, &source), message(&not, like));
    }
    assert_eq!(missing["details"], Value::Null);
    // In lists, too, and to those who would remove it.
    let body = json!({ "sources": [story, "1$1.0.999999999"] });
    let missing = json!({ "code": "CMS.ObjectNotFound" });
    for id in ["stet-object-list-post", "objects-discard"] {
        reporter.call(id, &[]).json(&body).gives(&json!({ "items": [], "errors": [missing, missing] }));
    }
    // From the recycle bin as before it.
    admin.call("object-discard", &[&story]).ok();
    reporter.call("stet-object-restore-post", &[&story]).fails(404, "ObjectNotFound");
    admin.call("stet-object-restore-post", &[&story]).ok();
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
        reporter.call("object-get", &[&"/Top"]).ok(),
    ] {
        assert!(record.get("virtualAttributes").is_none(), "{record}");
    }
    assert!(list(&reporter, "/Top/Desk")["info"]["virtualAttributes"].is_object());
    reporter.call("object-discard", &[&"/Top"]).fails(403, "PermissionDenied");
}

/// What it is linked with is found by its loid, and is nobody's who may not read it.
#[test]
fn links_of_a_folder_on_the_way_are_not_told() {
    let (_server, admin, reporter) = desk();
    let story = admin.story("/Top/Desk", "a.xml");
    let link = json!({ "sourceLinkName": "investigation", "targetLinkName": "leak", "targetSource": story });
    admin.call("stet-object-correlate-post", &[&"/Top"]).json(&link).ok();
    reporter.call("stet-object-correlates-get", &[&"/Top"]).fails(403, "PermissionDenied");
    let older = |client: &Client| client.call("stet-old-object-linked-get", &[]).query("id", "/Top").send();
    assert_eq!(older(&admin).bare()["count"], 1);
    assert_eq!(older(&reporter).status, 401);
    assert!(!String::from_utf8_lossy(&older(&reporter).body).contains("leak"));
}

#[test]
fn of_a_folder_on_the_way_no_change_shows() {
    let (_server, admin, reporter) = desk();
    let seen = || {
        let displayed = |call: Call<'_>| {
            let all = ["showUniquenessString", "showPath", "showAdditionalInfo", "showVirtualAttributes", "showXML"];
            let reply = all.iter().fold(call, |call, flag| call.query(flag, true)).send();
            assert_eq!(reply.status, 200);
            (reply.header("etag").map(str::to_owned), reply.body)
        };
        let sources = json!({ "sources": ["/Top", "/"] });
        [
            reporter.call("object-get", &[&"/Top"]),
            reporter.call("folder-get", &[&"/Top"]),
            reporter.call("folder-get", &[&"/"]).query("sortBy", "-lastModifier"),
            reporter.call("stet-object-versions-get", &[&"/Top"]),
            reporter.call("stet-object-list-post", &[]).json(&sources),
        ]
        .map(displayed)
    };
    let before = seen();
    let record = reporter.call("object-get", &[&"/Top"]).query("showUniquenessString", true).ok();
    includes(&record, &json!({ "name": "Top", "revision": 0, "version": 0, "locked": null, "locker": null }));
    assert_eq!((&record["modified"], &record["lastModifier"]), (&record["created"], &record["creator"]));
    for member in ["attributes", "systemAttributes", "usageTickets", "virtualAttributes"] {
        assert!(record.get(member).is_none(), "{record}");
    }
    let story = admin.story("/Top", "secret.xml");
    assert_eq!(seen(), before);
    admin.call("object-discard", &[&story]).ok();
    assert_eq!(seen(), before);
    admin.call("stet-object-lock-post", &[&"/Top"]).ok();
    assert_eq!(seen(), before);
    let changed = json!({ "lastModifier": "admin", "locker": { "id": "admin" } });
    assert!(admin.call("object-get", &[&"/Top"]).gives(&changed)["revision"].as_u64() > Some(1));
    // What is told changes the tag.
    let tag = &before[1].0;
    admin.call("folder-post", &[]).json(&json!({ "path": "/Top/Desk/inner" })).ok();
    assert_ne!(reporter.call("folder-get", &[&"/Top"]).send().header("etag"), tag.as_deref());
}

#[test]
fn something_new_needs_create_where_it_goes() {
    let (_server, admin, reporter) = desk();
    reporter.story("/Top/Desk/new/folder", "a.xml");
    // The home, where what nobody gives a place goes.
    let options = json!({ "name": "home.xml", "type": "Story" });
    let home = json!({ "path": "/Users/reporter/home.xml" });
    reporter.call("stet-object-create-post", &[]).form(&options, &[]).gives(&home);
    reporter.call("drawer-automatic-post", &[]).ok();
    // Whether a path leads anywhere makes no difference.
    let upload =
        |folder: &str| new(&reporter, folder, "b.xml", "EXCEPTION").fails(403, "PermissionDenied")["message"].clone();
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
fn who_may_only_create_changes_and_discards_what_they_created_and_nothing_else() {
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

#[test]
fn what_lies_in_the_recycle_bin_is_not_there_for_those_who_may_not_bring_it_back() {
    let (_server, admin, reporter) = desk();
    grant(&admin, &["read", "create"]);
    let drawer = admin.drawer("/Top/Desk", "gone", 5);
    let etag = admin.call("drawer-get", &[&drawer]).send().header("etag").expect("a drawer has an ETag").to_owned();
    admin.call("object-discard", &[&drawer]).ok();
    reporter.call("object-discard", &[&drawer]).fails(404, "ObjectNotFound");
    let put = reporter.call("drawer-put", &[&drawer]).json(&json!({ "title": "x" }));
    put.fails(404, "ObjectNotFound");
    // Nor does a precondition tell of it.
    for tag in [etag.as_str(), "\"1-0\""] {
        for client in [&admin, &reporter] {
            put.clone().by(client).header("if-match", tag).fails(404, "ObjectNotFound");
        }
    }
}

#[test]
fn a_name_that_a_hidden_object_has_is_taken_and_nothing_is_told_of_that_object() {
    let (_server, admin, reporter) = desk();
    let folder = |path: &str| {
        let made = admin.call("folder-post", &[]).json(&json!({ "path": path })).ok();
        made["info"]["id"].as_str().expect("a folder has an id").to_owned()
    };
    // The grant is on the folder that is discarded, not on the one that has its name since.
    let mine = id_of(&admin, "/Top/Desk");
    reporter.call("object-discard", &[&mine]).ok();
    let hidden = folder("/Top/Desk");
    let restore = |client: &Client| client.call("stet-object-restore-post", &[&mine]).fails(409, "DuplicatedName");
    assert_eq!(restore(&admin)["details"]["existing"], hidden);
    let error = restore(&reporter);
    assert!(error.get("details").is_none() && !error.to_string().contains(&hidden), "{error}");
}

#[test]
fn a_home_that_is_missing_is_made_for_whoever_may_create_anywhere() {
    let (server, admin, _) = desk();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["desk"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let home = newcomer.call("folder-home-get", &[]);
    home.fails(404, "ObjectNotFound");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/other" })).fails(403, "PermissionDenied");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/newcomers" })).fails(403, "PermissionDenied");
    newcomer.call("drawer-automatic-post", &[]).ok();
    assert_eq!(names(&home.ok()), ["Clipboard"]);
}

#[test]
fn a_home_may_be_made_by_its_own_path_and_under_no_other_name() {
    let (server, admin, _) = desk();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["desk"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let make = |body: Value| newcomer.call("folder-post", &[]).json(&body).send();
    for name in ["other", "newcomers"] {
        make(json!({ "path": format!("/Users/{name}") })).fails(403, "PermissionDenied");
        make(json!({ "name": name, "folderPath": "/Users" })).fails(403, "PermissionDenied");
    }
    let home = make(json!({ "path": "/Users/newcomer" })).ok()["info"]["id"].clone();
    assert_eq!(newcomer.call("folder-home-get", &[]).ok()["info"]["id"], home);
    // One that exists is the answer, and nothing is made beside it.
    assert_eq!(make(json!({ "name": "newcomer", "folderPath": "/Users" })).ok()["info"]["id"], home);
    make(json!({ "path": "/Users/newcomer", "createMode": "AUTO_RENAME" })).fails(409, "DuplicatedName");
    // It gives nothing to who may create nowhere.
    grant(&admin, &["read"]);
    make(json!({ "path": "/Users/newcomer" })).fails(403, "PermissionDenied");
}

/// Who may only create has made a bundle, and others what lies in it.
#[test]
fn who_created_a_bundle_takes_along_only_what_they_created() {
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
    // Nor can they bring it back elsewhere, when somebody else has discarded it.
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

#[test]
fn homes_are_in_the_main_database_and_in_no_other() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let admin = server.user("admin");
    let privileges = json!([
        { "privilege": "read", "folder": "/News/Sport" },
        { "privilege": "create", "folder": "/News/Sport" },
    ]);
    let group = json!({ "groupName": "sport", "members": [], "privileges": privileges });
    admin.call("group-create-post", &[]).json(&group).ok();
    let user = json!({ "name": "newcomer", "password": "a good one", "groups": ["sport"] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let newcomer = server.client_with(&server.log_in("newcomer", "a good one").ok()["token"]["value"]);
    let there = json!({ "path": "/Users/newcomer/there", "databaseId": 2 });
    // Whether anybody has put something there makes no difference.
    for _ in 0..2 {
        for path in ["/Users/newcomer", "/Users/newcomer/there/x", "/Users/newcomer/other", "/Users/other"] {
            let refuse = |id: &str, body: Value| {
                newcomer.call(id, &[]).json(&body).fails(403, "PermissionDenied");
            };
            refuse("folder-post", json!({ "path": path, "databaseId": 2 }));
            refuse("drawer-post", json!({ "name": "x", "folderPath": path, "databaseId": 2 }));
        }
        let own = json!({ "name": "x", "databaseId": 2 });
        newcomer.call("drawer-post", &[]).json(&own).fails(403, "PermissionDenied");
        admin.call("folder-post", &[]).json(&there).ok();
    }
    newcomer.call("folder-home-get", &[]).fails(404, "ObjectNotFound");
    newcomer.call("folder-post", &[]).json(&json!({ "path": "/Users/newcomer/notes" })).ok();
    let home = newcomer.call("folder-home-get", &[]).ok();
    assert_eq!(names(&home), ["notes"]);
    newcomer.call("folder-post", &[]).json(&there).fails(403, "PermissionDenied");
}

/// Saved as it was read, a group's grant for a folder of the archive became one for the folder of that path in the main database.
#[test]
fn a_grant_can_be_sent_back_as_it_is_shown_whatever_database_its_folder_is_of() {
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
    // The empty field of a form gives nobody everything.
    let empty = json!({ "groupName": "archivists", "privileges": read("") });
    admin.call("group-update-post", &[]).json(&empty).fails(400, "InvalidParameter");
}

/// Calls whose replies are too large to be kept, and so are made anew from what is there when they are sent again.
#[test]
fn a_call_sent_again_shows_nothing_of_what_has_been_moved_out_of_sight_since() {
    let (_server, admin, reporter) = desk();
    let folder = "/Top/Desk";
    new(&reporter, folder, "template.xml", "EXCEPTION").ok();
    let large = json!({ "m": { "h": "x".repeat(300_000) } });
    let options = |name: &str| json!({ "name": name, "folderPath": folder, "attributes": large });
    let template = format!("{folder}/template.xml");
    let file: &[File<'_>] = &[("content", "story.xml", "text/xml", b"<story>new</story>")];
    let calls = [
        reporter.call("stet-object-create-post", &[]).form(&options("story.xml"), file),
        reporter.call("drawer-post", &[]).json(&options("drawer")),
        reporter.call("liveblog-from-template-post", &[&template]).json(&options("night")),
    ];
    for (number, call) in calls.iter().enumerate() {
        let send = || call.clone().header("idempotency-key", format!("again-{number}")).ok();
        let made = send();
        let of = |reply: Value, member: &str| reply.get("info").unwrap_or(&reply)[member].clone();
        let loid = of(made, "id").as_str().expect("it has an id").to_owned();
        assert_eq!(of(send(), "id"), loid);
        admin.call("object-discard", &[&loid]).ok();
        admin.call("stet-object-restore-post", &[&loid]).json(&json!({ "folderPath": "/Top/Other" })).ok();
        reporter.call("object-get", &[&loid]).fails(404, "ObjectNotFound");
        // No more than which it was.
        let told = if number == 0 { json!({ "id": loid }) } else { json!({ "info": { "id": loid }, "items": [] }) };
        assert_eq!(send(), told);
    }
}

#[test]
fn what_a_session_may_do_is_decided_when_its_body_has_come() {
    let (_server, admin, reporter) = desk();
    let options = json!({ "name": "late.xml", "type": "Story", "folderPath": "/Top/Desk" }).to_string();
    let part = format!("--x\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n");
    let head = format!(
        "POST /v3/object/create HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reporter.token(),
        part.len() + "--x--\r\n".len(),
    );
    let mut stream = std::net::TcpStream::connect(reporter.base.trim_start_matches("http://")).expect("it listens");
    stream.write_all(format!("{head}{part}").as_bytes()).expect("it reads");
    // By now the head has been looked at: it came before this call.
    reporter.call("object-get", &[&"/Top/Desk"]).ok();
    grant(&admin, &["read"]);
    stream.write_all(b"--x--\r\n").expect("it reads on");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(names(&list(&admin, "/Top/Desk")), Vec::<String>::new());
}

/// A path may come to lead to another object while a body is held back: what has been there is not written, whatever lies there now.
#[test]
fn what_is_written_is_what_the_caller_may_write_when_the_body_has_come() {
    let (_server, admin, reporter) = desk();
    let make = || {
        let body = json!({ "name": "night", "folderPath": "/Top/Desk" });
        let made = admin.call("liveblog-from-default-template-post", &[]).json(&body).ok();
        made["info"]["id"].as_str().expect("a liveblog has an id").to_owned()
    };
    let story = || admin.story("/Top/Desk", "late.xml");
    let by_path: [(&dyn Fn() -> String, &str); 2] = [
        (&make, "/v3/container/liveblog/%2FTop%2FDesk%2Fnight"),
        (&story, "/v3/object/%2FTop%2FDesk%2Flate.xml/content"),
    ];
    for (make, path) in by_path {
        let old = make();
        let contents = |object: &String| admin.call("stet-object-content-get", &[object]).send().body;
        let before = contents(&old);
        let body = "<liveblog><p>written by the reporter</p></liveblog>";
        let head = format!(
            "PUT {path}?checkOut=true&checkIn=true HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\ncontent-type: text/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            reporter.token(),
            body.len(),
        );
        let mut stream = std::net::TcpStream::connect(reporter.base.trim_start_matches("http://")).expect("it listens");
        stream.write_all(format!("{head}{}", &body[..10]).as_bytes()).expect("it reads");
        reporter.call("object-get", &[&old]).ok();
        admin.call("stet-object-move-post", &[&old]).json(&json!({ "folderPath": "/Top/Other" })).ok();
        reporter.call("object-get", &[&old]).fails(404, "ObjectNotFound");
        let new = make();
        stream.write_all(&body.as_bytes()[10..]).expect("it reads on");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(&new), "{answer}");
        assert_eq!(contents(&old), before);
        assert_eq!(contents(&new), body.as_bytes());
    }
}

#[test]
fn a_drawer_shows_of_its_items_only_those_that_may_be_read() {
    let (_server, admin, reporter) = desk();
    let drawer = admin.drawer("/Top/Desk", "mixed", 10);
    let hidden = admin.story("/Top/Other", "hidden.xml");
    let seen = admin.story("/Top/Desk", "seen.xml");
    let more = admin.story("/Top/Desk", "more.xml");
    let get = |client: &Client| client.call("drawer-get", &[&drawer]).query("showItems", true).ok();
    let add = |client: &Client, sources: &[&String]| {
        client.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": sources })).send()
    };
    add(&admin, &[&hidden, &seen]).ok();
    // Places are counted among what they see, coming and going.
    let shown = json!({ "info": { "count": 1 }, "items": [{ "source": seen, "position": 0 }] });
    includes(&get(&reporter), &shown);
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone()]);
    // Nor does what others asked for come out of a cache, or the other way round.
    includes(&get(&reporter), &shown);
    let page = reporter.call("drawer-get", &[&drawer]).query("showItems", true).query("limit", 1);
    page.gives(&json!({ "items": [{ "source": seen }] }));
    // The reply to a change neither.
    let put = |position: u32| reporter.call("drawer-item-position-put", &[&drawer, &more, &position]).ok();
    includes(&put(0), &json!({ "info": { "count": 2 }, "items": [{ "position": 0 }] }));
    assert_eq!(reporter.items(&drawer), [more.clone(), seen.clone()]);
    assert_eq!(admin.items(&drawer), [hidden.clone(), more.clone(), seen.clone()]);
    assert_eq!(put(7)["items"][0]["position"], 1);
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone(), more.clone()]);
    // A position that is none is named as it was sent, among those that they see.
    let own = get(&reporter)["items"][0]["id"].as_str().expect("an item has an id").to_owned();
    let place = |shortcut: &str, position: u32| {
        reporter.call("drawer-shortcut-position-put", &[&drawer, &shortcut, &position]).send()
    };
    let refused = place(&own, 2).fails(400, "InvalidParameter")["message"].clone();
    assert_eq!(refused, "`position` must be between 0 and 1, or -1 for the tail, but is `2`.");
    place(&own, 1).ok();
    place(&own, 0).ok();
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone(), more.clone()]);
    // Nor does a capacity that is too small for all of them tell how many there are.
    let refused = reporter.call("drawer-put", &[&drawer]).json(&json!({ "capacity": 2 }));
    let refused = refused.fails(400, "InvalidParameter")["message"].clone();
    assert_eq!(refused, "`capacity` must be at least the present count, but is `2`.");
    // Nor is it there under its shortcut id, which is no secret.
    let shortcut = get(&admin)["items"][0]["id"].as_str().expect("an item has an id").to_owned();
    let other = reporter.drawer("/Top/Desk", "other", 5);
    let message = |call: Call<'_>, id: &str| {
        call.fails(404, "ObjectNotFound")["message"].as_str().map(|text| text.replace(id, "*"))
    };
    let delete = |id: &str| message(reporter.call("drawer-item-delete", &[&drawer, &id]), id);
    assert_eq!(delete(&shortcut), delete("99999999"));
    let away = |id: &str| message(reporter.call("drawer-item-move-put", &[&drawer, &id, &other]), id);
    assert_eq!(away(&shortcut), away("99999999"));
    place(&shortcut, 1).fails(404, "ObjectNotFound");
    let gone = |sources: &[&String]| {
        reporter.call("drawer-items-delete", &[&drawer]).json(&json!({ "sources": sources })).ok()
    };
    assert_eq!(gone(&[&shortcut])["errors"][0]["code"], "CMS.ObjectNotFound");
    // What leaves has the position that it had for them.
    add(&reporter, &[&more]).ok();
    assert_eq!(admin.items(&drawer), [hidden.clone(), seen.clone(), more.clone()]);
    includes(&gone(&[&seen, &more])["items"], &json!([{ "position": 0 }, { "position": 1 }]));
    add(&reporter, &[&seen, &more]).ok();
    let last = reporter.call("drawer-item-delete", &[&drawer, &more]);
    last.gives(&json!({ "items": [{ "source": more, "position": 1 }] }));
    add(&reporter, &[&more]).ok();
    assert_eq!(admin.items(&drawer).len(), 3);
    reporter.call("drawer-item-post", &[&drawer, &hidden]).fails(404, "ObjectNotFound");
    add(&reporter, &[&hidden]).fails(404, "ObjectNotFound");
    // A drawer that may not be read is in no list of those that hold an object.
    let other = admin.drawer("/Top/Other", "elsewhere", 10);
    admin.call("drawer-item-post", &[&other, &seen]).ok();
    for (client, total) in [(&reporter, 1), (&admin, 2)] {
        client.call("drawer-by-object-get", &[&seen]).gives(&json!({ "total": total }));
    }
}

#[test]
fn a_content_is_sent_for_as_long_as_it_may_be_read() {
    // Much more than the connection holds that nobody reads.
    const SIZE: usize = 48 << 20;
    let (server, admin, reporter) = desk();
    let options = json!({ "name": "large.bin", "type": "Story", "folderPath": "/Top/Desk" });
    let bytes = vec![b'x'; SIZE];
    let large = ("content", "large.bin", "application/octet-stream", &bytes[..]);
    let made = admin.call("stet-object-create-post", &[]).form(&options, &[large]).ok();
    let loid = made["id"].as_str().expect("it has an id").to_owned();
    // How much comes, if that is done once it has begun.
    let received = |reader: &Client, then: &dyn Fn()| {
        let head = format!(
            "GET /v3/object/{loid}/content HTTP/1.1\r\nhost: stet\r\ntoken: {}\r\nconnection: close\r\n\r\n",
            reader.token(),
        );
        let mut stream = std::net::TcpStream::connect(reader.base.trim_start_matches("http://")).expect("it listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut begun = [0; 15];
        stream.read_exact(&mut begun).expect("it answers");
        assert_eq!(&begun, b"HTTP/1.1 200 OK");
        then();
        let mut rest = Vec::new();
        // How a connection ends that is broken off, is up to the system.
        let _ = stream.read_to_end(&mut rest);
        rest.len()
    };
    assert!(received(&reporter, &|| ()) > SIZE);
    let second = server.login("reporter");
    let ends = || {
        second.call("auth-logout-get", &[]).ok();
    };
    assert!(received(&second, &ends) < SIZE);
    assert!(received(&reporter, &|| grant(&admin, &["create"])) < SIZE);
}
