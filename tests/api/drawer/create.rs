//! Making drawers.

use super::*;

const DRAWER: &str = "/v3/container/drawer";

#[test]
fn a_drawer_is_made_with_all_that_is_named() {
    let client = editor();
    let folder = own_folder();
    let stories = [client.story(&folder, "a.xml"), client.story(&folder, "b.xml")];
    let body = json!({
        "name": "front page",
        "folderPath": folder,
        "capacity": 7,
        "title": "Front “page”",
        "description": "What goes\nup front",
        "attributes": { "desk": { "section": "City", "@id": "7" } },
        "sources": [stories[1], stories[0], stories[1]],
    });
    let answer = client.post(DRAWER, &body);
    assert!(answer.header("etag").is_some());
    let reply = answer.ok();
    let info = &reply["info"];
    for (field, value) in [
        ("name", json!("front page")),
        ("type", json!("Drawer")),
        ("capacity", json!(7)),
        ("count", json!(2)),
        ("hidden", json!(0)),
        ("automatic", json!(false)),
        ("title", json!("Front “page”")),
        ("description", json!("What goes\nup front")),
        ("creator", json!("editor")),
        ("attributes", json!({ "desk": { "section": "City", "@id": "7" } })),
    ] {
        assert_eq!(info[field], value, "{field}");
    }
    let sources: Vec<_> = placed(&reply).into_iter().map(|(source, _)| source).collect();
    assert_eq!(sources, [stories[1].clone(), stories[0].clone()]);
    let read = client.get(&below(info["id"].as_str().unwrap(), "?showItems=true&showPath=true")).ok();
    assert_eq!(read["info"]["path"], format!("{folder}/front page"));
    assert_eq!(read["info"]["capacity"], 7);
    assert_eq!(read["info"]["title"], info["title"]);
    assert_eq!(placed(&read), placed(&reply));
}

#[test]
fn everything_is_optional_and_the_home_is_where_it_goes() {
    let client = editor();
    let mut seen = Vec::new();
    for body in [&b""[..], b"{}", b" "] {
        let info = client.send("POST", DRAWER, &[], body).ok()["info"].take();
        assert_eq!((&info["capacity"], &info["count"]), (&json!(100), &json!(0)));
        assert_eq!((&info["title"], &info["automatic"]), (&json!(""), &json!(false)));
        let id = info["id"].as_str().unwrap().to_owned();
        let read = client.get(&below(&id, "?showPath=true")).ok();
        let (name, path) = (info["name"].as_str().unwrap(), read["info"]["path"].as_str().unwrap());
        assert!(!name.is_empty());
        assert_eq!(path, format!("/Users/editor/{name}"));
        seen.push((id, name.to_owned()));
    }
    assert!(seen[0].0 != seen[1].0 && seen[0].1 != seen[1].1 && seen[1].1 != seen[2].1, "{seen:?}");
}

