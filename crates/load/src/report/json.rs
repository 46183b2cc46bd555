//! `report.json`: all numbers, for programs. Histograms are in microseconds, in the exchange format
//! of HdrHistogram (V2, base64).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde::Serialize;

use super::LoadReport;
use super::following::{self, FollowerReport};
use crate::hostile::Tally;
use crate::judge::figure::Figures;
use crate::judge::{ConditionResult, LoadComparison};
use crate::machine::Machine;
use crate::measure::{KindMeasurements, Quantiles, SeriesInterval};
use crate::saturation::Saturation;
use crate::scenario::LoadVerdict;
use crate::server::ServerFacts;

/// The format version. It is raised when an existing field changes its meaning, but not for new
/// fields.
pub const FORMAT: u32 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportRoot<'r> {
    format: u32,
    scenario: &'r str,
    /// The beginning of the load (RFC 3339).
    begun: String,
    elapsed_seconds: f64,
    interrupted: bool,
    open: bool,
    parameters: BTreeMap<&'r str, &'r str>,
    all: KindFigures,
    kinds: BTreeMap<&'r str, KindFigures>,
    refused: &'r BTreeMap<String, u64>,
    overloaded: &'r BTreeMap<String, u64>,
    failed: &'r BTreeMap<String, u64>,
    series: Vec<SeriesPoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<FollowerReport<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostile: Option<BTreeMap<&'static str, &'r Tally>>,
    saturation: &'r Saturation,
    verdict: &'r LoadVerdict,
    fail_if: &'r [ConditionResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'r LoadComparison>,
    client: GeneratorInfo<'r>,
    server: &'r ServerFacts,
}

/// The load generator.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeneratorInfo<'r> {
    version: &'static str,
    command_line: &'r str,
    machine: &'r Machine,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KindFigures {
    #[serde(flatten)]
    figures: Figures,
    /// The share of all operations, 0 to 1.
    share: f64,
    /// The share of the time that clients waited for answers, 0 to 1.
    share_of_time: f64,
    /// The latencies of successes in microseconds, in the exchange format of HdrHistogram.
    histogram: String,
    /// The latencies of refusals, by a rule or for overload.
    refusals: Quantiles,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeriesPoint {
    from_seconds: f64,
    seconds: f64,
    #[serde(flatten)]
    figures: Figures,
}

/// Renders the report.
///
/// # Errors
/// A histogram cannot be written, which does not happen at our sizes.
pub fn json(report: &LoadReport) -> std::io::Result<String> {
    let measured = |kind: &KindMeasurements| {
        Ok::<_, std::io::Error>(KindFigures {
            figures: report.figures(kind),
            share: report.share(kind),
            share_of_time: report.share_of_time(kind),
            histogram: histogram(&kind.latency)?,
            refusals: Quantiles::of(&kind.refusals),
        })
    };
    let kinds = report.kinds.iter().map(|(name, kind)| Ok((*name, measured(kind)?)));
    let point = |interval: &SeriesInterval| SeriesPoint {
        from_seconds: interval.from,
        seconds: interval.length,
        figures: Figures {
            counts: interval.slice.counts,
            per_second: interval.rate(),
            quantiles: Quantiles::of(&interval.slice.latency),
        },
    };
    let root = ReportRoot {
        format: FORMAT,
        scenario: report.scenario,
        begun: humantime::format_rfc3339_millis(report.begun).to_string(),
        elapsed_seconds: report.elapsed_s,
        interrupted: report.interrupted,
        open: report.open,
        parameters: report.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        all: measured(&report.all)?,
        kinds: kinds.collect::<std::io::Result<_>>()?,
        refused: &report.codes.refused,
        overloaded: &report.codes.overloaded,
        failed: &report.codes.failed,
        series: report.series.intervals().iter().map(point).collect(),
        delivery: report.delivery.as_ref().map(following::json).transpose()?,
        hostile: report.hostile.as_ref().map(|all| all.iter().map(|(name, tally)| (*name, tally)).collect()),
        saturation: &report.saturation,
        verdict: &report.verdict,
        fail_if: &report.judged,
        comparison: report.comparison.as_ref(),
        client: GeneratorInfo {
            version: env!("CARGO_PKG_VERSION"),
            command_line: &report.command_line,
            machine: &report.machine,
        },
        server: &report.server,
    };
    Ok(serde_json::to_string_pretty(&root)?)
}

/// Encodes a histogram in the exchange format of HdrHistogram.
///
/// # Errors
/// The histogram cannot be written, which does not happen at our sizes.
pub(super) fn histogram(latency: &Histogram<u64>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(latency, &mut bytes).map_err(std::io::Error::other)?;
    Ok(STANDARD.encode(bytes))
}
