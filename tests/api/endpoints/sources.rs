//! Sources that lead to something, to something else, or to nothing (docs/api/README.md,
//! "Sources").

use std::cell::Cell;

use serde_json::json;

use super::*;

fn has_objects(endpoint: &Endpoint) -> bool {
    endpoint.parameters().any(|name| ["source", "topic", "topicPlan"].contains(&name)) || endpoint.takes("loid")
}

/// The record of the object that a call is about, as it is now; it may have gone.
fn state(corner: &Corner, loid: &str) -> Value {
    lasting(&corner.client.call("object-get", &[&loid]).send()).1
}

#[test]
fn missing_sources_are_not_found_and_nothing_changes() {
    on_each(47, has_objects, |faults, case, corner| {
        let made = (case.make)(corner);
        let about = made.about().expect("it has objects").to_owned();
        let before = state(corner, &about);
        for (_, kind, replaced) in made.objects() {
            for missing in [NOWHERE, "0190f3a1-7c1e-7000-8000-0123456789ab", "/Test/no such thing", "7$1.0.5"] {
                let answer = replaced(missing).call(&corner.client, case.id).send();
                let expected = if kind == Kind::Template { "TemplateNotFound" } else { "ObjectNotFound" };
                let well = answer.status == 404 && code(&answer) == expected;
                faults.expect(well, || format!("{} {missing}: {:?}", case.id, lasting(&answer)));
                let named = answer.said()["source"] == missing;
                faults.expect(named, || format!("{} {missing}: {:?}", case.id, lasting(&answer)));
            }
        }
        faults.expect(state(corner, &about) == before, || format!("{}: something changed", case.id));
    });
}

#[test]
fn malformed_sources_are_invalid_parameters() {
    on_each(47, has_objects, |faults, case, corner| {
        let made = (case.make)(corner);
        // A post has a name, which can be any text.
        for (.., replaced) in made.objects().into_iter().filter(|(_, kind, _)| *kind != Kind::Post) {
            for nonsense in ["desk", "1.2", "x$1.0.5", "{0190f3a1}", "/a?uuid=nonsense"] {
                let answer = replaced(nonsense).call(&corner.client, case.id).send();
                let said = answer.said()["message"].as_str().is_some_and(|text| text.contains(nonsense));
                let well = answer.status == 400 && code(&answer) == "InvalidParameter" && said;
                faults.expect(well, || format!("{} {nonsense}: {:?}", case.id, lasting(&answer)));
            }
        }
    });
}

#[test]
fn an_object_of_another_kind_is_refused_and_nothing_changes() {
    on_each(25, has_objects, |faults, case, corner| {
        let made = (case.make)(corner);
        let about = made.about().expect("it has objects").to_owned();
        let others = [
            (Kind::Only("folder"), corner.folder().to_string()),
            (Kind::Only("drawer"), corner.client.drawer(&corner.folder, "another kind", 3)),
            (Kind::Only("liveblog"), corner.client.liveblog(&corner.folder, "another kind of it")),
            (Kind::Any, corner.client.story(&corner.folder, "a story of another kind")),
        ];
        let before = state(corner, &about);
        for (_, kind, replaced) in made.objects() {
            let Kind::Only(_) = kind else { continue };
            for (_, other) in others.iter().filter(|(other, _)| *other != kind) {
                let answer = replaced(other).call(&corner.client, case.id).send();
                let named = answer.said()["source"] == *other;
                let well = answer.status == 400 && code(&answer) == "InvalidType" && named;
                faults.expect(well, || format!("{} {other}: {:?}", case.id, lasting(&answer)));
            }
        }
        faults.expect(state(corner, &about) == before, || format!("{}: something changed", case.id));
    });
}

/// The ways to name an object.
pub(super) fn names_of(client: &Client, loid: &str) -> Vec<String> {
    let record = client.call("object-get", &[&loid]).query("showPath", true).ok();
    let uuid = record["pstate"]["uuid"].as_str().expect("an object has a uuid").to_owned();
    let path = record["path"].as_str().expect("the path was asked for");
    let without_database =
        record["id"].as_str().and_then(|loid| loid.split_once('$')).expect("a loid has a database").1;
    vec![
        without_database.to_owned(),
        uuid.clone(),
        uuid.to_uppercase(),
        uuid.replace('-', ""),
        format!("{{{uuid}}}"),
        format!("urn:uuid:{uuid}"),
        path.to_owned(),
        format!("{path}?uuid={uuid}"),
        // The uuid wins over a path that leads nowhere.
        format!("/nowhere/at/all?uuid={}", uuid.to_uppercase()),
    ]
}

