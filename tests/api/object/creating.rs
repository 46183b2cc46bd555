//! The options of `POST /v3/object/create`.

use super::*;

/// A creation whose options are these alone.
fn create(desk: &Desk, options: Value) -> Call<'_> {
    desk.call("stet-object-create-post", &[]).form(&options, &[("content", "a", "text/xml", b"<a/>")])
}

#[test]
fn every_option_is_found_again_in_the_record() {
    let desk = Desk::of("reporter");
    let options = json!({
        "name": "a.xml", "type": "Story", "application": "test", "databaseId": "main", "workFolder": "/News/Sport",
        "status": "Story/Ready", "product": "HarbourCourier", "edition": "Late", "issueDate": "20261121",
        "team": "City", "suid": "family-1", "attributes": "<metadata><headline>Ferry</headline></metadata>",
        "usageTickets": { "tl": { "t": { "@channel": "Web" } } },
        "options": { "createMode": "EXCEPTION", "checkIn": true }, "unknown": 1,
    });
    let made = desk.create("x", b"<story/>", options).ok();
    let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261121" });
    let mut expected = json!({
        "name": "a.xml", "workFolder": "/News/Sport", "pstate": made["pstate"], "type": "Story", "databaseId": 1,
        "statusInfo": { "name": "Story/Ready", "identifier": "rgb(76,145,65)" },
        "issueDate": "20261121", "suid": "family-1", "creator": "reporter", "lastModifier": "reporter",
        "version": 1, "revision": 1, "locked": null, "locker": null,
        "created": made["modified"], "modified": made["modified"],
        "attributes": { "metadata": { "headline": "Ferry" } },
        "systemAttributes": { "props": { "productInfo": product, "team": "City" } },
        "usageTickets": { "tl": { "t": { "@channel": "Web" } } },
        "virtualAttributes": { "size": 8, "contentType": "text/xml", "versionCount": 1 },
    });
    shows(&read(&desk, &id(&made)), expected.clone());
    // A creation answers with the record, and with its path.
    expected["path"] = json!(format!("{}/a.xml", desk.folder));
    shows(&made, expected);
    assert!((1_700_000_000..100_000_000_000).contains(&made["created"].as_u64().unwrap()));
    assert!(made["pstate"]["uuid"].is_string());
}

#[test]
fn product_details_are_added_to_system_attributes_that_have_none() {
    let desk = Desk::of("reporter");
    let product = json!({ "name": "Courier" });
    let beside = json!({ "notes": "x", "productInfo": product, "team": "City" });
    // Existing values are kept.
    let own = json!({ "productInfo": { "name": "Post" }, "team": "Web" });
    for (name, system, expected) in [
        ("a", json!("<props><notes>x</notes></props>"), &beside),
        ("b", json!({ "props": { "notes": "x" } }), &beside),
        ("c", json!("<props/>"), &json!({ "productInfo": product, "team": "City" })),
        ("d", json!({ "props": own }), &own),
    ] {
        let extra = json!({ "product": "Courier", "team": "City", "systemAttributes": system });
        assert_eq!(desk.create(name, b"<a/>", extra).ok()["systemAttributes"]["props"], *expected, "{name}");
    }
}

/// Covers clients that copy the issue date of `/conf/userdata` into new objects. The date is empty
/// while no issue is in production.
#[test]
fn an_empty_issue_date_is_none_wherever_something_is_made() {
    let desk = Desk::of("reporter");
    let body = json!({ "name": "x", "folderPath": desk.folder, "issueDate": "", "createMode": "AUTO_RENAME" });
    assert_eq!(desk.create("a.xml", b"<a/>", json!({ "issueDate": "" })).ok()["issueDate"], Value::Null);
    let from = desk.call("stet-object-create-from-template-post", &[]);
    let template = "/SysConfig/Product/Shared/Templates/Default/story.xml";
    assert_eq!(from.query("path", template).json(&body).ok()["issueDate"], Value::Null);
    for made in [
        "topic-post",
        "topic-from-default-template-post",
        "topicplan-post",
        "topicplan-from-default-template-post",
        "liveblog-from-default-template-post",
    ] {
        assert_eq!(desk.call(made, &[]).json(&body).ok()["info"]["issueDate"], Value::Null, "{made}");
    }
}

