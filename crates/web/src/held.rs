//! A body that holds a value, such as memory or its call, until it has been sent or its client has
//! disconnected.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;

/// A body with a value that is dropped together with it.
pub struct GuardedBody<B, T> {
    body: B,
    _until_gone: T,
}

impl<B, T> GuardedBody<B, T> {
    /// Attaches a value to a body.
    pub fn new(body: B, until_gone: T) -> GuardedBody<B, T> {
        GuardedBody { body, _until_gone: until_gone }
    }
}

impl<B: MessageBody + Unpin, T: Unpin> MessageBody for GuardedBody<B, T> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, B::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
