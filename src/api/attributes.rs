//! Attribute texts in request bodies (docs/api/objects.md, "Attributes").

use serde_json::Value;
use stet_actors::error::{Code, Error, Result};
use stet_actors::object::Text;
use stet_xml::Limits;

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
    pub fn attribute_text(&self, field: &str, value: Option<&Value>) -> Result<Option<Text>> {
        let limits = self.xml_limits();
        let invalid = |error: stet_xml::XmlError| {
            let message = format!("`{field}` can't be taken: {error}");
            Error::new(Code::InvalidAttributes, message).with_detail("field", field)
        };
        match value {
            None | Some(Value::Null) => Ok(None),
            // As an object without any shows it.
            Some(Value::Object(json)) if json.is_empty() => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => {
                stet_xml::check(text, &limits).map_err(invalid)?;
                Ok(Some(text.as_str().into()))
            }
            Some(json) => {
                let text = stet_xml::from_json(json, &limits).map_err(invalid)?;
                // A stored text must be readable within the same bounds.
                stet_xml::check(&text, &limits).map_err(invalid)?;
                Ok(Some(text.into()))
            }
        }
    }

    /// As [`App::attribute_text`], with a root element that is given.
    ///
    /// # Errors
    /// `InvalidAttributes` naming the field.
    pub fn rooted_text(&self, field: &str, value: Option<&Value>, root: &str) -> Result<Option<Text>> {
        let Some(text) = self.attribute_text(field, value)? else { return Ok(None) };
        let limits = self.xml_limits();
        // `attribute_text` has just checked it.
        let found = stet_xml::check(&text, &limits).unwrap_or_default();
        if found == root {
            return Ok(Some(text));
        }
        let message = format!("`{field}` must have the root `{root}`, but has `{found}`.");
        Err(Error::new(Code::InvalidAttributes, message).with_detail("field", field))
    }
}
