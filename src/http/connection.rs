//! Connections between two calls.
//!
//! The library bounds the time that the first head on a connection may take, and the time that
//! nothing comes after a reply. Who sends a byte now and then after a reply is bounded by neither:
//! a second head that never ends, or the rest of a body in chunks that nobody wanted, would hold a
//! connection for ever, and a few thousand of them keep everybody else out. So a connection on
//! which no call is under way for as long as both times together is shut down, whatever comes on
//! it.
//!
//! What the library knows of a connection ends with its socket. A second handle to that is held
//! here for the shutting down, so a connection costs two file descriptors.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::rt::net::TcpStream;
use socket2::{SockRef, Socket};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::held::Held;

/// Bytes of a body that are in the system's hands as soon as they are sent: while they are on their
/// way, no time need be given.
const SMALL: u64 = 4 << 10;

/// Calls after which others have their turn. A client may send many at once, and the library
/// answers one after the other for as long as none has to wait.
const ROW: usize = 8;

/// See the module's head.
pub struct Connection {
    socket: Socket,
    patience: Duration,
    /// Calls whose replies have not been sent.
    calls: Cell<usize>,
    /// Calls since it last gave way to other connections.
    row: Cell<usize>,
    /// When there were last some.
    idle_since: Cell<Instant>,
    /// Looks whether time is up; begins after the first call.
    watch: RefCell<Option<JoinHandle<()>>>,
}

impl Connection {
    /// The connection that has just been made on `io`, with or without TLS, on which nothing may be
    /// asked for so long. If the process has no files left it is closed, for nobody would watch it:
    /// `None`.
    pub fn new(io: &dyn Any, patience: Duration) -> Option<Rc<Connection>> {
        let safe = || io.downcast_ref::<TlsStream<TcpStream>>().map(|stream| stream.get_ref().0);
        let stream = SockRef::from(io.downcast_ref::<TcpStream>().or_else(safe)?);
        let socket = stream.try_clone().inspect_err(|error| {
            tracing::warn!(%error, "a connection can't be watched, and is closed");
            // It may be closed already; there is nothing else to be done.
            let _ = stream.shutdown(Shutdown::Both);
        });
        let socket = socket.ok()?;
        Some(Rc::new(Connection {
            socket,
            patience,
            calls: Cell::new(0),
            row: Cell::new(0),
            idle_since: Cell::new(Instant::now()),
            watch: RefCell::default(),
        }))
    }

    /// Begins a call on it, after others have had their turn if it was the only one for long.
    pub async fn call(self: &Rc<Self>) -> CallUnderWay {
        self.calls.set(self.calls.get() + 1);
        let call = CallUnderWay { connection: self.clone() };
        self.watched();
        let row = (self.row.get() + 1) % ROW;
        self.row.set(row);
        if row == 0 {
            tokio::task::yield_now().await;
        }
        call
    }

    /// Begins to look, if nobody does.
    fn watched(self: &Rc<Self>) {
        let mut watch = self.watch.borrow_mut();
        if watch.is_some() {
            return;
        }
        let (connection, patience) = (Rc::downgrade(self), self.patience);
        *watch = Some(actix_web::rt::spawn(async move {
            let mut end = Instant::now() + patience;
            loop {
                tokio::time::sleep_until(end).await;
                let Some(connection) = connection.upgrade() else { return };
                let now = Instant::now();
                if connection.calls.get() > 0 {
                    end = now + patience;
                    continue;
                }
                end = connection.idle_since.get() + patience;
                if end <= now {
                    // It may be closed already; there is nothing else to be done.
                    let _ = connection.socket.shutdown(Shutdown::Both);
                    return;
                }
            }
        }));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get_mut() {
            watch.abort();
        }
    }
}

/// A call on a connection, until its reply has been sent.
pub struct CallUnderWay {
    connection: Rc<Connection>,
}

impl CallUnderWay {
    /// The reply, which holds this until all of it has been sent.
    pub fn until_sent(self, reply: HttpResponse) -> HttpResponse {
        reply.map_body(|_, body| match body.size() {
            BodySize::None => body,
            BodySize::Sized(size) if size <= SMALL => body,
            _ => BoxBody::new(Held::new(body, self)),
        })
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection.calls.set(connection.calls.get() - 1);
        connection.idle_since.set(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use actix_web::rt::net::{TcpListener, TcpStream};
    use futures_util::FutureExt;

    use super::*;

    #[actix_web::test]
    async fn calls_in_a_row_give_way_now_and_then() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (_client, (stream, _)) = (client.expect("it listens"), accepted.expect("somebody comes"));
        let connection = Connection::new(&stream, Duration::from_secs(60)).expect("there are files left");
        let at_once = |_| connection.call().now_or_never().is_some();
        let row: Vec<bool> = (0..4 * ROW).map(at_once).collect();
        assert_eq!(row.iter().filter(|at_once| !**at_once).count(), 4, "{row:?}");
        assert_eq!(connection.calls.get(), 0, "who gives way and goes away is under way no more");
    }
}
