//! A call for each endpoint that succeeds, on objects made for it alone.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::harness::*;

/// An endpoint, and the function that creates a call of it.
pub struct Case {
    pub id: &'static str,
    pub make: fn(&Corner) -> Made,
}

/// A value in a call for a parameter of the path or the query.
#[derive(Debug, Clone)]
pub enum Part {
    /// An object, by its loid.
    Object(String, Kind),
    /// Any other value.
    Word(String),
}

/// A requirement for an object in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any object.
    Any,
    Drawer,
    Bundle,
    /// A bundle or a web container.
    Container,
    WebContainer,
    Folder,
    Liveblog,
    Topic,
    TopicPlan,
    PagePlan,
    /// A post of the liveblog in front of it.
    Post,
    /// An item of the topic in front of it, or a subitem of that item.
    TopicItem,
    /// An object of the drawer in front of it, or the id of its shortcut.
    Item,
    /// Any object with content; one that is missing is a template that is missing.
    Template,
}

/// A call.
#[derive(Clone, Default)]
pub struct Made {
    pub path: Vec<Part>,
    pub query: Vec<(&'static str, Part)>,
    pub body: Body,
    /// The caller, where the session must be used by nobody else.
    pub by: Option<Client>,
}

#[derive(Debug, Clone, Default)]
pub enum Body {
    #[default]
    None,
    Json(Value),
    /// The options, and whether a file `content` comes along.
    Form(Value, bool),
    /// XML.
    Bytes(&'static str),
}

/// A place that no other test uses: a folder of its own on the server that tests share.
pub struct Corner {
    pub client: Client,
    pub folder: String,
}

/// A drawer, and the stories in it.
struct Filled {
    drawer: Part,
    stories: Vec<Part>,
}

/// A topic and what is in it.
struct Planned {
    topic: Part,
    divider: Part,
    item: Part,
    subitem: Part,
    /// The divider below the item.
    below: Part,
}

/// Returns the id of a message that the caller has received from themselves.
fn message(corner: &Corner) -> String {
    let own = corner.client.call("auth-connection-get", &[]).ok()["username"].clone();
    let body = json!({ "subject": "s", "recipients": [own], "attachments": [corner.story().to_string()] });
    let sent = corner.client.call("message-sendmail-post", &[]).json(&body).ok();
    sent["id"].as_str().expect("it has an id").to_owned()
}

fn id_in(reply: &Value) -> String {
    reply["info"]["id"].as_str().expect("it has an id").to_owned()
}

impl Case {
    pub fn endpoint(&self) -> &'static Endpoint {
        Endpoint::of(self.id)
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Object(text, _) | Part::Word(text) => f.write_str(text),
        }
    }
}

impl Made {
    /// Returns a call with these parameters of the path.
    fn on<const N: usize>(path: [Part; N]) -> Made {
        Made { path: path.into(), ..Made::default() }
    }

    pub fn json(self, body: Value) -> Made {
        Made { body: Body::Json(body), ..self }
    }

    fn form(self, options: Value) -> Made {
        Made { body: Body::Form(options, true), ..self }
    }

    fn bytes(self, text: &'static str) -> Made {
        Made { body: Body::Bytes(text), ..self }
    }

    fn by(self, client: Client) -> Made {
        Made { by: Some(client), ..self }
    }

    fn query(mut self, name: &'static str, value: Part) -> Made {
        self.query.push((name, value));
        self
    }

    /// The object that the call is about: what an `If-Match` speaks of.
    pub fn about(&self) -> Option<&str> {
        let mut parts = self.path.iter().chain(self.query.iter().map(|(_, part)| part));
        parts.find_map(|part| if let Part::Object(loid, _) = part { Some(loid.as_str()) } else { None })
    }

    /// The objects of the call, each with the call in which something else takes its place.
    pub fn objects(&self) -> Vec<(String, Kind, impl Fn(&str) -> Made + use<>)> {
        let count = self.path.len();
        let parts = self.path.iter().chain(self.query.iter().map(|(_, part)| part)).enumerate();
        let objects = parts.filter_map(|(index, part)| match part {
            Part::Object(loid, kind) => Some((index, loid.clone(), *kind)),
            Part::Word(_) => None,
        });
        let with = |(index, loid, kind): (usize, String, Kind)| {
            let made = self.clone();
            let replaced = move |other: &str| -> Made {
                let mut made: Made = made.clone();
                let part = if index < count { &mut made.path[index] } else { &mut made.query[index - count].1 };
                *part = Part::Word(other.to_owned());
                made
            };
            (loid, kind, replaced)
        };
        objects.map(with).collect()
    }

