//! `stet load newsroom`.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::newsroom_liar::{Lie, newsroom_liar};
use super::*;

const KINDS: [&str; 13] = [
    "login",
    "lookup",
    "read",
    "plan",
    "write",
    "correlate",
    "drawer",
    "post",
    "moderate",
    "copy",
    "publish",
    "message",
    "tidy",
];

fn load(base: &str, options: &[&str]) -> Load {
    Load::scenario("newsroom", base, options)
}

#[test]
fn a_day_through_all_families_is_verified_and_leaves_nothing_behind() {
    let server = Server::start();
    // Two desks, the second with one client.
    let mut load = load(&server.base, &["--count", "900", "--clients", "5", "--desk", "4"]);
    let report = load.verified();
    assert_eq!(KINDS.iter().map(|kind| count(&report, kind)).sum::<u64>(), 900);
    assert!(KINDS.iter().all(|kind| report["kinds"][kind]["succeeded"].as_u64() > Some(0)), "{report}");
    assert_eq!((&report["all"]["failed"], &report["all"]["refused"]), (&json!(0), &json!(0)), "{}", report["failed"]);
    let verdict = report["verdict"]["details"].to_string();
    assert!(verdict.contains(" 0 calls had no certain outcome"), "{verdict}");
    assert!(!verdict.contains("\"0 channel copies"), "copies were compared: {verdict}");
    // Each family's share of the calls and of the time, in the report and on its page.
    for share in ["share", "shareOfTime"] {
        let all: f64 = KINDS.iter().map(|kind| report["kinds"][kind][share].as_f64().expect("a number")).sum();
        assert!((all - 1.0).abs() < 1e-9, "{share}: {all}");
    }
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    assert!(page.contains("<th>share</th><th>of the time</th>"), "{page}");
    for text in [page, load.json().to_string()] {
        assert!(!text.contains(ADMIN_PASSWORD) && !text.contains("token="));
    }
    assert_eq!(left(&server), json!([]));
    assert_eq!(server.login("admin").get("/v3/message/inbox").ok()["total"], 0);
}

#[test]
fn the_same_seed_does_the_same_and_a_mix_is_followed() {
    let base = &Server::shared().base;
    let kinds = |report: &Value| KINDS.map(|kind| count(report, kind));
    let options = ["--count", "60", "--clients", "2", "--seed", "5"];
    let first = load(base, &options).verified();
    assert_eq!(kinds(&first), kinds(&load(base, &[&options[..], &["--threads", "2"]].concat()).verified()));
    let report = load(base, &["--count", "30", "--clients", "2", "--mix", "write=2,copy=1"]).verified();
    assert_eq!(count(&report, "write") + count(&report, "copy"), 30);
    let said = load(base, &["--desk", "0"]).ends(2);
    assert!(said.contains("`newsroom.desk` is 0"), "{said}");
}

/// The kinds of hostile clients.
const HOSTILE: [&str; 15] = [
    "slow-reader",
    "slow-sender",
    "bulk-reader",
    "filterer",
    "topic-filler",
    "copier",
    "uploader",
    "guesser",
    "deaf-follower",
    "exporter",
    "rubbisher",
    "spammer",
    "painter",
    "mover",
    "key-flooder",
];

#[test]
fn a_newsroom_beside_hostile_clients_is_verified_and_they_are_counted() {
    let server = Server::start();
    let options = ["--seconds", "15", "--clients", "4", "--rate", "20", "--hostile", "1", "--timeout", "60s"];
    let run = || {
        let mut load = load(&server.base, &options);
        let report = load.verified();
        (load, report["hostile"].clone())
    };
    // On a machine with other work, hostile clients get few answers within a run; the next run
    // takes their users over. Slow senders, for one, need twelve seconds for a round.
    let is_answered =
        |hostile: &Value, kind: &str| hostile[kind]["statuses"].as_object().is_some_and(|s| !s.is_empty());
    let is_enough = |hostile: &Value| {
        HOSTILE.iter().filter(|kind| is_answered(hostile, kind)).count() > HOSTILE.len() / 2
            && hostile["guesser"]["statuses"]["401 InvalidLogin"].as_u64() > Some(0)
            && hostile["rubbisher"]["statuses"]["400 InvalidBody"].as_u64() > Some(0)
    };
    let (mut load, mut hostile) = run();
    for _ in 0..5 {
        if is_enough(&hostile) {
            break;
        }
        (load, hostile) = run();
    }
    assert!(is_enough(&hostile), "{hostile}");
    assert!(HOSTILE.iter().all(|kind| hostile[kind]["calls"].as_u64() > Some(0)), "{hostile}");
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    assert!(page.contains("Hostile clients") && HOSTILE.iter().all(|kind| page.contains(kind)), "{page}");
    // Nothing of them is left but users who can't log in.
    assert_eq!(left(&server), json!([]));
    let client = server.login("admin");
    let user = client.get("/v3/user/load-mover-0").ok();
    assert_eq!((&user["disabled"], &user["groups"]), (&json!(true), &json!([])));
    assert_eq!(client.get("/v3/message/inbox").ok()["total"], 0);
    // Another load takes them over.
    let again = ["--seconds", "1", "--clients", "2", "--rate", "5", "--hostile", "1", "--timeout", "60s"];
    self::load(&server.base, &again).verified();
    let said = self::load(&server.base, &["--hostile", "65"]).ends(2);
    assert!(said.contains("`newsroom.hostile` is 65"), "{said}");
}

