//! ETags, `If-None-Match` and `If-Match` (docs/api/README.md, "Conditional requests").

use super::*;

fn tag(answer: &Answer) -> Option<String> {
    answer.header("etag").map(str::to_owned)
}

/// The ETag of an object's record.
fn tag_of(corner: &Corner, loid: &str) -> String {
    tag(&corner.client.call("object-get", &[&loid]).send()).expect("a record has an ETag")
}

/// What a caller can see of an object.
fn seen(corner: &Corner, loid: &str) -> (Option<String>, Value) {
    let answer = corner.client.call("object-get", &[&loid]).send();
    (tag(&answer), lasting(&answer).1)
}

#[test]
fn what_a_client_has_already_is_not_sent_again() {
    on_each(
        15,
        |endpoint| endpoint.method == "GET" && endpoint.knows("If-None-Match") && !reads_what_others_change(endpoint),
        |faults, case, corner| {
            let made = (case.make)(corner);
            let first = made.call(&corner.client, case.id).send();
            let Some(tag) = tag(&first) else {
                return faults.expect(false, || format!("{}: no ETag", case.id));
            };
            let strong = tag.starts_with('"') && tag.ends_with('"');
            faults.expect(strong, || format!("{}: {tag}", case.id));
            for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", W/{tag}"), "*".to_owned()] {
                let again = made.call(&corner.client, case.id).header("if-none-match", &known).send();
                let well = again.status == 304 && again.body.is_empty() && again.header("etag") == Some(&*tag);
                faults.expect(well, || format!("{} {known}: {again:?}", case.id));
            }
            for other in ["\"other\"", "\"\"", "nonsense"] {
                let again = made.call(&corner.client, case.id).header("if-none-match", other).send();
                let same = again.status == 200 && again.body == first.body;
                faults.expect(same, || format!("{} {other}: {again:?}", case.id));
            }
        },
    );
}

#[test]
fn a_read_is_conditional_where_the_document_lists_304_and_takes_no_notice_elsewhere() {
    let document = Server::shared().client().get("/openapi.json").json();
    let listed = |endpoint: &Endpoint| document["paths"][&endpoint.path]["get"]["responses"].get("304").is_some();
    let about = |endpoint: &Endpoint| endpoint.method == "GET" && !endpoint.path.ends_with("/logout");
    on_each(26, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let answer = made.call(&corner.client, case.id).header("if-none-match", "*").send();
        let listed = listed(case.endpoint());
        let known = case.endpoint().knows("If-None-Match");
        faults.expect(listed == known, || format!("{}: the document tells of one without the other", case.id));
        faults
            .expect(answer.status == if listed { 304 } else { 200 }, || format!("{}: {:?}", case.id, lasting(&answer)));
    });
}

#[test]
fn a_stale_tag_refuses_a_write_and_changes_nothing() {
    on_each(
        26,
        |endpoint| endpoint.knows("If-Match"),
        |faults, case, corner| {
            let made = (case.make)(corner);
            let about = made.about().expect("a conditional write is about an object").to_owned();
            let before = seen(corner, &about);
            for stale in ["\"0-0\"", "\"nonsense\"", "\"\"", "W/\"1-1\"", "\"0-0\", \"x-1\""] {
                let answer = made.call(&corner.client, case.id).header("if-match", stale).send();
                let current = &answer.json()["result"]["details"]["current"];
                // What lies in the recycle bin is not shown.
                let shown = current["id"] == about.as_str() || before.0.is_none();
                let well = answer.status == 412 && code(&answer) == "PreconditionFailed" && shown;
                faults.expect(well, || format!("{} {stale}: {:?}", case.id, lasting(&answer)));
            }
            faults.expect(seen(corner, &about) == before, || format!("{}: something changed", case.id));
        },
    );
}

#[test]
fn the_tag_of_the_present_revision_lets_a_write_pass() {
    on_each(
        26,
        |endpoint| endpoint.knows("If-Match"),
        |faults, case, corner| {
            for form in 0..3 {
                let made = (case.make)(corner);
                let about = made.about().expect("a conditional write is about an object");
                // One in the recycle bin can't be read.
                let record = corner.client.call("object-get", &[&about]).send();
                let tag = match (form, tag(&record)) {
                    (0, Some(tag)) => tag,
                    (1, Some(tag)) => format!("\"0-0\", {tag}"),
                    _ => "*".to_owned(),
                };
                let answer = made.call(&corner.client, case.id).header("if-match", &tag).send();
                faults.expect(answer.status == 200, || format!("{} {tag}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
}

#[test]
fn a_second_write_under_the_same_tag_is_too_late() {
    // What is gone or unlocked after the first, or in the recycle bin before, can't be written again.
    let about = |endpoint: &Endpoint| {
        let ends = [
            "object-discard",
            "object-destroy",
            "liveblog-delete",
            "stet-object-restore-post",
            "stet-object-unlock-post",
        ];
        endpoint.knows("If-Match") && !ends.contains(&&*endpoint.id)
    };
    on_each(21, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let about = made.about().expect("a conditional write is about an object").to_owned();
        let tag = tag_of(corner, &about);
        let call = made.call(&corner.client, case.id).header("if-match", &tag);
        let first = call.send();
        faults.expect(first.status == 200, || format!("{}: {:?}", case.id, lasting(&first)));
        faults.expect(tag_of(corner, &about) != tag, || format!("{}: the revision is the same", case.id));
        let second = call.send();
        // What it names besides may have gone with the first.
        let well = second.status == 412 || (second.status == 404 && made.objects().len() > 1);
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&second)));
    });
}

#[test]
fn the_reply_to_a_change_has_the_tag_for_the_next() {
    let about = |endpoint: &Endpoint| {
        // The reply is the target drawer.
        endpoint.knows("If-Match") && endpoint.id != "drawer-item-move-put"
    };
    let mut with = std::sync::atomic::AtomicUsize::new(0);
    on_each(25, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let about = made.about().expect("a conditional write is about an object").to_owned();
        let answer = made.call(&corner.client, case.id).send();
        let (Some(replied), 200) = (tag(&answer), answer.status) else { return };
        with.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let present = tag_of(corner, &about);
        let revision = |tag: &str| tag.split('-').next().map(str::to_owned);
        let same = revision(&replied) == revision(&present);
        faults.expect(same, || format!("{}: {replied}, and then {present}", case.id));
    });
    assert!(*with.get_mut() >= 14, "{with:?}");
}
