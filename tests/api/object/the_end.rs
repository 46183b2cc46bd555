//! Discarding, restoring and destroying.

use super::*;

#[test]
fn a_discarded_object_is_gone_by_every_source_and_frees_its_name() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    let uuid = read(&desk, &loid)["pstate"]["uuid"].as_str().unwrap().to_owned();
    assert_eq!(discard(&desk, &loid).ok(), json!({ "id": loid }));
    for source in [&loid, &uuid, &format!("{}/a.xml", desk.folder), &version(&loid, 1)] {
        is_gone(&desk, source);
        content(&desk, source).fails(404, "ObjectNotFound");
    }
    discard(&desk, &loid).fails(404, "ObjectNotFound");
    assert_eq!(desk.count(), 0);
    assert_ne!(desk.make("a.xml", b"one"), loid, "the name is free");
}

#[test]
fn a_discarded_object_comes_back_as_it_was() {
    let desk = Desk::of("reporter");
    let extra = json!({ "attributes": "<m>1</m>", "status": "Story/Ready", "suid": "s" });
    let loid = id(&desk.create("a.xml", b"one", extra).ok());
    desk.again("a.xml", b"two", "NEW_VERSION");
    let before = read(&desk, &loid);
    restore(&desk, &loid, json!({})).fails(404, "ObjectNotFound");
    discard(&desk, &loid).ok();
    let path = format!("{}/a.xml", desk.folder);
    restore(&desk, &loid, json!({})).gives(&json!({ "id": loid, "path": path }));
    let after = read(&desk, &path);
    for same in ["id", "name", "pstate", "version", "suid", "statusInfo", "attributes", "created", "creator"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(bytes_of(&desk, &loid), b"two");
    assert_eq!(bytes_of(&desk, &version(&loid, 1)), b"one");
    restore(&desk, &loid, json!({})).fails(404, "ObjectNotFound");
}

#[test]
fn a_name_taken_meanwhile_is_refused_unless_it_may_be_another() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    discard(&desk, &loid).ok();
    let other = desk.make("a.xml", b"one");
    let error = restore(&desk, &loid, json!({})).fails(409, "DuplicatedName");
    assert_eq!(error["details"]["existing"], other);
    restore(&desk, &loid, json!({ "createMode": "EXCEPTION" })).fails(409, "DuplicatedName");
    for mode in ["REPLACE", "NEW_VERSION"] {
        let failure = restore(&desk, &loid, json!({ "createMode": mode })).fails(400, "InvalidParameter");
        assert!(failure["message"].as_str().unwrap().contains(&format!("`{mode}`")), "{failure}");
    }
    let back = restore(&desk, &loid, json!({ "options": { "createMode": "AUTO_RENAME" } }));
    back.gives(&json!({ "id": loid, "name": "a (2).xml" }));
    assert_eq!(desk.names(), ["a (2).xml", "a.xml"]);
}

#[test]
fn an_object_comes_back_to_another_folder() {
    let (desk, other) = (Desk::of("reporter"), Desk::of("reporter"));
    let loid = desk.make("a.xml", b"one");
    let taken = other.make("taken.xml", b"one");
    discard(&desk, &loid).ok();
    let into = |folder: &str| restore(&desk, &loid, json!({ "folder": folder }));
    into(&taken).fails(400, "InvalidType");
    into("1$1.0.999999999").fails(404, "ObjectNotFound");
    into("nowhere").fails(400, "InvalidPath");
    let back = restore(&desk, &loid, json!({ "folderPath": other.folder }));
    back.gives(&json!({ "path": format!("{}/a.xml", other.folder) }));
    assert_eq!((desk.count(), other.count()), (0, 2));
}

fn add(client: &Client, drawer: &str, item: &str) {
    client.call("drawer-item-post", &[&drawer, &item]).ok();
}

#[test]
fn a_folder_takes_its_children_along_as_one_entry_and_brings_all_back() {
    let desk = Desk::of("editor");
    let (inner, deep) = (format!("{}/a", desk.folder), format!("{}/a/b", desk.folder));
    let child = desk.story(&deep, "child.xml");
    let drawer = desk.drawer(&inner, "drawer", 5);
    let outside = desk.drawer(&desk.folder, "outside", 5);
    let stays = desk.make("stays.xml", b"one");
    for (drawer, item) in [(&drawer, &stays), (&outside, &child), (&outside, &stays)] {
        add(&desk, drawer, item);
    }
    let top = id(&read(&desk, &inner));
    let earlier = desk.story(&deep, "earlier.xml");
    discard(&desk, &earlier).ok();

    discard(&desk, &inner).ok();
    let all = [&inner, &deep, &format!("{deep}/child.xml"), &child, &drawer, &top];
    for source in all {
        is_gone(&desk, source);
    }
    assert_eq!(desk.items(&outside), std::slice::from_ref(&stays), "it is hidden in drawers");
    desk.call("drawer-get", &[&drawer]).fails(404, "ObjectNotFound");
    // A child is not an entry of its own.
    restore(&desk, &child, json!({})).fails(409, "InvalidForContainer");
    destroy(&desk, &child).fails(409, "InvalidForContainer");
    // One that had gone before is, but its folder is not there.
    restore(&desk, &earlier, json!({})).fails(404, "ObjectNotFound");

    restore(&desk, &top, json!({})).gives(&json!({ "path": inner }));
    for source in all {
        read(&desk, source);
    }
    assert_eq!(desk.items(&outside), [child.clone(), stays.clone()]);
    assert_eq!(desk.items(&drawer), [stays]);
    is_gone(&desk, &format!("{deep}/earlier.xml"));
    let back = restore(&desk, &earlier, json!({}));
    back.gives(&json!({ "path": format!("{deep}/earlier.xml") }));
    assert_eq!(count_in(&desk, &deep), 2);
}

