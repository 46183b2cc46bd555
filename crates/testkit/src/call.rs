//! Calls of endpoints by their ids: `client.call("drawer-item-post", &[&drawer, &story]).ok()`.

use std::fmt::Display;

use serde_json::Value;

use crate::client::form_of;
use crate::endpoint::Endpoint;
use crate::{Answer, Client, includes};

/// A file of a multipart form: the name of the part, file name, media type and bytes.
pub type File<'a> = (&'a str, &'a str, &'a str, &'a [u8]);

/// A builder of a call. Nothing is sent before one of `send`, `ok`, `gives` and `fails` is called.
#[derive(Clone)]
#[must_use = "nothing has been sent yet"]
pub struct Call<'c> {
    client: &'c Client,
    endpoint: &'static Endpoint,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Client {
    /// Creates a call of the endpoint with this id. The arguments replace the parameters of its
    /// path, first to last.
    pub fn call(&self, id: &str, arguments: &[&dyn Display]) -> Call<'_> {
        let endpoint = Endpoint::of(id);
        let path = endpoint.path_of(arguments);
        Call { client: self, endpoint, path, query: Vec::new(), headers: Vec::new(), body: Vec::new() }
    }
}

impl<'c> Call<'c> {
    /// Adds a parameter to the query.
    pub fn query(mut self, name: &str, value: impl Display) -> Call<'c> {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Display) -> Call<'c> {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a body of JSON.
    pub fn json(self, body: &Value) -> Call<'c> {
        self.bytes("application/json", body.to_string())
    }

    /// Adds a multipart form of `options` and files as the body.
    pub fn form(self, options: &Value, files: &[File<'_>]) -> Call<'c> {
        let (content_type, body) = form_of(options, files);
        self.bytes(&content_type, body)
    }

    /// Adds a body of bytes of this media type.
    pub fn bytes(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Call<'c> {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// Sets another client as the sender.
    pub fn by<'o>(self, client: &'o Client) -> Call<'o> {
        let Call { endpoint, path, query, headers, body, .. } = self;
        Call { client, endpoint, path, query, headers, body }
    }

    /// Sends the call, which must be answered.
    pub fn send(&self) -> Answer {
        self.try_send().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends the call.
    ///
    /// # Errors
    /// The reason why no reply arrived.
    pub fn try_send(&self) -> Result<Answer, String> {
        let query: Vec<_> =
            self.query.iter().map(|(name, value)| format!("{name}={}", crate::encoded(value))).collect();
        let path = if query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, query.join("&")) };
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.client.try_send(&self.endpoint.method, &path, &headers, &self.body)
    }

    /// Sends the call. Returns the `result` of a success, or the bare reply of the older surface.
    pub fn ok(&self) -> Value {
        let answer = self.send();
        if self.endpoint.older() { answer.bare() } else { answer.ok() }
    }

    /// Sends the call. Returns the `result` of a success, which must include `expected`.
    pub fn gives(&self, expected: &Value) -> Value {
        let reply = self.ok();
        includes(&reply, expected);
        reply
    }

    /// Sends the call. Returns the `result` of a failure with this status and code.
    pub fn fails(&self, status: u16, code: &str) -> Value {
        self.send().fails_on(&self.path, status, code)
    }
}
