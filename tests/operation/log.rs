//! The log's statements about requests and users.

use std::io::Write;
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use super::*;

/// A server that writes its log as JSON.
fn logging(filter: &str) -> Server {
    Server::with(&[("LOG__FORMAT", "json"), ("LOG__FILTER", filter), ("SERVER__TRUSTED_PROXIES", "127.0.0.1")])
}

/// The first line with that message.
fn line(server: &Server, message: &str) -> Value {
    let found = || {
        let log = server.log();
        // The last line may be under way.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).find(|line: &Value| line["message"] == message)
    };
    wait_until(message, || found().is_some());
    found().expect("it was there")
}

#[test]
fn the_start_says_which_stet_with_which_configuration_on_which_directory() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let (file, log) = (home.path().join("stet.toml"), home.path().join("log"));
    let data = used_directory();
    let said = |command: Command| {
        assert_eq!(Serving::logging(command, std::fs::File::create(&log).expect("a log can be made")).end().0, Some(0));
        let lines = std::fs::read_to_string(&log).expect("it has logged");
        lines.lines().next().filter(|first| first.contains("stet starts")).expect(&lines).to_owned()
    };
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let plain = said(stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]));
    for word in [&version, "configuration=\"none\"", path(data.path()), "data_set_by=\"--data\""] {
        assert!(plain.contains(word), "{word} is missing in {plain}");
    }
    std::fs::write(&file, format!("[data]\ndirectory = {:?}\n", path(data.path()))).expect("it can be written");
    let filed = said(stet(&["--config", path(&file), "--listen", "127.0.0.1:0"]));
    for word in
        [&format!("configuration={:?}", path(&file)), path(data.path()), &format!("data_set_by={:?}", path(&file))]
    {
        assert!(filed.contains(word), "{word} is missing in {filed}");
    }
}

/// Regression test: a new operator who listened at all addresses got no warning that passwords were
/// sent unencrypted.
#[test]
fn a_server_that_others_reach_without_tls_warns_once() {
    let home = TempDir::new().expect("a temporary directory can be made");
    let (data, at) = (used_directory(), |name: &str| home.path().join(name));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("one can be made");
    std::fs::write(at("cert.pem"), made.cert.pem()).expect("it can be written");
    std::fs::write(at("key.pem"), made.signing_key.serialize_pem()).expect("it can be written");
    let warnings = |listen: &str, tls: bool| {
        let mut command = stet(&["--data", path(data.path()), "--listen", listen]);
        if tls {
            command.env("STET_SERVER__TLS__CERTIFICATE", at("cert.pem"));
            command.env("STET_SERVER__TLS__KEY", at("key.pem"));
        }
        let log = std::fs::File::create(at("log")).expect("a log can be made");
        assert_eq!(Serving::logging(command, log).end().0, Some(0));
        let lines = std::fs::read_to_string(at("log")).expect("it has logged");
        let warnings: Vec<_> = lines.lines().filter(|line| line.contains("WARN")).collect();
        assert!(warnings.iter().all(|line| line.contains("unencrypted")), "{warnings:#?}");
        lines.matches("cross the network unencrypted").count()
    };
    assert_eq!(warnings("0.0.0.0:0", false), 1);
    assert_eq!(warnings("127.0.0.1:0", false), 0);
    assert_eq!(warnings("0.0.0.0:0", true), 0);
}

/// Regression test: the log of every start on an ordinary machine had two warnings.
#[test]
fn few_open_files_are_one_line_of_information() {
    let (home, data) = (TempDir::new().expect("a temporary directory can be made"), used_directory());
    let log = home.path().join("log");
    let file = std::fs::File::create(&log).expect("a log can be made");
    let inner = stet(&["--data", path(data.path()), "--listen", "127.0.0.1:0"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 2048 && exec \"$0\" \"$@\""]);
    let mut command = started_by(shell, &inner);
    command.current_dir("/");
    assert_eq!(Serving::logging(command, file).end().0, Some(0));
    let lines = std::fs::read_to_string(&log).expect("it has logged");
    let told: Vec<_> = lines.lines().filter(|line| line.contains("open files")).collect();
    assert!(told.len() == 1 && told[0].contains("INFO"), "{lines}");
    let warnings: Vec<_> = lines.lines().filter(|line| line.contains("WARN")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[test]
fn failed_logins_log_one_line_with_user_client_and_request() {
    let server = logging("info");
    let login = |user: &str, client: &str| {
        let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": user, "password": "wrong" });
        let headers = [("content-type", "application/json"), ("x-forwarded-for", client)];
        let reply = server.client().send("POST", "/v3/auth/login", &headers, body.to_string().as_bytes());
        assert_eq!(reply.status, 401);
        reply.header("x-request-id").expect("each reply has one").to_owned()
    };
    let id = login("editor", "192.0.2.7");
    let refused = line(&server, "login refused");
    assert_eq!(
        (refused["user"].as_str(), refused["client"].as_str(), refused["request"].as_str()),
        (Some("editor"), Some("192.0.2.7"), Some(id.as_str()))
    );
    // An unknown user name may be a password.
    login("correct horse", "2001:db8::1");
    wait_until("it is logged", || server.log().contains("\"client\":\"2001:db8::1\""));
    assert!(!server.log().contains("horse"));
}

#[test]
fn a_head_that_cannot_be_read_is_no_error_and_has_its_client() {
    let server = logging("info,stet::server::front=debug");
    let mut stream =
        TcpStream::connect(server.base.strip_prefix("http://").expect("it has no TLS")).expect("it listens");
    stream.write_all(b"GET \0 HTTP/9\r\n\r\n").expect("it can be sent");
    stream.shutdown(Shutdown::Write).expect("it can be shut");
    let _ = stream.read_to_end(&mut Vec::new());
    let told = line(&server, "the head of a request can't be read");
    assert_eq!((told["level"].as_str(), told["client"].as_str()), (Some("DEBUG"), Some("127.0.0.1")));
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

#[test]
fn numbers_are_numbers_in_a_log_of_json() {
    let server = logging("info");
    let opened = line(&server, "the store is open");
    assert!(opened["took_ms"].is_u64() && opened["committed"].is_u64(), "{opened}");
}

#[test]
fn a_login_that_fails_is_a_line_that_fail2ban_understands() {
    let server = Server::with(&[("SERVER__TRUSTED_PROXIES", "127.0.0.1")]);
    let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": "nobody", "password": "wrong" });
    let headers = [("content-type", "application/json"), ("x-forwarded-for", "198.51.100.23")];
    let attempts: Vec<u16> = (0..60)
        .map(|_| server.client().send("POST", "/v3/auth/login", &headers, body.to_string().as_bytes()).status)
        .collect();
    assert!(attempts.contains(&401) && attempts.contains(&429), "{attempts:?}");
    // docs/OPERATION.md, "Logs".
    let matches = |line: &str| {
        let (before, after) = line.split_once(": login refused").unwrap_or_default();
        let module = before.split_once(" WARN stet_auth::").map(|(_, module)| module).unwrap_or_default();
        !module.is_empty() && !module.contains(char::is_whitespace) && after.ends_with(" client=198.51.100.23")
    };
    wait_until("all are logged", || server.log().lines().filter(|line| matches(line)).count() == attempts.len());
}