#[test]
fn destroyed_objects_are_gone_for_good() {
    let desk = Desk::of("editor");
    let [live, binned] = ["a.xml", "b.xml"].map(|name| desk.make(name, b"one"));
    let drawer = desk.drawer(&desk.folder, "drawer", 5);
    for item in [&live, &binned] {
        add(&desk, &drawer, item);
    }
    discard(&desk, &binned).ok();
    for loid in [&live, &binned] {
        assert_eq!(destroy(&desk, loid).ok(), json!({ "id": loid }));
        is_gone(&desk, loid);
        is_gone(&desk, &version(loid, 1));
        for call in [destroy(&desk, loid), discard(&desk, loid), restore(&desk, loid, json!({}))] {
            call.fails(404, "ObjectNotFound");
        }
    }
    desk.call("drawer-get", &[&drawer]).gives(&json!({ "info": { "count": 0, "hidden": 0 } }));
    assert_eq!(desk.count(), 1);
    let again = desk.make("a.xml", b"one");
    assert!(again != live && again != binned, "a number is never given twice");
}

#[test]
fn a_destroyed_folder_takes_all_below_it_live_or_from_the_bin() {
    let server = Server::start();
    for discard_first in [false, true] {
        let desk = Desk::at(server.user("editor"));
        let inner = format!("{}/a", desk.folder);
        let child = desk.story(&format!("{inner}/b"), "child.xml");
        let drawer = desk.drawer(&inner, "drawer", 5);
        add(&desk, &drawer, &child);
        let earlier = desk.story(&inner, "earlier.xml");
        discard(&desk, &earlier).ok();
        let top = id(&read(&desk, &inner));
        if discard_first {
            discard(&desk, &top).ok();
        }
        destroy(&desk, &top).ok();
        for source in [&top, &child, &drawer, &inner] {
            is_gone(&desk, source);
            restore(&desk, source, json!({})).fails(404, "ObjectNotFound");
        }
        assert_eq!(desk.count(), 0);
        // What had been discarded before was no part of it.
        restore(&desk, &earlier, json!({})).fails(404, "ObjectNotFound");
        let back = restore(&desk, &earlier, json!({ "folder": desk.folder }));
        back.gives(&json!({ "path": format!("{}/earlier.xml", desk.folder) }));
    }
    ends_sound(server);
}

#[test]
fn the_root_can_be_neither_discarded_nor_destroyed() {
    let client = Server::shared().user("admin");
    discard(&client, "/").fails(409, "InvalidForContainer");
    destroy(&client, "/").fails(409, "InvalidForContainer");
    let reply = client.call("objects-discard", &[]).json(&json!(["/"]));
    reply.gives(&json!({ "errors": [{ "code": "CMS.InvalidForContainer" }] }));
    client.call("folder-root-get", &[]).ok();
}

#[test]
fn bulk_calls_do_what_they_can_and_tell_of_the_rest() {
    let desk = Desk::of("editor");
    for (what, bare) in [("discard", true), ("discard", false), ("destroy", true), ("destroy", false)] {
        let call = desk.call(&format!("objects-{what}"), &[]);
        let [a, b] = ["a", "b"].map(|name| desk.make(name, b"one"));
        let by_path = format!("{}/b", desk.folder);
        let sources = json!([a, "nonsense", by_path, "/nowhere", a]);
        let body = if bare { sources } else { json!({ "sources": sources }) };
        let reply = call.clone().json(&body).gives(&json!({ "errors": [
            { "source": "nonsense", "code": "CMS.InvalidParameter" },
            { "source": "/nowhere", "code": "CMS.ObjectNotFound" },
        ] }));
        // An object listed twice is processed once.
        assert_eq!(reply["errors"].as_array().map(Vec::len), Some(2), "{reply}");
        assert_eq!(reply["items"], json!([{ "source": a, "id": a }, { "source": by_path, "id": b }]), "{what}");
        let mut errors = reply["errors"].as_array().unwrap().iter();
        assert!(errors.all(|error| error["message"].as_str().is_some_and(|text| text.ends_with('.'))));
        assert_eq!(desk.count(), 0);
        call.json(&json!({})).fails(400, "InvalidBody");
    }
}

#[test]
fn a_refusal_for_an_old_state_shows_the_present_one_whose_etags_serve() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"one");
    let old = tag(&desk.call("object-get", &[&loid]).send());
    desk.again("a.xml", b"<b/>", "REPLACE");
    for stale in [&old, &format!("W/{old}")] {
        for call in [discard(&desk, &loid), destroy(&desk, &loid)] {
            let failure = call.header("if-match", stale).fails(412, "PreconditionFailed");
            shows(&failure["details"]["current"], json!({ "id": loid, "revision": 2 }));
        }
    }
    // The ETag of any representation serves.
    let new = tag(&content(&desk, &loid).send());
    discard(&desk, &loid).header("if-match", format!("\"x\", {new}")).ok();
}

#[test]
fn discards_and_restores_at_once_leave_it_in_one_place() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"one");
    let done = at_once(|number| {
        let call = if number % 2 == 0 { discard(&desk, &loid) } else { restore(&desk, &loid, json!({})) };
        (number % 2 == 0, call.send().status)
    });
    let count = |discards| done.iter().filter(|(discarded, status)| *discarded == discards && *status == 200).count();
    assert!(done.iter().all(|(_, status)| matches!(status, 200 | 404)), "{done:?}");
    let there = desk.call("object-get", &[&loid]).send().status == 200;
    assert_eq!(count(true) - count(false), usize::from(!there), "{done:?}");
    assert_eq!(desk.count(), u64::from(there));
}
