//! `Idempotency-Key`: a POST that is sent again is carried out once.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::http::raw::{connect, rest, status_of};
use crate::harness::*;

/// A key that no other test uses.
fn own_key() -> String {
    own_folder().replace('/', "-")
}

/// A call under a key.
fn keyed<'c>(call: Call<'c>, key: &str, body: &Value) -> Call<'c> {
    call.header("idempotency-key", key).json(body)
}

/// Makes a folder under a key, which gets another name if its own is taken.
fn folder<'c>(client: &'c Client, key: &str, path: &str) -> Call<'c> {
    keyed(client.call("folder-post", &[]), key, &json!({ "path": path, "createMode": "AUTO_RENAME" }))
}

fn names(client: &Client, folder: &str) -> Vec<String> {
    let listing = client.call("folder-get", &[&folder]).ok();
    let items = listing["items"].as_array().expect("a folder has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

/// Asserts that an answer is marked as a replay and equals the first one byte for byte.
fn repeats(again: &Answer, first: &Answer) {
    assert_eq!(first.header("idempotency-replayed"), None);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    for name in ["content-type", "etag", "cache-control", "x-content-type-options"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
}

const BOUNDARIES: [&str; 2] = ["one", "another"];

fn form(options: &Value, bytes: &str, boundary: &str) -> Vec<u8> {
    format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n--{boundary}\r\n\
         content-disposition: form-data; name=\"content\"; filename=\"a.xml\"\r\ncontent-type: text/xml\r\n\r\n\
         {bytes}\r\n--{boundary}--\r\n"
    )
    .into_bytes()
}

fn upload(client: &Client, key: &str, options: &Value, bytes: &str, boundary: &str) -> Answer {
    let call = client.call("stet-object-create-post", &[]).header("idempotency-key", key);
    call.bytes(&format!("multipart/form-data; boundary={boundary}"), form(options, bytes, boundary)).send()
}

#[test]
fn an_upload_is_known_by_its_options_and_content_whatever_its_boundary() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let options = json!({ "name": "a.xml", "type": "Story", "folderPath": top, "createMode": "AUTO_RENAME" });
    // The large one lies in a file.
    for bytes in ["<story/>".to_owned(), format!("<story>{}</story>", "x".repeat(200_000))] {
        let key = own_key();
        let first = upload(&client, &key, &options, &bytes, BOUNDARIES[0]);
        first.ok();
        for boundary in BOUNDARIES {
            repeats(&upload(&client, &key, &options, &bytes, boundary), &first);
        }
        let other = bytes.replace("story", "spike");
        upload(&client, &key, &options, &other, BOUNDARIES[0]).fails(422, "IdempotencyMismatch");
        let renamed = json!({ "name": "b.xml", "type": "Story", "folderPath": top });
        upload(&client, &key, &renamed, &bytes, BOUNDARIES[0]).fails(422, "IdempotencyMismatch");
    }
    assert_eq!(names(&client, &top).len(), 2);
}

#[test]
fn items_are_added_once_even_if_they_have_been_taken_out_since() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let (drawer, story) = (client.drawer(&top, "d", 5), client.story(&top, "a.xml"));
    let add = |key: &str, body: &Value| keyed(client.call("drawer-items-post", &[&drawer]), key, body).send();
    let (key, body) = (own_key(), json!({ "sources": [story] }));
    let first = add(&key, &body);
    first.ok();
    client.call("drawer-item-delete", &[&drawer, &story]).ok();
    repeats(&add(&key, &body), &first);
    assert_eq!(client.items(&drawer), Vec::<String>::new());
    // One that changes nothing is answered the same, too.
    add(&own_key(), &body).ok();
    let (key, again) = (own_key(), json!({ "sources": [story], "showPath": true }));
    let first = add(&key, &again);
    client.call("drawer-item-delete", &[&drawer, &story]).ok();
    repeats(&add(&key, &again), &first);
    assert_eq!(client.items(&drawer), Vec::<String>::new());
}

#[test]
fn a_reply_too_large_to_keep_is_made_again_from_what_was_done() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let text = format!("<a>{}</a>", "x".repeat(300 << 10));
    let body = json!({ "name": "d", "folderPath": top, "createMode": "AUTO_RENAME", "attributes": text });
    let call = keyed(client.call("drawer-post", &[]), &own_key(), &body);
    let first = call.ok();
    assert!(first.to_string().len() > 256 << 10, "the reply is not large");
    let again = call.send();
    assert_eq!(again.header("idempotency-replayed"), None);
    assert_eq!(again.ok()["info"]["id"], first["info"]["id"]);
    assert_eq!(names(&client, &top), ["d"]);
}

