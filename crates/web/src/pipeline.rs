//! The rules for requests that a client sends before it has the reply to an earlier one
//! (pipelining).
//!
//! The library reads such requests ahead, carries them out one after the other, and continues after
//! a reply with `Connection: close`. It adds that header by itself if a body is incomplete: that of
//! the last request it has read, whichever request it is answering. A client assumes that requests
//! after such a reply were not carried out, and repeats them (RFC 9112, 9.6). So three rules hold:
//!
//! - After a reply that closes the connection, nothing is carried out and nothing is sent.
//! - The reply to a change closes the connection if further requests have been read by then.
//! - A change that was read before the reply to an earlier request was ready is refused, because
//!   that reply may have closed the connection.
//!
//! Reads may be sent ahead without restriction.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_http::{ConnectionType, HttpMessage as _, Payload, Request, h1};
use actix_web::HttpResponse;
use actix_web::error::PayloadError;
use actix_web::http::Method;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, poll};
use stet_domain::error::{Code, Error};

use super::intake::RequestQueue;

/// A request's position in its connection's pipeline.
pub struct PipelineSlot {
    queue: Rc<RequestQueue>,
    place: PipelinePosition,
    is_change: bool,
    /// Whether the client wants the connection to be closed after the reply.
    is_last: bool,
    body: Option<PipelineBody>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PipelinePosition {
    /// The previous reply, if any, came first, or both requests are reads.
    InOrder,
    /// A change that was read before the reply to an earlier request was ready.
    ChangeAhead,
    /// A request after a reply that closes the connection.
    BehindTheLast,
}

impl PipelineSlot {
    /// Begins the turn of a request, and keeps access to the request's body.
    pub(super) fn begin(request: &mut Request, queue: Rc<RequestQueue>) -> PipelineSlot {
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let place = match () {
            () if queue.is_closing() => PipelinePosition::BehindTheLast,
            () if is_change && queue.next_was_ahead() => PipelinePosition::ChangeAhead,
            () => PipelinePosition::InOrder,
        };
        let is_last = request.head().connection_type() == ConnectionType::Close;
        let is_chunked = request.chunked().unwrap_or(false);
        let body = match request.take_payload() {
            Payload::H1 { payload } => {
                let shared = Rc::new(RefCell::new(Some(payload)));
                *request.payload() = Payload::Stream { payload: Box::pin(PipelineBodyStream(shared.clone())) };
                Some(PipelineBody { shared, is_chunked })
            }
            other => {
                *request.payload() = other;
                None
            }
        };
        PipelineSlot { queue, place, is_change, is_last, body }
    }

    /// Reports whether the request comes after a reply that closes the connection.
    pub fn is_behind_the_last(&self) -> bool {
        self.place == PipelinePosition::BehindTheLast
    }

    /// Refuses a change that was sent ahead.
    ///
    /// # Errors
    /// `Overloaded`.
    pub fn check(&self) -> Result<(), Error> {
        if self.place != PipelinePosition::ChangeAhead {
            return Ok(());
        }
        let message = "The change was sent before the reply to the previous request, and was not carried out. Send \
                       it again.";
        Err(Error::new(Code::Overloaded, message))
    }

    /// Waits until the earlier replies have reached the system. After that the connection sends
    /// nothing more.
    pub async fn silence(&self) -> HttpResponse {
        self.queue.silence().await;
        HttpResponse::Ok().force_close().finish()
    }

    /// Ends the turn with the request's reply, and marks the reply if it is the last one on the
    /// connection.
    pub async fn end(&self, mut response: HttpResponse) -> HttpResponse {
        let body_closes = match &self.body {
            Some(body) => body.closes().await,
            None => false,
        };
        let is_ahead = self.queue.has_waiting();
        let says_close = response.head().connection_type() == ConnectionType::Close;
        let closes = self.is_last
            || says_close
            || self.place == PipelinePosition::ChangeAhead
            || (self.is_change && is_ahead)
            || body_closes;
        if closes {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
        self.queue.ended(is_ahead, closes);
        response
    }
}

/// The body of a request. Its call reads it, and the rest is examined after the call.
struct PipelineBody {
    shared: Rc<RefCell<Option<h1::Payload>>>,
    is_chunked: bool,
}

impl PipelineBody {
    /// Reports whether the library closes the connection because of the body: it does not wait for
    /// the missing part of a body of announced length.
    async fn closes(&self) -> bool {
        let Some(mut payload) = self.shared.take() else { return false };
        let mut has_waited = false;
        loop {
            match poll!(payload.next()) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return false,
                // The library delivers data that arrived with the head when the call first waits.
                Poll::Pending if !has_waited => {
                    has_waited = true;
                    tokio::task::yield_now().await;
                }
                Poll::Pending => return !self.is_chunked,
            }
        }
    }
}

/// The body as the call reads it.
struct PipelineBodyStream(Rc<RefCell<Option<h1::Payload>>>);

impl Stream for PipelineBodyStream {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut *self.0.borrow_mut() {
            Some(payload) => Pin::new(payload).poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}
