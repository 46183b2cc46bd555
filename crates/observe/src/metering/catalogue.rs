//! The catalogue of all metrics, with their meanings. `docs/METRICS.md` is generated from it.
//!
//! A counter whose labels have known values begins with 0 for each of them. Prometheus sees a rise
//! only between two values, so a series that began with 1 would raise no alert for its first
//! restart, refusal or failure. Series that depend on callers, such as those of endpoints, begin
//! with the first call: zeros for unused endpoints are useless.

use metrics::{Key, KeyName, Label, Level, Metadata, SharedString, Unit, with_recorder};
use stet_actors::families::Families;
use stet_domain::object::FamilyKind;

/// A metric.
pub(super) struct Metric {
    /// The name in `/metrics`; for a histogram without `_bucket`, `_sum` and `_count`.
    pub name: &'static str,
    /// The type of the metric.
    pub kind: MetricKind,
    /// The unit of its numbers, unless they are plain counts.
    pub unit: Option<Unit>,
    /// The labels, in the order of the document.
    pub labels: &'static [(&'static str, LabelValues)],
    /// Whether all its series exist from the start, with 0.
    pub begins: SeriesStart,
    /// The description, one sentence.
    pub means: &'static str,
}

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// A number that only grows, from 0 at the start of the process.
    Counter,
    /// A number that may rise and fall.
    Gauge,
    /// The numbers of observations up to each of some bounds.
    Histogram,
}

