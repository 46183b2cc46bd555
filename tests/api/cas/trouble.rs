//! A CAS server that refuses, fails, lies, or is not there.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::server::{CasServer, Script, failure, success};
use super::{EDITOR, SERVICE, log_in, stet};
use crate::harness::*;

/// The CAS server could not be asked: it may be tried again.
fn unavailable(answer: Answer, what: &str) {
    assert!(answer.header("retry-after").is_some() && answer.header("set-cookie").is_none(), "{what}: {answer:?}");
    says(&answer.fails_on(what, 503, "Overloaded"), "CAS");
}

#[test]
fn cas_refusals_refuse_the_login_and_cas_failures_are_unavailability() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[]);
    for (number, (code, part)) in [
        ("INVALID_TICKET", "expired"),
        ("INVALID_TICKET_SPEC", "expired"),
        ("INVALID_SERVICE", "another service"),
        ("UNAUTHORIZED_SERVICE", "this service"),
        ("INVALID_REQUEST", "this service"),
        ("SOMETHING_NEW", "refuses"),
    ]
    .into_iter()
    .enumerate()
    {
        let ticket = format!("ST-secret-{number}");
        cas.issue(&ticket, failure(code, &format!("Ticket {ticket} &lt;b&gt; is not recognized")));
        let answer = log_in(&server, &ticket);
        assert!(answer.header("set-cookie").is_none(), "{answer:?}");
        let error = answer.fails_on(code, 401, "InvalidLogin");
        says(&error, part);
        assert!(!error.to_string().contains("ST-secret") && !error.to_string().contains("recognized"), "{error}");
    }
    cas.issue("ST-secret-internal", failure("INTERNAL_ERROR", "it is me"));
    unavailable(log_in(&server, "ST-secret-internal"), "INTERNAL_ERROR");
    log_in(&server, "ST-secret-unknown").fails(401, "InvalidLogin");
    server.terminate();
    assert!(!server.log().contains("ST-secret"), "{}", server.log());
}

