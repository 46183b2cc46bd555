//! The report of a load: assembled once, and written as text, JSON and HTML.

use std::time::SystemTime;

use super::delivery::Delivery;
use super::drive::DriveResult;
use super::hostile::Tallies;
use super::judge::figure::Figures;
use super::judge::{ConditionResult, Judge, LoadComparison, LoadFigures};
use super::machine::Machine;
use super::measure::{KindMeasurements, MeasurementSeries, OutcomeCodes, OutcomeCounts, Quantiles};
use super::options::LoadSettings;
use super::pace::Pace;
use super::saturation::Saturation;
use super::scenario::{LoadVerdict, Scenario};
use super::server::ServerFacts;

pub mod files;
mod following;
mod hostile;
mod html;
pub mod json;
mod plot;
pub mod text;

/// The whole report.
pub struct LoadReport {
    /// The scenario's name.
    pub scenario: &'static str,
    /// Names and values of all parameters of the load, except the password.
    pub parameters: Vec<(String, String)>,
    /// The beginning of the load.
    pub begun: SystemTime,
    /// The duration in seconds.
    pub elapsed_s: f64,
    /// `true` if a signal ended it.
    pub interrupted: bool,
    /// `true` if it was an open loop.
    pub open: bool,
    /// The measurements by kind of operation, in the scenario's order, for the kinds in the mix.
    pub kinds: Vec<(&'static str, KindMeasurements)>,
    /// The measurements of all kinds together.
    pub all: KindMeasurements,
    /// The number of operations per code.
    pub codes: OutcomeCodes,
    /// The measurements over time.
    pub series: MeasurementSeries,
    /// The followers' measurements.
    pub delivery: Option<Delivery>,
    /// The answers to hostile clients.
    pub hostile: Option<Tallies>,
    /// The owner of the rules that refused some operations, such as "the drawers".
    pub rules: &'static str,
    /// The judgement whether the generator was the bottleneck.
    pub saturation: Saturation,
    /// The verification.
    pub verdict: LoadVerdict,
    /// The results of the conditions.
    pub judged: Vec<ConditionResult>,
    /// The comparison with an earlier load.
    pub comparison: Option<LoadComparison>,
    /// The command line of the load, quoted for a shell.
    pub command_line: String,
    /// The machine on which the load generator ran.
    pub machine: Machine,
    /// The server's description of itself.
    pub server: ServerFacts,
}

impl LoadReport {
    /// Assembles the report.
    pub fn new<S: Scenario>(
        scenario: &S,
        settings: &LoadSettings,
        pace: &Pace,
        driven: DriveResult<S::Notes>,
        server: (ServerFacts, bool),
        verdict: LoadVerdict,
        judge: &Judge,
    ) -> LoadReport {
        let (server, near) = server;
        let mut all = KindMeasurements::default();
        driven.kinds.iter().for_each(|kind| all.add(kind));
        let end = settings.length().map_or(driven.elapsed, |length| length.min(driven.elapsed));
        let open = pace.open.then(|| (&driven.punctuality, all.counts.all(), pace.due_by(end)));
        let mut saturation = Saturation::of(driven.threads, open, near);
        let delivery = scenario.delivery();
        if let Some(delivery) = &delivery {
            saturation.follow(&delivery.followed, delivery.deliveries);
        }
        let kinds = S::KINDS.iter().copied().zip(driven.kinds).filter(|(_, kind)| kind.counts.all() > 0).collect();
        let mut parameters = common(settings);
        parameters.extend(scenario.parameters());
        let mut report = LoadReport {
            scenario: S::NAME,
            parameters,
            begun: driven.begun,
            elapsed_s: driven.elapsed.as_secs_f64(),
            interrupted: driven.interrupted,
            open: pace.open,
            kinds,
            all,
            codes: driven.codes,
            series: driven.series,
            delivery,
            hostile: scenario.hostile(),
            rules: S::RULES,
            saturation,
            verdict,
            judged: Vec::new(),
            comparison: None,
            command_line: command_line(std::env::args()),
            machine: Machine::here(),
            server,
        };
        let measured = report.measured();
        (report.judged, report.comparison) = (judge.judge(&measured), judge.compare(&measured));
        report.judged.extend(report.hostile.as_ref().map(hostile::judge));
        report
    }

    /// Returns the measurements for conditions and comparisons.
    fn measured(&self) -> LoadFigures<'_> {
        let kinds = self.kinds.iter().map(|(name, kind)| (*name, self.figures(kind))).collect();
        LoadFigures { all: self.figures(&self.all), kinds, parameters: &self.parameters }
    }

    /// Returns the figures of a kind.
    pub fn figures(&self, kind: &KindMeasurements) -> Figures {
        let (counts, quantiles) = (kind.counts, Quantiles::of(&kind.latency));
        Figures { counts, per_second: self.rate(counts), quantiles }
    }

    /// Returns the share of a kind in all operations, 0 to 1.
    pub fn share(&self, kind: &KindMeasurements) -> f64 {
        ratio(kind.counts.all() as f64, self.all.counts.all() as f64)
    }

    /// Returns the share of a kind in the time that clients waited for answers, 0 to 1.
    pub fn share_of_time(&self, kind: &KindMeasurements) -> f64 {
        ratio(kind.waited.as_secs_f64(), self.all.waited.as_secs_f64())
    }

    /// Returns the successes per second over the whole time.
    pub fn rate(&self, counts: OutcomeCounts) -> f64 {
        ratio(counts.succeeded as f64, self.elapsed_s)
    }
}

/// Returns the part as a share of the whole; 0 if the whole is 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Joins the words of a command line, quoted for a shell.
fn command_line(words: impl Iterator<Item = String>) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,%@+".contains(char);
    let quoted = words.map(|word| {
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn common(settings: &LoadSettings) -> Vec<(String, String)> {
    let time = |time| humantime::format_duration(time).to_string();
    let mut pairs = vec![("server", settings.url.clone()), ("user", settings.user.clone())];
    let ramp = settings.ramp.as_ref().map(ToString::to_string);
    match (settings.is_open(), ramp) {
        (true, Some(ramp)) => pairs.push(("loop", format!("open, rate over time {ramp}"))),
        (true, None) => pairs.push(("loop", format!("open, {} a second", settings.rate.unwrap_or_default()))),
        (false, Some(ramp)) => pairs.push(("loop", format!("closed, clients over time {ramp}"))),
        (false, None) => pairs.push(("loop", "closed".to_owned())),
    }
    pairs.push(("clients", settings.clients().to_string()));
    pairs.push(("generator threads", settings.threads().to_string()));
    pairs.extend(settings.length().map(|length| ("duration", time(length))));
    pairs.extend(settings.count.map(|count| ("count", count.to_string())));
    pairs.push(("timeout", time(settings.patience())));
    pairs.push(("seed", settings.seed.to_string()));
    pairs.extend((!settings.note.is_empty()).then(|| ("note", settings.note.join("; "))));
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests;
