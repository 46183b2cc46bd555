//! The latest events of something that is followed, in memory, for those who follow it.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::stored::ContainerEvent;

/// Number of events that a ring keeps, with some 30 bytes each. A follower that is further behind
/// reads from the store.
pub(super) const RING: usize = 256;

/// Bytes of events of all rings together that are kept for followers who have not taken them yet.
/// Later followers read them from the store.
const RECENT_BYTES: usize = 32 << 20;

/// The events of all rings that were sent last, as long as they stay in memory. A follower who has
/// not taken one holds only a weak reference to it.
#[derive(Default)]
pub(super) struct RecentEvents(Mutex<(VecDeque<Arc<ContainerEvent>>, usize)>);

/// The latest events of a container by revision, or of a folder's subtree by their places in the
/// log, and those who wait for more.
pub(super) struct EventRing<P> {
    /// The largest number of events.
    most: usize,
    /// The position after which the ring has all events.
    floor: P,
    /// The positions of the events, oldest first, and the events as long as they are kept.
    events: VecDeque<(P, Weak<ContainerEvent>)>,
    /// One per follower, notified when an event is added, and at the end.
    pub followers: Vec<Arc<Notify>>,
    /// Whether no more events are added, because the server ends.
    ended: bool,
}

/// The continuation of a ring's events after a position.
pub enum NextEvent<P> {
    /// Nothing yet.
    None,
    /// The next event, with its position.
    Next(P, Arc<ContainerEvent>),
    /// Events that are only in the store.
    Stored,
    /// Nothing more: the server ends.
    Ended,
}

impl<P: Copy + Ord> EventRing<P> {
    /// Creates a ring for the events after a position.
    pub fn of(most: usize, floor: P) -> EventRing<P> {
        EventRing { most, floor, events: VecDeque::new(), followers: Vec::new(), ended: false }
    }

    /// Adds the next events, and notifies the followers. Returns the position of the last one.
    pub fn add(&mut self, events: impl IntoIterator<Item = (P, Arc<ContainerEvent>)>) -> Option<P> {
        for (position, event) in events {
            if self.events.len() == self.most
                && let Some((gone, _)) = self.events.pop_front()
            {
                self.floor = gone;
            }
            self.events.push_back((position, Arc::downgrade(&event)));
        }
        self.notify();
        self.events.back().map(|(position, _)| *position)
    }

    /// Notes that no more events are added, because the server ends.
    pub fn end(&mut self) {
        self.ended = true;
        self.notify();
    }

    /// Notifies all followers.
    pub fn notify(&self) {
        self.followers.iter().for_each(|bell| bell.notify_one());
    }

    /// Returns what comes after a position.
    pub fn after(&self, position: P) -> NextEvent<P> {
        if position < self.floor {
            return NextEvent::Stored;
        }
        let index = self.events.partition_point(|(known, _)| *known <= position);
        match self.events.get(index) {
            None if self.ended => NextEvent::Ended,
            None => NextEvent::None,
            Some((next, event)) => event.upgrade().map_or(NextEvent::Stored, |event| NextEvent::Next(*next, event)),
        }
    }
}

impl RecentEvents {
    /// Keeps an event that is sent now, and drops the oldest ones beyond the limit.
    pub fn keep(&self, happening: &Arc<ContainerEvent>) {
        let mut kept = self.0.lock();
        let (events, bytes) = &mut *kept;
        *bytes += happening.bytes();
        events.push_back(happening.clone());
        while *bytes > RECENT_BYTES && events.len() > 1 {
            *bytes -= events.pop_front().map_or(0, |oldest| oldest.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::store::Event;

    use super::*;

    fn happening(ids: usize, revision: u64) -> Arc<ContainerEvent> {
        let container = Loid::new(DatabaseId::FIRST, 7);
        Arc::new(ContainerEvent::of(
            container,
            Event {
                container: Some(container),
                revision,
                kind: "drawer.item.add".to_owned(),
                ids: vec!["1$1.0.12345".to_owned(); ids],
                user: "editor".to_owned(),
                at_ms: 5,
                session: String::new(),
                address: String::new(),
                withdrawn: None,
                unseen: None,
                status: None,
                before: None,
            },
        ))
    }

    #[test]
    fn recent_events_are_kept_up_to_a_byte_limit_but_always_the_newest() {
        let recent = RecentEvents::default();
        let large = happening(20_000, 3);
        let sent: Vec<Weak<ContainerEvent>> = (0..100)
            .map(|_| {
                let large = happening(20_000, 3);
                recent.keep(&large);
                Arc::downgrade(&large)
            })
            .collect();
        let kept = sent.iter().filter(|sent| sent.upgrade().is_some()).count();
        assert_eq!(kept, RECENT_BYTES / large.bytes());
        assert!(kept > 5 && sent[100 - kept].upgrade().is_some(), "{kept} of the newest");
        let (_, bytes) = &*recent.0.lock();
        assert_eq!(*bytes, kept * large.bytes());
        let alone = RecentEvents::default();
        alone.keep(&happening(1_000_000, 3));
        assert_eq!(alone.0.lock().0.len(), 1);
    }

    #[test]
    fn a_ring_has_the_latest_events_and_says_when_one_is_only_in_the_store() {
        let mut ring = EventRing::of(3, 0);
        let after = |ring: &EventRing<u64>, revision| match ring.after(revision) {
            NextEvent::None => "none".to_owned(),
            NextEvent::Next(revision, _) => revision.to_string(),
            NextEvent::Stored => "stored".to_owned(),
            NextEvent::Ended => "ended".to_owned(),
        };
        assert_eq!(after(&ring, 0), "none");
        let events: Vec<_> = (3..=6).map(|revision| happening(1, revision)).collect();
        assert_eq!(ring.add(events.iter().map(|event| (event.revision(), event.clone()))), Some(6));
        let found: Vec<_> = (1..=7).map(|revision| after(&ring, revision)).collect();
        assert_eq!(found, ["stored", "stored", "4", "5", "6", "none", "none"]);
        drop(events);
        assert_eq!(after(&ring, 4), "stored", "nobody keeps it in memory any more");
        ring.ended = true;
        assert_eq!((after(&ring, 4), after(&ring, 6)), ("stored".to_owned(), "ended".to_owned()));
    }
}
