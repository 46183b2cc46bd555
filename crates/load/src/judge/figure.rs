//! The figures of a load for conditions and comparisons.

use serde::{Deserialize, Serialize};

use crate::figures::{duration_us, number, percent};
use crate::measure::{OutcomeCounts, Quantiles};

/// The figures of some operations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The number of operations by outcome.
    #[serde(flatten)]
    pub counts: OutcomeCounts,
    /// The number of successes per second.
    pub per_second: f64,
    /// The latencies of successful operations.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// A figure that a condition can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The 50th percentile of the latency.
    P50,
    /// The 90th percentile of the latency.
    P90,
    /// The 95th percentile of the latency.
    P95,
    /// The 99th percentile of the latency.
    P99,
    /// The 99.9th percentile of the latency.
    P999,
    /// The longest latency.
    Max,
    /// Successes per second.
    Rate,
    /// Acknowledged operations.
    Succeeded,
    /// Operations refused by a rule of the scenario.
    Refused,
    /// Operations refused because of overload.
    Overloaded,
    /// Failed operations.
    Failed,
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Time,
    /// Per second.
    Rate,
    /// Operations.
    Count,
}

impl Figure {
    /// All figures, in the order of reports.
    pub const ALL: [Figure; 11] = [
        Figure::Rate,
        Figure::P50,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::P999,
        Figure::Max,
        Figure::Succeeded,
        Figure::Refused,
        Figure::Overloaded,
        Figure::Failed,
    ];

    /// Returns the name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Figure::P50 => "p50",
            Figure::P90 => "p90",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::P999 => "p999",
            Figure::Max => "max",
            Figure::Rate => "rate",
            Figure::Succeeded => "succeeded",
            Figure::Refused => "refused",
            Figure::Overloaded => "overloaded",
            Figure::Failed => "failed",
        }
    }

    /// Returns the unit.
    pub fn unit(self) -> Unit {
        match self {
            Figure::Rate => Unit::Rate,
            Figure::Succeeded | Figure::Refused | Figure::Overloaded | Figure::Failed => Unit::Count,
            _ => Unit::Time,
        }
    }

    /// Returns the value; `None` for a latency without successes.
    pub fn of(self, figures: &Figures) -> Option<f64> {
        let Figures { counts, per_second, quantiles } = figures;
        let time = |us: u64| (counts.succeeded > 0).then_some(us as f64);
        match self {
            Figure::P50 => time(quantiles.p50_us),
            Figure::P90 => time(quantiles.p90_us),
            Figure::P95 => time(quantiles.p95_us),
            Figure::P99 => time(quantiles.p99_us),
            Figure::P999 => time(quantiles.p999_us),
            Figure::Max => time(quantiles.max_us),
            Figure::Rate => Some(*per_second),
            Figure::Succeeded => Some(counts.succeeded as f64),
            Figure::Refused => Some(counts.refused as f64),
            Figure::Overloaded => Some(counts.overloaded as f64),
            Figure::Failed => Some(counts.failed as f64),
        }
    }

    /// Returns a value that does not depend on a load's length: for a count its share of all
    /// operations, from 0 to 1.
    pub fn comparable(self, figures: &Figures) -> Option<f64> {
        let value = self.of(figures)?;
        let all = figures.counts.all();
        match self.unit() {
            Unit::Count => (all > 0).then(|| value / all as f64),
            Unit::Time | Unit::Rate => Some(value),
        }
    }

    /// Formats a result of [`Figure::comparable`] with its unit.
    pub fn in_words(self, comparable: Option<f64>) -> String {
        let Some(value) = comparable else { return "none".to_owned() };
        match self.unit() {
            Unit::Time => duration_us(value.round() as u64),
            Unit::Rate if value < 10.0 => format!("{value:.2}/s"),
            Unit::Rate => format!("{}/s", number(value.round() as u64)),
            Unit::Count => percent(value),
        }
    }
}

/// Returns the ratio of the present value to the earlier one; `None` if either is missing.
pub fn ratio(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    match (now?, before?) {
        (now, 0.0) => Some(if now == 0.0 { 1.0 } else { f64::INFINITY }),
        (now, before) => Some(now / before),
    }
}
