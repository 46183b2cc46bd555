//! The members of a bundle, its root, and the chain of a copy.

use super::*;

#[test]
fn a_bundle_is_listed_with_and_without_what_lies_deeper() {
    let desk = Desk::of("editor");
    let outer = desk.bundle("outer.xml");
    let inner = desk.bundle("inner.xml");
    desk.call("stet-object-move-post", &[&inner]).json(&json!({ "folder": outer })).ok();
    for (bundle, channel) in [(&outer, "Web"), (&outer, "Tabloid"), (&inner, "Web")] {
        copy(&desk, bundle, channel, Some("Neutral")).ok();
    }
    let list = |id: &str, source: &str| desk.call(id, &[&source]);
    let reply = list("bundle-items-get", &outer).query("showPath", true).ok();
    assert_eq!(
        (names(&reply), &reply["total"], &reply["info"]["id"]),
        (vec!["Tabloid", "Web", "inner.xml"], &json!(3), &json!(outer))
    );
    assert_eq!(reply["items"][0]["path"], format!("{}/outer.xml/Tabloid", desk.folder));
    assert_eq!(names(&list("bundle-items-get", &outer).query("sortBy", "-name").query("limit", 1).ok()), ["inner.xml"]);
    assert_eq!(names(&list("bundle-recursive-get", &outer).ok()), ["Tabloid", "Web", "inner.xml", "Web"]);
    assert_eq!(
        names(&list("bundle-recursive-get", &outer).query("sortBy", "type,-name").ok()),
        ["inner.xml", "Web", "Web", "Tabloid"]
    );
    assert_eq!(
        names(&list("bundle-recursive-get", &outer).query("recursive", false).ok()),
        ["Tabloid", "Web", "inner.xml"]
    );

    // Folders show bundles, and do not look into them.
    assert_eq!(names(&list("folder-get", &desk.folder).ok()), ["outer.xml"]);
    assert_eq!(names(&list("folder-filter-get", &desk.folder).query("recursive", true).ok()), ["outer.xml"]);
    list("folder-get", &outer).fails(400, "InvalidType");
    let story = desk.client.story(&desk.folder, "plain.xml");
    for id in ["bundle-items-get", "bundle-recursive-get", "bundle-view-get", "bundle-root-get", "bundle-chain-get"] {
        list(id, &story).fails(400, "InvalidType");
        list(id, "/nowhere").fails(404, "ObjectNotFound");
    }

    let web = format!("{}/outer.xml/inner.xml/Web", desk.folder);
    for source in [&*web, &*inner, &*outer] {
        assert_eq!(list("bundle-root-get", source).ok()["id"], outer, "{source}");
    }
}

#[test]
fn a_view_has_the_columns_of_the_catalogs_for_bundles() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    copy(&desk, &bundle, "Web", None).ok();
    let default = desk.call("bundle-view-get", &[&bundle]).ok();
    assert_eq!(
        (&default["view"]["name"], &default["items"][0]["columns"]["name"]),
        (&json!("channels"), &json!("Web"))
    );
    assert_eq!(default["items"][0]["columns"]["suid"], record(&desk, &bundle)["suid"]);
    let body = json!({ "widthUnit": "INCH", "viewPath": "/" });
    let posted = desk.call("bundle-view-named-post", &[&bundle, &"compact"]).json(&body).ok();
    assert_eq!(posted["view"]["columns"][0]["widthUnit"], "INCH");
    assert_eq!(
        posted["items"],
        desk.call("bundle-view-named-get", &[&bundle, &"compact"]).query("showAdditionalInfo", true).ok()["items"]
    );
    desk.call("bundle-view-named-get", &[&bundle, &"picturedesk"]).fails(404, "ObjectNotFound");
}

#[test]
fn the_chain_leads_from_a_copy_to_what_it_came_from() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", Some("Neutral")).ok());
    let tabloid = id(&copy(&desk, &bundle, "Tabloid", Some("Web")).ok());
    let alone = id(&copy(&desk, &bundle, "Neutral", None).ok());
    let chain = |source: &str| desk.call("bundle-chain-get", &[&source]);
    assert_eq!(names(&chain(&tabloid).ok()), ["Tabloid", "Web", "story.xml"]);
    assert_eq!(names(&chain(&tabloid).query("sortBy", "name").query("offset", 1).ok()), ["Web", "story.xml"]);
    assert_eq!(names(&chain(&alone).ok()), ["Neutral"]);
    assert_eq!(names(&chain(&bundle).ok()), ["story.xml"]);
    write(&desk, &web, "<story>own</story>").ok();
    assert_eq!(
        names(&chain(&tabloid).ok()),
        ["Tabloid", "Web", "story.xml"],
        "it was inherited from there all the same"
    );
    desk.call("object-destroy", &[&web]).ok();
    assert_eq!(names(&chain(&tabloid).ok()), ["Tabloid"]);
}

#[test]
fn the_sample_has_compound_stories_with_copies() {
    let client = Server::shared().user("reader");
    let reply = client.call("bundle-items-get", &[&"/Web/City/harbour-ferry.xml"]).ok();
    assert_eq!(names(&reply), ["Tabloid", "Web"]);
    assert_eq!(reply["items"][0]["channelCopy"]["inheritFrom"], "Neutral");
}
