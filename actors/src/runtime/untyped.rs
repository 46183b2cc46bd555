//! Joint commands and their answers without their types, so that what is done with them is made
//! once and not for each type: it is large.

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
    /// Applies it. `step` is where its outcome is kept, for a call that is carried out once.
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

/// What a joint command has said.
pub(crate) struct Said {
    pub reply: AnyReply,
    /// See [`Joint::about`].
    pub about: Option<Loid>,
    /// The reply, to be kept for a call that is carried out once.
    pub outcome: Option<Outcome>,
}

/// A [`Joint::Reply`]; whoever gave the command knows its type.
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

/// Where the answer of a joint command goes; the first one counts.
#[derive(Clone)]
pub(crate) struct Answer(Arc<Mutex<Option<Waiting>>>);

/// Whoever waits for it, and the permit that the command was admitted with.
struct Waiting {
    sender: oneshot::Sender<AnsweredJoint>,
    permit: OwnedSemaphorePermit,
    /// Keeps the call's key from being free, where it has one.
    under_way: Option<UnderWay>,
    /// Of a large change.
    turn: Option<LargeTurn>,
}

/// What comes of a joint command; or that it is to come again.
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

    /// Gives the command back with nothing changed.
    pub fn give_back(&self, why: GivenBack) {
        self.end(Err(why));
    }

    fn end(&self, outcome: AnsweredJoint) {
        let waiting = self.0.lock().take();
        if let Some(Waiting { sender, permit, under_way, turn }) = waiting {
            // These go first: whoever has the answer may count on them being free.
            drop((permit, under_way, turn));
            // The caller may have gone; the change stands all the same.
            let _ = sender.send(outcome);
        }
    }

    /// Charges the turn of a large change with the bytes that it stores.
    pub fn charge(&self, bytes: usize) {
        if let Some(turn) = self.0.lock().as_ref().and_then(|waiting| waiting.turn.as_ref()) {
            turn.charge(bytes);
        }
    }

    /// Gives the permit back while the command waits for others; whoever does takes a new one
    /// before it goes on. A turn is given back for good: the wait may be long.
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
                // The caller may have gone; nothing was changed.
                let _ = sender.send(Ok(Err(error.clone())));
                Err(error)
            }
        }
    }
}

impl Jointly<AnyReply> {
    /// With the reply as it is typed.
    pub fn typed<R: 'static>(self) -> Result<Jointly<R>> {
        let Jointly { reply, left } = self;
        match reply.downcast() {
            Ok(reply) => Ok(Jointly { reply: *reply, left }),
            // The command that was given is the one that has replied.
            Err(_) => Err(Error::internal()),
        }
    }
}
