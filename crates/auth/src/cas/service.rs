//! The service that a ticket must have been issued for (CAS protocol 3.0, 2.5.1).
//!
//! A client that fetches its ticket itself names one fixed service, `auth.cas.service_url`. A
//! browser that the CAS server redirects to the login names the address of the login with any
//! query: then the service is the address of the request. Clients can send any address, so only the
//! addresses that the configuration lists are accepted.

use std::collections::HashSet;

use form_urlencoded::parse;
use stet_config::CasConfig;

/// Parameters that are left out of an address for the log.
const SECRETS: [&str; 3] = ["ticket", "token", "key"];

/// The address of a login request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginAddress {
    /// Scheme, host and path.
    place: String,
    /// The query as received.
    query: String,
}

impl LoginAddress {
    /// Creates the address of a request for a path at a host.
    pub fn new(scheme: &str, host: &str, path: &str, query: &str) -> LoginAddress {
        LoginAddress { place: in_one_form(&format!("{scheme}://{host}{path}")), query: query.to_owned() }
    }

    /// Returns the address in a URL.
    pub(super) fn of_url(url: &str) -> LoginAddress {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        LoginAddress { place: place.to_owned(), query: query.to_owned() }
    }

    /// Returns the address without these query parameters.
    fn without(&self, names: &[&str]) -> String {
        let is_left = |pair: &&str| {
            !pair.is_empty() && parse(pair.as_bytes()).next().is_none_or(|(name, _)| !names.contains(&&*name))
        };
        let rest: Vec<_> = self.query.split('&').filter(is_left).collect();
        if rest.is_empty() { self.place.clone() } else { format!("{}?{}", self.place, rest.join("&")) }
    }

    /// Returns the address without secrets.
    pub(super) fn for_log(&self) -> String {
        self.without(&SECRETS)
    }
}

/// The services in the configuration.
pub(super) struct CasServices {
    fixed: Option<String>,
    /// The normalised addresses.
    addresses: HashSet<String>,
    listed: String,
}

impl CasServices {
    pub(super) fn of(config: &CasConfig) -> CasServices {
        CasServices {
            fixed: Some(config.service_url.clone()).filter(|fixed| !fixed.is_empty()),
            addresses: config.services.iter().map(|address| in_one_form(address)).collect(),
            listed: config.services.join(", "),
        }
    }

    /// Returns the service that a ticket received at an address must have been issued for; `None`
    /// if no ticket is accepted there.
    pub(super) fn service_of(&self, came_to: &LoginAddress) -> Option<String> {
        if self.addresses.contains(&came_to.place) { Some(came_to.without(&["ticket"])) } else { self.fixed.clone() }
    }

    /// Returns the listed addresses, for the log.
    pub(super) fn listed(&self) -> &str {
        &self.listed
    }
}

/// Normalises an address as browsers do: scheme and host in lower case, without the scheme's
/// default port.
fn in_one_form(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let host = host.to_ascii_lowercase();
    let own_port = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}{path}", host.strip_suffix(own_port).unwrap_or(&host))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str = "https://news.example.org/v3/auth/login";

    fn services(fixed: &str, listed: &[&str]) -> CasServices {
        let services = listed.iter().map(|address| (*address).to_owned()).collect();
        CasServices::of(&CasConfig { service_url: fixed.to_owned(), services, ..CasConfig::default() })
    }

    fn came_to(host: &str, query: &str) -> LoginAddress {
        LoginAddress::new("https", host, "/v3/auth/login", query)
    }

    #[test]
    fn the_service_is_the_address_of_the_request_where_that_is_listed() {
        let services = services("https://fixed.example.org/", &[LOGIN, "https://OTHER.example.org:443/v3/auth/login"]);
        for (host, query, service) in [
            ("news.example.org", "a=1&b=%C3%BC+x&ticket=ST-1", format!("{LOGIN}?a=1&b=%C3%BC+x")),
            ("News.Example.org:443", "ticket=ST-1&a=1", format!("{LOGIN}?a=1")),
            ("news.example.org", "ticket=ST-1", LOGIN.to_owned()),
            ("news.example.org", "ticket=ST-1&x&%74icket=ST-2&tickets=3", format!("{LOGIN}?x&tickets=3")),
            ("other.example.org", "a=1", LOGIN.replace("news", "other") + "?a=1"),
            ("news.example.org.evil", "a=1&ticket=ST-1", "https://fixed.example.org/".to_owned()),
            ("news.example.org:8443", "a=1", "https://fixed.example.org/".to_owned()),
        ] {
            assert_eq!(services.service_of(&came_to(host, query)), Some(service), "{host} {query}");
        }
        let plain = LoginAddress::new("http", "news.example.org", "/v3/auth/login", "");
        assert_eq!(services.service_of(&plain).as_deref(), Some("https://fixed.example.org/"));
    }

    #[test]
    fn without_a_fixed_service_no_other_address_takes_tickets() {
        let services = services("", &[LOGIN]);
        assert_eq!(services.service_of(&came_to("evil.example.org", "a=1")), None);
        assert!(services.service_of(&came_to("news.example.org", "a=1")).is_some());
    }

    #[test]
    fn no_secret_is_in_an_address_for_the_log() {
        let shown = came_to("news.example.org", "a=1&ticket=ST-1&token=T&key=K").for_log();
        assert_eq!(shown, format!("{LOGIN}?a=1"));
    }
}
