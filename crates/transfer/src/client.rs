//! Calls of a server, repeated while it is busy, and safe to repeat.

use std::fmt;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, SendBody, http};
use uuid::Uuid;

use super::files;
use super::progress::say;

/// Attempts of a call before it counts as failed.
const ATTEMPTS: u32 = 6;
/// The wait before the first repetition of a call.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The factor by which each wait is longer than the one before.
const WAIT_FACTOR: u32 = 3;
/// The longest wait before a repetition.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The time limit for a connection; a reachable server accepts it within a fraction of that.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// The longest silence of the server during a call.
const PATIENCE: Duration = Duration::from_secs(120);

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The server refused the call.
    Refused {
        /// The status.
        status: u16,
        /// The code, without its prefix.
        code: String,
        /// The server's message.
        message: String,
    },
    /// No answer arrived, or an unreadable one.
    Lost(String),
    /// No connection is possible, however often it is tried: the address or the certificate is
    /// wrong.
    Hopeless(String),
    /// A local file can't be read or written.
    Disk(String),
}

impl CallError {
    /// Reads the failure from a reply, of the whole call or of one of its sources.
    pub fn told(status: u16, failure: &Value) -> CallError {
        let text = |field: &str| failure[field].as_str().unwrap_or_default();
        let code = text("code").rsplit('.').next().filter(|code| !code.is_empty());
        let (code, message) = code.map_or(("no code", "refused"), |code| (code, text("message")));
        CallError::Refused { status, code: code.to_owned(), message: message.to_owned() }
    }

    /// Reports whether the call was refused with that code.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, CallError::Refused { code, .. } if code == wanted)
    }

    fn of(error: ureq::Error) -> CallError {
        match error {
            ureq::Error::Rustls(error) => CallError::of_tls(&error),
            ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(inner) => CallError::of_tls(inner),
                None => CallError::Lost(error.to_string()),
            },
            ureq::Error::Timeout(_) => CallError::Lost("the request timed out".to_owned()),
            ureq::Error::HostNotFound => CallError::Lost("the host is unknown".to_owned()),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_) => {
                CallError::Hopeless(error.to_string())
            }
            error => CallError::Lost(error.to_string()),
        }
    }

    fn of_tls(error: &rustls::Error) -> CallError {
        CallError::Hopeless(match error {
            rustls::Error::InvalidCertificate(why) => {
                format!("the server's certificate is not trusted: {why}. `--ca FILE` names an authority to trust")
            }
            rustls::Error::InvalidMessage(_) => {
                format!("the server does not speak TLS: {error}. The URL may have to begin with http://")
            }
            error => format!("the TLS connection failed: {error}"),
        })
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused { status, code, message } => write!(f, "{message} ({code}, {status})"),
            CallError::Lost(why) => write!(f, "no answer: {why}"),
            CallError::Hopeless(why) | CallError::Disk(why) => f.write_str(why),
        }
    }
}

/// A connection to one server, with the caller's token and database.
#[derive(Debug, Clone)]
pub struct TransferClient {
    agent: Agent,
    base: String,
    token: Option<String>,
    database: Option<String>,
    outage: Arc<Outage>,
}

/// The present outage of a server, shared by all calls.
#[derive(Debug, Default)]
struct Outage {
    /// Whether the user has been informed.
    announced: AtomicBool,
    /// Whether a call was given up. Until a call is answered again, others are not repeated either.
    given_up: AtomicBool,
}

/// Encodes a text as one segment of a path.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The `content` part of a form.
#[derive(Debug, Clone, Copy)]
pub struct FormUpload<'f> {
    /// The file with the content.
    pub file: &'f Path,
    /// The media type of the content.
    pub content_type: &'f str,
}

