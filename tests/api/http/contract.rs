//! Every endpoint of `endpoints.json`, and every one of ours, against the running server.

use std::collections::BTreeSet;

use super::*;

fn told(endpoint: &Endpoint, answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
    format!("{} {} {}: {} {body}", endpoint.id, endpoint.method, endpoint.path, answer.status)
}

#[test]
fn without_a_token_or_with_nonsense_for_one_an_endpoint_that_requires_it_says_401() {
    let server = Server::shared();
    let mut faults = Faults::default();
    let (without, mut nonsense) = (server.client(), server.client());
    nonsense.token = Some("nonsense".to_owned());
    for endpoint in endpoints(server).iter().filter(|endpoint| endpoint.token == "required") {
        for client in [&without, &nonsense] {
            let answer = endpoint.send(client, &endpoint.call());
            let error = if answer.status == 401 { error_of(&answer, endpoint.older()) } else { Value::Null };
            faults.expect(error["code"] == "CMS.InvalidToken", || told(endpoint, &answer));
            let asks = answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer"));
            faults.expect(asks, || format!("{}: no WWW-Authenticate", endpoint.id));
            let bare = error.as_object().map(|error| error.keys().cloned().collect::<BTreeSet<_>>());
            let bare = bare == Some(["code", "message", "requestId"].map(str::to_owned).into());
            faults.expect(!endpoint.older() || bare, || told(endpoint, &answer));
        }
    }
    faults.none();
}

#[test]
fn an_endpoint_that_lists_no_token_works_without_one_but_says_401_to_one_that_is_not_valid() {
    let server = Server::shared();
    let mut faults = Faults::default();
    let (without, mut nonsense) = (server.client(), server.client());
    nonsense.token = Some("nonsense".to_owned());
    let all = endpoints(server);
    let open: Vec<_> = all.iter().filter(|endpoint| endpoint.token == "none-listed").collect();
    assert_eq!(open.len(), 6);
    for endpoint in open {
        let answer = endpoint.send(&without, &endpoint.call());
        faults.expect(answer.status != 401, || told(endpoint, &answer));
        // This one needs only the token in its body.
        if endpoint.id != "auth-copy-post" {
            let answer = endpoint.send(&nonsense, &endpoint.call());
            faults.expect(answer.status == 401, || told(endpoint, &answer));
        }
    }
    faults.none();
}

#[test]
fn a_boolean_or_integer_that_is_none_is_refused_by_name_and_value() {
    let server = Server::shared();
    let admin = server.login("admin");
    let mut faults = Faults::default();
    let mut tried = 0;
    for endpoint in endpoints(server) {
        for (name, _, _) in endpoint.query.iter().filter(|(_, kind, _)| kind == "boolean" || kind == "integer") {
            let call = endpoint.call();
            let glue = if call.contains('?') { '&' } else { '?' };
            let answer = endpoint.send(&admin, &format!("{call}{glue}{name}=perhaps"));
            let error = if answer.status == 400 { error_of(&answer, endpoint.older()) } else { Value::Null };
            let message = error["message"].as_str().unwrap_or_default();
            let well = error["code"] == "CMS.InvalidParameter" && message.contains(name) && message.contains("perhaps");
            faults.expect(well, || format!("{name}: {}", told(&endpoint, &answer)));
            tried += 1;
        }
    }
    assert!(tried >= 393, "{tried}");
    faults.none();
}

#[test]
fn a_required_parameter_that_is_missing_is_refused_by_name() {
    let server = Server::shared();
    let admin = server.login("admin");
    let mut faults = Faults::default();
    for endpoint in endpoints(server) {
        for (name, _, _) in endpoint.query.iter().filter(|(_, _, required)| *required) {
            let answer = endpoint.send(&admin, &endpoint.call().replace(&format!("{name}="), "other="));
            let error = if answer.status == 400 { error_of(&answer, endpoint.older()) } else { Value::Null };
            let message = error["message"].as_str().unwrap_or_default();
            let well = error["code"] == "CMS.InvalidParameter" && message.contains(name.as_str());
            faults.expect(well, || format!("{name}: {}", told(&endpoint, &answer)));
        }
    }
    faults.none();
}

