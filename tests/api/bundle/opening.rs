//! Opening containers.

use super::*;

fn open<'c>(client: &'c Client, source: &str, body: &Value) -> Call<'c> {
    client.call("opendocument-source-post", &[&source]).json(body)
}

#[test]
fn a_container_is_opened_with_its_members_content_and_lock() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let web = id(&copy(&desk, &bundle, "Web", None).ok());
    let opened = open(&desk, &bundle, &json!({ "readOnly": true })).ok();
    assert_eq!(
        (&opened["info"]["id"], &opened["checkedOut"], &opened["info"]["locked"]),
        (&json!(bundle), &json!(false), &Value::Null)
    );
    let content = json!({ "contentType": "text/xml", "size": 16, "version": 1, "text": "<story>1</story>" });
    assert_eq!(opened["content"], content);
    assert_eq!((&opened["members"][0]["id"], opened["members"].as_array().map(Vec::len)), (&json!(web), Some(1)));

    let opened =
        open(&desk, &bundle, &json!({ "checkOut": true, "options": { "showPath": true, "showAttributes": false } }))
            .ok();
    assert_eq!((&opened["checkedOut"], &opened["info"]["locker"]["id"]), (&json!(true), &json!("editor")));
    assert_eq!(opened["info"]["path"], format!("{}/story.xml", desk.folder));
    assert!(opened["info"].get("attributes").is_none() && opened["members"][0]["path"].is_string(), "{opened}");
    // Others read it, and can't have it.
    let reporter = Server::shared().user("reporter");
    assert_eq!(open(&reporter, &bundle, &json!({})).ok()["checkedOut"], false);
    open(&reporter, &bundle, &json!({ "checkOut": true })).fails(403, "ObjectLocked");
    open(&Server::shared().user("reader"), &bundle, &json!({ "checkOut": true })).fails(403, "PermissionDenied");
    open(&desk, &bundle, &json!({ "checkOut": true, "readOnly": true })).fails(400, "InvalidParameter");
    open(&desk, &web, &json!({})).fails(400, "InvalidType");
    open(&desk, "/nowhere", &json!({})).fails(404, "ObjectNotFound");
    let named =
        desk.call("opendocument-post", &[]).json(&json!({ "source": format!("{}/story.xml", desk.folder) })).ok();
    assert_eq!(named["info"]["id"], bundle);
    let nothing = desk.call("opendocument-post", &[]).json(&json!({})).fails(400, "InvalidBody");
    assert_eq!(nothing["details"]["path"], "$.source");
}

/// Checks that an opening with check-out counts as a change. It takes `If-Match` and an idempotency
/// key, although callers who may only read can open objects.
#[test]
fn a_container_that_is_checked_out_as_it_is_opened_is_changed() {
    let desk = Desk::of("editor");
    let bundle = desk.bundle("story.xml");
    let check_out = json!({ "checkOut": true });
    let tag = open(&desk, &bundle, &json!({})).send().header("etag").expect("it has one").to_owned();
    let stale = format!("\"0{}", &tag[tag.find('-').expect("a revision comes first")..]);
    open(&desk, &bundle, &check_out).header("if-match", &stale).fails(412, "PreconditionFailed");
    let several = desk.call("opendocuments-post", &[]).json(&json!({ "sources": [bundle], "checkOut": true }));
    let reply = several.header("if-match", &stale).ok();
    includes(&reply["errors"][0], &json!({ "source": bundle, "code": "CMS.PreconditionFailed" }));
    assert_eq!(open(&desk, &bundle, &json!({})).ok()["checkedOut"], false);

    let key = format!("open-{bundle}");
    let opened = open(&desk, &bundle, &check_out).header("idempotency-key", &key).ok();
    assert_eq!(opened["checkedOut"], true);
    desk.call("stet-object-unlock-post", &[&bundle]).ok();
    let again = open(&desk, &bundle, &check_out).header("idempotency-key", &key).ok();
    assert_eq!(again, opened, "sent again, it is answered as it was, and done once");
    open(&desk, &bundle, &json!({})).header("idempotency-key", &key).fails(422, "IdempotencyMismatch");
    assert_eq!(open(&desk, &bundle, &json!({})).ok()["checkedOut"], false);
}