    /// Returns the call as this client would send it, or the client that must send it.
    pub fn call<'c>(&'c self, client: &'c Client, id: &str) -> Call<'c> {
        let client = self.by.as_ref().unwrap_or(client);
        let arguments: Vec<&dyn Display> = self.path.iter().map(|part| part as &dyn Display).collect();
        let call = client.call(id, &arguments);
        let call = self.query.iter().fold(call, |call, (name, value)| call.query(name, value));
        match &self.body {
            Body::None => call,
            Body::Json(body) => call.json(body),
            Body::Form(options, with_content) => {
                let content: &[File<'_>] = &[("content", "a.xml", "text/xml", b"<post><p>a</p></post>")];
                call.form(options, if *with_content { content } else { &[] })
            }
            Body::Bytes(text) => call.bytes("text/xml", *text),
        }
    }
}

fn word(text: impl Display) -> Part {
    Part::Word(text.to_string())
}

fn of(part: &Part, kind: Kind) -> Part {
    Part::Object(part.to_string(), kind)
}

impl Corner {
    pub fn new() -> Corner {
        Corner::of(Server::shared(), own_folder())
    }

    /// Returns a corner of any server, and creates the folder if it is missing.
    pub fn of(server: &Server, folder: String) -> Corner {
        let client = server.user("admin");
        client.call("folder-post", &[]).json(&json!({ "path": folder })).ok();
        Corner { client, folder }
    }

    /// A name that nothing else has.
    fn name(&self) -> String {
        own_folder().replace('/', "-")
    }

    pub fn folder(&self) -> Part {
        let body = json!({ "path": format!("{}/{}", self.folder, self.name()) });
        let made = self.client.call("folder-post", &[]).json(&body).ok();
        Part::Object(made["info"]["id"].as_str().expect("a folder has an id").to_owned(), Kind::Folder)
    }

    pub fn story(&self) -> Part {
        Part::Object(self.client.story(&self.folder, &self.name()), Kind::Any)
    }

    /// A story of a work folder that the site configuration knows.
    fn at_desk(&self) -> Part {
        let name = self.name();
        let options = json!({ "name": name, "type": "Story", "folderPath": self.folder, "workFolder": "/News/City" });
        let made = self.client.upload("/v3/object/create", &options, Some((&name, "text/xml", b"<story/>"))).ok();
        Part::Object(id_made(&made), Kind::Any)
    }

    fn drawer(&self, stories: usize) -> Filled {
        let drawer = self.client.drawer(&self.folder, &self.name(), 10);
        let stories: Vec<Part> = (0..stories).map(|_| of(&self.story(), Kind::Item)).collect();
        if !stories.is_empty() {
            let sources: Vec<String> = stories.iter().map(Part::to_string).collect();
            self.client.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": sources })).ok();
        }
        Filled { drawer: Part::Object(drawer, Kind::Drawer), stories }
    }

    fn liveblog(&self) -> Part {
        Part::Object(self.client.liveblog(&self.folder, &self.name()), Kind::Liveblog)
    }

    /// A liveblog with an approved post that has an attachment: both, and the attachment's id.
    fn post(&self) -> [Part; 3] {
        let liveblog = self.liveblog();
        let files: &[File<'_>] =
            &[("content", "a.xml", "text/xml", b"<post/>"), ("attachments", "a.txt", "text/plain", b"a")];
        let post = self.client.call("liveblog-post-create", &[&liveblog]).form(&json!({ "timestamp": 0 }), files).ok();
        let loid = post["info"]["id"].as_str().expect("a post has an id").to_owned();
        let attachment = post["attachments"][0]["id"].as_str().expect("an attachment has an id").to_owned();
        [liveblog, Part::Object(loid, Kind::Post), word(attachment)]
    }

    /// The first two of them.
    fn bare_post(&self) -> [Part; 2] {
        let [liveblog, post, _] = self.post();
        [liveblog, post]
    }

    fn topic(&self) -> Part {
        let made = self.client.call("topic-post", &[]).json(&new_in(self)).ok();
        Part::Object(id_in(&made), Kind::Topic)
    }

    fn plan(&self) -> Part {
        let made = self.client.call("topicplan-post", &[]).json(&new_in(self)).ok();
        Part::Object(id_in(&made), Kind::TopicPlan)
    }

    /// A topic with an item that has a subitem, and a divider in each.
    fn planned(&self) -> Planned {
        let topic = self.topic();
        let make =
            |call: &str, path: &[&dyn Display], body: Value| id_in(&self.client.call(call, path).json(&body).ok());
        let divider = word(make("topic-divider-post", &[&topic], json!({ "title": "d" })));
        let item = make("topicitem-post", &[&topic], json!({ "name": "a" }));
        let subitem = make("topicsubitem-post", &[&topic, &item], json!({ "name": "b" }));
        let below = word(make("topicitem-divider-post", &[&topic, &item], json!({ "title": "e" })));
        let [item, subitem] = [item, subitem].map(|loid| Part::Object(loid, Kind::TopicItem));
        Planned { topic, divider, item, subitem, below }
    }

    /// A compound story with a copy for the channel Web, and the copy.
    fn bundle(&self) -> [Part; 2] {
        let bundle = self.typed("CompoundStory", b"<story/>");
        let body = json!({ "channel": "Web", "inheritFrom": "Neutral" });
        let copy = self.client.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).ok();
        [Part::Object(bundle, Kind::Bundle), Part::Object(id_made(&copy), Kind::Any)]
    }

