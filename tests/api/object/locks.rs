//! Locks between two sessions of one user and those of others (docs/api/content.md, "Locks").

use super::*;

/// Returns the user who has locked an object, as a reader sees it.
fn locker(client: &Client, loid: &str) -> Value {
    let record = read(client, loid);
    assert_eq!(record["locked"].is_null(), record["locker"].is_null(), "{record}");
    record["locker"]["id"].clone()
}

/// Two sessions of one user, and another user.
fn people() -> (Desk, Client, Client) {
    let server = Server::shared();
    (Desk::of("editor"), server.login("editor"), server.user("admin"))
}

#[test]
fn a_lock_is_told_in_the_record_and_is_no_change_of_the_object() {
    let (desk, _, other) = people();
    let loid = desk.make("a.xml", b"one");
    let before = read(&desk, &loid);
    assert_eq!(locker(&desk, &loid), Value::Null);
    let locked = lock(&desk, &loid).gives(&json!({ "locker": { "id": "editor" } }));
    let (at, expires) = (&locked["locked"], &locked["locker"]["lockExpires"]);
    assert_eq!(expires.as_u64().expect("a time") - at.as_u64().expect("a time"), 28_800);
    assert!(locked["locker"]["fullName"].is_string());
    assert_eq!(locker(&other, &loid), "editor");
    // The same session again keeps it.
    assert_eq!(lock(&desk, &loid).ok()["locked"], *at);
    let after = unlock(&desk, &loid, false).ok();
    let (modified, modifier) = (&before["modified"], &before["lastModifier"]);
    shows(&after, json!({ "locked": null, "locker": null, "modified": modified, "lastModifier": modifier }));
    assert!(after["revision"].as_u64() > before["revision"].as_u64(), "its ETag changes");
    unlock(&desk, &loid, false).fails(403, "ObjectNotLocked");
}

#[test]
fn a_lock_keeps_out_others_and_the_users_own_other_session() {
    let (desk, twin, other) = people();
    let loid = desk.make("a.xml", b"one");
    lock(&desk, &loid).ok();
    let before = read(&other, &loid);
    for (client, code) in [(&twin, "ObjectLockedByMe"), (&other, "ObjectLocked")] {
        let error = lock(client, &loid).fails(403, code);
        includes(&error, &json!({ "source": loid, "details": { "lockedBy": "editor" } }));
        assert!(error["details"]["lockExpires"].is_u64(), "{error}");
        for refused in [
            unlock(client, &loid, false),
            desk.create("a.xml", b"two", json!({ "createMode": "REPLACE" })).by(client),
            desk.create("a.xml", b"two", json!({ "createMode": "NEW_VERSION" })).by(client),
            write(client, &loid, "", b"two"),
            client.call("stet-object-version-restore-post", &[&loid, &1]),
            discard(client, &loid),
            // And what lies around it.
            discard(client, &desk.folder),
        ] {
            refused.fails(403, code);
        }
        let bulk = client.call("objects-discard", &[]).json(&json!([loid]));
        bulk.gives(&json!({ "errors": [{ "code": format!("CMS.{code}") }] }));
    }
    destroy(&other, &loid).fails(403, "ObjectLocked");
    assert_eq!(read(&other, &loid), before);
    assert_eq!(bytes_of(&other, &loid), b"one", "reading goes on");
    desk.again("a.xml", b"two", "NEW_VERSION");
    assert_eq!(locker(&desk, &loid), "editor", "the holder's own writes leave it");
    discard(&desk, &loid).ok();
    let back = restore(&other, &loid, json!({})).ok();
    assert_eq!(back["locker"], Value::Null, "it ended in the recycle bin");
}

#[test]
fn a_drawers_lock_covers_its_record_and_not_its_items() {
    let (desk, _, other) = people();
    let (drawer, story) = (desk.drawer(&desk.folder, "d", 5), desk.make("a.xml", b"one"));
    lock(&desk, &drawer).ok();
    let change = |body: Value| desk.call("drawer-put", &[&drawer]).json(&body);
    change(json!({ "title": "Mine" })).by(&other).fails(403, "ObjectLocked");
    change(json!({ "name": "e" })).by(&other).fails(403, "ObjectLocked");
    other.call("drawer-item-post", &[&drawer, &story]).ok();
    change(json!({ "title": "Mine", "name": "e" })).ok();
}

