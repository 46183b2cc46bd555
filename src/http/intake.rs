//! How much of what a client sends ahead is taken in.
//!
//! The library reads the heads of all requests that are there, up to 128 KiB of them at once, and
//! each takes some 4 KB while it waits for its turn: one connection could take 20 MB before anybody
//! is asked for a token. So a connection reads a small portion at a time, and nothing more while
//! some requests wait. What a client sends beyond stays in the system's buffers, which are bounded,
//! and then with the client.
//!
//! A connection that is closed while bytes of its client are unread is reset by the system, and
//! a reply that the client has not read yet is lost with it. So the server first says that it
//! sends nothing more, then discards what still comes, until the client closes its side as well or
//! [`LINGER`] is over (RFC 9112, 9.6).

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
use super::pipeline::Turn;

/// Bytes that are read at once. Of the shortest heads that there are these are 157, hence some 600
/// KB.
const PORTION: usize = 4 << 10;

/// Requests that may wait on a connection for it to be read further.
const QUEUE: usize = 8;

/// Time for which a connection is still read after its last reply, unless the client closes it
/// first.
pub const LINGER: Duration = Duration::from_secs(1);

/// The requests of a connection that wait for their turn.
#[derive(Default)]
pub struct Queue {
    /// What each request that has been read has a share of until its turn comes, and the
    /// connection.
    shared: RefCell<Weak<Extensions>>,
    /// Who wants to read on when some have had their turn.
    reader: RefCell<Option<Waker>>,
    /// Whether the next request had been read when the reply to the one before it was there.
    next_was_ahead: Cell<bool>,
    /// Whether a reply has closed the connection.
    is_closing: Cell<bool>,
    /// Whether bytes of replies have been written that may not have reached the system.
    is_unflushed: Cell<bool>,
    /// Wakes the request that waits for them to do so.
    flushed: RefCell<Option<Waker>>,
    /// Whether what is written is dropped.
    is_silent: Cell<bool>,
}

impl Queue {
    fn is_full(&self) -> bool {
        // One share is the connection's.
        self.shared.borrow().strong_count() > QUEUE
    }

    /// Whether requests have been read whose turn has not come.
    pub(super) fn has_waiting(&self) -> bool {
        self.shared.borrow().strong_count() > 1
    }

    /// Whether a reply has closed the connection.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.get()
    }

    /// Whether the request whose turn begins had been read when the reply to the one before it was
    /// there.
    pub(super) fn next_was_ahead(&self) -> bool {
        self.next_was_ahead.get()
    }

    /// Notes that a request has its reply: whether the next one has been read by then, and whether
    /// the reply closes the connection.
    pub(super) fn ended(&self, next_is_ahead: bool, closes: bool) {
        self.next_was_ahead.set(next_is_ahead);
        self.is_closing.set(self.is_closing.get() || closes);
    }

    /// Has all that is written from now on dropped, once all before has reached the system.
    pub(super) async fn silence(&self) {
        // What the library has in its own buffer it writes when the call waits.
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

/// Notes that a request has its turn, and hands on what it knows of its connection.
pub fn begin(request: &mut Request) {
    let Some(shared) = request.take_conn_data() else { return };
    let (queue, connection) = (shared.get::<Rc<Queue>>().cloned(), shared.get::<Rc<Connection>>().cloned());
    if let Some(connection) = connection {
        request.extensions_mut().insert(connection);
    }
    let Some(queue) = queue else { return };
    if queue.shared.borrow().strong_count() == 0 {
        *queue.shared.borrow_mut() = Rc::downgrade(&shared);
    }
    drop(shared);
    queue.got_shorter();
    let turn = Turn::begin(request, queue);
    request.extensions_mut().insert(Rc::new(turn));
}

thread_local! {
    /// What is being read. Of the caller's buffer a portion would have to be filled with zeros
    /// first, for each look whether something has come.
    static READ: RefCell<[u8; PORTION]> = const { RefCell::new([0; PORTION]) };
}

/// A connection that is read by portions.
pub struct Intake<S> {
    inner: S,
    queue: Rc<Queue>,
    /// Bytes that may be read before others have their turn.
    left: usize,
    /// Whether the client has closed its side.
    has_ended: bool,
    /// The end of the connection, once nothing more is sent.
    closing: Option<Pin<Box<Sleep>>>,
}

impl<S> Intake<S> {
    /// Nothing is read yet.
    pub fn new(inner: S) -> Intake<S> {
        Intake { inner, queue: Rc::default(), left: PORTION, has_ended: false, closing: None }
    }

    /// What is read.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Those that wait.
    pub fn queue(&self) -> Rc<Queue> {
        self.queue.clone()
    }
}

impl<S: AsyncRead + Unpin> Intake<S> {
    /// Reads at most so many bytes, and no more than what is left of the portion. Gives `taken`
    /// what has come: nothing, if the client has closed its side.
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

impl<S: AsyncRead + Unpin> AsyncRead for Intake<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.queue.is_full() {
            *self.queue.reader.borrow_mut() = Some(cx.waker().clone());
            return Poll::Pending;
        }
        self.poll_portion(cx, buf.remaining(), |read| buf.put_slice(read))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Intake<S> {
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

    /// The library flushes once it has written all that it has.
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

    /// Says that nothing more is sent, and discards what still comes for a while.
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
            // An error is the end of the connection too.
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
        let mut intake = Intake::new(server);
        let sending = async {
            client.write_all(&[7; 10 * PORTION]).await.expect("all of it is taken");
            drop(client);
        };
        let (closed, ()) = tokio::join!(intake.shutdown(), sending);
        closed.expect("the client has closed it");
        // A client that leaves it open is not waited for.
        let (_client, server) = duplex(PORTION);
        let began = tokio::time::Instant::now();
        Intake::new(server).shutdown().await.expect("it is closed");
        assert_eq!(began.elapsed().as_secs(), LINGER.as_secs());
    }

    #[tokio::test]
    async fn no_more_than_a_portion_is_read_at_once_and_nothing_while_requests_wait() {
        let (mut client, server) = duplex(10 * PORTION);
        client.write_all(&[7; 3 * PORTION]).await.expect("there is room");
        let mut intake = Intake::new(server);
        let mut bytes = vec![0; 10 * PORTION];
        let mut read = 0;
        while let Some(more) = intake.read(&mut bytes).now_or_never() {
            read += more.expect("it is there");
        }
        assert_eq!(read, PORTION);
        // What has been read waits.
        let shared = Rc::new(Extensions::new());
        *intake.queue.shared.borrow_mut() = Rc::downgrade(&shared);
        let waiting = vec![shared.clone(); QUEUE];
        assert!(intake.read(&mut bytes).now_or_never().is_none());
        drop(waiting);
        assert_eq!(intake.read(&mut bytes).await.expect("it is there"), PORTION);
    }
}
