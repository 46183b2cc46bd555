//! The sections about messages between users, and the mail relay that forwards them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[messages]`: messages between users (docs/api/messages.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MessagesConfig {
    /// Days for which a message is kept.
    pub keep_days: u64,
    /// Maximum messages of one inbox, and of one outbox.
    pub per_box: usize,
    /// Maximum recipients of one message.
    pub recipients: usize,
    /// Maximum bytes of the text of one message.
    pub body_bytes: usize,
    /// Maximum objects attached to one message.
    pub attachments: usize,
}

impl Default for MessagesConfig {
    fn default() -> MessagesConfig {
        MessagesConfig { keep_days: 365, per_box: 1000, recipients: 5000, body_bytes: 64 << 10, attachments: 100 }
    }
}

/// The encryption of the connection to the mail relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtpSecurity {
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// TLS after the command that asks for it (RFC 3207). No mail is sent if the relay does not
    /// support it.
    Starttls,
    /// No encryption.
    None,
}

/// `[smtp]`: a mail relay that forwards messages to the e-mail addresses of their recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpConfig {
    /// Name or address of the relay; empty: messages are not mailed.
    pub host: String,
    /// Port of the relay.
    pub port: u16,
    /// Encryption of the connection.
    pub security: SmtpSecurity,
    /// The name for authentication; empty: none.
    pub user: String,
    /// The file whose first line is the password.
    pub password_file: PathBuf,
    /// The sender's address in mails.
    pub from: String,
    /// Seconds that each step of the protocol may take.
    pub timeout_seconds: u64,
    /// Seconds until the first retry of a mail that the relay has not taken. Each further retry is
    /// after twice that time, up to an hour.
    pub retry_seconds: u64,
    /// Hours after which a mail that the relay has not taken is given up.
    pub give_up_hours: u64,
    /// Maximum number of mails waiting for the relay.
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
