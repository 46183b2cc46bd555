//! The contract of every endpoint, checked against the running server. Calls that succeed are in
//! `endpoints`.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// A client whose token is none.
fn stranger() -> Client {
    Server::shared().client_with(&json!("nonsense"))
}

/// Parameters that the interface leaves optional, though a call without them means nothing.
const NEEDED: [(&str, &str); 3] =
    [("group-delete", "groupName"), ("conf-xmlfile-get", "path"), ("old-pageplan-delete", "source")];

#[test]
fn the_document_has_every_row_of_the_endpoints_with_all_that_it_takes() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../../endpoints.json")).expect("the file is JSON");
    assert_eq!(rows.len(), 186);
    let mut ids = BTreeSet::new();
    for row in &rows {
        let id = row["id"].as_str().expect("a row has an id");
        assert!(ids.insert(id), "{id} comes twice");
        let here = Endpoint::of(id);
        // This one needs only the token in its body.
        let token = if id == "auth-copy-post" { "none-listed" } else { &here.token };
        assert_eq!(json!([here.method, here.path, token]), json!([row["method"], row["path"], row["token"]]));
        assert!(here.takes_bytes || here.body == row["body"], "{id}: {}", here.body);
        for known in row["query"].as_array().expect("a row has a query") {
            let there =
                here.query.iter().find(|(name, ..)| known["name"] == *name).unwrap_or_else(|| panic!("{id}: {known}"));
            let required =
                known["required"] == true || known["name"].as_str().is_some_and(|name| NEEDED.contains(&(id, name)));
            assert_eq!(json!([there.1, there.2]), json!([known["type"], required]), "{id}: {known}");
        }
    }
    let ours = Endpoint::all().iter().filter(|endpoint| !ids.contains(&*endpoint.id));
    ours.for_each(|endpoint| assert!(endpoint.id.starts_with("stet-"), "{}", endpoint.id));
}

#[test]
fn endpoints_that_require_a_token_answer_401_without_a_valid_one() {
    let mut faults = Faults::default();
    for endpoint in Endpoint::all().iter().filter(|endpoint| endpoint.token == "required") {
        for client in [&Server::shared().client(), &stranger()] {
            let answer = endpoint.send(client, &endpoint.call_with(NOWHERE));
            let error = endpoint.error(&answer, 401);
            faults.expect(error["code"] == "CMS.InvalidToken", || endpoint.told(&answer));
            let asks = answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer"));
            faults.expect(asks, || format!("{}: no WWW-Authenticate", endpoint.id));
            let bare = error.as_object().map(|error| error.keys().cloned().collect::<BTreeSet<_>>());
            let bare = bare == Some(["code", "message", "requestId"].map(str::to_owned).into());
            faults.expect(!endpoint.older() || bare, || endpoint.told(&answer));
        }
    }
    faults.none();
}

#[test]
fn endpoints_without_listed_token_need_none_but_refuse_an_invalid_one() {
    let mut faults = Faults::default();
    let open: Vec<_> = Endpoint::all().iter().filter(|endpoint| endpoint.token == "none-listed").collect();
    assert_eq!(open.len(), 5);
    for endpoint in open {
        let answer = endpoint.send(&Server::shared().client(), &endpoint.call_with(NOWHERE));
        faults.expect(answer.status != 401, || endpoint.told(&answer));
        let answer = endpoint.send(&stranger(), &endpoint.call_with(NOWHERE));
        faults.expect(answer.status == 401, || endpoint.told(&answer));
    }
    faults.none();
}

/// Sends what must be refused by the name of a parameter, and `value` besides.
fn refused(faults: &mut Faults, endpoint: &Endpoint, name: &str, call: &str, value: &str) {
    let answer = endpoint.send(&Server::shared().user("admin"), call);
    let error = endpoint.error(&answer, 400);
    let message = error["message"].as_str().unwrap_or_default();
    let well = error["code"] == "CMS.InvalidParameter" && message.contains(name) && message.contains(value);
    faults.expect(well, || format!("{name}: {}", endpoint.told(&answer)));
}

