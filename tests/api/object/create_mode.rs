//! The four modes of creation under a taken name.

use super::*;

#[test]
fn exception_is_the_default_and_refuses_a_taken_name() {
    let desk = Desk::of("reporter");
    let first = desk.make("a.xml", b"1");
    for extra in [json!({}), json!({ "createMode": "EXCEPTION" }), json!({ "options": { "createMode": "EXCEPTION" } })]
    {
        desk.create("a.xml", b"2", extra).fails(409, "DuplicatedName");
    }
    assert_eq!(bytes_of(&desk, &first), b"1");
    assert_eq!(desk.names(), ["a.xml"]);
}

#[test]
fn auto_rename_finds_the_next_free_name() {
    let desk = Desk::of("reporter");
    let inner = json!({ "options": { "createMode": "AUTO_RENAME" } });
    assert_eq!(desk.again("a.xml", b"x", "AUTO_RENAME")["name"], "a.xml", "free as it is");
    assert_eq!(desk.again("a.xml", b"x", "AUTO_RENAME")["name"], "a (2).xml");
    assert_eq!(desk.create("a.xml", b"x", inner).ok()["name"], "a (3).xml");
}

#[test]
fn auto_rename_is_held_to_the_tag_of_the_object_that_has_the_name() {
    let desk = Desk::of("reporter");
    let first = desk.make("a.xml", b"1");
    let tag = |source: &str| tag(&desk.get(&format!("/v3/object/{}", encoded(source))));
    let again =
        |tag: &str| desk.create("a.xml", b"2", json!({ "createMode": "AUTO_RENAME" })).header("if-match", tag).send();
    let own = tag(&first);
    let second = again(&own).ok();
    assert_eq!(second["name"], "a (2).xml");
    assert_eq!((tag(&first), bytes_of(&desk, &first)), (own.clone(), b"1".to_vec()));
    assert_eq!(again("*").ok()["name"], "a (3).xml");
    again(&tag(&id(&second))).fails(412, "PreconditionFailed");
    desk.again("a.xml", b"3", "NEW_VERSION");
    again(&own).fails(412, "PreconditionFailed");
    // Nothing has this name.
    desk.create("b.xml", b"2", json!({ "createMode": "AUTO_RENAME" }))
        .header("if-match", "*")
        .fails(412, "PreconditionFailed");
    assert_eq!(desk.names(), ["a (2).xml", "a (3).xml", "a.xml"]);
}

#[test]
fn the_inner_mode_counts_for_more_than_the_one_on_top() {
    let desk = Desk::of("reporter");
    desk.make("a.xml", b"x");
    let both = |top: &str, inner: &str| json!({ "createMode": top, "options": { "createMode": inner } });
    desk.create("a.xml", b"x", both("AUTO_RENAME", "EXCEPTION")).fails(409, "DuplicatedName");
    desk.create("a.xml", b"x", both("EXCEPTION", "AUTO_RENAME")).gives(&json!({ "name": "a (2).xml" }));
    let unknown = desk.create("b", b"x", json!({ "options": { "createMode": "MERGE" } }));
    assert_eq!(unknown.fails(400, "InvalidBody")["details"]["path"], "$.options.createMode");
}

#[test]
fn replace_puts_another_content_into_the_current_version() {
    let desk = Desk::of("reporter");
    let first = desk.create("a.xml", b"1", json!({ "attributes": "<m>1</m>" })).ok();
    let second = desk.create("a.xml", b"22", json!({ "createMode": "REPLACE", "usageTickets": "<tl>2</tl>" })).ok();
    shows(&second, json!({ "id": first["id"], "pstate": first["pstate"], "version": 1, "revision": 2 }));
    assert_eq!(second["virtualAttributes"]["size"], 2);
    // Omitted values stay.
    shows(&second, json!({ "attributes": { "m": "1" }, "usageTickets": { "tl": "2" } }));
    assert_eq!(bytes_of(&desk, &id(&first)), b"22");
    // From the tables to a file and back.
    for bytes in [noise(300_000), b"333".to_vec()] {
        desk.again("a.xml", &bytes, "REPLACE");
        assert!(bytes_of(&desk, &id(&first)) == bytes);
    }
}

