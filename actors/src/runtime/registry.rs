//! The map of containers in memory.
//!
//! # The race that [`RegistryEntry::Leaving`] resolves
//!
//! 1. A container is idle and no permit is out: the sweep takes it from the map, and with the last
//!    address its actor begins to stop.
//! 2. A call for the same container arrives before the actor has stopped, finds no entry, and
//!    starts a second actor.
//! 3. Without further care two instances would exist for a moment.
//!
//! So the sweep leaves an [`RegistryEntry::Leaving`] in the map, which resolves when the old actor
//! is dropped. The new actor gets it, and loads only after that.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use actix::{Addr, ArbiterHandle, Supervisor};
use foldhash::HashMap;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::cell::{ContainerView, ViewCell};
use super::container::{Container, ExecuteJob, WakeContainer};
use super::job::{ChangeRequest, CommandAnswer, Job, Permit, TypedJob};
use super::lend::TurnRequest;
use super::supervise::{Census, InstanceMarker};
use super::turns::{BoxedTurn, TypedTurn};
use super::{LargeChangePermit, RuntimeServices, overloaded_error, store_failure};
use crate::families::Families;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::family::Family;
use stet_domain::id::Loid;
use stet_domain::object::{FamilyKind, Record};
use stet_domain::store::ReadLevel;

/// The sender to a container's actor.
trait Mailbox<F: Family>: Send + Sync {
    fn execute(&self, job: Box<dyn Job<F>>);
    fn lend(&self, lend: TurnRequest<F>);
    fn wake(&self);
}

impl<F: Family> Mailbox<F> for Addr<Container<F>> {
    fn execute(&self, job: Box<dyn Job<F>>) {
        self.do_send(ExecuteJob(job));
    }

    fn lend(&self, lend: TurnRequest<F>) {
        self.do_send(lend);
    }

    fn wake(&self) {
        self.do_send(WakeContainer);
    }
}

/// The handle to a container in memory.
pub(crate) struct ContainerHandle<F: Family> {
    /// The mailbox hides the actor from callers: its code is compiled here once, and not again in
    /// each crate that has commands.
    mailbox: Box<dyn Mailbox<F>>,
    cell: Arc<ViewCell<F>>,
    admission: Arc<Semaphore>,
    /// The time of the last use, by the steady clock.
    last_used: AtomicU64,
    gone: watch::Receiver<()>,
}

/// Admits a call to the repository as a whole.
pub(crate) fn admit(shared: &RuntimeServices) -> Result<OwnedSemaphorePermit> {
    shared.admission.clone().try_acquire_owned().map_err(|_| overload_error("repository"))
}

fn overload_error(what: &'static str) -> Error {
    metrics::counter!("stet_overloaded_total", "what" => what).increment(1);
    overloaded_error(&format!("Too many calls for the {what} are in progress"))
}

/// A [`ContainerHandle`] of any family.
pub(crate) trait AnyHandle: Send + Sync {
    fn last_used(&self) -> u64;
    /// Records a use at this time of the steady clock.
    fn touch(&self, now_ms: u64);
    /// Returns the bytes that the container takes in memory.
    fn weight(&self) -> u64;
    fn gone(&self) -> watch::Receiver<()>;
    fn kind(&self) -> FamilyKind;
    fn is_loaded(&self) -> bool;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// Takes the container's turn. The caller has been admitted overall.
    fn turn(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<BoxedTurn>> + Send>>;
}

impl<F: Family> AnyHandle for ContainerHandle<F> {
    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    fn touch(&self, now_ms: u64) {
        self.last_used.store(now_ms, Ordering::Relaxed);
    }

    fn weight(&self) -> u64 {
        self.cell.weight()
    }

    fn gone(&self) -> watch::Receiver<()> {
        self.gone.clone()
    }

    fn kind(&self) -> FamilyKind {
        F::KIND
    }

