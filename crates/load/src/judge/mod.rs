//! Whether a load was good enough: by the conditions that are set (`fail-if`), and beside an
//! earlier report (`compare`).

use std::path::Path;

use serde::Serialize;

mod condition;
mod earlier;
pub mod figure;
#[cfg(test)]
mod tests;

use self::condition::Condition;
pub use self::condition::Judged;
pub use self::earlier::Earlier;
use self::figure::{Figure, Figures, ratio};

/// What holds where no condition says how many operations may fail.
const NONE_FAILS: &str = "failed>0";

/// What a load is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    conditions: Vec<Condition>,
    earlier: Option<Earlier>,
}

impl Judge {
    /// From what was asked for. `kinds` are the kinds of operations of the scenario, `format` that
    /// of its reports.
    ///
    /// # Errors
    /// A sentence that names the option and what is wrong.
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
            return Err(format!(
                "`fail-if` is `{}`: a ratio wants the report that it is one to (`compare`)",
                ratio.text()
            ));
        }
        if !conditions.iter().any(Condition::is_of_all_failures) {
            conditions.push(Condition::parse(NONE_FAILS, kinds)?);
        }
        let earlier = compare.map(|path| Earlier::read(path, scenario, format)).transpose()?;
        Ok(Judge { conditions, earlier })
    }

    /// Holds a load against all conditions, in their order.
    pub fn judge(&self, now: &Measured<'_>) -> Vec<Judged> {
        let earlier = self.earlier.as_ref();
        let of = |kind: Option<&str>| match kind {
            None => (now.all, earlier.map(|earlier| &earlier.all)),
            Some(kind) => (now.kind(kind), earlier.and_then(|earlier| earlier.kinds.get(kind))),
        };
        self.conditions.iter().map(|condition| condition.judge(of)).collect()
    }

    /// Puts a load beside the earlier one, if there is one.
    pub fn compare(&self, now: &Measured<'_>) -> Option<Comparison> {
        let earlier = self.earlier.as_ref()?;
        let beside = |name: &str, now: &Figures, before: Option<&Figures>| {
            let figures = Figure::ALL.into_iter().map(|figure| {
                let before = before.and_then(|before| figure.comparable(before));
                let now = figure.comparable(now);
                Beside { figure, now, before, ratio: ratio(now, before).filter(|ratio| ratio.is_finite()) }
            });
            Compared { operation: name.to_owned(), figures: figures.collect() }
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
        Some(Comparison { begun: printable(&earlier.begun), operations, different })
    }
}

/// What a file has, without what would do something to a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// What there is to judge of a load.
#[derive(Debug, Clone)]
pub struct Measured<'r> {
    /// All operations.
    pub all: Figures,
    /// By kind; those only that were tried.
    pub kinds: Vec<(&'static str, Figures)>,
    /// Name and value of what made it what it was.
    pub parameters: &'r [(String, String)],
}

impl Measured<'_> {
    /// Nothing where none of the kind was tried.
    fn kind(&self, name: &str) -> Figures {
        self.kinds.iter().find(|(known, _)| *known == name).map(|(_, figures)| *figures).unwrap_or_default()
    }
}

/// A load beside an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// When the earlier one began, RFC 3339.
    pub begun: String,
    /// By kind, all together last.
    pub operations: Vec<Compared>,
    /// What was not alike.
    pub different: Vec<Difference>,
}

/// One kind of operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Its name, or `all`.
    pub operation: String,
    /// Each figure.
    pub figures: Vec<Beside>,
}

/// A figure now and then: times in microseconds, counts as shares of all operations from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// Which.
    pub figure: Figure,
    /// `None` for a latency where nothing succeeded, and for a share of nothing.
    pub now: Option<f64>,
    /// The same of the earlier load; `None` also where it had no such operations.
    pub before: Option<f64>,
    /// How many times the earlier one; `None` where one of the two is missing, or the earlier is 0
    /// and the other is not.
    pub ratio: Option<f64>,
}

impl Beside {
    /// Now, before, and the ratio, with units.
    pub fn in_words(&self) -> [String; 3] {
        [self.figure.in_words(self.now), self.figure.in_words(self.before), times(self.ratio)]
    }
}

/// A ratio as people read it.
pub fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x"))
}

/// A parameter that was not alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub parameter: String,
    /// Its value.
    pub now: Option<String>,
    /// Its value in the earlier load.
    pub before: Option<String>,
}
