//! Requests and headers that must pass unchanged, and those that must not pass.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use serde_json::json;

use super::*;

/// An address of this machine that is neither the proxy's nor the server's.
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// Starts a server that trusts the proxy.
pub(super) fn trusting() -> Server {
    Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1")])
}

/// Sends bytes over a connection, and reads what comes until it is closed.
fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> String {
    stream.write_all(request).and_then(|()| stream.flush()).expect("it can be sent");
    let mut answer = Vec::new();
    // Some close without saying so.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The value of a header in the text of an answer.
fn header_of<'t>(answer: &'t str, name: &str) -> Option<&'t str> {
    let mut headers = answer.lines().filter_map(|line| line.split_once(": "));
    headers.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
}

#[test]
fn paths_come_through_as_they_were_sent() {
    let server = trusting();
    let direct = server.login("editor");
    let folder = own_folder();
    for name in ["100% a+b; c=d &e.xml", "a%2Fb.xml", "ä ö.xml", "//.xml"] {
        direct.story(&folder, &name.replace('/', "-"));
    }
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let mut client = proxy.client();
        client.token = direct.token.clone();
        let mut good = 0;
        for path in [
            "/v3/folder/%2FNews%2FCity",
            "/v3/folder/%2fNews%2fCity?sortBy=-modified&limit=3",
            "/v3/folder/%2FNews%2F..%2FNews",
            "/v3/folder/%2FNews%2FCity%2F",
            "/v3/folder//News/City",
            "/v3//folder/root",
            "/v3/./folder/root",
            "/v3/folder/x/../root",
            "/v3/f%6Flder/root",
            &format!("/v3/object/{}", encoded(&format!("{folder}/100% a+b; c=d &e.xml"))),
            &format!("/v3/object/{}", encoded(&format!("{folder}/a%2Fb.xml"))),
            &format!("/v3/object/{}", encoded(&format!("{folder}/ä ö.xml"))),
            &format!("/v3/folder/{}?limit=1000", encoded(&folder)),
            // As long as may be.
            &format!("/v3/folder/root?x={}", "%2F".repeat(5_300)),
            &format!("/v3/folder/root?x={}", "x".repeat(17_000)),
        ] {
            let (expected, got) = (direct.get(path), client.get(path));
            // A proxy may refuse malformed requests, but must not find another object.
            let refused = got.status == 400 && expected.status >= 400;
            assert!(refused || got.status == expected.status, "{kind:?} {path}: {} {}", got.status, expected.status);
            if expected.status == 200 {
                assert_eq!(got.json(), expected.json(), "{kind:?} {path}");
                assert_eq!(got.header("etag"), expected.header("etag"), "{kind:?} {path}");
                good += 1;
            }
        }
        assert!(good >= 7, "{kind:?}: {good} paths name something");
    }
}

#[test]
fn tags_stay_strong_for_clients_that_take_compressed_replies() {
    let server = trusting();
    let folder = own_folder();
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let client = proxy.login("editor");
        let drawer = client.drawer(&folder, &format!("{kind:?}"), 100);
        let read = client.call("drawer-get", &[&drawer]).header("accept-encoding", "gzip, br").send();
        assert_eq!(
            (read.status, read.header("content-encoding")),
            (200, None),
            "{kind:?}: it is too small for the server"
        );
        let tag = read.header("etag").expect("a drawer has a tag");
        assert!(tag.starts_with('"'), "{kind:?}: {tag}");
        let put = client.call("drawer-put", &[&drawer]).json(&json!({ "title": "changed" })).header("if-match", tag);
        put.ok();
    }
}

#[test]
fn an_event_arrives_while_the_stream_is_open() {
    let server = trusting();
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let client = proxy.login("editor");
        let drawer = client.drawer("/Test", &format!("{kind:?}"), 100);
        let path = format!("/v3/container/{}/events", encoded(&drawer));
        let follow = client.follow_over(proxy.connect(CLIENT), &proxy.host(), &path, None);
        let mut follow = follow.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(follow.must().event, "hello", "{kind:?}");
        // Each is read before the next is caused: nothing gathers on the way.
        for number in 0..5 {
            let story = client.story("/Test", &format!("{kind:?}-{number}.xml"));
            client.call("drawer-item-post", &[&drawer, &story]).ok();
            let event = follow.must();
            assert_eq!(event.event, "drawer.item.add", "{kind:?}");
            assert!(event.data["ids"].to_string().contains(&story), "{kind:?}: {}", event.data);
        }
    }
}

