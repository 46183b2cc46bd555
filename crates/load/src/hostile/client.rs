//! A hostile client with its session, its connection and the counts of its answers.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kinds::HostileKind;
use super::people::People;
use super::{SharedTarget, Tally};
use crate::client::{Call, CallAnswer, Connection, Socket};
use crate::desk::encode_segment;

/// A hostile client.
pub struct HostileClient {
    target: SharedTarget,
    token: Option<Arc<str>>,
    connection: Connection,
    tally: Arc<Mutex<Tally>>,
    /// The path of the client's own folder.
    pub folder: String,
    /// The users who receive its messages.
    pub recipients: Value,
    /// The beginning of the subjects of its messages.
    pub subject: String,
    /// The ids of created objects, by purpose.
    built: std::collections::HashMap<&'static str, String>,
}

impl HostileClient {
    /// Creates a client of a kind. It connects with its first call.
    pub fn new(
        target: SharedTarget,
        people: &People,
        kind: HostileKind,
        number: usize,
        tally: Arc<Mutex<Tally>>,
    ) -> HostileClient {
        let token = people.token(kind, number);
        HostileClient {
            connection: Connection::new(target.clone(), token.clone()),
            target,
            token,
            tally,
            folder: format!("{}/{}-{number}", people.folder, kind.name()),
            recipients: people.recipients(),
            subject: people.subject.clone(),
            built: std::collections::HashMap::new(),
        }
    }

    /// Returns the number of answers to clients of this kind.
    pub fn answered(&self) -> u64 {
        self.tally.lock().statuses.values().sum()
    }

    /// Counts a round.
    pub fn complete_round(&self) {
        self.tally.lock().rounds += 1;
    }

    /// Sends a call, counts its answer and returns it; `None` if no answer came.
    pub async fn send(&mut self, call: &Call) -> Option<CallAnswer> {
        self.tally.lock().calls += 1;
        let answered = self.connection.send(call).await;
        let status = match &answered {
            Ok(answer) if answer.is_success() => answer.status.to_string(),
            Ok(answer) => format!("{} {}", answer.status, strip_code_prefix(&answer.code())),
            Err(trouble) => trouble.kind().to_owned(),
        };
        self.count(status);
        answered.ok()
    }

    /// Sends a call and returns the `result` of a success.
    pub async fn result(&mut self, call: &Call) -> Option<Value> {
        let answer = self.send(call).await.filter(CallAnswer::is_success)?;
        let mut reply: Value = serde_json::from_slice(&answer.body).ok()?;
        Some(reply["result"].take())
    }

    /// Sends a call with JSON.
    pub async fn json(&mut self, method: Method, path: &str, body: &Value) -> Option<Value> {
        self.result(&Call::json(method, path, body)).await
    }

    /// Sends a call without a body.
    pub async fn get(&mut self, path: &str) -> Option<CallAnswer> {
        self.send(&Call::new(Method::GET, path.to_owned())).await
    }

    /// Reads a large reply, compressed.
    pub async fn get_compressed(&mut self, path: &str, coding: &'static str) -> Option<CallAnswer> {
        let call = Call { accept_encoding: Some(coding), ..Call::new(Method::GET, path.to_owned()) };
        self.send(&call).await
    }

    /// Destroys an object permanently.
    pub async fn destroy(&mut self, object: &str) {
        let path = format!("/v3/object/{}/destroy", encode_segment(object));
        self.send(&Call::new(Method::DELETE, path)).await;
    }

    /// Keeps the id of a created object for later rounds.
    pub fn keep(&mut self, what: &'static str, id: String) {
        self.built.insert(what, id);
    }

    /// Returns the id of a created object.
    pub fn kept(&self, what: &'static str) -> Option<String> {
        self.built.get(what).cloned()
    }

    /// Forgets a created object that no longer exists.
    pub fn forget(&mut self, what: &'static str) {
        self.built.remove(what);
    }

    /// Returns the path and query of a raw request, with the client's token.
    pub fn uri(&self, path: &str) -> String {
        self.target.uri(path, self.token.as_deref())
    }

    /// Opens a connection for bytes that no well-behaved client would send, or for slow reads.
    /// Counts it as a call: it may last until the load ends.
    pub async fn socket(&self) -> Option<Box<dyn Socket>> {
        let opened = tokio::time::timeout(self.target.patience(), self.target.socket()).await;
        let socket = opened.ok().and_then(Result::ok);
        match socket {
            Some(_) => self.tally.lock().calls += 1,
            None => self.count("no connection".to_owned()),
        }
        socket
    }

    /// Writes bytes to a raw connection. Returns whether the server accepted them.
    pub async fn write(socket: &mut Box<dyn Socket>, bytes: &[u8]) -> bool {
        let written = tokio::time::timeout(Duration::from_secs(2), socket.write_all(bytes)).await;
        matches!(written, Ok(Ok(())))
    }

    /// Reads the beginning of the answer to a raw request, and counts it.
    pub async fn answer(&self, socket: &mut Box<dyn Socket>, patience: Duration) {
        let mut head = [0; 12];
        let read = tokio::time::timeout(patience, socket.read_exact(&mut head)).await;
        let status = match read {
            Err(_) => "no answer yet".to_owned(),
            Ok(Err(_)) => "connection lost".to_owned(),
            Ok(Ok(_)) => {
                let text = String::from_utf8_lossy(&head).into_owned();
                text.strip_prefix("HTTP/1.1 ").map_or_else(|| "no HTTP".to_owned(), str::to_owned)
            }
        };
        self.count(status);
    }

    fn count(&self, status: String) {
        *self.tally.lock().statuses.entry(status).or_default() += 1;
    }

    /// Returns the body of a creation in the client's own folder, under a free name.
    pub fn new_object(&self, name: &str) -> Value {
        json!({ "name": name, "folderPath": self.folder, "createMode": "AUTO_RENAME" })
    }
}

/// Returns a code without the prefix of the server's codes. For an answer without a code it is
/// empty: the status is in front already.
fn strip_code_prefix(code: &str) -> &str {
    let code = code.rsplit_once('.').map_or(code, |(_, bare)| bare);
    if code.starts_with("status ") { "" } else { code }
}
