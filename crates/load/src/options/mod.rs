//! The settings of a load: flags override a TOML file, which overrides the defaults. All are
//! checked.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use super::drawer::options::DrawerSettings;
use super::flags::Arguments;
use super::liveblog::options::LiveblogSettings;
use super::newsroom::options::NewsroomSettings;
use super::pace::Ramp;
use super::topic::options::TopicSettings;

/// The maximum number of clients. Each is a connection, hence a file at both ends.
pub const MAX_CLIENTS: u32 = 20_000;

/// The settings of a load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LoadSettings {
    /// The server's URL, with the base path.
    pub url: String,
    /// The user who logs in.
    pub user: String,
    /// The file with the password, if it is not in the environment.
    pub password_file: Option<PathBuf>,
    /// The connection to log in to.
    pub connection: String,
    /// The PEM file of the trusted certificate authority.
    pub ca: Option<PathBuf>,
    /// The number of clients.
    pub clients: Option<u32>,
    /// The number of generator threads.
    pub threads: Option<u32>,
    /// The duration of the load.
    #[serde(deserialize_with = "time")]
    pub duration: Option<Duration>,
    /// The total number of operations.
    pub count: Option<u64>,
    /// Operations per second; makes the load an open loop.
    pub rate: Option<u32>,
    /// The number of clients, or the rate, over time.
    pub ramp: Option<Ramp>,
    /// `true` if the ramp is one of the rate.
    pub open: bool,
    /// The seed of the plans.
    pub seed: u64,
    /// The timeout of one call.
    #[serde(deserialize_with = "time")]
    pub timeout: Option<Duration>,
    /// Weights by kind of operation; the scenario's own without a mix.
    pub mix: Option<OperationMix>,
    /// The folder below which the load works.
    pub folder: String,
    /// `true` if the created objects are kept.
    pub keep: bool,
    /// The directory of the report.
    pub report: Option<PathBuf>,
    /// `true` if progress is not printed.
    pub quiet: bool,
    /// Conditions under which the load counts as failed.
    pub fail_if: Vec<String>,
    /// The report of an earlier load to compare with.
    pub compare: Option<PathBuf>,
    /// Notes on the server and the run, for the report.
    pub note: Vec<String>,
    /// Options of the drawer load.
    pub drawer: DrawerSettings,
    /// Options of the liveblog load.
    pub liveblog: LiveblogSettings,
    /// Options of the topic load.
    pub topic: TopicSettings,
    /// Options of the newsroom load.
    pub newsroom: NewsroomSettings,
}

