//! The agreement of `docs/METRICS.md` with a running server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::promtool::agrees;
use super::scrape::{Scrape, labels};
use super::text;
use crate::harness::*;

/// A line of the document's table.
struct Told {
    kind: String,
    /// The values of each label; `None` if they are not fixed in advance.
    labels: BTreeMap<String, Option<BTreeSet<String>>>,
    from_the_start: bool,
    means: String,
}

fn told() -> BTreeMap<String, Told> {
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let document = text("docs/METRICS.md");
    let lines = document.lines().filter(|line| line.starts_with("| `"));
    let line = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, kind, of, _, start, means] = cells[..] else { panic!("{line}") };
        let label = |text: &str| {
            let (label, values) = text.split_once(": ").expect("a label has values");
            let known = values.starts_with('`').then(|| quoted(values).into_iter().collect());
            (label.trim_matches('`').to_owned(), known)
        };
        let labels = of.split("; ").filter(|label| !label.is_empty()).map(label).collect();
        let told = Told { kind: kind.to_owned(), labels, from_the_start: start == "yes", means: means.to_owned() };
        (name.trim_matches('`').to_owned(), told)
    };
    lines.map(line).collect()
}

/// Asserts that every metric of the server is in the document, with the same meaning.
fn all_is_told(scrape: &Scrape, told: &BTreeMap<String, Told>) {
    for (name, family) in &scrape.families {
        let told = told.get(name).unwrap_or_else(|| panic!("{name} is not in docs/METRICS.md"));
        assert_eq!((&family.kind, &family.means), (&told.kind, &told.means), "{name}");
    }
    for series in scrape.series.keys() {
        let name = scrape.family(series);
        assert!(scrape.families.contains_key(name), "{series} has no type");
        let mut found = BTreeSet::new();
        for (label, value) in labels(series).into_iter().filter(|(label, _)| label != "le") {
            let known = told[name].labels.get(&label).unwrap_or_else(|| panic!("{series}: `{label}` is not told"));
            assert!(known.as_ref().is_none_or(|known| known.contains(&value)), "{series}: `{value}` is not told");
            found.insert(label);
        }
        assert!(found.iter().eq(told[name].labels.keys()), "{series} lacks labels");
    }
}

/// Asserts that every metric that must exist from the start does so.
fn all_begins(scrape: &Scrape, told: &BTreeMap<String, Told>) {
    for (name, told) in told.iter().filter(|(_, told)| told.from_the_start) {
        assert!(scrape.families.contains_key(name), "{name} is not there");
        let wanted: usize = told.labels.values().map(|values| values.as_ref().map_or(0, BTreeSet::len)).product();
        let counted = |series: &&String| scrape.family(series) == name && !series.contains("_bucket");
        let found = scrape.series.keys().filter(counted).count();
        let each = if told.kind == "histogram" { 2 } else { 1 };
        assert_eq!(found, wanted * each, "{name}");
    }
}

