//! `/v3/message`

mod mail;

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, message, word};
use crate::harness::*;

/// Creates users in the group `editors`, and returns a client for each.
fn people<const N: usize>(server: &Server, names: [&str; N]) -> [Client; N] {
    let admin = server.user("admin");
    names.map(|name| {
        let body = json!({ "name": name, "password": "correct horse", "groups": ["editors"],
            "businessEmail": format!("{name}@example.net") });
        admin.call("stet-user-create-post", &[]).json(&body).ok();
        server.client_with(&server.log_in(name, "correct horse").ok()["token"]["value"])
    })
}

fn group(server: &Server, name: &str, members: &[&str]) {
    server.user("admin").call("group-create-post", &[]).json(&json!({ "name": name, "members": members })).ok();
}

fn send(client: &Client, body: &Value) -> Answer {
    client.call("message-sendmail-post", &[]).json(body).send()
}

fn subjects(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("a list has items");
    items.iter().map(|item| item["subject"].as_str().expect("a message has a subject")).collect()
}

fn inbox(client: &Client) -> Value {
    client.call("message-inbox-get", &[]).query("limit", 1000).ok()
}

fn outbox(client: &Client) -> Value {
    client.call("message-outbox-get", &[]).query("limit", 1000).ok()
}

#[test]
fn a_message_reaches_users_and_members_of_groups_once_and_nobody_else() {
    let mut server = Server::start();
    let [ada, bob, eve] = people(&server, ["ada", "bob", "eve"]);
    group(&server, "night desk", &["bob", "ada"]);
    let story = ada.story("/News/City", "ferry.xml");
    let body = json!({ "subject": "Ferry", "body": "At ten.\nNot before.", "recipients": ["bob", "night desk", "bob"],
        "priority": "high", "attachments": ["/News/City/ferry.xml"] });
    let sent = send(&ada, &body).ok();
    includes(
        &sent,
        &json!({ "subject": "Ferry", "body": "At ten.\nNot before.", "sender": "ada", "read": true,
        "recipients": ["bob", "night desk"], "priority": "high", "attachments": [{ "id": story, "name": "ferry.xml" }] }),
    );
    assert!(sent["sent"].as_u64().is_some_and(|at| at > 1_600_000_000 && at < 10_000_000_000), "seconds: {sent}");
    let received = inbox(&bob);
    assert_eq!((&received["total"], &received["unread"]), (&json!(1), &json!(1)));
    // Which attribute groups of attachments are shown is for the display options to say, which
    // sending has none of.
    let shown = |message: &Value| with(message.clone(), json!({ "read": null, "attachments": null }));
    assert_eq!(shown(&received["items"][0]), shown(&sent));
    includes(&received["items"][0], &json!({ "read": false, "attachments": [{ "id": story }] }));
    assert_eq!(inbox(&ada)["unread"], 1, "she is of the group");
    assert_eq!(shown(&outbox(&ada)["items"][0]), shown(&sent));
    for none in [inbox(&eve), outbox(&eve), outbox(&bob)] {
        assert_eq!(none, json!({ "items": [], "total": 0, "unread": 0 }));
    }
    // Who joins later has not received it, and who leaves has.
    let change = json!({ "name": "night desk", "members": ["eve"] });
    server.user("admin").call("group-update-post", &[]).json(&change).ok();
    assert_eq!((&inbox(&eve)["total"], &inbox(&bob)["total"]), (&json!(0), &json!(1)));
    // All of it is there after a crash, and sound.
    server.kill();
    let mut server = server.restart();
    let bob = server.client_with(&json!(bob.token()));
    assert_eq!(inbox(&bob), received);
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(server.check().0, Some(0));
}

