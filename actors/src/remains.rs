//! The background worker for the remaining work of subtree changes
//! ([`stet_domain::object::Remainder`]). It works step by step, with the entries in turn. After a
//! start it resumes the changes that a crash has interrupted.
//!
//! Each step is a joint command of bounded size, and the next one begins when it is on disk. Other
//! callers' commands can therefore run in between, and at most one step is pending. The containers
//! of changed objects are evicted from memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::runtime::{
    ChangeRequest, JointAnswerSender, Registry, RemainderTracker, run_joint, store_failure, unknown_outcome_error,
};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::joint::JointCommand;
use stet_domain::lifecycle::{StepCommand, SubtreeStep};
use stet_domain::object::Remainder;
use stet_domain::store::{ReadLevel, Row, RowPlace, StoreError};

/// The worker, which runs in its own task as long as the repository exists.
pub(crate) struct RemainderWorker {
    registry: Weak<Registry>,
    /// The entries with remaining work, as far as known.
    entries: BTreeSet<Loid>,
    /// The entry whose step was the last one.
    last: Option<Loid>,
    /// Entry → key from which the search for its next step begins.
    places: BTreeMap<Loid, RowPlace>,
    /// The entries that can't continue for now.
    stuck: BTreeMap<Loid, StuckEntry>,
    /// The objects whose containers are being evicted from memory.
    leaving: Vec<Loid>,
}

#[derive(Clone, Copy)]
struct StuckEntry {
    until: Option<u64>,
    failures: u32,
}

/// The result of a step for an entry.
enum StepResult {
    Done,
    /// The step has to wait for other entries.
    Blocked,
    Failed(Error),
    /// The repository is shutting down.
    Over,
}

impl RemainderWorker {
    pub fn new(registry: &Arc<Registry>) -> RemainderWorker {
        RemainderWorker {
            registry: Arc::downgrade(registry),
            entries: BTreeSet::new(),
            last: None,
            places: BTreeMap::new(),
            stuck: BTreeMap::new(),
            leaving: Vec::new(),
        }
    }

    /// Works until the repository shuts down or is dropped.
    pub async fn run(mut self, remains: Arc<RemainderTracker>) {
        while self.go_on(&remains).await {}
        remains.close();
    }

