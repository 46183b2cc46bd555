//! `/v3/container/liveblog`: docs/api/liveblogs.md, docs/api/posts.md.

use std::fmt::Display;

use roxmltree::{Document, ParsingOptions};
use serde_json::{Value, json};

use super::endpoints::cases::{Body, Corner, Kind, Made, Part, cases, list, new_in, word};
use crate::harness::*;

mod bulk;
mod content;
mod creation;
mod dtd;
mod encoding;
mod feed;
mod listing;
mod posts;
mod public;
mod search;
mod sight;
mod status;
mod tags;
mod writing;

const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/liveblog.xml";
const MATCH_TEMPLATE: &str = "/SysConfig/Product/HarbourCourier/Templates/liveblog-match.xml";

/// A liveblog in a folder of its own, created by the editor. The editor also sends all calls
/// without a `by`.
struct Blog {
    folder: String,
    loid: String,
    editor: Client,
}

impl Blog {
    fn new() -> Blog {
        Blog::of(user("editor"))
    }

    /// Creates a liveblog of any editor on any server.
    fn of(editor: Client) -> Blog {
        let folder = own_folder();
        Blog { loid: editor.liveblog(&folder, "night"), folder, editor }
    }

    /// A call about the liveblog, with what else its path wants.
    fn call(&self, id: &str, more: &[&dyn Display]) -> Call<'_> {
        self.editor.call(id, &[&[&self.loid as &dyn Display], more].concat())
    }

    /// A path below the liveblog.
    fn path(&self, rest: &str) -> String {
        format!("/v3/container/liveblog/{}{rest}", encoded(&self.loid))
    }

    fn read(&self) -> Call<'_> {
        self.call("liveblog-get", &[])
    }

    fn content(&self) -> Call<'_> {
        self.call("liveblog-content-get", &[])
    }

    fn feed(&self, format: &str) -> Call<'_> {
        self.call("stet-liveblog-feed-get", &[&format])
    }

    fn search(&self, body: &Value) -> Call<'_> {
        self.call("liveblog-search-post", &[]).json(body)
    }

    fn write(&self, content: impl Into<Vec<u8>>) -> Call<'_> {
        self.call("liveblog-put", &[]).bytes("text/xml", content)
    }

    fn new_post(&self, options: &Value, files: &[File<'_>]) -> Call<'_> {
        self.call("liveblog-post-create", &[]).form(options, files)
    }

    /// A post with this text; its loid.
    fn post_by(&self, client: &Client, options: &Value, text: &str) -> String {
        let content = format!("<post><p>{text}</p></post>");
        let files = [("content", "post.xml", "text/xml", content.as_bytes())];
        id(&self.new_post(options, &files).by(client).ok())
    }

    fn post(&self, options: &Value, text: &str) -> String {
        self.post_by(&self.editor, options, text)
    }

    fn read_post(&self, post: &str) -> Call<'_> {
        self.call("liveblog-post-get", &[&post])
    }

    fn download(&self, post: &str) -> Call<'_> {
        self.call("stet-liveblog-post-content-get", &[&post])
    }

    fn attachment(&self, post: &str, id: &str) -> Call<'_> {
        self.call("stet-liveblog-post-attachment-get", &[&post, &id])
    }

    fn update(&self, post: &str, options: &Value, files: &[File<'_>]) -> Call<'_> {
        self.call("liveblog-post-put", &[&post]).form(options, files)
    }

    /// Returns one of the four calls that set the state of a post.
    fn set(&self, post: &str, call: &str) -> Call<'_> {
        self.call(&format!("liveblog-post-{call}-post"), &[&post])
    }

    fn remove(&self, post: &str) -> Call<'_> {
        self.call("liveblog-post-delete", &[&post])
    }

    /// A post in each state that readers do not see, newer than all others.
    fn add_unseen(&self) {
        for (number, call) in ["pending", "reject", "delete"].into_iter().enumerate() {
            let post = self.post(&json!({ "title": call, "timestamp": 9000 + number }), call);
            self.set(&post, call).ok();
        }
    }
}

/// A call of `liveblog-posts-post`.
fn named<'c>(client: &'c Client, sources: &Value) -> Call<'c> {
    client.call("liveblog-posts-post", &[]).json(sources)
}

/// A user of the sample on the server that tests share.
fn user(name: &str) -> Client {
    Server::shared().user(name)
}

/// The editor of a server whose paths begin with this.
fn editor_below(server: &Server, base: &str) -> Client {
    let mut client = Client::at(&format!("{}{base}", server.base), None);
    let login = json!({ "connectionId": "Editorial", "applicationId": "test", "username": "editor", "password": SAMPLE_PASSWORD });
    let reply = client.call("auth-login-post", &[]).json(&login).ok();
    client.token = reply["token"]["value"].as_str().map(str::to_owned);
    client
}

