//! Rules for paths, queries and methods that hold for every endpoint.

use serde_json::{Value, json};

use super::raw::{ask, status_of};
use super::*;

/// A record that every sample has.
const FERRY: &str = "/News/City/harbour-ferry.xml";

#[test]
fn a_fixed_segment_wins_over_a_parameter() {
    let client = Server::shared().user("editor");
    // As a source `home` would be no loid, uuid or path.
    client.call("folder-home-get", &[]).query("showPath", true).gives(&json!({ "info": { "path": "/Users/editor" } }));
    client.call("folder-get", &[&"house"]).fails(400, "InvalidParameter");
    // Without a body the bulk call is refused for that, and not `discard` for being no source.
    client.call("objects-discard", &[]).fails(400, "InvalidBody");
}

#[test]
fn encoded_slashes_belong_to_the_objects_path_and_bare_ones_do_not() {
    let client = Server::shared().user("editor");
    let record = client.get("/v3/object/%2FNews%2FCity%2Fharbour-ferry.xml?showPath=true").ok();
    assert_eq!(record["path"], FERRY);
    let lower = client.get("/v3/object/%2fNews%2fCity%2fharbour-ferry.xml").ok();
    assert_eq!(lower["id"], record["id"]);
    let error = client.get("/v3/object//News/City/harbour-ferry.xml").fails(404, "NoSuchEndpoint");
    says(&error, "`/v3/object/%2FNews%2FCity%2Fharbour-ferry.xml`");
}

#[test]
fn a_trailing_slash_and_an_empty_segment_lead_to_no_endpoint() {
    let client = Server::shared().user("editor");
    for path in ["/v3", "/v3/", "/v3/folder/", "/v3/folder/home/", "/v3/object//family", "//v3/folder/home", "/v3/what"]
    {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}");
        let error = error_of(&answer, !path.starts_with("/v3"));
        assert_eq!(error["code"], "CMS.NoSuchEndpoint", "{path}");
        says(&error, path);
    }
}

#[test]
fn dots_in_a_path_are_no_way_around() {
    let server = Server::shared();
    for path in ["/v3/object/../folder/home", "/v3/./folder/home", "/v3/%2e%2e/healthz"] {
        let token = server.user("editor").token().to_owned();
        let answer =
            ask(server, &format!("GET {path} HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\nconnection: close\r\n\r\n"));
        assert_eq!(status_of(&answer), Some(404), "{path}: {answer}");
    }
}

#[test]
fn a_segment_that_is_not_utf_8_is_refused() {
    let client = Server::shared().user("editor");
    let error = client.get("/v3/object/%2Fa%FF%FE").fails(400, "InvalidParameter");
    says(&error, "%2Fa%FF%FE");
    // Invalid UTF-8 in the query is replaced, and here the result names no database.
    client.get("/v3/folder/home?databaseId=%FF").fails(404, "DatabaseNotFound");
}

