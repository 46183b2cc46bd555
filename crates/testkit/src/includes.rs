//! The comparison of a part of a reply.

use serde_json::Value;

/// Asserts that a reply includes the expected value: the named members of an object, and each item
/// of an array.
#[track_caller]
pub fn includes(reply: &Value, expected: &Value) {
    if let Some(fault) = difference("", reply, expected) {
        panic!("{fault} in {reply}");
    }
}

/// Asserts that an error's message contains this text.
#[track_caller]
pub fn says(error: &Value, part: &str) {
    assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "`{part}` is missing in {error}");
}

fn difference(place: &str, actual: &Value, expected: &Value) -> Option<String> {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => expected.iter().find_map(|(name, expected)| {
            let place = format!("{place}/{name}");
            match actual.get(name) {
                Some(actual) => difference(&place, actual, expected),
                None => Some(format!("`{place}` is missing")),
            }
        }),
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            let pairs = actual.iter().zip(expected).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (actual, expected))| difference(&format!("{place}/{index}"), actual, expected))
        }
        (actual, expected) if actual == expected => None,
        _ => Some(format!("`{place}` is {actual}, not {expected},")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn a_part_is_named_by_members_and_arrays_are_whole() {
        let reply = json!({ "a": 1, "b": { "c": [ { "d": 1, "e": 2 }, { "d": 3 } ] } });
        for expected in [
            json!({}),
            json!({ "a": 1 }),
            json!({ "b": { "c": [ { "d": 1 }, {} ] } }),
            json!({ "b": { "c": [ { "e": 2, "d": 1 }, { "d": 3 } ] } }),
        ] {
            assert_eq!(difference("", &reply, &expected), None, "{expected}");
        }
        for (expected, place) in [
            (json!({ "a": 2 }), "/a"),
            (json!({ "a": null }), "/a"),
            (json!({ "b": { "x": 1 } }), "/b/x"),
            (json!({ "b": { "c": [ {} ] } }), "/b/c"),
            (json!({ "b": { "c": [ {}, { "d": 4 } ] } }), "/b/c/1/d"),
        ] {
            let fault = difference("", &reply, &expected);
            assert!(fault.as_ref().is_some_and(|fault| fault.starts_with(&format!("`{place}`"))), "{fault:?}");
        }
    }
}
