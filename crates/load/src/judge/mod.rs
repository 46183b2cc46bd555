//! The judgement of a load: by conditions (`fail-if`), and in comparison with an earlier report
//! (`compare`).

use std::path::Path;

use serde::Serialize;

mod condition;
mod earlier;
pub mod figure;
#[cfg(test)]
mod tests;

use self::condition::Condition;
pub use self::condition::ConditionResult;
pub use self::earlier::EarlierReport;
use self::figure::{Figure, Figures, ratio};

/// The default condition, if none limits the failures of all operations.
const NONE_FAILS: &str = "failed>0";

/// The conditions and the earlier report that a load is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    conditions: Vec<Condition>,
    earlier: Option<EarlierReport>,
}

impl Judge {
    /// Creates a judge from the options. `kinds` are the kinds of operations of the scenario,
    /// `format` is that of its reports.
    ///
    /// # Errors
    /// A sentence that names the option and its fault.
    pub fn new(
        fail_if: &[String],
        compare: Option<&Path>,
        scenario: &str,
        kinds: &[&'static str],
        format: u32,
    ) -> Result<Judge, String> {
        let conditions = fail_if.iter().map(|text| Condition::parse(text, kinds));
        let mut conditions = conditions.collect::<Result<Vec<_>, _>>()?;
        if let Some(ratio) = conditions.iter().find(|condition| condition.compares())
            && compare.is_none()
        {
            return Err(format!("`fail-if` is `{}`: a ratio needs a report to compare with (`compare`)", ratio.text()));
        }
        if !conditions.iter().any(Condition::is_of_all_failures) {
            conditions.push(Condition::parse(NONE_FAILS, kinds)?);
        }
        let earlier = compare.map(|path| EarlierReport::read(path, scenario, format)).transpose()?;
        Ok(Judge { conditions, earlier })
    }

    /// Judges a load by all conditions, in their order.
    pub fn judge(&self, now: &LoadFigures<'_>) -> Vec<ConditionResult> {
        let earlier = self.earlier.as_ref();
        let of = |kind: Option<&str>| match kind {
            None => (now.all, earlier.map(|earlier| &earlier.all)),
            Some(kind) => (now.kind(kind), earlier.and_then(|earlier| earlier.kinds.get(kind))),
        };
        self.conditions.iter().map(|condition| condition.judge(of)).collect()
    }

    /// Compares a load with the earlier one, if there is one.
    pub fn compare(&self, now: &LoadFigures<'_>) -> Option<LoadComparison> {
        let earlier = self.earlier.as_ref()?;
        let beside = |name: &str, now: &Figures, before: Option<&Figures>| {
            let figures = Figure::ALL.into_iter().map(|figure| {
                let before = before.and_then(|before| figure.comparable(before));
                let now = figure.comparable(now);
                FigureComparison { figure, now, before, ratio: ratio(now, before).filter(|ratio| ratio.is_finite()) }
            });
            OperationComparison { operation: name.to_owned(), figures: figures.collect() }
        };
        let kinds = now.kinds.iter().map(|(name, figures)| beside(name, figures, earlier.kinds.get(*name)));
        let operations = kinds.chain([beside("all", &now.all, Some(&earlier.all))]).collect();
        let mut different = Vec::new();
        for (name, value) in now.parameters {
            let before = earlier.parameters.get(name).map(String::as_str);
            if before != Some(value.as_str()) {
                let before = before.map(printable);
                different.push(Difference { parameter: name.clone(), now: Some(value.clone()), before });
            }
        }
        let gone =
            earlier.parameters.iter().filter(|(name, _)| !now.parameters.iter().any(|(known, _)| known == *name));
        different.extend(gone.map(|(name, value)| Difference {
            parameter: printable(name),
            now: None,
            before: Some(printable(value)),
        }));
        Some(LoadComparison { begun: printable(&earlier.begun), operations, different })
    }
}

/// Returns the text without control characters, which could affect a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// The measured figures of a load.
#[derive(Debug, Clone)]
pub struct LoadFigures<'r> {
    /// The figures of all operations.
    pub all: Figures,
    /// The figures of each kind that was tried.
    pub kinds: Vec<(&'static str, Figures)>,
    /// The parameters of the load: names and values.
    pub parameters: &'r [(String, String)],
}

impl LoadFigures<'_> {
    /// Returns the figures of a kind; zeros if none of it was tried.
    fn kind(&self, name: &str) -> Figures {
        self.kinds.iter().find(|(known, _)| *known == name).map(|(_, figures)| *figures).unwrap_or_default()
    }
}

/// The comparison of a load with an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadComparison {
    /// The beginning of the earlier load, RFC 3339.
    pub begun: String,
    /// The figures by kind, then those of all operations.
    pub operations: Vec<OperationComparison>,
    /// The parameters that differ.
    pub different: Vec<Difference>,
}

/// The compared figures of one kind of operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationComparison {
    /// The name of the kind, or `all`.
    pub operation: String,
    /// All figures.
    pub figures: Vec<FigureComparison>,
}

/// A figure of both loads: times in microseconds, counts as shares of all operations from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureComparison {
    /// The figure.
    pub figure: Figure,
    /// The value; `None` for a latency without successes, and for a share of nothing.
    pub now: Option<f64>,
    /// The value in the earlier load; `None` also if it had no such operations.
    pub before: Option<f64>,
    /// The ratio to the earlier value; `None` if either is missing, or if only the earlier one is
    /// 0.
    pub ratio: Option<f64>,
}

impl FigureComparison {
    /// Formats the value, the earlier value and the ratio, with units.
    pub fn in_words(&self) -> [String; 3] {
        [self.figure.in_words(self.now), self.figure.in_words(self.before), times(self.ratio)]
    }
}

/// Formats a ratio.
pub fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x"))
}

/// A parameter that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name.
    pub parameter: String,
    /// The value.
    pub now: Option<String>,
    /// The value in the earlier load.
    pub before: Option<String>,
}