#[test]
fn names_are_generated_for_many_at_once() {
    let client = editor();
    let body = json!({ "folderPath": own_folder() });
    let made: Vec<String> = std::thread::scope(|scope| {
        let make = || client.post(DRAWER, &body).ok()["info"]["name"].as_str().unwrap().to_owned();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut names = made.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8, "{made:?}");
}

#[test]
fn the_folder_is_made_with_its_parents() {
    let client = editor();
    let folder = format!("{}/deep/er/still", own_folder());
    for (field, name) in [("folderPath", "a"), ("folder", "b")] {
        let made = client.post(DRAWER, &json!({ "name": name, field: folder })).ok();
        let read = client.get(&below(made["info"]["id"].as_str().unwrap(), "?showPath=1")).ok();
        assert_eq!(read["info"]["path"], format!("{folder}/{name}"));
    }
    let record = client.get(&format!("/v3/object/{}", encoded(&folder))).ok();
    for (name, source) in [("c", &record["id"]), ("d", &record["pstate"]["uuid"])] {
        client.post(DRAWER, &json!({ "name": name, "folder": source })).ok();
        client.get(&below(&format!("{folder}/{name}"), "")).ok();
    }
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let client = editor();
    let folder = own_folder();
    let story = client.story(&folder, "a.xml");
    client.post(DRAWER, &json!({ "folder": story })).fails(400, "InvalidType");
    client.post(DRAWER, &json!({ "folderPath": format!("{folder}/a.xml/below") })).fails(400, "InvalidType");
    client.post(DRAWER, &json!({ "folder": NOWHERE })).fails(404, "ObjectNotFound");
    client.post(DRAWER, &json!({ "folder": "nonsense" })).fails(400, "InvalidPath");
}

#[test]
fn a_capacity_is_between_1_and_10000() {
    let client = editor();
    let folder = own_folder();
    let make = |name: &str, capacity: i64| {
        client.post(DRAWER, &json!({ "name": name, "folderPath": folder, "capacity": capacity }))
    };
    for capacity in [0, -1, 10_001, i64::MAX, i64::MIN, 1 << 32, (1 << 32) + 5] {
        let error = make("never", capacity).fails(400, "InvalidParameter");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("capacity") && message.contains(&capacity.to_string()), "{message}");
    }
    assert_eq!(make("smallest", 1).ok()["info"]["capacity"], 1);
    assert_eq!(make("largest", 10_000).ok()["info"]["capacity"], 10_000);
    client.get(&below(&format!("{folder}/never"), "")).fails(404, "ObjectNotFound");
}

#[test]
fn names_are_like_those_of_files() {
    let client = editor();
    let folder = own_folder();
    let make = |name: &str| client.post(DRAWER, &json!({ "name": name, "folderPath": folder }));
    assert_eq!(make("a:b\"c|d").ok()["info"]["name"], "a_b_c_d");
    assert_eq!(make("Überblick – 日本").ok()["info"]["name"], "Überblick – 日本");
    for name in ["", "a/b", "tab\there", &"x".repeat(256)] {
        make(name).fails(400, "InvalidName");
    }
    make(&"x".repeat(255)).ok();
    // The same name in another normal form is the same name.
    make("Cafe\u{301}").ok();
    make("Caf\u{e9}").fails(409, "DuplicatedName");
}