impl TransferClient {
    /// Creates a client for the server at that address, which includes its base path. `ca` is a PEM
    /// file with the authority to trust.
    ///
    /// # Errors
    /// A sentence that names the faulty option.
    pub fn new(url: &str, ca: Option<&Path>) -> Result<TransferClient, String> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("`--url` is `{url}`, which begins neither with http:// nor with https://"));
        }
        let roots = match ca {
            None => RootCerts::PlatformVerifier,
            Some(file) => {
                let wrong = |why: &dyn fmt::Display| format!("`--ca`: {} can't be used: {why}", file.display());
                let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
                let mut found: Vec<Certificate<'static>> = Vec::new();
                for item in parse_pem(&pem) {
                    if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(&error))? {
                        found.push(certificate);
                    }
                }
                if found.is_empty() {
                    return Err(wrong(&"there is no certificate in it"));
                }
                RootCerts::from(found)
            }
        };
        let agent = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .http_status_as_error(false)
            // The token may only be sent to the server that was named.
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let (base, outage) = (url.trim_end_matches('/').to_owned(), Arc::default());
        Ok(TransferClient { agent, base, token: None, database: None, outage })
    }

    /// Sets the token of a session or a key.
    pub fn with_token(self, token: &str) -> TransferClient {
        TransferClient { token: Some(token.to_owned()), ..self }
    }

    /// Sets the database for all calls; without a name it is the main one.
    pub fn in_database(self, database: Option<&str>) -> TransferClient {
        TransferClient { database: database.map(str::to_owned), ..self }
    }

    /// Sends a GET and returns the result.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn get(&self, path: &str) -> Result<Value, CallError> {
        self.get_tagged(path).map(|(result, _)| result)
    }

    /// Sends a GET and returns the result with the entity tag of that state.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn get_tagged(&self, path: &str) -> Result<(Value, Option<String>), CallError> {
        self.patiently(|| {
            let answer = self.send("GET", path, &[], SendBody::none())?;
            let tag = answer.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            Ok((result(answer)?, tag))
        })
    }

    /// Posts JSON and returns the result.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        let body = body.to_string();
        self.patiently(|| {
            let mut bytes = body.as_bytes();
            let head = [("content-type", "application/json")];
            result(self.send("POST", path, &head, SendBody::from_reader(&mut bytes))?)
        })
    }

    /// Posts a form of `options` and optional `content`, and returns the result.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn form(&self, path: &str, options: &Value, content: Option<FormUpload<'_>>) -> Result<Value, CallError> {
        self.form_if(path, options, content, None)
    }

    /// Posts such a form on the condition that the object to change still has that entity tag.
    ///
    /// # Errors
    /// [`CallError`], with the code `PreconditionFailed` if it has another.
    pub fn form_if(
        &self,
        path: &str,
        options: &Value,
        content: Option<FormUpload<'_>>,
        tag: Option<&str>,
    ) -> Result<Value, CallError> {
        // Contains 74 random bits, so no content contains it.
        let boundary = format!("stet-{}", Uuid::now_v7());
        let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=");
        let mut text = format!("{head}\"options\"\r\ncontent-type: application/json\r\n\r\n{options}\r\n");
        if let Some(FormUpload { content_type, .. }) = content {
            text += &format!("{head}\"content\"; filename=\"content\"\r\ncontent-type: {content_type}\r\n\r\n");
        }
        let end = if content.is_some() { format!("\r\n--{boundary}--\r\n") } else { format!("--{boundary}--\r\n") };
        let kind = format!("multipart/form-data; boundary={boundary}");
        let mut head = vec![("content-type", &*kind)];
        head.extend(tag.map(|tag| ("if-match", tag)));
        self.patiently(|| {
            let file: Box<dyn Read> = match content {
                Some(FormUpload { file, .. }) => Box::new(files::open(file).map_err(|error| disk(file, &error))?),
                None => Box::new(std::io::empty()),
            };
            let mut body = Cursor::new(text.as_bytes()).chain(file).chain(Cursor::new(end.as_bytes()));
            result(self.send("POST", path, &head, SendBody::from_reader(&mut body))?)
        })
    }

    /// Copies the body of the reply to a GET into `into`.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn download(&self, path: &str, into: &mut impl Write) -> Result<(), CallError> {
        let answer = self.patiently(|| {
            let answer = self.send("GET", path, &[], SendBody::none())?;
            if answer.status().is_success() { Ok(answer) } else { Err(refusal(answer)) }
        })?;
        let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
        std::io::copy(&mut body, into).map(drop).map_err(|error| CallError::Lost(error.to_string()))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        head: &[(&str, &str)],
        body: SendBody<'_>,
    ) -> Result<http::Response<Body>, CallError> {
        let mut uri = format!("{}{path}", self.base);
        if let Some(database) = &self.database {
            uri.push(if path.contains('?') { '&' } else { '?' });
            uri += &format!("databaseId={}", encoded(database));
        }
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(body).map_err(|error| CallError::Hopeless(error.to_string()))?;
        self.agent.run(request).map_err(CallError::of)
    }

    /// Fails if the server does not answer at all.
    ///
    /// # Errors
    /// `Lost` or `Hopeless`.
    pub fn reach(&self) -> Result<(), CallError> {
        // A caller without the right to see it gets an answer, too.
        match self.get("/v3/conf/connections") {
            Err(error @ (CallError::Lost(_) | CallError::Hopeless(_))) => Err(error),
            _ => Ok(()),
        }
    }

    /// Repeats a call while the server is busy or the connection is lost. The first call without an
    /// answer is announced at once, since the last attempt is half a minute later.
    fn patiently<T>(&self, call: impl Fn() -> Result<T, CallError>) -> Result<T, CallError> {
        let mut wait = FIRST_WAIT;
        for _ in 1..ATTEMPTS {
            match call() {
                Err(CallError::Lost(why)) if self.outage.given_up.load(Ordering::Relaxed) => {
                    return Err(CallError::Lost(why));
                }
                Err(error @ (CallError::Lost(_) | CallError::Refused { status: 429 | 502 | 503 | 504, .. })) => {
                    if let CallError::Lost(why) = &error {
                        self.announce(why);
                    }
                    std::thread::sleep(wait);
                    wait = (wait * WAIT_FACTOR).min(LONGEST_WAIT);
                }
                done => return self.answered(done),
            }
        }
        self.answered(call())
    }

    fn announce(&self, why: &str) {
        if !self.outage.announced.swap(true, Ordering::Relaxed) {
            let (base, again, seconds) = (&self.base, ATTEMPTS - 1, all_waits().as_secs());
            say(&format!(
                "no answer from {base}: {why}. Trying again, up to {again} times within about {seconds} seconds"
            ));
        }
    }

    /// Passes on the outcome of a call. After an answer, the next outage is announced and waited
    /// for again.
    fn answered<T>(&self, done: Result<T, CallError>) -> Result<T, CallError> {
        let is_lost = matches!(done, Err(CallError::Lost(_)));
        self.outage.given_up.store(is_lost, Ordering::Relaxed);
        self.outage.announced.fetch_and(is_lost, Ordering::Relaxed);
        done
    }
}