#[test]
fn a_message_is_read_or_not_and_removed_by_each_for_themselves() {
    let server = Server::start();
    let [ada, bob] = people(&server, ["ada", "bob"]);
    let id = |subject: &str| {
        let sent = send(&ada, &json!({ "subject": subject, "recipients": ["bob", "ada"] })).ok();
        sent["id"].as_str().expect("it has an id").to_owned()
    };
    let (first, second) = (id("first"), id("second"));
    let read = |client: &Client, id: &str| client.call("stet-message-read-put", &[&id]).send();
    for _ in 0..2 {
        assert_eq!(read(&bob, &first).ok(), json!({ "id": first, "read": true }));
    }
    let list = inbox(&bob);
    assert_eq!((subjects(&list), &list["unread"]), (vec!["second", "first"], &json!(1)));
    assert_eq!((&list["items"][0]["read"], &list["items"][1]["read"]), (&json!(false), &json!(true)));
    assert_eq!(inbox(&ada)["unread"], 2, "hers are hers");
    let remove = |client: &Client, id: &str| client.call("stet-message-delete", &[&id]).send();
    assert_eq!(remove(&ada, &first).ok(), json!({ "id": first }));
    assert_eq!(subjects(&inbox(&ada)), ["second"]);
    assert_eq!(subjects(&outbox(&ada)), ["second"]);
    assert_eq!(subjects(&inbox(&bob)), ["second", "first"]);
    remove(&ada, &first).fails(404, "ObjectNotFound");
    read(&ada, &first).fails(404, "ObjectNotFound");
    let nobodys = server.user("editor");
    for id in [second.as_str(), "1$1.0.1", "2$1.0.5", "nonsense", "%2FNews"] {
        remove(&nobodys, id).fails(404, "ObjectNotFound");
        read(&nobodys, id).fails(404, "ObjectNotFound");
    }
    ada.call("object-get", &[&second]).fails(404, "ObjectNotFound");
    // One's own outbox has nothing to be read.
    let alone = send(&ada, &json!({ "subject": "x", "recipients": ["bob"] })).ok()["id"].clone();
    read(&ada, alone.as_str().expect("it has an id")).fails(404, "ObjectNotFound");
}

#[test]
fn invalid_messages_are_refused_and_reach_nobody() {
    let server = Server::start();
    let [ada, bob] = people(&server, ["ada", "bob"]);
    group(&server, "empty", &[]);
    let to_bob = |more: Value| with(json!({ "subject": "s", "recipients": ["bob"] }), more);
    let long = "x".repeat(901);
    let text = "x".repeat((64 << 10) + 1);
    let many: Vec<String> = (0..101).map(|number| ada.story("/News/City", &format!("many-{number}.xml"))).collect();
    for (body, status, code, part) in [
        (json!({}), 400, "InvalidBody", "recipients"),
        (json!({ "subject": "s", "recipients": [] }), 400, "InvalidBody", "recipients"),
        (json!({ "subject": "s", "recipients": "bob" }), 400, "InvalidBody", "recipients"),
        (json!({ "recipients": ["bob"] }), 400, "InvalidBody", "subject"),
        (json!({ "subject": "s", "recipients": ["bob", "nobody", "noone"] }), 404, "ObjectNotFound", "nobody"),
        (json!({ "subject": "s", "recipients": ["empty"] }), 400, "InvalidBody", "members"),
        (to_bob(json!({ "attachments": ["/News/City/none.xml"] })), 404, "ObjectNotFound", "/News/City/none.xml"),
        (to_bob(json!({ "attachments": ["no/path"] })), 400, "InvalidParameter", "attachments"),
        (to_bob(json!({ "attachments": many })), 413, "TooLarge", "attachments"),
        (to_bob(json!({ "priority": "urgent" })), 400, "InvalidBody", "priority"),
        (to_bob(json!({ "priority": 6 })), 400, "InvalidBody", "priority"),
        (to_bob(json!({ "subject": "two\nlines" })), 400, "InvalidBody", "subject"),
        (to_bob(json!({ "body": "\u{7}" })), 400, "InvalidBody", "body"),
        (to_bob(json!({ "subject": long })), 413, "TooLarge", "subject"),
        (to_bob(json!({ "body": text })), 413, "TooLarge", "body"),
    ] {
        says(&send(&ada, &body).fails_on(&body.to_string().chars().take(200).collect::<String>(), status, code), part);
    }
    let unknown = json!({ "subject": "s", "recipients": ["nobody", "bob", "noone"] });
    let error = send(&ada, &unknown).fails(404, "ObjectNotFound");
    assert_eq!((&error["source"], &error["details"]["unknown"]), (&json!("nobody"), &json!(["nobody", "noone"])));
    ada.call("message-sendmail-post", &[]).fails(400, "InvalidBody");
    assert_eq!((&inbox(&bob)["total"], &outbox(&ada)["total"]), (&json!(0), &json!(0)));
    for (field, value) in [("sortBy", "colour"), ("limit", "-1")] {
        ada.call("message-inbox-get", &[]).query(field, value).fails(400, "InvalidParameter");
    }
    assert_eq!(send(&ada, &to_bob(json!({ "priority": 5, "body": "\ttab" }))).ok()["priority"], "low");
}

