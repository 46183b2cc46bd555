//! The limit on the data that a client may send ahead.
//!
//! The library reads the heads of all available requests, up to 128 KiB at once, and each takes
//! some 4 KB while it waits. So one connection could take 20 MB before a token is required. A
//! connection therefore reads a small portion at a time, and nothing while several requests wait.
//! Further data stays in the system's bounded buffers, and then with the client.
//!
//! If a connection is closed while bytes of the client are unread, the system resets it, and the
//! client may lose a reply that it has not read yet. So the server first ends its own side. Then it
//! discards incoming data until the client closes its side too or [`LINGER`] is over (RFC 9112,
//! 9.6).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use actix_http::{Extensions, Request};
use actix_web::HttpMessage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::connection::Connection;
use super::pipeline::PipelineSlot;

/// The number of bytes that are read at once. They contain at most 157 of the shortest heads, which
/// take some 600 KB.
const PORTION: usize = 4 << 10;

/// The number of waiting requests above which a connection is not read.
const QUEUE: usize = 8;

/// The time for which a connection is still read after its last reply, unless the client closes it
/// first.
pub const LINGER: Duration = Duration::from_secs(1);

/// The requests of a connection that wait for their turn.
#[derive(Default)]
pub struct RequestQueue {
    /// The connection's data, shared by the connection and each request that has been read, until
    /// its turn. So the number of shares is the length of the queue.
    shared: RefCell<Weak<Extensions>>,
    /// The waker of the reader that waits for a shorter queue.
    reader: RefCell<Option<Waker>>,
    /// Whether the next request had been read when the reply to the previous one was ready.
    next_was_ahead: Cell<bool>,
    /// Whether a reply has closed the connection.
    is_closing: Cell<bool>,
    /// Whether bytes of replies were written that may not have reached the system.
    is_unflushed: Cell<bool>,
    /// The waker of the request that waits for those bytes.
    flushed: RefCell<Option<Waker>>,
    /// Whether written bytes are dropped.
    is_silent: Cell<bool>,
}

impl RequestQueue {
    fn is_full(&self) -> bool {
        // One share belongs to the connection.
        self.shared.borrow().strong_count() > QUEUE
    }

    /// Reports whether requests have been read whose turn has not begun.
    pub(super) fn has_waiting(&self) -> bool {
        self.shared.borrow().strong_count() > 1
    }

