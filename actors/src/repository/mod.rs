//! The handles to all containers: [`Repository`] changes them, [`Reader`] only reads.
//!
//! Only code that is given a [`Repository`] can change anything; a [`Reader`] provides no way to.

mod past;
mod reader;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use actix::Arbiter;
use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, oneshot};

pub use self::past::{MOST_CHANGES_BACK, PastMoment, PastView};
pub use self::reader::Reader;
use crate::cache::CacheOrigin;
use crate::families::Families;
use crate::remains::RemainderWorker;
use crate::runtime::registry::admit;
use crate::runtime::{
    AnyJoint, AnyReply, Cache, ChangeRequest, CommandResult, ContainerMemory, JointAnswerSender, JointResult,
    MOST_STALE, NumberMill, Registry, RemainderTracker, RuntimeOptions, RuntimeServices, commits_keep_failing,
    error_of_fault, overloaded_error, run_joint, store_failure, unknown_outcome_error,
};
use crate::thread;
use stet_domain::clock::Clock;
use stet_domain::command::{CallerIdentity, Command, NumberSource};
use stet_domain::ends::ExpiryClock;
use stet_domain::error::Result;
use stet_domain::expect::Precondition;
use stet_domain::family::Family;
use stet_domain::folder;
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::joint::JointCommand;
use stet_domain::object::{Attributes, FamilyKind, Object, Record, Remainder};
use stet_domain::receipt::{ReceiptStep, StepOutcome};
use stet_domain::store::{ChangeSet, ReadLevel, RowChange, Store, StoreError};
use stet_domain::trace::Trace;
use stet_domain::workflow::Workflows;

/// The repository: all containers, over one store. Clones are handles to the same repository. It
/// offers all reads of its [`Reader`].
#[derive(Clone)]
pub struct Repository {
    reader: Reader,
    arbiters: Arc<Vec<Arbiter>>,
}

/// A change that concerns no container, ready to commit.
pub struct StandaloneChange<R> {
    /// The reply to the caller.
    pub reply: R,
    /// The rows to change.
    pub changes: Vec<RowChange>,
    /// The entries for the audit trail: actions, each with the names of what it concerns.
    pub deeds: Vec<(&'static str, Vec<String>)>,
    /// A function that is called on the writer's thread when the change is on disk, before the
    /// reply. It is dropped if the change fails. It must not block.
    pub on_commit: Box<dyn FnOnce() + Send>,
    /// A value that is held until the change is decided ([`Repository::commit_holding`]).
    pub held: Box<dyn Send>,
}

impl Deref for Repository {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl Repository {
    /// Starts the arbiters and reserves the first numbers. Must be called within an actix system.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: RuntimeOptions,
    ) -> Result<Repository, StoreError> {
        Repository::start_with(Families::ALL, store, clock, options).await
    }

    /// Does what [`Repository::start`] does, with a given list of families.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn start_with(
        families: Families,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: RuntimeOptions,
    ) -> Result<Repository, StoreError> {
        let numbers = Arc::new(NumberMill::open(store.clone(), clock.clone()).await?);
        let arbiters: Vec<Arbiter> =
            (0..options.threads()).map(|_| Arbiter::with_tokio_rt(runtime_of_arbiter)).collect();
        for arbiter in &arbiters {
            arbiter.spawn_fn(|| thread::name_this(c"stet-arbiter"));
        }
        let admission = Arc::new(Semaphore::new(options.permits));
        let interrupted = Remainder::next_entry(&*store, ReadLevel::Latest, None)?.is_some();
        let remains = Arc::new(RemainderTracker::new(interrupted));
        let steps = RwLock::default();
        let going_on = remains.clone();
        let memory = ContainerMemory::new(options.container_bytes);
        let ends = store.ends().unwrap_or_else(|| Arc::new(ExpiryClock::by(clock.clone())));
        let shared = RuntimeServices {
            store,
            clock,
            ends,
            numbers,
            options,
            admission,
            steps,
            remains: going_on,
            memory: memory.clone(),
            workflows: OnceLock::new(),
        };
        let handles = arbiters.iter().map(Arbiter::handle).collect();
        let registry = Arc::new(Registry::new(families, Arc::new(shared), handles));
        let of_memory = Arc::downgrade(&registry);
        memory.make_room_by(move |bytes| {
            if let Some(registry) = of_memory.upgrade() {
                registry.evict_unused(bytes);
            }
        });
        // There is at least one arbiter, and none has ended.
        if let Some(arbiter) = arbiters.first() {
            arbiter.spawn(RemainderWorker::new(&registry).run(remains));
        }
        Ok(Repository { reader: Reader { registry }, arbiters: Arc::new(arbiters) })
    }

