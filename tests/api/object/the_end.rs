//! Discarding, restoring and destroying.

use super::*;

fn discard(client: &Client, source: &str) -> Answer {
    client.delete(&format!("{}/discard", object(source)))
}

fn destroy(client: &Client, source: &str) -> Answer {
    client.delete(&format!("{}/destroy", object(source)))
}

fn restore(client: &Client, source: &str, body: Value) -> Answer {
    client.post(&format!("{}/restore", object(source)), &body)
}

#[test]
fn a_discarded_object_is_gone_by_every_source_and_frees_its_name() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let loid = client.story(&folder, "a.xml");
    let record = client.get(&object(&loid)).ok();
    assert_eq!(discard(&client, &loid).ok(), json!({ "id": loid }));
    let uuid = record["pstate"]["uuid"].as_str().unwrap();
    for source in [&loid, uuid, &format!("{folder}/a.xml"), &loid.replace("$1.0.", "$1.1.")] {
        client.get(&object(source)).fails(404, "ObjectNotFound");
        client.get(&format!("{}/content", object(source))).fails(404, "ObjectNotFound");
    }
    discard(&client, &loid).fails(404, "ObjectNotFound");
    assert_eq!(count_in(&client, &folder), 0);
    assert_ne!(client.story(&folder, "a.xml"), loid, "the name is free");
}

#[test]
fn a_discarded_object_comes_back_as_it_was() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let extra = json!({ "attributes": "<m>1</m>", "status": "Story/Ready", "suid": "s" });
    let made = upload(&client, &folder, "a.xml", b"one", extra).ok();
    upload(&client, &folder, "a.xml", b"two", json!({ "createMode": "NEW_VERSION" })).ok();
    let loid = id(&made);
    let before = client.get(&object(&loid)).ok();
    discard(&client, &loid).ok();
    let back = restore(&client, &loid, json!({})).ok();
    assert_eq!((&back["id"], &back["path"]), (&json!(loid), &json!(format!("{folder}/a.xml"))));
    let after = client.get(&object(&format!("{folder}/a.xml"))).ok();
    for same in ["id", "name", "pstate", "version", "suid", "statusInfo", "attributes", "created", "creator"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(bytes_of(&client, &loid), b"two");
    assert_eq!(bytes_of(&client, &loid.replace("$1.0.", "$1.1.")), b"one");
    restore(&client, &loid, json!({})).fails(404, "ObjectNotFound");
}

#[test]
fn a_name_taken_meanwhile_is_refused_unless_it_may_be_another() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let loid = client.story(&folder, "a.xml");
    discard(&client, &loid).ok();
    client.story(&folder, "a.xml");
    restore(&client, &loid, json!({})).fails(409, "DuplicatedName");
    restore(&client, &loid, json!({ "createMode": "EXCEPTION" })).fails(409, "DuplicatedName");
    for mode in ["REPLACE", "NEW_VERSION"] {
        let failure = restore(&client, &loid, json!({ "createMode": mode })).fails(400, "InvalidParameter");
        assert!(failure["message"].as_str().unwrap().contains(&format!("`{mode}`")), "{failure}");
    }
    let back = restore(&client, &loid, json!({ "options": { "createMode": "AUTO_RENAME" } })).ok();
    assert_eq!((&back["id"], &back["name"]), (&json!(loid), &json!("a (2).xml")));
    assert_eq!(names_in(&client, &folder), ["a (2).xml", "a.xml"]);
}

#[test]
fn an_object_comes_back_to_another_folder() {
    let client = Server::shared().login("reporter");
    let (folder, other) = (own_folder(), own_folder());
    let loid = client.story(&folder, "a.xml");
    let taken = client.story(&other, "taken.xml");
    discard(&client, &loid).ok();
    restore(&client, &loid, json!({ "folder": taken })).fails(400, "InvalidType");
    restore(&client, &loid, json!({ "folder": "1$1.0.999999999" })).fails(404, "ObjectNotFound");
    restore(&client, &loid, json!({ "folder": "nowhere" })).fails(400, "InvalidPath");
    let back = restore(&client, &loid, json!({ "folderPath": other })).ok();
    assert_eq!(back["path"], format!("{other}/a.xml"));
    assert_eq!((count_in(&client, &folder), count_in(&client, &other)), (0, 2));
}

#[test]
fn what_is_not_in_the_bin_is_not_restored() {
    let client = Server::shared().login("reporter");
    let loid = client.story(&own_folder(), "a.xml");
    restore(&client, &loid, json!({})).fails(404, "ObjectNotFound");
    restore(&client, "1$1.0.999999999", json!({})).fails(404, "ObjectNotFound");
}

