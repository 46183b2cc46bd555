//! The end of a load: failures, pass criteria, the comparison with an earlier load, and signals.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::process::Child;

use super::*;

const ADDITIONS: [&str; 10] =
    ["--count", "150", "--clients", "3", "--drawers", "2", "--fill", "0", "--mix", "add=3,delete=1,read=2"];

fn with<'o>(more: &[&'o str]) -> Vec<&'o str> {
    [&ADDITIONS[..], more].concat()
}

#[test]
fn calls_that_fail_end_it_with_a_code_of_their_own_unless_so_many_may() {
    let server = Server::start();
    let lossy = liar(&server, Lie::LoseAnswers);
    let mut load = Load::of(&lossy.base, &with(&[]));
    let said = load.ends(5);
    let report = load.json();
    assert_eq!(report["verdict"]["finding"], "verified", "{said}");
    let failed = report["all"]["failed"].as_u64().expect("a number");
    assert!(failed > 0 && said.contains(&format!("`fail-if` holds: `failed>0` ({failed} of 150)")), "{said}");
    assert!(said.contains(&format!("failed: {failed} × connection lost")), "{said}");
    Load::of(&lossy.base, &with(&["--fail-if", "failed>50%"])).verified();
    let said = Load::of(&lossy.base, &with(&["--fail-if", "failed>50%", "--fail-if", "failed>=1"])).ends(5);
    assert!(said.contains("`failed>=1`") && said.contains("pass criterion failed ≤ 50%: met ("), "{said}");
    // A violation counts before it.
    let liar = liar(&server, Lie::Undo);
    Load::of(&liar.base, &with(&["--fail-if", "p50>0us"])).ends(4);
}

#[test]
fn overload_refusals_count_as_neither_success_nor_failure() {
    let server = Server::start();
    for (lie, code, kind) in [(Lie::Overload, "CMS.Overloaded", "add"), (Lie::TooMany, "status 429", "delete")] {
        let busy = liar(&server, lie);
        let mut load = Load::of(&busy.base, &with(&[]));
        let report = load.verified();
        assert!(busy.has_lied() && is_replayed(&report), "{}", report["verdict"]);
        let refused = report["overloaded"][code].as_u64().expect("a number");
        let (all, kind) = (&report["all"], &report["kinds"][kind]);
        assert_eq!(
            (&all["failed"], &all["overloaded"], &kind["overloaded"]),
            (&json!(0), &json!(refused), &json!(refused))
        );
        assert_eq!(Some(histogram(kind).len()), kind["succeeded"].as_u64(), "a refusal has no part in the latencies");
        assert!(kind["refusals"]["maxUs"].as_u64() > Some(0), "{kind}");
        // Another one: this one is no longer as patient with the preparation.
        let said = Load::of(&liar(&server, lie).base, &with(&["--fail-if", "overloaded>0"])).ends(5);
        assert!(said.contains("`overloaded>0`") && said.contains(&format!("× {code}")), "{said}");
    }
}

#[test]
fn conditions_are_on_latencies_and_rates_and_on_single_operations() {
    let base = &Server::shared().base;
    let bounds = ["--fail-if", "p99<3600s", "--fail-if", "add.max>0us", "--fail-if=rate>1000000"];
    let mut load = Load::of(base, &with(&bounds));
    let said = load.ends(5);
    assert!(said.contains("`fail-if` holds: `p99<3600s` (") && said.contains("`add.max>0us` ("), "{said}");
    let judged = load.json()["failIf"].take();
    let holds: Vec<_> = judged.as_array().expect("a list").iter().map(|judged| judged["holds"] == true).collect();
    assert_eq!(holds, [true, true, false, false], "the last is that no call may fail: {judged}");
    let report = Load::of(base, &with(&["--fail-if", "max>3600s", "--fail-if", "rate<0.001"])).verified();
    assert_eq!(report["failIf"].as_array().map(Vec::len), Some(3));
    for (condition, part) in
        [("p98>5ms", "`p98`"), ("move.p99>5m", "`5m`"), ("nap.p99>5ms", "`nap`"), ("rate<1x", "`compare`")]
    {
        let said = Load::of(base, &["--fail-if", condition]).ends(2);
        assert!(said.contains("`fail-if`") && said.contains(part) && !said.contains(".rs"), "{said}");
    }
}

