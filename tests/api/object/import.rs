//! Importing objects (docs/api/objects.md, "Importing").

use serde_json::{Value, json};

use crate::api::bundle::content;
use crate::harness::*;

/// A uuid that nothing has.
fn fresh() -> String {
    uuid::Uuid::now_v7().to_string()
}

fn import<'c>(client: &'c Client, options: &Value, text: Option<&'static str>) -> Call<'c> {
    let file = text.map(|text| ("content", "a.xml", "text/xml", text.as_bytes()));
    client.call("stet-object-import-post", &[]).form(options, file.as_slice())
}

fn story(folder: &str, name: &str) -> Value {
    json!({ "uuid": fresh(), "name": name, "type": "Story", "folderPath": folder })
}

fn with(mut options: Value, more: Value) -> Value {
    let more = more.as_object().expect("it is an object").clone();
    options.as_object_mut().expect("it is an object").extend(more);
    options
}

fn record(client: &Client, uuid: &Value) -> Value {
    let path = format!("/v3/object/{}?showXml=true&useUnparsedXml=true&showPath=true", uuid.as_str().unwrap());
    client.get(&path).ok()
}

#[test]
fn imported_objects_keep_their_history_and_attributes() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let said = json!({
        "workFolder": "/News/City", "issueDate": "20240229", "suid": "family-1", "status": "Story/Ready",
        "created": 1_000_000_000, "modified": 1_100_000_000, "creator": "ada", "lastModifier": "a user who has left",
        "attributes": "<metadata>\n<a b='1'/></metadata>", "systemAttributes": "<props><x/></props>",
        "usageTickets": "<tl><t page='3'/></tl>", "links": null,
    });
    let options = with(story(&folder, "a.xml"), said.clone());
    let reply = import(&admin, &options, Some("<a/>")).ok();
    assert_eq!(reply["created"], true);
    let kept = record(&admin, &options["uuid"]);
    for field in ["workFolder", "issueDate", "suid", "created", "modified", "creator", "lastModifier"] {
        assert_eq!(kept[field], said[field], "{field}");
    }
    for field in ["attributes", "systemAttributes", "usageTickets"] {
        assert_eq!(kept[format!("{field}Xml")], said[field], "{field}");
    }
    assert_eq!((&kept["statusInfo"]["name"], &kept["version"]), (&json!("Story/Ready"), &json!(1)));
    assert_eq!(kept["path"], format!("{folder}/a.xml"));
    assert_eq!(content(&admin, kept["id"].as_str().expect("it has an id")), "<a/>");

    // Values without an option of their own come from the system attributes.
    let system =
        "<props><workFolder>/News/Sport</workFolder><productInfo><issueDate>261201</issueDate></productInfo></props>";
    let info = import(&admin, &with(story(&folder, "s.xml"), json!({ "systemAttributes": system })), None).ok();
    assert_eq!((&info["info"]["workFolder"], &info["info"]["issueDate"]), (&json!("/News/Sport"), &json!("20261201")));

    // The same again, and others that would be in its place.
    let again = with(options.clone(), json!({ "name": "b.xml", "modified": 5 }));
    let reply = import(&admin, &again, Some("<b/>")).ok();
    assert_eq!((&reply["created"], &reply["info"]["id"]), (&json!(false), &kept["id"]));
    assert_eq!(record(&admin, &options["uuid"]), kept, "it is left as it is");
    import(&admin, &story(&folder, "a.xml"), None).fails(409, "DuplicatedName");
    admin.call("object-discard", &[&options["uuid"].as_str().unwrap()]).ok();
    import(&admin, &options, Some("<a/>")).fails(409, "DuplicatedName");
    let times = import(&admin, &story(&folder, "now.xml"), None).ok();
    let info = &times["info"];
    assert!(info["created"].as_u64() > Some(1_700_000_000) && info["created"] == info["modified"], "{info}");
    assert_eq!((&info["creator"], &info["lastModifier"]), (&json!("admin"), &json!("admin")));
}

