//! A client that follows a container by server-sent events, over a connection of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::{Client, PATIENCE, encoded};

/// A received event.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowedEvent {
    /// The revision of the container.
    pub id: u64,
    /// The id of the event: that revision, the position of a stream of several containers, or the
    /// place in the log of a stream of all below a folder. The first events of a stream of several
    /// have none but the last.
    pub position: String,
    pub event: String,
    pub data: Value,
}

/// A client's stream of events.
pub struct Follow {
    reader: BufReader<Box<dyn Read + Send>>,
    /// The head of the response in lower case.
    pub head: String,
    /// The name of a stream of several containers, once it was received.
    pub stream: Option<String>,
    /// The id that was received last, with an event or a comment.
    pub last_id: String,
    /// The received part of an incomplete event.
    text: Vec<u8>,
    /// The received comments.
    pub comments: usize,
    /// `true` if the response has ended properly, and was not cut off.
    pub whole: bool,
}

/// Connects with a receive buffer that is soon full of unread data. Usual connections buffer some
/// megabytes on a loopback.
pub fn connect_with_little_room(address: &str) -> TcpStream {
    let address: SocketAddr = address.parse().expect("it is an address");
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).expect("there are sockets");
    // The buffer must be set before connecting, when the window is negotiated.
    socket.set_recv_buffer_size(4 << 10).expect("a size can be set");
    // With the large segments of the loopback, the other side's buffers would take some megabytes
    // more.
    socket.set_tcp_mss(1460).expect("a size can be set");
    socket.connect(&address.into()).expect("the server listens");
    socket.into()
}

impl Client {
    /// Follows a container, after the given event or from now on.
    pub fn follow(&self, container: &str, after: Option<u64>) -> Follow {
        let follow = self.try_follow(&format!("/v3/container/{}/events", encoded(container)), after);
        follow.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Follows a container from now on, over a connection that is soon full of unread data.
    pub fn follow_with_little_room(&self, container: &str) -> Follow {
        self.follow_path_with_little_room(&format!("/v3/container/{}/events", encoded(container)))
    }

    /// Follows at a path, over such a connection.
    pub fn follow_path_with_little_room(&self, path: &str) -> Follow {
        self.follow_on(connect_with_little_room(self.address()), path, None).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Follows at a path.
    ///
    /// # Errors
    /// The refusing reply.
    pub fn try_follow(&self, path: &str, after: Option<u64>) -> Result<Follow, String> {
        let stream = TcpStream::connect(self.address()).map_err(|error| error.to_string())?;
        self.follow_on(stream, path, after)
    }

    fn address(&self) -> &str {
        self.base.strip_prefix("http://").expect("the address is known")
    }

    fn follow_on(&self, stream: TcpStream, path: &str, after: Option<u64>) -> Result<Follow, String> {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        self.follow_over(stream, "x", path, after)
    }

    /// Follows at a path of a host over an existing connection, whose reads must have a timeout.
    ///
    /// # Errors
    /// The refusing reply.
    pub fn follow_over(
        &self,
        mut stream: impl Read + Write + Send + 'static,
        host: &str,
        path: &str,
        after: Option<u64>,
    ) -> Result<Follow, String> {
        let token = self.token.as_ref().map(|token| format!("token: {token}\r\n")).unwrap_or_default();
        let after = after.map(|after| format!("last-event-id: {after}\r\n")).unwrap_or_default();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{token}{after}\r\n");
        stream.write_all(head.as_bytes()).and_then(|()| stream.flush()).map_err(|error| error.to_string())?;
        let mut reader: BufReader<Box<dyn Read + Send>> = BufReader::with_capacity(1 << 10, Box::new(stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match reader.read_line(&mut head) {
                Ok(0) | Err(_) => return Err(format!("no answer: {head}")),
                Ok(_) => {}
            }
        }
        let head = head.to_ascii_lowercase();
        if !head.starts_with("http/1.1 200") {
            return Err(head);
        }
        Ok(Follow { reader, head, stream: None, last_id: String::new(), text: Vec::new(), comments: 0, whole: false })
    }
}

impl Iterator for Follow {
    type Item = FollowedEvent;

    /// Returns the next event; `None` at the end, or if the connection was cut.
    fn next(&mut self) -> Option<FollowedEvent> {
        loop {
            let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") else {
                self.chunk()?;
                continue;
            };
            let block: Vec<u8> = self.text.drain(..end + 2).collect();
            let block = String::from_utf8(block).expect("events are text");
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            if block.ends_with("\n:\n\n") || block.starts_with(':') {
                self.note_comment(&block);
                continue;
            }
            if block == "retry: 3000\n\n" {
                continue;
            }
            if field("event") == Some("stream") {
                let data: Value = serde_json::from_str(field("data").expect("it has data")).expect("data is JSON");
                self.stream = data["stream"].as_str().map(str::to_owned);
                continue;
            }
            let fields = (field("id"), field("event"), field("data"));
            let (id, Some(event), Some(data)) = fields else { panic!("not an event: {block}") };
            let data: Value = serde_json::from_str(data).expect("data is JSON");
            let (position, event) = (id.unwrap_or_default().to_owned(), event.to_owned());
            if id.is_some() {
                self.last_id.clone_from(&position);
            }
            // Only presence has no revision.
            let id = data["revision"].as_u64().unwrap_or_default();
            assert_eq!(id == 0 && event == "presence", data.get("revision").is_none(), "{block}");
            let is_of_several = position.contains(['.', '-']) || self.stream.is_some();
            assert!(is_of_several || position == id.to_string(), "{block}");
            return Some(FollowedEvent { id, position, event, data });
        }
    }
}

impl Follow {
    /// Returns the next event, which must arrive.
    pub fn must(&mut self) -> FollowedEvent {
        self.next().expect("the stream goes on")
    }

    /// Returns all events until the end.
    pub fn rest(&mut self) -> Vec<FollowedEvent> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits for a comment; no event may arrive before it.
    pub fn comment(&mut self) {
        let before = self.comments;
        while self.comments == before {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                self.note_comment(&String::from_utf8_lossy(&block));
            } else {
                self.chunk().expect("the stream goes on");
            }
        }
    }

    /// Notes a comment, which may have an id.
    fn note_comment(&mut self, block: &str) {
        let id = block.strip_suffix(":\n\n").unwrap_or_else(|| panic!("not a comment: {block}"));
        if let Some(id) = id.strip_prefix("id: ") {
            id.trim_end().clone_into(&mut self.last_id);
        }
        self.comments += 1;
    }

    /// Reads the next chunk of the transfer coding; `None` at the end.
    fn chunk(&mut self) -> Option<()> {
        let mut size = String::new();
        let read = |outcome: std::io::Result<usize>| match outcome {
            Ok(read) => Some(read),
            Err(error) => {
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "waited in vain for an event");
                None
            }
        };
        if self.whole || read(self.reader.read_line(&mut size))? == 0 {
            return None;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("not a chunk: {size:?}"));
        let mut chunk = vec![0; size + 2];
        read(self.reader.read_exact(&mut chunk).map(|()| size))?;
        chunk.truncate(size);
        self.text.extend_from_slice(&chunk);
        self.whole = size == 0;
        (size > 0).then_some(())
    }
}
