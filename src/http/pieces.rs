//! Large answers are handed on in pieces, each when the one before it is on its way.
//!
//! A connection copies what it is given into a buffer of its own, and keeps that until the client has taken it. If it were
//! given a large answer whole, that would be in memory once for each client who asks for it and is slow to read, though it is
//! the same one that is kept for all.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;

/// Bytes of a piece: some more than a connection gathers before it writes.
const PIECE: usize = 64 << 10;

/// Answers above a piece's size get on in pieces.
pub fn in_pieces(response: HttpResponse) -> HttpResponse {
    if !matches!(response.body().size(), BodySize::Sized(size) if size > PIECE as u64) {
        return response;
    }
    response.map_body(|_, body| match body.try_into_bytes() {
        Ok(whole) => BoxBody::new(Pieces(whole)),
        // It comes in pieces already.
        Err(stream) => stream,
    })
}

/// What of an answer has not been handed on.
struct Pieces(Bytes);

impl MessageBody for Pieces {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.0.len() as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let size = self.0.len().min(PIECE);
        Poll::Ready((size > 0).then(|| Ok(self.0.split_to(size))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// The sizes of what comes of a body, and all of it.
    async fn taken(body: Vec<u8>) -> (Vec<usize>, Vec<u8>) {
        let mut body = Box::pin(in_pieces(HttpResponse::Ok().body(body)).into_body());
        let (mut sizes, mut all) = (Vec::new(), Vec::new());
        while let Some(piece) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            let piece = piece.expect("bytes can't fail");
            sizes.push(piece.len());
            all.extend_from_slice(&piece);
        }
        (sizes, all)
    }

    #[tokio::test]
    async fn a_large_answer_comes_in_pieces_and_whole_in_the_end() {
        for (size, pieces) in
            [(0, vec![]), (1, vec![1]), (PIECE, vec![PIECE]), (PIECE + 1, vec![PIECE, 1]), (3 * PIECE, vec![PIECE; 3])]
        {
            let body: Vec<u8> = (0..size).map(|at| ((at * 31) >> 3) as u8).collect();
            let (sizes, all) = taken(body.clone()).await;
            assert_eq!(sizes, pieces);
            assert!(all == body, "{size} bytes are not what they were");
        }
    }

    #[tokio::test]
    async fn its_length_is_announced_as_ever() {
        let response = in_pieces(HttpResponse::Ok().body(vec![0; PIECE + 1]));
        assert_eq!(response.body().size(), BodySize::Sized(PIECE as u64 + 1));
    }
}