#[test]
fn an_answer_that_is_none_is_no_refusal_and_lets_nobody_in() {
    let cas = CasServer::start();
    let mut server = stet(&cas, &[("ANSWER_BYTES", "4096")]);
    let good = EDITOR;
    let xml = |text: &str| Script::Answer("200 OK", text.to_owned());
    let answers = [
        ("empty", xml("")),
        ("text", xml("yes\neditor\n")),
        ("html", xml("<html><body>editor</body></html>")),
        ("cut off", xml("<cas:serviceResponse xmlns:cas='http://www.yale.edu/tp/cas'><cas:authenticationSuccess>")),
        ("no user", success("")),
        ("two users", success("<cas:user>editor</cas:user><cas:user>admin</cas:user>")),
        (
            "another namespace",
            xml(
                "<a:serviceResponse xmlns:a='urn:a'><a:authenticationSuccess><a:user>editor</a:user></a:authenticationSuccess></a:serviceResponse>",
            ),
        ),
        (
            "success and failure",
            xml(
                "<serviceResponse xmlns='http://www.yale.edu/tp/cas'><authenticationSuccess><user>editor</user></authenticationSuccess><authenticationFailure code='INVALID_TICKET'/></serviceResponse>",
            ),
        ),
        ("an error's page", Script::Answer("500 Internal Server Error", body_of(&success(good)))),
        ("nothing found", Script::Answer("404 Not Found", body_of(&success(good)))),
        ("no HTTP", Script::Raw(b"editor\r\n\r\n".to_vec())),
        ("closed", Script::Raw(Vec::new())),
        ("half", Script::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n<cas".to_vec())),
        ("no UTF-8", Script::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe".to_vec())),
        ("oversized", success(&format!("{good}{}", " ".repeat(4096)))),
        ("endless head", Script::Raw([b"HTTP/1.1 200 OK\r\n".to_vec(), b"x: y\r\n".repeat(100_000)].concat())),
        (
            "entity bomb",
            xml(&format!(
                "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]>{}",
                body_of(&success("<cas:user>&c;</cas:user>"))
            )),
        ),
        (
            "external entity",
            xml(&format!(
                "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/hostname'>]>{}",
                body_of(&success("<cas:user>&f;</cas:user>"))
            )),
        ),
        ("deep", success(&format!("{good}{}{}", "<a>".repeat(500), "</a>".repeat(500)))),
    ];
    for (number, (what, script)) in answers.into_iter().enumerate() {
        let ticket = format!("ST-secret-{number}");
        cas.issue(&ticket, script);
        unavailable(log_in(&server, &ticket), what);
    }
    // No other server is asked: it can't decide who a user is, nor where the ticket is sent.
    let other = CasServer::start();
    other.issue("ST-secret-moved", success(good));
    let location = format!("{}/p3/serviceValidate?service=x&ticket=ST-secret-moved", other.url());
    cas.issue(
        "ST-secret-moved",
        Script::Raw(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()),
    );
    unavailable(log_in(&server, "ST-secret-moved"), "moved");
    assert!(other.asked().is_empty());

    cas.issue("ST-secret-good", success(good));
    log_in(&server, "ST-secret-good").ok();
    cas.stop();
    unavailable(log_in(&server, "ST-secret-late"), "down");
    server.user("editor").lives();
    server.terminate();
    let log = server.log();
    assert!(!log.contains("ST-secret"), "{log}");
    // Each fails for a reason of its own, which is logged for the operator.
    for reason in [
        "NotOneRoot",
        "TagMismatch",
        "the root is no `serviceResponse`",
        "not one `user`",
        "not one success or one failure",
        "the status 500",
        "the status 404",
        "the status 302",
        "not as HTTP has it",
        "not in UTF-8",
        "more than 4096 bytes",
        "UnknownEntity",
        "TooDeep",
        "connection refused",
    ] {
        assert!(log.contains(reason), "`{reason}` is missing in:\n{log}");
    }
}

fn body_of(script: &Script) -> String {
    match script {
        Script::Answer(_, body) => body.clone(),
        _ => String::new(),
    }
}

#[test]
fn a_cas_server_is_believed_only_if_its_certificate_is_good() {
    let (cas, certificate) = CasServer::start_with_tls();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let trusted = directory.path().join("trusted.pem");
    std::fs::write(&trusted, certificate).expect("it was just made");
    let trusted = trusted.to_str().expect("its name is a text");
    let with = |host: &str, more: &[(&str, &str)]| {
        let url = cas.safe_url(host);
        let fixed = [("AUTH__CAS__SERVER_URL", url.as_str()), ("AUTH__CAS__SERVICE_URL", SERVICE)];
        Server::with(&[&fixed, more].concat())
    };
    for (number, (host, more)) in
        [("localhost", [].as_slice()), ("127.0.0.1", &[("SSL_CERT_FILE", trusted)])].into_iter().enumerate()
    {
        let ticket = format!("ST-{number}");
        cas.issue(&ticket, success(EDITOR));
        let server = with(host, more);
        unavailable(log_in(&server, &ticket), host);
        wait_until("it is in the log", || server.log().contains("no safe connection could be made"));
    }
    assert!(cas.asked().is_empty(), "no ticket goes to a server that is not the one");
    assert_eq!(log_in(&with("localhost", &[("SSL_CERT_FILE", trusted)]), "ST-0").ok()["username"], "editor");
}

#[test]
fn a_slow_cas_server_is_not_waited_for() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("TOTAL_SECONDS", "1"), ("CONNECT_SECONDS", "1")]);
    cas.issue("ST-slow", Script::Hold);
    unavailable(log_in(&server, "ST-slow"), "slow");
    // One that says something now and then is no faster.
    cas.issue("ST-dripping", Script::Drip);
    unavailable(log_in(&server, "ST-dripping"), "dripping");
}

