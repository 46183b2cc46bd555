//! Checks whether the generator was the bottleneck: how busy its threads were, and how late it
//! sent.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::figures::format_count;
use super::followers::FollowerOutcome;
use super::measure::Punctuality;

/// The load above which a thread answers late by itself.
const BUSY: f64 = 0.8;
/// The lateness in microseconds from which a call counts as late.
pub const LATE_US: u64 = 1000;
/// The share of late calls that deserves a warning.
const LATE_SHARE: f64 = 0.01;

/// The processor time of a thread, and its time of waiting for a processor, since its start.
#[derive(Debug, Clone, Copy)]
struct ProcessorUse {
    cpu: Duration,
    /// The time of waiting, if the system reports it.
    waited: Option<Duration>,
    at: Instant,
}

impl ProcessorUse {
    /// Measures the current thread.
    fn now() -> ProcessorUse {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        // Neither is ever negative.
        let cpu = Duration::new(cpu.tv_sec.unsigned_abs(), u32::try_from(cpu.tv_nsec).unwrap_or(0));
        // The fields are the nanoseconds on a processor, and those of waiting for one.
        let waited = std::fs::read_to_string("/proc/thread-self/schedstat")
            .ok()
            .and_then(|text| text.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos));
        ProcessorUse { cpu, waited, at: Instant::now() }
    }
}

/// A meter of the load of the thread on which it was created.
#[derive(Debug)]
pub struct Meter {
    first: ProcessorUse,
    last: ProcessorUse,
    peak: f64,
}

/// The load of a thread, as shares of the time from 0 to 1.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLoad {
    /// The share of time on a processor.
    pub cpu: f64,
    /// The share of time on a processor in the busiest second.
    pub peak_cpu: f64,
    /// The share of time in which it waited for a processor, if the system reports it.
    pub waited: Option<f64>,
}

impl Meter {
    /// Begins to measure the current thread.
    pub fn start() -> Meter {
        let now = ProcessorUse::now();
        Meter { first: now, last: now, peak: 0.0 }
    }

    /// Updates the peak. It is meant to be called about once a second.
    pub fn look(&mut self) {
        let now = ProcessorUse::now();
        self.peak = self.peak.max(share(now.cpu.saturating_sub(self.last.cpu), now.at - self.last.at));
        self.last = now;
    }

    /// Returns the load of the whole time.
    pub fn end(self) -> ThreadLoad {
        let (first, now) = (self.first, ProcessorUse::now());
        let whole = now.at - first.at;
        let cpu = share(now.cpu.saturating_sub(first.cpu), whole);
        let waited = now.waited.zip(first.waited).map(|(now, first)| share(now.saturating_sub(first), whole));
        ThreadLoad { cpu, peak_cpu: self.peak.max(cpu), waited }
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { (part.as_secs_f64() / whole.as_secs_f64()).min(1.0) }
}

/// The punctuality of an open loop.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenLoop {
    /// The number of calls sent.
    pub sent: u64,
    /// The number of calls sent more than a millisecond late although their client was free. It is
    /// the generator's own fault.
    pub late: u64,
    /// The median of the generator's own lateness, in microseconds.
    pub lateness_p50_us: u64,
    /// The 99th percentile of the generator's own lateness, in microseconds.
    pub lateness_p99_us: u64,
    /// The maximum of the generator's own lateness, in microseconds.
    pub lateness_max_us: u64,
    /// The number of calls sent late because their client still waited for an answer.
    pub queued: u64,
    /// The number of calls due by the end and never sent.
    pub unsent: u64,
}

/// The load of the generator itself, with warnings if it may have distorted the measurements.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Saturation {
    /// The load of each thread.
    pub threads: Vec<ThreadLoad>,
    /// The punctuality of an open loop; `None` in a closed loop.
    pub open: Option<OpenLoop>,
    /// Warnings in plain words, if the numbers are doubtful.
    pub warnings: Vec<String>,
    /// Other remarks for readers of the numbers.
    pub remarks: Vec<String>,
}

