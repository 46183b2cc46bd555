//! Making a liveblog from a template, and its way to the recycle bin.

use super::*;
use crate::api::conf::{content_of as content_of_file, save};

fn create<'c>(client: &'c Client, body: &Value) -> Call<'c> {
    client.call("liveblog-from-default-template-post", &[]).json(body)
}

fn from<'c>(client: &'c Client, template: &str, body: &Value) -> Call<'c> {
    client.call("liveblog-from-template-post", &[&template]).json(body)
}

/// An object's content.
fn content_of(client: &Client, source: &str) -> Vec<u8> {
    served(&client.call("stet-object-content-get", &[&source])).body
}

#[test]
fn a_liveblog_begins_with_the_content_and_attributes_of_its_template() {
    let (client, folder) = (user("editor"), own_folder());
    for (name, template, call) in [
        ("a", TEMPLATE, create(&client, &json!({ "name": "a", "folderPath": folder }))),
        ("b", MATCH_TEMPLATE, from(&client, MATCH_TEMPLATE, &json!({ "name": "b", "folderPath": folder }))),
    ] {
        let answer = call.send();
        tag(&answer);
        let (reply, shown) = (answer.ok(), client.call("object-get", &[&template]).ok());
        let expected = json!({
            "info": {
                "name": name, "type": "LiveBlog", "version": 1, "moderated": false, "revision": reply["revision"],
                // The workflow's first.
                "statusInfo": { "name": "LiveBlog/Open" },
                "postCounts": { "pending": 0, "approved": 0, "rejected": 0, "deleted": 0 },
            },
            "items": [], "total": 0,
        });
        includes(&reply, &expected);
        assert_eq!(reply["info"]["lastPostTimestamp"], Value::Null);
        for field in ["attributes", "systemAttributes"] {
            assert_eq!(reply["info"][field], shown[field], "{template} {field}");
        }
        let bytes = content_of(&client, template);
        assert_eq!(content_of(&client, &id(&reply)), bytes, "{template}");
        assert!(String::from_utf8_lossy(&bytes).contains("posts=\"here\""), "{template} marks where posts go");
    }
}

#[test]
fn a_large_template_is_shared_and_not_held_in_memory() {
    let (client, folder) = (user("editor"), own_folder());
    let large = format!("<liveblog>{}<posts posts=\"here\"/></liveblog>", "x".repeat(200_000));
    let options = json!({ "name": "t.xml", "type": "Template", "folderPath": folder });
    let files = [("content", "t.xml", "text/xml", large.as_bytes())];
    client.call("stet-object-create-post", &[]).form(&options, &files).ok();
    let made = from(&client, &format!("{folder}/t.xml"), &json!({ "name": "x", "folderPath": folder })).ok();
    assert_eq!(content_of(&client, &id(&made)), large.as_bytes());
}

