//! `/v3/container/drawer`: docs/api/drawers.md.

use std::fmt::Display;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::harness::*;

mod automatic;
mod bodies;
mod concurrency;
mod conditional;
mod containing;
mod create;
mod endpoints;
mod items;
mod lifecycle;
mod moves;
mod positions;
mod random;
mod update;

/// The editor of the shared server; one login serves all tests.
fn editor() -> Client {
    static EDITOR: OnceLock<Client> = OnceLock::new();
    EDITOR.get_or_init(|| Server::shared().login("editor")).clone()
}

/// A drawer, stories beside it, and who works on them.
pub(super) struct Desk {
    pub(super) client: Client,
    pub(super) folder: String,
    pub(super) drawer: String,
    pub(super) stories: Vec<String>,
}

impl Desk {
    /// A drawer with the first `inside` of `stories` stories in it.
    fn new(capacity: u32, stories: usize, inside: usize) -> Desk {
        Desk::of(editor(), capacity, stories, inside)
    }

    pub(super) fn of(client: Client, capacity: u32, stories: usize, inside: usize) -> Desk {
        let folder = own_folder();
        let drawer = client.drawer(&folder, "desk", capacity);
        let stories: Vec<String> = (0..stories).map(|n| client.story(&folder, &format!("{n}.xml"))).collect();
        let desk = Desk { client, folder, drawer, stories };
        if inside > 0 {
            desk.client.post(&desk.path("/item"), &json!({ "sources": desk.stories[..inside] })).ok();
        }
        desk
    }

    /// Another drawer in the same folder.
    fn other(&self, name: &str, capacity: u32) -> String {
        self.client.drawer(&self.folder, name, capacity)
    }

    /// A path below the drawer.
    pub(super) fn path(&self, rest: &str) -> String {
        below(&self.drawer, rest)
    }

    /// The path of a story as an item.
    pub(super) fn item(&self, story: usize) -> String {
        self.path(&format!("/item/{}", encoded(&self.stories[story])))
    }

    pub(super) fn add(&self, story: usize) -> Answer {
        self.client.post(&self.item(story), &json!({}))
    }

    fn position(&self, story: usize, position: impl Display) -> Answer {
        self.client.put(&format!("{}/position/{position}", self.item(story)), &json!({}))
    }

    /// Positions an item by its shortcut id.
    fn shift(&self, story: usize, position: impl Display) -> Answer {
        let path = self.path(&format!("/shortcut/{}/position/{position}", self.shortcut(story)));
        self.client.put(&path, &json!({}))
    }

    fn remove(&self, story: usize) -> Answer {
        self.client.delete(&self.item(story))
    }

    fn move_to(&self, story: usize, target: &str) -> Answer {
        self.client.put(&format!("{}/move/{}", self.item(story), encoded(target)), &json!({}))
    }

    fn discard(&self, story: usize) {
        discard(&self.client, &self.stories[story]);
    }

    fn restore(&self, story: usize) {
        restore(&self.client, &self.stories[story]);
    }

    /// The drawer with its items, as it is read; its positions must count from 0, and `count` be how many there are.
    fn read(&self) -> Value {
        let reply = self.client.get(&self.path("?showItems=true")).ok();
        let items = reply["items"].as_array().expect("a drawer has items");
        for (position, item) in items.iter().enumerate() {
            assert_eq!(item["position"], position);
            assert_eq!(item["object"]["id"], item["source"]);
        }
        assert_eq!(reply["info"]["count"], items.len());
        reply
    }

    fn info(&self) -> Value {
        self.read()["info"].take()
    }

    /// The id of a story's shortcut.
    fn shortcut(&self, story: usize) -> String {
        let reply = self.read();
        let mut items = reply["items"].as_array().expect("a drawer has items").iter();
        let item = items.find(|item| item["source"] == self.stories[story]).expect("the story is in the drawer");
        item["id"].as_str().expect("an item has an id").to_owned()
    }

    /// Which stories are in the drawer, first to last.
    fn order(&self) -> Vec<usize> {
        self.stories_of(&self.client.items(&self.drawer))
    }

    /// Which stories are in another drawer.
    fn order_in(&self, drawer: &str) -> Vec<usize> {
        self.stories_of(&self.client.items(drawer))
    }

    fn stories_of(&self, loids: &[String]) -> Vec<usize> {
        let place = |loid| self.stories.iter().position(|story| story == loid).expect("it is one of the stories");
        loids.iter().map(place).collect()
    }

    /// Everything there is to see of the drawer.
    fn state(&self) -> (String, Value) {
        let answer = self.client.get(&self.path("?showItems=true"));
        (tag(&answer), answer.ok())
    }

    /// A call that must be refused, and leave no trace.
    fn refuses(&self, answer: impl FnOnce() -> Answer, status: u16, code: &str) -> Value {
        let before = self.state();
        let error = answer().fails(status, code);
        assert_eq!(self.state(), before, "a refused call left a trace");
        error
    }

    /// A call that must succeed, and change nothing: neither the revision nor anything else.
    fn leaves(&self, answer: impl FnOnce() -> Answer) -> Value {
        let before = self.state();
        let reply = answer().ok();
        assert_eq!(self.state(), before, "a call without effect left a trace");
        reply
    }
}

/// A path below a drawer.
fn below(drawer: &str, rest: &str) -> String {
    format!("/v3/container/drawer/{}{rest}", encoded(drawer))
}

fn discard(client: &Client, source: &str) {
    client.delete(&format!("/v3/object/{}/discard", encoded(source))).ok();
}

fn destroy(client: &Client, source: &str) {
    client.delete(&format!("/v3/object/{}/destroy", encoded(source))).ok();
}

fn restore(client: &Client, source: &str) {
    client.post(&format!("/v3/object/{}/restore", encoded(source)), &json!({})).ok();
}

/// Gives a story another version, so that its record changes.
fn revise(client: &Client, folder: &str, name: &str) {
    let options = json!({ "name": name, "type": "Story", "folderPath": folder, "createMode": "NEW_VERSION" });
    client.upload("/v3/object/create", &options, Some((name, "text/xml", b"<story>again</story>"))).ok();
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").expect("it has an ETag").to_owned()
}

/// The revision that an ETag speaks of.
fn revision(answer: &Answer) -> u64 {
    let tag = tag(answer);
    let revision = tag.trim_matches('"').split('-').next().expect("a split has a first part");
    revision.parse().unwrap_or_else(|_| panic!("{tag} has a revision"))
}

/// The `source`s and `position`s of the items in a reply.
fn placed(reply: &Value) -> Vec<(String, u64)> {
    let items = reply["items"].as_array().expect("a reply has items").iter();
    items
        .map(|item| {
            let source = item["source"].as_str().expect("an item has a source");
            (source.to_owned(), item["position"].as_u64().expect("an item has a position"))
        })
        .collect()
}

/// A loid that no object has.
const NOWHERE: &str = "1$1.0.999999999999";

#[test]
fn an_object_is_added_and_still_there_after_a_crash() {
    let mut server = Server::start();
    let client = server.login("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "front", 5);
    let story = client.story(&folder, "a.xml");
    let path = below(&drawer, &format!("/item/{}", encoded(&story)));
    let reply = client.post(&path, &json!({})).ok();
    assert_eq!(reply["info"]["count"], 1);
    assert_eq!(reply["items"][0]["source"], story);
    server.kill();
    let mut server = server.restart();
    // The token lives on, too.
    let client = client.to(&server);
    assert_eq!(client.items(&drawer), [story]);
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
}
