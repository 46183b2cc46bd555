//! The execution of joint commands: takes the turns, applies the command, submits one change
//! set and gives the turns back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::attempt::error_of_fault;
use super::cell::ContainerView;
use super::job::ChangeRequest;
use super::left::{JointResult, ResultingObject};
use super::lend::{BorrowedTurn, TurnReturn};
use super::registry::Registry;
use super::untyped::{AnyJoint, AnyReply, JointAnswerSender, JointApplication};
use super::{MOST_STALE, ReturnReason, RuntimeServices, commits_keep_failing, overloaded_error, store_failure};
use stet_domain::command::{CommandFault, Context};
use stet_domain::error::{Error, Result};
use stet_domain::family::{Family, State};
use stet_domain::id::Loid;
use stet_domain::joint::ContainerTurns;
use stet_domain::lifecycle::check_locks_below;
use stet_domain::object::{Object, ObjectStanding, Record, find_standing};
use stet_domain::store::{ChangeSet, Epoch, ReadLevel, RowChange, Seq, StoreError, Table};

/// A turn of a container of any family.
pub(crate) type BoxedTurn = Box<dyn RuntimeTurn>;

/// The old and the new revision of a changed container.
type RevisionChange = (u64, u64);

/// The operations of the runtime on a turn.
pub(crate) trait RuntimeTurn: Send {
    fn epoch(&self) -> Epoch;
    /// Returns the object as the state has it.
    fn object(&self) -> Option<&Object>;
    /// Returns the record as the state has it.
    fn record(&self) -> Option<&Record> {
        self.object().map(|object| &*object.record)
    }
    /// Lends a copy of the state to the command.
    fn lend_to(&self, loid: Loid, turns: &mut ContainerTurns);
    /// Takes the copy back and settles it. Returns the old and the new revision if the state
    /// changed.
    ///
    /// # Errors
    /// A violation of the rules for attribute texts.
    fn settle(
        &mut self,
        loid: Loid,
        turns: &mut ContainerTurns,
        touched: bool,
        context: &mut Context<'_>,
    ) -> Result<Option<RevisionChange>, CommandFault>;
    /// Returns the object as the command leaves it, changed or not; `None` if it is gone.
    fn resulting_object(&self) -> Option<ResultingObject>;
    /// Returns the callbacks that publish the new state after the commit; `None` if there is no new
    /// state.
    fn publisher(&self) -> Option<Publisher>;
    /// Gives the turn back with its outcome.
    fn give_back(self: Box<Self>, outcome: TurnOutcome);
}

/// The callbacks of a commit for one container. `show` runs at once
/// ([`super::cell::ViewCell::publish_committed`]), `acknowledge` once all containers show their new
/// states.
pub(crate) struct Publisher {
    show: Box<dyn FnOnce() + Send>,
    acknowledge: Box<dyn FnOnce(Seq) + Send>,
}

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnOutcome {
    Unchanged,
    Submitted(Seq),
    Stale,
}

pub(crate) struct TypedTurn<F: Family> {
    lent: BorrowedTurn<F>,
    /// The state after the command; outer `None` while it has not changed.
    after: Option<Option<F::State>>,
}

impl<F: Family> TypedTurn<F> {
    pub fn new(lent: BorrowedTurn<F>) -> TypedTurn<F> {
        TypedTurn { lent, after: None }
    }
}

impl<F: Family> RuntimeTurn for TypedTurn<F> {
    fn epoch(&self) -> Epoch {
        self.lent.epoch
    }

    fn object(&self) -> Option<&Object> {
        self.lent.state.as_ref().map(State::object)
    }

    fn lend_to(&self, loid: Loid, turns: &mut ContainerTurns) {
        match &self.lent.state {
            Some(state) => turns.lend::<F>(loid, state.clone()),
            None => turns.lend_nothing(loid),
        }
    }

    fn settle(
        &mut self,
        loid: Loid,
        turns: &mut ContainerTurns,
        touched: bool,
        context: &mut Context<'_>,
    ) -> Result<Option<RevisionChange>, CommandFault> {
        self.after = None;
        let Some(before) = self.lent.state.as_ref() else { return Ok(None) };
        let known = before.object().record.revision;
        match turns.take_back::<F>(loid) {
            None => {
                context.forget_former(loid);
                self.after = Some(None);
                Ok(Some((known, known + 1)))
            }
            Some(mut after) => {
                if !context.finish_record(before, &mut after, touched)? {
                    return Ok(None);
                }
                let revision = after.object().record.revision;
                self.after = Some(Some(after));
                Ok(Some((known, revision)))
            }
        }
    }

