//! ETags, `If-None-Match` and `If-Match` (docs/api/README.md, "Conditional requests").

use serde_json::json;

use super::cases::Body;
use super::*;

fn tag(answer: &Answer) -> Option<String> {
    answer.header("etag").map(str::to_owned)
}

/// The ETag of an object's record.
fn tag_of(corner: &Corner, loid: &str) -> String {
    tag(&corner.client.call("object-get", &[&loid]).send()).expect("a record has an ETag")
}

/// Returns the ETag and the reply of an object's record.
fn seen(corner: &Corner, loid: &str) -> (Option<String>, Value) {
    let answer = corner.client.call("object-get", &[&loid]).send();
    (tag(&answer), lasting(&answer).1)
}

#[test]
fn unchanged_replies_are_answered_304_by_etag() {
    on_each(
        15,
        |endpoint| endpoint.method == "GET" && endpoint.knows("If-None-Match") && !reads_what_others_change(endpoint),
        |faults, case, corner| {
            let made = (case.make)(corner);
            let read = || made.call(&corner.client, case.id);
            // Other tests may change what is read, such as the list of all users. Then it is read
            // again.
            for left in (0..20).rev() {
                let is_last = left == 0;
                let first = read().send();
                let Some(tag) = tag(&first) else {
                    return faults.expect(false, || format!("{}: no ETag", case.id));
                };
                let mut wrong = Vec::new();
                if !(tag.starts_with('"') && tag.ends_with('"')) {
                    wrong.push(format!("{}: {tag}", case.id));
                }
                for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", W/{tag}"), "*".to_owned()] {
                    let again = read().header("if-none-match", &known).send();
                    if again.status != 304 || !again.body.is_empty() || again.header("etag") != Some(&*tag) {
                        wrong.push(format!("{} {known}: {again:?}", case.id));
                    }
                }
                for other in ["\"other\"", "\"\"", "nonsense"] {
                    let again = read().header("if-none-match", other).send();
                    if again.status != 200 || again.body != first.body {
                        wrong.push(format!("{} {other}: {again:?}", case.id));
                    }
                }
                if wrong.is_empty() || is_last || read().send().header("etag") == Some(&*tag) {
                    return faults.expect(wrong.is_empty(), || wrong.join("\n"));
                }
            }
        },
    );
}

