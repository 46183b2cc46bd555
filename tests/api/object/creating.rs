//! What `POST /v3/object/create` makes of its options.

use super::*;

#[test]
fn every_option_is_found_again_in_the_record() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let options = json!({
        "name": "a.xml",
        "type": "Story",
        "application": "test",
        "databaseId": "main",
        "folderPath": folder,
        "workFolder": "/News/Sport",
        "status": "Story/Ready",
        "product": "HarbourCourier",
        "edition": "Late",
        "issueDate": "20261121",
        "team": "City",
        "suid": "family-1",
        "attributes": "<metadata><headline>Ferry</headline></metadata>",
        "usageTickets": { "tl": { "t": { "@channel": "Web" } } },
        "options": { "createMode": "EXCEPTION", "checkIn": true },
        "unknown": 1,
    });
    let made = client.upload(CREATE, &options, Some(("x", "text/xml", b"<story/>"))).ok();
    assert_eq!(made["path"], format!("{folder}/a.xml"));
    let read = client.get(&object(&id(&made))).ok();
    assert_eq!(read["name"], "a.xml");
    assert_eq!(read["type"], "Story");
    assert_eq!(read["databaseId"], 1);
    assert_eq!(read["workFolder"], "/News/Sport");
    assert_eq!(read["statusInfo"], json!({ "name": "Story/Ready", "identifier": "rgb(76,145,65)" }));
    assert_eq!(read["issueDate"], "20261121");
    assert_eq!(read["suid"], "family-1");
    assert_eq!((&read["creator"], &read["lastModifier"]), (&json!("reporter"), &json!("reporter")));
    assert_eq!((&read["version"], &read["revision"]), (&json!(1), &json!(1)));
    assert_eq!((&read["locked"], &read["locker"]), (&Value::Null, &Value::Null));
    assert_eq!(read["created"], read["modified"]);
    assert!(read["created"].as_u64().unwrap() > 1_700_000_000 && read["created"].as_u64().unwrap() < 100_000_000_000);
    assert_eq!(read["attributes"], json!({ "metadata": { "headline": "Ferry" } }));
    let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261121" });
    assert_eq!(read["systemAttributes"], json!({ "props": { "productInfo": product, "team": "City" } }));
    assert_eq!(read["usageTickets"], json!({ "tl": { "t": { "@channel": "Web" } } }));
    assert_eq!(read["virtualAttributes"], json!({ "size": 8, "contentType": "text/xml", "versionCount": 1 }));
    for (of, name) in [("id", "id"), ("name", "name"), ("path", "path"), ("workFolder", "workFolder")] {
        assert!(made[of].is_string(), "a creation answers with {name}: {made}");
    }
    assert!(made["pstate"]["uuid"].is_string());
}

#[test]
fn what_is_said_of_the_product_goes_beside_system_attributes_that_say_nothing_of_it() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let create = |name: &str, system: Value| {
        let extra = json!({ "product": "Courier", "team": "City", "systemAttributes": system });
        upload(&client, &folder, name, b"<a/>", extra).ok()["systemAttributes"]["props"].clone()
    };
    let product = json!({ "name": "Courier" });
    let expected = json!({ "notes": "x", "productInfo": product, "team": "City" });
    assert_eq!(create("a", json!("<props><notes>x</notes></props>")), expected);
    assert_eq!(create("b", json!({ "props": { "notes": "x" } })), expected);
    assert_eq!(create("c", json!("<props/>")), json!({ "productInfo": product, "team": "City" }));
    let own = json!({ "productInfo": { "name": "Post" }, "team": "Web" });
    assert_eq!(create("d", json!({ "props": own })), own, "what stands there already is kept");
}

#[test]
fn a_missing_type_follows_from_the_content_type_and_then_from_the_extension() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    for (name, content_type, kind) in [
        ("a.dat", "text/xml", "Story"),
        ("b.dat", "application/xml; charset=utf-8", "Story"),
        ("c.dat", "image/jpeg", "Image"),
        ("d.dat", "text/plain", "Text"),
        ("e.xml", "application/octet-stream", "Story"),
        ("f.JPG", "application/octet-stream", "Image"),
        ("g.json", "application/x-unknown", "WireItem"),
        ("h.unknown", "application/x-unknown", "Binary"),
        ("i", "application/octet-stream", "Binary"),
    ] {
        let options = json!({ "name": name, "folderPath": folder });
        let made = client.upload(CREATE, &options, Some((name, content_type, b"x"))).ok();
        assert_eq!(made["type"], kind, "{name} {content_type}");
        assert_eq!(made["virtualAttributes"]["contentType"], content_type);
    }
    let options = json!({ "name": "j.xml", "folderPath": folder });
    let made = client.upload(CREATE, &options, None).ok();
    assert_eq!((&made["type"], &made["version"]), (&json!("Story"), &json!(0)), "without content");
}

#[test]
fn a_type_may_have_a_products_prefix_and_any_case() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    for (name, kind) in [("a", "EOM::Story"), ("b", "story"), ("c", "Story")] {
        assert_eq!(upload(&client, &folder, name, b"<a/>", json!({ "type": kind })).ok()["type"], "Story");
    }
}

