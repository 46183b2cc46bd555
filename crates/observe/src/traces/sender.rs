//! The connection to the collector, with the server's usual HTTP client.

use std::fmt;
use std::future::Future;
use std::io::Read;
use std::pin::Pin;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::tls::{RootCerts, TlsConfig};

/// The timeout of a request to the collector.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of bytes of a reply that are read.
const ANSWER: u64 = 64 << 10;

/// The HTTP client that sends spans.
pub(super) struct Sender {
    agent: ureq::Agent,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl Sender {
    pub(super) fn new() -> Sender {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Sender { agent }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let answer = self.agent.run(Request::from_parts(parts, &body[..]))?;
        let (parts, body) = answer.into_parts();
        let mut bytes = Vec::new();
        body.into_reader().take(ANSWER).read_to_end(&mut bytes)?;
        Ok(Response::from_parts(parts, bytes.into()))
    }
}

impl HttpClient for Sender {
    /// Blocks until the collector replies. Only the exporter's own thread polls it.
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let outcome = self.send(request);
        let (what, why) = match &outcome {
            Ok(answer) if answer.status().is_success() => ("sent", None),
            Ok(answer) => ("failed", Some(answer.status().to_string())),
            Err(error) => ("failed", Some(error.to_string())),
        };
        metrics::counter!("stet_trace_batches_total", "outcome" => what).increment(1);
        if let Some(error) = why {
            tracing::warn!(error, "traces can't be sent to the collector");
        }
        Box::pin(std::future::ready(outcome))
    }
}
