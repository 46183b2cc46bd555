//! A proxy in front of a server that falsifies its replies.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::proxy::{Lies, Mind, Proxy, ask, message};
use crate::harness::*;

/// The fault that the proxy introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// An addition is acknowledged, and then silently undone, whenever it is made.
    Undo,
    /// Answers carry no revision, neither as ETag nor in the body.
    NoRevisions,
    UndoWithoutRevisions,
    /// Some additions are carried out, and the connection ends before the answer.
    LoseAnswers,
    /// One answer to a read comes [`STALL`] late.
    Stall,
    /// Some additions are refused as overload.
    Overload,
    /// Some deletions are refused by a proxy in front of the server.
    TooMany,
    /// No read is answered after some point.
    Hang,
}

/// The duration of a stall.
pub const STALL: Duration = Duration::from_millis(400);

struct Liar {
    lie: Lie,
    /// Additions so far.
    added: AtomicUsize,
    /// Reads so far.
    reads: AtomicUsize,
    lies: Lies,
    /// The addition that never lasts.
    forgotten: Mutex<Option<String>>,
}

/// Starts the proxy of this module in front of a server.
pub fn liar(server: &Server, lie: Lie) -> Proxy {
    let zero = || AtomicUsize::new(0);
    let (added, reads) = (zero(), zero());
    Proxy::before(server, |lies| Liar { lie, added, reads, lies, forgotten: Mutex::new(None) })
}

impl Mind for Liar {
    fn serve(&self, mut client: BufReader<TcpStream>, mut server: BufReader<TcpStream>) -> std::io::Result<()> {
        loop {
            let (head, body) = message(&mut client)?;
            let call = head.lines().next().unwrap_or_default();
            if let Some(refusal) = self.refusal(call) {
                self.lies.lied();
                client.get_mut().write_all(refusal.as_bytes())?;
                continue;
            }
            let (answer, content) = ask(&mut server, &head, &body)?;
            // An addition of one object; the first two are those by which the load tries out what
            // revisions mean.
            let is_addition = call.starts_with("POST") && call.contains("/item/") && answer.starts_with("HTTP/1.1 200");
            let number = if is_addition { self.added.fetch_add(1, Ordering::Relaxed) } else { 0 };
            let is_read = call.starts_with("GET") && call.contains("showItems");
            let due = is_addition && number >= 5;
            match self.lie {
                Lie::Undo | Lie::UndoWithoutRevisions if due && self.forgets(call) => {
                    let undo = head.replacen("POST", "DELETE", 1);
                    if ask(&mut server, &undo, &body)?.0.starts_with("HTTP/1.1 200") {
                        self.lies.lied();
                    }
                }
                Lie::LoseAnswers if due && number % 7 == 0 => {
                    self.lies.lied();
                    return Ok(());
                }
                // Those with which the load prepares itself are over by then.
                Lie::Stall if is_read && self.reads.fetch_add(1, Ordering::Relaxed) == 5 => {
                    self.lies.lied();
                    std::thread::sleep(STALL);
                }
                _ => {}
            }
            let mut out = Vec::new();
            let bare = matches!(self.lie, Lie::NoRevisions | Lie::UndoWithoutRevisions);
            for line in answer.split_inclusive("\r\n") {
                if !(bare && line.to_ascii_lowercase().starts_with("etag:")) {
                    out.extend_from_slice(line.as_bytes());
                }
            }
            out.extend_from_slice(b"\r\n");
            // Another name of the same length, so that the length stays true.
            let shown = String::from_utf8_lossy(&content);
            let shown = if bare { shown.replace("\"revision", "\"unspoken") } else { shown.into_owned() };
            out.extend_from_slice(shown.as_bytes());
            client.get_mut().write_all(&out)?;
        }
    }
}

impl Liar {
    /// Returns the answer to a call that is not passed on; `None` for all others.
    fn refusal(&self, call: &str) -> Option<String> {
        let due = |calls: &AtomicUsize| {
            let number = calls.fetch_add(1, Ordering::Relaxed);
            // With the first ones the load prepares itself.
            number >= 10 && number.is_multiple_of(5)
        };
        let (status, body) = match self.lie {
            Lie::Overload if call.starts_with("POST") && call.contains("/item/") && due(&self.added) => {
                ("503 Service Unavailable", r#"{"status":"error","result":{"code":"CMS.Overloaded","message":"busy"}}"#)
            }
            Lie::TooMany if call.starts_with("DELETE") && call.contains("/item/") && due(&self.added) => {
                ("429 Too Many Requests", "")
            }
            Lie::Hang if call.contains("showItems") && due(&self.reads) => {
                self.lies.lied();
                loop {
                    std::thread::park();
                }
            }
            _ => return None,
        };
        Some(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    /// Returns whether this is the forgotten addition: the first call, or a repetition of it.
    fn forgets(&self, call: &str) -> bool {
        let mut forgotten = self.forgotten.lock().expect("nobody panics with it");
        forgotten.get_or_insert_with(|| call.to_owned()) == call
    }
}
