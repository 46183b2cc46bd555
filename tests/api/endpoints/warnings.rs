//! Names that a call does not know (docs/api/README.md, "Warnings").

use serde_json::json;

use super::*;

/// A name that no endpoint knows, and that is like none.
const UNKNOWN: &str = "qqqqqqqq";

/// Endpoints whose bodies may have secrets: a key that is like no known one is not repeated.
const SECRET: [&str; 9] = [
    "auth-copy-post",
    "auth-login-post",
    "old-auth-login-post",
    "stet-key-create-post",
    "stet-old-login-post",
    "stet-user-create-post",
    "stet-user-password-post",
    "stet-user-update-put",
    "stet-webhook-create-post",
];

/// Keys with free values: attributes and their contents.
const FREE: [&str; 4] = ["attributes", "content", "systemAttributes", "usageTickets"];

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// The names of the warnings in a reply.
fn warned(answer: &Answer) -> Vec<String> {
    let json = json_of(answer);
    let warnings = json["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["name"].as_str().expect("a warning has a name").to_owned()).collect()
}

/// The details of a failure, on either surface.
fn details(answer: &Answer) -> Value {
    let json = json_of(answer);
    if json["result"].is_object() { json["result"]["details"].clone() } else { json["details"].clone() }
}

/// Returns whether replies of the endpoint have an envelope.
fn has_envelope(answer: &Answer) -> bool {
    json_of(answer)["status"] == "success"
}

fn is_applied(answer: &Answer) -> bool {
    answer.header("preference-applied") == Some("handling=strict")
}

/// The entries of the corner's folder, with their revisions.
fn entries(corner: &Corner) -> Value {
    corner.client.call("folder-get", &[&corner.folder]).query("showUniquenessString", true).ok()["items"].clone()
}

#[test]
fn calls_with_only_known_names_have_no_warnings_and_pass_strict_handling() {
    on_each(
        180,
        |_| true,
        |faults, case, corner| {
            let made = (case.make)(corner);
            let answer = made.call(&corner.client, case.id).header("prefer", "handling=strict").send();
            let well = answer.status == 200 && is_applied(&answer) && json_of(&answer)["warnings"].is_null();
            faults.expect(well, || format!("{}: {:?} {:?}", case.id, lasting(&answer), answer.headers));
        },
    );
}

#[test]
fn unknown_parameters_are_warned_of_once_and_refused_when_strict() {
    on_each(
        180,
        |_| true,
        |faults, case, corner| {
            let made = (case.make)(corner);
            let before = (!reads_what_others_change(case.endpoint())).then(|| entries(corner));
            let call = made.call(&corner.client, case.id).query(UNKNOWN, 1).query(UNKNOWN, 2).query("_", 17);
            let refused = call.clone().header("prefer", "return=minimal").header("prefer", "handling=strict").send();
            let well = refused.status == 400
                && code(&refused) == "InvalidParameter"
                && details(&refused)["name"] == UNKNOWN
                && is_applied(&refused);
            faults.expect(well, || format!("{} strict: {:?}", case.id, lasting(&refused)));
            if let Some(before) = before {
                faults.expect(entries(corner) == before, || format!("{}: something changed", case.id));
            }
            // The same call succeeds afterwards, so the refused one had no effect.
            let answer = call.send();
            let wanted: &[&str] = if has_envelope(&answer) { &[UNKNOWN] } else { &[] };
            let well = answer.status == 200 && warned(&answer) == wanted;
            faults.expect(well, || format!("{}: {:?}", case.id, lasting(&answer)));
        },
    );
}

/// The places of a body where an object stands whose keys are checked, by JSON pointer and as JSON
/// path.
fn objects_in(body: &Value, pointer: &str, path: &str, found: &mut Vec<(String, String)>) {
    match body {
        Value::Object(members) => {
            // An operator has its name as its only key, and with another key it is no operator.
            let is_operator = path.ends_with(']') && path.contains(".operators[");
            // With another key than `folder` a privilege would hold everywhere: it is refused.
            let is_privilege = path.contains(".privileges[");
            if !is_operator && !is_privilege {
                found.push((pointer.to_owned(), path.to_owned()));
            }
            for (name, value) in members.iter().filter(|(name, _)| !FREE.contains(&name.as_str())) {
                objects_in(value, &format!("{pointer}/{name}"), &format!("{path}.{name}"), found);
            }
        }
        Value::Array(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                objects_in(entry, &format!("{pointer}/{at}"), &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}

/// The body of a good call, with `options`.
fn body_of(made: &Made) -> Value {
    let mut body = match &made.body {
        Body::Json(body) | Body::Form(body, _) => body.clone(),
        Body::None => json!({}),
        Body::Bytes(_) => unreachable!("bytes have no keys"),
    };
    if let Some(members) = body.as_object_mut() {
        members.entry("options").or_insert_with(|| json!({}));
    }
    body
}

fn with_body(made: &Made, body: Value) -> Made {
    let body = match made.body {
        Body::Form(_, with_content) => Body::Form(body, with_content),
        _ => Body::Json(body),
    };
    Made { body, ..made.clone() }
}

#[test]
fn unknown_keys_are_warned_of_at_every_depth_and_refused_when_strict() {
    let about = |endpoint: &Endpoint| endpoint.body != "none" && !endpoint.takes_bytes;
    on_each(70, about, |faults, case, corner| {
        let made = (case.make)(corner);
        let good = body_of(&made);
        let (mut places, mut wanted, mut all) = (Vec::new(), Vec::new(), good.clone());
        objects_in(&good, "", "$", &mut places);
        faults.expect(!places.is_empty(), || format!("{}: its body has no object", case.id));
        let before = (!reads_what_others_change(case.endpoint())).then(|| entries(corner));
        for (pointer, path) in places {
            let path = if SECRET.contains(&case.id) { path } else { format!("{path}.{UNKNOWN}") };
            let mut body = good.clone();
            for body in [&mut body, &mut all] {
                body.pointer_mut(&pointer).expect("it is a place of the body")[UNKNOWN] = json!({ "x": 1 });
            }
            let made = with_body(&made, body);
            let refused = made.call(&corner.client, case.id).header("prefer", "handling=strict").send();
            let well = refused.status == 400
                && code(&refused) == "InvalidBody"
                && details(&refused)["path"] == path
                && is_applied(&refused);
            faults.expect(well, || format!("{} strict, {path}: {:?}", case.id, lasting(&refused)));
            wanted.push(path);
        }
        if let Some(before) = before {
            faults.expect(entries(corner) == before, || format!("{}: something changed", case.id));
        }
        let answer = with_body(&made, all).call(&corner.client, case.id).send();
        let mut names = warned(&answer);
        names.sort();
        wanted.sort();
        let wanted = if has_envelope(&answer) { wanted } else { Vec::new() };
        let well = answer.status == 200 && names == wanted;
        faults.expect(well, || format!("{}: {wanted:?}, but {:?}", case.id, lasting(&answer)));
    });
}