    fn resulting_object(&self) -> Option<ResultingObject> {
        let state = self.after.as_ref().unwrap_or(&self.lent.state);
        state.clone().map(ResultingObject::changed)
    }

    fn publisher(&self) -> Option<Publisher> {
        let view = self.after.clone()?.map(|state| Arc::new(ContainerView { state }));
        let (cell, decided) = (self.lent.cell.clone(), self.lent.cell.clone());
        Some(Publisher {
            show: Box::new(move || cell.publish_committed(view)),
            acknowledge: Box::new(move |seq| decided.acknowledge(seq)),
        })
    }

    fn give_back(self: Box<Self>, outcome: TurnOutcome) {
        let TypedTurn { lent, after } = *self;
        let returned = match (outcome, after) {
            (TurnOutcome::Submitted(seq), Some(state)) => TurnReturn::Changed { state, seq },
            (TurnOutcome::Stale, _) => TurnReturn::Stale,
            _ => TurnReturn::Unchanged,
        };
        // The container's actor waits for this; it is gone only if its arbiter has ended.
        let _ = lent.back.send(returned);
        drop(lent.permit);
    }
}

/// The turns that one application holds. Dropping it gives them back unchanged.
#[derive(Default)]
struct HeldTurns {
    turns: BTreeMap<Loid, BoxedTurn>,
    /// The wanted containers that do not exist.
    missing: Vec<Loid>,
}

impl HeldTurns {
    /// Returns the oldest epoch among the turns.
    fn epoch(&self) -> Option<Epoch> {
        self.turns.values().map(|turn| turn.epoch()).min()
    }

    /// Lends copies of all states to a command.
    fn lend(&self) -> ContainerTurns {
        let mut lent = ContainerTurns::default();
        self.missing.iter().for_each(|loid| lent.lend_nothing(*loid));
        self.turns.iter().for_each(|(loid, turn)| turn.lend_to(*loid, &mut lent));
        lent
    }

    /// Takes the copies back after the command. Returns the old and the new revision of each
    /// changed container.
    ///
    /// # Errors
    /// The containers that the command changes without their turns; faults of the new states.
    fn settle(
        &mut self,
        lent: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<Vec<(Loid, RevisionChange)>, NoSubmission> {
        let touched = touched_containers(context.changes(), self, lent);
        let is_held = |loid: &Loid| self.turns.contains_key(loid) || self.missing.contains(loid);
        let lacking: Vec<Loid> =
            touched.iter().copied().filter(|loid| !is_held(loid) && !context.has_made(*loid)).collect();
        if !lacking.is_empty() {
            // The containers would change without a new revision, so clients that cache them would
            // not notice.
            return Err(NoSubmission::Again(lacking));
        }
        let mut revised = Vec::new();
        for (loid, turn) in &mut self.turns {
            if let Some(revisions) = turn.settle(*loid, lent, touched.contains(loid), context)? {
                revised.push((*loid, revisions));
            }
        }
        Ok(revised)
    }

    /// Returns a change set without changes, which publishes the new states and sends the answer.
    /// The set has the older of `epoch` and the epoch of the oldest turn.
    fn publication(&self, epoch: Epoch, result: JointResult<AnyReply>, answer: &JointAnswerSender) -> ChangeSet {
        let publishers = self.turns.values().filter_map(|turn| turn.publisher());
        let (shows, acknowledges): (Vec<_>, Vec<_>) =
            publishers.map(|Publisher { show, acknowledge }| (show, acknowledge)).unzip();
        let answered = answer.clone();
        ChangeSet {
            on_commit: Box::new(move |_| shows.into_iter().for_each(|show| show())),
            ..ChangeSet::fence(self.epoch().map_or(epoch, |of_turns| of_turns.min(epoch)), move |outcome| {
                if let Ok(seq) = &outcome {
                    acknowledges.into_iter().for_each(|acknowledge| acknowledge(*seq));
                }
                answered.send(outcome.map(|_| result).map_err(|error| store_failure(&error)));
            })
        }
    }

    fn give_back(&mut self, outcome: TurnOutcome) {
        for (_, turn) in std::mem::take(&mut self.turns) {
            turn.give_back(outcome);
        }
    }
}

impl Drop for HeldTurns {
    fn drop(&mut self) {
        self.give_back(TurnOutcome::Unchanged);
    }
}

/// The number of times that a joint command may be applied again because it needed further turns.
/// Each round adds at least one.
const MOST_ROUNDS: usize = 1000;

/// The needs of a joint command in its next attempt.
struct JointNeeds {
    containers: BTreeSet<Loid>,
    /// The epoch in which locks were looked for. A lock whose release was in a failed commit is
    /// still held.
    locks_seen: Option<Epoch>,
    /// Whether the change may be large.
    admits_large: bool,
    /// The remaining number of attempts.
    rounds: usize,
}

impl JointNeeds {
    /// Returns the needs of a command that has not been applied.
    fn of(joint: &dyn AnyJoint, admits_large: bool) -> JointNeeds {
        JointNeeds {
            containers: joint.wants().into_iter().collect(),
            locks_seen: None,
            admits_large,
            rounds: MOST_ROUNDS,
        }
    }

