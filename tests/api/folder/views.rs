//! `/v3/folder/…/view` and `/v3/folder/…/view/{view}`

use super::*;

/// Creates a folder with two stories. The first has values for all columns of the sample newsroom's
/// views.
fn desk() -> (Client, String) {
    let (client, top) = (reporter(), own_folder());
    let attributes = "<metadata><headline lang='en'>Ferry &amp; fog</headline><section>City</section><priority>2</priority>\
                      <embargo/></metadata>";
    let options = json!({ "name": "a.xml", "type": "Story", "folderPath": top, "attributes": attributes,
        "systemAttributes": { "props": { "productInfo": { "edition": ["Late", "Early"] } } }, "issueDate": "20261201" });
    client.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<story/>"))).ok();
    client.story(&top, "b.xml");
    (client, top)
}

fn columns(reply: &Value) -> Vec<&str> {
    let columns = reply["view"]["columns"].as_array().expect("a view has columns").iter();
    columns.map(|column| column["id"].as_str().expect("a column has an id")).collect()
}

#[test]
fn a_view_shows_each_object_with_the_values_of_its_columns() {
    let (client, top) = desk();
    let reply = client.call("folder-view-named-get", &[&top, &"editing"]).ok();
    assert_eq!((&reply["view"]["name"], &reply["view"]["title"]), (&json!("editing"), &json!("Editing desk")));
    let first = &reply["view"]["columns"][0];
    let wanted = json!({ "id": "headline", "title": "Headline", "width": 380.0, "widthUnit": "PIXEL",
        "path": "/attributes/metadata/headline" });
    assert_eq!(first, &wanted);
    assert_eq!((names(&reply), &reply["total"]), (vec!["a.xml", "b.xml"], &json!(2)));
    assert_eq!(reply["info"]["id"], folder(&client, &top).ok()["info"]["id"]);
    let values = &reply["items"][0]["columns"];
    let status = reply["items"][0]["statusInfo"]["name"].clone();
    let wanted = json!({ "headline": "Ferry & fog", "section": "City", "priority": "2", "status": status, "embargo": "",
        "issueDate": "20261201", "edition": ["Late", "Early"], "lastModifier": "reporter", "version": 1 });
    assert_eq!(values, &wanted);
    let second = &reply["items"][1]["columns"];
    assert_eq!(
        (&second["headline"], &second["edition"], &second["issueDate"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    // What a record shows beside is up to the display options, and has no say in the values.
    let bare = client.call("folder-view-named-get", &[&top, &"editing"]).query("showAttributes", false);
    let bare = bare.query("showSystemAttributes", false).query("showJson", false).ok();
    assert_eq!((bare["items"][0].get("attributes"), &bare["items"][0]["columns"]), (None, &wanted));
}

#[test]
fn the_default_view_is_the_one_that_is_marked() {
    let (client, top) = desk();
    let view = |call: Call<'_>| call.ok()["view"]["name"].clone();
    assert_eq!(view(client.call("folder-view-get", &[&top])), "default");
    // A catalog for a branch comes before those of all above it.
    let pictures = |path: &str| view(client.call("folder-view-get", &[&top]).query("viewPath", path));
    assert_eq!(pictures("/Pictures"), "picturedesk");
    assert_eq!(pictures("/Pictures/City"), "picturedesk");
    assert_eq!(pictures("/PicturesElsewhere"), "default");
}

#[test]
fn views_of_other_groups_lists_and_branches_are_not_there() {
    let (reporter, top) = desk();
    let editor = Server::shared().user("editor");
    let named = |client: &Client, view: &str, path: &str| {
        client.call("folder-view-named-get", &[&top, &view]).query("viewPath", path).send()
    };
    let production = named(&editor, "production", "/News/City").ok();
    assert_eq!(columns(&production), ["name", "issueDate", "edition", "usage", "versionCount", "size"]);
    for answer in [
        named(&reporter, "production", "/News"),
        named(&editor, "production", "/"),
        named(&editor, "drawer", "/"),
        named(&editor, "mail", "/"),
        named(&editor, "no such view", "/"),
    ] {
        let refused = answer.fails(404, "ObjectNotFound");
        assert!(refused["message"].as_str().is_some_and(|message| message.contains("view")), "{refused}");
    }
}

#[test]
fn widths_come_in_the_unit_that_is_asked_for() {
    let (client, top) = desk();
    let width = |unit: &str| {
        let reply = client.call("folder-view-named-get", &[&top, &"compact"]).query("widthUnit", unit).ok();
        (reply["view"]["columns"][0]["width"].clone(), reply["view"]["columns"][0]["widthUnit"].clone())
    };
    for (unit, wanted) in [("PIXEL", 260.0), ("POINT", 195.0), ("MILLIMETER", 68.79), ("INCH", 2.71)] {
        assert_eq!(width(unit), (json!(wanted), json!(unit)));
    }
    assert_eq!(width("point").1, "POINT");
    for (name, value) in [("widthUnit", "ELL"), ("viewPath", "Pictures"), ("sortBy", "colour")] {
        let refused = client.call("folder-view-get", &[&top]).query(name, value).fails(400, "InvalidParameter");
        assert!(refused["message"].as_str().is_some_and(|message| message.contains(name)), "{refused}");
    }
    client.call("folder-view-get", &[&top]).query("viewDatabaseId", "9").fails(404, "DatabaseNotFound");
}

#[test]
fn a_body_says_what_a_query_says() {
    let (client, top) = desk();
    for (get, post, view) in [
        ("folder-view-get", "folder-view-post", None),
        ("folder-view-named-get", "folder-view-named-post", Some("compact")),
    ] {
        let call = |id: &str| match &view {
            None => client.call(id, &[&top]),
            Some(view) => client.call(id, &[&top, view]),
        };
        assert_eq!(call(get).ok(), call(post).ok());
        let asked = call(get).query("sortBy", "-name").query("widthUnit", "INCH").query("showPath", true);
        let asked = asked.query("showAttributes", false).query("viewPath", "/Pictures").ok();
        let body = json!({ "sortBy": "-name", "widthUnit": "INCH", "viewPath": "/Pictures", "showAttributes": false,
            "options": { "showPath": true } });
        assert_eq!(asked, call(post).json(&body).ok());
        assert_eq!(
            (names(&asked), asked["items"][0]["path"].clone()),
            (vec!["b.xml", "a.xml"], json!(format!("{top}/b.xml")))
        );
        call(post).json(&json!({ "widthUnit": "ELL" })).fails(400, "InvalidParameter");
        call(post).json(&json!({ "sortBy": 3 })).fails(400, "InvalidBody");
    }
}

#[test]
fn root_home_and_work_folder_have_views_too() {
    let server = Server::start();
    let client = server.user("editor");
    let home = client.call("folder-home-get", &[]).send();
    if home.status == 404 {
        create(&client, &json!({ "name": "first" })).ok();
    }
    for name in ["home", "root", "work"] {
        let listed = client.call(&format!("folder-{name}-get"), &[]).send();
        if listed.status == 404 {
            client.call(&format!("folder-{name}-view-get"), &[]).fails(404, "ObjectNotFound");
            continue;
        }
        let listed = listed.ok();
        for call in [
            client.call(&format!("folder-{name}-view-get"), &[]),
            client.call(&format!("folder-{name}-view-post"), &[]),
            client.call(&format!("folder-{name}-view-named-get"), &[&"compact"]),
            client.call(&format!("folder-{name}-view-named-post"), &[&"compact"]).json(&json!({ "databaseId": 1 })),
        ] {
            let viewed = call.ok();
            assert_eq!((names(&viewed), &viewed["info"]["id"]), (names(&listed), &listed["info"]["id"]));
            assert_eq!(viewed["items"][0]["columns"]["name"], viewed["items"][0]["name"]);
        }
        client
            .call(&format!("folder-{name}-view-get"), &[])
            .query("databaseId", "nowhere")
            .fails(404, "DatabaseNotFound");
    }
}

#[test]
fn the_tag_of_a_view_speaks_of_its_columns_and_of_all_values() {
    let (client, top) = desk();
    let tag = |view: &str, unit: &str| {
        let answer = client.call("folder-view-named-get", &[&top, &view]).query("widthUnit", unit).send();
        answer.header("etag").expect("it has a tag").to_owned()
    };
    let before = tag("compact", "PIXEL");
    assert_ne!(before, tag("editing", "PIXEL"));
    assert_ne!(before, tag("compact", "INCH"));
    let call = client.call("folder-view-named-get", &[&top, &"compact"]).header("if-none-match", &before);
    assert_eq!(call.send().status, 304);
    client.story(&top, "c.xml");
    assert_ne!(before, tag("compact", "PIXEL"));
}

#[test]
fn a_large_folder_is_shown_whole_and_a_page_of_it_is_a_page() {
    let (client, top) = (reporter(), own_folder());
    let long = "x".repeat(20_000);
    for number in 0..30 {
        let options = json!({ "name": format!("{number:02}.xml"), "type": "Story", "folderPath": top,
            "attributes": { "metadata": { "headline": long, "section": number.to_string() } } });
        client.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<story/>"))).ok();
    }
    let answer = client.call("folder-view-named-get", &[&top, &"editing"]).send();
    assert!(answer.body.len() > 512 << 10 && answer.header("content-length").is_none());
    let reply = answer.ok();
    let items = reply["items"].as_array().expect("there is a list");
    assert_eq!((items.len(), &reply["total"]), (30, &json!(30)));
    for (number, item) in items.iter().enumerate() {
        assert_eq!(item["columns"]["section"], number.to_string());
        let headline = item["columns"]["headline"].as_str().expect("it has one");
        assert!(headline.len() <= 4096 && headline.contains('…'), "{}", headline.len());
    }
    let page = client.call("folder-view-named-get", &[&top, &"compact"]).query("limit", 3).query("offset", 10).ok();
    assert_eq!((names(&page), &page["total"]), (vec!["10.xml", "11.xml", "12.xml"], &json!(30)));
}
