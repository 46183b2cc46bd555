//! Secrets and signatures, in the form of the Standard Webhooks specification, version 1: HMAC with
//! SHA-256 over id, time and body.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use stet_domain::error::{Error, Result};

/// The beginning of a secret as text.
const PREFIX: &str = "whsec_";

/// Bytes of a secret; the specification wants 24 to 64.
const BYTES: usize = 32;

/// A secret that its webhook and its receiver share. Debugging output does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecret([u8; BYTES]);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

impl WebhookSecret {
    /// Creates a random secret.
    ///
    /// # Errors
    /// An internal error if the system has no random numbers.
    pub fn random() -> Result<WebhookSecret> {
        let mut bytes = [0; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
            tracing::error!(%error, "the system has no random numbers");
            Error::internal()
        })?;
        Ok(WebhookSecret(bytes))
    }

    /// Returns the text that the receiver is configured with.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// Returns the signature of a message that is sent at a time in epoch seconds.
    pub fn sign(&self, id: &str, at_s: u64, body: &[u8]) -> String {
        // HMAC takes keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of 32 bytes is one of any length");
        mac.update(format!("{id}.{at_s}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries, with a secret of 24 bytes there and
    /// of 32 here.
    #[test]
    fn a_signature_is_the_hmac_of_id_time_and_body() {
        let secret = WebhookSecret(*b"0123456789abcdef0123456789abcdef");
        assert_eq!(secret.text(), "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
        let signature = secret.sign("msg_1", 1_614_265_330, br#"{"test": 2432232314}"#);
        // By `openssl dgst -sha256 -hmac`.
        assert_eq!(signature, "v1,aTF4+pE6A/FmvKM0YSVBBUfRhLIlBiaBUR+EjGls6Mc=");
        assert_ne!(signature, secret.sign("msg_2", 1_614_265_330, br#"{"test": 2432232314}"#));
        assert_ne!(signature, secret.sign("msg_1", 1_614_265_331, br#"{"test": 2432232314}"#));
    }

    #[test]
    fn secrets_are_random_and_hidden_in_debugging_output() {
        let [one, other] = [(); 2].map(|()| WebhookSecret::random().expect("there are random numbers"));
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "WebhookSecret");
    }
}
