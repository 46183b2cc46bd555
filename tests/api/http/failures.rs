//! Replies of failed requests, and the traces of a request in the reply, the log and the metrics.

use serde_json::json;

use super::*;

#[test]
fn a_failure_is_a_status_and_an_envelope() {
    let answer = Server::shared().user("editor").get("/v3/object/%2Fnowhere");
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!(json["status"], "error");
    assert_eq!(json["result"]["code"], "CMS.ObjectNotFound");
    assert_eq!(json["result"]["source"], "/nowhere");
    says(&json["result"], "/nowhere");
    assert_eq!(json["result"]["requestId"].as_str(), answer.header("x-request-id"));
}

#[test]
fn a_problem_document_goes_to_those_who_prefer_it() {
    let client = Server::shared().user("editor");
    for (path, status, code) in [
        ("/v3/object/%2Fnowhere", 404, "CMS.ObjectNotFound"),
        ("/conf/nowhere", 404, "CMS.NoSuchEndpoint"),
        ("/conf/workfolder/list?depth=deep", 400, "CMS.InvalidParameter"),
    ] {
        let accept = [("accept", "application/json;q=0.3, application/problem+json")];
        let answer = client.send("GET", path, &accept, b"");
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("application/problem+json")),
            "{path}"
        );
        let problem = answer.json();
        assert_eq!((&problem["status"], &problem["code"]), (&json!(status), &json!(code)), "{path}");
        assert_eq!(problem["requestId"].as_str(), answer.header("x-request-id"));
        assert!(
            problem["type"].is_string() && problem["title"].is_string() && problem["detail"].is_string(),
            "{problem}"
        );
    }
    for accept in ["*/*", "application/json", "application/problem+json;q=0.1, application/json", "garbage;;,,;q=x"] {
        let answer = client.send("GET", "/v3/object/%2Fnowhere", &[("accept", accept)], b"");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
    }
}

#[test]
fn on_the_older_surface_a_failure_is_bare() {
    let server = Server::shared();
    let error = error_of(&server.user("editor").get("/conf/nowhere"), true);
    assert_eq!(error["code"], "CMS.NoSuchEndpoint");
    let refused = server.user("reader").delete("/containers/pagePlan");
    assert_eq!(refused.status, 401);
    assert_eq!(error_of(&refused, true)["code"], "CMS.PermissionDenied");
}

#[test]
fn every_answer_carries_an_id_of_its_own() {
    let client = Server::shared().user("editor");
    let mut seen = std::collections::HashSet::new();
    for path in ["/v3/folder/home", "/v3/nowhere", "/healthz", "/readyz", "/metrics", "/openapi.json", "/conf/nowhere"]
    {
        let id = client.get(path).header("x-request-id").map(str::to_owned);
        assert!(id.as_ref().is_some_and(|id| seen.insert(id.clone())), "{path}: {id:?}");
    }
    let head = client.send("HEAD", "/v3/folder/home", &[], b"");
    assert!(head.header("x-request-id").is_some());
}

#[test]
fn the_prefix_of_codes_is_configuration() {
    let server = Server::with(&[("COMPAT__CODE_PREFIX", "EOM_")]);
    let client = server.login("editor");
    assert_eq!(error_of(&client.get("/v3/object/%2Fnowhere"), false)["code"], "EOM_ObjectNotFound");
    assert_eq!(error_of(&client.get("/conf/nowhere"), true)["code"], "EOM_NoSuchEndpoint");
    let bulk = client.post("/v3/object", &json!({ "sources": ["/nowhere"] })).ok();
    assert_eq!(bulk["errors"][0]["code"], "EOM_ObjectNotFound");
}

#[test]
fn the_log_names_requests_by_their_ids_and_has_neither_token_nor_password() {
    let mut server = Server::with(&[("LOG__FILTER", "debug")]);
    let client = server.login("editor");
    let token = client.token().to_owned();
    let folder = own_folder();
    let cookie = format!("MRS_CONNECTION_TOKEN={token}");
    let bearer = format!("Bearer {token}");
    let no_token = server.client();
    let mut ids = Vec::new();
    let mut noted = |answer: Answer| ids.push(answer.header("x-request-id").expect("an answer has an id").to_owned());
    noted(client.get("/v3/folder/home"));
    noted(client.get("/v3/folder/home?showPath=perhaps"));
    noted(client.get("/v3/nowhere"));
    noted(client.post("/v3/container/drawer", &json!({ "folderPath": folder })));
    noted(no_token.send("GET", "/v3/folder/home", &[("token", &token)], b""));
    noted(no_token.send("GET", "/v3/folder/home", &[("authorization", &bearer)], b""));
    noted(no_token.send("GET", "/v3/folder/home", &[("cookie", &cookie)], b""));
    noted(no_token.post("/v3/auth/copy", &json!({ "token": token })));
    // A wrong token must not be logged either: it may be valid elsewhere.
    noted(no_token.get("/v3/folder/home?token=a-wrong-token"));
    let login = |username: &str, password: &Value| {
        no_token.post("/v3/auth/login", &with(credentials(username, ""), json!({ "password": password })))
    };
    noted(login("editor", &json!("a-wrong-password")));
    noted(login("a-password-in-the-field-for-the-name", &json!("x")));
    noted(login("editor", &json!(["a-password-in-a-list"])));
    noted(no_token.send("POST", "/v3/auth/login", &[JSON], b"{\"password\": \"a-password-cut-off"));
    noted(no_token.send("POST", "/auth/login", &[], b"connectionId=Editorial&pwd=a-password-in-a-form"));
    noted(client.get("/v3/auth/logout"));
    let metrics = no_token.get("/metrics");
    server.terminate();
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    assert!(metrics.contains("stet_http_requests_total"), "{metrics}");
    let log = server.log();
    for id in ids {
        assert!(log.contains(&id), "{id} is not in the log:\n{log}");
    }
    let secrets = ["a-wrong-token", "a-wrong-password", "a-password-", SAMPLE_PASSWORD, ADMIN_PASSWORD, &token];
    for secret in secrets {
        assert!(!log.contains(secret), "`{secret}` is in the log:\n{log}");
        assert!(!metrics.contains(secret), "`{secret}` is in the metrics");
    }
}
