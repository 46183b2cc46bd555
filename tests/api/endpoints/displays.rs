//! Display options (docs/api/README.md, "Display options").

use serde_json::json;

use super::*;

/// Returns whether a record in a reply has this member.
fn has(value: &Value, member: &str) -> bool {
    match value {
        Value::Object(fields) if fields.contains_key("pstate") => fields.contains_key(member),
        Value::Object(fields) => fields.values().any(|value| has(value, member)),
        Value::Array(values) => values.iter().any(|value| has(value, member)),
        _ => false,
    }
}

/// The endpoints whose query has display options, and whose reply has a record at once.
fn shows(endpoint: &Endpoint) -> bool {
    endpoint.takes("showAttributes") && !endpoint.path.contains("/auth/")
}

/// The changes whose query has display options and whose reply shows the path.
const PATH_BY_DEFAULT: [&str; 2] = ["stet-object-content-put", "stet-object-loid-content-put"];

/// The changes that answer with the record of the object itself and with more.
const RECORD_AMONG_OTHERS: [&str; 4] =
    ["stet-object-import-post", "stet-object-status-post", "crossreference-set-post", "folder-post"];

#[test]
fn the_reply_to_a_change_of_an_object_shows_its_path() {
    let document = Server::shared().client().get("/openapi.json").json();
    let is_record = |endpoint: &Endpoint| {
        let operation = &document["paths"][&endpoint.path][endpoint.method.to_lowercase()];
        let reply = &operation["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["result"];
        reply["$ref"] == "#/components/schemas/ChangedObjectRecord"
    };
    on_each(
        16,
        |endpoint| is_record(endpoint) || RECORD_AMONG_OTHERS.contains(&&*endpoint.id),
        |faults, case, corner| {
            let answer = (case.make)(corner).call(&corner.client, case.id).send();
            faults.expect(answer.status == 200 && has(&answer.json(), "path"), || {
                format!("{}: {:?}", case.id, lasting(&answer))
            });
        },
    );
}

#[test]
fn an_option_shows_or_hides_its_part_of_the_record() {
    on_each(10, shows, |faults, case, corner| {
        for (option, member, by_default) in [
            ("showPath", "path", false),
            ("showAttributes", "attributes", true),
            ("showSystemAttributes", "systemAttributes", true),
            ("showUsageTickets", "usageTickets", true),
            ("showVirtualAttributes", "virtualAttributes", true),
            ("showUniquenessString", "uniquenessString", false),
            ("showXml", "attributesXml", false),
            ("showWebType", "webType", false),
        ] {
            // One has all of them but this.
            if !case.endpoint().takes(option) {
                continue;
            }
            let by_default = by_default || (option == "showPath" && PATH_BY_DEFAULT.contains(&case.id));
            for (value, shown) in [("true", true), ("1", true), ("FALSE", false), ("0", false), ("", by_default)] {
                let made = (case.make)(corner);
                let answer = made.call(&corner.client, case.id).query(option, value).send();
                let well = answer.status == 200 && has(&answer.json(), member) == shown;
                faults.expect(well, || format!("{} {option}={value}: {:?}", case.id, lasting(&answer)));
            }
            let made = (case.make)(corner);
            let answer = made.call(&corner.client, case.id).query(&option.to_uppercase(), !by_default).send();
            let well = answer.status == 200 && has(&answer.json(), member) != by_default;
            faults.expect(well, || format!("{} {option} in capitals: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn each_display_has_a_tag_of_its_own_and_is_given_to_nobody_else() {
    let about =
        |endpoint: &Endpoint| shows(endpoint) && endpoint.knows("If-None-Match") && !reads_what_others_change(endpoint);
    on_each(5, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let mut queries = vec![vec![], vec!["showPath"], vec!["showXml"], vec!["showPath", "showXml"]];
        queries.retain(|options| options.iter().all(|option| case.endpoint().takes(option)));
        let read = |query: &[&str]| {
            let call = made.call(&corner.client, case.id);
            query.iter().fold(call, |call, option| call.query(option, true)).send()
        };
        let first: Vec<Answer> = queries.iter().map(|query| read(query)).collect();
        let mut tags: Vec<_> = first.iter().map(|answer| answer.header("etag").map(str::to_owned)).collect();
        for (query, before) in queries.iter().zip(&first).rev() {
            // Whatever was asked for in between.
            let same = read(query).body == before.body;
            faults.expect(same, || format!("{} {query:?}: another reply the second time", case.id));
        }
        tags.sort();
        tags.dedup();
        faults.expect(tags.len() == queries.len(), || format!("{}: {tags:?}", case.id));
    });
}

/// The JSON object that a call has as its body, or could have.
fn body_of(made: &Made) -> Option<serde_json::Map<String, Value>> {
    match &made.body {
        Body::None => Some(serde_json::Map::new()),
        Body::Json(Value::Object(body)) => Some(body.clone()),
        _ => None,
    }
}

/// The endpoints that take JSON.
fn takes_json(endpoint: &Endpoint) -> bool {
    endpoint.body != "none" && !endpoint.multipart && !endpoint.older()
}

/// The endpoints whose bodies say nothing of the display: they show short records, whatever is
/// asked for.
const SHORT: [&str; 2] = ["stet-object-correlate-post", "stet-object-uncorrelate-post"];

#[test]
fn options_that_are_no_object_are_refused_wherever_a_body_may_have_some() {
    let about = |endpoint: &Endpoint| takes_json(endpoint) && !SHORT.contains(&endpoint.id.as_str());
    on_each(60, about, |faults, case, corner| {
        let answer = (case.make)(corner).call(&corner.client, case.id).send();
        // The reply shows whether the body has options.
        if !has(&answer.json(), "pstate") {
            return;
        }
        for options in [json!("x"), json!(5), json!(["x"])] {
            let made = (case.make)(corner);
            let Some(mut body) = body_of(&made) else { return };
            body.insert("options".to_owned(), options);
            let made = Made { body: Body::Json(Value::Object(body)), ..made };
            let answer = made.call(&corner.client, case.id).send();
            let path = &answer.json()["result"]["details"]["path"];
            let well = answer.status == 400 && code(&answer) == "InvalidBody" && path == "$.options";
            faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
        }
    });
}

#[test]
fn a_body_says_what_is_shown_and_is_refused_before_anything_changes() {
    let about = |endpoint: &Endpoint| takes_json(endpoint) && !SHORT.contains(&endpoint.id.as_str());
    on_each(40, about, |faults, case, corner| {
        let answer = (case.make)(corner).call(&corner.client, case.id).send();
        if !has(&answer.json(), "pstate") {
            return;
        }
        for (said, wanted) in [
            (json!({ "options": { "showXml": true } }), 200),
            (json!({ "showXml": true }), 200),
            (json!({ "options": { "showXml": "perhaps" } }), 400),
        ] {
            let made = (case.make)(corner);
            let Some(mut body) = body_of(&made) else { return };
            let options = said["options"].as_object().cloned().unwrap_or_default();
            if let (Some(Value::Object(there)), false) = (body.get_mut("options"), options.is_empty()) {
                there.extend(options);
            } else {
                body.extend(said.as_object().cloned().unwrap_or_default());
            }
            let made = Made { body: Body::Json(Value::Object(body)), ..made };
            let answer = made.call(&corner.client, case.id).send();
            let well = match wanted {
                200 => answer.status == 200 && has(&answer.json(), "attributesXml"),
                _ => answer.status == 400 && code(&answer) == "InvalidParameter",
            };
            faults.expect(well, || format!("{} {said}: {:?}", case.id, lasting(&answer)));
        }
    });
}