    /// Sets the workflows that all commands are held to from now on. Only the first call counts:
    /// the workflows stay for the life of the repository, and follow the configuration themselves.
    pub fn enforce(&self, workflows: Arc<dyn Workflows>) {
        let _ = self.registry.shared().workflows.set(workflows);
    }

    /// Makes the missing root folders.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn make_roots(&self, databases: &[DatabaseId]) -> Result<()> {
        let now_ms = self.clock().now_ms();
        let who = CallerIdentity::system();
        let shared = self.registry.shared().clone();
        let mut context = stet_domain::command::Context::new(now_ms, &who, &*shared.store, &*shared.numbers);
        for database in databases {
            let loid = folder::root(*database);
            if self.record(loid)?.is_some() {
                continue;
            }
            let record = Record::new(loid, "", folder::TYPE_NAME, FamilyKind::Folder, &who.user, now_ms);
            let attributes = Arc::new(Attributes::none(loid));
            context.create(&Object { record: Arc::new(record), attributes }).map_err(error_of_fault)?;
        }
        let changes = context.into_noted().map_err(error_of_fault)?.changes;
        if changes.is_empty() {
            return Ok(());
        }
        self.commit(|set| set.changes = changes).await
    }

    /// Commits rows that belong to no container, such as users and sessions.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn commit(&self, fill: impl FnOnce(&mut ChangeSet)) -> Result<()> {
        self.commit_holding((), fill).await
    }

    /// Commits rows that belong to no container, and were read under a lock. The value `held`, such
    /// as that lock, is dropped when the change is decided, even if the caller has disconnected.
    /// The next holder thus finds this change on disk, or it never will be there. The value is
    /// dropped on the writer's thread.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn commit_holding(&self, held: impl Send + 'static, fill: impl FnOnce(&mut ChangeSet)) -> Result<()> {
        let store = &self.registry.shared().store;
        let (sender, receiver) = oneshot::channel();
        let mut set = ChangeSet::fence(store.epoch(), move |outcome| {
            // The caller may have disconnected; the change stands all the same.
            let _ = sender.send(outcome);
        });
        set.trace = Trace::current();
        fill(&mut set);
        let on_commit = std::mem::replace(&mut set.on_commit, Box::new(|_| ()));
        // A store that refuses the change set drops this function without a call.
        set.on_commit = Box::new(move |seq| {
            on_commit(seq);
            drop(held);
        });
        for _ in 0..MOST_STALE {
            match store.submit(set) {
                Ok(_) => {
                    // The store drops the sender if it breaks down.
                    let broken = || Err(StoreError::Unknown("the store broke down".to_owned()));
                    let decided = receiver.await.unwrap_or_else(|_| broken());
                    return decided.map(drop).map_err(|error| store_failure(&error));
                }
                // Another commit has failed since the epoch was read. These rows depend on rows on
                // disk only, not on a change that was lost with that commit. So they can be
                // submitted again.
                Err(refused) if refused.why == StoreError::Stale => {
                    set = refused.set;
                    set.epoch = store.epoch();
                }
                Err(refused) => return Err(store_failure(&refused.why)),
            }
        }
        Err(commits_keep_failing(&**store))
    }

    /// Returns the next number for things with an id; no number is ever used twice.
    ///
    /// # Errors
    /// `Overloaded`.
    pub fn next_number(&self) -> Result<u64> {
        self.registry.shared().numbers.next()
    }

    /// Carries out a named change that concerns no container; only once, if the call has an
    /// idempotency key. A change without rows leaves no trace.
    ///
    /// # Errors
    /// Errors of `make`; an earlier try of the call with another command; errors of the store.
    pub async fn note<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        request: &ChangeRequest,
        make: impl AsyncFnOnce() -> Result<StandaloneChange<R>>,
    ) -> Result<R> {
        let step = request.step.as_ref();
        if let Some(reply) = kept_outcome(step, name)? {
            return Ok(reply);
        }
        if request.expect.is_some() {
            return Err(Precondition::met_nothing());
        }
        request.check_share(false)?;
        let StandaloneChange { reply, mut changes, deeds, on_commit, held } = make().await?;
        if changes.is_empty() {
            return Ok(reply);
        }
        let now_ms = self.clock().now_ms();
        let outcome = step.map(|step| step.outcome(name, &reply, now_ms));
        changes.extend(outcome.into_iter().flat_map(StepOutcome::put));
        let events = deeds.into_iter().map(|(kind, ids)| request.who.deed(kind, ids, now_ms)).collect();
        let under_way = step.and_then(ReceiptStep::under_way);
        // The idempotency key stays claimed until then, too.
        self.commit_holding((held, under_way), |set| {
            set.changes = changes;
            set.events = events;
            set.on_commit = Box::new(move |_| on_commit());
        })
        .await?;
        Ok(reply)
    }

    /// Carries out a command on a container. It resolves when the change is on disk.
    ///
    /// # Errors
    /// Refusals of the command; `Overloaded`; `ObjectNotFound`; errors of the store.
    pub async fn execute<C: Command>(
        &self,
        container: Loid,
        command: C,
        request: ChangeRequest,
    ) -> Result<CommandResult<C::Reply, <C::Family as Family>::State>> {
        if let Some(reply) = kept_outcome(request.step.as_ref(), C::NAME)? {
            return Ok(CommandResult { reply, view: self.view::<C::Family>(container).await? });
        }
        request.check_share(false)?;
        let (command, mut turn) = (Arc::new(command), None);
        loop {
            let handle = self.registry.get::<C::Family>(container)?;
            let answer = handle.execute(self.registry.shared(), command.clone(), request.clone(), turn)?;
            drop(handle);
            // The store drops the sender if it breaks down.
            match answer.await.unwrap_or_else(|_| Ok(Err(unknown_outcome_error()))) {
                Ok(answer) => return answer,
                Err(why) => turn = request.prepare(why, false).await?,
            }
        }
    }

    /// Carries out a command on several containers at once. It resolves when the change is on disk.
    ///
    /// # Errors
    /// The errors of [`Repository::execute`].
    pub async fn joint<J: JointCommand>(&self, joint: J, request: ChangeRequest) -> Result<J::Reply> {
        self.jointly(joint, request).await.map(|done| done.reply)
    }

    /// Carries out a joint command, and also returns the state of its object after the command.
    ///
    /// # Errors
    /// The errors of [`Repository::joint`].
    pub async fn jointly<J: JointCommand>(&self, joint: J, request: ChangeRequest) -> Result<JointResult<J::Reply>> {
        if let Some(reply) = kept_outcome(request.step.as_ref(), J::NAME)? {
            return Ok(JointResult { reply, left: None });
        }
        request.check_share(J::REMOVES)?;
        let (first, top) = (joint.wants().first().copied(), joint.top());
        self.untyped(Arc::new(joint), request, first, top).await?.typed()
    }

    /// Does what [`Repository::jointly`] does, for a command of any type. `first` is one of the
    /// containers that it wants; for `top` see [`JointCommand::top`].
    async fn untyped(
        &self,
        joint: Arc<dyn AnyJoint>,
        request: ChangeRequest,
        first: Option<Loid>,
        top: Option<Loid>,
    ) -> Result<JointResult<AnyReply>> {
        let shared = self.registry.shared().clone();
        let mut turn = None;
        let done = loop {
            let permit = admit(&shared)?;
            let (sender, receiver) = oneshot::channel();
            // It runs in a task of its own on an arbiter, and so to its end even if the caller
            // disconnects.
            let under_way = request.step.as_ref().and_then(ReceiptStep::under_way);
            let admits_large = request.admits_large(turn.as_ref());
            let answer = JointAnswerSender::new(sender, permit, under_way, turn);
            let run = run_joint(self.registry.clone(), joint.clone(), request.clone(), answer, admits_large);
            if !self.registry.arbiter(first.unwrap_or(folder::root(DatabaseId::main()))).spawn(run) {
                return Err(overloaded_error("The repository is shutting down"));
            }
            // The store drops the sender if it breaks down.
            match receiver.await.unwrap_or_else(|_| Ok(Err(unknown_outcome_error()))) {
                Ok(answer) => break answer?,
                Err(why) => turn = request.prepare(why, joint.nature().removes).await?,
            }
        };
        if let Some(top) = top
            && let Err(error) = shared.remains.finished(&*shared.store, top).await
        {
            // The change is decided, and the remaining work will be done.
            tracing::info!(
                %top, error = error.message,
                "replied to a folder change before its remaining steps were done"
            );
        }
        Ok(done)
    }

    /// Starts the actor of a cache. The value `first` is in force until its first refresh. Must be
    /// called within an actix system.
    pub fn start_cache<O: CacheOrigin>(&self, origin: O, first: O::Value) -> Cache<O> {
        // There is at least one arbiter.
        let arbiter = &self.arbiters[usize::from(origin.database()) % self.arbiters.len()];
        Cache::start(&arbiter.handle(), origin, first, self.clock().clone())
    }

    /// Returns a handle that only reads.
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Returns the store. It allows changes of rows that bypass all rules.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.registry.shared().store
    }

    /// Returns the configuration of the runtime.
    pub fn options(&self) -> &RuntimeOptions {
        &self.registry.shared().options
    }

    /// Evicts idle containers; to be called every [`RuntimeOptions::sweep_seconds`]. Returns the
    /// number of evicted ones.
    pub fn sweep(&self) -> usize {
        self.registry.sweep()
    }

    /// Returns the bytes of the containers in memory.
    pub fn container_bytes(&self) -> u64 {
        self.registry.shared().memory.loaded()
    }

    /// Evicts all containers that no call uses. Returns the number of evicted ones.
    pub fn evict_unused_containers(&self) -> usize {
        self.registry.evict_all_unused()
    }

    /// Returns the number of containers in memory.
    pub fn containers(&self) -> usize {
        self.registry.len()
    }

    /// Returns the maximal number of instances of one container that were ever loaded at once. Any
    /// number above 1 is a bug.
    pub fn most_instances(&self) -> usize {
        self.registry.most_instances()
    }

    /// Refuses further work, waits for admitted work, and stops the arbiters. The store must be
    /// closed by the code that opened it.
    pub async fn shut_down(&self) {
        let shared = self.registry.shared();
        let permits = u32::try_from(shared.options.permits).unwrap_or(u32::MAX);
        // With all permits acquired, no work is under way. The semaphore is never closed before, so
        // this can't fail.
        let all = shared.admission.acquire_many(permits).await;
        shared.admission.close();
        drop(all);
        // Nothing is admitted any more, so the remaining work of changes stops, too.
        shared.remains.close();
        shared.store.barrier().await;
        self.evict_unused_containers();
        for arbiter in self.arbiters.iter() {
            arbiter.stop();
        }
    }
}

/// The number of threads of each arbiter that read containers.
const READING_THREADS: usize = 3;

/// Creates the runtime of an arbiter.
fn runtime_of_arbiter() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(READING_THREADS);
    // Fails only if the process may open no more files or threads: no arbiter could work then.
    runtime.build().expect("an arbiter gets its runtime")
}

/// Returns the outcome that an earlier try of the call has left for this step.
fn kept_outcome<R: DeserializeOwned>(step: Option<&ReceiptStep>, command: &str) -> Result<Option<R>> {
    step.map_or(Ok(None), |step| step.kept(command))
}
