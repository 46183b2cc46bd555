use std::io::Write;

use serde_json::json;

use super::*;
use crate::measure::{OutcomeCounts, Quantiles};

const KINDS: &[&str] = &["read", "add"];
const FORMAT: u32 = 2;

/// 1000 operations, of which 20 failed and 190 were refused, at 40 successes a second.
fn figures() -> Figures {
    let counts = OutcomeCounts { succeeded: 780, refused: 190, overloaded: 10, failed: 20 };
    let quantiles =
        Quantiles { p50_us: 2000, p90_us: 8000, p95_us: 9000, p99_us: 50_000, p999_us: 70_000, max_us: 90_000 };
    Figures { counts, per_second: 40.0, quantiles }
}

fn judged(fail_if: &[&str], now: Figures) -> Vec<(String, bool)> {
    let texts: Vec<String> = fail_if.iter().map(|text| (*text).to_owned()).collect();
    let judge = Judge::new(&texts, None, "drawer", KINDS, FORMAT).unwrap_or_else(|error| panic!("{error}"));
    let measured = LoadFigures { all: now, kinds: vec![("add", now)], parameters: &[] };
    judge.judge(&measured).into_iter().map(|judged| (judged.condition, judged.holds)).collect()
}

#[track_caller]
fn holds(condition: &str, is: bool) {
    // Of failures it has been said enough.
    assert_eq!(judged(&[condition, "failed>100%"], figures())[0], (condition.to_owned(), is));
}

#[test]
fn a_criterion_is_what_keeps_its_condition_from_holding() {
    for (condition, criterion) in [
        ("failed>0", "failed = 0"),
        ("failed > 1%", "failed ≤ 1%"),
        ("failed>=1", "failed < 1"),
        ("read.p99>50ms", "read.p99 ≤ 50ms"),
        ("rate<500", "rate ≥ 500"),
        ("rate<=0.9x", "rate > 0.9x"),
    ] {
        let parsed = Condition::parse(condition, &["read"]).expect("it is one");
        let figures = Figures::default();
        assert_eq!(parsed.judge(|_| (figures, None)).criterion, criterion);
    }
}

#[test]
fn each_figure_is_held_against_a_bound_in_its_own_unit() {
    for (condition, is) in [
        ("p99>50ms", false),
        ("p99>=50ms", true),
        ("p99>0.04s", true),
        ("p99<50001us", true),
        ("p50>2000us", false),
        ("p90>=8ms", true),
        ("p95>=9.1ms", false),
        ("p999<=70ms", true),
        ("max>89ms", true),
        ("max>89999µs", true),
        ("rate<40", false),
        ("rate<40.5", true),
        ("rate<=40/s", true),
        ("failed>20", false),
        ("failed>19", true),
        ("failed>2%", false),
        ("failed>1.9%", true),
        ("refused>=19%", true),
        ("overloaded>1%", false),
        ("overloaded>0", true),
        ("succeeded<78%", false),
        ("succeeded<781", true),
        ("add.p99>40ms", true),
        ("add.failed>1%", true),
    ] {
        holds(condition, is);
    }
    assert_eq!(judged(&[" p99 > 40 ms ", "failed>5%"], figures())[0], ("p99>40ms".to_owned(), true));
}

#[test]
fn criteria_without_a_value_never_hold() {
    let none = Figures::default();
    assert_eq!(judged(&["p99<1ms", "p99>1s", "failed>0"], none).map_holds(), [true, true, false]);
    // Of a kind that was not tried, too.
    assert_eq!(judged(&["read.p99>1s", "read.failed>0%"], figures()).map_holds(), [true, true, true]);
    let refused = Figures { counts: OutcomeCounts { refused: 5, ..OutcomeCounts::default() }, ..none };
    assert_eq!(judged(&["max>1s"], refused).map_holds(), [true, false]);
}

trait Holds {
    fn map_holds(self) -> Vec<bool>;
}

impl Holds for Vec<(String, bool)> {
    fn map_holds(self) -> Vec<bool> {
        self.into_iter().map(|(_, holds)| holds).collect()
    }
}

#[test]
fn no_call_may_fail_unless_a_condition_says_how_many_may() {
    assert_eq!(judged(&[], figures()), [("failed>0".to_owned(), true)]);
    assert_eq!(judged(&["failed>5%"], figures()), [("failed>5%".to_owned(), false)]);
    let both = judged(&["p99>1s", "add.failed>5%"], figures());
    assert_eq!(both.map_holds(), [false, false, true], "one kind's failures are not all");
}

#[test]
fn a_condition_that_can_not_be_read_is_told_with_what_there_is() {
    for (text, parts) in [
        ("", &["no comparison", ">=", "p99>50ms"][..]),
        ("p99", &["`p99`", "no comparison"]),
        ("p99=50ms", &["no comparison"]),
        ("p98>5ms", &["no figure `p98`", "p50", "p999", "max", "rate", "succeeded", "refused", "overloaded", "failed"]),
        ("P99>5ms", &["no figure `P99`"]),
        ("nap.p99>5ms", &["no operation `nap`", "read, add"]),
        ("p99>50", &["`50` is no time like 50ms", "us, ms and s"]),
        ("p99>50m", &["`50m` is no time"]),
        ("p99>-5ms", &["`-5ms` is no time"]),
        ("p99>ms", &["`ms` is no time"]),
        ("p99>1.2.3ms", &["`1.2.3ms` is no time"]),
        ("p99>=>5ms", &["`>5ms` is no time"]),
        ("p99>5%", &["`5%` is no time"]),
        ("rate<9%", &["`9%` is no number of successes a second"]),
        ("rate<", &["`` is no number of successes a second"]),
        ("failed>1ms", &["`1ms` is no number like 10 and no share like 1%"]),
        ("rate<0.9x", &["ratio", "`compare`"]),
    ] {
        let error = Judge::new(&[text.to_owned()], None, "drawer", KINDS, FORMAT).expect_err(text);
        assert!(error.contains("`fail-if`") && error.contains(&format!("`{text}`")), "{error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        assert!(!error.contains(".rs"), "{error}");
    }
}

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    file
}

