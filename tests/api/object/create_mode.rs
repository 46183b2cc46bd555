//! What becomes of a name that is taken: the four modes.

use super::*;

#[test]
fn exception_is_the_default_and_refuses_a_taken_name() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let first = upload(&client, &folder, "a.xml", b"1", json!({})).ok();
    for extra in [json!({}), json!({ "createMode": "EXCEPTION" }), json!({ "options": { "createMode": "EXCEPTION" } })]
    {
        upload(&client, &folder, "a.xml", b"2", extra).fails(409, "DuplicatedName");
    }
    assert_eq!(bytes_of(&client, &id(&first)), b"1");
    assert_eq!(names_in(&client, &folder), ["a.xml"]);
}

#[test]
fn auto_rename_finds_the_next_free_name() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let create = |extra| upload(&client, &folder, "a.xml", b"x", extra).ok()["name"].clone();
    assert_eq!(create(json!({ "createMode": "AUTO_RENAME" })), "a.xml", "free as it is");
    assert_eq!(create(json!({ "createMode": "AUTO_RENAME" })), "a (2).xml");
    assert_eq!(create(json!({ "options": { "createMode": "AUTO_RENAME" } })), "a (3).xml");
}

#[test]
fn the_inner_mode_counts_for_more_than_the_one_on_top() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    upload(&client, &folder, "a.xml", b"x", json!({})).ok();
    let both = json!({ "createMode": "AUTO_RENAME", "options": { "createMode": "EXCEPTION" } });
    upload(&client, &folder, "a.xml", b"x", both).fails(409, "DuplicatedName");
    let both = json!({ "createMode": "EXCEPTION", "options": { "createMode": "AUTO_RENAME" } });
    assert_eq!(upload(&client, &folder, "a.xml", b"x", both).ok()["name"], "a (2).xml");
}

#[test]
fn an_unknown_mode_is_refused_with_its_place() {
    let client = Server::shared().login("reporter");
    let failure = upload(&client, &own_folder(), "a", b"x", json!({ "options": { "createMode": "MERGE" } }));
    assert_eq!(failure.fails(400, "InvalidBody")["details"]["path"], "$.options.createMode");
}

#[test]
fn replace_puts_another_content_into_the_current_version() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let first = upload(&client, &folder, "a.xml", b"1", json!({ "attributes": "<m>1</m>" })).ok();
    let mode = json!({ "createMode": "REPLACE", "usageTickets": "<tl>2</tl>" });
    let second = upload(&client, &folder, "a.xml", b"22", mode).ok();
    assert_eq!((&second["id"], &second["pstate"]), (&first["id"], &first["pstate"]));
    assert_eq!((&second["version"], &second["revision"]), (&json!(1), &json!(2)));
    assert_eq!(second["virtualAttributes"]["size"], 2);
    assert_eq!(second["attributes"], json!({ "m": "1" }), "what is not given stays");
    assert_eq!(second["usageTickets"], json!({ "tl": "2" }));
    assert_eq!(bytes_of(&client, &id(&second)), b"22");
    // From the tables to a file and back.
    let large = noise(300_000);
    upload(&client, &folder, "a.xml", &large, json!({ "createMode": "REPLACE" })).ok();
    assert!(bytes_of(&client, &id(&first)) == large);
    upload(&client, &folder, "a.xml", b"333", json!({ "createMode": "REPLACE" })).ok();
    assert_eq!(bytes_of(&client, &id(&first)), b"333");
}

#[test]
fn a_new_version_has_a_loid_of_its_own_by_which_it_is_read() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let first = upload(&client, &folder, "a.xml", b"one", json!({ "attributes": "<m>1</m>" })).ok();
    let loid = id(&first);
    let last = |loid: &str| client.get(&format!("{}/lastversionloid", object(loid)));
    let version_1 = String::from_utf8(last(&loid).body).unwrap();
    let editor = Server::shared().login("editor");
    let second =
        upload(&editor, &folder, "a.xml", b"second", json!({ "options": { "createMode": "NEW_VERSION" } })).ok();
    assert_eq!((&second["id"], &second["version"]), (&first["id"], &json!(2)));
    let answer = last(&loid);
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let version_2 = String::from_utf8(answer.body).unwrap();
    assert!(version_1 != version_2 && version_1 != loid && version_2 != loid);
    // Records.
    let old = client.get(&object(&version_1)).ok();
    assert_eq!((&old["id"], &old["version"]), (&json!(version_1), &json!(1)));
    assert_eq!((&old["name"], &old["lastModifier"]), (&json!("a.xml"), &json!("reporter")));
    assert_eq!(old["virtualAttributes"]["size"], 3);
    let new = client.get(&format!("{}?showPath=true", object(&version_2))).ok();
    assert_eq!((&new["id"], &new["version"]), (&json!(version_2), &json!(2)));
    assert_eq!((&new["lastModifier"], &new["path"]), (&json!("editor"), &json!(format!("{folder}/a.xml"))));
    // Contents.
    assert_eq!(bytes_of(&client, &version_1), b"one");
    assert_eq!(bytes_of(&client, &version_2), b"second");
    assert_eq!(bytes_of(&client, &loid), b"second");
    for (version, bytes) in [("1", "one"), ("2", "second"), ("-1", "second")] {
        let answer = client.get(&format!("{}/content?version={version}", object(&loid)));
        assert_eq!(answer.body, bytes.as_bytes(), "version {version}");
    }
    // Without its database part, and in a list.
    assert_eq!(client.get(&object(version_1.trim_start_matches("1$"))).ok()["id"], version_1);
    let list = client.post("/v3/object", &json!([version_1, loid])).ok();
    assert_eq!((&list["items"][0]["id"], &list["items"][0]["version"]), (&json!(version_1), &json!(1)));
    assert_eq!((&list["items"][1]["id"], &list["items"][1]["version"]), (&json!(loid), &json!(2)));
}

