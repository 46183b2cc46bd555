//! The error vocabulary of the domain (docs/api/README.md, "Codes"). It knows nothing of HTTP: the
//! web layer has the one table that gives each [`Code`] its status.
//!
//! Which one to use: a fault of the request's form is one of the `Invalid…` codes and names the
//! field and the value; something addressed that does not exist is one of the `…NotFound` codes; a
//! rule of a container that refuses has its own code; [`Code::RepositoryError`] is our own fault
//! only, and its message gives nothing internal away.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Lists the codes once: the enum, its name on the wire, and the list that tests and docs walk.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// What went wrong, in the interface's words; on the wire behind a configured prefix.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code { $($(#[$doc])* $name),+ }

        impl Code {
            /// Every code there is.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The code's name without the prefix.
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
    /// The same user holds the lock in another session.
    ObjectLockedByMe,
    /// There is no lock where one is needed.
    ObjectNotLocked,
    /// Check-in without a check-out.
    ObjectNotCheckedOut,
    /// The folder has an object of that name.
    DuplicatedName,
    /// The drawer has no room.
    DrawerFull,
    /// The name is empty, too long or has forbidden characters.
    InvalidName,
    /// The path is not absolute or has an invalid part.
    InvalidPath,
    /// The object is of another kind than the call wants.
    InvalidType,
    /// The status does not belong to the object's workflow.
    InvalidStatus,
    /// The attributes are not well-formed.
    InvalidAttributes,
    /// A parameter has a value it can't have.
    InvalidParameter,
    /// The body is missing, malformed or of the wrong type.
    InvalidBody,
    /// The XPath can't be understood.
    InvalidXPath,
    /// The container does not take such an object.
    InvalidForContainer,
    /// The user lacks the privilege.
    PermissionDenied,
    /// The login failed.
    InvalidLogin,
    /// The token is missing, unknown or expired.
    InvalidToken,
    /// No endpoint has that path.
    NoSuchEndpoint,
    /// The endpoint has not that method.
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
    /// The caller asks too often.
    TooManyRequests,
    /// There is too much work at once; try again.
    Overloaded,
    /// The disk is full; reads go on.
    StorageFull,
    /// The repository failed.
    RepositoryError,
}

impl Code {
    /// Whether the failure says nothing about the call: the same call may succeed later, with
    /// nothing else changed.
    pub const fn is_passing(self) -> bool {
        matches!(self, Code::TooManyRequests | Code::Overloaded | Code::StorageFull | Code::RepositoryError)
    }
}

/// The longest sentence: a client may have sent megabytes where a name belongs, and an error must
/// not send them back.
pub const MAX_MESSAGE_BYTES: usize = 2048;

/// The longest text in which a source is named; longer than most paths, and than any loid or uuid.
pub const MAX_SOURCE_BYTES: usize = 16_384;

/// A text with its middle left out, if it has more bytes than `most`. What it begins and ends with
/// is left: a sentence remains one.
pub fn shortened(text: String, most: usize) -> String {
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

/// A refusal or failure, as the client gets to see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// What kind of fault.
    pub code: Code,
    /// A whole sentence that names the field and the value.
    pub message: String,
    /// The source that the fault concerns, as the client gave it.
    pub source: Option<String>,
    /// Further facts, e.g. the record that made a precondition fail.
    pub details: Option<Box<Map<String, Value>>>,
}

/// A text as it stands in a message: control characters are written as JSON does it.
pub fn printable(text: &str) -> String {
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
    /// A fault with its sentence, of which the middle is left out if a client's value makes it very
    /// long.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: shortened(message.into(), MAX_MESSAGE_BYTES), source: None, details: None }
    }

    /// Names the source that the fault concerns; the middle of a text that is longer than any
    /// source is left out.
    #[must_use]
    pub fn with_source(mut self, source: impl fmt::Display) -> Error {
        self.source = Some(shortened(source.to_string(), MAX_SOURCE_BYTES));
        self
    }

    /// Adds a fact; a very long text is shortened as the sentence is, and so is each in a list.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Error {
        let short = |value: Value| match value {
            Value::String(text) => Value::String(shortened(text, MAX_SOURCE_BYTES)),
            value => value,
        };
        let value = match value.into() {
            Value::Array(list) => Value::Array(list.into_iter().map(short).collect()),
            value => short(value),
        };
        self.details.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    /// The same fault with another sentence, made of its own.
    #[must_use]
    pub fn rephrased(self, sentence: impl FnOnce(&str) -> String) -> Error {
        Error { message: shortened(sentence(&self.message), MAX_MESSAGE_BYTES), ..self }
    }

    /// The source fits no object that the caller can see.
    pub fn not_found(source: impl fmt::Display) -> Error {
        let source = source.to_string();
        Error::new(Code::ObjectNotFound, format!("There is no object `{source}`.")).with_source(source)
    }

    /// The name is taken by `existing`: an object's loid, or what is known by the name alone, such
    /// as a user. It is `None` only for a caller who may not know of it. Commands on objects use
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

    /// A parameter or body field has a value it can't have; `why` completes "… but".
    pub fn parameter(name: &str, value: impl fmt::Display, wanted: &str) -> Error {
        Error::new(Code::InvalidParameter, format!("`{name}` must be {wanted}, but is `{value}`."))
    }

    /// The repository's own failure; what happened goes to the log, not to the client.
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

/// What a domain operation gives.
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
            let short = shortened(text.clone(), most);
            prop_assert!(short.len() <= most);
            prop_assert!(text.len() > most || short == text);
        }
    }
}
