//! What all thirteen endpoints have in common: who may call them, and what their sources look like.

use super::*;

/// Every endpoint that names a drawer first: method, path below the drawer, body.
fn on_a_drawer(desk: &Desk, target: &str) -> Vec<(&'static str, String, Value)> {
    let first = encoded(&desk.stories[0]);
    let second = encoded(&desk.stories[1]);
    vec![
        ("PUT", format!("/shortcut/{}/position/0", desk.shortcut(0)), json!({})),
        ("PUT", "/item/clear".into(), json!({})),
        ("DELETE", format!("/item/{first}"), json!({})),
        ("DELETE", "/item".into(), json!({ "sources": [desk.stories[0]] })),
        ("GET", String::new(), Value::Null),
        ("POST", "/item".into(), json!({ "sources": [desk.stories[1]] })),
        ("PUT", format!("/item/{second}/position/0"), json!({})),
        ("POST", format!("/item/{second}"), json!({})),
        ("PUT", format!("/item/{first}/move/{}", encoded(target)), json!({})),
        ("PUT", String::new(), json!({ "title": "changed" })),
    ]
}

/// All thirteen.
fn all(desk: &Desk, target: &str) -> Vec<(&'static str, String, Value)> {
    let mut all: Vec<_> =
        on_a_drawer(desk, target).into_iter().map(|(method, path, body)| (method, desk.path(&path), body)).collect();
    all.push(("GET", below("object", &format!("/{}", encoded(&desk.stories[0]))), Value::Null));
    all.push(("POST", "/v3/container/drawer".into(), json!({ "name": "never", "folderPath": desk.folder })));
    all.push(("POST", "/v3/container/drawer/automatic".into(), json!({})));
    assert_eq!(all.len(), 13);
    all
}

fn call(client: &Client, (method, path, body): &(&str, String, Value)) -> Answer {
    if body.is_null() { client.send(method, path, &[], b"") } else { client.send_json(method, path, body) }
}

#[test]
fn no_endpoint_answers_without_a_token_or_with_a_wrong_one() {
    let desk = Desk::new(5, 2, 1);
    let before = desk.state();
    let target = desk.other("target", 5);
    let nobody = Server::shared().client();
    let mut stranger = nobody.clone();
    stranger.token = Some("wrong".into());
    for endpoint in all(&desk, &target) {
        for client in [&nobody, &stranger] {
            let answer = call(client, &endpoint);
            answer.fails(401, "InvalidToken");
            assert!(answer.header("www-authenticate").is_some(), "{endpoint:?}");
        }
    }
    assert_eq!(desk.state(), before);
}

#[test]
fn a_reader_reads_and_changes_nothing() {
    let desk = Desk::new(5, 2, 1);
    let before = desk.state();
    let target = desk.other("target", 5);
    let reader = Server::shared().login("reader");
    for endpoint in all(&desk, &target) {
        let answer = call(&reader, &endpoint);
        if endpoint.0 == "GET" {
            answer.ok();
        } else {
            let error = answer.fails(403, "PermissionDenied");
            assert!(error["message"].as_str().is_some_and(|message| message.contains("reader")), "{error}");
        }
    }
    assert_eq!(desk.state(), before);
    assert!(desk.order_in(&target).is_empty());
}

#[test]
fn who_may_create_only_makes_drawers_and_does_not_fill_them() {
    let desk = Desk::new(5, 2, 1);
    let contributor = Server::shared().login("contributor");
    let body = json!({ "folderPath": desk.folder, "name": "handed in" });
    contributor.post("/v3/container/drawer", &body).ok();
    desk.refuses(|| contributor.post(&desk.item(1), &json!({})), 403, "PermissionDenied");
}

#[test]
fn a_drawer_that_is_not_there_is_not_found() {
    let desk = Desk::new(5, 2, 1);
    let target = desk.other("target", 5);
    let missing_uuid = "0190f3a1-7c1e-7000-8000-0123456789ab";
    for drawer in [NOWHERE, missing_uuid, "/Test/no such drawer", "7$1.0.5"] {
        for (method, path, body) in on_a_drawer(&desk, &target) {
            let error = call(&desk.client, &(method, below(drawer, &path), body)).fails(404, "ObjectNotFound");
            assert_eq!(error["source"], drawer);
        }
    }
    assert_eq!(desk.order(), [0]);
    desk.client.get(&below("object", &format!("/{}", encoded(NOWHERE)))).fails(404, "ObjectNotFound");
    // Nor is what the calls name second.
    desk.refuses(|| desk.move_to(0, NOWHERE), 404, "ObjectNotFound");
    let nowhere = encoded(NOWHERE);
    desk.refuses(|| desk.client.post(&desk.path(&format!("/item/{nowhere}")), &json!({})), 404, "ObjectNotFound");
    let path = desk.path(&format!("/item/{nowhere}/position/0"));
    desk.refuses(|| desk.client.put(&path, &json!({})), 404, "ObjectNotFound");
}

