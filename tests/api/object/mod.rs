//! `/v3/object`

mod attributes;
mod bin;
mod checkout;
mod collecting;
mod content;
mod create_mode;
mod creating;
mod fields;
mod forms;
mod import;
mod locks;
mod met;
mod moving;
mod names;
mod overtaken;
mod pictures;
mod ranges;
mod reading;
mod subtrees;
mod the_end;
mod usage;
mod versions;

use std::collections::HashSet;
use std::ops::Deref;

use serde_json::{Value, json};

use super::endpoints::cases::{Kind, Made, cases, link_to, list, new_in, word};
use crate::harness::*;

/// A client with a folder that no other test uses.
struct Desk {
    client: Client,
    folder: String,
}

impl Deref for Desk {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Desk {
    /// Returns the desk of a user of the shared server, with the session that tests share.
    fn of(user: &str) -> Desk {
        Desk::at(Server::shared().user(user))
    }

    fn at(client: Client) -> Desk {
        Desk { client, folder: own_folder() }
    }

    /// Returns the call that creates an object in its folder, with these bytes of XML and further
    /// options.
    fn create(&self, name: &str, bytes: &[u8], extra: Value) -> Call<'_> {
        self.create_of(name, ("text/xml", bytes), extra)
    }

    /// Returns such a call with bytes of any type.
    fn create_of(&self, name: &str, (media_type, bytes): (&str, &[u8]), extra: Value) -> Call<'_> {
        self.form_of(json!({ "name": name }), extra, &[("content", name, media_type, bytes)])
    }

    /// Returns such a call without content.
    fn create_empty(&self, name: &str, extra: Value) -> Call<'_> {
        self.form_of(json!({ "name": name }), extra, &[])
    }

    fn form_of(&self, mut options: Value, extra: Value, files: &[File<'_>]) -> Call<'_> {
        options["folderPath"] = json!(self.folder);
        for (key, value) in extra.as_object().expect("extra options are an object") {
            options[key] = value.clone();
        }
        self.call("stet-object-create-post", &[]).form(&options, files)
    }

    /// Creates an object with these bytes, and returns its loid.
    fn make(&self, name: &str, bytes: &[u8]) -> String {
        id(&self.create(name, bytes, json!({})).ok())
    }

    /// Creates an object under a taken name in that mode, and returns the record.
    fn again(&self, name: &str, bytes: &[u8], mode: &str) -> Value {
        self.create(name, bytes, json!({ "createMode": mode })).ok()
    }

    /// The names in its folder, first to last.
    fn names(&self) -> Vec<String> {
        let reply = self.call("folder-get", &[&self.folder]).query("sortBy", "name").ok();
        let items = reply["items"].as_array().expect("a folder has items").iter();
        items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
    }

    /// Returns the number of objects in its folder; 0 if the folder does not exist.
    fn count(&self) -> u64 {
        count_in(self, &self.folder)
    }
}

fn count_in(client: &Client, folder: &str) -> u64 {
    let answer = client.call("folder-get", &[&folder]).send();
    if answer.status == 404 { 0 } else { answer.ok()["total"].as_u64().expect("a listing has a total") }
}

/// Adds this query to a call. A name alone means `true`, as in `checkOut&checkIn=false`.
fn with<'c>(call: Call<'c>, query: &str) -> Call<'c> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "true")))
        .fold(call, |call, (name, value)| call.query(name, value))
}

/// Asserts that a record has these members, each of them exactly so.
#[track_caller]
fn shows(record: &Value, members: Value) {
    for (name, value) in members.as_object().expect("members are an object") {
        assert_eq!(record[name], *value, "`{name}` in {record}");
    }
}

fn id(reply: &Value) -> String {
    reply["id"].as_str().expect("a record has an id").to_owned()
}

/// The loid of a version.
fn version(loid: &str, number: u32) -> String {
    loid.replacen(".0.", &format!(".{number}."), 1)
}

fn read(client: &Client, source: &str) -> Value {
    client.call("object-get", &[&source]).ok()
}

