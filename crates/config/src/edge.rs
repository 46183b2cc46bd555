//! The sections about the edge of the server: proxies, TLS, browsers of other sites.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use http::Uri;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The header in which a trusted proxy names the client.
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
    /// PEM file of the certificate and those that lead to its authority; empty: no TLS.
    pub certificate: PathBuf,
    /// PEM file of the certificate's key.
    pub key: PathBuf,
    /// Seconds between two checks for changed files.
    pub reload_seconds: u64,
    /// Seconds that a handshake may take.
    pub handshake_seconds: u64,
    /// Seconds for which browsers must use TLS only (HSTS); with 0 the header is not sent.
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
    /// Reports whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }
}

/// Reports whether a text is an origin of HTTP exactly as browsers send it. No other form would
/// match a request.
pub(super) fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let (scheme, host) = (uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
    let own_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let well = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok_and(|address| address.to_string() == inside),
        None => {
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
            !host.is_empty() && host.bytes().all(fits)
        }
    };
    let port = uri.port_u16();
    let suffix = port.map(|port| format!(":{port}")).unwrap_or_default();
    // The text equals its parts put together, so it has no user, path or query.
    well && port != Some(own_port) && text == format!("{scheme}://{host}{suffix}")
}

/// Parses a network, or an address as the network of that address alone; `None` for any other text.
pub fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for origin in [
            "https://desk.example.org",
            "http://desk.example.org",
            "https://desk.example.org:8443",
            "http://localhost:3000",
            "http://desk:443",
            "https://xn--bcher-kva.example",
            "http://192.0.2.7:8080",
            "http://[2001:db8::7]",
            "http://[::1]:8080",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
    }

    #[test]
    fn origins_that_no_browser_sends_are_refused() {
        for text in [
            "",
            "*",
            "null",
            "desk.example.org",
            "//desk.example.org",
            "https://",
            "https://*",
            "https://*.example.org",
            "https://desk.example.org/",
            "https://desk.example.org/desk",
            "https://desk.example.org?x=1",
            "https://desk.example.org#x",
            "https://user@desk.example.org",
            "https://desk.example.org:",
            "https://desk.example.org:443",
            "http://desk.example.org:80",
            "https://desk.example.org:08443",
            "https://desk.example.org:70000",
            "https://Desk.example.org",
            "HTTPS://desk.example.org",
            "https://b\u{fc}cher.example",
            "https://desk.example.org ",
            " https://desk.example.org",
            "https://desk.example.org, https://other.example.org",
            "https://[::1",
            "https://[0:0::1]",
            "https://[2001:DB8::7]",
            "ftp://desk.example.org",
            "file://",
        ] {
            assert!(!is_origin(text), "{text}");
        }
    }
}
