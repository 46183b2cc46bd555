//! The sending of large replies in pieces, with the memory for them counted.
//!
//! A connection copies the data that it gets into its own buffer and keeps it until the client has
//! taken it. With whole replies, a large reply would be in memory once for each slow client, even
//! if it is cached once for all.
//!
//! Unsent data is reserved in the budget of all calls (`memory.calls`). A complete reply counts
//! once, however many clients get it. A reply that is rendered while it is sent
//! ([`super::listing`]) counts with the part that is in memory. Replies of at most one piece are
//! sent at once and not counted: the number of connections limits them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;
use stet_base::limits::{Holder, MemoryBudget, MemoryPurpose, PIECE, Reservation, SharedReservation};
use stet_base::rope::TextPieces;
use stet_domain::error::{Code, Error, Result};

use super::held::GuardedBody;
use super::steps::WHOLE;

/// The way in which the bytes of a reply are counted.
pub enum ReplyAccounting<'b> {
    /// Not counted, because the bytes stay in memory in any case.
    Not,
    /// Counted against the budget as long as they wait.
    Against {
        /// The budget of all calls.
        memory: &'b MemoryBudget,
        /// The user or address that the bytes are charged to.
        holder: Option<Holder>,
        /// The reservation shared with the other clients that get the same bytes.
        share: SharedReservation,
        /// Whether the reply may be refused if there is no memory. `false` after a change.
        may_fail: bool,
    },
}

/// Returns the error for a reply for which there is no memory.
pub fn no_room() -> Error {
    metrics::counter!("stet_overloaded_total", "what" => "replies").increment(1);
    let message = "Too many replies wait for clients that have not read them yet; try again.";
    Error::new(Code::Overloaded, message)
}

/// Returns the body of a reply with this text. A text of several pieces that is not long is copied
/// into one: it may be kept under an `Idempotency-Key`
/// ([`Receipts::keep`](stet_newsroom::receipts::Receipts::keep)). A long one is a stream, whose
/// pieces are shared.
pub(super) fn body_of(text: TextPieces) -> BoxBody {
    if text.len() > WHOLE && text.iter().count() > 1 {
        return BoxBody::new(ReplyPieces { left: text, _taken: None });
    }
    BoxBody::new(text.into_whole())
}

/// Splits a reply that is larger than a piece into pieces. A body that is a stream already keeps
/// `held` bytes in memory until it has been sent.
///
/// # Errors
/// `Overloaded` if too much unsent data is in memory already.
pub fn in_pieces(response: HttpResponse, held: u64, counted: &ReplyAccounting<'_>) -> Result<HttpResponse> {
    let BodySize::Sized(size) = response.body().size() else { return Ok(response) };
    if size <= PIECE as u64 {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let whole = match body.try_into_bytes() {
        Ok(whole) => whole,
        Err(stream) if held <= PIECE as u64 => return Ok(head.set_body(stream)),
        Err(stream) => {
            let taken = counted.take(held)?;
            return Ok(head.set_body(BoxBody::new(GuardedBody::new(stream, taken))));
        }
    };
    let taken = counted.take(size)?;
    Ok(head.set_body(BoxBody::new(ReplyPieces { left: whole.into(), _taken: taken })))
}

impl ReplyAccounting<'_> {
    fn take(&self, bytes: u64) -> Result<Option<Arc<Reservation>>> {
        match self {
            ReplyAccounting::Not => Ok(None),
            ReplyAccounting::Against { memory, holder, share, may_fail } => {
                let own = memory.reservation(holder.clone(), MemoryPurpose::Replies);
                share.reserve(bytes, own, *may_fail).map(Some).ok_or_else(no_room)
            }
        }
    }
}

/// The unsent rest of a reply.
struct ReplyPieces {
    left: TextPieces,
    _taken: Option<Arc<Reservation>>,
}

impl MessageBody for ReplyPieces {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.left.len() as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(self.left.take(PIECE).map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn body_of(body: Vec<u8>) -> BoxBody {
        in_pieces(HttpResponse::Ok().body(body), 0, &ReplyAccounting::Not).expect("it is not counted").into_body()
    }

    /// Returns the sizes of a body's pieces, and all its bytes.
    async fn taken(body: Vec<u8>) -> (Vec<usize>, Vec<u8>) {
        let mut body = Box::pin(body_of(body));
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
        assert_eq!(body_of(vec![0; PIECE + 1]).size(), BodySize::Sized(PIECE as u64 + 1));
    }

    #[test]
    fn shared_reply_bytes_are_counted_once_until_the_last_reader_is_done() {
        let (pool, holder) = (MemoryBudget::new(16 * PIECE as u64), Some(Holder::User("reader".into())));
        let bytes = Bytes::from(vec![0; 3 * PIECE]);
        let answer = |share: &SharedReservation, may_fail| {
            let counted =
                ReplyAccounting::Against { memory: &pool, holder: holder.clone(), share: share.clone(), may_fail };
            in_pieces(HttpResponse::Ok().body(bytes.clone()), 0, &counted)
        };
        let share = SharedReservation::default();
        let readers: Vec<_> = (0..200).map(|_| answer(&share, true).expect("there is room")).collect();
        assert_eq!(pool.reserved(), 3 * PIECE as u64);
        let refused = answer(&SharedReservation::default(), true).expect_err("there is no room for another");
        assert_eq!(refused.code, Code::Overloaded);
        let change = answer(&SharedReservation::default(), false).expect("what was changed is told");
        assert_eq!(pool.reserved(), 6 * PIECE as u64);
        drop((readers, change));
        assert_eq!(pool.reserved(), 0);
        let small = ReplyAccounting::Against {
            memory: &MemoryBudget::new(0),
            holder,
            share: SharedReservation::default(),
            may_fail: true,
        };
        assert!(in_pieces(HttpResponse::Ok().body(vec![0; PIECE]), 0, &small).is_ok());
    }
}
