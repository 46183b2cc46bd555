//! Alerts, each caused on a real server and raised by its metrics. Those that a failing disk or a
//! panic causes are in `tests/faults/alerts.rs`.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::promtool::{Cause, agrees, alerts, raises, raises_nothing_but};
use super::scrape::Scrape;
use super::{file, text};
use crate::api::conf::save;
use crate::api::edge::tls::{self, Files};
use crate::api::webhook::receiver::Receiver;
use crate::harness::*;

#[test]
fn the_rules_and_the_scrape_configuration_are_well_formed() {
    let path = |name: &str| file(name).to_str().expect("the path is text").to_owned();
    agrees("promtool", &["check", "rules", "--lint=all", "--lint-fatal", &path("deploy/prometheus/alerts.yml")], None);
    agrees("promtool", &["check", "config", &path("deploy/prometheus/prometheus.yml")], None);
}

#[test]
fn each_alert_says_what_to_do_and_where_it_is_written() {
    let rules = text("deploy/prometheus/alerts.yml");
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap_or_default();
        // The displayed form: folded lines are one.
        let told = rule.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("summary: ") && told.contains("severity: "), "{name}");
        let (_, description) = told.split_once("description: >- ").unwrap_or_else(|| panic!("{name} says nothing"));
        let mut headings = 0;
        for (document, rest) in description.split("docs/").skip(1).filter_map(|part| part.split_once(", \"")) {
            let heading = rest.split('"').next().unwrap_or_default();
            let found = text(&format!("docs/{document}")).lines().any(|line| {
                line.trim_start_matches('#').trim() == heading || line.starts_with(&format!("**{heading}"))
            });
            assert!(found, "{name}: {document} has no \"{heading}\"");
            headings += 1;
        }
        assert!(headings > 0 || name == "StetDown", "{name} refers to nothing");
    }
}

#[test]
fn every_alert_is_caused_by_a_test() {
    let tests = text("tests/operation/metrics/alerts.rs") + &text("tests/faults/alerts.rs");
    let alerts = alerts();
    assert!(alerts.len() > 20, "{alerts:?}");
    for alert in alerts {
        // Names in the argument list of `raises`. The other list of names has the exceptions.
        let caused = tests.split("raises(").skip(1).filter_map(|call| call.split(';').next());
        assert!(caused.clone().any(|call| call.contains(&format!("\"{alert}\""))), "{alert} is not caused");
    }
}

#[test]
fn a_server_that_is_well_raises_no_alert() {
    let server = Server::start();
    let before = Scrape::of(&server.base);
    for user in ["admin", "editor", "reader"] {
        let client = server.login(user);
        client.get("/v3/folder/home").ok();
        client.get("/nowhere");
    }
    let admin = server.login("admin");
    let (folder, drawer) = (own_folder(), admin.drawer("/Well", "drawer", 100));
    for number in 0..10 {
        let story = admin.story(&folder, &format!("{number}.xml"));
        admin.post(&format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&story)), &json!({})).ok();
    }
    server.client().get("/v3/folder/home").fails(401, "InvalidToken");
    admin.get("/v3/conf/cache/jobs/refresh/1").ok();
    wait_until("the disk was looked at", || {
        Scrape::of(&server.base).series.contains_key("stet_data_disk_free_bytes{of=\"contents\"}")
    });
    let after = Scrape::of(&server.base);
    // The machine may be busy, and its disk full.
    raises_nothing_but(&before, &after, &["StetSlow", "StetDiskSlow", "StetDiskFilling"]);
}

#[test]
fn a_server_that_is_gone_or_was_started_again_raises_alerts() {
    let mut server = Server::start();
    let before = Scrape::of(&server.base);
    server.kill();
    let gone = Scrape::of(&server.base);
    assert!(!gone.up);
    raises(&before, &gone, Cause::Once, &["StetDown"]);
    let server = server.restart();
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetRestarted"]);
}

