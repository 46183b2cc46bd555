//! Histograms, counts and time series of a load. Samples are not kept, so a long load takes no more
//! memory than a short one.
//!
//! Each generator thread has one [`Recorder`]. Its totals are merged at the end. Its current
//! [`MeasurementSlice`] is taken at intervals for the course over time. Latencies are in
//! microseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

use super::scenario::OperationOutcome;

/// One hour in microseconds: the longest latency that a histogram can record.
const MOST_US: u64 = 3_600_000_000;
/// The maximum number of intervals of a time series; beyond it, neighbours are merged in pairs.
const MOST_INTERVALS: usize = 400;

/// Returns an empty histogram for latencies in microseconds, with the given number of significant
/// digits.
pub fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, MOST_US, digits).expect("the bounds are in order, the digits between 0 and 5")
}

/// The reported latencies, in microseconds; all are 0 if the histogram is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quantiles {
    /// The median.
    pub p50_us: u64,
    /// The 90th percentile.
    pub p90_us: u64,
    /// The 95th percentile.
    pub p95_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The 99.9th percentile.
    pub p999_us: u64,
    /// The maximum.
    pub max_us: u64,
}

impl Quantiles {
    /// Reads the reported quantiles from a histogram.
    pub fn of<C: Counter>(latency: &Histogram<C>) -> Quantiles {
        let at = |share| latency.value_at_quantile(share);
        let (p50_us, p90_us, p95_us) = (at(0.5), at(0.9), at(0.95));
        Quantiles { p50_us, p90_us, p95_us, p99_us: at(0.99), p999_us: at(0.999), max_us: latency.max() }
    }
}

/// The number of operations per outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// Acknowledged operations.
    pub succeeded: u64,
    /// Operations refused by a rule of the scenario.
    pub refused: u64,
    /// Operations refused for overload.
    pub overloaded: u64,
    /// Failed operations.
    pub failed: u64,
}

impl OutcomeCounts {
    /// Returns the number of all operations.
    pub fn all(&self) -> u64 {
        self.succeeded + self.refused + self.overloaded + self.failed
    }

    /// Returns `part` as a share of all operations, 0 to 1.
    pub fn share(&self, part: u64) -> f64 {
        if self.all() == 0 { 0.0 } else { part as f64 / self.all() as f64 }
    }

    fn count(&mut self, outcome: &OperationOutcome) {
        match outcome {
            OperationOutcome::Succeeded => self.succeeded += 1,
            OperationOutcome::Refused(_) => self.refused += 1,
            OperationOutcome::Overloaded(_) => self.overloaded += 1,
            OperationOutcome::Failed(_) => self.failed += 1,
        }
    }

    /// Adds the other's counts.
    pub fn add(&mut self, other: OutcomeCounts) {
        self.succeeded += other.succeeded;
        self.refused += other.refused;
        self.overloaded += other.overloaded;
        self.failed += other.failed;
    }
}

/// The number of operations per code, by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeCodes {
    /// Codes of operations refused by a rule of the scenario.
    pub refused: BTreeMap<String, u64>,
    /// Codes of operations refused for overload.
    pub overloaded: BTreeMap<String, u64>,
    /// Codes of failed operations.
    pub failed: BTreeMap<String, u64>,
}

impl OutcomeCodes {
    fn count(&mut self, outcome: OperationOutcome) {
        let (codes, code) = match outcome {
            OperationOutcome::Succeeded => return,
            OperationOutcome::Refused(code) => (&mut self.refused, code),
            OperationOutcome::Overloaded(code) => (&mut self.overloaded, code),
            OperationOutcome::Failed(code) => (&mut self.failed, code),
        };
        *codes.entry(code).or_default() += 1;
    }