/// A change of each family that the server acknowledges and does not make.
#[test]
fn a_server_that_swallows_changes_is_found_out_in_every_family() {
    let server = Server::start();
    for (method, part, kind) in [
        ("PUT", "/topicitem/", "plan"),
        ("PUT", "/content", "write"),
        ("POST", "/correlate", "correlate"),
        ("POST", "/uncorrelate", "correlate"),
        ("POST", "/item/", "drawer"),
        ("DELETE", "/item/", "drawer"),
        ("PUT", "/post/", "post"),
        ("POST", "/approve", "moderate"),
        ("DELETE", "/destroy", "copy"),
        ("POST", "/change/fields", "publish"),
        ("POST", "/sendmail", "message"),
        ("DELETE", "/v3/message/", "message"),
        ("DELETE", "/destroy", "tidy"),
    ] {
        let (liar, _) = newsroom_liar(&server, Lie::Swallow(method, part));
        let said = load(&liar.base, &["--count", "60", "--clients", "2", "--mix", &format!("{kind}=1")]).ends(4);
        assert!(liar.has_lied() && said.contains("NOT AS ACKNOWLEDGED"), "{method} {part}: {said}");
    }
}

/// Covers reads during the load, and copies that are read only at the end.
#[test]
fn a_server_that_shows_other_texts_is_found_out() {
    let server = Server::start();
    for (part, mix, says) in [
        ("/content", "read=3,write=1", "A read has shown: Text of client"),
        (".xml%2F", "write=1,copy=1", "The copy for"),
    ] {
        let (liar, _) = newsroom_liar(&server, Lie::Alter(part));
        let mut load = load(&liar.base, &["--count", "60", "--clients", "2", "--mix", mix]);
        let said = load.ends(4);
        let problems = load.json()["verdict"]["problems"].to_string();
        assert!(liar.has_lied() && problems.contains(says), "{part}: {said}");
    }
}

/// Kills the server during the load. `STET_DAY_SECONDS` sets a duration, and then there are fifty
/// clients.
#[test]
fn a_day_with_kills_is_verified() {
    let seconds = setting("STET_DAY_SECONDS");
    let mut server = Server::start();
    let (relay, passed) = newsroom_liar(&server, Lie::None);
    let passed = || passed.load(Ordering::Relaxed);
    let duration = format!("{}s", seconds.unwrap_or_default());
    let options = match seconds {
        Some(_) => ["--duration", &duration, "--clients", "50", "--timeout", "60s", ANY_MAY_FAIL],
        None => ["--count", "2400", "--clients", "8", "--timeout", "60s", ANY_MAY_FAIL],
    };
    let mut load = load(&relay.base, &options);
    let directory = std::env::var_os("STET_DAY_REPORT").map(PathBuf::from);
    let begun = Instant::now();
    let child = RefCell::new(load.command.spawn().expect("the binary can be started"));
    // The load's objects exist.
    let client = server.login("admin");
    wait_patiently_until("it begins", || {
        let run = client.get(&format!("/v3/folder/{}", encoded("/Load")));
        run.status == 200
            && passed() > 150
            && !client.get("/v3/message/outbox").ok()["items"].as_array().is_none_or(Vec::is_empty)
    });
    let is_at_work = || child.borrow_mut().try_wait().expect("it can be asked").is_none();
    let (mut kills, mut next) = (0, (passed(), begun.elapsed()));
    loop {
        // The server is not killed during the verification: unreadable objects would be reported.
        let is_over = || match seconds {
            Some(seconds) => begun.elapsed() + Duration::from_secs(20) > Duration::from_secs(seconds),
            None => kills == 3,
        };
        let is_due = || match seconds {
            Some(_) => begun.elapsed() > next.1,
            None => passed() >= next.0,
        };
        wait_patiently_until("it gets on", || is_due() || is_over());
        if is_over() {
            break;
        }
        assert!(is_at_work(), "it ended after {kills} kills");
        server = relay.restart(server);
        kills += 1;
        next = (passed() + 300, begun.elapsed() + Duration::from_secs(25));
        println!("killed {kills} times, {} answers, {:?}", passed(), begun.elapsed());
    }
    let said = said(&child.into_inner().wait_with_output().expect("it ends"), 0);
    let report = load.json();
    println!("{kills} kills\n{said}\n{}", report["verdict"]["details"]);
    assert_eq!(report["verdict"]["finding"], "verified", "{said}");
    assert!(report["all"]["succeeded"].as_u64() > Some(1200) && kills > 2, "{said}");
    assert_eq!(left(&server), json!([]));
    if let Some(directory) = directory {
        std::fs::create_dir_all(&directory).expect("the report's directory can be made");
        for file in ["report.html", "report.json"] {
            std::fs::copy(load.report().join(file), directory.join(file)).expect("the report can be kept");
        }
    }
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    let (code, said) = server.check();
    assert_eq!(code, Some(0), "{said}");
}
