//! A command on its way: the command, its caller, the permit it was admitted with, and where the
//! answer goes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::cell::Published;
use super::{GivenBack, LargeChanges, LargeTurn};
use crate::command::{Command, Context, Fault, Who};
use crate::error::{Error, Result};
use crate::expect::Expect;
use crate::family::Family;
use crate::readable::Readable;
use crate::receipt::{Outcome, Step, UnderWay};
use crate::rules::AttributeRules;
use crate::trace::Trace;
use crate::workflow::StatusRights;

/// What the caller says beside the command.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who asks.
    pub who: Who,
    /// What they may read, if that is not everything: commands go by it.
    pub readable: Option<Arc<dyn Readable>>,
    /// What the attribute texts are held to that are stored for them; `None`: nothing.
    pub rules: Option<Arc<dyn AttributeRules>>,
    /// Which workflow statuses they may set; `None`: any that the workflows allow.
    pub statuses: Option<Arc<dyn StatusRights>>,
    /// `If-Match`: what is expected of the objects that change.
    pub expect: Option<Arc<Expect>>,
    /// Under which its outcome is kept, if the call has a key.
    pub step: Option<Step>,
    /// Where it gets its turn if it is large; `None`: it needs none.
    pub large: Option<Arc<dyn LargeChanges>>,
    /// Whom the command and its commit are carried out for.
    pub trace: Trace,
}

impl Request {
    /// A request without a precondition, by somebody who reads everything.
    pub fn by(who: Who) -> Request {
        Request {
            who,
            readable: None,
            rules: None,
            statuses: None,
            expect: None,
            step: None,
            large: None,
            trace: Trace::current(),
        }
    }
}

/// A command's outcome, once it is on disk.
#[derive(Debug)]
pub struct Done<R, S> {
    /// What the command says.
    pub reply: R,
    /// The container right after the command.
    pub view: Arc<Published<S>>,
}

/// The answer to a command; or that it is to come again.
pub(crate) type Answered<C> =
    Result<Result<Done<<C as Command>::Reply, <<C as Command>::Family as Family>::State>>, GivenBack>;

/// Counts as one unit of admitted work until it is dropped.
pub(crate) struct Permit {
    /// Keeps the container from being let go: its handle.
    pub _handle: Arc<dyn Send + Sync>,
    pub _container: OwnedSemaphorePermit,
    /// A joint command holds one for all its turns.
    pub _overall: Option<OwnedSemaphorePermit>,
    /// Keeps the call's key from being free, where it has one.
    pub _under_way: Option<UnderWay>,
    /// Of a large change.
    pub turn: Option<LargeTurn>,
}

/// A command of any type for a container of family `F`.
pub(crate) trait Job<F: Family>: Send {
    fn name(&self) -> &'static str;
    fn request(&self) -> &Request;
    /// Whether it may be large.
    fn admits_large(&self) -> bool;
    /// Charges the turn of a large change with the bytes that it stores.
    fn charge(&self, bytes: usize);
    fn apply(&mut self, state: &mut F::State, context: &mut Context<'_>) -> Result<(), Fault>;
    /// What `apply` has just said, to be kept for a call that is carried out once.
    fn outcome(&self, now_ms: u64) -> Option<Outcome>;
    fn finish(self: Box<Self>, outcome: Result<Arc<Published<F::State>>>);
    /// Gives it back with nothing changed.
    fn give_back(self: Box<Self>, why: GivenBack);
}

pub(crate) struct TypedJob<C: Command> {
    /// Whoever gave it has it, too: it may have to come again.
    pub command: Arc<C>,
    pub request: Request,
    pub reply: Option<C::Reply>,
    pub sender: oneshot::Sender<Answered<C>>,
    pub permit: Permit,
}

impl<C: Command> Job<C::Family> for TypedJob<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn admits_large(&self) -> bool {
        self.request.admits_large(self.permit.turn.as_ref())
    }

    fn charge(&self, bytes: usize) {
        if let Some(turn) = &self.permit.turn {
            turn.charge(bytes);
        }
    }

    fn apply(&mut self, state: &mut <C::Family as Family>::State, context: &mut Context<'_>) -> Result<(), Fault> {
        self.reply = Some(self.command.apply(state, context)?);
        Ok(())
    }

    fn outcome(&self, now_ms: u64) -> Option<Outcome> {
        Some(self.request.step.as_ref()?.outcome(C::NAME, self.reply.as_ref()?, now_ms))
    }

    fn finish(self: Box<Self>, outcome: Result<Arc<Published<<C::Family as Family>::State>>>) {
        let TypedJob { reply, sender, permit, .. } = *self;
        let answer = outcome.and_then(|view| match reply {
            Some(reply) => Ok(Done { reply, view }),
            None => Err(Error::internal()),
        });
        // The permit goes first: whoever has the answer may count on it being free. The caller may
        // have gone; the change stands all the same.
        drop(permit);
        let _ = sender.send(Ok(answer));
    }

    fn give_back(self: Box<Self>, why: GivenBack) {
        let TypedJob { sender, permit, .. } = *self;
        // As above.
        drop(permit);
        let _ = sender.send(Err(why));
    }
}
