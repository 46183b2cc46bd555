//! A proxy in front of a server that tells lies about it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::harness::*;

/// What is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// An addition is acknowledged, and then taken back behind everybody's back, whenever it is made.
    Undo,
    /// Answers carry no revision, neither as ETag nor in the body.
    NoRevisions,
    UndoWithoutRevisions,
    /// Some additions are made, and the connection ends before the answer.
    LoseAnswers,
    /// One answer to a read comes [`STALL`] late.
    Stall,
}

/// How long a server stands still.
pub const STALL: Duration = Duration::from_millis(400);

/// See the module's head. Its threads end with the test's process.
pub struct Liar {
    pub base: String,
    lies: Arc<AtomicUsize>,
}

struct Mind {
    lie: Lie,
    upstream: String,
    /// Additions so far.
    added: AtomicUsize,
    /// Reads so far.
    reads: AtomicUsize,
    lies: Arc<AtomicUsize>,
    /// The addition that never lasts.
    forgotten: Mutex<Option<String>>,
}

impl Liar {
    pub fn before(server: &Server, lie: Lie) -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let base = format!("http://{}", listener.local_addr().expect("it has an address"));
        let lies = Arc::new(AtomicUsize::new(0));
        let upstream = server.base.strip_prefix("http://").expect("it speaks HTTP").to_owned();
        let mind = Arc::new(Mind {
            lie,
            upstream,
            added: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            lies: lies.clone(),
            forgotten: Mutex::new(None),
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mind = mind.clone();
                // A connection that ends is none of the proxy's business.
                std::thread::spawn(move || drop(mind.serve(stream)));
            }
        });
        Liar { base, lies }
    }

    pub fn has_lied(&self) -> bool {
        self.lies.load(Ordering::Relaxed) > 0
    }
}

/// A message of HTTP/1.1 with a length: its head without the empty line, and its body.
pub fn message(stream: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

impl Mind {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let upstream = TcpStream::connect(&self.upstream)?;
        upstream.set_nodelay(true)?;
        let (mut client, mut server) = (BufReader::new(stream), BufReader::new(upstream));
        loop {
            let (head, body) = message(&mut client)?;
            let (answer, content) = ask(&mut server, &head, &body)?;
            let call = head.lines().next().unwrap_or_default();
            // An addition of one object; the first two are those by which the load tries out what revisions mean.
            let is_addition = call.starts_with("POST") && call.contains("/item/") && answer.starts_with("HTTP/1.1 200");
            let number = if is_addition { self.added.fetch_add(1, Ordering::Relaxed) } else { 0 };
            let is_read = call.starts_with("GET") && call.contains("showItems");
            let due = is_addition && number >= 5;
            match self.lie {
                Lie::Undo | Lie::UndoWithoutRevisions if due && self.forgets(call) => {
                    let undo = head.replacen("POST", "DELETE", 1);
                    if ask(&mut server, &undo, &body)?.0.starts_with("HTTP/1.1 200") {
                        self.lies.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Lie::LoseAnswers if due && number % 7 == 0 => {
                    self.lies.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                // Those with which the load prepares itself are over by then.
                Lie::Stall if is_read && self.reads.fetch_add(1, Ordering::Relaxed) == 5 => {
                    self.lies.fetch_add(1, Ordering::Relaxed);
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

    /// Whether it is the first addition to be forgotten, or the same again.
    fn forgets(&self, call: &str) -> bool {
        let mut forgotten = self.forgotten.lock().expect("nobody panics with it");
        forgotten.get_or_insert_with(|| call.to_owned()) == call
    }
}

pub fn ask(server: &mut BufReader<TcpStream>, head: &str, body: &[u8]) -> std::io::Result<(String, Vec<u8>)> {
    server.get_mut().write_all(&[head.as_bytes(), b"\r\n", body].concat())?;
    message(server)
}
