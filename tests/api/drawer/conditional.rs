//! ETags, `If-None-Match`, `If-Match` (docs/api/README.md, "Conditional requests"): what drawers
//! have beyond all others.

use super::*;

/// Returns every write to a drawer of two stories. Each would change the drawer.
fn writes<'d>(desk: &'d Desk, target: &str) -> Vec<Call<'d>> {
    vec![
        desk.shift(0, -1),
        desk.clear(),
        desk.remove(0),
        desk.remove_all(desk.sources(&[0])),
        desk.add_all(desk.sources(&[2])),
        desk.position(2, 0),
        desk.add(2),
        desk.update(json!({ "title": "changed" })),
        desk.move_to(0, target),
    ]
}

#[test]
fn representations_have_tags_of_their_own_that_change_with_the_drawer() {
    let desk = Desk::new(5, 2, 1);
    let call = desk.call("drawer-get", &[]);
    let items = call.clone().query("showItems", true);
    let seen: Vec<_> =
        [call.clone(), items.clone(), items.query("showPath", true), call.query("showAttributes", false)]
            .into_iter()
            .map(|call| (tag(&call.send()), call))
            .collect();
    for (index, (tag, call)) in seen.iter().enumerate() {
        for (other, (known, _)) in seen.iter().enumerate() {
            let status = call.clone().header("if-none-match", known).send().status;
            assert_eq!(status == 304, other == index, "{known} for {tag}");
        }
    }
    desk.add(1).ok();
    for (tag, call) in seen {
        call.header("if-none-match", tag).gives(&json!({ "info": { "count": 2 } }));
    }
}

#[test]
fn a_weak_tag_is_refused_with_the_reason_and_serves_for_reads() {
    let desk = Desk::new(5, 2, 1);
    let old = tag(&desk.call("drawer-get", &[]).send());
    let put = |tags: &str| desk.update(json!({ "title": "changed" })).header("if-match", tags);
    put(&old).ok();
    let now = tag(&desk.call("drawer-get", &[]).send());
    for (tags, stale) in [
        (format!("W/{now}"), false),
        (format!("\"x\", W/{now}"), false),
        (format!("{old}, W/{now}"), false),
        (format!("W/{old}"), true),
    ] {
        let error = put(&tags).fails(412, "PreconditionFailed");
        says(&error, &["weak tags", "`W/\"…\"`", "proxy", "compression"]);
        let message = error["message"].as_str().expect("it says why");
        assert_eq!(message.contains("has the current revision"), !stale, "{message}");
    }
    let foreign = put("W/\"x\"").fails(412, "PreconditionFailed");
    says(&foreign, &["No tag in `If-Match`"]);
    put(&format!("W/{old}, {now}")).ok();
    let now = tag(&desk.call("drawer-get", &[]).send());
    assert_eq!(desk.call("drawer-get", &[]).header("if-none-match", format!("W/{now}")).send().status, 304);
}

#[test]
fn every_change_is_one_revision_and_its_reply_has_the_tag() {
    for index in 0..9 {
        let desk = Desk::new(5, 3, 2);
        let target = desk.other("target", 5);
        let revisions = || [&desk.drawer, &target].map(|drawer| revision(&read(&desk.client, drawer)));
        let [here, there] = revisions();
        let answer = writes(&desk, &target).swap_remove(index).send();
        answer.ok();
        let moved = index == 8;
        assert_eq!(revisions(), [here + 1, there + u64::from(moved)], "write {index}");
        // The reply to a move is the target.
        assert_eq!(revision(&answer), if moved { there } else { here } + 1, "write {index}");
    }
}

#[test]
fn the_tag_of_any_representation_serves_for_a_write() {
    for options in [&[] as &[&str], &["showItems"], &["showItems", "showPath", "showXml"]] {
        let desk = Desk::new(5, 2, 1);
        let call = options.iter().fold(desk.call("drawer-get", &[]), |call, option| call.query(option, true));
        let answer = desk.add(1).header("if-match", tag(&call.send())).send();
        answer.ok();
        // The reply's own tag serves for the next.
        desk.clear().header("if-match", tag(&answer)).ok();
    }
}

#[test]
fn an_old_etag_refuses_every_write_with_the_current_record() {
    let desk = Desk::new(5, 3, 2);
    let target = desk.other("target", 5);
    let old = tag(&head(&desk.client, &desk.drawer));
    desk.update(json!({ "title": "newer" })).ok();
    let modified = desk.info()["modified"].clone();
    let current = json!({ "details": { "current": { "id": desk.drawer, "modified": modified, "name": "desk" } } });
    // What would change nothing is refused, too.
    for call in writes(&desk, &target).into_iter().chain([desk.add(0)]) {
        let error = desk.refuses(call.header("if-match", &old), 412, "PreconditionFailed");
        includes(&error, &current);
    }
    assert!(desk.order_in(&target).is_empty());
}

#[test]
fn a_move_is_held_to_the_drawer_that_the_path_names_first() {
    let desk = Desk::new(5, 2, 2);
    let target = desk.other("target", 5);
    let [here, there] = [&desk.drawer, &target].map(|drawer| tag(&head(&desk.client, drawer)));
    for title in ["newer", "newest"] {
        desk.client.call("drawer-put", &[&target]).json(&json!({ "title": title })).ok();
    }
    desk.refuses(desk.move_to(0, &target).header("if-match", there), 412, "PreconditionFailed");
    desk.move_to(0, &target).header("if-match", here).ok();
    assert_eq!(desk.order_in(&target), [0]);
}

#[test]
fn a_tag_changes_when_the_record_of_a_member_changes() {
    let desk = Desk::new(5, 2, 2);
    let look = || {
        let (tag, reply) = desk.state();
        let version = reply["items"][0]["object"]["version"].as_u64().expect("an object has a version");
        (tag, version, reply["info"]["hidden"].clone())
    };
    let first = look();
    let options = json!({ "name": "0.xml", "type": "Story", "folderPath": desk.folder, "createMode": "NEW_VERSION" });
    let files: &[File<'_>] = &[("content", "0.xml", "text/xml", b"<story>again</story>")];
    desk.client.call("stet-object-create-post", &[]).form(&options, files).ok();
    let second = look();
    assert_ne!(first.0, second.0);
    assert_eq!(second.1, first.1 + 1);
    let again = desk.call("drawer-get", &[]).query("showItems", true).header("if-none-match", &second.0).send();
    assert_eq!(again.status, 304, "nothing has changed since");
    desk.discard(1);
    let third = look();
    assert_ne!(second.0, third.0);
    assert_eq!(third.2, 1);
    desk.restore(1);
    assert_ne!(third.0, look().0);
}

#[test]
fn two_readers_who_write_what_they_saw_are_told_apart() {
    let desk = Desk::new(5, 3, 1);
    let (seen, _) = desk.state();
    let mut answers: [u16; 2] = std::thread::scope(|scope| {
        let (desk, seen) = (&desk, &seen);
        let write = |story| scope.spawn(move || desk.add(story).header("if-match", seen).send().status);
        [write(1), write(2)].map(|thread| thread.join().expect("no thread fails"))
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 412]);
    assert_eq!(desk.order().len(), 2);
}
