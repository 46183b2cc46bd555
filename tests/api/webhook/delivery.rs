//! Events as receivers get them.

use super::receiver::SILENCE;
use super::*;

#[test]
fn events_arrive_signed_in_their_order_with_the_record_of_their_container() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 5);
    let first = reported.revision() + 1;
    (0..5).for_each(|story| reported.put_in(story));
    let messages = reported.receiver.wait_for(5);
    let revisions: Vec<u64> = messages.iter().map(|message| message.revision()).collect();
    assert_eq!(revisions, (first..first + 5).collect::<Vec<_>>());
    let entries = reported.client.call("stet-audit-get", &[]).query("object", &reported.drawer).query("limit", 5).ok();
    for (message, entry) in messages.iter().rev().zip(entries["items"].as_array().expect("a list")) {
        assert_eq!(message.id, format!("evt_{}", entry["id"].as_str().expect("an entry has an id")));
        assert_eq!(message.kind(), "drawer.item.add");
        let expected = json!({ "container": reported.drawer, "kind": "drawer.item.add", "ids": entry["objects"],
            "user": "admin", "at": entry["at"], "record": { "id": reported.drawer, "name": "drawer" } });
        includes(&message.body["data"], &expected);
        assert!(message.body["data"]["record"]["path"].as_str().is_some_and(|path| path.ends_with("/drawer")));
        assert!(message.header("webhook-signature").is_some_and(|signature| signature.starts_with("v1,")));
        assert!(message.header("webhook-timestamp").is_some_and(|time| time.parse::<u64>().is_ok()));
    }
    let shown = show(&reported.client, &reported.webhook);
    includes(&shown, &json!({ "state": "active", "delivered": 5, "failure": null, "owner": "admin" }));
    let log = reported.client.call("stet-webhook-delivery-get", &[&reported.webhook]).ok();
    assert_eq!((&log["total"], &log["items"][0]["event"]), (&json!(5), &entries["items"][0]["id"]));
    includes(&log["items"][0], &json!({ "status": 200, "error": null, "kind": "drawer.item.add" }));
}

#[test]
fn an_event_that_is_not_accepted_is_sent_again_before_the_next_one() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 3);
    reported.receiver.refuse(500, 2);
    (0..3).for_each(|story| reported.put_in(story));
    let failing = wait_for_state(&reported.client, &reported.webhook, "failing");
    assert!(failing["failure"]["attempts"].as_u64().is_some_and(|attempts| attempts >= 1), "{failing}");
    reported.receiver.wait_for(3);
    let messages = reported.receiver.messages();
    let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
    let (refused, accepted) = ids.split_at(2);
    assert_eq!((ids.len(), refused), (5, &[accepted[0]; 2][..]), "the same id, and nothing overtakes it");
    wait_for_state(&reported.client, &reported.webhook, "active");
    let log = reported.client.call("stet-webhook-delivery-get", &[&reported.webhook]).ok();
    let statuses: Vec<_> = log["items"].as_array().expect("a list").iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, [200, 200, 200, 500, 500].map(|status| json!(status)));
    assert!(log["items"][4]["error"].as_str().is_some_and(|error| error.contains("500")), "{log}");
}

/// Each change must arrive at least once and in order, whenever server and receiver fail.
#[test]
fn no_event_is_lost_when_the_server_is_killed_and_the_receiver_fails() {
    let mut server = Server::with(&HERE);
    let reported = Reported::on(&server, 40);
    let first = reported.revision() + 1;
    let mut dice = Dice::new(seed("webhooks"));
    for round in 0..4 {
        for story in 0..10 {
            reported.receiver.refuse([500, 404, 302, 503][dice.roll(4)], dice.roll(2));
            reported
                .client
                .to(&server)
                .call("drawer-item-post", &[&reported.drawer, &reported.stories[10 * round + story]])
                .ok();
        }
        server.kill();
        server = server.restart();
    }
    let client = reported.client.to(&server);
    let last = client.call("object-get", &[&reported.drawer]).ok()["revision"].as_u64().expect("it has a revision");
    assert_eq!(last, first + 39);
    reported.receiver.answer(200);
    wait_patiently_until("the last event arrives", || {
        reported.receiver.accepted().last().is_some_and(|message| message.revision() == last)
    });
    // After a crash some are repeated, but each first one follows the one before.
    let mut next = first;
    for message in reported.receiver.accepted() {
        assert!(message.revision() <= next, "{} came before {next}", message.revision());
        next = next.max(message.revision() + 1);
    }
    assert_eq!(next, last + 1);
}

