//! Who else looks at a container or edits it: `/v3/presence`.

use super::several::follow_all;
use super::*;

/// Sends a sign of a user.
fn sign(client: &Client, body: Value) -> Answer {
    client.call("stet-presence-post", &[]).json(&body).send()
}

/// The users of a list, each with what they do.
fn present(list: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let users = list["present"].as_array().expect("it is a list");
    users.iter().map(|user| (text(&user["user"]), text(&user["state"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(user, state)| ((*user).to_owned(), (*state).to_owned())).collect()
}

/// Follows a container from the present on.
fn followed(client: &Client, drawer: &str) -> Follow {
    let mut follow = follow_all(client, &[drawer.to_owned()]);
    assert_eq!(follow.must().event, "hello");
    follow
}

/// The next event, which tells who is present.
fn told(follow: &mut Follow) -> Value {
    let event = follow.must();
    assert_eq!((event.event.as_str(), event.position.as_str()), ("presence", ""), "{event:?}");
    event.data
}

#[test]
fn followers_are_told_who_comes_goes_and_does_something_else() {
    let desk = shared_desk(1);
    let (editor, other) = (&desk.client, Server::shared().user("reporter"));
    let mut follow = followed(editor, &desk.drawer);
    let of = |state: &str| json!({ "container": desk.drawer, "state": state });
    let reply = sign(&other, of("viewing")).ok();
    assert_eq!(present(&reply), pairs(&[("reporter", "viewing")]));
    assert_eq!(told(&mut follow), reply);
    sign(editor, of("viewing")).ok();
    assert_eq!(present(&told(&mut follow)), pairs(&[("reporter", "viewing"), ("editor", "viewing")]));
    let editing = json!({ "container": desk.drawer, "state": "editing", "field": "headline" });
    sign(&other, editing.clone()).ok();
    let list = told(&mut follow);
    assert_eq!(present(&list), pairs(&[("reporter", "editing"), ("editor", "viewing")]));
    assert_eq!(list["present"][0]["field"], "headline");
    // A repeated sign is no event: the next one is about the drawer.
    sign(&other, editing).ok();
    desk.put_in(0);
    assert_eq!(follow.must().event, "drawer.item.add");
    // A follower who comes later is told at the beginning.
    let mut late = followed(editor, &desk.drawer);
    assert_eq!(told(&mut late)["total"], 2);
    sign(&other, of("away")).ok();
    assert_eq!(present(&told(&mut follow)), pairs(&[("editor", "viewing")]));
    assert_eq!(present(&sign(editor, of("away")).ok()), []);
    assert_eq!(told(&mut follow)["total"], 0);
    // One who is away is so already.
    sign(editor, of("away")).ok();
}

#[test]
fn who_logs_out_is_gone() {
    let desk = shared_desk(0);
    let mut follow = followed(&desk.client, &desk.drawer);
    let leaving = Server::shared().login("reporter");
    sign(&leaving, json!({ "container": desk.drawer, "state": "viewing" })).ok();
    assert_eq!(told(&mut follow)["total"], 1);
    leaving.call("auth-logout-get", &[]).ok();
    assert_eq!(told(&mut follow)["total"], 0);
}

#[test]
fn presence_is_for_those_who_may_read_and_within_bounds() {
    let desk = shared_desk(0);
    let body = |more: Value| {
        let mut body = json!({ "container": desk.drawer, "state": "viewing" });
        body.as_object_mut().expect("it is an object").extend(more.as_object().expect("it is one").clone());
        body
    };
    sign(&desk.client, body(json!({ "state": "sleeping" }))).fails(400, "InvalidBody");
    sign(&desk.client, body(json!({ "field": "x".repeat(101) }))).fails(400, "InvalidBody");
    sign(&desk.client, body(json!({ "part": "x" }))).fails(400, "InvalidParameter");
    sign(&desk.client, body(json!({ "container": "1$1.0.999999999" }))).fails(404, "ObjectNotFound");
    let revision = desk.present();
    sign(&desk.client, body(json!({ "part": "1$1.0.7", "field": "x".repeat(100) }))).ok();
    assert_eq!(desk.present(), revision, "a sign is no change");
}

#[test]
fn one_user_is_present_in_a_container_a_bounded_number_of_times() {
    let desk = desk(Server::shared().login("editor"), 0);
    let at = |part: usize| {
        sign(&desk.client, json!({ "container": desk.drawer, "state": "viewing", "part": format!("1$1.0.{part}") }))
    };
    (1..=8).for_each(|part| drop(at(part).ok()));
    at(9).fails(503, "Overloaded");
    assert_eq!(at(1).ok()["total"], 8, "one that is there already is repeated");
    let mut follow = followed(&desk.client, &desk.drawer);
    assert_eq!(told(&mut follow)["total"], 8);
}
