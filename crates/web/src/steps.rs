//! Replies that are built step by step, while they are sent if they are large.
//!
//! A reply of at most [`WHOLE`] bytes is built at once. Of a larger one only one piece is in memory
//! at a time: the next steps are made when the connection has taken the previous ones. So a reply
//! takes the memory of its largest step, whatever its length and the client's speed.
//!
//! The caller is checked again before each piece, because the client may have taken its time.

use std::cell::OnceCell;
use std::fmt::Debug;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::unfold;
use stet_base::limits::yielding::YieldTimer;
use stet_base::limits::{PIECE, Reservation};
use stet_base::rope::{TextPieces, TextRope};
use stet_domain::error::Error;

use super::call::Call;
use super::pieces::no_room;
use super::reply::{BodyStream, Reply};

/// The size up to which a reply is built at once, in bytes.
pub const WHOLE: usize = 256 << 10;

/// The time for which a large step waits for memory, which other replies release when their clients
/// have taken them or are disconnected.
const PATIENCE: Duration = Duration::from_secs(60);

/// The steps that build a reply.
pub trait ReplySteps: 'static {
    /// The effect of a step, applied when the step is accepted.
    type Then;
    /// The error if there is no reply.
    type Fault: From<Error> + Debug;

    /// Writes the current step at the end of `out`. `late` means that the reply is being sent
    /// already, and a fault aborts it. A step may be made again.
    #[expect(async_fn_in_trait, reason = "a call stays on its thread, so the future need not be Send")]
    async fn make(&mut self, call: &Call, late: bool, out: &mut TextRope) -> Result<Self::Then, Self::Fault>;

    /// Accepts the step that was made, and moves to the next.
    fn go_on(&mut self, then: Self::Then);

    /// Reports whether all steps have been made.
    fn are_over(&self) -> bool;

    /// Returns the approximate memory of the steps in bytes, without the written text.
    fn bytes(&self) -> usize;
}

/// The rest of a reply that has not been built or sent yet.
pub(super) struct UnsentReply<S> {
    pub(super) steps: S,
    /// The text that has been built and not sent.
    pub(super) out: TextRope,
    /// The memory that the reply takes, if it takes more than a piece.
    taken: OnceCell<Reservation>,
    /// One timer over all pieces: a fast client gets many in a row.
    timer: YieldTimer,
}

impl<S: ReplySteps> UnsentReply<S> {
    /// Creates the rest of a reply, whose text so far is in `out`.
    pub(super) fn new(steps: S, out: TextRope) -> UnsentReply<S> {
        UnsentReply { steps, out, taken: OnceCell::new(), timer: YieldTimer::start() }
    }

    /// Returns the complete text, if nothing is left to be built.
    pub(super) fn whole(&mut self) -> Option<TextRope> {
        self.steps.are_over().then(|| mem::take(&mut self.out))
    }

    /// Makes steps until there are `wanted` bytes or all steps have been made.
    ///
    /// # Errors
    /// The errors of the steps; `Overloaded` if there is not enough memory.
    pub(super) async fn fill(&mut self, call: &Call, wanted: usize, late: bool) -> Result<(), S::Fault> {
        let mut waited = false;
        loop {
            let begin = self.out.len();
            if self.steps.are_over() || begin >= wanted {
                break;
            }
            // At each step, because a step that writes nothing may have read megabytes.
            self.timer.yield_if_due().await;
            if late && begin == 0 {
                self.out.reserve_exact(wanted);
            }
            let then = self.steps.make(call, late, &mut self.out).await?;
            let held = (self.steps.bytes() + self.out.capacity()) as u64;
            // Small steps are not counted: the number of connections limits them.
            let taken = (held > PIECE as u64).then(|| self.taken.get_or_init(|| call.reply_memory()));
            if let Some(taken) = taken.filter(|taken| !taken.try_grow_to(held)) {
                // The reply to a change is sent whatever memory it takes.
                let may_fail = call.route.only_reads();
                if may_fail && !late {
                    return Err(no_room().into());
                }
                if may_fail && !waited {
                    if begin > 0 {
                        // The finished steps are sent first, which frees memory.
                        self.out.truncate(begin);
                        return Ok(());
                    }
                    self.out = TextRope::default();
                    tokio::time::timeout(PATIENCE, taken.wait_to(held)).await.map_err(|_| no_room())?;
                    // The state may have changed during the wait, so the step is repeated.
                    waited = true;
                    continue;
                }
                taken.force_to(held);
            }
            waited = false;
            self.steps.go_on(then);
        }
        Ok(())
    }

    /// Returns the reply as a stream that builds each piece when it is taken.
    pub(super) fn stream(mut self: Box<Self>, mut call: Call) -> BodyStream {
        // On behalf of the caller, who is not known while the reply is being sent.
        self.taken.get_or_init(|| call.reply_memory());
        // The call itself has ended: its key is free, and its body has been read.
        call.set_claim(None);
        (call.incoming, call.room, call.body) = (None, None, Bytes::new());
        let ready = mem::take(&mut self.out).finish_as_it_is();
        Box::pin(unfold(Some((self, call, ready)), |state| async {
            let (mut rest, mut call, mut ready) = state?;
            let trace = call.trace().clone();
            // A panic would end the thread of the connection.
            match AssertUnwindSafe(trace.follow(rest.piece(&mut call, &mut ready))).catch_unwind().await {
                Ok(Ok(None)) => None,
                Ok(Ok(Some(piece))) => Some((Ok(piece), Some((rest, call, ready)))),
                broken => {
                    let why = broken.map_or_else(|_| "a panic".to_owned(), |outcome| format!("{:?}", outcome.err()));
                    trace.in_scope(|| tracing::warn!(endpoint = call.route.id, why, "aborted a reply"));
                    Some((Err(ErrorInternalServerError("the reply was broken off")), None))
                }
            }
        }))
    }

    /// Returns the next piece; `None` after the last.
    async fn piece(&mut self, call: &mut Call, ready: &mut TextPieces) -> Result<Option<Bytes>, S::Fault> {
        if ready.is_empty() {
            // All of the previous text has been sent.
            *ready = TextPieces::default();
            self.taken.get_or_init(|| call.reply_memory()).shrink_to((self.steps.bytes() + 2 * PIECE) as u64);
            call.look_again()?;
            self.fill(call, PIECE, true).await?;
            // As after every handler: the client may compare the reply with views.
            call.app.repository.views_agree().await;
            *ready = mem::take(&mut self.out).finish_as_it_is();
        }
        // A fast client takes many pieces in a row, and those of a shared text need no steps.
        self.timer.yield_if_due().await;
        Ok(ready.take(PIECE))
    }
}

/// Builds a file of that media type from steps.
///
/// # Errors
/// The errors of the steps; `Overloaded` if there is not enough memory.
pub async fn file<S: ReplySteps>(call: Call, media_type: &'static str, steps: S) -> Result<Reply, S::Fault> {
    let mut rest = Box::new(UnsentReply::new(steps, TextRope::default()));
    rest.fill(&call, WHOLE, false).await?;
    Ok(match rest.whole() {
        Some(whole) => Reply::file(media_type, whole.finish().into_whole()),
        None => Reply::made(media_type, rest.stream(call)),
    })
}
