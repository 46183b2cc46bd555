//! The errors of parsers in words for people. The parsers' own messages mention Rust types and
//! quote any input.

use stet_domain::error::escape_control_characters;

use crate::nearest::{nearest_name, quoted};

/// The number of characters of a value that a message quotes.
const SHOWN: usize = 60;

/// Describes the fault of a JSON text, as the end of a sentence.
pub fn describe_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return escape_control_characters(&text);
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let (text, place) = text.strip_suffix(&place).map_or((&*text, ""), |text| (text, &*place));
    escape_control_characters(&format!("{}{place}", describe_data_error(text)))
}

fn describe_data_error(text: &str) -> String {
    let parted = |rest: &'static str| text.strip_prefix(rest).and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, wanted)) = parted("invalid type: ").or_else(|| parted("invalid value: ")) {
        return format!("{} is not {}", describe_found(found), describe_expected(wanted));
    }
    if let Some((count, wanted)) = parted("invalid length ") {
        let values = if count == "1" { "1 value stands".to_owned() } else { format!("{count} values stand") };
        return format!("{values} where {} is expected", describe_expected(wanted));
    }
    // The value is between the first of these quotes and the last one before the list. It may
    // contain such quotes itself.
    if let Some((found, known)) = parted("unknown variant `") {
        let found = found.strip_suffix('`').unwrap_or(found);
        let (wanted, hint) = list_allowed_values(found, known);
        return format!("`{}` is not {wanted}{hint}", cut(found));
    }
    if let Some((found, known)) = parted("unknown field `") {
        let found = cut(found.strip_suffix('`').unwrap_or(found));
        return format!("there is no field `{found}`; expected {}", known.trim_start_matches("one of "));
    }
    if text.starts_with("data did not match any variant of untagged enum") {
        return "it is of no accepted type".to_owned();
    }
    text.to_owned()
}

/// Returns the allowed values, with the most similar one, if serde does not know a value; `None`
/// for other errors. Nothing of the unknown value is repeated.
pub fn allowed_instead(text: &str) -> Option<String> {
    let (found, known) = text.strip_prefix("unknown variant `")?.rsplit_once(", expected ")?;
    let known = known.split(" at line ").next().unwrap_or(known);
    let (wanted, hint) = list_allowed_values(found.strip_suffix('`').unwrap_or(found), known);
    Some(format!("{wanted}{hint}"))
}

/// Returns the values that serde lists, formatted for a message, and a hint to the one that is most
/// similar to the given value.
fn list_allowed_values(found: &str, known: &str) -> (String, String) {
    // Serde encloses each name in backticks, so every second piece is a name.
    let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let listed = match &names[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or `{last}`", quoted(others)),
        names => quoted(names),
    };
    let nearest = nearest_name(found, names.iter().copied());
    (listed, nearest.map(|nearest| format!(" (did you mean `{nearest}`?)")).unwrap_or_default())
}

/// Describes the given value, from serde's words for it.
fn describe_found(found: &str) -> String {
    let between = |begin: &str| found.strip_prefix(begin).and_then(|rest| rest.strip_suffix('`'));
    if let Some(number) = between("integer `").or_else(|| between("floating point `")) {
        return format!("the number {}", cut(number));
    }
    if let Some(value) = between("boolean `") {
        return value.to_owned();
    }
    if let Some(text) = found.strip_prefix("string \"").and_then(|rest| rest.strip_suffix('"')) {
        return format!("the text \"{}\"", cut(&as_in_json(text)));
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "null" | "unit value" | "Option value" => "null".to_owned(),
        other => cut(other),
    }
}