    /// Adds the other's counts.
    pub fn add(&mut self, other: OutcomeCodes) {
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

/// The measurements of one short interval, only as precise as a plot needs.
#[derive(Debug, Clone)]
pub struct MeasurementSlice {
    /// The latencies of successes.
    pub latency: Histogram<u32>,
    /// The number of operations per outcome.
    pub counts: OutcomeCounts,
    /// The number of operations per code.
    pub codes: OutcomeCodes,
}

impl Default for MeasurementSlice {
    fn default() -> MeasurementSlice {
        MeasurementSlice { latency: histogram(2), counts: OutcomeCounts::default(), codes: OutcomeCodes::default() }
    }
}

impl MeasurementSlice {
    /// Adds the other's measurements.
    pub fn add(&mut self, other: MeasurementSlice) {
        self.latency.add(&other.latency).expect("both have the same bounds");
        self.counts.add(other.counts);
        self.codes.add(other.codes);
    }
}

/// The measurements of all operations of one kind.
#[derive(Debug, Clone)]
pub struct KindMeasurements {
    /// The latencies of successes.
    pub latency: Histogram<u64>,
    /// The latencies of refusals, by a rule or for overload.
    pub refusals: Histogram<u64>,
    /// The number of operations per outcome.
    pub counts: OutcomeCounts,
    /// The total time that clients waited for answers of any kind, timeouts included.
    pub waited: Duration,
}

impl Default for KindMeasurements {
    fn default() -> KindMeasurements {
        let (latency, refusals) = (histogram(3), histogram(3));
        KindMeasurements { latency, refusals, counts: OutcomeCounts::default(), waited: Duration::ZERO }
    }
}

impl KindMeasurements {
    /// Adds the other's measurements.
    pub fn add(&mut self, other: &KindMeasurements) {
        self.latency.add(&other.latency).expect("both have the same bounds");
        self.refusals.add(&other.refusals).expect("both have the same bounds");
        self.counts.add(other.counts);
        self.waited += other.waited;
    }
}

/// The punctuality of an open loop.
#[derive(Debug, Clone)]
pub struct Punctuality {
    /// The lateness of calls whose client was free at the scheduled time. It is the generator's own
    /// fault.
    pub lateness: Histogram<u64>,
    /// The number of calls whose client was still waiting for its last answer at the scheduled
    /// time.
    pub queued: u64,
}

impl Default for Punctuality {
    fn default() -> Punctuality {
        Punctuality { lateness: histogram(3), queued: 0 }
    }
}

impl Punctuality {
    /// Adds the other's measurements.
    pub fn add(&mut self, other: &Punctuality) {
        self.lateness.add(&other.lateness).expect("both have the same bounds");
        self.queued += other.queued;
    }
}

/// The measurements of one generator thread.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// The totals by kind of operation.
    pub kinds: Vec<KindMeasurements>,
    /// The punctuality of an open loop; empty in a closed loop.
    pub punctuality: Punctuality,
    slice: MeasurementSlice,
}

impl Recorder {
    /// Creates a recorder for a number of kinds of operations.
    pub fn new(kinds: usize) -> Recorder {
        Recorder {
            kinds: vec![KindMeasurements::default(); kinds],
            punctuality: Punctuality::default(),
            slice: MeasurementSlice::default(),
        }
    }

    /// Records one operation. `answered` says whether its client waited for the server, until an
    /// answer or the timeout.
    pub fn record(&mut self, kind: usize, took: Duration, outcome: OperationOutcome, answered: bool) {
        let total = &mut self.kinds[kind];
        if answered {
            total.waited += took;
        }
        // A quick refusal does not make a server fast, and the time of a failure cannot be compared
        // with others.
        match outcome {
            OperationOutcome::Succeeded => {
                total.latency.saturating_record(micros(took));
                self.slice.latency.saturating_record(micros(took));
            }
            OperationOutcome::Refused(_) | OperationOutcome::Overloaded(_) => {
                total.refusals.saturating_record(micros(took))
            }
            OperationOutcome::Failed(_) => {}
        }
        total.counts.count(&outcome);
        self.slice.counts.count(&outcome);
        self.slice.codes.count(outcome);
    }

    /// Returns the measurements since the last call.
    pub fn take_slice(&mut self) -> MeasurementSlice {
        std::mem::take(&mut self.slice)
    }
}

/// Converts to microseconds, rounded up, and at least 1: no operation takes no time.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// One interval of the course over time.
#[derive(Debug, Clone)]
pub struct SeriesInterval {
    /// The beginning, in seconds since the beginning of the load.
    pub from: f64,
    /// The length in seconds.
    pub length: f64,
    /// The measurements of the interval.
    pub slice: MeasurementSlice,
}

impl SeriesInterval {
    /// Returns the number of successes per second.
    pub fn rate(&self) -> f64 {
        self.slice.counts.succeeded as f64 / self.length.max(1e-6)
    }
}

/// The measurements of a load over time.
#[derive(Debug, Clone, Default)]
pub struct MeasurementSeries {
    intervals: Vec<SeriesInterval>,
    /// The number of pushed slices that make one interval.
    each: usize,
    pending: usize,
}

impl MeasurementSeries {
    /// Adds the measurements up to `until` seconds after the begin.
    pub fn push(&mut self, until: f64, slice: MeasurementSlice) {
        let from = self.intervals.last().map_or(0.0, |last| last.from + last.length);
        self.each = self.each.max(1);
        match self.intervals.last_mut() {
            Some(last) if self.pending > 0 => {
                last.length = until - last.from;
                last.slice.add(slice);
            }
            _ => self.intervals.push(SeriesInterval { from, length: until - from, slice }),
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

    /// Ends the series. A last interval too short to give a rate is merged into the one before it.
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

    /// Returns all intervals in order.
    pub fn intervals(&self) -> &[SeriesInterval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests;
