//! The execution of one command on one container: it is applied to a copy of the state, its changes
//! are submitted, and its caller gets the reply.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::{Actor, ActorContext};

use super::cell::ContainerView;
use super::container::{Container, WaitingWork};
use super::job::{ChangeRequest, Job};
use super::{ReturnReason, store_failure};
use stet_domain::command::{CommandFault, Context};
use stet_domain::error::Error;
use stet_domain::family::{Family, State};
use stet_domain::object::{ObjectStanding, find_standing};
use stet_domain::store::{ChangeSet, Event, ReadLevel, RowChange, StoreError};
use stet_domain::trace::Trace;

impl<F: Family> Container<F> {
    /// Carries out a command, or sets it aside if the container has to be loaded again first.
    pub(super) fn execute(&mut self, job: Box<dyn Job<F>>, ctx: &mut <Self as Actor>::Context) {
        if !self.is_fresh() {
            // The container is loaded again, and begins with this command.
            self.stash.push_front(WaitingWork::Execute(job));
            self.live = None;
            ctx.stop();
            return;
        }
        let request = job.request().clone();
        let _within = request.trace.enter();
        match self.attempt(&request, job) {
            AttemptOutcome::Finished => {}
            AttemptOutcome::Panicked => self.failed(ctx),
            AttemptOutcome::Stale(back) => {
                self.stash.push_front(WaitingWork::Execute(back));
                self.live = None;
                ctx.stop();
            }
        }
    }

    /// Applies the command once to a copy of the state, and submits its changes.
    fn attempt(&mut self, request: &ChangeRequest, mut job: Box<dyn Job<F>>) -> AttemptOutcome<F> {
        // `is_fresh` has just checked it; without a state there is nothing to apply to.
        let Some(live) = &self.live else { return AttemptOutcome::Stale(job) };
        let Some(before) = live.state.clone().filter(|state| !state.object().record.is_discarded()) else {
            let error = Error::not_found(self.loid);
            return self.answer(job, Err(error));
        };
        let shared = self.shared.clone();
        let _step = shared.steps.read();
        let mut after = before.clone();
        let mut context = shared.context_of(request, job.admits_large());
        let applied = catch_unwind(AssertUnwindSafe(|| apply_checked(&mut *job, &before, &mut after, &mut context)));
        match applied {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return self.refuse(job, fault),
            Err(_) => {
                tracing::error!(container = %self.loid, command = job.name(), "a command panicked; the container restarts");
                job.finish(Err(Error::internal()));
                return AttemptOutcome::Panicked;
            }
        }
        let touched = !context.changes().is_empty();
        match context.finish_record(&before, &mut after, touched) {
            Ok(true) => {}
            Ok(false) => return self.answer(job, Ok(Arc::new(ContainerView { state: before }))),
            Err(fault) => return self.refuse(job, fault),
        }
        if let Some(outcome) = job.outcome(context.now_ms) {
            outcome.put_into(&mut context);
        }
        let mut noted = match context.into_noted() {
            Ok(noted) => noted,
            Err(fault) => return self.refuse(job, fault),
        };
        job.charge(noted.bytes);
        let view = Arc::new(ContainerView { state: after });
        let revisions = (before.object().record.revision, view.revision());
        let events = request.who.events(self.loid, revisions, job.name(), &mut noted, shared.clock.now_ms());
        self.submit(job, view, noted.changes, events)
    }

    /// Submits the changes of a command. The container keeps the new state at once. Readers see it,
    /// and the caller gets the reply, when it is on disk.
    fn submit(
        &mut self,
        job: Box<dyn Job<F>>,
        view: Arc<ContainerView<F::State>>,
        changes: Vec<RowChange>,
        events: Vec<Event>,
    ) -> AttemptOutcome<F> {
        let Some(live) = &mut self.live else { return AttemptOutcome::Stale(job) };
        let (cell, decided, shown) = (self.cell.clone(), self.cell.clone(), view.clone());
        let slot = JobSlot::new(job);
        let answered = slot.clone();
        let answer = view.clone();
        let set = ChangeSet {
            changes,
            events,
            epoch: live.epoch,
            passes: false,
            trace: Trace::current(),
            on_commit: Box::new(move |_| cell.publish_committed(Some(shown))),
            on_done: Box::new(move |outcome| {
                if let Ok(seq) = &outcome {
                    decided.acknowledge(*seq);
                }
                if let Some(job) = answered.take() {
                    job.finish(outcome.map(|_| answer).map_err(|error| store_failure(&error)));
                }
            }),
        };
        #[cfg(feature = "planted-bugs")]
        let set = stet_domain::planted::tear_change_set(stet_domain::planted::early_reply(set));
        match self.shared.store.submit(set) {
            #[cfg(feature = "planted-bugs")]
            Ok(_) if stet_domain::planted::forgets_update() => AttemptOutcome::Finished,
            Ok(seq) => {
                live.submitted = seq;
                live.state = Some(view.state.clone());
                AttemptOutcome::Finished
            }
            Err(refused) => {
                let why = refused.why.clone();
                drop(refused);
                refused_by(why, &slot)
            }
        }
    }

