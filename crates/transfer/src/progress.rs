//! What has been done so far: counted by all threads, shown once in a while, told at the end.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was made, or written.
    Done,
    /// It was there as it should be.
    There,
    /// It is there and looks otherwise; it was left alone.
    Differs,
    /// It can't be transferred.
    LeftOut,
    /// It could not be done.
    Failed,
    /// What was written of it at another place went from there.
    Removed,
}

/// See the module's head.
#[derive(Debug)]
pub struct Progress {
    verb: &'static str,
    quiet: bool,
    begun: Instant,
    counts: [AtomicU64; 6],
    bytes: AtomicU64,
    ended: AtomicBool,
}

impl Progress {
    /// One whose first count is of what is `made` or `written`.
    pub fn new(verb: &'static str, quiet: bool) -> Progress {
        let (counts, bytes) = (Default::default(), AtomicU64::new(0));
        Progress { verb, quiet, begun: Instant::now(), counts, bytes, ended: AtomicBool::new(false) }
    }

    /// An object, and why, where that is to be told.
    pub fn note(&self, fate: Fate, what: &str, why: Option<&dyn fmt::Display>) {
        self.counts[fate as usize].fetch_add(1, Ordering::Relaxed);
        if let Some(why) = why {
            let how = match fate {
                Fate::Done | Fate::There => "note",
                Fate::Differs => "differs",
                Fate::LeftOut => "left out",
                Fate::Failed => "failed",
                Fate::Removed => "removed",
            };
            say(&format!("{how}: {what}: {why}"));
        }
    }

    /// Bytes of contents that went over.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many had that fate.
    pub fn count(&self, fate: Fate) -> u64 {
        self.counts[fate as usize].load(Ordering::Relaxed)
    }

    /// Does the work while another thread shows how far it is: each second at a terminal, else every ten.
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
                // Whoever reads may have gone.
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            }
        }
        if terminal && !self.quiet {
            say("");
        }
    }
}

/// A line on standard error.
fn say(line: &str) {
    // Whoever reads may have gone.
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |fate| self.count(fate);
        write!(f, "{} {}, {} there already", count(Fate::Done), self.verb, count(Fate::There))?;
        for (fate, how) in [
            (Fate::Removed, "removed where they were before"),
            (Fate::Differs, "differ"),
            (Fate::LeftOut, "left out"),
            (Fate::Failed, "failed"),
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
    fn it_says_what_there_is_to_say() {
        let progress = Progress::new("made", true);
        let said = progress.while_shown(|| {
            progress.note(Fate::Done, "a", None);
            progress.add_bytes(1_500_000);
            progress.to_string()
        });
        assert!(said.starts_with("1 made, 0 there already; 1.5 MB in "), "{said}");
        progress.note(Fate::Failed, "b", None);
        assert!(progress.to_string().starts_with("1 made, 0 there already, 1 failed; "));
    }
}
