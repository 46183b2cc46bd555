//! The sections about the edge of the server: proxies, TLS, browsers of other sites.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a trusted proxy tells in for whom it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, `-Proto` and `-Host`.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// `[server.tls]`: encrypted connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// PEM file of the certificate and those that lead to its authority; empty is no TLS.
    pub certificate: PathBuf,
    /// PEM file of its key.
    pub key: PathBuf,
    /// Seconds between two looks for changed files.
    pub reload_seconds: u64,
    /// Seconds that a handshake may take.
    pub handshake_seconds: u64,
    /// Seconds for which browsers are told to come by TLS only (HSTS); 0 tells them nothing.
    pub strict_transport_seconds: u64,
}

impl Default for TlsConfig {
    fn default() -> TlsConfig {
        TlsConfig {
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            reload_seconds: 60,
            handshake_seconds: 5,
            strict_transport_seconds: 0,
        }
    }
}

impl TlsConfig {
    /// Whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }
}
