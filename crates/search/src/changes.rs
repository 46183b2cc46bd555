//! The objects that have changed since the index was last brought up to date.

use std::time::{Duration, Instant};

use foldhash::{HashSet, HashSetExt};
use parking_lot::{Condvar, Mutex};
use stet_domain::id::Loid;
use stet_domain::store::observe::Observer;

/// Maximum number of objects and messages that are noted. Beyond it the feed compares everything.
const MOST: usize = 10_000;

/// The time between the first change and the commit of the index that contains it. Changes of an
/// object in this time are indexed once.
const COMMIT_DELAY: Duration = Duration::from_millis(400);

/// The notes about changed objects, which commits write and the feed reads.
#[derive(Default)]
pub struct ChangedObjects {
    state: Mutex<ChangeNotes>,
    bell: Condvar,
}

#[derive(Default)]
struct ChangeNotes {
    objects: HashSet<Loid>,
    messages: HashSet<u64>,
    /// Whether there were more changes than are noted.
    overflowed: bool,
    /// The time of the first change.
    first: Option<Instant>,
    /// Whether somebody waits for the present state.
    awaited: bool,
    /// Whether the index is to be rebuilt.
    rebuild: bool,
    ended: bool,
}

impl ChangeNotes {
    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.messages.is_empty() && !self.overflowed
    }

    fn has_room(&mut self) -> bool {
        if self.objects.len() + self.messages.len() >= MOST {
            self.overflowed = true;
        }
        !self.overflowed
    }
}

/// The next task of the feed.
pub(crate) enum FeedTask {
    /// Index these objects and messages; there may be none.
    Update {
        /// Objects whose records, attributes or parts have changed.
        objects: Vec<Loid>,
        /// Numbers of messages that were sent or removed.
        messages: Vec<u64>,
    },
    /// Compare the whole store with the index.
    Compare,
    /// Discard the index, and rebuild it.
    Rebuild,
    /// End.
    End,
}

impl ChangedObjects {
    /// Asks for the present state as soon as possible, because somebody waits for it.
    pub(crate) fn hurry(&self) {
        self.state.lock().awaited = true;
        self.bell.notify_one();
    }

    /// Asks for a new index.
    pub(crate) fn rebuild(&self) {
        self.state.lock().rebuild = true;
        self.bell.notify_one();
    }

    /// Ends the feed.
    pub(crate) fn end(&self) {
        self.state.lock().ended = true;
        self.bell.notify_one();
    }

    /// Reports whether the feed is to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Reports whether the feed is to end or to rebuild the index, whatever it is doing.
    pub(crate) fn is_interrupted(&self) -> bool {
        let state = self.state.lock();
        state.ended || state.rebuild
    }

    /// Returns the time of the first change that is not indexed yet.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.state.lock().first
    }

    /// Waits until there is something to do, at most for `longest`.
    pub(crate) fn wait(&self, longest: Duration) {
        let (mut state, end) = (self.state.lock(), Instant::now() + longest);
        loop {
            let due = state.first.map_or(end, |first| end.min(first + COMMIT_DELAY));
            let is_due = state.ended || state.rebuild || (state.awaited && state.is_empty());
            if is_due || self.bell.wait_until(&mut state, due).timed_out() && Instant::now() >= due {
                return;
            }
        }
    }

    /// Returns the next task, and forgets what was noted.
    pub(crate) fn take(&self) -> FeedTask {
        let mut state = self.state.lock();
        if state.ended {
            return FeedTask::End;
        }
        let ChangeNotes { objects, messages, overflowed, rebuild, .. } = std::mem::take(&mut *state);
        if rebuild {
            FeedTask::Rebuild
        } else if overflowed {
            FeedTask::Compare
        } else {
            FeedTask::Update { objects: objects.into_iter().collect(), messages: messages.into_iter().collect() }
        }
    }

    /// Forgets what was noted, before everything is compared.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock();
        let ChangeNotes { ended, rebuild, .. } = *state;
        *state = ChangeNotes { ended, rebuild, ..ChangeNotes::default() };
    }

    /// Notes changes, and wakes the feed at the first one.
    fn note<T>(&self, changed: &[T], mut insert: impl FnMut(&mut ChangeNotes, &T)) {
        let mut state = self.state.lock();
        for one in changed {
            if state.has_room() {
                insert(&mut state, one);
            }
        }
        if state.first.is_none() {
            state.first = Some(Instant::now());
            self.bell.notify_one();
        }
    }
}

impl Observer for ChangedObjects {
    fn changed(&self, objects: &[Loid]) {
        self.note(objects, |state, object| {
            if state.objects.is_empty() {
                state.objects = HashSet::with_capacity(64);
            }
            state.objects.insert(*object);
        });
    }

    fn messages_changed(&self, numbers: &[u64]) {
        self.note(numbers, |state, number| {
            state.messages.insert(*number);
        });
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;

    use super::*;

    fn loid(number: u64) -> Loid {
        Loid::new(DatabaseId::FIRST, number)
    }

    #[test]
    fn changes_of_an_object_are_one_task_until_there_are_too_many() {
        let changes = ChangedObjects::default();
        changes.changed(&[loid(1), loid(2)]);
        changes.changed(&[loid(1)]);
        changes.messages_changed(&[7]);
        changes.wait(Duration::from_secs(60));
        let FeedTask::Update { mut objects, messages } = changes.take() else { panic!("few objects have changed") };
        objects.sort();
        assert_eq!((objects, messages), (vec![loid(1), loid(2)], vec![7]));
        let FeedTask::Update { objects, .. } = changes.take() else { panic!("nothing has changed") };
        assert!(objects.is_empty() && changes.first().is_none());
        for number in 0..=MOST as u64 {
            changes.changed(&[loid(number)]);
        }
        assert!(matches!(changes.take(), FeedTask::Compare));
        assert!(matches!(changes.take(), FeedTask::Update { .. }));
    }

    #[test]
    fn a_wait_ends_for_those_who_wait_and_at_the_end() {
        let changes = ChangedObjects::default();
        changes.hurry();
        changes.wait(Duration::from_secs(600));
        assert!(matches!(changes.take(), FeedTask::Update { .. }));
        changes.rebuild();
        changes.wait(Duration::from_secs(600));
        assert!(changes.is_interrupted() && matches!(changes.take(), FeedTask::Rebuild));
        changes.forget();
        changes.end();
        changes.wait(Duration::from_secs(600));
        assert!(changes.is_interrupted() && matches!(changes.take(), FeedTask::End));
    }
}
