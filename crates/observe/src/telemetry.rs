//! Telemetry of the running server: its log on standard error, and the metrics of `GET /metrics`.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use stet_config::{LogConfig, LogFormat};
use stet_domain::trace;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use crate::log_lines::{self, LogThread};
use crate::metering;

/// A log filter in the configuration that can't be parsed.
#[derive(Debug)]
pub struct FilterError(tracing_subscriber::filter::ParseError);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`log.filter` can't be parsed: {}.", self.0)
    }
}

impl std::error::Error for FilterError {}

/// The handle of the log's filter.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Crates that log whole requests at finer levels, including those to the CAS server with their
/// tickets.
const QUIET: [&str; 2] = ["ureq=info", "ureq_proto=info"];

/// The crate that parses request heads. It logs each invalid head as an error, although clients
/// cause these and may send any number of them. Therefore it is silent unless the filter names it.
const HEADS: &str = "actix_http";

/// Sends the log to standard error. The first call in a process decides how; later calls change
/// nothing. The result must be [ended](LogThread::end) last.
///
/// # Errors
/// The filter can't be parsed; nothing is logged then.
pub fn init_tracing(config: &LogConfig) -> Result<LogThread, FilterError> {
    let (filter, handle) = reload::Layer::new(filter_of(config)?);
    let (writer, bounded, lines) = LogThread::to(io::stderr());
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(colours)
        // Otherwise such errors would be printed to standard error by a macro that panics if it is
        // closed or its disk is full.
        .log_internal_errors(false);
    let layer = match config.format {
        LogFormat::Text => layer.map_event_format(|inner| RequestLineFormat::text(inner.with_ansi(colours))).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).map_event_format(RequestLineFormat::json).boxed(),
    };
    // Fails if a log is set up already, and a second call is meant to change nothing.
    if tracing_subscriber::registry().with(filter).with(bounded).with(layer).try_init().is_ok() {
        // The first call, so the cell is empty.
        let _ = FILTER.set(handle);
        lines.start();
    }
    Ok(lines)
}

/// A line format that adds the request's id and client to each line that is logged while a thread
/// works for a request.
struct RequestLineFormat<F> {
    inner: F,
    json: bool,
}

impl<F> RequestLineFormat<F> {
    fn text(inner: F) -> RequestLineFormat<F> {
        RequestLineFormat { inner, json: false }
    }

    fn json(inner: F) -> RequestLineFormat<F> {
        RequestLineFormat { inner, json: true }
    }
}

impl<S, N, F> FormatEvent<S, N> for RequestLineFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(asked) = trace::current_origin() else { return self.inner.format_event(ctx, writer, event) };
        let mut line = String::new();
        self.inner.format_event(ctx, Writer::new(&mut line), event)?;
        let line = line.trim_end_matches('\n');
        match line.strip_suffix('}').filter(|_| self.json) {
            // Neither value has a character that JSON would escape.
            Some(open) => {
                writeln!(writer, r#"{open},"request":"{}","client":"{}"}}"#, asked.request, asked.client)
            }
            None => writeln!(writer, "{line} {asked}"),
        }
    }
}

/// Changes the filter of the log that [`init_tracing`] has set up.
///
/// # Errors
/// The filter can't be parsed; the old one stays.
pub fn set_filter(config: &LogConfig) -> Result<(), FilterError> {
    let filter = filter_of(config)?;
    if let Some(in_force) = FILTER.get()
        && let Err(error) = in_force.reload(filter)
    {
        tracing::error!(%error, "cannot change the log filter");
    }
    Ok(())
}

fn filter_of(config: &LogConfig) -> Result<EnvFilter, FilterError> {
    let mut filter = EnvFilter::try_new(&config.filter).map_err(FilterError)?;
    for quiet in QUIET {
        filter = filter.add_directive(quiet.parse().map_err(FilterError)?);
    }
    if !config.filter.split(',').any(|part| part.trim().starts_with(HEADS)) {
        filter = filter.add_directive(format!("{HEADS}=off").parse().map_err(FilterError)?);
    }
    Ok(filter)
}

