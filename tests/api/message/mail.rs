//! Messages that go out by mail, by a mail server that the tests start.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::{inbox, people, send};
use crate::harness::*;

/// The mail server's own words on how it behaves are at the head of the file.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/message/smtp_server.py");

/// A port at which nothing listens. A port that was free before may be in use by now.
const NOBODYS: u16 = 1;

/// A mail server, until it is dropped; it ends when this process does.
struct MailServer {
    child: Child,
    port: u16,
    folder: TempDir,
}

/// A mail that it has taken.
#[derive(Debug)]
struct Taken {
    to: Vec<String>,
    text: String,
}

impl MailServer {
    fn start(arguments: &[&str]) -> MailServer {
        let folder = TempDir::new().expect("a temporary directory can be made");
        let (child, port) = MailServer::spawn(folder.path(), arguments);
        MailServer { child, port, folder }
    }

    fn spawn(folder: &Path, arguments: &[&str]) -> (Child, u16) {
        // The system's own, for which the package is.
        let mut command = Command::new("/usr/bin/python3");
        command.arg(SCRIPT).arg(folder).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("Python is there");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it can be read");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("the mail server does not start: {line}"));
        (child, port)
    }

    /// Puts a file into its folder that says how it behaves, or takes it away.
    fn set(&self, name: &str, there: bool) {
        let path = self.folder.path().join(name);
        if there {
            std::fs::write(path, "").expect("a file can be written");
        } else {
            std::fs::remove_file(path).expect("it is there");
        }
    }

