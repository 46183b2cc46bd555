//! `/v3/container/drawer`: docs/api/drawers.md.

use std::fmt::Display;

use serde_json::{Value, json};

use super::endpoints::cases::{Filled, Kind, Made, cases, list, new_in, word};
use crate::harness::*;

mod automatic;
mod bodies;
mod concurrency;
mod conditional;
mod containing;
mod create;
mod history;
mod items;
mod lifecycle;
mod moves;
mod positions;
mod random;
mod update;

fn editor() -> Client {
    Server::shared().user("editor")
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
            desk.add_all(json!(desk.stories[..inside])).ok();
        }
        desk
    }

    /// Creates another drawer in the same folder.
    fn other(&self, name: &str, capacity: u32) -> String {
        self.client.drawer(&self.folder, name, capacity)
    }

    /// Creates another drawer with some of the stories in it.
    fn other_with(&self, stories: &[usize], capacity: u32) -> String {
        let other = self.other("other", capacity);
        self.client.call("drawer-items-post", &[&other]).json(&self.sources(stories)).ok();
        other
    }

    /// A call on the drawer, with what its path names besides.
    fn call(&self, id: &str, besides: &[&dyn Display]) -> Call<'_> {
        self.client.call(id, &[&[&self.drawer as &dyn Display], besides].concat())
    }

    pub(super) fn add(&self, story: usize) -> Call<'_> {
        self.call("drawer-item-post", &[&self.stories[story]])
    }

    fn add_all(&self, sources: Value) -> Call<'_> {
        self.call("drawer-items-post", &[]).json(&sources)
    }

    fn position(&self, story: usize, position: impl Display) -> Call<'_> {
        self.call("drawer-item-position-put", &[&self.stories[story], &position])
    }

    /// Positions an item by its shortcut id.
    fn shift(&self, story: usize, position: impl Display) -> Call<'_> {
        self.call("drawer-shortcut-position-put", &[&self.shortcut(story), &position])
    }

    fn remove(&self, story: usize) -> Call<'_> {
        self.call("drawer-item-delete", &[&self.stories[story]])
    }

    fn remove_all(&self, sources: Value) -> Call<'_> {
        self.call("drawer-items-delete", &[]).json(&sources)
    }

    fn move_to(&self, story: usize, target: &str) -> Call<'_> {
        self.call("drawer-item-move-put", &[&self.stories[story], &target])
    }

    fn clear(&self) -> Call<'_> {
        self.call("drawer-item-clear-put", &[])
    }

    fn update(&self, body: Value) -> Call<'_> {
        self.call("drawer-put", &[]).json(&body)
    }

    fn discard(&self, story: usize) {
        discard(&self.client, &self.stories[story]);
    }

    fn restore(&self, story: usize) {
        restore(&self.client, &self.stories[story]);
    }

    fn read(&self) -> Value {
        read(&self.client, &self.drawer).ok()
    }

    fn info(&self) -> Value {
        self.read()["info"].take()
    }

    /// Returns the numbers of visible and of hidden items.
    fn counts(&self) -> (u64, u64) {
        let info = self.info();
        let count = |name: &str| info[name].as_u64().expect("a drawer counts its items");
        (count("count"), count("hidden"))
    }

    /// The id of a story's shortcut.
    fn shortcut(&self, story: usize) -> String {
        let reply = self.read();
        let mut items = reply["items"].as_array().expect("a drawer has items").iter();
        let item = items.find(|item| item["source"] == self.stories[story]).expect("the story is in the drawer");
        item["id"].as_str().expect("an item has an id").to_owned()
    }

    /// Returns the stories in the drawer, first to last.
    fn order(&self) -> Vec<usize> {
        self.order_in(&self.drawer)
    }

    /// Returns the stories in another drawer.
    fn order_in(&self, drawer: &str) -> Vec<usize> {
        self.placed(&read(&self.client, drawer).ok()).into_iter().map(|(story, _)| story).collect()
    }

    /// The stories and positions of the items in a reply.
    fn placed(&self, reply: &Value) -> Vec<(usize, u64)> {
        let story = |source| self.stories.iter().position(|story| *story == source).expect("it is one of the stories");
        placed(reply).into_iter().map(|(source, at)| (story(source), at)).collect()
    }

    /// A list of stories as a body.
    fn sources(&self, stories: &[usize]) -> Value {
        json!({ "sources": stories.iter().map(|story| self.stories[*story].as_str()).collect::<Vec<_>>() })
    }

    /// Returns the visible state of the drawer.
    fn state(&self) -> (String, Value) {
        let answer = read(&self.client, &self.drawer);
        (tag(&answer), answer.ok())
    }

    /// A call that must be refused, and leave no trace.
    #[track_caller]
    fn refuses(&self, call: Call<'_>, status: u16, code: &str) -> Value {
        let before = self.state();
        let error = call.fails(status, code);
        assert_eq!(self.state(), before, "a refused call left a trace");
        error
    }

    /// A call that must be refused for want of room.
    #[track_caller]
    fn is_too_full_for(&self, call: Call<'_>) {
        let capacity = self.info()["capacity"].take();
        let error = self.refuses(call, 409, "DrawerFull");
        includes(&error, &json!({ "source": self.drawer, "details": { "capacity": capacity } }));
        says(&error, &[&capacity.to_string()]);
    }

    /// A call that must succeed, and change nothing: neither the revision nor anything else.
    #[track_caller]
    fn leaves(&self, call: Call<'_>) -> Value {
        let before = self.state();
        let reply = call.ok();
        assert_eq!(self.state(), before, "a call without effect left a trace");
        reply
    }
}

