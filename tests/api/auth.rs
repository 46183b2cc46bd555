//! Login, logout and the connection (docs/api/auth.md).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::endpoints::cases::{Made, cases, editor_credentials};
use crate::harness::*;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn log_in(body: &Value) -> Answer {
    Server::shared().client().call("auth-login-post", &[]).json(body).send()
}

/// The login that people have used all along, with a form.
fn older_log_in(form: &str) -> Answer {
    Server::shared().client().send("POST", "/auth/login", &[FORM], form.as_bytes())
}

fn editor() -> Value {
    credentials("editor", SAMPLE_PASSWORD)
}

/// A session that begins as a copy of another.
fn copy_of(server: &Server, client: &Client) -> Client {
    let copy = server.client().call("auth-copy-post", &[]).json(&json!({ "token": client.token })).ok();
    server.client_with(&copy["token"]["value"])
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
    let configuration = json!({ "home": "/Users/editor", "databases": [{ "id": 1, "name": "main" }] });
    includes(&reply["configuration"], &configuration);
    includes(&reply, &json!({ "username": "editor", "applicationId": "desk", "connection": { "id": "Editorial" } }));
}

#[test]
fn each_option_of_a_login_shows_what_it_names() {
    let shown = |options: Value| log_in(&with(editor(), json!({ "options": options }))).ok();
    let user = json!({ "name": "editor", "fullName": "Mara Lindqvist", "home": "/Users/editor" });
    includes(&shown(json!({ "showUserInfo": true })), &json!({ "user": user, "groups": ["editors"] }));
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
    says(&error, "showUserInfo");
    says(&error, "perhaps");
    log_in(&with(editor(), json!({ "options": null, "what": "ever", "showUserInfo": null }))).ok();
}