fn earlier() -> serde_json::Value {
    let all = json!({ "succeeded": 1560, "refused": 380, "overloaded": 0, "failed": 60, "perSecond": 80.0, "p50Us": 1000,
        "p90Us": 8000, "p95Us": 9000, "p99Us": 25000, "p999Us": 70000, "maxUs": 90000, "share": 1.0, "histogram": "x" });
    let mut add = all.clone();
    add["succeeded"] = json!(0);
    json!({ "format": 2, "scenario": "drawer", "begun": "2026-01-31T08:00:00Z\u{1b}[31m", "all": all, "kinds": { "add": add },
        "parameters": { "clients": "16", "gone": "1" }, "what a later one says": [] })
}

fn beside(fail_if: &[&str]) -> (Vec<ConditionResult>, LoadComparison) {
    let file = file(earlier().to_string().as_bytes());
    let texts: Vec<String> = fail_if.iter().map(|text| (*text).to_owned()).collect();
    let judge =
        Judge::new(&texts, Some(file.path()), "drawer", KINDS, FORMAT).unwrap_or_else(|error| panic!("{error}"));
    let parameters = [("clients".to_owned(), "32".to_owned()), ("seed".to_owned(), "1".to_owned())];
    let kinds = vec![("read", figures()), ("add", figures())];
    let measured = LoadFigures { all: figures(), kinds, parameters: &parameters };
    (judge.judge(&measured), judge.compare(&measured).expect("there is an earlier one"))
}

#[test]
fn figures_are_put_beside_those_of_an_earlier_load() {
    let (judged, comparison) =
        beside(&["rate<0.9x", "p99>1.9x", "p99>2x", "failed>1x", "overloaded>5x", "add.p99<9x", "read.rate<0.1x"]);
    let holds: Vec<_> = judged.iter().map(|judged| judged.holds).collect();
    // 40 after 80, 50 ms after 25 ms, 2 % failed after 3 %; there were none to compare with before
    // of the last two.
    assert_eq!(holds, [true, true, false, false, true, true, true], "{judged:?}");
    assert!(judged[0].value.contains("0.50x: 40/s after 80/s"), "{}", judged[0].value);
    let all = comparison.operations.last().expect("all together are last");
    let ratio =
        |name: &str| all.figures.iter().find(|beside| beside.figure.name() == name).and_then(|beside| beside.ratio);
    assert_eq!((ratio("rate"), ratio("p50"), ratio("max")), (Some(0.5), Some(2.0), Some(1.0)));
    assert_eq!(ratio("overloaded"), None, "there were none");
    assert!(ratio("failed").is_some_and(|ratio| (ratio - 2.0 / 3.0).abs() < 1e-9), "the share counts: {all:?}");
    let names: Vec<_> = comparison.operations.iter().map(|compared| compared.operation.as_str()).collect();
    assert_eq!(names, ["read", "add", "all"]);
    let different: Vec<_> = comparison.different.iter().map(|difference| difference.parameter.as_str()).collect();
    assert_eq!(different, ["clients", "seed", "gone"]);
    assert_eq!(comparison.different[0].before.as_deref(), Some("16"));
    assert!(!comparison.begun.contains('\u{1b}'), "what a terminal would obey is not passed on");
}

#[test]
fn a_report_that_can_not_be_compared_with_is_told_by_name_and_reason() {
    let read = |path: &Path| Judge::new(&[], Some(path), "drawer", KINDS, FORMAT);
    let mut old = earlier();
    old["format"] = json!(1);
    let mut other = earlier();
    other["scenario"] = json!("topic");
    let mut odd = earlier();
    odd["all"]["p99Us"] = json!(-1);
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let large = vec![b' '; (16 << 20) + 1];
    for (text, part) in [
        (old.to_string().into_bytes(), "has format 1, and only format 2"),
        (other.to_string().into_bytes(), "is of the scenario `topic`, and this one is `drawer`"),
        (odd.to_string().into_bytes(), "is no report of a load"),
        (b"{}".to_vec(), "is no report of a load: missing field `format`"),
        (b"\xff\xfe".to_vec(), "is no report of a load"),
        (Vec::new(), "is no report of a load"),
        (deep, "is no report of a load"),
        (large, "is larger than 16 MiB"),
    ] {
        let file = file(&text);
        let error = read(file.path()).expect_err(part);
        assert!(error.contains("`compare`") && error.contains(&file.path().display().to_string()), "{error}");
        assert!(error.contains(part), "{error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let error = read(directory.path()).expect_err("there is none in it");
    assert!(error.contains("report.json") && error.contains("can't be read"), "{error}");
    std::fs::write(directory.path().join("report.json"), earlier().to_string()).unwrap();
    assert!(read(directory.path()).is_ok(), "a directory stands for the report in it");
}
