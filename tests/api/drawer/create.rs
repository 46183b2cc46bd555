//! Making drawers.

use super::*;

/// A folder of its own, and who makes drawers in it.
struct Place {
    client: Client,
    folder: String,
    /// Two of them, in the folder.
    stories: Vec<String>,
}

impl Place {
    fn new() -> Place {
        let Desk { client, folder, drawer, stories } = Desk::new(1, 2, 0);
        destroy(&client, &drawer);
        Place { client, folder, stories }
    }

    /// Makes a drawer in the folder.
    fn make(&self, name: &str, more: &Value) -> Call<'_> {
        post(&self.client, &merged(json!({ "name": name, "folderPath": self.folder }), more))
    }

    /// Reads one of its drawers.
    fn read(&self, name: &str) -> Answer {
        read(&self.client, &format!("{}/{name}", self.folder))
    }

    fn sources(&self, stories: &[usize]) -> Vec<(String, u64)> {
        stories.iter().zip(0..).map(|(story, at)| (self.stories[*story].clone(), at)).collect()
    }
}

/// A body with more members, or others.
fn merged(mut body: Value, more: &Value) -> Value {
    let more = more.as_object().expect("a body is an object").clone();
    body.as_object_mut().expect("a body is an object").extend(more);
    body
}

fn post<'c>(client: &'c Client, body: &Value) -> Call<'c> {
    client.call("drawer-post", &[]).json(body)
}

/// The path of a drawer in a reply.
fn path_of(client: &Client, reply: &Value) -> Value {
    let id = reply["info"]["id"].as_str().expect("a drawer has an id");
    client.call("drawer-get", &[&id]).query("showPath", true).ok()["info"]["path"].take()
}

#[test]
fn a_drawer_is_made_with_all_that_is_named() {
    let place = Place::new();
    let [first, second] = [&place.stories[0], &place.stories[1]];
    let named = json!({
        "capacity": 7,
        "title": "Front “page”",
        "description": "What goes\nup front",
        "attributes": { "desk": { "section": "City", "@id": "7" } },
    });
    let body = merged(named.clone(), &json!({ "sources": [second, first, second] }));
    let answer = place.make("front page", &body).send();
    assert!(answer.header("etag").is_some());
    let reply = answer.ok();
    let made = json!({
        "name": "front page", "type": "Drawer", "count": 2, "hidden": 0, "automatic": false, "creator": "editor",
    });
    for reply in [&reply, &place.read("front page").ok()] {
        includes(&reply["info"], &made);
        includes(&reply["info"], &named);
        assert_eq!(reply["info"]["attributes"], named["attributes"]);
        assert_eq!(placed(reply), place.sources(&[1, 0]));
    }
    assert_eq!(path_of(&place.client, &reply), format!("{}/front page", place.folder));
}

#[test]
fn everything_is_optional_and_the_home_is_where_it_goes() {
    let client = editor();
    let mut seen = std::collections::BTreeSet::new();
    for body in ["", "{}", " "] {
        let reply = client
            .call("drawer-post", &[])
            .bytes("application/json", body)
            .gives(&json!({ "info": { "capacity": 100, "count": 0, "title": "", "automatic": false } }));
        let name = reply["info"]["name"].as_str().expect("a drawer has a name");
        assert!(!name.is_empty());
        assert_eq!(path_of(&client, &reply), format!("/Users/editor/{name}"));
        seen.extend([name.to_owned(), reply["info"]["id"].to_string()]);
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn names_are_generated_for_many_at_once() {
    let client = editor();
    let body = json!({ "folderPath": own_folder() });
    let make = || post(&client, &body).ok()["info"]["name"].to_string();
    let names: std::collections::BTreeSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect()
    });
    assert_eq!(names.len(), 8, "{names:?}");
}

#[test]
fn the_folder_is_made_with_its_parents_and_named_by_any_form_of_source() {
    let client = editor();
    let folder = format!("{}/deep/er/still", own_folder());
    let make = |name: &str, field: &str, folder: &Value| {
        let reply = post(&client, &json!({ "name": name, field: folder })).ok();
        path_of(&client, &reply)
    };
    for (field, name) in [("folderPath", "a"), ("folder", "b")] {
        assert_eq!(make(name, field, &json!(folder)), format!("{folder}/{name}"));
    }
    let record = client.call("object-get", &[&folder]).ok();
    for (name, source) in [("c", &record["id"]), ("d", &record["pstate"]["uuid"])] {
        assert_eq!(make(name, "folder", source), format!("{folder}/{name}"));
    }
}

#[test]
fn a_folder_or_database_that_is_none_is_refused() {
    let place = Place::new();
    for (body, status, code) in [
        (json!({ "folder": place.stories[0] }), 400, "InvalidType"),
        (json!({ "folderPath": format!("{}/0.xml/below", place.folder) }), 400, "InvalidType"),
        (json!({ "folder": NOWHERE }), 404, "ObjectNotFound"),
        (json!({ "folder": "nonsense" }), 400, "InvalidPath"),
        (json!({ "databaseId": "nowhere" }), 404, "DatabaseNotFound"),
        (json!({ "databaseId": 77 }), 404, "DatabaseNotFound"),
    ] {
        post(&place.client, &body).fails(status, code);
    }
}

#[test]
fn a_capacity_is_between_1_and_10000() {
    let place = Place::new();
    for capacity in [0, -1, 10_001, i64::MAX, i64::MIN, 1 << 32, (1 << 32) + 5] {
        let error = place.make("never", &json!({ "capacity": capacity })).fails(400, "InvalidParameter");
        says(&error, &["capacity", &capacity.to_string()]);
    }
    for (name, capacity) in [("smallest", 1), ("largest", 10_000)] {
        place.make(name, &json!({ "capacity": capacity })).gives(&json!({ "info": { "capacity": capacity } }));
    }
    head(&place.client, &format!("{}/never", place.folder)).fails(404, "ObjectNotFound");
}