#[test]
fn a_key_speaks_of_one_call_of_one_user() {
    let server = Server::shared();
    let client = server.user("editor");
    let top = own_folder();
    let (key, path) = (own_key(), format!("{top}/f"));
    let first = folder(&client, &key, &path).send();
    first.ok();
    says(&folder(&client, &key, &format!("{top}/g")).fails(422, "IdempotencyMismatch"), &key);
    let body = json!({ "path": path, "createMode": "AUTO_RENAME" });
    keyed(client.call("drawer-post", &[]), &key, &body).fails(422, "IdempotencyMismatch");
    // Another session of the same user, another way to send its token.
    let other = server.login("editor");
    repeats(&folder(&server.client(), &key, &path).header("token", other.token()).send(), &first);
    let others = folder(&server.user("reporter"), &key, &path).send();
    assert_eq!(others.header("idempotency-replayed"), None);
    assert_ne!(others.ok()["info"]["id"], first.ok()["info"]["id"]);
    assert_eq!(names(&client, &top).len(), 2);
}

#[test]
fn a_call_that_failed_may_be_tried_again_under_its_key() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    let drawer = client.drawer(&top, "d", 1);
    let (one, two) = (client.story(&top, "one.xml"), client.story(&top, "two.xml"));
    let add = |key: &str, body: &Value| keyed(client.call("drawer-items-post", &[&drawer]), key, body).send();
    client.call("drawer-item-post", &[&drawer, &one]).ok();
    let (key, body) = (own_key(), json!({ "sources": [two] }));
    add(&key, &body).fails(409, "DrawerFull");
    add(&key, &json!({ "sources": [] , "x": 1 })).ok();
    let key = own_key();
    add(&key, &body).fails(409, "DrawerFull");
    client.call("drawer-item-delete", &[&drawer, &one]).ok();
    let first = add(&key, &body);
    first.ok();
    assert_eq!(client.items(&drawer), [two]);
    repeats(&add(&key, &body), &first);
}

#[test]
fn a_key_that_cannot_be_one_is_refused_by_name_and_nothing_is_done() {
    let client = Server::shared().user("editor");
    let top = own_folder();
    client.drawer(&top, "d", 1);
    for key in ["", "a b", &"k".repeat(256)] {
        says(&folder(&client, key, &format!("{top}/f")).fails(400, "InvalidParameter"), "Idempotency-Key");
    }
    assert_eq!(names(&client, &top), ["d"]);
    // Where it has no meaning it is not looked at.
    client.call("folder-root-get", &[]).header("idempotency-key", "a b").ok();
}

#[test]
fn a_login_ignores_the_key_for_its_reply_is_secret() {
    let (client, key) = (Server::shared().client(), own_key());
    let tokens = [0, 1].map(|_| {
        let answer = keyed(client.call("auth-login-post", &[]), &key, &credentials("editor", SAMPLE_PASSWORD)).send();
        assert_eq!(answer.header("idempotency-replayed"), None);
        answer.ok()["token"]["value"].clone()
    });
    assert_ne!(tokens[0], tokens[1]);
}

