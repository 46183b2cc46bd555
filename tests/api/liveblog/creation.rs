//! Making a liveblog from a template, and its way to the recycle bin.

use super::*;

fn create(client: &Client, body: &Value) -> Answer {
    client.post(CREATE, body)
}

fn from(client: &Client, template: &str, body: &Value) -> Answer {
    client.post(&format!("{CREATE}/{}", encoded(template)), body)
}

fn content_of(client: &Client, source: &str) -> Vec<u8> {
    let answer = client.get(&format!("/v3/object/{}/content", encoded(source)));
    assert_eq!(answer.status, 200);
    answer.body
}

#[test]
fn a_liveblog_begins_with_the_content_and_attributes_of_its_template() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    for (name, template, reply) in [
        ("a", TEMPLATE, create(&client, &json!({ "name": "a", "folderPath": folder }))),
        ("b", MATCH_TEMPLATE, from(&client, MATCH_TEMPLATE, &json!({ "name": "b", "folderPath": folder }))),
    ] {
        let etag = reply.header("etag").is_some();
        let reply = reply.ok();
        let info = &reply["info"];
        assert!(etag);
        assert_eq!((&info["name"], &info["type"], &info["version"]), (&json!(name), &json!("LiveBlog"), &json!(1)));
        assert_eq!(info["statusInfo"]["name"], "LiveBlog/Open", "the workflow's first");
        assert_eq!(info["postCounts"], json!({ "pending": 0, "approved": 0, "rejected": 0, "deleted": 0 }));
        assert_eq!((&info["moderated"], &info["lastPostTimestamp"]), (&json!(false), &Value::Null));
        assert_eq!((&reply["items"], &reply["total"]), (&json!([]), &json!(0)));
        assert_eq!(reply["revision"], info["revision"]);
        let bytes = content_of(&client, template);
        assert_eq!(content_of(&client, info["id"].as_str().unwrap()), bytes, "{template}");
        assert!(String::from_utf8_lossy(&bytes).contains("posts=\"here\""), "{template} marks where posts go");
        let shown = client.get(&format!("/v3/object/{}", encoded(template))).ok();
        assert_eq!(info["attributes"], shown["attributes"]);
        assert_eq!(info["systemAttributes"], shown["systemAttributes"]);
    }
}

#[test]
fn a_large_template_is_shared_and_not_held_in_memory() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let large = format!("<liveblog>{}<posts posts=\"here\"/></liveblog>", "x".repeat(200_000));
    let options = json!({ "name": "t.xml", "type": "Template", "folderPath": folder });
    client.upload("/v3/object/create", &options, Some(("t.xml", "text/xml", large.as_bytes()))).ok();
    let made = from(&client, &format!("{folder}/t.xml"), &json!({ "name": "x", "folderPath": folder })).ok();
    assert_eq!(content_of(&client, made["info"]["id"].as_str().unwrap()), large.as_bytes());
}

#[test]
fn a_liveblog_made_while_its_template_is_replaced_begins_with_one_content_whole() {
    let mut server = Server::start();
    let client = server.login("editor");
    // Rows of several lengths, and a file; each of one letter, which its length tells.
    let lengths = [3, 50, 7_000, 32_000, 40_000];
    let whole = |number: usize| vec![b'a' + number as u8; lengths[number]];
    let options = json!({ "name": "t.xml", "type": "Template", "folderPath": "/LiveBlogs", "createMode": "REPLACE" });
    let replace = |client: &Client, number: usize| {
        let upload = client.upload("/v3/object/create", &options, Some(("t.xml", "text/xml", &whole(number))));
        upload.ok()["id"].as_str().expect("it has an id").to_owned()
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
                    let make = |_| {
                        let made = from(&client, template, &json!({ "folderPath": "/LiveBlogs/Made" })).ok();
                        made["info"]["id"].as_str().expect("it has an id").to_owned()
                    };
                    (0..15).map(make).collect()
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
        let versions = client.get(&format!("/v3/object/{}/versions", encoded(&loid))).ok();
        assert_eq!(versions["items"][0]["size"], bytes.len());
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn every_field_is_found_again_in_the_record() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let body = json!({
        "name": "Match: final", "type": "EOM::LiveBlog", "application": "test", "folderPath": folder, "databaseId": "main",
        "workFolder": "/News/Sport", "status": "LiveBlog/Closed", "issueDate": "20261121", "suid": "family-9",
        "product": "HarbourCourier", "edition": "Late", "team": "Sport", "moderated": true,
        "attributes": { "metadata": { "headline": "Final" } }, "usageTickets": "<tl><t/></tl>",
        "showPath": true, "unknown": 1,
    });
    let info = create(&client, &body).ok()["info"].take();
    assert_eq!(info["name"], "Match_ final");
    assert_eq!(info["path"], format!("{folder}/Match_ final"));
    assert_eq!((&info["workFolder"], &info["issueDate"]), (&json!("/News/Sport"), &json!("20261121")));
    assert_eq!((&info["suid"], &info["moderated"]), (&json!("family-9"), &json!(true)));
    assert_eq!(info["statusInfo"]["name"], "LiveBlog/Closed");
    assert_eq!(info["attributes"], json!({ "metadata": { "headline": "Final" } }), "not the template's");
    let product = json!({ "name": "HarbourCourier", "edition": "Late", "issueDate": "20261121" });
    assert_eq!(info["systemAttributes"], json!({ "props": { "productInfo": product, "team": "Sport" } }));
    assert_eq!(info["usageTickets"], json!({ "tl": { "t": "" } }));
}

#[test]
fn without_a_name_or_folder_there_is_one_at_home_each_time() {
    let client = Server::shared().login("editor");
    let (one, other) = (create(&client, &json!({})).ok(), create(&client, &json!({ "showPath": true })).ok());
    assert_ne!(one["info"]["id"], other["info"]["id"]);
    assert!(other["info"]["path"].as_str().unwrap().starts_with("/Users/editor/LiveBlog"), "{other}");
}

#[test]
fn a_name_that_is_taken_is_met_as_the_mode_says() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let body = |mode: Value| json!({ "name": "x", "folderPath": folder, "options": { "createMode": mode } });
    let first = create(&client, &body(Value::Null)).ok()["info"].take();
    create(&client, &body(json!("EXCEPTION"))).fails(409, "DuplicatedName");
    let renamed = create(&client, &body(json!("AUTO_RENAME"))).ok()["info"].take();
    assert_ne!((&renamed["id"], &renamed["name"]), (&first["id"], &first["name"]));
    let replaced = create(&client, &body(json!("REPLACE"))).ok()["info"].take();
    assert_eq!((&replaced["id"], &replaced["version"]), (&first["id"], &json!(1)));
    let newer = create(&client, &body(json!("NEW_VERSION"))).ok()["info"].take();
    assert_eq!((&newer["id"], &newer["version"]), (&first["id"], &json!(2)));
}

