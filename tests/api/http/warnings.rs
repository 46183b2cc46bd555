//! Warnings in replies of every kind (docs/api/README.md, "Warnings").

use serde_json::json;

use super::*;

fn warnings(answer: &Answer) -> Value {
    let json: Value = serde_json::from_slice(&answer.decoded().body).expect("it is JSON");
    json["warnings"].clone()
}

#[test]
fn a_mistyped_name_is_reported_with_the_nearest_and_has_no_effect() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let body = json!({ "name": "a", "folderPath": folder, "folder_path": "/Elsewhere", "options": { "showpaht": 1, "name": "b" } });
    let answer = client.call("drawer-post", &[]).json(&body).query("showPaht", true).query("colour", 1).send();
    answer.ok();
    let reported = |name: &str, message: &str, nearest: Option<&str>| {
        let mut warning = json!({ "name": name, "message": message });
        if let Some(nearest) = nearest {
            warning["didYouMean"] = json!(nearest);
        }
        warning
    };
    let of_parameter = "`showPaht` is no query parameter of this call, and has no effect.";
    let of_key = "`$.folder_path` is no key of this call's body, and has no effect. Did you mean `folderPath`?";
    let of_option = "`$.options.showpaht` is no key of this call's body, and has no effect. Did you mean `showPath`?";
    let of_other =
        "`$.options.name` is no key of this call's body (it stands at the top of the body), and has no effect.";
    let wanted = json!([
        reported("showPaht", of_parameter, None),
        reported("colour", "`colour` is no query parameter of this call, and has no effect.", None),
        reported("$.folder_path", of_key, Some("folderPath")),
        reported("$.options.showpaht", of_option, Some("showPath")),
        reported("$.options.name", of_other, None),
    ]);
    assert_eq!(warnings(&answer), wanted);
    let listing = client.call("folder-get", &[&folder]).query("statuss", "Story/Spiked").query("PATH", 1).send();
    assert_eq!(warnings(&listing)[0]["didYouMean"], "status");
    // A key of the body that stands in the query is said to belong there.
    let answer = client.call("drawer-post", &[]).query("showPath", true).query("folderPath", &folder).send();
    answer.ok();
    for (at, name) in ["showPath", "folderPath"].into_iter().enumerate() {
        says(&warnings(&answer)[at], &format!("`{name}` is no query parameter of this call (it is a key of the body)"));
    }
}

/// A misspelt key that is optional was reported with the nearest one; one that is required, as
/// missing.
#[test]
fn a_call_that_fails_has_its_warnings_in_the_details() {
    let client = Server::shared().user("editor");
    let story = client.story(&own_folder(), "a.xml");
    let answer = client.call("stet-object-status-post", &[&story]).json(&json!({ "staus": "Story/Ready" }));
    let refused = answer.fails(400, "InvalidBody");
    says(&refused, "missing field `status`");
    let warnings = &refused["details"]["warnings"];
    assert_eq!((&warnings[0]["name"], &warnings[0]["didYouMean"]), (&json!("$.staus"), &json!("status")));
    let found = client.call("object-get", &[&story]).query("showPaht", true).ok();
    assert_eq!(found["details"], Value::Null);
    let missing = client.call("object-get", &[&"/nothing"]).query("databaseid", 1).query("showPaht", true);
    assert_eq!(missing.fails(404, "ObjectNotFound")["details"]["warnings"][0]["didYouMean"], "showPath");
}

#[test]
fn names_that_any_call_may_have_are_no_unknown_ones() {
    let client = Server::shared().user("editor");
    let token = client.token.clone().expect("it has one");
    let call = client.call("folder-get", &[&"/News"]).header("prefer", "handling=strict");
    let call = call.query("Token", token).query("_", 1_700_000_000).query("LIMIT", 1).query("sortby", "name");
    call.query("showSystemAttribute", true).query("databaseID", 1).ok();
    let body = json!({ "sources": [], "databaseId": 1, "showPath": true, "showsystemattribute": 1, "options": { "SHOWXML": true } });
    client.call("stet-object-list-post", &[]).header("prefer", "handling=strict").json(&body).ok();
    // `key` is known where it is taken, and is no token elsewhere.
    let answer = client.call("folder-get", &[&"/News"]).query("key", "k").send();
    assert_eq!(warnings(&answer)[0]["name"], "key");
}

