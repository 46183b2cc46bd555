//! `/v3/recyclebin`, and story families

use super::*;

fn bin(client: &Client) -> Call<'_> {
    client.call("stet-recyclebin-get", &[])
}

/// The names of the entries, as they come.
fn entries(reply: &Value) -> Vec<&str> {
    let items = reply["items"].as_array().expect("a reply has items").iter();
    items.map(|item| item["name"].as_str().expect("an entry has a name")).collect()
}

#[test]
fn the_recycle_bin_lists_what_was_discarded_with_where_it_was() {
    let server = Server::start();
    let client = server.user("editor");
    for name in ["a.xml", "b.xml", "c.xml"] {
        let story = client.story("/Bin/deep", name);
        discard(&client, &story).ok();
    }
    client.story("/Bin/deep", "inner.xml");
    discard(&client, "/Bin/deep").ok();
    let reply = bin(&client).ok();
    assert_eq!((reply["total"].clone(), reply["items"].as_array().map(Vec::len)), (json!(4), Some(4)));
    let mut names = entries(&reply);
    names.sort_unstable();
    assert_eq!(names, ["a.xml", "b.xml", "c.xml", "deep"], "what went along is no entry");
    let first = reply["items"].as_array().unwrap().iter().find(|item| item["name"] == "a.xml").unwrap();
    assert_eq!((&first["formerPath"], &first["discardedBy"]), (&json!("/Bin/deep/a.xml"), &json!("editor")));
    assert!(first["discarded"].as_u64().is_some_and(|at| at >= first["created"].as_u64().unwrap()));

    // Pages and orders.
    let sorted =
        |query: &str| entries(&with(bin(&client), query).ok()).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(sorted("sortBy=name"), ["a.xml", "b.xml", "c.xml", "deep"]);
    assert_eq!(sorted("sortBy=-name&limit=2&offset=1"), ["c.xml", "b.xml"]);
    let all = sorted("");
    assert_eq!(sorted("limit=2"), all[..2]);
    assert_eq!(sorted("offset=3"), all[3..]);
    assert_eq!(bin(&client).query("limit", 1).ok()["total"], 4);
    bin(&client).query("sortBy", "nothing").fails(400, "InvalidParameter");
    bin(&client).query("databaseId", "nowhere").fails(404, "DatabaseNotFound");

    // Restored and destroyed objects are not in the bin any more. The others survive a restart.
    let named = |name: &str| id(reply["items"].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap());
    restore(&client, &named("deep"), json!({})).ok();
    destroy(&client, &named("a.xml")).ok();
    let server = server.restart();
    assert_eq!(entries(&bin(&server.user("editor")).query("sortBy", "name").ok()), ["b.xml", "c.xml"]);
}