#[test]
fn a_folder_takes_its_children_along_as_one_entry_and_brings_all_back() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let (inner, deep) = (format!("{folder}/a"), format!("{folder}/a/b"));
    let child = client.story(&deep, "child.xml");
    let drawer = client.drawer(&inner, "drawer", 5);
    let outside = client.drawer(&folder, "outside", 5);
    let add = |drawer: &str, object: &str| {
        client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(drawer), encoded(object)), &json!({})).ok()
    };
    let stays = client.story(&folder, "stays.xml");
    add(&drawer, &stays);
    add(&outside, &child);
    add(&outside, &stays);
    let top = id(&client.get(&object(&inner)).ok());
    let earlier = client.story(&deep, "earlier.xml");
    discard(&client, &earlier).ok();

    discard(&client, &inner).ok();
    for source in [&inner, &deep, &format!("{deep}/child.xml"), &child, &drawer, &top] {
        client.get(&object(source)).fails(404, "ObjectNotFound");
    }
    assert_eq!(client.items(&outside), std::slice::from_ref(&stays), "it is hidden in drawers");
    client.get(&format!("/v3/container/drawer/{}", encoded(&drawer))).fails(404, "ObjectNotFound");
    // A child is not an entry of its own.
    restore(&client, &child, json!({})).fails(409, "InvalidForContainer");
    destroy(&client, &child).fails(409, "InvalidForContainer");
    // One that had gone before is, but its folder is not there.
    restore(&client, &earlier, json!({})).fails(404, "ObjectNotFound");

    let back = restore(&client, &top, json!({})).ok();
    assert_eq!(back["path"], inner);
    for source in [&inner, &deep, &format!("{deep}/child.xml"), &child, &drawer, &top] {
        assert_eq!(client.get(&object(source)).status, 200, "{source}");
    }
    assert_eq!(client.items(&outside), [child.clone(), stays.clone()]);
    assert_eq!(client.items(&drawer), [stays]);
    client.get(&object(&format!("{deep}/earlier.xml"))).fails(404, "ObjectNotFound");
    restore(&client, &earlier, json!({})).ok();
    assert_eq!(names_in(&client, &deep), ["child.xml", "earlier.xml"]);
}

#[test]
fn what_is_destroyed_is_gone_for_good() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let (live, binned) = (client.story(&folder, "a.xml"), client.story(&folder, "b.xml"));
    let drawer = client.drawer(&folder, "drawer", 5);
    for item in [&live, &binned] {
        client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(item)), &json!({})).ok();
    }
    discard(&client, &binned).ok();
    for loid in [&live, &binned] {
        assert_eq!(destroy(&client, loid).ok(), json!({ "id": loid }));
        client.get(&object(loid)).fails(404, "ObjectNotFound");
        client.get(&object(&loid.replace("$1.0.", "$1.1."))).fails(404, "ObjectNotFound");
        destroy(&client, loid).fails(404, "ObjectNotFound");
        discard(&client, loid).fails(404, "ObjectNotFound");
        restore(&client, loid, json!({})).fails(404, "ObjectNotFound");
    }
    let info = client.get(&format!("/v3/container/drawer/{}?showItems=true", encoded(&drawer))).ok();
    assert_eq!((&info["info"]["count"], &info["info"]["hidden"]), (&json!(0), &json!(0)));
    assert_eq!(count_in(&client, &folder), 1);
    let again = client.story(&folder, "a.xml");
    assert!(again != live && again != binned, "a number is never given twice");
}

#[test]
fn a_destroyed_folder_takes_all_below_it_live_or_from_the_bin() {
    let mut server = Server::start();
    let client = server.login("editor");
    for discard_first in [false, true] {
        let folder = own_folder();
        let child = client.story(&format!("{folder}/a/b"), "child.xml");
        let drawer = client.drawer(&format!("{folder}/a"), "drawer", 5);
        let path = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&child));
        client.post(&path, &json!({})).ok();
        let earlier = client.story(&format!("{folder}/a"), "earlier.xml");
        discard(&client, &earlier).ok();
        let top = id(&client.get(&object(&format!("{folder}/a"))).ok());
        if discard_first {
            discard(&client, &top).ok();
        }
        destroy(&client, &top).ok();
        for source in [&top, &child, &drawer, &format!("{folder}/a")] {
            client.get(&object(source)).fails(404, "ObjectNotFound");
            restore(&client, source, json!({})).fails(404, "ObjectNotFound");
        }
        assert_eq!(count_in(&client, &folder), 0);
        // What had been discarded before was no part of it.
        restore(&client, &earlier, json!({})).fails(404, "ObjectNotFound");
        assert_eq!(
            restore(&client, &earlier, json!({ "folder": folder })).ok()["path"],
            format!("{folder}/earlier.xml")
        );
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn the_root_can_be_neither_discarded_nor_destroyed() {
    let client = Server::shared().login("admin");
    discard(&client, "/").fails(409, "InvalidForContainer");
    destroy(&client, "/").fails(409, "InvalidForContainer");
    let reply = client.delete_with("/v3/object/discard", &json!(["/"])).ok();
    assert_eq!(reply["errors"][0]["code"], "CMS.InvalidForContainer");
    client.get("/v3/folder/root").ok();
}