#[test]
fn breaking_anothers_lock_takes_the_privilege_and_ones_own_does_not() {
    let server = Server::shared();
    let (admin, twin, desk) = (server.user("admin"), server.login("reporter"), Desk::of("reporter"));
    let loid = desk.make("a.xml", b"one");
    lock(&desk, &loid).ok();
    unlock(&twin, &loid, false).fails(403, "ObjectLockedByMe");
    assert_eq!(unlock(&twin, &loid, true).ok()["locker"], Value::Null);
    lock(&admin, &loid).ok();
    let error = unlock(&desk, &loid, true).fails(403, "PermissionDenied");
    assert_eq!(error["details"]["privilege"], "forceUnlock");
    assert_eq!(locker(&desk, &loid), "admin");
    unlock(&admin, &loid, false).ok();
    lock(&desk, &loid).ok();
    unlock(&admin, &loid, false).fails(403, "ObjectLocked");
    assert_eq!(unlock(&admin, &loid, true).ok()["locker"], Value::Null);
    lock(&admin, &loid).ok();
}

#[test]
fn a_lock_ends_with_its_session_however_that_ends() {
    let server = Server::with(&[("AUTH__SESSIONS_PER_USER", "2")]);
    let (desk, editor) = (Desk::at(server.login("admin")), server.login("editor"));
    let [loid, other] = ["a.xml", "b.xml"].map(|name| desk.make(name, b"one"));
    lock(&editor, &other).ok();
    let reporter = server.login("reporter");
    for end in ["logout", "ended", "crowded out"] {
        let session = server.login("admin");
        lock(&session, &loid).ok();
        match end {
            "logout" => drop(session.call("auth-logout-get", &[]).ok()),
            "ended" => {
                let own = session.call("auth-connection-get", &[]).ok()["session"].clone();
                desk.call("stet-session-delete", &[&own.as_str().expect("a reference")]).ok();
            }
            // The third session of a user who may have two ends the one that was used least
            // recently.
            _ => {
                let used = std::time::SystemTime::now();
                wait_until("time goes on", || used.elapsed().is_ok_and(|passed| passed.as_millis() > 1));
                desk.call("auth-connection-check-get", &[]).ok();
                server.login("admin");
            }
        }
        assert_eq!(locker(&reporter, &loid), Value::Null, "{end}");
    }
    assert_eq!(locker(&reporter, &other), "editor", "others keep theirs");
    assert!(lock(&reporter, &other).fails(403, "ObjectLocked")["message"].is_string());
}

#[test]
fn a_lock_shows_the_name_that_its_user_has_now() {
    let (server, desk) = (Server::shared(), Desk::of("admin"));
    let user = desk.folder.replace('/', "-");
    let body = json!({ "name": user, "fullName": "Ada Moss", "password": "a good one", "groups": ["editors"] });
    desk.call("stet-user-create-post", &[]).json(&body).ok();
    let holder = server.client_with(&server.log_in(&user, "a good one").ok()["token"]["value"]);
    let loid = desk.make("a.xml", b"one");
    let drawer = desk.call("drawer-post", &[]).json(&json!({ "folder": desk.folder, "sources": [loid] })).ok();
    let drawer = drawer["info"]["id"].as_str().expect("a loid");
    lock(&holder, &loid).ok();
    // Cached replies about it: the record, and the reply about its drawer.
    let shown = |name: &str| {
        let locked = json!({ "locker": { "id": user, "fullName": name } });
        includes(&read(&desk, &loid), &locked);
        desk.call("drawer-get", &[&drawer]).query("showItems", true).gives(&json!({ "items": [{ "object": locked }] }));
    };
    shown("Ada Moss");
    desk.call("stet-user-update-put", &[&user]).json(&json!({ "fullName": "Ada Holt" })).ok();
    shown("Ada Holt");
}