    /// Reports whether a reply has closed the connection.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.get()
    }

    /// Reports whether the request whose turn begins had been read when the reply to the previous
    /// one was ready.
    pub(super) fn next_was_ahead(&self) -> bool {
        self.next_was_ahead.get()
    }

    /// Notes that a request has its reply, whether the next request has been read by then, and
    /// whether the reply closes the connection.
    pub(super) fn ended(&self, next_is_ahead: bool, closes: bool) {
        self.next_was_ahead.set(next_is_ahead);
        self.is_closing.set(self.is_closing.get() || closes);
    }

    /// Drops everything that is written from now on, after all earlier bytes have reached the
    /// system.
    pub(super) async fn silence(&self) {
        // The library writes its own buffer when the call waits.
        let mut has_waited = false;
        poll_fn(|cx| {
            if has_waited && !self.is_unflushed.get() {
                return Poll::Ready(());
            }
            has_waited = true;
            self.is_unflushed.set(true);
            *self.flushed.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.is_silent.set(true);
    }

    fn got_shorter(&self) {
        if !self.is_full()
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
    }
}

/// Begins a request's turn, and passes the data of its connection to it.
pub fn begin(request: &mut Request) {
    let Some(shared) = request.take_conn_data() else { return };
    let (queue, connection) = (shared.get::<Rc<RequestQueue>>().cloned(), shared.get::<Rc<Connection>>().cloned());
    if let Some(connection) = connection {
        request.extensions_mut().insert(connection);
    }
    let Some(queue) = queue else { return };
    if queue.shared.borrow().strong_count() == 0 {
        *queue.shared.borrow_mut() = Rc::downgrade(&shared);
    }
    drop(shared);
    queue.got_shorter();
    let turn = PipelineSlot::begin(request, queue);
    request.extensions_mut().insert(Rc::new(turn));
}

thread_local! {
    /// The buffer for reading. The caller's own buffer would have to be filled with zeros first, at
    /// every poll.
    static READ: RefCell<[u8; PORTION]> = const { RefCell::new([0; PORTION]) };
}

/// A connection that is read in portions.
pub struct PortionedStream<S> {
    inner: S,
    queue: Rc<RequestQueue>,
    /// The number of bytes that may be read before other connections get a turn.
    left: usize,
    /// Whether the client has closed its side.
    has_ended: bool,
    /// The end of the time in which the closed connection is still read.
    closing: Option<Pin<Box<Sleep>>>,
}

impl<S> PortionedStream<S> {
    /// Wraps a connection of which nothing has been read.
    pub fn new(inner: S) -> PortionedStream<S> {
        PortionedStream { inner, queue: Rc::default(), left: PORTION, has_ended: false, closing: None }
    }

    /// Returns the wrapped connection.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Returns the queue of waiting requests.
    pub fn queue(&self) -> Rc<RequestQueue> {
        self.queue.clone()
    }
}

impl<S: AsyncRead + Unpin> PortionedStream<S> {
    /// Reads at most `most` bytes, and at most the rest of the portion, and passes them to `taken`.
    /// No bytes mean that the client has closed its side.
    fn poll_portion(&mut self, cx: &mut Context<'_>, most: usize, taken: impl FnOnce(&[u8])) -> Poll<io::Result<()>> {
        if self.left == 0 {
            self.left = PORTION;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = most.min(self.left);
        READ.with_borrow_mut(|bytes| {
            let mut portion = ReadBuf::new(&mut bytes[..most]);
            let outcome = Pin::new(&mut self.inner).poll_read(cx, &mut portion);
            match outcome {
                Poll::Ready(Ok(())) => {
                    let read = portion.filled();
                    self.has_ended |= read.is_empty() && most > 0;
                    self.left -= read.len();
                    taken(read);
                }
                Poll::Pending => self.left = PORTION,
                Poll::Ready(Err(_)) => self.has_ended = true,
            }
            outcome
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PortionedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.queue.is_full() {
            *self.queue.reader.borrow_mut() = Some(cx.waker().clone());
            return Poll::Pending;
        }
        self.poll_portion(cx, buf.remaining(), |read| buf.put_slice(read))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PortionedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.queue.is_silent.get() {
            return Poll::Ready(Ok(buf.len()));
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.queue.is_silent.get() {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    /// Flushes the connection. The library calls this when it has written all its data.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        if flushed.is_ready() {
            self.queue.is_unflushed.set(false);
            if let Some(waiting) = self.queue.flushed.take() {
                waiting.wake();
            }
        }
        flushed
    }

    /// Ends the server's side, and discards incoming data until the linger time is over.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
        }
        let closing = this.closing.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if closing.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        while !this.has_ended {
            // An error ends the connection too.
            if this.poll_portion(cx, PORTION, |_| ()).is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_read_after_its_last_reply_for_a_while() {
        let (mut client, server) = duplex(PORTION);
        let mut intake = PortionedStream::new(server);
        let sending = async {
            client.write_all(&[7; 10 * PORTION]).await.expect("all of it is taken");
            drop(client);
        };
        let (closed, ()) = tokio::join!(intake.shutdown(), sending);
        closed.expect("the client has closed it");
        // The server does not wait for a client that leaves the connection open.
        let (_client, server) = duplex(PORTION);
        let began = tokio::time::Instant::now();
        PortionedStream::new(server).shutdown().await.expect("it is closed");
        assert_eq!(began.elapsed().as_secs(), LINGER.as_secs());
    }

    #[tokio::test]
    async fn no_more_than_a_portion_is_read_at_once_and_nothing_while_requests_wait() {
        let (mut client, server) = duplex(10 * PORTION);
        client.write_all(&[7; 3 * PORTION]).await.expect("there is room");
        let mut intake = PortionedStream::new(server);
        let mut bytes = vec![0; 10 * PORTION];
        let mut read = 0;
        while let Some(more) = intake.read(&mut bytes).now_or_never() {
            read += more.expect("it is there");
        }
        assert_eq!(read, PORTION);
        // The data that has been read is waiting.
        let shared = Rc::new(Extensions::new());
        *intake.queue.shared.borrow_mut() = Rc::downgrade(&shared);
        let waiting = vec![shared.clone(); QUEUE];
        assert!(intake.read(&mut bytes).now_or_never().is_none());
        drop(waiting);
        assert_eq!(intake.read(&mut bytes).await.expect("it is there"), PORTION);
    }
}
