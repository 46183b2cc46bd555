//! Forwarding headers, and the proxies that are trusted to send them.

use super::*;

fn cookie_of(server: &Server, headers: &[(&str, &str)]) -> String {
    let answer = log_in_with(server, headers, "editor", SAMPLE_PASSWORD);
    answer.ok();
    answer.header("set-cookie").expect("a login sets a cookie").to_owned()
}

#[test]
fn a_header_makes_a_cookie_secure_only_when_a_trusted_proxy_sends_it() {
    let stranger = Server::shared();
    for header in [("x-forwarded-proto", "https"), ("forwarded", "for=198.51.100.1;proto=https")] {
        assert!(!cookie_of(stranger, &[header]).contains("Secure"), "{header:?}");
    }
    let trusted = Server::with(&[("SERVER__TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.0/8")]);
    assert!(cookie_of(&trusted, &[("x-forwarded-proto", "https")]).contains("; Secure"));
    assert!(!cookie_of(&trusted, &[("x-forwarded-proto", "http")]).contains("Secure"));
    assert!(!cookie_of(&trusted, &[("forwarded", "for=198.51.100.1;proto=https")]).contains("Secure"));
    let standard = Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1"), ("SERVER__FORWARDED_HEADER", "forwarded")]);
    assert!(cookie_of(&standard, &[("forwarded", "for=198.51.100.1;proto=https")]).contains("; Secure"));
    assert!(!cookie_of(&standard, &[("x-forwarded-proto", "https")]).contains("Secure"));
}

/// Status of such a write of `editor`.
fn write(server: &Server, origin: &str, headers: &[(&str, &str)]) -> u16 {
    write_from(server, server.user("editor").token(), origin, headers).status
}

#[test]
fn forwarded_host_headers_count_only_if_a_trusted_proxy_sends_them() {
    let stranger = Server::shared();
    for header in [("x-forwarded-host", "evil.example"), ("forwarded", "host=evil.example")] {
        assert_eq!(write(stranger, "https://evil.example", &[header]), 403, "{header:?}");
    }
    assert_eq!(write(stranger, &stranger.base, &[]), 200);
    let trusted = Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1")]);
    let host = [("x-forwarded-host", "news.example"), ("x-forwarded-proto", "https")];
    assert_eq!(write(&trusted, "https://news.example", &host), 200);
    assert_eq!(write(&trusted, "https://news.example:443", &host), 200);
    for origin in ["https://evil.example", "http://news.example", "https://news.example:8443"] {
        assert_eq!(write(&trusted, origin, &host), 403, "{origin}");
    }
    // A proxy that does not say how it was asked: the browser has compared, and says so.
    let host = ("x-forwarded-host", "news.example");
    assert_eq!(write(&trusted, "https://news.example", &[host]), 403);
    assert_eq!(write(&trusted, "https://news.example", &[host, ("sec-fetch-site", "same-origin")]), 200);
    assert_eq!(write(&trusted, &trusted.base, &[]), 200);
}

#[test]
fn an_address_that_a_stranger_claims_is_not_believed() {
    let server = Server::with(&[("AUTH__FAILURES_PER_ADDRESS", "2"), ("AUTH__FAILURE_WINDOW_SECONDS", "3600")]);
    for (address, status) in [("198.51.100.1", 401), ("198.51.100.2", 401), ("198.51.100.3", 429)] {
        assert_eq!(log_in_from(&server, address, "nobody", "x").status, status, "{address}");
    }
}

#[test]
fn a_client_can_not_swallow_with_a_quote_what_its_proxy_adds() {
    let server = Server::with(&[
        ("SERVER__TRUSTED_PROXIES", "127.0.0.1"),
        ("SERVER__FORWARDED_HEADER", "forwarded"),
        ("AUTH__FAILURES_PER_ADDRESS", "2"),
        ("AUTH__FAILURE_WINDOW_SECONDS", "3600"),
    ]);
    for (guess, status) in [401, 401, 429].into_iter().enumerate() {
        let value = format!("for=6.6.6.{guess};proto=https;host=evil;x=\", for=203.0.113.9");
        let answer = log_in_with(&server, &[("forwarded", &value)], &format!("nobody{guess}"), "x");
        assert_eq!(answer.status, status, "{guess}");
    }
    let made_up = ("forwarded", "for=6.6.6.6;proto=https;host=evil.example;x=\", for=203.0.113.7;proto=http");
    assert!(!cookie_of(&server, &[made_up]).contains("Secure"));
    let login = [("forwarded", "for=203.0.113.8")];
    assert!(!cookie_of(&server, &login).contains("Secure"));
    assert_eq!(write(&server, "https://evil.example", &[made_up]), 403);
}
