//! Calls of endpoints that succeed, each on objects made for it alone.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::harness::*;

/// An endpoint, and the function that creates a call of it. The tests of each resource list theirs
/// with [`cases!`].
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
    /// An object of this kind alone; every other one is refused.
    Only(&'static str),
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
    /// `true` if the call ends what it needs, such as an object or a lock.
    pub once: bool,
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
pub struct Filled {
    pub drawer: Part,
    pub stories: Vec<Part>,
}

/// A topic and what is in it.
pub struct Planned {
    pub topic: Part,
    pub divider: Part,
    pub item: Part,
    pub subitem: Part,
    /// The divider below the item.
    pub below: Part,
}

/// Lists calls of endpoints, each by the endpoint's id.
macro_rules! cases {
    ($($id:literal: $make:expr;)*) => {
        /// A call of each endpoint that succeeds.
        pub const CASES: &[$crate::api::endpoints::cases::Case] =
            &[$($crate::api::endpoints::cases::Case { id: $id, make: $make }),*];
    };
}

pub(crate) use cases;

/// Returns the id of a message that the caller has received from themselves.
pub fn message(corner: &Corner) -> String {
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

impl Part {
    /// Returns the object with another requirement of its call.
    pub fn with_kind(&self, kind: Kind) -> Part {
        Part::Object(self.to_string(), kind)
    }
}

impl Made {
    /// Returns a call with these parameters of the path.
    pub fn on<const N: usize>(path: [Part; N]) -> Made {
        Made { path: path.into(), ..Made::default() }
    }

    pub fn json(self, body: Value) -> Made {
        Made { body: Body::Json(body), ..self }
    }

    pub fn form(self, options: Value) -> Made {
        Made { body: Body::Form(options, true), ..self }
    }

    pub fn bytes(self, text: &'static str) -> Made {
        Made { body: Body::Bytes(text), ..self }
    }

    pub fn by(self, client: Client) -> Made {
        Made { by: Some(client), ..self }
    }

    pub fn once(self) -> Made {
        Made { once: true, ..self }
    }

    pub fn query(mut self, name: &'static str, value: Part) -> Made {
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

pub fn word(text: impl Display) -> Part {
    Part::Word(text.to_string())
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
    pub fn name(&self) -> String {
        own_folder().replace('/', "-")
    }

    pub fn folder(&self) -> Part {
        let body = json!({ "path": format!("{}/{}", self.folder, self.name()) });
        let made = self.client.call("folder-post", &[]).json(&body).ok();
        Part::Object(made["info"]["id"].as_str().expect("a folder has an id").to_owned(), Kind::Only("folder"))
    }

    pub fn story(&self) -> Part {
        Part::Object(self.client.story(&self.folder, &self.name()), Kind::Any)
    }

    /// A story of a work folder that the site configuration knows.
    pub fn at_desk(&self) -> Part {
        let name = self.name();
        let options = json!({ "name": name, "type": "Story", "folderPath": self.folder, "workFolder": "/News/City" });
        let made = self.client.upload("/v3/object/create", &options, Some((&name, "text/xml", b"<story/>"))).ok();
        Part::Object(id_made(&made), Kind::Any)
    }

    pub fn drawer(&self, stories: usize) -> Filled {
        let drawer = self.client.drawer(&self.folder, &self.name(), 10);
        let stories: Vec<Part> = (0..stories).map(|_| self.story().with_kind(Kind::Item)).collect();
        if !stories.is_empty() {
            let sources: Vec<String> = stories.iter().map(Part::to_string).collect();
            self.client.call("drawer-items-post", &[&drawer]).json(&json!({ "sources": sources })).ok();
        }
        Filled { drawer: Part::Object(drawer, Kind::Only("drawer")), stories }
    }

    pub fn liveblog(&self) -> Part {
        Part::Object(self.client.liveblog(&self.folder, &self.name()), Kind::Only("liveblog"))
    }

    /// A liveblog with an approved post that has an attachment: both, and the attachment's id.
    pub fn post(&self) -> [Part; 3] {
        let liveblog = self.liveblog();
        let files: &[File<'_>] =
            &[("content", "a.xml", "text/xml", b"<post/>"), ("attachments", "a.txt", "text/plain", b"a")];
        let post = self.client.call("liveblog-post-create", &[&liveblog]).form(&json!({ "timestamp": 0 }), files).ok();
        let loid = post["info"]["id"].as_str().expect("a post has an id").to_owned();
        let attachment = post["attachments"][0]["id"].as_str().expect("an attachment has an id").to_owned();
        [liveblog, Part::Object(loid, Kind::Post), word(attachment)]
    }

    /// The first two of them.
    pub fn bare_post(&self) -> [Part; 2] {
        let [liveblog, post, _] = self.post();
        [liveblog, post]
    }

    pub fn topic(&self) -> Part {
        let made = self.client.call("topic-post", &[]).json(&new_in(self)).ok();
        Part::Object(id_in(&made), Kind::Only("topic"))
    }

    pub fn plan(&self) -> Part {
        let made = self.client.call("topicplan-post", &[]).json(&new_in(self)).ok();
        Part::Object(id_in(&made), Kind::Only("topic plan"))
    }

    /// A topic with an item that has a subitem, and a divider in each.
    pub fn planned(&self) -> Planned {
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
    pub fn bundle(&self) -> [Part; 2] {
        let bundle = self.typed("CompoundStory", b"<story/>");
        let body = json!({ "channel": "Web", "inheritFrom": "Neutral" });
        let copy = self.client.call("container-bundle-channelcopy-post", &[&bundle]).json(&body).ok();
        [Part::Object(bundle, Kind::Only("bundle")), Part::Object(id_made(&copy), Kind::Any)]
    }

    /// A web container that names a compound story.
    pub fn web_container(&self) -> Part {
        let [bundle, _] = self.bundle();
        let content = format!("<webContainer><link href='{bundle}'/></webContainer>");
        Part::Object(self.typed("WebContainer", content.as_bytes()), Kind::Only("web container"))
    }

    pub fn typed(&self, kind: &str, content: &[u8]) -> String {
        let options = json!({ "name": self.name(), "type": kind, "folderPath": self.folder });
        let file = ("content", "a.xml", "text/xml", content);
        id_made(&self.client.call("stet-object-create-post", &[]).form(&options, &[file]).ok())
    }

    /// A plan with a divider and a topic.
    pub fn filled_plan(&self) -> [Part; 3] {
        let (plan, topic) = (self.plan(), self.topic());
        self.client.call("topicplan-add-put", &[&plan, &topic]).ok();
        let made = self.client.call("topicplan-divider-post", &[&plan]).json(&json!({ "title": "d" })).ok();
        [plan, topic.with_kind(Kind::Any), word(id_in(&made))]
    }

    pub fn user(&self) -> String {
        let name = self.name();
        self.client.call("stet-user-create-post", &[]).json(&json!({ "name": name, "password": PASSWORD })).ok();
        name
    }

    pub fn group(&self) -> String {
        let name = self.name();
        self.client.call("group-create-post", &[]).json(&json!({ "groupName": name })).ok();
        name
    }
}

pub fn id_made(record: &Value) -> String {
    record["id"].as_str().expect("a record has an id").to_owned()
}

pub fn link_to(target: &Part) -> Value {
    json!({ "sourceLinkName": "planned in", "targetLinkName": "text", "targetSource": target.to_string() })
}

pub fn list<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Value {
    json!({ "sources": parts.into_iter().map(Part::to_string).collect::<Vec<_>>() })
}

pub fn editor_credentials() -> Value {
    json!({ "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD })
}

/// Returns the body of a call that creates a liveblog in this corner.
pub fn new_in(corner: &Corner) -> Value {
    json!({ "name": corner.name(), "folderPath": corner.folder })
}

/// The password of users that are made here.
pub const PASSWORD: &str = "a long secret";

/// Served endpoints without a case, and where they are tested instead.
pub const ELSEWHERE: &[&str] = &[
    // It needs a CAS server: `cas`.
    "auth-login-get",
];