#[test]
fn so_many_tickets_are_validated_at_a_time_and_the_rest_may_try_again() {
    let cas = CasServer::start();
    let server = stet(&cas, &[("AT_ONCE", "1"), ("TOTAL_SECONDS", "60")]);
    cas.issue("ST-first", Script::Hold);
    cas.issue("ST-second", success(EDITOR));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| log_in(&server, "ST-first"));
        wait_until("the first ticket is asked about", || cas.asked().len() == 1);
        let refused = log_in(&server, "ST-second");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        says(&refused.fails(503, "Overloaded"), "Too many");
        assert_eq!(cas.asked().len(), 1);
        cas.let_go();
        unavailable(first.join().expect("it got an answer"), "let go");
    });
    log_in(&server, "ST-second").ok();
}

#[test]
fn callers_waiting_for_a_slow_cas_server_block_no_login_and_no_upload() {
    const HELD: usize = 256;
    let cas = CasServer::start();
    let url = cas.url();
    let server = Server::with(&[
        ("AUTH__CAS__SERVER_URL", &url),
        ("AUTH__CAS__SERVICE_URL", SERVICE),
        ("AUTH__CAS__AT_ONCE", "256"),
        ("AUTH__CAS__TOTAL_SECONDS", "300"),
        ("SERVER__WORKERS", "1"),
    ]);
    let waiting: Vec<TcpStream> = (0..HELD)
        .map(|number| {
            cas.issue(&format!("ST-{number}"), Script::Hold);
            let mut stream =
                TcpStream::connect(server.base.trim_start_matches("http://")).expect("it takes connections");
            let target = format!("/v3/auth/login?connectionId=Editorial&applicationId=desk&ticket=ST-{number}");
            write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").expect("it can be sent");
            stream
        })
        .collect();
    wait_until("all are asked about", || cas.asked().len() == HELD);
    let client = server.login("editor");
    let options = json!({ "name": "large", "type": "Story", "folderPath": own_folder() });
    client.upload("/v3/object/create", &options, Some(("large", "text/plain", &vec![b'x'; 300_000]))).ok();
    for stream in &waiting {
        stream.set_nonblocking(true).expect("it can be set");
        let came = (&*stream).read(&mut [0]);
        assert!(came.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "one is not held any more");
    }
    cas.let_go();
}

#[test]
fn tickets_that_are_made_up_are_failures_of_the_address_they_come_from() {
    let cas = CasServer::start();
    let url = cas.url();
    let server = Server::with(&[
        ("AUTH__CAS__SERVER_URL", &url),
        ("AUTH__CAS__SERVICE_URL", SERVICE),
        ("AUTH__FAILURES_PER_ADDRESS", "3"),
        ("AUTH__FAILURE_WINDOW_SECONDS", "86400"),
        ("SERVER__TRUSTED_PROXIES", "127.0.0.0/8"),
    ]);
    let from = |address: &str, ticket: &str| {
        let target = format!("/v3/auth/login?connectionId=Editorial&applicationId=desk&ticket={ticket}");
        server.client().send("GET", &target, &[("x-forwarded-for", address)], b"")
    };
    for number in 0..3 {
        cas.issue(&format!("ST-good-{number}"), success(EDITOR));
        from("192.0.2.1", &format!("ST-good-{number}")).ok();
        // Malformed tickets, and failures of the CAS server, do not count as failed attempts.
        from("192.0.2.1", "").fails(400, "InvalidParameter");
        cas.issue(&format!("ST-broken-{number}"), failure("INTERNAL_ERROR", ""));
        from("192.0.2.1", &format!("ST-broken-{number}")).fails(503, "Overloaded");
        from("192.0.2.1", &format!("ST-bad-{number}")).fails(401, "InvalidLogin");
    }
    let asked = cas.asked().len();
    cas.issue("ST-good", success(EDITOR));
    assert!(from("192.0.2.1", "ST-good").fails(429, "TooManyRequests")["details"]["retryAfter"].is_u64());
    assert_eq!(cas.asked().len(), asked, "the CAS server is not bothered, and the ticket is good still");
    from("192.0.2.2", "ST-good").ok();
}