#[test]
fn reads_are_conditional_exactly_where_the_openapi_document_lists_304() {
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

/// Endpoints that need only the right to read, and change the objects that they check out.
const OPENS: [&str; 3] = ["opendocument-source-post", "opendocument-post", "opendocuments-post"];

/// Returns whether calls of the endpoint change objects. Users, groups, keys and sessions have no
/// tags.
fn changes_objects(endpoint: &Endpoint) -> bool {
    let about = endpoint.privilege.as_deref().unwrap_or("read");
    let writes = endpoint.method != "GET" && !["read", "manageGroups", "configure"].contains(&about);
    writes || OPENS.contains(&&*endpoint.id)
}

/// A call of the case that changes something.
fn made_to_change(case: &Case, corner: &Corner) -> Made {
    let mut made = (case.make)(corner);
    if OPENS.contains(&case.id) {
        if !matches!(made.body, Body::Json(_)) {
            made = made.json(json!({}));
        }
        if let Body::Json(body) = &mut made.body {
            body["checkOut"] = json!(true);
        }
    }
    made
}

/// Returns whether the path or query names the object that a call changes.
fn names_what_it_changes(endpoint: &Endpoint) -> bool {
    endpoint.knows("If-Match") && (endpoint.scope == "path" || endpoint.takes("loid") || endpoint.takes("source"))
}

/// Returns the object that a body names: the target of sources, or the opened object.
fn about_one(body: &Value) -> Option<&str> {
    body["target"].as_str().or(body["source"].as_str())
}

/// The objects that the body of a bulk call lists.
fn listed(body: &Value) -> Option<&Vec<Value>> {
    body["sources"].as_array().or(body["updateFields"][0]["sourceIds"].as_array())
}

/// A call that changes or writes over objects that are there, and these objects.
struct Write {
    made: Made,
    objects: Vec<String>,
    /// `true` if each object is a change of its own.
    bulk: bool,
}

impl Write {
    /// Returns the write of a case's endpoint. A creation becomes one that meets the object of an
    /// earlier call.
    fn of(case: &Case, corner: &Corner) -> Write {
        let mut made = made_to_change(case, corner);
        if names_what_it_changes(case.endpoint()) {
            let object = made.about().expect("it names an object").to_owned();
            return Write { made, objects: vec![object], bulk: false };
        }
        // A change of all or nothing, about where the sources go.
        if let Body::Json(body) = &made.body
            && let Some(target) = about_one(body)
        {
            let objects = vec![target.to_owned()];
            return Write { made, objects, bulk: false };
        }
        if let Body::Json(body) = &made.body
            && let Some(sources) = listed(body)
        {
            let objects = sources.iter().map(|source| source.as_str().expect("a loid").to_owned()).collect();
            return Write { made, objects, bulk: true };
        }
        let first = made.call(&corner.client, case.id).ok();
        let id = first["info"]["id"].as_str().or(first["id"].as_str()).expect("what was made has an id").to_owned();
        if let Body::Json(body) | Body::Form(body, _) = &mut made.body {
            body["createMode"] = json!("NEW_VERSION");
        }
        Write { made, objects: vec![id], bulk: false }
    }

    /// Returns the visible state of its objects, and of the folder that they are in.
    fn seen(&self, corner: &Corner) -> Vec<(Option<String>, Value)> {
        let mut seen: Vec<_> = self.objects.iter().map(|object| seen(corner, object)).collect();
        seen.push((None, corner.client.call("folder-get", &[&corner.folder]).ok()["items"].clone()));
        seen
    }
}

#[test]
fn each_change_of_objects_is_held_to_if_match() {
    for endpoint in Endpoint::all() {
        // An import needs another privilege than changes of objects do.
        let changes = changes_objects(endpoint) || endpoint.id == "stet-object-import-post";
        assert_eq!(endpoint.knows("If-Match"), changes, "{}", endpoint.id);
    }
}

#[test]
fn if_none_match_is_refused_on_a_write_and_changes_nothing() {
    on_each(34, changes_objects, |faults, case, corner| {
        let write = Write::of(case, corner);
        let before = write.seen(corner);
        for value in ["*", "\"1-1$1.0.5-0\"", "nonsense"] {
            let answer = write.made.call(&corner.client, case.id).header("if-none-match", value).send();
            let result = answer.said();
            let named = result["message"].as_str().is_some_and(|message| message.contains("If-None-Match"));
            let well = answer.status == 400 && result["code"] == "CMS.InvalidParameter" && named;
            faults.expect(well, || format!("{} {value}: {:?}", case.id, lasting(&answer)));
        }
        faults.expect(write.seen(corner) == before, || format!("{}: something changed", case.id));
    });
}

#[test]
fn stale_etags_and_etags_of_other_objects_refuse_every_write() {
    on_each(34, changes_objects, |faults, case, corner| {
        let write = Write::of(case, corner);
        let other = corner.story().to_string();
        let before = write.seen(corner);
        // What lies in the recycle bin can't be read: its tag is one that it had.
        let tags: Vec<_> = write.objects.iter().map(|object| seen(corner, object).0).collect();
        let mut stale: Vec<String> =
            ["\"nonsense\"", "\"\"", "nonsense", "W/\"1-1\"", "\"0-0\", \"x-1\""].map(str::to_owned).into();
        stale.push(tag_of(corner, &other));
        for (object, tag) in write.objects.iter().zip(&tags) {
            stale.push(format!("\"0-{object}-0\""));
            stale.push(format!("\"4711-{object}-0\""));
            stale.extend(tag.iter().map(|tag| tag.replace(object, &other)));
            stale.extend(tag.iter().map(|tag| format!("W/{tag}")));
        }
        for stale in &stale {
            let answer = write.made.call(&corner.client, case.id).header("if-match", stale).send();
            let said = answer.said();
            let current = |failure: &Value, object: &str| {
                let shown = failure["details"]["current"]["id"] == object || before[0].0.is_none();
                failure["code"] == "CMS.PreconditionFailed" && shown
            };
            let well = if write.bulk {
                let errors = said["errors"].as_array().cloned().unwrap_or_default();
                let each = errors.iter().zip(&write.objects);
                answer.status == 200
                    && said["items"] == json!([])
                    && errors.len() == write.objects.len()
                    && each.into_iter().all(|(error, object)| error["source"] == **object && current(error, object))
            } else {
                answer.status == 412 && current(&said, &write.objects[0])
            };
            faults.expect(well, || format!("{} {stale}: {:?}", case.id, lasting(&answer)));
        }
        faults.expect(write.seen(corner) == before, || format!("{}: something changed", case.id));
    });
}

#[test]
fn the_tag_of_the_present_revision_lets_a_write_pass() {
    // A message is new each time.
    let about = |endpoint: &Endpoint| changes_objects(endpoint) && !SENDS_MESSAGES.contains(&endpoint.id.as_str());
    on_each(34, about, |faults, case, corner| {
        for form in 0..3 {
            let write = Write::of(case, corner);
            // One in the recycle bin can't be read.
            let tags: Option<Vec<String>> = write.objects.iter().map(|object| seen(corner, object).0).collect();
            let tag = match (form, tags) {
                (0, Some(tags)) => tags.join(", "),
                (1, Some(tags)) => format!("\"0-0\", {}", tags.join(",")),
                _ => "*".to_owned(),
            };
            let answer = write.made.call(&corner.client, case.id).header("if-match", &tag).send();
            let errors = answer.said()["errors"].as_array().map_or(0, Vec::len);
            let well = answer.status == 200 && errors == 0;
            faults.expect(well, || format!("{} {tag}: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn a_call_sent_again_under_its_key_is_not_held_to_its_tag_again() {
    let about = |endpoint: &Endpoint| changes_objects(endpoint) && endpoint.knows("Idempotency-Key");
    on_each(15, about, |faults, case, corner| {
        let write = Write::of(case, corner);
        let Some(tag) = seen(corner, &write.objects[0]).0 else { return };
        let key = own_folder().replace('/', "-");
        let call = write.made.call(&corner.client, case.id).header("if-match", &tag).header("idempotency-key", key);
        let (first, again) = (call.send(), call.send());
        let well = first.status == 200 && again.status == 200 && again.body == first.body;
        faults.expect(well, || format!("{}: {:?}, then {:?}", case.id, lasting(&first), lasting(&again)));
    });
}

#[test]
fn a_creation_that_expects_something_and_meets_nothing_makes_nothing() {
    let creates = |endpoint: &Endpoint| changes_objects(endpoint) && !names_what_it_changes(endpoint);
    on_each(7, creates, |faults, case, corner| {
        let made = (case.make)(corner);
        // Objects created once for each user may exist, and some objects of a list, too.
        let (Body::Json(body) | Body::Form(body, _)) = &made.body else { return };
        if listed(body).is_some() || OPENS.contains(&case.id) {
            return;
        }
        let other = tag_of(corner, &corner.story().to_string());
        let entries = || corner.client.call("folder-get", &[&corner.folder]).ok()["items"].clone();
        let before = entries();
        for mode in ["EXCEPTION", "AUTO_RENAME", "REPLACE", "NEW_VERSION"] {
            let mut made = made.clone();
            if let Body::Json(body) | Body::Form(body, _) = &mut made.body {
                body["createMode"] = json!(mode);
            }
            for expected in ["*", &other] {
                let answer = made.call(&corner.client, case.id).header("if-match", expected).send();
                let well = answer.status == 412 && code(&answer) == "PreconditionFailed";
                faults.expect(well, || format!("{} {mode} {expected}: {:?}", case.id, lasting(&answer)));
            }
        }
        faults.expect(entries() == before, || format!("{}: something was made", case.id));
    });
}

#[test]
fn a_tag_is_of_one_object_and_not_of_the_next_that_has_its_name() {
    let corner = Corner::new();
    let path = format!("{}/a.xml", corner.folder);
    let old = corner.client.story(&corner.folder, "a.xml");
    let tag = tag_of(&corner, &old);
    corner.client.call("object-discard", &[&old]).ok();
    let new = corner.client.story(&corner.folder, "a.xml");
    let before = seen(&corner, &new);
    let revision = |tag: &str| tag.split('-').next().map(str::to_owned);
    assert_eq!(revision(&tag), revision(before.0.as_ref().expect("a record has a tag")), "both have just been made");
    let write = corner.client.call("stet-object-content-put", &[&path]).bytes("text/xml", "<late/>");
    let discard = corner.client.call("object-discard", &[&path]);
    for call in [&write, &discard] {
        let error = call.clone().header("if-match", &tag).fails(412, "PreconditionFailed");
        assert_eq!(error["details"]["current"]["id"], new);
    }
    assert_eq!(seen(&corner, &new), before);
    discard.header("if-match", tag_of(&corner, &new)).ok();
}

#[test]
fn bulk_calls_change_matching_objects_and_leave_the_others() {
    let corner = Corner::new();
    for (id, is_gone) in [("objects-discard", 404), ("objects-destroy", 404)] {
        let [kept, gone] = ["kept", "gone"].map(|name| corner.client.story(&corner.folder, &format!("{id}-{name}")));
        let [stale, fresh] = [&kept, &gone].map(|object| tag_of(&corner, object));
        corner.client.call("stet-object-content-put", &[&kept]).bytes("text/xml", "<newer/>").ok();
        let body = json!({ "sources": [NOWHERE, kept, gone, "nonsense"] });
        let call = corner.client.call(id, &[]).json(&body).header("if-match", format!("{stale}, {fresh}"));
        let reply = call.ok();
        assert_eq!(reply["items"], json!([{ "source": gone, "id": gone }]), "{id}");
        let errors = reply["errors"].as_array().expect("there are some");
        let told: Vec<_> = errors.iter().map(|error| (error["source"].clone(), error["code"].clone())).collect();
        let wanted = [(NOWHERE, "ObjectNotFound"), (&kept, "PreconditionFailed"), ("nonsense", "InvalidParameter")];
        assert_eq!(told, wanted.map(|(source, code)| (json!(source), json!(format!("CMS.{code}")))), "{id}");
        let current = &errors[1]["details"]["current"];
        assert_eq!((&current["id"], current.get("attributes")), (&json!(kept), None), "it is short: {current}");
        assert_eq!(corner.client.call("object-get", &[&gone]).send().status, is_gone);
        corner.client.call("object-get", &[&kept]).ok();
    }
}

#[test]
fn a_second_write_under_the_same_tag_is_too_late() {
    // Ten of them can be sent only once.
    on_each(31, names_what_it_changes, |faults, case, corner| {
        let made = made_to_change(case, corner);
        if made.once {
            return;
        }
        let about = made.about().expect("a conditional write is about an object").to_owned();
        let tag = tag_of(corner, &about);
        let call = made.call(&corner.client, case.id).header("if-match", &tag);
        let first = call.send();
        faults.expect(first.status == 200, || format!("{}: {:?}", case.id, lasting(&first)));
        faults.expect(tag_of(corner, &about) != tag, || format!("{}: the revision is the same", case.id));
        let second = call.send();
        // Other objects in the call may be deleted by the first one.
        let well = second.status == 412 || (second.status == 404 && made.objects().len() > 1);
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&second)));
    });
}

#[test]
fn a_reply_has_a_tag_exactly_where_the_document_lists_one() {
    let document = Server::shared().client().get("/openapi.json").json();
    on_each(
        70,
        |_| true,
        |faults, case, corner| {
            let made = (case.make)(corner);
            let answer = made.call(&corner.client, case.id).send();
            let operation = &document["paths"][&case.endpoint().path][case.endpoint().method.to_lowercase()];
            let listed = operation["responses"]["200"]["headers"].get("ETag").is_some();
            let well = answer.status == 200 && tag(&answer).is_some() == listed;
            faults.expect(well, || format!("{}: {:?}, and listed is {listed}", case.id, answer.header("etag")));
        },
    );
}

#[test]
fn a_reply_has_no_header_that_the_document_does_not_list() {
    // What HTTP asks for, what keeps browsers from harm, and what all replies have alike.
    let general = [
        "access-control-",
        "cache-control",
        "connection",
        "content-length",
        "content-security-policy",
        "content-type",
        "date",
        "ratelimit-",
        "referrer-policy",
        "set-cookie",
        "transfer-encoding",
        "vary",
        "x-accel-buffering",
        "x-content-type-options",
    ];
    let document = Server::shared().client().get("/openapi.json").json();
    on_each(
        70,
        |_| true,
        |faults, case, corner| {
            let answer = (case.make)(corner).call(&corner.client, case.id).send();
            let operation = &document["paths"][&case.endpoint().path][case.endpoint().method.to_lowercase()];
            let listed = operation["responses"]["200"]["headers"].as_object().expect("some are listed");
            let listed: Vec<String> = listed.keys().map(|name| name.to_lowercase()).collect();
            for (name, _) in &answer.headers {
                let name = name.to_lowercase();
                let well = listed.contains(&name) || general.iter().any(|known| name.starts_with(known));
                faults.expect(well, || format!("{}: {name}", case.id));
            }
        },
    );
}

/// Lets many clients change one object at once. Each must get the result of its own change.
#[test]
fn concurrent_changes_are_each_answered_with_their_own_result() {
    let corner = Corner::new();
    let story = corner.client.story(&corner.folder, "contended.xml");
    let drawer = corner.client.drawer(&corner.folder, "contended", 5);
    let (writers, rounds) = (8, 6);
    let folder = &corner.folder;
    let replies: Vec<(String, String, Value)> = std::thread::scope(|scope| {
        let writers = (0..writers).map(|writer| {
            let (client, story, drawer) = (corner.client.clone(), story.clone(), drawer.clone());
            scope.spawn(move || {
                let mut replies = Vec::new();
                for round in 0..rounds {
                    let bytes = format!("<story>{writer} {round}</story>");
                    let title = format!("{writer} {round}");
                    let write = client.call("stet-object-content-put", &[&story]).bytes("text/xml", bytes.clone());
                    let options = json!({ "name": "contended.xml", "folderPath": folder, "createMode": "NEW_VERSION" });
                    let file = [("content", "contended.xml", "text/xml", bytes.as_bytes())];
                    let again = client.call("stet-object-create-post", &[]).form(&options, &file);
                    let retitle = client.call("drawer-put", &[&drawer]).json(&json!({ "title": title }));
                    for (what, call) in
                        [("content", write.query("newVersion", true)), ("create", again), ("title", retitle)]
                    {
                        let answer = call.send();
                        assert_eq!(answer.status, 200, "{what}: {answer:?}");
                        let result = answer.said();
                        if what == "title" {
                            assert_eq!(result["info"]["title"], title, "another's title");
                        }
                        replies.push((what.to_owned(), tag(&answer).expect("it has a tag"), result));
                    }
                }
                replies
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("no writer fails")).collect()
    });
    let count = writers * rounds;
    let revisions = |what: &str| -> std::collections::BTreeSet<String> {
        let of = replies.iter().filter(|(of, ..)| (of == "title") == (what == "title"));
        of.map(|(_, tag, _)| tag.split('-').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!((revisions("title").len(), revisions("story").len()), (count, 2 * count), "a tag for each change");
    let versions: std::collections::BTreeSet<u64> =
        replies.iter().filter_map(|(.., result)| result["version"].as_u64()).collect();
    assert_eq!(versions, (2..2 + 2 * count as u64).collect(), "a version for each write");
}

#[test]
fn the_reply_to_a_change_has_the_tag_for_the_next() {
    let about = |endpoint: &Endpoint| {
        // The reply is the target drawer.
        names_what_it_changes(endpoint) && endpoint.id != "drawer-item-move-put"
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