/// The metrics of this process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
}

impl Metrics {
    /// Returns the metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        stet_base::limits::bounded_cache::report();
        log_lines::report();
        // The rendered text ends with an empty line, which may separate parts of the format.
        let more = metering::report();
        self.handle.render() + &more
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The bounds of buckets for times in seconds: from a read of memory to a failing disk, each about
/// 2.5 times the one before.
const SECONDS: [f64; 15] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The bounds of buckets for the size of commits.
const BATCH: [f64; 13] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0];

/// The period in which histogram samples are folded into their buckets while nobody reads the
/// metrics. Until then each sample takes eight bytes.
const UPKEEP: Duration = Duration::from_secs(5);

/// Sets up the metrics of this process. Every call returns the same ones.
pub fn init_metrics() -> Metrics {
    static METRICS: OnceLock<Metrics> = OnceLock::new();
    METRICS.get_or_init(install).clone()
}

fn install() -> Metrics {
    let recorder = builder().build_recorder();
    let metrics = Metrics { handle: recorder.handle() };
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("the process already has a metrics recorder; /metrics stays empty");
        return metrics;
    }
    metering::begin();
    let handle = metrics.handle.clone();
    let upkeep = move || {
        loop {
            std::thread::sleep(UPKEEP);
            handle.run_upkeep();
        }
    };
    // The thread lives as long as the process, like the recorder.
    if let Err(error) = std::thread::Builder::new().name("stet-metrics".to_owned()).spawn(upkeep) {
        tracing::error!(
            %error,
            "cannot start the thread that maintains metrics; their memory grows unless /metrics is read"
        );
    }
    metrics
}

fn builder() -> PrometheusBuilder {
    let buckets = |builder: PrometheusBuilder, matcher, bounds: &[f64]| {
        builder.set_buckets_for_metric(matcher, bounds).expect("the list of bounds is not empty")
    };
    let builder = buckets(PrometheusBuilder::new(), Matcher::Suffix("_seconds".to_owned()), &SECONDS);
    buckets(builder, Matcher::Full("stet_store_batch_size".to_owned()), &BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_rendered_with_their_description_and_buckets() {
        // A separate recorder, because other tests of the process count, too.
        let recorder = builder().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            metering::begin();
            metrics::counter!("stet_store_commits_total").increment(3);
            metrics::gauge!("stet_containers", "family" => "drawer").set(2.0);
            metrics::histogram!("stet_store_commit_seconds").record(0.003);
            metrics::histogram!("stet_store_batch_size").record(5.0);
        });
        let text = recorder.handle().render();
        for line in [
            "# HELP stet_store_commits_total Commits of the journal.",
            "# TYPE stet_store_commits_total counter",
            "stet_containers{family=\"drawer\"} 2",
            "# TYPE stet_store_commit_seconds histogram",
            "stet_store_commit_seconds_bucket{le=\"0.0025\"} 0",
            "stet_store_commit_seconds_bucket{le=\"0.005\"} 1",
            "stet_store_batch_size_bucket{le=\"8\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "`{line}` is missing in:\n{text}");
        }
    }

    #[test]
    fn every_call_gives_the_same_metrics() {
        let (first, second) = (init_metrics(), init_metrics());
        metrics::counter!("stet_test_total").increment(1);
        assert!(first.render().contains("stet_test_total 1"));
        assert!(second.render().contains("stet_test_total 1"));
    }

    #[test]
    fn the_log_can_be_set_up_again() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let lines = init_tracing(&LogConfig { filter: "warn".to_owned(), format }).expect("the filter is a level");
            lines.end();
        }
    }

    #[test]
    fn a_filter_that_cannot_be_understood_is_an_error() {
        let config = LogConfig { filter: "stet=loud".to_owned(), format: LogFormat::Text };
        let error = init_tracing(&config).err().expect("loud is no level");
        assert!(error.to_string().contains("log.filter"), "{error}");
    }
}
