//! The rules of `deploy/prometheus/alerts.yml` on metrics of real servers, over the periods that
//! they require. Prometheus' own `promtool` evaluates them. Its input is made of two scrapes: one
//! before the cause of an alert and one after it.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::scrape::Scrape;
use super::{file, text};

/// Minutes before and after the cause.
const BEFORE: usize = 10;
const AFTER: usize = 60;

/// The course of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A single event, whose effect remains.
    Once,
    /// A continuing cause: counters grow each minute as they did at first.
    GoesOn,
}

/// Runs a program of Prometheus; `None` where it is missing, which it may not be where everything
/// is to be tested.
pub fn run(program: &str, arguments: &[&str], input: Option<&str>) -> Option<Output> {
    use std::io::Write;
    use std::process::Stdio;

    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{program} is missing: {error}");
            println!("skipped: there is no {program}");
            return None;
        }
    };
    let mut stdin = child.stdin.take().expect("its input is piped");
    // It may end without reading all of it.
    let _ = stdin.write_all(input.unwrap_or_default().as_bytes());
    drop(stdin);
    Some(child.wait_with_output().expect("it can be waited for"))
}

/// Runs a program of Prometheus, which must report success.
pub fn agrees(program: &str, arguments: &[&str], input: Option<&str>) {
    let Some(output) = run(program, arguments, input) else { return };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// The names of all alerts.
pub fn alerts() -> BTreeSet<String> {
    let rules = text("deploy/prometheus/alerts.yml");
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect()
}

/// The course of a series as `promtool` takes it.
fn course(before: Option<f64>, after: Option<f64>, grows: bool) -> String {
    let held = |value: f64, times: usize| format!("{value}+0x{}", times - 1);
    let first = before.map_or_else(|| format!("_x{BEFORE}"), |value| held(value, BEFORE));
    let then = match (before, after) {
        (_, None) => "stale".to_owned(),
        (Some(before), Some(after)) if grows => format!("{after}+{}x{}", after - before, AFTER - 1),
        (_, Some(after)) => held(after, AFTER),
    };
    format!("{first} {then}")
}

/// Returns the series of a server that is in the state `before` for ten minutes, and then in the
/// state `after` for an hour.
fn input(before: &Scrape, after: &Scrape, cause: Cause) -> Value {
    let at = [("job", "stet"), ("instance", "here")].map(|(name, value)| format!("{name}=\"{value}\"")).join(",");
    let up = |scrape: &Scrape| Some(f64::from(u8::from(scrape.up)));
    let mut input = vec![json!({ "series": format!("up{{{at}}}"), "values": course(up(before), up(after), false) })];
    // The time of `promtool` begins with 1970, so points in time are shifted as if the scrape were
    // then.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs() as f64;
    for series in before.series.keys().chain(after.series.keys()).collect::<BTreeSet<_>>() {
        let named = match series.split_once('{') {
            Some((name, labels)) => format!("{name}{{{at},{labels}"),
            None => format!("{series}{{{at}}}"),
        };
        let grows = cause == Cause::GoesOn && after.counts(series);
        let since = if before.is_time(series) || after.is_time(series) { now } else { 0.0 };
        let value = |scrape: &Scrape| scrape.series.get(series).map(|value| value - since);
        let values = course(value(before), value(after), grows);
        input.push(json!({ "series": named, "values": values }));
    }
    json!(input)
}

/// Evaluates expressions, each after a number of minutes. Each must have the given value.
fn evaluated(before: &Scrape, after: &Scrape, cause: Cause, wanted: &[(String, usize, usize)]) {
    let tests: Vec<Value> = wanted
        .iter()
        .map(|(expression, minute, value)| {
            json!({ "expr": expression, "eval_time": format!("{minute}m"), "exp_samples": [{ "labels": "{}", "value": value }] })
        })
        .collect();
    let course = json!({
        "rule_files": [file("deploy/prometheus/alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [{ "interval": "1m", "input_series": input(before, after, cause), "promql_expr_test": tests }],
    });
    let folder = TempDir::new().expect("a temporary directory can be made");
    let path = folder.path().join("course.yml");
    // JSON is YAML.
    std::fs::write(&path, course.to_string()).expect("a file can be written");
    agrees("promtool", &["test", "rules", path.to_str().expect("the path is text")], None);
}

/// Returns an expression: 1 if the alert was raised or pending in the last two hours, else 0.
fn fired(selector: &str) -> String {
    format!("clamp_max(count(count_over_time(ALERTS{{{selector}}}[2h])) or vector(0), 1)")
}

/// Asserts that the cause raises these alerts, and that they were not raised before.
pub fn raises(before: &Scrape, after: &Scrape, cause: Cause, names: &[&str]) {
    let mut wanted = Vec::new();
    for name in names {
        assert!(alerts().contains(*name), "there is no alert {name}");
        wanted.push((fired(&format!("alertname=\"{name}\"")), BEFORE - 1, 0));
        wanted.push((fired(&format!("alertname=\"{name}\",alertstate=\"firing\"")), BEFORE + AFTER - 1, 1));
    }
    evaluated(before, after, cause, &wanted);
}

/// Asserts that no alert is raised or pending, except those named.
pub fn raises_nothing_but(before: &Scrape, after: &Scrape, but: &[&str]) {
    let selector = format!("alertname!~\"{}\"", but.join("|"));
    evaluated(before, after, Cause::GoesOn, &[(fired(&selector), BEFORE + AFTER - 1, 0)]);
}
