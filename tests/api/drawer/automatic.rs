//! A user's own drawer. Those on the server that tests share have been made by any of them.

use super::*;

fn automatic(client: &Client) -> Call<'_> {
    client.call("drawer-automatic-post", &[])
}

fn path_of(client: &Client, drawer: &Value) -> Value {
    let id = drawer["info"]["id"].as_str().expect("a drawer has an id");
    client.call("drawer-get", &[&id]).query("showPath", 1).ok()["info"]["path"].take()
}

#[test]
fn the_automatic_drawer_is_the_same_at_every_call() {
    let client = editor();
    let first = automatic(&client)
        .json(&json!({}))
        .gives(&json!({ "info": { "automatic": true, "name": "Clipboard", "capacity": 100 } }));
    let id = first["info"]["id"].as_str().expect("a drawer has an id");
    assert_eq!(path_of(&client, &first), "/Users/editor/Clipboard");
    let story = client.story(&own_folder(), "a.xml");
    client.call("drawer-items-post", &[&id]).json(&json!([story])).ok();
    let before = tag(&read(&client, id));
    // What the body says is for its making.
    for body in ["", "{}", r#"{"capacity": 7, "title": "other"}"#] {
        let again = automatic(&client).bytes("application/json", body).gives(&json!({ "info": { "id": id } }));
        assert_eq!(placed(&again), [(story.clone(), 0)]);
    }
    assert_eq!(tag(&read(&client, id)), before);
    says(&automatic(&client).json(&json!({ "capacity": 0 })).fails(400, "InvalidParameter"), &["capacity"]);
}

#[test]
fn every_user_has_one_and_many_first_calls_make_one() {
    let server = Server::start();
    let contributor = server.user("contributor");
    let id = |client: &Client| automatic(client).ok()["info"]["id"].to_string();
    let made: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(|| id(&contributor))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect()
    });
    assert!(made.iter().all(|id| *id == made[0]), "{made:?}");
    assert_ne!(id(&server.user("editor")), made[0]);
}

#[test]
fn the_automatic_drawer_is_created_from_the_body_and_again_once_discarded() {
    let server = Server::start();
    let client = server.user("admin");
    let story = client.story(&own_folder(), "a.xml");
    let body = json!({
        "capacity": 3, "title": "Mine", "description": "d", "sources": [story], "attributes": { "desk": "x" },
        "name": "ignored", "folderPath": "/ignored",
    });
    let first = automatic(&client).json(&body).gives(&json!({ "info": {
        "capacity": 3, "title": "Mine", "description": "d", "name": "Clipboard", "attributes": { "desk": "x" },
    } }));
    assert_eq!(placed(&first), [(story, 0)]);
    client.call("object-get", &[&"/ignored"]).fails(404, "ObjectNotFound");
    let id = first["info"]["id"].as_str().expect("a drawer has an id");
    discard(&client, id);
    let second = automatic(&client).gives(&json!({ "info": { "count": 0, "automatic": true } }));
    assert_ne!(second["info"]["id"], id);
}

#[test]
fn name_folder_and_capacity_come_from_configuration() {
    let server = Server::with(&[
        ("DRAWER__DEFAULT_CAPACITY", "3"),
        ("DRAWER__AUTOMATIC_FOLDER", "/Desks"),
        ("DRAWER__AUTOMATIC_NAME", "of {user}"),
    ]);
    for user in ["editor", "reporter"] {
        let client = server.user(user);
        let info = json!({ "info": { "name": format!("of {user}"), "capacity": 3 } });
        let drawer = automatic(&client).gives(&info);
        assert_eq!(path_of(&client, &drawer), format!("/Desks/of {user}"));
        client.call("drawer-post", &[]).gives(&json!({ "info": { "capacity": 3 } }));
    }
}
