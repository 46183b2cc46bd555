//! Making channel copies, and what becomes of them.

use super::*;

#[test]
fn a_channel_copy_is_a_document_of_its_bundle_and_names_its_origin() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let body = json!({
        "channel": "tabloid", "inheritFrom": "neutral", "source": bundle,
        "checkIn": true, "unlock": true, "keepCheckedOut": false, "showPath": true, "showXml": true, "showAdditionalInfo": true,
    });
    let made = desk.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).ok();
    assert_eq!((&made["name"], &made["type"], &made["locked"]), (&json!("Tabloid"), &json!("Story"), &Value::Null));
    assert_eq!(made["path"], format!("{}/story.xml/Tabloid", desk.folder));
    let wanted = json!({ "channel": "Tabloid", "inheritFrom": "Neutral", "inheritedFrom": bundle, "version": 1, "follows": true });
    assert_eq!(made["channelCopy"], wanted);
    assert_eq!(made["statusInfo"]["name"], "Story/Draft");
    assert!(made["systemAttributesXml"].is_string() && made["additionalInfo"]["folderId"] == bundle, "{made}");
    assert_eq!(content(&desk, &id(&made)), "<story>1</story>");
    // They are one family of stories.
    let suid = record(&desk, &bundle)["suid"].clone();
    assert!(suid.is_string() && made["suid"] == suid);
    assert_eq!(id(&record(&desk, &format!("{}/story.xml/Tabloid", desk.folder))), id(&made));
}

#[test]
fn a_channel_has_one_copy_and_must_be_one_of_the_site() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let first = id(&copy(&desk, &bundle, "Web", None).ok());
    let error = copy(&desk, &bundle, "web", Some("Neutral")).fails(409, "DuplicatedName");
    assert_eq!(error["details"]["existing"], first);
    for (channel, from) in [
        ("Radio", None),
        ("Tablet", None),
        ("Tabloid", Some("Radio")),
        ("Tabloid", Some("Tablet")),
        ("Web", Some("Web")),
    ] {
        copy(&desk, &bundle, channel, from).fails(400, "InvalidParameter");
    }
    // Without a channel it is the site's default one.
    let other = desk.bundle("other.xml");
    assert_eq!(desk.call("container-bundle-channelcopy-post", &[&other]).ok()["name"], "Web");
    // A body that speaks of something else.
    let body = json!({ "channel": "Tabloid", "source": other });
    desk.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).fails(400, "InvalidParameter");
    let story = desk.client.story(&desk.folder, "plain.xml");
    copy(&desk, &story, "Web", None).fails(400, "InvalidType");
    copy(&desk, &first, "Tabloid", None).fails(400, "InvalidType");
    copy(&Server::shared().user("reader"), &bundle, "Tabloid", None).fails(403, "PermissionDenied");
    assert_eq!(names(&desk.call("bundle-items-get", &[&bundle]).ok()), ["Web"]);
}

#[test]
fn the_switches_say_whether_the_copy_stays_checked_out() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    for (channel, switches, locked) in [
        ("Web", json!({ "keepCheckedOut": true }), true),
        ("Tabloid", json!({ "checkIn": false }), true),
        ("Neutral", json!({ "checkIn": false, "unlock": true }), false),
    ] {
        let mut body = switches;
        body["channel"] = json!(channel);
        let made = desk.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).ok();
        assert_eq!(made["locker"]["id"] == "editor", locked, "{made}");
        assert_eq!(made["version"], 1);
    }
    write(&Server::shared().user("reporter"), &format!("{}/story.xml/Web", desk.folder), "<x/>")
        .fails(403, "ObjectLocked");
}

#[test]
fn a_copy_stays_in_its_bundle_and_goes_where_that_goes() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let made = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let rename = |object: &str| desk.call("stet-object-rename-post", &[&object]).json(&json!({ "name": "other" }));
    let to = |object: &str, folder: &str| {
        desk.call("stet-object-move-post", &[&object]).json(&json!({ "folder": folder })).send()
    };
    rename(&made).fails(409, "InvalidForContainer");
    assert_eq!(to(&made, &desk.folder).status, 409);
    // Only bundles can be in a bundle.
    let story = desk.client.story(&desk.folder, "plain.xml");
    assert_eq!(to(&story, &bundle).status, 409);
    let options = json!({ "name": "a", "type": "Story", "folder": bundle });
    desk.call("stet-object-create-post", &[]).form(&options, &[]).fails(409, "InvalidForContainer");
    desk.call("folder-post", &[])
        .json(&json!({ "path": format!("{}/story.xml/below", desk.folder) }))
        .fails(409, "InvalidForContainer");
    let inner = desk.bundle("inner.xml");
    to(&inner, &bundle).ok();
    let options = json!({ "name": "third", "type": "Bundle", "folder": inner });
    let third = id(&desk.call("stet-object-create-post", &[]).form(&options, &[]).ok());

    // To the bin and back, with all that is in it.
    desk.call("object-discard", &[&bundle]).ok();
    for gone in [&made, &inner, &third] {
        desk.call("object-get", &[gone]).fails(404, "ObjectNotFound");
    }
    desk.call("stet-object-restore-post", &[&bundle]).ok();
    let path = |object: &str| desk.call("object-get", &[&object]).query("showPath", true).ok()["path"].clone();
    assert_eq!(path(&third), format!("{}/story.xml/inner.xml/third", desk.folder));
    assert_eq!(names(&desk.call("bundle-items-get", &[&bundle]).ok()), ["Web", "inner.xml"]);

    // A copy in the bin comes back to its bundle alone, and under its name.
    desk.call("object-discard", &[&made]).ok();
    let restore = |body: Value| desk.call("stet-object-restore-post", &[&made]).json(&body);
    restore(json!({ "folder": desk.folder })).fails(409, "InvalidForContainer");
    let second = id(&copy(&desk, &bundle, "Web", None).ok());
    restore(json!({ "createMode": "AUTO_RENAME" })).fails(409, "DuplicatedName");
    desk.call("object-destroy", &[&second]).ok();
    assert_eq!(restore(json!({})).ok()["name"], "Web");
    desk.call("object-destroy", &[&bundle]).ok();
    desk.call("object-get", &[&made]).fails(404, "ObjectNotFound");
}

