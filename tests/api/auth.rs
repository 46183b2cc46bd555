//! Login, logout and the connection (docs/api/auth.md).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::*;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn credentials(user: &str, password: &str) -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "desk", "username": user, "password": password })
}

fn with(mut body: Value, more: Value) -> Value {
    let more = more.as_object().expect("more is an object").clone();
    body.as_object_mut().expect("a body is an object").extend(more);
    body
}

fn log_in(body: &Value) -> Answer {
    Server::shared().client().post("/v3/auth/login", body)
}

fn editor() -> Value {
    credentials("editor", SAMPLE_PASSWORD)
}

fn with_token(mut client: Client, token: &Value) -> Client {
    client.token = Some(token.as_str().expect("a token is a text").to_owned());
    client
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn a_login_gives_a_token_with_its_ends_and_the_configuration() {
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is past 1970").as_secs();
    let reply = log_in(&editor()).ok();
    assert_eq!(keys(&reply), ["applicationId", "configuration", "connection", "token", "username"].into());
    let value = reply["token"]["value"].as_str().expect("a token is a text");
    // 128 random bits are 22 letters of an alphabet of 64.
    assert!(value.len() >= 22 && value.bytes().all(|byte| byte.is_ascii_graphic()), "{value}");
    assert_eq!(reply["token"]["idleSeconds"], 4 * 3600);
    let expires = reply["token"]["expires"].as_u64().expect("an end is a number");
    assert!((before + 86_400..before + 86_400 + 600).contains(&expires), "{expires}");
    assert_eq!((&reply["username"], &reply["applicationId"]), (&json!("editor"), &json!("desk")));
    assert_eq!(reply["connection"]["id"], "Editorial");
    assert_eq!(reply["configuration"]["home"], "/Users/editor");
    assert_eq!(reply["configuration"]["databases"], json!([{ "id": 1, "name": "main" }]));
}

#[test]
fn each_option_of_a_login_shows_what_it_names() {
    let shown = |options: Value| log_in(&with(editor(), json!({ "options": options }))).ok();
    let user = shown(json!({ "showUserInfo": true }));
    assert_eq!(user["user"]["name"], "editor");
    assert_eq!(user["user"]["fullName"], "Mara Lindqvist");
    assert_eq!(user["user"]["home"], "/Users/editor");
    assert_eq!(user["groups"], json!(["editors"]));
    let alone = shown(json!({ "showUserInfo": true, "showGroups": false }));
    assert!(alone.get("groups").is_none() && alone["user"].is_object());
    let groups = shown(json!({ "showGroups": true }));
    assert!(groups.get("groups").is_none() && groups.get("user").is_none(), "groups come with the user only");
    let privileges = shown(json!({ "showPrivileges": true }));
    let privileges: BTreeSet<_> =
        privileges["privileges"].as_array().expect("a list").iter().map(|name| name.to_string()).collect();
    let expected = ["read", "create", "write", "delete", "destroy", "moderate", "forceUnlock"];
    assert_eq!(privileges, expected.map(|name| format!("\"{name}\"")).into());
    let connections = shown(json!({ "showAvailableConnections": true }));
    assert_eq!(connections["availableConnections"][0]["id"], "Editorial");
    assert!(shown(json!({ "loadConfig": false })).get("configuration").is_none());
}

#[test]
fn options_of_a_login_may_stand_at_the_top_and_come_as_text_or_number() {
    for value in [json!(true), json!("TRUE"), json!("1"), json!(1)] {
        let reply = log_in(&with(editor(), json!({ "showUserInfo": value }))).ok();
        assert!(reply["user"].is_object(), "{value}");
        let reply = log_in(&with(editor(), json!({ "options": { "SHOWUSERINFO": value } }))).ok();
        assert!(reply["user"].is_object(), "{value}");
    }
    let error = log_in(&with(editor(), json!({ "showUserInfo": "perhaps" }))).fails(400, "InvalidParameter");
    let message = error["message"].as_str().expect("an error has a message");
    assert!(message.contains("showUserInfo") && message.contains("perhaps"), "{message}");
    log_in(&with(editor(), json!({ "options": null, "what": "ever", "showUserInfo": null }))).ok();
}

#[test]
fn pwd_is_as_good_as_password_on_both_logins() {
    let body =
        json!({ "connectionId": "Editorial", "applicationId": "desk", "username": "editor", "pwd": SAMPLE_PASSWORD });
    log_in(&body).ok();
    let client = Server::shared().client();
    assert_eq!(client.post("/auth/login", &body).status, 200);
    for field in ["pwd", "password"] {
        let form = format!("connectionId=Editorial&applicationId=desk&username=editor&{field}={SAMPLE_PASSWORD}");
        assert_eq!(client.send("POST", "/auth/login", &[FORM], form.as_bytes()).status, 200, "{field}");
    }
}

#[test]
fn whatever_is_wrong_about_user_or_password_the_answer_is_the_same() {
    let wrong = [
        ("editor", "wrong"),
        ("editor", ""),
        ("editor", "SAMPLE-SECRET"),
        ("nobody", SAMPLE_PASSWORD),
        ("", SAMPLE_PASSWORD),
        ("editor\0", SAMPLE_PASSWORD),
        ("EDITOR ", SAMPLE_PASSWORD),
    ];
    let answers = wrong.map(|(user, password)| {
        let answer = log_in(&credentials(user, password));
        assert!(answer.header("www-authenticate").is_some() && answer.header("set-cookie").is_none(), "{answer:?}");
        let mut error = answer.fails_on(user, 401, "InvalidLogin");
        error["requestId"].take();
        error
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    log_in(&credentials(&"x".repeat(100_000), "x")).fails(401, "InvalidLogin");
}

#[test]
fn a_connection_that_there_is_not_is_an_invalid_login() {
    for connection in ["Nowhere", "", "editorial"] {
        log_in(&with(editor(), json!({ "connectionId": connection }))).fails_on(connection, 401, "InvalidLogin");
    }
}

#[test]
fn a_connection_may_be_for_some_applications_only() {
    let server = Server::with(&[
        ("CONNECTIONS__0__ID", "Wire"),
        ("CONNECTIONS__0__NAME", "Wire"),
        ("CONNECTIONS__0__APPLICATIONS", "ticker, desk"),
    ]);
    let body = |connection: &str, application: &str| {
        with(editor(), json!({ "connectionId": connection, "applicationId": application }))
    };
    let client = server.client();
    client.post("/v3/auth/login", &body("Wire", "desk")).ok();
    client.post("/v3/auth/login", &body("Wire", "other")).fails(401, "InvalidLogin");
    client.post("/v3/auth/login", &body("Editorial", "desk")).fails(401, "InvalidLogin");
}

#[test]
fn a_field_of_a_login_that_is_missing_is_named() {
    let client = Server::shared().client();
    for field in ["connectionId", "applicationId", "username", "password"] {
        let mut body = editor();
        body.as_object_mut().expect("a body is an object").remove(field);
        let error = log_in(&body).fails_on(field, 400, "InvalidBody");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(field)), "{error}");
        let form: Vec<_> =
            [("connectionId", "Editorial"), ("applicationId", "desk"), ("username", "editor"), ("password", "x")]
                .iter()
                .filter(|(name, _)| *name != field)
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
        let answer = client.send("POST", "/auth/login", &[FORM], form.join("&").as_bytes());
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["code"], "CMS.InvalidBody");
        assert!(answer.json()["message"].as_str().is_some_and(|message| message.contains(field)), "{answer:?}");
        let mut body = editor();
        body[field] = json!(["of another type"]);
        log_in(&body).fails_on(field, 400, "InvalidBody");
    }
}

