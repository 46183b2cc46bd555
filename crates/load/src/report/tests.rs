use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::followers::FollowerOutcome;
use crate::followers::board::{Board, CallTimes};
use crate::measure::{Punctuality, Recorder};
use crate::saturation::ThreadLoad;
use crate::scenario::{OperationOutcome, VerificationFinding};
use crate::server::StoreFacts;

/// A load of a server that says odd things.
fn report(finding: VerificationFinding) -> LoadReport {
    let mut recorder = Recorder::new(2);
    let mut series = MeasurementSeries::default();
    let mut codes = OutcomeCodes::default();
    for second in 1..=5u64 {
        // Nothing at all in one second.
        for n in (0..200).take_while(|_| second != 3) {
            let outcome = match n % 50 {
                0 => OperationOutcome::Failed("<b>&\"odd\"\u{0}".into()),
                1 => OperationOutcome::Refused("CMS.DrawerFull".into()),
                2 => OperationOutcome::Overloaded("CMS.Overloaded".into()),
                _ => OperationOutcome::Succeeded,
            };
            recorder.record((n % 2) as usize, Duration::from_micros(n * n + 100), outcome, true);
        }
        let mut slice = recorder.take_slice();
        codes.add(std::mem::take(&mut slice.codes));
        series.push(second as f64, slice);
    }
    let mut all = KindMeasurements::default();
    recorder.kinds.iter().for_each(|kind| all.add(kind));
    let thread = ThreadLoad { cpu: 0.9, peak_cpu: 0.97, waited: Some(0.0) };
    LoadReport {
        scenario: "drawer",
        parameters: vec![("server".into(), "http://host/a?b=<&>".into()), ("seed".into(), "1".into())],
        begun: SystemTime::UNIX_EPOCH,
        elapsed_s: 5.0,
        interrupted: true,
        open: true,
        kinds: ["read", "add"].into_iter().zip(recorder.kinds).collect(),
        all,
        codes,
        series,
        delivery: None,
        hostile: None,
        rules: "the drawers",
        saturation: Saturation::of(vec![thread], Some((&Punctuality::default(), 1000, 1000)), true),
        verdict: LoadVerdict {
            finding,
            method: "Replay".into(),
            details: vec!["some".into()],
            problems: vec!["object <3> & more".into()],
        },
        judged: vec![ConditionResult {
            condition: "p99>50ms".into(),
            criterion: "p99 ≤ 50ms".into(),
            value: "<60> ms".into(),
            holds: true,
        }],
        comparison: None,
        command_line: "stet load <drawer>".into(),
        machine: Machine {
            cores: 1,
            processor: Some("A & B".into()),
            memory_bytes: Some(3 << 29),
            kernel: "Linux 6".into(),
        },
        server: ServerFacts {
            name: Some("<stet>".into()),
            version: Some("0.1.0".into()),
            info: [("stet_build_info".to_owned(), [("rustc".to_owned(), "1.90".to_owned())].into())].into(),
            store: Some(StoreFacts { commits: 1, mean_commit_us: 2300 }),
        },
    }
}

/// A report of that load, compared with an earlier load.
fn compared() -> LoadReport {
    let mut earlier: serde_json::Value =
        serde_json::from_str(&json::json(&report(VerificationFinding::Verified)).expect("it can be written"))
            .expect("JSON");
    earlier["all"]["perSecond"] = serde_json::json!(300.8);
    earlier["parameters"]["seed"] = serde_json::json!("<2>");
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    std::fs::write(file.path(), earlier.to_string()).expect("it can be written");
    let judge = Judge::new(&["rate<0.9x".to_owned()], Some(file.path()), "drawer", &["read", "add"], json::FORMAT);
    let mut report = report(VerificationFinding::Verified);
    let measured = report.measured();
    report.comparison = judge.expect("what is written can be read").compare(&measured);
    report
}