#[test]
fn a_receiver_that_does_not_answer_delays_no_other() {
    let server = Server::with(&HERE);
    let (hanging, well) = (Reported::on(&server, 1), Reported::on(&server, 1));
    hanging.receiver.answer(SILENCE);
    hanging.put_in(0);
    well.put_in(0);
    well.receiver.wait_for(1);
    let failing = wait_for_state(&hanging.client, &hanging.webhook, "failing");
    let log = hanging.client.call("stet-webhook-delivery-get", &[&failing["id"].as_str().expect("an id")]).ok();
    says(&json!({ "message": log["items"][0]["error"] }), "did not answer in time");
    hanging.receiver.answer(200);
    assert_eq!(hanging.receiver.wait_for(1).len(), 1);
}

#[test]
fn kinds_and_folders_select_events() {
    let server = Server::with(&HERE);
    let client = server.user("admin");
    let (inside, outside) = (own_folder(), own_folder());
    let deep = format!("{inside}/deep/er");
    let stories = [client.story(&deep, "in.xml"), client.story(&outside, "out.xml")];
    let receiver = Receiver::start();
    webhook(&client, &json!({ "url": receiver.url, "below": inside, "kinds": ["object.lock", "object.content.*"] }));
    for story in [&stories[1], &stories[0]] {
        client.call("stet-object-lock-post", &[story]).ok();
        client.call("stet-object-unlock-post", &[story]).ok();
    }
    client.call("stet-object-lock-post", &[&stories[0]]).ok();
    let messages = receiver.wait_for(2);
    assert!(messages.iter().all(|message| message.kind() == "object.lock"), "{messages:?}");
    assert!(messages.iter().all(|message| message.body["data"]["container"] == json!(stories[0])), "{messages:?}");
}

#[test]
fn a_receiver_is_told_what_the_owner_may_see() {
    let server = Server::with(&HERE);
    let admin = server.user("admin");
    let grants = json!([{ "privilege": "read", "folder": "/Open" }, { "privilege": "configure" }]);
    admin.call("folder-post", &[]).json(&json!({ "path": "/Open" })).ok();
    admin.call("folder-post", &[]).json(&json!({ "path": "/Secret" })).ok();
    let body = json!({ "groupName": "reported", "members": ["reporter"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&body).ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.user("reporter");
    let stories = [admin.story("/Secret", "a.xml"), admin.story("/Open", "b.xml")];
    let receiver = Receiver::start();
    let id = webhook(&reporter, &json!({ "url": receiver.url, "kinds": ["object.lock"] }));
    for story in &stories {
        admin.call("stet-object-lock-post", &[story]).ok();
    }
    let messages = receiver.wait_for(1);
    assert_eq!(messages[0].body["data"]["container"], json!(stories[1]));
    assert!(!format!("{messages:?}").contains(&stories[0]));
    // An object that the reporter does not see can't be named either.
    let body = json!({ "url": receiver.url, "container": stories[0] });
    reporter.call("stet-webhook-create-post", &[]).json(&body).fails(404, "ObjectNotFound");
    // Whoever changes what is told becomes the owner, and names the receiver.
    let put = |body: Value| admin.call("stet-webhook-put", &[&id]).json(&body);
    let same = json!({ "kinds": ["object.lock"], "description": "ours", "paused": false });
    put(same).gives(&json!({ "owner": "reporter", "description": "ours" }));
    says(&put(json!({ "kinds": [] })).fails(403, "PermissionDenied"), "`url`");
    says(&admin.call("stet-webhook-secret-post", &[&id]).fails(403, "PermissionDenied"), "`reporter`");
    put(json!({ "kinds": [], "url": receiver.url })).gives(&json!({ "owner": "admin", "kinds": [] }));
    admin.call("stet-webhook-secret-post", &[&id]).ok();
}

/// Regression test: up to 64 events had been selected already, and were sent to the new receiver.
#[test]
fn changed_settings_hold_for_all_events_that_were_not_sent() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 4);
    let story = &reported.stories[0];
    let body = json!({ "container": "", "kinds": ["drawer.item.add"] });
    reported.client.call("stet-webhook-put", &[&reported.webhook]).json(&body).ok();
    reported.receiver.answer(500);
    reported.put_in(0);
    wait_for_state(&reported.client, &reported.webhook, "failing");
    reported.client.call("stet-object-lock-post", &[story]).ok();
    (1..4).for_each(|story| reported.put_in(story));
    let other = Receiver::start();
    let body = json!({ "url": other.url, "kinds": ["object.lock"] });
    reported.client.call("stet-webhook-put", &[&reported.webhook]).json(&body).ok();
    assert_eq!(other.wait_for(1)[0].body["data"]["container"], json!(story));
    assert!(other.messages().iter().all(|message| message.kind() == "object.lock"));
}