#[test]
fn a_version_that_is_not_there_is_not_found() {
    let client = Server::shared().login("reporter");
    let loid = client.story(&own_folder(), "a.xml");
    let missing = loid.replace("$1.0.", "$1.7.");
    assert_ne!(missing, loid);
    for path in ["", "/content", "/lastversionloid"] {
        client.get(&format!("{}{path}", object(&missing))).fails(404, "ObjectNotFound");
    }
    for (version, status, code) in
        [("7", 404, "ObjectNotFound"), ("0", 400, "InvalidParameter"), ("-2", 400, "InvalidParameter")]
    {
        client.get(&format!("{}/content?version={version}", object(&loid))).fails(status, code);
    }
}

#[test]
fn a_version_cannot_be_changed_by_its_own_loid() {
    let client = Server::shared().login("editor");
    let loid = client.story(&own_folder(), "a.xml");
    let version = String::from_utf8(client.get(&format!("{}/lastversionloid", object(&loid))).body).unwrap();
    client.delete(&format!("{}/discard", object(&version))).fails(400, "InvalidType");
    client.delete(&format!("{}/destroy", object(&version))).fails(400, "InvalidType");
    client.post(&format!("{}/restore", object(&version)), &json!({})).fails(400, "InvalidType");
    for what in ["discard", "destroy"] {
        let reply = client.delete_with(&format!("/v3/object/{what}"), &json!([version])).ok();
        assert_eq!(reply["errors"][0]["code"], "CMS.InvalidType");
    }
    assert_eq!(client.get(&object(&loid)).status, 200);
}

#[test]
fn an_object_without_content_has_no_version_and_gets_its_first() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let options = json!({ "name": "a.xml", "folderPath": folder, "createMode": "NEW_VERSION" });
    let made = client.upload(CREATE, &options, None).ok();
    assert_eq!(made["version"], 0);
    let loid = id(&made);
    let last = client.get(&format!("{}/lastversionloid", object(&loid)));
    assert_eq!(String::from_utf8(last.body).unwrap(), loid);
    client.get(&format!("{}/content", object(&loid))).fails(404, "ObjectNotFound");
    let filled = client.upload(CREATE, &options, Some(("a.xml", "text/xml", b"<a/>"))).ok();
    assert_eq!((&filled["id"], &filled["version"]), (&json!(loid), &json!(1)));
    // No content, no new version.
    assert_eq!(client.upload(CREATE, &options, None).ok()["version"], 1);
}

#[test]
fn a_new_version_leaves_status_and_type_alone_that_nobody_named() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    let extra =
        json!({ "type": "Template", "status": "Default/Done", "workFolder": "/News/City", "issueDate": "20261121" });
    upload(&client, &folder, "a.xml", b"1", extra).ok();
    for mode in ["NEW_VERSION", "REPLACE"] {
        let again = upload(&client, &folder, "a.xml", b"2", json!({ "createMode": mode })).ok();
        assert_eq!(again["type"], "Template", "{mode}");
        assert_eq!(again["statusInfo"]["name"], "Default/Done", "{mode}");
        assert_eq!((&again["workFolder"], &again["issueDate"]), (&json!("/News/City"), &json!("20261121")));
    }
    // Another type has another workflow.
    let other = upload(&client, &folder, "a.xml", b"3", json!({ "createMode": "REPLACE", "type": "Story" })).ok();
    assert_eq!((&other["type"], &other["statusInfo"]["name"]), (&json!("Story"), &json!("Story/Draft")));
    let named = json!({ "createMode": "REPLACE", "status": "Story/Ready" });
    assert_eq!(upload(&client, &folder, "a.xml", b"3", named).ok()["statusInfo"]["name"], "Story/Ready");
}

#[test]
fn no_mode_puts_a_document_in_the_place_of_a_folder() {
    let client = Server::shared().login("reporter");
    let folder = own_folder();
    client.post("/v3/folder", &json!({ "path": format!("{folder}/a") })).ok();
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
        upload(&client, &folder, "a", b"x", json!({ "createMode": mode })).fails(409, "DuplicatedName");
    }
    assert_eq!(upload(&client, &folder, "a", b"x", json!({ "createMode": "AUTO_RENAME" })).ok()["name"], "a (2)");
}