/// The reporter of a server, who from now on may do this below a folder, and nothing elsewhere.
pub(super) fn reporter_below(server: &Server, folder: &str, privileges: &[&str]) -> Client {
    let admin = server.user("admin");
    admin.call("folder-post", &[]).json(&json!({ "path": folder })).ok();
    let grants: Vec<_> =
        privileges.iter().map(|privilege| json!({ "privilege": privilege, "folder": folder })).collect();
    let desk = json!({ "groupName": "desk", "members": ["reporter"], "privileges": grants });
    admin.call("group-create-post", &[]).json(&desk).ok();
    admin.call("group-update-post", &[]).json(&json!({ "groupName": "reporters", "members": [] })).ok();
    server.user("reporter")
}

/// A name that no other test uses.
fn own_name() -> String {
    own_folder().replace('/', "-")
}

/// A client that has nothing but a key with these privileges, which acts under that user.
fn machine(user: &str, privileges: &[&str]) -> Client {
    let server = Server::shared();
    let grants: Vec<Value> = privileges.iter().map(|privilege| json!({ "privilege": privilege })).collect();
    let body = json!({ "name": own_name(), "user": user, "privileges": grants });
    let made = server.user("admin").call("stet-key-create-post", &[]).json(&body).ok();
    Client::at(&server.base, made["token"].as_str().map(str::to_owned))
}

/// A call with these in its query: `limit=2&offset=3`.
fn with<'c>(call: Call<'c>, query: &str) -> Call<'c> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.fold(call, |call, (name, value)| call.query(name, value))
}

/// The loid of a post.
fn id(post: &Value) -> String {
    post["info"]["id"].as_str().expect("a post has a record with an id").to_owned()
}

/// Returns the reply to a change of a post without the effect of the change: the post as it is read.
fn as_read(mut reply: Value) -> Value {
    for field in ["formerStatus", "visibleToReaders"] {
        assert!(reply.as_object_mut().is_some_and(|reply| reply.remove(field).is_some()), "{field} in {reply}");
    }
    reply
}

/// The loids of a reply's items.
fn ids(reply: &Value) -> Vec<String> {
    reply["items"].as_array().expect("there are items").iter().map(id).collect()
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").expect("it has an ETag").to_owned()
}

/// A success that is no JSON.
fn served(call: &Call<'_>) -> Answer {
    let answer = call.send();
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer
}

fn text(call: &Call<'_>) -> String {
    String::from_utf8(served(call).body).expect("it is UTF-8")
}

fn parsed(xml: &[u8]) -> Document<'_> {
    let text = std::str::from_utf8(xml).expect("it is UTF-8");
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// Asserts that the message of an error names these.
#[track_caller]
fn names(error: &Value, parts: &[&str]) {
    let message = error["message"].as_str().expect("an error has a message");
    assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} in {message}");
}

/// Returns a call about two posts of a liveblog.
fn two_posts(corner: &Corner) -> Made {
    let [liveblog, first] = corner.bare_post();
    let files: &[File<'_>] = &[("content", "b.xml", "text/xml", b"<post/>")];
    let second = corner.client.call("liveblog-post-create", &[&liveblog]).form(&json!({}), files).ok();
    Made::on([liveblog]).json(json!({ "sources": [first.to_string(), id(&second)] }))
}

cases! {
    "liveblog-from-default-template-post": |corner| Made::default().json(new_in(corner));
    "liveblog-from-template-post": |corner| {
        Made::on([Part::Object(TEMPLATE.to_owned(), Kind::Template)]).json(new_in(corner))
    };
    "liveblog-get": |corner| Made::on([corner.bare_post()[0].clone()]);
    "liveblog-search-post": |corner| Made::on([corner.bare_post()[0].clone()]).json(json!({ "limit": 5 }));
    "liveblog-put": |corner| Made::on([corner.liveblog()]).bytes("<liveblog/>");
    "liveblog-content-get": |corner| Made::on([corner.bare_post()[0].clone()]);
    "liveblog-delete": |corner| Made::on([corner.liveblog()]).once();
    "stet-liveblog-feed-get": |corner| Made::on([corner.bare_post()[0].clone(), word("json")]);
    "stet-liveblog-public-get": |corner| Made::on([corner.liveblog()]);
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
    "stet-liveblog-posts-approve-post": |corner| {
        let made = two_posts(corner);
        made.call(&corner.client, "stet-liveblog-posts-reject-post").ok();
        made
    };
    "stet-liveblog-posts-reject-post": two_posts;
    "stet-liveblog-posts-pending-post": two_posts;
    "stet-liveblog-posts-delete-post": two_posts;
    "stet-liveblog-posts-put": |corner| {
        let mut made = two_posts(corner);
        if let Body::Json(body) = &mut made.body {
            body["pinned"] = json!(true);
        }
        made
    };
    "stet-liveblog-posts-delete": |corner| two_posts(corner).once();
    "liveblog-post-pending-post": |corner| Made::on(corner.bare_post());
    "liveblog-post-delete-post": |corner| Made::on(corner.bare_post());
    "stet-liveblog-post-content-get": |corner| Made::on(corner.bare_post());
    "stet-liveblog-post-attachment-get": |corner| Made::on(corner.post());
}