#[test]
fn a_body_that_is_missing_malformed_or_of_another_type_is_refused() {
    let server = Server::shared();
    let admin = server.login("admin");
    let mut faults = Faults::default();
    for endpoint in endpoints(server).iter().filter(|endpoint| endpoint.body != "none") {
        let call = endpoint.fitting_call();
        let required = endpoint.body == "required";
        // A multipart form has JSON in one of its parts only, and is refused for what it says that it is.
        let bodies: &[&[u8]] =
            if endpoint.multipart { &[b""] } else { &[b"", b"{\"a\":", b"\"text\"", b"7", b"{} {}"] };
        for body in bodies.iter().filter(|body| required || !body.is_empty()) {
            let answer = admin.send(&endpoint.method, &call, &[JSON], body);
            let error = if answer.status == 400 { error_of(&answer, endpoint.older()) } else { Value::Null };
            let body = String::from_utf8_lossy(body);
            faults.expect(error["code"] == "CMS.InvalidBody", || format!("{body:?}: {}", told(endpoint, &answer)));
        }
    }
    faults.none();
}

#[test]
fn a_method_that_a_path_has_not_is_refused_with_those_that_it_has() {
    let server = Server::shared();
    let client = server.client();
    let all = endpoints(server);
    let mut faults = Faults::default();
    let mut seen = BTreeSet::new();
    for endpoint in &all {
        let path = endpoint.path_with(NOWHERE);
        if !seen.insert(path.clone()) {
            continue;
        }
        let expected = methods_at(&all, &path);
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
fn a_user_without_the_privilege_of_an_endpoint_is_refused() {
    let server = Server::shared();
    let all = endpoints(server);
    let mut faults = Faults::default();
    let mut refusals = 0;
    for user in ["reader", "contributor", "reporter", "editor"] {
        let body = serde_json::json!({ "connectionId": "Editorial", "applicationId": "test", "username": user,
            "password": SAMPLE_PASSWORD, "options": { "showPrivileges": true } });
        let login = server.client().post("/v3/auth/login", &body).ok();
        let held: Vec<_> = login["privileges"].as_array().expect("privileges were asked for").clone();
        let client = server.login(user);
        for endpoint in &all {
            let Some(privilege) = &endpoint.privilege else { continue };
            let holds = |wanted: &str| held.iter().any(|known| known == wanted);
            // Who may create may change and discard what they created: for what a body names, each object is asked.
            let own = matches!(privilege.as_str(), "write" | "delete") && holds("create") && endpoint.scope == "named";
            if holds(privilege) || own {
                continue;
            }
            let answer = endpoint.send(&client, &endpoint.fitting_call());
            let status = if endpoint.older() { 401 } else { 403 };
            let error = if answer.status == status { error_of(&answer, endpoint.older()) } else { Value::Null };
            let message = error["message"].as_str().unwrap_or_default();
            let well = error["code"] == "CMS.PermissionDenied" && message.contains(privilege.as_str());
            faults.expect(well, || format!("{user} without {privilege}: {}", told(endpoint, &answer)));
            faults.expect(status != 401 || answer.header("www-authenticate").is_some(), || told(endpoint, &answer));
            refusals += 1;
        }
    }
    // Every write is there for `reader`, and none is for `admin`.
    assert!(refusals > 100, "{refusals}");
    faults.none();
}

#[test]
fn what_is_not_there_yet_says_501_and_nothing_says_500() {
    // Its own server: these calls do what they say.
    let server = Server::start();
    let all = endpoints(&server);
    let mut faults = Faults::default();
    let missing: Vec<_> = all.iter().filter(|endpoint| !endpoint.implemented).collect();
    println!("{} of {} endpoints are not implemented yet", missing.len(), all.len());
    for endpoint in missing {
        let admin = server.login("admin");
        let answer = endpoint.send(&admin, &endpoint.call());
        let code = if answer.status == 501 { error_of(&answer, endpoint.older())["code"].clone() } else { Value::Null };
        faults.expect(code == "CMS.NotImplemented", || told(endpoint, &answer));
    }
    for source in [NOWHERE, "/nowhere", "/", "/News/City", "/Drawers/city-desk", "/News/City/harbour-ferry.xml", "7"] {
        for endpoint in all.iter().filter(|endpoint| endpoint.implemented) {
            // Of its own: some of these end the session.
            let admin = server.login("admin");
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
                faults.expect(answer.status < 500, || format!("{source} {body}: {}", told(endpoint, &answer)));
                if answer.status >= 400 {
                    error_of(&answer, endpoint.older());
                }
            }
        }
    }
    faults.none();
}
