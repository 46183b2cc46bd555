//! An answer of `/metrics`, taken apart.

use std::collections::BTreeMap;

use crate::harness::*;

/// A scrape of a server.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// `true` if it answered.
    pub up: bool,
    /// The answer.
    pub text: String,
    /// The type and description of each metric, by name.
    pub families: BTreeMap<String, Family>,
    /// The value of each series, by its text.
    pub series: BTreeMap<String, f64>,
}

/// The description of a metric.
#[derive(Debug, Clone, Default)]
pub struct Family {
    pub kind: String,
    pub means: String,
}

impl Scrape {
    /// Looks at the server at `base`.
    pub fn of(base: &str) -> Scrape {
        match Client::at(base, None).try_send("GET", "/metrics", &[], b"") {
            Ok(answer) => {
                assert_eq!(answer.status, 200);
                Scrape::read(String::from_utf8(answer.body).expect("metrics are text"))
            }
            Err(_) => Scrape::default(),
        }
    }

    /// Takes an answer apart.
    pub fn read(text: String) -> Scrape {
        let mut scrape = Scrape { up: true, ..Scrape::default() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(line) = line.strip_prefix("# HELP ") {
                let (name, means) = line.split_once(' ').expect("a description is of something");
                means.clone_into(&mut scrape.families.entry(name.to_owned()).or_default().means);
            } else if let Some(line) = line.strip_prefix("# TYPE ") {
                let (name, kind) = line.split_once(' ').expect("a type is of something");
                kind.clone_into(&mut scrape.families.entry(name.to_owned()).or_default().kind);
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a series has a value");
                let value = value.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
                assert!(scrape.series.insert(series.to_owned(), value).is_none(), "twice: {line}");
            }
        }
        scrape.text = text;
        scrape
    }

    /// The metric that a series is of.
    pub fn family<'a>(&self, series: &'a str) -> &'a str {
        let name = series.split('{').next().unwrap_or_default();
        let whole = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| name.strip_suffix(part));
        match whole {
            Some(whole) if self.families.contains_key(whole) => whole,
            _ => name,
        }
    }

    /// Returns whether a series is a point in time.
    pub fn is_time(&self, series: &str) -> bool {
        self.families.get(self.family(series)).is_some_and(|family| family.means.contains("seconds since 1970"))
    }

    /// Returns whether a series can only grow.
    pub fn counts(&self, series: &str) -> bool {
        let family = self.family(series);
        self.families.get(family).is_some_and(|family| family.kind != "gauge")
    }
}

/// The labels of a series and their values.
pub fn labels(series: &str) -> Vec<(String, String)> {
    let Some((_, labels)) = series.split_once('{') else { return Vec::new() };
    let labels = labels.strip_suffix('}').expect("what is opened is closed");
    // No value here has a comma or a quotation mark.
    let label = |label: &str| {
        let (name, value) = label.split_once('=').expect("a label has a value");
        (name.to_owned(), value.trim_matches('"').to_owned())
    };
    labels.split(',').map(label).collect()
}
