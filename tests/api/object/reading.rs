//! Reads of one object and of many.

use super::*;

const FERRY: &str = "/News/City/harbour-ferry.xml";

#[test]
fn malformed_sources_are_invalid_and_nothing_lies_below_a_document() {
    let client = Server::shared().user("reader");
    for source in ["harbour", "1$1.0.x", "not-a-uuid"] {
        client.call("object-get", &[&source]).fails(400, "InvalidParameter");
    }
    for source in ["9$1.0.1", "1$7.0.1", &format!("{FERRY}/below")] {
        is_gone(&client, source);
    }
}

#[test]
fn the_default_set_and_every_option_beside_it() {
    let client = Server::shared().user("reader");
    let record = read(&client, FERRY);
    for shown in ["systemAttributes", "attributes", "usageTickets", "virtualAttributes", "locked", "locker", "suid"] {
        assert!(record.get(shown).is_some(), "{shown}");
    }
    for hidden in ["path", "additionalInfo", "uniquenessString", "webType", "attributesXml"] {
        assert!(record.get(hidden).is_none(), "{hidden}");
    }
    let seen = |option: &str| client.call("object-get", &[&FERRY]).query(option, true).ok();
    assert_eq!(seen("showPath")["path"], FERRY);
    assert!(seen("showUniquenessString")["uniquenessString"].is_string());
    let folder = read(&client, "/News/City")["id"].clone();
    let info = json!({ "family": "document", "workflow": "Story", "folderId": folder });
    shows(&seen("showAdditionalInfo")["additionalInfo"], info);
}

#[test]
fn the_uniqueness_string_differs_between_objects_and_states() {
    let desk = Desk::of("reporter");
    let (a, b) = (desk.make("a", b"<story/>"), desk.make("b", b"<story/>"));
    let unique = |source: &str| {
        let record = desk.call("object-get", &[&source]).query("showUniquenessString", true).ok();
        record["uniquenessString"].as_str().unwrap().to_owned()
    };
    let before = unique(&a);
    assert_eq!(before, unique(&a));
    assert_ne!(before, unique(&b));
    desk.again("a", b"<other/>", "REPLACE");
    assert_ne!(before, unique(&a));
}

#[test]
fn the_number_of_objects_in_a_folder_is_never_an_old_one() {
    let desk = Desk::of("editor");
    let children = || read(&desk, &desk.folder)["virtualAttributes"]["childCount"].clone();
    let story = desk.make("a", b"x");
    assert_eq!(children(), 1);
    desk.make("b", b"x");
    assert_eq!(children(), 2);
    discard(&desk, &story).ok();
    assert_eq!(children(), 1);
}

#[test]
fn object_lists_give_each_found_object_once_and_one_error_for_each_other() {
    let desk = Desk::of("reporter");
    let (a, b) = (desk.make("a", b"x"), desk.make("b", b"x"));
    let missing = "1$1.0.999999999";
    let by_path = format!("{}/a", desk.folder);
    let sources =
        json!([b, "nonsense", by_path, missing, b, format!("{}/b", desk.folder), a, "nonsense", missing, by_path]);
    for body in [json!({ "sources": sources }), sources] {
        let errors = json!([{ "source": "nonsense", "code": "CMS.InvalidParameter" },
            { "source": missing, "code": "CMS.ObjectNotFound" }]);
        let expected = json!({ "items": [{ "id": b }, { "id": a }], "errors": errors });
        let reply = desk.call("stet-object-list-post", &[]).json(&body).gives(&expected);
        assert_eq!(["items", "errors"].map(|list| reply[list].as_array().map(Vec::len)), [Some(2); 2], "{reply}");
        assert!(reply["errors"][1]["message"].as_str().unwrap().contains(missing));
    }
}

#[test]
fn display_options_of_a_list_stand_at_the_top_or_under_options() {
    let desk = Desk::of("reporter");
    let a = desk.make("a", b"x");
    let list = |body: Value| desk.call("stet-object-list-post", &[]).json(&body).ok()["items"][0].clone();
    assert_eq!(list(json!({ "sources": [a] })).get("path"), None);
    let path = format!("{}/a", desk.folder);
    assert_eq!(list(json!({ "sources": [a], "options": { "showPath": true } }))["path"], path);
    let top = list(json!({ "sources": [a], "showPath": "1", "showAttributes": false, "showXml": 1 }));
    assert_eq!((&top["path"], top.get("attributes")), (&json!(path), None));
    assert!(top["systemAttributesXml"].is_string());
}

#[test]
fn a_list_without_sources_is_refused() {
    let desk = Desk::of("reporter");
    let list = |body: Value| desk.call("stet-object-list-post", &[]).json(&body);
    for body in [json!({}), json!({ "sources": "a" }), json!({ "sources": [{}] })] {
        list(body).fails(400, "InvalidBody");
    }
    for options in [json!("x"), json!(5), json!(["x"])] {
        let refused = list(json!({ "sources": [], "options": options })).fails(400, "InvalidBody");
        assert_eq!(refused["details"]["path"], "$.options");
    }
    assert_eq!(list(json!([])).ok(), json!({ "items": [], "errors": [] }));
    list(json!(vec!["/nowhere"; 10_001])).fails(413, "TooLarge");
}