impl Saturation {
    /// Evaluates the threads. `open` has the punctuality, the sent calls and the due calls of an
    /// open loop.
    pub fn of(threads: Vec<ThreadLoad>, open: Option<(&Punctuality, u64, u64)>, near: bool) -> Saturation {
        let (mut warnings, mut remarks) = (Vec::new(), Vec::new());
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let busiest = threads.iter().map(|thread| thread.cpu).fold(0.0, f64::max);
        let peak = threads.iter().map(|thread| thread.peak_cpu).fold(0.0, f64::max);
        if busiest > BUSY {
            warnings.push(format!(
                "The generator was the bottleneck: its busiest thread used {} of a processor. Give it more --threads, or \
                 more machines.",
                percent(busiest)
            ));
        } else if peak > 0.95 {
            warnings.push(format!(
                "The generator was at its limit for a while: its busiest thread used {} of a processor in one second.",
                percent(peak)
            ));
        }
        let waited = threads.iter().filter_map(|thread| thread.waited).fold(0.0, f64::max);
        if waited > 0.1 {
            warnings.push(format!(
                "The generator waited for a processor {} of the time: the machine was too busy, and latencies are too \
                 long by that.",
                percent(waited)
            ));
        }
        let open = open.map(|(punctuality, sent, due)| {
            let lateness = &punctuality.lateness;
            let late = lateness.len() - lateness.count_between(0, LATE_US);
            OpenLoop {
                sent,
                late,
                lateness_p50_us: lateness.value_at_quantile(0.5),
                lateness_p99_us: lateness.value_at_quantile(0.99),
                lateness_max_us: lateness.max(),
                queued: punctuality.queued,
                unsent: due.saturating_sub(sent),
            }
        });
        if let Some(open) = &open {
            let of_all = |part: u64| if open.sent == 0 { 0.0 } else { part as f64 / open.sent as f64 };
            if of_all(open.late) > LATE_SHARE {
                warnings.push(format!(
                    "The generator was late: {} of the calls were sent more than 1 ms after their time though their client \
                     was free. Latencies count from the intended time, and are too long by that.",
                    percent(of_all(open.late))
                ));
            }
            if of_all(open.queued) > LATE_SHARE || open.unsent > 0 {
                warnings.push(format!(
                    "The rate was not kept: {} of the calls waited for their client's last answer, and {} never sent. \
                     Either the server can't answer at this rate, or there are too few --clients for it.",
                    percent(of_all(open.queued)),
                    format_count(open.unsent, "that was due was", "that were due were")
                ));
            }
        }
        if near {
            remarks
                .push("Generator and server ran on one machine, and took processor time from each other.".to_owned());
        }
        Saturation { threads, open, warnings, remarks }
    }

