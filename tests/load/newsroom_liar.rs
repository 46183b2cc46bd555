//! A proxy in front of a server that swallows the changes of one family, or only counts what
//! passes.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::proxy::{Lies, Mind, Proxy, ask, message};
use crate::harness::*;

/// The fault that the proxy introduces.
#[derive(Debug, Clone, Copy)]
pub enum Lie {
    /// No fault.
    None,
    /// Calls of this method with this in their path get the answer to an earlier one, and are not
    /// passed on.
    Swallow(&'static str, &'static str),
    /// Texts that are read under a path with this in it are of another step.
    Alter(&'static str),
}

/// The number of calls passed on before the first one is swallowed.
const HONEST: usize = 4;

/// Head and body.
type Reply = (String, Vec<u8>);

struct NewsroomLiar {
    lie: Lie,
    /// The number of such calls passed on, and the answer to the last.
    seen: Mutex<(usize, Option<Reply>)>,
    passed: Arc<AtomicUsize>,
    lies: Lies,
}

/// Starts the proxy of this module in front of a server. Also returns the number of answers passed
/// so far.
pub fn newsroom_liar(server: &Server, lie: Lie) -> (Proxy, Arc<AtomicUsize>) {
    let passed = Arc::new(AtomicUsize::new(0));
    let counted = passed.clone();
    let mind = |lies| NewsroomLiar { lie, seen: Mutex::default(), passed: counted, lies };
    (Proxy::before(server, mind), passed)
}

impl NewsroomLiar {
    fn answer(&self, server: &mut BufReader<TcpStream>, head: &str, body: &[u8]) -> std::io::Result<Reply> {
        let call = head.lines().next().unwrap_or_default();
        let path = call.split(['?', ' ']).nth(1).unwrap_or_default();
        let (method, part) = match self.lie {
            Lie::None => return ask(server, head, body),
            Lie::Swallow(method, part) => (method, part),
            Lie::Alter(part) => ("GET", part),
        };
        if !call.starts_with(method) || !path.contains(part) {
            return ask(server, head, body);
        }
        if let Lie::Alter(_) = self.lie {
            let (answer, content) = ask(server, head, body)?;
            self.lies.lied();
            let content = String::from_utf8_lossy(&content).replace(" step='", " step='9").into_bytes();
            // The length grows along.
            let fields =
                answer.split_inclusive("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("content-length"));
            return Ok((fields.collect::<String>() + &format!("content-length: {}\r\n", content.len()), content));
        }
        let mut seen = self.seen.lock();
        if let (HONEST.., Some(answer)) = &*seen {
            self.lies.lied();
            return Ok(answer.clone());
        }
        let answer = ask(server, head, body)?;
        if answer.0.starts_with("HTTP/1.1 200") {
            *seen = (seen.0 + 1, Some(answer.clone()));
        }
        Ok(answer)
    }
}

impl Mind for NewsroomLiar {
    fn serve(&self, mut client: BufReader<TcpStream>, mut server: BufReader<TcpStream>) -> std::io::Result<()> {
        loop {
            let (head, body) = message(&mut client)?;
            let (answer, content) = self.answer(&mut server, &head, &body)?;
            client.get_mut().write_all(&[answer.as_bytes(), b"\r\n", &content].concat())?;
            self.passed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
