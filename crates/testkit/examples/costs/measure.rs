//! The measurement for one row of the table: an expensive request is sent while others work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stet_testkit::Client;

use crate::dearest::{Calls, Dearest};
use crate::fixture::{By, Fixture};
use crate::probes::{Probes, Waits};
use crate::process::{Moment, peak, reset_peak};
use crate::wire::{Caller, Reply, Request};

/// The number of callers of one user at a time, for requests that can be repeated.
const AT_ONCE: usize = 4;
/// The time for which the callers send requests.
const ROUNDS: Duration = Duration::from_secs(1);
/// The time within which the store folds changes into its tables, with a margin.
const FOLDED: Duration = Duration::from_millis(2600);
/// The bytes of the journal above which the measurement waits for that.
const WORTH_WAITING: f64 = 1e6;

/// The cost of the other users alone, which is subtracted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Baseline {
    processor_a_second: f64,
    journal_a_change: f64,
    written_a_change: f64,
    pub waits: Waits,
}

/// The cost of a request.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub statuses: Vec<u16>,
    pub died: bool,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub cut: bool,
    pub took: Duration,
    /// The highest memory of the process, with one call and with four at a time.
    pub peak: u64,
    pub peak_of_four: u64,
    pub processor: f64,
    pub journal: f64,
    pub written: f64,
    pub waits: Waits,
    /// The longest time in milliseconds for which a call kept a thread to itself, as measured by
    /// the server.
    pub slowest_turn: f64,
}

/// The journal according to `/metrics`: the bytes added since the beginning.
struct Journal {
    client: Client,
    last: f64,
    sum: f64,
}

impl Journal {
    fn begin(base: &str) -> Journal {
        let client = Client::at(base, None);
        let last = metric(&client, "stet_store_unfolded_bytes");
        Journal { client, last, sum: 0.0 }
    }

    /// Reads the metrics again, until `over`.
    fn watch(&mut self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            self.look();
        }
    }

    fn look(&mut self) {
        let now = metric(&self.client, "stet_store_unfolded_bytes");
        // The size falls when changes are folded into the tables.
        self.sum += if now >= self.last { now - self.last } else { now };
        self.last = now;
    }
}

/// Measures the cost of the other users while no expensive request runs.
pub fn baseline(fixture: &Fixture) -> Baseline {
    let changes = fixture.changes().clone();
    fixture.restart();
    let (pid, base) = (fixture.pid(), fixture.base());
    let mut journal = Journal::begin(&base);
    let before = Moment::of(pid);
    let begun = Instant::now();
    let probes = Probes::start(&base, &changes);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| journal.watch(&over));
        std::thread::sleep(FOLDED * 2);
        over.store(true, Ordering::Relaxed);
    });
    let (waits, changes) = probes.end();
    let after = Moment::of(pid);
    let changes = changes.max(1) as f64;
    Baseline {
        processor_a_second: (after.processor - before.processor) / begun.elapsed().as_secs_f64(),
        journal_a_change: journal.sum / changes,
        written_a_change: (after.written - before.written) as f64 / changes,
        waits,
    }
}

/// Measures a request on a server that was started for it.
pub fn measure(fixture: &Fixture, dearest: &Dearest, baseline: &Baseline) -> Figures {
    let changes = fixture.changes().clone();
    if dearest.by != By::Stranger {
        fixture.token(dearest.by);
    }
    fixture.restart();
    let caller = fixture.caller(dearest.by);
    let requests: &[Request] = match &dearest.calls {
        Calls::Repeated(requests) => requests,
        Calls::Once(request) => std::slice::from_ref(request),
    };
    let (pid, base) = (fixture.pid(), fixture.base());
    let mut figures = Figures { bytes_in: requests[0].size(), ..Figures::default() };

    let mut journal = Journal::begin(&base);
    std::thread::sleep(Duration::from_millis(200));
    reset_peak(pid);
    let (before, begun) = (Moment::of(pid), Instant::now());
    let probes = Probes::start(&base, &changes);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            journal.watch(&over);
            journal.sum
        });
        std::thread::sleep(Duration::from_millis(100));
        let reply = caller.send(&requests[0]);
        std::thread::sleep(Duration::from_millis(150));
        over.store(true, Ordering::Relaxed);
        figures.journal = watch.join().unwrap_or_default();
        figures.note(&reply);
        (figures.bytes_out, figures.cut, figures.took) = (reply.bytes, reply.cut, reply.took);
    });
    figures.peak = peak(pid);
    let (waits, changed) = probes.end();
    let others = begun.elapsed().as_secs_f64() * baseline.processor_a_second;
    figures.processor = (Moment::of(pid).processor - before.processor - others).max(0.0);
    figures.journal = (figures.journal - changed as f64 * baseline.journal_a_change).max(0.0);
    if figures.journal > WORTH_WAITING {
        std::thread::sleep(FOLDED);
    }
    figures.written = Moment::of(pid).written.saturating_sub(before.written) as f64;
    figures.written = (figures.written - changed as f64 * baseline.written_a_change).max(0.0);
    figures.waits = waits;
    figures.peak_of_four = figures.peak;
    if let Calls::Repeated(requests) = &dearest.calls {
        several(fixture, &caller, requests, &mut figures);
    }
    figures.slowest_turn = metric(&Client::at(&base, None), "stet_http_slowest_turn_processor_seconds") * 1000.0;
    // A killed process has no memory.
    figures.died |= Moment::of(pid).resident == 0;
    if let Some((by, request)) = &dearest.undo {
        fixture.caller(*by).json(request);
    }
    figures
}

/// Returns a value of `/metrics`; 0 once the server has ended.
fn metric(client: &Client, name: &str) -> f64 {
    let Ok(answer) = client.try_send("GET", "/metrics", &[], b"") else { return 0.0 };
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_default()
}

/// Sends the requests on several connections of one user.
fn several(fixture: &Fixture, caller: &Caller, requests: &[Request], figures: &mut Figures) {
    reset_peak(fixture.pid());
    let probes = Probes::start(&fixture.base(), fixture.changes());
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    let replies: Vec<Reply> = std::thread::scope(|scope| {
        let call = |first: usize| {
            let mut replies = Vec::new();
            // The first request has been sent already.
            for request in requests.iter().cycle().skip(first + 1) {
                replies.push(caller.send(request));
                if begun.elapsed() > ROUNDS {
                    break;
                }
            }
            replies
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(move || call(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a caller does not panic")).collect()
    });
    std::thread::sleep(Duration::from_millis(50));
    let (waits, _) = probes.end();
    replies.iter().for_each(|reply| figures.note(reply));
    figures.waits = figures.waits.or_worse(waits);
    figures.peak_of_four = peak(fixture.pid());
}

impl Figures {
    fn note(&mut self, reply: &Reply) {
        match reply.status {
            Some(status) if !self.statuses.contains(&status) => self.statuses.push(status),
            Some(_) => {}
            None => self.statuses.push(0),
        }
        self.statuses.sort_unstable();
        self.statuses.dedup();
    }
}