#[test]
fn a_creation_that_is_refused_leaves_no_drawer_and_no_folder() {
    let client = editor();
    let folder = own_folder();
    let stories = [client.story(&folder, "a.xml"), client.story(&folder, "b.xml")];
    let new = format!("{folder}/new");
    let make = |more: Value| {
        let mut body = json!({ "name": "never", "folderPath": new, "capacity": 1 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post(DRAWER, &body)
    };
    let error = make(json!({ "sources": stories })).fails(409, "DrawerFull");
    assert_eq!(error["details"]["capacity"], 1);
    let error = make(json!({ "sources": [NOWHERE] })).fails(404, "ObjectNotFound");
    assert_eq!(error["source"], NOWHERE);
    make(json!({ "sources": ["nonsense"] })).fails(400, "InvalidParameter");
    make(json!({ "attributes": "<open>" })).fails(400, "InvalidAttributes");
    make(json!({ "attributes": { "two": "", "roots": "" } })).fails(400, "InvalidAttributes");
    make(json!({ "capacity": 0 })).fails(400, "InvalidParameter");
    make(json!({ "options": { "showPath": "maybe" } })).fails(400, "InvalidParameter");
    discard(&client, &stories[0]);
    make(json!({ "sources": [stories[0]] })).fails(404, "ObjectNotFound");
    client.get(&format!("/v3/object/{}", encoded(&new))).fails(404, "ObjectNotFound");
}

#[test]
fn attributes_come_out_equal_as_xml_and_as_json() {
    let client = editor();
    let folder = own_folder();
    let xml = "<desk id=\"7\"><section>City</section><section>Sport</section><empty/></desk>";
    let equal = json!({ "desk": { "@id": "7", "section": ["City", "Sport"], "empty": "" } });
    for (name, attributes) in [("xml", json!(xml)), ("json", equal.clone())] {
        let body = json!({ "name": name, "folderPath": folder, "attributes": attributes });
        let made = client.post(DRAWER, &body).ok();
        assert_eq!(made["info"]["attributes"], equal, "{name}");
        let id = made["info"]["id"].as_str().unwrap();
        let read = client.get(&below(id, "?showXml=true&useUnparsedXml=true")).ok();
        if name == "xml" {
            assert_eq!(read["info"]["attributesXml"], xml, "byte for byte");
        }
        assert_eq!(read["info"]["attributes"], equal);
    }
}

#[test]
fn a_taken_name_is_refused_unless_the_mode_says_otherwise() {
    let client = editor();
    let folder = own_folder();
    let stories = [client.story(&folder, "a.xml"), client.story(&folder, "b.xml")];
    let first = client.drawer(&folder, "x", 5);
    client.post(&below(&first, "/item"), &json!([stories[0]])).ok();
    let make = |name: &str, more: Value| {
        let mut body = json!({ "name": name, "folderPath": folder, "sources": [stories[1]], "capacity": 5 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post(DRAWER, &body)
    };
    let tag_of_first = tag(&client.get(&below(&first, "")));
    for more in [json!({}), json!({ "createMode": "EXCEPTION" }), json!({ "options": { "createMode": "EXCEPTION" } })] {
        make("x", more).fails(409, "DuplicatedName");
    }
    assert_eq!(tag(&client.get(&below(&first, ""))), tag_of_first);
    for more in [json!({ "createMode": "AUTO_RENAME" }), json!({ "options": { "createMode": "AUTO_RENAME" } })] {
        let renamed = make("x", more).ok();
        assert!(renamed["info"]["id"] != first && renamed["info"]["name"] != "x", "{renamed}");
        assert_eq!(placed(&renamed), [(stories[1].clone(), 0)]);
    }
    assert_eq!(client.items(&first), [stories[0].clone()]);
    let extended = make("x", json!({ "createMode": "NEW_VERSION" })).ok();
    assert_eq!(extended["info"]["id"], first);
    assert_eq!(client.items(&first), stories);
    let replaced = make("x", json!({ "createMode": "REPLACE", "title": "anew" })).ok();
    assert_eq!((&replaced["info"]["id"], &replaced["info"]["title"]), (&json!(first), &json!("anew")));
    assert_eq!(client.items(&first), [stories[1].clone()]);
    let error = make("x", json!({ "createMode": "PERHAPS" })).fails(400, "InvalidBody");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("$.createMode")), "{error}");
    // What stands there is no drawer: nothing can be replaced.
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
        make("a.xml", json!({ "createMode": mode })).fails(409, "DuplicatedName");
    }
}

#[test]
fn what_a_new_version_of_a_drawer_does_not_name_stays() {
    let client = editor();
    let folder = own_folder();
    let body =
        json!({ "name": "x", "folderPath": folder, "capacity": 3, "title": "Front", "description": "As it was" });
    client.post(DRAWER, &body).ok();
    let body = json!({ "name": "x", "folderPath": folder, "createMode": "NEW_VERSION", "description": "As it is" });
    let info = client.post(DRAWER, &body).ok()["info"].take();
    assert_eq!(
        (&info["capacity"], &info["title"], &info["description"]),
        (&json!(3), &json!("Front"), &json!("As it is"))
    );
}

#[test]
fn replacing_a_drawer_needs_room_for_what_comes() {
    let client = editor();
    let folder = own_folder();
    let stories = [client.story(&folder, "a.xml"), client.story(&folder, "b.xml")];
    let first = client.drawer(&folder, "x", 5);
    client.post(&below(&first, "/item"), &json!([stories[0]])).ok();
    let before = client.get(&below(&first, "?showItems=1")).ok();
    for mode in ["REPLACE", "NEW_VERSION"] {
        let body = json!({
            "name": "x", "folderPath": folder, "capacity": 1, "sources": [stories[1], stories[0]], "createMode": mode,
            "title": "never",
        });
        client.post(DRAWER, &body).fails(409, "DrawerFull");
        assert_eq!(client.get(&below(&first, "?showItems=1")).ok(), before, "{mode}");
    }
}
