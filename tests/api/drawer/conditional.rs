//! ETags, `If-None-Match`, `If-Match` (docs/api/README.md, "Conditional requests").

use super::*;

fn with(client: &Client, method: &str, path: &str, header: (&str, &str), body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.send(method, path, &[header, ("content-type", "application/json")], body.as_bytes())
}

/// Every write to a drawer: method, path, body. Each would change the drawer.
fn writes(desk: &Desk, target: &str) -> Vec<(&'static str, String, Value)> {
    let [first, last] = [&desk.stories[0], desk.stories.last().unwrap()].map(|story| encoded(story));
    vec![
        ("PUT", desk.path(&format!("/shortcut/{}/position/-1", desk.shortcut(0))), json!({})),
        ("PUT", desk.path("/item/clear"), json!({})),
        ("DELETE", desk.path(&format!("/item/{first}")), Value::Null),
        ("DELETE", desk.path("/item"), json!([desk.stories[0]])),
        ("POST", desk.path("/item"), json!([desk.stories.last()])),
        ("PUT", desk.path(&format!("/item/{last}/position/0")), json!({})),
        ("POST", desk.path(&format!("/item/{last}")), json!({})),
        ("PUT", desk.path(&format!("/item/{first}/move/{}", encoded(target))), json!({})),
        ("PUT", desk.path(""), json!({ "title": "changed" })),
    ]
}

#[test]
fn what_a_client_has_already_is_not_sent_again() {
    let desk = Desk::new(5, 2, 1);
    for query in ["", "?showItems=true", "?showItems=true&showPath=true"] {
        let answer = desk.client.get(&desk.path(query));
        let tag = tag(&answer);
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag} is a strong tag");
        let again = with(&desk.client, "GET", &desk.path(query), ("if-none-match", &tag), &Value::Null);
        assert_eq!((again.status, again.body.len()), (304, 0), "{query}");
        assert_eq!(again.header("etag"), Some(tag.as_str()));
        let weak = format!("\"other\", W/{tag}");
        assert_eq!(with(&desk.client, "GET", &desk.path(query), ("if-none-match", &weak), &Value::Null).status, 304);
        desk.client.get(&desk.path(query)).ok();
    }
    let tag = tag(&desk.client.get(&desk.path("?showItems=true")));
    desk.add(1).ok();
    let fresh = with(&desk.client, "GET", &desk.path("?showItems=true"), ("if-none-match", &tag), &Value::Null);
    assert_eq!(fresh.ok()["info"]["count"], 2);
}

#[test]
fn representations_have_tags_of_their_own() {
    let desk = Desk::new(5, 1, 1);
    let tags: Vec<_> = ["", "?showItems=true", "?showItems=true&showPath=true", "?showAttributes=false"]
        .map(|query| tag(&desk.client.get(&desk.path(query))))
        .into();
    for (index, tag) in tags.iter().enumerate() {
        assert!(!tags[..index].contains(tag), "{tags:?}");
    }
    let other = with(&desk.client, "GET", &desk.path("?showItems=true"), ("if-none-match", &tags[0]), &Value::Null);
    other.ok();
}

#[test]
fn every_change_is_one_revision_and_its_reply_has_the_tag() {
    for index in 0..9 {
        let desk = Desk::new(5, 3, 2);
        let target = desk.other("target", 5);
        let (method, path, body) = writes(&desk, &target).swap_remove(index);
        let before = [&desk.drawer, &target].map(|drawer| revision(&desk.client.get(&below(drawer, ""))));
        let answer = desk.client.send(
            method,
            &path,
            &[],
            if body.is_null() { vec![] } else { body.to_string().into() }.as_slice(),
        );
        let after = [&desk.drawer, &target].map(|drawer| revision(&desk.client.get(&below(drawer, "?showItems=1"))));
        let moved = path.contains("/move/");
        assert_eq!(after, [before[0] + 1, before[1] + u64::from(moved)], "{method} {path}");
        // The reply to a move is the target.
        assert_eq!(revision(&answer), after[usize::from(moved)], "{method} {path}");
        answer.ok();
    }
}