    /// Returns the mails that the relay has taken, in no order.
    fn taken(&self) -> Vec<Taken> {
        let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a mail is text");
        let files = std::fs::read_dir(self.folder.path()).expect("its folder can be read");
        let files = files.map(|file| file.expect("its folder can be read").path());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "eml"))
            .map(|path| Taken {
                to: read(&path.with_extension("to")).lines().map(str::to_owned).collect(),
                text: read(&path),
            })
            .collect()
    }

    fn wait_for(&self, count: usize) -> Vec<Taken> {
        wait_until("mails come", || self.taken().len() >= count);
        self.taken()
    }

    /// A server that sends by it.
    fn stet(&self, more: &[(&str, &str)]) -> Server {
        stet(self.port, more)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stet(port: u16, more: &[(&str, &str)]) -> Server {
    let port = port.to_string();
    let own = [
        ("SMTP__HOST", "localhost"),
        ("SMTP__PORT", port.as_str()),
        ("SMTP__SECURITY", "none"),
        ("SMTP__FROM", "newsroom@example.org"),
        ("SMTP__RETRY_SECONDS", "1"),
    ];
    Server::with(&[&own, more].concat())
}

/// Returns the value of `stet_mails_total` for an outcome.
fn mails(server: &Server, outcome: &str) -> u64 {
    let metrics = String::from_utf8(server.client().get("/metrics").body).expect("metrics are text");
    let wanted = format!("stet_mails_total{{outcome=\"{outcome}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&wanted)).map_or(0, |value| value.parse().expect("a count"))
}

fn wait_for(server: &Server, outcome: &str, count: u64) {
    wait_until(outcome, || mails(server, outcome) >= count);
    assert_eq!(mails(server, outcome), count, "{outcome}");
}

/// Users by the local parts of their addresses.
fn named(server: &Server, names: &[&str]) {
    for name in names {
        let body = json!({ "name": name, "businessEmail": format!("{name}@example.net") });
        server.user("admin").call("stet-user-create-post", &[]).json(&body).ok();
    }
}

#[test]
fn a_message_goes_out_as_one_mail_to_all_who_have_an_address() {
    let relay = MailServer::start(&[]);
    let server = relay.stet(&[]);
    let [ada, bob] = people(&server, ["ada", "bob"]);
    let admin = server.user("admin");
    admin.call("stet-user-update-put", &[&"ada"]).json(&json!({ "fullName": "Ada Märsh" })).ok();
    // One at home; one that is none; none at all.
    admin.call("stet-user-create-post", &[]).json(&json!({ "name": "eve", "homeEmail": "eve@example.com" })).ok();
    admin.call("stet-user-create-post", &[]).json(&json!({ "name": "odd", "businessEmail": "no address" })).ok();
    admin.call("stet-user-create-post", &[]).json(&json!({ "name": "mute" })).ok();
    let body = json!({ "subject": "Fähre", "body": "At ten.\n.\nNot before.", "priority": "high",
        "recipients": ["bob", "eve", "odd", "mute"] });
    send(&ada, &body).ok();
    let [mail] = &relay.wait_for(1)[..] else { panic!("one mail for all of them") };
    assert_eq!(mail.to, ["bob@example.net", "eve@example.com"]);
    for wanted in [
        "Reply-To: ada@example.net\r\n",
        "newsroom@example.org",
        "X-Priority: 1\r\n",
        "To: bob@example.net, eve@example.com\r\n",
        "At ten.\r\n.\r\nNot before.",
    ] {
        assert!(mail.text.contains(wanted), "{wanted} in {}", mail.text);
    }
    wait_for(&server, "sent", 2);
    assert_eq!(inbox(&bob)["unread"], 1);
    // No recipient has an address, so no mail is sent.
    send(&ada, &json!({ "subject": "none", "recipients": ["mute"] })).ok();
    send(&ada, &json!({ "subject": "last", "recipients": ["bob"] })).ok();
    assert_eq!(relay.wait_for(2).len(), 2);
    assert!(!server.log().contains("@example"), "addresses are nothing for the log: {}", server.log());
}

#[test]
fn recipients_that_the_relay_refuses_are_counted_and_others_get_the_mail() {
    let relay = MailServer::start(&[]);
    relay.set("busy", true);
    let server = relay.stet(&[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    named(&server, &["refused", "later", "full"]);
    send(&ada, &json!({ "subject": "s", "recipients": ["bob", "refused", "later"] })).ok();
    let first = relay.wait_for(1);
    assert_eq!(first[0].to, ["bob@example.net"]);
    wait_for(&server, "refused", 1);
    send(&ada, &json!({ "subject": "t", "recipients": ["full"] })).ok();
    wait_until("it is tried", || server.log().contains("the relay deferred a mail"));
    assert_eq!(relay.taken().len(), 1);
    relay.set("busy", false);
    let mut to: Vec<String> = relay.wait_for(3).into_iter().flat_map(|mail| mail.to).collect();
    to.sort_unstable();
    assert_eq!(to, ["bob@example.net", "full@example.net", "later@example.net"]);
    wait_for(&server, "sent", 3);
}

/// The mail was begun anew with the same addresses each time, and kept all others waiting.
#[test]
fn a_mail_with_many_wrong_addresses_holds_nothing_up() {
    let relay = MailServer::start(&[]);
    let server = relay.stet(&[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    let wrong: Vec<String> = (0..45).map(|number| format!("refused{number}")).collect();
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    named(&server, &wrong);
    let all = [&wrong[..], &["bob"]].concat();
    send(&ada, &json!({ "subject": "wrong", "recipients": all })).ok();
    send(&ada, &json!({ "subject": "next", "recipients": ["bob"] })).ok();
    assert_eq!(relay.wait_for(2).len(), 2);
    wait_for(&server, "refused", 45);
    wait_for(&server, "sent", 2);
}

#[test]
fn a_server_that_ends_while_mails_are_due_ends_in_good_order() {
    let relay = MailServer::start(&[]);
    relay.set("busy", true);
    let mut server = relay.stet(&[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    named(&server, &["later", "full"]);
    for _ in 0..20 {
        send(&ada, &json!({ "subject": "s", "recipients": ["later"] })).ok();
        send(&ada, &json!({ "subject": "s", "recipients": ["full"] })).ok();
    }
    wait_until("it is tried", || server.log().contains("the relay deferred a mail"));
    assert_eq!(server.terminate(), Some(0));
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn mails_wait_for_an_unavailable_relay_over_a_crash_and_are_sent_once() {
    let relay = MailServer::start(&[]);
    let mut server = stet(NOBODYS, &[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    for subject in ["one", "two"] {
        send(&ada, &json!({ "subject": subject, "recipients": ["bob"] })).ok();
    }
    wait_until("it is tried", || server.log().contains("cannot use the mail relay"));
    server.kill();
    // The same directory, with the relay that is there.
    let data = server.data().to_owned();
    let port = relay.port.to_string();
    let settings = [
        ("SMTP__HOST", "127.0.0.1"),
        ("SMTP__PORT", port.as_str()),
        ("SMTP__SECURITY", "none"),
        ("SMTP__FROM", "newsroom@example.org"),
    ];
    for _ in 0..2 {
        let mut again = Server::on(&data, &settings);
        let mails = relay.wait_for(2);
        assert_eq!(mails.len(), 2);
        assert!(mails.iter().any(|mail| mail.text.contains("Subject: one")), "{mails:?}");
        assert!(mails.iter().any(|mail| mail.text.contains("Subject: two")), "{mails:?}");
        assert_eq!(again.terminate(), Some(0));
    }
    drop(server);
}

#[test]
fn a_mail_with_unknown_outcome_is_not_sent_again() {
    let relay = MailServer::start(&[]);
    relay.set("hold", true);
    let mut server = relay.stet(&[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    named(&server, &["lost", "silent"]);
    // The connection ends in place of the answer.
    send(&ada, &json!({ "subject": "lost", "recipients": ["lost"] })).ok();
    wait_for(&server, "uncertain", 1);
    // The server ends before the answer.
    send(&ada, &json!({ "subject": "silent", "recipients": ["silent"] })).ok();
    assert_eq!(relay.wait_for(2).len(), 2);
    wait_until("it is in the log", || server.log().contains("unknown whether a mail was accepted"));
    server.kill();
    let server = server.restart();
    wait_for(&server, "uncertain", 1);
    relay.set("hold", false);
    // Later mails are sent.
    let ada = server.client_with(&json!(ada.token()));
    send(&ada, &json!({ "subject": "next", "recipients": ["bob", "silent", "lost"] })).ok();
    wait_until("the next is sent", || relay.taken().iter().any(|mail| mail.text.contains("Subject: next")));
    let subjects = |subject: &str| relay.taken().iter().filter(|mail| mail.text.contains(subject)).count();
    assert_eq!((subjects("Subject: lost"), subjects("Subject: silent"), relay.taken().len()), (1, 1, 3));
}

#[test]
fn a_server_that_ends_in_good_order_ends_with_the_mail_that_it_is_at() {
    let relay = MailServer::start(&[]);
    relay.set("hold", true);
    let mut server = relay.stet(&[]);
    let [ada, _] = people(&server, ["ada", "bob"]);
    named(&server, &["silent"]);
    send(&ada, &json!({ "subject": "silent", "recipients": ["silent"] })).ok();
    relay.wait_for(1);
    server.ask_to_end();
    wait_until("it drains", || server.log().contains("draining"));
    relay.set("hold", false);
    assert_eq!(server.ended(), Some(0));
    wait_until("it is in the log", || server.log().contains("mail sent"));
    assert_eq!(server.check().0, Some(0));
}

#[test]
fn mails_that_are_too_many_or_wait_for_too_long_are_given_up_and_told() {
    let server = stet(NOBODYS, &[("SMTP__QUEUE", "2")]);
    let [ada, bob, eve] = people(&server, ["ada", "bob", "eve"]);
    for number in 0..5 {
        send(&ada, &json!({ "subject": number.to_string(), "recipients": ["bob"] })).ok();
    }
    // One of a sender is let in, and then none.
    wait_for(&server, "dropped", 4);
    for number in 0..2 {
        send([&bob, &eve][number], &json!({ "subject": number.to_string(), "recipients": ["ada"] })).ok();
    }
    wait_for(&server, "dropped", 5);
    assert_eq!(inbox(&bob)["total"], 5, "they are received all the same");
}

#[test]
fn mails_go_over_tls_with_a_password_and_only_to_trusted_relays() {
    let files = TempDir::new().expect("a temporary directory can be made");
    let path = |name: &str| files.path().join(name).to_str().expect("the path is a text").to_owned();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("one can be made");
    std::fs::write(path("certificate.pem"), made.cert.pem()).expect("it can be written");
    std::fs::write(path("key.pem"), made.signing_key.serialize_pem()).expect("it can be written");
    std::fs::write(path("password"), "pass word\n").expect("it can be written");
    for security in ["starttls", "tls"] {
        let relay = MailServer::start(&[security, &path("certificate.pem"), &path("key.pem"), "pass word"]);
        let (certificate, password) = (path("certificate.pem"), path("password"));
        let own = [("SMTP__SECURITY", security), ("SMTP__USER", "stet"), ("SMTP__PASSWORD_FILE", password.as_str())];
        let trusted = relay.stet(&[&own[..], &[("SSL_CERT_FILE", certificate.as_str())]].concat());
        let [ada, _] = people(&trusted, ["ada", "bob"]);
        send(&ada, &json!({ "subject": "s", "recipients": ["bob"] })).ok();
        assert_eq!(relay.wait_for(1)[0].to, ["bob@example.net"], "{security}");
        // With an untrusted certificate, a wrong password or a relay without TLS, neither a mail
        // nor a password is sent.
        std::fs::write(path("wrong"), "wrong").expect("it can be written");
        let wrong = path("wrong");
        let wrong = [own[0], own[1], ("SMTP__PASSWORD_FILE", wrong.as_str()), ("SSL_CERT_FILE", certificate.as_str())];
        let open = MailServer::start(&[]);
        for (relay, settings) in [(&relay, &own[..]), (&relay, &wrong[..]), (&open, &own[..])] {
            let server = relay.stet(settings);
            let [ada, _] = people(&server, ["ada", "bob"]);
            send(&ada, &json!({ "subject": "not", "recipients": ["bob"] })).ok();
            wait_until("it is told", || server.log().contains("cannot use the mail relay"));
            assert!(!server.log().contains("pass word"), "{}", server.log());
            assert_eq!(mails(&server, "sent"), 0, "{security}");
        }
        assert_eq!((relay.taken().len(), open.taken().len()), (1, 0));
    }
}