#[test]
fn missing_types_follow_from_the_content_type_then_from_the_extension() {
    let desk = Desk::of("reporter");
    let generic = "application/octet-stream";
    for (name, sent, bytes, kind, kept) in [
        ("a.dat", "text/xml", "x", "Story", "text/xml"),
        ("b.dat", "application/xml; charset=utf-8", "x", "Story", "application/xml; charset=utf-8"),
        ("c.dat", "image/jpeg", "x", "Image", "image/jpeg"),
        ("d.dat", "text/plain", "x", "Text", "text/plain"),
        ("g.json", "application/x-unknown", "x", "WireItem", "application/x-unknown"),
        ("h.unknown", "application/x-unknown", "x", "Binary", "application/x-unknown"),
        // The generic type counts as none: the extension decides, then the first bytes.
        ("e.xml", generic, "x", "Story", "text/xml"),
        ("f.JPG", generic, "x", "Image", "image/jpeg"),
        ("i", generic, "\u{0}x", "Binary", generic),
        ("j", "application/octet-stream; x=y", " <a/>", "Story", "text/xml"),
        ("k", generic, "words", "Text", "text/plain"),
        ("l", generic, "GIF89a\u{0}", "Image", "image/gif"),
        ("m", generic, "", "Text", "text/plain"),
    ] {
        let expected = json!({ "type": kind, "virtualAttributes": { "contentType": kept } });
        desk.create_of(name, (sent, bytes.as_bytes()), json!({})).gives(&expected);
    }
    desk.create_empty("n.xml", json!({})).gives(&json!({ "type": "Story", "version": 0 }));
}

#[test]
fn types_match_with_prefix_and_in_any_case_and_give_the_first_status() {
    let desk = Desk::of("reporter");
    for (name, extra, kind, status) in [
        ("a", json!({ "type": "EOM::Story" }), "Story", "Story/Draft"),
        ("b", json!({ "type": "story" }), "Story", "Story/Draft"),
        ("c", json!({ "type": "Story" }), "Story", "Story/Draft"),
        ("d", json!({ "type": "Image" }), "Image", "Image/Raw"),
        ("e", json!({ "type": "Binary" }), "Binary", "Default/New"),
        ("f", json!({ "type": "EOM::Image", "status": "Image/Release" }), "Image", "Image/Release"),
    ] {
        desk.create(name, b"x", extra).gives(&json!({ "type": kind, "statusInfo": { "name": status } }));
    }
}

#[test]
fn creations_with_unknown_values_are_refused_and_create_nothing() {
    let desk = Desk::of("editor");
    for (extra, status, code) in [
        (json!({ "type": "Sonnet" }), 404, "TypeNotFound"),
        (json!({ "status": "Story/Nowhere" }), 404, "StatusNotFound"),
        (json!({ "type": "Story", "status": "Image/Release" }), 400, "InvalidStatus"),
    ] {
        desk.create("a", b"x", extra).fails(status, code);
    }
    // Containers are not made this way.
    for kind in ["Folder", "Drawer", "LiveBlog", "TopicPlan", "Topic"] {
        desk.create("a", b"x", json!({ "type": kind })).fails(400, "InvalidType");
    }
    // An issue date is eight digits, or six.
    for date in ["2026-11-21", "2026112", "26-11-", "22111", "tomorrow"] {
        let failure = desk.create("a", b"x", json!({ "issueDate": date })).fails(400, "InvalidParameter");
        let message = failure["message"].to_string();
        assert!(message.contains("issueDate") && message.contains(date), "{message}");
    }
    for database in [json!(2), json!("2"), json!("archive"), json!(70_000)] {
        desk.create("a", b"x", json!({ "databaseId": database })).fails(404, "DatabaseNotFound");
    }
    // Not even the folder.
    is_gone(&desk, &desk.folder);
}

#[test]
fn an_issue_date_of_six_digits_is_of_this_century_and_kept_with_eight() {
    let desk = Desk::of("reporter");
    let made = desk.create("a.xml", b"x", json!({ "issueDate": "221111" })).ok();
    let kept = json!({ "issueDate": "20221111", "systemAttributes": { "props": { "productInfo": { "issueDate": "20221111" } } } });
    shows(&made, kept.clone());
    let again = json!({ "issueDate": "231111", "createMode": "NEW_VERSION" });
    assert_eq!(desk.create("a.xml", b"x", again).ok()["issueDate"], "20231111");
    let liveblog = json!({ "name": "l", "folderPath": desk.folder, "issueDate": "221111" });
    let made = desk.call("liveblog-from-default-template-post", &[]).json(&liveblog).ok();
    shows(&made["info"], kept);
}

#[test]
fn a_database_is_named_by_number_or_name() {
    let desk = Desk::of("reporter");
    for (name, database) in [("a", json!(1)), ("b", json!("1")), ("c", json!("main")), ("d", Value::Null)] {
        desk.create(name, b"x", json!({ "databaseId": database })).gives(&json!({ "databaseId": 1 }));
    }
}

