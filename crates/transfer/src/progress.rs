//! The progress of a transfer: counted by all threads, shown periodically, and reported at the end.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The outcome for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The object was created, or written to disk.
    Done,
    /// The object existed and got a new version.
    Updated,
    /// The object existed and was up to date.
    There,
    /// The object exists with other data; it was left alone.
    Differs,
    /// The object can't be transferred.
    LeftOut,
    /// The transfer of the object failed.
    Failed,
    /// The files of an earlier export at the object's former place were removed.
    Removed,
}

/// The counts of a transfer, shared by its threads.
#[derive(Debug)]
pub struct TransferProgress {
    verb: &'static str,
    quiet: bool,
    begun: Instant,
    counts: [AtomicU64; 7],
    bytes: AtomicU64,
    ended: AtomicBool,
    unrecognised: Mutex<UnrecognisedFiles>,
}

/// Names of files that are listed at the end, if they were not recognised.
const LISTED: usize = 20;

/// Files that could be items of an agency and were not recognised.
#[derive(Debug, Default)]
struct UnrecognisedFiles {
    count: u64,
    /// The first of them in alphabetical order, at most [`LISTED`].
    names: BTreeSet<String>,
}

impl TransferProgress {
    /// Creates the counts; `verb` describes the first one: `made` or `written`.
    pub fn new(verb: &'static str, quiet: bool) -> TransferProgress {
        let (counts, bytes, ended) = (Default::default(), AtomicU64::new(0), AtomicBool::new(false));
        TransferProgress { verb, quiet, begun: Instant::now(), counts, bytes, ended, unrecognised: Mutex::default() }
    }

    /// Counts an object, and prints the reason, if there is one.
    pub fn note(&self, fate: TransferOutcome, what: &str, why: Option<&dyn fmt::Display>) {
        self.counts[fate as usize].fetch_add(1, Ordering::Relaxed);
        if let Some(why) = why {
            let how = match fate {
                TransferOutcome::Done | TransferOutcome::Updated | TransferOutcome::There => "note",
                TransferOutcome::Differs => "differs",
                TransferOutcome::LeftOut => "left out",
                TransferOutcome::Failed => "failed",
                TransferOutcome::Removed => "removed",
            };
            say(&format!("{how}: {what}: {why}"));
        }
    }

    /// Notes a file that could be an item of an agency and was not recognised.
    pub fn note_unrecognised(&self, name: &str) {
        let mut unrecognised = self.unrecognised.lock();
        unrecognised.count += 1;
        unrecognised.names.insert(name.to_owned());
        if unrecognised.names.len() > LISTED {
            unrecognised.names.pop_last();
        }
    }

    /// Returns a line that names the files which were not recognised, if there are any.
    pub fn unrecognised(&self) -> Option<String> {
        let UnrecognisedFiles { count, names } = &*self.unrecognised.lock();
        let what = match count {
            0 => return None,
            1 => "1 file was not recognised as a wire item, and has no attributes".to_owned(),
            count => format!("{count} files were not recognised as wire items, and have no attributes"),
        };
        let more = match count.saturating_sub(names.len() as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        Some(format!("{what}: {names}{more}"))
    }

    /// Adds bytes of transferred contents.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of objects with that outcome.
    pub fn count(&self, fate: TransferOutcome) -> u64 {
        self.counts[fate as usize].load(Ordering::Relaxed)
    }

    /// Runs the work while another thread shows the progress: every second at a terminal, else
    /// every ten.
    pub fn while_shown<T>(&self, work: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            let shown = scope.spawn(|| self.show());
            let done = work();
            self.ended.store(true, Ordering::Relaxed);
            shown.thread().unpark();
            done
        })
    }

    fn show(&self) {
        let terminal = std::io::stderr().is_terminal();
        let each = Duration::from_secs(if terminal { 1 } else { 10 });
        let mut next = Instant::now() + each;
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
            if Instant::now() < next {
                continue;
            }
            next += each;
            if !self.quiet {
                let line = if terminal { format!("\r{self}\x1b[K") } else { format!("{self}\n") };
                let mut out = std::io::stderr();
                // The reader may have closed its end.
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            }
        }
        if terminal && !self.quiet {
            say("");
        }
    }
}

/// Prints a line to standard error.
pub fn say(line: &str) {
    // The reader may have closed its end.
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl fmt::Display for TransferProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |fate| self.count(fate);
        write!(f, "{} {}, {} already present", count(TransferOutcome::Done), self.verb, count(TransferOutcome::There))?;
        for (fate, how) in [
            (TransferOutcome::Updated, "updated"),
            (TransferOutcome::Removed, "removed from their former places"),
            (TransferOutcome::Differs, "differ"),
            (TransferOutcome::LeftOut, "left out"),
            (TransferOutcome::Failed, "failed"),
        ] {
            if count(fate) > 0 {
                write!(f, ", {} {how}", count(fate))?;
            }
        }
        let megabytes = self.bytes.load(Ordering::Relaxed) as f64 / 1e6;
        write!(f, "; {megabytes:.1} MB in {:.1} s", self.begun.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_progress_reports_counts_bytes_and_failures() {
        let progress = TransferProgress::new("created", true);
        let said = progress.while_shown(|| {
            progress.note(TransferOutcome::Done, "a", None);
            progress.add_bytes(1_500_000);
            progress.to_string()
        });
        assert!(said.starts_with("1 created, 0 already present; 1.5 MB in "), "{said}");
        progress.note(TransferOutcome::Failed, "b", None);
        assert!(progress.to_string().starts_with("1 created, 0 already present, 1 failed; "));
    }

    #[test]
    fn files_that_were_not_recognised_are_named_as_far_as_there_is_room() {
        let progress = TransferProgress::new("created", true);
        assert_eq!(progress.unrecognised(), None);
        progress.note_unrecognised("z.xml");
        let one = "1 file was not recognised as a wire item, and has no attributes: z.xml";
        assert_eq!(progress.unrecognised().as_deref(), Some(one));
        for n in 0..LISTED {
            progress.note_unrecognised(&format!("{n:02}.xml"));
        }
        let told = progress.unrecognised().expect("there are some");
        assert!(told.starts_with("21 files were not recognised") && told.ends_with(", 19.xml and 1 more"), "{told}");
    }
}
