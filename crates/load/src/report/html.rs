//! `report.html`: a self-contained page without scripts or network access. Its style follows the
//! reader's light or dark mode.

use std::fmt::Write;

use hdrhistogram::Histogram;

use super::plot::{PlotAxis, PlotBar, PlotLine, bars, escape_markup, legend, lines};
use super::text::{self, BESIDE, COLUMNS, comparison_rows, differences, finding, ratio_heads, ratio_rows, rows};
use super::{LoadReport, following, hostile};
use crate::figures::{duration_us, format_count, number};
use crate::measure::{Quantiles, SeriesInterval};
use crate::scenario::VerificationFinding;

const STYLE: &str = include_str!("page.css");
/// The colours of the kinds of operations, in their order. They repeat if there are more kinds.
const COLOURS: [&str; 6] = ["c1", "c2", "c3", "c4", "c5", "c6"];

/// Renders the page, which is well-formed XML as well.
pub fn page(report: &LoadReport) -> String {
    let title = format!("Load: {}", report.scenario);
    let begun = humantime::format_rfc3339_seconds(report.begun).to_string().replace('T', " ").replace('Z', " UTC");
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/><title>{}</title><style>{STYLE}</style></head><body><main>",
        escape_markup(&title)
    );
    let ended = if report.interrupted { ", ended by hand" } else { "" };
    let server = parameter(report, "server").unwrap_or_default();
    // Writing to a String can't fail, here and below.
    let _ = write!(
        out,
        "<header><div><h1>{}</h1><p class=\"sub\">{} · {begun} · {:.1} s{ended}</p></div>{}</header>",
        escape_markup(&title),
        escape_markup(server),
        report.elapsed_s,
        badge(report)
    );
    out.push_str(&tiles(report));
    for warning in &report.saturation.warnings {
        let _ = write!(out, "<p class=\"note warn\">{}</p>", escape_markup(warning));
    }
    out.push_str("<div class=\"plots\">");
    out.push_str(&over_time(report));
    out.push_str(&distribution(report));
    out.push_str(&codes(report));
    out.push_str("</div>");
    out.push_str(&operations(report));
    out.push_str(&following::section(report));
    out.push_str(&hostile::section(report));
    out.push_str("<div class=\"pair\">");
    out.push_str(&verdict(report));
    out.push_str(&generator(report));
    out.push_str("</div>");
    out.push_str(&conditions(report));
    out.push_str(&comparison(report));
    out.push_str(&surroundings(report));
    out.push_str(&parameters(report));
    let _ = writeln!(
        out,
        "<footer>stet {} · numbers and full histograms: report.json beside this page</footer></main></body></html>",
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn parameter<'r>(report: &'r LoadReport, name: &str) -> Option<&'r str> {
    report.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn badge(report: &LoadReport) -> String {
    let (class, sign) = match report.verdict.finding {
        VerificationFinding::Verified => ("good", "✓"),
        VerificationFinding::Violated => ("bad", "✗"),
        VerificationFinding::Unknown => ("warn", "?"),
    };
    format!("<span class=\"badge {class}\">{sign} {}</span>", finding(report.verdict.finding))
}

fn tiles(report: &LoadReport) -> String {
    let quantiles = Quantiles::of(&report.all.latency);
    let counts = report.all.counts;
    let share = |part: u64| format!("{} <small>{:.1} %</small>", number(part), counts.share(part) * 100.0);
    let tiles = [
        ("successes a second", number(report.rate(counts).round() as u64)),
        ("latency p50", duration_us(quantiles.p50_us)),
        ("latency p99", duration_us(quantiles.p99_us)),
        ("latency max", duration_us(quantiles.max_us)),
        ("failed", share(counts.failed)),
        ("refused for overload", share(counts.overloaded)),
        ("refused by rule, as planned", share(counts.refused)),
    ];
    let tile = |(name, value): &(&str, String)| format!("<div><b>{value}</b><span>{name}</span></div>");
    format!("<section class=\"tiles\">{}</section>", tiles.iter().map(tile).collect::<String>())
}

