//! What is measured: histograms, not samples, so that a long load takes no more memory than a short
//! one.
//!
//! Each generator thread has one [`Recorder`]. Its totals are merged at the end; its current
//! [`Slice`] is taken away now and then for the course over time. Latencies are in microseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

use super::scenario::Outcome;

/// One hour in microseconds: nothing is waited for that long.
const MOST_US: u64 = 3_600_000_000;
/// A course over time has this many intervals at most; beyond it two become one.
const MOST_INTERVALS: usize = 400;

/// An empty histogram for latencies in microseconds, exact to so many digits.
pub fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, MOST_US, digits).expect("the bounds are in order, the digits between 0 and 5")
}

/// The latencies that are reported, in microseconds; of an empty histogram all are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quantiles {
    /// Half are below.
    pub p50_us: u64,
    /// 90 % are below.
    pub p90_us: u64,
    /// 95 % are below.
    pub p95_us: u64,
    /// 99 % are below.
    pub p99_us: u64,
    /// 99.9 % are below.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Quantiles {
    /// Of a histogram.
    pub fn of<C: Counter>(latency: &Histogram<C>) -> Quantiles {
        let at = |share| latency.value_at_quantile(share);
        let (p50_us, p90_us, p95_us) = (at(0.5), at(0.9), at(0.95));
        Quantiles { p50_us, p90_us, p95_us, p99_us: at(0.99), p999_us: at(0.999), max_us: latency.max() }
    }
}

/// How many there were of each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Acknowledged.
    pub succeeded: u64,
    /// Refused by a rule of the scenario.
    pub refused: u64,
    /// Refused because too much was asked at once.
    pub overloaded: u64,
    /// Gone wrong.
    pub failed: u64,
}

impl Counts {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.succeeded + self.refused + self.overloaded + self.failed
    }

    /// How much so many are of all of them, 0 to 1.
    pub fn share(&self, part: u64) -> f64 {
        if self.all() == 0 { 0.0 } else { part as f64 / self.all() as f64 }
    }

    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Succeeded => self.succeeded += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Overloaded(_) => self.overloaded += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
    }

    /// Adds the other's.
    pub fn add(&mut self, other: Counts) {
        self.succeeded += other.succeeded;
        self.refused += other.refused;
        self.overloaded += other.overloaded;
        self.failed += other.failed;
    }
}

/// How many there were of each code, by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Codes {
    /// Refused by a rule of the scenario.
    pub refused: BTreeMap<String, u64>,
    /// Refused because too much was asked at once.
    pub overloaded: BTreeMap<String, u64>,
    /// Gone wrong.
    pub failed: BTreeMap<String, u64>,
}

impl Codes {
    fn count(&mut self, outcome: Outcome) {
        let (codes, code) = match outcome {
            Outcome::Succeeded => return,
            Outcome::Refused(code) => (&mut self.refused, code),
            Outcome::Overloaded(code) => (&mut self.overloaded, code),
            Outcome::Failed(code) => (&mut self.failed, code),
        };
        *codes.entry(code).or_default() += 1;
    }

    /// Adds the other's.
    pub fn add(&mut self, other: Codes) {
        for (here, there) in [
            (&mut self.refused, other.refused),
            (&mut self.overloaded, other.overloaded),
            (&mut self.failed, other.failed),
        ] {
            for (code, count) in there {
                *here.entry(code).or_default() += count;
            }
        }
    }
}

/// A stretch of time, as coarsely as a plot needs it.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Of what succeeded.
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
    /// Of what succeeded.
    pub latency: Histogram<u64>,
    /// Of what was refused, by a rule or for overload.
    pub refusals: Histogram<u64>,
    /// How it ended.
    pub counts: Counts,
    /// How long clients waited in all, for answers of any kind and for those that did not come in
    /// time.
    pub waited: Duration,
}

impl Default for Kind {
    fn default() -> Kind {
        let (latency, refusals) = (histogram(3), histogram(3));
        Kind { latency, refusals, counts: Counts::default(), waited: Duration::ZERO }
    }
}

impl Kind {
    /// Adds the other's.
    pub fn add(&mut self, other: &Kind) {
        self.latency.add(&other.latency).expect("both have the same bounds");
        self.refusals.add(&other.refusals).expect("both have the same bounds");
        self.counts.add(other.counts);
        self.waited += other.waited;
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

    /// One operation. `answered` says whether its client waited for the server: an answer came, or
    /// none in time.
    pub fn record(&mut self, kind: usize, took: Duration, outcome: Outcome, answered: bool) {
        let total = &mut self.kinds[kind];
        if answered {
            total.waited += took;
        }
        // A server that is quick to refuse is not a quick one; what failed has no time that could
        // be compared with another.
        match outcome {
            Outcome::Succeeded => {
                total.latency.saturating_record(micros(took));
                self.slice.latency.saturating_record(micros(took));
            }
            Outcome::Refused(_) | Outcome::Overloaded(_) => total.refusals.saturating_record(micros(took)),
            Outcome::Failed(_) => {}
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

impl Interval {
    /// Successes a second.
    pub fn rate(&self) -> f64 {
        self.slice.counts.succeeded as f64 / self.length.max(1e-6)
    }
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

    /// Nothing more comes: a rest too short to be reported as a rate is added to the interval
    /// before it.
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