#[test]
fn pwd_is_as_good_as_password_on_both_logins() {
    let mut body = with(editor(), json!({ "pwd": SAMPLE_PASSWORD }));
    body.as_object_mut().expect("a body is an object").remove("password");
    log_in(&body).ok();
    let older = Server::shared().client().call("old-auth-login-post", &[]).json(&body).send();
    assert_eq!(older.status, 200);
    for field in ["pwd", "password"] {
        let form = format!("connectionId=Editorial&applicationId=desk&username=editor&{field}={SAMPLE_PASSWORD}");
        assert_eq!(older_log_in(&form).status, 200, "{field}");
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
    log_in(&credentials(&"x".repeat(10_000), "x")).fails(401, "InvalidLogin");
    log_in(&credentials(&"x".repeat(100_000), "x")).fails(413, "TooLarge");
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
    let client = server.client();
    let login = |connection: &str, application: &str| {
        let more = json!({ "connectionId": connection, "applicationId": application });
        client.call("auth-login-post", &[]).json(&with(editor(), more))
    };
    login("Wire", "desk").ok();
    login("Wire", "other").fails(401, "InvalidLogin");
    login("Editorial", "desk").fails(401, "InvalidLogin");
}

#[test]
fn a_field_of_a_login_that_is_missing_is_named() {
    for field in ["connectionId", "applicationId", "username", "password"] {
        let mut body = editor();
        body.as_object_mut().expect("a body is an object").remove(field);
        says(&log_in(&body).fails_on(field, 400, "InvalidBody"), field);
        let form = "connectionId=Editorial&applicationId=desk&username=editor&password=x";
        let answer = older_log_in(&form.replace(&format!("{field}="), "other="));
        assert_eq!((answer.status, answer.json()["code"].as_str()), (400, Some("CMS.InvalidBody")));
        says(&answer.json(), field);
        let mut body = editor();
        body[field] = json!(["of another type"]);
        log_in(&body).fails_on(field, 400, "InvalidBody");
    }
}

#[test]
fn the_older_login_has_its_own_shape() {
    let server = Server::shared();
    let answer =
        older_log_in(&format!("connectionId=Editorial&applicationId=desk&username=editor&pwd={SAMPLE_PASSWORD}"));
    assert_eq!(answer.status, 200);
    let reply = answer.json();
    assert_eq!(keys(&reply), ["applicationId", "connectionData", "sessions", "token", "username"].into());
    assert!(reply["sessions"].as_array().is_some_and(|sessions| sessions.iter().all(Value::is_string)), "{reply}");
    assert!(!reply["sessions"].to_string().contains(reply["token"].as_str().expect("a token is a text")));
    let data = &reply["connectionData"];
    assert_eq!(keys(data), ["aggregation", "description", "id", "name", "parameters"].into());
    let connection = json!({ "aggregation": false, "id": "Editorial", "name": "Editorial" });
    includes(&reply, &json!({ "username": "editor", "applicationId": "desk", "connectionData": connection }));
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
    server.client_with(&reply["token"]).lives();
}

#[test]
fn a_password_in_a_form_is_decoded_as_forms_are() {
    let form = "connectionId=Editorial&applicationId=a+b%26c&username=editor&pwd=sample%2Dsecret";
    assert_eq!(older_log_in(form).json()["applicationId"], "a b&c");
    let refused = older_log_in(&form.replace("%2D", "+"));
    assert_eq!((refused.status, refused.json()["code"].as_str()), (401, Some("CMS.InvalidLogin")));
}

#[test]
fn a_logout_on_either_surface_kills_the_token_and_no_other() {
    let server = Server::shared();
    for id in ["auth-logout-get", "old-auth-logout-get"] {
        let (client, other) = (server.login("editor"), server.login("editor"));
        assert_ne!(client.token, other.token);
        let answer = client.call(id, &[]).send();
        let older = id.starts_with("old-");
        assert_eq!(if older { answer.json() } else { answer.ok() }, json!({ "result": "ok" }), "{id}");
        for id in ["auth-logout-get", "auth-connection-get", "auth-connection-check-get", "folder-home-get"] {
            client.call(id, &[]).fails(401, "InvalidToken");
        }
        let again = client.call("old-auth-logout-get", &[]).send();
        assert_eq!((again.status, again.json()["code"].as_str()), (401, Some("CMS.InvalidToken")));
        other.call("folder-home-get", &[]).ok();
    }
}

#[test]
fn nothing_but_a_logout_ends_a_session() {
    let client = Server::shared().login("editor");
    let call = client.call("old-calendar-nextpublicationdate-get", &[]);
    call.query("fromIssueDate", "20260101").query("product", "HarbourCourier").send();
    client.lives();
}

#[test]
fn the_connection_tells_of_the_session_and_not_of_the_token() {
    let client = Server::shared().user("reporter");
    let connection = json!({ "username": "reporter", "applicationId": "test", "connection": { "id": "Editorial" } });
    let reply = client.call("auth-connection-get", &[]).gives(&connection);
    assert!(reply["login"].as_u64() < reply["expires"].as_u64(), "{reply}");
    assert!(!reply.to_string().contains(client.token()), "{reply}");
    assert_eq!(client.call("auth-connection-check-get", &[]).ok(), json!({ "alive": true }));
}

#[test]
fn a_copy_is_a_session_of_its_own() {
    let server = Server::shared();
    let client = server.login("reporter");
    let copied = server.client().call("auth-copy-post", &[]).json(&json!({ "token": client.token })).send();
    assert!(copied.header("set-cookie").is_some());
    let copy = server.client_with(&copied.ok()["token"]["value"]);
    assert_ne!(copy.token, client.token);
    let one = client.call("auth-connection-get", &[]).ok();
    let same = json!({ "username": one["username"], "applicationId": one["applicationId"] });
    assert_ne!(copy.call("auth-connection-get", &[]).gives(&same)["session"], one["session"]);
    client.call("auth-logout-get", &[]).ok();
    copy.lives();
    copy.call("auth-logout-get", &[]).ok();
    copy.is_dead();
}

#[test]
fn a_copy_of_no_session_is_refused() {
    let server = Server::shared();
    let ended = server.login("editor");
    ended.call("auth-logout-get", &[]).ok();
    let copy = |body: &Value| server.client().call("auth-copy-post", &[]).json(body).send();
    for token in [ended.token(), "nonsense", ""] {
        copy(&json!({ "token": token })).fails_on(token, 401, "InvalidToken");
    }
    says(&copy(&json!({})).fails(400, "InvalidBody"), "token");
}

#[test]
fn tokens_are_good_after_a_crash_and_dead_ones_stay_dead() {
    let mut server = Server::start();
    let (client, ended) = (server.login("editor"), server.login("editor"));
    let copy = copy_of(&server, &client);
    ended.call("auth-logout-get", &[]).ok();
    let before = client.call("auth-connection-get", &[]).ok();
    server.kill();
    let server = server.restart();
    assert_eq!(client.to(&server).call("auth-connection-get", &[]).ok(), before);
    copy.to(&server).lives();
    ended.to(&server).is_dead();
}

#[test]
fn a_session_ends_at_its_absolute_limit_and_a_copy_with_it() {
    let limits =
        [("AUTH__SESSION_IDLE_SECONDS", "3"), ("AUTH__FLUSH_SECONDS", "1"), ("AUTH__SESSION_ABSOLUTE_SECONDS", "3")];
    let server = Server::with(&limits);
    let client = server.login("editor");
    let copy = copy_of(&server, &client);
    // The session is used all the time, and ends nevertheless.
    wait_until("the session ends", || client.call("auth-connection-check-get", &[]).send().status != 200);
    copy.is_dead();
}

#[test]
fn the_configuration_of_a_login_has_the_folders_of_the_user() {
    let shown = |options: Value| log_in(&with(editor(), json!({ "options": options }))).ok()["configuration"].take();
    let configuration = shown(json!({}));
    let expected = ["automaticDrawer", "databases", "home", "homeRecord", "team", "workFolder", "workFolderRecord"];
    assert_eq!(keys(&configuration), expected.into());
    let record = |name: &str| json!({ "name": name, "databaseId": 1, "virtualAttributes": {} });
    includes(
        &configuration,
        &json!({ "team": "City", "workFolder": "/News/City", "automaticDrawer": "/Users/editor/Clipboard",
            "homeRecord": record("editor"), "workFolderRecord": record("City") }),
    );
    for record in ["homeRecord", "workFolderRecord"] {
        assert!(configuration[record].get("path").is_none(), "{configuration}");
    }
    // Display options speak of these records.
    let paths = shown(json!({ "showPath": true, "showVirtualAttributes": false }));
    assert_eq!(paths["homeRecord"]["path"], "/Users/editor");
    assert!(paths["homeRecord"].get("virtualAttributes").is_none(), "{paths}");
    log_in(&with(editor(), json!({ "showPath": "perhaps" }))).fails(400, "InvalidParameter");
    for database in [json!("main"), json!(1), json!("1"), json!(null)] {
        assert_eq!(shown(json!({ "databaseId": database }))["homeRecord"]["name"], "editor", "{database}");
    }
    let nowhere = with(editor(), json!({ "databaseId": "nowhere" }));
    log_in(&nowhere).fails(404, "DatabaseNotFound");
    // Who does not know the password learns nothing of databases.
    for database in ["nowhere", "main"] {
        let stranger = with(editor(), json!({ "databaseId": database, "password": "wrong" }));
        log_in(&stranger).fails(401, "InvalidLogin");
    }
    log_in(&with(editor(), json!({ "databaseId": [1] }))).fails(400, "InvalidParameter");
}

#[test]
fn a_folder_that_is_not_there_yet_has_no_record() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let client = server.client();
    let login = |options: Value| client.call("auth-login-post", &[]).json(&with(editor(), options));
    let databases = json!([{ "id": 1, "name": "main" }, { "id": 2, "name": "archive" }]);
    let configuration = json!({ "home": "/Users/editor", "homeRecord": null, "databases": databases });
    login(json!({ "databaseId": "archive" })).gives(&json!({ "configuration": configuration }));
    login(json!({})).gives(&json!({ "configuration": { "homeRecord": { "name": "editor" } } }));
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
        server.client().call("auth-login-post", &[]).json(&body).ok()["availableConnections"].take()
    };
    let everyone = json!({ "id": "Editorial", "name": "Editorial", "description": "The newsroom" });
    let wire = json!({ "id": "Wire", "name": "Wire", "description": "Agencies" });
    assert_eq!(shown("desk"), json!([everyone]));
    assert_eq!(shown("ticker"), json!([everyone, wire]));
}

cases! {
    "auth-connection-check-get": |_| Made::default();
    "auth-connection-get": |_| Made::default();
    "auth-login-post": |_| Made::default().json(editor_credentials());
    "auth-logout-get": |_| Made::default().by(Server::shared().login("editor"));
    "old-auth-logout-get": |_| Made::default().by(Server::shared().login("editor"));
    "auth-copy-post": |corner| Made::default().json(json!({ "token": corner.client.token }));
    "old-auth-login-post": |_| {
        let mut body = editor_credentials();
        let fields = body.as_object_mut().expect("credentials are an object");
        fields.shift_remove("password");
        fields.insert("pwd".to_owned(), json!(SAMPLE_PASSWORD));
        Made::default().json(body)
    };
    "stet-old-login-post": |_| {
        Made::default().json(json!({
            "connectionId": "Editorial", "applicationId": "test", "username": "editor", "pwd": SAMPLE_PASSWORD
        }))
    };
}
