//! Messages that name the known values, the refused one, and the one that was probably meant.

use serde_json::json;

use super::*;

/// Asserts that a message has all of these parts.
fn says_all(error: &Value, parts: &[&str]) {
    parts.iter().for_each(|part| says(error, part));
}

#[test]
fn an_unknown_name_is_answered_by_the_nearest_and_the_known_ones() {
    let server = Server::shared();
    let (editor, nobody) = (server.user("editor"), server.client());
    let login = json!({ "connectionId": "Editoral", "applicationId": "t", "username": "editor", "password": "x" });
    let error = nobody.call("auth-login-post", &[]).json(&login).fails(401, "InvalidLogin");
    says_all(&error, &["`Editoral`", "Did you mean `Editorial`?", "Known names: "]);
    let bundle = "/Web/City/harbour-ferry.xml";
    let error = editor
        .call("container-bundle-channelcopy-post", &[&bundle])
        .json(&json!({ "channel": "Tabloidd" }))
        .fails(400, "InvalidParameter");
    says_all(&error, &["`channel`", "`Tabloidd`", "Did you mean `Tabloid`?", "Neutral"]);
    let error = editor
        .call("container-bundle-channelcopy-post", &[&bundle])
        .json(&json!({ "channel": "Web", "inheritFrom": "Nutral" }))
        .fails(400, "InvalidParameter");
    says_all(&error, &["`inheritFrom`", "Did you mean `Neutral`?"]);
    let older = |path: &str, status: u16| {
        let answer = editor.get(path);
        assert_eq!(answer.status, status, "{path}");
        answer.said()
    };
    let error = older("/conf/workfolder/list?channel=Webb", 400);
    says_all(&error, &["`channel`", "Did you mean `Web`?"]);
    let error = older("/conf/workfolder/list?team=Nobody", 400);
    says_all(&error, &["`team`", "a team of the site configuration (City"]);
    let day = "simpleDateFormat=yyyyMMdd&fromIssueDate=20261201";
    let error = older(&format!("/calendar/nextPublicationDate?{day}&product=HarborCourier"), 404);
    says_all(&error, &["Did you mean `HarbourCourier`?"]);
    let error = editor.call("folder-view-named-get", &[&"/", &"editting"]).fails(404, "ObjectNotFound");
    says_all(&error, &["`editting`", "Did you mean `editing`?", "`default`"]);
    let error = editor.call("folder-view-get", &[&"/"]).query("widthUnit", "PIXELS").fails(400, "InvalidParameter");
    says_all(&error, &["`widthUnit`", "Did you mean `PIXEL`?", "POINT"]);
    let error = editor.call("folder-get", &[&"/"]).query("sortBy", "-modifed").fails(400, "InvalidParameter");
    says_all(&error, &["`-modifed`", "Did you mean `modified`?", "issueDate"]);
    let error = editor.call("folder-root-get", &[]).query("databaseId", "mian").fails(404, "DatabaseNotFound");
    says_all(&error, &["`mian`", "Did you mean `main`?"]);
}

#[test]
fn an_unknown_privilege_is_answered_by_all_privileges_and_its_place() {
    let admin = Server::shared().user("admin");
    let wrong = |privilege: Value| json!([{ "privilege": privilege }]);
    // The body of a key is secret, and nothing of it is quoted.
    let key = |privilege: Value| {
        let body = json!({ "name": "k", "user": "reporter", "privileges": wrong(privilege) });
        admin.call("stet-key-create-post", &[]).json(&body).fails(400, "InvalidBody")
    };
    let error = key(json!("flyy"));
    says_all(&error, &["$.privileges[0].privilege", "`read`", "`create`", "`forceUnlock`", "`configure`"]);
    assert!(!error["message"].as_str().expect("it has one").contains("flyy"), "{error}");
    let tricky = key(json!("x`, expected one of `y"));
    assert!(!tricky["message"].as_str().expect("it has one").contains("`y"), "{tricky}");
    let group = json!({ "name": "g", "privileges": wrong(json!("raed")) });
    let error = admin.call("group-create-post", &[]).json(&group).fails(400, "InvalidBody");
    says_all(&error, &["$.privileges[0].privilege", "`raed`", "did you mean `read`?", "`configure`"]);
}

