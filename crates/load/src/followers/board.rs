//! What followers have heard of each revision, and when.
//!
//! An event may come before the answer to the call that made it, which alone says when that call
//! was sent; until then its arrivals wait. What is kept of a revision is some 150 bytes, however
//! many hear of it.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::measure::{histogram, micros};

/// A revision so far beyond all others is none.
const TOO_FAR: u64 = 1_000_000;

/// See the module's head.
pub struct Board {
    epoch: Instant,
    /// The revision before the first that is reported.
    base: u64,
    inner: Mutex<Inner>,
}

/// Times of a call that made a revision, since the board's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When its request was sent.
    pub sent: Duration,
    /// When it was answered.
    pub answered: Duration,
}

#[derive(Default)]
struct Entry {
    times: Option<Times>,
    /// The event: its name, and what it names.
    what: Box<str>,
    /// A number made of the whole event.
    print: u64,
    heard: u32,
    /// When the last follower heard it.
    last: Duration,
    /// Arrivals that wait for the answer.
    waiting: Vec<Duration>,
}

struct Inner {
    entries: Vec<Entry>,
    deliveries: u64,
    before_answer: u64,
    since_sent: Histogram<u64>,
    since_answered: Histogram<u64>,
    /// Events of one revision that did not say the same, and others that can't be.
    odd: u64,
    first_odd: Option<String>,
}

/// What came together in the end.
pub struct BoardSummary {
    /// From the first revision on: its event, empty if no follower received it.
    pub what: Vec<Box<str>>,
    /// Of those whose call is known: times, when the last follower heard of it, in the order of
    /// their revisions.
    pub last: Vec<(Times, Duration)>,
    /// How often an event was heard.
    pub deliveries: u64,
    /// Of these, before the call that made it was answered.
    pub before_answer: u64,
    /// In microseconds, from when the request was sent.
    pub since_sent: Histogram<u64>,
    /// In microseconds, from when it was answered; 1 for what came before.
    pub since_answered: Histogram<u64>,
    /// Events that can't be, and the first of them.
    pub odd: (u64, Option<String>),
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    ids: Vec<String>,
}

impl Board {
    /// An empty one, for what comes after the revision `base`.
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

    /// The time since its begin.
    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// How often an event was heard so far.
    pub fn deliveries(&self) -> u64 {
        self.inner.lock().deliveries
    }

    /// A follower has heard of a revision, in these words.
    pub fn heard(&self, revision: u64, name: &str, data: &str, print: u64) {
        let now = self.now();
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let place = revision.checked_sub(self.base + 1).filter(|place| *place < inner.entries.len() as u64 + TOO_FAR);
        // Below a bound that is far from what memory has.
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else {
            inner.odd(|| format!("an event speaks of revision {revision}, which there can't be: {data}"));
            return;
        };
        let entry = entry(&mut inner.entries, place);
        if entry.heard == 0 {
            entry.print = print;
            let ids = serde_json::from_str::<Data>(data).map(|data| data.ids).unwrap_or_default();
            entry.what = what(name, &ids.join(" ")).into();
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
            inner
                .odd(|| format!("followers were told different things of revision {revision}, of which one is {data}"));
        }
    }

    /// The call that made a revision was answered. Of several that speak of one, the first counts.
    pub fn made(&self, revision: u64, times: Times) {
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

    /// All of it, when nobody hears any more.
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

/// What an event says, as far as it matters: its name, and what it names.
pub fn what(name: &str, id: &str) -> String {
    format!("{name} {id}")
}

fn entry(entries: &mut Vec<Entry>, place: usize) -> &mut Entry {
    if place >= entries.len() {
        entries.resize_with(place + 1, Entry::default);
    }
    &mut entries[place]
}

impl Inner {
    fn delivered(&mut self, times: Times, at: Duration) {
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
        board.made(8, Times { sent: Duration::ZERO, answered: AGES });
        // What only finds the revision does not count.
        board.made(8, Times { sent: AGES, answered: AGES });
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
        board.made(1, Times { sent: now, answered: now });
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
        board.made(u64::MAX, Times { sent: AGES, answered: AGES });
        let (count, first) = board.summary().odd;
        assert_eq!(count, 3);
        assert!(first.is_some_and(|first| first.contains("revision 8")));
    }
}