#[test]
fn names_are_like_those_of_files() {
    let place = Place::new();
    let make = |name: &str| place.make(name, &json!({}));
    for (name, kept) in [("a:b\"c|d", "a_b_c_d"), ("Überblick – 日本", "Überblick – 日本")] {
        make(name).gives(&json!({ "info": { "name": kept } }));
    }
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
    let place = Place::new();
    let new = format!("{}/new", place.folder);
    let stories = &place.stories;
    let refuse = |more: Value, status, code: &str| {
        place.make("never", &merged(json!({ "folderPath": new, "capacity": 1 }), &more)).fails(status, code)
    };
    assert_eq!(refuse(json!({ "sources": stories }), 409, "DrawerFull")["details"]["capacity"], 1);
    assert_eq!(refuse(json!({ "sources": [NOWHERE] }), 404, "ObjectNotFound")["source"], NOWHERE);
    refuse(json!({ "sources": ["nonsense"] }), 400, "InvalidParameter");
    refuse(json!({ "attributes": "<open>" }), 400, "InvalidAttributes");
    refuse(json!({ "attributes": { "two": "", "roots": "" } }), 400, "InvalidAttributes");
    refuse(json!({ "capacity": 0 }), 400, "InvalidParameter");
    refuse(json!({ "options": { "showPath": "maybe" } }), 400, "InvalidParameter");
    discard(&place.client, &stories[0]);
    refuse(json!({ "sources": [stories[0]] }), 404, "ObjectNotFound");
    place.client.call("object-get", &[&new]).fails(404, "ObjectNotFound");
}

#[test]
fn attributes_come_out_equal_as_xml_and_as_json() {
    let place = Place::new();
    let xml = "<desk id=\"7\"><section>City</section><section>Sport</section><empty/></desk>";
    let equal = json!({ "desk": { "@id": "7", "section": ["City", "Sport"], "empty": "" } });
    for (name, attributes) in [("xml", json!(xml)), ("json", equal.clone())] {
        let made = place.make(name, &json!({ "attributes": attributes })).ok();
        assert_eq!(made["info"]["attributes"], equal, "{name}");
        let read = place.client.call("drawer-get", &[&format!("{}/{name}", place.folder)]);
        let read = read.query("showXml", true).query("useUnparsedXml", true).ok();
        assert_eq!(read["info"]["attributes"], equal);
        if name == "xml" {
            assert_eq!(read["info"]["attributesXml"], xml, "byte for byte");
        }
    }
}

#[test]
fn a_taken_name_is_refused_unless_the_mode_says_otherwise() {
    let place = Place::new();
    let first = place.make("x", &json!({ "sources": [place.stories[0]], "capacity": 5 })).ok()["info"]["id"].take();
    let make = |name: &str, more: Value| {
        place.make(name, &merged(json!({ "sources": [place.stories[1]], "capacity": 5 }), &more))
    };
    let tag_of_first = tag(&place.read("x"));
    for more in [json!({}), json!({ "createMode": "EXCEPTION" }), json!({ "options": { "createMode": "EXCEPTION" } })] {
        make("x", more).fails(409, "DuplicatedName");
    }
    assert_eq!(tag(&place.read("x")), tag_of_first);
    for more in [json!({ "createMode": "AUTO_RENAME" }), json!({ "options": { "createMode": "AUTO_RENAME" } })] {
        let renamed = make("x", more).ok();
        assert!(renamed["info"]["id"] != first && renamed["info"]["name"] != "x", "{renamed}");
        assert_eq!(placed(&renamed), place.sources(&[1]));
    }
    assert_eq!(placed(&place.read("x").ok()), place.sources(&[0]));
    make("x", json!({ "createMode": "NEW_VERSION" })).gives(&json!({ "info": { "id": first } }));
    assert_eq!(placed(&place.read("x").ok()), place.sources(&[0, 1]));
    let replace = make("x", json!({ "createMode": "REPLACE", "title": "anew" }));
    replace.gives(&json!({ "info": { "id": first, "title": "anew" } }));
    assert_eq!(placed(&place.read("x").ok()), place.sources(&[1]));
    says(&make("x", json!({ "createMode": "PERHAPS" })).fails(400, "InvalidBody"), &["$.createMode"]);
    // What stands there is no drawer: nothing can be replaced.
    for mode in ["EXCEPTION", "REPLACE", "NEW_VERSION"] {
        make("0.xml", json!({ "createMode": mode })).fails(409, "DuplicatedName");
    }
}

#[test]
fn a_drawers_new_version_keeps_fields_that_it_does_not_name() {
    let place = Place::new();
    place.make("x", &json!({ "capacity": 3, "title": "Front", "description": "As it was" })).ok();
    place
        .make("x", &json!({ "createMode": "NEW_VERSION", "description": "As it is" }))
        .gives(&json!({ "info": { "capacity": 3, "title": "Front", "description": "As it is" } }));
}

#[test]
fn replacing_a_drawer_needs_room_for_what_comes() {
    let place = Place::new();
    let [first, second] = [&place.stories[0], &place.stories[1]];
    place.make("x", &json!({ "sources": [first], "capacity": 5 })).ok();
    let before = place.read("x").ok();
    for mode in ["REPLACE", "NEW_VERSION"] {
        let body = json!({ "capacity": 1, "sources": [second, first], "createMode": mode, "title": "never" });
        place.make("x", &body).fails(409, "DrawerFull");
        assert_eq!(place.read("x").ok(), before, "{mode}");
    }
}
