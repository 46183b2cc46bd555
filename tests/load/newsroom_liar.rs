//! A proxy in front of a server that swallows the changes of one family, or only counts what passes.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::proxy::{Lies, Mind, Proxy, ask, message};
use crate::harness::*;

/// Calls that get the answer to an earlier one of their kind, and are not passed on: by method and how the path ends or what is in it.
#[derive(Debug, Clone, Copy)]
pub struct Swallowed {
    pub method: &'static str,
    pub part: &'static str,
}

/// So many are passed on before the first is swallowed.
const HONEST: usize = 4;

/// Head and body.
type Reply = (String, Vec<u8>);

struct NewsroomLiar {
    swallowed: Option<Swallowed>,
    /// How many of those were passed on, and the answer to the last.
    seen: Mutex<(usize, Option<Reply>)>,
    passed: Arc<AtomicUsize>,
    lies: Lies,
}

/// See the module's head. The number is that of the answers that have passed.
pub fn newsroom_liar(server: &Server, swallowed: Option<Swallowed>) -> (Proxy, Arc<AtomicUsize>) {
    let passed = Arc::new(AtomicUsize::new(0));
    let counted = passed.clone();
    let mind = |lies| NewsroomLiar { swallowed, seen: Mutex::default(), passed: counted, lies };
    (Proxy::before(server, mind), passed)
}

impl NewsroomLiar {
    fn answer(&self, server: &mut BufReader<TcpStream>, head: &str, body: &[u8]) -> std::io::Result<Reply> {
        let call = head.lines().next().unwrap_or_default();
        let path = call.split(['?', ' ']).nth(1).unwrap_or_default();
        let is_it = |of: &Swallowed| call.starts_with(of.method) && path.contains(of.part);
        if !self.swallowed.as_ref().is_some_and(is_it) {
            return ask(server, head, body);
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
