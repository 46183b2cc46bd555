//! The report as text, with numbers formatted for people.

use std::fmt::Write;

use super::{LoadReport, following, hostile};
use crate::figures::{duration_us, format_count, number, percent};
use crate::judge::figure::Figure;
use crate::judge::{Difference, FigureComparison, LoadComparison, OperationComparison, times};
use crate::machine::Machine;
use crate::measure::{KindMeasurements, OutcomeCodes, Quantiles};
use crate::scenario::VerificationFinding;

/// Describes the verdict in a word or two.
pub fn finding(finding: VerificationFinding) -> &'static str {
    match finding {
        VerificationFinding::Verified => "verified",
        VerificationFinding::Violated => "NOT AS ACKNOWLEDGED",
        VerificationFinding::Unknown => "not verified",
    }
}

/// The column heads of the table by kind of operation.
pub const COLUMNS: [&str; 14] = [
    "operation",
    "count",
    "share",
    "of the time",
    "succeeded",
    "a second",
    "refused",
    "overloaded",
    "failed",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
];

/// Returns the rows of the table by kind, with all kinds together last.
pub fn rows(report: &LoadReport) -> Vec<[String; 14]> {
    let row = |name: &str, kind: &KindMeasurements| {
        let (counts, quantiles) = (kind.counts, Quantiles::of(&kind.latency));
        let Quantiles { p50_us, p90_us, p99_us, p999_us, max_us, .. } = quantiles;
        [
            name.to_owned(),
            number(counts.all()),
            percent(report.share(kind)),
            percent(report.share_of_time(kind)),
            number(counts.succeeded),
            number(report.rate(counts).round() as u64),
            number(counts.refused),
            number(counts.overloaded),
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

/// Renders rows below their heads, with the first column left-aligned and the others right-aligned.
fn align_columns<const N: usize>(heads: &[&str; N], rows: &[[String; N]]) -> String {
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

/// Summarises all operations in one line.
fn headline(report: &LoadReport) -> String {
    let counts = report.all.counts;
    let share = |count: u64| percent(counts.share(count));
    format!(
        "{} a second succeeded; of {}, {} succeeded, {} were refused by rule, {} were refused for overload, {} failed",
        number(report.rate(counts).round() as u64),
        number(counts.all()),
        share(counts.succeeded),
        share(counts.refused),
        share(counts.overloaded),
        share(counts.failed)
    )
}

/// The column heads of the table that compares all operations with an earlier load's.
pub const BESIDE: [&str; 4] = ["all operations", "now", "before", "ratio"];

/// Returns the rows of the comparison of all operations.
pub fn comparison_rows(comparison: &LoadComparison) -> Vec<[String; 4]> {
    // The entry for all kinds together is the last.
    let all = comparison.operations.last().map(|all| all.figures.as_slice()).unwrap_or_default();
    let row = |beside: &FigureComparison| {
        let [now, before, ratio] = beside.in_words();
        [beside.figure.name().to_owned(), now, before, ratio]
    };
    all.iter().map(row).collect()
}

/// Returns the column heads of the table of ratios by kind of operation.
pub fn ratio_heads() -> [&'static str; 12] {
    let mut heads = ["ratio"; 12];
    heads[1..].iter_mut().zip(Figure::ALL).for_each(|(head, figure)| *head = figure.name());
    heads
}

/// Returns the rows of the table of ratios, without all kinds together, which the other table has.
pub fn ratio_rows(comparison: &LoadComparison) -> Vec<[String; 12]> {
    let row = |compared: &OperationComparison| {
        let mut row: [String; 12] = std::array::from_fn(|_| String::new());
        row[0].clone_from(&compared.operation);
        row[1..].iter_mut().zip(&compared.figures).for_each(|(cell, beside)| *cell = times(beside.ratio));
        row
    };
    comparison.operations.iter().rev().skip(1).rev().map(row).collect()
}

/// Describes each parameter that differed between the two loads.
pub fn differences(comparison: &LoadComparison) -> Vec<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let words = |difference: &Difference| {
        let Difference { parameter, now, before } = difference;
        format!("{parameter} is {}, and was {}", value(now), value(before))
    };
    comparison.different.iter().map(words).collect()
}

fn comparison(report: &LoadReport) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    let mut out = format!("beside the load of {}; of counts the shares are compared\n", comparison.begun);
    out.push_str(&align_columns(&BESIDE, &comparison_rows(comparison)));
    out.push_str(&align_columns(&ratio_heads(), &ratio_rows(comparison)));
    for difference in differences(comparison) {
        let _ = writeln!(out, "not alike: {difference}");
    }
    out
}

/// Describes the origin of the figures: the server, the load's machine and its command line.
pub fn surroundings(report: &LoadReport) -> Vec<(String, String)> {
    let server = &report.server;
    let named = [server.name.as_deref(), server.version.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let told = if named.is_empty() { "it does not report its version".to_owned() } else { named };
    let mut pairs = vec![("server".to_owned(), told)];
    for (name, labels) in &server.info {
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label} {value}")).collect();
        pairs.push((name.trim_end_matches("_info").to_owned(), labels.join(", ")));
    }
    if let Some(store) = server.store {
        let commits = format_count(store.commits, "commit", "commits");
        pairs.push((
            "its store".to_owned(),
            format!("{commits}, {} each on average", duration_us(store.mean_commit_us)),
        ));
    }
    let Machine { cores, processor, memory_bytes, kernel } = &report.machine;
    let cores = format_count(*cores as u64, "processor", "processors");
    let processor = processor.as_ref().map(|processor| format!(" ({processor})")).unwrap_or_default();
    let memory = memory_bytes.map(|bytes| format!(", {:.1} GiB of memory", bytes as f64 / f64::from(1 << 30)));
    pairs.push(("load from".to_owned(), format!("{cores}{processor}{}, {kernel}", memory.unwrap_or_default())));
    pairs.push(("load by".to_owned(), format!("stet {}, {}", env!("CARGO_PKG_VERSION"), report.command_line)));
    pairs
}

/// Renders the final table for printing.
pub fn table(report: &LoadReport) -> String {
    let mut out = align_columns(&COLUMNS, &rows(report));
    let _ = writeln!(out, "{}", headline(report));
    let OutcomeCodes { refused, overloaded, failed } = &report.codes;
    for (what, codes) in [("refused", refused), ("overloaded", overloaded), ("failed", failed)] {
        for (code, count) in codes {
            let _ = writeln!(out, "{what}: {} × {code}", number(*count));
        }
    }
    if let Some(delivery) = &report.delivery {
        out.push_str(&align_columns(&following::COLUMNS, &following::rows(delivery)));
        for (name, value) in following::facts(delivery) {
            let _ = writeln!(out, "{name}: {value}");
        }
    }
    if let Some(tallies) = &report.hostile {
        out.push_str(&align_columns(&hostile::COLUMNS, &hostile::rows(tallies)));
    }
    let busiest = report.saturation.threads.iter().map(|thread| thread.cpu).fold(0.0, f64::max);
    let _ = writeln!(out, "generator: busiest thread at {:.0} % of a processor", busiest * 100.0);
    for warning in &report.saturation.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    for remark in &report.saturation.remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    out.push_str(&comparison(report));
    for (name, value) in surroundings(report) {
        let _ = writeln!(out, "{name}: {value}");
    }
    for judged in &report.judged {
        let so = if judged.holds { "NOT MET" } else { "met" };
        let _ = writeln!(out, "pass criterion {}: {so} ({})", judged.criterion, judged.value);
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
