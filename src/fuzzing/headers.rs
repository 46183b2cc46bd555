//! Fuzzing of headers: those of proxies, tokens, entity tags, ranges.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::test::TestRequest;
use stet_config::{ForwardedHeader, ServerConfig};
use stet_domain::expect::Precondition;
use stet_web::client::{Proxies, client_address, host, is_secure};
use stet_web::etag::{ETag, expectation};
use stet_web::identify::token_of;
use stet_web::range::{self, RequestedRange};

/// The trusted proxy, and the client that it names.
const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));

static PROXIES: LazyLock<[Proxies; 2]> = LazyLock::new(|| {
    [ForwardedHeader::XForwarded, ForwardedHeader::Forwarded].map(|forwarded_header| {
        let trusted_proxies = vec!["10.0.0.0/8".to_owned()];
        Proxies::new(&ServerConfig { trusted_proxies, forwarded_header, ..ServerConfig::default() })
    })
});

/// Takes the value of every header that is read, as any client may send it.
pub fn headers(data: &[u8]) -> bool {
    let Ok(value) = HeaderValue::from_bytes(data) else { return false };
    let mut map = HeaderMap::new();
    map.insert(header::IF_NONE_MATCH, value.clone());
    map.insert(header::IF_MATCH, value.clone());
    let known = ETag::of_bytes("a").is_known(&map);
    let asked = range_of(&value);
    let expected = expected_in(&map);
    from_a_proxy(&value);
    let request = TestRequest::default()
        .insert_header((header::COOKIE, value.clone()))
        .insert_header((header::AUTHORIZATION, value))
        .to_http_request();
    let token = token_of(&request);
    assert!(token.as_ref().is_none_or(|token| !token.is_empty()));
    known || asked || token.is_some() || expected
}

/// Reports whether `If-Match` has a condition that can be met. Each tag in it must survive being
/// written and read again.
fn expected_in(headers: &HeaderMap) -> bool {
    match expectation(headers) {
        Some(Precondition::OneOf { tags, .. }) => {
            for tag in &tags {
                let mut written = HeaderMap::new();
                written.insert(header::IF_MATCH, ETag::new(*tag, "a").value().clone());
                assert_eq!(expectation(&written), Some(Precondition::one_of([*tag])));
            }
            !tags.is_empty()
        }
        Some(Precondition::Any) => true,
        Some(Precondition::Nothing) | None => false,
    }
}

/// Reports whether the value asks for a part of ten bytes, or for a range outside them. A part is
/// within the bytes.
fn range_of(value: &HeaderValue) -> bool {
    let mut map = HeaderMap::new();
    map.insert(header::RANGE, value.clone());
    let wanted = range::requested_range(&map, 10, &ETag::of_bytes("a"), Some(1000));
    if let RequestedRange::Part { first, last } = wanted {
        assert!(first <= last && last < 10, "{wanted:?}");
    }
    // The condition is not met, so the range is ignored.
    map.insert(header::IF_RANGE, value.clone());
    assert_eq!(range::requested_range(&map, 10, &ETag::of_bytes("a"), Some(1000)), RequestedRange::Whole);
    wanted != RequestedRange::Whole
}

/// Asserts that the client named by the trusted proxy counts, whatever the client itself has sent:
/// in a line of its own, and on the client's line.
fn from_a_proxy(value: &HeaderValue) {
    for (proxies, name, own) in [
        (&PROXIES[0], HeaderName::from_static("x-forwarded-for"), "198.51.100.7"),
        (&PROXIES[1], HeaderName::from_static("forwarded"), "for=198.51.100.7;proto=https"),
    ] {
        let joined = [value.as_bytes(), b", ", own.as_bytes()].concat();
        let joined = HeaderValue::from_bytes(&joined).expect("two values are one");
        let request = |lines: &[&HeaderValue]| {
            let request = TestRequest::default().peer_addr(SocketAddr::new(PROXY, 1));
            lines.iter().fold(request, |request, line| request.append_header((name.clone(), (*line).clone())))
        };
        let own = HeaderValue::from_static(own);
        for lines in [&[value, &own][..], &[&joined]] {
            let request = request(lines).to_http_request();
            assert_eq!(client_address(&request, proxies), CLIENT, "{name}: {lines:?}");
            let _ = (host(&request, proxies), is_secure(&request, proxies));
        }
        // A header that is not from a proxy is ignored.
        let stranger = request(&[&joined]).peer_addr(SocketAddr::new(CLIENT, 1)).to_http_request();
        assert_eq!(client_address(&stranger, proxies), CLIENT);
        assert!(!is_secure(&stranger, proxies));
    }
}
