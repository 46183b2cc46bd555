//! `[liveblog.public]`: live blogs that everybody may read.

use http::Uri;
use serde::{Deserialize, Serialize};

/// The languages of the words around the posts on public pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageLanguage {
    /// English.
    #[default]
    En,
    /// German.
    De,
}

/// `[liveblog.public]`: pages of live blogs for readers without a token (docs/PUBLIC.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublicConfig {
    /// Paths, in the main database, of the folders whose live blogs are public, at any depth; a
    /// path may also name a single live blog. Empty: there are no public pages.
    pub folders: Vec<String>,
    /// The address of this server for readers, without a slash at the end; empty: pages do not
    /// state their own addresses.
    pub address: String,
    /// Posts of a page. The first page has up to twice as many.
    pub posts: usize,
    /// Seconds within which caches pass on a change.
    pub max_age_seconds: u64,
    /// The language of the words around the posts.
    pub language: PageLanguage,
    /// The sites that may embed a page, as sources of a content security policy.
    pub embed_sites: Vec<String>,
}

/// The largest number of public folders. Each is looked up at each request.
pub(super) const MOST_FOLDERS: usize = 32;

impl Default for PublicConfig {
    fn default() -> PublicConfig {
        PublicConfig {
            folders: Vec::new(),
            address: String::new(),
            posts: 25,
            max_age_seconds: 10,
            language: PageLanguage::En,
            embed_sites: vec!["*".to_owned()],
        }
    }
}

impl PublicConfig {
    /// Reports whether any live blog may be public.
    pub fn is_on(&self) -> bool {
        !self.folders.is_empty()
    }
}

/// Reports whether a text is an absolute address to which a path can be appended.
pub(super) fn is_address(text: &str) -> bool {
    let plain = !text.ends_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>?#".contains(&byte));
    plain
        && text.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
        })
}

/// Reports whether a text is a source of a content security policy that names sites: `*`, or a host
/// with or without a scheme, a port and a leading `*.`.
pub(super) fn is_site(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let host = host.strip_prefix("*.").unwrap_or(host);
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    name.split('.').all(is_label) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_sites_that_can_stand_in_a_page_and_a_header_are_accepted() {
        for address in ["https://live.example.org", "http://127.0.0.1:8080", "https://example.org/news"] {
            assert!(is_address(address), "{address}");
        }
        for address in [
            "",
            "live.example.org",
            "https://example.org/",
            "https://a@b",
            "https://a/\"",
            "https://a?b",
            "ftp://a",
            "https://",
        ] {
            assert!(!is_address(address), "{address}");
        }
        for site in ["*", "https://example.org", "example.org:8443", "*.example.org", "http://*.example.org"] {
            assert!(is_site(site), "{site}");
        }
        for site in ["", "'self'", "a b", "https://a/", "a; script-src *", "a,b", "*.", "https://*", "a:b"] {
            assert!(!is_site(site), "{site}");
        }
    }
}