#[test]
fn imported_types_and_statuses_need_not_be_configured() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    for family in ["document", "bundle", "webcontainer", "folder"] {
        let more = json!({ "type": "Unheard::Of", "family": family, "status": "Some/Status" });
        let options = with(story(&folder, family), more);
        assert_eq!(import(&admin, &options, None).ok()["created"], true);
        let kept =
            admin.call("object-get", &[&options["uuid"].as_str().unwrap()]).query("showAdditionalInfo", true).ok();
        assert_eq!((&kept["type"], &kept["statusInfo"]["name"]), (&json!("Unheard::Of"), &json!("Some/Status")));
        assert_eq!(
            (&kept["additionalInfo"]["family"], &kept["additionalInfo"]["label"]),
            (&json!(family), &Value::Null)
        );
    }
}

#[test]
fn folders_are_made_or_met_and_keep_their_times_while_they_are_filled() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let desk =
        with(story(&folder, "Desk"), json!({ "type": "Folder", "created": 7, "modified": 9, "attributes": "<a/>" }));
    assert_eq!(import(&admin, &desk, None).ok()["created"], true);
    let other = with(desk.clone(), json!({ "uuid": fresh() }));
    let met = import(&admin, &other, None).ok();
    assert_eq!(met["created"], false);
    assert_eq!(met["info"]["pstate"]["uuid"], desk["uuid"]);
    import(&admin, &story(&format!("{folder}/Desk"), "a.xml"), None).ok();
    let kept = record(&admin, &desk["uuid"]);
    assert_eq!((&kept["created"], &kept["modified"], &kept["attributesXml"]), (&json!(7), &json!(9), &json!("<a/>")));
    import(&admin, &with(story(&folder, "Desk"), json!({ "type": "Story" })), None).fails(409, "DuplicatedName");
}

#[test]
fn links_are_made_when_their_second_side_comes_and_stamp_nobody() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let (first, second) = (story(&folder, "1.xml"), story(&folder, "2.xml"));
    let link = |side: &str, name: &str, other_name: &str, other: &Value| json!({ "side": side, "linkName": name, "otherLinkName": other_name, "other": other["uuid"] });
    let stamp = json!({ "created": 7, "modified": 9, "lastModifier": "ada" });
    // Twice the same, and one with an object that never comes.
    let links = json!([
        link("target", "story", "picture", &second),
        link("target", "story", "picture", &second),
        link("source", "x", "y", &second),
        link("source", "x", "y", &story(&folder, "3.xml")),
    ]);
    let first = with(with(first, stamp.clone()), json!({ "links": links }));
    import(&admin, &first, None).ok();
    let links = json!([link("source", "picture", "story", &first), link("target", "y", "x", &first)]);
    let second = with(with(second, stamp), json!({ "links": links }));
    import(&admin, &second, None).ok();
    let seen = |of: &Value| -> Vec<[Value; 4]> {
        let list = admin.call("stet-object-correlates-get", &[&of["uuid"].as_str().unwrap()]).ok();
        let items = list["items"].as_array().expect("it is a list").iter();
        let of = |item: &Value| {
            [&item["linkName"], &item["otherLinkName"], &item["side"], &item["object"]["pstate"]["uuid"]]
                .map(Value::clone)
        };
        items.map(of).collect()
    };
    let [one, two] = [&first["uuid"], &second["uuid"]].map(Value::clone);
    let text = |texts: [&str; 3], other: &Value| [json!(texts[0]), json!(texts[1]), json!(texts[2]), other.clone()];
    assert_eq!(seen(&first), [text(["story", "picture", "target"], &two), text(["x", "y", "source"], &two)]);
    assert_eq!(seen(&second), [text(["picture", "story", "source"], &one), text(["y", "x", "target"], &one)]);
    for object in [&first, &second] {
        let kept = record(&admin, &object["uuid"]);
        assert_eq!((&kept["modified"], &kept["lastModifier"]), (&json!(9), &json!("ada")));
        assert_eq!(kept["usageTicketsXml"], "<tl/>", "nothing is used anew");
    }
    let bad = |links: Value| import(&admin, &with(story(&folder, "4.xml"), json!({ "links": links })), None);
    bad(json!([link("source", "", "y", &first)])).fails(400, "InvalidParameter");
    bad(json!([link("source", "x", "\u{1}", &first)])).fails(400, "InvalidParameter");
    bad(json!([{ "side": "source", "linkName": "x", "otherLinkName": "y", "other": "1$1.0.7" }]))
        .fails(400, "InvalidParameter");
    let many: Vec<Value> = (0..101).map(|n| link("source", &n.to_string(), "y", &first)).collect();
    bad(json!(many)).fails(413, "TooLarge");
    bad(json!(many[..99])).fails(413, "TooLarge");
    assert!(seen(&first).len() == 2, "nothing came of them");
    bad(json!(many[..98])).ok();
}