/// Readers of a liveblog hear of approved posts only, by webhooks as well.
#[test]
fn posts_that_wait_for_approval_are_not_told_to_readers() {
    let server = Server::with(&HERE);
    let (admin, editor) = (server.user("admin"), server.user("editor"));
    let grants = json!([{ "privilege": "read" }, { "privilege": "configure" }]);
    let body = json!({ "groupName": "reported", "members": ["reader"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&body).ok();
    let reader = server.user("reader");
    let blog = editor.liveblog(&own_folder(), "blog");
    let receiver = Receiver::start();
    webhook(&reader, &json!({ "url": receiver.url, "container": blog, "kinds": ["liveblog.post.*"] }));
    let post = || {
        let content: &[File<'_>] = &[("content", "post.txt", "text/plain", b"text")];
        editor.call("liveblog-post-create", &[&blog]).form(&json!({}), content).ok()["info"]["id"].clone()
    };
    let first = post();
    let first = first.as_str().expect("a post has an id");
    editor.call("liveblog-post-pending-post", &[&blog, &first]).ok();
    editor.call("liveblog-post-put", &[&blog, &first]).form(&json!({ "title": "while it waits" }), &[]).ok();
    let second = post();
    let told: Vec<_> =
        receiver.wait_for(3).iter().map(|it| (it.kind().to_owned(), it.body["data"]["ids"].clone())).collect();
    let about = |kind: &str, post: Value| (kind.to_owned(), json!([post]));
    let expected =
        [about("liveblog.post.add", json!(first)), about("removed", json!(first)), about("liveblog.post.add", second)];
    assert_eq!(told, expected);
}

#[test]
fn a_webhook_waits_while_it_is_paused() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 3);
    let pause = |paused: bool| {
        let body = json!({ "paused": paused });
        reported.client.call("stet-webhook-put", &[&reported.webhook]).json(&body).ok()
    };
    assert_eq!(pause(true)["state"], "paused");
    reported.put_in(0);
    // Others get it.
    let other = Receiver::start();
    webhook(&reported.client, &json!({ "url": other.url, "container": reported.drawer }));
    reported.put_in(1);
    other.wait_for(1);
    assert_eq!(reported.receiver.messages().len(), 0);
    assert_eq!(pause(false)["state"], "active");
    assert_eq!(reported.receiver.wait_for(2).len(), 2);
}

#[test]
fn a_webhook_waits_while_its_owner_is_disabled() {
    let server = Server::with(&HERE);
    let admin = server.user("admin");
    let grants = json!([{ "privilege": "read" }, { "privilege": "configure" }]);
    let body = json!({ "groupName": "reported", "members": ["reporter"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&body).ok();
    let receiver = Receiver::start();
    let story = admin.story("/News", "a.xml");
    let id = webhook(&server.user("reporter"), &json!({ "url": receiver.url, "container": story }));
    let disable = |disabled: bool| {
        admin.call("stet-user-update-put", &[&"reporter"]).json(&json!({ "disabled": disabled })).ok();
    };
    disable(true);
    admin.call("stet-object-lock-post", &[&story]).ok();
    assert_eq!(show(&admin, &id)["state"], "ownerDisabled");
    // Another one has delivered the event meanwhile.
    let other = Receiver::start();
    let own = webhook(&admin, &json!({ "url": other.url, "container": story }));
    admin.call("stet-webhook-position-post", &[&own]).json(&json!({ "position": "oldest" })).ok();
    other.wait_for(1);
    assert_eq!(receiver.messages().len(), 0);
    disable(false);
    assert_eq!(receiver.wait_for(1)[0].kind(), "object.lock");
}

#[test]
fn positions_repeat_and_skip_events() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 6);
    let go_to = |position: &str| {
        let body = json!({ "position": position });
        reported.client.call("stet-webhook-position-post", &[&reported.webhook]).json(&body).ok()
    };
    (0..3).for_each(|story| reported.put_in(story));
    let messages = reported.receiver.wait_for(3);
    go_to(messages[0].id.strip_prefix("evt_").expect("it begins so"));
    let again = reported.receiver.wait_for(5);
    let ids: Vec<&str> = again.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids[3..], ids[1..3]);
    // The event that is not accepted is skipped, and its failure with it.
    reported.receiver.answer(400);
    reported.put_in(3);
    wait_for_state(&reported.client, &reported.webhook, "failing");
    reported.receiver.answer(200);
    let skipped = go_to("newest");
    includes(&skipped, &json!({ "state": "active", "failure": null }));
    reported.put_in(4);
    wait_patiently_until("the event after it arrives", || {
        reported.receiver.accepted().last().is_some_and(|message| message.revision() == reported.revision())
    });
    assert_eq!(reported.receiver.accepted().len(), 6);
    // The creation is an event of the folder.
    go_to("oldest");
    let all = reported.receiver.wait_for(6 + 5);
    let revisions: Vec<u64> = all[6..].iter().map(|message| message.revision()).collect();
    assert_eq!(revisions, (2..=reported.revision()).collect::<Vec<_>>());
}