#[test]
fn logins_that_fail_raise_alerts_and_so_does_a_log_that_is_too_long() {
    let server = Server::start();
    let before = Scrape::of(&server.base);
    let log_in = |user: &str| {
        let body = json!({ "connectionId": "Editorial", "applicationId": "t", "username": user, "password": "guess" });
        server.client().post("/v3/auth/login", &body).status
    };
    for number in 0..40 {
        assert_eq!(log_in(&format!("guess{number}")), 401);
    }
    let failed = Scrape::of(&server.base);
    raises(&before, &failed, Cause::Once, &["StetLoginsFail"]);
    // Ten fail; the others are refused, each with a line in the log.
    let refused = (0..250).filter(|_| log_in("editor") == 429).count();
    assert!(refused >= 230, "{refused}");
    let after = Scrape::of(&server.base);
    let outcome = |outcome: &str| after.series[&format!("stet_logins_total{{by=\"password\",outcome=\"{outcome}\"}}")];
    assert_eq!((outcome("refused"), outcome("succeeded")), (refused as f64, 0.0));
    assert_eq!(outcome("failed"), (40 + 250 - refused) as f64);
    raises(&failed, &after, Cause::Once, &["StetLoginsRefused", "StetLogLinesDropped"]);
}

/// Starts a CAS server that never answers. It closes each connection after the returned number of
/// milliseconds.
fn silent_cas() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let address = listener.local_addr().expect("it has an address");
    let pause = Arc::new(AtomicU64::new(0));
    let takes = pause.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 1024]);
            std::thread::sleep(Duration::from_millis(takes.load(Ordering::SeqCst)));
        }
    });
    (format!("http://{address}/cas"), pause)
}

#[test]
fn a_cas_server_that_is_away_or_slow_raises_alerts() {
    let (url, pause) = silent_cas();
    let service = ("AUTH__CAS__SERVICE_URL", "https://stet.example.org/");
    let server = Server::with(&[("AUTH__CAS__SERVER_URL", &url), service]);
    let before = Scrape::of(&server.base);
    let log_in = || {
        let path = "/v3/auth/login?connectionId=Editorial&applicationId=t&ticket=ST-1";
        server.client().get(path).fails(503, "Overloaded");
    };
    log_in();
    let away = Scrape::of(&server.base);
    raises(&before, &away, Cause::Once, &["StetSignOnFails"]);
    pause.store(1200, Ordering::SeqCst);
    log_in();
    raises(&away, &Scrape::of(&server.base), Cause::GoesOn, &["StetSlow"]);
}

#[test]
fn overload_refusals_raise_an_alert_at_once() {
    let server = Server::with(&[("EVENTS__FOLLOWERS_PER_USER", "1")]);
    let client = server.login("editor");
    let drawer = client.drawer(&own_folder(), "drawer", 3);
    let mut follow = client.follow(&drawer, None);
    assert_eq!(follow.must().event, "hello");
    let before = Scrape::of(&server.base);
    assert!(client.try_follow(&format!("/v3/container/{}/events", encoded(&drawer)), None).is_err());
    let after = Scrape::of(&server.base);
    assert_eq!(after.series["stet_overloaded_total{what=\"followers\"}"], 1.0);
    raises(&before, &after, Cause::Once, &["StetOverloaded"]);
}

#[test]
fn a_follower_who_does_not_keep_up_raises_an_alert() {
    // Not let go by the system, which would cut him off in the middle of an event.
    let server = Server::with(&[("EVENTS__QUEUE_EVENTS", "64"), ("SERVER__SLOW_READER_SECONDS", "0")]);
    let client = server.login("editor");
    let folder = own_folder();
    let stories: Vec<String> = (0..400).map(|number| client.story(&folder, &format!("{number}.xml"))).collect();
    let drawer = client.drawer(&folder, "followed", 1000);
    let before = Scrape::of(&server.base);
    let mut slow = client.follow_with_little_room(&drawer);
    slow.must();
    // Until he was sent nothing for longer than the queue is.
    let sent = || Scrape::of(&server.base).series["stet_events_sent_total"];
    let (mut last, mut since) = (sent(), 0);
    while since < 60 {
        let item = format!("/v3/container/drawer/{}/item", encoded(&drawer));
        client.post(&item, &json!({ "sources": stories })).ok();
        client.put(&format!("{item}/clear"), &json!({})).ok();
        let now = sent();
        since = if now == last { since + 1 } else { 0 };
        last = now;
    }
    // He is let go once he reads on.
    slow.rest();
    wait_until("he is let go", || Scrape::of(&server.base).series["stet_event_followers_dropped_total"] == 1.0);
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetFollowersDropped"]);
}

#[test]
fn a_configuration_file_that_is_at_fault_raises_an_alert() {
    let server = Server::start();
    let admin = server.login("admin");
    let before = Scrape::of(&server.base);
    save(&admin, "/SysConfig/Jobs/jobs.xml", 1, "<jobs><job schedule='x'/></jobs>");
    admin.get("/v3/conf/cache/jobs/refresh/1").ok();
    let after = Scrape::of(&server.base);
    let failed = "stet_cache_refreshes_total{cache=\"jobs\",database=\"1\",outcome=\"failed\"}";
    assert_eq!((before.series[failed], after.series[failed]), (0.0, 1.0));
    raises(&before, &after, Cause::Once, &["StetConfigurationBroken"]);
}