#[test]
fn restored_objects_keep_their_modifier_and_time_of_change() {
    let server = Server::with(&[("RUNTIME__OBJECTS_PER_STEP", "4")]);
    let admin = server.user("admin");
    let folder = "/Bin/kept";
    let import = |number: u64| {
        let options = json!({ "uuid": uuid::Uuid::now_v7(), "name": format!("{number:02}.xml"), "type": "Story",
            "folderPath": folder, "modified": 1_000_000_000 + (number * 7) % 30, "lastModifier": "ada" });
        let file = ("content", "a.xml", "text/xml", &b"<a/>"[..]);
        id(&admin.call("stet-object-import-post", &[]).form(&options, &[file]).ok()["info"])
    };
    let objects: Vec<String> = (0..30).map(import).collect();
    let order = || {
        let listing = admin.call("folder-get", &[&folder]).query("sortBy", "-modified").query("limit", 100).ok();
        entries(&listing).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let records = || objects.iter().map(|object| read(&admin, object)).collect::<Vec<_>>();
    let (before, order_before) = (records(), order());
    assert_eq!(order_before.len(), 30);
    let same = |what: &str| {
        for (before, after) in before.iter().zip(records()) {
            for field in ["modified", "lastModifier", "created", "creator", "version"] {
                assert_eq!(before[field], after[field], "{field} after {what}");
            }
            assert!(after["revision"].as_u64() > before["revision"].as_u64(), "{after}");
        }
        assert_eq!(order(), order_before, "{what}");
    };
    let folder_before = read(&admin, folder);
    discard(&admin, folder).ok();
    restore(&admin, &id(&folder_before), json!({})).ok();
    same("the folder's restore");
    let folder_after = read(&admin, folder);
    for field in ["modified", "lastModifier"] {
        assert_eq!(folder_before[field], folder_after[field]);
    }
    for object in &objects {
        discard(&admin, object).ok();
    }
    let discarded = bin(&admin).query("limit", 1).ok()["items"][0].clone();
    shows(&discarded, json!({ "lastModifier": "ada", "discardedBy": "admin" }));
    for object in &objects {
        restore(&admin, object, json!({})).ok();
    }
    same("their own restore");
    for action in ["object.discard", "object.restore"] {
        let trail = admin.call("stet-audit-get", &[]).query("object", &objects[3]).ok();
        let by_admin = |entry: &Value| entry["action"] == action && entry["user"] == "admin";
        assert!(trail["items"].as_array().is_some_and(|entries| entries.iter().any(by_admin)), "{action}: {trail}");
    }
}

#[test]
fn the_bin_hides_objects_that_the_caller_may_not_read() {
    let server = Server::start();
    let admin = server.user("admin");
    for folder in ["/Open", "/Closed"] {
        let story = admin.story(folder, "a.xml");
        discard(&admin, &story).ok();
    }
    let key = json!({ "name": "k", "user": "admin", "privileges": [{ "privilege": "read", "folder": "/Open" }] });
    let key = admin.call("stet-key-create-post", &[]).json(&key).ok();
    let client = server.client_with(&key["token"]);
    let reply = bin(&client).ok();
    assert_eq!((&reply["total"], &reply["items"][0]["formerPath"]), (&json!(1), &json!("/Open/a.xml")));
    assert_eq!(bin(&admin).ok()["total"], 2);
}

#[test]
fn the_members_of_a_family_are_those_that_share_a_suid() {
    let desk = Desk::of("editor");
    let make = |name: &str, suid: Option<&str>| id(&desk.create(name, b"<a/>", json!({ "suid": suid })).ok());
    let (suid, other) = (own_folder(), own_folder());
    let [first, second, third] = ["1.xml", "2.xml", "3.xml"].map(|name| make(name, Some(&suid)));
    let (alone, _) = (make("4.xml", None), make("5.xml", Some(&other)));
    let uuid = |object: &str| read(&desk, object)["pstate"]["uuid"].as_str().expect("it has one").to_owned();
    let family = |object: &str| desk.call("object-family-get", &[&uuid(object)]);
    let members = |reply: &Value| reply["items"].as_array().unwrap().iter().map(id).collect::<Vec<_>>();
    let reply = family(&second).ok();
    assert_eq!(
        (members(&reply), &reply["suid"], &reply["total"]),
        (vec![first.clone(), second.clone(), third.clone()], &json!(suid), &json!(3))
    );
    assert!(
        reply["items"][0].get("additionalInfo").is_none() && reply["items"][0]["attributes"].is_object(),
        "{reply}"
    );
    assert_eq!(members(&family(&second).query("limit", 1).query("offset", 1).ok()), std::slice::from_ref(&second));
    assert_eq!(members(&family(&alone).ok()), std::slice::from_ref(&alone));
    assert_eq!(family(&alone).ok()["suid"], Value::Null);
    discard(&desk, &first).ok();
    assert_eq!(members(&family(&second).ok()), [second.clone(), third]);
    assert_eq!(family(&second).query("databaseId", 1).ok()["total"], 2);
    desk.call("object-family-get", &[&"019aa1c7-5d20-7b3e-9c41-000000000000"]).fails(404, "ObjectNotFound");

    // A compound story and its copies are one.
    let bundle = id(&desk.create("b.xml", b"<a/>", json!({ "type": "CompoundStory" })).ok());
    let copy = desk.call("container-bundle-channelcopy-post", &[&bundle]).json(&json!({ "channel": "Web" })).ok();
    assert_eq!(members(&family(&bundle).ok()), [bundle.clone(), id(&copy)]);
}
