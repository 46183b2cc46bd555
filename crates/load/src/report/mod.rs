//! The report of a load: put together once, and written as text, JSON and HTML.

use std::time::SystemTime;

use serde::Serialize;

use super::delivery::Delivery;
use super::drive::Driven;
use super::measure::{Codes, Counts, Kind, Series};
use super::options::Settings;
use super::pace::Pace;
use super::saturation::Saturation;
use super::scenario::{Scenario, Verdict};

pub mod files;
mod following;
mod html;
mod json;
mod plot;
pub mod text;

/// The whole report.
pub struct Report {
    /// The scenario's name.
    pub scenario: &'static str,
    /// Name and value of everything that made the load what it was; no password.
    pub parameters: Vec<(String, String)>,
    /// When it began.
    pub begun: SystemTime,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// Whether it was ended by a signal.
    pub interrupted: bool,
    /// Whether it was an open loop.
    pub open: bool,
    /// By kind of operation, in the scenario's order; those only that were in the mix.
    pub kinds: Vec<(&'static str, Kind)>,
    /// All kinds together.
    pub all: Kind,
    /// How many there were of each code.
    pub codes: Codes,
    /// The course over time.
    pub series: Series,
    /// What followers measured.
    pub delivery: Option<Delivery>,
    /// Whose rules refused some of it, as "the drawers".
    pub rules: &'static str,
    /// Whether the numbers are the server's.
    pub saturation: Saturation,
    /// The verification.
    pub verdict: Verdict,
}

/// The latencies that are reported, in microseconds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quantiles {
    /// Half are below.
    pub p50_us: u64,
    /// 90 % are below.
    pub p90_us: u64,
    /// 99 % are below.
    pub p99_us: u64,
    /// 99.9 % are below.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Quantiles {
    /// Of a histogram.
    pub fn of<C: hdrhistogram::Counter>(latency: &hdrhistogram::Histogram<C>) -> Quantiles {
        let at = |share| latency.value_at_quantile(share);
        Quantiles { p50_us: at(0.5), p90_us: at(0.9), p99_us: at(0.99), p999_us: at(0.999), max_us: latency.max() }
    }
}

impl Report {
    /// Puts it together.
    pub fn new<S: Scenario>(
        scenario: &S,
        settings: &Settings,
        pace: &Pace,
        driven: Driven<S::Notes>,
        near: bool,
        verdict: Verdict,
    ) -> Report {
        let mut all = Kind::default();
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
        Report {
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
            rules: S::RULES,
            saturation,
            verdict,
        }
    }

    /// How much of all operations is of a kind, 0 to 1.
    pub fn share(&self, kind: &Kind) -> f64 {
        ratio(kind.counts.all() as f64, self.all.counts.all() as f64)
    }

    /// How much of the time that clients waited for answers was for a kind, 0 to 1.
    pub fn share_of_time(&self, kind: &Kind) -> f64 {
        let waited = |kind: &Kind| kind.latency.mean() * kind.latency.len() as f64;
        ratio(waited(kind), waited(&self.all))
    }

    /// Operations a second over the whole time.
    pub fn rate(&self, counts: Counts) -> f64 {
        if self.elapsed_s > 0.0 { counts.all() as f64 / self.elapsed_s } else { 0.0 }
    }
}

/// Part of a whole; none of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn common(settings: &Settings) -> Vec<(String, String)> {
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
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests;
