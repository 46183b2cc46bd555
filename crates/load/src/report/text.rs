//! Numbers as people read them, and the final table.

use std::fmt::Write;

use super::{Quantiles, Report, following};
use crate::figures::{duration_us, number};
use crate::measure::Kind;
use crate::scenario::Finding;

/// The verdict in a word or two.
pub fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Verified => "verified",
        Finding::Violated => "NOT AS ACKNOWLEDGED",
        Finding::Unknown => "not verified",
    }
}

/// A share as people read it.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The heads of the columns of a table by kind.
pub const COLUMNS: [&str; 13] = [
    "operation",
    "count",
    "share",
    "of the time",
    "a second",
    "done",
    "refused",
    "failed",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
];

/// The rows of that table, all kinds together last.
pub fn rows(report: &Report) -> Vec<[String; 13]> {
    let row = |name: &str, kind: &Kind| {
        let (counts, quantiles) = (kind.counts, Quantiles::of(&kind.latency));
        let Quantiles { p50_us, p90_us, p99_us, p999_us, max_us } = quantiles;
        [
            name.to_owned(),
            number(counts.all()),
            percent(report.share(kind)),
            percent(report.share_of_time(kind)),
            number(report.rate(counts).round() as u64),
            number(counts.done),
            number(counts.refused),
            number(counts.failed),
            duration_us(p50_us),
            duration_us(p90_us),
            duration_us(p99_us),
            duration_us(p999_us),
            duration_us(max_us),
        ]
    };
    report.kinds.iter().map(|(name, kind)| row(name, kind)).chain([row("all", &report.all)]).collect()
}

/// Rows below their heads, the first column to the left and the others to the right.
fn aligned<const N: usize>(heads: &[&str; N], rows: &[[String; N]]) -> String {
    let heads = heads.map(str::to_owned);
    let width = |column: usize| {
        let all = rows.iter().chain([&heads]);
        all.map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let mut out = String::new();
    for row in [&heads].into_iter().chain(rows) {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            // Writing to a String can't fail.
            let _ = if column == 0 { write!(out, "{cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.push('\n');
    }
    out
}

/// The final table, as it is printed.
pub fn table(report: &Report) -> String {
    let mut out = aligned(&COLUMNS, &rows(report));
    for (what, codes) in [("refused", &report.codes.refused), ("failed", &report.codes.failed)] {
        for (code, count) in codes {
            let _ = writeln!(out, "{what}: {} × {code}", number(*count));
        }
    }
    if let Some(delivery) = &report.delivery {
        out.push_str(&aligned(&following::COLUMNS, &following::rows(delivery)));
        for (name, value) in following::facts(delivery) {
            let _ = writeln!(out, "{name}: {value}");
        }
    }
    let busiest = report.saturation.threads.iter().map(|thread| thread.cpu).fold(0.0, f64::max);
    let _ = writeln!(out, "generator: busiest thread at {:.0} % of a processor", busiest * 100.0);
    for warning in &report.saturation.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    for remark in &report.saturation.remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    let _ = writeln!(out, "{}: {}", finding(report.verdict.finding), report.verdict.method);
    for problem in &report.verdict.problems {
        let _ = writeln!(out, "  {problem}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_as_people_read_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        let times = [7, 999, 1000, 12_340, 250_000, 1_500_000, 120_000_000].map(duration_us);
        assert_eq!(times, ["7 µs", "999 µs", "1.0 ms", "12.3 ms", "250 ms", "1.5 s", "120 s"]);
    }
}
