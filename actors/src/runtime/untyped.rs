//! Joint commands and their answers without their types. The code that handles them is large,
//! so it is compiled once and not for each type.

use std::any::Any;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::left::JointResult;
use super::registry::admit;
use super::{ChangeRequest, LargeChangePermit, ReturnReason, RuntimeServices};
use stet_domain::command::{CommandFault, Context};
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::joint::{ContainerTurns, JointCommand};
use stet_domain::receipt::{CallGuard, ReceiptStep, StepOutcome};

/// A [`JointCommand`] of any type.
pub(crate) trait AnyJoint: Send + Sync {
    fn nature(&self) -> JointConstants;
    fn wants(&self) -> Vec<Loid>;
    /// Applies the command. `step` is the receipt step that keeps its outcome, for a call with an
    /// `Idempotency-Key`.
    fn apply(
        &self,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
        step: Option<&ReceiptStep>,
    ) -> Result<JointApplication, CommandFault>;
}

/// The constants of a [`JointCommand`].
#[derive(Clone, Copy)]
pub(crate) struct JointConstants {
    pub name: &'static str,
    pub alone: bool,
    pub removes: bool,
    pub awaits: bool,
    pub goes_on: bool,
}

/// The result of an applied joint command.
pub(crate) struct JointApplication {
    pub reply: AnyReply,
    /// The object of [`JointCommand::about`].
    pub about: Option<Loid>,
    /// The outcome to keep in the receipt, for a call with an `Idempotency-Key`.
    pub outcome: Option<StepOutcome>,
}

/// A [`JointCommand::Reply`]; the sender of the command knows its type.
pub(crate) type AnyReply = Box<dyn Any + Send>;

impl<J: JointCommand> AnyJoint for J {
    fn nature(&self) -> JointConstants {
        JointConstants { name: J::NAME, alone: J::ALONE, removes: J::REMOVES, awaits: J::AWAITS, goes_on: J::GOES_ON }
    }

    fn wants(&self) -> Vec<Loid> {
        JointCommand::wants(self)
    }

    fn apply(
        &self,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
        step: Option<&ReceiptStep>,
    ) -> Result<JointApplication, CommandFault> {
        let reply = JointCommand::apply(self, turns, context)?;
        context.check_size()?;
        let about = self.about(&reply);
        let outcome = step.map(|step| step.outcome(J::NAME, &reply, context.now_ms));
        Ok(JointApplication { reply: Box::new(reply), about, outcome })
    }
}

/// The sender of a joint command's answer; only the first answer is sent.
#[derive(Clone)]
pub(crate) struct JointAnswerSender(Arc<Mutex<Option<JointWaiter>>>);

/// The waiting caller, and the permit that the command was admitted with.
struct JointWaiter {
    sender: oneshot::Sender<JointAnswer>,
    permit: OwnedSemaphorePermit,
    /// The claim that keeps the call's idempotency key in use, if it has one.
    under_way: Option<CallGuard>,
    /// The work permit of a large change.
    turn: Option<LargeChangePermit>,
}

/// The outcome of a joint command, or the reason to call again.
pub(crate) type JointAnswer = Result<Result<JointResult<AnyReply>>, ReturnReason>;

impl JointAnswerSender {
    pub fn new(
        sender: oneshot::Sender<JointAnswer>,
        permit: OwnedSemaphorePermit,
        under_way: Option<CallGuard>,
        turn: Option<LargeChangePermit>,
    ) -> JointAnswerSender {
        JointAnswerSender(Arc::new(Mutex::new(Some(JointWaiter { sender, permit, under_way, turn }))))
    }

    pub fn send(&self, outcome: Result<JointResult<AnyReply>>) {
        self.end(Ok(outcome));
    }

    /// Returns the command to its caller with nothing changed.
    pub fn give_back(&self, why: ReturnReason) {
        self.end(Err(why));
    }

    fn end(&self, outcome: JointAnswer) {
        let waiting = self.0.lock().take();
        if let Some(JointWaiter { sender, permit, under_way, turn }) = waiting {
            // Released first: a caller with the answer may rely on them being free.
            drop((permit, under_way, turn));
            // The caller may be gone; the change stands.
            let _ = sender.send(outcome);
        }
    }

    /// Charges the work permit, or else the caller, for the bytes that the change stores.
    pub fn charge(&self, request: &ChangeRequest, bytes: usize) {
        request.charge(self.0.lock().as_ref().and_then(|waiting| waiting.turn.as_ref()), bytes);
    }

    /// Releases the permit while the command waits for others, and takes a new one after that. The
    /// turn is not taken again: the wait may be long.
    pub async fn pause(&self, shared: &RuntimeServices, entry: Loid) -> Result<()> {
        let waiting = self.0.lock().take();
        let Some(JointWaiter { sender, permit, under_way, turn }) = waiting else { return Err(Error::internal()) };
        drop((permit, turn));
        let awaited = shared.remains.awaited(&*shared.store, entry).await;
        match awaited.and_then(|()| admit(shared)) {
            Ok(permit) => {
                *self.0.lock() = Some(JointWaiter { sender, permit, under_way, turn: None });
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

impl JointResult<AnyReply> {
    /// Restores the reply's type.
    pub fn typed<R: 'static>(self) -> Result<JointResult<R>> {
        let JointResult { reply, left } = self;
        match reply.downcast() {
            Ok(reply) => Ok(JointResult { reply: *reply, left }),
            // The reply is of the command that was sent, so the types match.
            Err(_) => Err(Error::internal()),
        }
    }
}