#[test]
fn warnings_stand_in_short_large_and_kept_replies_and_spoil_no_other() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let drawer = client.drawer(&folder, "d", 10);
    // A whole reply, kept for all who ask: neither the bytes nor the tag of another are touched.
    let get = client.call("drawer-get", &[&drawer]);
    let before = get.send();
    let odd = get.clone().query("colour", 1).send();
    assert_eq!(warnings(&odd).as_array().map(Vec::len), Some(1));
    assert_eq!(odd.header("etag"), before.header("etag"));
    let after = get.send();
    assert!(after.body == before.body && warnings(&after).is_null());
    let tag = before.header("etag").expect("a drawer has a tag");
    let known = get.clone().query("colour", 1).header("if-none-match", tag).send();
    assert_eq!((known.status, known.body.len()), (304, 0));
    // A short one.
    let put = client.call("drawer-put", &[&drawer]).json(&json!({ "capacity": 11, "colour": "red" }));
    let short = put.header("prefer", "return=minimal").send();
    assert_eq!(warnings(&short)[0]["name"], "$.colour");
    // One that is kept under a key.
    let make = client.call("drawer-post", &[]).json(&json!({ "folderPath": folder, "name": "e", "colour": 1 }));
    let make = make.header("idempotency-key", own_folder().replace('/', "-"));
    let (first, again) = (make.send(), make.clone().header("prefer", "handling=strict").send());
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    assert_eq!((warnings(&again)[0]["name"].as_str(), again.header("preference-applied")), (Some("$.colour"), None));
}

#[test]
fn warnings_stand_behind_a_list_that_is_made_while_it_goes_out() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let stories: Vec<String> = (0..8)
        .map(|number| {
            let text = "x".repeat(40_000);
            let options = json!({
                "name": format!("{number}.xml"), "type": "Story", "folderPath": folder, "attributes": { "story": { "lead": text } }
            });
            let made = client.upload("/v3/object/create", &options, Some(("a.xml", "text/xml", b"<story/>"))).ok();
            made["id"].as_str().expect("it has an id").to_owned()
        })
        .collect();
    let list = client.call("stet-object-list-post", &[]).json(&json!({ "sources": stories, "colour": 1 }));
    let answer = list.query("hue", 2).send();
    assert!(answer.body.len() > 256 << 10, "{} bytes", answer.body.len());
    assert_eq!(answer.ok()["items"].as_array().map(Vec::len), Some(8));
    assert_eq!(
        warnings(&answer),
        json!([
            { "name": "hue", "message": "`hue` is no query parameter of this call, and has no effect." },
            { "name": "$.colour", "message": "`$.colour` is no key of this call's body, and has no effect." },
        ])
    );
    assert!(warnings(&client.call("stet-object-list-post", &[]).json(&json!({ "sources": stories })).send()).is_null());
}

#[test]
fn strict_handling_is_read_from_any_prefer_header_and_confirmed() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let drawer = client.drawer(&folder, "d", 10);
    let put = |body: Value| client.call("drawer-put", &[&drawer]).json(&body);
    let both =
        put(json!({ "capacity": 11 })).header("prefer", "wait=1, return=minimal").header("prefer", "handling=strict");
    assert_eq!(both.send().header("preference-applied"), Some("return=minimal, handling=strict"));
    let lenient = put(json!({ "capacity": 12, "x": 1 })).header("prefer", "handling=lenient, handling=strict").send();
    assert_eq!((lenient.status, lenient.header("preference-applied")), (200, None));
    let refused = put(json!({ "capacity": 13, "capacty": 14, "x": 1 })).header("prefer", "Handling=\"strict\"").send();
    let error = refused.fails(400, "InvalidBody");
    says(&error, "`$.capacty` is no key of this call's body. Did you mean `capacity`?");
    let details = json!({ "path": "$.capacty", "unknown": ["$.capacty", "$.x"], "didYouMean": "capacity" });
    assert_eq!((&error["details"], refused.header("preference-applied")), (&details, Some("handling=strict")));
    assert_eq!(client.call("drawer-get", &[&drawer]).ok()["info"]["capacity"], 12);
    // The older surface has no place for warnings, but refuses.
    let list = || client.call("old-group-list-get", &[]).query("shwo", 1);
    assert!(list().ok().is_array());
    let refused = list().header("prefer", "handling=strict").send();
    assert_eq!((refused.status, refused.said()["code"].as_str()), (400, Some("CMS.InvalidParameter")));
}