#[test]
fn a_channel_copy_goes_into_its_bundle_and_follows_what_it_followed() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let bundle = with(story(&folder, "s.xml"), json!({ "type": "EOM::CompoundStory", "suid": "s-1" }));
    let made = import(&admin, &bundle, Some("<s>1</s>")).ok();
    assert_eq!(made["info"]["type"], "CompoundStory", "a known type is shown as the configuration names it");
    let place = format!("{folder}/s.xml");
    let copy = |channel: &str, from: &Value, follows: bool| {
        let copy = json!({ "channel": channel, "inheritFrom": "Neutral", "inheritedFrom": from, "follows": follows });
        with(story(&place, channel), json!({ "channelCopy": copy, "suid": "s-1" }))
    };
    let tabloid = copy("Tabloid", &bundle["uuid"], true);
    import(&admin, &tabloid, Some("<s>1</s>")).ok();
    let web = copy("Web", &tabloid["uuid"], false);
    import(&admin, &web, Some("<s>w</s>")).ok();
    let chain = |of: &Value| record(&admin, &of["uuid"])["channelCopy"].clone();
    let tabloid_id = record(&admin, &tabloid["uuid"])["id"].clone();
    assert_eq!(chain(&tabloid)["inheritedFrom"], made["info"]["id"]);
    assert_eq!((&chain(&web)["inheritedFrom"], &chain(&web)["follows"]), (&tabloid_id, &json!(false)));
    admin.call("stet-object-content-put", &[&made["info"]["id"].as_str().unwrap()]).bytes("text/xml", "<s>2</s>").ok();
    assert_eq!(content(&admin, tabloid_id.as_str().expect("it is a text")), "<s>2</s>");

    let gone = copy("Neutral", &json!(fresh()), true);
    import(&admin, &gone, None).ok();
    let left = chain(&gone);
    assert_eq!((&left["inheritedFrom"], &left["follows"]), (&Value::Null, &json!(false)));
    let elsewhere = with(copy("Web", &bundle["uuid"], true), json!({ "folderPath": folder }));
    import(&admin, &elsewhere, None).fails(409, "InvalidForContainer");
    let kind = with(copy("Web", &bundle["uuid"], true), json!({ "type": "EOM::CompoundStory" }));
    import(&admin, &kind, None).fails(409, "InvalidForContainer");
    let renamed = with(copy("Web", &bundle["uuid"], true), json!({ "name": "web2" }));
    import(&admin, &renamed, None).fails(409, "InvalidForContainer");
    import(&admin, &story(&place, "plain.xml"), None).fails(409, "InvalidForContainer");
}

#[test]
fn imports_need_the_configure_privilege_and_all_required_fields() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    import(&Server::shared().user("editor"), &story(&folder, "a.xml"), None).fails(403, "PermissionDenied");
    for field in ["uuid", "name", "type", "folderPath"] {
        for value in [json!(""), Value::Null] {
            let options = with(story(&folder, "a.xml"), json!({ field: value }));
            let refusal = import(&admin, &options, None).fails(400, "InvalidParameter");
            assert!(refusal["message"].as_str().is_some_and(|text| text.contains(field)), "{refusal}");
        }
    }
    for (more, status, code) in [
        (json!({ "uuid": "x" }), 400, "InvalidParameter"),
        (json!({ "type": "Nothing" }), 404, "TypeNotFound"),
        (json!({ "type": "Nothing", "family": "drawer" }), 400, "InvalidType"),
        (json!({ "type": "No\nthing", "family": "document" }), 400, "InvalidParameter"),
        (json!({ "type": "Nothing", "family": "document", "status": "x".repeat(256) }), 400, "InvalidParameter"),
        (json!({ "type": "Drawer" }), 400, "InvalidType"),
        (json!({ "status": "x".repeat(256) }), 400, "InvalidParameter"),
        (json!({ "status": "a\nb" }), 400, "InvalidParameter"),
        (json!({ "creator": "a\nb" }), 400, "InvalidParameter"),
        (json!({ "created": 253_402_300_800_u64 }), 400, "InvalidParameter"),
        (json!({ "modified": u64::MAX }), 400, "InvalidParameter"),
        (json!({ "created": -1 }), 400, "InvalidBody"),
        (json!({ "channelCopy": { "channel": "Web", "inheritFrom": "x".repeat(256) } }), 400, "InvalidParameter"),
        (json!({ "creator": "x".repeat(256) }), 400, "InvalidParameter"),
        (json!({ "issueDate": "yesterday" }), 400, "InvalidParameter"),
        (json!({ "attributes": "<a>" }), 400, "InvalidAttributes"),
        (json!({ "usageTickets": "<a/>" }), 400, "InvalidAttributes"),
        (json!({ "name": "a/b" }), 400, "InvalidName"),
    ] {
        import(&admin, &with(story(&folder, "a.xml"), more), None).fails(status, code);
    }
}

