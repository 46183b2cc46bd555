//! Carries on what changes of subtrees have left ([`crate::object::Remainder`]): step by step,
//! those of several entries in turns, and after a start those that a crash has interrupted.
//!
//! Each step is a joint command of bounded size, and the next one begins when it is on disk. So
//! commands of others come between, and no more is pending than one step. The containers of the
//! objects that were changed leave memory again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::command::Who;
use crate::error::{Code, Error, Result};
use crate::id::Loid;
use crate::joint::Joint;
use crate::lifecycle::{GoOn, Step};
use crate::object::Remainder;
use crate::runtime::{Answer, Registry, Remains, Request, run_joint, store_failure, unknown};
use crate::store::{Key, Row, StoreError, View};

/// What carries them on, on a task of its own for as long as the repository is there.
pub(crate) struct Carrier {
    registry: Weak<Registry>,
    /// Those for which something is left to be done, as far as is known.
    entries: BTreeSet<Loid>,
    /// The entry that had its turn last.
    last: Option<Loid>,
    /// Entry → where the search for its next step begins.
    places: BTreeMap<Loid, Key>,
    /// Entries that can't go on for now → until when, epoch milliseconds, and after how many
    /// failures; without a time: until another one has gone on.
    stuck: BTreeMap<Loid, Stuck>,
    /// Objects whose containers are leaving memory.
    leaving: Vec<Loid>,
}

#[derive(Clone, Copy)]
struct Stuck {
    until: Option<u64>,
    failures: u32,
}

/// What came of a turn of an entry.
enum Turn {
    Done,
    /// Others must go on first.
    Blocked,
    Failed(Error),
    /// The repository is shutting down.
    Over,
}

impl Carrier {
    pub fn new(registry: &Arc<Registry>) -> Carrier {
        Carrier {
            registry: Arc::downgrade(registry),
            entries: BTreeSet::new(),
            last: None,
            places: BTreeMap::new(),
            stuck: BTreeMap::new(),
            leaving: Vec::new(),
        }
    }

    /// Works until the repository shuts down, or is gone.
    pub async fn run(mut self, remains: Arc<Remains>) {
        while self.go_on(&remains).await {}
        remains.close();
    }