    fn is_loaded(&self) -> bool {
        self.cell.view().is_some()
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn turn(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<BoxedTurn>> + Send>> {
        Box::pin(async move {
            let permit = self.permit(None)?;
            let (sender, receiver) = oneshot::channel();
            self.mailbox.lend(TurnRequest { sender, permit });
            let lent = receiver.await.map_err(|_| overloaded_error("The container is shutting down"))??;
            Ok(Box::new(TypedTurn::new(lent)) as BoxedTurn)
        })
    }
}

impl<F: Family> ContainerHandle<F> {
    fn permit(self: &Arc<Self>, overall: Option<OwnedSemaphorePermit>) -> Result<Permit> {
        let container = self.admission.clone().try_acquire_owned().map_err(|_| overload_error("container"))?;
        Ok(Permit { _handle: self.clone(), _container: container, _overall: overall, _under_way: None, turn: None })
    }

    /// Admits a command and puts it into the mailbox, with its turn if it is known to be large. The
    /// returned receiver resolves when the change is on disk; dropping it does not cancel the
    /// command.
    pub fn execute<C: Command<Family = F>>(
        self: &Arc<Self>,
        shared: &RuntimeServices,
        command: Arc<C>,
        request: ChangeRequest,
        turn: Option<LargeChangePermit>,
    ) -> Result<oneshot::Receiver<CommandAnswer<C>>> {
        let mut permit = self.permit(Some(admit(shared)?))?;
        permit.turn = turn;
        permit._under_way = request.step.as_ref().and_then(|step| step.under_way());
        let (sender, receiver) = oneshot::channel();
        let job: Box<dyn Job<F>> = Box::new(TypedJob { command, request, reply: None, sender, permit });
        self.mailbox.execute(job);
        Ok(receiver)
    }

    /// Returns the committed state of the container.
    pub async fn view(&self, loid: Loid, now_ms: u64) -> Result<Arc<ContainerView<F::State>>> {
        if let Some(view) = self.cell.view() {
            return Ok(view);
        }
        // Readers send nothing to the mailbox, so they would never notice that a quarantine is
        // over.
        if self.cell.try_again(now_ms) {
            self.mailbox.wake();
        }
        self.cell.wait().await.map_err(|failure| failure.unwrap_or_else(|| Error::not_found(loid)))
    }
}

fn wrong_family(loid: Loid, kind: FamilyKind, wanted: FamilyKind) -> Error {
    Error::new(Code::InvalidType, format!("`{loid}` is a {}, not a {}.", kind.name(), wanted.name())).with_source(loid)
}

/// The number of new containers after which the registry looks again for some to evict, while they
/// take too much memory.
const AT_A_TIME: usize = 16;

enum RegistryEntry {
    Present(Arc<dyn AnyHandle>),
    Leaving(watch::Receiver<()>),
}

impl RegistryEntry {
    /// Returns the time of the last use, by the steady clock, and the bytes in memory; `None` for a
    /// leaving container.
    fn use_and_weight(&self) -> Option<(u64, u64)> {
        match self {
            RegistryEntry::Present(handle) => Some((handle.last_used(), handle.weight())),
            RegistryEntry::Leaving(_) => None,
        }
    }
}

/// The map of all containers in memory.
pub(crate) struct Registry {
    families: Families,
    shared: Arc<RuntimeServices>,
    arbiters: Vec<ArbiterHandle>,
    entries: Mutex<HashMap<Loid, RegistryEntry>>,
    /// Containers added since the registry last checked their number.
    added: AtomicUsize,
    census: Arc<Census>,
}

impl Registry {
    pub fn new(families: Families, shared: Arc<RuntimeServices>, arbiters: Vec<ArbiterHandle>) -> Registry {
        Registry {
            families,
            shared,
            arbiters,
            entries: Mutex::default(),
            added: AtomicUsize::new(0),
            census: Arc::default(),
        }
    }

    pub fn shared(&self) -> &Arc<RuntimeServices> {
        &self.shared
    }

    /// Returns the arbiter that runs a container.
    pub fn arbiter(&self, loid: Loid) -> &ArbiterHandle {
        // Numbers are consecutive, so they spread evenly.
        &self.arbiters[(loid.number % self.arbiters.len() as u64) as usize]
    }

    /// Finds or starts the container. Only its loading shows whether the object exists.
    ///
    /// # Errors
    /// `InvalidType` if it is in memory as a container of another family, or if the family is not
    /// registered.
    pub fn get<F: Family>(&self, loid: Loid) -> Result<Arc<ContainerHandle<F>>> {
        let handle = self.any(F::KIND, loid)?;
        handle.into_any().downcast().map_err(|_| {
            // The kinds are equal, so their names would not explain the error.
            let message = format!("`{loid}` is a {}, but not of the command's family.", F::KIND.name());
            Error::new(Code::InvalidType, message).with_source(loid)
        })
    }

    /// Does the work of [`Registry::get`] for a family known by its kind.
    pub fn any(&self, kind: FamilyKind, loid: Loid) -> Result<Arc<dyn AnyHandle>> {
        let mut entries = self.entries.lock();
        let now = self.shared.clock.steady_ms();
        let predecessor = match entries.get(&loid) {
            Some(RegistryEntry::Present(handle)) if handle.kind() == kind => {
                handle.touch(now);
                return Ok(handle.clone());
            }
            Some(RegistryEntry::Present(handle)) => return Err(wrong_family(loid, handle.kind(), kind)),
            Some(RegistryEntry::Leaving(gone)) => Some(gone.clone()),
            None => None,
        };
        let family = self.families.get(kind).ok_or_else(|| {
            let message =
                format!("`{loid}` is a {}, a family that this version of stet does not support.", kind.name());
            Error::new(Code::InvalidType, message).with_source(loid)
        })?;
        let handle = family.start(self, loid, predecessor, now);
        entries.insert(loid, RegistryEntry::Present(handle.clone()));
        metrics::gauge!("stet_containers", "family" => kind.name()).increment(1);
        drop(entries);
        self.make_room();
        Ok(handle)
    }

    /// Finds or starts the container of an object, whatever its family. Returns `None` if the
    /// object does not exist, not even in pending changes.
    pub fn find(&self, loid: Loid) -> Result<Option<Arc<dyn AnyHandle>>> {
        let record =
            Record::find(&*self.shared.store, ReadLevel::Latest, loid).map_err(|error| store_failure(&error))?;
        record.map(|record| self.any(record.family, loid)).transpose()
    }

    /// Starts a container; the caller adds it to the map.
    pub fn start<F: Family>(
        &self,
        loid: Loid,
        predecessor: Option<watch::Receiver<()>>,
        now_ms: u64,
    ) -> Arc<dyn AnyHandle> {
        let (sender, gone) = watch::channel(());
        let alive = InstanceMarker::new(loid, self.census.clone(), sender);
        let cell = Arc::new(ViewCell::new(self.shared.memory.clone()));
        let (shared, shown) = (self.shared.clone(), cell.clone());
        let addr = Supervisor::start_in_arbiter(self.arbiter(loid), move |_| {
            Container::<F>::new(loid, shared, shown, predecessor, alive)
        });
        let admission = Arc::new(Semaphore::new(self.shared.options.permits_per_container));
        Arc::new(ContainerHandle { mailbox: Box::new(addr), cell, admission, last_used: AtomicU64::new(now_ms), gone })
    }

    /// Counts a new container, and at times evicts surplus ones. Each eviction looks at all
    /// containers, so it does not run every time. The limits may be exceeded for a while by an
    /// eighth of the containers, or by the bytes of [`AT_A_TIME`].
    fn make_room(&self) {
        let (most, most_bytes) = (self.shared.options.containers.max(8), self.shared.memory.limit());
        // Relaxed: one check more or less does no harm.
        let takes_too_much = self.shared.memory.loaded() > most_bytes;
        let waits_for = if takes_too_much { AT_A_TIME.min(most / 8) } else { most / 8 };
        if self.added.fetch_add(1, Ordering::Relaxed) < waits_for {
            return;
        }
        self.added.store(0, Ordering::Relaxed);
        self.evict_unused(0);
    }

    /// Evicts the least recently used containers without a permit, as far as there are too many
    /// containers, or too many bytes to read `for_bytes` more.
    pub fn evict_unused(&self, for_bytes: u64) {
        let (most, most_bytes) = (self.shared.options.containers.max(8), self.shared.memory.limit());
        let most_bytes = most_bytes.saturating_sub(for_bytes);
        let mut used: Vec<_> = self.entries.lock().values().filter_map(RegistryEntry::use_and_weight).collect();
        let surplus = used.len().saturating_sub(most);
        let bytes: u64 = used.iter().map(|(_, weight)| weight).sum();
        // Frees some room to spare, or the next containers would exceed the limit again.
        let mut surplus_bytes = if bytes > most_bytes { bytes - (most_bytes - most_bytes / 8) } else { 0 };
        if surplus == 0 && surplus_bytes == 0 {
            return;
        }
        used.sort_unstable();
        let leave = used.iter().enumerate().take_while(|(place, (_, weight))| {
            let leaves = *place < surplus || surplus_bytes > 0;
            surplus_bytes = surplus_bytes.saturating_sub(*weight);
            leaves
        });
        if let Some((_, (last, _))) = leave.last() {
            self.evict_matching(|handle| handle.last_used() <= *last);
        }
    }

    /// Returns the view of a container in memory, if it has been loaded.
    pub fn loaded<F: Family>(&self, loid: Loid) -> Option<Arc<ContainerView<F::State>>> {
        let entries = self.entries.lock();
        let RegistryEntry::Present(handle) = entries.get(&loid)? else { return None };
        let handle = handle.clone().into_any().downcast::<ContainerHandle<F>>().ok()?;
        handle.last_used.store(self.shared.clock.steady_ms(), Ordering::Relaxed);
        handle.cell.view()
    }

    /// Returns the family of a container in memory whose state has been loaded.
    pub fn kind_of(&self, loid: Loid) -> Option<FamilyKind> {
        match self.entries.lock().get(&loid)? {
            RegistryEntry::Present(handle) => handle.is_loaded().then(|| handle.kind()),
            RegistryEntry::Leaving(_) => None,
        }
    }

    /// Evicts containers that are idle and have no permit out. Returns their number.
    pub fn sweep(&self) -> usize {
        let now = self.shared.clock.steady_ms();
        let idle = self.shared.options.idle().as_millis() as u64;
        metrics::gauge!("stet_container_bytes").set(self.shared.memory.loaded() as f64);
        // Containers in use may have grown beyond their room since they were read.
        self.evict_unused(0);
        self.evict_matching(|handle| handle.last_used() + idle <= now)
    }

    /// Evicts the containers of these objects that have no permit out. Removes from the list those
    /// that have left memory or are in use.
    pub fn evict_objects(&self, loids: &mut Vec<Loid>) {
        let mut entries = self.entries.lock();
        loids.retain(|loid| {
            let Some(entry) = entries.get_mut(loid) else { return false };
            match entry {
                // The only reference is that of the map. A permit would hold another.
                RegistryEntry::Present(handle) if Arc::strong_count(handle) == 1 => {
                    let gone = handle.gone();
                    metrics::gauge!("stet_containers", "family" => handle.kind().name()).decrement(1);
                    *entry = RegistryEntry::Leaving(gone);
                    true
                }
                // In use; it leaves when it is idle.
                RegistryEntry::Present(_) => false,
                RegistryEntry::Leaving(gone) if gone.has_changed().is_ok() => true,
                RegistryEntry::Leaving(_) => {
                    entries.remove(loid);
                    false
                }
            }
        });
    }

    /// Evicts all containers that have no permit out.
    pub fn evict_all_unused(&self) -> usize {
        self.evict_matching(|_| true)
    }

    fn evict_matching(&self, which: impl Fn(&dyn AnyHandle) -> bool) -> usize {
        let mut leaving = 0;
        self.entries.lock().retain(|_, entry| {
            match entry {
                // One reference: this one. A permit holds another, so nothing is under way. None
                // can be taken during this, since that needs the lock.
                RegistryEntry::Present(handle) if Arc::strong_count(handle) == 1 && which(&**handle) => {
                    let gone = handle.gone();
                    metrics::gauge!("stet_containers", "family" => handle.kind().name()).decrement(1);
                    *entry = RegistryEntry::Leaving(gone);
                    leaving += 1;
                    true
                }
                RegistryEntry::Present(_) => true,
                // The sender is dropped with the actor.
                RegistryEntry::Leaving(gone) => gone.has_changed().is_ok(),
            }
        });
        leaving
    }

    /// Returns the greatest number of instances of one container that were ever loaded at once;
    /// more than 1 is a fault.
    pub fn most_instances(&self) -> usize {
        self.census.most()
    }

    /// Returns the number of containers in memory, including leaving ones.
    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }
}