#[test]
fn a_message_to_more_users_than_allowed_is_refused() {
    let server = Server::with(&[("MESSAGES__RECIPIENTS", "2"), ("MESSAGES__PER_BOX", "10")]);
    let [ada, _, _] = people(&server, ["ada", "bob", "eve"]);
    group(&server, "all", &["ada", "bob", "eve"]);
    let to = |names: &[&str]| send(&ada, &json!({ "subject": "s", "recipients": names }));
    says(&to(&["all"]).fails(413, "TooLarge"), "2");
    says(&to(&["ada", "bob", "eve"]).fails(413, "TooLarge"), "2");
    to(&["ada", "bob"]).ok();
    // A box holds its newest messages, up to its limit.
    for number in 0..12 {
        send(&ada, &json!({ "subject": number.to_string(), "recipients": ["bob"] })).ok();
    }
    let list = outbox(&ada);
    assert_eq!((&list["total"], subjects(&list)[0], subjects(&list)[9]), (&json!(10), "11", "2"));
}

#[test]
fn boxes_are_sorted_and_cut_as_asked() {
    let server = Server::start();
    let [ada, bob] = people(&server, ["ada", "bob"]);
    for (sender, subject, priority) in [(&ada, "b", "low"), (&bob, "a", "high"), (&ada, "c", "normal")] {
        send(sender, &json!({ "subject": subject, "recipients": ["ada"], "priority": priority })).ok();
    }
    let middle = inbox(&ada)["items"][1]["id"].as_str().expect("it has an id").to_owned();
    ada.call("stet-message-read-put", &[&middle]).ok();
    for (sort, wanted) in [
        ("", ["c", "a", "b"]),
        ("subject", ["a", "b", "c"]),
        ("-subject", ["c", "b", "a"]),
        ("sender,subject", ["b", "c", "a"]),
        ("priority:desc", ["a", "c", "b"]),
        ("sent,id", ["b", "a", "c"]),
        ("read,-id", ["c", "b", "a"]),
    ] {
        let list = ada.call("message-inbox-get", &[]).query("sortBy", sort).ok();
        assert_eq!(subjects(&list), wanted, "{sort}");
    }
    let list = ada.call("message-inbox-get", &[]).query("limit", 1).ok();
    assert_eq!((subjects(&list), &list["total"], &list["unread"]), (vec!["c"], &json!(3), &json!(2)));
    let list = ada.call("message-inbox-get", &[]).query("offset", 1).query("limit", 1).ok();
    assert_eq!((subjects(&list), &list["total"]), (vec!["a"], &json!(3)), "every endpoint takes `offset`");
    for number in 0..25 {
        send(&bob, &json!({ "subject": number.to_string(), "recipients": ["ada"] })).ok();
    }
    assert_eq!(subjects(&ada.call("message-inbox-get", &[]).ok()).len(), 20, "as many as one looks through");
}

#[test]
fn attachments_are_shown_to_who_may_read_them_as_the_options_say() {
    let server = Server::start();
    let [ada, bob] = people(&server, ["ada", "bob"]);
    let admin = server.user("admin");
    let (open, closed) = (ada.story("/News/City", "open.xml"), admin.story("/News", "closed.xml"));
    // Who may read below one folder only.
    let grant =
        json!({ "name": "city", "members": ["bob"], "privileges": [{ "privilege": "read", "folder": "/News/City" }] });
    admin.call("group-create-post", &[]).json(&grant).ok();
    admin.call("stet-user-update-put", &[&"bob"]).json(&json!({ "groups": ["city"] })).ok();
    send(&ada, &json!({ "subject": "s", "recipients": ["bob"], "attachments": [closed, open] })).ok();
    let attached = |client: &Client, name: &str, display: &[(&str, bool)]| {
        let mut call = client.call(name, &[]);
        for (option, value) in display {
            call = call.query(option, value);
        }
        call.ok()["items"][0]["attachments"].clone()
    };
    let names = |list: &Value| -> Vec<String> {
        let items = list.as_array().expect("a list").iter();
        items.map(|item| item["name"].as_str().expect("a record has a name").to_owned()).collect()
    };
    assert_eq!(names(&attached(&ada, "message-outbox-get", &[])), ["closed.xml", "open.xml"]);
    let seen = attached(&bob, "message-inbox-get", &[("showPath", true)]);
    assert_eq!(names(&seen), ["open.xml"]);
    assert_eq!(seen[0]["path"], "/News/City/open.xml");
    let bare = attached(&bob, "message-inbox-get", &[("showSystemAttributes", false), ("showAttributes", false)]);
    assert!(bare[0].get("path").is_none() && bare[0].get("attributes").is_none(), "{bare}");
    // What he may not read he can't attach either: it is as if it were not there.
    admin
        .call("group-update-post", &[])
        .json(&json!({ "name": "city", "privileges": [
        { "privilege": "read", "folder": "/News/City" }, { "privilege": "create", "folder": "/News/City" }] }))
        .ok();
    send(&bob, &json!({ "subject": "s", "recipients": ["ada"], "attachments": [closed] })).fails(404, "ObjectNotFound");
    // Discarded objects are left out.
    admin.call("object-discard", &[&open]).ok();
    assert_eq!(attached(&bob, "message-inbox-get", &[]), json!([]));
}