/// Regression test: such an object was refused, so a newsroom with other workflows could not be
/// migrated.
#[test]
fn a_status_that_the_configuration_does_not_know_is_kept() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    for (name, status) in [("a.xml", "Story/Nothing"), ("b.xml", "Image/Release")] {
        let options = with(story(&folder, name), json!({ "status": status }));
        assert_eq!(import(&admin, &options, Some("<a/>")).ok()["created"], true, "{status}");
        assert_eq!(record(&admin, &options["uuid"])["statusInfo"]["name"], status);
    }
    let without = story(&folder, "c.xml");
    import(&admin, &without, None).ok();
    let first = record(&admin, &without["uuid"])["statusInfo"]["name"].clone();
    assert!(first.as_str().is_some_and(|first| first.starts_with("Story/")), "the workflow's first: {first}");
    let folder = with(story(&folder, "folder"), json!({ "type": "Folder", "status": "Folder/Old" }));
    import(&admin, &folder, None).ok();
    assert_eq!(record(&admin, &folder["uuid"])["statusInfo"]["name"], "Folder/Old");
}

#[test]
fn one_of_many_imports_of_the_same_uuid_creates_the_object() {
    let (folder, uuid) = (own_folder(), fresh());
    let made: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|n| {
                let options =
                    json!({ "uuid": uuid, "name": "a.xml", "type": "Story", "folderPath": format!("{folder}/{n}") });
                scope.spawn(move || import(&Server::shared().user("admin"), &options, Some("<a/>")).ok())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(made.iter().filter(|reply| reply["created"] == true).count(), 1);
    assert!(made.iter().all(|reply| reply["info"]["id"] == made[0]["info"]["id"]));
}

#[test]
fn an_import_is_held_to_the_tags_of_the_object_that_it_meets() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let options = story(&folder, "a.xml");
    let held =
        |options: &Value, header: &str, value: &str| import(&admin, options, Some("<a/>")).header(header, value).send();
    let exists = |options: &Value| {
        admin.get(&format!("/v3/object/{}", options["uuid"].as_str().expect("it has a uuid"))).status == 200
    };
    // Nothing is there yet.
    for value in ["*", "\"1-1$1.0.5-0\""] {
        held(&options, "if-match", value).fails(412, "PreconditionFailed");
        assert!(!exists(&options));
    }
    assert_eq!(held(&options, "if-none-match", "*").ok()["created"], true);
    // Now it is.
    let refused = held(&options, "if-none-match", "*").fails(412, "PreconditionFailed");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("If-None-Match")), "{refused}");
    let uuid = options["uuid"].as_str().expect("it has a uuid");
    let tag = admin.get(&format!("/v3/object/{uuid}")).header("etag").expect("it has a tag").to_owned();
    assert_eq!(held(&options, "if-match", &tag).ok()["created"], false);
    held(&options, "if-match", "\"999-1$1.0.5-0\"").fails(412, "PreconditionFailed");
    // Other conditions have no meaning.
    let other = story(&folder, "b.xml");
    held(&other, "if-none-match", &tag).fails(400, "InvalidParameter");
    let both = import(&admin, &other, None).header("if-none-match", "*").header("if-match", &tag).send();
    both.fails(400, "InvalidParameter");
    assert!(!exists(&other));
}