#[test]
fn mails_that_do_not_go_out_raise_alerts() {
    let server = Server::with(&[
        ("SMTP__HOST", "localhost"),
        // Nothing listens there.
        ("SMTP__PORT", "1"),
        ("SMTP__SECURITY", "none"),
        ("SMTP__FROM", "newsroom@example.org"),
        ("SMTP__QUEUE", "1"),
    ]);
    let admin = server.login("admin");
    let body = json!({ "name": "ada", "businessEmail": "ada@example.net" });
    admin.call("stet-user-create-post", &[]).json(&body).ok();
    let before = Scrape::of(&server.base);
    for subject in ["first", "second"] {
        let body = json!({ "subject": subject, "recipients": ["ada"] });
        admin.call("message-sendmail-post", &[]).json(&body).ok();
    }
    wait_until("a mail waits", || Scrape::of(&server.base).series["stet_mails_waiting"] == 1.0);
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetMailsWait", "StetMailsLost"]);
}

#[test]
fn receivers_of_webhooks_that_accept_nothing_raise_alerts() {
    let server = Server::with(&[("WEBHOOKS__NETWORKS", "127.0.0.1"), ("WEBHOOKS__GIVE_UP_HOURS", "1")]);
    let (admin, receiver) = (server.login("admin"), Receiver::start());
    let story = admin.story("/News", "a.xml");
    let body = json!({ "url": receiver.url, "container": story });
    admin.call("stet-webhook-create-post", &[]).json(&body).ok();
    let state = |state: &str| Scrape::of(&server.base).series[&format!("stet_webhooks{{state=\"{state}\"}}")];
    wait_patiently_until("the webhook is counted", || state("active") == 1.0);
    let before = Scrape::of(&server.base);
    receiver.answer(500);
    admin.call("stet-object-lock-post", &[&story]).ok();
    wait_patiently_until("it fails", || state("failing") == 1.0);
    let failing = Scrape::of(&server.base);
    raises(&before, &failing, Cause::Once, &["StetWebhookFails"]);
    receiver.answer(410);
    wait_patiently_until("it ends", || state("ended") == 1.0);
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetWebhookEnded"]);
}

#[test]
fn an_index_that_can_not_be_opened_raises_an_alert() {
    let mut server = Server::start();
    let complete = |server: &Server| Scrape::of(&server.base).series["stet_search_complete"] == 1.0;
    wait_patiently_until("everything can be found", || complete(&server));
    let before = Scrape::of(&server.base);
    assert_eq!(server.terminate(), Some(0));
    let lock = std::fs::File::options().append(true).open(server.data().join("search.lock")).expect("it is there");
    lock.try_lock().expect("the server has ended");
    let server = server.restart();
    let behind = || Scrape::of(&server.base).series["stet_search_behind_seconds"] > 5.0;
    wait_patiently_until("the index is behind", behind);
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetSearchBehind"]);
    drop(lock);
    wait_patiently_until("the index is opened", || complete(&server));
}

#[test]
fn a_backup_that_gets_nothing_raises_alerts() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let target = folder.path().join("target");
    let address = format!("file://{}", target.display());
    let mut server = Server::with(&[("BACKUP__TARGET", &address)]);
    let series = |server: &Server, name: &str| Scrape::of(&server.base).series.get(name).copied();
    wait_patiently_until("there is a base", || series(&server, "stet_backup_base_timestamp_seconds") > Some(0.0));
    wait_patiently_until("nothing waits", || series(&server, "stet_backup_behind_seconds") == Some(0.0));
    let before = Scrape::of(&server.base);
    assert_eq!(server.terminate(), Some(0));
    // A file in the place of the target, and a change that was made without the spool.
    std::fs::remove_dir_all(&target).expect("it can be removed");
    std::fs::write(&target, "").expect("it can be written");
    let made = std::process::Command::new(binary())
        .args(["user", "disable", "reporter", "--data"])
        .arg(server.data())
        .status();
    assert!(made.expect("the binary can be started").success());
    let server = server.restart();
    wait_patiently_until("the gap is measured", || series(&server, "stet_backup_has_gap") == Some(1.0));
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetBackupGap", "StetBackupBaseOld"]);
}