#[test]
fn the_older_login_has_its_own_shape() {
    let server = Server::shared();
    let form = format!("connectionId=Editorial&applicationId=desk&username=editor&pwd={SAMPLE_PASSWORD}");
    let answer = server.client().send("POST", "/auth/login", &[FORM], form.as_bytes());
    assert_eq!(answer.status, 200);
    let reply = answer.json();
    assert_eq!(keys(&reply), ["applicationId", "connectionData", "sessions", "token", "username"].into());
    assert_eq!((&reply["username"], &reply["applicationId"]), (&json!("editor"), &json!("desk")));
    assert!(reply["sessions"].as_array().is_some_and(|sessions| sessions.iter().all(Value::is_string)), "{reply}");
    assert!(!reply["sessions"].to_string().contains(reply["token"].as_str().expect("a token is a text")));
    let data = &reply["connectionData"];
    assert_eq!(keys(data), ["aggregation", "description", "id", "name", "parameters"].into());
    assert_eq!(
        (&data["aggregation"], &data["id"], &data["name"]),
        (&json!(false), &json!("Editorial"), &json!("Editorial"))
    );
    let parameter = &data["parameters"][0];
    let texts = [
        "description",
        "id",
        "name",
        "nameServiceAddress",
        "notificationChannelBindingPath",
        "repositoryBindingPath",
        "shortPath",
    ];
    assert_eq!(keys(parameter), texts.into_iter().chain(["usePullMode"]).collect());
    assert!(
        texts.iter().all(|name| parameter[name].is_string()) && parameter["usePullMode"].is_boolean(),
        "{parameter}"
    );
    // Its token serves on both surfaces.
    with_token(server.client(), &reply["token"]).get("/v3/folder/home").ok();
}

