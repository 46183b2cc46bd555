//! The warnings about a call that was carried out (docs/api/README.md, "Warnings").
//!
//! A warning is added with [`Caller::warn`](super::Caller::warn) at any time before the call is
//! answered. The web layer puts the warnings beside the result. An error has them in its details.

use std::sync::Arc;

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use stet_domain::error::{Error, escape_control_characters, shorten_text};

/// The largest number of warnings in a reply. Further ones are dropped.
pub const MOST_WARNINGS: usize = 20;

/// The largest number of characters of a client's own name that a warning repeats.
pub const MAX_NAME_CHARS: usize = 100;

/// The largest number of bytes of a message.
const MAX_MESSAGE_BYTES: usize = 1024;

/// A warning about something in a call that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// Name of the query parameter, or JSON path of the place in the body: `$.options.folder_path`.
    name: String,
    /// The description of the problem, a sentence.
    message: String,
    /// The known name that was probably meant, without a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    did_you_mean: Option<String>,
}

impl Warning {
    /// Creates a warning about a query parameter, or about a place in the body, which is a JSON
    /// path (`$.name`).
    ///
    /// A name of a client's choice in it is first shortened by [`shown_name`].
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Warning {
        let message = shorten_text(escape_control_characters(&message.into()), MAX_MESSAGE_BYTES);
        Warning {
            name: shorten_text(escape_control_characters(&name.into()), MAX_MESSAGE_BYTES),
            message,
            did_you_mean: None,
        }
    }

    /// Adds the known name that was probably meant.
    #[must_use]
    pub fn with_nearest(mut self, nearest: Option<String>) -> Warning {
        self.did_you_mean = nearest;
        self
    }

    /// Returns the parameter or JSON path that the warning is about.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Warnings about a call that was carried out, such as names that it does not know.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Warnings")]
pub struct WarningList(#[schemars(length(max = 20))] Vec<Warning>);

/// Returns a client's name as messages and warnings show it: without control characters, and
/// shortened.
pub fn shown_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", escape_control_characters(&name[..end])),
        None => escape_control_characters(name),
    }
}

/// The warnings of a call. Clones share them.
#[derive(Debug, Clone)]
pub struct Warnings(Arc<Mutex<WarningList>>);

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings(Arc::new(Mutex::new(WarningList(Vec::new()))))
    }
}

impl Warnings {
    /// Adds a warning; a repeated one, or one that exceeds [`MOST_WARNINGS`], is dropped.
    pub fn add(&self, warning: Warning) {
        let WarningList(all) = &mut *self.0.lock();
        if all.len() < MOST_WARNINGS && !all.contains(&warning) {
            all.push(warning);
        }
    }

    /// Returns the error of a call with its warnings in the detail `warnings`: the name of a
    /// missing key may be misspelt.
    pub fn within(&self, error: Error) -> Error {
        if self.is_empty() {
            return error;
        }
        // Texts can't fail to be serialised.
        error.with_detail("warnings", serde_json::to_value(&*self.0.lock()).unwrap_or_default())
    }

    /// Reports whether there are no warnings.
    pub fn is_empty(&self) -> bool {
        self.0.lock().0.is_empty()
    }

    /// Returns the warnings as they are shown to the client; `None` if there are none.
    pub fn list(&self) -> Option<WarningList> {
        let list = self.0.lock();
        (!list.0.is_empty()).then(|| list.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded_and_each_is_reported_once() {
        let warnings = Warnings::default();
        for n in 0..3 * MOST_WARNINGS {
            warnings.add(Warning::new(format!("p{}", n / 2), "x".repeat(9999)));
        }
        let WarningList(all) = warnings.list().expect("there are some");
        assert_eq!(all.len(), MOST_WARNINGS);
        assert!(all.iter().all(|warning| warning.message.len() <= MAX_MESSAGE_BYTES));
        assert!(all.iter().enumerate().all(|(n, warning)| warning.name == format!("p{n}")));
    }

    #[test]
    fn a_name_is_shown_in_part_and_without_control_characters() {
        assert_eq!(shown_name("a\nb"), "a\\u000ab");
        assert_eq!(shown_name(&"é".repeat(MAX_NAME_CHARS)), "é".repeat(MAX_NAME_CHARS));
        assert_eq!(shown_name(&"é".repeat(9999)), format!("{}…", "é".repeat(MAX_NAME_CHARS)));
    }
}
