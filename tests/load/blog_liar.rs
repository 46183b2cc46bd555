//! A proxy in front of a server that falsifies replies about a liveblog.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::proxy::{Lies, Mind, Proxy, ask, message};
use crate::harness::*;

/// The fault that the proxy introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// A post is acknowledged, and then taken out behind everybody's back.
    LosePost,
    /// An edit is acknowledged and never sent on.
    LoseEdit,
    /// A poll leaves out what has changed.
    EmptyPoll,
    /// Some posts are created, and the connection ends before the answer.
    LoseAnswers,
    /// Answers carry no revision, neither as ETag nor in the body.
    NoRevisions,
    LosePostWithoutRevisions,
    /// One follower does not receive one event.
    SkipEvent,
    /// One follower receives one event twice.
    RepeatEvent,
    /// One follower receives an event about another post.
    OtherEvent,
    /// One follower receives nothing after some event, though its stream stays open.
    Silence,
    /// Streams end after some events, and may be taken up again.
    CutStreams,
    /// A stream that is taken up again leaves out the first event.
    ResumeWithGap,
    /// A stream that is taken up again begins with the word to read anew.
    SendOn,
    /// Streams end, and each is refused once when it is to be taken up again.
    RefuseStreams,
    /// Streams have a head and nothing else.
    BufferStreams,
    /// A moderation is answered as one of a post that is gone since. That much a server may do.
    ShortReply,
    /// A poll is large and leaves out the changes, as one built while it is sent may. A server may
    /// do that.
    LargePoll,
}

struct BlogLiar {
    lie: Lie,
    /// Posts, edits, moderations and polls so far.
    posts: AtomicUsize,
    edits: AtomicUsize,
    moderations: AtomicUsize,
    polls: AtomicUsize,
    /// Streams so far, and of those taken up again.
    streams: AtomicUsize,
    resumed: AtomicUsize,
    lies: Lies,
}

/// Starts the proxy of this module in front of a server.
pub fn blog_liar(server: &Server, lie: Lie) -> Proxy {
    let zero = || AtomicUsize::new(0);
    let (posts, edits, moderations, polls) = (zero(), zero(), zero(), zero());
    let (streams, resumed) = (zero(), zero());
    Proxy::before(server, |lies| BlogLiar { lie, posts, edits, moderations, polls, streams, resumed, lies })
}

impl Mind for BlogLiar {
    fn serve(&self, mut client: BufReader<TcpStream>, mut server: BufReader<TcpStream>) -> std::io::Result<()> {
        loop {
            let (head, body) = message(&mut client)?;
            let call = head.lines().next().unwrap_or_default();
            if call.starts_with("GET") && call.contains("/events") {
                return self.follow(&head, client, server);
            }
            let path = call.split(['?', ' ']).nth(1).unwrap_or_default();
            let count = |counter: &AtomicUsize| counter.fetch_add(1, Ordering::Relaxed);
            // The first of each is that by which the load tries out what revisions mean.
            let is_post = call.starts_with("POST") && path.ends_with("/post");
            let is_edit = call.starts_with("PUT") && path.contains("/post/");
            let is_poll = call.starts_with("POST") && body.starts_with(b"{\"since\"");
            if is_edit && count(&self.edits) == 3 && self.lie == Lie::LoseEdit {
                // The post as it was, as if it had been edited.
                self.lied();
                let read = head.replacen("PUT", "GET", 1);
                let read = without_body(&read);
                let (answer, content) = ask(&mut server, &read, b"")?;
                send(&mut client, &answer, &content)?;
                continue;
            }
            let (answer, content) = ask(&mut server, &head, &body)?;
            let mut shown = String::from_utf8_lossy(&content).into_owned();
            if is_post && answer.starts_with("HTTP/1.1 200") {
                let number = count(&self.posts);
                match self.lie {
                    Lie::LosePost | Lie::LosePostWithoutRevisions if number == 3 => {
                        self.lied();
                        let id = shown.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
                        let post = format!("{path}/{}", encoded(id.expect("a post has an id")));
                        let undo = head.replacen("POST", "DELETE", 1).replacen(path, &post, 1);
                        ask(&mut server, &without_body(&undo), b"")?;
                    }
                    Lie::LoseAnswers if number % 7 == 3 => {
                        self.lied();
                        return Ok(());
                    }
                    _ => {}
                }
            }
            let is_moderation =
                call.starts_with("POST") && path.ends_with("/approve") && answer.starts_with("HTTP/1.1 200");
            if is_moderation && count(&self.moderations) == 3 && self.lie == Lie::ShortReply {
                self.lied();
                let after = |name: &str| shown.split(&format!("\"{name}\":")).last().unwrap_or_default();
                let revision: String = after("revision").chars().take_while(char::is_ascii_digit).collect();
                let id = shown.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
                let short = json!({ "result": { "id": id, "revision": revision.parse::<u64>().expect("it has one") } });
                // The length stays.
                shown = format!("{:<1$}", short.to_string(), shown.len());
            }
            let empties = matches!(self.lie, Lie::EmptyPoll | Lie::LargePoll);
            let mut answer = answer;
            if is_poll && empties && !shown.contains("\"items\":[]") && count(&self.polls) == 3 {
                self.lied();
                // Nothing is shown, and the length stays.
                let from = shown.find("\"items\":[").expect("a poll has items") + "\"items\":[".len();
                let to = shown.rfind("],\"total\"").expect("and their number behind");
                shown.replace_range(from..to, &" ".repeat(to - from));
                if self.lie == Lie::EmptyPoll {
                    let total = shown.rfind("\"total\":").expect("it was just found") + "\"total\":".len();
                    let digits = shown[total..].bytes().take_while(u8::is_ascii_digit).count();
                    shown.replace_range(total..total + digits, &format!("{:>digits$}", 0));
                } else {
                    let length = |bytes: usize| format!("content-length: {bytes}\r\n");
                    let before = length(shown.len());
                    shown.push_str(&" ".repeat(256 << 10));
                    answer = answer.replace(&before, &length(shown.len()));
                }
            }
            let bare = matches!(self.lie, Lie::NoRevisions | Lie::LosePostWithoutRevisions);
            if bare {
                shown = shown.replace("\"revision", "\"unspoken");
            }
            let keep = |line: &&str| !bare || !line.to_ascii_lowercase().starts_with("etag:");
            let answer: String = answer.split_inclusive("\r\n").filter(keep).collect();
            send(&mut client, &answer, shown.as_bytes())?;
        }
    }
}