#[test]
fn an_object_of_another_kind_is_no_drawer() {
    let desk = Desk::new(5, 2, 1);
    let target = desk.other("target", 5);
    for other in [&desk.stories[0], &desk.folder] {
        for (method, path, body) in on_a_drawer(&desk, &target) {
            let error = call(&desk.client, &(method, below(other, &path), body)).fails(400, "InvalidType");
            assert_eq!(error["source"], *other, "{method} {path}");
        }
        desk.refuses(|| desk.move_to(0, other), 400, "InvalidType");
    }
    assert_eq!(desk.order(), [0]);
}

#[test]
fn what_is_no_source_is_a_wrong_parameter() {
    let desk = Desk::new(5, 2, 1);
    let target = desk.other("target", 5);
    for nonsense in ["desk", "1.2", "x$1.0.5", "{0190f3a1}", "/a?uuid=nonsense"] {
        for (method, path, body) in on_a_drawer(&desk, &target) {
            let error = call(&desk.client, &(method, below(nonsense, &path), body)).fails(400, "InvalidParameter");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(nonsense)), "{error}");
        }
        let path = desk.path(&format!("/item/{}", encoded(nonsense)));
        desk.refuses(|| desk.client.post(&path, &json!({})), 400, "InvalidParameter");
        desk.refuses(|| desk.client.delete(&path), 400, "InvalidParameter");
        desk.refuses(|| desk.move_to(0, nonsense), 400, "InvalidParameter");
        desk.client.get(&below("object", &format!("/{}", encoded(nonsense)))).fails(400, "InvalidParameter");
    }
}

/// The ways to name an object in a path segment, as it goes over the wire.
fn names_of(client: &Client, loid: &str) -> Vec<String> {
    let record = client.get(&format!("/v3/object/{}?showPath=true", encoded(loid))).ok();
    let uuid = record["pstate"]["uuid"].as_str().expect("an object has a uuid").to_owned();
    let path = record["path"].as_str().expect("the path was asked for");
    let without_database = loid.split_once('$').expect("a loid is emitted with its database").1;
    vec![
        loid.to_owned(),
        loid.replace('$', "%24"),
        without_database.to_owned(),
        uuid.clone(),
        uuid.to_uppercase(),
        uuid.replace('-', ""),
        encoded(&format!("{{{uuid}}}")),
        encoded(&format!("urn:uuid:{uuid}")),
        encoded(path),
        path.replace('/', "%2f"),
        encoded(&format!("{path}?uuid={uuid}")),
        // The uuid wins over a path that leads nowhere.
        encoded(&format!("/nowhere/at/all?uuid={}", uuid.to_uppercase())),
    ]
}

#[test]
fn a_drawer_and_its_items_are_named_by_any_form_of_source() {
    let desk = Desk::new(5, 1, 0);
    let target = desk.other("target", 5);
    let story = names_of(&desk.client, &desk.stories[0]);
    let [here, there] = [&desk.drawer, &target].map(|drawer| names_of(&desk.client, drawer));
    for ((story, here), there) in story.iter().zip(&here).zip(&there) {
        let drawer = format!("/v3/container/drawer/{here}");
        let client = &desk.client;
        assert_eq!(client.get(&drawer).ok()["info"]["id"], desk.drawer, "{here}");
        assert_eq!(client.post(&format!("{drawer}/item/{story}"), &json!({})).ok()["info"]["count"], 1, "{story}");
        client.put(&format!("{drawer}/item/{story}/position/0"), &json!({})).ok();
        client.put(&format!("{drawer}/shortcut/{story}/position/-1"), &json!({})).ok();
        let holders = client.get(&format!("/v3/container/drawer/object/{story}")).ok();
        assert_eq!(holders["items"][0]["info"]["id"], desk.drawer, "{story}");
        let moved = client.put(&format!("{drawer}/item/{story}/move/{there}"), &json!({})).ok();
        assert_eq!(moved["info"]["id"], target, "{there}");
        assert_eq!(placed(&moved), [(desk.stories[0].clone(), 0)]);
        client.delete(&format!("/v3/container/drawer/{there}/item/{story}")).ok();
        assert_eq!(client.put(&drawer, &json!({ "title": here })).ok()["info"]["title"], *here);
        client.put(&format!("{drawer}/item/clear"), &json!({})).ok();
    }
}

#[test]
fn sources_in_bodies_take_any_form_too() {
    let desk = Desk::new(5, 1, 0);
    for source in names_of(&desk.client, &desk.stories[0]) {
        let source = percent_encoding::percent_decode_str(&source).decode_utf8().unwrap().into_owned();
        let sources = json!({ "sources": [source] });
        assert_eq!(desk.client.post(&desk.path("/item"), &sources).ok()["info"]["count"], 1, "{source}");
        let reply = desk.client.delete_with(&desk.path("/item"), &sources).ok();
        assert_eq!((&reply["info"]["count"], &reply["errors"]), (&json!(0), &json!([])), "{source}");
    }
}

