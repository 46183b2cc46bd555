//! Encrypted connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use super::*;

/// The end of certificates by default: the first second of the year 4096.
pub const FAR: u64 = 67_090_118_400;

/// Certificate and key as files.
pub struct Files {
    directory: TempDir,
}

impl Files {
    /// Files of a new certificate, and the certificate.
    pub fn made() -> (Files, String) {
        let files = Files { directory: TempDir::new().expect("a temporary directory can be made") };
        let certificate = files.replace();
        (files, certificate)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts another certificate there, and returns it.
    pub fn replace(&self) -> String {
        self.replace_until(FAR)
    }

    /// Puts another certificate there, which ends at that time in epoch seconds, and returns it.
    pub fn replace_until(&self, end_s: u64) -> String {
        let mut wanted = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name is one");
        wanted.not_after = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(end_s);
        let key = rcgen::KeyPair::generate().expect("a key can be made");
        let made = wanted.self_signed(&key).expect("one can be made").pem();
        self.write(&made, &key.serialize_pem());
        made
    }

    pub fn write(&self, certificate: &str, key: &str) {
        std::fs::write(self.path("certificate.pem"), certificate).expect("it can be written");
        std::fs::write(self.path("key.pem"), key).expect("it can be written");
    }

    pub fn serve(&self, more: &[(&str, &str)]) -> Server {
        let (certificate, key) = (self.path("certificate.pem"), self.path("key.pem"));
        let text = |path: &PathBuf| path.to_str().expect("the path is a text").to_owned();
        let (certificate, key) = (text(&certificate), text(&key));
        let own = [("SERVER__TLS__CERTIFICATE", certificate.as_str()), ("SERVER__TLS__KEY", key.as_str())];
        Server::with(&[&own, more].concat())
    }
}

fn socket(server: &Server) -> TcpStream {
    let address = server.base.strip_prefix("https://").expect("it tells that it speaks TLS");
    let socket = TcpStream::connect(address).expect("the server takes connections");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    socket
}

/// A hang-up: look for new files.
pub fn hang_up(server: &Server) {
    let sent = Command::new("kill").args(["-HUP", &server.pid().to_string()]).status();
    assert!(sent.expect("`kill` can be run").success());
}

/// Asks a server, which must show this certificate.
pub fn ask(server: &Server, certificate: &str, request: &str) -> Result<String, std::io::Error> {
    asked_as(server, certificate, request, &[]).map(|(answer, _)| answer)
}

/// Asks a server as a client that offers these protocols (ALPN). Returns the answer, and the
/// protocol that the server has chosen.
fn asked_as(
    server: &Server,
    certificate: &str,
    request: &str,
    protocols: &[&[u8]],
) -> Result<(String, Option<Vec<u8>>), std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).expect("it is PEM")).expect("it is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let name = "localhost".try_into().expect("it is a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client can be made of this");
    let mut stream = StreamOwned::new(client, socket(server));
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let chosen = stream.conn.alpn_protocol().map(<[u8]>::to_vec);
    Ok((String::from_utf8_lossy(&answer).into_owned(), chosen))
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

pub fn is_served(server: &Server, certificate: &str) -> bool {
    ask(server, certificate, HEALTH).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn login() -> String {
    let body = credentials("editor", SAMPLE_PASSWORD).to_string();
    format!(
        "POST /v3/auth/login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn with_a_certificate_it_speaks_tls_and_its_cookies_are_secure() {
    let (files, certificate) = Files::made();
    let server = files.serve(&[]);
    let answer = ask(&server, &certificate, &login()).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie:")).expect("a login sets a cookie");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    assert!(!answer.contains("strict-transport-security"), "{answer}");
    assert!(!is_served(&server, &rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap().cert.pem()));
}

#[test]
fn browsers_are_told_to_come_by_tls_only_when_that_is_configured() {
    let (files, certificate) = Files::made();
    let server = files.serve(&[("SERVER__TLS__STRICT_TRANSPORT_SECONDS", "3600")]);
    for request in [HEALTH.to_owned(), login(), HEALTH.replace("healthz", "nowhere")] {
        let answer = ask(&server, &certificate, &request).expect("it answers");
        assert!(answer.contains("\r\nstrict-transport-security: max-age=3600\r\n"), "{answer}");
    }
}

#[test]
fn connections_without_a_tls_handshake_are_cut_off() {
    let (files, certificate) = Files::made();
    let server = files.serve(&[("SERVER__TLS__HANDSHAKE_SECONDS", "1")]);
    let mut plain = socket(&server);
    plain.write_all(HEALTH.as_bytes()).expect("it can be sent");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    // The head of a handshake, and nothing behind it.
    let mut silent = socket(&server);
    silent.write_all(b"\x16\x03\x01\x02\x00").expect("it can be sent");
    let end = silent.read_to_end(&mut Vec::new());
    assert!(!end.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "it was not cut off");
    assert!(is_served(&server, &certificate));
}

#[test]
fn handshakes_that_do_not_end_keep_nobody_out() {
    let (files, certificate) = Files::made();
    let server = files.serve(&[("SERVER__TLS__HANDSHAKE_SECONDS", "3600"), ("SERVER__WORKERS", "1")]);
    let begun: Vec<TcpStream> = (0..600)
        .map(|number| {
            let mut silent = socket(&server);
            if number % 2 == 0 {
                silent.write_all(b"\x16\x03\x01\x02\x00").expect("it can be sent");
            }
            silent
        })
        .collect();
    assert!(is_served(&server, &certificate));
    drop(begun);
}

#[test]
fn it_speaks_http_1_1_and_not_http_2() {
    let (files, certificate) = Files::made();
    let server = files.serve(&[]);
    let both: [&[u8]; 2] = [b"h2", b"http/1.1"];
    let (answer, chosen) = asked_as(&server, &certificate, HEALTH, &both).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(chosen.as_deref(), Some(&b"http/1.1"[..]));
    asked_as(&server, &certificate, HEALTH, &both[..1]).expect_err("who speaks nothing else is told so");
    // Who begins without asking is not understood.
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let answer = asked_as(&server, &certificate, preface, &[]);
    assert!(answer.as_ref().map_or(true, |(answer, _)| answer.starts_with("HTTP/1.1 400")), "{answer:?}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn sighup_loads_a_new_certificate_and_keeps_the_old_one_on_faults() {
    let (files, first) = Files::made();
    let server = files.serve(&[("SERVER__TLS__RELOAD_SECONDS", "86400")]);
    assert!(is_served(&server, &first));
    let hang_up = || hang_up(&server);
    let key = std::fs::read_to_string(files.path("key.pem")).expect("it was just written");
    files.write("no certificate", &key);
    hang_up();
    wait_until("the fault is told", || server.log().contains("cannot renew"));
    wait_until("it is in the log", || server.log().contains("certificate.pem has no certificate"));
    assert!(is_served(&server, &first));
    let second = files.replace();
    hang_up();
    wait_until("the second is served", || is_served(&server, &second));
    assert!(!is_served(&server, &first));
}

#[test]
fn a_new_certificate_is_found_without_being_asked_for() {
    let (files, _) = Files::made();
    let server = files.serve(&[("SERVER__TLS__RELOAD_SECONDS", "1")]);
    let second = files.replace();
    wait_until("the second is served", || is_served(&server, &second));
}

#[test]
fn a_certificate_that_can_not_be_used_is_a_fault_of_the_configuration() {
    let (files, certificate) = Files::made();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("one can be made");
    files.write(&certificate, &other.signing_key.serialize_pem());
    let data = files.path("data");
    let output = Command::new(env!("CARGO_BIN_EXE_stet"))
        .current_dir(files.directory.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .env("STET_SERVER__TLS__CERTIFICATE", "certificate.pem")
        .env("STET_SERVER__TLS__KEY", "key.pem")
        .output()
        .expect("the binary can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("certificate.pem and key.pem can't be used"), "{errors}");
    assert!(!data.exists(), "something was made");
}
