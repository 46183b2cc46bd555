//! `fail-if`: conditions on the figures of a load, like `p99>50ms`, `failed>1%`, `add.p99>20ms` and
//! `rate<0.9x`.

use super::figure::{Figure, Figures, Unit, ratio};
use crate::figures::number;

/// The comparison of a value with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparisonSign {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// The longer ones come first, since the others are their prefixes.
const COMPARISONS: [(&str, ComparisonSign); 4] = [
    (">=", ComparisonSign::AtLeast),
    ("<=", ComparisonSign::AtMost),
    (">", ComparisonSign::Above),
    ("<", ComparisonSign::Below),
];

impl ComparisonSign {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            ComparisonSign::Above => value > bound,
            ComparisonSign::AtLeast => value >= bound,
            ComparisonSign::Below => value < bound,
            ComparisonSign::AtMost => value <= bound,
        }
    }

    /// Returns the sign of the opposite comparison.
    fn opposite(self) -> &'static str {
        match self {
            ComparisonSign::Above => "≤",
            ComparisonSign::AtLeast => "<",
            ComparisonSign::Below => "≥",
            ComparisonSign::AtMost => ">",
        }
    }
}

/// The bound of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// A value in the figure's own unit: microseconds, per second, operations.
    Value(f64),
    /// A share of all operations of the kind, from 0 to 1.
    Share(f64),
    /// A factor on the value in the earlier report.
    Ratio(f64),
}

/// A condition under which a load has failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The condition as it was written, without spaces.
    text: String,
    /// The kind of operation; `None` for all.
    kind: Option<&'static str>,
    figure: Figure,
    comparison: ComparisonSign,
    bound: Bound,
}

/// The result of a condition.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConditionResult {
    /// The condition as it was written, without spaces.
    pub condition: String,
    /// The criterion that a load must meet: `failed = 0` for `failed>0`.
    #[serde(skip)]
    pub criterion: String,
    /// The value of the load, in words.
    pub value: String,
    /// `true` if the condition holds, so that the load has failed.
    pub holds: bool,
}

impl Condition {
    /// Parses a condition. `kinds` are the kinds of operations.
    ///
    /// # Errors
    /// A sentence that names the error and the valid values.
    pub fn parse(text: &str, kinds: &[&'static str]) -> Result<Condition, String> {
        let wrong = |why: String| format!("`fail-if` is `{text}`: {why}");
        let compact: String = text.chars().filter(|char| !char.is_whitespace()).collect();
        let found = compact.find(['>', '<']).and_then(|at| {
            let (name, rest) = compact.split_at(at);
            let sign = COMPARISONS.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
            Some((name, sign.1, &rest[sign.0.len()..]))
        });
        let (name, comparison, bound) =
            found.ok_or_else(|| wrong("it has no comparison; there are >, >=, < and <=, as in p99>50ms".to_owned()))?;
        let (kind, name) = name.rsplit_once('.').map_or((None, name), |(kind, name)| (Some(kind), name));
        let is_known = |kind: &str| kinds.iter().copied().find(|known| *known == kind);
        let kind = kind.map(|kind| {
            is_known(kind)
                .ok_or_else(|| wrong(format!("there is no operation `{kind}`; there are {}", kinds.join(", "))))
        });
        let kind = kind.transpose()?;
        let figure = Figure::ALL.into_iter().find(|figure| figure.name() == name);
        let figure = figure.ok_or_else(|| {
            wrong(format!("there is no figure `{name}`; there are {}", Figure::ALL.map(Figure::name).join(", ")))
        })?;
        let bound = parse_bound(figure, bound).ok_or_else(|| {
            let like = match figure.unit() {
                Unit::Time => "time like 50ms; units are us, ms and s",
                Unit::Rate => "number of successes a second like 500",
                Unit::Count => "number like 10 and no share like 1%",
            };
            wrong(format!("`{bound}` is no {like}; 0.9x is a ratio to the report that `compare` names"))
        })?;
        Ok(Condition { text: compact, kind, figure, comparison, bound })
    }

    /// Returns the criterion that a load must meet.
    fn criterion(&self) -> String {
        let (name, bound) = self.text.split_once(['>', '<']).unwrap_or((&self.text, ""));
        let bound = bound.trim_start_matches('=');
        // A count is never negative.
        let is_none = self.figure.unit() == Unit::Count && self.bound == Bound::Value(0.0);
        let sign = if is_none && self.comparison == ComparisonSign::Above { "=" } else { self.comparison.opposite() };
        format!("{name} {sign} {bound}")
    }

    /// Reports whether the condition needs an earlier report.
    pub fn compares(&self) -> bool {
        matches!(self.bound, Bound::Ratio(_))
    }

    /// Reports whether the condition limits the failures of all operations.
    pub fn is_of_all_failures(&self) -> bool {
        self.figure == Figure::Failed && self.kind.is_none()
    }

    /// Returns the condition as it was written, without spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Judges a load. `of` returns the figures of a kind of operation, or of all, and those of the
    /// earlier report. The condition holds for a figure without a value, such as a latency without
    /// successes: it is not known to be good.
    pub fn judge<'f>(&self, of: impl Fn(Option<&str>) -> (Figures, Option<&'f Figures>)) -> ConditionResult {
        let (now, before) = of(self.kind);
        let comparable = self.figure.comparable(&now);
        let (value, bound, mut words) = match self.bound {
            Bound::Value(bound) if self.figure.unit() == Unit::Count => {
                let value = self.figure.of(&now);
                let words = format!("{} of {}", number(value.unwrap_or_default() as u64), number(now.counts.all()));
                (value, bound, words)
            }
            Bound::Value(bound) => (self.figure.of(&now), bound, self.figure.in_words(comparable)),
            Bound::Share(bound) => (comparable, bound, self.figure.in_words(comparable)),
            Bound::Ratio(bound) => {
                let before = before.and_then(|before| self.figure.comparable(before));
                let ratio = ratio(comparable, before);
                let times = ratio.map_or_else(|| "no ratio".to_owned(), |ratio| format!("{ratio:.2}x"));
                let (now, before) = (self.figure.in_words(comparable), self.figure.in_words(before));
                (ratio, bound, format!("{times}: {now} after {before}"))
            }
        };
        if value.is_none() {
            words = if now.counts.all() == 0 { "nothing was tried".to_owned() } else { words };
        }
        let holds = value.is_none_or(|value| self.comparison.holds(value, bound));
        ConditionResult { condition: self.text.clone(), criterion: self.criterion(), value: words, holds }
    }
}

fn parse_bound(figure: Figure, text: &str) -> Option<Bound> {
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (value, unit) = text.split_at(digits);
    let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    match (figure.unit(), unit) {
        (_, "x") => Some(Bound::Ratio(value)),
        (Unit::Time, "us" | "µs") => Some(Bound::Value(value)),
        (Unit::Time, "ms") => Some(Bound::Value(value * 1e3)),
        (Unit::Time, "s") => Some(Bound::Value(value * 1e6)),
        (Unit::Rate, "" | "/s") | (Unit::Count, "") => Some(Bound::Value(value)),
        (Unit::Count, "%") => Some(Bound::Share(value / 100.0)),
        _ => None,
    }
}
