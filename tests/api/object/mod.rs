//! `/v3/object`

mod attributes;
mod checkout;
mod collecting;
mod content;
mod create_mode;
mod creating;
mod forms;
mod locks;
mod names;
mod pictures;
mod ranges;
mod reading;
mod the_end;
mod versions;

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::*;

const CREATE: &str = "/v3/object/create";

/// The type of the parts that make up a form, one by one.
struct Part<'a> {
    head: &'a str,
    body: &'a [u8],
}

const BOUNDARY: &str = "----stet-object-test";

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {}\r\n\r\n", part.head).bytes());
        body.extend_from_slice(part.body);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

fn send_form(client: &Client, body: &[u8]) -> Answer {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    client.send("POST", CREATE, &[("content-type", &content_type)], body)
}

/// Creates a story with these bytes.
fn upload(client: &Client, folder: &str, name: &str, bytes: &[u8], extra: Value) -> Answer {
    let mut options = json!({ "name": name, "folderPath": folder });
    for (key, value) in extra.as_object().expect("extra options are an object") {
        options[key] = value.clone();
    }
    client.upload(CREATE, &options, Some((name, "text/xml", bytes)))
}

fn object(source: &str) -> String {
    format!("/v3/object/{}", encoded(source))
}

fn id(reply: &Value) -> String {
    reply["id"].as_str().expect("a record has an id").to_owned()
}

/// How many objects a folder holds; none when it is not there.
fn count_in(client: &Client, folder: &str) -> u64 {
    let answer = client.get(&format!("/v3/folder/{}", encoded(folder)));
    if answer.status == 404 { 0 } else { answer.ok()["total"].as_u64().expect("a listing has a total") }
}

fn names_in(client: &Client, folder: &str) -> Vec<String> {
    let reply = client.get(&format!("/v3/folder/{}?sortBy=name", encoded(folder))).ok();
    let items = reply["items"].as_array().expect("a folder has items").iter();
    items.map(|item| item["name"].as_str().expect("an item has a name").to_owned()).collect()
}

fn bytes_of(client: &Client, source: &str) -> Vec<u8> {
    let answer = client.get(&format!("{}/content", object(source)));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer.body
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
