//! The handles to all containers: [`Repository`] changes them, [`Reader`] reads only.
//!
//! Who may change something is decided by who is given a [`Repository`]: of a [`Reader`] nothing can be made that changes.

use std::ops::Deref;
use std::sync::Arc;

use actix::Arbiter;
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, oneshot};

use crate::clock::Clock;
use crate::command::{Command, Who};
use crate::error::{Code, Error, Result};
use crate::families::Families;
use crate::family::Family;
use crate::folder::{self, walk};
use crate::id::{DatabaseId, Loid, Source};
use crate::joint::Joint;
use crate::object::{
    Attributes, FamilyKind, PathLimits, Record, Remainder, Standing, Task, Version, check_path, standing,
};
use crate::receipt::{Once, Step};
use crate::remains::Carrier;
use crate::runtime::registry::{AnyHandle, admit};
use crate::runtime::{
    Answer, Done, NumberMill, Published, Registry, Remains, Request, RuntimeOptions, Shared, overloaded, refusal,
    run_joint, store_failure, unknown,
};
use crate::store::{Backlog, ChangeSet, Health, Look, Range, Row, Store, StoreError, Table, View, decode_value};

/// The repository: all containers, over one store. Cloning gives another handle to the same. It reads as its [`Reader`] does.
#[derive(Clone)]
pub struct Repository {
    reader: Reader,
    arbiters: Arc<Vec<Arbiter>>,
    families: Families,
}

