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