/// Describes the expected value, from serde's words for it or those of the type.
pub fn describe_expected(wanted: &str) -> &str {
    match wanted {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number of 0 or more",
        "f32" | "f64" => "a number",
        "a boolean" | "bool" => "true or false",
        "a string" | "string" | "str" | "a borrowed string" => "a text",
        "a sequence" | "sequence" => "a list",
        "a map" | "map" => "an object",
        "unit" => "null",
        _ if wanted.starts_with("struct ") => "an object",
        _ if wanted.starts_with("tuple ") || wanted.starts_with("a tuple ") => "a list",
        _ if wanted.starts_with("enum ") || wanted.starts_with("variant ") => "the name of a known value",
        own => own,
    }
}

/// Returns as much of a value as a message quotes.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Converts a text in Rust's quotation, as serde writes it, into one with JSON's escapes.
fn as_in_json(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        // A single backslash loses nothing.
        let escape = rest[at + 1..].chars().next().unwrap_or('\\');
        let behind = &rest[rest.len().min(at + 1 + escape.len_utf8())..];
        let code = (escape == 'u').then(|| behind.strip_prefix('{')?.split_once('}')).flatten();
        rest = match (escape, code) {
            ('u', Some((digits, behind))) => {
                text.push_str(&format!("\\u{digits:0>4}"));
                behind
            }
            ('0', _) => {
                text.push_str("\\u0000");
                behind
            }
            ('\'', _) => {
                text.push('\'');
                behind
            }
            _ => {
                text.extend(['\\', escape]);
                behind
            }
        };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read counts")]
    struct Desk {
        name: Option<String>,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Story,
        Picture,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only whether it can be read counts")]
    enum Either {
        Text(String),
        Number(u32),
    }

    fn said<T: DeserializeOwned>(json: &str) -> String {
        describe_json_error(&serde_json::from_str::<T>(json).err().expect("it can't be read"))
    }

    #[test]
    fn faults_are_told_without_the_types_of_the_program() {
        for (told, wanted) in [
            (said::<i64>("\"x\""), "the text \"x\" is not a whole number"),
            (said::<u32>("-1"), "the number -1 is not a whole number of 0 or more"),
            (said::<f64>("[]"), "a list is not a number"),
            (said::<bool>("1.5"), "the number 1.5 is not true or false"),
            (said::<String>("true"), "true is not a text"),
            (said::<String>("{}"), "an object is not a text"),
            (said::<Vec<u8>>("null"), "null is not a list"),
            (said::<BTreeMap<String, u8>>("7"), "the number 7 is not an object"),
            (said::<Desk>("7"), "the number 7 is not an object"),
            (said::<(u8, u8)>("[1]"), "1 value stands where a list is expected"),
            (said::<Kind>("\"x\""), "`x` is not `story` or `picture`"),
            (said::<Kind>("\"STORY\""), "`STORY` is not `story` or `picture` (did you mean `story`?)"),
            (said::<Desk>("{\"x\":1}"), "there is no field `x`; expected `name` or `kind`"),
            (said::<Either>("[]"), "it is of no accepted type"),
        ] {
            assert_eq!(told.split(" at line ").next(), Some(wanted));
        }
        assert!(said::<Desk>("{\"name\":").starts_with("EOF while parsing"), "where the JSON is broken, that is told");
    }

    #[test]
    fn wrong_values_are_quoted_shortened_and_without_control_characters() {
        assert!(said::<u8>(r#""nul\u0000""#).starts_with(r#"the text "nul\u0000" is not"#));
        let (all, shown) = (r#""a\"b\\c\n\u007f'é\u200b""#, r#"the text "a\"b\\c\n\u007f'é\u200b" is not"#);
        assert!(said::<u8>(all).starts_with(shown), "{}", said::<u8>(all));
        assert!(said::<Kind>(r#""\u0001`, expected x""#).starts_with(r"`\u0001`, expected x` is not"));
        let long = format!("\"{}\"", "é".repeat(100_000));
        for told in [said::<u8>(&long), said::<Kind>(&long)] {
            assert!(told.len() < 400 && told.contains("é…"), "{}", told.len());
        }
    }
}
