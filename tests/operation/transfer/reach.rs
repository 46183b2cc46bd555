//! Servers that do not answer, or are not to be trusted.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use super::*;

/// The two commands, each against a server at that address.
fn commands(url: &str, directory: &Path, more: &[&str]) -> [Command; 2] {
    ["import", "export"].map(|what| {
        let mut command = stet(&[&[what, path(directory), "--url", url], more].concat());
        command.env("STET_PASSWORD", ADMIN_PASSWORD);
        command
    })
}

/// Regression test: nothing was printed for half a minute.
#[test]
fn a_server_that_does_not_answer_is_told_at_once() {
    let files = tempfile::tempdir().expect("a directory can be made");
    // Nothing listens there by then.
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("there is a free port");
    for mut command in commands(&format!("http://{free}"), files.path(), &[]) {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary can be started");
        let mut line = String::new();
        let err = child.stderr.take().expect("it is piped");
        BufReader::new(err).read_line(&mut line).expect("it can be read");
        assert!(line.starts_with(&format!("no answer from http://{free}: ")), "{line}");
        assert!(
            line.contains("refused") && line.contains("Trying again, up to 5 times within about 30 seconds"),
            "{line}"
        );
        assert!(matches!(child.try_wait(), Ok(None)), "before the attempts end");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    // With a key there is no login that would fail first.
    put(files.path(), "key", "a token");
    let key = files.path().join("key");
    let url = format!("https://{free}");
    let mut command = stet(&["import", path(files.path()), "--url", &url, "--key-file", path(&key)]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary can be started");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("it is piped")).read_line(&mut line).expect("it can be read");
    assert!(line.starts_with(&format!("no answer from {url}: ")), "{line}");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

#[test]
fn a_certificate_that_is_not_trusted_fails_at_once() {
    let files = tempfile::tempdir().expect("a directory can be made");
    let at = |name: &str| files.path().join(name);
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate can be made");
    put(files.path(), "cert.pem", made.cert.pem());
    put(files.path(), "key.pem", made.signing_key.serialize_pem());
    put(files.path(), "in/a.txt", "a");
    let (certificate, key) = (at("cert.pem"), at("key.pem"));
    let server = Server::with(&[("SERVER__TLS__CERTIFICATE", path(&certificate)), ("SERVER__TLS__KEY", path(&key))]);
    let url = server.client().base;
    assert!(url.starts_with("https://"), "{url}");
    for command in commands(&url, &at("in"), &[]) {
        let ended = run(command);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(
            ended.err.contains("the server's certificate is not trusted: ") && ended.err.contains("--ca"),
            "{}",
            ended.err
        );
        assert!(!ended.err.contains("Trying again"), "{}", ended.err);
    }
    for command in commands(&url, &at("in"), &["--ca", path(&certificate)]) {
        done(run(command));
    }
    put(files.path(), "key", "a token");
    let ended = run(stet(&["import", path(&at("in")), "--url", &url, "--key-file", path(&at("key"))]));
    assert!(ended.code == Some(1) && ended.err.contains("can't be reached: the server's certificate"), "{}", ended.err);
    // And a server that speaks no TLS at all.
    let plain = Server::shared().client().base.replace("http://", "https://");
    for command in commands(&plain, &at("in"), &[]) {
        let ended = run(command);
        assert!(ended.code == Some(1) && ended.err.contains("does not speak TLS"), "{}", ended.err);
    }
}