    /// Adds the cost of the followers for a number of deliveries, with warnings and remarks.
    pub fn follow(&mut self, followed: &FollowerOutcome, deliveries: u64) {
        let threads = &followed.threads;
        let busy = |threads: &[ThreadLoad]| threads.iter().map(|thread| thread.cpu).sum::<f64>();
        let peak = threads.iter().map(|thread| thread.peak_cpu).fold(0.0, f64::max);
        if peak > BUSY {
            self.warnings.push(format!(
                "The followers were the bottleneck: their busiest thread used {:.0} % of a processor in one second, \
                 so events were read after they had arrived. Give it more --follower-threads, or more machines.",
                peak * 100.0
            ));
        }
        let drops = followed.faults.drops();
        if drops > 0 {
            self.warnings.push(format!(
                "Followers were dropped {}, and {} of {} were not connected at the end: it is unknown whether those \
                 would have received everything.",
                format_count(drops, "time", "times"),
                followed.away,
                followed.followers
            ));
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let used = busy(threads) * followed.measured.as_secs_f64();
        let each = if deliveries == 0 { 0.0 } else { used / deliveries as f64 };
        // The last of the followers that share a thread waits for all others.
        let last = each * (followed.followers as f64 / threads.len().max(1) as f64);
        self.remarks.push(format!(
            "The generator used {:.2} of {}, {:.2} of these to follow: {:.1} µs for each delivery. Of the delay of \
             the last of {}, about {:.1} ms are the generator's own.",
            busy(&self.threads) + busy(threads),
            format_count(cores as u64, "processor", "processors"),
            busy(threads),
            each * 1e6,
            format_count(followed.followers, "follower", "followers"),
            last * 1e3
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(cpu: f64) -> ThreadLoad {
        ThreadLoad { cpu, peak_cpu: cpu, waited: Some(0.0) }
    }

    #[test]
    fn a_thread_without_a_pause_is_reported_and_an_idle_one_is_not() {
        assert!(Saturation::of(vec![thread(0.2)], None, false).warnings.is_empty());
        let warnings = Saturation::of(vec![thread(0.2), thread(0.93)], None, false).warnings;
        assert!(warnings[0].contains("bottleneck") && warnings[0].contains("93 %"), "{warnings:?}");
    }

    #[test]
    fn late_calls_are_the_generators_fault_and_queued_ones_are_not() {
        let mut punctuality = Punctuality::default();
        punctuality.lateness.record_n(100, 950).unwrap();
        punctuality.lateness.record_n(5000, 50).unwrap();
        let late = Saturation::of(vec![], Some((&punctuality, 1000, 1000)), false);
        let open = late.open.unwrap();
        assert_eq!((open.sent, open.late, open.queued, open.unsent), (1000, 50, 0, 0));
        assert!(late.warnings[0].contains("was late") && late.warnings.len() == 1, "{:?}", late.warnings);

        let punctuality = Punctuality { queued: 400, ..Punctuality::default() };
        let queued = Saturation::of(vec![], Some((&punctuality, 1000, 1200)), true);
        let warnings = &queued.warnings;
        assert!(warnings[0].contains("40 %") && warnings[0].contains("200") && warnings.len() == 1, "{warnings:?}");
        assert_eq!(queued.remarks.len(), 1);
    }

    #[test]
    fn follower_cost_and_dropped_followers_are_reported() {
        let of = |cpu, drops| {
            let mut followed =
                FollowerOutcome { followers: 100, threads: vec![thread(cpu)], ..FollowerOutcome::default() };
            followed.measured = Duration::from_secs(10);
            if drops > 0 {
                followed.faults.dropped.insert("x".to_owned(), drops);
                followed.away = 1;
            }
            let mut saturation = Saturation::of(vec![thread(0.25)], None, false);
            saturation.follow(&followed, 1_000_000);
            saturation
        };
        let quiet = of(0.5, 0);
        assert!(quiet.warnings.is_empty(), "{:?}", quiet.warnings);
        // Five seconds of processor time for a million deliveries: 5 µs each, for a hundred
        // followers at a time.
        let remark = &quiet.remarks[0];
        assert!(["0.75 of", "0.50 of", "5.0 µs", "0.5 ms"].iter().all(|part| remark.contains(part)), "{remark}");
        let warnings = of(0.9, 3).warnings;
        assert!(warnings[0].contains("90 %") && warnings[1].contains("3 times, and 1 of 100"), "{warnings:?}");
    }

    #[test]
    fn a_meter_separates_work_from_waiting() {
        let mut meter = Meter::start();
        let begun = ProcessorUse::now();
        while ProcessorUse::now().cpu < begun.cpu + Duration::from_millis(5) {
            std::hint::black_box(begun);
        }
        meter.look();
        let load = meter.end();
        assert!(load.cpu > 0.0 && load.cpu <= 1.0 && load.peak_cpu >= load.cpu, "{load:?}");
    }
}