#[test]
fn a_template_that_is_not_there_or_may_not_be_read_is_none() {
    let server = Server::with(&[("LIVEBLOG__TEMPLATE", "/Nowhere/liveblog.xml")]);
    let admin = server.login("admin");
    let refused = create(&admin, &json!({ "name": "x" })).fails(404, "TemplateNotFound");
    assert_eq!(refused["source"], "/Nowhere/liveblog.xml");
    for source in ["1$1.0.999999999", "/nowhere", "0191b6a4-0000-7000-8000-000000000000"] {
        assert_eq!(from(&admin, source, &json!({})).fails(404, "TemplateNotFound")["source"], source);
    }
    from(&admin, "nonsense", &json!({})).fails(400, "InvalidParameter");
    from(&admin, "/News/City", &json!({})).fails(400, "InvalidType");
    // Someone who may read one folder only is told of a template elsewhere what they are told of none.
    let desk = json!([{ "privilege": "read", "folder": "/News" }, { "privilege": "create", "folder": "/News" }]);
    admin.post("/v3/group/create", &json!({ "groupName": "desk", "members": ["reporter"], "privileges": desk })).ok();
    admin.post("/v3/group/update", &json!({ "groupName": "reporters", "members": [] })).ok();
    let reporter = server.login("reporter");
    let body = json!({ "name": "x", "folderPath": "/News/City" });
    let told = |source: &str| {
        let failure = from(&reporter, source, &body).fails(404, "TemplateNotFound");
        failure["message"].as_str().unwrap().replace(source, "*")
    };
    assert_eq!(told(TEMPLATE), told("/nowhere"));
    let readable = admin.story("/News/City", "own-template.xml");
    from(&reporter, &readable, &body).ok();
}

#[test]
fn what_can_not_be_is_refused_and_nothing_is_made() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
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
        create(&client, &body).fails_on(&extra.to_string(), status, code);
    }
    assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).status, 404, "not even the folder is there");
    Server::shared().login("reader").post(CREATE, &json!({})).fails(403, "PermissionDenied");
}

#[test]
fn a_creation_sent_again_under_its_key_is_made_once() {
    let client = Server::shared().login("editor");
    let folder = own_folder();
    let body = json!({ "name": "x", "folderPath": folder, "createMode": "AUTO_RENAME" }).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", folder.as_str())];
    let first = client.send("POST", CREATE, &headers, body.as_bytes());
    let again = client.send("POST", CREATE, &headers, body.as_bytes());
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    assert_eq!(client.get(&format!("/v3/folder/{}", encoded(&folder))).ok()["total"], 1);
}

#[test]
fn a_liveblog_goes_to_the_recycle_bin_and_comes_back_with_its_posts() {
    let blog = Blog::new();
    let post = blog.post(&json!({ "title": "One" }), "one");
    blog.editor.send("DELETE", &blog.path(""), &[("if-match", "\"1-0\"")], b"").fails(412, "PreconditionFailed");
    assert_eq!(blog.editor.delete(&blog.path("")).ok()["id"], blog.loid);
    blog.editor.get(&blog.path("")).fails(404, "ObjectNotFound");
    blog.editor.get(&blog.post_path(&post, "")).fails(404, "ObjectNotFound");
    blog.editor.delete(&blog.path("")).fails(404, "ObjectNotFound");
    let listed = blog.editor.post("/v3/container/liveblog/posts", &json!([post])).ok();
    assert_eq!((&listed["items"], &listed["errors"][0]["code"]), (&json!([]), &json!("CMS.ObjectNotFound")));
    blog.editor.post(&format!("/v3/object/{}/restore", encoded(&blog.loid)), &json!({})).ok();
    assert_eq!(ids(&blog.read(&blog.editor, "")), [post]);
    let story = blog.editor.story(&blog.folder, "s.xml");
    let other = format!("/v3/container/liveblog/{}", encoded(&story));
    blog.editor.delete(&other).fails(400, "InvalidType");
    blog.editor.get(&other).fails(400, "InvalidType");
}