#[test]
fn a_new_version_has_a_loid_of_its_own_by_which_it_is_read() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    let last = || {
        let answer = desk.call("object-lastversionloid-get", &[&loid]).send();
        assert!(answer.status == 200 && answer.header("content-type").unwrap().starts_with("text/plain"));
        String::from_utf8(answer.body).unwrap()
    };
    let version_1 = last();
    let second = desk.create("a.xml", b"second", json!({ "options": { "createMode": "NEW_VERSION" } }));
    second.by(&Server::shared().user("editor")).gives(&json!({ "id": loid, "version": 2 }));
    let version_2 = last();
    assert!(version_1 != version_2 && version_1 != loid && version_2 != loid);
    // Records.
    let old = read(&desk, &version_1);
    shows(&old, json!({ "id": version_1, "version": 1, "name": "a.xml", "lastModifier": "reporter" }));
    assert_eq!(old["virtualAttributes"]["size"], 3);
    let new = desk.call("object-get", &[&version_2]).query("showPath", true).ok();
    let path = format!("{}/a.xml", desk.folder);
    shows(&new, json!({ "id": version_2, "version": 2, "lastModifier": "editor", "path": path }));
    // Contents.
    for (source, expected) in [(&version_1, "one"), (&version_2, "second"), (&loid, "second")] {
        assert_eq!(bytes_of(&desk, source), expected.as_bytes());
    }
    for (number, expected) in [(1, "one"), (2, "second"), (-1, "second")] {
        assert_eq!(bytes_of_version(&desk, &loid, number), expected.as_bytes(), "version {number}");
    }
    // Without its database part, and in a list.
    assert_eq!(read(&desk, version_1.trim_start_matches("1$"))["id"], version_1);
    let expected = json!({ "items": [{ "id": version_1, "version": 1 }, { "id": loid, "version": 2 }] });
    desk.call("stet-object-list-post", &[]).json(&json!([version_1, loid])).gives(&expected);
}

#[test]
fn a_version_that_is_not_there_is_not_found() {
    let desk = Desk::of("reporter");
    let loid = desk.make("a.xml", b"one");
    for id in ["object-get", "stet-object-content-get", "object-lastversionloid-get"] {
        desk.call(id, &[&version(&loid, 7)]).fails(404, "ObjectNotFound");
    }
    content(&desk, &loid).query("version", 7).fails(404, "ObjectNotFound");
    for none in [0, -2] {
        content(&desk, &loid).query("version", none).fails(400, "InvalidParameter");
    }
}

#[test]
fn a_version_cannot_be_changed_by_its_own_loid() {
    let desk = Desk::of("editor");
    let loid = desk.make("a.xml", b"one");
    let version = version(&loid, 1);
    for id in ["object-discard", "object-destroy", "stet-object-restore-post", "stet-object-lock-post"] {
        desk.call(id, &[&version]).fails(400, "InvalidType");
    }
    desk.call("stet-object-version-restore-post", &[&version, &1]).fails(400, "InvalidType");
    for id in ["objects-discard", "objects-destroy"] {
        let reply = desk.call(id, &[]).json(&json!([version]));
        reply.gives(&json!({ "errors": [{ "code": "CMS.InvalidType" }] }));
    }
    read(&desk, &loid);
}

#[test]
fn an_object_without_content_has_no_version_and_gets_its_first() {
    let desk = Desk::of("reporter");
    let mode = json!({ "createMode": "NEW_VERSION" });
    let loid = id(&desk.create_empty("a.xml", mode.clone()).gives(&json!({ "version": 0 })));
    assert_eq!(desk.call("object-lastversionloid-get", &[&loid]).send().body, loid.as_bytes());
    content(&desk, &loid).fails(404, "ObjectNotFound");
    shows(&desk.again("a.xml", b"<a/>", "NEW_VERSION"), json!({ "id": loid, "version": 1 }));
    // No content, no new version.
    desk.create_empty("a.xml", mode).gives(&json!({ "version": 1 }));
}

#[test]
fn a_new_version_leaves_status_and_type_alone_that_nobody_named() {
    let desk = Desk::of("reporter");
    let extra =
        json!({ "type": "Template", "status": "Default/Done", "workFolder": "/News/City", "issueDate": "20261121" });
    desk.create("a.xml", b"1", extra).ok();
    for mode in ["NEW_VERSION", "REPLACE"] {
        let again = desk.again("a.xml", b"2", mode);
        shows(&again, json!({ "type": "Template", "workFolder": "/News/City", "issueDate": "20261121" }));
        assert_eq!(again["statusInfo"]["name"], "Default/Done", "{mode}");
    }
    // Another type has another workflow.
    let other = desk.create("a.xml", b"3", json!({ "createMode": "REPLACE", "type": "Story" }));
    other.gives(&json!({ "type": "Story", "statusInfo": { "name": "Story/Draft" } }));
    let named = desk.create("a.xml", b"3", json!({ "createMode": "REPLACE", "status": "Story/Ready" }));
    named.gives(&json!({ "statusInfo": { "name": "Story/Ready" } }));
}

#[test]
fn no_mode_puts_a_document_in_the_place_of_a_folder() {
    let desk = Desk::of("reporter");
    desk.call("folder-post", &[]).json(&json!({ "path": format!("{}/a", desk.folder) })).ok();
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
        desk.create("a", b"x", json!({ "createMode": mode })).fails(409, "DuplicatedName");
    }
    assert_eq!(desk.again("a", b"x", "AUTO_RENAME")["name"], "a (2)");
}