#[test]
fn a_load_is_put_beside_an_earlier_one_of_its_kind() {
    let base = &Server::shared().base;
    let mut first = Load::of(base, &with(&[]));
    first.verified();
    let earlier = first.report();
    let path = earlier.to_str().expect("the path is a text");
    let more = ["--seed", "2", "--compare", path, "--fail-if", "rate<0.00001x", "--note", "on two disks"];
    let mut second = Load::of(base, &with(&more));
    let report = second.verified();
    let all =
        &report["comparison"]["operations"].as_array().and_then(|all| all.last().cloned()).expect("there are some");
    assert!(all["operation"] == "all" && all["figures"][0]["ratio"].as_f64() > Some(0.0), "{all}");
    assert_eq!(all["figures"][0]["before"], first.json()["all"]["perSecond"]);
    let different = report["comparison"]["different"].to_string();
    assert!(
        different.contains("seed") && different.contains("on two disks") && !different.contains("clients"),
        "{different}"
    );
    let page = std::fs::read_to_string(second.report().join("report.html")).expect("there is a page");
    is_well_formed(&page);
    assert!(page.contains("Beside the load of"));
    let said = Load::of(base, &with(&["--compare", path, "--fail-if", "p50>0x"])).ends(5);
    assert!(said.contains("x: ") && said.contains(" after "), "{said}");
    for (scenario, path, part) in
        [("topic", path, "is of the scenario `drawer`"), ("drawer", "/nowhere", "/nowhere, which can't be read")]
    {
        let said = Load::scenario(scenario, base, &["--compare", path]).ends(2);
        assert!(said.contains("`compare`") && said.contains(part), "{said}");
    }
}

#[test]
fn the_report_says_of_what_and_from_where_its_figures_are() {
    let server = Server::with(&[("SERVER__BASE_PATH", "/swing/api/rest")]);
    let base = format!("{}/swing/api/rest", server.base);
    let report = Load::of(&base, &with(&["--note", "it's small"])).verified();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((&report["server"]["name"], &report["server"]["version"]), (&json!("stet"), &json!(version)));
    assert!(report["server"]["store"]["commits"].as_u64() > Some(20), "{}", report["server"]);
    let client = &report["client"];
    assert_eq!(client["version"], version);
    assert!(client["machine"]["cores"].as_u64() > Some(0) && client["machine"]["kernel"] != "", "{client}");
    let line = client["commandLine"].as_str().expect("a text");
    assert!(line.contains(" load drawer --url http://") && line.ends_with(r"--note 'it'\''s small'"), "{line}");
    assert!(report["begun"].as_str().is_some_and(|begun| begun.ends_with('Z')), "{}", report["begun"]);
    assert_eq!(report["parameters"]["note"], "it's small");
    // Numbers of one are reported in the singular.
    let one = [
        "--count",
        "1",
        "--clients",
        "1",
        "--hot",
        "--objects",
        "1",
        "--capacity",
        "1",
        "--fill",
        "1",
        "--mix",
        "read=1",
    ];
    let report = Load::of(&base, &one).verified();
    let said = report["verdict"]["details"].to_string() + &report["parameters"].to_string();
    for part in ["1 read noted", "0 changes were acknowledged", "of 1 drawer, applied one after", "1 item each"] {
        assert!(said.contains(part), "`{part}` is missing in {said}");
    }
}

fn interrupt(pid: u32) {
    assert!(Command::new("kill").args(["-INT", &pid.to_string()]).status().expect("`kill` can be run").success());
}

/// A load whose server stands still, with its output in a file; and that file's text.
fn stuck(hanging: &proxy::Proxy, output: &Path) -> (RefCell<Child>, TempDir) {
    let Load { directory, mut command } =
        Load::of(&hanging.base, &["--duration", "1h", "--clients", "2", "--timeout", "1h"]);
    let file = File::create(output).expect("a file can be made");
    let copy = file.try_clone().expect("it can be written to twice");
    let child = command.stdout(file).stderr(copy).spawn().expect("the binary can be started");
    wait_until("the server stands still", || hanging.has_lied());
    (RefCell::new(child), directory)
}

#[test]
fn a_second_signal_ends_it_at_once_whatever_it_waits_for() {
    let server = Server::start();
    let hanging = liar(&server, Lie::Hang);
    let output = tempfile::NamedTempFile::new().expect("a file can be made");
    let (child, directory) = stuck(&hanging, output.path());
    let said = || std::fs::read_to_string(output.path()).expect("it can be read");
    let ended = || child.borrow_mut().try_wait().expect("it can be asked");
    let pid = child.borrow().id();
    interrupt(pid);
    wait_until("the first is heard", || said().contains("stopping: waiting for running calls"));
    assert_eq!(ended(), None, "a call is under way for up to an hour: {}", said());
    interrupt(pid);
    wait_until("it ends", || ended().is_some());
    let status = ended().expect("it has");
    assert_eq!(status.code(), Some(1), "{}", said());
    let told = said();
    assert!(told.contains("it was stopped at once, without verification and report; /Load/"), "{told}");
    assert!(!directory.path().join("report/report.json").exists());
    let left = left(&server);
    assert_eq!(left.as_array().map(Vec::len), Some(1), "what it says is left behind is: {left}");
}