#[test]
fn a_boolean_or_integer_that_is_none_is_refused_by_name_and_value() {
    let (mut faults, mut tried) = (Faults::default(), 0);
    for endpoint in Endpoint::all() {
        for (name, ..) in endpoint.query.iter().filter(|(_, kind, _)| kind == "boolean" || kind == "integer") {
            let call = endpoint.call_with(NOWHERE);
            let glue = if call.contains('?') { '&' } else { '?' };
            refused(&mut faults, endpoint, name, &format!("{call}{glue}{name}=perhaps"), "perhaps");
            tried += 1;
        }
    }
    assert!(tried >= 393, "{tried}");
    faults.none();
}

#[test]
fn a_required_parameter_that_is_missing_is_refused_by_name() {
    let (mut faults, mut tried) = (Faults::default(), 0);
    for endpoint in Endpoint::all() {
        for (name, ..) in endpoint.query.iter().filter(|(_, _, required)| *required) {
            let call = endpoint.call_with(NOWHERE).replace(&format!("{name}="), "other=");
            refused(&mut faults, endpoint, name, &call, "");
            tried += 1;
        }
    }
    assert!(tried > 0);
    faults.none();
}

#[test]
fn a_body_that_can_not_be_read_is_refused_for_a_form() {
    let admin = Server::shared().user("admin");
    let mut faults = Faults::default();
    let mut tried = 0;
    for endpoint in Endpoint::all().iter().filter(|endpoint| endpoint.multipart && endpoint.body == "required") {
        // Only one part of the form is JSON, so the declared JSON type is refused.
        let answer = admin.send(&endpoint.method, &endpoint.fitting_call(), &[JSON], b"");
        faults.expect(endpoint.error(&answer, 400)["code"] == "CMS.InvalidBody", || endpoint.told(&answer));
        tried += 1;
    }
    assert!(tried > 2, "{tried}");
    faults.none();
}

#[test]
fn a_method_that_a_path_has_not_is_refused_with_those_that_it_has() {
    let client = Server::shared().client();
    let (mut faults, mut seen) = (Faults::default(), BTreeSet::new());
    for endpoint in Endpoint::all() {
        let path = endpoint.path_with(NOWHERE);
        if !seen.insert(path.clone()) {
            continue;
        }
        let expected = methods_at(&path);
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
            if expected.iter().any(|known| known == method) {
                continue;
            }
            let answer = client.send(method, &path, &[], b"");
            let mut allowed: Vec<_> =
                answer.header("allow").unwrap_or_default().split(',').map(|name| name.trim().to_owned()).collect();
            allowed.sort();
            let well = answer.status == 405 && allowed == expected;
            faults.expect(well, || format!("{method} {path}: {} {allowed:?} for {expected:?}", answer.status));
            if method != "HEAD" && answer.status == 405 {
                let code = error_of(&answer, endpoint.older())["code"].clone();
                faults.expect(code == "CMS.MethodNotAllowed", || format!("{method} {path}: {code}"));
            }
        }
    }
    faults.none();
}

#[test]
fn nothing_says_500() {
    // A server of its own, since these calls have effects.
    let server = Server::start();
    let mut faults = Faults::default();
    for source in [NOWHERE, "/nowhere", "/", "/News/City", "/Drawers/city-desk", "/News/City/harbour-ferry.xml", "7"] {
        for endpoint in Endpoint::all() {
            let ends = endpoint.path.ends_with("/logout");
            let admin = if ends { server.login("admin") } else { server.user("admin") };
            let bodies: &[&str] = match endpoint.body.as_str() {
                "none" => &[""],
                _ => &[
                    "{}",
                    "[]",
                    "{\"sources\": [\"/nowhere\", \"/News/City\", \"%\", \"\"]}",
                    "{\"name\": \"\\u0000\"}",
                ],
            };
            for body in bodies {
                let call = endpoint.call_with(source);
                let content_type = if endpoint.multipart { MULTIPART } else { JSON };
                let answer = admin.send(&endpoint.method, &call, &[content_type], body.as_bytes());
                faults.expect(answer.status < 500, || format!("{source} {body}: {}", endpoint.told(&answer)));
                if answer.status >= 400 {
                    error_of(&answer, endpoint.older());
                }
            }
        }
    }
    server.user("admin").lives();
    faults.none();
}
