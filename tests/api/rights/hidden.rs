//! Objects that a caller may not read: no name, list or link shows them.

use serde_json::{Value, json};

use super::*;

#[test]
fn unreadable_objects_are_not_found_by_any_of_their_names() {
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
    // The same holds in lists, and for users who would remove it.
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
    // The number of objects in such a folder is hidden from users who may not read it.
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

/// Checks that the links of a folder are hidden from callers who may not read it, even though its
/// loid can be resolved.
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
fn folders_shown_as_ancestors_reveal_no_change() {
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
    // A change of the shown state changes the tag.
    let tag = &before[1].0;
    admin.call("folder-post", &[]).json(&json!({ "path": "/Top/Desk/inner" })).ok();
    assert_ne!(reporter.call("folder-get", &[&"/Top"]).send().header("etag"), tag.as_deref());
}

#[test]
fn discarded_objects_are_not_found_by_callers_who_may_not_restore_them() {
    let (_server, admin, reporter) = desk();
    grant(&admin, &["read", "create"]);
    let drawer = admin.drawer("/Top/Desk", "gone", 5);
    let etag = admin.call("drawer-get", &[&drawer]).send().header("etag").expect("a drawer has an ETag").to_owned();
    admin.call("object-discard", &[&drawer]).ok();
    reporter.call("object-discard", &[&drawer]).fails(404, "ObjectNotFound");
    let put = reporter.call("drawer-put", &[&drawer]).json(&json!({ "title": "x" }));
    put.fails(404, "ObjectNotFound");
    // A precondition does not reveal it either.
    for tag in [etag.as_str(), "\"1-0\""] {
        for client in [&admin, &reporter] {
            put.clone().by(client).header("if-match", tag).fails(404, "ObjectNotFound");
        }
    }
}

#[test]
fn a_hidden_objects_name_is_taken_without_revealing_the_object() {
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
    // Positions count among the visible items, in requests and in replies.
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
    // A capacity that is too small for all of them does not reveal their number either.
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
fn a_history_shows_nothing_of_objects_that_the_caller_may_not_read() {
    let (_server, admin, reporter) = desk();
    let drawer = admin.drawer("/Top/Desk", "desk", 9);
    let (hidden, shown) = (admin.story("/Top/Other", "hidden.xml"), admin.story("/Top/Desk", "shown.xml"));
    admin.call("drawer-item-post", &[&drawer, &hidden]).ok();
    admin.call("drawer-item-post", &[&drawer, &shown]).ok();
    admin.call("drawer-item-delete", &[&drawer, &hidden]).ok();
    let reply = reporter.call("stet-history-get", &[&drawer]).ok();
    assert!(!reply.to_string().contains(&hidden) && !reply.to_string().contains("hidden.xml"), "{reply}");
    let entries = reply["items"].as_array().expect("it is a list");
    assert_eq!((&entries[0]["kind"], entries[0].get("changes")), (&Value::Null, None), "{reply}");
    // Positions count without what the caller doesn't see.
    assert_eq!(entries[1]["changes"]["items"][0]["to"], 0, "{reply}");
    let past = reporter.call("drawer-get", &[&drawer]).query("at", 3).query("showItems", true).ok();
    assert_eq!((past["items"].as_array().map(Vec::len), &past["info"]["count"]), (Some(1), &json!(1)));
    // An earlier state brings back nothing that they do not see, and leaves it where it is.
    reporter.call("stet-revert-post", &[&drawer]).json(&json!({ "revision": 2 })).ok();
    assert_eq!(admin.items(&drawer), [] as [String; 0]);
    admin.call("drawer-item-post", &[&drawer, &hidden]).ok();
    reporter.call("stet-revert-post", &[&drawer]).json(&json!({ "revision": 1 })).ok();
    assert_eq!(admin.items(&drawer), [hidden]);
}