    /// A web container that names a compound story.
    fn web_container(&self) -> Part {
        let [bundle, _] = self.bundle();
        let content = format!("<webContainer><link href='{bundle}'/></webContainer>");
        Part::Object(self.typed("WebContainer", content.as_bytes()), Kind::WebContainer)
    }

    fn typed(&self, kind: &str, content: &[u8]) -> String {
        let options = json!({ "name": self.name(), "type": kind, "folderPath": self.folder });
        let file = ("content", "a.xml", "text/xml", content);
        id_made(&self.client.call("stet-object-create-post", &[]).form(&options, &[file]).ok())
    }

    /// A plan with a divider and a topic.
    fn filled_plan(&self) -> [Part; 3] {
        let (plan, topic) = (self.plan(), self.topic());
        self.client.call("topicplan-add-put", &[&plan, &topic]).ok();
        let made = self.client.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d" })).ok();
        [plan, of(&topic, Kind::Any), word(id_in(&made))]
    }

    fn user(&self) -> String {
        let name = self.name();
        self.client.call("stet-user-create-post", &[]).json(&json!({ "name": name, "password": PASSWORD })).ok();
        name
    }

    fn group(&self) -> String {
        let name = self.name();
        self.client.call("group-create-post", &[]).json(&json!({ "groupName": name })).ok();
        name
    }
}

fn id_made(record: &Value) -> String {
    record["id"].as_str().expect("a record has an id").to_owned()
}

fn link_to(target: &Part) -> Value {
    json!({ "sourceLinkName": "planned in", "targetLinkName": "text", "targetSource": target.to_string() })
}

fn list<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Value {
    json!({ "sources": parts.into_iter().map(Part::to_string).collect::<Vec<_>>() })
}

fn credentials() -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD })
}

/// Returns the body of a call that creates a liveblog in this corner.
fn new_in(corner: &Corner) -> Value {
    json!({ "name": corner.name(), "folderPath": corner.folder })
}

/// The password of users that are made here.
const PASSWORD: &str = "a long secret";

/// Served endpoints that have no line here, and where they are tested instead.
pub const ELSEWHERE: &[&str] = &[
    // It needs a CAS server: `cas`.
    "auth-login-get",
];

const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/liveblog.xml";
const TOPIC_TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/topic";
const PLAN_TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/topicplan";

macro_rules! cases {
    ($($id:literal: $make:expr;)*) => {
        /// All cases.
        pub const CASES: &[Case] = &[$(Case { id: $id, make: $make }),*];
    };
}