#[test]
fn an_object_is_named_by_any_form_of_source() {
    // One in the recycle bin has no path.
    let about = |endpoint: &Endpoint| has_objects(endpoint) && endpoint.id != "stet-object-restore-post";
    on_each(46, about, |faults, case, corner| {
        let forms = names_of(&corner.client, &corner.client.story(&corner.folder, "forms")).len();
        // A call may do away with its objects: each form gets its own.
        let objects = (case.make)(corner).objects().len();
        for (object, form) in (0..objects).flat_map(|object| (0..forms).map(move |form| (object, form))) {
            let made = (case.make)(corner);
            let (loid, kind, replaced) = made.objects().swap_remove(object);
            if matches!(kind, Kind::Post | Kind::TopicItem) {
                // It is no object of its own: `liveblog::posts`, `topic::items`.
                break;
            }
            let name = names_of(&corner.client, &loid).swap_remove(form);
            let answer = replaced(&name).call(&corner.client, case.id).send();
            faults.expect(answer.status == 200, || format!("{} {name}: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn a_dollar_may_be_encoded_or_not() {
    let corner = Corner::new();
    let loid = corner.client.story(&corner.folder, "dollar");
    let path = format!("{}/dollar", corner.folder).replace('/', "%2f");
    for spelling in [loid.clone(), loid.replace('$', "%24"), loid.replace('.', "%2E"), path] {
        assert_eq!(corner.client.get(&format!("/v3/object/{spelling}")).ok()["id"], loid, "{spelling}");
    }
}

#[test]
fn the_database_of_a_call_must_be_a_known_one() {
    on_each(
        47,
        |endpoint| endpoint.takes("databaseId"),
        |faults, case, corner| {
            let unknown = (case.make)(corner);
            for database in ["nowhere", "77", "-1", "99999999999999999999"] {
                let answer = unknown.call(&corner.client, case.id).query("databaseId", database).send();
                let well = answer.status == 404 && code(&answer) == "DatabaseNotFound";
                faults.expect(well, || format!("{} {database}: {:?}", case.id, lasting(&answer)));
            }
            for database in ["1", "main", ""] {
                let made = (case.make)(corner);
                let answer = made.call(&corner.client, case.id).query("databaseId", database).send();
                faults.expect(answer.status == 200, || format!("{} {database}: {:?}", case.id, lasting(&answer)));
            }
        },
    );
}

#[test]
fn a_list_of_objects_tells_of_each_that_is_not_there() {
    let corner = Corner::new();
    let client = &corner.client;
    for id in ["stet-object-list-post", "objects-discard", "objects-destroy"] {
        let story = client.story(&corner.folder, &format!("{id}.xml"));
        let body = json!({ "sources": [NOWHERE, story, "/no/where"] });
        let reply = client.call(id, &[]).json(&body).ok();
        let items = reply["items"].as_array().map(Vec::len);
        let missing = |source: &str| json!({ "source": source, "code": "CMS.ObjectNotFound" });
        assert_eq!(items, Some(1), "{id}: {reply}");
        includes(&reply["errors"], &json!([missing(NOWHERE), missing("/no/where")]));
    }
}

/// Returns a predicate: whether the body of an endpoint is a list of objects.
fn takes_a_list() -> impl Fn(&Endpoint) -> bool {
    let document = Server::shared().client().get("/openapi.json").json();
    move |endpoint| {
        let operation = &document["paths"][&endpoint.path][endpoint.method.to_lowercase()];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let lists = ["ObjectListRequest", "ItemListRequest"];
        schema.as_str().and_then(|name| name.rsplit('/').next()).is_some_and(|name| lists.contains(&name))
    }
}

#[test]
fn items_and_errors_of_a_bulk_call_have_the_order_of_the_request() {
    let in_bulk = std::sync::atomic::AtomicUsize::new(0);
    on_each(6, takes_a_list(), |faults, case, corner| {
        let listed = |made: &Made| match &made.body {
            cases::Body::Json(body) => body["sources"].as_array().cloned().expect("it is a list"),
            _ => panic!("{} takes a list", case.id),
        };
        let made = (case.make)(corner);
        let mut there = listed(&made);
        if there.len() == 1 {
            there.extend(listed(&(case.make)(corner)));
        }
        // The second in front: not by age either. The story is there, but in no container.
        let [first, second] = [there[1].clone(), there[0].clone()];
        let story = json!(corner.client.story(&corner.folder, "in no container"));
        let sources =
            [story, json!(NOWHERE), first.clone(), json!("desk"), second.clone(), json!("/no/where"), json!("1.2")];
        let list = Made { body: cases::Body::Json(json!({ "sources": sources })), ..made.clone() };
        let answer = list.call(&corner.client, case.id).send();
        if answer.status == 404 {
            // All or nothing.
            let done = made.call(&corner.client, case.id).send();
            return faults.expect(done.status == 200, || format!("{}: {:?}", case.id, lasting(&done)));
        }
        in_bulk.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let reply = answer.said();
        let places = |list: &str| -> Vec<Option<usize>> {
            let of = |item: &Value| {
                let names = [&item["source"], &item["info"]["id"], &item["id"]];
                sources.iter().position(|source| names.contains(&source))
            };
            reply[list].as_array().map(|list| list.iter().map(of).collect()).unwrap_or_default()
        };
        let (items, errors) = (places("items"), places("errors"));
        let rising = |places: &[Option<usize>]| places.iter().all(Option::is_some) && places.is_sorted();
        let well = answer.status == 200
            && rising(&items)
            && rising(&errors)
            && items.len() + errors.len() == sources.len()
            && [Some(2), Some(4)].iter().all(|place| items.contains(place));
        faults.expect(well, || format!("{}: {items:?} {errors:?} {reply}", case.id));
    });
    assert!(in_bulk.into_inner() >= 5);
}

#[test]
fn the_database_of_a_list_may_stand_in_its_body_and_must_be_a_known_one() {
    on_each(6, takes_a_list(), |faults, case, corner| {
        let within = |database: Value| {
            let mut made = (case.make)(corner);
            if let cases::Body::Json(body) = &mut made.body {
                body["databaseId"] = database;
            }
            made.call(&corner.client, case.id).send()
        };
        for database in [json!("nowhere"), json!(77), json!("77")] {
            let answer = within(database.clone());
            let well = answer.status == 404 && code(&answer) == "DatabaseNotFound";
            faults.expect(well, || format!("{} {database}: {:?}", case.id, lasting(&answer)));
        }
        for database in [json!("main"), json!(1), json!("1"), Value::Null] {
            let answer = within(database.clone());
            faults.expect(answer.status == 200, || format!("{} {database}: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn each_form_of_a_source_leads_to_the_same_object() {
    let corner = Corner::new();
    let loid = corner.client.story(&corner.folder, "same");
    for name in names_of(&corner.client, &loid) {
        corner.client.call("object-get", &[&name]).gives(&json!({ "id": loid }));
    }
}

#[test]
fn a_read_says_the_same_whichever_form_its_source_has() {
    on_each(
        10,
        |endpoint| has_objects(endpoint) && endpoint.method == "GET",
        |faults, case, corner| {
            let made = (case.make)(corner);
            let first = lasting(&made.call(&corner.client, case.id).send());
            let parts = [Kind::Post, Kind::TopicItem];
            for (loid, _, replaced) in made.objects().into_iter().filter(|(_, kind, _)| !parts.contains(kind)) {
                for name in names_of(&corner.client, &loid) {
                    let again = lasting(&replaced(&name).call(&corner.client, case.id).send());
                    faults.expect(again == first, || format!("{} {name}: {again:?}, not {first:?}", case.id));
                }
            }
        },
    );
}

#[test]
fn a_list_names_objects_by_any_form_of_source() {
    let corner = Corner::new();
    let forms = names_of(&corner.client, &corner.client.story(&corner.folder, "forms in a list")).len();
    let ids =
        ["drawer-items-post", "drawer-items-delete", "stet-object-list-post", "objects-discard", "objects-destroy"];
    for id in ids {
        let case = all_cases().find(|case| case.id == id).expect("it is served");
        for form in 0..forms {
            let made = (case.make)(&corner);
            let cases::Body::Json(body) = &made.body else { panic!("{} takes a list", case.id) };
            let sources = body["sources"].as_array().expect("it is one").iter();
            let named: Vec<String> = sources
                .map(|source| names_of(&corner.client, source.as_str().expect("a loid")).swap_remove(form))
                .collect();
            let list = Made { body: cases::Body::Json(json!({ "sources": named })), ..made.clone() };
            let reply = list.call(&corner.client, case.id).ok();
            let done = (reply["items"].as_array().map(Vec::len), reply["errors"].as_array().map_or(0, Vec::len));
            assert_eq!(done, (Some(named.len()), 0), "{} {named:?}: {reply}", case.id);
        }
    }
}

/// Posts and channel copies that named a version were made of the object as it is.
#[test]
fn a_version_is_not_changed_by_whatever_call_names_it() {
    let changes = |endpoint: &Endpoint| {
        let needed = endpoint.privilege.as_deref().unwrap_or("read");
        has_objects(endpoint) && endpoint.method != "GET" && needed != "read"
    };
    let refused = Cell::new(0);
    on_each(30, changes, |faults, case, corner| {
        let made = (case.make)(corner);
        let about = made.about().expect("it has objects").to_owned();
        let before = state(corner, &about);
        let Some((_, kind, replaced)) = made.objects().into_iter().next() else { return };
        if kind == Kind::Template || !about.contains(".0.") {
            return;
        }
        let answer = replaced(&about.replacen(".0.", ".1.", 1)).call(&corner.client, case.id).send();
        let code = code(&answer);
        // Not all objects have versions.
        let well = ["InvalidType", "ObjectNotFound"].contains(&&*code);
        faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
        faults.expect(state(corner, &about) == before, || format!("{}: something changed", case.id));
        refused.set(refused.get() + usize::from(code == "InvalidType"));
    });
    assert!(refused.get() > 15, "{} calls were told that it is a version", refused.get());
}