#[test]
fn an_unknown_type_or_status_is_not_found_and_creates_nothing() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    upload(&client, &folder, "a", b"<a/>", json!({ "type": "Sonnet" })).fails(404, "TypeNotFound");
    upload(&client, &folder, "a", b"<a/>", json!({ "status": "Story/Nowhere" })).fails(404, "StatusNotFound");
    upload(&client, &folder, "a", b"<a/>", json!({ "type": "Story", "status": "Image/Release" }))
        .fails(400, "InvalidStatus");
    assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404, "not even the folder");
}

#[test]
fn without_a_status_it_gets_the_first_of_its_types_workflow() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let status = |name: &str, kind: &str| {
        upload(&client, &folder, name, b"x", json!({ "type": kind })).ok()["statusInfo"]["name"].clone()
    };
    assert_eq!(status("a", "Story"), "Story/Draft");
    assert_eq!(status("b", "Image"), "Image/Raw");
    assert_eq!(status("c", "Binary"), "Default/New");
    let made = upload(&client, &folder, "d", b"x", json!({ "type": "EOM::Image", "status": "Image/Release" })).ok();
    assert_eq!(made["statusInfo"]["name"], "Image/Release");
}

#[test]
fn containers_are_not_made_this_way() {
    let client = Server::shared().login("editor");
    for kind in ["Folder", "Drawer", "LiveBlog", "CompoundStory", "Topic"] {
        upload(&client, &own_folder(), "a", b"x", json!({ "type": kind })).fails(400, "InvalidType");
    }
}

#[test]
fn an_issue_date_is_eight_digits() {
    let client = Server::shared().login("editor");
    for date in ["2026-11-21", "2026112", "tomorrow"] {
        let failure = upload(&client, &own_folder(), "a", b"x", json!({ "issueDate": date }));
        let message = failure.fails(400, "InvalidParameter")["message"].to_string();
        assert!(message.contains("issueDate") && message.contains(date), "{message}");
    }
}

#[test]
fn without_a_folder_it_goes_to_the_users_home() {
    let server = Server::shared();
    let client = server.login("contributor");
    let name = own_folder().replace('/', "-");
    let made = client.upload(CREATE, &json!({ "name": name }), Some(("a", "text/xml", b"<a/>"))).ok();
    assert_eq!(made["path"], format!("/Users/contributor/{name}"));
    // The same call leads to the same folder.
    let again = json!({ "name": name, "options": { "createMode": "NEW_VERSION" } });
    let again = client.upload(CREATE, &again, Some(("a", "text/xml", b"<b/>"))).ok();
    assert_eq!((&again["id"], &again["version"]), (&made["id"], &json!(2)));
}

#[test]
fn a_missing_folder_is_made_with_its_parents() {
    let client = Server::shared().login("reporter");
    let folder = format!("{}/deep/er/est", own_folder());
    let made = upload(&client, &folder, "a.xml", b"<a/>", json!({})).ok();
    assert_eq!(made["path"], format!("{folder}/a.xml"));
    let found = client.get(&format!("/v3/folder/{}?showPath=true", encoded(&folder))).ok();
    assert_eq!(found["info"]["path"], folder);
    assert_eq!(found["info"]["type"], "Folder");
    // By loid and by uuid too.
    for source in [&found["info"]["id"], &found["info"]["pstate"]["uuid"]] {
        let options = json!({ "name": format!("{}.xml", source.as_str().unwrap()), "folder": source });
        let made = client.upload(CREATE, &options, None).ok();
        assert!(made["path"].as_str().unwrap().starts_with(&folder), "{made}");
    }
    assert_eq!(count_in(&client, &folder), 3);
}

#[test]
fn what_can_be_no_folder_is_refused() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let story = client.story(&folder, "a.xml");
    let in_folder = |folder: Value| client.upload(CREATE, &json!({ "name": "b", "folder": folder }), None);
    in_folder(json!(story)).fails(400, "InvalidType");
    in_folder(json!(format!("{folder}/a.xml/below"))).fails(400, "InvalidType");
    in_folder(json!("1$1.0.999999999")).fails(404, "ObjectNotFound");
    in_folder(json!("relative/path")).fails(400, "InvalidPath");
    in_folder(json!("/a//b")).fails(400, "InvalidPath");
    in_folder(json!(7)).fails(400, "InvalidBody");
    in_folder(json!(format!("{folder}/new\nline"))).fails(400, "InvalidName");
    assert_eq!(count_in(&client, &folder), 1);
}

#[test]
fn a_database_is_named_by_number_or_name_and_an_unknown_one_is_not_found() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    for (name, database) in [("a", json!(1)), ("b", json!("1")), ("c", json!("main")), ("d", Value::Null)] {
        assert_eq!(upload(&client, &folder, name, b"x", json!({ "databaseId": database })).ok()["databaseId"], 1);
    }
    for database in [json!(2), json!("2"), json!("archive"), json!(70_000)] {
        let failure = upload(&client, &folder, "e", b"x", json!({ "databaseId": database }));
        failure.fails(404, "DatabaseNotFound");
    }
    assert_eq!(count_in(&client, &folder), 4);
}

#[test]
fn a_reader_may_not_create() {
    let client = Server::shared().login("reader");
    upload(&client, "/Users/reader", "a", b"x", json!({})).fails(403, "PermissionDenied");
}
