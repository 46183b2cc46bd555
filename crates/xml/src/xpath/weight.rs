//! What an expression costs beside its looks at the document: the library compares, copies and
//! converts between two of them, and tells nobody.
//!
//! A predicate is evaluated once for each node that the evaluation has come to, so all that its
//! parts take for one node is charged when one is come to ([`Weight::each`]); and each byte of the
//! document that becomes a part of a text is charged for all functions that the text goes through
//! ([`Weight::passes`]). Both are bounds: no part is evaluated more often than that.

use xpath_eval::{Axis, Expr, FilterExpr, FunctionCall, LocationPath, NodeTest, PathExpr, PrimaryExpr, Step};

/// Bytes that are gone through in the time of a look, about.
pub(super) const BYTES_A_LOOK: u64 = 64;

/// What a part of an expression takes by itself, in bytes gone through.
const PART: u64 = 48;

/// What a step of a path or a call takes by itself: it makes lists, and reads a name.
const STEP: u64 = 96;

/// What it takes more to look up the prefix of a step among those known.
const PREFIX: u64 = 512;

/// The longest text that a number becomes: 17 digits, and as many zeros as there are powers of ten.
const NUMBER: u64 = 330;

/// How often a function goes through its text: the text is copied for it, and it makes another.
const FUNCTION: u64 = 4;

/// What an expression costs beside its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// In looks, what is evaluated once.
    pub(super) once: u64,
    /// In looks, what may be evaluated for each node that is come to.
    pub(super) each: u64,
    /// How often each byte of a text of the document is gone through.
    pub(super) passes: u64,
    /// Whether it compares two sets that may have several nodes each: it does so each with each.
    pub(super) compares: bool,
}

impl Weight {
    /// That of an expression. It recurses as deep as the expression is nested, which has a bound.
    pub(super) fn of(expression: &Expr) -> Weight {
        let mut scale = Scale::default();
        scale.expression(expression);
        let looks = |bytes: u64| bytes.div_ceil(BYTES_A_LOOK);
        // A text of the document is put together, and told or compared, whatever else is done with
        // it.
        Weight { once: looks(scale.here), each: looks(scale.each), passes: 2 + scale.passes, compares: scale.compares }
    }
}

/// Whether a step comes from one node to one at most.
fn leads_to_one(step: &Step) -> bool {
    match step.axis {
        Axis::SelfAxis | Axis::Parent => true,
        // An element has one of each name.
        Axis::Attribute => matches!(step.node_test, NodeTest::QName(_)),
        _ => false,
    }
}

#[derive(Default)]
struct Scale {
    /// Bytes gone through where it is now: in the expression itself, or in one of its predicates.
    here: u64,
    /// In all predicates.
    each: u64,
    /// Of the text that goes through most.
    passes: u64,
    compares: bool,
}

/// What a part gives.
#[derive(Clone, Copy, Default)]
struct Gives {
    /// Bytes of its text that are not the document's.
    bytes: u64,
    /// How often what is the document's has been gone through.
    passes: u64,
    is_number: bool,
    /// Whether it is a set that may have more than one node.
    is_several: bool,
}

impl Gives {
    const NUMBER: Gives = Gives { bytes: 0, passes: 0, is_number: true, is_several: false };

    fn set(is_several: bool) -> Gives {
        Gives { bytes: 0, passes: 0, is_number: false, is_several }
    }

    /// Bytes of it as a text.
    fn as_text(self) -> u64 {
        if self.is_number { NUMBER } else { self.bytes }
    }
}

impl Scale {
    fn expression(&mut self, expression: &Expr) -> Gives {
        self.here += PART;
        match expression {
            Expr::Equality(left, _, right) | Expr::Relational(left, _, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.here += 2 * (left.bytes + right.bytes);
                // One node is compared once with each of the others, whose texts are counted.
                self.compares |= left.is_several && right.is_several;
                Gives::default()
            }
            Expr::Or(left, right) | Expr::And(left, right) => {
                self.expression(left);
                self.expression(right);
                Gives::default()
            }
            Expr::Additive(left, _, right) | Expr::Multiplicative(left, _, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.here += left.bytes + right.bytes;
                Gives::NUMBER
            }
            Expr::Negate(inner) => {
                let inner = self.expression(inner);
                self.here += inner.bytes;
                Gives::NUMBER
            }
            Expr::Union(left, right) => {
                self.expression(left);
                self.expression(right);
                Gives::set(true)
            }
            Expr::Path(PathExpr::Location(path)) => self.path(path),
            Expr::Path(PathExpr::Filter(filter)) => self.filter(filter),
            Expr::Path(PathExpr::FilterLocation(filter, path)) => {
                let (from, to) = (self.filter(filter), self.path(path));
                Gives::set(from.is_several || to.is_several)
            }
        }
    }

    fn path(&mut self, path: &LocationPath) -> Gives {
        for Step { node_test, predicates, .. } in &path.steps {
            let has_prefix = match node_test {
                NodeTest::NamespaceWildcard(_) => true,
                NodeTest::QName(name) => name.prefix.is_some(),
                _ => false,
            };
            self.here += STEP + if has_prefix { PREFIX } else { 0 };
            self.predicates(predicates);
        }
        Gives::set(!path.steps.iter().all(leads_to_one))
    }

    fn predicates(&mut self, predicates: &[Expr]) {
        let here = self.here;
        for predicate in predicates {
            self.here = 0;
            self.expression(predicate);
            self.each += self.here;
        }
        self.here = here;
    }

    fn filter(&mut self, filter: &FilterExpr) -> Gives {
        let gives = match &filter.primary {
            PrimaryExpr::Variable(_) => Gives::default(),
            PrimaryExpr::Literal(text) => {
                let bytes = text.len() as u64;
                self.here += bytes;
                Gives { bytes, ..Gives::default() }
            }
            PrimaryExpr::Number(_) => Gives::NUMBER,
            PrimaryExpr::Parenthesized(inner) => self.expression(inner),
            PrimaryExpr::Function(call) => self.call(call),
        };
        self.predicates(&filter.predicates);
        gives
    }

    fn call(&mut self, call: &FunctionCall) -> Gives {
        let given: Vec<Gives> = call.args.iter().map(|argument| self.expression(argument)).collect();
        let name = call.name.local.as_str();
        let (bytes, others, times) = match (name, &*given) {
            // For each character of a text it walks those that it replaces; these it takes apart.
            ("translate", [text, replaced, by, ..]) => {
                (text.as_text(), replaced.as_text() + by.as_text(), FUNCTION + replaced.as_text())
            }
            _ => (given.iter().map(|given| given.as_text()).sum(), 0, FUNCTION),
        };
        let passes = times + given.iter().map(|given| given.passes).max().unwrap_or_default();
        self.here += STEP + times * bytes + FUNCTION * others;
        self.passes = self.passes.max(passes);
        match name {
            "id" => Gives::set(true),
            "last" | "position" | "count" | "sum" | "number" | "floor" | "ceiling" | "round" | "string-length" => {
                Gives::NUMBER
            }
            // `true` and `false` have no more bytes than a part has.
            "boolean" | "not" | "true" | "false" | "lang" | "contains" | "starts-with" => Gives::default(),
            _ => Gives { bytes, passes, ..Gives::default() },
        }
    }
}