#[test]
fn inherit_from_none_is_as_good_as_absent() {
    let desk = Desk::of("reporter");
    for (name, none) in [("a.xml", "none"), ("b.xml", "NONE"), ("c.xml", "None")] {
        let made = id(&copy(&desk, &desk.bundle(name), "Web", Some(none)).ok());
        let wanted = json!({ "channel": "Web", "inheritFrom": null, "inheritedFrom": null, "follows": false });
        includes(&record(&desk, &made)["channelCopy"], &wanted);
    }
    copy(&desk, &desk.bundle("d.xml"), "Web", Some("nowhere")).fails(400, "InvalidParameter");
}

#[test]
fn the_actions_are_those_of_the_channel() {
    let desk = Desk::of("reporter");
    let bundle = "/Web/City/harbour-ferry.xml";
    let actions =
        |channel: &str| desk.call("container-bundle-channelcopy-actions-get", &[&bundle]).query("channel", channel);
    let of = |reply: &Value, kind: &str| {
        let items = reply["items"].as_array().expect("it has items");
        items.iter().find(|item| item["type"] == kind).map(|item| item["actions"].clone()).unwrap_or_default()
    };
    let (web, tabloid) = (actions("Web").ok(), actions("tabloid").query("inheritFrom", "Neutral").ok());
    assert_eq!((of(&web, "media"), of(&tabloid, "media")), (json!(["edit", "inherit", "remove"]), json!(["remove"])));
    assert_eq!(of(&web, "quote"), json!([]));
    assert_eq!(web["items"][0]["xp"], "/story/head/headline");
    actions("Radio").fails(400, "InvalidParameter");
    actions("Web").query("inheritFrom", "Radio").fails(400, "InvalidParameter");
    for none in ["none", "NONE", "None"] {
        assert_eq!(actions("Web").query("inheritFrom", none).ok(), web, "{none}");
    }
}

#[test]
fn a_compound_story_is_made_from_a_template_as_clients_do() {
    let desk = Desk::of("editor");
    let template = "/SysConfig/Product/Shared/Templates/Default/story.xml";
    let body = json!({
        "name": "from.xml", "folderPath": desk.folder, "workFolder": "/Product/World", "issueDate": "20261124", "attributes": null,
        "type": "EOM::CompoundStory", "application": "desk", "databaseId": "1", "edition": "", "product": "",
        "options": { "showSystemAttribute": true, "showPath": true, "createMode": "NEW_VERSION", "unlock": true, "keepCheckedOut": false },
    });
    let create =
        |body: &Value| desk.call("stet-object-create-from-template-post", &[]).query("path", template).json(body);
    let made = create(&body).ok();
    assert_eq!(
        (&made["type"], &made["version"], &made["issueDate"]),
        (&json!("CompoundStory"), &json!(1), &json!("20261124"))
    );
    assert_eq!(content(&desk, &id(&made)), content(&desk, template));
    let again = create(&body).ok();
    assert_eq!((id(&again), &again["version"]), (id(&made), &json!(2)));
    // Without a name it is the template's, with a number where that is taken.
    let body = json!({ "folderPath": desk.folder });
    assert_eq!(
        (create(&body).ok()["name"].clone(), create(&body).ok()["name"].clone()),
        (json!("story.xml"), json!("story (2).xml"))
    );
    let missing = desk.call("stet-object-create-from-template-post", &[]).query("path", "/nowhere.xml").json(&body);
    missing.fails(404, "TemplateNotFound");
    desk.call("stet-object-create-from-template-post", &[]).json(&body).fails(400, "InvalidParameter");
    desk.call("stet-object-create-from-template-post", &[])
        .query("path", "/SysConfig")
        .json(&body)
        .fails(400, "InvalidType");
}
