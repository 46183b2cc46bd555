//! Joint commands and their answers without their types. The code that handles them is large,
//! so it is compiled once and not for each type.

use std::any::Any;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::left::Jointly;
use super::registry::admit;
use super::{GivenBack, LargeTurn, Shared};
use crate::command::{Context, Fault};
use crate::error::{Error, Result};
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::receipt::{Outcome, Step, UnderWay};

/// A [`Joint`] of any type.
pub(crate) trait AnyJoint: Send + Sync {
    fn nature(&self) -> Nature;
    fn wants(&self) -> Vec<Loid>;
    /// Applies the command. `step` is the receipt step that keeps its outcome, for a call with an
    /// `Idempotency-Key`.
    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>, step: Option<&Step>) -> Result<Said, Fault>;
}

/// The constants of a [`Joint`].
#[derive(Clone, Copy)]
pub(crate) struct Nature {
    pub name: &'static str,
    pub alone: bool,
    pub awaits: bool,
    pub goes_on: bool,
}

/// The result of an applied joint command.
pub(crate) struct Said {
    pub reply: AnyReply,
    /// The object of [`Joint::about`].
    pub about: Option<Loid>,
    /// The outcome to keep in the receipt, for a call with an `Idempotency-Key`.
    pub outcome: Option<Outcome>,
}

/// A [`Joint::Reply`]; the sender of the command knows its type.
pub(crate) type AnyReply = Box<dyn Any + Send>;

impl<J: Joint> AnyJoint for J {
    fn nature(&self) -> Nature {
        Nature { name: J::NAME, alone: J::ALONE, awaits: J::AWAITS, goes_on: J::GOES_ON }
    }

    fn wants(&self) -> Vec<Loid> {
        Joint::wants(self)
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>, step: Option<&Step>) -> Result<Said, Fault> {
        let reply = Joint::apply(self, turns, context)?;
        context.check_size()?;
        let about = self.about(&reply);
        let outcome = step.map(|step| step.outcome(J::NAME, &reply, context.now_ms));
        Ok(Said { reply: Box::new(reply), about, outcome })
    }
}

/// The sender of a joint command's answer; only the first answer is sent.
#[derive(Clone)]
pub(crate) struct Answer(Arc<Mutex<Option<Waiting>>>);

/// The waiting caller, and the permit that the command was admitted with.
struct Waiting {
    sender: oneshot::Sender<AnsweredJoint>,
    permit: OwnedSemaphorePermit,
    /// The claim that keeps the call's idempotency key in use, if it has one.
    under_way: Option<UnderWay>,
    /// The work permit of a large change.
    turn: Option<LargeTurn>,
}

/// The outcome of a joint command, or the reason to call again.
pub(crate) type AnsweredJoint = Result<Result<Jointly<AnyReply>>, GivenBack>;

impl Answer {
    pub fn new(
        sender: oneshot::Sender<AnsweredJoint>,
        permit: OwnedSemaphorePermit,
        under_way: Option<UnderWay>,
        turn: Option<LargeTurn>,
    ) -> Answer {
        Answer(Arc::new(Mutex::new(Some(Waiting { sender, permit, under_way, turn }))))
    }

    pub fn send(&self, outcome: Result<Jointly<AnyReply>>) {
        self.end(Ok(outcome));
    }

    /// Returns the command to its caller with nothing changed.
    pub fn give_back(&self, why: GivenBack) {
        self.end(Err(why));
    }

    fn end(&self, outcome: AnsweredJoint) {
        let waiting = self.0.lock().take();
        if let Some(Waiting { sender, permit, under_way, turn }) = waiting {
            // Released first: a caller with the answer may rely on them being free.
            drop((permit, under_way, turn));
            // The caller may be gone; the change stands.
            let _ = sender.send(outcome);
        }
    }

    /// Charges the turn of a large change with the bytes that it stores.
    pub fn charge(&self, bytes: usize) {
        if let Some(turn) = self.0.lock().as_ref().and_then(|waiting| waiting.turn.as_ref()) {
            turn.charge(bytes);
        }
    }

    /// Releases the permit while the command waits for others, and takes a new one after that. The
    /// turn is not taken again: the wait may be long.
    pub async fn pause(&self, shared: &Shared, entry: Loid) -> Result<()> {
        let waiting = self.0.lock().take();
        let Some(Waiting { sender, permit, under_way, turn }) = waiting else { return Err(Error::internal()) };
        drop((permit, turn));
        let awaited = shared.remains.awaited(&*shared.store, entry).await;
        match awaited.and_then(|()| admit(shared)) {
            Ok(permit) => {
                *self.0.lock() = Some(Waiting { sender, permit, under_way, turn: None });
                Ok(())
            }
            Err(error) => {
                drop(under_way);
                // The caller may be gone; nothing was changed.
                let _ = sender.send(Ok(Err(error.clone())));
                Err(error)
            }
        }
    }
}

impl Jointly<AnyReply> {
    /// Restores the reply's type.
    pub fn typed<R: 'static>(self) -> Result<Jointly<R>> {
        let Jointly { reply, left } = self;
        match reply.downcast() {
            Ok(reply) => Ok(Jointly { reply: *reply, left }),
            // The reply is of the command that was sent, so the types match.
            Err(_) => Err(Error::internal()),
        }
    }
}