#[test]
fn a_large_upload_goes_on_as_it_comes_and_the_content_comes_back_whole() {
    let server = trusting();
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|at| (at ^ (at >> 9)) as u8).collect();
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let client = proxy.login("editor");
        let options = json!({ "name": format!("{kind:?}.jpg"), "type": "Image", "folderPath": "/Test" });
        let before = format!(
            "--b\r\ncontent-disposition: form-data; name=\"options\"\r\ncontent-type: application/json\r\n\r\n{options}\r\n--b\r\n\
             content-disposition: form-data; name=\"content\"; filename=\"f\"\r\ncontent-type: image/jpeg\r\n\r\n"
        );
        let after = b"\r\n--b--\r\n";
        let head = format!(
            "POST /v3/object/create?token={} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\r\n{before}",
            client.token(),
            proxy.host(),
            before.len() + bytes.len() + after.len()
        );
        let mut stream = proxy.connect(CLIENT);
        stream.write_all(head.as_bytes()).expect("the head can be sent");
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        stream.write_all(first).and_then(|()| stream.flush()).expect("half of it can be sent");
        let arrived = || {
            let files = std::fs::read_dir(server.data().join("content/tmp")).expect("uploads have a folder");
            files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum::<u64>()
        };
        wait_until("the server writes what has come, while the rest is still to come", || {
            arrived() > (first.len() / 2) as u64
        });
        let answer = exchange(&mut stream, &[rest, after].concat());
        assert!(answer.starts_with("HTTP/1.1 200"), "{kind:?}: {answer}");
        let content = client.get(&format!("/v3/object/%2FTest%2F{kind:?}.jpg/content"));
        assert_eq!(content.status, 200, "{kind:?}");
        assert!(content.body == bytes, "{kind:?}: {} bytes came back", content.body.len());
    }
}

#[test]
fn a_body_beyond_the_limit_is_refused_in_the_words_of_the_server() {
    let server = Server::with(&[("LIMITS__UPLOAD_BYTES", "1048576")]);
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let client = proxy.login("editor");
        let options = json!({ "name": "large.jpg", "type": "Image", "folderPath": "/Test" });
        let content = vec![0; 3 << 20];
        client.upload("/v3/object/create", &options, Some(("f", "image/jpeg", &content))).fails_on(
            &format!("{kind:?}"),
            413,
            "TooLarge",
        );
    }
}

/// A POST with lies of all kinds about where it comes from, over a connection that is closed behind
/// it.
fn lying(proxy: &Proxy, path: &str, headers: &str, body: &serde_json::Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         x-forwarded-for: 203.0.113.7\r\nX-Forwarded-For: 203.0.113.8, 127.0.0.1\r\nx-forwarded-proto: http\r\n\
         x-forwarded-host: evil.example\r\nx-real-ip: 203.0.113.7\r\nforwarded: for=203.0.113.7;proto=http;host=evil.example\r\n\
         {headers}\r\n{body}",
        proxy.host(),
        body.len()
    )
}

#[test]
fn the_client_is_known_by_what_the_proxy_has_seen_and_not_by_what_it_says() {
    for header in ["x-forwarded", "forwarded"] {
        let settings = [("SERVER__TRUSTED_PROXIES", "127.0.0.1"), ("SERVER__FORWARDED_HEADER", header)];
        let server = Server::with(&settings);
        for kind in Kind::ALL {
            let proxy = kind.before(&server, &[]);
            let post = |path: &str, headers: &str, body: &serde_json::Value| {
                exchange(&mut proxy.connect(CLIENT), lying(&proxy, path, headers, body).as_bytes())
            };
            let answer = post("/v3/auth/login", "", &credentials("editor", SAMPLE_PASSWORD));
            assert!(answer.starts_with("HTTP/1.1 200"), "{kind:?}: {answer}");
            let cookie = header_of(&answer, "set-cookie").expect("a login sets a cookie");
            let token = cookie.split(';').next().expect("a cookie has a value").to_owned();
            let folder = format!("/Test/{kind:?}");
            let create = |name: &str, origin: &str| {
                let headers = format!("cookie: {token}\r\norigin: {origin}\r\n");
                post("/v3/container/drawer", &headers, &json!({ "folderPath": folder, "name": name }))
            };
            let entries = || {
                let found = server.login("admin").get("/v3/audit?user=editor&limit=1").ok();
                found["items"][0]["address"].clone()
            };
            if header == "x-forwarded" {
                assert!(cookie.contains("; Secure"), "{kind:?}: {cookie}");
                // A page of this site may write by cookie, as the browser names it; another may
                // not.
                let own = format!("https://{}", proxy.host());
                assert!(create("own", &own).starts_with("HTTP/1.1 200"), "{kind:?}: {}", create("own", &own));
                assert_eq!(entries(), CLIENT.to_string(), "{kind:?}");
                for foreign in ["https://evil.example", "http://evil.example", &own.replace("https", "http")] {
                    let answer = create("foreign", foreign);
                    assert!(answer.starts_with("HTTP/1.1 403"), "{kind:?} {foreign}: {answer}");
                }
            } else {
                // The examples write the other kind. What a client says in this one does not come
                // through.
                assert!(!cookie.contains("; Secure"), "{kind:?}: {cookie}");
                let own = format!("http://{}", proxy.host());
                assert!(create("own", &own).starts_with("HTTP/1.1 200"), "{kind:?}: {}", create("own", &own));
                assert_eq!(entries(), "127.0.0.1", "{kind:?}");
            }
        }
    }
}