#[test]
fn a_receiver_that_wants_no_more_ends_its_webhook() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 1);
    reported.receiver.answer(410);
    reported.put_in(0);
    let ended = wait_for_state(&reported.client, &reported.webhook, "ended");
    assert!(ended["ended"].as_str().is_some_and(|reason| reason.contains("410")), "{ended}");
    let server = server.restart();
    let client = reported.client.to(&server);
    assert_eq!(show(&client, &reported.webhook)["state"], "ended");
    assert_eq!(client.metric("stet_webhooks{state=\"ended\"}"), 1.0);
    reported.receiver.answer(200);
    client.call("stet-webhook-put", &[&reported.webhook]).json(&json!({ "paused": false })).ok();
    assert_eq!(reported.receiver.wait_for(1).len(), 1);
}

#[test]
fn a_new_secret_signs_beside_the_one_before() {
    let server = Server::with(&HERE);
    let reported = Reported::on(&server, 0);
    let test = || reported.client.call("stet-webhook-test-post", &[&reported.webhook]).ok();
    includes(&test(), &json!({ "event": null, "kind": "webhook.test", "status": 200, "error": null }));
    let renewed = reported.client.call("stet-webhook-secret-post", &[&reported.webhook]).ok();
    assert!(renewed["secret"].as_str().is_some_and(|secret| secret.starts_with("whsec_")));
    reported.receiver.answer(503);
    includes(&test(), &json!({ "status": 503 }));
    let messages = reported.receiver.messages();
    let signatures = |index: usize| {
        messages[index]
            .header("webhook-signature")
            .expect("it is signed")
            .split(' ')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!((signatures(0).len(), signatures(1).len()), (1, 2));
    // A test that fails is no failure of an event.
    includes(&show(&reported.client, &reported.webhook), &json!({ "state": "active", "delivered": 0 }));
}
