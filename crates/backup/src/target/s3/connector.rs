//! HTTP for the library: a client of the TLS library that the rest of the server has.
//!
//! A client shares its connections among all who use it, and each connection is driven by the
//! runtime on which it was made. The service and a base have runtimes of their own, which stand
//! still between two of their operations. So the connections have a thread of their own.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    SpawnService,
};
use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::fault::{S3Fault, S3Refusal};
use crate::{BackupError, BackupResult};

type HttpReply = http::Response<reqwest::Body>;
type ReplyHead = http::response::Parts;

/// The longest body of an error that is read, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The number of bytes for which the time limit of a request is made, as in one part of a file.
const TIMED_BYTES: usize = 8 << 20;

/// The limits of time of a request.
#[derive(Debug, Clone, Copy)]
pub(in crate::target) struct S3Timing {
    /// The time in which a connection must be made.
    pub connect: Duration,
    /// The time in which 8 MiB must be sent, or received.
    pub request: Duration,
    /// The time after which a request is not repeated any more.
    pub retry: Duration,
}

impl Default for S3Timing {
    fn default() -> S3Timing {
        let of = Duration::from_secs;
        S3Timing { connect: of(5), request: of(60), retry: of(30) }
    }
}

/// The thread that drives connections. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct NetworkThread {
    pub handle: Handle,
    _end: oneshot::Sender<()>,
}

impl NetworkThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// `LocalFile`: the system has no thread or descriptor left.
    pub fn start() -> BackupResult<NetworkThread> {
        let failed = |error| BackupError::LocalFile(format!("The backup can't have a thread: {error}."));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let run = move || drop(runtime.block_on(ended));
        thread::Builder::new().name("stet-backup-s3".to_owned()).spawn(run).map_err(failed)?;
        Ok(NetworkThread { handle, _end: end })
    }
}

/// The maker of the library's clients.
#[derive(Debug)]
pub(super) struct S3Connector {
    client: S3Client,
    network: Handle,
}

impl S3Connector {
    /// Creates the connector for a server at `endpoint`.
    ///
    /// # Errors
    /// `LocalFile`: the authorities that the system trusts can't be read.
    pub fn new(endpoint: &str, timing: S3Timing, network: &NetworkThread) -> BackupResult<S3Connector> {
        let failed = |error: &dyn fmt::Display| BackupError::LocalFile(format!("The backup has no TLS: {error}."));
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let tls = if endpoint.starts_with("https://") {
            tls.with_platform_verifier().map_err(|error| failed(&error))?
        } else {
            tls.with_root_certificates(RootCertStore::empty())
        };
        let client = Client::builder()
            .tls_backend_preconfigured(tls.with_no_client_auth())
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(timing.connect)
            .pool_max_idle_per_host(4)
            // Shorter than servers keep a connection, so that none is used while it is closed.
            .pool_idle_timeout(Duration::from_secs(4))
            .build()
            .map_err(|error| failed(&error))?;
        let client = S3Client { client, endpoint: endpoint.into(), request: timing.request };
        Ok(S3Connector { client, network: network.handle.clone() })
    }
}

impl HttpConnector for S3Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(SpawnService::new(self.client.clone(), self.network.clone())))
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
struct S3Client {
    client: Client,
    endpoint: Arc<str>,
    /// The time in which [`TIMED_BYTES`] must be sent or received.
    request: Duration,
}

impl S3Client {
    /// Converts a failure of the connection. The library repeats those that may pass.
    fn failure(&self, error: &reqwest::Error) -> HttpError {
        let kind = if error.is_timeout() {
            HttpErrorKind::Timeout
        } else if error.is_connect() {
            HttpErrorKind::Connect
        } else {
            HttpErrorKind::Interrupted
        };
        HttpError::new(kind, S3Fault::NoAnswer { endpoint: self.endpoint.clone(), reason: innermost_cause(error) })
    }

    /// Returns a reply that is no success, if the library knows what to do about it.
    async fn judge(&self, parts: ReplyHead, body: HttpResponseBody) -> Result<HttpResponse, HttpError> {
        // A longer one is none that a program reads.
        let body = Limited::new(body, MAX_ERROR).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let refusal = S3Refusal::new(self.endpoint.clone(), parts.status, &parts.headers, &body);
        if refusal.is_for_library() {
            return Ok(HttpResponse::from_parts(parts, body.into()));
        }
        Err(HttpError::new(HttpErrorKind::Unknown, S3Fault::Refusal(refusal)))
    }
}

#[async_trait]
impl HttpService for S3Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let unusable = |error| HttpError::new(HttpErrorKind::Unknown, error);
        let url = reqwest::Url::parse(&head.uri.to_string()).map_err(unusable)?;
        let parts = u32::try_from(body.content_length().div_ceil(TIMED_BYTES)).unwrap_or(u32::MAX);
        let mut request = reqwest::Request::new(head.method, url);
        *request.headers_mut() = head.headers;
        *request.timeout_mut() = Some(self.request.saturating_mul(parts.max(1)));
        *request.body_mut() = Some(reqwest::Body::wrap(body));
        let reply = self.client.execute(request).await.map_err(|error| self.failure(&error))?;
        let (head, body) = HttpReply::from(reply).into_parts();
        let client = self.clone();
        let body = HttpResponseBody::new(body.map_err(move |error| client.failure(&error)));
        if head.status.is_success() {
            return Ok(HttpResponse::from_parts(head, body));
        }
        self.judge(head, body).await
    }
}

/// Returns the text of the innermost cause of a failure, which does not repeat the address.
fn innermost_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it takes too long".to_owned();
    }
    let (mut text, mut cause) = ("the request failed".to_owned(), error.source());
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}