#[test]
fn every_kind_of_container_can_be_opened_and_names_its_members() {
    let desk = Desk::of("editor");
    let story = desk.client.story(&desk.folder, "plain.xml");
    for kind in ["DWP", "DWC", "PGL", "PRP", "PRX", "EOM::CompoundStory"] {
        let container = desk.make(kind, &format!("{}.xml", kind.replace(':', "-")), format!("<p href='{story}'/>"));
        let opened = open(&desk, &container, &json!({})).ok();
        let members: Vec<&Value> = opened["members"].as_array().unwrap().iter().map(|member| &member["id"]).collect();
        let wanted = if kind == "EOM::CompoundStory" {
            vec![]
        } else {
            vec![&json!(story)].into_iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(members, wanted.iter().collect::<Vec<_>>(), "{kind}");
    }
    // A content that is no text is read as any other.
    let options = json!({ "name": "bytes", "type": "DWP", "folderPath": desk.folder });
    let file = ("content", "bytes", "application/octet-stream", &b"\xff\xfe"[..]);
    let bytes = id(&desk.call("stet-object-create-post", &[]).form(&options, &[file]).ok());
    let opened = open(&desk, &bytes, &json!({})).ok();
    assert_eq!((&opened["content"]["text"], &opened["content"]["size"]), (&Value::Null, &json!(2)));
    let options = json!({ "name": "empty", "type": "DWP", "folderPath": desk.folder });
    let empty = id(&desk.call("stet-object-create-post", &[]).form(&options, &[]).ok());
    assert_eq!(open(&desk, &empty, &json!({})).ok()["content"], Value::Null);
}

#[test]
fn documents_that_cannot_be_opened_are_reported_by_source() {
    let desk = Desk::of("editor");
    let (first, second, held) = (desk.bundle("1.xml"), desk.bundle("2.xml"), desk.bundle("3.xml"));
    for channel in ["Web", "Tabloid"] {
        copy(&desk, &second, channel, None).ok();
    }
    let reporter = Server::shared().user("reporter");
    reporter.call("stet-object-lock-post", &[&held]).ok();
    let story = desk.client.story(&desk.folder, "plain.xml");
    let body = json!({ "sources": [first, "/nowhere", held, story, second], "checkOut": true });
    let reply = desk.call("opendocuments-post", &[]).json(&body).ok();
    let opened: Vec<(&Value, Vec<&str>)> = reply["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            assert_eq!(item["checkedOut"], true);
            let members = item["members"].as_array().unwrap().iter();
            (&item["info"]["id"], members.map(|member| member["name"].as_str().unwrap()).collect())
        })
        .collect();
    assert_eq!(opened, [(&json!(first), vec![]), (&json!(second), vec!["Tabloid", "Web"])]);
    let errors: Vec<(&Value, &Value)> =
        reply["errors"].as_array().unwrap().iter().map(|error| (&error["source"], &error["code"])).collect();
    let wanted = [("/nowhere", "ObjectNotFound"), (&*held, "ObjectLocked"), (&*story, "InvalidType")]
        .map(|(source, code)| (json!(source), json!(format!("CMS.{code}"))));
    assert_eq!(errors, wanted.iter().map(|(source, code)| (source, code)).collect::<Vec<_>>());
}

/// Covers large replies, which are built while they are sent.
#[test]
fn many_large_documents_are_all_there() {
    let desk = Desk::of("editor");
    let text = format!("<story>{}</story>", "x".repeat(200_000));
    let bundles: Vec<String> =
        (0..12).map(|number| desk.make("CompoundStory", &format!("{number:02}.xml"), &text)).collect();
    copy(&desk, &bundles[11], "Web", None).ok();
    let reply = desk.call("opendocuments-post", &[]).json(&json!({ "sources": bundles })).ok();
    let items = reply["items"].as_array().unwrap();
    assert_eq!(items.iter().map(|item| id(&item["info"])).collect::<Vec<_>>(), bundles);
    assert!(items.iter().all(|item| item["content"]["text"] == text));
    assert_eq!(items[11]["members"].as_array().map(Vec::len), Some(1));
}