/// The repository for those who read only. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct Reader {
    registry: Arc<Registry>,
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
    /// What the store says.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: RuntimeOptions,
    ) -> Result<Repository, StoreError> {
        Repository::start_with(Families::ALL, store, clock, options).await
    }

    /// [`Repository::start`] with a given list of families.
    ///
    /// # Errors
    /// What the store says.
    pub async fn start_with(
        families: Families,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: RuntimeOptions,
    ) -> Result<Repository, StoreError> {
        let numbers = Arc::new(NumberMill::open(store.clone()).await?);
        let arbiters: Vec<Arbiter> = (0..options.arbiters.max(1)).map(|_| Arbiter::new()).collect();
        let admission = Arc::new(Semaphore::new(options.permits));
        let interrupted = Remainder::next_entry(&*store, View::Latest, None)?.is_some();
        let remains = Arc::new(Remains::new(interrupted));
        let steps = RwLock::default();
        let shared = Arc::new(Shared { store, clock, numbers, options, admission, steps, remains: remains.clone() });
        let handles = arbiters.iter().map(Arbiter::handle).collect();
        let registry = Arc::new(Registry::new(shared, handles));
        // There is at least one, and none has ended.
        if let Some(arbiter) = arbiters.first() {
            arbiter.spawn(Carrier::new(&registry, families).run(remains));
        }
        Ok(Repository { reader: Reader { registry }, arbiters: Arc::new(arbiters), families })
    }

    /// Makes the root folders that are missing.
    ///
    /// # Errors
    /// What the store says.
    pub async fn make_roots(&self, databases: &[DatabaseId]) -> Result<()> {
        let now_ms = self.clock().now_ms();
        let who = Who::system();
        let shared = self.registry.shared().clone();
        let mut context = crate::command::Context::new(now_ms, &who, &*shared.store, &*shared.numbers);
        for database in databases {
            let loid = folder::root(*database);
            if self.record(loid)?.is_some() {
                continue;
            }
            let record = Record::new(loid, "", folder::TYPE_NAME, FamilyKind::Folder, &who.user, now_ms);
            context.create(&record, &Attributes::none(loid)).map_err(refusal)?;
        }
        let changes = context.into_noted().changes;
        if changes.is_empty() {
            return Ok(());
        }
        self.commit(|set| set.changes = changes).await
    }

    /// Commits rows that belong to no container, such as users and sessions.
    ///
    /// # Errors
    /// What the store says.
    pub async fn commit(&self, fill: impl FnOnce(&mut ChangeSet)) -> Result<()> {
        let store = &self.registry.shared().store;
        let (sender, receiver) = oneshot::channel();
        let mut set = ChangeSet::fence(store.epoch(), move |outcome| {
            // The caller may have gone; the change stands all the same.
            let _ = sender.send(outcome);
        });
        set.span = tracing::Span::current();
        fill(&mut set);
        let decided = match store.submit(set) {
            // Dropped unanswered by a store that has broken down.
            Ok(_) => receiver.await.unwrap_or_else(|_| Err(StoreError::Unknown("the store broke down".to_owned()))),
            Err(refused) => Err(refused.why),
        };
        decided.map(drop).map_err(|error| store_failure(&error))
    }

    /// Carries out a command on a container; resolves when the change is on disk.
    ///
    /// # Errors
    /// What the command refuses; `Overloaded`; `ObjectNotFound`; what the store says.
    pub async fn execute<C: Command>(
        &self,
        container: Loid,
        command: C,
        request: Request,
    ) -> Result<Done<C::Reply, <C::Family as Family>::State>> {
        let step = request.once.as_ref().map(Once::next_step);
        if let Some(reply) = kept_outcome(step.as_ref(), C::NAME)? {
            return Ok(Done { reply, view: self.view::<C::Family>(container).await? });
        }
        let handle = self.registry.get::<C::Family>(container)?;
        let answer = handle.execute(self.registry.shared(), command, request, step)?;
        drop(handle);
        // Dropped unanswered by a store that has broken down.
        answer.await.unwrap_or_else(|_| Err(unknown()))
    }

    /// Carries out a command on several containers at once; resolves when the change is on disk.
    ///
    /// # Errors
    /// As [`Repository::execute`].
    pub async fn joint<J: Joint>(&self, joint: J, request: Request) -> Result<J::Reply> {
        let step = request.once.as_ref().map(Once::next_step);
        if let Some(reply) = kept_outcome(step.as_ref(), J::NAME)? {
            return Ok(reply);
        }
        let shared = self.registry.shared().clone();
        let permit = admit(&shared)?;
        let (sender, receiver) = oneshot::channel();
        let first = joint.wants().first().copied().unwrap_or(folder::root(DatabaseId::MAIN));
        let top = joint.top();
        let (families, registry) = (self.families, self.registry.clone());
        let find = move |loid| find(families, &registry, loid);
        // On an arbiter of its own accord: it runs to its end even if the caller goes away.
        let under_way = request.once.as_ref().and_then(|once| once.under_way());
        let run = run_joint(shared.clone(), find, joint, request, step, Answer::new(sender, permit, under_way));
        if !self.registry.arbiter(first).spawn(run) {
            return Err(overloaded("The repository is shutting down"));
        }
        // As above.
        let reply = receiver.await.unwrap_or_else(|_| Err(unknown()))?;
        if let Some(top) = top
            && let Err(error) = shared.remains.finished(&*shared.store, top).await
        {
            // It is decided, and will be done.
            tracing::info!(%top, error = error.message, "a change of a folder is answered before all below it is done");
        }
        Ok(reply)
    }

    /// A handle that reads only.
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// The store: who has it can change rows past all rules.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.registry.shared().store
    }

    /// How the runtime is configured.
    pub fn options(&self) -> &RuntimeOptions {
        &self.registry.shared().options
    }

    /// Lets idle containers go; to be called every [`RuntimeOptions::sweep_seconds`]. Returns how many.
    pub fn sweep(&self) -> usize {
        self.registry.sweep()
    }

    /// How many containers are in memory.
    pub fn containers(&self) -> usize {
        self.registry.len()
    }

    /// The most instances of one container that were ever loaded at once; anything but 0 and 1 is a fault.
    pub fn most_instances(&self) -> usize {
        self.registry.most_instances()
    }

    /// Refuses further work, waits for what was admitted, and stops the arbiters. The store is closed by whoever opened it.
    pub async fn shut_down(&self) {
        let shared = self.registry.shared();
        let permits = u32::try_from(shared.options.permits).unwrap_or(u32::MAX);
        // All permits back: nothing is under way. The semaphore is never closed before, so this can't fail.
        let all = shared.admission.acquire_many(permits).await;
        shared.admission.close();
        drop(all);
        // Nothing is admitted any more, so nothing goes on.
        shared.remains.close();
        shared.store.barrier().await;
        self.registry.let_go_of_all();
        for arbiter in self.arbiters.iter() {
            arbiter.stop();
        }
    }
}

impl Reader {
    /// A container as it is on disk, loading it if need be.
    ///
    /// # Errors
    /// `ObjectNotFound`, also while it lies in the recycle bin; `InvalidType`; that it can't be loaded.
    pub async fn view<F: Family>(&self, container: Loid) -> Result<Arc<Published<F::State>>> {
        let view = self.any_view::<F>(container).await?;
        let record = &crate::family::State::object(&view.state).record;
        if record.is_discarded() || self.is_leaving(record)? {
            return Err(Error::not_found(container));
        }
        Ok(view)
    }