impl Default for LoadSettings {
    fn default() -> LoadSettings {
        LoadSettings {
            url: "http://127.0.0.1:8080".to_owned(),
            user: "admin".to_owned(),
            password_file: None,
            connection: "Editorial".to_owned(),
            ca: None,
            clients: None,
            threads: None,
            duration: None,
            count: None,
            rate: None,
            ramp: None,
            open: false,
            seed: 1,
            timeout: Some(Duration::from_secs(10)),
            mix: None,
            folder: "/Load".to_owned(),
            keep: false,
            report: None,
            quiet: false,
            fail_if: Vec::new(),
            compare: None,
            note: Vec::new(),
            drawer: DrawerSettings::default(),
            liveblog: LiveblogSettings::default(),
            topic: TopicSettings::default(),
            newsroom: NewsroomSettings::default(),
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    let time = humantime::parse_duration(&text);
    time.map(Some).map_err(|error| serde::de::Error::custom(format!("`{text}` is no time like 30s or 5m: {error}")))
}

/// The weights of operations by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationMix(pub BTreeMap<String, u32>);

impl<'de> Deserialize<'de> for OperationMix {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OperationMix, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum MixForm {
            Text(String),
            Table(BTreeMap<String, u32>),
        }
        match MixForm::deserialize(from)? {
            MixForm::Table(table) => Ok(OperationMix(table)),
            MixForm::Text(text) => {
                let pair = |part: &str| {
                    let (name, weight) = part.split_once('=')?;
                    Some((name.trim().to_owned(), weight.trim().parse().ok()?))
                };
                let parts = text.split(',').map(|part| {
                    pair(part)
                        .ok_or_else(|| serde::de::Error::custom(format!("`{part}` in the mix is not like read=30")))
                });
                parts.collect::<Result<_, _>>().map(OperationMix)
            }
        }
    }
}

impl OperationMix {
    /// Returns the weights in the order of `kinds`.
    ///
    /// # Errors
    /// One sentence that names an unknown kind, or says that no kind has a weight.
    pub fn weights(&self, kinds: &[&str]) -> Result<Vec<u32>, String> {
        if let Some(unknown) = self.0.keys().find(|name| !kinds.contains(&name.as_str())) {
            return Err(format!("`mix`: there is no `{unknown}`; there are {}", kinds.join(", ")));
        }
        let weights: Vec<u32> = kinds.iter().map(|kind| self.0.get(*kind).copied().unwrap_or(0)).collect();
        if weights.iter().all(|weight| *weight == 0) {
            return Err("`mix`: nothing has a weight, so nothing would be done".to_owned());
        }
        Ok(weights)
    }
}

/// Merges values over existing ones. Sections are merged, all other values replaced.
fn merge_tables(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge_tables(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Formats the weights with the names of their kinds, for a report.
pub fn mix_in_words(kinds: &[&str], weights: &[u32]) -> String {
    let mix = kinds.iter().zip(weights).filter(|(_, weight)| **weight > 0);
    let mix: Vec<_> = mix.map(|(kind, weight)| format!("{kind} {weight}")).collect();
    mix.join(", ")
}

impl LoadSettings {
    /// Reads the settings: the flags override the file they name, which overrides the defaults.
    ///
    /// # Errors
    /// One sentence that names the key and the value.
    pub fn of(args: &impl Arguments) -> Result<LoadSettings, String> {
        let mut values = match &args.common().file {
            Some(file) => {
                let unread = |why: &dyn Display| format!("{} can't be read: {why}", file.display());
                let text = fs::read_to_string(file).map_err(|error| unread(&error))?;
                text.parse::<Table>().map_err(|error| unread(&error))?
            }
            None => Table::new(),
        };
        merge_tables(&mut values, Table::try_from(args).map_err(|error| error.to_string())?);
        let settings: LoadSettings = serde_path_to_error::deserialize(Value::from(values)).map_err(|error| {
            let fault = error.inner().message().trim_end();
            format!("`{}`: {fault}", error.path())
        })?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        let between = |key: &str, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(format!("`{key}` is {value}, which is not between {least} and {most}"))
            }
            _ => Ok(()),
        };
        between("clients", self.clients.map(u64::from), 1, MAX_CLIENTS.into())?;
        between("threads", self.threads.map(u64::from), 1, 256)?;
        between("rate", self.rate.map(u64::from), 1, 1_000_000)?;
        between("count", self.count, 1, 1_000_000_000)?;
        for (key, time, most) in [("duration", self.duration, 7 * 24 * 60 * 60), ("timeout", self.timeout, 3600)] {
            if let Some(time) = time
                && (time < Duration::from_millis(1) || time > Duration::from_secs(most))
            {
                return Err(format!("`{key}` is {time:?}, which is not between 1ms and {most}s"));
            }
        }
        if !self.folder.starts_with('/') || self.folder.len() < 2 {
            return Err(format!("`folder` is `{}`, which is no path like /Load", self.folder));
        }
        let Some(ramp) = &self.ramp else {
            if self.open && self.rate.is_none() {
                return Err("`open` wants a `rate`, or a `ramp` of the rate".to_owned());
            }
            return self.check_sections();
        };
        if self.rate.is_some() {
            return Err(
                "`rate` and `ramp` exclude each other: a ramp is the rate with `open`, else the clients".to_owned()
            );
        }
        let most = if self.open { 1_000_000.0 } else { f64::from(MAX_CLIENTS) };
        if ramp.most() > most {
            return Err(format!("`ramp` goes up to {}, which is above {most}", ramp.most()));
        }
        if !self.open && self.clients.is_some() {
            return Err("`clients` and a `ramp` of clients exclude each other".to_owned());
        }
        if !self.open && self.count.is_some() {
            return Err("`count` and a `ramp` of clients exclude each other: say a `duration`".to_owned());
        }
        self.check_sections()
    }

    /// Checks the options of single scenarios.
    fn check_sections(&self) -> Result<(), String> {
        self.drawer.check()?;
        self.liveblog.check()?;
        self.topic.check()?;
        self.newsroom.check()
    }

    /// Reports whether calls are sent at scheduled times, whatever the outcome of earlier calls.
    pub fn is_open(&self) -> bool {
        self.open || self.rate.is_some()
    }

    /// Returns the number of clients.
    pub fn clients(&self) -> usize {
        match &self.ramp {
            // The value is within bounds, and at least 1: it was checked.
            Some(ramp) if !self.open => ramp.most() as usize,
            _ => self.clients.unwrap_or(16) as usize,
        }
    }

    /// Returns the number of generator threads, at most the number of clients.
    pub fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.map_or((cores / 4).max(1), |threads| threads as usize).min(self.clients())
    }

    /// Returns the maximum duration; `None` if only the count ends the load.
    pub fn length(&self) -> Option<Duration> {
        self.duration.or_else(|| self.count.is_none().then_some(Duration::from_secs(30)))
    }

    /// Returns the timeout of one call.
    pub fn patience(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(10))
    }
}

#[cfg(test)]
mod tests;
