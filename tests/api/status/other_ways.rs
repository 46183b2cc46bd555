//! Other calls that set a status: they follow the same rules, and leave the same event.

use super::*;

/// Creates a document again under the same name.
fn again(desk: &Desk, client: &Client, name: &str, mode: &str, status: &str) -> Answer {
    let options = json!({ "name": name, "folderPath": desk.folder, "createMode": mode, "status": status });
    let files = [("content", name, "text/xml", &b"<b/>"[..])];
    client.call("stet-object-create-post", &[]).form(&options, &files).send()
}

#[test]
fn creating_again_is_held_to_the_workflow_and_to_the_privilege() {
    let desk = Desk::new();
    let reporter = Server::shared().user("reporter");
    for mode in ["NEW_VERSION", "REPLACE"] {
        let name = format!("{mode}.xml");
        let story = desk.story(&name);
        let before = record(&desk.editor, &story);
        let refused = again(&desk, &desk.editor, &name, mode, "Story/Released").fails(400, "InvalidStatus");
        assert_eq!(refused["details"]["allowed"], json!(["Story/Edited", "Story/Ready", "Story/Spiked"]));
        assert_eq!(record(&desk.editor, &story), before, "nothing of it was done");
        again(&desk, &reporter, &name, mode, "Story/Ready").ok();
        let denied = again(&desk, &reporter, &name, mode, "Story/Released").fails(403, "PermissionDenied");
        assert_eq!(denied["details"]["privilege"], "moderate");
        // The present status is no change, and takes no further privilege.
        again(&desk, &desk.editor, &name, mode, "Story/Released").ok();
        again(&desk, &reporter, &name, mode, "Story/Released").ok();
        assert_eq!(steps(&story), ["Story/Draft>Story/Ready", "Story/Ready>Story/Released"]);
    }
}

#[test]
fn creating_containers_again_is_held_to_the_workflow() {
    let desk = Desk::new();
    for (call, first, next, wrong) in [
        ("topic-post", "Topic/Done", "Topic/Accepted", "Topic/Proposed"),
        ("topicplan-post", "Topic/Done", "Topic/Accepted", "Topic/Proposed"),
    ] {
        for mode in ["NEW_VERSION", "REPLACE"] {
            let make = |status: &str| {
                let body = json!({ "name": format!("{call}{mode}"), "folderPath": desk.folder, "createMode": mode, "status": status });
                desk.editor.call(call, &[]).json(&body).send()
            };
            let made = id(&make(first).ok());
            let refused = make(wrong).fails(400, "InvalidStatus");
            assert_eq!(refused["details"]["allowed"], json!([next]));
            make(next).ok();
            assert_eq!(steps(&made), [format!("{first}>{next}")], "{call} {mode}");
        }
    }
}

#[test]
fn every_creation_takes_a_status_which_need_not_be_the_first() {
    let desk = Desk::new();
    let body = |name: &str, status: &str| json!({ "name": name, "folderPath": desk.folder, "status": status });
    for (call, status, other) in [
        ("drawer-post", "Default/Done", "Topic/Done"),
        ("topic-post", "Topic/Done", "Default/Done"),
        ("topicplan-post", "Topic/Done", "Default/Done"),
        ("liveblog-from-default-template-post", "LiveBlog/Closed", "Default/Done"),
        ("folder-post", "Default/Done", "Topic/Done"),
    ] {
        let make = |name: &str, status: &str| desk.editor.call(call, &[]).json(&body(name, status)).send();
        let made = id(&make(call, status).ok());
        assert_eq!(status_of(&desk.editor, &made), status, "{call}");
        let refused = make("other", other).fails(400, "InvalidStatus");
        assert!(
            refused["message"].as_str().is_some_and(|message| message.contains(&format!("`{status}`"))),
            "{refused}"
        );
        make("other", "Nowhere/Done").fails(404, "StatusNotFound");
    }
    let made = desk.editor.call("drawer-post", &[]).json(&json!({ "folderPath": desk.folder, "name": "plain" })).ok();
    assert_eq!(status_of(&desk.editor, &id(&made)), "Default/New");
}

fn fields(client: &Client, object: &str, operators: Value) -> Value {
    let body = json!({ "updateFields": [{ "sourceIds": [object], "operators": operators }] });
    client.call("stet-object-metadata-change-fields-post", &[]).json(&body).ok()
}