    async fn go_on(&mut self, remains: &RemainderTracker) -> bool {
        let Some(registry) = self.registry.upgrade() else { return false };
        let entry = match self.next_entry(&registry, remains) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                registry.evict_objects(&mut self.leaving);
                return self.rest(registry, remains).await;
            }
            Err(error) => {
                tracing::error!(%error, "cannot read the remaining work of folder changes");
                let clock = registry.shared().clock.clone();
                drop(registry);
                clock.sleep(Duration::from_secs(1)).await;
                return true;
            }
        };
        self.last = Some(entry);
        match self.step(&registry, entry).await {
            StepResult::Over => return false,
            StepResult::Done => {
                self.stuck.retain(|_, stuck| stuck.until.is_some());
                self.stuck.remove(&entry);
                remains.goes_on(entry);
                // An error is found again at the next step.
                if self.is_left(&registry, entry).is_ok_and(|left| !left) {
                    self.entries.remove(&entry);
                    self.places.remove(&entry);
                    remains.ended(entry);
                }
            }
            StepResult::Blocked => {
                self.stuck.insert(entry, StuckEntry { until: None, failures: 0 });
            }
            StepResult::Failed(error) => {
                let shared = registry.shared();
                let failures = self.stuck.get(&entry).map_or(0, |stuck| stuck.failures).saturating_add(1);
                let wait = shared.options.backoff_ms(failures);
                let until = Some(shared.clock.now_ms() + wait);
                tracing::warn!(
                    %entry, error = error.message, failures,
                    "cannot continue the change of a folder; trying again"
                );
                self.stuck.insert(entry, StuckEntry { until, failures });
                // An overload is temporary, and is retried without a report.
                if error.code != Code::Overloaded {
                    remains.sticks(entry, error);
                }
            }
        }
        true
    }

    /// Returns the next entry: the entries take turns in the order of their loids.
    fn next_entry(&mut self, registry: &Registry, remains: &RemainderTracker) -> Result<Option<Loid>, StoreError> {
        if remains.take_news()
            && let Err(error) = self.find_entries(registry)
        {
            remains.wake();
            return Err(error);
        }
        let now = registry.shared().clock.now_ms();
        let may =
            |entry: &&Loid| self.stuck.get(*entry).is_none_or(|stuck| stuck.until.is_some_and(|until| until <= now));
        let behind = self.last.and_then(|last| self.entries.range((Excluded(last), Unbounded)).find(may));
        Ok(behind.or_else(|| self.entries.iter().find(may)).copied())
    }

    /// Reads the list of entries. This is not done at each step, since finished work leaves deleted
    /// rows in memory, which the search has to pass.
    fn find_entries(&mut self, registry: &Registry) -> Result<(), StoreError> {
        let mut last = None;
        while let Some(entry) = Remainder::next_entry(&*registry.shared().store, ReadLevel::Latest, last)? {
            self.entries.insert(entry);
            last = Some(entry);
        }
        Ok(())
    }

    /// Reports whether an entry has remaining work.
    fn is_left(&self, registry: &Registry, entry: Loid) -> Result<bool, StoreError> {
        let store = &*registry.shared().store;
        if let Some(place) = self.places.get(&entry)
            && !Remainder::of(store, ReadLevel::Latest, entry, Some(&place.key[..]), 1)?.is_empty()
        {
            return Ok(true);
        }
        Ok(!Remainder::of(store, ReadLevel::Latest, entry, None, 1)?.is_empty())
    }

    /// Waits until an entry can continue.
    async fn rest(&mut self, registry: Arc<Registry>, remains: &RemainderTracker) -> bool {
        let shared = registry.shared().clone();
        {
            let _alone = shared.steps.write();
            let none = |view| Remainder::next_entry(&*shared.store, view, None).is_ok_and(|entry| entry.is_none());
            if none(ReadLevel::Latest) && none(ReadLevel::Committed) {
                remains.none_left();
                self.stuck.clear();
            }
        }
        let now = shared.clock.now_ms();
        let until = self.stuck.values().filter_map(|stuck| stuck.until).min();
        let sleep = until.map(|until| shared.clock.sleep(Duration::from_millis(until.saturating_sub(now))));
        // While waiting, it must not keep the repository in memory.
        drop((shared, registry));
        match sleep {
            Some(sleep) => tokio::select! {
                () = sleep => {}
                () = remains.woken() => {}
            },
            None => remains.woken().await,
        }
        self.stuck.retain(|_, stuck| stuck.until.is_some());
        self.registry.upgrade().is_some_and(|registry| !registry.shared().admission.is_closed())
    }

    /// Makes one step for an entry.
    async fn step(&mut self, registry: &Arc<Registry>, entry: Loid) -> StepResult {
        let rows = match self.rows(registry, entry) {
            Ok(rows) => rows,
            Err(error) => return StepResult::Failed(store_failure(&error)),
        };
        let Some((command, step)) = StepCommand::with(rows) else { return StepResult::Done };
        let done = match command {
            StepCommand::Gather(command) => self.carry_out(registry, command, &step).await,
            StepCommand::Restore(command) => self.carry_out(registry, command, &step).await,
            StepCommand::Destroy(command) => self.carry_out(registry, command, &step).await,
        };
        match done {
            None => StepResult::Over,
            Some(Err(error)) => StepResult::Failed(error),
            Some(Ok(did_something)) => {
                let changed = step.changed();
                metrics::counter!("stet_subtree_objects_total").increment(changed.len() as u64);
                self.leaving.extend(changed);
                registry.evict_objects(&mut self.leaving);
                if let Some(last) = step.last() {
                    self.places.insert(entry, last.place());
                }
                if did_something { StepResult::Done } else { StepResult::Blocked }
            }
        }
    }

    /// Reads the remainders for the next step of an entry. Objects in folders are discarded before
    /// any other work is done.
    fn rows(&self, registry: &Registry, entry: Loid) -> Result<Vec<Remainder>, StoreError> {
        let shared = registry.shared();
        // Few folders have fewer objects than that, and a step should finish most of its rows.
        let limit = shared.options.objects_per_step.div_ceil(8);
        let rows = |after| Remainder::of(&*shared.store, ReadLevel::Latest, entry, after, limit);
        if let Some(place) = self.places.get(&entry) {
            let further = rows(Some(&place.key[..]))?;
            if further.first().is_some_and(|row| row.task == stet_domain::object::RemainderTask::Gather) {
                return Ok(further);
            }
        }
        rows(None)
    }

    /// Carries out a command; `None` if the repository is shutting down.
    async fn carry_out<J: JointCommand<Reply = bool>>(
        &self,
        registry: &Arc<Registry>,
        joint: J,
        step: &SubtreeStep,
    ) -> Option<Result<bool>> {
        let shared = registry.shared().clone();
        // The worker waits for a permit like any caller.
        let permit = shared.admission.clone().acquire_owned().await.ok()?;
        let who = step.last().map_or_else(CallerIdentity::system, |row| CallerIdentity {
            user: row.user.clone(),
            session: row.session.clone(),
            address: row.address.clone(),
        });
        let (sender, receiver) = oneshot::channel();
        // The command is the repository's own: it needs no work permit, and its steps are bounded.
        let answer = JointAnswerSender::new(sender, permit, None, None);
        run_joint(registry.clone(), Arc::new(joint), ChangeRequest::by(who), answer, true).await;
        // The store drops the sender if it breaks down.
        let answer = receiver.await.unwrap_or_else(|_| Ok(Err(unknown_outcome_error())));
        let done = answer.unwrap_or_else(|_given_back| Err(Error::internal())).and_then(|done| done.typed());
        Some(done.map(|done| done.reply))
    }
}
