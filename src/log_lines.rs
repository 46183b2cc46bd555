//! The lines of the log on their way out.
//!
//! Whoever reads standard error may be slow, or stand still, and a pipe holds 64 KiB: a thread that
//! serves must not wait for that. So lines go through a queue to a thread of their own, and one
//! that finds no room is dropped. And what a client causes must not fill the operator's disk: each
//! place in the code has a budget of lines, and beyond it they are suppressed. Both are counted,
//! for `/metrics`, and told in the log from time to time.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::limits::{Quota, Quotas};

/// Lines that wait to be written.
const QUEUED: usize = 8192;

/// Lines of one place at once, and the seconds in which as many come back: five a second, and some
/// 60 MB a day.
const BURST: (u32, u64) = (100, 20);

/// Places in the code that have a budget of lines: more than there are.
const PLACES: usize = 4096;

/// How often it is told which lines are missing.
const TELLING: Duration = Duration::from_secs(5);

/// How long the end of the process waits for whoever reads the log, or its last words.
const PATIENCE: Duration = Duration::from_secs(2);

/// The target of the lines that tell which are missing; they have no budget, for there is one for
/// each place at a time.
const TELLER: &str = "stet::log";

/// Those of this process, once its log is set up.
static MISSING: OnceLock<Arc<Missing>> = OnceLock::new();

/// Lines that are not in the log.
struct Missing {
    /// How many found no room.
    dropped: ErrorCounter,
    /// How many of each place were beyond its budget.
    suppressed: Mutex<HashMap<usize, Suppressed>>,
}

struct Suppressed {
    of: &'static Metadata<'static>,
    count: u64,
    told: u64,
}

/// The log's thread. Kept until the end of the process: lines that come later are lost.
#[must_use]
pub struct Lines {
    guard: WorkerGuard,
    missing: Arc<Missing>,
}

impl Lines {
    /// A queue of lines to `out`: its end for those who write, and what must hold of what they
    /// write. To be [started](Lines::start).
    pub fn to(out: impl Write + Send + 'static) -> (NonBlocking, Bounded, Lines) {
        let queue = NonBlockingBuilder::default().buffered_lines_limit(QUEUED).lossy(true).thread_name("stet-log");
        let (writer, guard) = queue.finish(out);
        let missing = Arc::new(Missing { dropped: writer.error_counter(), suppressed: Mutex::default() });
        let (burst, seconds) = BURST;
        let budgets = Quotas::new(Quota::new(burst, seconds), PLACES);
        let bounded = Bounded { budgets, begun: Instant::now(), missing: missing.clone() };
        (writer, bounded, Lines { guard, missing })
    }

    /// Counts and tells from here on. For the log of the process, once.
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
        // It lives as long as the process, as the log does.
        if let Err(error) = std::thread::Builder::new().name("stet-log-missing".to_owned()).spawn(tell) {
            tracing::error!(%error, "no thread to tell which lines of the log are missing");
        }
    }

    /// Writes what waits, so long as somebody reads it.
    pub fn end(self) {
        self.missing.tell_suppressed();
        let Lines { guard, .. } = self;
        bounded(move || drop(guard));
    }
}

/// The last words of the process, on standard error, so long as somebody reads them. Who has closed
/// it, or a disk that is full, changes nothing.
pub fn say(message: &str) {
    let line = format!("{message}\n");
    bounded(move || {
        // Nobody is left who could be told.
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

/// Does what may wait for a reader for ever, and waits for it for a moment. Ends with the process.
fn bounded(act: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel::<()>();
    let acting = std::thread::Builder::new().name("stet-end".to_owned()).spawn(move || {
        act();
        drop(done);
    });
    if acting.is_ok() {
        // Nothing is sent: it ends when it is done, and also when it panics.
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Brings the metrics up to date.
pub fn report() {
    let Some(missing) = MISSING.get() else { return };
    let suppressed = missing.suppressed.lock().values().map(|place| place.count).sum();
    metrics::counter!("stet_log_lines_dropped_total", "why" => "unread")
        .absolute(missing.dropped.dropped_lines() as u64);
    metrics::counter!("stet_log_lines_dropped_total", "why" => "repeated").absolute(suppressed);
}

impl Missing {
    /// Says in the log what is missing, if that is more than was told; gives the number of dropped
    /// lines that was told.
    fn tell(&self, told: usize) -> usize {
        self.tell_suppressed();
        let dropped = self.dropped.dropped_lines();
        if dropped > told {
            tracing::warn!(target: TELLER, total = dropped, "lines of the log were dropped: nobody has read them in time");
        }
        // The line may have been dropped, too; then there is one more than was told.
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
            tracing::warn!(target: TELLER, lines, file, line, "lines of one place in the code were suppressed: too many");
        }
    }
}

/// Lets so many lines of each place in the code through, and counts the others. Those at finer
/// levels than `info` are there because somebody has asked for all of them.
pub struct Bounded {
    budgets: Quotas<usize>,
    begun: Instant,
    missing: Arc<Missing>,
}

impl<S: Subscriber> Layer<S> for Bounded {
    fn event_enabled(&self, event: &Event<'_>, _context: Context<'_, S>) -> bool {
        let of = event.metadata();
        if *of.level() > Level::INFO || of.target() == TELLER {
            return true;
        }
        // A place is where what is known of it lies.
        let place = std::ptr::from_ref(of) as usize;
        let now_ms = self.begun.elapsed().as_millis() as u64;
        let (enough, _) = self.budgets.take(place, now_ms);
        if !enough {
            let mut suppressed = self.missing.suppressed.lock();
            suppressed.entry(place).or_insert(Suppressed { of, count: 0, told: 0 }).count += 1;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// What is written, for the test to read.
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

    /// What is in the log after `act`.
    fn logged(act: impl FnOnce()) -> String {
        let written = Written::default();
        let (writer, bounded, lines) = Lines::to(written.clone());
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
        // A few come back while they are written.
        assert!((100..200).contains(&count("again")), "{}", count("again"));
        assert_eq!((count("asked for"), count("another place"), count("were suppressed")), (1000, 1, 1), "{log}");
        let told = log.lines().find(|line| line.contains("were suppressed")).expect("it was counted");
        assert!(told.contains(&format!("lines={}", 1000 - count("again"))) && told.contains("log_lines.rs"), "{told}");
    }

    /// Stands still until the test ends.
    struct Stalled(mpsc::Receiver<()>);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // An error once the other end has gone.
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_does_not_read_holds_nobody_up_and_what_is_dropped_is_counted() {
        let (open, stalled) = mpsc::channel();
        let (mut writer, _, lines) = Lines::to(Stalled(stalled));
        for _ in 0..QUEUED + 100 {
            writer.write_all(b"a line\n").expect("it goes into the queue, or is dropped");
        }
        // One may be with the thread.
        assert!(
            (99..=100).contains(&lines.missing.dropped.dropped_lines()),
            "{}",
            lines.missing.dropped.dropped_lines()
        );
        lines.end();
        drop(open);
    }
}
