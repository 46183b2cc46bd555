//! One object and many, by every kind of source.

use super::*;

#[test]
fn an_object_is_found_by_every_kind_of_source() {
    let client = Server::shared().login("reader");
    let found = client.get(&object("/News/City/harbour-ferry.xml")).ok();
    let loid = id(&found);
    let uuid = found["pstate"]["uuid"].as_str().unwrap();
    let bare = loid.strip_prefix("1$").expect("a loid has its database");
    let simple = uuid.replace('-', "");
    let mut paths: Vec<String> =
        [&loid, bare, uuid, &uuid.to_uppercase(), &simple, &format!("urn:uuid:{uuid}")].map(object).to_vec();
    paths.push(format!("/v3/object/{loid}"));
    paths.push(object(&format!("/News/City/harbour-ferry.xml?uuid={uuid}")));
    paths.push(object(&format!("/nowhere?uuid={uuid}")));
    for path in paths {
        assert_eq!(client.get(&path).ok()["id"], loid, "{path}");
    }
}

#[test]
fn a_source_that_fits_nothing_is_invalid_and_one_that_names_nothing_is_not_found() {
    let client = Server::shared().login("reader");
    for source in ["harbour", "1.2", "1$1.0.x", "not-a-uuid"] {
        client.get(&object(source)).fails(400, "InvalidParameter");
    }
    let uuid = "019aa1c7-0000-7000-8000-000000000000";
    for source in ["1$1.0.999999999", "9$1.0.1", "1$7.0.1", uuid, "/nowhere", "/News/City/harbour-ferry.xml/below"] {
        client.get(&object(source)).fails(404, "ObjectNotFound");
    }
}

#[test]
fn the_default_set_and_every_option_beside_it() {
    let client = Server::shared().login("reader");
    let path = object("/News/City/harbour-ferry.xml");
    let record = client.get(&path).ok();
    for shown in ["systemAttributes", "attributes", "usageTickets", "virtualAttributes", "locked", "locker", "suid"] {
        assert!(record.get(shown).is_some(), "{shown}");
    }
    for hidden in ["path", "additionalInfo", "uniquenessString", "webType", "attributesXml"] {
        assert!(record.get(hidden).is_none(), "{hidden}");
    }
    let read = |query: &str| client.get(&format!("{path}?{query}")).ok();
    assert_eq!(read("showPath=true")["path"], "/News/City/harbour-ferry.xml");
    let info = read("showAdditionalInfo=true")["additionalInfo"].clone();
    assert_eq!((&info["family"], &info["workflow"]), (&json!("document"), &json!("Story")));
    let folder = client.get(&object("/News/City")).ok();
    assert_eq!(info["folderId"], folder["id"]);
    assert!(read("showUniquenessString=1")["uniquenessString"].is_string());
    assert!(read("showWebType=1").get("webType").is_some());
    client.get(&format!("{path}?showPath=perhaps")).fails(400, "InvalidParameter");
    // Display options of a GET change nothing for the next.
    assert_eq!(client.get(&path).ok(), record);
}

#[test]
fn the_uniqueness_string_differs_between_objects_and_states() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
    let unique = |source: &str| {
        let record = client.get(&format!("{}?showUniquenessString=true", object(source))).ok();
        record["uniquenessString"].as_str().unwrap().to_owned()
    };
    let before = unique(&a);
    assert_eq!(before, unique(&a));
    assert_ne!(before, unique(&b));
    upload(&client, &folder, "a", b"<other/>", json!({ "createMode": "REPLACE" })).ok();
    assert_ne!(before, unique(&a));
}

#[test]
fn the_number_of_objects_in_a_folder_is_never_an_old_one() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let children = || client.get(&object(&folder)).ok()["virtualAttributes"]["childCount"].clone();
    let story = client.story(&folder, "a");
    assert_eq!(children(), 1);
    client.story(&folder, "b");
    assert_eq!(children(), 2);
    client.delete(&format!("{}/discard", object(&story))).ok();
    assert_eq!(children(), 1);
}

#[test]
fn a_list_gives_what_is_found_in_order_and_an_error_for_each_that_is_not() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let (a, b) = (client.story(&folder, "a"), client.story(&folder, "b"));
    let missing = "1$1.0.999999999";
    let sources = json!([b, "nonsense", format!("{folder}/a"), missing, b]);
    for body in [json!({ "sources": sources }), sources] {
        let reply = client.post("/v3/object", &body).ok();
        let found: Vec<&str> =
            reply["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(found, [&b, &a, &b]);
        let errors = reply["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 2);
        assert_eq!((&errors[0]["source"], &errors[0]["code"]), (&json!("nonsense"), &json!("CMS.InvalidParameter")));
        assert_eq!((&errors[1]["source"], &errors[1]["code"]), (&json!(missing), &json!("CMS.ObjectNotFound")));
        assert!(errors[1]["message"].as_str().unwrap().contains(missing));
    }
}

#[test]
fn display_options_of_a_list_stand_in_its_body_at_the_top_or_under_options() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let a = client.story(&folder, "a");
    let read = |body: Value| client.post("/v3/object", &body).ok()["items"][0].clone();
    assert_eq!(read(json!({ "sources": [a] })).get("path"), None);
    let path = format!("{folder}/a");
    assert_eq!(read(json!({ "sources": [a], "options": { "showPath": true } }))["path"], path);
    let top = read(json!({ "sources": [a], "showPath": "1", "showAttributes": false, "showXml": 1 }));
    assert_eq!((&top["path"], top.get("attributes")), (&json!(path), None));
    assert!(top["systemAttributesXml"].is_string());
}

#[test]
fn a_list_without_sources_is_refused_with_the_place_of_the_fault() {
    let client = Server::shared().login("reporter");
    for body in [json!({}), json!({ "sources": "a" }), json!(7), json!("x"), json!({ "sources": [{}] })] {
        client.post("/v3/object", &body).fails(400, "InvalidBody");
    }
    client.send("POST", "/v3/object", &[], b"").fails(400, "InvalidBody");
    let empty = client.post("/v3/object", &json!([])).ok();
    assert_eq!(empty, json!({ "items": [], "errors": [] }));
    let many = vec!["/nowhere"; 10_001];
    client.post("/v3/object", &json!(many)).fails(413, "TooLarge");
}
