//! The dashboard and the rules, asked of a real Prometheus that watches a real server.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::scrape::Scrape;
use super::{file, text};
use crate::harness::*;

/// A Prometheus that looks at a server each second, until it is dropped.
struct Prometheus {
    child: Child,
    base: String,
    _folder: TempDir,
}

impl Prometheus {
    /// `None` where there is none, which may not be where everything is to be tested.
    fn watching(server: &Server) -> Option<Prometheus> {
        let folder = TempDir::new().expect("a temporary directory can be made");
        let path = |name: &str| folder.path().join(name).to_str().expect("the path is text").to_owned();
        // The shipped file, except for values of this machine.
        let target = server.base.strip_prefix("http://").expect("a base address");
        let configuration = text("deploy/prometheus/prometheus.yml")
            .replace("127.0.0.1:8080", target)
            .replace("15s", "1s")
            .replace("- alerts.yml", &format!("- {}", file("deploy/prometheus/alerts.yml").display()));
        assert!(configuration.contains(target), "the file names where stet listens by default");
        std::fs::write(path("prometheus.yml"), configuration).expect("a file can be written");
        // It says nowhere which port it got if any will do.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port can be had");
        let begun = Command::new("prometheus")
            .arg(format!("--config.file={}", path("prometheus.yml")))
            .arg(format!("--storage.tsdb.path={}", path("data")))
            .arg(format!("--web.listen-address={free}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match begun {
            Ok(child) => Some(Prometheus { child, base: format!("http://{free}"), _folder: folder }),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "prometheus is missing: {error}");
                println!("skipped: there is no prometheus");
                None
            }
        }
    }

    /// Returns its answer at a path, if any.
    fn ask(&self, path: &str) -> Option<Value> {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut answer = agent.get(format!("{}/api/v1/{path}", self.base)).call().ok()?;
        answer.body_mut().read_json().ok()
    }

    /// The samples that an expression gives now.
    ///
    /// # Panics
    /// When it can't be understood.
    fn query(&self, expression: &str) -> Vec<Value> {
        let answer = self.ask(&format!("query?query={}", encoded(expression))).expect("it answers");
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].as_array().expect("a result is a list").clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The expressions of the dashboard, each with the title of its panel, as Grafana would ask them of
/// one server.
fn expressions() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana/stet.json")).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels").iter();
    let of_panel = |panel: &Value| {
        let title = panel["title"].as_str().expect("a panel has a title").to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        assert!(panel["type"] == "row" || !targets.is_empty(), "{title} shows nothing");
        targets.into_iter().map(move |target| (title.clone(), target["expr"].clone()))
    };
    let starts = dashboard["annotations"]["list"][0]["expr"].clone();
    panels
        .flat_map(of_panel)
        .chain([("Starts".to_owned(), starts)])
        .map(|(title, expression)| {
            let expression = expression.as_str().expect("an expression is text");
            let asked = [("$__rate_interval", "5s"), ("$job", "stet"), ("$instance", ".*")];
            (title, asked.iter().fold(expression.to_owned(), |text, (name, value)| text.replace(name, value)))
        })
        .collect()
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words = text.split(|char| !is_part(char));
    words.filter(|word| word.starts_with("stet_") || word.starts_with("process_")).map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_use_existing_metrics_and_the_dashboard_shows_all() {
    let document = text("docs/METRICS.md");
    let of_document: BTreeSet<String> =
        document.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect();
    let whole = |name: &str| {
        let parts = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
        parts.filter(|whole| of_document.contains(*whole)).unwrap_or(name).to_owned()
    };
    let rules: String = text("deploy/prometheus/alerts.yml");
    let shown: String = expressions().into_iter().map(|(_, expression)| expression + "\n").collect();
    for (place, text) in [("alerts.yml", &rules), ("stet.json", &shown)] {
        for name in named(text) {
            assert!(of_document.contains(&whole(&name)), "{place} names {name}, which docs/METRICS.md does not");
        }
    }
    let shown: BTreeSet<String> = named(&shown).iter().map(|name| whole(name)).collect();
    let hidden: Vec<_> = of_document.difference(&shown).collect();
    // These metrics repeat others in another form.
    let meant = ["stet_content_collected_bytes_total", "stet_http_slow_turn_seconds"];
    assert_eq!(hidden, meant, "the dashboard shows all else");
}

#[test]
fn prometheus_accepts_the_rules_and_answers_the_dashboard_queries() {
    let target = tempfile::tempdir().expect("a temporary directory can be made");
    let server = Server::with(&[("BACKUP__TARGET", &format!("file://{}", target.path().display()))]);
    let Some(prometheus) = Prometheus::watching(&server) else { return };
    wait_patiently_until("prometheus is up", || prometheus.ask("status/buildinfo").is_some());
    let client = server.login("editor");
    let folder = own_folder();
    let drawer = client.drawer(&folder, "drawer", 1000);
    let mut waiting = expressions();
    assert!(waiting.len() > 50, "{}", waiting.len());
    // Some only give something where something happens, or there is TLS.
    let quiet = |title: &str| ["Starts", "Certificate"].contains(&title);
    waiting.retain(|(title, expression)| {
        let is_quiet = quiet(title);
        if is_quiet {
            prometheus.query(expression);
        }
        !is_quiet
    });
    let mut number = 0;
    let begun = std::time::Instant::now();
    while !waiting.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no answer to {waiting:#?}");
        number += 1;
        let story = client.story(&folder, &format!("{number}.xml"));
        let item = format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&story));
        client.post(&item, &json!({})).ok();
        // A busy machine takes more rounds than the drawer has room.
        client.delete(&item).ok();
        client.get(&format!("/v3/container/drawer/{}", encoded(&drawer))).ok();
        waiting.retain(|(_, expression)| prometheus.query(expression).is_empty());
    }
    assert_eq!(prometheus.query("up")[0]["value"][1], "1");
    let is_evaluated = |rules: &Value| {
        let rules = rules["data"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
        rules.len() > 20 && rules.iter().all(|rule| rule["health"] == "ok")
    };
    wait_patiently_until("all rules were evaluated", || {
        prometheus.ask("rules").is_some_and(|rules| is_evaluated(&rules))
    });
    assert!(Scrape::of(&server.base).up);
}