#[test]
fn the_tag_of_any_representation_serves_for_a_write() {
    for query in ["", "?showItems=true", "?showItems=true&showPath=true&showXml=true"] {
        let desk = Desk::new(5, 2, 1);
        let seen = tag(&desk.client.get(&desk.path(query)));
        let answer = with(&desk.client, "POST", &desk.item(1), ("if-match", &seen), &json!({}));
        answer.ok();
        // The reply's own tag serves for the next.
        let next = tag(&answer);
        with(&desk.client, "PUT", &desk.path("/item/clear"), ("if-match", &next), &Value::Null).ok();
    }
    let desk = Desk::new(5, 2, 1);
    let seen = format!("\"1-0\", {}", tag(&desk.client.get(&desk.path(""))));
    with(&desk.client, "POST", &desk.item(1), ("if-match", &seen), &json!({})).ok();
    with(&desk.client, "POST", &desk.item(1), ("if-match", "*"), &json!({})).ok();
}

#[test]
fn an_old_tag_refuses_every_write_with_the_current_record_and_changes_nothing() {
    let desk = Desk::new(5, 3, 2);
    let target = desk.other("target", 5);
    let old = tag(&desk.client.get(&desk.path("")));
    desk.client.put(&desk.path(""), &json!({ "title": "newer" })).ok();
    let modified = desk.info()["modified"].clone();
    for (method, path, body) in writes(&desk, &target) {
        for tag in [old.as_str(), "\"nonsense\"", "\"\""] {
            let call = || with(&desk.client, method, &path, ("if-match", tag), &body);
            let error = desk.refuses(call, 412, "PreconditionFailed");
            let current = &error["details"]["current"];
            assert_eq!((&current["id"], &current["modified"]), (&json!(desk.drawer), &modified), "{method} {path}");
            assert_eq!(current["name"], "desk");
        }
    }
    assert!(desk.order_in(&target).is_empty());
}

#[test]
fn an_old_tag_refuses_what_would_change_nothing_too() {
    let desk = Desk::new(5, 1, 1);
    let old = tag(&desk.client.get(&desk.path("")));
    desk.client.put(&desk.path(""), &json!({ "title": "newer" })).ok();
    let call = || with(&desk.client, "POST", &desk.item(0), ("if-match", &old), &json!({}));
    desk.refuses(call, 412, "PreconditionFailed");
}

#[test]
fn a_move_is_held_to_the_drawer_that_the_path_names_first() {
    let desk = Desk::new(5, 2, 2);
    let target = desk.other("target", 5);
    let here = tag(&desk.client.get(&desk.path("")));
    let there = tag(&desk.client.get(&below(&target, "")));
    desk.client.put(&below(&target, ""), &json!({ "title": "newer" })).ok();
    desk.client.put(&below(&target, ""), &json!({ "title": "newest" })).ok();
    let path = format!("{}/move/{}", desk.item(0), encoded(&target));
    let call = || with(&desk.client, "PUT", &path, ("if-match", &there), &Value::Null);
    desk.refuses(call, 412, "PreconditionFailed");
    with(&desk.client, "PUT", &path, ("if-match", &here), &Value::Null).ok();
    assert_eq!(desk.order_in(&target), [0]);
}

#[test]
fn a_tag_changes_when_the_record_of_a_member_changes() {
    let desk = Desk::new(5, 2, 2);
    let path = desk.path("?showItems=true");
    let first = desk.client.get(&path);
    revise(&desk.client, &desk.folder, "0.xml");
    let second = desk.client.get(&path);
    assert_ne!(tag(&first), tag(&second));
    let versions = [&first.ok(), &second.ok()].map(|reply| reply["items"][0]["object"]["version"].as_u64().unwrap());
    assert_eq!(versions[1], versions[0] + 1);
    let answer = with(&desk.client, "GET", &path, ("if-none-match", &tag(&second)), &Value::Null);
    assert_eq!(answer.status, 304, "nothing has changed since");
    desk.discard(1);
    let third = desk.client.get(&path);
    assert_ne!(tag(&second), tag(&third));
    assert_eq!(third.ok()["info"]["hidden"], 1);
    desk.restore(1);
    assert_ne!(tag(&third), tag(&desk.client.get(&path)));
}

#[test]
fn two_readers_who_write_what_they_saw_are_told_apart() {
    let desk = Desk::new(5, 3, 1);
    let seen = tag(&desk.client.get(&desk.path("?showItems=1")));
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let call = |story| {
            let (desk, seen) = (&desk, &seen);
            scope.spawn(move || with(&desk.client, "POST", &desk.item(story), ("if-match", seen), &json!({})).status)
        };
        [call(1), call(2)].map(|thread| thread.join().unwrap()).into()
    });
    assert!(answers.contains(&200) && answers.contains(&412), "{answers:?}");
    assert_eq!(desk.order().len(), 2);
}