#[test]
fn logins_report_mistyped_options_but_repeat_no_key_that_may_be_a_secret() {
    let client = Server::shared().user("editor");
    let login = |more: Value| {
        let mut body = json!({
            "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD,
            "SHOWUSERINFO": true, "options": { "showgroups": "1", "databaseid": 1 }
        });
        body.as_object_mut().expect("it is an object").extend(more.as_object().cloned().unwrap_or_default());
        client.call("auth-login-post", &[]).json(&body)
    };
    login(json!({})).header("prefer", "handling=strict").ok();
    let answer = login(json!({ "showPrivilege": true, "hunter2": "x", "swordfish": 1 })).send();
    let names: Vec<_> =
        warnings(&answer).as_array().expect("there are some").iter().map(|w| w["name"].clone()).collect();
    assert_eq!(names, ["$.showPrivilege", "$"]);
    assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    let form = |text: &str| {
        let form =
            format!("connectionId=Editorial&applicationId=test&username=editor&pwd={}{text}", encoded(SAMPLE_PASSWORD));
        let call = client.call("old-auth-login-post", &[]).bytes("application/x-www-form-urlencoded", form);
        call.header("prefer", "handling=strict").send()
    };
    form("").bare();
    let refused = form("&fish").said();
    assert!(
        refused["code"] == "CMS.InvalidBody"
            && refused["details"]["path"] == "$"
            && !refused.to_string().contains("fish"),
        "{refused}"
    );
}

#[test]
fn a_body_of_many_unknown_keys_is_answered_with_a_few_of_them() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let long = "k".repeat(300);
    let keys: Vec<String> = (0..10_000).map(|number| format!("\"{number}{long}\": 1")).collect();
    let body = format!("{{\"folderPath\": \"{folder}\", {}}}", keys.join(", "));
    let answer = client.call("drawer-post", &[]).bytes("application/json", body).send();
    answer.ok();
    let warnings = warnings(&answer);
    let warnings = warnings.as_array().expect("there are some");
    assert_eq!(warnings.len(), 20);
    let longest = warnings.iter().filter_map(|warning| warning["name"].as_str()).map(|name| name.chars().count()).max();
    assert_eq!(longest, Some("$.".len() + 100 + "…".chars().count()));
}

#[test]
fn a_byte_order_mark_in_front_of_a_body_is_ignored() {
    let (client, folder) = (Server::shared().user("editor"), own_folder());
    let body = format!("\u{feff}{{\"folderPath\": \"{folder}\", \"name\": \"d\", \"colour\": 1, \"showPath\": true}}");
    let answer = client.call("drawer-post", &[]).bytes("application/json", body).send();
    assert_eq!(answer.ok()["info"]["path"], format!("{folder}/d"));
    assert_eq!(warnings(&answer)[0]["name"], "$.colour");
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n\u{feff}{{\"name\": \"a.xml\", \"folderPath\": \"{folder}\", \
         \"colour\": 1}}\r\n--b--\r\n"
    );
    let made = client.call("stet-object-create-post", &[]).bytes("multipart/form-data; boundary=b", form).send();
    assert_eq!(made.ok()["name"], "a.xml");
    assert_eq!(warnings(&made)[0]["name"], "$.colour");
}

#[test]
fn a_value_that_is_not_allowed_is_answered_with_those_that_are() {
    let (admin, folder) = (Server::shared().user("admin"), own_folder());
    let drawer = json!({ "folderPath": folder, "createMode": "REPLAC" });
    let error = admin.call("drawer-post", &[]).json(&drawer).fails(400, "InvalidBody");
    says(
        &error,
        "`$.createMode`: `REPLAC` is not `EXCEPTION`, `AUTO_RENAME`, `REPLACE` or `NEW_VERSION` (did you mean `REPLACE`?)",
    );
    let group = json!({ "groupName": "g", "privileges": [{ "privilege": "wirte" }] });
    let error = admin.call("group-create-post", &[]).json(&group).fails(400, "InvalidBody");
    says(&error, "`manageGroups` or `configure` (did you mean `write`?)");
    // The value is not repeated where a body may have secrets.
    let key = json!({ "name": "k", "user": "editor", "privileges": [{ "privilege": "reed" }] });
    let error = admin.call("stet-key-create-post", &[]).json(&key).fails(400, "InvalidBody");
    says(&error, "`$.privileges[0].privilege`: the value must be `read`, `create`");
    says(&error, "(did you mean `read`?)");
    assert!(!error.to_string().contains("reed"), "{error}");
    let view = admin.call("folder-view-get", &[&"/News"]).query("widthUnit", "PIXLE");
    says(&view.fails(400, "InvalidParameter"), "Did you mean `PIXEL`?");
    let sorted = admin.call("folder-get", &[&"/News"]).query("sortBy", "-modifed");
    says(&sorted.fails(400, "InvalidParameter"), "Did you mean `modified`?");
}
