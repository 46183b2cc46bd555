//! Copies of the stories that a web container names.

use super::*;

fn copies<'c>(client: &'c Client, container: &str, body: &Value) -> Call<'c> {
    client.call("web-channelcopy-post", &[&container]).json(body)
}

#[test]
fn each_story_that_is_linked_or_named_gets_one_copy() {
    let desk = Desk::of("editor");
    let [a, b, c, d] = ["a.xml", "b.xml", "c.xml", "d.xml"].map(|name| desk.bundle(name));
    let web = id(&copy(&desk, &c, "Web", None).ok());
    let uuid = record(&desk, &b)["pstate"]["uuid"].as_str().expect("it has one").to_owned();
    let story = desk.client.story(&desk.folder, "plain.xml");
    let page = format!(
        "<!DOCTYPE p SYSTEM 'p.dtd'><p><link href='{}/a.xml'/><link href='{}/a.xml'/><x uuid='{uuid}'>&e;</x><link fileref='{web}'/>\
         <link href='{story}'/><link href='/nowhere'/><link href='http://example.com/'/><!-- <link href='{d}'/> --></p>",
        desk.folder, desk.folder
    );
    let container = desk.make("WebContainer", "page.xml", &page);
    let e = desk.bundle("e.xml");
    let link = json!({ "sourceLinkName": "story", "targetLinkName": "page", "targetSource": e });
    desk.call("stet-object-correlate-post", &[&container]).json(&link).ok();

    let body = json!({ "channel": "Tabloid", "inheritFrom": "Neutral", "source": container });
    let reply = copies(&desk, &container, &body).ok();
    assert_eq!(reply["errors"], json!([]));
    let mut sources: Vec<&str> =
        reply["items"].as_array().unwrap().iter().map(|item| item["source"].as_str().unwrap()).collect();
    sources.sort_unstable();
    let mut wanted = [&*a, &*b, &*c, &*e];
    wanted.sort_unstable();
    assert_eq!(sources, wanted);
    for item in reply["items"].as_array().unwrap() {
        let copy = record(&desk, &id(item));
        assert_eq!(
            (&copy["channelCopy"]["channel"], &copy["channelCopy"]["inheritedFrom"]),
            (&json!("Tabloid"), &item["source"])
        );
    }
    assert_eq!(names(&desk.call("bundle-items-get", &[&d]).ok()), Vec::<&str>::new());
    let reply = copies(&desk, &container, &json!({ "channel": "Web", "inheritFrom": "none" })).ok();
    // One of the stories has a copy for the channel already.
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(3), "{reply}");
    for item in reply["items"].as_array().unwrap() {
        assert_eq!(record(&desk, &id(item))["channelCopy"]["inheritFrom"], Value::Null);
    }

    // The second call reports each copy, and creates none.
    let again = copies(&desk, &container, &body).ok();
    assert_eq!((again["items"].as_array().map(Vec::len), again["errors"].as_array().map(Vec::len)), (Some(0), Some(4)));
    assert!(again["errors"].as_array().unwrap().iter().all(|error| error["code"] == "CMS.DuplicatedName"), "{again}");
    copies(&desk, &a, &body).fails(400, "InvalidType");
    copies(&desk, &container, &json!({ "channel": "Radio" })).fails(400, "InvalidParameter");
    copies(&desk, &container, &json!({ "channel": "Web", "source": a })).fails(400, "InvalidParameter");
}

#[test]
fn bundles_that_the_caller_may_not_read_are_not_copied() {
    let admin = Desk::of("admin");
    let hidden = admin.bundle("hidden.xml");
    let desk = Desk::of("editor");
    let container = desk.make("WebContainer", "page.xml", format!("<p><link href='{hidden}'/></p>"));
    // In the sample every user can read everything, so a key with few grants is used.
    let body = json!({ "name": own_folder().replace('/', "-"), "user": "editor", "privileges": [
        { "privilege": "read", "folder": desk.folder }, { "privilege": "create", "folder": desk.folder },
    ] });
    let key = Server::shared().user("admin").call("stet-key-create-post", &[]).json(&body).ok();
    let client = Server::shared().client_with(&key["token"]);
    let reply = copies(&client, &container, &json!({ "channel": "Web" })).ok();
    assert_eq!((&reply["items"], &reply["errors"]), (&json!([]), &json!([])));
    assert_eq!(names(&admin.call("bundle-items-get", &[&hidden]).ok()), Vec::<&str>::new());
}

/// Regression test: the copies were reported for bundles in the present order, one after the other,
/// not for the bundles that they belong to.
#[test]
fn copies_that_a_call_sent_again_tells_of_are_those_of_their_bundles() {
    let (server, admin) = (Server::shared(), Desk::of("admin"));
    let (first, second) = (admin.bundle("1.xml"), admin.bundle("2.xml"));
    let page = |bundles: &[&String]| {
        let links: String = bundles.iter().map(|bundle| format!("<link href='{bundle}'/>")).collect();
        format!("<p>{links}</p>")
    };
    let container = admin.make("WebContainer", "page.xml", page(&[&first, &second]));
    let name = own_folder().trim_start_matches('/').replace('/', "-");
    let group = |id: &str, privileges: &[&str]| {
        let grants: Vec<_> = privileges.iter().map(|it| json!({ "privilege": it, "folder": admin.folder })).collect();
        admin.call(id, &[]).json(&json!({ "groupName": name, "privileges": grants })).ok();
    };
    group("group-create-post", &["read", "create"]);
    let user = json!({ "name": name, "password": "correct horse", "groups": [name] });
    admin.call("stet-user-create-post", &[]).json(&user).ok();
    let client = server.client_with(&server.log_in(&name, "correct horse").ok()["token"]["value"]);
    let call = copies(&client, &container, &json!({ "channel": "Web" })).header("idempotency-key", &name);
    let made = call.ok();
    assert_eq!(made["items"].as_array().map(Vec::len), Some(2), "{made}");
    // The page now names one of them, and with other rights the reply is built anew.
    admin.call("stet-object-content-put", &[&container]).bytes("text/xml", page(&[&second])).ok();
    group("group-update-post", &["read", "create", "delete"]);
    let told = call.ok();
    let of_second = made["items"].as_array().unwrap().iter().find(|item| item["source"] == second.as_str());
    assert_eq!(told["items"], json!([of_second]));
}

#[test]
fn the_sample_has_a_page_that_names_stories() {
    let server = Server::start();
    let reply = copies(&server.user("editor"), "/Web/Pages/front-page.xml", &json!({ "channel": "Web" })).ok();
    // One of the two has a copy for this channel already.
    assert_eq!((reply["items"].as_array().map(Vec::len), reply["errors"].as_array().map(Vec::len)), (Some(1), Some(1)));
}
