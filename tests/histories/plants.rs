//! Faults on purpose (`crates/domain/src/planted.rs`): a check that finds none of them proves
//! nothing. They need the feature `planted-bugs`, which `scripts/test` builds all tests with: a
//! fault sleeps unless a server's environment names it.

use std::collections::BTreeSet;
use std::process::Command;

/// The name of the variable that chooses a fault. Every binary with faults contains it.
const NAME: &str = "STET_PLANTED_BUG";

fn binary_knows_of_plants() -> bool {
    // The binary is large, and a search that was built for tests is slow.
    let grep = Command::new("grep").args(["-qaF", NAME]).arg(crate::harness::binary()).status();
    match grep.expect("`grep` can be run").code() {
        Some(0) => true,
        Some(1) => false,
        code => panic!("the binary can't be searched: {code:?}"),
    }
}

/// Packages of this workspace that a build with these arguments has the faults in, by Cargo's own
/// reckoning.
fn packages_with_plants(arguments: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["tree", "--locked", "--workspace", "--prefix", "none", "--format", "{p} {f}"]).args(arguments);
    let output = command.output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo writes text");
    assert!(text.contains("stet-actors"), "{text}");
    let with = text.lines().filter(|line| line.contains("planted-bugs"));
    with.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn no_build_has_the_faults_but_one_that_asks_for_them() {
    assert_eq!(packages_with_plants(&[]), BTreeSet::new());
    let asked = packages_with_plants(&["--features", "planted-bugs"]);
    assert_eq!(asked, BTreeSet::from(["stet", "stet-actors", "stet-domain", "stet-store"].map(str::to_owned)));
}

#[cfg(not(feature = "planted-bugs"))]
#[test]
fn a_normal_build_has_no_planted_faults() {
    assert!(!binary_knows_of_plants());
}

#[cfg(feature = "planted-bugs")]
mod planted {
    use super::super::drawers::Drawers;
    use super::super::newsroom::{Plan, Subject, run};
    use super::super::objects::Object;
    use super::super::objects::spec::{Change, PLAIN};
    use super::super::objects::wire;
    use super::super::plans::Plans;
    use super::super::posts::LiveBlog;
    use super::super::topics::Topics;
    use crate::harness::*;

    /// Rounds within which each fault must be found.
    const ROUNDS: usize = 12;

    type Contents = Object<false>;
    type Locks = Object<true>;

    fn is_found<S: Subject>(settings: &'static [(&'static str, &'static str)], kills_every: Option<usize>) {
        let plan = Plan { seed: seed("STET_HISTORY_SEED"), rounds: ROUNDS, kills_every, settings };
        let story = run::<S>(&plan).expect_err("the fault was not found");
        assert!(story.contains("nothing explains this"), "{story}");
        println!("{settings:?}: {story}");
    }

    #[test]
    fn the_faults_are_in_this_build() {
        assert!(super::binary_knows_of_plants());
    }

    #[test]
    fn without_a_name_nothing_is_wrong() {
        let plan = Plan { seed: seed("STET_HISTORY_SEED"), rounds: 2, kills_every: Some(2), settings: &[] };
        for run in [run::<Drawers>, run::<LiveBlog>, run::<Contents>, run::<Locks>, run::<Topics>, run::<Plans>] {
            run(&plan).unwrap_or_else(|story| panic!("{story}"));
        }
    }

    /// A reader saw a new version in the rows, and then the record of before it in a cache.
    #[test]
    fn rows_are_not_shown_before_views_and_caches_show_them() {
        let settings = &[("PLANTED_BUG", "late-views")];
        let plan = Plan { seed: seed("STET_HISTORY_SEED"), rounds: 2, kills_every: None, settings };
        for run in [run::<Drawers>, run::<LiveBlog>, run::<Contents>, run::<Locks>, run::<Topics>, run::<Plans>] {
            run(&plan).unwrap_or_else(|story| panic!("{story}"));
        }
        assert!(!goes_back(settings), "a record of before what was read is shown");
        assert!(goes_back(&[("PLANTED_BUG", "hasty-read")]), "the fault was not found");
    }