#[test]
fn a_report_is_put_beside_an_earlier_one_in_all_its_forms() {
    let report = compared();
    let table = text::table(&report);
    for words in [&["rate", "150/s", "301/s", "0.50x"][..], &["p50", "9.9", "ms", "9.9", "ms", "1.00x"]] {
        assert!(table.lines().any(|line| line.split_whitespace().eq(words.iter().copied())), "{words:?} in\n{table}");
    }
    assert!(table.contains("not alike: seed is 1, and was <2>"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("add ") && line.matches("1.00x").count() == 11), "{table}");
    let (text, _) = parsed(&html::page(&report));
    for part in ["Beside the load of 1970-01-01T00:00:00", "0.50x", "seed is 1, and was"] {
        assert!(text.contains(part), "`{part}` is missing in {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&json::json(&report).expect("it can be written")).expect("JSON");
    let all = &json["comparison"]["operations"][2];
    assert_eq!((&all["operation"], &all["figures"][0]["figure"]), (&"all".into(), &"rate".into()));
    assert_eq!((&all["figures"][0]["ratio"], &all["figures"][0]["before"]), (&0.5.into(), &300.8.into()));
}

#[test]
fn the_server_the_machine_and_the_conditions_are_in_the_report() {
    let report = report(VerificationFinding::Verified);
    let table = text::table(&report);
    for part in [
        "server: <stet> 0.1.0",
        "stet_build: rustc 1.90",
        "its store: 1 commit, 2.3 ms each on average",
        "load from: 1 processor (A & B), 1.5 GiB of memory, Linux 6",
        "stet load <drawer>",
        "pass criterion p99 ≤ 50ms: NOT MET (<60> ms)",
    ] {
        assert!(table.contains(part), "`{part}` is missing in\n{table}");
    }
    let json: serde_json::Value = serde_json::from_str(&json::json(&report).expect("it can be written")).expect("JSON");
    assert_eq!((&json["server"]["version"], &json["client"]["machine"]["cores"]), (&"0.1.0".into(), &1.into()));
    assert_eq!(json["client"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&json["failIf"][0]["condition"], &json["failIf"][0]["holds"]), (&"p99>50ms".into(), &true.into()));
    let here = Machine::here();
    assert!(here.cores > 0 && !here.kernel.trim().is_empty(), "{here:?}");
    let words = ["stet", "load", "--note", "it's", "", "--url", "http://h:1/a"].map(str::to_owned);
    assert_eq!(command_line(words.into_iter()), r"stet load --note 'it'\''s' '' --url http://h:1/a");
}

/// A report of that load with two followers, whose streams ended for an odd reason.
fn followed(finding: VerificationFinding) -> LoadReport {
    let board = Board::new(0);
    for revision in 1..=40u64 {
        let now = board.now();
        board.heard(revision, "liveblog.post.add", "{\"ids\":[\"1$1.0.1\"]}", revision);
        board.made(revision, CallTimes { sent: now, answered: now });
        board.heard(revision, "liveblog.post.add", "{\"ids\":[\"1$1.0.1\"]}", revision);
    }
    let thread = ThreadLoad { cpu: 0.5, peak_cpu: 0.9, waited: None };
    let mut followed = FollowerOutcome { followers: 2, threads: vec![thread], ..FollowerOutcome::default() };
    followed.faults.dropped.insert("<gone> & away".into(), 3);
    let delivery = Delivery::of(board.summary(), followed);
    let mut report = LoadReport { scenario: "liveblog", rules: "the liveblog", ..report(finding) };
    report.saturation.follow(&delivery.followed, delivery.deliveries);
    report.delivery = Some(delivery);
    report
}

#[test]
fn followers_have_plots_a_table_and_histograms_of_their_own() {
    let report = followed(VerificationFinding::Verified);
    let page = html::page(&report);
    let (text, _) = parsed(&page);
    for part in [
        "Followers",
        "Delivery by percentile",
        "Delivery to the last follower",
        "the liveblog",
        "followers were the",
        "followers, thread 0",
    ] {
        assert!(text.contains(part), "`{part}` is missing");
    }
    assert!(text.contains("dropped: ") && text.contains("away"), "the reason is there, whatever it is");
    assert_eq!(page.matches("<svg").count(), 7);
    assert!(!page.contains("NaN") && !page.contains("inf"));
    let json: serde_json::Value = serde_json::from_str(&json::json(&report).expect("it can be written")).expect("JSON");
    let delivery = &json["delivery"];
    assert_eq!(
        (&delivery["events"], &delivery["deliveries"], &delivery["beforeAnswer"]),
        (&40.into(), &80.into(), &0.into())
    );
    assert_eq!((&delivery["lastSinceSent"]["count"], &delivery["dropped"]["<gone> & away"]), (&40.into(), &3.into()));
    assert_eq!(json["saturation"]["remarks"].as_array().map(Vec::len), Some(2));
    let table = text::table(&report);
    for part in
        ["last, since sent", "dropped: <gone> & away: 3", "events: 40, heard 80 times", "warning: The followers were"]
    {
        assert!(table.contains(part), "`{part}` is missing in\n{table}");
    }
    let without: serde_json::Value =
        serde_json::from_str(&json::json(&self::report(VerificationFinding::Verified)).unwrap()).unwrap();
    assert!(without.get("delivery").is_none());
}

#[test]
fn followers_that_heard_nothing_have_a_page_too() {
    let mut empty = followed(VerificationFinding::Unknown);
    empty.delivery = Some(Delivery::of(Board::new(0).summary(), FollowerOutcome::default()));
    empty.saturation.follow(&FollowerOutcome::default(), 0);
    let page = html::page(&empty);
    parsed(&page);
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    assert!(!text::table(&empty).contains("NaN") && json::json(&empty).is_ok());
}

/// Asserts that every element is closed in the right place. Returns the text of the page and its
/// attributes.
fn parsed(page: &str) -> (String, Vec<(String, String)>) {
    let mut reader = Reader::from_str(page);
    let (mut text, mut attributes, mut depth) = (String::new(), Vec::new(), 0);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} in {page}")) {
            Event::Start(tag) => {
                depth += 1;
                attributes.extend(tag.attributes().map(|attribute| named(&attribute.expect("it is well-formed"))));
            }
            Event::Empty(tag) => {
                attributes.extend(tag.attributes().map(|attribute| named(&attribute.expect("it is well-formed"))));
            }
            Event::End(_) => depth -= 1,
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(_) => text.push('?'),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0, "something is left open");
    (text, attributes)
}

