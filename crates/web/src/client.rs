//! The client of a request, seen through proxies that the configuration trusts.
//!
//! A proxy names its client in a header, but anybody can send such a header. So the header counts
//! only if the peer is a trusted proxy. It is read from the right, where the nearest proxy has
//! added the address that it saw itself, up to the first address that is not trusted. Entries to
//! the left were sent by that client and may be made up.
//!
//! Nothing that a client sends may change how the rest is read. So a value is parsed as bytes: a
//! part that is not text is unreadable, but hides no other. Quotes in a `Forwarded` header count
//! only if they are unambiguous; see [`elements`].
//!
//! Only one of the two kinds of header counts (`server.forwarded_header`): a proxy that writes one
//! kind passes on the other as the client sent it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage, HttpRequest};
use ipnet::IpNet;
use stet_config::{ForwardedHeader, ServerConfig, network};

const FORWARDED: &str = "forwarded";
const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_PROTO: &str = "x-forwarded-proto";
const FORWARDED_HOST: &str = "x-forwarded-host";

/// The trusted proxies, and the kind of header that they write.
#[derive(Debug)]
pub struct Proxies {
    trusted: Vec<IpNet>,
    header: ForwardedHeader,
}

/// A client as the connection and the headers of trusted proxies show it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProxiedClient<'r> {
    address: IpAddr,
    /// The scheme of the client's request, according to the nearest proxy.
    scheme: Option<&'r str>,
    /// The host of the client's request, according to the same proxy.
    host: Option<&'r str>,
}

impl Proxies {
    /// Returns the trusted proxies of a checked configuration.
    pub fn new(server: &ServerConfig) -> Proxies {
        let trusted = server.trusted_proxies.iter().filter_map(|text| network(text)).collect();
        Proxies { trusted, header: server.forwarded_header }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|network| network.contains(&address))
    }

    fn client<'r>(&self, peer: IpAddr, headers: &'r HeaderMap) -> ProxiedClient<'r> {
        let mut client = ProxiedClient { address: peer.to_canonical(), scheme: None, host: None };
        if !self.trusts(peer) {
            return client;
        }
        match self.header {
            ForwardedHeader::XForwarded => {
                let values: Vec<_> = values(headers, FORWARDED_FOR).flat_map(|value| value.split(is_comma)).collect();
                for address in values.into_iter().rev().map_while(|part| address_of(text(part)?)) {
                    client.address = address;
                    if !self.trusts(address) {
                        break;
                    }
                }
                // Each proxy replaces these headers or passes them on. So the last value comes from
                // a trusted one.
                client.scheme = last(headers, FORWARDED_PROTO);
                client.host = last(headers, FORWARDED_HOST);
            }
            ForwardedHeader::Forwarded => {
                let elements: Vec<_> = values(headers, FORWARDED).flat_map(elements).collect();
                // An unreadable element ends the walk. The sender of it counts as the client.
                for element in elements.into_iter().rev().take_while(|element| is_clear(element)) {
                    let field = |wanted: &str| {
                        let mut pairs = split(element, b';').filter_map(|pair| {
                            let (name, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=')?);
                            Some((name.trim_ascii(), &value[1..]))
                        });
                        let (_, value) = pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))?;
                        Some(text(value)?.trim_matches('"'))
                    };
                    // A trusted proxy has seen the client, even if the header hides its address.
                    (client.scheme, client.host) = (field("proto"), field("host"));
                    let Some(address) = field("for").and_then(address_of) else { break };
                    client.address = address;
                    if !self.trusts(address) {
                        break;
                    }
                }
            }
        }
        client
    }
}

/// Returns the values of a header's lines, from first to last.
fn values<'r>(headers: &'r HeaderMap, name: &str) -> impl Iterator<Item = &'r [u8]> + use<'r> {
    headers.get_all(name).map(|value| value.as_bytes())
}

fn is_comma(byte: &u8) -> bool {
    *byte == b','
}

/// Returns a part of a value, if it is text.
fn text(part: &[u8]) -> Option<&str> {
    std::str::from_utf8(part.trim_ascii()).ok()
}

fn last<'r>(headers: &'r HeaderMap, name: &str) -> Option<&'r str> {
    let part = values(headers, name).last()?.rsplit(is_comma).next()?;
    text(part).filter(|value| !value.is_empty())
}

/// Reports whether the quoted texts of a value can be read in one way only. A proxy adds quotes in
/// pairs. So an odd number comes from a client, who opens a quoted text to swallow what is added
/// behind it. A backslash may stand before a quote that does not count.
fn is_clear(value: &[u8]) -> bool {
    let quotes = value.iter().filter(|byte| **byte == b'"').count();
    quotes == 0 || (quotes.is_multiple_of(2) && !value.contains(&b'\\'))
}

/// Splits a line into its elements. If its quotes are ambiguous, each comma ends an element. Then
/// an element that the nearest proxy added is still whole, unless it contains a quoted comma
/// itself, and then its parts are unreadable.
fn elements(value: &[u8]) -> Vec<&[u8]> {
    if is_clear(value) { split(value, b',').collect() } else { value.split(is_comma).collect() }
}

