//! Answers that are made step by step, while they go out if they are large.
//!
//! An answer of no more than [`WHOLE`] bytes is made at once. Of a larger one only as much as makes
//! a piece is there at a time: the next steps are made when the connection has taken those before.
//! So an answer takes the memory of its largest step, however long it is and however slowly it is
//! read.
//!
//! The caller is looked at again before each piece, for the client may have taken its time.

use std::fmt::Debug;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::unfold;
use stet_actors::error::Error;

use super::call::Call;
use super::pieces::no_room;
use super::reply::{BodyStream, Reply};
use crate::limits::yielding::YieldTimer;
use crate::limits::{PIECE, Reservation};

/// Bytes up to which an answer is made at once.
pub(crate) const WHOLE: usize = 256 << 10;

/// How long a large step waits for room, which others give back when their clients have taken what
/// they asked for or are let go.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an answer is made of, a step at a time.
pub(crate) trait Steps: 'static {
    /// What a step leads to once it is taken.
    type Then;
    /// Why there may be no answer.
    type Fault: From<Error> + Debug;

    /// Writes the present step behind what is in `out`, of a `late` one when the answer is on its
    /// way: then a fault breaks it off. A step may be made again.
    async fn make(&mut self, call: &Call, late: bool, out: &mut Vec<u8>) -> Result<Self::Then, Self::Fault>;

    /// Takes the step that was made, and goes on to the next.
    fn go_on(&mut self, then: Self::Then);

    /// Whether there are no more.
    fn are_over(&self) -> bool;

    /// About how many bytes they take in memory, beside what was written.
    fn bytes(&self) -> usize;
}

/// What of an answer is still to be made, or to be handed on.
pub(super) struct Rest<S> {
    pub(super) steps: S,
    /// Bytes that have been made and not been handed on.
    pub(super) out: Vec<u8>,
    taken: Reservation,
    /// Over all pieces: a client that takes them quickly gets many in a row.
    way: YieldTimer,
}

impl<S: Steps> Rest<S> {
    /// All steps, behind what is in `out` already.
    pub(super) fn new(call: &Call, steps: S, out: Vec<u8>) -> Rest<S> {
        Rest { steps, out, taken: call.reply_memory(), way: YieldTimer::new() }
    }

    /// The bytes, if nothing is left to be made.
    pub(super) fn whole(&mut self) -> Option<Vec<u8>> {
        self.steps.are_over().then(|| mem::take(&mut self.out))
    }

    /// Makes more, until there are `wanted` bytes or there is no more to make.
    ///
    /// # Errors
    /// What the steps say; `Overloaded` if there is no room for so much.
    pub(super) async fn fill(&mut self, call: &Call, wanted: usize, late: bool) -> Result<(), S::Fault> {
        let mut waited = false;
        loop {
            let begin = self.out.len();
            if self.steps.are_over() || begin >= wanted {
                break;
            }
            // At each step: one that writes nothing may have read megabytes.
            self.way.yield_if_due().await;
            if late && begin == 0 {
                self.out.reserve_exact(wanted);
            }
            let then = self.steps.make(call, late, &mut self.out).await?;
            let held = (self.steps.bytes() + self.out.capacity()) as u64;
            // The room for small ones is there: connections are bounded.
            if held > PIECE as u64 && !self.taken.try_grow_to(held) {
                // What was changed is told, whatever it takes.
                let may_fail = call.route.only_reads();
                if may_fail && !late {
                    return Err(no_room().into());
                }
                if may_fail && !waited {
                    if begin > 0 {
                        // First what is there already: that is room, too.
                        self.out.truncate(begin);
                        return Ok(());
                    }
                    self.out = Vec::new();
                    tokio::time::timeout(PATIENCE, self.taken.wait_to(held)).await.map_err(|_| no_room())?;
                    // It may have changed meanwhile.
                    waited = true;
                    continue;
                }
                self.taken.force_to(held);
            }
            waited = false;
            self.steps.go_on(then);
        }
        Ok(())
    }

    /// What goes out, made as it is taken.
    pub(super) fn stream(mut self: Box<Self>, mut call: Call) -> BodyStream {
        // The call itself is over: its key is free, and its body is read.
        (call.claim, call.incoming, call.room, call.body) = (None, None, None, Bytes::new());
        let ready = Bytes::from(mem::take(&mut self.out));
        Box::pin(unfold(Some((self, call, ready)), |state| async {
            let (mut rest, mut call, mut ready) = state?;
            let trace = call.trace.clone();
            // A panic would take the connection's thread with it.
            match AssertUnwindSafe(trace.follow(rest.piece(&mut call, &mut ready))).catch_unwind().await {
                Ok(Ok(None)) => None,
                Ok(Ok(Some(piece))) => Some((Ok(piece), Some((rest, call, ready)))),
                broken => {
                    let why = broken.map_or_else(|_| "a panic".to_owned(), |outcome| format!("{:?}", outcome.err()));
                    trace.in_scope(|| tracing::warn!(endpoint = call.route.id, why, "a reply was broken off"));
                    Some((Err(ErrorInternalServerError("the reply was broken off")), None))
                }
            }
        }))
    }

    /// The next piece; `None` behind the last.
    async fn piece(&mut self, call: &mut Call, ready: &mut Bytes) -> Result<Option<Bytes>, S::Fault> {
        if ready.is_empty() {
            // Nothing of it is there any more.
            *ready = Bytes::new();
            self.taken.shrink_to((self.steps.bytes() + 2 * PIECE) as u64);
            call.look_again()?;
            self.fill(call, PIECE, true).await?;
            // As behind every handler: the client may look at what it reads of here.
            call.app.repository.views_agree().await;
            *ready = Bytes::from(mem::take(&mut self.out));
        }
        let size = ready.len().min(PIECE);
        Ok((size > 0).then(|| ready.split_to(size)))
    }
}

/// A file of that media type, made of these steps.
///
/// # Errors
/// What the steps say; `Overloaded` if there is no room for so much.
pub(crate) async fn file<S: Steps>(call: Call, media_type: &'static str, steps: S) -> Result<Reply, S::Fault> {
    let mut rest = Box::new(Rest::new(&call, steps, Vec::new()));
    rest.fill(&call, WHOLE, false).await?;
    Ok(match rest.whole() {
        Some(whole) => Reply::file(media_type, whole.into()),
        None => Reply::made(media_type, rest.stream(call)),
    })
}