/// A drawer with its items, as it is read; its positions must count from 0, and `count` be how many
/// there are.
fn read(client: &Client, drawer: &str) -> Answer {
    let answer = client.call("drawer-get", &[&drawer]).query("showItems", true).send();
    let reply = answer.ok();
    let items = reply["items"].as_array().expect("a drawer has items");
    for (position, item) in items.iter().enumerate() {
        assert_eq!(item["position"], position);
        assert_eq!(item["object"]["id"], item["source"]);
    }
    assert_eq!(reply["info"]["count"], items.len());
    answer
}

/// A drawer without its items.
fn head(client: &Client, drawer: &str) -> Answer {
    client.call("drawer-get", &[&drawer]).send()
}

fn discard(client: &Client, source: &str) {
    client.call("object-discard", &[&source]).ok();
}

fn destroy(client: &Client, source: &str) {
    client.call("object-destroy", &[&source]).ok();
}

fn restore(client: &Client, source: &str) {
    client.call("stet-object-restore-post", &[&source]).ok();
}

/// Asserts that the message of an error has these words.
#[track_caller]
fn says(error: &Value, words: &[&str]) {
    let message = error["message"].as_str().expect("an error has a message");
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

/// Ends a server regularly, and asserts that its data is sound.
fn leaves_all_whole(mut server: Server) {
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
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
    let client = server.user("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "front", 5);
    let story = client.story(&folder, "a.xml");
    let reply = client.call("drawer-item-post", &[&drawer, &story]).gives(&json!({ "info": { "count": 1 } }));
    assert_eq!(placed(&reply), [(story.clone(), 0)]);
    server.kill();
    let server = server.restart();
    // The token lives on, too.
    assert_eq!(client.to(&server).items(&drawer), [story]);
    leaves_all_whole(server);
}

cases! {
    "drawer-get": |corner| Made::on([corner.drawer(2).drawer]).query("showItems", word(true));
    "drawer-by-object-get": |corner| Made::on([corner.drawer(1).stories[0].with_kind(Kind::Any)]);
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
    "stet-history-get": |corner| Made::on([corner.drawer(2).drawer.with_kind(Kind::Any)]);
    "stet-revert-post": |corner| {
        let Filled { drawer, stories } = corner.drawer(2);
        corner.client.call("drawer-item-delete", &[&drawer, &stories[0]]).ok();
        Made::on([drawer]).json(json!({ "revision": 1 }))
    };
    "stet-undo-post": |corner| {
        let Filled { drawer, stories } = corner.drawer(2);
        corner.client.call("drawer-item-delete", &[&drawer, &stories[0]]).ok();
        Made::on([drawer]).json(json!({}))
    };
    "drawer-items-delete": |corner| {
        let Filled { drawer, stories } = corner.drawer(2);
        Made::on([drawer]).json(list(&stories))
    };
    "drawer-item-clear-put": |corner| Made::on([corner.drawer(1).drawer]);
}