#[test]
fn a_backup_that_is_not_proven_raises_an_alert_and_a_new_one_does_not() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let address = format!("file://{}", folder.path().join("target").display());
    let mut server = Server::with(&[("BACKUP__TARGET", &address)]);
    let series =
        |server: &Server| Scrape::of(&server.base).series.get("stet_backup_verified_timestamp_seconds").copied();
    wait_patiently_until("there is a base", || series(&server).is_some());
    let before = Scrape::of(&server.base);
    assert_eq!(server.terminate(), Some(0));
    // No drill has succeeded for nine days, and the last one has failed just now.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let since = now - Duration::from_secs(9 * 86_400);
    let record = json!({
        "sinceMs": since.as_millis() as u64,
        "verified": null,
        "fault": { "atMs": now.as_millis() as u64, "why": "the disk has no room" },
    });
    std::fs::write(server.data().join("backup/drill.json"), record.to_string()).expect("it can be written");
    let server = server.restart();
    wait_patiently_until("it is measured", || series(&server).is_some_and(|at| (at - since.as_secs_f64()).abs() < 1.0));
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetBackupUnverified"]);
}

#[test]
fn changes_that_wait_for_the_backup_raise_an_alert() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let target = folder.path().join("target");
    let address = format!("file://{}", target.display());
    let server = Server::with(&[("BACKUP__TARGET", &address)]);
    let series = |name: &str| Scrape::of(&server.base).series.get(name).copied();
    wait_patiently_until("there is a base", || series("stet_backup_base_timestamp_seconds") > Some(0.0));
    wait_patiently_until("nothing waits", || series("stet_backup_behind_seconds") == Some(0.0));
    let before = Scrape::of(&server.base);
    std::fs::rename(&target, folder.path().join("away")).expect("it can be moved");
    server.user("editor").story("/News", "waits.xml");
    wait_patiently_until("changes wait", || series("stet_backup_behind_seconds") > Some(10.0));
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetBackupBehind"]);
}

/// A look at a server that shows this certificate.
fn scrape_over_tls(server: &Server, certificate: &str) -> Scrape {
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = tls::ask(server, certificate, request).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 200") && !head.contains("chunked"), "{head}");
    Scrape::read(body.to_owned())
}

/// Regression test: only the log reported either. Operators who did not read it noticed when no
/// client could connect any more.
#[test]
fn a_certificate_that_ends_soon_or_can_not_be_renewed_raises_an_alert() {
    let (files, first) = Files::made();
    let server = files.serve(&[("SERVER__TLS__RELOAD_SECONDS", "86400")]);
    let (ends, failed) = ("stet_tls_certificate_ends_seconds", "stet_tls_reload_failed");
    let when = |certificate: &str, what: &str, holds: &dyn Fn(&Scrape) -> bool| {
        wait_until(what, || holds(&scrape_over_tls(&server, certificate)));
        scrape_over_tls(&server, certificate)
    };
    let before = when(&first, "the files were looked at", &|scrape| scrape.series.get(failed) == Some(&0.0));
    assert_eq!(before.series[ends], tls::FAR as f64);

    let key = std::fs::read_to_string(files.path("key.pem")).expect("it was just written");
    files.write("no certificate", &key);
    tls::hang_up(&server);
    let unusable = when(&first, "the fault is told", &|scrape| scrape.series[failed] == 1.0);
    assert_eq!(unusable.series[ends], before.series[ends], "the old one is in force");
    raises(&before, &unusable, Cause::Once, &["StetCertificateNotRenewed"]);

    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let end = now + 10 * 86_400;
    let second = files.replace_until(end);
    tls::hang_up(&server);
    wait_until("it is in force", || tls::is_served(&server, &second));
    let renewed = when(&second, "that it was renewed is told", &|scrape| scrape.series[failed] == 0.0);
    assert_eq!(renewed.series[ends], end as f64);
    raises(&before, &renewed, Cause::Once, &["StetCertificateEnds"]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_run_out_raise_an_alert() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let server = Server::start();
    let before = Scrape::of(&server.base);
    // Somebody has given the process a limit that is too small for it.
    let open = before.series["process_open_fds"] as u64;
    let pid = Pid::from_raw(server.pid().cast_signed()).expect("a process has a number");
    let limit = Rlimit { current: Some(open + open / 10), maximum: Some(before.series["process_max_fds"] as u64) };
    prlimit(Some(pid), Resource::Nofile, limit).expect("the limit of a child can be set");
    raises(&before, &Scrape::of(&server.base), Cause::Once, &["StetFilesRunOut"]);
}