#[test]
fn a_password_in_a_form_is_decoded_as_forms_are() {
    let client = Server::shared().client();
    let form = "connectionId=Editorial&applicationId=a+b%26c&username=editor&pwd=sample%2Dsecret";
    let answer = client.send("POST", "/auth/login", &[FORM], form.as_bytes());
    assert_eq!(answer.json()["applicationId"], "a b&c");
    let refused = client.send("POST", "/auth/login", &[FORM], form.replace("%2D", "+").as_bytes());
    assert_eq!((refused.status, refused.json()["code"].as_str()), (401, Some("CMS.InvalidLogin")));
}

#[test]
fn a_logout_kills_the_token_and_no_other() {
    let server = Server::shared();
    let (client, other) = (server.login("editor"), server.login("editor"));
    assert_ne!(client.token, other.token);
    assert_eq!(client.get("/v3/auth/logout").ok(), json!({ "result": "ok" }));
    for path in ["/v3/auth/logout", "/v3/auth/connection", "/v3/auth/connection/check", "/v3/folder/home"] {
        client.get(path).fails_on(path, 401, "InvalidToken");
    }
    other.get("/v3/folder/home").ok();
}

#[test]
fn the_older_logout_kills_the_token_too() {
    let client = Server::shared().login("editor");
    let answer = client.get("/auth/logout");
    assert_eq!((answer.status, answer.json()), (200, json!({ "result": "ok" })));
    client.get("/v3/folder/home").fails(401, "InvalidToken");
    let again = client.get("/auth/logout");
    assert_eq!((again.status, again.json()["code"].as_str()), (401, Some("CMS.InvalidToken")));
}

#[test]
fn nothing_but_a_logout_ends_a_session() {
    let client = Server::shared().login("editor");
    let query = "fromIssueDate=20260101&product=HarbourCourier";
    client.get(&format!("/calendar/nextPublicationDate?{query}"));
    client.get("/v3/auth/connection/check").ok();
}

#[test]
fn the_connection_tells_of_the_session_and_not_of_the_token() {
    let client = Server::shared().login("reporter");
    let reply = client.get("/v3/auth/connection").ok();
    assert_eq!(reply["username"], "reporter");
    assert_eq!(reply["applicationId"], "test");
    assert_eq!(reply["connection"]["id"], "Editorial");
    assert!(reply["login"].as_u64() < reply["expires"].as_u64(), "{reply}");
    assert!(!reply.to_string().contains(client.token.as_deref().expect("it has logged in")), "{reply}");
    assert_eq!(client.get("/v3/auth/connection/check").ok(), json!({ "alive": true }));
}

#[test]
fn a_copy_is_a_session_of_its_own() {
    let server = Server::shared();
    let client = server.login("reporter");
    let copied = server.client().post("/v3/auth/copy", &json!({ "token": client.token }));
    assert!(copied.header("set-cookie").is_some());
    let reply = copied.ok();
    let copy = with_token(server.client(), &reply["token"]["value"]);
    assert_ne!(copy.token, client.token);
    let (one, other) = (client.get("/v3/auth/connection").ok(), copy.get("/v3/auth/connection").ok());
    assert_eq!((&other["username"], &other["applicationId"]), (&one["username"], &one["applicationId"]));
    assert_ne!(one["session"], other["session"]);
    client.get("/v3/auth/logout").ok();
    copy.get("/v3/auth/connection/check").ok();
    copy.get("/v3/auth/logout").ok();
    copy.get("/v3/auth/connection/check").fails(401, "InvalidToken");
}

#[test]
fn a_copy_of_no_session_is_refused() {
    let server = Server::shared();
    let ended = server.login("editor");
    ended.get("/v3/auth/logout").ok();
    for token in [ended.token.as_deref().expect("it had logged in"), "nonsense", ""] {
        server.client().post("/v3/auth/copy", &json!({ "token": token })).fails_on(token, 401, "InvalidToken");
    }
    let error = server.client().post("/v3/auth/copy", &json!({})).fails(400, "InvalidBody");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("token")), "{error}");
}