#[test]
fn head_is_answered_as_get_without_the_body() {
    let client = Server::shared().user("editor");
    let (object, folder) = (encoded(FERRY), own_folder());
    // A folder that no other test changes, since the listing must be equal both times.
    client.story(&folder, "a.xml");
    for path in [
        format!("/v3/folder/{}", encoded(&folder)),
        format!("/v3/object/{object}"),
        format!("/v3/object/{object}/content"),
        format!("/v3/object/{object}/lastversionloid"),
        "/v3/object/%2Fnowhere".to_owned(),
        "/v3/nowhere".to_owned(),
        "/healthz".to_owned(),
    ] {
        let (get, head) = (client.get(&path), client.send("HEAD", &path, &[], b""));
        assert_eq!(head.status, get.status, "{path}");
        assert!(head.body.is_empty() && !get.body.is_empty(), "{path}");
        let comparable = |answer: &Answer| {
            let passing = ["date", "x-request-id"];
            let mut headers: Vec<_> =
                answer.headers.iter().filter(|(name, _)| !passing.contains(&name.as_str())).cloned().collect();
            headers.sort();
            headers
        };
        assert_eq!(comparable(&head), comparable(&get), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
    }
}

#[test]
fn unknown_parameters_are_ignored() {
    let client = Server::shared().user("editor");
    client.get("/v3/folder/home?what=ever&showEverything=perhaps&=&&%00=1").ok();
}

#[test]
fn names_of_parameters_match_without_regard_to_case() {
    let client = Server::shared().user("editor");
    let home = || client.call("folder-home-get", &[]);
    says(&home().query("showpath", "perhaps").fails(400, "InvalidParameter"), "showPath");
    home().query("DATABASEID", "nowhere").fails(404, "DatabaseNotFound");
}

#[test]
fn show_system_attribute_counts_as_show_system_attributes() {
    let client = Server::shared().user("editor");
    let record = client.call("object-get", &[&FERRY]).query("showSystemAttribute", false).ok();
    assert!(record.get("systemAttributes").is_none(), "{record}");
}

#[test]
fn a_boolean_is_true_false_1_or_0_in_any_case() {
    let client = Server::shared().user("editor");
    let home = |value: &str| client.call("folder-home-get", &[]).query("showPath", value);
    for (value, shown) in
        [("TRUE", true), ("True", true), ("1", true), ("false", false), ("fAlse", false), ("0", false)]
    {
        assert_eq!(home(value).ok()["info"].get("path").is_some(), shown, "{value}");
    }
    for value in ["yes", "2", "-1", "tru", "true ", "null", "on"] {
        says(&home(value).fails(400, "InvalidParameter"), "showPath");
    }
}

#[test]
fn an_integer_is_a_whole_number_that_can_be_held() {
    let client = Server::shared().user("editor");
    let page = |limit: &str| client.call("folder-subfolders-get", &[&"/News"]).query("limit", limit);
    page("1").ok();
    for value in ["1.5", "1e3", "0x1", "9223372036854775808", "99999999999999999999999999", "ten", "-1"] {
        let error = page(value).fails(400, "InvalidParameter");
        says(&error, "limit");
        says(&error, value);
    }
}

#[test]
fn a_json_content_type_on_a_get_is_ignored_and_so_is_a_body() {
    let server = Server::shared();
    let client = server.user("editor");
    client.call("folder-home-get", &[]).bytes("application/json", "").ok();
    let token = client.token();
    // The body must not be taken for the next request of the connection either.
    let request = format!(
        "GET /v3/folder/home HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\ncontent-type: application/json\r\n\
         content-length: 9\r\n\r\nnot json!GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    );
    let answer = ask(server, &request);
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
}

#[test]
fn an_optional_body_may_be_absent_empty_or_an_empty_object() {
    let client = Server::shared().user("editor");
    for (headers, body) in [(vec![], ""), (vec![JSON], ""), (vec![JSON], "  \n"), (vec![JSON], "{}"), (vec![], "{}")] {
        client.send("POST", "/v3/container/drawer", &headers, body.as_bytes()).ok();
    }
}

#[test]
fn unknown_members_of_a_body_are_ignored() {
    let client = Server::shared().user("editor");
    let body = json!({ "sources": [FERRY], "what": "ever", "options": { "what": { "ever": [] } } });
    client.call("stet-object-list-post", &[]).json(&body).gives(&json!({ "items": [{}], "errors": [] }));
}

#[test]
fn a_fault_in_a_body_is_named_by_its_path() {
    let client = Server::shared().user("editor");
    let error = client.call("drawer-post", &[]).json(&json!({ "capacity": "many" })).fails(400, "InvalidBody");
    assert_eq!(error["details"]["path"], "$.capacity", "{error}");
    says(&error, "$.capacity");
}

#[test]
fn something_new_goes_into_the_database_that_the_query_names_or_the_body() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let editor = server.user("admin");
    let new = |id: &str, name: &str| json!({ "name": format!("{id}-{name}"), "folderPath": "/New" });
    for id in ["folder-post", "drawer-post", "liveblog-from-default-template-post", "stet-object-create-post"] {
        let made = |call: Call<'_>, body: Value| {
            let call = if id == "stet-object-create-post" { call.form(&body, &[]) } else { call.json(&body) };
            let reply = call.ok();
            reply.get("info").unwrap_or(&reply)["databaseId"].clone()
        };
        assert_eq!(made(editor.call(id, &[]), new(id, "main")), 1, "{id}");
        for database in ["2", "archive"] {
            assert_eq!(made(editor.call(id, &[]).query("databaseId", database), new(id, database)), 2, "{id}");
        }
        let mut body = new(id, "body");
        body["databaseId"] = json!(2);
        assert_eq!(made(editor.call(id, &[]).query("databaseId", 1), body), 2, "{id}: the body wins");
    }
}

/// A mail had the main database's file of that path attached, and a topic's item too, though the
/// body named another database.
#[test]
fn sources_in_a_body_are_resolved_in_the_database_that_it_names() {
    let server = Server::with(&[("DATABASES__1__ID", "2"), ("DATABASES__1__NAME", "archive")]);
    let editor = server.user("admin");
    let made = |database: u64| {
        let options = json!({ "name": "memo.txt", "type": "Story", "folderPath": "/Both", "databaseId": database });
        editor.call("stet-object-create-post", &[]).form(&options, &[]).ok()["id"].clone()
    };
    let (here, there) = (made(1), made(2));
    let topic = editor.call("topic-post", &[]).json(&json!({ "folderPath": "/Both" })).ok()["info"]["id"].clone();
    let topic = topic.as_str().expect("it has an id");
    let mail = |with: Value| {
        let mut body = json!({ "recipients": ["editor"], "attachments": ["/Both/memo.txt"] });
        body.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        editor.call("message-sendmail-post", &[]).json(&body)
    };
    let item = |with: Value| {
        let mut body = json!({ "name": "x", "attachment": "/Both/memo.txt" });
        body.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        editor.call("topicitem-post", &[&topic]).json(&body)
    };
    for (with, expected) in [(json!({}), &here), (json!({ "databaseId": "archive" }), &there)] {
        assert_eq!(mail(with.clone()).ok()["attachments"][0]["id"], *expected);
        assert_eq!(item(with).ok()["attachment"]["id"], *expected);
    }
    mail(json!({ "databaseId": 9 })).fails(404, "DatabaseNotFound");
    item(json!({ "databaseId": 9 })).fails(404, "DatabaseNotFound");
}

#[test]
fn server_wide_calls_ignore_the_database_parameter() {
    let session = Server::shared().login("editor");
    session.call("auth-connection-get", &[]).query("databaseId", "nowhere").ok();
    session.call("auth-logout-get", &[]).query("databaseId", "nowhere").ok();
    session.call("auth-connection-check-get", &[]).fails(401, "InvalidToken");
    Server::shared().user("admin").call("stet-user-list-get", &[]).query("databaseId", "nowhere").ok();
}