#[test]
fn a_denial_names_user_privilege_and_the_object_as_the_caller_named_it() {
    let server = Server::shared();
    let (editor, reader) = (server.user("editor"), server.user("reader"));
    let folder = own_folder();
    let story = editor.story(&folder, "a.xml");
    let path = format!("{folder}/a.xml");
    for source in [&story, &path] {
        let error = reader.call("object-discard", &[source]).fails(403, "PermissionDenied");
        assert_eq!(error["message"], format!("`reader` lacks the privilege `delete` for `{source}`."));
        assert_eq!((&error["source"], &error["details"]["privilege"]), (&json!(source), &json!("delete")));
    }
    // A caller who has the privilege elsewhere: the object is looked at.
    let key = json!({ "name": folder.replace('/', "-"), "user": "editor", "privileges": [
        { "privilege": "read" }, { "privilege": "create", "folder": "/News" }, { "privilege": "delete", "folder": "/News" } ] });
    let made = server.user("admin").call("stet-key-create-post", &[]).json(&key).ok();
    let key = server.client_with(&made["token"]);
    let error = key.call("object-discard", &[&path]).fails(403, "PermissionDenied");
    says_all(&error, &["`delete`", &format!("`{path}`")]);
    assert_eq!(error["source"], path);
    // A place is named as it was given, so that it does not show how much of it exists.
    for below in [folder.clone(), format!("{folder}/not/there"), "/nowhere/at/all".to_owned()] {
        let body = json!({ "name": "d", "folderPath": below });
        let error = key.call("drawer-post", &[]).json(&body).fails(403, "PermissionDenied");
        assert_eq!(error["message"], format!("This key of `editor` lacks the privilege `create` for `{below}`."));
        assert_eq!(error["source"], below);
    }
    let error = reader.call("stet-key-list-get", &[]).fails(403, "PermissionDenied");
    assert_eq!(error["message"], "`reader` lacks the privilege `manageGroups` for the server.");
}

#[test]
fn a_misspelt_path_is_answered_by_that_of_the_endpoint_that_was_meant() {
    let editor = Server::shared().user("editor");
    let hint = |method: &str, path: &str| {
        let answer = editor.send(method, path, &[], b"");
        let error = answer.fails_on(path, 404, "NoSuchEndpoint");
        error["message"].as_str().expect("it has a message").to_owned()
    };
    let said = hint("DELETE", "/v3/object/1$1.0.5/discrad");
    assert!(said.ends_with("Did you mean `/v3/object/1$1.0.5/discard`?"), "{said}");
    let said = hint("GET", "/v3/folder/News/City");
    assert!(said.ends_with("as in `/v3/folder/%2FNews%2FCity`."), "{said}");
    for (method, path) in [
        ("DELETE", "/v3/object/1$1.0.5/delete"),
        ("DELETE", "/v3/container/liveblog/1$1.0.5/post/1$1.0.9/attachment"),
        ("POST", "/v3/object/1$1.0.5/publish"),
    ] {
        assert_eq!(hint(method, path), format!("There is no endpoint `{path}`."));
    }
}

#[test]
fn one_of_a_kind_is_counted_in_the_singular() {
    let editor = Server::shared().user("editor");
    let folder = own_folder();
    let drawer = editor.drawer(&folder, "one", 1);
    let [first, second] = ["a.xml", "b.xml"].map(|name| editor.story(&folder, name));
    editor.call("drawer-item-post", &[&drawer, &first]).ok();
    let error = editor.call("drawer-item-post", &[&drawer, &second]).fails(409, "DrawerFull");
    says(&error, "it holds 1 item.");
    let set = json!({ "source": first, "xpath": "/story", "index": 3, "target": "x" });
    let call = editor.call("crossreference-set-post", &[&first]).json(&set);
    says(&call.fails(400, "InvalidXPath"), "selects 1 node,");
}
