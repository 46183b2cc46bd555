//! The server's public description of itself: its name and version (`/openapi.json`), its build and
//! its counters (`/metrics`). A server without these can be put under load as well.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde::{Deserialize, Serialize};

use super::client::{Call, Connection, ServerTarget};

/// The timeout of an inquiry.
const PATIENCE: Duration = Duration::from_secs(3);

/// The server's description of itself, and its work during the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerFacts {
    /// The name in its OpenAPI document.
    pub name: Option<String>,
    /// The version in its OpenAPI document.
    pub version: Option<String>,
    /// The labels and values of its metrics named `…_info`, by metric: its build and other facts.
    pub info: BTreeMap<String, BTreeMap<String, String>>,
    /// The store's work for all clients during the load; `None` if the server does not count it.
    pub store: Option<StoreFacts>,
}

/// The work of the server's store.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreFacts {
    /// The number of commits of the journal.
    pub commits: u64,
    /// The mean duration of a commit in microseconds, with the disk's sync.
    pub mean_commit_us: u64,
}

/// An inquiry before the load and another after it.
pub struct ServerInquiry {
    connection: Connection,
    facts: ServerFacts,
    before: Option<CommitTotals>,
}

impl ServerInquiry {
    /// Makes the first inquiry.
    pub async fn begin(target: &Arc<ServerTarget>) -> ServerInquiry {
        let mut connection = Connection::new(target.root(PATIENCE), None);
        let (mut facts, mut before) = (ServerFacts::default(), None);
        if let Some(text) = get(&mut connection, "/openapi.json").await
            && let Ok(OpenApiDescription { info }) = serde_json::from_str(&text)
        {
            (facts.name, facts.version) = (info.title, info.version);
        }
        if let Some(text) = get(&mut connection, "/metrics").await {
            (facts.info, before) = (infos(&text), commits(&text));
        }
        ServerInquiry { connection, facts, before }
    }

    /// Makes the second inquiry, as soon as the load is over.
    pub async fn end(mut self) -> ServerFacts {
        // A server without counters before the load is not asked again.
        if let Some(before) = self.before
            && let Some(text) = get(&mut self.connection, "/metrics").await
            && let Some(after) = commits(&text)
        {
            self.facts.store = before.until(after);
        }
        self.facts
    }
}

async fn get(connection: &mut Connection, path: &str) -> Option<String> {
    let answer = connection.send(&Call::new(Method::GET, path.to_owned())).await.ok()?;
    answer.is_success().then(|| String::from_utf8_lossy(&answer.body).into_owned())
}

/// The used part of an OpenAPI document.
#[derive(Deserialize)]
struct OpenApiDescription {
    info: OpenApiInfo,
}

#[derive(Deserialize)]
struct OpenApiInfo {
    title: Option<String>,
    version: Option<String>,
}

/// The commits since the server's start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CommitTotals {
    count: f64,
    seconds: f64,
}

impl CommitTotals {
    /// Returns the commits between two inquiries; `None` if there were none, or the server was
    /// restarted in between.
    fn until(self, after: CommitTotals) -> Option<StoreFacts> {
        let (count, seconds) = (after.count - self.count, after.seconds - self.seconds);
        let is_sound = count >= 1.0 && seconds >= 0.0;
        // A conversion of a value that is not finite gives a bound.
        is_sound.then(|| StoreFacts { commits: count as u64, mean_commit_us: (seconds * 1e6 / count) as u64 })
    }
}

fn commits(metrics: &str) -> Option<CommitTotals> {
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    let name = "stet_store_commit_seconds";
    Some(CommitTotals { count: value(&format!("{name}_count "))?, seconds: value(&format!("{name}_sum "))? })
}

/// Returns the labels of all metrics whose names end with `_info`.
fn infos(metrics: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    let infos = lines.filter_map(|line| {
        let (name, rest) = line.split_once('{')?;
        let (labels, _) = rest.rsplit_once('}')?;
        name.ends_with("_info").then(|| (name.to_owned(), labels_of(labels)))
    });
    infos.collect()
}

/// Parses `name="value",…`; in values \\, \" and \n are escape sequences.
fn labels_of(mut text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    while let Some((name, rest)) = text.split_once("=\"") {
        let (mut value, mut chars) = (String::new(), rest.char_indices());
        let end = loop {
            match chars.next() {
                Some((at, '"')) => break at + 1,
                Some((_, '\\')) => value.extend(chars.next().map(|(_, char)| if char == 'n' { ' ' } else { char })),
                Some((_, char)) => value.push(char),
                None => return labels,
            }
        };
        labels.insert(name.trim_start_matches(',').trim().to_owned(), value);
        text = &rest[end..];
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# HELP stet_build_info How it was built.\n# TYPE stet_build_info gauge\n\
        stet_build_info{version=\"0.1.0\",commit=\"a,b=\\\"c\\\"\"} 1\n\
        stet_store_commit_seconds_bucket{le=\"0.005\"} 7\n\
        stet_store_commit_seconds_sum 0.5\nstet_store_commit_seconds_count 100\n";

    #[test]
    fn build_facts_and_commit_times_are_read_from_the_metrics() {
        let infos = infos(METRICS);
        assert_eq!(infos.keys().collect::<Vec<_>>(), ["stet_build_info"]);
        let build = &infos["stet_build_info"];
        assert_eq!((build["version"].as_str(), build["commit"].as_str()), ("0.1.0", "a,b=\"c\""));
        let before = commits(METRICS).expect("they are counted");
        let after = CommitTotals { count: 300.0, seconds: 0.9 };
        assert_eq!(before.until(after), Some(StoreFacts { commits: 200, mean_commit_us: 2000 }));
        assert_eq!(after.until(before), None, "it has begun anew");
        assert_eq!(before.until(before), None);
        assert_eq!(commits("up 1\n"), None);
        assert_eq!(labels_of("a=\"b"), BTreeMap::new());
    }
}