#[test]
fn tokens_are_good_after_a_crash_and_dead_ones_stay_dead() {
    let mut server = Server::start();
    let (client, ended) = (server.login("editor"), server.login("editor"));
    let copy = server.client().post("/v3/auth/copy", &json!({ "token": client.token })).ok();
    let copy = with_token(server.client(), &copy["token"]["value"]);
    ended.get("/v3/auth/logout").ok();
    let before = client.get("/v3/auth/connection").ok();
    server.kill();
    let server = server.restart();
    assert_eq!(client.to(&server).get("/v3/auth/connection").ok(), before);
    copy.to(&server).get("/v3/auth/connection/check").ok();
    ended.to(&server).get("/v3/auth/connection/check").fails(401, "InvalidToken");
}

#[test]
fn a_session_ends_at_its_absolute_limit_and_a_copy_with_it() {
    let limits =
        [("AUTH__SESSION_IDLE_SECONDS", "3"), ("AUTH__FLUSH_SECONDS", "1"), ("AUTH__SESSION_ABSOLUTE_SECONDS", "3")];
    let server = Server::with(&limits);
    let client = server.login("editor");
    let copy = server.client().post("/v3/auth/copy", &json!({ "token": client.token })).ok();
    let copy = with_token(server.client(), &copy["token"]["value"]);
    let begun = std::time::Instant::now();
    // Used all the time, and dead all the same.
    while client.get("/v3/auth/connection/check").status == 200 {
        assert!(begun.elapsed() < PATIENCE, "the session lives on");
    }
    copy.get("/v3/auth/connection/check").fails(401, "InvalidToken");
}

#[test]
fn the_configuration_of_a_login_has_the_folders_of_the_user() {
    let shown = |options: Value| log_in(&with(editor(), json!({ "options": options }))).ok()["configuration"].take();
    let configuration = shown(json!({}));
    let expected = ["automaticDrawer", "databases", "home", "homeRecord", "team", "workFolder", "workFolderRecord"];
    assert_eq!(keys(&configuration), expected.into());
    assert_eq!((&configuration["team"], &configuration["workFolder"]), (&json!("City"), &json!("/News/City")));
    assert_eq!(configuration["automaticDrawer"], "/Users/editor/Clipboard");
    for (record, name) in [("homeRecord", "editor"), ("workFolderRecord", "City")] {
        let record = &configuration[record];
        assert_eq!((&record["name"], &record["databaseId"]), (&json!(name), &json!(1)), "{record}");
        assert!(record["virtualAttributes"].is_object() && record.get("path").is_none(), "{record}");
    }
    // Display options speak of these records.
    let paths = shown(json!({ "showPath": true, "showVirtualAttributes": false }));
    assert_eq!(paths["homeRecord"]["path"], "/Users/editor");
    assert!(paths["homeRecord"].get("virtualAttributes").is_none(), "{paths}");
    log_in(&with(editor(), json!({ "showPath": "perhaps" }))).fails(400, "InvalidParameter");
    for database in [json!("main"), json!(1), json!("1"), json!(null)] {
        assert_eq!(shown(json!({ "databaseId": database }))["homeRecord"]["name"], "editor", "{database}");
    }
    log_in(&with(editor(), json!({ "databaseId": "nowhere" }))).fails(404, "DatabaseNotFound");
    log_in(&with(editor(), json!({ "databaseId": [1] }))).fails(400, "InvalidParameter");
}

#[test]
fn a_folder_that_is_not_there_yet_has_no_record() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let login =
        |options: Value| server.client().post("/v3/auth/login", &with(editor(), options)).ok()["configuration"].take();
    let configuration = login(json!({ "databaseId": "archive" }));
    assert_eq!((&configuration["home"], &configuration["homeRecord"]), (&json!("/Users/editor"), &Value::Null));
    let databases = json!([{ "id": 1, "name": "main" }, { "id": 2, "name": "archive" }]);
    assert_eq!(configuration["databases"], databases);
    assert_eq!(login(json!({}))["homeRecord"]["name"], "editor");
}

#[test]
fn the_connections_shown_are_those_that_the_application_may_use() {
    let server = Server::with(&[
        ("CONNECTIONS__1__ID", "Wire"),
        ("CONNECTIONS__1__NAME", "Wire"),
        ("CONNECTIONS__1__DESCRIPTION", "Agencies"),
        ("CONNECTIONS__1__APPLICATIONS", "ticker"),
    ]);
    let shown = |application: &str| {
        let body = with(editor(), json!({ "applicationId": application, "showAvailableConnections": true }));
        server.client().post("/v3/auth/login", &body).ok()["availableConnections"].take()
    };
    let everyone = json!({ "id": "Editorial", "name": "Editorial", "description": "The newsroom" });
    let wire = json!({ "id": "Wire", "name": "Wire", "description": "Agencies" });
    assert_eq!(shown("desk"), json!([everyone]));
    assert_eq!(shown("ticker"), json!([everyone, wire]));
}
