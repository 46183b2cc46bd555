//! The descriptions and examples of operations.
//!
//! A description is derived from the endpoint's row, so that it always agrees with the server. The
//! examples are calls that a test makes, and appear in `docs/api` too.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::super::route::{PrivilegeScope, Route, TokenRule};

/// The example requests and replies by endpoint id: `{"request"?, "reply"?}` each.
static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // The file is compiled in, and a test compares it with the server's replies.
    serde_json::from_str(include_str!("examples.json")).expect("the examples are JSON")
});

/// Describes an operation: required privilege, retries and conditions, and the document with its
/// rules.
pub fn description(route: &Route) -> String {
    let mut sentences = vec![format!("{}.", capitalised(route.summary))];
    sentences.extend(privilege(route));
    match route.token {
        TokenRule::Required => {}
        TokenRule::NotListed => sentences.push("Also works without a token.".to_owned()),
        TokenRule::InBody | TokenRule::Login => sentences.push("Needs no token.".to_owned()),
    }
    if route.takes_if_match() {
        sentences.push("`If-Match` makes the change conditional (412).".to_owned());
    }
    if route.takes_key() {
        sentences
            .push("With an `Idempotency-Key` the call can be sent again, and is carried out only once.".to_owned());
    }
    let document = route.source.trim_start_matches("docs/");
    sentences.push(format!("Rules: `{}`, which a server provides at `/docs/{document}`.", route.source));
    sentences.join(" ")
}

fn privilege(route: &Route) -> Option<String> {
    let name = route.privilege?.name();
    let place = match route.scope() {
        PrivilegeScope::Server => "for the whole server",
        PrivilegeScope::People => "on the data that the call names; a key needs it for the whole server",
        PrivilegeScope::Path => "on the object in the path",
        PrivilegeScope::Named => "on the objects that the call names",
    };
    Some(format!("Needs the privilege `{name}` {place}."))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Adds an endpoint's example, if it has one, to its operation.
pub fn add_example(route: &Route, operation: &mut Value) {
    let Some(example) = EXAMPLES.get(route.id) else { return };
    if let (Some(request), Some(body)) = (example.get("request"), operation.pointer_mut("/requestBody/content")) {
        body["application/json"]["example"] = request.clone();
    }
    let replies = operation.pointer_mut("/responses/200/content").and_then(Value::as_object_mut);
    if let (Some(reply), Some((_, content))) =
        (example.get("reply"), replies.and_then(|replies| replies.iter_mut().next()))
    {
        content["example"] = reply.clone();
    }
}
