//! Locks between two sessions of one user and those of others (docs/api/content.md, "Locks").

use serde_json::{Value, json};

use super::{id, object, upload};
use crate::harness::*;

fn lock(client: &Client, loid: &str) -> Answer {
    client.post(&format!("{}/lock", object(loid)), &json!({}))
}

fn unlock(client: &Client, loid: &str, force: bool) -> Answer {
    client.post(&format!("{}/unlock", object(loid)), &json!({ "force": force }))
}

/// Who has it locked, as a reader sees it.
fn locker(client: &Client, loid: &str) -> Value {
    let record = client.get(&object(loid)).ok();
    assert_eq!(record["locked"].is_null(), record["locker"].is_null(), "{record}");
    record["locker"]["id"].clone()
}

/// An object that this client made.
fn made(client: &Client) -> String {
    client.story(&own_folder(), "a.xml")
}

#[test]
fn a_lock_is_told_in_the_record_and_is_no_change_of_the_object() {
    let server = Server::shared();
    let client = server.login("editor");
    let loid = made(&client);
    let before = client.get(&object(&loid)).ok();
    assert_eq!(locker(&client, &loid), Value::Null);
    let locked = lock(&client, &loid).ok();
    assert_eq!(locked["locker"]["id"], "editor");
    let (at, expires) = (&locked["locked"], &locked["locker"]["lockExpires"]);
    assert_eq!(expires.as_u64().expect("a time") - at.as_u64().expect("a time"), 28_800);
    assert!(locked["locker"]["fullName"].is_string());
    let other = server.login("admin");
    assert_eq!(locker(&other, &loid), "editor");
    // The same session again keeps it.
    assert_eq!(lock(&client, &loid).ok()["locked"], *at);
    let after = unlock(&client, &loid, false).ok();
    assert_eq!((&after["locked"], &after["locker"]), (&Value::Null, &Value::Null));
    assert_eq!((&after["modified"], &after["lastModifier"]), (&before["modified"], &before["lastModifier"]));
    assert!(after["revision"].as_u64() > before["revision"].as_u64(), "its ETag changes");
    unlock(&client, &loid, false).fails(403, "ObjectNotLocked");
}

#[test]
fn a_lock_keeps_out_others_and_the_users_own_other_session() {
    let server = Server::shared();
    let (holder, twin, other) = (server.login("editor"), server.login("editor"), server.login("admin"));
    let folder = own_folder();
    let loid = id(&upload(&holder, &folder, "a.xml", b"one", json!({})).ok());
    lock(&holder, &loid).ok();
    let before = other.get(&object(&loid)).ok();
    for (client, code) in [(&twin, "ObjectLockedByMe"), (&other, "ObjectLocked")] {
        let error = lock(client, &loid).fails(403, code);
        assert_eq!((&error["source"], &error["details"]["lockedBy"]), (&json!(loid), &json!("editor")));
        assert!(error["details"]["lockExpires"].is_u64(), "{error}");
        unlock(client, &loid, false).fails(403, code);
        for mode in ["REPLACE", "NEW_VERSION"] {
            upload(client, &folder, "a.xml", b"two", json!({ "createMode": mode })).fails(403, code);
        }
        client.send("PUT", &format!("{}/content", object(&loid)), &[], b"two").fails(403, code);
        client.post(&format!("{}/versions/1/restore", object(&loid)), &json!({})).fails(403, code);
        client.delete(&format!("{}/discard", object(&loid))).fails(403, code);
        // And what lies around it.
        client.delete(&format!("{}/discard", object(&folder))).fails(403, code);
        let bulk = client.delete_with("/v3/object/discard", &json!([loid])).ok();
        assert_eq!(bulk["errors"][0]["code"], format!("CMS.{code}"));
    }
    other.delete(&format!("{}/destroy", object(&loid))).fails(403, "ObjectLocked");
    assert_eq!(other.get(&object(&loid)).ok(), before);
    assert_eq!(other.get(&format!("{}/content", object(&loid))).body, b"one", "reading goes on");
    upload(&holder, &folder, "a.xml", b"two", json!({ "createMode": "NEW_VERSION" })).ok();
    assert_eq!(locker(&holder, &loid), "editor", "the holder's own writes leave it");
    holder.delete(&format!("{}/discard", object(&loid))).ok();
    let back = other.post(&format!("{}/restore", object(&loid)), &json!({})).ok();
    assert_eq!(back["locker"], Value::Null, "it ended in the recycle bin");
}

#[test]
fn a_drawers_lock_covers_its_record_and_not_its_items() {
    let server = Server::shared();
    let (holder, other) = (server.login("editor"), server.login("admin"));
    let folder = own_folder();
    let (drawer, story) = (holder.drawer(&folder, "d", 5), holder.story(&folder, "a.xml"));
    lock(&holder, &drawer).ok();
    let path = format!("/v3/container/drawer/{}", encoded(&drawer));
    other.put(&path, &json!({ "title": "Mine" })).fails(403, "ObjectLocked");
    other.put(&path, &json!({ "name": "e" })).fails(403, "ObjectLocked");
    other.post(&format!("{path}/item/{}", encoded(&story)), &json!({})).ok();
    holder.put(&path, &json!({ "title": "Mine", "name": "e" })).ok();
}