#[test]
fn a_liveblog_created_while_its_template_changes_starts_with_one_content() {
    let mut server = Server::start();
    let client = server.login("editor");
    // Rows of several lengths, and a file. Each consists of one letter, so that its length
    // identifies it.
    let lengths = [3, 50, 7_000, 32_000, 40_000];
    let whole = |number: usize| vec![b'a' + number as u8; lengths[number]];
    let options = json!({ "name": "t.xml", "type": "Template", "folderPath": "/LiveBlogs", "createMode": "REPLACE" });
    let replace = |client: &Client, number: usize| {
        let files: &[File<'_>] = &[("content", "t.xml", "text/xml", &whole(number))];
        let made = client.call("stet-object-create-post", &[]).form(&options, files).ok();
        made["id"].as_str().expect("it has an id").to_owned()
    };
    let template = replace(&client, 0);
    let made = std::thread::scope(|scope| {
        for first in 0..2 {
            let client = client.afresh();
            scope.spawn(move || (0..40).for_each(|round| drop(replace(&client, (first + round) % 5))));
        }
        let makers: Vec<_> = (0..4)
            .map(|_| {
                let (client, template) = (client.afresh(), &template);
                scope.spawn(move || -> Vec<String> {
                    let make = || id(&from(&client, template, &json!({ "folderPath": "/LiveBlogs/Made" })).ok());
                    (0..15).map(|_| make()).collect()
                })
            })
            .collect();
        makers.into_iter().flat_map(|maker| maker.join().expect("it does not panic")).collect::<Vec<_>>()
    });
    for loid in made {
        let bytes = content_of(&client, &loid);
        let number = lengths.iter().position(|length| *length == bytes.len());
        let number = number.unwrap_or_else(|| panic!("{} bytes were never written", bytes.len()));
        assert!(bytes == whole(number), "{} bytes of another content", bytes.len());
        let versions = json!({ "items": [{ "size": bytes.len() }] });
        client.call("stet-object-versions-get", &[&loid]).gives(&versions);
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn every_field_is_found_again_in_the_record() {
    let folder = own_folder();
    let body = json!({
        "name": "Match: final", "type": "EOM::LiveBlog", "application": "test", "folderPath": folder, "databaseId": "main",
        "workFolder": "/News/Sport", "status": "LiveBlog/Closed", "issueDate": "20261121", "suid": "family-9",
        "product": "HarbourCourier", "edition": "Late", "team": "Sport", "moderated": true,
        "attributes": { "metadata": { "headline": "Final" } }, "usageTickets": "<tl><t/></tl>",
        "showPath": true, "unknown": 1,
    });
    let reply = create(&user("editor"), &body).gives(&json!({ "info": {
        "name": "Match_ final", "path": format!("{folder}/Match_ final"), "workFolder": "/News/Sport",
        "issueDate": "20261121", "suid": "family-9", "moderated": true, "statusInfo": { "name": "LiveBlog/Closed" },
    } }));
    let info = &reply["info"];
    assert_eq!(info["attributes"], body["attributes"], "not the template's");
    let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261121" });
    assert_eq!(info["systemAttributes"], json!({ "props": { "productInfo": product, "team": "Sport" } }));
    assert_eq!(info["usageTickets"], json!({ "tl": { "t": "" } }));
}

#[test]
fn without_a_name_or_folder_there_is_one_at_home_each_time() {
    let client = user("editor");
    let (one, other) = (create(&client, &json!({})).ok(), create(&client, &json!({ "showPath": true })).ok());
    assert_ne!(one["info"]["id"], other["info"]["id"]);
    assert!(other["info"]["path"].as_str().unwrap().starts_with("/Users/editor/LiveBlog"), "{other}");
}

#[test]
fn a_name_that_is_taken_is_met_as_the_mode_says() {
    let (client, folder) = (user("editor"), own_folder());
    let make = |mode: Value| {
        let body = json!({ "name": "x", "folderPath": folder, "options": { "createMode": mode } });
        create(&client, &body)
    };
    let first = id(&make(Value::Null).ok());
    make(json!("EXCEPTION")).fails(409, "DuplicatedName");
    let renamed = make(json!("AUTO_RENAME")).ok();
    assert!(id(&renamed) != first && renamed["info"]["name"] != "x", "{renamed}");
    make(json!("REPLACE")).gives(&json!({ "info": { "id": first, "version": 1 } }));
    make(json!("NEW_VERSION")).gives(&json!({ "info": { "id": first, "version": 2 } }));
}

#[test]
fn a_template_that_is_not_there_or_may_not_be_read_is_none() {
    let server = Server::with(&[("LIVEBLOG__TEMPLATE", "/Nowhere/liveblog.xml")]);
    let admin = server.user("admin");
    let refused = create(&admin, &json!({ "name": "x" })).fails(404, "TemplateNotFound");
    assert_eq!(refused["source"], "/Nowhere/liveblog.xml");
    from(&admin, "/News/City", &json!({})).fails(400, "InvalidType");
    // A user who may read one folder only gets the same error for a template elsewhere as for a
    // missing one.
    let reporter = reporter_below(&server, "/News", &["read", "create"]);
    let body = json!({ "name": "x", "folderPath": "/News/City" });
    let told = |source: &str| {
        let failure = from(&reporter, source, &body).fails(404, "TemplateNotFound");
        failure["message"].as_str().expect("it has a message").replace(source, "*")
    };
    assert_eq!(told(TEMPLATE), told("/nowhere"));
    let readable = admin.story("/News/City", "own-template.xml");
    from(&reporter, &readable, &body).ok();
}

#[test]
fn invalid_liveblog_creations_are_refused_and_create_nothing() {
    let (client, folder) = (user("editor"), own_folder());
    for (extra, status, code) in [
        (json!({ "status": "LiveBlog/Sleeping" }), 404, "StatusNotFound"),
        (json!({ "status": "Story/Draft" }), 400, "InvalidStatus"),
        (json!({ "type": "Newsletter" }), 404, "TypeNotFound"),
        (json!({ "type": "Story" }), 400, "InvalidType"),
        (json!({ "databaseId": "elsewhere" }), 404, "DatabaseNotFound"),
        (json!({ "issueDate": "tomorrow" }), 400, "InvalidParameter"),
        (json!({ "attributes": "<a>" }), 400, "InvalidAttributes"),
        (json!({ "systemAttributes": "<other/>" }), 400, "InvalidAttributes"),
        (json!({ "moderated": "perhaps" }), 400, "InvalidBody"),
        (json!({ "createMode": "SOMEHOW" }), 400, "InvalidBody"),
        (json!({ "folderPath": "City" }), 400, "InvalidPath"),
        (json!({ "name": "a/b" }), 400, "InvalidName"),
        (json!({ "showPath": "perhaps" }), 400, "InvalidParameter"),
    ] {
        let mut body = json!({ "name": "x", "folderPath": folder });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        create(&client, &body).send().fails_on(&extra.to_string(), status, code);
    }
    // Not even the folder is there.
    client.call("folder-get", &[&folder]).fails(404, "ObjectNotFound");
}

#[test]
fn a_liveblog_goes_to_the_recycle_bin_and_comes_back_with_its_posts() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    blog.call("liveblog-delete", &[]).gives(&json!({ "id": blog.loid }));
    for call in [blog.read(), blog.read_post(&post), blog.write("<a/>"), blog.call("liveblog-delete", &[])] {
        call.fails(404, "ObjectNotFound");
    }
    let gone = json!({ "items": [], "errors": [{ "code": "CMS.ObjectNotFound" }] });
    named(&blog.editor, &json!([post])).gives(&gone);
    blog.call("stet-object-restore-post", &[]).ok();
    assert_eq!(ids(&blog.read().ok()), [post]);
}

#[test]
fn product_and_team_keep_other_system_attributes_of_existing_liveblogs() {
    let (client, folder) = (user("editor"), own_folder());
    let product = json!({ "name": "HarbourCourier", "edition": "Late" });
    let props = json!({ "props": { "productInfo": product, "team": "Web", "embargo": "20:00" } });
    let body = json!({ "name": "x", "folderPath": folder, "systemAttributes": props });
    let made = create(&client, &body).ok();
    let body =
        json!({ "name": "x", "folderPath": folder, "team": "Sport", "edition": "Morning", "createMode": "REPLACE" });
    let met = create(&client, &body).ok();
    assert_eq!(id(&met), id(&made));
    let product = json!({ "name": "HarbourCourier", "edition": "Morning" });
    let expected = json!({ "props": { "productInfo": product, "team": "Sport", "embargo": "20:00" } });
    assert_eq!(met["info"]["systemAttributes"], expected);
}

#[test]
fn a_liveblog_that_is_there_keeps_what_its_template_has_otherwise() {
    let (client, folder) = (user("editor"), own_folder());
    let body = |mode: &str| json!({ "name": "x", "folderPath": folder, "createMode": mode });
    let mut first = body("EXCEPTION");
    first["attributes"] = json!({ "metadata": { "headline": "Precious" } });
    first["systemAttributes"] = json!({ "props": { "embargo": "20:00" } });
    let made = create(&client, &first).ok();
    let before = content_of(&client, &id(&made));
    for (mode, version) in [("REPLACE", 1), ("NEW_VERSION", 2)] {
        let met = from(&client, MATCH_TEMPLATE, &body(mode)).gives(&json!({ "info": { "version": version } }));
        for field in ["attributes", "systemAttributes"] {
            assert_eq!(met["info"][field], first[field], "{mode} {field}");
        }
        assert_eq!(content_of(&client, &id(&made)) == before, version == 1, "{mode}");
    }
}

/// Checks that `moderated` can be set at creation and changed later, not only through the system
/// attributes.
#[test]
fn a_liveblog_begins_moderated_as_its_template_is() {
    let (client, folder) = (user("editor"), own_folder());
    let made = |template: Option<&str>, said: &Value| {
        let mut body = json!({ "folderPath": folder });
        body.as_object_mut().expect("it is one").extend(said.as_object().expect("it is one").clone());
        match template {
            Some(template) => from(&client, template, &body).ok(),
            None => create(&client, &body).ok(),
        }
    };
    let by_body = id(&made(None, &json!({ "moderated": true })));
    let by_attributes = id(&made(None, &json!({ "systemAttributes": { "props": { "moderated": "true" } } })));
    let changed = id(&made(None, &json!({ "systemAttributes": { "props": { "moderated": "false" } } })));
    let update = json!([{ "set": { "xpath": "/sysattributes/props/moderated", "content": "true" } }]);
    let update = json!({ "updateFields": [{ "sourceIds": [changed], "operators": update }] });
    client.call("stet-object-metadata-change-fields-post", &[]).json(&update).ok();
    let said_otherwise = json!({ "moderated": true, "systemAttributes": { "props": { "moderated": "false" } } });
    let said_otherwise = id(&made(None, &said_otherwise));
    for template in [&by_body, &by_attributes, &changed, &said_otherwise] {
        for (said, moderated) in [
            (json!({}), true),
            (json!({ "issueDate": "20261201" }), true),
            (json!({ "systemAttributes": { "props": { "own": "1" } } }), true),
            (json!({ "moderated": false }), false),
            (json!({ "systemAttributes": { "props": { "moderated": "0" } } }), false),
        ] {
            assert_eq!(made(Some(template), &said)["info"]["moderated"], moderated, "{said}");
        }
    }
    // Of one that is there nothing has been said.
    let plain = made(None, &json!({ "name": "plain" }));
    let met = made(Some(&by_body), &json!({ "name": "plain", "createMode": "REPLACE" }));
    assert_eq!((id(&met), &met["info"]["moderated"]), (id(&plain), &json!(false)));
}

/// Checks that a liveblog of another type than `LiveBlog` keeps type and workflow when it is
/// replaced without a type.
#[test]
fn a_liveblog_replaced_without_type_takes_statuses_of_its_own_workflow() {
    let server = Server::start();
    let (admin, editor, folder) = (server.user("admin"), server.user("editor"), own_folder());
    let types = "/SysConfig/ObjectTypes/objecttypes.xml";
    let ticker =
        "<objectType name=\"Ticker\" family=\"liveblog\" workflow=\"Default\" label=\"Ticker\"/></objectTypes>";
    save(&admin, types, 1, content_of_file(&admin, types).replace("</objectTypes>", ticker));
    assert_eq!(admin.get("/v3/conf/cache/objecttypes/refresh/1").ok()["errors"], json!([]));
    let made = create(&editor, &json!({ "name": "a", "folderPath": folder, "type": "Ticker" })).ok();
    for (mode, status) in [("REPLACE", "Default/Done"), ("NEW_VERSION", "Default/New")] {
        let again = |status: &str| {
            let body = json!({ "name": "a", "folderPath": folder, "createMode": mode, "status": status });
            create(&editor, &body).send()
        };
        again("LiveBlog/Closed").fails(400, "InvalidStatus");
        let expected = json!({ "info": { "id": id(&made), "type": "Ticker", "statusInfo": { "name": status } } });
        includes(&again(status).ok(), &expected);
    }
    // A new one is a `LiveBlog`.
    let new = |status: &str| create(&editor, &json!({ "name": "b", "folderPath": folder, "status": status })).send();
    new("Default/Done").fails(400, "InvalidStatus");
    includes(&new("LiveBlog/Closed").ok(), &json!({ "info": { "statusInfo": { "name": "LiveBlog/Closed" } } }));
}