    /// A container as it is on disk, in the recycle bin or not; see [`Reader::view`].
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType`; that it can't be loaded.
    pub async fn any_view<F: Family>(&self, container: Loid) -> Result<Arc<Published<F::State>>> {
        let now_ms = self.clock().steady_ms();
        self.registry.get::<F>(container)?.view(container, now_ms).await
    }

    /// A live container as it is on disk, if it is in memory; see [`Reader::view`].
    pub fn loaded<F: Family>(&self, container: Loid) -> Option<Arc<Published<F::State>>> {
        let view = self.registry.loaded::<F>(container)?;
        let record = &crate::family::State::object(&view.state).record;
        // What can't be found out is found out by `view`.
        let is_there = !record.is_discarded() && !self.is_leaving(record).unwrap_or(true);
        is_there.then_some(view)
    }

    /// Whether the object is in memory as a container of that family.
    pub fn is_in_memory<F: Family>(&self, container: Loid) -> bool {
        self.registry.kind_of(container) == Some(F::KIND)
    }

    /// The record of a live object, as it is on disk.
    ///
    /// # Errors
    /// What the store says.
    pub fn record(&self, loid: Loid) -> Result<Option<Record>> {
        let found = self.steady(|| self.row(Table::Objects, &loid.to_key()))?;
        Ok(found.and_then(|(record, standing)| (!matches!(standing, Standing::Leaving(_))).then_some(record)))
    }

    /// A record, and how it stood while it was so: of one that changes between the two looks neither is worth anything.
    fn steady(&self, read: impl Fn() -> Result<Option<Record>>) -> Result<Option<(Record, Standing)>> {
        loop {
            // Before the record is read: what is under way may be done by the time that its standing is looked at.
            let under_way = self.registry.shared().remains.are_under_way();
            let Some(record) = read()? else { return Ok(None) };
            if !under_way {
                return Ok(Some((record, Standing::Settled)));
            }
            let stands = standing(self.look(), View::Committed, &record).map_err(|error| store_failure(&error))?;
            if read()?.as_ref() == Some(&record) {
                return Ok(Some((record, stands)));
            }
        }
    }

    /// Whether an object that is live as its record has it goes along with a folder that is discarded or destroyed: then it is not
    /// to be found, like the folder.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_leaving(&self, record: &Record) -> Result<bool> {
        Ok(matches!(self.standing(record)?, Standing::Leaving(_)))
    }

    fn standing(&self, record: &Record) -> Result<Standing> {
        if !self.registry.shared().remains.are_under_way() {
            return Ok(Standing::Settled);
        }
        standing(self.look(), View::Committed, record).map_err(|error| store_failure(&error))
    }

    /// The record of an object, live or discarded.
    ///
    /// # Errors
    /// What the store says.
    pub fn any_record(&self, loid: Loid) -> Result<Option<Record>> {
        any_record(self.look(), View::Committed, loid).map_err(|error| store_failure(&error))
    }

    /// The attribute texts of an object.
    ///
    /// # Errors
    /// What the store says.
    pub fn attributes(&self, loid: Loid) -> Result<Attributes> {
        Ok(self.row(Table::Attributes, &loid.to_key())?.unwrap_or_else(|| Attributes::none(loid)))
    }

    /// A row as it is on disk.
    ///
    /// # Errors
    /// What the store says, or that the row can't be understood.
    pub fn row<R: Row>(&self, table: Table, key: &[u8]) -> Result<Option<R>> {
        let read = || match self.look().get(View::Committed, table, key)? {
            Some(value) => Ok(Some(decode_value(R::FORMAT, &value)?)),
            None => Ok(None),
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// All rows of a table, by key; for tables that are small.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn rows<R: Row>(&self, table: Table) -> Result<Vec<R>> {
        self.rows_within(table, &Range::prefix(&[]), usize::MAX, false)
    }

    /// Rows of a part of a table, by key: the first ones, or backwards the last ones, `limit` at most.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn rows_within<R: Row>(&self, table: Table, range: &Range, limit: usize, backwards: bool) -> Result<Vec<R>> {
        let read = || {
            let rows = self.look().scan(View::Committed, table, range, limit, backwards)?;
            rows.iter().map(|(_, value)| Ok(decode_value(R::FORMAT, value)?)).collect::<Result<Vec<R>, StoreError>>()
        };
        read().map_err(|error: StoreError| store_failure(&error))
    }

    /// The object that a source names: a live one, or one of its versions. Paths are looked up in `database`.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, what the store says.
    pub fn resolve(&self, source: &Source, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        self.record(loid.object())?.ok_or_else(|| Error::not_found(source))
    }

    /// As [`Reader::resolve`], for objects in the recycle bin too.
    ///
    /// # Errors
    /// As [`Reader::resolve`].
    pub fn resolve_any(&self, source: &Source, database: DatabaseId) -> Result<Record> {
        let loid = self.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.check_version(loid, source)?;
        let found = self.steady(|| self.any_record(loid.object()))?;
        let (record, standing) = found.ok_or_else(|| Error::not_found(source))?;
        let Standing::Leaving(entry) = standing else { return Ok(record) };
        // What is destroyed is gone from the bin, too. Once that is done, the record is.
        let is_destroyed = Remainder::is_left(self.look(), View::Committed, entry, Task::Destroy);
        let is_there =
            !is_destroyed.map_err(|error| store_failure(&error))? && self.any_record(loid.object())?.is_some();
        if is_there { Ok(record) } else { Err(Error::not_found(source)) }
    }

    /// Refuses the loid of a version that is not there.
    ///
    /// # Errors
    /// `ObjectNotFound`, what the store says.
    pub fn check_version(&self, loid: Loid, source: &Source) -> Result<()> {
        if loid.version == 0 || self.row::<Version>(Table::Versions, &loid.to_key())?.is_some() {
            return Ok(());
        }
        Err(Error::not_found(source))
    }

    /// The loid that a source names, whether or not there is such an object.
    ///
    /// # Errors
    /// `InvalidPath`, what the store says.
    pub fn loid_of(&self, source: &Source, database: DatabaseId) -> Result<Option<Loid>> {
        let found = match source {
            Source::Loid(loid) => Ok(Some(*loid)),
            Source::Uuid(uuid) => self
                .look()
                .get(View::Committed, Table::Uuids, uuid.0.as_bytes())
                .map(|value| value.and_then(|value| Loid::from_key(&value))),
            Source::Path(path) => {
                walk(self.look(), View::Committed, folder::root(database), check_path(path, self.path_limits())?)
            }
        };
        found.map_err(|error| store_failure(&error))
    }

    /// How long and how deep paths may be.
    pub fn path_limits(&self) -> PathLimits {
        self.registry.shared().options.paths
    }

    /// The path of an object; `None` for one that lies deeper than any configuration allows.
    ///
    /// # Errors
    /// What the store says.
    pub fn path_of(&self, record: &Record) -> Result<Option<String>> {
        folder::path_of(self.look(), View::Committed, record).map_err(|error| store_failure(&error))
    }

    /// The rows underneath, for listings. Use [`View::Committed`].
    pub fn look(&self) -> &dyn Look {
        // `Store: Look`.
        &*self.registry.shared().store
    }

    /// How the store is.
    pub fn health(&self) -> Health {
        self.registry.shared().store.health()
    }

    /// What waits for the disk.
    pub fn backlog(&self) -> Backlog {
        self.registry.shared().store.backlog()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.registry.shared().clock
    }
}

/// Finds the container of an object, pending ones included.
pub(crate) fn find(families: Families, registry: &Registry, loid: Loid) -> Result<Option<Arc<dyn AnyHandle>>> {
    let store = &registry.shared().store;
    let Some(record) = any_record(&**store, View::Latest, loid).map_err(|error| store_failure(&error))? else {
        return Ok(None);
    };
    let family = families.get(record.family).ok_or_else(|| {
        let message = format!("`{loid}` is a {}, which can't be changed yet.", record.family.name());
        Error::new(Code::NotImplemented, message).with_source(loid)
    })?;
    Ok(Some(family.handle(registry, loid)?))
}

/// What an earlier try of the call has left of this step.
fn kept_outcome<R: DeserializeOwned>(step: Option<&Step>, command: &str) -> Result<Option<R>> {
    step.map_or(Ok(None), |step| step.kept(command))
}

fn any_record(look: &dyn Look, view: View, loid: Loid) -> Result<Option<Record>, StoreError> {
    let key = loid.to_key();
    let value = match look.get(view, Table::Objects, &key)? {
        Some(value) => Some(value),
        None => look.get(view, Table::Recycled, &key)?,
    };
    Ok(value.map(|value| decode_value(Record::FORMAT, &value)).transpose()?)
}
