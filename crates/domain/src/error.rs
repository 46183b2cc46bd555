//! The error vocabulary of the domain (docs/api/README.md, "Codes"). It is independent of HTTP: the
//! web layer has the only table that maps each [`Code`] to a status.
//!
//! Which code to use:
//! - A fault of the request's form has one of the `Invalid…` codes, and names the field and the
//!   value.
//! - An addressed thing that does not exist has one of the `…NotFound` codes.
//! - A container's rule that refuses a change has its own code.
//! - [`Code::RepositoryError`] is for faults of the server only; its message reveals nothing
//!   internal.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Lists the codes once: the enum, the names on the wire, and the list that tests and docs use.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The kind of an error, as the interface names it; on the wire with a configured prefix.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code { $($(#[$doc])* $name),+ }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// Returns the code's name without the prefix.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$name => stringify!($name)),+ }
            }
        }
    };
}

codes! {
    /// The source fits no object.
    ObjectNotFound,
    /// The template to create from is missing.
    TemplateNotFound,
    /// No such workflow status.
    StatusNotFound,
    /// No such object type.
    TypeNotFound,
    /// No such database.
    DatabaseNotFound,
    /// Another user holds the lock.
    ObjectLocked,
    /// The caller holds the lock in another session.
    ObjectLockedByMe,
    /// A lock is missing where one is needed.
    ObjectNotLocked,
    /// Check-in without a check-out.
    ObjectNotCheckedOut,
    /// The folder has an object of that name.
    DuplicatedName,
    /// The drawer has no room.
    DrawerFull,
    /// The name is empty, too long or has forbidden characters.
    InvalidName,
    /// The path is not absolute or has an invalid name.
    InvalidPath,
    /// The object is of another kind than the call needs.
    InvalidType,
    /// The status does not belong to the object's workflow.
    InvalidStatus,
    /// The attributes are not well-formed.
    InvalidAttributes,
    /// A parameter has an invalid value.
    InvalidParameter,
    /// The body is missing, malformed or of the wrong type.
    InvalidBody,
    /// The XPath can't be parsed.
    InvalidXPath,
    /// The container does not accept such an object.
    InvalidForContainer,
    /// The user lacks the privilege.
    PermissionDenied,
    /// The login failed.
    InvalidLogin,
    /// The token is missing, unknown or expired.
    InvalidToken,
    /// No endpoint has that path.
    NoSuchEndpoint,
    /// The endpoint does not support the method.
    MethodNotAllowed,
    /// The write came from a foreign origin.
    OriginRefused,
    /// The idempotency key was used with another body.
    IdempotencyMismatch,
    /// The first request with the idempotency key still runs.
    IdempotencyRunning,
    /// The object has changed since the ETag of If-Match.
    PreconditionFailed,
    /// The body or a part of it is larger than allowed.
    TooLarge,
    /// No byte of the content lies in the range.
    RangeNotSatisfiable,
    /// The caller sends too many requests.
    TooManyRequests,
    /// The server has too much work at the moment; try again.
    Overloaded,
    /// The disk is full; reads still work.
    StorageFull,
    /// The repository failed.
    RepositoryError,
}

impl Code {
    /// Reports whether the failure is temporary, and not caused by the call: the same call may
    /// succeed later.
    pub const fn is_passing(self) -> bool {
        matches!(self, Code::TooManyRequests | Code::Overloaded | Code::StorageFull | Code::RepositoryError)
    }
}

/// The maximal length of an error's message. A client may have sent megabytes in place of a name,
/// and an error must not send them back.
pub const MAX_MESSAGE_BYTES: usize = 2048;

/// The maximal length of a source in an error; longer than most paths, and than any loid or uuid.
pub const MAX_SOURCE_BYTES: usize = 16_384;

/// Shortens a text to at most `most` bytes by leaving out its middle. The beginning and the end
/// stay, so that a sentence remains one.
pub fn shorten_text(text: String, most: usize) -> String {
    const GAP: &str = " … ";
    if text.len() <= most {
        return text;
    }
    let room = most.saturating_sub(GAP.len());
    let (mut head, mut tail) = (room - room / 4, text.len() - room / 4);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}{GAP}{}", &text[..head], &text[tail..])
}

