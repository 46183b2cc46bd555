//! Validation of tickets by the CAS server.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use stet_config::CasConfig;
use stet_domain::error::{Code, Error, Result};
use tokio::sync::{Semaphore, oneshot};
use ureq::tls::{RootCerts, TlsConfig};

use super::answer::{CasAnswer, CasAnswerFault, read};

/// The error when the CAS server gives no valid answer: the ticket may be valid, so this is not a
/// refusal.
const UNAVAILABLE: &str = "The CAS server can't validate the ticket at the moment. Try again with a new ticket.";

/// The client of one CAS server.
pub(super) struct CasClient {
    asking: TicketValidator,
    /// One permit for each validation that may be in progress.
    free: Arc<Semaphore>,
}

/// The part of the client that a validation thread needs.
#[derive(Clone)]
struct TicketValidator {
    agent: ureq::Agent,
    /// The address for validations, without the query.
    address: String,
    answer_bytes: usize,
}

impl CasClient {
    pub(super) fn new(config: &CasConfig) -> CasClient {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_connect(Some(Duration::from_secs(config.connect_seconds)))
            .timeout_global(Some(Duration::from_secs(config.total_seconds)))
            .http_status_as_error(false)
            // Only the configured server may say who the caller is, or get the ticket.
            .max_redirects(0)
            .proxy(None)
            // A validation uses the ticket up, so its answer must not be lost on a connection that
            // the server is just closing.
            .max_idle_connections(0)
            .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
            .accept("application/xml, text/xml")
            .build()
            .new_agent();
        let address = format!("{}/p3/serviceValidate", config.server_url.trim_end_matches('/'));
        let asking = TicketValidator { agent, address, answer_bytes: config.answer_bytes };
        CasClient { asking, free: Arc::new(Semaphore::new(config.at_once)) }
    }

    /// Asks the CAS server about a ticket that was issued for a service.
    ///
    /// # Errors
    /// `Overloaded` when the server does not answer in time or validly, or when too many tickets
    /// are being validated.
    pub(super) async fn ask(&self, ticket: &str, service: &str) -> Result<CasAnswer> {
        let permit = self.free.clone().try_acquire_owned().map_err(|_| {
            let message = "Too many tickets are being validated at the moment: try again.";
            Error::new(Code::Overloaded, message)
        })?;
        let (asking, ticket, service) = (self.asking.clone(), ticket.to_owned(), service.to_owned());
        let (sender, asked) = oneshot::channel();
        // Not on the threads that serve requests, read disks or hash passwords: none of them may
        // wait for a remote server. The permit is moved there, since a caller's departure does not
        // end the validation.
        let thread = std::thread::Builder::new().name("cas".to_owned()).spawn(move || {
            let answer = asking.ask(&ticket, &service);
            drop(permit);
            // The caller may have left.
            let _ = sender.send(answer);
        });
        thread.map_err(|error| {
            tracing::error!(%error, "cannot start a thread for a request to the CAS server");
            cas_unavailable_error()
        })?;
        let answer = asked.await.map_err(|_| {
            tracing::error!("a request to the CAS server panicked");
            Error::internal()
        })?;
        answer.map_err(|reason| {
            tracing::warn!(reason, "a request to the CAS server failed");
            cas_unavailable_error()
        })
    }
}

impl TicketValidator {
    /// Returns the answer, or the reason for the log why there is none. The reason has neither the
    /// ticket nor anything that the CAS server sent.
    fn ask(&self, ticket: &str, service: &str) -> Result<CasAnswer, String> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("service", service).append_pair("ticket", ticket);
        let address = format!("{}?{}", self.address, query.finish());
        let mut response = self.agent.get(address).call().map_err(|error| reason(&error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(format!("it answered with the status {status}"));
        }
        let limit = self.answer_bytes as u64;
        let bytes = response.body_mut().with_config().limit(limit).read_to_vec().map_err(|error| reason(&error))?;
        let text = String::from_utf8(bytes).map_err(|_| "its answer is not in UTF-8".to_owned())?;
        read(&text, self.answer_bytes).map_err(|malformed| match malformed {
            CasAnswerFault::Xml(kind) => format!("its answer is no XML that is taken: {kind:?}"),
            CasAnswerFault::Shape(what) => format!("its answer is not as CAS 3.0 has it: {what}"),
        })
    }
}

/// Returns the error of a login that can't be decided without an answer.
pub(super) fn cas_unavailable_error() -> Error {
    Error::new(Code::Overloaded, UNAVAILABLE)
}

/// Returns the reason of a failure for the log. The error's own text may have the address in it,
/// and with it the ticket.
fn reason(error: &ureq::Error) -> String {
    use ureq::Error as E;
    match error {
        E::Timeout(_) => "it took too long".to_owned(),
        E::HostNotFound => "its host is unknown".to_owned(),
        E::ConnectionFailed => "no connection could be made".to_owned(),
        E::BodyExceedsLimit(limit) => format!("its answer has more than {limit} bytes"),
        // Errors of TLS during a read; the library logs the fault of a certificate.
        E::Io(error) if error.kind() == ErrorKind::InvalidData => "no safe connection could be made".to_owned(),
        E::Io(error) => format!("the connection failed: {}", error.kind()),
        E::Rustls(error) => format!("no safe connection could be made: {error}"),
        E::Tls(what) => format!("no safe connection could be made: {what}"),
        _ => "its answer is not as HTTP has it".to_owned(),
    }
}
