//! Attribute texts in request bodies (docs/api/objects.md, "Attributes").

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use stet_base::limits::offload;
use stet_base::wording;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::SharedText;
use stet_xml::Limits;

use crate::Newsroom;

/// An attribute text in a request, as unparsed XML or JSON. Its parsed form may be many times as
/// large. So it is parsed under a work permit, and only the text to be stored is kept.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct AttributeInput(Box<RawValue>);

impl AttributeInput {
    /// Returns an XML text as a request would give it.
    pub fn of_text(xml: &str) -> AttributeInput {
        // A text can always be serialised.
        AttributeInput(serde_json::value::to_raw_value(xml).expect("a text is JSON"))
    }

    /// Bytes of the text.
    pub fn bytes(&self) -> usize {
        self.0.get().len()
    }

    /// Parses the value, with numbers as texts, for use in a stored text.
    ///
    /// # Errors
    /// A sentence about the fault.
    pub fn value(&self) -> Result<Value, String> {
        serde_json::from_str(&with_numbers_as_texts(self.0.get())).map_err(|error| {
            let why = wording::describe_json_error(&error);
            format!("It can't be read: {why}.")
        })
    }
}

/// In the schema it may be any value.
impl JsonSchema for AttributeInput {
    fn inline_schema() -> bool {
        Value::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Value::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

/// Converts an attribute text from XML or JSON to the stored form, which is XML
/// (docs/api/objects.md, "Attributes"). `None` for null or absence.
///
/// # Errors
/// `InvalidAttributes` naming the field.
pub async fn attribute_text(
    newsroom: &Newsroom,
    field: &'static str,
    given: Option<AttributeInput>,
) -> Result<Option<SharedText>> {
    text_with_root(newsroom, field, given).await.map(|found| found.map(|(text, _)| text))
}

/// Returns the text and its root element. Megabytes of text take long, and the work can't be
/// interrupted.
async fn text_with_root(
    newsroom: &Newsroom,
    field: &'static str,
    given: Option<AttributeInput>,
) -> Result<Option<(SharedText, String)>> {
    let Some(given) = given else { return Ok(None) };
    let limits = newsroom.attribute_limits();
    offload::offload_if_large(given.bytes(), move || text_of(field, &given, &limits)).await?
}

/// Converts an attribute text like [`attribute_text`], and checks that its root element is
/// `root`.
///
/// # Errors
/// `InvalidAttributes` naming the field.
pub async fn rooted_text(
    newsroom: &Newsroom,
    field: &'static str,
    given: Option<AttributeInput>,
    root: &str,
) -> Result<Option<SharedText>> {
    let Some((text, found)) = text_with_root(newsroom, field, given).await? else { return Ok(None) };
    if found == root {
        return Ok(Some(text));
    }
    let message = format!("`{field}` must have the root `{root}`, but has `{found}`.");
    Err(Error::new(Code::InvalidAttributes, message).with_detail("field", field))
}

/// Returns the refusal of a given text.
fn untakable(field: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Code::InvalidAttributes, format!("`{field}` is invalid: {why}")).with_detail("field", field)
}

/// Computes [`attribute_text`] with the root element.
fn text_of(field: &str, given: &AttributeInput, limits: &Limits) -> Result<Option<(SharedText, String)>> {
    match given.value().map_err(|why| untakable(field, why))? {
        Value::Null => Ok(None),
        // Objects without attributes are shown so.
        Value::Object(json) if json.is_empty() => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => {
            let root = stet_xml::check(&text, limits).map_err(|error| untakable(field, error))?;
            Ok(Some((text.into(), root)))
        }
        json => written(field, &json, limits).map(Some),
    }
}

/// Puts each number of the JSON in an object or a list in quotes. Text is stored, so `1.10` and an
/// id of thirty digits remain unchanged. Parsed as numbers they would be rounded to floats.
fn with_numbers_as_texts(json: &str) -> Cow<'_, str> {
    if !json.starts_with(['{', '[']) {
        return json.into();
    }
    let (mut out, mut rest) = (String::new(), json);
    let mut in_text = false;
    // It is JSON: a backslash occurs in texts only, and outside of them a digit or a minus begins a
    // number.
    while let Some(place) = rest.find(|c: char| match in_text {
        true => matches!(c, '"' | '\\'),
        false => c == '"' || c == '-' || c.is_ascii_digit(),
    }) {
        let (before, here) = rest.split_at(place);
        out.push_str(before);
        let taken = match here.as_bytes()[0] {
            b'"' => {
                in_text = !in_text;
                1
            }
            // The backslash and the escaped character, which is one byte or begins with one.
            b'\\' => 2,
            _ => {
                here.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))).unwrap_or(here.len())
            }
        };
        let (token, behind) = here.split_at(taken);
        let is_number = !in_text && token != "\"";
        let quote = if is_number { "\"" } else { "" };
        out.extend([quote, token, quote]);
        rest = behind;
    }
    if out.is_empty() {
        return json.into();
    }
    out.push_str(rest);
    out.into()
}

/// Converts a JSON view to text; returns it with its root element.
///
/// # Errors
/// `InvalidAttributes` naming the field.
pub(crate) fn written(field: &str, json: &Value, limits: &Limits) -> Result<(SharedText, String)> {
    let text = stet_xml::from_json(json, limits).map_err(|error| untakable(field, error))?;
    // A stored text must be readable within the same limits.
    let root = stet_xml::check(&text, limits).map_err(|error| untakable(field, error))?;
    Ok((text.into(), root))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_its_text_to_the_digit() {
        let given = r#"{"m":{"@a":-0,"b":[1.10,1E5,12345678901234567890123,-1.5e-7],"c":"1 \" 2","d":3,"e":"\\","f":[4,true,null]}}"#;
        let json = RawValue::from_string(given.to_owned()).expect("it is JSON");
        let (text, root) = text_of("attributes", &AttributeInput(json), &Limits::default())
            .expect("it is taken")
            .expect("it is there");
        let wanted = concat!(
            r#"<m a="-0"><b>1.10</b><b>1E5</b><b>12345678901234567890123</b><b>-1.5e-7</b>"#,
            r#"<c>1 " 2</c><d>3</d><e>\</e><f>4</f><f>true</f><f/></m>"#
        );
        assert_eq!((&*text, &*root), (wanted, "m"));
    }

    #[test]
    fn only_numbers_are_written_anew() {
        for json in ["5", "\"5\"", "null", "-1.5", "[]", "{}"] {
            assert_eq!(with_numbers_as_texts(json), json);
        }
        for json in [r#"{"a\u00e4 1":"2 -3 \\\" 4","5":[true,"6",["-7"]]}"#, r#"[ "1" , { "2" : null } ]"#] {
            assert_eq!(with_numbers_as_texts(json), json);
        }
        let value = json!({"a": [0, -1, {"b": 1.5}], "c": "0"});
        let texts = json!({"a": ["0", "-1", {"b": "1.5"}], "c": "0"});
        for (json, wanted) in [(value.to_string(), texts.to_string()), (format!("{value:#}"), format!("{texts:#}"))] {
            assert_eq!(with_numbers_as_texts(&json), wanted);
        }
    }
}
