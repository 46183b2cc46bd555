//! A user's own drawer. Each test uses a user of its own: the drawer is shared by all sessions of one.

use super::*;

const AUTOMATIC: &str = "/v3/container/drawer/automatic";

#[test]
fn the_automatic_drawer_is_the_same_at_every_call() {
    let client = editor();
    let first = client.post(AUTOMATIC, &json!({})).ok();
    let info = &first["info"];
    assert_eq!((&info["automatic"], &info["name"]), (&json!(true), &json!("Clipboard")));
    assert_eq!(info["capacity"], 100);
    let id = info["id"].as_str().unwrap();
    assert_eq!(client.get(&below(id, "?showPath=1")).ok()["info"]["path"], "/Users/editor/Clipboard");
    let story = client.story(&own_folder(), "a.xml");
    client.post(&below(id, "/item"), &json!([story])).ok();
    let before = tag(&client.get(&below(id, "?showItems=1")));
    // What the body says is for its making.
    for body in [&b""[..], b"{}", br#"{"capacity": 7, "title": "other"}"#] {
        let again = client.send("POST", AUTOMATIC, &[], body).ok();
        assert_eq!(again["info"]["id"], id);
        assert_eq!(placed(&again), [(story.clone(), 0)]);
    }
    assert_eq!(tag(&client.get(&below(id, "?showItems=1"))), before);
    let error = client.post(AUTOMATIC, &json!({ "capacity": 0 })).fails(400, "InvalidParameter");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("capacity")), "{error}");
}

#[test]
fn every_user_has_one_and_many_first_calls_make_one() {
    let contributor = Server::shared().login("contributor");
    let made: Vec<String> = std::thread::scope(|scope| {
        let make = || contributor.post(AUTOMATIC, &json!({})).ok()["info"]["id"].as_str().unwrap().to_owned();
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(made.iter().all(|id| *id == made[0]), "{made:?}");
    let others = editor().post(AUTOMATIC, &json!({})).ok();
    assert_ne!(others["info"]["id"], made[0]);
}

#[test]
fn the_automatic_drawer_is_made_with_what_the_body_says_and_anew_once_it_is_gone() {
    let client = Server::shared().login("admin");
    let story = client.story(&own_folder(), "a.xml");
    let body = json!({
        "capacity": 3, "title": "Mine", "description": "d", "sources": [story], "attributes": { "desk": "x" },
        "name": "ignored", "folderPath": "/ignored",
    });
    let first = client.post(AUTOMATIC, &body).ok();
    let info = &first["info"];
    assert_eq!((&info["capacity"], &info["title"], &info["description"]), (&json!(3), &json!("Mine"), &json!("d")));
    assert_eq!((&info["name"], &info["attributes"]), (&json!("Clipboard"), &json!({ "desk": "x" })));
    assert_eq!(placed(&first), [(story, 0)]);
    client.get("/v3/object/%2Fignored").fails(404, "ObjectNotFound");
    let id = info["id"].as_str().unwrap();
    discard(&client, id);
    let second = client.post(AUTOMATIC, &json!({})).ok();
    assert_ne!(second["info"]["id"], id);
    assert_eq!((&second["info"]["count"], &second["info"]["automatic"]), (&json!(0), &json!(true)));
}

#[test]
fn name_folder_and_capacity_come_from_configuration() {
    let server = Server::with(&[
        ("DRAWER__DEFAULT_CAPACITY", "3"),
        ("DRAWER__AUTOMATIC_FOLDER", "/Desks"),
        ("DRAWER__AUTOMATIC_NAME", "of {user}"),
    ]);
    for user in ["editor", "reporter"] {
        let client = server.login(user);
        let info = client.post(AUTOMATIC, &json!({})).ok()["info"].take();
        assert_eq!((&info["name"], &info["capacity"]), (&json!(format!("of {user}")), &json!(3)));
        let path = &client.get(&below(info["id"].as_str().unwrap(), "?showPath=1")).ok()["info"]["path"];
        assert_eq!(*path, format!("/Desks/of {user}"));
        assert_eq!(client.post("/v3/container/drawer", &json!({})).ok()["info"]["capacity"], 3);
    }
}
