//! Requests exactly as published clients of such servers send them: below the other product's REST
//! root, with its codes.

mod creating;
mod database;
mod login;
mod previews;
mod reading;
mod templates;
mod writing;

use serde_json::{Value, json};

use crate::harness::*;

const ROOT: &str = "/swing/api/rest";
const LOGIN: &str = "/swing/login";
const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/story.xml";

/// A server as these clients expect it, with more keys of the configuration.
fn server_with(more: &[(&str, &str)]) -> Server {
    let mut settings =
        vec![("SERVER__BASE_PATH", ROOT), ("COMPAT__CODE_PREFIX", "EOM."), ("COMPAT__LOGIN_PATH", LOGIN)];
    settings.extend(more);
    Server::with(&settings)
}

/// Logs in by the form beside the REST root.
fn log_in(server: &Server, user: &str, password: &str) -> Answer {
    let form = format!("username={user}&password={password}&applicationId=deskApp&connectionId=Editorial");
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("x-requested-with", "XMLHttpRequest")];
    server.client().send("POST", LOGIN, &headers, form.as_bytes())
}

/// A client at the REST root, with a session of its own.
fn desk(server: &Server, user: &str) -> Client {
    at_root(server, user, SAMPLE_PASSWORD)
}

/// The administrator.
fn admin(server: &Server) -> Client {
    at_root(server, "admin", ADMIN_PASSWORD)
}

fn at_root(server: &Server, user: &str, password: &str) -> Client {
    let reply = log_in(server, user, password).json();
    let token = reply["token"].as_str().expect("the token stands at the top").to_owned();
    Client::at(&format!("{}{ROOT}", server.base), Some(token))
}

/// Returns the `result` of a successful call.
fn result(answer: Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

/// The body that creates a story, as a client fills it in.
fn story(name: &str, database: Value) -> Value {
    json!({
        "name": name, "edition": "", "issueDate": "20261201", "team": "City", "type": "EOM::CompoundStory",
        "application": "deskApp", "databaseId": database, "workFolder": "/News/City",
        "systemAttributes": { "props": {
            "productInfo": { "section": "City", "issueDate": "20261201", "edition": "Morning" },
            "workFolder": "/News/City", "templateName": "story.xml",
        } },
        "options": {
            "showSystemAttribute": true, "createMode": "AUTO_RENAME", "useDefaultProduct": false,
            "issueDateDefaultStrategy": "NONE", "timeSuffix": false, "checkinAction": true, "keepCheckedOut": true,
        },
    })
}

/// Creates a story from the template, whose path is not encoded; the answer.
fn create(desk: &Client, body: &Value) -> Answer {
    desk.post(&format!("/v3/object/story/from/template/path?path={TEMPLATE}"), body)
}

/// The record of an object.
fn record(desk: &Client, id: &str) -> Value {
    let body = json!({ "sources": [id], "options": { "showSystemAttributes": true } });
    result(desk.post("/v3/object", &body))["items"][0].clone()
}

fn id_of(result: &Value) -> String {
    result["id"].as_str().unwrap_or_else(|| panic!("{result} has no id")).to_owned()
}

/// The status of a refusal and its code, from an envelope or bare.
fn refusal(answer: &Answer) -> (u16, String) {
    let json = answer.json();
    let code = json["result"]["code"].as_str().or(json["code"].as_str()).unwrap_or_default();
    (answer.status, code.to_owned())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, format!("EOM.{code}"))
}
