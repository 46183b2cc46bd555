//! The state of a connection between its calls, and its shutdown when idle.
//!
//! The library limits the time for the first head on a connection, and the idle time after a reply.
//! Neither limits a client that sends a byte now and then after a reply: a second head that never
//! ends, or the rest of an unread chunked body. Such a client would hold a connection for ever, and
//! a few thousand of them would exclude everybody else. So a connection is shut down when no call
//! runs on it for the sum of both times, whatever arrives on it.
//!
//! Shutting down the socket ends everything that the library keeps for a connection. This module
//! keeps a second handle to the socket for that, so a connection takes two file descriptors.

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

use super::held::GuardedBody;

/// The size of a body that the system accepts as soon as it is sent, in bytes. Its time on the way
/// does not have to be counted.
const SMALL: u64 = 4 << 10;

/// The number of consecutive calls after which other connections get a turn. A client may send many
/// calls at once, and the library answers them one after the other as long as none has to wait.
const ROW: usize = 8;

/// A connection, whose idle time is watched.
pub struct Connection {
    socket: Socket,
    patience: Duration,
    /// The number of calls whose replies have not been sent.
    calls: Cell<usize>,
    /// The number of calls since the connection last yielded to others.
    row: Cell<usize>,
    /// The end of the last call, or the start of the connection.
    idle_since: Cell<Instant>,
    /// The task that checks the idle time, started by the first call.
    watch: RefCell<Option<JoinHandle<()>>>,
}

impl Connection {
    /// Watches a new connection on `io`, with or without TLS, which may be idle for `patience`. If
    /// the process has no file descriptor left, the connection is closed because it could not be
    /// watched: `None`.
    pub fn new(io: &dyn Any, patience: Duration) -> Option<Rc<Connection>> {
        let safe = || io.downcast_ref::<TlsStream<TcpStream>>().map(|stream| stream.get_ref().0);
        let stream = SockRef::from(io.downcast_ref::<TcpStream>().or_else(safe)?);
        let socket = stream.try_clone().inspect_err(|error| {
            tracing::warn!(%error, "cannot watch a connection; closed it");
            // It may be closed already, and then nothing else is to be done.
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

    /// Begins a call on the connection. After several calls in a row others run first.
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

    /// Starts the task that watches the connection, unless it runs already.
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
                    // It may be closed already, and then nothing else is to be done.
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
    /// Returns the reply, which counts as under way until all of it has been sent.
    pub fn until_sent(self, reply: HttpResponse) -> HttpResponse {
        reply.map_body(|_, body| match body.size() {
            BodySize::None => body,
            BodySize::Sized(size) if size <= SMALL => body,
            _ => BoxBody::new(GuardedBody::new(body, self)),
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
