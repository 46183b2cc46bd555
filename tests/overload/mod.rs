//! Overload by clients that are slow, rude or gone. Memory stays bounded, acknowledged changes are
//! there, other clients are served, and the server ends regularly. Faults of a single request are
//! in `api/http` and `api/edge`.
//!
//! Bounds on memory are generous: several times the need, and a fraction of the use without the
//! rule that they prove.

mod attributes;
mod bodies;
mod caches;
mod connections;
mod disk;
mod drain;
mod followers;
mod leaving;
mod lists;
mod logins;
mod permits;
mod readers;
mod replies;
mod rubbish;
mod slices;
mod uploads;
mod writers;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::*;

const MIB: u64 = 1 << 20;

/// A few tests here at a time: each brings many threads or connections of its own, and waits most
/// of the time. A server's memory is its own, so none minds the others.
fn turn() -> impl Drop {
    static TURNS: [Mutex<()>; 4] = [const { Mutex::new(()) }; 4];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let turn = &TURNS[NEXT.fetch_add(1, Ordering::Relaxed) % TURNS.len()];
    // A test that failed leaves nothing behind that the next would mind.
    turn.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// Bytes of a line of `/proc/PID/status`.
fn memory(server: &Server, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let value =
        status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':')?.trim().strip_suffix(" kB"));
    value.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or_else(|| panic!("no {line}: {status}")) << 10
}

/// Bytes that the server has in memory now.
fn resident(server: &Server) -> u64 {
    memory(server, "VmRSS")
}

/// The most that it ever had.
fn peak(server: &Server) -> u64 {
    memory(server, "VmHWM")
}

/// Asserts that the server never had more than `more` bytes above `before`, and prints the maximum.
fn assert_peak(server: &Server, before: u64, more: u64) {
    let grown = peak(server).saturating_sub(before);
    println!("{} MiB before, {} MiB more at most, {} MiB now", before / MIB, grown / MIB, resident(server) / MIB);
    assert!(grown < more, "{} MiB more than before, where {} are allowed", grown / MIB, more / MIB);
}

/// Files and connections that the server has open.
fn open_files(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server runs").count()
}

/// Waits until at most `files` files are open, and some that this test's own clients may keep.
fn wait_until_closed(server: &Server, files: usize) {
    let what = format!("all but {files} files and connections are closed");
    wait_patiently_until(&what, || open_files(server) <= files + 4);
}

/// Opens a connection with a timeout for reads.
fn connect(server: &Server) -> TcpStream {
    patient(TcpStream::connect(address(server)).expect("the server takes connections"))
}

fn address(server: &Server) -> &str {
    server.base.strip_prefix("http://").expect("the address is known")
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time can be set");
    stream
}

fn token(client: &Client) -> &str {
    client.token.as_deref().expect("it has logged in")
}

/// A POST of JSON, as bytes.
fn post(client: &Client, path: &str, body: &Value) -> Vec<u8> {
    let (token, body) = (token(client), body.to_string());
    let head = "content-type: application/json\r\ncontent-length";
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ntoken: {token}\r\n{head}: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Status and body of the next answer on a connection; `None` when it was closed before its end.
fn next_answer(stream: &mut TcpStream) -> Option<(u16, Vec<u8>)> {
    let head = next_line(stream, b"\r\n\r\n")?.to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut body = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let size = usize::from_str_radix(next_line(stream, b"\r\n")?.trim(), 16).expect("a chunk says its size");
            let before = body.len();
            body.resize(before + size, 0);
            stream.read_exact(&mut body[before..]).ok()?;
            stream.read_exact(&mut [0; 2]).ok()?;
            if size == 0 {
                return Some((status, body));
            }
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length is announced");
    body.resize(length.trim().parse().expect("a length is a number"), 0);
    stream.read_exact(&mut body).ok()?;
    Some((status, body))
}

/// Reads up to and including `end`; `None` if the connection was closed before.
fn next_line(stream: &mut TcpStream, end: &[u8]) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(end) {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => line.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8(line).expect("it is text"))
}

/// Asserts that an answer refuses for want of room, and says when to come again.
fn assert_overloaded(answer: &Answer) {
    answer.fails(503, "Overloaded");
    let seconds = answer.header("retry-after").and_then(|value| value.parse::<u64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds >= 1), "{answer:?}");
}

/// Asserts that other users are served: one who reads, and one who writes something of their own.
fn assert_serves(server: &Server) {
    assert_eq!(server.client().get("/healthz").status, 200);
    let client = server.login("reporter");
    client.get("/v3/folder/home").ok();
    client.drawer(&own_folder(), "meanwhile", 3);
}

/// Stories in a folder that have 512 KiB of attributes each.
fn large_stories(client: &Client, folder: &str, count: usize) -> Vec<String> {
    let text = "All the news that fits. ".repeat((512 << 10) / 24);
    let made = |number| {
        let options = json!({ "name": format!("{number}.xml"), "type": "Story", "folderPath": folder,
            "attributes": { "a": { "text": text } } });
        let made = client.upload("/v3/object/create", &options, None).ok();
        made["id"].as_str().expect("a new object has an id").to_owned()
    };
    (0..count).map(made).collect()
}

/// A drawer whose answer is some `mib` MiB, and the user who has made it.
fn large_drawer(server: &Server, mib: usize) -> (Client, String) {
    let client = server.login("editor");
    let folder = own_folder();
    let stories = large_stories(&client, &folder, mib * 2);
    let body = json!({ "name": "large", "folderPath": folder, "sources": stories });
    let made = client.post("/v3/container/drawer", &body).ok();
    let drawer = made["info"]["id"].as_str().expect("a new drawer has an id").to_owned();
    (client, drawer)
}

/// The request for all of a drawer.
fn whole_drawer(client: &Client, drawer: &str) -> Vec<u8> {
    let path = format!("/v3/container/drawer/{}?showItems=true", encoded(drawer));
    format!("GET {path} HTTP/1.1\r\nhost: x\r\ntoken: {}\r\n\r\n", token(client)).into_bytes()
}
