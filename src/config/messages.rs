//! The sections about messages between users, and the mail relay that they go out by.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[messages]`: messages between users (docs/api/messages.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessagesConfig {
    /// Days for which a message is kept.
    pub keep_days: u64,
    /// Messages of one inbox, and of one outbox.
    pub per_box: usize,
    /// Users to whom one message may go.
    pub recipients: usize,
    /// Bytes of the text of one message.
    pub body_bytes: usize,
    /// Objects attached to one message.
    pub attachments: usize,
}

impl Default for MessagesConfig {
    fn default() -> MessagesConfig {
        MessagesConfig { keep_days: 365, per_box: 1000, recipients: 5000, body_bytes: 64 << 10, attachments: 100 }
    }
}

/// How the mail relay is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtpSecurity {
    /// By TLS, from the first byte (RFC 8314).
    Tls,
    /// By TLS, after the command that asks for it (RFC 3207); not at all where the relay has none.
    Starttls,
    /// In the open.
    None,
}

/// `[smtp]`: a mail relay that takes messages along to the addresses of their receivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpConfig {
    /// Its name or address; empty: messages stay here.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// See [`SmtpSecurity`].
    pub security: SmtpSecurity,
    /// The name to authenticate by; empty: without.
    pub user: String,
    /// The file whose first line is the password.
    pub password_file: PathBuf,
    /// The address that mails come from.
    pub from: String,
    /// Seconds that each step of the protocol may take.
    pub timeout_seconds: u64,
    /// Seconds until a mail that the relay has not taken is tried again for the first time; later
    /// twice as long each time, up to an hour.
    pub retry_seconds: u64,
    /// Hours after which a mail that the relay has not taken is given up.
    pub give_up_hours: u64,
    /// Mails that wait for the relay.
    pub queue: usize,
}

impl Default for SmtpConfig {
    fn default() -> SmtpConfig {
        SmtpConfig {
            host: String::new(),
            port: 587,
            security: SmtpSecurity::Starttls,
            user: String::new(),
            password_file: PathBuf::new(),
            from: String::new(),
            timeout_seconds: 60,
            retry_seconds: 30,
            give_up_hours: 48,
            queue: 100_000,
        }
    }
}
