//! The sending of one message to a receiver.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use stet_config::WebhooksConfig;
use stet_domain::error::{Error, shorten_text};

use crate::destination::PermittedNetworks;
use crate::rows::Webhook;

/// Bytes of a reply that are read, so that the connection can be used again. A longer reply ends
/// the connection.
const REPLY_BYTES: usize = 64 << 10;

/// Bytes of the reason of a failure in the log of deliveries.
const REASON_BYTES: usize = 200;

/// The status by which a receiver says that it wants no more (410 Gone, by the specification).
pub const GONE: u16 = 410;

/// The sender of messages. Clones share the connections.
#[derive(Clone)]
pub struct WebhookSender {
    /// For `https`: public addresses, and those that are listed. A reason if the system has no
    /// authorities to trust.
    encrypted: Result<PermittedClient, String>,
    /// For `http`: those that are listed.
    plain: PermittedClient,
}

/// A client with the addresses that it may connect to.
#[derive(Clone)]
struct PermittedClient {
    client: Client,
    permitted: PermittedNetworks,
}

/// A message to a receiver.
pub struct WebhookMessage {
    /// The id, which is the same for each attempt.
    pub id: String,
    /// The body, JSON.
    pub body: Bytes,
}

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendOutcome {
    /// The status of the reply; `None` without one.
    pub status: Option<u16>,
    /// The reason why the message was not accepted; `None` if it was.
    pub error: Option<String>,
}

impl WebhookSender {
    /// Creates the sender.
    ///
    /// # Errors
    /// An internal error if no client can be made of the settings here.
    pub fn new(config: &WebhooksConfig) -> Result<WebhookSender, Error> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?;
        let none = builder.clone().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let plain = PermittedClient::of(config, none, false)?;
        let encrypted = match builder.with_platform_verifier() {
            Ok(system) => Ok(PermittedClient::of(config, system.with_no_client_auth(), true)?),
            Err(error) => Err(format!("the system's authorities can't be loaded: {error}")),
        };
        Ok(WebhookSender { encrypted, plain })
    }

    /// Sends a message, signed at a time in epoch milliseconds.
    pub async fn send(&self, webhook: &Webhook, message: &WebhookMessage, now_ms: u64) -> SendOutcome {
        let failed = |error: String| SendOutcome { status: None, error: Some(error) };
        let Ok(url) = Url::parse(&webhook.url) else { return failed("the address is no URL".to_owned()) };
        let encrypted = url.scheme() == "https";
        let PermittedClient { client, permitted } = match &self.encrypted {
            Ok(client) if encrypted => client,
            Err(why) if encrypted => return failed(why.clone()),
            _ => &self.plain,
        };
        // The resolver sees names only.
        if let Some(refused) = permitted.refused_host(&url) {
            return failed(refused.to_string());
        }
        let at_s = now_ms / 1000;
        let former = webhook.former.iter().filter(|(_, until_ms)| now_ms < *until_ms).map(|(secret, _)| secret);
        let secrets = std::iter::once(&webhook.secret).chain(former);
        let signatures: Vec<String> = secrets.map(|secret| secret.sign(&message.id, at_s, &message.body)).collect();
        let request = client
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", at_s)
            .header("webhook-signature", signatures.join(" "))
            .body(message.body.clone());
        match request.send().await {
            Ok(response) => {
                let status = response.status();
                read_rest(response).await;
                let redirected = if status.is_redirection() { "; redirects are not followed" } else { "" };
                let error = (!status.is_success()).then(|| format!("the receiver answered {status}{redirected}"));
                SendOutcome { status: Some(status.as_u16()), error }
            }
            Err(error) => failed(reason(&error)),
        }
    }
}

impl PermittedClient {
    fn of(config: &WebhooksConfig, tls: ClientConfig, public: bool) -> Result<PermittedClient, Error> {
        let permitted = PermittedNetworks::of(&config.networks, public);
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("stet/", env!("CARGO_PKG_VERSION")))
            .timeout(Duration::from_secs(config.timeout_seconds))
            // Also for a connection that is begun in vain, because another one was free first.
            .connect_timeout(Duration::from_secs(config.timeout_seconds))
            .pool_max_idle_per_host(2)
            .pool_idle_timeout(Duration::from_secs(30))
            .dns_resolver(permitted.clone())
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(PermittedClient { client, permitted })
    }
}

fn unusable(error: &dyn std::error::Error) -> Error {
    tracing::error!(%error, "cannot make a client for webhooks");
    Error::internal()
}

/// Reads a short reply to its end. Its content has no meaning.
async fn read_rest(mut response: Response) {
    let mut bytes = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes += chunk.len();
        if bytes > REPLY_BYTES {
            return;
        }
    }
}

/// Returns the innermost cause of a failure, shortened. It says most, and does not repeat the
/// address.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "the receiver did not answer in time".to_owned();
    }
    let (mut text, mut cause) = (String::new(), error.source());
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    let text = if text.is_empty() { "the request failed".to_owned() } else { text };
    shorten_text(text, REASON_BYTES)
}
