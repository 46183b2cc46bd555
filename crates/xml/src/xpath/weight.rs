//! The cost of an expression beside its looks at the document. The library compares, copies and
//! converts texts between two looks, and does not report it.
//!
//! A predicate is evaluated once for each node that is visited. So all work of its parts for one
//! node is charged at each visit ([`Weight::each`]). Each byte of the document that becomes a part
//! of a text is charged for all functions that process the text ([`Weight::passes`]). Both are
//! upper bounds: no part is evaluated more often.

use xpath_eval::{Axis, Expr, FilterExpr, FunctionCall, LocationPath, NodeTest, PathExpr, PrimaryExpr, Step};

/// Bytes that are processed in about the time of a look.
pub(super) const BYTES_A_LOOK: u64 = 64;

/// The cost of a part of an expression by itself, in bytes processed.
const PART: u64 = 48;

/// The cost of a step of a path or a call by itself: it builds lists and reads a name.
const STEP: u64 = 96;

/// The additional cost of a step with a prefix, which is searched among the known ones.
const PREFIX: u64 = 512;

/// The longest text of a number: 17 digits, and as many zeros as there are powers of ten.
const NUMBER: u64 = 330;

/// The number of passes of a function over its text: the text is copied for it, and a new one is
/// built.
const FUNCTION: u64 = 4;

/// The cost of an expression beside its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// The cost of the parts that are evaluated once, in looks.
    pub(super) once: u64,
    /// The cost of the parts that may be evaluated for each visited node, in looks.
    pub(super) each: u64,
    /// The number of passes over each byte of a text of the document.
    pub(super) passes: u64,
    /// Whether two sets that may have several nodes each are compared, each node with each.
    pub(super) compares: bool,
}

impl Weight {
    /// Computes the weight of an expression. Recurses as deep as the expression is nested, which is
    /// limited.
    pub(super) fn of(expression: &Expr) -> Weight {
        let mut scale = WeightScale::default();
        scale.expression(expression);
        let looks = |bytes: u64| bytes.div_ceil(BYTES_A_LOOK);
        // A text of the document is always built, and then returned or compared, besides any other
        // work.
        Weight { once: looks(scale.here), each: looks(scale.each), passes: 2 + scale.passes, compares: scale.compares }
    }
}

/// Reports whether a step leads from one node to at most one.
fn leads_to_one(step: &Step) -> bool {
    match step.axis {
        Axis::SelfAxis | Axis::Parent => true,
        // An element has one attribute of each name.
        Axis::Attribute => matches!(step.node_test, NodeTest::QName(_)),
        _ => false,
    }
}

#[derive(Default)]
struct WeightScale {
    /// Bytes processed in the current scope: the expression itself, or one of its predicates.
    here: u64,
    /// Bytes processed in all predicates.
    each: u64,
    /// The passes over the text that is processed most often.
    passes: u64,
    compares: bool,
}

/// The value of a part of an expression.
#[derive(Clone, Copy, Default)]
struct PartValue {
    /// Bytes of its text that are not from the document.
    bytes: u64,
    /// The number of passes over the bytes from the document so far.
    passes: u64,
    is_number: bool,
    /// Whether the value is a set that may have several nodes.
    is_several: bool,
}

impl PartValue {
    const NUMBER: PartValue = PartValue { bytes: 0, passes: 0, is_number: true, is_several: false };

    fn set(is_several: bool) -> PartValue {
        PartValue { bytes: 0, passes: 0, is_number: false, is_several }
    }

    /// Returns the bytes of the value as a text.
    fn as_text(self) -> u64 {
        if self.is_number { NUMBER } else { self.bytes }
    }
}

impl WeightScale {
    fn expression(&mut self, expression: &Expr) -> PartValue {
        self.here += PART;
        match expression {
            Expr::Equality(left, _, right) | Expr::Relational(left, _, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.here += 2 * (left.bytes + right.bytes);
                // A single node is compared once with each of the others, whose texts are counted.
                self.compares |= left.is_several && right.is_several;
                PartValue::default()
            }
            Expr::Or(left, right) | Expr::And(left, right) => {
                self.expression(left);
                self.expression(right);
                PartValue::default()
            }
            Expr::Additive(left, _, right) | Expr::Multiplicative(left, _, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.here += left.bytes + right.bytes;
                PartValue::NUMBER
            }
            Expr::Negate(inner) => {
                let inner = self.expression(inner);
                self.here += inner.bytes;
                PartValue::NUMBER
            }
            Expr::Union(left, right) => {
                self.expression(left);
                self.expression(right);
                PartValue::set(true)
            }
            Expr::Path(PathExpr::Location(path)) => self.path(path),
            Expr::Path(PathExpr::Filter(filter)) => self.filter(filter),
            Expr::Path(PathExpr::FilterLocation(filter, path)) => {
                let (from, to) = (self.filter(filter), self.path(path));
                PartValue::set(from.is_several || to.is_several)
            }
        }
    }

    fn path(&mut self, path: &LocationPath) -> PartValue {
        for Step { node_test, predicates, .. } in &path.steps {
            let has_prefix = match node_test {
                NodeTest::NamespaceWildcard(_) => true,
                NodeTest::QName(name) => name.prefix.is_some(),
                _ => false,
            };
            self.here += STEP + if has_prefix { PREFIX } else { 0 };
            self.predicates(predicates);
        }
        PartValue::set(!path.steps.iter().all(leads_to_one))
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

    fn filter(&mut self, filter: &FilterExpr) -> PartValue {
        let gives = match &filter.primary {
            PrimaryExpr::Variable(_) => PartValue::default(),
            PrimaryExpr::Literal(text) => {
                let bytes = text.len() as u64;
                self.here += bytes;
                PartValue { bytes, ..PartValue::default() }
            }
            PrimaryExpr::Number(_) => PartValue::NUMBER,
            PrimaryExpr::Parenthesized(inner) => self.expression(inner),
            PrimaryExpr::Function(call) => self.call(call),
        };
        self.predicates(&filter.predicates);
        gives
    }

    fn call(&mut self, call: &FunctionCall) -> PartValue {
        let given: Vec<PartValue> = call.args.iter().map(|argument| self.expression(argument)).collect();
        let name = call.name.local.as_str();
        let (bytes, others, times) = match (name, &*given) {
            // For each character of a text, `translate` searches its replaced characters, which it
            // splits first.
            ("translate", [text, replaced, by, ..]) => {
                (text.as_text(), replaced.as_text() + by.as_text(), FUNCTION + replaced.as_text())
            }
            _ => (given.iter().map(|given| given.as_text()).sum(), 0, FUNCTION),
        };
        let passes = times + given.iter().map(|given| given.passes).max().unwrap_or_default();
        self.here += STEP + times * bytes + FUNCTION * others;
        self.passes = self.passes.max(passes);
        match name {
            "id" => PartValue::set(true),
            "last" | "position" | "count" | "sum" | "number" | "floor" | "ceiling" | "round" | "string-length" => {
                PartValue::NUMBER
            }
            // `true` and `false` are no longer than the cost of a part.
            "boolean" | "not" | "true" | "false" | "lang" | "contains" | "starts-with" => PartValue::default(),
            _ => PartValue { bytes, passes, ..PartValue::default() },
        }
    }
}
