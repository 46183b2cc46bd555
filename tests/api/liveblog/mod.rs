//! `/v3/container/liveblog`: docs/api/liveblogs.md, docs/api/posts.md.

use serde_json::{Value, json};

use crate::harness::*;

mod content;
mod creation;
mod dtd;
mod encoding;
mod feed;
mod listing;
mod posts;
mod search;
mod sight;
mod status;
mod tags;
mod writing;

const TEMPLATE: &str = "/SysConfig/Product/Shared/Templates/Default/liveblog.xml";
const MATCH_TEMPLATE: &str = "/SysConfig/Product/HarbourCourier/Templates/liveblog-match.xml";
const CREATE: &str = "/v3/container/liveblog/from/template";

/// A file of a form: its part, its name, its type, its bytes.
type File<'a> = (&'a str, &'a str, &'a str, &'a [u8]);

/// A liveblog in a folder of its own, made by the editor.
struct Blog {
    folder: String,
    loid: String,
    editor: Client,
}

impl Blog {
    fn new() -> Blog {
        let editor = Server::shared().login("editor");
        let folder = own_folder();
        Blog { loid: editor.liveblog(&folder, "night"), folder, editor }
    }

    /// A path below the liveblog.
    fn path(&self, rest: &str) -> String {
        format!("/v3/container/liveblog/{}{rest}", encoded(&self.loid))
    }

    /// A path below a post.
    fn post_path(&self, post: &str, rest: &str) -> String {
        self.path(&format!("/post/{}{rest}", encoded(post)))
    }

    fn try_post(&self, client: &Client, options: &Value, files: &[File<'_>]) -> Answer {
        client.send_form("POST", &self.path("/post"), &[], options, files)
    }

    /// A post with this text; its loid.
    fn post_by(&self, client: &Client, options: &Value, text: &str) -> String {
        let content = format!("<post><p>{text}</p></post>");
        let reply = self.try_post(client, options, &[("content", "post.xml", "text/xml", content.as_bytes())]).ok();
        id(&reply)
    }

    fn post(&self, options: &Value, text: &str) -> String {
        self.post_by(&self.editor, options, text)
    }

    fn update(&self, client: &Client, post: &str, options: &Value, files: &[File<'_>]) -> Answer {
        client.send_form("PUT", &self.post_path(post, ""), &[], options, files)
    }

    /// Calls one of the four status endpoints.
    fn set(&self, client: &Client, post: &str, call: &str) -> Answer {
        client.send("POST", &self.post_path(post, &format!("/{call}")), &[], b"")
    }

    fn read(&self, client: &Client, query: &str) -> Value {
        client.get(&self.path(query)).ok()
    }

    fn read_post(&self, client: &Client, post: &str) -> Value {
        client.get(&self.post_path(post, "")).ok()
    }

    fn search(&self, client: &Client, body: &Value) -> Value {
        client.post(&self.path(""), body).ok()
    }
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
    let made = server.login("admin").post("/v3/key", &body).ok();
    Client::at(&server.base, made["token"].as_str().map(str::to_owned))
}

/// The loid of a post.
fn id(post: &Value) -> String {
    post["info"]["id"].as_str().expect("a post has a record with an id").to_owned()
}

/// The loids of a reply's items.
fn ids(reply: &Value) -> Vec<String> {
    reply["items"].as_array().expect("there are items").iter().map(id).collect()
}
