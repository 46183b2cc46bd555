//! A proxy in front of a server, which may falsify its replies.

use std::cell::OnceCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::harness::*;

/// A running proxy. Its threads end with the test's process.
pub struct Proxy {
    pub base: String,
    lies: Lies,
    upstream: Arc<Mutex<Option<String>>>,
}

/// The number of false answers so far.
#[derive(Clone, Default)]
pub struct Lies(Arc<AtomicUsize>);

impl Lies {
    pub fn lied(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn have_been(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// The behaviour of a proxy on one connection.
pub trait Mind: Send + Sync + 'static {
    /// Serves one connection, until either end has closed it.
    fn serve(&self, client: BufReader<TcpStream>, server: BufReader<TcpStream>) -> std::io::Result<()>;
}

impl Proxy {
    pub fn before<M: Mind>(server: &Server, mind: impl FnOnce(Lies) -> M) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let base = format!("http://{}", listener.local_addr().expect("it has an address"));
        let upstream = Arc::new(Mutex::new(Some(host(server))));
        let lies = Lies::default();
        let mind = Arc::new(mind(lies.clone()));
        let proxy = Proxy { base, lies, upstream: upstream.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (mind, upstream) = (mind.clone(), upstream.clone());
                // A connection that ends is none of the proxy's business.
                std::thread::spawn(move || drop(connect(&upstream, stream).and_then(|(a, b)| mind.serve(a, b))));
            }
        });
        proxy
    }

    /// Kills the server and starts it on another port. Clients that connect in between wait, since
    /// the old port may be in use by another process.
    pub fn restart(&self, mut server: Server) -> Server {
        *self.upstream.lock() = None;
        server.kill();
        let server = server.restart();
        *self.upstream.lock() = Some(host(&server));
        server
    }

    pub fn has_lied(&self) -> bool {
        self.lies.have_been()
    }
}

fn host(server: &Server) -> String {
    server.base.strip_prefix("http://").expect("it speaks HTTP").to_owned()
}

/// Waits for a server that is away.
fn connect(
    upstream: &Mutex<Option<String>>,
    client: TcpStream,
) -> std::io::Result<(BufReader<TcpStream>, BufReader<TcpStream>)> {
    client.set_nodelay(true)?;
    let server = OnceCell::new();
    wait_until("the server is there again", || {
        let place = upstream.lock().clone();
        place.is_some_and(|place| TcpStream::connect(place).is_ok_and(|stream| server.set(stream).is_ok()))
    });
    let server = server.into_inner().expect("it was waited for");
    server.set_nodelay(true)?;
    Ok((BufReader::new(client), BufReader::new(server)))
}

/// A message of HTTP/1.1: its head without the empty line, and its body. One in chunks is given a
/// length.
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
    let field = |wanted: &str| {
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
    };
    if field("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        let body = chunks(stream)?;
        let lines = head.split_inclusive("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("transfer-enc"));
        return Ok((lines.collect::<String>() + &format!("content-length: {}\r\n", body.len()), body));
    }
    let mut body = vec![0; field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

fn chunks(stream: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
        let from = body.len();
        // The end of a line follows each, also the last, which is empty.
        body.resize(from + length + 2, 0);
        stream.read_exact(&mut body[from..])?;
        body.truncate(from + length);
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Passes a call on; the answer.
pub fn ask(server: &mut BufReader<TcpStream>, head: &str, body: &[u8]) -> std::io::Result<(String, Vec<u8>)> {
    server.get_mut().write_all(&[head.as_bytes(), b"\r\n", body].concat())?;
    message(server)
}