#[test]
fn breaking_anothers_lock_takes_the_privilege_and_ones_own_does_not() {
    let server = Server::shared();
    let (admin, reporter, twin) = (server.login("admin"), server.login("reporter"), server.login("reporter"));
    let loid = made(&reporter);
    lock(&reporter, &loid).ok();
    unlock(&twin, &loid, false).fails(403, "ObjectLockedByMe");
    assert_eq!(unlock(&twin, &loid, true).ok()["locker"], Value::Null);
    lock(&admin, &loid).ok();
    let error = unlock(&reporter, &loid, true).fails(403, "PermissionDenied");
    assert_eq!(error["details"]["privilege"], "forceUnlock");
    assert_eq!(locker(&reporter, &loid), "admin");
    unlock(&admin, &loid, false).ok();
    lock(&reporter, &loid).ok();
    unlock(&admin, &loid, false).fails(403, "ObjectLocked");
    assert_eq!(unlock(&admin, &loid, true).ok()["locker"], Value::Null);
    lock(&admin, &loid).ok();
    server.login("reader").post(&format!("{}/lock", object("/News")), &json!({})).fails(403, "PermissionDenied");
}

#[test]
fn a_lock_ends_with_its_session_however_that_ends() {
    let server = Server::with(&[("AUTH__SESSIONS_PER_USER", "2")]);
    let (admin, editor) = (server.login("admin"), server.login("editor"));
    let folder = own_folder();
    let loid = admin.story(&folder, "a.xml");
    let other = admin.story(&folder, "b.xml");
    lock(&editor, &other).ok();
    let gone = server.login("reporter");
    for end in ["logout", "ended", "crowded out"] {
        let session = server.login("admin");
        lock(&session, &loid).ok();
        match end {
            "logout" => drop(session.get("/v3/auth/logout").ok()),
            "ended" => {
                let own = session.get("/v3/auth/connection").ok()["session"].as_str().expect("a reference").to_owned();
                admin.delete(&format!("/v3/session/{own}")).ok();
            }
            // The third session of a user who may have two ends the one that was used least recently.
            _ => {
                let used = std::time::SystemTime::now();
                wait_until("time goes on", || used.elapsed().is_ok_and(|passed| passed.as_millis() > 1));
                admin.get("/v3/auth/connection/check").ok();
                server.login("admin");
            }
        }
        assert_eq!(locker(&gone, &loid), Value::Null, "{end}");
    }
    assert_eq!(locker(&gone, &other), "editor", "others keep theirs");
    assert!(lock(&gone, &other).fails(403, "ObjectLocked")["message"].is_string());
}

#[test]
fn a_lock_that_nobody_uses_is_taken_off_and_so_is_one_of_a_disabled_user() {
    let server = Server::with(&[("AUTH__LOCK_IDLE_SECONDS", "1"), ("AUTH__FLUSH_SECONDS", "1")]);
    let (admin, editor) = (server.login("admin"), server.login("editor"));
    let loid = made(&admin);
    lock(&editor, &loid).ok();
    wait_until("the lock expires", || locker(&admin, &loid).is_null());
    unlock(&editor, &loid, false).fails(403, "ObjectNotLocked");
    drop(server);
    let server = Server::with(&[("AUTH__FLUSH_SECONDS", "1")]);
    let (admin, editor) = (server.login("admin"), server.login("editor"));
    let loid = made(&admin);
    lock(&editor, &loid).ok();
    admin.put("/v3/user/editor", &json!({ "disabled": true })).ok();
    wait_until("the lock goes with its session", || locker(&admin, &loid).is_null());
}

#[test]
fn locks_survive_a_crash_with_their_sessions() {
    let mut server = Server::start();
    let (holder, other) = (server.login("editor"), server.login("admin"));
    let loid = made(&holder);
    let before = lock(&holder, &loid).ok();
    server.kill();
    let mut server = server.restart();
    let (holder, other) = (holder.to(&server), other.to(&server));
    assert_eq!(other.get(&object(&loid)).ok()["locker"], before["locker"]);
    lock(&other, &loid).fails(403, "ObjectLocked");
    unlock(&holder, &loid, false).ok();
    lock(&other, &loid).ok();
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_version_or_what_is_not_there_is_not_locked() {
    let client = Server::shared().login("editor");
    let loid = made(&client);
    lock(&client, &loid.replace(".0.", ".1.")).fails(400, "InvalidType");
    lock(&client, "1$1.0.999999999").fails(404, "ObjectNotFound");
    unlock(&client, "1$1.0.999999999", true).fails(404, "ObjectNotFound");
    let wrong = client.post(&format!("{}/unlock", object(&loid)), &json!({ "force": "perhaps" }));
    wrong.fails(400, "InvalidBody");
    client
        .send("POST", &format!("{}/lock", object(&loid)), &[("if-match", "\"9-0\"")], b"")
        .fails(412, "PreconditionFailed");
    assert_eq!(locker(&client, &loid), Value::Null);
    // One of sixteen gets it.
    let outcomes = super::at_once(|_| lock(&Server::shared().login("editor"), &loid).status);
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
}