/// The possible values of a label.
pub(super) enum LabelValues {
    /// A fixed list of values.
    These(fn() -> Vec<&'static str>),
    /// Values that occur at run time, described in words.
    Met(#[cfg_attr(not(test), expect(dead_code, reason = "for the document, which a test writes"))] &'static str),
}

/// The time at which the series of a metric begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeriesStart {
    /// All series begin at the start, with 0.
    AtStart,
    /// Each series begins with its first event: a call, a cache, a check of the disk.
    Later,
}

impl MetricKind {
    /// Returns the word of Prometheus' text format.
    pub const fn word(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

const fn counter(name: &'static str, labels: &'static [(&'static str, LabelValues)], means: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Counter, unit: None, labels, begins: SeriesStart::AtStart, means }
}

const fn gauge(name: &'static str, labels: &'static [(&'static str, LabelValues)], means: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Gauge, unit: None, labels, begins: SeriesStart::AtStart, means }
}

const fn histogram(name: &'static str, labels: &'static [(&'static str, LabelValues)], means: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Histogram, unit: None, labels, begins: SeriesStart::AtStart, means }
}

impl Metric {
    const fn of(self, unit: Unit) -> Metric {
        Metric { unit: Some(unit), ..self }
    }

    const fn later(self) -> Metric {
        Metric { begins: SeriesStart::Later, ..self }
    }
}

const NONE: &[(&str, LabelValues)] = &[];
const FAMILY: &[(&str, LabelValues)] =
    &[("family", LabelValues::These(|| Families::ALL.kinds().map(FamilyKind::name).collect()))];
const ENDPOINT: &[(&str, LabelValues)] = &[("endpoint", ENDPOINTS)];
const ENDPOINTS: LabelValues = LabelValues::Met("id of an endpoint in `/openapi.json`, or `none`");
const KEPT: &[(&str, LabelValues)] = &[(
    "cache",
    LabelValues::These(|| vec!["records", "replies", "parts", "lengths", "pictures", "xml_files", "pages"]),
)];
const DISKS: &[(&str, LabelValues)] = &[("of", LabelValues::These(|| vec!["store", "contents"]))];
const REFRESHED: &[(&str, LabelValues)] = &[("cache", CACHES), ("database", DATABASES)];
const CACHES: LabelValues = LabelValues::Met("a [cache](api/caches.md)");
const DATABASES: LabelValues = LabelValues::Met("id of a database");

/// All metrics.
pub(super) const METRICS: &[Metric] = &[
    gauge(
        "stet_build_info",
        &[
            ("version", LabelValues::Met("as `stet --version` prints it")),
            ("commit", LabelValues::Met("commit of the source, or `unknown`")),
        ],
        "Always 1; the labels describe the build.",
    )
    .later(),
    counter(
        "stet_http_requests_total",
        &[("endpoint", ENDPOINTS), ("status", LabelValues::Met("HTTP status"))],
        "Requests answered.",
    )
    .later(),
    counter(
        "stet_http_server_errors_total",
        &[("status", LabelValues::These(|| vec!["500", "503", "507"]))],
        "Requests answered with a server error, by any endpoint. 503: the server is overloaded or stopping. 507: the \
         disk is full.",
    ),
    histogram("stet_http_request_seconds", ENDPOINT, "Time from a request's head to its reply's head.")
        .of(Unit::Seconds)
        .later(),
    counter(
        "stet_http_slow_turns_total",
        ENDPOINT,
        "Periods of more than 5 ms for which a call blocked its thread. A busy machine causes them, too.",
    )
    .later(),
    histogram(
        "stet_http_slow_turn_seconds",
        ENDPOINT,
        "Duration of each period that `stet_http_slow_turns_total` counts.",
    )
    .of(Unit::Seconds)
    .later(),
    gauge(
        "stet_http_slowest_turn_seconds",
        NONE,
        "The longest such period in the current and the previous minute, by any endpoint; 0 without one.",
    )
    .of(Unit::Seconds),
    gauge(
        "stet_http_slowest_turn_processor_seconds",
        NONE,
        "The most processor time of such a period in the current and the previous minute, 1 ms too much at most; 0 \
         without one. A busy machine does not raise it.",
    )
    .of(Unit::Seconds),
    counter(
        "stet_http_time_slices_total",
        NONE,
        "Slices of 2 ms for which calls waited in their user's queue, because calls of that user had used 20 ms of \
         the shared threads.",
    ),
    gauge(
        "stet_budget_bytes",
        &[("of", LabelValues::These(|| vec!["bodies", "replies", "pictures"]))],
        "Bytes of memory that calls have reserved.",
    )
    .of(Unit::Bytes),
    counter(
        "stet_memory_shed_total",
        NONE,
        "Evictions of caches and unused containers because the process was near its memory limit.",
    ),
    gauge("stet_uploads", NONE, "Uploads that are being written to the disk."),
    counter(
        "stet_overloaded_total",
        &[(
            "what",
            LabelValues::These(|| {
                vec![
                    "repository",
                    "container",
                    "folders",
                    "store",
                    "uploads",
                    "bodies",
                    "replies",
                    "pictures",
                    "container_memory",
                    "followers",
                    "passwords",
                    "scaling",
                    "pages",
                    "work_aside",
                    "past",
                    "large_changes",
                ]
            }),
        )],
        "Calls refused because of overload, by the exhausted resource.",
    ),
    counter(
        "stet_logins_total",
        &[
            ("by", LabelValues::These(|| vec!["password", "ticket"])),
            ("outcome", LabelValues::These(|| vec!["succeeded", "failed", "refused", "withdrawn"])),
        ],
        "Logins, and other calls that check a password. Refused: too many have failed. Withdrawn: the password or \
         ticket could not be checked.",
    ),
    gauge("stet_event_followers", NONE, "Connected followers of containers."),
    counter("stet_events_sent_total", NONE, "Events sent to followers."),
    counter("stet_event_followers_dropped_total", NONE, "Followers disconnected because they fell behind."),
    gauge("stet_containers", FAMILY, "Containers in memory."),
    gauge("stet_container_bytes", NONE, "Bytes of memory that containers use.").of(Unit::Bytes),
    counter("stet_container_restarts_total", FAMILY, "Containers read from disk again after a failure."),
    counter("stet_container_quarantines_total", FAMILY, "Containers quarantined because they failed too often."),
    gauge("stet_containers_quarantined", FAMILY, "Containers in quarantine."),
    gauge("stet_subtrees_under_way", NONE, "1 while a folder change of several steps is in progress, else 0."),
    counter("stet_subtree_objects_total", NONE, "Objects changed by folder changes after their first step."),
    gauge("stet_cache_bytes", KEPT, "Bytes of memory that the cache uses.").of(Unit::Bytes),
    gauge("stet_cache_entries", KEPT, "Entries in the cache."),
    counter("stet_cache_hits_total", KEPT, "Lookups that found an entry."),
    counter("stet_cache_misses_total", KEPT, "Lookups that found no entry."),
    counter(
        "stet_cache_refreshes_total",
        &[
            ("cache", CACHES),
            ("database", DATABASES),
            ("outcome", LabelValues::These(|| vec!["refreshed", "failed", "panicked"])),
        ],
        "Refreshes of a configuration cache. After a failure the old configuration stays in force.",
    )
    .later(),
    gauge("stet_cache_broken", REFRESHED, "1 if the last refresh failed, else 0.").later(),
    counter(
        "stet_cache_restarts_total",
        &[("cache", CACHES)],
        "Configuration caches restarted after a failure of the program.",
    )
    .later(),
    gauge("stet_mails_waiting", NONE, "Mails that wait for the relay."),
    counter(
        "stet_mails_total",
        &[("outcome", LabelValues::These(|| vec!["sent", "refused", "uncertain", "givenUp", "dropped"]))],
        "Recipient addresses of mails, by outcome.",
    ),
    gauge(
        "stet_webhooks",
        &[("state", LabelValues::These(|| vec!["active", "failing", "paused", "ownerDisabled", "ended"]))],
        "Webhooks, by state.",
    ),
    gauge(
        "stet_webhook_oldest_seconds",
        NONE,
        "Age of the oldest event that webhooks have yet to deliver, paused ones aside; 0 if there is none.",
    )
    .of(Unit::Seconds),
    counter(
        "stet_webhook_deliveries_total",
        &[("outcome", LabelValues::These(|| vec!["delivered", "failed"]))],
        "Attempts to deliver an event to a webhook, by outcome.",
    ),
    gauge("stet_search_documents", NONE, "Objects, posts and messages in the index of the search."),
    gauge("stet_search_bytes", NONE, "Bytes of the index of the search on the disk.").of(Unit::Bytes),
    gauge(
        "stet_search_behind_seconds",
        NONE,
        "Age of the oldest change that can't be found yet; while the index is incomplete, the time since it became so.",
    )
    .of(Unit::Seconds),
    gauge("stet_search_complete", NONE, "1 if everything can be found, 0 while the index is compared or made anew."),
    counter("stet_search_comparisons_total", NONE, "Comparisons of the whole data with the index of the search."),
    counter("stet_search_rebuilds_total", NONE, "Times that the index of the search was made anew."),
    histogram("stet_search_seconds", NONE, "Duration of searches.").of(Unit::Seconds),
    gauge(
        "stet_backup_behind_seconds",
        NONE,
        "Age of the oldest change that the backup does not have yet; 0 if it has all. Missing, like the other gauges of \
         the backup, without one.",
    )
    .of(Unit::Seconds)
    .later(),
    gauge("stet_backup_pending_changes", NONE, "Changes that the backup does not have yet.").later(),
    gauge("stet_backup_spool_bytes", NONE, "Bytes of changes on the local disk that wait for the backup.")
        .of(Unit::Bytes)
        .later(),
    gauge("stet_backup_has_gap", NONE, "1 while changes are missing from the backup until a new base has them, else 0.")
        .later(),
    gauge(
        "stet_backup_base_timestamp_seconds",
        NONE,
        "Time of the newest base, in seconds since 1970; 0 if there is none.",
    )
    .of(Unit::Seconds)
    .later(),
    histogram("stet_backup_base_seconds", NONE, "Duration of taking a base.").of(Unit::Seconds),
    counter("stet_backup_base_sent_bytes_total", NONE, "Bytes that bases have sent to the backup.").of(Unit::Bytes),
    counter("stet_backup_archived_bytes_total", NONE, "Bytes of changes that were sent to the backup.").of(Unit::Bytes),
    counter("stet_backup_failures_total", NONE, "Failed attempts to send something to the backup."),
    counter("stet_backup_refused_deletions_total", NONE, "Deletions that the target of the backup has refused."),
    gauge(
        "stet_backup_verified_timestamp_seconds",
        NONE,
        "Time of the last drill that succeeded, in seconds since 1970; before the first one, that of the first base. \
         Missing without drills and before there is a base.",
    )
    .of(Unit::Seconds)
    .later(),
    gauge(
        "stet_tls_certificate_ends_seconds",
        NONE,
        "Time at which the certificate in force, or another of its chain, expires, in seconds since 1970; missing \
         without TLS.",
    )
    .of(Unit::Seconds)
    .later(),
    gauge(
        "stet_tls_reload_failed",
        NONE,
        "1 if the last check of the certificate and key files found them unusable, else 0; missing without TLS.",
    )
    .later(),
    gauge(
        "stet_store_state",
        &[("state", LabelValues::These(|| vec!["ok", "full", "lagging", "failing", "stalled", "closed"]))],
        "1 for the store's present state, 0 for the others.",
    )
    .later(),
    gauge("stet_store_healthy", NONE, "1 while both the journal and the tables work, else 0.").later(),
    counter("stet_store_commits_total", NONE, "Commits of the journal."),
    histogram("stet_store_commit_seconds", NONE, "Duration of one commit of the journal, including its fsync.")
        .of(Unit::Seconds),
    histogram("stet_store_batch_size", NONE, "Change sets in one commit."),
    counter("stet_store_failed_commits_total", NONE, "Commits of the journal that failed."),
    gauge("stet_store_commit_waits_seconds", NONE, "Time for which the current commit has waited for the disk.")
        .of(Unit::Seconds),
    gauge("stet_store_pending", NONE, "Change sets that wait for the writer or are being written."),
    gauge("stet_store_overlay_rows", NONE, "Changed rows in memory that the tables do not contain yet."),
    gauge("stet_store_overlay_bytes", NONE, "Bytes of the changed rows in memory.").of(Unit::Bytes),
    gauge(
        "stet_store_unfolded_bytes",
        NONE,
        "Bytes of the journal that are not in the tables yet. The next start has to read them.",
    )
    .of(Unit::Bytes),
    histogram(
        "stet_store_checkpoint_seconds",
        NONE,
        "Duration of one checkpoint, which moves changed rows into the tables.",
    )
    .of(Unit::Seconds),
    counter("stet_store_failed_checkpoints_total", NONE, "Failed checkpoints, and attempts to reopen the tables."),
    gauge(
        "stet_data_bytes",
        &[("of", LabelValues::These(|| vec!["journal", "tables", "contents"]))],
        "Bytes of the files in the data directory. Contents are counted within seconds of the start, and again every \
         45 minutes.",
    )
    .of(Unit::Bytes)
    .later(),
    gauge("stet_content_files", NONE, "Content files, counted when their bytes are.").later(),
    gauge("stet_data_disk_bytes", DISKS, "Size of the file system of store or contents; often the same one.")
        .of(Unit::Bytes)
        .later(),
    gauge("stet_data_disk_free_bytes", DISKS, "Free space on that file system that the server may use.")
        .of(Unit::Bytes)
        .later(),
    counter(
        "stet_content_failures_total",
        &[
            ("what", LabelValues::These(|| vec!["written", "opened", "read", "listed", "collected"])),
            ("why", LabelValues::These(|| vec!["full", "files", "failed"])),
        ],
        "Failed operations on content files. Full: the disk is full. Files: the process has reached its limit of open \
         files.",
    ),
    counter("stet_content_collected_total", NONE, "Unreferenced content files that were removed."),
    counter("stet_content_collected_bytes_total", NONE, "Bytes of unreferenced content files that were removed.")
        .of(Unit::Bytes),
    counter(
        "stet_pictures_scaled_total",
        &[("outcome", LabelValues::These(|| vec!["scaled", "unfit"]))],
        "Pictures that were scaled, or could not be.",
    ),
    counter(
        "stet_trace_batches_total",
        &[("outcome", LabelValues::These(|| vec!["sent", "failed"]))],
        "Batches of spans for the trace collector, if one is configured.",
    ),
    counter(
        "stet_log_lines_dropped_total",
        &[("why", LabelValues::These(|| vec!["unread", "repeated"]))],
        "Lines missing from the log. Unread: the log was not read in time. Repeated: one place in the code wrote too \
         many.",
    ),
    counter("process_cpu_seconds_total", NONE, "Processor time of the process, all threads together.")
        .of(Unit::Seconds)
        .later(),
    gauge("process_resident_memory_bytes", NONE, "Resident memory of the process.").of(Unit::Bytes).later(),
    gauge("process_virtual_memory_bytes", NONE, "Virtual memory of the process.").of(Unit::Bytes).later(),
    gauge("process_threads", NONE, "Threads of the process.").later(),
    gauge("process_open_fds", NONE, "Open files and connections of the process.").later(),
    gauge("process_max_fds", NONE, "Limit of open files and connections; missing without a limit.").later(),
    gauge("process_start_time_seconds", NONE, "Start of the process, in seconds since 1970.").of(Unit::Seconds).later(),
];

/// Describes all metrics, and creates the series that begin at the start.
pub(super) fn begin() {
    with_recorder(|recorder| {
        for metric in METRICS {
            let (name, means) = (KeyName::from_const_str(metric.name), SharedString::const_str(metric.means));
            match metric.kind {
                MetricKind::Counter => recorder.describe_counter(name, metric.unit, means),
                MetricKind::Gauge => recorder.describe_gauge(name, metric.unit, means),
                MetricKind::Histogram => recorder.describe_histogram(name, metric.unit, means),
            }
            if metric.begins == SeriesStart::Later {
                continue;
            }
            let of = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
            for labels in metric.series() {
                let key = Key::from_parts(metric.name, labels);
                match metric.kind {
                    MetricKind::Counter => drop(recorder.register_counter(&key, &of)),
                    MetricKind::Gauge => drop(recorder.register_gauge(&key, &of)),
                    MetricKind::Histogram => drop(recorder.register_histogram(&key, &of)),
                }
            }
        }
    });
}

impl Metric {
    /// Returns the labels of each series that begins at the start.
    fn series(&self) -> Vec<Vec<Label>> {
        self.labels.iter().fold(vec![Vec::new()], |series, (name, values)| {
            let values = match values {
                LabelValues::These(values) => values(),
                // A test ensures that no metric with such a label begins at the start.
                LabelValues::Met(_) => Vec::new(),
            };
            let with =
                |labels: &Vec<Label>, value| [labels.clone(), vec![Label::from_static_parts(name, value)]].concat();
            series
                .iter()
                .flat_map(|labels| values.iter().map(|value| with(labels, value)).collect::<Vec<_>>())
                .collect()
        })
    }
}

/// Returns the description and type in the text format, for a metric that the recorder can't hold.
pub(super) fn head(name: &str) -> String {
    METRICS.iter().find(|metric| metric.name == name).map_or_else(String::new, |metric| {
        format!("# HELP {name} {}\n# TYPE {name} {}\n", metric.means, metric.kind.word())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::path::Path;

    use super::*;

    /// Returns the table of the document.
    fn table() -> String {
        let mut table =
            "| metric | type | labels | unit | from the start | meaning |\n|---|---|---|---|---|---|\n".to_owned();
        for Metric { name, kind, unit, labels, begins, means } in METRICS {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, values)| match values {
                    LabelValues::These(values) => {
                        format!(
                            "`{label}`: {}",
                            values().iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
                        )
                    }
                    LabelValues::Met(words) => format!("`{label}`: {words}"),
                })
                .collect();
            let unit = unit.map_or("", |unit| unit.as_str());
            let begins = if *begins == SeriesStart::AtStart { "yes" } else { "" };
            writeln!(table, "| `{name}` | {} | {} | {unit} | {begins} | {means} |", kind.word(), labels.join("; "))
                .expect("a text can be written");
        }
        table
    }

    #[test]
    fn the_document_of_metrics_is_what_the_catalogue_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/METRICS.md");
        let text = std::fs::read_to_string(&path).expect("the document can be read");
        let begin = text.find("| metric |").expect("it has the table");
        let end = begin + text[begin..].find("\n\n").map_or(text[begin..].len(), |end| end + 1);
        let made = format!("{}{}{}", &text[..begin], table(), &text[end..]);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, made).expect("the document can be written");
        } else {
            assert!(text == made, "{} is not what the catalogue says: UPDATE_GOLDEN=1 writes it anew", path.display());
        }
    }

    #[test]
    fn metrics_present_from_the_start_have_only_known_labels() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len(), "each is there once");
        for metric in METRICS {
            let unknown = metric.labels.iter().any(|(_, values)| matches!(values, LabelValues::Met(_)));
            assert!(
                !unknown || metric.begins == SeriesStart::Later,
                "{}: who knows its labels at the start?",
                metric.name
            );
            assert_eq!(metric.name.ends_with("_total"), metric.kind == MetricKind::Counter, "{}", metric.name);
        }
    }
}