pub(super) fn figure(title: &str, note: &str, legend: &str, svg: &str) -> String {
    format!("<section class=\"card\"><h2>{title}</h2><p class=\"sub\">{note}</p>{legend}{svg}</section>")
}

pub(super) fn format_ms(us: f64) -> String {
    duration_us(us.round().max(0.0) as u64).replace(".0 ", " ")
}

pub(super) fn format_seconds(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn over_time(report: &LoadReport) -> String {
    let intervals = report.series.intervals();
    let end = intervals.last().map_or(1.0, |last| last.from + last.length);
    let course = |name: &str, class, value: &dyn Fn(&SeriesInterval) -> Option<f64>| {
        let points = intervals.iter().map(|interval| (interval.from + interval.length / 2.0, value(interval)));
        PlotLine { name: name.to_owned(), class, points: points.collect() }
    };
    let rate = |count: u64, interval: &SeriesInterval| Some(count as f64 / interval.length.max(1e-6));
    let mut rates = vec![course("succeeded", "c1", &|interval| Some(interval.rate()))];
    if report.all.counts.refused > 0 {
        rates.push(course("refused by rule", "c3", &|interval| rate(interval.slice.counts.refused, interval)));
    }
    if report.all.counts.overloaded > 0 {
        let overloaded = |interval: &SeriesInterval| rate(interval.slice.counts.overloaded, interval);
        rates.push(course("refused for overload", "c2", &overloaded));
    }
    if report.all.counts.failed > 0 {
        rates.push(course("failed", "bad", &|interval| rate(interval.slice.counts.failed, interval)));
    }
    let most = |lines: &[PlotLine]| {
        lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value).fold(0.0, f64::max)
    };
    let time = PlotAxis::until("seconds since the begin", end, format_seconds);
    let per_second = PlotAxis::linear("operations a second", most(&rates), |value| number(value.round() as u64));
    let throughput = figure(
        "Throughput",
        "operations a second, over time",
        &legend(&rates),
        &lines("Throughput over time", &time, &per_second, &rates, true),
    );

    let at = |share: f64| {
        move |interval: &SeriesInterval| {
            let latency = &interval.slice.latency;
            (!latency.is_empty()).then(|| latency.value_at_quantile(share) as f64)
        }
    };
    // The maximum is drawn last. With few calls it equals the 99th percentile, and both should be
    // visible.
    let latencies = [course("p50", "c1", &at(0.5)), course("p99", "c2", &at(0.99)), course("max", "top", &at(1.0))];
    let values = || latencies.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
    let least = values().fold(f64::INFINITY, f64::min);
    let latency = PlotAxis::log("latency", if least.is_finite() { least } else { 1.0 }, most(&latencies), format_ms);
    let latency = figure(
        "Latency",
        "of successes, over time, log scale",
        &legend(&latencies),
        &lines("Latency over time", &time, &latency, &latencies, false),
    );
    throughput + &latency
}

fn distribution(report: &LoadReport) -> String {
    let named = report.kinds.iter().enumerate().map(|(at, (name, kind))| (*name, COLOURS[at % COLOURS.len()], kind));
    let curves = named.chain([("all", "ink", &report.all)]).map(|(name, class, kind)| (name, class, &kind.latency));
    let note = "of successes; each step to the right is ten times rarer, log scale";
    by_percentile("Latency by percentile", note, ("share of operations below", "latency"), curves)
}