/// A refusal or failure, as the client receives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// The kind of the error.
    pub code: Code,
    /// A full sentence that names the field and the value.
    pub message: String,
    /// The source that the error concerns, as the client gave it.
    pub source: Option<String>,
    /// Further facts, e.g. the record that made a precondition fail.
    pub details: Option<Box<Map<String, Value>>>,
}

/// Escapes control characters for a message, as JSON does.
pub fn escape_control_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

impl Error {
    /// Creates an error. The middle of the message is left out if a client's value makes it very
    /// long.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: shorten_text(message.into(), MAX_MESSAGE_BYTES), source: None, details: None }
    }

    /// Adds the source that the error concerns; the middle of an overlong text is left out.
    #[must_use]
    pub fn with_source(mut self, source: impl fmt::Display) -> Error {
        self.source = Some(shorten_text(source.to_string(), MAX_SOURCE_BYTES));
        self
    }

    /// Adds a fact; very long texts are shortened like the message, also inside a list.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Error {
        let short = |value: Value| match value {
            Value::String(text) => Value::String(shorten_text(text, MAX_SOURCE_BYTES)),
            value => value,
        };
        let value = match value.into() {
            Value::Array(list) => Value::Array(list.into_iter().map(short).collect()),
            value => short(value),
        };
        self.details.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    /// Returns the same error with a new message, derived from the old one.
    #[must_use]
    pub fn rephrased(self, sentence: impl FnOnce(&str) -> String) -> Error {
        Error { message: shorten_text(sentence(&self.message), MAX_MESSAGE_BYTES), ..self }
    }

    /// Returns the error for a source that fits no object visible to the caller.
    pub fn not_found(source: impl fmt::Display) -> Error {
        let source = source.to_string();
        Error::new(Code::ObjectNotFound, format!("There is no object `{source}`.")).with_source(source)
    }

    /// Returns the error for a name that is taken by `existing`: an object's loid, or the name
    /// itself where that is the identifier, as for a user. It is `None` only for a caller who may
    /// not know of `existing`. Commands on objects use
    /// [`Context::name_taken`](crate::command::Context::name_taken), which decides that.
    pub fn duplicated(message: impl Into<String>, existing: Option<impl fmt::Display>) -> Error {
        let error = Error::new(Code::DuplicatedName, message);
        match existing {
            Some(existing) => {
                let existing = existing.to_string();
                error.with_source(&existing).with_detail("existing", existing)
            }
            None => error,
        }
    }

    /// Returns the error for an invalid parameter or body field; `wanted` completes "must be …".
    pub fn parameter(name: &str, value: impl fmt::Display, wanted: &str) -> Error {
        Error::new(Code::InvalidParameter, format!("`{name}` must be {wanted}, but is `{value}`."))
    }

    /// Returns the error for a failure of the server; the log has the cause, the client does not
    /// get it.
    pub fn internal() -> Error {
        Error::new(Code::RepositoryError, "The repository could not carry out the call; nothing was changed.")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {}

/// The result of a domain operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_error_sends_no_megabytes_back() {
        let long = "\u{e9}".repeat(2 << 20);
        let error =
            Error::parameter("sortBy", &long, "one of these").with_source(&long).with_detail("path", long.clone());
        let error = error.rephrased(|message| format!("The file `{long}`: {message}"));
        assert!(error.message.starts_with("The file `é") && error.message.ends_with("é`."), "{error}");
        let bytes = serde_json::to_vec(&error).unwrap().len();
        assert!(bytes <= MAX_MESSAGE_BYTES + 2 * MAX_SOURCE_BYTES + 200, "{bytes}");
        let listed = Error::not_found("a").with_detail("unknown", vec![long.clone(), long]);
        assert!(serde_json::to_vec(&listed).unwrap().len() <= 2 * MAX_SOURCE_BYTES + 200);
        let short = Error::not_found("/a/b");
        assert_eq!(short.message, "There is no object `/a/b`.");
    }

    proptest! {
        #[test]
        fn any_text_is_shortened_to_so_many_bytes(text: String, most in 8usize..64) {
            let short = shorten_text(text.clone(), most);
            prop_assert!(short.len() <= most);
            prop_assert!(text.len() > most || short == text);
        }
    }
}