fn named(attribute: &quick_xml::events::attributes::Attribute<'_>) -> (String, String) {
    (attribute.key.as_ref().to_owned(), attribute.value.clone().into_owned())
}

#[test]
fn the_html_report_is_well_formed_and_self_contained_for_any_input() {
    for (finding, word) in [
        (VerificationFinding::Verified, "verified"),
        (VerificationFinding::Violated, "NOT AS"),
        (VerificationFinding::Unknown, "not verified"),
    ] {
        let page = html::page(&report(finding));
        let (text, attributes) = parsed(&page);
        for part in [
            word,
            "bottleneck",
            "ended by hand",
            "a second",
            "p99",
            "CMS.DrawerFull",
            "seed",
            "odd",
            "Pass criteria",
            "✗ not met",
        ] {
            assert!(text.contains(part), "`{part}` is missing");
        }
        for (name, value) in attributes {
            let refers =
                ["src", "href", "xlink:href", "data", "action"].contains(&name.as_str()) || value.contains("url(");
            assert!(!refers && !name.starts_with("on"), "{name}={value}");
        }
        for part in ["<script", "@import", "url(", "<link", "<iframe", "NaN", "inf"] {
            assert!(!page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg").count(), 5, "throughput, latency, percentiles, errors, refusals");
        assert!(page.contains("prefers-color-scheme: dark"));
    }
}

/// Regression test: both were in one chart, so that planned refusals looked like errors.
#[test]
fn planned_refusals_stand_apart_from_errors() {
    let page = html::page(&report(VerificationFinding::Verified));
    let errors = page.split("<h2>").find(|part| part.starts_with("Errors by code")).expect("it is there");
    assert!(errors.contains("CMS.Overloaded") && errors.contains("odd") && !errors.contains("DrawerFull"), "{errors}");
    let planned = page.split("<h2>").find(|part| part.starts_with("Planned refusals")).expect("it is there");
    assert!(planned.contains("CMS.DrawerFull") && !planned.contains("Overloaded"), "{planned}");
    let mut well = report(VerificationFinding::Verified);
    well.codes = OutcomeCodes::default();
    let (text, _) = parsed(&html::page(&well));
    assert!(text.contains("nothing failed") && text.contains("no rule was touched"), "{text}");
}

#[test]
fn a_load_in_which_nothing_was_answered_has_a_page_too() {
    let mut empty = report(VerificationFinding::Unknown);
    (empty.kinds, empty.all, empty.codes) =
        (vec![("read", KindMeasurements::default())], KindMeasurements::default(), OutcomeCodes::default());
    (empty.series, empty.elapsed_s) = (MeasurementSeries::default(), 0.0);
    let page = html::page(&empty);
    parsed(&page);
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    assert!(json::json(&empty).is_ok());
}

#[test]
fn the_histograms_in_the_json_are_those_that_were_measured() {
    let report = report(VerificationFinding::Verified);
    let json: serde_json::Value = serde_json::from_str(&json::json(&report).expect("it can be written")).expect("JSON");
    let read = |value: &serde_json::Value| -> Histogram<u64> {
        let bytes = STANDARD.decode(value["histogram"].as_str().expect("it is there")).expect("it is base64");
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("it is a histogram")
    };
    assert_eq!(read(&json["all"]), report.all.latency);
    assert_eq!(read(&json["kinds"]["add"]), report.kinds[1].1.latency);
    assert_eq!(json["all"]["p99Us"], report.all.latency.value_at_quantile(0.99));
    assert_eq!((&json["refused"]["CMS.DrawerFull"], &json["overloaded"]["CMS.Overloaded"]), (&16.into(), &16.into()));
    // In five seconds there were 800 calls. Of them, 16 each were refused by rule, refused for
    // overload, and failed.
    let all = &json["all"];
    assert_eq!((&all["succeeded"], &all["overloaded"], &all["perSecond"]), (&752.into(), &16.into(), &150.4.into()));
    assert_eq!(json["series"][0]["perSecond"], 188.0);
    assert_eq!((&json["verdict"]["finding"], &json["interrupted"]), (&"verified".into(), &true.into()));
    assert_eq!(json["series"].as_array().map(Vec::len), Some(5));
    let warnings = json["saturation"]["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1);
}

#[test]
fn the_table_has_a_line_for_each_kind_and_the_verdict() {
    let table = text::table(&report(VerificationFinding::Violated));
    for part in [
        "read",
        "all",
        "150 a second succeeded; of 800, 94.0 % succeeded, 2.0 % were refused by rule, 2.0 % were refused for overload, 2.0 % failed",
        "refused: 16 × CMS.DrawerFull",
        "overloaded: 16 × CMS.Overloaded",
        "warning: The generator was the bottleneck",
        "NOT AS",
        "<3>",
    ] {
        assert!(table.contains(part), "`{part}` is missing in\n{table}");
    }
    let widths: Vec<_> = table.lines().take(4).map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
}
