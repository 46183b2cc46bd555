//! `stet load liveblog`.

use super::blog_liar::{Lie, blog_liar};
use super::*;

const KINDS: [&str; 6] = ["post", "edit", "moderate", "remove", "poll", "list"];

fn load(base: &str, options: &[&str]) -> Load {
    Load::scenario("liveblog", base, options)
}

/// A mix of many changes and few reads.
const CHANGES: &str = "post=6,edit=4,moderate=4,remove=1,poll=3,list=1";

#[test]
fn a_closed_loop_is_replayed_and_every_follower_has_heard_everything() {
    let server = Server::start();
    let options =
        ["--count", "400", "--clients", "6", "--followers", "20", "--mix", CHANGES, "--attachment-bytes", "500"];
    let mut load = load(&server.base, &options);
    let report = load.verified();
    assert!(is_replayed(&report), "{}", report["verdict"]);
    assert_eq!(KINDS.iter().map(|kind| count(&report, kind)).sum::<u64>(), 400);
    assert!(KINDS.iter().all(|kind| report["kinds"][kind]["succeeded"].as_u64() > Some(0)), "{report}");
    assert_eq!(report["all"]["failed"], 0, "{}", report["failed"]);
    let delivery = &report["delivery"];
    let events = delivery["events"].as_u64().expect("a number");
    let changed =
        ["post", "edit", "remove"].iter().map(|kind| report["kinds"][kind]["succeeded"].as_u64().unwrap()).sum::<u64>();
    assert!(events >= changed, "{events} of {changed} and more");
    assert_eq!(delivery["deliveries"], events * 20);
    assert_eq!(delivery["followers"], 20);
    for (name, wanted) in [
        ("sinceSent", events * 20),
        ("sinceAnswered", events * 20),
        ("lastSinceSent", events),
        ("lastSinceAnswered", events),
    ] {
        assert_eq!((histogram(&delivery[name]).len(), &delivery[name]["count"]), (wanted, &json!(wanted)), "{name}");
    }
    assert!(delivery["lastSinceSent"]["maxUs"].as_u64() >= delivery["sinceSent"]["p50Us"].as_u64());
    for fault in ["resumed", "resets", "gaps", "repeats", "behind", "away"] {
        assert_eq!(delivery[fault], 0, "{fault}");
    }
    assert_eq!(delivery["dropped"], json!({}));
    assert_eq!(delivery["threads"].as_array().map(Vec::len), Some(1));
    assert!(report["saturation"]["remarks"].to_string().contains(" processor"), "{}", report["saturation"]);
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    for part in ["Followers", "Delivery by percentile", "Delivery to the last follower", "a rule of the liveblog"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<svg").count(), 6);
    for text in [page, load.json().to_string()] {
        assert!(!text.contains(ADMIN_PASSWORD) && !text.contains("token="));
    }
    assert_eq!(left(&server), json!([]));
}

#[test]
fn open_loops_without_followers_have_no_delivery_and_repeat_by_seed() {
    let base = &Server::shared().base;
    let options = ["--rate", "100", "--count", "90", "--clients", "15", "--followers", "0", "--seed", "4"];
    let kinds = |report: &Value| KINDS.map(|kind| count(report, kind));
    let mut first = load(base, &options);
    let report = first.verified();
    assert_eq!((&report["open"], &report["saturation"]["open"]["sent"]), (&json!(true), &json!(90)));
    assert_eq!(report.get("delivery"), None);
    let page = std::fs::read_to_string(first.report().join("report.html")).expect("there is a page");
    assert!(!page.contains("Followers"));
    let again = load(base, &[&options[..], &["--threads", "2"]].concat()).verified();
    assert_eq!(kinds(&report), kinds(&again));
    let other = load(base, &[&options[..9], &["5"]].concat()).verified();
    assert_ne!(kinds(&report), kinds(&other));
}

#[test]
fn a_file_and_several_threads_of_followers_are_used() {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    let text = "ramp = \"0s:1,1s:4\"\nduration = \"1500ms\"\n[mix]\npost = 2\nmoderate = 1\n[liveblog]\nfollowers = 9\ntext-bytes = 1\n\
                follower-threads = 2\nattachment-bytes = 0\n";
    std::fs::write(file.path(), text).expect("it can be written");
    let path = file.path().to_str().expect("the path is a text");
    let report = load(&Server::shared().base, &["--file", path]).verified();
    assert!(count(&report, "post") > 0 && count(&report, "poll") == 0);
    assert_eq!(report["delivery"]["threads"].as_array().map(Vec::len), Some(2));
    assert_eq!((&report["parameters"]["followers"], &report["parameters"]["text"]), (&json!("9"), &json!("1 bytes")));
}

/// Checks the report on each lie.
#[test]
fn a_server_that_lies_is_found_out() {
    let server = Server::start();
    let options = ["--count", "120", "--clients", "3", "--followers", "3", "--mix", CHANGES, "--timeout", "3s"];
    let honest = blog_liar(&server, Lie::None);
    assert!(is_replayed(&load(&honest.base, &options).verified()), "through a proxy it is as good");
    for (lie, says) in [
        (Lie::LosePost, "is missing"),
        (Lie::LoseEdit, "the edit"),
        (Lie::EmptyPoll, "the changes reported after"),
        (Lie::SkipEvent, "left out of the events for followers"),
        (Lie::RepeatEvent, "sent to followers again"),
        (Lie::OtherEvent, "different events"),
        (Lie::Silence, "never received the last revision"),
        (Lie::ResumeWithGap, "left out of the events for followers"),
    ] {
        let liar = blog_liar(&server, lie);
        let mut load = load(&liar.base, &options);
        let said = load.ends(4);
        assert!(liar.has_lied() && said.contains("NOT AS ACKNOWLEDGED") && said.contains(says), "{lie:?}: {said}");
        assert_eq!(load.json()["verdict"]["finding"], "violated", "{lie:?}");
    }
}

#[test]
fn streams_that_are_cut_are_taken_up_again_and_nothing_is_missed() {
    let server = Server::start();
    let cutter = blog_liar(&server, Lie::CutStreams);
    let options = ["--count", "120", "--clients", "3", "--followers", "4", "--mix", CHANGES];
    let report = load(&cutter.base, &options).verified();
    let delivery = &report["delivery"];
    assert_eq!((&delivery["dropped"]["connection lost"], &delivery["resumed"]), (&json!(4), &json!(4)), "{delivery}");
    assert_eq!(delivery["deliveries"].as_u64(), delivery["events"].as_u64().map(|events| events * 4));
    assert!(report["verdict"]["details"].to_string().contains("Streams ended 4 times and resumed 4 times"));
    assert!(report["saturation"]["warnings"].to_string().contains("dropped 4 times, and 0 of 4"), "{report}");
}

#[test]
fn why_a_follower_could_not_come_back_is_told_by_code() {
    let server = Server::start();
    let refusing = blog_liar(&server, Lie::RefuseStreams);
    let options = ["--count", "120", "--clients", "3", "--followers", "4", "--mix", CHANGES];
    let mut load = load(&refusing.base, &options);
    let report = load.verified();
    let delivery = &report["delivery"];
    assert_eq!(
        (&delivery["refused"], &delivery["resumed"]),
        (&json!({ "CMS.Overloaded": 2 }), &json!(4)),
        "{delivery}"
    );
    let page = std::fs::read_to_string(load.report().join("report.html")).expect("there is a page");
    assert!(page.contains("could not come back: CMS.Overloaded"));
}

#[test]
fn streams_that_nothing_comes_through_end_the_preparation() {
    let server = Server::start();
    let buffering = blog_liar(&server, Lie::BufferStreams);
    let said = load(&buffering.base, &["--followers", "3", "--timeout", "1s"]).ends(1);
    assert!(buffering.has_lied() && said.contains("can't follow: no first event came in time"), "{said}");
    assert_eq!(left(&server), json!([]));
}

/// A post may be removed between a change of it and its reply, which then can't show it.
#[test]
fn replies_about_removed_posts_are_no_failure_but_leave_the_call_in_doubt() {
    let server = Server::start();
    let short = blog_liar(&server, Lie::ShortReply);
    let mix = "post=6,edit=4,moderate=8,remove=1,poll=3,list=1";
    let options = ["--count", "200", "--clients", "3", "--followers", "3", "--mix", mix];
    let report = load(&short.base, &options).verified();
    assert!(short.has_lied() && is_replayed(&report), "{}", report["verdict"]);
    assert_eq!(report["all"]["failed"], 0, "{}", report["failed"]);
}

/// Regression test: a large reply is built while it is sent, and leaves out posts removed by then.
/// The load counted their absence as a fault.
#[test]
fn a_poll_that_is_a_large_reply_is_not_asked_to_be_of_one_moment() {
    let server = Server::start();
    let large = blog_liar(&server, Lie::LargePoll);
    let options = ["--count", "200", "--clients", "3", "--followers", "0", "--mix", "post=6,remove=1,poll=6"];
    let report = load(&large.base, &options).verified();
    assert!(large.has_lied() && is_replayed(&report), "{}", report["verdict"]);
}

/// Covers a server that can no longer determine the missed events. A follower that learns this does
/// not count as one that received everything.
#[test]
fn a_follower_that_is_told_to_read_anew_is_counted_and_is_no_fault() {
    let server = Server::start();
    let liar = blog_liar(&server, Lie::SendOn);
    let options = ["--count", "120", "--clients", "3", "--followers", "4", "--mix", CHANGES];
    let report = load(&liar.base, &options).verified();
    let (resets, details) = (report["delivery"]["resets"].as_u64(), report["verdict"]["details"].to_string());
    assert!(resets >= Some(1) && !details.contains("All 4 followers"), "{details}");
}

#[test]
fn calls_whose_answers_are_lost_are_in_doubt_and_the_rest_is_verified() {
    let server = Server::start();
    let lossy = blog_liar(&server, Lie::LoseAnswers);
    let options = ["--count", "120", "--clients", "3", "--followers", "3", "--mix", CHANGES, ANY_MAY_FAIL];
    let report = load(&lossy.base, &options).verified();
    assert!(lossy.has_lied() && is_replayed(&report), "{}", report["verdict"]);
    assert!(report["failed"]["connection lost"].as_u64() > Some(0), "{}", report["failed"]);
    assert!(report["verdict"]["details"].to_string().contains("explained only by calls"), "{}", report["verdict"]);
}

#[test]
fn servers_without_revisions_get_own_posts_verified_and_no_followers() {
    let server = Server::start();
    let dumb = blog_liar(&server, Lie::NoRevisions);
    let options = ["--count", "100", "--clients", "3", "--mix", CHANGES, "--followers"];
    let report = load(&dumb.base, &[&options[..], &["0"]].concat()).verified();
    assert!(report["verdict"]["method"].as_str().is_some_and(|method| method.contains("no revision")));
    let said = load(&dumb.base, &[&options[..], &["2"]].concat()).ends(1);
    assert!(said.contains("--followers 0"), "{said}");
    let liar = blog_liar(&server, Lie::LosePostWithoutRevisions);
    let said = load(&liar.base, &[&options[..], &["0"]].concat()).ends(4);
    assert!(liar.has_lied() && said.contains("is missing"), "{said}");
}

/// The liveblogs of the load that runs, as the folder lists them.
fn liveblogs(client: &Client) -> Vec<Value> {
    let items = |folder: &str| {
        let answer = client.get(&format!("/v3/folder/{}", encoded(folder)));
        // It may not be there yet.
        let items = if answer.status == 200 { answer.ok()["items"].take() } else { Value::Null };
        items.as_array().cloned().unwrap_or_default()
    };
    let run = items("/Load").first().and_then(|run| run["id"].as_str().map(str::to_owned));
    run.map(|run| items(&run)).unwrap_or_default().into_iter().filter(|item| item["type"] == "LiveBlog").collect()
}

/// Returns the number of posts in the load's liveblog.
fn posts(client: &Client) -> Option<u64> {
    let found = liveblogs(client);
    let id = found.first()?["id"].as_str()?.to_owned();
    client.get(&format!("/v3/container/liveblog/{}", encoded(&id))).ok()["total"].as_u64()
}

#[test]
fn an_interrupt_ends_it_with_a_report_of_what_followers_heard() {
    let server = Server::start();
    let mut load = load(&server.base, &["--duration", "1h", "--clients", "3", "--followers", "5", "--keep"]);
    let child = load.command.spawn().expect("the binary can be started");
    let client = server.login("admin");
    wait_until("it is worked on", || posts(&client) > Some(10));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("`kill` can be run").success());
    let said = said(&child.wait_with_output().expect("it ends"), 0);
    let report = load.json();
    assert_eq!((&report["interrupted"], &report["verdict"]["finding"]), (&json!(true), &json!("verified")), "{said}");
    assert!(report["delivery"]["deliveries"].as_u64() >= Some(50), "{said}");
    assert_eq!(liveblogs(&client).len(), 1, "what was made is kept if asked");
}

