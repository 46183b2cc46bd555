//! What is measured: histograms, not samples, so that a long load takes no more memory than a short one.
//!
//! Each generator thread has one [`Recorder`]. Its totals are merged at the end; its current [`Slice`] is taken away now and then
//! for the course over time. Latencies are in microseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::{Counter, Histogram};

use super::scenario::Outcome;

/// One hour in microseconds: nothing is waited for that long.
const MOST_US: u64 = 3_600_000_000;
/// A course over time has this many intervals at most; beyond it two become one.
const MOST_INTERVALS: usize = 400;

/// An empty histogram for latencies in microseconds, exact to so many digits.
pub fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, MOST_US, digits).expect("the bounds are in order, the digits between 0 and 5")
}

/// How many there were of each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Done.
    pub done: u64,
    /// Refused by a rule.
    pub refused: u64,
    /// Gone wrong.
    pub failed: u64,
}

impl Counts {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.done + self.refused + self.failed
    }

    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Done => self.done += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
    }

    /// Adds the other's.
    pub fn add(&mut self, other: Counts) {
        self.done += other.done;
        self.refused += other.refused;
        self.failed += other.failed;
    }
}

/// How many there were of each code: refusals and failures apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Codes {
    /// Refused by a rule of the scenario.
    pub refused: BTreeMap<String, u64>,
    /// Gone wrong.
    pub failed: BTreeMap<String, u64>,
}

impl Codes {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done => {}
            Outcome::Refused(code) => *self.refused.entry(code).or_default() += 1,
            Outcome::Failed(code) => *self.failed.entry(code).or_default() += 1,
        }
    }

    /// Adds the other's.
    pub fn add(&mut self, other: Codes) {
        for (here, there) in [(&mut self.refused, other.refused), (&mut self.failed, other.failed)] {
            for (code, count) in there {
                *here.entry(code).or_default() += count;
            }
        }
    }
}

/// A stretch of time, as coarsely as a plot needs it.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Of what was answered or timed out.
    pub latency: Histogram<u32>,
    /// How it ended.
    pub counts: Counts,
    /// And with which codes.
    pub codes: Codes,
}

impl Default for Slice {
    fn default() -> Slice {
        Slice { latency: histogram(2), counts: Counts::default(), codes: Codes::default() }
    }
}

impl Slice {
    /// Adds the other's.
    pub fn add(&mut self, other: Slice) {
        self.latency.add(&other.latency).expect("both have the same bounds");
        self.counts.add(other.counts);
        self.codes.add(other.codes);
    }
}

/// All of one kind of operation.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Of what was answered or timed out.
    pub latency: Histogram<u64>,
    /// How it ended.
    pub counts: Counts,
}

impl Default for Kind {
    fn default() -> Kind {
        Kind { latency: histogram(3), counts: Counts::default() }
    }
}

impl Kind {
    /// Adds the other's.
    pub fn add(&mut self, other: &Kind) {
        self.latency.add(&other.latency).expect("both have the same bounds");
        self.counts.add(other.counts);
    }
}

/// How well an open loop kept to its times.
#[derive(Debug, Clone)]
pub struct Punctuality {
    /// By how much the generator itself was late, where the client was free when its time came.
    pub lateness: Histogram<u64>,
    /// How often the client still waited for its last answer when its time came.
    pub queued: u64,
}

impl Default for Punctuality {
    fn default() -> Punctuality {
        Punctuality { lateness: histogram(3), queued: 0 }
    }
}

impl Punctuality {
    /// Adds the other's.
    pub fn add(&mut self, other: &Punctuality) {
        self.lateness.add(&other.lateness).expect("both have the same bounds");
        self.queued += other.queued;
    }
}

/// What one thread measures.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// By kind of operation.
    pub kinds: Vec<Kind>,
    /// Of an open loop.
    pub punctuality: Punctuality,
    slice: Slice,
}

impl Recorder {
    /// For so many kinds of operations.
    pub fn new(kinds: usize) -> Recorder {
        Recorder { kinds: vec![Kind::default(); kinds], punctuality: Punctuality::default(), slice: Slice::default() }
    }

    /// One operation. `answered` says whether its time says something about the server: an answer, or that none came in time.
    pub fn record(&mut self, kind: usize, took: Duration, outcome: Outcome, answered: bool) {
        let total = &mut self.kinds[kind];
        if answered {
            let micros = micros(took);
            total.latency.saturating_record(micros);
            self.slice.latency.saturating_record(micros);
        }
        total.counts.count(&outcome);
        self.slice.counts.count(&outcome);
        self.slice.codes.count(outcome);
    }

    /// What was measured since this was asked last.
    pub fn take_slice(&mut self) -> Slice {
        std::mem::take(&mut self.slice)
    }
}

/// In microseconds, rounded up: nothing takes no time.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// One interval of the course over time.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Seconds since the begin.
    pub from: f64,
    /// Seconds.
    pub length: f64,
    /// What was measured in it.
    pub slice: Slice,
}

/// The course over time.
#[derive(Debug, Clone, Default)]
pub struct Series {
    intervals: Vec<Interval>,
    /// How many that were pushed make one interval.
    each: usize,
    pending: usize,
}

impl Series {
    /// Adds what was measured until `until` seconds after the begin.
    pub fn push(&mut self, until: f64, slice: Slice) {
        let from = self.intervals.last().map_or(0.0, |last| last.from + last.length);
        self.each = self.each.max(1);
        match self.intervals.last_mut() {
            Some(last) if self.pending > 0 => {
                last.length = until - last.from;
                last.slice.add(slice);
            }
            _ => self.intervals.push(Interval { from, length: until - from, slice }),
        }
        self.pending = (self.pending + 1) % self.each;
        if self.pending == 0 && self.intervals.len() >= MOST_INTERVALS {
            let mut halved = Vec::with_capacity(MOST_INTERVALS);
            let mut old = std::mem::take(&mut self.intervals).into_iter();
            while let Some(mut first) = old.next() {
                if let Some(second) = old.next() {
                    first.length += second.length;
                    first.slice.add(second.slice);
                }
                halved.push(first);
            }
            self.intervals = halved;
            self.each *= 2;
        }
    }

    /// Nothing more comes: a rest too short to be reported as a rate is added to the interval before it.
    pub fn finish(&mut self) {
        if let [.., before, last] = self.intervals.as_slice()
            && last.length < before.length / 2.0
            && let Some(last) = self.intervals.pop()
            && let Some(before) = self.intervals.last_mut()
        {
            before.length += last.length;
            before.slice.add(last.slice);
        }
    }

    /// All intervals in order.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests;