    /// Replies with the fault of a command, or gives the command back.
    fn refuse(&self, job: Box<dyn Job<F>>, fault: CommandFault) -> AttemptOutcome<F> {
        let why = match fault {
            CommandFault::IsLarge => ReturnReason::Large,
            CommandFault::Unchecked => ReturnReason::Unchecked,
            fault => return self.answer(job, Err(error_of_fault(fault))),
        };
        job.give_back(why);
        AttemptOutcome::Finished
    }

    /// Replies without a change, once everything that the reply is based on is on disk. That is the
    /// state of the container, and the rows of others that the command has read. It therefore waits
    /// for everything submitted before, which costs nothing if nothing is pending.
    fn answer(&self, job: Box<dyn Job<F>>, outcome: Result<Arc<ContainerView<F::State>>, Error>) -> AttemptOutcome<F> {
        let Some(live) = &self.live else { return AttemptOutcome::Stale(job) };
        #[cfg(feature = "planted-bugs")]
        if stet_domain::planted::answers_at_once() {
            job.finish(outcome);
            return AttemptOutcome::Finished;
        }
        let slot = JobSlot::new(job);
        let answered = slot.clone();
        let fence = ChangeSet::fence(live.epoch, move |decided| {
            if let Some(job) = answered.take() {
                job.finish(decided.map_err(|error| store_failure(&error)).and(outcome));
            }
        });
        self.shared.store.submit(fence).err().map_or(AttemptOutcome::Finished, |refused| refused_by(refused.why, &slot))
    }
}

/// Applies a command to a copy of the state, and checks the result.
fn apply_checked<F: Family>(
    job: &mut dyn Job<F>,
    before: &F::State,
    after: &mut F::State,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    let record = &before.object().record;
    if context.subtrees.under_way
        && let ObjectStanding::Leaving(_) = find_standing(context.look(), ReadLevel::Latest, record)?
    {
        return Err(Error::not_found(record.loid).into());
    }
    job.apply(after, context)?;
    context.check_size()?;
    context.check_statuses(std::iter::once((before.object(), Some(after.object()))))?;
    context.expects(record);
    Ok(context.check_expected()?)
}

/// Handles a job whose change set the store has refused. Neither callback was or will be called, so
/// the job is still in its slot.
fn refused_by<F: Family>(why: StoreError, slot: &JobSlot<F>) -> AttemptOutcome<F> {
    let Some(job) = slot.take() else { return AttemptOutcome::Finished };
    match why {
        StoreError::Stale => AttemptOutcome::Stale(job),
        why => {
            job.finish(Err(store_failure(&why)));
            AttemptOutcome::Finished
        }
    }
}

enum AttemptOutcome<F: Family> {
    /// The command was replied to, or submitted.
    Finished,
    /// The caller has a reply; the state is to be dropped.
    Panicked,
    /// A commit has failed since the state was loaded.
    Stale(Box<dyn Job<F>>),
}

/// Returns the error for the caller if a command fails.
pub(crate) fn error_of_fault(fault: CommandFault) -> Error {
    match fault {
        CommandFault::Refused(error) => error,
        CommandFault::Store(error) => store_failure(&error),
        CommandFault::NeedsTurns(_) | CommandFault::NeedsLocks(_) | CommandFault::IsLarge | CommandFault::Unchecked => {
            Error::internal()
        }
    }
}

/// A slot for a job that is taken by the commit's callback or by a refused submitter, whichever is
/// first.
struct JobSlot<F: Family>(Arc<parking_lot::Mutex<Option<Box<dyn Job<F>>>>>);

impl<F: Family> Clone for JobSlot<F> {
    fn clone(&self) -> Self {
        JobSlot(self.0.clone())
    }
}

impl<F: Family> JobSlot<F> {
    fn new(job: Box<dyn Job<F>>) -> Self {
        JobSlot(Arc::new(parking_lot::Mutex::new(Some(job))))
    }

    fn take(&self) -> Option<Box<dyn Job<F>>> {
        self.0.lock().take()
    }
}
