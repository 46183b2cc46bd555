//! Transitions, and the privileges that commands of the configuration name.

use super::*;
use crate::api::conf::save;

const WORKFLOWS: &str = "/SysConfig/Workflows/workflows.xml";
const TYPES: &str = "/SysConfig/ObjectTypes/objecttypes.xml";
const COMMANDS: &str = "/SysConfig/Commands/commands.xml";

/// Replaces a part of a configuration file, and brings that into force.
fn edit(admin: &Client, file: &str, family: &str, from: &str, to: &str) {
    let text = admin.call("stet-object-content-get", &[&file]).query("raw", true).send().body;
    let text = String::from_utf8(text).expect("it is text");
    assert!(text.contains(from), "{file} has no `{from}`");
    save(admin, file, 1, text.replacen(from, to, 1));
    let refreshed = admin.get(&format!("/v3/conf/cache/{family}/refresh/1")).ok();
    assert_eq!(refreshed["errors"], json!([]), "{refreshed}");
}

#[test]
fn only_the_transitions_of_the_workflow_are_allowed() {
    let desk = Desk::new();
    let story = desk.story("a.xml");
    let refused = set(&desk.editor, &story, "Story/Released").fails(400, "InvalidStatus");
    assert_eq!(refused["details"]["allowed"], json!(["Story/Edited", "Story/Ready", "Story/Spiked"]));
    let message = refused["message"].as_str().expect("an error has a message");
    assert!(message.contains("`Story/Edited`, `Story/Ready`, `Story/Spiked`"), "{message}");
    let other = set(&desk.editor, &story, "Image/Ready").fails(400, "InvalidStatus");
    assert_eq!(other["details"]["allowed"], refused["details"]["allowed"]);
    let unknown = set(&desk.editor, &story, "Story/Redy").fails(404, "StatusNotFound");
    let message = unknown["message"].as_str().expect("an error has a message");
    assert!(message.contains("Did you mean `Story/Ready`?") && message.contains("`Story/Spiked`"), "{message}");
    assert!(!message.contains("Image/"), "only the statuses of its workflow: {message}");
    assert_eq!((status_of(&desk.editor, &story), steps(&story)), (json!("Story/Draft"), Vec::new()));
    for status in ["Story/Ready", "Story/Released", "Story/Edited"] {
        set(&desk.editor, &story, status).ok();
    }
    for body in [json!({}), json!({ "status": 7 }), json!({ "status": null }), json!([])] {
        let answer = desk.editor.call("stet-object-status-post", &[&story]).json(&body).send();
        answer.fails(400, "InvalidBody");
    }
    set(&desk.editor, &story, "").fails(400, "InvalidParameter");
}

#[test]
fn a_workflow_without_enforced_transitions_allows_all_its_statuses() {
    let server = Server::start();
    let (admin, desk) = (server.user("admin"), Desk::at(&server));
    let (story, other) = (desk.story("a.xml"), desk.story("b.xml"));
    let (enforced, free) = ("<workflow name=\"Story\">", "<workflow name=\"Story\" enforce=\"false\">");
    edit(&admin, WORKFLOWS, "workflows", enforced, free);
    set(&desk.editor, &story, "Story/Released").ok();
    set(&desk.editor, &story, "Image/Ready").fails(400, "InvalidStatus");
    edit(&admin, WORKFLOWS, "workflows", free, enforced);
    set(&desk.editor, &other, "Story/Released").fails(400, "InvalidStatus");
}

#[test]
fn objects_of_a_type_without_a_workflow_have_no_status() {
    let server = Server::start();
    let (admin, desk) = (server.user("admin"), Desk::at(&server));
    let note = "<objectType name=\"Note\" family=\"document\" label=\"Note\"/></objectTypes>";
    edit(&admin, TYPES, "objecttypes", "</objectTypes>", note);
    let object = desk.object("a.note", "Note");
    let refused = set(&desk.editor, &object, "Story/Draft").fails(400, "InvalidType");
    let message = refused["message"].as_str().expect("an error has a message");
    assert!(message.contains("`Note`") && message.contains("no workflow"), "{message}");
    // With a workflow later, it may get any of its statuses.
    edit(&admin, TYPES, "objecttypes", "name=\"Note\" family", "name=\"Note\" workflow=\"Story\" family");
    set(&desk.editor, &object, "Story/Ready").ok();
    assert_eq!(steps_on(&admin, &object), ["none>Story/Ready"]);
    set(&desk.editor, &object, "Story/Draft").fails(400, "InvalidStatus");
}