/// Returns the number of present and recently closed connections to a server, as the kernel lists
/// them. Which side closed first does not matter.
fn connections_to(server: &Server) -> usize {
    let port = server.base.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).expect("it has a port");
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel lists connections");
    let here = format!("0100007F:{port:04X}");
    let ends = table.lines().filter_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        Some((columns.next()?, columns.next()?))
    });
    let nobody = "00000000:0000";
    let others = ends.filter_map(|(local, remote)| match () {
        () if remote == here => Some(local),
        () if local == here && remote != nobody => Some(remote),
        () => None,
    });
    others.collect::<BTreeSet<_>>().len()
}

#[test]
fn connections_to_the_server_are_used_again() {
    for kind in Kind::ALL {
        let server = trusting();
        let proxy = kind.before(&server, &[]);
        let client = proxy.login("editor");
        for _ in 0..60 {
            client.get("/v3/folder/home").ok();
            // And for clients who come one after the other.
            client.afresh().get("/healthz");
        }
        let connections = connections_to(&server);
        // Some proxies take one only for a client that they have known for a request.
        assert!(connections < 70, "{kind:?} has made {connections} connections for 120 requests");
    }
}

#[test]
fn requests_that_do_not_wait_for_replies_get_each_its_own() {
    let server = trusting();
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let mut requests = String::new();
        for number in 0..12 {
            let (method, last) = (if number % 3 == 1 { "HEAD" } else { "GET" }, number == 11);
            let close = if last { "connection: close\r\n" } else { "" };
            requests += &format!("{method} /healthz?n={number} HTTP/1.1\r\nhost: {}\r\n{close}\r\n", proxy.host());
        }
        let answers = exchange(&mut proxy.connect(CLIENT), requests.as_bytes());
        let whole = r#"{"status":"ok"}"#;
        let replies: Vec<_> = answers.split("HTTP/1.1 200").skip(1).collect();
        assert_eq!(replies.len(), 12, "{kind:?}: {answers}");
        for (number, reply) in replies.iter().enumerate() {
            let (_, body) = reply.split_once("\r\n\r\n").expect("a head ends");
            assert_eq!(body, if number % 3 == 1 { "" } else { whole }, "{kind:?} {number}: {answers}");
        }
    }
}

#[test]
fn strangers_do_not_get_the_metrics() {
    let server = trusting();
    assert_eq!(server.client().get("/metrics").status, 200);
    for kind in Kind::ALL {
        let proxy = kind.before(&server, &[]);
        let client = proxy.client();
        for path in ["/metrics", "/metrics?x", "/%6Detrics", "//metrics", "/x/../metrics", "/./metrics", "/metrics/"] {
            let answer = client.get(path);
            assert!(matches!(answer.status, 400 | 404), "{kind:?} {path}: {}", answer.status);
        }
        assert_eq!(client.get("/readyz").status, 200, "{kind:?}");
    }
}

#[test]
fn requests_without_tls_are_redirected_to_it() {
    let server = trusting();
    for kind in [Kind::Nginx, Kind::Haproxy] {
        let proxy = kind.before(&server, &[]);
        let mut plain = TcpStream::connect(proxy.plain).expect("it listens");
        plain.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        let request = "GET /v3/folder/%2FNews HTTP/1.1\r\nhost: news.example.org\r\nconnection: close\r\n\r\n";
        let answer = exchange(&mut plain, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 308"), "{kind:?}: {answer}");
        assert_eq!(
            header_of(&answer, "location"),
            Some("https://news.example.org/v3/folder/%2FNews"),
            "{kind:?}: {answer}"
        );
    }
}

#[test]
fn one_address_has_so_many_connections_and_no_more() {
    let server = trusting();
    for (kind, limit) in [
        (Kind::Nginx, ("limit_conn stet 1000;", "limit_conn stet 8;")),
        (Kind::Haproxy, ("sc0_conn_cur gt 1000", "sc0_conn_cur gt 8")),
    ] {
        let proxy = kind.before(&server, &[limit]);
        let client = server.login("editor");
        let drawer = client.drawer("/Test", &format!("{kind:?}"), 100);
        let path = format!("/v3/container/{}/events", encoded(&drawer));
        let follow = || client.follow_over(proxy.connect(CLIENT), &proxy.host(), &path, None);
        let followers: Vec<_> = (0..8).map(|_| follow()).collect();
        assert!(followers.iter().all(Result::is_ok), "{kind:?}");
        let refused = follow().err().unwrap_or_else(|| panic!("{kind:?} takes a ninth"));
        // Before the handshake, or in words.
        assert!(refused.contains("http/1.1 429") || !refused.contains("http/1.1"), "{kind:?}: {refused}");
        // Others come through, and the same again when there is room.
        assert_eq!(proxy.client().get("/healthz").status, 200, "{kind:?}");
        drop(followers);
        wait_patiently_until("there is room again", || follow().is_ok());
    }
}