#[track_caller]
fn is_gone(client: &Client, source: &str) {
    client.call("object-get", &[&source]).fails(404, "ObjectNotFound");
}

fn content<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call("stet-object-content-get", &[&source])
}

fn bytes_of(client: &Client, source: &str) -> Vec<u8> {
    bytes(&content(client, source))
}

/// The bytes that a call is answered with.
#[track_caller]
fn bytes(call: &Call<'_>) -> Vec<u8> {
    let answer = call.send();
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer.body
}

/// The content of a version, by its number.
fn bytes_of_version(client: &Client, loid: &str, number: impl std::fmt::Display) -> Vec<u8> {
    bytes(&content(client, loid).query("version", number))
}

/// Writes a content; without bytes only what the query says happens.
fn write<'c>(client: &'c Client, loid: &str, query: &str, bytes: &[u8]) -> Call<'c> {
    with(client.call("stet-object-content-put", &[&loid]), query).bytes("application/octet-stream", bytes)
}

fn lock<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call("stet-object-lock-post", &[&source])
}

fn unlock<'c>(client: &'c Client, source: &str, force: bool) -> Call<'c> {
    client.call("stet-object-unlock-post", &[&source]).json(&json!({ "force": force }))
}

fn discard<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call("object-discard", &[&source])
}

fn destroy<'c>(client: &'c Client, source: &str) -> Call<'c> {
    client.call("object-destroy", &[&source])
}

fn restore<'c>(client: &'c Client, source: &str, body: Value) -> Call<'c> {
    client.call("stet-object-restore-post", &[&source]).json(&body)
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").expect("it has an ETag").to_owned()
}

/// Ends the server, checks that its data is sound, and returns the output of the check.
#[track_caller]
fn ends_sound(mut server: Server) -> String {
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "{output}");
    output
}

/// Bytes that no codec could make shorter or guess.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Runs the same in 16 threads that begin together.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = std::sync::Barrier::new(16);
    let (barrier, work) = (&barrier, &work);
    std::thread::scope(|scope| {
        let begin = |number| {
            scope.spawn(move || {
                barrier.wait();
                work(number)
            })
        };
        let threads: Vec<_> = (0..16).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread must not panic")).collect()
    })
}

cases! {
    "stet-object-correlate-post": |corner| {
        let (story, item) = (corner.story().with_kind(Kind::Any), corner.planned().item);
        Made::on([story]).json(link_to(&item))
    };
    "stet-object-uncorrelate-post": |corner| {
        let (story, item) = (corner.story().with_kind(Kind::Any), corner.planned().item);
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made::on([story]).json(link_to(&item)).once()
    };
    "stet-object-correlates-get": |corner| {
        let (story, item) = (corner.story().with_kind(Kind::Any), corner.planned().item);
        corner.client.call("stet-object-correlate-post", &[&story]).json(&link_to(&item)).ok();
        Made::on([story])
    };
    "object-get": |corner| Made::on([corner.story()]);
    "stet-object-list-post": |corner| Made::default().json(list([&corner.story()]));
    "stet-object-create-post": |corner| Made::default().form(new_in(corner));
    "stet-object-create-from-template-post": |corner| {
        let template = corner.story().with_kind(Kind::Template);
        Made { query: vec![("path", template)], ..Made::default() }.json(new_in(corner))
    };
    "stet-object-story-from-template-post": |corner| {
        let template = corner.story().with_kind(Kind::Template);
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
    "object-discard": |corner| Made::on([corner.story()]).once();
    "objects-discard": |corner| Made::default().json(list([&corner.story()]));
    "object-destroy": |corner| Made::on([corner.story()]).once();
    "objects-destroy": |corner| Made::default().json(list([&corner.story()]));
    "stet-object-restore-post": |corner| {
        let story = corner.story();
        corner.client.call("object-discard", &[&story]).ok();
        Made::on([story]).once()
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
        Made::on([story]).once()
    };
}
