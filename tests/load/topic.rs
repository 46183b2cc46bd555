//! `stet load topic`.

use super::proxy::Proxy;
use super::topic_liar::{Lie, topic_liar};
use super::*;

const KINDS: [&str; 11] =
    ["read", "structure", "plan", "item", "edit", "attach", "shift", "move", "divider", "remove", "order"];

/// Items in all topics of [`FILL`].
pub const FILLED: usize = 12;
const FILL: [&str; 4] = ["--topics", "2", "--fill", "6"];

fn load(base: &str, options: &[&str]) -> Load {
    Load::scenario("topic", base, options)
}

/// A mix of many changes and few reads.
const CHANGES: &str = "read=2,structure=4,plan=1,item=6,edit=6,attach=3,shift=6,move=6,divider=3,remove=2,order=2";

#[test]
fn a_closed_loop_is_replayed_and_every_follower_has_heard_everything() {
    let server = Server::start();
    let options = ["--count", "600", "--clients", "6", "--topics", "3", "--fill", "8", "--followers", "5"];
    let mut load = load(&server.base, &[&options[..], &["--mix", CHANGES]].concat());
    let report = load.verified();
    assert!(is_replayed(&report), "{}", report["verdict"]);
    assert_eq!(KINDS.iter().map(|kind| count(&report, kind)).sum::<u64>(), 600);
    assert!(KINDS.iter().all(|kind| report["kinds"][kind]["succeeded"].as_u64() > Some(0)), "{report}");
    assert_eq!(report["all"]["failed"], 0, "{}", report["failed"]);
    let delivery = &report["delivery"];
    let events = delivery["events"].as_u64().expect("a number");
    assert!(events > 50, "{delivery}");
    assert_eq!((&delivery["deliveries"], &delivery["followers"]), (&json!(events * 5), &json!(5)));
    let details = report["verdict"]["details"].to_string();
    for part in ["of 3 topics and their plan", "each item has its last values", "All 5 followers received all"] {
        assert!(details.contains(part), "`{part}` is missing in {details}");
    }
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    assert!(page.contains("a rule of the topics") || report["all"]["refused"] == 0);
    for text in [page, load.json().to_string()] {
        assert!(!text.contains(ADMIN_PASSWORD) && !text.contains("token="));
    }
    assert_eq!(left(&server), json!([]));
}

#[test]
fn the_same_seed_does_the_same_and_one_hot_topic_has_no_moves() {
    let base = &Server::shared().base;
    let options = ["--count", "120", "--clients", "3", "--topics", "1", "--followers", "0", "--seed", "5"];
    let kinds = |report: &Value| KINDS.map(|kind| count(report, kind));
    let first = load(base, &options).verified();
    assert_eq!(kinds(&first), kinds(&load(base, &[&options[..], &["--threads", "3"]].concat()).verified()));
    assert_eq!((kinds(&first)[7], first.get("delivery")), (0, None));
    let another = [&options[..9], &["6"]].concat();
    assert_ne!(kinds(&first), kinds(&load(base, &another).verified()));
    let said = load(base, &["--topics", "1", "--mix", "move=1"]).ends(2);
    assert!(said.contains("move") && said.contains("topics"), "{said}");
}

#[test]
fn an_open_loop_and_a_file_of_options_are_followed() {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    let text =
        "rate = 200\ncount = 150\nclients = 20\n[mix]\nmove = 3\nitem = 1\n[topic]\nfollowers = 3\nfill = 2\nown = 2\n";
    std::fs::write(file.path(), text).expect("it can be written");
    let path = file.path().to_str().expect("the path is a text");
    let report = load(&Server::shared().base, &["--file", path]).verified();
    assert_eq!((&report["open"], &report["saturation"]["open"]["sent"]), (&json!(true), &json!(150)));
    assert!(count(&report, "move") > 0 && count(&report, "remove") > 0 && count(&report, "read") == 0);
    assert_eq!(
        (&report["parameters"]["followers"], &report["parameters"]["own"]),
        (&json!("3"), &json!("2 items a client"))
    );
}

fn lied_to(lie: Lie) -> (Server, Proxy, Vec<&'static str>) {
    let server = Server::start();
    let liar = topic_liar(&server, lie);
    let options = ["--count", "200", "--clients", "3", "--followers", "0", "--mix", CHANGES];
    (server, liar, [&options[..], &FILL].concat())
}

/// Checks the report on each lie.
#[test]
fn a_server_that_lies_is_found_out() {
    let (_server, honest, options) = lied_to(Lie::None);
    assert!(is_replayed(&load(&honest.base, &options).verified()), "through a proxy it is as good");
    for (lie, says) in [
        (Lie::LoseItem, "is missing, which no call removed"),
        (Lie::LoseEdit, "by no acknowledged call"),
        (Lie::LoseMoved, "is missing, which no call removed"),
        (Lie::WrongOrder, "a read showed other lines, or another order"),
    ] {
        let (_server, liar, options) = lied_to(lie);
        let mut load = load(&liar.base, &options);
        let said = load.ends(4);
        let problems = load.json()["verdict"]["problems"].to_string();
        assert!(liar.has_lied() && said.contains("NOT AS ACKNOWLEDGED") && problems.contains(says), "{lie:?}: {said}");
    }
}

#[test]
fn calls_whose_answers_are_lost_are_in_doubt_and_the_rest_is_verified() {
    let (_server, lossy, options) = lied_to(Lie::LoseAnswers);
    let report = load(&lossy.base, &[&options[..], &[ANY_MAY_FAIL]].concat()).verified();
    assert!(lossy.has_lied() && is_replayed(&report), "{}", report["verdict"]);
    assert!(report["failed"]["connection lost"].as_u64() > Some(0), "{}", report["failed"]);
    assert!(report["verdict"]["details"].to_string().contains("explained only by calls"), "{}", report["verdict"]);
}

#[test]
fn without_revisions_membership_is_verified_and_followers_are_refused() {
    for (lie, why) in [(Lie::NoRevisions, "no revision"), (Lie::NoRevisionsOfMoves, "does not contain the revisions")] {
        let (_server, dumb, options) = lied_to(lie);
        let report = load(&dumb.base, &options).verified();
        let method = report["verdict"]["method"].as_str().unwrap_or_default();
        assert!(!is_replayed(&report) && method.contains(why), "{lie:?}: {method}");
        let said = load(&dumb.base, &["--followers", "2"]).ends(1);
        assert!(said.contains("--followers 0"), "{lie:?}: {said}");
    }
    let (_server, liar, options) = lied_to(Lie::LoseItemWithoutRevisions);
    let said = load(&liar.base, &options).ends(4);
    assert!(liar.has_lied() && said.contains("is missing"), "{said}");
}

#[test]
fn invalid_load_options_are_refused_by_name() {
    let base = &Server::shared().base;
    for (options, parts) in [
        (["--topics", "0"], ["topic.topics", "0"]),
        (["--fill", "0"], ["topic.fill", "0"]),
        (["--objects", "1"], ["topic.objects", "1"]),
        (["--own", "1001"], ["topic.own", "1001"]),
        (["--skew", "11"], ["topic.skew", "11"]),
        (["--followers", "20001"], ["topic.followers", "20001"]),
        (["--mix", "post=1"], ["mix", "post"]),
    ] {
        let said = load(base, &options).ends(2);
        assert!(parts.iter().all(|part| said.contains(part)), "{options:?}: {said}");
    }
}
