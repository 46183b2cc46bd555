//! The events that followers have received for each revision, with their times.
//!
//! An event may arrive before the answer to the call that made it, and only the answer tells when
//! that call was sent. Until then its arrivals are kept. A revision takes some 150 bytes, however
//! many followers receive it.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::measure::{histogram, micros};

/// The distance beyond all known revisions from which on a number is no revision.
const TOO_FAR: u64 = 1_000_000;

/// The board on which followers note received events.
pub struct Board {
    epoch: Instant,
    /// The revision before the first reported one.
    base: u64,
    inner: Mutex<Inner>,
}

/// The times of a call that made a revision, since the board's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimes {
    /// The time at which its request was sent.
    pub sent: Duration,
    /// The time at which it was answered.
    pub answered: Duration,
}

#[derive(Default)]
struct BoardEntry {
    times: Option<CallTimes>,
    /// The event: its name and ids.
    what: Box<str>,
    /// A hash of the whole event.
    print: u64,
    heard: u32,
    /// The time of the last delivery.
    last: Duration,
    /// Arrivals before the answer.
    waiting: Vec<Duration>,
}

struct Inner {
    entries: Vec<BoardEntry>,
    deliveries: u64,
    before_answer: u64,
    since_sent: Histogram<u64>,
    since_answered: Histogram<u64>,
    /// The number of impossible events, and of events that differ from others of their revision.
    odd: u64,
    first_odd: Option<String>,
}

/// The final state of a board.
pub struct BoardSummary {
    /// The event of each revision from the first on; empty if no follower received it.
    pub what: Vec<Box<str>>,
    /// The times of the call and of the last delivery, for each revision whose call is known, in
    /// their order.
    pub last: Vec<(CallTimes, Duration)>,
    /// The number of deliveries.
    pub deliveries: u64,
    /// The number of deliveries before the answer to the call that made the revision.
    pub before_answer: u64,
    /// The delays since the request was sent, in microseconds.
    pub since_sent: Histogram<u64>,
    /// The delays since the answer, in microseconds; 1 for earlier deliveries.
    pub since_answered: Histogram<u64>,
    /// The number of impossible events, and the first of them.
    pub odd: (u64, Option<String>),
}

#[derive(Deserialize)]
struct EventData {
    #[serde(default)]
    ids: Vec<String>,
}

impl Board {
    /// Creates an empty board for the events after the revision `base`.
    pub fn new(base: u64) -> Board {
        let inner = Inner {
            entries: Vec::new(),
            deliveries: 0,
            before_answer: 0,
            since_sent: histogram(3),
            since_answered: histogram(3),
            odd: 0,
            first_odd: None,
        };
        Board { epoch: Instant::now(), base, inner: Mutex::new(inner) }
    }

    /// Returns the time since the board's begin.
    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Returns the number of deliveries so far.
    pub fn deliveries(&self) -> u64 {
        self.inner.lock().deliveries
    }

    /// Notes that a follower received an event of a revision.
    pub fn heard(&self, revision: u64, name: &str, data: &str, print: u64) {
        let now = self.now();
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let place = revision.checked_sub(self.base + 1).filter(|place| *place < inner.entries.len() as u64 + TOO_FAR);
        // The bound is far below the size of memory.
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else {
            inner.odd(|| format!("an event has the impossible revision {revision}: {data}"));
            return;
        };
        let entry = entry(&mut inner.entries, place);
        if entry.heard == 0 {
            entry.print = print;
            let ids = serde_json::from_str::<EventData>(data).map(|data| data.ids).unwrap_or_default();
            entry.what = event_text(name, &ids.join(" ")).into();
        }
        let same = entry.print == print;
        entry.heard += 1;
        entry.last = entry.last.max(now);
        inner.deliveries += 1;
        match entry.times {
            Some(times) => inner.delivered(times, now),
            None => entry.waiting.push(now),
        }
        if !same {
            inner.odd(|| format!("followers received different events for revision {revision}, one of them {data}"));
        }
    }

