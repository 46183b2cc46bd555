//! Attribute texts in request bodies (docs/api/objects.md, "Attributes").

use serde_json::Value;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_xml::Limits;

use crate::give_way;
use crate::http::app::App;

impl App {
    /// What an attribute text is held to.
    pub fn xml_limits(&self) -> Limits {
        Limits { max_depth: self.config.limits.xml_depth, max_bytes: self.config.limits.xml_bytes }
    }

    /// An attribute text given as XML or as JSON; stored is XML (docs/api/objects.md, "Attributes"). Nothing for null or absence.
    ///
    /// # Errors
    /// `InvalidAttributes` naming the field.
    pub async fn attribute_text(&self, field: &'static str, value: Option<&Value>) -> Result<Option<Text>> {
        self.text_with_root(field, value).await.map(|found| found.map(|(text, _)| text))
    }

    /// The text and its root element. Megabytes of it take long, and can't be left halfway.
    async fn text_with_root(&self, field: &'static str, value: Option<&Value>) -> Result<Option<(Text, String)>> {
        let Some(value) = value else { return Ok(None) };
        let limits = self.xml_limits();
        if !is_large(value) {
            return text_of(field, value, &limits);
        }
        let value = value.clone();
        give_way::aside(move || text_of(field, &value, &limits)).await?
    }

    /// As [`App::attribute_text`], with a root element that is given.
    ///
    /// # Errors
    /// `InvalidAttributes` naming the field.
    pub async fn rooted_text(&self, field: &'static str, value: Option<&Value>, root: &str) -> Result<Option<Text>> {
        let Some((text, found)) = self.text_with_root(field, value).await? else { return Ok(None) };
        if found == root {
            return Ok(Some(text));
        }
        let message = format!("`{field}` must have the root `{root}`, but has `{found}`.");
        Err(Error::new(Code::InvalidAttributes, message).with_detail("field", field))
    }
}

/// [`App::attribute_text`], and the root element.
fn text_of(field: &str, value: &Value, limits: &Limits) -> Result<Option<(Text, String)>> {
    let invalid = |error: stet_xml::XmlError| {
        let message = format!("`{field}` can't be taken: {error}");
        Error::new(Code::InvalidAttributes, message).with_detail("field", field)
    };
    match value {
        Value::Null => Ok(None),
        // As an object without any shows it.
        Value::Object(json) if json.is_empty() => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => {
            let root = stet_xml::check(text, limits).map_err(invalid)?;
            Ok(Some((text.as_str().into(), root)))
        }
        json => {
            let text = stet_xml::from_json(json, limits).map_err(invalid)?;
            // A stored text must be readable within the same bounds.
            let root = stet_xml::check(&text, limits).map_err(invalid)?;
            Ok(Some((text.into(), root)))
        }
    }
}

/// Whether a value has the size of a large text: found without looking at more of it than that. Its depth is bounded, as a body's
/// is.
fn is_large(value: &Value) -> bool {
    /// About how much of the work one value is, beside its text.
    const EACH: usize = 16;
    fn fits(value: &Value, left: &mut usize) -> bool {
        let own = EACH + value.as_str().map_or(0, str::len);
        match left.checked_sub(own) {
            Some(rest) => *left = rest,
            None => return false,
        }
        match value {
            Value::Array(list) => list.iter().all(|value| fits(value, left)),
            Value::Object(fields) => fields.iter().all(|(name, value)| {
                *left = left.saturating_sub(name.len());
                fits(value, left)
            }),
            _ => true,
        }
    }
    let mut left = give_way::LARGE_TEXT;
    !fits(value, &mut left)
}