#[test]
fn a_reply_is_repeated_only_for_those_who_may_still_see_the_same() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    let once = folder(&reporter, "mine", "/News/City/once");
    let id = once.ok()["info"]["id"].clone();
    let desk = json!({ "groupName": "desk", "members": ["reporter"], "privileges": [
        { "privilege": "read", "folder": "/News/Sport" }, { "privilege": "create", "folder": "/News/Sport" }] });
    admin.call("group-create-post", &[]).json(&desk).ok();
    let reporters = |members: Value| {
        admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": members })).ok()
    };
    reporters(json!([]));
    let again = once.send();
    again.fails(403, "PermissionDenied");
    assert_eq!(again.header("idempotency-replayed"), None);
    reporters(json!(["reporter"]));
    assert_eq!(once.ok()["info"]["id"], id);
    // A key of the user's has keys of its own.
    let key = json!({ "name": "wire", "user": "reporter", "privileges": [{ "privilege": "read" }, { "privilege": "create" }] });
    let machine = server.client_with(&admin.call("stet-key-create-post", &[]).json(&key).ok()["token"]);
    folder(&machine, "mine", "/News/City/another").ok();
    // The reply that was made anew was kept in place of the first.
    let mut server = server;
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn repeated_renames_and_moves_find_the_object_if_the_caller_may_see_it() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    let group = |name: &str, members: Value, privileges: &[&str], folder: &str| {
        let privileges: Vec<Value> = privileges.iter().map(|it| json!({ "privilege": it, "folder": folder })).collect();
        let body = json!({ "groupName": name, "members": members, "privileges": privileges });
        let made = admin.call("group-create-post", &[]).json(&body).send();
        if made.status == 409 {
            admin.call("group-update-post", &[]).json(&body).ok();
        }
    };
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let needed = ["read", "write", "create"];
    group("desk", json!(["reporter"]), &needed, "/News/Sport");
    let story = admin.story("/News/Sport", "a.xml");
    admin.call("folder-post", &[]).json(&json!({ "path": "/News/Sport/later" })).ok();
    let rename =
        keyed(reporter.call("stet-object-rename-post", &[&"/News/Sport/a.xml"]), "rename", &json!({ "name": "b.xml" }));
    let body = json!({ "folderPath": "/News/Sport/later" });
    let relocate = keyed(reporter.call("stet-object-move-post", &[&"/News/Sport/b.xml"]), "move", &body);
    for call in [&rename, &relocate] {
        let first = call.send();
        assert_eq!(first.ok()["id"], story.as_str(), "{first:?}");
        repeats(&call.send(), &first);
    }
    // Under another key it is another call, which has done nothing.
    let other =
        keyed(reporter.call("stet-object-rename-post", &[&"/News/Sport/a.xml"]), "other", &json!({ "name": "b.xml" }));
    other.send().fails(404, "ObjectNotFound");
    // With other rights both replies are built anew, about the same object.
    group("desk", json!(["reporter"]), &[&needed[..], &["delete"]].concat(), "/News/Sport");
    for call in [&rename, &relocate] {
        let again = call.send();
        assert_eq!(again.header("idempotency-replayed"), None);
        includes(&again.ok(), &json!({ "id": story, "path": "/News/Sport/later/b.xml" }));
    }
    // Who may not see it any more hears nothing.
    group("desk", json!(["reporter"]), &needed, "/News/City");
    for call in [&rename, &relocate] {
        call.send().fails(404, "ObjectNotFound");
    }
}

/// Regression test: the repeated call was refused, because a caller who may only create in the
/// target may not change the object there.
#[test]
fn a_repeated_move_is_confirmed_although_the_caller_lost_rights() {
    let server = Server::start();
    let (admin, reporter) = (server.user("admin"), server.user("reporter"));
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let grant = |privilege: &str, folder: &str| json!({ "privilege": privilege, "folder": folder });
    let privileges = [
        grant("read", "/News"),
        grant("write", "/News/Sport"),
        grant("create", "/News/Sport"),
        grant("create", "/News/City"),
    ];
    let group = json!({ "groupName": "desk", "members": ["reporter"], "privileges": privileges });
    admin.call("group-create-post", &[]).json(&group).ok();
    let story = admin.story("/News/Sport", "a.xml");
    let body = json!({ "folderPath": "/News/City" });
    let relocate = |key: &str| keyed(reporter.call("stet-object-move-post", &[&story]), key, &body);
    let first = relocate("move").send();
    first.ok();
    repeats(&relocate("move").send(), &first);
    relocate("other").send().fails(403, "PermissionDenied");
}

#[test]
fn a_repeated_xpath_change_need_not_match_again() {
    let server = Server::start();
    let editor = server.user("editor");
    let options = json!({ "name": "a.xml", "type": "Story", "folderPath": "/News/City" });
    let story = upload(&editor, "make", &options, "<s><a>old</a></s>", "b").ok()["id"].clone();
    let story = story.as_str().expect("an object has an id");
    let body = json!({ "xpath": "/s/a[.='old']", "target": "new" });
    let set = keyed(editor.call("crossreference-set-post", &[&story]), "set", &body);
    set.ok();
    let more = json!({ "groupName": "more", "members": ["editor"], "privileges": [{ "privilege": "read", "folder": "/News" }] });
    server.user("admin").call("group-create-post", &[]).json(&more).ok();
    let versions = || editor.call("object-get", &[&story]).ok()["revision"].clone();
    let before = versions();
    let again = set.send();
    assert_eq!(again.header("idempotency-replayed"), None);
    includes(&again.ok(), &json!({ "info": { "id": story }, "before": [], "after": [] }));
    assert_eq!(versions(), before);
}

