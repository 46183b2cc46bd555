//! What an expression takes beside its looks at the document: texts that are written in it are put together, compared and searched anew for
//! each node that it is evaluated for, and the library does that between two looks.
//!
//! An expression is evaluated for no more nodes than are looked at, and each part of it once for each. So what all parts take once is a
//! part of the price of each look.

use xpath_eval::{Expr, FilterExpr, FunctionCall, LocationPath, PathExpr, PrimaryExpr};

use super::refused::literal;

/// Steps of work that take as long as a look, about: a byte that is gone through is one.
const LOOK: u64 = 128;

/// Steps that are in the price of a look: a condition as people write them.
const FREE: u64 = 256;

/// Steps that a part takes by itself, whatever it is.
const PART: u64 = 16;

/// Steps for a text that is made: of what is written in the expression, or of a number.
const MADE: u64 = 64;

/// Steps for what is given to a function: much of it becomes a text.
const GIVEN: u64 = 100;

/// How often a function goes through what it is given, at most.
const PASSES: u64 = 4;

/// What a look costs, in parts of one that costs nothing beside itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price(u64);

impl Price {
    /// For an expression. It recurses as deep as that is nested, which has a bound.
    pub fn of(expression: &Expr) -> Price {
        Price(LOOK + Part::of(expression).steps.saturating_sub(FREE))
    }

    /// That of so many looks, in looks of no price.
    pub fn looks(self, looks: u64) -> u64 {
        looks.saturating_mul(self.0).div_ceil(LOOK)
    }
}

/// What is known of a part of an expression.
#[derive(Default)]
struct Part {
    /// What it takes to evaluate it once.
    steps: u64,
    /// Bytes that are written in it: a text that is made of nothing else has no more.
    bytes: u64,
}

impl Part {
    fn with(mut self, other: Part) -> Part {
        self.steps += other.steps;
        self.bytes += other.bytes;
        self
    }

    fn all(parts: impl Iterator<Item = Part>) -> Part {
        parts.fold(Part::default(), Part::with)
    }

    fn taking(mut self, steps: u64) -> Part {
        self.steps += steps;
        self
    }

    /// It is gone through so often.
    fn passed(self, times: u64) -> Part {
        let steps = PART + times * self.bytes;
        self.taking(steps)
    }

    /// A text that is written in the expression, or of a number that is.
    fn text(bytes: usize) -> Part {
        Part { bytes: bytes as u64, steps: MADE }.passed(1)
    }

    fn of(expression: &Expr) -> Part {
        match expression {
            Expr::Or(left, right)
            | Expr::And(left, right)
            | Expr::Equality(left, _, right)
            | Expr::Relational(left, _, right)
            | Expr::Additive(left, _, right)
            | Expr::Multiplicative(left, _, right)
            | Expr::Union(left, right) => Part::of(left).with(Part::of(right)).passed(1),
            Expr::Negate(inner) => Part::of(inner).passed(1),
            Expr::Path(PathExpr::Location(path)) => Part::of_path(path),
            Expr::Path(PathExpr::Filter(filter)) => Part::of_filter(filter),
            Expr::Path(PathExpr::FilterLocation(filter, path)) => Part::of_filter(filter).with(Part::of_path(path)),
        }
    }

    fn of_path(path: &LocationPath) -> Part {
        let of_step = |predicates: &[Expr]| Part::all(predicates.iter().map(Part::of)).taking(PART);
        // What it finds is no text that is written in it.
        Part { bytes: 0, ..Part::all(path.steps.iter().map(|step| of_step(&step.predicates))) }
    }

    fn of_filter(filter: &FilterExpr) -> Part {
        let primary = match &filter.primary {
            PrimaryExpr::Variable(_) => Part::default().taking(PART),
            // Its digits are written where a text is wanted: hundreds, if it is very large or small.
            PrimaryExpr::Number(number) => Part { bytes: number.to_string().len() as u64, steps: PART },
            PrimaryExpr::Literal(text) => Part::text(text.len()),
            PrimaryExpr::Parenthesized(inner) => Part::of(inner),
            PrimaryExpr::Function(call) => Part::of_call(call),
        };
        primary.with(Part { bytes: 0, ..Part::all(filter.predicates.iter().map(Part::of)) })
    }

    fn of_call(call: &FunctionCall) -> Part {
        let given = Part::all(call.args.iter().map(Part::of)).taking(GIVEN * call.args.len() as u64);
        match (call.name.local.as_str(), call.args.as_slice()) {
            // For each character of the first it looks among those that it replaces.
            ("translate", [text, replaced, ..]) => {
                let replaced = literal(replaced).map_or(0, str::len) as u64;
                given.taking(replaced * Part::of(text).bytes).passed(1)
            }
            _ => given.passed(PASSES),
        }
    }
}