    /// Adds containers. Returns whether any of them is new.
    fn add(&mut self, more: Vec<Loid>) -> bool {
        let known = self.containers.len();
        self.containers.extend(more);
        self.containers.len() > known
    }
}

/// Carries out a joint command, large or not. The answer is sent once the change is on disk.
pub(crate) async fn run_joint(
    registry: Arc<Registry>,
    joint: Arc<dyn AnyJoint>,
    request: ChangeRequest,
    answer: JointAnswerSender,
    admits_large: bool,
) {
    let shared = registry.shared();
    let mut needs = JointNeeds::of(&*joint, admits_large);
    let mut stale = 0;
    while needs.rounds > 0 {
        needs.rounds -= 1;
        // Read first: the command may look at changes whose commit fails later.
        let epoch = shared.store.epoch();
        let mut held = match take_turns(&registry, &needs.containers).await {
            Ok(held) => held,
            Err(error) => return answer.send(Err(error)),
        };
        let asked = AttemptConditions { request: &request, epoch, needs: &needs };
        let answered = match attempt(shared, &*joint, asked, &mut held, &answer) {
            Ok(seq) => return held.give_back(TurnOutcome::Submitted(seq)),
            Err(NoSubmission::Refused(why)) => Err(why),
            Err(NoSubmission::Again(more)) => {
                if needs.add(more) {
                    continue;
                }
                tracing::error!(command = joint.nature().name, "a joint command requested turns that it already holds");
                return answer.send(Err(Error::internal()));
            }
            Err(NoSubmission::Locks(top)) => {
                held.give_back(TurnOutcome::Unchanged);
                let Err(error) = look_for_locks(shared, &request, top).await else {
                    needs.locks_seen = Some(epoch);
                    continue;
                };
                answer_settled(shared, epoch, Err(error), &answer)
            }
            Err(NoSubmission::Await(entry)) => {
                drop(held);
                if answer.pause(shared, entry).await.is_err() {
                    return;
                }
                // The command may need other containers by now. The work permit was given back
                // during the wait.
                let locks_seen = needs.locks_seen;
                needs = JointNeeds { locks_seen, ..JointNeeds::of(&*joint, request.large.is_none()) };
                continue;
            }
            Err(NoSubmission::GivenBack(why)) => {
                drop(held);
                return answer.give_back(why);
            }
            Err(NoSubmission::Unchanged(outcome)) => {
                held.give_back(TurnOutcome::Unchanged);
                answer_settled(shared, epoch, outcome, &answer)
            }
        };
        // Refused: neither callback was or will be called, and nothing was sent.
        match answered {
            Ok(()) => return,
            Err(StoreError::Stale) => held.give_back(TurnOutcome::Stale),
            Err(why) => return answer.send(Err(store_failure(&why))),
        }
        stale += 1;
        if stale >= MOST_STALE {
            return answer.send(Err(commits_keep_failing(&*shared.store)));
        }
    }
    answer.send(Err(overloaded_error("The call needs more containers than can be taken")));
}

/// Locks that are checked before other tasks may run: each costs some reads of rows.
const LOCKS_AT_A_TIME: usize = 256;

/// Checks all locks below an object for one that the caller may not break. A lock taken after its
/// check and before the change is decided is broken. The content that its owner has saved stays as
/// a draft.
async fn look_for_locks(shared: &RuntimeServices, request: &ChangeRequest, top: Loid) -> Result<()> {
    let mut after = None;
    loop {
        let context = Context::new(shared.clock.now_ms(), &request.who, &*shared.store, &*shared.numbers);
        let looked = check_locks_below(top, after.as_deref(), LOCKS_AT_A_TIME, &context);
        match looked.map_err(error_of_fault)? {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}

/// Takes the turns in the order of loids, so that no two joint commands hold what the other waits
/// for.
async fn take_turns(registry: &Registry, wanted: &BTreeSet<Loid>) -> Result<HeldTurns> {
    let mut held = HeldTurns::default();
    // All are found first, so that those that are not in memory load concurrently.
    let found = wanted.iter().map(|loid| Ok((*loid, registry.find(*loid)?))).collect::<Result<Vec<_>>>()?;
    for (loid, handle) in found {
        match handle {
            Some(handle) => {
                let turn = handle.turn().await?;
                held.turns.insert(loid, turn);
            }
            None => held.missing.push(loid),
        }
    }
    Ok(held)
}

/// Answers without a change, once all that the answer is based on is on disk. Besides the lent
/// states, the command has read rows of others, or missed rows that pending changes remove, and
/// those changes may fail. So it waits for all changes submitted before. Without pending changes
/// that costs nothing.
///
/// # Errors
/// The reason why the store refuses the fence: then nothing was answered.
fn answer_settled(
    shared: &RuntimeServices,
    epoch: Epoch,
    outcome: Result<JointResult<AnyReply>>,
    answer: &JointAnswerSender,
) -> Result<(), StoreError> {
    let answered = answer.clone();
    let fence = ChangeSet::fence(epoch, move |decided| {
        answered.send(decided.map_err(|error| store_failure(&error)).and(outcome));
    });
    shared.store.submit(fence).map(drop).map_err(|refused| refused.why)
}

/// The conditions of one application of a joint command.
#[derive(Clone, Copy)]
struct AttemptConditions<'a> {
    request: &'a ChangeRequest,
    /// The epoch before anything was read for the command.
    epoch: Epoch,
    needs: &'a JointNeeds,
}

/// The reason why one application of a joint command has submitted nothing.
enum NoSubmission {
    /// The store refused the change set; nothing has been answered.
    Refused(StoreError),
    /// Further turns are needed.
    Again(Vec<Loid>),
    /// The locks below this object must be checked.
    Locks(Loid),
    /// The change of this entry's subtree must be awaited.
    Await(Loid),
    /// The caller must call again.
    GivenBack(ReturnReason),
    /// The command was refused or changed nothing.
    Unchanged(Result<JointResult<AnyReply>>),
}

impl From<CommandFault> for NoSubmission {
    fn from(fault: CommandFault) -> NoSubmission {
        match fault {
            CommandFault::NeedsTurns(more) => NoSubmission::Again(more),
            CommandFault::NeedsLocks(top) => NoSubmission::Locks(top),
            CommandFault::IsLarge => NoSubmission::GivenBack(ReturnReason::Large),
            CommandFault::Unchecked => NoSubmission::GivenBack(ReturnReason::Unchecked),
            fault => NoSubmission::Unchanged(Err(error_of_fault(fault))),
        }
    }
}

/// Applies the command to copies of the states, and submits its changes, all in one step: see
/// [`RuntimeServices::steps`].
fn attempt(
    shared: &RuntimeServices,
    joint: &dyn AnyJoint,
    asked: AttemptConditions<'_>,
    held: &mut HeldTurns,
    answer: &JointAnswerSender,
) -> Result<Seq, NoSubmission> {
    let nature = joint.nature();
    let (_alone, _beside) =
        if nature.alone { (Some(shared.steps.write()), None) } else { (None, Some(shared.steps.read())) };
    let AttemptConditions { request, epoch, needs } = asked;
    let _within = request.trace.enter();
    let mut context = shared.context_of(request, needs.admits_large);
    context.subtrees.locks_seen = needs.locks_seen == Some(epoch);
    let mut lent = held.lend();
    if context.subtrees.under_way && !nature.goes_on {
        regard_subtrees(joint, shared, held, &mut lent)?;
    }
    let applied = catch_unwind(AssertUnwindSafe(|| {
        let said = joint.apply(&mut lent, &mut context, request.step.as_ref())?;
        let containers = held.turns.iter().filter_map(|(loid, turn)| Some((turn.object()?, lent.object(*loid))));
        context.check_statuses(containers)?;
        context.check_expected()?;
        Ok::<_, CommandFault>(said)
    }));
    let Ok(applied) = applied else {
        // The copies it worked on are dropped; the containers' own states are untouched.
        tracing::error!(command = nature.name, "a joint command panicked");
        return Err(NoSubmission::Unchanged(Err(Error::internal())));
    };
    let JointApplication { reply, about, outcome } = applied?;
    let revised = held.settle(&mut lent, &mut context)?;
    let left = about.and_then(|loid| match held.turns.get(&loid) {
        Some(turn) => turn.resulting_object(),
        None => context.made(loid).cloned().map(ResultingObject::made),
    });
    // A change whose rows were dropped for their size must not count as no change.
    context.check_size()?;
    let result = JointResult { reply, left };
    if context.changes().is_empty() {
        return Err(NoSubmission::Unchanged(Ok(result)));
    }
    if let Some(outcome) = outcome {
        outcome.put_into(&mut context);
    }
    let now_ms = context.now_ms;
    let mut noted = context.into_noted()?;
    answer.charge(request, noted.bytes);
    let mut events = Vec::with_capacity(revised.len());
    for (loid, revisions) in revised {
        events.extend(request.who.events(loid, revisions, nature.name, &mut noted, now_ms));
    }
    let trace = request.trace.clone();
    let set = ChangeSet { changes: noted.changes, events, trace, ..held.publication(epoch, result, answer) };
    submit(shared, set, nature.goes_on).map_err(NoSubmission::Refused)
}

/// Submits the changes of a command, and wakes the task for remainders if they contain one. A
/// command that `goes_on` is of that task itself.
fn submit(shared: &RuntimeServices, set: ChangeSet, goes_on: bool) -> Result<Seq, StoreError> {
    #[cfg(feature = "planted-bugs")]
    let set = stet_domain::planted::tear_change_set(set);
    let has_remainders = set.changes.iter().any(|change| change.table == Table::Remainders);
    if has_remainders {
        shared.remains.begin();
    }
    let submitted = shared.store.submit(set);
    // After a refusal, too: the task that carries remainders on finds none, and notes that.
    if has_remainders && !goes_on {
        shared.remains.wake();
    }
    submitted.map_err(|refused| refused.why)
}

/// Applies the rules for subtrees whose change is under way. Objects that leave are hidden from the
/// command.
///
/// # Errors
/// The entry to wait for. Objects that return must be awaited. Objects that leave must be awaited
/// by commands that change the recycle bin.
fn regard_subtrees(
    joint: &dyn AnyJoint,
    shared: &RuntimeServices,
    held: &HeldTurns,
    lent: &mut ContainerTurns,
) -> Result<(), NoSubmission> {
    for (loid, turn) in &held.turns {
        let Some(record) = turn.record() else { continue };
        match find_standing(&*shared.store, ReadLevel::Latest, record).map_err(CommandFault::from)? {
            ObjectStanding::Settled => {}
            ObjectStanding::Returning(entry) => return Err(NoSubmission::Await(entry)),
            ObjectStanding::Leaving(entry) if joint.nature().awaits && joint.wants().contains(loid) => {
                return Err(NoSubmission::Await(entry));
            }
            ObjectStanding::Leaving(_) if record.is_discarded() => {}
            ObjectStanding::Leaving(_) => lent.hide_leaving(*loid),
        }
    }
    Ok(())
}

/// Returns the containers whose parts or names change, by rows that the command has noted or by its
/// changes of records.
fn touched_containers(changes: &[RowChange], held: &HeldTurns, turns: &ContainerTurns) -> HashSet<Loid> {
    let rows = changes.iter().filter(|change| matches!(change.table, Table::Parts | Table::Names));
    let names = held.turns.iter().flat_map(|(loid, turn)| {
        let (before, after) = (turn.record().and_then(Record::stands), turns.record(*loid).and_then(Record::stands));
        [before, after].into_iter().filter(move |_| before != after).flatten().map(|(folder, _)| folder)
    });
    rows.filter_map(|change| Loid::from_key(&change.key)).chain(names).collect()
}
