//! Calls and their answers.

use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;

/// What is sent.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path behind the base path, encoded, perhaps with a query.
    pub path: String,
    /// Media type of the body.
    pub content_type: &'static str,
    /// May be empty.
    pub body: Bytes,
    /// The coding in which the reply may come, as `Accept-Encoding` has it.
    pub accept_encoding: Option<&'static str>,
    /// The `Idempotency-Key` under which the call may be sent again.
    pub idempotency_key: Option<String>,
}

impl Call {
    /// A call without a body.
    pub fn new(method: Method, path: String) -> Call {
        let content_type = "application/json";
        Call { method, path, content_type, body: Bytes::new(), accept_encoding: None, idempotency_key: None }
    }

    /// A call with JSON.
    pub fn json(method: Method, path: &str, body: &serde_json::Value) -> Call {
        Call { body: body.to_string().into(), ..Call::new(method, path.to_owned()) }
    }

    /// A call with a form: JSON as its part `options`, and files, none of which may have
    /// [`BOUNDARY`] in it.
    pub fn form(method: Method, path: String, options: &serde_json::Value, files: &[File<'_>]) -> Call {
        let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=");
        let mut body = format!("{head}\"options\"\r\ncontent-type: application/json\r\n\r\n{options}\r\n");
        for File { part, name, media_type, text } in files {
            body += &format!("{head}\"{part}\"; filename=\"{name}\"\r\ncontent-type: {media_type}\r\n\r\n{text}\r\n");
        }
        body += &format!("--{BOUNDARY}--\r\n");
        Call { content_type: FORM, body: body.into(), ..Call::new(method, path) }
    }
}

/// What parts the parts of a form.
pub const BOUNDARY: &str = "stet-load";
const FORM: &str = "multipart/form-data; boundary=stet-load";

/// A file in a form.
#[derive(Debug, Clone, Copy)]
pub struct File<'f> {
    /// Name of the part.
    pub part: &'f str,
    /// Name of the file; without quotation marks.
    pub name: &'f str,
    /// Its media type.
    pub media_type: &'f str,
    /// What is in it.
    pub text: &'f str,
}

/// What came.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// As it stands in the header.
    pub etag: Option<String>,
    /// All of it.
    pub body: Bytes,
}

impl Answer {
    /// Whether it is a success by its status.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it was refused because too much was asked at once: by the server (503 `Overloaded`),
    /// or by whoever stands before it (429).
    pub fn is_overloaded(&self) -> bool {
        self.status == 429 || self.status == 503 && self.code().ends_with("Overloaded")
    }

    /// Whether it was refused before anything was done.
    pub fn is_refusal(&self) -> bool {
        self.status < 500 && !self.is_success() || self.is_overloaded()
    }

    /// Whether it may have been made while it went out, each entry as it was by then:
    /// docs/api/README.md, "Large replies".
    pub fn may_be_of_several_moments(&self) -> bool {
        self.body.len() >= 256 << 10
    }

    /// The revision that its ETag begins with, if it has one that promises anything.
    pub fn revision(&self) -> Option<u64> {
        let tag = self.etag.as_deref()?.strip_prefix('"')?;
        tag.split(['-', '"']).next()?.parse().ok()
    }

    /// The code of a failure, `status 502` where its body has none.
    pub fn code(&self) -> String {
        self.failure().map_or_else(|| format!("status {}", self.status), |failure| failure.code)
    }

    /// The message of a failure.
    pub fn message(&self) -> String {
        let message = self.failure().and_then(|failure| failure.message);
        message.map_or_else(|| self.code(), |message| format!("{} ({message})", self.code()))
    }

    fn failure(&self) -> Option<ErrorBody> {
        #[derive(Deserialize)]
        struct Envelope {
            result: ErrorBody,
        }
        // In an envelope, or bare as older calls and proxies have it.
        let enveloped = serde_json::from_slice::<Envelope>(&self.body).map(|envelope| envelope.result);
        enveloped.or_else(|_| serde_json::from_slice(&self.body)).ok()
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    code: String,
    message: Option<String>,
}