/// Returns the total of all waits of one call.
fn all_waits() -> Duration {
    let waits = (1..ATTEMPTS).scan(FIRST_WAIT, |wait, _| {
        let now = *wait;
        *wait = (now * WAIT_FACTOR).min(LONGEST_WAIT);
        Some(now)
    });
    waits.sum()
}

fn disk(file: &Path, error: &io::Error) -> CallError {
    CallError::Disk(format!("{}: {error}", file.display()))
}

/// Returns the result in a reply, or the reason for its absence.
fn result(answer: http::Response<Body>) -> Result<Value, CallError> {
    if !answer.status().is_success() {
        return Err(refusal(answer));
    }
    let reply: Result<Value, _> = serde_json::from_reader(reader(answer));
    let mut reply = reply.map_err(|error| CallError::Lost(format!("the answer can't be read: {error}")))?;
    Ok(reply["result"].take())
}

fn reader(answer: http::Response<Body>) -> impl Read {
    std::io::BufReader::new(answer.into_body().into_with_config().limit(u64::MAX).reader())
}

fn refusal(answer: http::Response<Body>) -> CallError {
    let status = answer.status().as_u16();
    let reply: Value = serde_json::from_reader(reader(answer)).unwrap_or_default();
    CallError::told(status, &reply["result"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_looked_at() {
        assert!(TransferClient::new("ftp://x", None).is_err());
        assert!(TransferClient::new("http://127.0.0.1:8080/", Some(Path::new("/nowhere"))).is_err());
        assert!(
            TransferClient::new("http://127.0.0.1:8080/", None)
                .is_ok_and(|client| client.base == "http://127.0.0.1:8080")
        );
    }
}
