//! The figures of a load that conditions and comparisons are about.

use serde::{Deserialize, Serialize};

use crate::figures::{duration_us, number, percent};
use crate::measure::{Counts, Quantiles};

/// What was measured of some operations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// How they ended.
    #[serde(flatten)]
    pub counts: Counts,
    /// Successes a second.
    pub per_second: f64,
    /// Latencies of those that succeeded.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// One of the figures, as a condition names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Half of the latencies are below.
    P50,
    /// 90 % are below.
    P90,
    /// 95 % are below.
    P95,
    /// 99 % are below.
    P99,
    /// 99.9 % are below.
    P999,
    /// The longest latency.
    Max,
    /// Successes a second.
    Rate,
    /// Acknowledged.
    Succeeded,
    /// Refused by a rule of the scenario.
    Refused,
    /// Refused because too much was asked at once.
    Overloaded,
    /// Gone wrong.
    Failed,
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Time,
    /// A second.
    Rate,
    /// Operations.
    Count,
}

impl Figure {
    /// All there are, as reports list them.
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

    /// As it is written.
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

    /// What it is measured in.
    pub fn unit(self) -> Unit {
        match self {
            Figure::Rate => Unit::Rate,
            Figure::Succeeded | Figure::Refused | Figure::Overloaded | Figure::Failed => Unit::Count,
            _ => Unit::Time,
        }
    }

    /// Its value; `None` for a latency where nothing succeeded.
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

    /// What two loads can be compared by, whatever their lengths: of a count its share of all
    /// operations, 0 to 1.
    pub fn comparable(self, figures: &Figures) -> Option<f64> {
        let value = self.of(figures)?;
        let all = figures.counts.all();
        match self.unit() {
            Unit::Count => (all > 0).then(|| value / all as f64),
            Unit::Time | Unit::Rate => Some(value),
        }
    }

    /// What [`Figure::comparable`] gives, with its unit.
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

/// How many times the earlier value the present one is; `None` where there is none to compare with.
pub fn ratio(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    match (now?, before?) {
        (now, 0.0) => Some(if now == 0.0 { 1.0 } else { f64::INFINITY }),
        (now, before) => Some(now / before),
    }
}
