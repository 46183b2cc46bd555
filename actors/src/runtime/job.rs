//! A command on its way to a container: the command, its caller, its permit, and the channel for
//! the reply.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::cell::ContainerView;
use super::{LargeChangeAdmission, LargeChangePermit, ReturnReason};
use stet_domain::command::{CallerIdentity, Command, CommandFault, Context};
use stet_domain::error::{Error, Result};
use stet_domain::expect::Precondition;
use stet_domain::family::Family;
use stet_domain::readable::ObjectRights;
use stet_domain::receipt::{CallGuard, ReceiptStep, StepOutcome};
use stet_domain::rules::AttributeRules;
use stet_domain::trace::Trace;
use stet_domain::workflow::StatusRights;

/// The caller and the conditions that accompany a command.
#[derive(Debug, Clone)]
pub struct ChangeRequest {
    /// The caller.
    pub who: CallerIdentity,
    /// The objects that the caller may read, which commands respect; `None` for all.
    pub readable: Option<Arc<dyn ObjectRights>>,
    /// The rules for attribute texts that are stored for the caller; `None` for none.
    pub rules: Option<Arc<dyn AttributeRules>>,
    /// The workflow statuses that the caller may set; `None` for all that the workflows allow.
    pub statuses: Option<Arc<dyn StatusRights>>,
    /// The precondition for the changed objects, from `If-Match`.
    pub expect: Option<Arc<Precondition>>,
    /// The step under which the outcome is kept, if the call has a key.
    pub step: Option<ReceiptStep>,
    /// The source of work permits for large changes; `None` if none is needed.
    pub large: Option<Arc<dyn LargeChangeAdmission>>,
    /// The trace of the call that the command and its commit belong to.
    pub trace: Trace,
}

impl ChangeRequest {
    /// Creates a request without preconditions, for a caller who may read everything.
    pub fn by(who: CallerIdentity) -> ChangeRequest {
        ChangeRequest {
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

/// The result of a command that is on disk.
#[derive(Debug)]
pub struct CommandResult<R, S> {
    /// The reply of the command.
    pub reply: R,
    /// The view of the container right after the command.
    pub view: Arc<ContainerView<S>>,
}

/// The reply to a command, or the reason why it has to be given to the container again.
pub(crate) type CommandAnswer<C> =
    Result<Result<CommandResult<<C as Command>::Reply, <<C as Command>::Family as Family>::State>>, ReturnReason>;

/// A permit, which counts as one unit of admitted work until it is dropped.
pub(crate) struct Permit {
    /// The container's handle, which prevents its eviction.
    pub _handle: Arc<dyn Send + Sync>,
    pub _container: OwnedSemaphorePermit,
    /// The overall permit; a joint command holds one for all its turns.
    pub _overall: Option<OwnedSemaphorePermit>,
    /// The guard that keeps the call's key claimed, if it has one.
    pub _under_way: Option<CallGuard>,
    /// The work permit of a large change, if it is one.
    pub turn: Option<LargeChangePermit>,
}

/// A command of any type for a container of family `F`.
pub(crate) trait Job<F: Family>: Send {
    fn name(&self) -> &'static str;
    fn request(&self) -> &ChangeRequest;
    /// Reports whether the change may be large.
    fn admits_large(&self) -> bool;
    /// Charges the work permit, or else the caller, for the bytes that the change stores.
    fn charge(&self, bytes: usize);
    fn apply(&mut self, state: &mut F::State, context: &mut Context<'_>) -> Result<(), CommandFault>;
    /// Returns the outcome of the last `apply`, to be kept for a call that is carried out once.
    fn outcome(&self, now_ms: u64) -> Option<StepOutcome>;
    fn finish(self: Box<Self>, outcome: Result<Arc<ContainerView<F::State>>>);
    /// Gives the command back without changes.
    fn give_back(self: Box<Self>, why: ReturnReason);
}

pub(crate) struct TypedJob<C: Command> {
    /// The command, which the submitter shares, as it may have to submit it again.
    pub command: Arc<C>,
    pub request: ChangeRequest,
    pub reply: Option<C::Reply>,
    pub sender: oneshot::Sender<CommandAnswer<C>>,
    pub permit: Permit,
}

impl<C: Command> Job<C::Family> for TypedJob<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn request(&self) -> &ChangeRequest {
        &self.request
    }

    fn admits_large(&self) -> bool {
        self.request.admits_large(self.permit.turn.as_ref())
    }

    fn charge(&self, bytes: usize) {
        self.request.charge(self.permit.turn.as_ref(), bytes);
    }

    fn apply(
        &mut self,
        state: &mut <C::Family as Family>::State,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        self.reply = Some(self.command.apply(state, context)?);
        Ok(())
    }

    fn outcome(&self, now_ms: u64) -> Option<StepOutcome> {
        Some(self.request.step.as_ref()?.outcome(C::NAME, self.reply.as_ref()?, now_ms))
    }

    fn finish(self: Box<Self>, outcome: Result<Arc<ContainerView<<C::Family as Family>::State>>>) {
        let TypedJob { reply, sender, permit, .. } = *self;
        let answer = outcome.and_then(|view| match reply {
            Some(reply) => Ok(CommandResult { reply, view }),
            None => Err(Error::internal()),
        });
        // The permit is dropped first, so that the caller can count on it being free. The caller
        // may have disconnected; the change stands all the same.
        drop(permit);
        let _ = sender.send(Ok(answer));
    }

    fn give_back(self: Box<Self>, why: ReturnReason) {
        let TypedJob { sender, permit, .. } = *self;
        // The permit is dropped first here, too.
        drop(permit);
        let _ = sender.send(Err(why));
    }
}
