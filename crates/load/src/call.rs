//! Calls and their answers.

use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;

/// A call to the server.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The encoded path behind the base path, with the query if any.
    pub path: String,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body, which may be empty.
    pub body: Bytes,
    /// The accepted coding of the reply, as a value of `Accept-Encoding`.
    pub accept_encoding: Option<&'static str>,
    /// The `Idempotency-Key` that makes a retry of the call safe.
    pub idempotency_key: Option<String>,
}

impl Call {
    /// Creates a call without a body.
    pub fn new(method: Method, path: String) -> Call {
        let content_type = "application/json";
        Call { method, path, content_type, body: Bytes::new(), accept_encoding: None, idempotency_key: None }
    }

    /// Creates a call with a JSON body.
    pub fn json(method: Method, path: &str, body: &serde_json::Value) -> Call {
        Call { body: body.to_string().into(), ..Call::new(method, path.to_owned()) }
    }

    /// Creates a call with a form: JSON as its part `options`, and files. No file may contain
    /// [`BOUNDARY`].
    pub fn form(method: Method, path: String, options: &serde_json::Value, files: &[FormFile<'_>]) -> Call {
        let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=");
        let mut body = format!("{head}\"options\"\r\ncontent-type: application/json\r\n\r\n{options}\r\n");
        for FormFile { part, name, media_type, text } in files {
            body += &format!("{head}\"{part}\"; filename=\"{name}\"\r\ncontent-type: {media_type}\r\n\r\n{text}\r\n");
        }
        body += &format!("--{BOUNDARY}--\r\n");
        Call { content_type: FORM, body: body.into(), ..Call::new(method, path) }
    }
}

/// The boundary between the parts of a form.
pub const BOUNDARY: &str = "stet-load";
const FORM: &str = "multipart/form-data; boundary=stet-load";

/// A file in a form.
#[derive(Debug, Clone, Copy)]
pub struct FormFile<'f> {
    /// The name of the part.
    pub part: &'f str,
    /// The name of the file; without quotation marks.
    pub name: &'f str,
    /// The media type of the file.
    pub media_type: &'f str,
    /// The content of the file.
    pub text: &'f str,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub struct CallAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The `ETag`, as in the header.
    pub etag: Option<String>,
    /// The whole body.
    pub body: Bytes,
}

impl CallAnswer {
    /// Reports whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reports whether the call was refused because of overload: by the server (503 `Overloaded`)
    /// or by a proxy (429).
    pub fn is_overloaded(&self) -> bool {
        self.status == 429 || self.status == 503 && self.code().ends_with("Overloaded")
    }

    /// Reports whether the call was refused before it had any effect.
    pub fn is_refusal(&self) -> bool {
        self.status < 500 && !self.is_success() || self.is_overloaded()
    }

    /// Reports whether the body may have been built while it was sent, with each entry as of its
    /// own moment: docs/api/README.md, "Large replies".
    pub fn may_be_of_several_moments(&self) -> bool {
        self.body.len() >= 256 << 10
    }

    /// Returns the revision at the beginning of the ETag, unless there is none or it is weak.
    pub fn revision(&self) -> Option<u64> {
        let tag = self.etag.as_deref()?.strip_prefix('"')?;
        tag.split(['-', '"']).next()?.parse().ok()
    }

    /// Returns the code of a failure, or `status 502` and the like if the body has none.
    pub fn code(&self) -> String {
        self.failure().map_or_else(|| format!("status {}", self.status), |failure| failure.code)
    }

    /// Returns the message of a failure.
    pub fn message(&self) -> String {
        let message = self.failure().and_then(|failure| failure.message);
        message.map_or_else(|| self.code(), |message| format!("{} ({message})", self.code()))
    }

    fn failure(&self) -> Option<ErrorBody> {
        #[derive(Deserialize)]
        struct ErrorEnvelope {
            result: ErrorBody,
        }
        // In an envelope, or bare as from older calls and proxies.
        let enveloped = serde_json::from_slice::<ErrorEnvelope>(&self.body).map(|envelope| envelope.result);
        enveloped.or_else(|_| serde_json::from_slice(&self.body)).ok()
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    code: String,
    message: Option<String>,
}