    async fn go_on(&mut self, remains: &Remains) -> bool {
        let Some(registry) = self.registry.upgrade() else { return false };
        let entry = match self.next_entry(&registry, remains) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                registry.let_go_of(&mut self.leaving);
                return self.rest(registry, remains).await;
            }
            Err(error) => {
                tracing::error!(%error, "what is left to be done of changes of folders can't be read");
                let clock = registry.shared().clock.clone();
                drop(registry);
                clock.sleep(Duration::from_secs(1)).await;
                return true;
            }
        };
        self.last = Some(entry);
        match self.step(&registry, entry).await {
            Turn::Over => return false,
            Turn::Done => {
                self.stuck.retain(|_, stuck| stuck.until.is_some());
                self.stuck.remove(&entry);
                remains.goes_on(entry);
                // An error shows again at the next step.
                if self.is_left(&registry, entry).is_ok_and(|left| !left) {
                    self.entries.remove(&entry);
                    self.places.remove(&entry);
                    remains.ended(entry);
                }
            }
            Turn::Blocked => {
                self.stuck.insert(entry, Stuck { until: None, failures: 0 });
            }
            Turn::Failed(error) => {
                let shared = registry.shared();
                let failures = self.stuck.get(&entry).map_or(0, |stuck| stuck.failures).saturating_add(1);
                let wait = shared.options.backoff_ms(failures);
                let until = Some(shared.clock.now_ms() + wait);
                tracing::warn!(%entry, error = error.message, failures, "the change of a folder can't go on for now");
                self.stuck.insert(entry, Stuck { until, failures });
                // What is merely busy is tried again before anybody hears of it.
                if error.code != Code::Overloaded {
                    remains.sticks(entry, error);
                }
            }
        }
        true
    }

    /// The entry whose turn it is: all have theirs in the order of their loids.
    fn next_entry(&mut self, registry: &Registry, remains: &Remains) -> Result<Option<Loid>, StoreError> {
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

    /// Reads which entries there are. Not done at each step: what has been done leaves traces in
    /// memory, which the search passes.
    fn find_entries(&mut self, registry: &Registry) -> Result<(), StoreError> {
        let mut last = None;
        while let Some(entry) = Remainder::next_entry(&*registry.shared().store, View::Latest, last)? {
            self.entries.insert(entry);
            last = Some(entry);
        }
        Ok(())
    }

    /// Whether anything is left to be done for an entry.
    fn is_left(&self, registry: &Registry, entry: Loid) -> Result<bool, StoreError> {
        let store = &*registry.shared().store;
        if let Some(place) = self.places.get(&entry)
            && !Remainder::of(store, View::Latest, entry, Some(&place.key[..]), 1)?.is_empty()
        {
            return Ok(true);
        }
        Ok(!Remainder::of(store, View::Latest, entry, None, 1)?.is_empty())
    }

    /// Nothing can be done for now: waits until something can.
    async fn rest(&mut self, registry: Arc<Registry>, remains: &Remains) -> bool {
        let shared = registry.shared().clone();
        {
            let _alone = shared.steps.write();
            let none = |view| Remainder::next_entry(&*shared.store, view, None).is_ok_and(|entry| entry.is_none());
            if none(View::Latest) && none(View::Committed) {
                remains.none_left();
                self.stuck.clear();
            }
        }
        let now = shared.clock.now_ms();
        let until = self.stuck.values().filter_map(|stuck| stuck.until).min();
        let sleep = until.map(|until| shared.clock.sleep(Duration::from_millis(until.saturating_sub(now))));
        // While it rests it keeps nothing in memory.
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

    /// One step for an entry.
    async fn step(&mut self, registry: &Arc<Registry>, entry: Loid) -> Turn {
        let rows = match self.rows(registry, entry) {
            Ok(rows) => rows,
            Err(error) => return Turn::Failed(store_failure(&error)),
        };
        let Some((command, step)) = GoOn::with(rows) else { return Turn::Done };
        let done = match command {
            GoOn::Gather(command) => self.carry_out(registry, command, &step).await,
            GoOn::Restore(command) => self.carry_out(registry, command, &step).await,
            GoOn::Destroy(command) => self.carry_out(registry, command, &step).await,
        };
        match done {
            None => Turn::Over,
            Some(Err(error)) => Turn::Failed(error),
            Some(Ok(did_something)) => {
                let changed = step.changed();
                metrics::counter!("stet_subtree_objects_total").increment(changed.len() as u64);
                self.leaving.extend(changed);
                registry.let_go_of(&mut self.leaving);
                if let Some(last) = step.last() {
                    self.places.insert(entry, last.place());
                }
                if did_something { Turn::Done } else { Turn::Blocked }
            }
        }
    }

    /// What is to be done next for an entry. What lies in folders goes to the bin before anything
    /// else is done.
    fn rows(&self, registry: &Registry, entry: Loid) -> Result<Vec<Remainder>, StoreError> {
        let shared = registry.shared();
        // Few folders have less in them than that, and a step should be done with most of its rows.
        let limit = shared.options.objects_per_step.div_ceil(8);
        let rows = |after| Remainder::of(&*shared.store, View::Latest, entry, after, limit);
        if let Some(place) = self.places.get(&entry) {
            let further = rows(Some(&place.key[..]))?;
            if further.first().is_some_and(|row| row.task == crate::object::Task::Gather) {
                return Ok(further);
            }
        }
        rows(None)
    }

    /// Carries a command out; `None` when the repository is shutting down.
    async fn carry_out<J: Joint<Reply = bool>>(
        &self,
        registry: &Arc<Registry>,
        joint: J,
        step: &Step,
    ) -> Option<Result<bool>> {
        let shared = registry.shared().clone();
        // Waits its turn among all others.
        let permit = shared.admission.clone().acquire_owned().await.ok()?;
        let who = step.last().map_or_else(Who::system, |row| Who {
            user: row.user.clone(),
            session: row.session.clone(),
            address: row.address.clone(),
        });
        let (sender, receiver) = oneshot::channel();
        // The repository's own: it waits for no turn, and its steps are bounded.
        let answer = Answer::new(sender, permit, None, None);
        run_joint(registry.clone(), Arc::new(joint), Request::by(who), answer, true).await;
        // Dropped unanswered by a store that has broken down.
        let answer = receiver.await.unwrap_or_else(|_| Ok(Err(unknown())));
        let done = answer.unwrap_or_else(|_given_back| Err(Error::internal())).and_then(|done| done.typed());
        Some(done.map(|done| done.reply))
    }
}
