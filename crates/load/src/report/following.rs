//! The followers in the HTML page, the text table and the JSON report.

use std::collections::BTreeMap;
use std::fmt::Write;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::LoadReport;
use super::html::{by_percentile, figure, format_ms, format_seconds, table};
use super::json::histogram;
use super::plot::{PlotAxis, PlotLine, escape_markup, legend, lines};
use crate::delivery::{Delivery, DeliveryPeriod};
use crate::figures::{duration_us, format_count, number};
use crate::measure::Quantiles;
use crate::saturation::ThreadLoad;

/// The column heads of the table of deliveries.
pub const COLUMNS: [&str; 7] = ["delivery", "count", "p50", "p90", "p99", "p99.9", "max"];

/// Returns the rows of the table of deliveries.
pub fn rows(delivery: &Delivery) -> Vec<[String; 7]> {
    let row = |(name, latency): (&str, &Histogram<u64>)| {
        let Quantiles { p50_us, p90_us, p99_us, p999_us, max_us, .. } = Quantiles::of(latency);
        let [p50, p90, p99, p999, max] = [p50_us, p90_us, p99_us, p999_us, max_us].map(duration_us);
        [name.to_owned(), number(latency.len()), p50, p90, p99, p999, max]
    };
    delivery.histograms().into_iter().map(row).collect()
}

/// Returns what happened to the followers, as names and values.
pub fn facts(delivery: &Delivery) -> Vec<(String, String)> {
    let (followed, faults) = (&delivery.followed, &delivery.followed.faults);
    let mut facts = vec![
        ("followers".to_owned(), number(followed.followers)),
        (
            "events".to_owned(),
            format!("{}, heard {}", number(delivery.events), format_count(delivery.deliveries, "time", "times")),
        ),
        ("heard before the answer".to_owned(), number(delivery.before_answer)),
        ("resumed".to_owned(), number(faults.resumed)),
        ("told to read anew".to_owned(), number(faults.resets)),
        ("left out, silently".to_owned(), number(faults.gaps)),
        ("repeated, or out of order".to_owned(), number(faults.repeats)),
        ("never heard all".to_owned(), number(followed.behind.len() as u64)),
        ("not back in the end".to_owned(), number(followed.away)),
    ];
    let drops = faults.dropped.iter().map(|(why, count)| (format!("dropped: {why}"), number(*count)));
    let refusals = faults.refused.iter().map(|(code, count)| (format!("could not come back: {code}"), number(*count)));
    let place = 3;
    facts.splice(place..place, drops.chain(refusals));
    if faults.dropped.is_empty() {
        facts.insert(place, ("dropped".to_owned(), number(0)));
    }
    facts
}

/// Renders the followers' section of the page; empty without followers.
pub fn section(report: &LoadReport) -> String {
    let Some(delivery) = &report.delivery else { return String::new() };
    let heads: String = COLUMNS.iter().map(|head| format!("<th>{head}</th>")).collect();
    let mut body = String::new();
    for row in rows(delivery) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape_markup(cell))).collect();
        // Writing to a String can't fail.
        let _ = write!(body, "<tr>{cells}</tr>");
    }
    let facts = facts(delivery);
    let (first, second) = facts.split_at(facts.len().div_ceil(2));
    format!(
        "<div class=\"plots\">{}{}</div><section class=\"card\"><h2>Followers</h2><p class=\"sub\">how long after a change's \
         request was sent, and after it was answered, its event was there: at each follower, and at the last of them</p>\
         <div class=\"scroll\"><table class=\"numbers alike\"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>\
         <div class=\"pair\">{}{}</div></section>",
        distribution(delivery),
        over_time(delivery),
        table(first),
        table(second)
    )
}

fn distribution(delivery: &Delivery) -> String {
    let curves = delivery.histograms().into_iter().zip(["c1", "c4", "c2", "c3"]);
    by_percentile(
        "Delivery by percentile",
        "each step to the right is ten times rarer, log scale",
        ("share of deliveries below", "latency"),
        curves.map(|((name, latency), class)| (name, class, latency)),
    )
}

fn over_time(delivery: &Delivery) -> String {
    let course = |name: &str, class, value: fn(&DeliveryPeriod) -> Option<u64>| {
        let points = delivery.course.iter().map(|moment| (moment.at_s, value(moment).map(|value| value as f64)));
        PlotLine { name: name.to_owned(), class, points: points.collect() }
    };
    let courses = [
        course("p50", "c1", |moment| moment.p50_us),
        course("p99", "c2", |moment| moment.p99_us),
        course("max", "top", |moment| moment.max_us),
    ];
    let values = || courses.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
    let least = values().fold(f64::INFINITY, f64::min);
    let end = delivery.course.last().map_or(1.0, |moment| moment.at_s);
    let time = PlotAxis::until("seconds since the followers began", end, format_seconds);
    let latency =
        PlotAxis::log("latency", if least.is_finite() { least } else { 1.0 }, values().fold(1.0, f64::max), format_ms);
    let plot = lines("Delivery to the last follower over time", &time, &latency, &courses, false);
    figure(
        "Delivery to the last follower",
        "since the request was sent, over time, log scale",
        &legend(&courses),
        &plot,
    )
}

/// The followers' measurements in the JSON report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowerReport<'r> {
    followers: u64,
    events: u64,
    deliveries: u64,
    before_answer: u64,
    since_sent: DeliveryFigures,
    since_answered: DeliveryFigures,
    last_since_sent: DeliveryFigures,
    last_since_answered: DeliveryFigures,
    dropped: &'r BTreeMap<String, u64>,
    refused: &'r BTreeMap<String, u64>,
    resumed: u64,
    resets: u64,
    gaps: u64,
    repeats: u64,
    behind: usize,
    away: u64,
    threads: &'r [ThreadLoad],
    series: Vec<DeliveryPoint>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryFigures {
    count: u64,
    #[serde(flatten)]
    quantiles: Quantiles,
    /// The histogram in microseconds, in the exchange format of HdrHistogram.
    histogram: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryPoint {
    at_seconds: f64,
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    max_us: Option<u64>,
}

/// Assembles the followers' measurements.
///
/// # Errors
/// A histogram cannot be written, which does not happen at our sizes.
pub fn json(delivery: &Delivery) -> std::io::Result<FollowerReport<'_>> {
    let measured = |latency: &Histogram<u64>| {
        let quantiles = Quantiles::of(latency);
        Ok::<_, std::io::Error>(DeliveryFigures { count: latency.len(), quantiles, histogram: histogram(latency)? })
    };
    let (followed, faults) = (&delivery.followed, &delivery.followed.faults);
    let point = |moment: &DeliveryPeriod| DeliveryPoint {
        at_seconds: moment.at_s,
        p50_us: moment.p50_us,
        p99_us: moment.p99_us,
        max_us: moment.max_us,
    };
    Ok(FollowerReport {
        followers: followed.followers,
        events: delivery.events,
        deliveries: delivery.deliveries,
        before_answer: delivery.before_answer,
        since_sent: measured(&delivery.since_sent)?,
        since_answered: measured(&delivery.since_answered)?,
        last_since_sent: measured(&delivery.last_since_sent)?,
        last_since_answered: measured(&delivery.last_since_answered)?,
        dropped: &faults.dropped,
        refused: &faults.refused,
        resumed: faults.resumed,
        resets: faults.resets,
        gaps: faults.gaps,
        repeats: faults.repeats,
        behind: followed.behind.len(),
        away: followed.away,
        threads: &followed.threads,
        series: delivery.course.iter().map(point).collect(),
    })
}
