//! Large answers are handed on in pieces, each when the one before it is on its way, and what is
//! held in memory for that is counted.
//!
//! A connection copies what it is given into a buffer of its own, and keeps that until the client
//! has taken it. If it were given a large answer whole, that would be in memory once for each
//! client who asks for it and is slow to read, though it is the same one that is kept for all.
//!
//! What waits to be taken is reserved in the budget of all calls (`memory.calls`): an answer in
//! memory once, however many clients it goes to; of one that is made while it goes out
//! ([`super::listing`]), the part that is there. Answers of no more than a piece go out at once and
//! are not counted: connections are, and bound them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;
use stet_actors::error::{Code, Error, Result};

use super::held::Held;
use crate::limits::{Holder, MemoryBudget, PIECE, Purpose, Reservation, SharedReservation};

/// How the bytes of an answer count.
pub enum Counted<'b> {
    /// They are there for good, whoever takes them.
    Not,
    /// Against the budget, as long as they wait.
    Against {
        /// The budget of all calls.
        memory: &'b MemoryBudget,
        /// The caller to whom it goes.
        holder: Option<Holder>,
        /// Who else they go to.
        share: SharedReservation,
        /// Whether the answer may be refused for want of room: not where something has been
        /// changed.
        may_fail: bool,
    },
}

/// The refusal of an answer for which there is no room.
pub fn no_room() -> Error {
    metrics::counter!("stet_overloaded_total", "what" => "replies").increment(1);
    let message = "Too many replies wait for clients that have not taken them yet; try again.";
    Error::new(Code::Overloaded, message)
}

/// Answers above a piece's size get on in pieces. One that comes in pieces already has `held` bytes
/// in memory until it has gone.
///
/// # Errors
/// `Overloaded` when too much is under way already.
pub fn in_pieces(response: HttpResponse, held: u64, counted: &Counted<'_>) -> Result<HttpResponse> {
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
            return Ok(head.set_body(BoxBody::new(Held::new(stream, taken))));
        }
    };
    let taken = counted.take(size)?;
    Ok(head.set_body(BoxBody::new(Pieces { left: whole, _taken: taken })))
}

impl Counted<'_> {
    fn take(&self, bytes: u64) -> Result<Option<Arc<Reservation>>> {
        match self {
            Counted::Not => Ok(None),
            Counted::Against { memory, holder, share, may_fail } => {
                let own = memory.reservation(holder.clone(), Purpose::Replies);
                share.reserve(bytes, own, *may_fail).map(Some).ok_or_else(no_room)
            }
        }
    }
}

/// What of an answer has not been handed on.
struct Pieces {
    left: Bytes,
    _taken: Option<Arc<Reservation>>,
}

impl MessageBody for Pieces {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.left.len() as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let size = self.left.len().min(PIECE);
        Poll::Ready((size > 0).then(|| Ok(self.left.split_to(size))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn body_of(body: Vec<u8>) -> BoxBody {
        in_pieces(HttpResponse::Ok().body(body), 0, &Counted::Not).expect("it is not counted").into_body()
    }

    /// The sizes of what comes of a body, and all of it.
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
    fn what_waits_is_counted_once_for_all_who_share_it_until_the_last_of_them_has_gone() {
        let (pool, holder) = (MemoryBudget::new(16 * PIECE as u64), Some(Holder::User("reader".into())));
        let bytes = Bytes::from(vec![0; 3 * PIECE]);
        let answer = |share: &SharedReservation, may_fail| {
            let counted = Counted::Against { memory: &pool, holder: holder.clone(), share: share.clone(), may_fail };
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
        let small = Counted::Against {
            memory: &MemoryBudget::new(0),
            holder,
            share: SharedReservation::default(),
            may_fail: true,
        };
        assert!(in_pieces(HttpResponse::Ok().body(vec![0; PIECE]), 0, &small).is_ok());
    }
}
