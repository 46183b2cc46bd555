//! The warnings about a call that was carried out (docs/api/README.md, "Warnings").
//!
//! A handler adds one with `Call::warn` at any time before it answers. The dispatcher puts the
//! warnings beside the `result` of the v3 reply, whatever kind of JSON that is. They are added to a
//! copy if the reply's bytes are kept for others. Replies without an envelope have no warnings. An
//! error has them in its details.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use stet_domain::error::{Error, escape_control_characters, shorten_text};

use super::reply::AROUND;

/// The largest number of warnings in a reply. Further ones are dropped.
pub const MOST: usize = 20;

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
#[derive(Debug, Serialize, JsonSchema)]
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
pub struct Warnings(Rc<RefCell<WarningList>>);

/// The member that is added to the envelope.
#[derive(Serialize)]
struct WarningsMember<'w> {
    warnings: &'w WarningList,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings(Rc::new(RefCell::new(WarningList(Vec::new()))))
    }
}

impl Warnings {
    /// Adds a warning; a repeated one, or one that exceeds [`MOST`], is dropped.
    pub(super) fn add(&self, warning: Warning) {
        let WarningList(all) = &mut *self.0.borrow_mut();
        if all.len() < MOST && !all.contains(&warning) {
            all.push(warning);
        }
    }

    /// Returns the error of a call with its warnings in the detail `warnings`: the name of a
    /// missing key may be misspelt.
    pub(super) fn within(&self, error: Error) -> Error {
        if self.is_empty() {
            return error;
        }
        // Texts can't fail to be serialised.
        error.with_detail("warnings", serde_json::to_value(&*self.0.borrow()).unwrap_or_default())
    }

    /// Reports whether there are no warnings.
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().0.is_empty()
    }

    /// Returns the text between the result and the end of the envelope: `,"warnings":[…]`, or
    /// nothing.
    pub(super) fn member(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        // Texts can't fail to be serialised. An object `{"warnings":[…]}` gives the member: its
        // braces are replaced.
        let mut text = serde_json::to_vec(&WarningsMember { warnings: &self.0.borrow() }).unwrap_or_default();
        text.pop();
        if let Some(first) = text.first_mut() {
            *first = b',';
        }
        text
    }

    /// Returns an enveloped result with the warnings beside it. Without warnings it returns the
    /// same bytes, shared.
    pub(super) fn beside(&self, whole: Bytes) -> Bytes {
        let member = self.member();
        if member.is_empty() {
            return whole;
        }
        let end = whole.len() - AROUND.1.len();
        let mut bytes = Vec::with_capacity(whole.len() + member.len());
        bytes.extend_from_slice(&whole[..end]);
        bytes.extend_from_slice(&member);
        bytes.extend_from_slice(AROUND.1);
        bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn whole() -> Bytes {
        Bytes::from([AROUND.0, b"{\"id\":1}", AROUND.1].concat())
    }

    #[test]
    fn warnings_stand_beside_the_result_and_the_shared_bytes_stay() {
        let (warnings, kept) = (Warnings::default(), whole());
        assert_eq!(warnings.beside(kept.clone()).as_ptr(), kept.as_ptr(), "nothing is copied without warnings");
        warnings.add(Warning::new("a", "A.").with_nearest(Some("b".to_owned())));
        warnings.add(Warning::new("$.\u{1}", "B."));
        let sent: Value = serde_json::from_slice(&warnings.beside(kept.clone())).expect("it is JSON");
        let list = json!([
            { "name": "a", "message": "A.", "didYouMean": "b" },
            { "name": "$.\\u0001", "message": "B." },
        ]);
        assert_eq!(sent, json!({ "status": "success", "result": { "id": 1 }, "warnings": list }));
        assert_eq!(kept, whole());
    }

    #[test]
    fn warnings_are_bounded_and_each_is_reported_once() {
        let warnings = Warnings::default();
        for n in 0..3 * MOST {
            warnings.add(Warning::new(format!("p{}", n / 2), "x".repeat(9999)));
        }
        let text = String::from_utf8(warnings.beside(whole()).to_vec()).expect("it is text");
        assert_eq!(text.matches("\"name\":").count(), MOST);
        assert!(text.len() < MOST * (MAX_MESSAGE_BYTES + 100), "{}", text.len());
    }

    #[test]
    fn a_name_is_shown_in_part_and_without_control_characters() {
        assert_eq!(shown_name("a\nb"), "a\\u000ab");
        assert_eq!(shown_name(&"é".repeat(MAX_NAME_CHARS)), "é".repeat(MAX_NAME_CHARS));
        assert_eq!(shown_name(&"é".repeat(9999)), format!("{}…", "é".repeat(MAX_NAME_CHARS)));
    }
}