#[test]
fn without_a_folder_it_goes_to_the_users_home() {
    let desk = Desk::of("contributor");
    let name = desk.folder.replace('/', "-");
    let made = create(&desk, json!({ "name": name })).ok();
    assert_eq!(made["path"], format!("/Users/contributor/{name}"));
    // The same call leads to the same folder.
    let again = create(&desk, json!({ "name": name, "options": { "createMode": "NEW_VERSION" } }));
    again.gives(&json!({ "id": made["id"], "version": 2 }));
    // A reader may not create, not even there.
    create(&Desk::of("reader"), json!({ "name": name, "folderPath": "/Users/reader" })).fails(403, "PermissionDenied");
}

#[test]
fn a_missing_folder_is_made_with_its_parents() {
    let desk = Desk::of("reporter");
    let folder = format!("{}/deep/er/est", desk.folder);
    let made = desk.create("a.xml", b"<a/>", json!({ "folderPath": folder })).ok();
    assert_eq!(made["path"], format!("{folder}/a.xml"));
    let expected = json!({ "info": { "path": folder, "type": "Folder" } });
    let found = desk.call("folder-get", &[&folder]).query("showPath", true).gives(&expected);
    // By loid and by uuid too.
    for source in [&found["info"]["id"], &found["info"]["pstate"]["uuid"]] {
        let made = create(&desk, json!({ "name": source, "folder": source })).ok();
        assert!(made["path"].as_str().unwrap().starts_with(&folder), "{made}");
    }
    assert_eq!(count_in(&desk, &folder), 3);
}

#[test]
fn invalid_folders_of_new_objects_are_refused() {
    let desk = Desk::of("reporter");
    let story = desk.make("a.xml", b"<story/>");
    for (folder, status, code) in [
        (json!(story), 400, "InvalidType"),
        (json!(format!("{}/a.xml/below", desk.folder)), 400, "InvalidType"),
        (json!("1$1.0.999999999"), 404, "ObjectNotFound"),
        (json!("relative/path"), 400, "InvalidPath"),
        (json!("/a//b"), 400, "InvalidPath"),
        (json!(7), 400, "InvalidBody"),
        (json!(format!("{}/new\nline", desk.folder)), 400, "InvalidName"),
    ] {
        create(&desk, json!({ "name": "b", "folder": folder })).fails(status, code);
    }
    assert_eq!(desk.count(), 1);
}

#[test]
fn without_a_folder_type_and_work_folder_lead_to_one_or_it_goes_home() {
    let desk = Desk::of("editor");
    let (name, own) = (own_folder().replace('/', "-"), |extra: Value| {
        let mut options = json!({ "options": { "createMode": "AUTO_RENAME" } });
        for (key, value) in extra.as_object().expect("options are an object") {
            options[key] = value.clone();
        }
        desk.call("stet-object-create-post", &[]).form(&options, &[("content", "a.xml", "text/xml", b"<a/>")]).ok()
    });
    let path = |extra: Value| own(extra)["path"].as_str().expect("a creation tells the path").to_owned();
    let story = |work_folder: &str| json!({ "name": name, "type": "Story", "workFolder": work_folder });
    assert_eq!(path(story("/News/City")), format!("/News/City/{name}"));
    let mut bundle = story("/News/Sport/Rowing");
    bundle["type"] = json!("EOM::CompoundStory");
    assert_eq!(path(bundle), format!("/Web/Sport/{name}"));
    assert_eq!(path(story("/Product/World")), format!("/Users/editor/{name}"), "nobody works there");
    assert_eq!(path(json!({ "name": name })), format!("/Users/editor/{name} (2)"));
    // The same call again is about the same object.
    let again = |_| {
        let options = json!({ "name": format!("{name}-again"), "type": "Story", "workFolder": "/News/City", "createMode": "NEW_VERSION" });
        desk.call("stet-object-create-post", &[]).form(&options, &[("content", "a.xml", "text/xml", b"<a/>")]).ok()
    };
    let [first, second] = [1, 2].map(again);
    assert_eq!((id(&first), &second["version"]), (id(&second), &json!(2)));
    let mut elsewhere = story("/News/City");
    elsewhere["folderPath"] = json!(desk.folder);
    assert_eq!(path(elsewhere), format!("{}/{name}", desk.folder), "a folder that is named wins");
    // Other creations, too.
    let body = json!({ "name": name, "workFolder": "/News/Culture" });
    let topic = desk.call("topic-post", &[]).json(&body).ok();
    let topic = desk.call("object-get", &[&id(&topic["info"])]).query("showPath", true).ok();
    assert_eq!(topic["path"], format!("/Topics/Culture/{name}"));
}

