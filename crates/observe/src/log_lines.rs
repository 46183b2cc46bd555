//! The output of log lines.
//!
//! The reader of standard error may be slow or stopped, and a pipe holds 64 KiB. Threads that serve
//! must not wait for it. So lines go through a queue to a separate thread, and a line that finds no
//! room is dropped. Clients must not be able to fill the operator's disk either: each place in the
//! code has a log quota, and further lines are suppressed. Dropped and suppressed lines are counted
//! for `/metrics`, and reported in the log from time to time.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stet_base::limits::{Quota, Quotas};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The number of lines that may wait to be written.
const QUEUED: usize = 8192;

/// The quota of lines of one place, and the seconds in which it is restored: five a second, and
/// some 60 MB a day.
const BURST: (u32, u64) = (100, 20);

/// The number of places in the code with a quota: more than exist.
const PLACES: usize = 4096;

/// The interval of reports about missing lines.
const TELLING: Duration = Duration::from_secs(5);

/// The time for which the end of the process waits until the log or the last message is read.
const PATIENCE: Duration = Duration::from_secs(2);

/// The target of the lines that report missing ones. They have no quota, because there is at most
/// one at a time for each place.
const TELLER: &str = "stet::log";

/// The missing lines of this process, once its log is set up.
static MISSING: OnceLock<Arc<MissingLines>> = OnceLock::new();

/// The lines that are missing in the log.
struct MissingLines {
    /// The number of lines that found no room.
    dropped: ErrorCounter,
    /// The lines of each place that exceeded its quota.
    suppressed: Mutex<HashMap<usize, SuppressedLines>>,
}

struct SuppressedLines {
    of: &'static Metadata<'static>,
    count: u64,
    told: u64,
}

/// The thread of the log. Keep it until the process ends: later lines are lost.
#[must_use]
pub struct LogThread {
    guard: WorkerGuard,
    missing: Arc<MissingLines>,
}

impl LogThread {
    /// Creates a queue of lines to `out`. Returns the writer for the queue, the filter with the
    /// quotas, and the thread, which must be [started](LogThread::start).
    pub fn to(out: impl Write + Send + 'static) -> (NonBlocking, LogQuotaLayer, LogThread) {
        let queue = NonBlockingBuilder::default().buffered_lines_limit(QUEUED).lossy(true).thread_name("stet-log");
        let (writer, guard) = queue.finish(out);
        let missing = Arc::new(MissingLines { dropped: writer.error_counter(), suppressed: Mutex::default() });
        let (burst, seconds) = BURST;
        let budgets = Quotas::new(Quota::new(burst, seconds), PLACES);
        let bounded = LogQuotaLayer { budgets, begun: Instant::now(), missing: missing.clone() };
        (writer, bounded, LogThread { guard, missing })
    }

    /// Begins to count and report missing lines. Call it once, for the log of the process.
    pub fn start(&self) {
        if MISSING.set(self.missing.clone()).is_err() {
            return;
        }
        let missing = self.missing.clone();
        let tell = move || {
            let mut told = 0;
            loop {
                std::thread::sleep(TELLING);
                told = missing.tell(told);
            }
        };
        // The thread lives as long as the process, as the log does.
        if let Err(error) = std::thread::Builder::new().name("stet-log-missing".to_owned()).spawn(tell) {
            tracing::error!(%error, "cannot start the thread that reports missing log lines");
        }
    }

    /// Writes the waiting lines, as long as somebody reads them.
    pub fn end(self) {
        self.missing.tell_suppressed();
        let LogThread { guard, .. } = self;
        run_with_patience(move || drop(guard));
    }
}