#[test]
fn the_document_and_a_server_tell_the_same_from_the_first_answer_on() {
    let told = told();
    assert!(told.len() > 50, "{}", told.len());
    let target = tempfile::tempdir().expect("a temporary directory can be made");
    let server = Server::with(&[("BACKUP__TARGET", &format!("file://{}", target.path().display()))]);
    let fresh = Scrape::of(&server.base);
    all_is_told(&fresh, &told);
    all_begins(&fresh, &told);
    // No series of endpoints that were not called.
    let of_endpoints = |scrape: &Scrape| scrape.series.keys().filter(|series| series.contains("endpoint=")).count();
    assert_eq!(of_endpoints(&fresh), 0, "{}", fresh.text);
    assert!(fresh.text.len() < 64 << 10, "{} bytes of nothing", fresh.text.len());
    agrees("promtool", &["check", "metrics"], Some(&fresh.text));
    // Of a certificate, which this server has none of: see `super::alerts`.
    let (of_tls, told): (BTreeMap<_, _>, BTreeMap<_, _>) =
        told.into_iter().partition(|(name, _)| name.starts_with("stet_tls_"));
    assert_eq!(of_tls.len(), 2);

    // A call adds the series of one endpoint: 16 buckets, sum and count, and its status.
    let client = server.login("admin");
    let one = Scrape::of(&server.base);
    assert_eq!(of_endpoints(&one), 19 + of_slow_turns(&one));
    let folder = own_folder();
    let (drawer, story) = (client.drawer(&folder, "drawer", 10), client.story(&folder, "story"));
    client.post(&format!("/v3/container/drawer/{}/item/{}", encoded(&drawer), encoded(&story)), &json!({})).ok();
    client.get("/v3/conf/cache/jobs/refresh/1").ok();
    client.get("/nowhere");
    // Whether a turn is slow depends on the machine.
    let is_there =
        |scrape: &Scrape, name: &String| scrape.families.contains_key(name) || name.starts_with("stet_http_slow_turn");
    wait_patiently_until("all that is told is there", || {
        client.get(&format!("/v3/container/drawer/{}", encoded(&drawer))).ok();
        client.get("/v3/conf/siteconfigxml");
        let scrape = Scrape::of(&server.base);
        all_is_told(&scrape, &told);
        told.keys().all(|name| is_there(&scrape, name))
            && scrape.series.contains_key("stet_data_bytes{of=\"contents\"}")
    });
    agrees("promtool", &["check", "metrics"], Some(&Scrape::of(&server.base).text));
}

/// Returns the number of series about slow turns.
fn of_slow_turns(scrape: &Scrape) -> usize {
    scrape.series.keys().filter(|series| series.starts_with("stet_http_slow_turn")).count()
}

#[test]
fn process_and_disk_metrics_match_the_system() {
    let server = Server::start();
    let value = |scrape: &Scrape, name: &str| {
        *scrape.series.get(name).unwrap_or_else(|| panic!("{name} is not in\n{}", scrape.text))
    };
    wait_until("the disk was looked at", || {
        Scrape::of(&server.base).series.contains_key("stet_data_disk_free_bytes{of=\"contents\"}")
    });
    let first = Scrape::of(&server.base);
    let file = |name: &str| std::fs::metadata(server.data().join(name)).expect("it is there").len() as f64;
    assert_eq!(value(&first, "stet_data_bytes{of=\"journal\"}"), file("journal.wal"));
    assert_eq!(value(&first, "stet_data_bytes{of=\"tables\"}"), file("state.redb"));
    let (size, free) = ("stet_data_disk_bytes{of=\"store\"}", "stet_data_disk_free_bytes{of=\"store\"}");
    assert!(value(&first, size) > value(&first, free));
    assert_eq!(value(&first, size), value(&first, "stet_data_disk_bytes{of=\"contents\"}"));
    let version = env!("CARGO_PKG_VERSION");
    let built = first.series.iter().find(|(series, _)| series.starts_with("stet_build_info{"));
    assert!(built.is_some_and(|(series, value)| series.contains(&format!("\"{version}\"")) && *value == 1.0));
    if cfg!(target_os = "linux") {
        assert!(value(&first, "process_resident_memory_bytes") < value(&first, "process_virtual_memory_bytes"));
        assert!(value(&first, "process_open_fds") < value(&first, "process_max_fds"));
        assert!(value(&first, "process_threads") > 4.0);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970");
        let age = now.as_secs_f64() - value(&first, "process_start_time_seconds");
        assert!((-1.0..3600.0).contains(&age), "it began {age} s ago");
    }
    // Connections are open files, and work takes processor time.
    let clients: Vec<Client> = (0..20).map(|_| server.client().afresh()).collect();
    clients.iter().for_each(|client| drop(client.get("/readyz")));
    let then = Scrape::of(&server.base);
    if cfg!(target_os = "linux") {
        assert!(value(&then, "process_open_fds") >= value(&first, "process_open_fds") + 20.0);
    }
    assert!(value(&then, "process_cpu_seconds_total") > value(&first, "process_cpu_seconds_total"));
}