#[test]
fn a_message_sent_again_under_its_key_is_one_also_after_a_crash() {
    let mut server = Server::start();
    let [ada, bob] = people(&server, ["ada", "bob"]);
    let sending = |client: &Client| {
        let body = json!({ "subject": "once", "recipients": ["bob"] });
        client.call("message-sendmail-post", &[]).header("idempotency-key", "k1").json(&body).send()
    };
    let first = sending(&ada).ok();
    assert_eq!(sending(&ada).ok(), first);
    server.kill();
    let server = server.restart();
    let (ada, bob) = (server.client_with(&json!(ada.token())), server.client_with(&json!(bob.token())));
    assert_eq!(sending(&ada).ok(), first);
    assert_eq!(inbox(&bob)["total"], 1);
    let other = json!({ "subject": "twice", "recipients": ["bob"] });
    let mixed = ada.call("message-sendmail-post", &[]).header("idempotency-key", "k1").json(&other).send();
    mixed.fails(422, "IdempotencyMismatch");
}

#[test]
fn a_crash_amid_many_messages_leaves_each_with_all_recipients_or_none() {
    let mut server = Server::start();
    let [ada, bob, eve] = people(&server, ["ada", "bob", "eve"]);
    group(&server, "all", &["ada", "bob", "eve"]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..8)
            .map(|thread| {
                let (ada, stop) = (&ada, &stop);
                scope.spawn(move || {
                    let mut known = Vec::new();
                    for number in 0.. {
                        if stop.load(std::sync::atomic::Ordering::Relaxed) {
                            break;
                        }
                        let body = json!({ "subject": format!("{thread}-{number}"), "recipients": ["all"] });
                        match ada.call("message-sendmail-post", &[]).json(&body).try_send() {
                            Ok(answer) if answer.status == 200 => known.push(format!("{thread}-{number}")),
                            _ => break,
                        }
                    }
                    known
                })
            })
            .collect();
        wait_until("some are sent", || outbox(&ada)["total"].as_u64() > Some(40));
        server.kill();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        sending.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    let mut server = server.restart();
    let boxes = [(&ada, true), (&ada, false), (&bob, false), (&eve, false)].map(|(client, own)| {
        let client = server.client_with(&json!(client.token()));
        let list = if own { outbox(&client) } else { inbox(&client) };
        subjects(&list).iter().map(|subject| (*subject).to_owned()).collect::<Vec<_>>()
    });
    assert!(boxes[0].len() < 1000, "all of a box is seen");
    assert!(boxes.iter().all(|found| *found == boxes[0]), "{boxes:?}");
    for subject in &acknowledged {
        assert_eq!(boxes[0].iter().filter(|found| *found == subject).count(), 1, "{subject}");
    }
    assert!(boxes[0].len() <= acknowledged.len() + 8, "what was not sent is not there");
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(server.check().0, Some(0));
}

cases! {
    "message-inbox-get": |corner| {
        message(corner);
        Made::default().query("limit", word("1"))
    };
    "message-outbox-get": |corner| {
        message(corner);
        Made::default().query("limit", word("1"))
    };
    "message-sendmail-post": |corner| {
        let body = json!({ "subject": "s", "recipients": [corner.user()], "attachments": [corner.story().to_string()] });
        Made::default().json(body)
    };
    "stet-message-read-put": |corner| Made::on([word(message(corner))]);
    "stet-message-delete": |corner| Made::on([word(message(corner))]);
}
