//! Attributes held to metadata definitions: docs/api/metadata.md, "Validation".

use std::thread;

use serde_json::{Value, json};

use super::conf::{content_of, save};
use crate::harness::*;

/// The id of a record, or of a container.
fn id(reply: &Value) -> String {
    let record = if reply["info"].is_object() { &reply["info"] } else { reply };
    record["id"].as_str().expect("it has an id").to_owned()
}

const SITE: &str = "/SysConfig/Site/siteconfig.xml";

const DEFINITION: &str = r#"<metadataDefinition docType="m" validity="VALIDITY">
    <appliesTo type="Story"/><appliesTo type="CompoundStory"/><appliesTo type="Drawer"/><appliesTo type="Topic"/>
    <appliesTo type="TopicItem"/><appliesTo type="TopicSubItem"/><appliesTo type="TopicPlan"/>
    <appliesTo type="LiveBlog"/><appliesTo type="LiveBlogPost"/>
    <element name="m">
        <child name="headline" occurs=""/><child name="slug" occurs="?"/><child name="keyword" occurs="*"/>
        <child name="priority" occurs="?"/><child name="subject" occurs="*"/><child name="day" occurs="?"/>
        <child name="free" occurs="?"/><child name="group" occurs="*"/>
    </element>
    <element name="headline"/><element name="slug"/><element name="keyword" distinct="true"/>
    <element name="priority" type="list"><listValues><value>1</value><value>2</value></listValues></element>
    <element name="subject" type="tree-db" listName="subjects" result="Fullpath"/>
    <element name="day" type="date-time" template="yyyy-MM-dd"/>
    <element name="free" type="list" validity="ShowOnly"><listValues><value>1</value></listValues></element>
    <element name="group"><child name="headline" occurs="+"/></element>
</metadataDefinition>"#;

/// A server whose newsroom holds attributes to a definition as strictly as that word says.
fn newsroom(validity: &str) -> (Server, Client) {
    let server = Server::start();
    let admin = server.user("admin");
    define(&admin, &DEFINITION.replace("VALIDITY", validity));
    (server, admin)
}

