//! The document with the table.

use std::fmt::Write as _;

use stet_testkit::Endpoint;

use crate::dearest::Dearest;
use crate::fixture::By;
use crate::measure::{Baseline, Figures};

/// The longest acceptable wait of others at the 99th percentile, in milliseconds.
pub const WAIT: f64 = 100.0;

/// A row of the table.
pub struct Row {
    pub endpoint: &'static Endpoint,
    pub what: String,
    pub by: By,
    pub figures: Figures,
}

impl Row {
    /// Creates the row of a request that was measured.
    pub fn new(endpoint: &'static Endpoint, dearest: &Dearest, figures: Figures) -> Row {
        Row { endpoint, what: dearest.what.clone(), by: dearest.by, figures }
    }

    /// Returns the bounds that the row exceeds, in words.
    pub fn beyond(&self, memory_limit: u64) -> Vec<&'static str> {
        let figures = &self.figures;
        let fault = figures.statuses.iter().any(|status| *status >= 500 && ![503, 507].contains(status));
        let bounds = [
            (figures.died, "ended"),
            (fault, "status"),
            (figures.peak.max(figures.peak_of_four) > memory_limit, "memory"),
            (figures.waits.beyond_machine() > WAIT, "wait"),
        ];
        bounds.into_iter().filter(|(is_beyond, _)| *is_beyond).map(|(_, bound)| bound).collect()
    }

    /// Returns the row in Markdown.
    pub fn line(&self, memory_limit: u64) -> String {
        let figures = &self.figures;
        let beyond = self.beyond(memory_limit);
        let by = match self.by {
            By::Reporter | By::Granted => "",
            By::Editor => " (editor)",
            By::Admin => " (administrator)",
            By::Stranger => " (no session)",
        };
        let statuses: Vec<_> = figures
            .statuses
            .iter()
            .map(|status| if *status == 0 { "none".to_owned() } else { status.to_string() })
            .collect();
        format!(
            "| {} `{}` | {}{by} | {} | {} | {}{} | {:.0} | {} | {} | {:.0} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
            self.endpoint.method.to_uppercase(),
            self.endpoint.path,
            self.what,
            statuses.join(", "),
            size(figures.bytes_in as f64),
            if figures.cut { "> " } else { "" },
            size(figures.bytes_out as f64),
            figures.took.as_secs_f64() * 1000.0,
            figures.peak >> 20,
            figures.peak_of_four >> 20,
            figures.processor * 1000.0,
            size(figures.journal),
            size(figures.written),
            figures.waits.looks,
            figures.waits.changes,
            figures.waits.longest,
            figures.slowest_turn,
            figures.waits.machine,
            if beyond.is_empty() { String::new() } else { format!("**{}**", beyond.join(", ")) },
        )
    }
}

/// Returns a number of bytes with a unit; empty if the number is negligible.
fn size(bytes: f64) -> String {
    match bytes {
        _ if bytes < 100.0 => "0".to_owned(),
        _ if bytes < 99_500.0 => format!("{:.1} KB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

/// The head of the table.
pub const HEAD: &str = "\
| endpoint | dearest request | status | sent | received | ms | MiB | MiB of four | processor ms | journal | files | \
looks p99 ms | changes p99 ms | longest ms | turn ms | machine p99 ms | beyond |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Renders the document.
pub fn document(rows: &[Row], baseline: &Baseline, memory_limit: u64) -> String {
    let beyond = rows.iter().filter(|row| !row.beyond(memory_limit).is_empty()).count();
    let mut text = include_str!("head.md").to_owned();
    for (name, value) in [
        ("{rows}", rows.len().to_string()),
        ("{beyond}", beyond.to_string()),
        ("{wait}", format!("{WAIT:.0}")),
        ("{memory}", (memory_limit >> 20).to_string()),
        ("{alone_looks}", format!("{:.1}", baseline.waits.looks)),
        ("{alone_changes}", format!("{:.1}", baseline.waits.changes)),
        ("{alone_longest}", format!("{:.0}", baseline.waits.longest)),
    ] {
        text = text.replace(name, &value);
    }
    text.push_str(HEAD);
    text.push('\n');
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.endpoint.path.clone(), row.endpoint.method.clone()));
    for row in sorted {
        writeln!(text, "{}", row.line(memory_limit)).expect("a text can be written");
    }
    text
}