#[test]
fn a_lock_that_nobody_uses_is_taken_off_and_so_is_one_of_a_disabled_user() {
    let server = Server::with(&[("AUTH__LOCK_IDLE_SECONDS", "1"), ("AUTH__FLUSH_SECONDS", "1")]);
    let (desk, editor) = (Desk::at(server.login("admin")), server.login("editor"));
    let loid = desk.make("a.xml", b"one");
    lock(&editor, &loid).ok();
    wait_until("the lock expires", || locker(&desk, &loid).is_null());
    unlock(&editor, &loid, false).fails(403, "ObjectNotLocked");
    drop(server);
    let server = Server::with(&[("AUTH__FLUSH_SECONDS", "1")]);
    let (desk, editor) = (Desk::at(server.login("admin")), server.login("editor"));
    let loid = desk.make("a.xml", b"one");
    lock(&editor, &loid).ok();
    desk.call("stet-user-update-put", &[&"editor"]).json(&json!({ "disabled": true })).ok();
    wait_until("the lock goes with its session", || locker(&desk, &loid).is_null());
}

#[test]
fn locks_survive_a_crash_with_their_sessions() {
    let mut server = Server::start();
    let (desk, other) = (Desk::at(server.login("editor")), server.login("admin"));
    let loid = desk.make("a.xml", b"one");
    let before = lock(&desk, &loid).ok();
    server.kill();
    let server = server.restart();
    let (holder, other) = (desk.to(&server), other.to(&server));
    assert_eq!(read(&other, &loid)["locker"], before["locker"]);
    lock(&other, &loid).fails(403, "ObjectLocked");
    unlock(&holder, &loid, false).ok();
    lock(&other, &loid).ok();
    ends_sound(server);
}

#[test]
fn one_of_sixteen_sessions_that_lock_at_once_gets_the_lock() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"one");
    let wrong = desk.call("stet-object-unlock-post", &[&loid]).json(&json!({ "force": "perhaps" }));
    wrong.fails(400, "InvalidBody");
    let outcomes = at_once(|_| lock(&Server::shared().login("editor"), &loid).send().status);
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
}

#[test]
fn a_creation_says_whether_the_object_stays_checked_out() {
    let (desk, twin, _) = people();
    let make = |name: &str, options: Value| desk.create(name, b"one", options);
    for (number, (options, held)) in [
        (json!({}), false),
        (json!({ "options": { "checkIn": true } }), false),
        (json!({ "options": { "checkIn": false } }), true),
        (json!({ "checkIn": false }), true),
        (json!({ "checkIn": false, "options": { "checkIn": true } }), false),
        (json!({ "options": { "checkIn": false, "unlock": true } }), false),
        (json!({ "options": { "keepCheckedOut": true } }), true),
    ]
    .into_iter()
    .enumerate()
    {
        let made = make(&format!("{number}.xml"), options.clone()).ok();
        let holder = if held { json!("editor") } else { Value::Null };
        assert_eq!((&made["locker"]["id"], &made["version"]), (&holder, &json!(1)), "{options}");
        assert_eq!(locker(&twin, &id(&made)), holder, "{options}");
    }
    // The lock is one as any other: it keeps others out, stays when the object gets a version, and
    // is given back.
    let loid = id(&make("kept.xml", json!({ "checkIn": false })).ok());
    write(&twin, &loid, "", b"two").fails(403, "ObjectLockedByMe");
    let again = make("kept.xml", json!({ "createMode": "NEW_VERSION" })).gives(&json!({ "id": loid, "version": 2 }));
    assert_eq!(again["locker"]["id"], "editor");
    unlock(&desk, &loid, false).ok();
    make("kept.xml", json!({ "options": { "createMode": "REPLACE", "checkIn": false } }))
        .gives(&json!({ "id": loid, "version": 2, "locker": { "id": "editor" } }));

    // The draft was based on the text before it.
    let loid = id(&make("draft.xml", json!({})).ok());
    write(&twin, &loid, "checkIn=false", b"of before").ok();
    assert_eq!(locker(&twin, &loid), Value::Null);
    make("draft.xml", json!({ "createMode": "NEW_VERSION", "keepCheckedOut": true })).ok();
    assert_eq!(content(&desk, &loid).send().body, b"one");
    unlock(&desk, &loid, false).ok();

    for field in ["checkIn", "unlock", "keepCheckedOut"] {
        let refused = make("wrong.xml", json!({ "options": { field: "maybe" } })).fails(400, "InvalidBody");
        assert_eq!(refused["details"]["path"], format!("$.options.{field}"));
    }
    let template = json!({ "folder": desk.folder, "options": { "checkIn": false } });
    let path = format!("{}/kept.xml", desk.folder);
    let made = desk.call("stet-object-create-from-template-post", &[]).query("path", path).json(&template).ok();
    assert_eq!(made["locker"]["id"], "editor");
}