/// Renders a curve for each histogram. `axes` names the shares and the measured values.
pub(super) fn by_percentile<'h>(
    title: &str,
    note: &str,
    axes: (&'static str, &'static str),
    curves: impl Iterator<Item = (&'h str, &'static str, &'h Histogram<u64>)> + Clone,
) -> String {
    /// The number of points of a curve.
    const POINTS: u32 = 160;
    let total = curves.clone().map(|(_, _, latency)| latency.len()).max().unwrap_or(0);
    // The number of nines depends on the number of samples.
    let nines = (total.max(10) as f64).log10().clamp(1.0, 6.0);
    let curve = |(name, class, latency): (&str, _, &Histogram<u64>)| {
        let points = (0..=POINTS).map(|point| {
            let x = nines * f64::from(point) / f64::from(POINTS);
            let share = 1.0 - 10f64.powf(-x);
            (x, (!latency.is_empty()).then(|| latency.value_at_quantile(share) as f64))
        });
        PlotLine { name: name.to_owned(), class, points: points.collect() }
    };
    let curves: Vec<PlotLine> = curves.map(curve).collect();
    let values = || curves.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
    let least = values().fold(f64::INFINITY, f64::min);
    let y = PlotAxis::log(axes.1, if least.is_finite() { least } else { 1.0 }, values().fold(1.0, f64::max), format_ms);
    let named = [(0.0, "0 %"), (0.5f64, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];
    let more = [(0.99999, "99.999 %"), (0.999_999, "99.9999 %")];
    let ticks = named.into_iter().chain(more).map(|(share, label)| (-(1.0f64 - share).log10(), label.to_owned()));
    let ticks = ticks.filter(|(x, _)| *x <= nines + 1e-9).collect();
    let x = PlotAxis { name: axes.0, ticks, range: (0.0, nines), log: false };
    let svg = lines(title, &x, &y, &curves, false);
    figure(title, note, &legend(&curves), &svg)
}

fn codes(report: &LoadReport) -> String {
    let all = report.all.counts.all().max(1) as f64;
    let bar = |class, what: &str, (code, count): (&String, &u64)| PlotBar {
        name: if what.is_empty() { code.clone() } else { format!("{code} · {what}") },
        class,
        value: *count,
        label: format!("{} · {:.2} %", number(*count), *count as f64 * 100.0 / all),
    };
    let chart = |title: &str, note: &str, none: &str, mut all: Vec<PlotBar>| {
        all.sort_by_key(|bar| std::cmp::Reverse(bar.value));
        let none = || format!("<p class=\"none\">{none}</p>");
        figure(title, note, "", &if all.is_empty() { none() } else { bars(title, &all) })
    };
    let codes = &report.codes;
    let mut errors: Vec<PlotBar> = codes.failed.iter().map(|count| bar("bad", "failed", count)).collect();
    errors.extend(codes.overloaded.iter().map(|count| bar("c2", "refused for overload", count)));
    let refusals = codes.refused.iter().map(|count| bar("c3", "", count)).collect();
    let note = format!("refusals by a rule of {}: the plan asks for them, and they are no errors", report.rules);
    let none = "None: nothing failed, and nothing was refused for overload.";
    let errors = chart("Errors by code", "failures, and refusals for overload", none, errors);
    let refusals = chart("Planned refusals by code", &note, "None: no rule was touched.", refusals);
    // The charts are low, so one stands above the other.
    format!("<div>{errors}{refusals}</div>")
}

fn operations(report: &LoadReport) -> String {
    let heads: String = COLUMNS.iter().map(|head| format!("<th>{head}</th>")).collect();
    let mut body = String::new();
    for row in rows(report) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape_markup(cell))).collect();
        let _ = write!(body, "<tr>{cells}</tr>");
    }
    let note = if report.open {
        "latency counts from the time at which a call was due, not from when it was sent"
    } else {
        "latency counts from when a call was sent; each client waits for its answer before the next"
    };
    format!(
        "<section class=\"card\"><h2>Operations</h2><p class=\"sub\">{note}; times are of successes</p>\
         <div class=\"scroll\"><table class=\"numbers\"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>\
         </section>"
    )
}

fn list(items: impl IntoIterator<Item = impl AsRef<str>>, class: &str) -> String {
    let items: String = items.into_iter().map(|item| format!("<li>{}</li>", escape_markup(item.as_ref()))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"{class}\">{items}</ul>") }
}