#[test]
fn a_version_names_its_object_and_one_that_is_not_there_nothing() {
    let desk = Desk::new(5, 1, 0);
    let version = |loid: &str, version: u32| loid.replace("$1.0.", &format!("$1.{version}."));
    let first = version(&desk.stories[0], 1);
    let reply = desk.client.post(&desk.path(&format!("/item/{}", encoded(&first))), &json!({})).ok();
    assert_eq!(reply["items"][0]["source"], desk.stories[0], "an item stands for the object");
    let ninth = encoded(&version(&desk.stories[0], 9));
    for path in [format!("/item/{ninth}"), format!("/item/{ninth}/position/0")] {
        let method = if path.ends_with("/0") { "PUT" } else { "POST" };
        desk.refuses(|| desk.client.send_json(method, &desk.path(&path), &json!({})), 404, "ObjectNotFound");
    }
    // A drawer in memory, too.
    desk.client.get(&below(&version(&desk.drawer, 9), "")).fails(404, "ObjectNotFound");
    desk.refuses(
        || desk.client.put(&below(&version(&desk.drawer, 9), ""), &json!({ "title": "x" })),
        404,
        "ObjectNotFound",
    );
}

#[test]
fn the_database_of_a_call_must_be_a_known_one() {
    let desk = Desk::new(5, 2, 1);
    let target = desk.other("target", 5);
    for (method, path, body) in on_a_drawer(&desk, &target).into_iter().filter(|(_, path, _)| path.contains("/item/1"))
    {
        let path = format!("{}?databaseId=nowhere", desk.path(&path));
        desk.refuses(|| call(&desk.client, &(method, path, body)), 404, "DatabaseNotFound");
    }
    for body in [json!({ "databaseId": "nowhere" }), json!({ "databaseId": 77 })] {
        desk.client.post("/v3/container/drawer", &body).fails(404, "DatabaseNotFound");
    }
    let query = format!("{}?databaseId=1&showItems=1", desk.path(""));
    assert_eq!(desk.client.get(&query).ok()["items"][0]["source"], desk.stories[0]);
}

#[test]
fn display_options_shape_the_records_in_a_drawer() {
    let desk = Desk::new(5, 1, 1);
    let plain = desk.client.get(&desk.path("?showItems=true")).ok();
    assert!(plain["items"][0]["object"].get("path").is_none());
    assert!(plain["info"].get("path").is_none());
    let shown = desk.client.get(&desk.path("?SHOWITEMS=TRUE&showPath=1&showVirtualAttributes=false")).ok();
    assert_eq!(shown["items"][0]["object"]["path"], format!("{}/0.xml", desk.folder));
    assert_eq!(shown["info"]["path"], format!("{}/desk", desk.folder));
    assert!(shown["items"][0]["object"].get("virtualAttributes").is_none());
    // The order of asking does not matter: what is kept of one display is not given to another.
    assert_eq!(desk.client.get(&desk.path("?showItems=true")).ok(), plain);
    let body = json!({ "sources": [desk.stories[0]], "options": { "showPath": true } });
    let added = desk.client.post(&desk.path("/item"), &body).ok();
    assert_eq!(added["items"][0]["object"]["path"], format!("{}/0.xml", desk.folder));
    let error = desk.client.get(&desk.path("?showItems=maybe")).fails(400, "InvalidParameter");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("showItems") && text.contains("maybe")));
}

#[test]
fn items_come_only_when_they_are_asked_for() {
    let desk = Desk::new(5, 2, 2);
    for path in [desk.path(""), desk.path("?showItems=false"), desk.path("?showItems=0")] {
        let reply = desk.client.get(&path).ok();
        assert_eq!(reply["items"], json!([]));
        assert_eq!(reply["info"]["count"], 2);
    }
    let reply = desk.read();
    assert_eq!(placed(&reply), [(desk.stories[0].clone(), 0), (desk.stories[1].clone(), 1)]);
    assert_eq!(reply["items"][0]["object"]["name"], "0.xml");
}

#[test]
fn a_method_that_a_path_does_not_take_is_told_so() {
    let desk = Desk::new(5, 1, 0);
    let answer = desk.client.get(&desk.path("/item"));
    answer.fails(405, "MethodNotAllowed");
    assert!(answer.header("allow").is_some_and(|allow| allow.contains("POST") && allow.contains("DELETE")));
}

#[test]
fn a_large_drawer_is_read_in_pages() {
    let desk = Desk::new(9, 5, 5);
    for (query, expected) in [
        ("limit=2", 0..2),
        ("limit=2&offset=2", 2..4),
        ("limit=2&offset=4", 4..5),
        ("offset=3", 3..5),
        ("limit=9&offset=9", 0..0),
        ("limit=0", 0..0),
        ("offset=0", 0..5),
    ] {
        let reply = desk.client.get(&desk.path(&format!("?showItems=true&{query}"))).ok();
        let expected: Vec<_> = expected.map(|at: usize| (desk.stories[at].clone(), at as u64)).collect();
        assert_eq!(placed(&reply), expected, "{query}");
        assert_eq!(reply["info"]["count"], 5);
        // The whole drawer is still there for who asks for it.
        assert_eq!(desk.order(), [0, 1, 2, 3, 4]);
    }
    desk.client.get(&desk.path("?showItems=true&limit=few")).fails(400, "InvalidParameter");
}