/// Writes the last message of the process to standard error, as long as somebody reads it. A closed
/// output or a full disk is ignored.
pub fn say(message: &str) {
    let line = format!("{message}\n");
    run_with_patience(move || {
        // There is no way left to report an error.
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

/// Runs an action that may wait for a reader for ever, and waits for it for a limited time. Only
/// for the end of the process.
fn run_with_patience(act: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel::<()>();
    let acting = std::thread::Builder::new().name("stet-end".to_owned()).spawn(move || {
        act();
        drop(done);
    });
    if acting.is_ok() {
        // Nothing is sent: the channel closes when the action ends or panics.
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Updates the metrics.
pub fn report() {
    let Some(missing) = MISSING.get() else { return };
    let suppressed = missing.suppressed.lock().values().map(|place| place.count).sum();
    metrics::counter!("stet_log_lines_dropped_total", "why" => "unread")
        .absolute(missing.dropped.dropped_lines() as u64);
    metrics::counter!("stet_log_lines_dropped_total", "why" => "repeated").absolute(suppressed);
}

impl MissingLines {
    /// Reports new missing lines in the log. `told` is the number of dropped lines reported so far;
    /// returns the new one.
    fn tell(&self, told: usize) -> usize {
        self.tell_suppressed();
        let dropped = self.dropped.dropped_lines();
        if dropped > told {
            tracing::warn!(target: TELLER, total = dropped, "dropped log lines that were not read in time");
        }
        // The report may have been dropped too. Then one more line is missing than reported.
        dropped
    }

    fn tell_suppressed(&self) {
        let mut news = Vec::new();
        for place in self.suppressed.lock().values_mut().filter(|place| place.count > place.told) {
            news.push((place.of, place.count - place.told));
            place.told = place.count;
        }
        for (of, lines) in news {
            let (file, line) = (of.file().unwrap_or_else(|| of.target()), of.line().unwrap_or_default());
            tracing::warn!(
                target: TELLER, lines, file, line,
                "suppressed log lines: too many from one place in the code"
            );
        }
    }
}

/// A filter that passes a limited number of lines of each place in the code, and counts the others.
/// Lines at finer levels than `info` pass without limit, because somebody has asked for all of
/// them.
pub struct LogQuotaLayer {
    budgets: Quotas<usize>,
    begun: Instant,
    missing: Arc<MissingLines>,
}

impl<S: Subscriber> Layer<S> for LogQuotaLayer {
    fn event_enabled(&self, event: &Event<'_>, _context: Context<'_, S>) -> bool {
        let of = event.metadata();
        if *of.level() > Level::INFO || of.target() == TELLER {
            return true;
        }
        // The address of its metadata identifies a place.
        let place = std::ptr::from_ref(of) as usize;
        let now_ms = self.begun.elapsed().as_millis() as u64;
        let (enough, _) = self.budgets.take(place, now_ms);
        if !enough {
            let mut suppressed = self.missing.suppressed.lock();
            suppressed.entry(place).or_insert(SuppressedLines { of, count: 0, told: 0 }).count += 1;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// The written bytes, for the test to read.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log lines of `act`.
    fn logged(act: impl FnOnce()) -> String {
        let written = Written::default();
        let (writer, bounded, lines) = LogThread::to(written.clone());
        let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(bounded).with(layer), || {
            act();
            lines.end();
        });
        let bytes = written.0.lock().clone();
        String::from_utf8(bytes).expect("lines are text")
    }

    #[test]
    fn one_place_writes_so_many_lines_and_says_how_many_are_missing() {
        let log = logged(|| {
            for number in 0..1000 {
                tracing::warn!(number, "again");
            }
            for number in 0..1000 {
                tracing::debug!(number, "asked for");
            }
            tracing::warn!("another place");
        });
        let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
        // A few uses are restored during the test.
        assert!((100..200).contains(&count("again")), "{}", count("again"));
        assert_eq!((count("asked for"), count("another place"), count("suppressed log lines")), (1000, 1, 1), "{log}");
        let told = log.lines().find(|line| line.contains("suppressed log lines")).expect("it was counted");
        assert!(told.contains(&format!("lines={}", 1000 - count("again"))) && told.contains("log_lines.rs"), "{told}");
    }

    /// A writer that blocks until the test ends.
    struct Stalled(mpsc::Receiver<()>);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Returns an error when the other end is dropped.
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stalled_log_reader_blocks_nobody_and_dropped_lines_are_counted() {
        let (open, stalled) = mpsc::channel();
        let (mut writer, _, lines) = LogThread::to(Stalled(stalled));
        for _ in 0..QUEUED + 100 {
            writer.write_all(b"a line\n").expect("it goes into the queue, or is dropped");
        }
        // The thread may have taken one.
        assert!(
            (99..=100).contains(&lines.missing.dropped.dropped_lines()),
            "{}",
            lines.missing.dropped.dropped_lines()
        );
        lines.end();
        drop(open);
    }
}