#[test]
fn an_older_story_starts_with_its_content_or_the_configured_template() {
    let (editor, folder) = (Server::shared().user("editor"), own_folder());
    let story = |name: Option<&str>, file: &[File<'_>]| {
        let options = json!({ "name": name, "folderPath": folder, "workFolder": "/News/City" });
        let answer = editor.call("stet-old-object-story-post", &[]).form(&options, file).send();
        assert_eq!(answer.status, 200, "{answer:?}");
        let record: Value = answer.json();
        assert_eq!(record["workFolder"], "/News/City");
        let id = record["id"].as_str().expect("the reply is the record").to_owned();
        (record, editor.call("stet-object-content-get", &[&id]).send().body)
    };
    let template = encoded("/SysConfig/Product/Shared/Templates/Default/story.xml");
    let begin = editor.get(&format!("/v3/object/{template}/content")).body;
    let (record, content) = story(Some("a.xml"), &[]);
    assert_eq!((&record["type"], &record["path"]), (&json!("Story"), &json!(format!("{folder}/a.xml"))));
    assert!(content == begin && !begin.is_empty());
    assert_eq!(story(None, &[]).0["name"], "story.xml");
    assert_eq!(story(None, &[]).0["name"], "story (2).xml");
    let (record, content) = story(None, &[("content", "own.xml", "text/xml", b"<own/>")]);
    assert_eq!((&record["name"], content.as_slice()), (&json!("own.xml"), b"<own/>".as_slice()));
    let taken = json!({ "name": "a.xml", "folderPath": folder });
    let refused = editor.call("stet-old-object-story-post", &[]).form(&taken, &[]).send();
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("CMS.DuplicatedName")));
    let reader = Server::shared().user("reader");
    assert_eq!(reader.call("stet-old-object-story-post", &[]).form(&taken, &[]).send().status, 401);
}

/// An import that is carried out twice, or by two at once, makes an object once.
#[test]
fn an_object_may_be_given_its_uuid_and_is_then_meant_by_it() {
    let desk = Desk::of("editor");
    let uuid = uuid::Uuid::now_v7().to_string();
    let of = |name: &str, uuid: &str, mode: &str| {
        let options = json!({ "name": name, "uuid": uuid, "folderPath": desk.folder, "createMode": mode });
        create(&desk, options)
    };
    let made = of("a.xml", &uuid.to_uppercase(), "EXCEPTION").ok();
    assert_eq!((&made["pstate"]["uuid"], &made["version"]), (&json!(uuid), &json!(1)));
    let of_uuid = desk.call("object-get", &[&uuid]).ok();
    assert_eq!(of_uuid["id"], made["id"]);
    // Under its own name it is met as the mode says, under another name never, nor is another
    // object under its name.
    let again = of("a.xml", &uuid, "NEW_VERSION").ok();
    assert_eq!((&again["id"], &again["version"]), (&made["id"], &json!(2)));
    assert_eq!(of("a.xml", &uuid, "REPLACE").ok()["version"], 2);
    let fresh = uuid::Uuid::now_v7().to_string();
    for (name, uuid, modes) in [
        ("a.xml", &uuid, &["EXCEPTION", "AUTO_RENAME"] as &[&str]),
        ("b.xml", &uuid, &["EXCEPTION", "AUTO_RENAME", "REPLACE", "NEW_VERSION"]),
        ("a.xml", &fresh, &["EXCEPTION", "REPLACE", "NEW_VERSION"]),
    ] {
        for mode in modes {
            of(name, uuid, mode).fails(409, "DuplicatedName");
        }
    }
    let beside = of("a.xml", &fresh, "AUTO_RENAME").ok();
    assert_eq!((&beside["pstate"]["uuid"], &beside["name"]), (&json!(fresh), &json!("a (2).xml")));
    of("c.xml", "no uuid", "EXCEPTION").fails(400, "InvalidParameter");
    // In the recycle bin it keeps its uuid.
    desk.call("object-discard", &[&made["id"].as_str().expect("an id")]).ok();
    let refused = of("a.xml", &uuid, "NEW_VERSION").fails(409, "DuplicatedName");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("recycle bin")), "{refused}");
    assert_eq!(of("a.xml", "", "EXCEPTION").ok()["version"], 1, "an empty one is none");
}