#[test]
fn a_change_of_fields_sets_the_status_and_keeps_no_copy_of_it() {
    let desk = Desk::new();
    let story = desk.story("a.xml");
    let set = |content: Value| json!([{ "set": { "xpath": "/sysattributes/props/status", "content": content } }]);
    let before = record(&desk.editor, &story);
    for (operators, code) in [
        (set(json!("Story/Released")), "CMS.InvalidStatus"),
        (set(json!("Story/Nothing")), "CMS.StatusNotFound"),
        (set(json!("")), "CMS.InvalidStatus"),
        (json!([{ "unset": { "xpath": "/sysattributes/props/status" } }]), "CMS.InvalidStatus"),
        (json!([{ "inc": { "xpath": "/sysattributes/props/status" } }]), "CMS.StatusNotFound"),
        (
            json!([{ "set": { "xpath": "/sysattributes/props", "content": { "status": "Story/Released" } } }]),
            "CMS.InvalidStatus",
        ),
    ] {
        let reply = fields(&desk.editor, &story, operators.clone());
        assert_eq!((&reply["items"], &reply["errors"][0]["code"]), (&json!([]), &json!(code)), "{operators}");
        assert_eq!(record(&desk.editor, &story), before, "{operators}");
    }
    assert_eq!(fields(&desk.editor, &story, set(json!("Story/Ready")))["errors"], json!([]));
    let after = record(&desk.editor, &story);
    assert_eq!(
        (&after["statusInfo"]["name"], &after["systemAttributes"]),
        (&json!("Story/Ready"), &before["systemAttributes"])
    );
    assert_eq!(after["revision"], json!(before["revision"].as_u64().unwrap() + 1), "the status is all that changed");
    assert_eq!(fields(&desk.editor, &story, set(json!("Story/Ready")))["errors"], json!([]));
    assert_eq!(record(&desk.editor, &story)["revision"], after["revision"]);
    // Together with other changes, and as a part of a larger value.
    let whole = json!([
        { "set": { "xpath": "/sysattributes/props", "content": { "team": "Sport", "status": "Story/Released" } } },
    ]);
    let reporter = Server::shared().user("reporter");
    assert_eq!(fields(&reporter, &story, whole.clone())["errors"][0]["code"], "CMS.PermissionDenied");
    assert_eq!(fields(&desk.editor, &story, whole)["errors"], json!([]));
    let last = record(&desk.editor, &story);
    assert_eq!(last["systemAttributes"], json!({ "props": { "team": "Sport" } }));
    assert_eq!(last["revision"], json!(after["revision"].as_u64().unwrap() + 2), "{last}");
    assert_eq!(steps(&story), ["Story/Draft>Story/Ready", "Story/Ready>Story/Released"]);
}

#[test]
fn the_body_of_an_update_changes_the_status() {
    let desk = Desk::new();
    let (topic, drawer) = (desk.container("topic-post", "topic"), desk.container("drawer-post", "drawer"));
    let put = |call: &str, object: &str, status: &str| {
        desk.editor.call(call, &[&object]).json(&json!({ "title": status, "status": status })).send()
    };
    put("topic-put", &topic, "Topic/Accepted").ok();
    put("topic-put", &topic, "Story/Ready").fails(400, "InvalidStatus");
    put("drawer-put", &drawer, "Default/Done").ok();
    put("drawer-put", &drawer, "Default/Nothing").fails(404, "StatusNotFound");
    assert_eq!(steps(&topic), ["Topic/Proposed>Topic/Accepted"]);
    assert_eq!(steps(&drawer), ["Default/New>Default/Done"]);
    let item = desk.item(&topic, "flood");
    let update = |body: Value| desk.editor.call("topicitem-put", &[&topic, &item]).json(&body).send();
    update(json!({ "status": "Topic/Done" })).ok();
    let refused = update(json!({ "status": "Topic/Proposed", "comment": "x" })).fails(400, "InvalidStatus");
    assert_eq!(refused["details"]["allowed"], json!(["Topic/Accepted"]));
    assert_eq!(steps(&item), ["Topic/Proposed>Topic/Done"]);
}

#[test]
fn another_type_of_the_same_workflow_leaves_the_status_as_it_is() {
    let desk = Desk::new();
    let picture = desk.object("a.jpg", "Image");
    set(&desk.editor, &picture, "Image/Release").ok();
    let make = |kind: &str| with_type(&desk, &desk.editor, "a.jpg", kind, None).ok();
    assert_eq!(make("Graphic")["statusInfo"]["name"], "Image/Release");
    assert_eq!(make("Story")["statusInfo"]["name"], "Story/Draft", "it begins in the other workflow");
    assert_eq!(steps(&picture), ["Image/Raw>Image/Release", "Image/Release>Story/Draft"]);
}

fn with_type(desk: &Desk, client: &Client, name: &str, kind: &str, status: Option<&str>) -> Answer {
    let options =
        json!({ "name": name, "folderPath": desk.folder, "createMode": "REPLACE", "type": kind, "status": status });
    let files = [("content", name, "text/xml", &b"<b/>"[..])];
    client.call("stet-object-create-post", &[]).form(&options, &files).send()
}

/// Regression test: by a change of type and back, a released story became a draft again without the
/// privilege.
#[test]
fn a_change_of_type_takes_the_privileges_of_both_statuses() {
    let desk = Desk::new();
    let reporter = Server::shared().user("reporter");
    let story = desk.story("a.xml");
    let change = |client: &Client, kind: &str, status: Option<&str>| with_type(&desk, client, "a.xml", kind, status);
    assert_eq!(change(&reporter, "Image", None).status, 200);
    let denied = change(&reporter, "Story", Some("Story/Released")).fails(403, "PermissionDenied");
    assert_eq!(denied["details"]["privilege"], "moderate");
    assert_eq!(change(&desk.editor, "Story", Some("Story/Released")).status, 200);
    change(&reporter, "Image", None).fails(403, "PermissionDenied");
    assert_eq!(status_of(&desk.editor, &story), "Story/Released");
    assert_eq!(change(&desk.editor, "Image", None).status, 200);
}

