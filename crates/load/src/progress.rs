//! The progress line: rewritten each second on a terminal, otherwise a new line every five seconds.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::figures::{duration_us, number};
use super::measure::MeasurementSlice;

/// The progress line of a load, on standard error. Standard output is for the final table.
pub struct ProgressLine {
    quiet: bool,
    terminal: bool,
    since: MeasurementSlice,
    last: Duration,
    open_line: bool,
}

impl ProgressLine {
    /// Creates a progress line, which prints nothing if `quiet`.
    pub fn new(quiet: bool) -> ProgressLine {
        let terminal = std::io::stderr().is_terminal();
        ProgressLine { quiet, terminal, since: MeasurementSlice::default(), last: Duration::ZERO, open_line: false }
    }

    /// Prints another message.
    pub fn say(&mut self, what: &str) {
        if !self.quiet {
            let clear = if std::mem::take(&mut self.open_line) { "\n" } else { "" };
            // The reader may be gone.
            let _ = writeln!(std::io::stderr(), "{clear}{what}");
        }
    }

    /// Adds measurements, and prints the line with `aside` at its end when it is due.
    pub fn note(&mut self, elapsed: Duration, slice: &MeasurementSlice, aside: impl FnOnce() -> String) {
        self.since.add(slice.clone());
        let each = Duration::from_secs(if self.terminal { 1 } else { 5 });
        if self.quiet || elapsed < self.last + each {
            return;
        }
        let since = std::mem::take(&mut self.since);
        let line = line(elapsed, elapsed - self.last, &since, &aside());
        self.last = elapsed;
        let mut out = std::io::stderr();
        // The reader may be gone. The rest of a longer previous line is cleared.
        let _ = if self.terminal { write!(out, "\r{line}\x1b[K") } else { writeln!(out, "{line}") };
        let _ = out.flush();
        self.open_line = self.terminal;
    }

    /// Ends the line.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.open_line) {
            let _ = writeln!(std::io::stderr());
        }
    }
}

fn line(elapsed: Duration, length: Duration, slice: &MeasurementSlice, aside: &str) -> String {
    let rate = slice.counts.succeeded as f64 / length.as_secs_f64().max(1e-3);
    let at = |share| duration_us(slice.latency.value_at_quantile(share));
    let mut line =
        format!("{:>5} s  {:>7}/s  p50 {}  p99 {}", elapsed.as_secs(), number(rate.round() as u64), at(0.5), at(0.99));
    if slice.counts.refused > 0 {
        line += &format!("  refused {}", number(slice.counts.refused));
    }
    if slice.counts.overloaded > 0 {
        line += &format!("  overloaded {}", number(slice.counts.overloaded));
    }
    for (code, count) in &slice.codes.failed {
        line += &format!("  {code} {}", number(*count));
    }
    if !aside.is_empty() {
        line += &format!("  {aside}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Recorder;
    use crate::scenario::OperationOutcome;

    #[test]
    fn a_line_has_the_rate_the_latencies_and_the_errors_by_code() {
        let mut recorder = Recorder::new(1);
        for n in 0..2000u64 {
            let outcome = match n % 100 {
                0 => OperationOutcome::Failed("timeout".into()),
                1 => OperationOutcome::Overloaded("CMS.Overloaded".into()),
                _ => OperationOutcome::Succeeded,
            };
            recorder.record(0, Duration::from_millis(if n < 1900 { 2 } else { 40 }), outcome, true);
        }
        let line = line(Duration::from_secs(7), Duration::from_secs(2), &recorder.take_slice(), "heard 5");
        for part in ["7 s", "980/s", "p50 2.0 ms", "p99 40", "timeout 20", "overloaded 20", "heard 5"] {
            assert!(line.contains(part), "`{part}` is missing in {line}");
        }
    }
}
