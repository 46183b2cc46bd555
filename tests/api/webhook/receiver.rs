//! A receiver of webhooks, which answers as a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::harness::*;

/// An answer in place of a status: none, with the connection kept open.
pub const SILENCE: u16 = 0;

/// A message that has come.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: String,
    /// The whole head, in small letters.
    pub head: String,
    pub body: Value,
    /// Whether it was accepted.
    pub accepted: bool,
}

impl Message {
    pub fn kind(&self) -> &str {
        self.body["type"].as_str().expect("a message has a type")
    }

    pub fn revision(&self) -> u64 {
        self.body["data"]["revision"].as_u64().expect("a message has a revision")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

struct State {
    messages: Mutex<Vec<Message>>,
    answer: AtomicU16,
    /// Number of messages until the answer changes to 200.
    refusals: AtomicUsize,
}

/// A receiver, until this process ends.
#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    state: Arc<State>,
}

impl Receiver {
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let url = format!("http://{}/hook", listener.local_addr().expect("it has an address"));
        let (messages, answer, refusals) = (Mutex::default(), AtomicU16::new(200), AtomicUsize::new(usize::MAX));
        let state = Arc::new(State { messages, answer, refusals });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = shared.clone();
                std::thread::spawn(move || serve(&state, stream));
            }
        });
        Receiver { url, state }
    }

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.state.refusals.store(usize::MAX, Ordering::SeqCst);
        self.state.answer.store(status, Ordering::SeqCst);
    }

    /// Answers with this status so many times, and accepts everything afterwards.
    pub fn refuse(&self, status: u16, times: usize) {
        self.state.answer.store(status, Ordering::SeqCst);
        self.state.refusals.store(times, Ordering::SeqCst);
    }

    pub fn messages(&self) -> Vec<Message> {
        self.state.messages.lock().expect("nobody panics with it").clone()
    }

    pub fn accepted(&self) -> Vec<Message> {
        self.messages().into_iter().filter(|message| message.accepted).collect()
    }

    /// Waits until so many messages were accepted, and returns them.
    pub fn wait_for(&self, count: usize) -> Vec<Message> {
        wait_patiently_until("messages are accepted", || self.accepted().len() >= count);
        self.accepted()
    }
}

fn serve(state: &State, stream: TcpStream) {
    let mut out = stream.try_clone().expect("a connection has two ends");
    let mut lines = BufReader::new(stream);
    while let Some((head, body)) = request(&mut lines) {
        let answer = state.answer.load(Ordering::SeqCst);
        let left = state.refusals.load(Ordering::SeqCst);
        let answer = if left == 0 { 200 } else { answer };
        if left != 0 && left != usize::MAX {
            state.refusals.store(left - 1, Ordering::SeqCst);
        }
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let id = header("webhook-id").expect("a message has an id").to_owned();
        let body = serde_json::from_slice(&body).expect("a message is JSON");
        let accepted = (200..300).contains(&answer);
        state.messages.lock().expect("nobody panics with it").push(Message { id, head, body, accepted });
        if answer == SILENCE {
            continue;
        }
        let location = if (300..400).contains(&answer) { "location: http://127.0.0.1:1/\r\n" } else { "" };
        let reply = format!("HTTP/1.1 {answer} Told\r\n{location}content-length: 0\r\n\r\n");
        if out.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// The head, in small letters, and the body of the next request on a connection, if there is one.
fn request(lines: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        let line = match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
            None => line,
        };
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a length is a number");
        }
        head += &line;
    }
    assert!(head.starts_with("POST /hook HTTP/1.1"), "{head}");
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some((head, body))
}
