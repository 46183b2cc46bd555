//! A body that holds something until it has gone, or its client has: room in memory, the call that
//! it is the reply to.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;

/// See the module's head.
pub struct Held<B, T> {
    body: B,
    _until_gone: T,
}

impl<B, T> Held<B, T> {
    /// The body, with what it holds.
    pub fn new(body: B, until_gone: T) -> Held<B, T> {
        Held { body, _until_gone: until_gone }
    }
}

impl<B: MessageBody + Unpin, T: Unpin> MessageBody for Held<B, T> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, B::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