#[test]
fn a_group_is_made_and_changed_once_though_the_reply_is_not_kept() {
    let server = Server::start();
    let admin = server.user("admin");
    let make = keyed(admin.call("group-create-post", &[]), "make", &json!({ "groupName": "desk", "description": "a" }));
    let describe = |key: &str, description: &str| {
        let body = json!({ "groupName": "desk", "description": description });
        keyed(admin.call("group-update-post", &[]), key, &body)
    };
    make.ok();
    let first = describe("one", "b");
    assert_eq!(first.ok()["description"], "b");
    describe("two", "c").ok();
    // The replies that were kept are for who has other rights.
    let more = json!({ "groupName": "more", "members": ["admin"], "privileges": [{ "privilege": "read", "folder": "/News" }] });
    admin.call("group-create-post", &[]).json(&more).ok();
    for again in [make.send(), first.send()] {
        assert_eq!(again.header("idempotency-replayed"), None);
        assert_eq!(again.ok()["description"], "c", "it is shown as it is");
    }
    admin.call("group-delete", &[]).query("groupName", "desk").ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "more", "privileges": [] })).ok();
    make.send().fails(404, "ObjectNotFound");
}

#[test]
fn a_post_that_only_reads_takes_no_key() {
    let (reporter, key) = (Server::shared().user("reporter"), own_key());
    for source in ["/News/City", "/News/Sport"] {
        let read = keyed(reporter.call("stet-object-list-post", &[]), &key, &json!([source])).send();
        includes(&read.ok(), &json!({ "items": [{}] }));
        assert_eq!(read.header("idempotency-replayed"), None);
    }
}

#[test]
fn nothing_is_kept_of_a_call_with_a_password_or_a_token_in_it() {
    let admin = Server::shared().user("admin");
    let [one, two, wire, same] = [(); 4].map(|()| own_key());
    let user = |name: &str| {
        let body = json!({ "name": name, "password": "a secret of theirs" });
        keyed(admin.call("stet-user-create-post", &[]), &same, &body)
    };
    let body = json!({ "name": wire, "user": one, "privileges": [{ "privilege": "read" }] });
    let key = || keyed(admin.call("stet-key-create-post", &[]), &same, &body);
    for made in [user(&one).send(), user(&two).send(), key().send()] {
        made.ok();
        assert_eq!(made.header("cache-control"), Some("no-store"));
    }
    // A repetition creates no second object, since names are unique.
    key().fails(409, "DuplicatedName");
    user(&one).fails(409, "DuplicatedName");
}

/// Begins an upload of `length` bytes by sending its beginning. Returns the connection, and the key
/// that it holds.
fn begin_upload(server: &Server, client: &Client, beginning: &[u8], length: usize) -> (TcpStream, String) {
    let token = client.token();
    loop {
        let (mut stream, key) = (connect(server), own_key());
        let head = format!(
            "POST /v3/object/create HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntoken: {token}\r\n\
             idempotency-key: {key}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("the head can be sent");
        stream.write_all(beginning).expect("the beginning can be sent");
        // The probe is refused for its body while the key is free, and holds the key for that
        // moment. An upload that arrives then is refused because a call is running. In that case
        // another upload is begun.
        let asked = || keyed(client.call("folder-post", &[]), &key, &json!({})).send().status;
        wait_until("the key is taken", || asked() == 409 || is_answered(&stream));
        if !is_answered(&stream) {
            return (stream, key);
        }
    }
}

/// Returns whether the stream has data to read.
fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("it can be asked without waiting");
    let answered = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).expect("it can be waited for again");
    answered
}

#[test]
fn a_call_that_still_runs_is_told_of_and_calls_at_once_make_one_object() {
    let server = Server::shared();
    let client = server.user("editor");
    let top = own_folder();
    let options = json!({ "name": "a.xml", "type": "Story", "folderPath": top, "createMode": "AUTO_RENAME" });
    let body = form(&options, "<story/>", "b");
    let (mut stream, key) = begin_upload(server, &client, &body[..20], body.len());
    upload(&client, &key, &options, "<story/>", "b").fails(409, "IdempotencyRunning");
    stream.write_all(&body[20..]).expect("the rest can be sent");
    assert_eq!(status_of(&rest(&mut stream)), Some(200));
    assert_eq!(upload(&client, &key, &options, "<story/>", "b").header("idempotency-replayed"), Some("true"));
    let key = own_key();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| upload(&client, &key, &options, "<story/>", "b"))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client must not fail")).collect()
    });
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.fails(409, "IdempotencyRunning");
    }
    assert!(answers.iter().any(|answer| answer.status == 200));
    assert_eq!(names(&client, &top).len(), 2, "one for each key");
}

#[test]
fn a_key_is_free_again_when_its_time_is_over() {
    let server = Server::with(&[("LIMITS__IDEMPOTENCY_SECONDS", "1"), ("AUTH__FLUSH_SECONDS", "1")]);
    let client = server.user("editor");
    let top = own_folder();
    let (key, path) = (own_key(), format!("{top}/f"));
    wait_until("it is made again", || {
        folder(&client, &key, &path).ok();
        names(&client, &top).len() > 1
    });
    let mut server = server;
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