#[test]
fn bulk_calls_do_what_they_can_and_tell_of_the_rest() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    for (what, bare) in [("discard", true), ("discard", false), ("destroy", true), ("destroy", false)] {
        let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
        let sources = json!([a, "nonsense", format!("{folder}/b"), "/nowhere", a]);
        let body = if bare { sources } else { json!({ "sources": sources }) };
        let reply = client.delete_with(&format!("/v3/object/{what}"), &body).ok();
        let expected = json!([{ "source": a, "id": a }, { "source": format!("{folder}/b"), "id": b }]);
        assert_eq!(reply["items"], expected, "{what}");
        let errors = reply["errors"].as_array().unwrap();
        let told: Vec<_> = errors.iter().map(|error| (error["source"].as_str(), error["code"].as_str())).collect();
        let not_found = Some("CMS.ObjectNotFound");
        let expected = [
            (Some("nonsense"), Some("CMS.InvalidParameter")),
            (Some("/nowhere"), not_found),
            (Some(a.as_str()), not_found),
        ];
        assert_eq!(told, expected, "{what}");
        assert!(errors.iter().all(|error| error["message"].as_str().is_some_and(|text| text.ends_with('.'))));
        assert_eq!(count_in(&client, &folder), 0);
    }
    client.send("DELETE", "/v3/object/discard", &[], b"").fails(400, "InvalidBody");
    client.delete_with("/v3/object/destroy", &json!({})).fails(400, "InvalidBody");
}

#[test]
fn privileges_are_asked_for() {
    let server = Server::shared();
    let folder = own_folder();
    let loid = server.login("reporter").story(&folder, "a");
    let contributor = server.login("contributor");
    discard(&contributor, &loid).fails(403, "PermissionDenied");
    destroy(&server.login("reporter"), &loid).fails(403, "PermissionDenied");
    contributor.get(&object(&loid)).ok();
}

#[test]
fn a_discard_for_an_old_state_is_refused_with_the_present_one() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let loid = client.story(&folder, "a.xml");
    let path = |what: &str| format!("{}/{what}", object(&loid));
    let old = client.get(&object(&loid)).header("etag").unwrap().to_owned();
    upload(&client, &folder, "a.xml", b"<b/>", json!({ "createMode": "REPLACE" })).ok();
    for tag in [old.as_str(), "\"999-0\"", "nonsense", &format!("W/{old}")] {
        for what in ["discard", "destroy"] {
            let failure = client.send("DELETE", &path(what), &[("if-match", tag)], b"");
            let failure = failure.fails(412, "PreconditionFailed");
            let current = &failure["details"]["current"];
            assert_eq!((&current["id"], &current["revision"]), (&json!(loid), &json!(2)));
        }
    }
    // The ETag of any representation serves, and so does a star.
    let new = client.get(&path("content")).header("etag").unwrap().to_owned();
    client.send("DELETE", &path("discard"), &[("if-match", &format!("\"x\", {new}"))], b"").ok();
    restore(&client, &loid, json!({})).ok();
    client.send("DELETE", &path("destroy"), &[("if-match", "*")], b"").ok();
}

#[test]
fn discards_and_restores_at_once_leave_it_in_one_place() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let loid = client.story(&folder, "a.xml");
    let done = at_once(|number| {
        let answer = if number % 2 == 0 { discard(&client, &loid) } else { restore(&client, &loid, json!({})) };
        (number % 2 == 0, answer.status)
    });
    let count = |discards| done.iter().filter(|(discarded, status)| *discarded == discards && *status == 200).count();
    assert!(done.iter().all(|(_, status)| matches!(status, 200 | 404)), "{done:?}");
    let there = client.get(&object(&loid)).status == 200;
    assert_eq!(count(true) - count(false), usize::from(!there), "{done:?}");
    assert_eq!(count_in(&client, &folder), u64::from(there));
}