/// A caller who may only create made a released story under a new name, or as the copy of a bundle.
#[test]
fn a_creation_with_a_status_takes_the_privilege_of_its_command() {
    let desk = Desk::new();
    let [contributor, reporter] = ["contributor", "reporter"].map(|user| Server::shared().user(user));
    let make = |client: &Client, name: &str, status: &str| {
        let options = json!({ "name": name, "folderPath": desk.folder, "type": "Story", "status": status });
        let files = [("content", name, "text/xml", &b"<b/>"[..])];
        client.call("stet-object-create-post", &[]).form(&options, &files).send()
    };
    for client in [&contributor, &reporter] {
        let denied = make(client, "released.xml", "Story/Released").fails(403, "PermissionDenied");
        assert_eq!(denied["details"]["privilege"], "moderate");
        make(client, "draft.xml", "Story/Draft").ok();
        desk.editor.delete(&format!("/v3/object/{}/discard", encoded(&format!("{}/draft.xml", desk.folder))));
    }
    // Folders created along a path have the rights of their parent.
    let privileges = ["read", "create", "moderate"].map(|name| json!({ "privilege": name, "folder": desk.folder }));
    let key = json!({ "name": format!("desk{}", desk.folder.replace('/', "-")), "user": "reporter", "privileges": privileges });
    let made = Server::shared().user("admin").call("stet-key-create-post", &[]).json(&key).ok();
    let machine = Server::shared().client_with(&made["token"]);
    let options = json!({ "name": "a.xml", "folderPath": format!("{}/new/newer", desk.folder), "type": "Story", "status": "Story/Released" });
    let files = [("content", "a.xml", "text/xml", &b"<b/>"[..])];
    machine.call("stet-object-create-post", &[]).form(&options, &files).ok();
    assert_eq!(make(&contributor, "ready.xml", "Story/Ready").status, 200, "no command names a privilege for that");
    assert_eq!(make(&desk.editor, "released.xml", "Story/Released").status, 200);
    let bundle = desk.object("bundle.xml", "CompoundStory");
    let copy = |client: &Client| {
        let body = json!({ "channel": "Web", "status": "Story/Released" });
        client.post(&format!("/v3/container/bundle/{bundle}/channelcopy"), &body)
    };
    copy(&reporter).fails(403, "PermissionDenied");
    assert_eq!(copy(&desk.editor).status, 200);
}

/// Regression test: such a status was kept among the system attributes, beside a different status
/// of the record.
#[test]
fn a_status_in_the_system_attributes_of_a_creation_is_the_status() {
    let desk = Desk::new();
    let make = |client: &Client, name: &str, status: Option<&str>, within: &str| {
        let system = json!({ "props": { "status": within, "team": "City" } });
        let options = json!({ "name": name, "folderPath": desk.folder, "type": "Story", "status": status, "systemAttributes": system });
        let files = [("content", name, "text/xml", &b"<b/>"[..])];
        client.call("stet-object-create-post", &[]).form(&options, &files).send()
    };
    let shown = |made: &Answer| {
        let made = desk.editor.call("object-get", &[&id(&made.ok())]).query("showSystemAttributes", true).ok();
        (made["statusInfo"]["name"].clone(), made["systemAttributes"].clone())
    };
    let (status, system) = shown(&make(&desk.editor, "a.xml", None, "Story/Ready"));
    assert_eq!((status, &system["props"]["status"]), (json!("Story/Ready"), &Value::Null));
    assert!(system.to_string().contains("City"), "{system}");
    assert_eq!(shown(&make(&desk.editor, "b.xml", Some("Story/Edited"), "Story/Ready")).0, "Story/Edited");
    make(&desk.editor, "c.xml", None, "Image/Raw").fails(400, "InvalidStatus");
    make(&desk.editor, "c.xml", None, "Nope").fails(404, "StatusNotFound");
    make(&Server::shared().user("reporter"), "c.xml", None, "Story/Released").fails(403, "PermissionDenied");
}

#[test]
fn a_status_for_what_is_there_already_and_stays_is_reported() {
    let desk = Desk::new();
    let folder = |status: &str| {
        let body = json!({ "path": format!("{}/made", desk.folder), "status": status });
        let made = desk.editor.call("folder-post", &[]).json(&body).send();
        made.ok();
        made.json()["warnings"].clone()
    };
    assert_eq!(folder("Default/New"), Value::Null);
    let warnings = folder("Default/Done");
    assert_eq!(warnings[0]["name"], "$.status");
    says(&warnings[0], "its status was not changed to `Default/Done`");
    assert_eq!(folder("Default/New"), Value::Null, "it has that status");
}