#[test]
fn a_server_without_room_for_followers_is_told_and_nothing_is_left() {
    let server = Server::with(&[("EVENTS__FOLLOWERS", "5")]);
    let said = load(&server.base, &["--followers", "6"]).ends(1);
    assert!(said.contains("a follower can't follow") && said.contains("Overloaded"), "{said}");
    assert_eq!(left(&server), json!([]));
}

/// Returns such a load, run by a shell that first lowers the limit of open files.
fn limited(limit: &str, options: &[&str]) -> Load {
    let Load { directory, command } = load(&Server::shared().base, options);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit {limit} && exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args());
    shell.current_dir(directory.path()).env("STET_LOAD_PASSWORD", ADMIN_PASSWORD);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Load { directory, command: shell }
}

#[test]
fn too_few_open_files_are_reported_before_the_load_and_low_limits_raised() {
    let options = ["--followers", "120", "--clients", "2", "--count", "20", "--mix", "post=1"];
    let said = limited("-n 150", &options).ends(2);
    for part in ["`followers`", "122", "150", "ulimit -n 186"] {
        assert!(said.contains(part), "`{part}` is missing in {said}");
    }
    let report = limited("-S -n 60", &options).verified();
    assert_eq!(report["delivery"]["deliveries"], 20 * 120);
}

#[test]
fn invalid_load_options_are_refused_by_name() {
    let base = &Server::shared().base;
    for (options, parts) in [
        (["--followers", "20001"], ["liveblog.followers", "20001"]),
        (["--mix", "read=1"], ["mix", "read"]),
        (["--text-bytes", "0"], ["liveblog.text-bytes", "0"]),
    ] {
        let said = load(base, &options).ends(2);
        assert!(parts.iter().all(|part| said.contains(part)), "{options:?}: {said}");
    }
}