    /// Returns whether a reader sees the new content of an object (rows), and then its earlier
    /// record (a cache).
    fn goes_back(settings: &[(&str, &str)]) -> bool {
        let server = Server::with(settings);
        let client = server.login("editor");
        let story = client.story(&own_folder(), "story");
        (1..=10).any(|length| {
            let length_in_record = || client.get(&wire::path(&story, "")).ok()["virtualAttributes"]["size"].as_u64();
            // From here on it is in the cache.
            let before = length_in_record();
            let change = Change::Write(PLAIN, Some(()));
            std::thread::scope(|scope| {
                let write = scope.spawn(|| wire::send(&client, &story, &change, |()| vec![b' '; length]));
                wait_until("the content is there", || client.get(&wire::path(&story, "/content")).body.len() == length);
                let after = length_in_record();
                write.join().expect("it must not fail").expect("the server is up").ok();
                after == before
            })
        })
    }

    #[test]
    fn a_reply_before_the_commit_is_found_by_a_kill() {
        is_found::<Drawers>(&[("PLANTED_BUG", "early-reply")], Some(1));
    }

    #[test]
    fn a_lost_update_is_found() {
        is_found::<Drawers>(&[("PLANTED_BUG", "lost-update")], None);
    }

    #[test]
    fn a_stale_read_is_found() {
        is_found::<Drawers>(&[("PLANTED_BUG", "stale-read")], None);
    }

    #[test]
    fn a_trim_of_the_wrong_item_is_found() {
        is_found::<Drawers>(&[("PLANTED_BUG", "wrong-trim")], None);
    }

    #[test]
    fn a_move_that_a_crash_can_tear_is_found() {
        is_found::<Drawers>(&[("PLANTED_BUG", "torn-move")], Some(1));
    }

    #[test]
    fn an_answer_that_speaks_of_what_is_not_on_disk_yet_is_found() {
        is_found::<Drawers>(&[("PLANTED_BUG", "hasty-answer")], None);
    }

    #[test]
    fn a_post_whose_status_a_crash_takes_back_is_found() {
        is_found::<LiveBlog>(&[("PLANTED_BUG", "lost-status")], Some(1));
    }

    #[test]
    fn a_stale_listing_of_posts_is_found() {
        is_found::<LiveBlog>(&[("PLANTED_BUG", "stale-read")], None);
    }

    #[test]
    fn bytes_that_are_not_those_of_their_version_are_found() {
        is_found::<Contents>(&[("PLANTED_BUG", "lost-bytes")], None);
    }

    #[test]
    fn a_lock_that_two_hold_after_a_restart_is_found() {
        is_found::<Locks>(&[("PLANTED_BUG", "lost-lock")], Some(1));
    }

    #[test]
    fn a_lost_update_of_a_topic_is_found() {
        is_found::<Topics>(&[("PLANTED_BUG", "lost-update")], None);
    }

    #[test]
    fn a_move_between_topics_that_a_crash_can_tear_is_found() {
        is_found::<Topics>(&[("PLANTED_BUG", "torn-move")], Some(1));
    }

    #[test]
    fn a_move_between_topics_that_looks_for_its_items_too_early_is_found() {
        is_found::<Topics>(&[("PLANTED_BUG", "early-look")], None);
    }

    #[test]
    fn a_move_between_plans_that_a_crash_can_tear_is_found() {
        is_found::<Plans>(&[("PLANTED_BUG", "torn-move")], Some(1));
    }

    #[test]
    fn a_move_between_plans_that_looks_for_its_topics_too_early_is_found() {
        is_found::<Plans>(&[("PLANTED_BUG", "early-look")], None);
    }
}