fn define(admin: &Client, definition: &str) {
    save(admin, "/SysConfig/Dtd/held.xml", 1, definition);
    let site = content_of(admin, SITE);
    if !site.contains("held.xml") {
        let named = "<metadata><definition path=\"/SysConfig/Dtd/held.xml\"/>";
        save(admin, SITE, 1, site.replacen("<metadata>", named, 1));
    }
    let answer = admin.get("/v3/conf/siteconfigxml?refresh=true");
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

/// The content of a post.
const BODY: [File<'_>; 1] = [("content", "p.txt", "text/plain", b"text")];

/// The calls that write attributes, each with all else that it needs.
struct Writes<'c> {
    client: &'c Client,
    folder: String,
    topic: String,
    item: String,
    subitem: String,
    liveblog: String,
    post: String,
    drawer: String,
    story: String,
}

impl<'c> Writes<'c> {
    fn by(client: &'c Client) -> Writes<'c> {
        let folder = own_folder();
        let at = json!({ "folder": folder, "name": "before" });
        let topic = id(&client.call("topic-post", &[]).json(&at).ok());
        let named = json!({ "name": "i" });
        let item = id(&client.call("topicitem-post", &[&topic]).json(&named).ok());
        let subitem = id(&client.call("topicsubitem-post", &[&topic, &item]).json(&named).ok());
        let blog = json!({ "folder": folder, "name": "night", "attributes": "<m><headline/></m>" });
        let liveblog = id(&client.call("liveblog-from-default-template-post", &[]).json(&blog).ok());
        let post = id(&client.call("liveblog-post-create", &[&liveblog]).form(&json!({ "title": "t" }), &BODY).ok());
        let (drawer, story) = (client.drawer(&folder, "d", 10), client.story(&folder, "s.xml"));
        Writes { client, folder, topic, item, subitem, liveblog, post, drawer, story }
    }

    /// Returns all of these calls, writing these attributes.
    fn all(&self, attributes: &Value) -> Vec<(&'static str, Call<'_>)> {
        let call = |id: &str, path: &[&dyn std::fmt::Display]| self.client.call(id, path);
        let new = |name: &str| json!({ "folder": self.folder, "name": name, "attributes": attributes });
        let changed = json!({ "attributes": attributes });
        let named = json!({ "name": "new", "attributes": attributes });
        let titled = json!({ "title": "new", "attributes": attributes });
        let story = json!({ "name": "new.xml", "type": "Story", "folderPath": self.folder, "attributes": attributes });
        let set = json!([{ "set": { "xpath": "/attributes/m", "content": attributes["m"] } }]);
        let fields = json!({ "updateFields": [{ "sourceIds": [self.story], "operators": set }] });
        let (topic, item, subitem) = (&self.topic, &self.item, &self.subitem);
        vec![
            ("story", call("stet-object-create-post", &[]).form(&story, &[])),
            ("drawer", call("drawer-post", &[]).json(&new("new drawer"))),
            ("topic", call("topic-post", &[]).json(&new("new topic"))),
            ("plan", call("topicplan-post", &[]).json(&new("new plan"))),
            ("liveblog", call("liveblog-from-default-template-post", &[]).json(&new("new blog"))),
            ("item", call("topicitem-post", &[topic]).json(&named)),
            ("subitem", call("topicsubitem-post", &[topic, item]).json(&named)),
            ("post", call("liveblog-post-create", &[&self.liveblog]).form(&titled, &BODY)),
            ("changed topic", call("topic-put", &[topic]).json(&changed)),
            ("changed item", call("topicitem-put", &[topic, item]).json(&changed)),
            ("changed subitem", call("topicsubitem-put", &[topic, item, subitem]).json(&changed)),
            ("changed post", call("liveblog-post-put", &[&self.liveblog, &self.post]).form(&titled, &[])),
            ("changed drawer", call("drawer-put", &[&self.drawer]).json(&changed)),
            ("fields", call("stet-object-metadata-change-fields-post", &[]).json(&fields)),
        ]
    }
}

#[test]
fn strict_attributes_are_refused_by_every_call_that_writes_them() {
    let (_server, admin) = newsroom("Strict");
    let writes = Writes::by(&admin);
    let before: Vec<Value> = [&writes.topic, &writes.drawer, &writes.story, &writes.liveblog]
        .map(|object| admin.call("object-get", &[object]).query("showAttributes", true).ok())
        .into();
    let wrong = json!({ "m": { "headline": "x", "priority": "9" } });
    for (id, call) in writes.all(&wrong) {
        if id == "fields" {
            let errors = call.ok()["errors"].clone();
            includes(&errors[0], &json!({ "code": "CMS.InvalidAttributes" }));
            let message = errors[0]["message"].as_str().expect("it has a message");
            assert!(message.contains("`/m/priority`") && message.contains("`9` is not one of `1`, `2`"), "{message}");
            continue;
        }
        let answer = call.send();
        assert_eq!(answer.status, 400, "{id}: {}", String::from_utf8_lossy(&answer.body));
        let error = answer.fails(400, "InvalidAttributes");
        includes(&error["details"], &json!({ "field": "attributes", "path": "/m/priority" }));
        assert_eq!(error["details"]["faults"].as_array().map(Vec::len), Some(1), "{id}: {error}");
    }
    let after: Vec<Value> = [&writes.topic, &writes.drawer, &writes.story, &writes.liveblog]
        .map(|object| admin.call("object-get", &[object]).query("showAttributes", true).ok())
        .into();
    assert_eq!(after, before, "nothing was changed");
    let listed = admin.call("folder-get", &[&writes.folder]).ok();
    assert_eq!(listed["total"], 4, "nothing was made: {listed}");
    let right = json!({ "m": { "headline": "x", "priority": "2" } });
    for (id, call) in writes.all(&right) {
        let answer = call.send();
        assert!(answer.status < 300, "{id}: {}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.json()["warnings"], Value::Null, "{id}");
    }
}

fn set_of(client: &Client, object: &str, operators: Value) -> Value {
    let body = json!({ "updateFields": [{ "sourceIds": [object], "operators": operators }] });
    client.call("stet-object-metadata-change-fields-post", &[]).json(&body).ok()
}

/// The attributes of a story as they are stored.
fn stored(client: &Client, story: &str) -> Value {
    client.call("object-get", &[&story]).query("showAttributes", true).ok()["attributes"].clone()
}

#[test]
fn each_rule_of_a_definition_is_held_to() {
    let (_server, admin) = newsroom("Strict");
    let folder = own_folder();
    let options = |attributes: &str| json!({ "type": "Story", "folderPath": folder, "name": "a.xml", "createMode": "AUTO_RENAME", "attributes": attributes });
    for (attributes, path) in [
        ("<m><slug>s</slug></m>", "/m/headline"),
        ("<m><headline/><headline/></m>", "/m/headline[2]"),
        ("<m><headline/><slug/><slug/></m>", "/m/slug[2]"),
        ("<m><headline/><titel/></m>", "/m/titel"),
        ("<m><headline/><group/></m>", "/m/group/headline"),
        ("<m><headline/><group><headline/></group><group><slug/><headline/></group></m>", "/m/group[2]/slug"),
        ("<m><headline/><keyword>a</keyword><keyword>b</keyword><keyword>a</keyword></m>", "/m/keyword[3]"),
        ("<m><headline/><subject>/Transport/Boats</subject></m>", "/m/subject"),
        ("<m><headline/><day>27.11.2026</day></m>", "/m/day"),
        ("<metadata><headline/></metadata>", "/metadata"),
    ] {
        let call = admin.call("stet-object-create-post", &[]).form(&options(attributes), &[]);
        let error = call.fails(400, "InvalidAttributes");
        assert_eq!(error["details"]["path"], path, "{error}");
    }
    for attributes in [
        "<m><headline/></m>",
        "<m x='1'><headline>h</headline><slug/><keyword>a</keyword><keyword>b</keyword><subject>/Transport/Ferries</subject>\
         <day>2026-11-27</day><free>9</free><group><headline/><headline/></group></m>",
    ] {
        admin.call("stet-object-create-post", &[]).form(&options(attributes), &[]).ok();
    }
    // Without attributes there is nothing to check, and other types have other definitions.
    admin.story(&folder, "plain.xml");
    let text = json!({ "type": "Text", "folderPath": folder, "name": "t.txt", "attributes": "<any><thing/></any>" });
    admin.call("stet-object-create-post", &[]).form(&text, &[]).ok();
    // A repeated creation: the stored result counts, whether given or kept.
    let again = json!({ "type": "Story", "folderPath": folder, "name": "a.xml", "createMode": "NEW_VERSION", "attributes": "<m/>" });
    admin.call("stet-object-create-post", &[]).form(&again, &[]).fails(400, "InvalidAttributes");
}

#[test]
fn fields_that_are_changed_at_once_leave_strict_attributes_valid() {
    let (_server, admin) = newsroom("Strict");
    let folder = own_folder();
    for round in 0..10 {
        let options = json!({ "type": "Story", "folderPath": folder, "name": format!("{round}.xml"), "attributes": "<m><headline/></m>" });
        let story = id(&admin.call("stet-object-create-post", &[]).form(&options, &[]).ok());
        // Each alone is valid: only one of them is when its turn comes.
        let push = |slug: usize| json!([{ "push": { "xpath": "/attributes/m/slug", "content": slug.to_string() } }]);
        let done: Vec<Value> = thread::scope(|scope| {
            let pushing: Vec<_> = (0..4)
                .map(|slug| {
                    scope.spawn({
                        let (admin, story) = (&admin, &story);
                        move || set_of(admin, story, push(slug))
                    })
                })
                .collect();
            pushing.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        let made = done.iter().filter(|reply| reply["errors"] == json!([])).count();
        assert_eq!(made, 1, "{done:?}");
        assert!(stored(&admin, &story)["m"]["slug"].is_string(), "{}", stored(&admin, &story));
    }
    let story = format!("{folder}/0.xml");
    let unset = set_of(&admin, &story, json!([{ "unset": { "xpath": "/attributes/m/headline" } }]));
    includes(&unset["errors"][0], &json!({ "code": "CMS.InvalidAttributes" }));
    // All operators of an entry count together.
    let both = json!([
        { "unset": { "xpath": "/attributes/m/headline" } },
        { "set": { "xpath": "/attributes/m/headline", "content": "again" } },
    ]);
    assert_eq!(set_of(&admin, &story, both)["errors"], json!([]));
    assert_eq!(stored(&admin, &story)["m"]["headline"], "again");
}

#[test]
fn templates_copies_and_a_new_work_folder_are_held_to_the_definition() {
    let (_server, admin) = newsroom("None");
    let folder = own_folder();
    let made = |name: &str, kind: &str| {
        let options = json!({ "type": kind, "folderPath": folder, "name": name, "attributes": "<m><slug/></m>" });
        id(&admin
            .call("stet-object-create-post", &[])
            .form(&options, &[("content", name, "text/xml", b"<story/>")])
            .ok())
    };
    let (story, bundle) = (made("template.xml", "Story"), made("bundle.xml", "CompoundStory"));
    let body = json!({ "name": "template", "folder": folder, "attributes": "<m><slug/></m>" });
    let topic = id(&admin.call("topic-post", &[]).json(&body).ok());
    define(&admin, &DEFINITION.replace("VALIDITY", "Strict"));
    // Stored values stay, and other changes of the object succeed.
    set_of(&admin, &story, json!([{ "set": { "xpath": "/sysattributes/props/team", "content": "City" } }]));
    admin.call("topic-put", &[&topic]).json(&json!({ "description": "d" })).ok();
    let from = json!({ "name": "new.xml", "type": "Story", "folderPath": folder });
    let path = format!("{folder}/template.xml");
    let call = admin.call("stet-object-create-from-template-post", &[]).query("path", &path).json(&from);
    assert_eq!(call.fails(400, "InvalidAttributes")["details"]["path"], "/m/headline");
    let body = json!({ "name": "new", "folder": folder });
    admin.call("topic-from-template-post", &[&topic]).json(&body).fails(400, "InvalidAttributes");
    let copy = json!({ "channel": "Tabloid" });
    admin.call("container-bundle-channelcopy-post", &[&bundle]).json(&copy).fails(400, "InvalidAttributes");
    // A definition for a work folder alone.
    let strict = DEFINITION
        .replace("VALIDITY", "Strict")
        .replace("<appliesTo type=\"Story\"/>", "<appliesTo type=\"Story\" workFolder=\"/News/Sport\"/>");
    define(&admin, &strict);
    let place = |path: &str| json!([{ "set": { "xpath": "/sysattributes/props/workFolder", "content": path } }]);
    assert_eq!(set_of(&admin, &story, place("/News/City"))["errors"], json!([]));
    includes(&set_of(&admin, &story, place("/News/Sport"))["errors"][0], &json!({ "code": "CMS.InvalidAttributes" }));
}

#[test]
fn imported_attributes_are_kept_whatever_the_definition_says() {
    let (_server, admin) = newsroom("Strict");
    let uuid = uuid::Uuid::now_v7().to_string();
    let options = json!({ "uuid": uuid, "type": "Story", "name": "i.xml", "folderPath": own_folder(), "attributes": "<m><x/></m>" });
    let answer = admin.call("stet-object-import-post", &[]).form(&options, &[]).send();
    let mut paths = warned(&answer);
    paths.sort_unstable();
    assert_eq!(
        (answer.ok()["created"].clone(), paths),
        (json!(true), vec!["/m/headline".to_owned(), "/m/x".to_owned()])
    );
    assert_eq!(stored(&admin, &uuid), json!({ "m": { "x": "" } }));
}

#[test]
fn large_attributes_are_checked_and_others_are_served_meanwhile() {
    let (_server, admin) = newsroom("Strict");
    let folder = own_folder();
    let keywords = |last: &str| {
        let many: String = (0..20_000).map(|n| format!("<keyword>{n}</keyword>")).collect();
        format!("<m><headline/>{many}{last}</m>")
    };
    let create = |name: &str, attributes: &str| {
        let options = json!({ "type": "Story", "folderPath": folder, "name": name, "attributes": attributes });
        admin.call("stet-object-create-post", &[]).form(&options, &[])
    };
    let story = id(&create("a.xml", &keywords("")).ok());
    let error = create("b.xml", &keywords("<keyword>7</keyword>")).fails(400, "InvalidAttributes");
    assert_eq!(error["details"]["path"], "/m/keyword[20001]");
    let push = |word: &str| json!([{ "push": { "xpath": "/attributes/m/keyword", "content": word } }]);
    includes(&set_of(&admin, &story, push("8"))["errors"][0], &json!({ "code": "CMS.InvalidAttributes" }));
    assert_eq!(set_of(&admin, &story, push("new"))["errors"], json!([]));
}

/// The paths of the elements that a reply warns of.
fn warned(answer: &Answer) -> Vec<String> {
    let reply = answer.json();
    let warnings = reply["warnings"].as_array().unwrap_or_else(|| panic!("there are no warnings: {reply}")).clone();
    warnings.iter().map(|warning| warning["name"].as_str().expect("it has a name").to_owned()).collect()
}

#[test]
fn warned_attributes_are_stored_and_reported_by_every_writing_call() {
    let (_server, admin) = newsroom("Warn");
    let writes = Writes::by(&admin);
    let wrong = json!({ "m": { "slug": "x", "priority": "9", "free": "9" } });
    for (id, call) in writes.all(&wrong) {
        let answer = call.send();
        assert!(answer.status < 300, "{id}: {}", String::from_utf8_lossy(&answer.body));
        let mut paths = warned(&answer);
        paths.sort_unstable();
        assert_eq!(paths, ["/m/headline", "/m/priority"], "{id}");
    }
    assert_eq!(stored(&admin, &writes.story)["m"]["priority"], "9");
    let set = json!([{ "set": { "xpath": "/attributes/m/headline", "content": "h" } }]);
    let body = json!({ "updateFields": [{ "sourceIds": [writes.story], "operators": set }] });
    let answer = admin.call("stet-object-metadata-change-fields-post", &[]).json(&body).send();
    let message = answer.json()["warnings"][0]["message"].clone();
    assert_eq!((warned(&answer), message), (vec!["/m/priority".to_owned()], json!("`9` is not one of `1`, `2`.")));
    // A caller who asks for strict handling of unknown names still gets a warning about attributes.
    let call = admin.call("topic-put", &[&writes.topic]).header("prefer", "handling=strict");
    let answer = call.json(&json!({ "attributes": "<m/>" })).send();
    assert_eq!((answer.status, warned(&answer)), (200, vec!["/m/headline".to_owned()]));
}