fn verdict(report: &LoadReport) -> String {
    let verdict = &report.verdict;
    format!(
        "<section class=\"card\"><h2>Verification</h2><p>{} {}</p>{}{}</section>",
        badge(report),
        escape_markup(&verdict.method),
        list(&verdict.problems, "problems"),
        list(&verdict.details, "details")
    )
}

fn generator(report: &LoadReport) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut pairs = Vec::new();
    let followers = report.delivery.iter().flat_map(|delivery| &delivery.followed.threads);
    let threads = report.saturation.threads.iter().enumerate().map(|thread| ("thread", thread));
    for (name, (index, thread)) in threads.chain(followers.enumerate().map(|thread| ("followers, thread", thread))) {
        let waited = thread.waited.map(|waited| format!(", waited for one {}", percent(waited))).unwrap_or_default();
        let used = format!("{} of a processor, {} at most{waited}", percent(thread.cpu), percent(thread.peak_cpu));
        pairs.push((format!("{name} {index}"), used));
    }
    if let Some(open) = &report.saturation.open {
        let own = format!(
            "{} of {} by more than 1 ms; p50 {}, p99 {}, max {}",
            number(open.late),
            format_count(open.sent, "call", "calls"),
            duration_us(open.lateness_p50_us),
            duration_us(open.lateness_p99_us),
            duration_us(open.lateness_max_us)
        );
        pairs.push(("sent late by itself".to_owned(), own));
        pairs.push(("waited for their client".to_owned(), format_count(open.queued, "call", "calls")));
        pairs.push(("due, never sent".to_owned(), format_count(open.unsent, "call", "calls")));
    }
    let saturated = !report.saturation.warnings.is_empty();
    let says = if saturated { "See the warnings above." } else { "It was not the bottleneck." };
    format!(
        "<section class=\"card\"><h2>The generator itself</h2><p>{says}</p>{}{}</section>",
        table(&pairs),
        list(&report.saturation.remarks, "details")
    )
}

pub(super) fn table(pairs: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th>{}</th><td>{}</td></tr>", escape_markup(name), escape_markup(value))
    };
    format!("<table class=\"pairs\"><tbody>{}</tbody></table>", pairs.iter().map(row).collect::<String>())
}

fn conditions(report: &LoadReport) -> String {
    let words = report.judged.iter().map(|judged| {
        let so = if judged.holds { "✗ not met" } else { "✓ met" };
        (judged.criterion.clone(), format!("{so}: {}", judged.value))
    });
    let words: Vec<_> = words.collect();
    format!("<section class=\"card\"><h2>Pass criteria</h2>{}</section>", table(&words))
}

fn comparison(report: &LoadReport) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    format!(
        "<section class=\"card\"><h2>Beside the load of {}</h2><p class=\"sub\">of counts the shares are compared</p>\
         <div class=\"scroll\">{}{}</div>{}</section>",
        escape_markup(&comparison.begun),
        numbers(&BESIDE, &comparison_rows(comparison)),
        numbers(&ratio_heads(), &ratio_rows(comparison)),
        list(differences(comparison).iter().map(|difference| format!("Not alike: {difference}.")), "details")
    )
}

fn numbers<const N: usize>(heads: &[&str; N], rows: &[[String; N]]) -> String {
    let heads: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    let cells =
        |row: &[String; N]| row.iter().map(|cell| format!("<td>{}</td>", escape_markup(cell))).collect::<String>();
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>", cells(row))).collect();
    format!("<table class=\"numbers alike\"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
}

fn surroundings(report: &LoadReport) -> String {
    let pairs = table(&text::surroundings(report));
    format!("<section class=\"card\"><h2>Server and machine</h2>{pairs}</section>")
}

fn parameters(report: &LoadReport) -> String {
    let half = report.parameters.len().div_ceil(2);
    let (first, second) = report.parameters.split_at(half);
    format!(
        "<section class=\"card\"><h2>Parameters</h2><div class=\"pair\">{}{}</div></section>",
        table(first),
        table(second)
    )
}
