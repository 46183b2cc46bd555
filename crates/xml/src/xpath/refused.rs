//! Calls of functions whose work can't be counted, because the library does it between two looks at
//! the document.

use xpath_eval::{Expr, FilterExpr, FunctionCall, LocationPath, PathExpr, PrimaryExpr};

/// Most characters that `translate` may replace: it searches them all for each character of a text.
const MAX_REPLACED: usize = 64;

/// Returns the reason why an expression is refused; `None` if it is accepted. Recurses as deep as
/// the expression is nested, which is limited.
pub(super) fn refusal_reason(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Or(left, right)
        | Expr::And(left, right)
        | Expr::Equality(left, _, right)
        | Expr::Relational(left, _, right)
        | Expr::Additive(left, _, right)
        | Expr::Multiplicative(left, _, right)
        | Expr::Union(left, right) => refusal_reason(left).or_else(|| refusal_reason(right)),
        Expr::Negate(inner) => refusal_reason(inner),
        Expr::Path(PathExpr::Location(path)) => in_path(path),
        Expr::Path(PathExpr::Filter(filter)) => in_filter(filter),
        Expr::Path(PathExpr::FilterLocation(filter, path)) => in_filter(filter).or_else(|| in_path(path)),
    }
}

fn in_path(path: &LocationPath) -> Option<String> {
    path.steps.iter().flat_map(|step| &step.predicates).find_map(refusal_reason)
}

fn in_filter(filter: &FilterExpr) -> Option<String> {
    let within = match &filter.primary {
        PrimaryExpr::Variable(_) | PrimaryExpr::Literal(_) | PrimaryExpr::Number(_) => None,
        PrimaryExpr::Parenthesized(inner) => refusal_reason(inner),
        PrimaryExpr::Function(call) => call_refused(call).or_else(|| call.args.iter().find_map(refusal_reason)),
    };
    within.or_else(|| filter.predicates.iter().find_map(refusal_reason))
}

fn call_refused(call: &FunctionCall) -> Option<String> {
    match (call.name.local.as_str(), call.args.as_slice()) {
        ("translate", [_, replaced, ..]) => {
            let is_short = literal(replaced).is_some_and(|text| text.chars().count() <= MAX_REPLACED);
            let why =
                || format!("the second argument of `translate` must be a literal of at most {MAX_REPLACED} characters");
            (!is_short).then(why)
        }
        ("id", [ids]) => literal(ids).is_none().then(|| "the argument of `id` must be a literal".to_owned()),
        _ => None,
    }
}

fn literal(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Path(PathExpr::Filter(FilterExpr { primary: PrimaryExpr::Literal(text), predicates })) => {
            predicates.is_empty().then_some(text.as_str())
        }
        _ => None,
    }
}
