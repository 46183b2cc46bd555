//! A proxy in front of a server that falsifies replies about topics.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::proxy::{Lies, Mind, Proxy, ask, message};
use crate::harness::*;

/// The fault that the proxy introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// An item is acknowledged, and then taken out behind everybody's back.
    LoseItem,
    /// A comment is acknowledged, and then taken back.
    LoseEdit,
    /// An item is moved, and then out of its new topic behind everybody's back.
    LoseMoved,
    /// A structure shows its first two lines the other way round.
    WrongOrder,
    /// Some moves are carried out, and the connection ends before the answer.
    LoseAnswers,
    /// Answers carry no revision as ETag.
    NoRevisions,
    LoseItemWithoutRevisions,
    /// The reply to a move does not list the revisions of the source topics.
    NoRevisionsOfMoves,
}

struct TopicLiar {
    lie: Lie,
    /// Items made, comments written, items moved and structures read so far.
    items: AtomicUsize,
    edits: AtomicUsize,
    moves: AtomicUsize,
    reads: AtomicUsize,
    lies: Lies,
}

/// Starts the proxy of this module in front of a server.
pub fn topic_liar(server: &Server, lie: Lie) -> Proxy {
    let zero = || AtomicUsize::new(0);
    let (items, edits, moves, reads) = (zero(), zero(), zero(), zero());
    Proxy::before(server, |lies| TopicLiar { lie, items, edits, moves, reads, lies })
}

/// Items with which a load of [`super::topic::FILLED`] prepares itself; the one by which it tries
/// out what revisions mean is the first.
const PREPARED: usize = 1 + super::topic::FILLED;

impl Mind for TopicLiar {
    fn serve(&self, mut client: BufReader<TcpStream>, mut server: BufReader<TcpStream>) -> std::io::Result<()> {
        loop {
            let (head, body) = message(&mut client)?;
            let call = head.lines().next().unwrap_or_default();
            let path = call.split(['?', ' ']).nth(1).unwrap_or_default();
            let (answer, content) = ask(&mut server, &head, &body)?;
            let mut shown = String::from_utf8_lossy(&content).into_owned();
            let is_done = answer.starts_with("HTTP/1.1 200");
            let is_new = call.starts_with("POST") && path.ends_with("/topicitem") && is_done;
            let is_edit = call.starts_with("PUT") && body.starts_with(b"{\"comment\"") && is_done;
            let is_move = call.starts_with("PUT") && path.ends_with("/topic/move") && is_done;
            let is_read = path.contains("/topic/") && path.ends_with("/structure") && is_done;
            let item = || shown.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            let undo = |path: &str| {
                let lines = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("content-length:"));
                let lines = lines.skip(1).map(|line| format!("{line}\r\n"));
                let token = call.split_once('?').map_or("", |(_, rest)| rest);
                format!("DELETE {path}?{token}\r\n") + &lines.collect::<String>()
            };
            // A client that moves the item at that moment prevents the lie, so it is tried again.
            let due = |is_it: bool, counter: &AtomicUsize, from: usize| {
                is_it && counter.fetch_add(1, Ordering::Relaxed) >= from && !self.lies.have_been()
            };
            let (item_due, edit_due) = (due(is_new, &self.items, PREPARED + 3), due(is_edit, &self.edits, 4));
            let (move_due, read_due) = (due(is_move, &self.moves, 4), due(is_read, &self.reads, 4));
            let mut lie = None;
            match self.lie {
                Lie::LoseItem | Lie::LoseItemWithoutRevisions if item_due => {
                    lie = Some(ask(&mut server, &undo(&format!("{path}/{}", encoded(item()))), b"")?);
                }
                Lie::LoseEdit if edit_due => {
                    let length = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-length:"));
                    let body = "{\"comment\":\"\"}";
                    let head = head.replace(length.unwrap_or_default(), &format!("content-length: {}", body.len()));
                    lie = Some(ask(&mut server, &head, body.as_bytes())?);
                }
                Lie::LoseMoved if move_due => {
                    let (topic, item) =
                        (item(), shown.split("\"items\":[{\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()));
                    let path = format!(
                        "/v3/container/topic/{}/topicitem/{}",
                        encoded(topic),
                        encoded(item.unwrap_or_default())
                    );
                    lie = Some(ask(&mut server, &undo(&path), b"")?);
                }
                Lie::WrongOrder if read_due => {
                    let from = shown.find("\"items\":[").map_or(0, |at| at + "\"items\":[".len());
                    let lines: Vec<_> = shown[from..].splitn(3, "},").map(str::to_owned).collect();
                    if let [first, second, rest] = lines.as_slice() {
                        shown = format!("{}{second}}},{first}}},{rest}", &shown[..from]);
                        self.lies.lied();
                    }
                }
                // Two moves try out what revisions mean.
                Lie::LoseAnswers if is_move && self.moves.load(Ordering::Relaxed) % 5 == 3 => {
                    self.lies.lied();
                    return Ok(());
                }
                Lie::NoRevisionsOfMoves => {
                    if is_move {
                        self.lies.lied();
                    }
                    // Another name of the same length, so that the length stays true.
                    shown = shown.replace("\"revisions\"", "\"unspokens\"");
                }
                _ => {}
            }
            if lie.is_some_and(|(answer, _)| answer.starts_with("HTTP/1.1 200")) {
                self.lies.lied();
            }
            let bare = matches!(self.lie, Lie::NoRevisions | Lie::LoseItemWithoutRevisions);
            let keep = |line: &&str| !bare || !line.to_ascii_lowercase().starts_with("etag:");
            let answer: String = answer.split_inclusive("\r\n").filter(keep).collect();
            client.get_mut().write_all(&[answer.as_bytes(), b"\r\n", shown.as_bytes()].concat())?;
        }
    }
}