#[test]
fn the_privilege_of_the_command_is_needed_and_suffices() {
    let server = Server::start();
    let (admin, desk) = (server.user("admin"), Desk::at(&server));
    let story = desk.story("a.xml");
    let reporter = server.user("reporter");
    set(&reporter, &story, "Story/Ready").ok();
    let denied = set(&reporter, &story, "Story/Released").fails(403, "PermissionDenied");
    assert_eq!(denied["details"]["privilege"], "moderate");
    // A user who may moderate but not write can release stories, and do nothing else to them.
    let grant = |privileges: &[&str]| {
        let privileges: Vec<Value> = privileges.iter().map(|name| json!({ "privilege": name })).collect();
        let group = json!({ "groupName": "readers", "members": ["reader"], "privileges": privileges });
        admin.call("group-update-post", &[]).json(&group).ok();
    };
    grant(&["read", "moderate"]);
    let reader = server.user("reader");
    set(&reader, &story, "Story/Edited").fails(403, "PermissionDenied");
    includes(&set(&reader, &story, "Story/Released").ok(), &json!({ "statusInfo": { "name": "Story/Released" } }));
    reader.call("stet-object-lock-post", &[&story]).fails(403, "PermissionDenied");
    // Without a command for a status it takes `write`.
    let blog = desk.editor.liveblog(&desk.folder, "night");
    set(&reader, &blog, "LiveBlog/Closed").fails(403, "PermissionDenied");
    set(&reporter, &blog, "LiveBlog/Closed").ok();
    // Of several commands that set it, any privilege serves; one that is for other types does not
    // count.
    let more = "<command name=\"a\" privilege=\"delete\"><appliesTo>LiveBlog</appliesTo><set status=\"LiveBlog/Open\"/></command>\
        <command name=\"b\" privilege=\"moderate\"><set status=\"LiveBlog/Open\"/></command>\
        <command name=\"c\" privilege=\"read\"><appliesTo>Story</appliesTo><set status=\"LiveBlog/Open\"/></command></commands>";
    edit(&admin, COMMANDS, "commands", "</commands>", more);
    set(&reader, &blog, "LiveBlog/Open").ok();
    grant(&["read"]);
    set(&reporter, &blog, "LiveBlog/Closed").ok();
    set(&reader, &blog, "LiveBlog/Open").fails(403, "PermissionDenied");
    set(&reporter, &blog, "LiveBlog/Open").ok();
    let listed = json!({ "sources": [blog], "status": "LiveBlog/Closed" });
    let reply = reader.call("stet-objects-status-post", &[]).json(&listed).ok();
    assert_eq!((&reply["items"], &reply["errors"][0]["code"]), (&json!([]), &json!("CMS.PermissionDenied")));
}

#[test]
fn commands_of_the_configuration_name_the_call_that_carries_them_out() {
    let desk = Desk::new();
    let story = desk.story("a.xml");
    let commands = desk.editor.get("/v3/conf/cache/commands/1").ok()["items"].clone();
    let named = |name: &str| {
        let all = commands.as_array().expect("there is a list").iter();
        all.clone().find(|command| command["name"] == name).expect("the sample has it")["request"].clone()
    };
    let request = named("story.ready");
    let wanted = json!({ "method": "POST", "path": "/v3/object/{source}/status", "body": { "status": "Story/Ready" } });
    assert_eq!((&request, &named("wire.toStory")), (&wanted, &Value::Null));
    let path = request["path"].as_str().expect("it has a path").replace("{source}", &encoded(&story));
    desk.editor.post(&path, &request["body"]).ok();
    assert_eq!(status_of(&desk.editor, &story), "Story/Ready");
}