cases! {
    "auth-connection-check-get": |_| Made::default();
    "auth-connection-get": |_| Made::default();
    "auth-login-post": |_| Made::default().json(credentials());
    "auth-logout-get": |_| Made::default().by(Server::shared().login("editor"));
    "old-auth-logout-get": |_| Made::default().by(Server::shared().login("editor"));
    "auth-copy-post": |corner| Made::default().json(json!({ "token": corner.client.token }));
    "old-auth-login-post": |_| {
        let mut body = credentials();
        let fields = body.as_object_mut().expect("credentials are an object");
        fields.shift_remove("password");
        fields.insert("pwd".to_owned(), json!(SAMPLE_PASSWORD));
        Made::default().json(body)
    };
    "old-group-list-get": |_| Made::default();
    "stet-old-login-post": |_| {
        Made::default().json(json!({
            "connectionId": "Editorial", "applicationId": "test", "username": "editor", "pwd": SAMPLE_PASSWORD
        }))
    };
    "stet-old-message-get": |corner| {
        // An empty inbox shows no record.
        message(corner);
        Made::default()
    };
    "stet-old-message-post": |corner| {
        Made::default().json(json!({ "subject": "s", "recipients": [corner.user()] }))
    };
    "old-calendar-nextpublicationdate-get": |_| {
        let made = Made::default().query("product", word("HarbourCourier"));
        made.query("fromIssueDate", word("20261124"))
    };
    "old-channel-list-get": |corner| Made::default().query("loidsSource", corner.story());
    "old-contentitems-list-get": |_| Made::default();
    "old-contentitems-map-get": |_| Made::default();
    "old-metadata-dtd-get": |corner| Made::default().query("id", corner.story());
    "old-metadata-treedb-get": |corner| {
        Made::default().query("id", corner.story()).query("node", word("subject"))
    };
    "old-metadata-treedbxml-get": |corner| {
        Made::default().query("id", corner.story()).query("node", word("section"))
    };
    "old-resolve-path-get": |_| Made::default().query("contentType", word("Story"));
    "old-siteconfig-get": |_| Made::default().query("type", word("Story"));
    "old-team-list-get": |_| Made::default().query("showChannels", word("true"));
    "old-user-list-get": |_| Made::default().query("query", word("editor"));
    "old-userdata-get": |_| Made::default();
    "old-workfolder-list-get": |_| Made::default().query("showBasefolders", word("true"));
    "old-pageplan-delete": |corner| {
        let options = json!({ "name": corner.name(), "type": "PagePlan", "folderPath": corner.folder });
        let made = corner.client.upload("/v3/object/create", &options, None).ok();
        Made::default().query("source", of(&word(made["id"].as_str().expect("it has an id")), Kind::PagePlan))
    };

    "drawer-get": |corner| Made::on([corner.drawer(2).drawer]).query("showItems", word(true));
    "drawer-by-object-get": |corner| Made::on([of(&corner.drawer(1).stories[0], Kind::Any)]);
    "drawer-post": |corner| Made::default().json(new_in(corner));
    "drawer-automatic-post": |_| Made::default();
    "drawer-put": |corner| Made::on([corner.drawer(1).drawer]).json(json!({ "title": "changed" }));
    "drawer-item-post": |corner| Made::on([corner.drawer(1).drawer, corner.story()]);
    "drawer-items-post": |corner| Made::on([corner.drawer(1).drawer]).json(list([&corner.story()]));
    "drawer-item-position-put": |corner| Made::on([corner.drawer(1).drawer, corner.story(), word(0)]);
    "drawer-shortcut-position-put": |corner| {
        let Filled { drawer, stories } = corner.drawer(2);
        Made::on([drawer, stories[0].clone(), word(1)])
    };
    "drawer-item-move-put": |corner| {
        let Filled { drawer, stories } = corner.drawer(1);
        Made::on([drawer, stories[0].clone(), corner.drawer(0).drawer])
    };
    "drawer-item-delete": |corner| {
        let Filled { drawer, stories } = corner.drawer(1);
        Made::on([drawer, stories[0].clone()])
    };
    "drawer-items-delete": |corner| {
        let Filled { drawer, stories } = corner.drawer(2);
        Made::on([drawer]).json(list(&stories))
    };
    "drawer-item-clear-put": |corner| Made::on([corner.drawer(1).drawer]);

    "liveblog-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "liveblog-from-template-post": |corner| {
        Made::on([Part::Object(TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "liveblog-get": |corner| Made::on([corner.bare_post()[0].clone()]);
    "liveblog-search-post": |corner| Made::on([corner.bare_post()[0].clone()]).json(json!({ "limit": 5 }));
    "liveblog-put": |corner| Made::on([corner.liveblog()]).bytes("<liveblog/>");
    "liveblog-content-get": |corner| Made::on([corner.bare_post()[0].clone()]);
    "liveblog-delete": |corner| Made::on([corner.liveblog()]);
    "stet-liveblog-feed-get": |corner| Made::on([corner.bare_post()[0].clone(), word("json")]);
    "liveblog-posts-post": |corner| Made::default().json(list([&corner.bare_post()[1]]));
    "liveblog-post-create": |corner| Made::on([corner.liveblog()]).form(json!({ "title": "new" }));
    "liveblog-post-get": |corner| Made::on(corner.bare_post());
    "liveblog-post-put": |corner| Made::on(corner.bare_post()).form(json!({ "title": "changed" }));
    "liveblog-post-delete": |corner| Made::on(corner.bare_post());
    "liveblog-post-approve-post": |corner| {
        let [liveblog, post] = corner.bare_post();
        corner.client.call("liveblog-post-reject-post", &[&liveblog, &post]).ok();
        Made::on([liveblog, post])
    };
    "liveblog-post-reject-post": |corner| Made::on(corner.bare_post());
    "liveblog-post-pending-post": |corner| Made::on(corner.bare_post());
    "liveblog-post-delete-post": |corner| Made::on(corner.bare_post());
    "stet-liveblog-post-content-get": |corner| Made::on(corner.bare_post());
    "stet-liveblog-post-attachment-get": |corner| Made::on(corner.post());
    "stet-liveblog-events-get": |corner| {
        Made::on([corner.bare_post()[0].clone()]).query("wait", word(false)).query("lastEventId", word(0))
    };
    "stet-container-events-get": |corner| {
        let drawer = of(&corner.drawer(1).drawer, Kind::Any);
        Made::on([drawer]).query("wait", word(false)).query("lastEventId", word(0))
    };

    "topic-get": |corner| Made::on([corner.planned().topic]);
    "topic-structure-get": |corner| Made::on([corner.planned().topic]);
    "topic-post": |corner| Made::default().json(new_in(corner));
    "topic-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "topic-from-template-post": |corner| {
        Made::on([Part::Object(TOPIC_TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "topic-put": |corner| Made::on([corner.topic()]).json(json!({ "title": "changed" }));
    "topicitem-post": |corner| Made::on([corner.topic()]).json(json!({ "name": "new" }));
    "topicitem-put": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "comment": "changed" }))
    };
    "topicitem-delete": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item])
    };
    "topicitem-attach-put": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item, corner.story()])
    };
    "topicsubitem-post": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "name": "new" }))
    };
    "topicsubitem-put": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem]).json(json!({ "comment": "changed" }))
    };
    "topicsubitem-delete": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem])
    };
    "topicsubitem-attach-put": |corner| {
        let Planned { topic, item, subitem, .. } = corner.planned();
        Made::on([topic, item, subitem, corner.story()])
    };
    "topic-divider-post": |corner| Made::on([corner.topic()]).json(json!({ "title": "new" }));
    "topic-divider-put": |corner| {
        let Planned { topic, divider, .. } = corner.planned();
        Made::on([topic, divider]).json(json!({ "title": "changed" }))
    };
    "topic-divider-delete": |corner| {
        let Planned { topic, divider, .. } = corner.planned();
        Made::on([topic, divider])
    };
    "topicitem-divider-post": |corner| {
        let Planned { topic, item, .. } = corner.planned();
        Made::on([topic, item]).json(json!({ "title": "new" }))
    };
    "topicitem-divider-put": |corner| {
        let Planned { topic, item, below, .. } = corner.planned();
        Made::on([topic, item, below]).json(json!({ "title": "changed" }))
    };
    "topicitem-divider-delete": |corner| {
        let Planned { topic, item, below, .. } = corner.planned();
        Made::on([topic, item, below])
    };
    "topic-move-put": |corner| {
        let (from, to) = (corner.planned(), corner.topic());
        Made::default().json(json!({ "sources": [from.item.to_string()], "target": to.to_string() }))
    };

    "stet-object-correlate-post": |corner| {
        let (story, item) = (of(&corner.story(), Kind::Any), corner.planned().item);
        Made::on([story]).json(link_to(&item))
    };
    "stet-object-uncorrelate-post": |corner| {
        let (story, item) = (of(&corner.story(), Kind::Any), corner.planned().item);
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made::on([story]).json(link_to(&item))
    };
    "stet-object-correlates-get": |corner| {
        let (story, item) = (of(&corner.story(), Kind::Any), corner.planned().item);
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made::on([story])
    };
    "stet-topic-export-get": |corner| Made::on([corner.planned().topic, word("ics")]);
    "topicplan-get": |corner| Made::on([corner.filled_plan()[0].clone()]);
    "topicplan-structure-get": |corner| Made::on([corner.filled_plan()[0].clone()]);
    "stet-topicplan-export-get": |corner| Made::on([corner.filled_plan()[0].clone(), word("csv")]);
    "topicplan-post": |corner| Made::default().json(new_in(corner));
    "topicplan-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "topicplan-from-template-post": |corner| {
        Made::on([Part::Object(PLAN_TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "topicplan-add-put": |corner| Made::on([corner.plan(), of(&corner.topic(), Kind::Any)]);
    "topicplan-topic-delete": |corner| {
        let [plan, topic, _] = corner.filled_plan();
        Made::on([plan, topic])
    };
    "topicplan-divider-post": |corner| Made::on([corner.plan()]).json(json!({ "title": "new" }));
    "topicplan-divider-put": |corner| {
        let [plan, _, divider] = corner.filled_plan();
        Made::on([plan, divider]).json(json!({ "title": "changed" }))
    };
    "topicplan-divider-delete": |corner| {
        let [plan, _, divider] = corner.filled_plan();
        Made::on([plan, divider])
    };

    "folder-post": |corner| Made::default().json(new_in(corner));
    "folder-get": |corner| Made::on([filled_folder(corner)]);
    "folder-subfolders-get": |corner| {
        corner.folder();
        Made::on([Part::Object(id_of(corner, &corner.folder), Kind::Folder)])
    };
    "folder-filter-get": |corner| Made::on([filled_folder(corner)]);
    "folder-view-get": |corner| Made::on([filled_folder(corner)]);
    "folder-view-post": |corner| Made::on([filled_folder(corner)]);
    "folder-view-named-get": |corner| Made::on([filled_folder(corner), word("compact")]);
    "folder-view-named-post": |corner| Made::on([filled_folder(corner), word("compact")]);
    "folder-home-get": |corner| home_made(corner);
    "folder-home-view-get": |corner| home_made(corner);
    "folder-home-view-post": |corner| home_made(corner);
    "folder-home-view-named-get": |corner| Made { path: vec![word("compact")], ..home_made(corner) };
    "folder-home-view-named-post": |corner| Made { path: vec![word("compact")], ..home_made(corner) };
    "folder-work-get": |corner| work_folder_made(corner);
    "folder-work-view-get": |corner| work_folder_made(corner);
    "folder-work-view-post": |corner| work_folder_made(corner);
    "folder-work-view-named-get": |corner| Made { path: vec![word("compact")], ..work_folder_made(corner) };
    "folder-work-view-named-post": |corner| Made { path: vec![word("compact")], ..work_folder_made(corner) };
    "folder-root-view-get": |_| Made::default();
    "folder-root-view-post": |_| Made::default();
    "folder-root-view-named-get": |_| Made::on([word("compact")]);
    "folder-root-view-named-post": |_| Made::on([word("compact")]);
    "folder-root-get": |_| Made::default();

    "bundle-root-get": |corner| Made::on([of(&corner.bundle()[1], Kind::Bundle)]);
    "bundle-items-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-post": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-view-named-get": |corner| Made::on([corner.bundle()[0].clone(), word("channels")]);
    "bundle-view-named-post": |corner| Made::on([corner.bundle()[0].clone(), word("channels")]);
    "bundle-recursive-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "bundle-chain-get": |corner| Made::on([of(&corner.bundle()[1], Kind::Bundle)]);
    "container-bundle-channelcopy-post": |corner| {
        Made::on([corner.bundle()[0].clone()]).json(json!({ "channel": "Tabloid", "inheritFrom": "Web" }))
    };
    "container-bundle-channelcopy-actions-get": |corner| Made::on([corner.bundle()[0].clone()]);
    "web-channelcopy-post": |corner| {
        Made::on([corner.web_container()]).json(json!({ "channel": "Tabloid", "inheritFrom": "Neutral" }))
    };
    "opendocument-source-post": |corner| Made::on([of(&corner.bundle()[0], Kind::Container)]);
    "opendocument-post": |corner| Made::default().json(json!({ "source": corner.web_container().to_string() }));
    "opendocuments-post": |corner| Made::default().json(list([&corner.bundle()[0]]));

    "crossreference-get-post": |corner| {
        Made::default().json(json!({ "xpath": "/story", "sources": [corner.story().to_string()] }))
    };
    "crossreference-set-post": |corner| {
        Made::on([corner.story()]).json(json!({ "xpath": "/story", "index": 0, "target": "new" }))
    };

    "object-get": |corner| Made::on([corner.story()]);
    "stet-object-list-post": |corner| Made::default().json(list([&corner.story()]));
    "stet-object-create-post": |corner| Made::default().form(new_in(corner));
    "stet-object-create-from-template-post": |corner| {
        let template = of(&corner.story(), Kind::Template);
        Made { query: vec![("path", template)], ..Made::default() }.json(new_in(corner))
    };
    "stet-object-story-from-template-post": |corner| {
        let template = of(&corner.story(), Kind::Template);
        Made { query: vec![("path", template)], ..Made::default() }.json(new_in(corner))
    };
    "stet-object-import-post": |corner| {
        let uuid = uuid::Uuid::now_v7().to_string();
        let (name, folder) = (corner.name(), &corner.folder);
        Made::default().form(json!({ "uuid": uuid, "type": "Story", "name": name, "folderPath": folder }))
    };
    "stet-object-metadata-change-fields-post": |corner| {
        let story = corner.story().to_string();
        let operators = json!([{ "set": { "xpath": "/attributes/story/headline", "content": own_folder() } }]);
        Made::default().json(json!({ "updateFields": [{ "sourceIds": [story], "operators": operators }] }))
    };
    "stet-object-status-post": |corner| Made::on([corner.story()]).json(json!({ "status": "Story/Edited" }));
    "stet-objects-status-post": |corner| {
        let story = corner.story().to_string();
        Made::default().json(json!({ "sources": [story], "status": "Story/Edited" }))
    };
    "stet-object-rename-post": |corner| Made::on([corner.story()]).json(json!({ "name": own_folder().replace('/', "-") }));
    "stet-object-move-post": |corner| {
        let folder = corner.folder().to_string();
        Made::on([corner.story()]).json(json!({ "folder": folder }))
    };
    "object-discard": |corner| Made::on([corner.story()]);
    "objects-discard": |corner| Made::default().json(list([&corner.story()]));
    "object-destroy": |corner| Made::on([corner.story()]);
    "objects-destroy": |corner| Made::default().json(list([&corner.story()]));
    "stet-object-restore-post": |corner| {
        let story = corner.story();
        corner.client.call("object-discard", &[&story]).ok();
        Made::on([story])
    };
    "stet-old-object-story-post": |corner| Made::default().form(new_in(corner));
    "stet-old-object-linked-get": |corner| {
        let (story, item) = (of(&corner.story(), Kind::Any), corner.story());
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made { query: vec![("id", word(story))], ..Made::default() }
    };
    "stet-print-story-preview-post": |corner| {
        let body = json!({ "content": "<story><p>a</p></story>", "op": "preview" });
        Made { query: vec![("id", word(corner.story()))], ..Made::default() }.json(body)
    };
    "object-family-get": |corner| Made::on([corner.story()]);
    "stet-recyclebin-get": |corner| {
        corner.client.call("object-discard", &[&corner.story()]).ok();
        Made { query: vec![("limit", word(1))], ..Made::default() }
    };
    "object-lastversionloid-get": |corner| Made::on([corner.story()]);
    "stet-object-content-get": |corner| Made::on([corner.story()]);
    "stet-object-content-binary-get": |corner| Made::on([corner.story()]);
    "stet-object-content-format-get": |corner| Made::on([corner.story(), word("binary")]);
    "stet-object-loid-content-get": |corner| Made::default().query("loid", corner.story());
    "stet-object-content-put": |corner| Made::on([corner.story()]).bytes("<story>new</story>");
    "stet-object-loid-content-put": |corner| Made::default().query("loid", corner.story()).bytes("<story>new</story>");
    "stet-object-versions-get": |corner| Made::on([corner.story()]);
    "stet-object-version-restore-post": |corner| Made::on([corner.story(), word(1)]);
    "stet-object-lock-post": |corner| Made::on([corner.story()]);
    "stet-object-unlock-post": |corner| {
        let story = corner.story();
        corner.client.call("stet-object-lock-post", &[&story]).ok();
        Made::on([story])
    };

    "conf-xmlfiles-clearcache-post": |_| Made::default();
    "conf-collage-get": |_| Made::default().query("channel", word("web"));
    "conf-catalogs-get": |_| Made::default();
    "conf-xmlfile-get": |_| Made::default().query("path", word("/SysConfig/Site/siteconfig.xml"));
    "conf-connections-get": |_| Made::default().query("showRepositories", word("true"));
    "conf-indexes-get": |_| Made::default();
    "conf-pageaccessories-post": |corner| Made::on([corner.story()]).json(json!({ "channel": "Web" }));
    "conf-shapetemplates-list-post": |_| Made::default().json(json!({ "channel": "Tabloid" }));
    "conf-shapetemplates-source-list-post": |corner| Made::on([corner.story()]).json(json!({}));
    "stet-shape-story-get": |corner| Made::on([corner.story()]);
    "conf-siteconfigxml-get": |_| Made::default().query("refresh", word("true"));
    "conf-resolvepath-get": |corner| Made::on([corner.at_desk()]);
    "cache-commands-get": |_| Made::default();
    "cache-commands-db-get": |_| Made::on([word("1")]);
    "cache-commands-refresh-get": |_| Made::default();
    "cache-commands-refresh-db-get": |_| Made::on([word("1")]);
    "cache-commands-timestamp-get": |_| Made::default();
    "cache-commands-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-groups-get": |_| Made::default();
    "cache-groups-db-get": |_| Made::on([word("1")]);
    "cache-groups-refresh-get": |_| Made::default();
    "cache-groups-refresh-db-get": |_| Made::on([word("1")]);
    "cache-groups-timestamp-get": |_| Made::default();
    "cache-groups-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-jobs-get": |_| Made::default();
    "cache-jobs-db-get": |_| Made::on([word("1")]);
    "cache-jobs-refresh-get": |_| Made::default();
    "cache-jobs-refresh-db-get": |_| Made::on([word("1")]);
    "cache-jobs-timestamp-get": |_| Made::default();
    "cache-jobs-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-get": |_| Made::default();
    "cache-objecttypes-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-refresh-get": |_| Made::default();
    "cache-objecttypes-refresh-db-get": |_| Made::on([word("1")]);
    "cache-objecttypes-timestamp-get": |_| Made::default();
    "cache-objecttypes-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-users-get": |_| Made::default();
    "cache-users-db-get": |_| Made::on([word("1")]);
    "cache-users-refresh-get": |_| Made::default();
    "cache-users-refresh-db-get": |_| Made::on([word("1")]);
    "cache-users-timestamp-get": |_| Made::default();
    "cache-users-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-workflows-get": |_| Made::default();
    "cache-workflows-db-get": |_| Made::on([word("1")]);
    "cache-workflows-refresh-get": |_| Made::default();
    "cache-workflows-refresh-db-get": |_| Made::on([word("1")]);
    "cache-workflows-timestamp-get": |_| Made::default();
    "cache-workflows-timestamp-db-get": |_| Made::on([word("1")]);
    "cache-all-refresh-get": |_| Made::default();
    "cache-all-refresh-db-get": |_| Made::on([word("1")]);
    "cache-all-timestamp-get": |_| Made::default();
    "cache-all-timestamp-db-get": |_| Made::on([word("1")]);
    "group-create-post": |corner| Made::default().json(json!({ "groupName": corner.name() }));
    "group-update-post": |corner| Made::default().json(json!({ "groupName": corner.group(), "description": "new" }));
    "group-delete": |corner| Made::default().query("groupName", word(corner.group()));
    "stet-user-list-get": |_| Made::default();
    "stet-user-create-post": |corner| Made::default().json(json!({ "name": corner.name() }));
    "stet-user-get": |corner| Made::on([word(corner.user())]);
    "stet-user-update-put": |corner| Made::on([word(corner.user())]).json(json!({ "fullName": "New Name" }));
    "message-inbox-get": |corner| {
        message(corner);
        Made::default().query("limit", word("1"))
    };
    "message-outbox-get": |corner| {
        message(corner);
        Made::default().query("limit", word("1"))
    };
    "message-sendmail-post": |corner| {
        let body = json!({ "subject": "s", "recipients": [corner.user()], "attachments": [corner.story().to_string()] });
        Made::default().json(body)
    };
    "stet-message-read-put": |corner| Made::on([word(message(corner))]);
    "stet-message-delete": |corner| Made::on([word(message(corner))]);
    "stet-key-list-get": |_| Made::default();
    "stet-key-create-post": |corner| {
        Made::default().json(json!({ "name": corner.name(), "user": "editor", "privileges": [{ "privilege": "read" }] }))
    };
    "stet-key-delete": |corner| {
        let name = corner.name();
        let body = json!({ "name": name, "user": "editor", "privileges": [{ "privilege": "read" }] });
        corner.client.call("stet-key-create-post", &[]).json(&body).ok();
        Made::on([word(name)])
    };
    "stet-session-list-get": |_| Made::default();
    "stet-session-delete": |_| {
        let other = Server::shared().login("editor").call("auth-connection-get", &[]).ok();
        Made::on([word(other["session"].as_str().expect("a session has a reference"))])
    };
    "stet-user-password-post": |corner| {
        let user = corner.user();
        let mut body = credentials();
        body["username"] = json!(user);
        body["password"] = json!(PASSWORD);
        let reply = corner.client.call("auth-login-post", &[]).json(&body).ok();
        let token = reply["token"]["value"].as_str().expect("a login gives a token").to_owned();
        let client = Client::at(&corner.client.base, Some(token));
        Made::default().json(json!({ "old": PASSWORD, "new": "another long secret" })).by(client)
    };
    "stet-audit-get": |_| Made::default();
}

/// The corner's folder, with a story in it.
fn filled_folder(corner: &Corner) -> Part {
    corner.story();
    Part::Object(id_of(corner, &corner.folder), Kind::Folder)
}

/// Returns the call after the home was created by the first object in it.
fn home_made(corner: &Corner) -> Made {
    corner.client.call("folder-post", &[]).json(&json!({ "name": "in my home" })).ok();
    Made::default()
}

fn work_folder_made(corner: &Corner) -> Made {
    let login = corner.client.call("auth-login-post", &[]).json(&json!({
        "connectionId": "Editorial", "applicationId": "test", "username": "admin", "password": ADMIN_PASSWORD,
        "showUserInfo": true
    }));
    let path = login.ok()["user"]["workFolder"].clone();
    corner.client.call("folder-post", &[]).json(&json!({ "path": path })).ok();
    Made::default()
}

fn id_of(corner: &Corner, path: &str) -> String {
    let record = corner.client.call("object-get", &[&path]).ok();
    record["id"].as_str().expect("a record has an id").to_owned()
}