impl BlogLiar {
    fn lied(&self) {
        self.lies.lied();
    }

    /// Passes a stream on, chunk by chunk, until either end has closed it.
    fn follow(
        &self,
        head: &str,
        mut client: BufReader<TcpStream>,
        mut server: BufReader<TcpStream>,
    ) -> std::io::Result<()> {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        let is_resumed = head.to_ascii_lowercase().contains("last-event-id:");
        if is_resumed && self.lie == Lie::RefuseStreams && self.resumed.fetch_add(1, Ordering::Relaxed) < 2 {
            let body = json!({ "result": { "code": "CMS.Overloaded", "message": "Later." } }).to_string();
            let head = format!("HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\n", body.len());
            return send(&mut client, &head, body.as_bytes());
        }
        server.get_mut().write_all(&[head.as_bytes(), b"\r\n"].concat())?;
        let mut out = String::new();
        while !out.ends_with("\r\n\r\n") {
            if server.read_line(&mut out)? == 0 {
                return Ok(());
            }
        }
        client.get_mut().write_all(out.as_bytes())?;
        if self.lie == Lie::BufferStreams {
            self.lied();
            // Waits until the client disconnects, but not without a limit.
            client.get_mut().set_read_timeout(Some(Duration::from_secs(60)))?;
            return client.read(&mut [0]).map(drop);
        }
        let mut events = 0;
        loop {
            let mut size = String::new();
            server.read_line(&mut size)?;
            let length = usize::from_str_radix(size.trim(), 16).map_err(std::io::Error::other)?;
            let mut chunk = vec![0; length + 2];
            server.read_exact(&mut chunk)?;
            if length == 0 {
                return client.get_mut().write_all(b"0\r\n\r\n");
            }
            let mut text = String::from_utf8_lossy(&chunk[..length]).into_owned();
            events += text.matches("event: liveblog.").count();
            // A chunk may have more than one.
            let (at, due) = (text.find("id: ").unwrap_or(0), number == 1 && events >= 4);
            let first = text.find("\n\n").map_or(text.len(), |end| end + 2);
            let told = self.lies.have_been();
            match self.lie {
                Lie::SkipEvent if due && !told => {
                    self.lied();
                    text.replace_range(at..first, "");
                }
                Lie::RepeatEvent if due && !told => {
                    self.lied();
                    let again = text[at..first].to_owned();
                    text.insert_str(first, &again);
                }
                Lie::OtherEvent if due && !told => {
                    self.lied();
                    text = text.replace("\"ids\":[\"1$", "\"ids\":[\"2$");
                }
                Lie::Silence if due => {
                    self.lied();
                    ":\n\n".clone_into(&mut text);
                }
                Lie::CutStreams | Lie::ResumeWithGap | Lie::SendOn | Lie::RefuseStreams
                    if !is_resumed && events >= 3 + number =>
                {
                    self.lied();
                    return Ok(());
                }
                Lie::ResumeWithGap
                    if is_resumed && events > 0 && events == text.matches("event: liveblog.").count() =>
                {
                    text.replace_range(at..first, "");
                }
                Lie::SendOn if is_resumed && events > 0 && events == text.matches("event: liveblog.").count() => {
                    let kind = text.find("event: ").map_or(0, |at| at + "event: ".len());
                    let end = text[kind..].find('\n').map_or(kind, |end| kind + end);
                    text.replace_range(kind..end, "reset");
                }
                _ => {}
            }
            if !text.is_empty() {
                client.get_mut().write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
            }
        }
    }
}

/// A head of a call that has no body.
fn without_body(head: &str) -> String {
    head.split_inclusive("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("content-")).collect()
}

fn send(client: &mut BufReader<TcpStream>, answer: &str, content: &[u8]) -> std::io::Result<()> {
    client.get_mut().write_all(&[answer.as_bytes(), b"\r\n", content].concat())
}