/// Splits a header's value at a separator that may also occur in quoted texts.
fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    value.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == separator && !quoted
    })
}

/// Parses an address as proxies write it: bare, with a port, or in brackets.
fn address_of(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

fn client<'r>(http: &'r HttpRequest, proxies: &Proxies) -> ProxiedClient<'r> {
    // Every TCP connection has a peer.
    let peer = http.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    proxies.client(peer, http.headers())
}

/// Returns the address of the client.
pub fn client_address(http: &HttpRequest, proxies: &Proxies) -> IpAddr {
    client(http, proxies).address
}

/// The mark of a request that arrived at this server over TLS.
#[derive(Debug, Clone, Copy)]
pub struct OverTls;

/// Reports whether the client uses TLS, to this server or to the nearest proxy.
pub fn is_secure(http: &HttpRequest, proxies: &Proxies) -> bool {
    http.extensions().contains::<OverTls>()
        || client(http, proxies).scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

/// Returns the host of the client's request, with its port if it has one.
pub fn host<'r>(http: &'r HttpRequest, proxies: &Proxies) -> &'r str {
    let asked = || http.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let named = || http.uri().authority().map(|authority| authority.as_str());
    client(http, proxies).host.or_else(asked).or_else(named).unwrap_or_default()
}

/// Returns the address of the client's request up to the path: `https://desk.example`.
pub fn origin(http: &HttpRequest, proxies: &Proxies) -> String {
    let scheme = if is_secure(http, proxies) { "https" } else { "http" };
    format!("{scheme}://{}", host(http, proxies))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn proxies(header: ForwardedHeader) -> Proxies {
        let trusted_proxies = ["10.0.0.0/8", "192.0.2.9", "2001:db8::/32"].map(str::to_owned).to_vec();
        Proxies::new(&ServerConfig { trusted_proxies, forwarded_header: header, ..ServerConfig::default() })
    }

    fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        map
    }

    fn seen(header: ForwardedHeader, peer: &str, pairs: &[(&'static str, &str)]) -> String {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        seen_in(header, peer, &pairs)
    }

    fn seen_in(header: ForwardedHeader, peer: &str, pairs: &[(&'static str, &[u8])]) -> String {
        let headers = headers(pairs);
        let client = proxies(header).client(peer.parse().unwrap(), &headers);
        format!("{} {} {}", client.address, client.scheme.unwrap_or("-"), client.host.unwrap_or("-"))
    }

    #[test]
    fn a_peer_that_is_not_trusted_speaks_for_itself() {
        let pairs = [
            ("x-forwarded-for", "198.51.100.1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "evil"),
            ("forwarded", "for=198.51.100.1;proto=https;host=evil"),
        ];
        assert_eq!(seen(ForwardedHeader::XForwarded, "203.0.113.5", &pairs), "203.0.113.5 - -");
        assert_eq!(seen(ForwardedHeader::Forwarded, "203.0.113.5", &pairs), "203.0.113.5 - -");
        assert_eq!(seen(ForwardedHeader::XForwarded, "::ffff:203.0.113.5", &pairs), "203.0.113.5 - -");
    }

    #[test]
    fn from_right_to_left_past_those_who_are_trusted() {
        let seen = |value: &str| seen(ForwardedHeader::XForwarded, "10.1.2.3", &[("x-forwarded-for", value)]);
        assert_eq!(seen("198.51.100.1"), "198.51.100.1 - -");
        assert_eq!(seen("1.1.1.1, 198.51.100.1, 10.9.9.9, 192.0.2.9"), "198.51.100.1 - -");
        assert_eq!(seen("10.7.7.7, 10.9.9.9"), "10.7.7.7 - -");
        assert_eq!(seen("198.51.100.1:5123"), "198.51.100.1 - -");
        assert_eq!(seen("[2001:db9::7]:5123 , 2001:db8::1"), "2001:db9::7 - -");
        // An unreadable entry ends the walk: the last readable one counts.
        assert_eq!(seen("198.51.100.1, unknown, 10.9.9.9"), "10.9.9.9 - -");
        assert_eq!(seen("198.51.100.1, "), "10.1.2.3 - -");
        assert_eq!(seen(""), "10.1.2.3 - -");
    }

    #[test]
    fn several_lines_are_one_list() {
        let pairs = [("x-forwarded-for", "1.1.1.1, 198.51.100.1"), ("x-forwarded-for", "10.9.9.9")];
        assert_eq!(seen(ForwardedHeader::XForwarded, "10.1.2.3", &pairs), "198.51.100.1 - -");
    }

    #[test]
    fn the_last_scheme_and_host_are_the_trusted_ones() {
        let pairs = [("x-forwarded-proto", "http, https"), ("x-forwarded-host", "evil, news.example")];
        assert_eq!(seen(ForwardedHeader::XForwarded, "10.1.2.3", &pairs), "10.1.2.3 https news.example");
    }

    #[test]
    fn the_standard_header_is_read_with_its_quotes() {
        let seen = |value: &str| seen(ForwardedHeader::Forwarded, "10.1.2.3", &[("forwarded", value)]);
        assert_eq!(seen("for=198.51.100.1;proto=https;host=news.example"), "198.51.100.1 https news.example");
        assert_eq!(seen("For=\"[2001:db9::7]:4711\"; Proto=http"), "2001:db9::7 http -");
        assert_eq!(seen("for=1.1.1.1;proto=ftp, for=198.51.100.1;proto=https, for=10.9.9.9"), "198.51.100.1 https -");
        assert_eq!(seen("for=1.1.1.1, for=_hidden;proto=https"), "10.1.2.3 https -");
        assert_eq!(seen("for=198.51.100.1;by=\"a,b;for=6.6.6.6\""), "198.51.100.1 - -");
        assert_eq!(seen(";;,=,\"for=9.9.9.9"), "10.1.2.3 - -");
    }

    #[test]
    fn quotes_of_a_client_swallow_nothing_that_a_proxy_adds() {
        let seen = |value: &str| seen(ForwardedHeader::Forwarded, "10.1.2.3", &[("forwarded", value)]);
        let open = "for=6.6.6.6;proto=https;host=evil;x=\"";
        assert_eq!(seen(&format!("{open}, for=203.0.113.9")), "203.0.113.9 - -");
        assert_eq!(seen(&format!("{open}, for=203.0.113.9;proto=http, for=10.9.9.9")), "203.0.113.9 http -");
        assert_eq!(seen(&format!("{open}, for=\"[2001:db9::7]:4711\";host=\"a\"")), "2001:db9::7 - a");
        assert_eq!(seen(&format!("{open}\\, for=203.0.113.9;host=a")), "203.0.113.9 - a");
        assert_eq!(seen(&format!("{open}\\\", for=203.0.113.9;host=a")), "203.0.113.9 - a");
        // Balanced quotes of the client are kept as they are.
        assert_eq!(seen(&format!("{open}\", for=203.0.113.9;by=\"a,b\"")), "203.0.113.9 - -");
    }

    #[test]
    fn an_element_that_can_be_meant_in_two_ways_ends_the_walk() {
        let seen = |value: &str| seen(ForwardedHeader::Forwarded, "10.1.2.3", &[("forwarded", value)]);
        let escaped = "for=203.0.113.9;host=\"a\\\", for=6.6.6.6;proto=https;x=\\\"\"";
        assert_eq!(seen(escaped), "10.1.2.3 - -");
        assert_eq!(seen(&format!("for=6.6.6.6;x=\", {escaped}")), "10.1.2.3 - -");
        assert_eq!(seen("for=6.6.6.6;x=\", for=203.0.113.9;host=\"a\\\"b\""), "10.1.2.3 - -");
        assert_eq!(seen("x=\", for=6.6.6.6;by=\"a, for=7.7.7.7, b\""), "10.1.2.3 - -");
        assert_eq!(seen("for=6.6.6.6;x=\", for=10.9.9.9;proto=https"), "10.9.9.9 https -");
    }

    #[test]
    fn bytes_that_are_no_text_hide_only_themselves() {
        let listed = |lines: &[&[u8]]| {
            let pairs: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
            seen_in(ForwardedHeader::XForwarded, "10.1.2.3", &pairs)
        };
        assert_eq!(listed(&[b"\xff, 198.51.100.1"]), "198.51.100.1 - -");
        assert_eq!(listed(&[b"6.6.6.6", b"\xc3\xa4, 198.51.100.1, 10.9.9.9"]), "198.51.100.1 - -");
        assert_eq!(listed(&[b"6.6.6.6", b"198.51.100.1\xff"]), "10.1.2.3 - -");
        let standard = |lines: &[&[u8]]| {
            let pairs: Vec<_> = lines.iter().map(|line| ("forwarded", *line)).collect();
            seen_in(ForwardedHeader::Forwarded, "10.1.2.3", &pairs)
        };
        assert_eq!(standard(&[b"for=6.6.6.6", b"x=\xff, for=198.51.100.1;proto=https"]), "198.51.100.1 https -");
        assert_eq!(standard(&[b"for=6.6.6.6", b"for=198.51.100.1;host=\xff;proto=https"]), "198.51.100.1 https -");
        assert_eq!(standard(&[b"for=6.6.6.6", b"for=\xff"]), "10.1.2.3 - -");
        let pairs: [(_, &[u8]); 2] = [("x-forwarded-proto", b"https"), ("x-forwarded-proto", b"\xff, http")];
        assert_eq!(seen_in(ForwardedHeader::XForwarded, "10.1.2.3", &pairs), "10.1.2.3 http -");
    }

    #[test]
    fn only_the_configured_kind_of_header_counts() {
        let pairs = [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=198.51.100.2;proto=https")];
        assert_eq!(seen(ForwardedHeader::XForwarded, "10.1.2.3", &pairs), "198.51.100.1 - -");
        assert_eq!(seen(ForwardedHeader::Forwarded, "10.1.2.3", &pairs), "198.51.100.2 https -");
    }
}