    /// Notes that the call that made a revision was answered. Only the first note of a revision
    /// counts.
    pub fn made(&self, revision: u64, times: CallTimes) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let place = revision.checked_sub(self.base + 1).filter(|place| *place < inner.entries.len() as u64 + TOO_FAR);
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else { return };
        let entry = entry(&mut inner.entries, place);
        if entry.times.is_none() {
            entry.times = Some(times);
            for at in std::mem::take(&mut entry.waiting) {
                inner.delivered(times, at);
            }
        }
    }

    /// Returns the final state, after the last delivery.
    pub fn summary(&self) -> BoardSummary {
        let mut inner = self.inner.lock();
        let (mut whats, mut last) = (Vec::new(), Vec::new());
        for entry in std::mem::take(&mut inner.entries) {
            last.extend(entry.times.filter(|_| entry.heard > 0).map(|times| (times, entry.last)));
            whats.push(entry.what);
        }
        BoardSummary {
            what: whats,
            last,
            deliveries: inner.deliveries,
            before_answer: inner.before_answer,
            since_sent: inner.since_sent.clone(),
            since_answered: inner.since_answered.clone(),
            odd: (inner.odd, inner.first_odd.take()),
        }
    }
}

/// Returns the compared part of an event: its name and ids.
pub fn event_text(name: &str, id: &str) -> String {
    format!("{name} {id}")
}

fn entry(entries: &mut Vec<BoardEntry>, place: usize) -> &mut BoardEntry {
    if place >= entries.len() {
        entries.resize_with(place + 1, BoardEntry::default);
    }
    &mut entries[place]
}

impl Inner {
    fn delivered(&mut self, times: CallTimes, at: Duration) {
        self.since_sent.saturating_record(micros(at.saturating_sub(times.sent)));
        self.since_answered.saturating_record(micros(at.saturating_sub(times.answered)));
        self.before_answer += u64::from(at < times.answered);
    }

    fn odd(&mut self, say: impl FnOnce() -> String) {
        self.odd += 1;
        self.first_odd.get_or_insert_with(say);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"{"container":"1$1.0.9","revision":8,"kind":"a","ids":["1$1.0.20"],"user":"u","at":5}"#;
    const AGES: Duration = Duration::from_secs(3000);

    #[test]
    fn arrivals_before_and_after_the_answer_are_counted_from_the_request() {
        let board = Board::new(7);
        board.heard(8, "a", DATA, 1);
        board.made(8, CallTimes { sent: Duration::ZERO, answered: AGES });
        // A call that only finds the revision does not count.
        board.made(8, CallTimes { sent: AGES, answered: AGES });
        board.heard(8, "a", DATA, 1);
        board.heard(10, "b", "{}", 2);
        assert_eq!(board.deliveries(), 3);
        let summary = board.summary();
        assert_eq!(summary.what.iter().map(|what| &**what).collect::<Vec<_>>(), ["a 1$1.0.20", "", "b "]);
        assert_eq!((summary.deliveries, summary.before_answer, summary.odd), (3, 2, (0, None)));
        assert_eq!((summary.since_sent.len(), summary.since_answered.len(), summary.since_answered.max()), (2, 2, 1));
        assert_eq!(summary.last.len(), 1, "of the other no call is known");
        assert!(summary.last[0].1 > Duration::ZERO && summary.last[0].1 < AGES);
    }

    #[test]
    fn an_arrival_after_the_answer_takes_from_both() {
        let board = Board::new(0);
        let now = board.now();
        board.made(1, CallTimes { sent: now, answered: now });
        board.heard(1, "a", DATA, 1);
        let summary = board.summary();
        assert_eq!(summary.before_answer, 0);
        assert_eq!(summary.since_sent.max(), summary.since_answered.max());
    }

    #[test]
    fn different_events_of_a_revision_and_what_can_not_be_is_odd() {
        let board = Board::new(7);
        board.heard(8, "a", DATA, 1);
        board.heard(8, "a", "{}", 2);
        board.heard(7, "a", DATA, 1);
        board.heard(u64::MAX, "a", DATA, 1);
        board.made(u64::MAX, CallTimes { sent: AGES, answered: AGES });
        let (count, first) = board.summary().odd;
        assert_eq!(count, 3);
        assert!(first.is_some_and(|first| first.contains("revision 8")));
    }
}
