//! The sections about the service: its address, its limits on requests, and logins.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::CasConfig;
use super::edge::{ForwardedHeader, TlsConfig};

/// `[server]`: address, threads and connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// Path in front of every route of the interface: empty, or like `/swing/api/rest`.
    pub base_path: String,
    /// Threads that read requests and write replies; [`ServerConfig::MAX_WORKERS`] at most. 0 is
    /// one for every two cores and one more.
    pub workers: usize,
    /// Seconds for which all requests are still served after the request to end, while `/readyz` is
    /// 503.
    pub drain_seconds: u64,
    /// Seconds that calls in progress have to end at a shutdown.
    pub shutdown_seconds: u64,
    /// Seconds that an idle connection is kept open; 0 closes it after each reply.
    pub keep_alive_seconds: u64,
    /// Seconds within which a client must have sent a request's head; 0 waits for ever.
    pub slow_request_seconds: u64,
    /// Seconds after which a client that reads nothing of its reply is disconnected; 0 waits for
    /// ever.
    pub slow_reader_seconds: u64,
    /// Bytes from which on a reply is compressed, if the client accepts that; 0 is never.
    pub compress_bytes: u64,
    /// Connections open at a time on each worker; further ones wait to be accepted.
    pub max_connections: usize,
    /// Addresses and networks of the proxies that are trusted to state the client's address.
    pub trusted_proxies: Vec<String>,
    /// The headers that the proxies use.
    pub forwarded_header: ForwardedHeader,
    /// Origins of other sites whose pages may call; empty is none.
    pub cors_origins: Vec<String>,
    /// Encrypted connections.
    pub tls: TlsConfig,
}

impl ServerConfig {
    /// The maximum number of workers in `actix-server`, which panics at one more.
    pub const MAX_WORKERS: usize = 512;

    /// Returns the number of threads that serve requests: as configured, or one for every two cores
    /// and one more. Over half of the work for a change is done there, and the rest in the threads
    /// of the containers, the writer and the checkpointer.
    pub fn threads(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, |cores| ServerConfig::threads_for(cores.get())),
            workers => workers,
        }
    }

    fn threads_for(cores: usize) -> usize {
        (cores / 2 + 1).min(ServerConfig::MAX_WORKERS)
    }

    /// The first segments of the paths that the server answers itself, outside the base path.
    pub const OWN_PATHS: [&str; 6] = ["", "docs", "healthz", "metrics", "openapi.json", "readyz"];
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: "127.0.0.1:8080".to_owned(),
            base_path: String::new(),
            workers: 0,
            drain_seconds: 0,
            shutdown_seconds: 30,
            keep_alive_seconds: 75,
            slow_request_seconds: 10,
            slow_reader_seconds: 60,
            compress_bytes: 4096,
            max_connections: 10_000,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            cors_origins: Vec::new(),
            tls: TlsConfig::default(),
        }
    }
}

/// `[data]`: the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// The data directory; a relative one counts from the working directory.
    pub directory: PathBuf,
}

impl Default for DataConfig {
    fn default() -> DataConfig {
        DataConfig { directory: PathBuf::from("data") }
    }
}

/// The format of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// `[log]`: the log on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// A level, or levels for parts of the program: `info,stet_store=debug`.
    pub filter: String,
    /// Format of a line.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig { filter: "info".to_owned(), format: LogFormat::Text }
    }
}

/// `[traces]`: the export of traces of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// URL at which a collector accepts OTLP over HTTP; empty: no traces.
    pub endpoint: String,
    /// Name of this server in the traces.
    pub service_name: String,
    /// Sampling: one of this number of requests that begin a trace is traced.
    pub sample_one_in: u32,
}

impl Default for TracesConfig {
    fn default() -> TracesConfig {
        TracesConfig { endpoint: String::new(), service_name: "stet".to_owned(), sample_one_in: 1 }
    }
}

/// `[limits]`: limits on requests of clients. Requests beyond them are refused before they take
/// memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Bytes of a JSON body.
    pub json_bytes: usize,
    /// Levels of objects and arrays in a JSON body.
    pub json_depth: usize,
    /// Values in a JSON body, and elements and attributes in an attribute text.
    pub json_values: usize,
    /// Bytes of the body of a form that a user fills in, such as a login, as JSON or as a form.
    pub short_body_bytes: usize,
    /// Bytes of an uploaded content.
    pub upload_bytes: u64,
    /// Bytes of the JSON part beside an uploaded content.
    pub upload_part_options_bytes: usize,
    /// Seconds within which a JSON or form body must have arrived; 0 waits for ever.
    pub body_seconds: u64,
    /// Bytes of an upload that must arrive in each period of `upload_progress_seconds`.
    pub upload_progress_bytes: usize,
    /// Seconds of that period; 0 lets an upload stand still for ever.
    pub upload_progress_seconds: u64,
    /// Parts of an uploaded form.
    pub upload_parts: usize,
    /// Bytes of a request's path and query.
    pub url_bytes: usize,
    /// Bytes of a path that names an object.
    pub path_bytes: usize,
    /// Names in a path, and so the depth at which objects may lie.
    pub path_depth: usize,
    /// Bytes of an attribute text, of a liveblog's own content, of a post's content within that,
    /// and of a DTD that is shown.
    pub xml_bytes: usize,
    /// Levels of elements in an attribute text, in a liveblog's own content and in the contents
    /// within that.
    pub xml_depth: usize,
    /// Sources in the list of one bulk call.
    pub list_sources: usize,
    /// Maximum number of uploads that are written to the disk at a time.
    pub uploads_at_once: usize,
    /// Seconds for which the reply to a call with an `Idempotency-Key` is kept for retries.
    pub idempotency_seconds: u64,
    /// Keys whose replies are kept for one user.
    pub idempotency_keys_per_user: usize,
    /// Bytes of the replies and outcomes that are kept for one user.
    pub idempotency_bytes_per_user: u64,
    /// Calls a minute of one session, or of one address without a session; 0 is no limit.
    pub calls_per_minute: u32,
}

impl LimitsConfig {
    /// Memory of one value of a JSON body, beside its text: about that of an empty text in a list.
    pub const VALUE_BYTES: u64 = 64;
}

impl Default for LimitsConfig {
    fn default() -> LimitsConfig {
        LimitsConfig {
            json_bytes: 4 << 20,
            json_depth: 64,
            json_values: 100_000,
            short_body_bytes: 16 << 10,
            upload_bytes: 512 << 20,
            upload_part_options_bytes: 1 << 20,
            body_seconds: 60,
            upload_progress_bytes: 16 << 10,
            upload_progress_seconds: 30,
            upload_parts: 32,
            url_bytes: 16 << 10,
            path_bytes: 16 << 10,
            path_depth: 64,
            xml_bytes: 4 << 20,
            xml_depth: 64,
            list_sources: 10_000,
            uploads_at_once: 256,
            idempotency_seconds: 86_400,
            idempotency_keys_per_user: 10_000,
            idempotency_bytes_per_user: 32 << 20,
            calls_per_minute: 0,
        }
    }
}

/// `[compat]`: compatibility with clients that were made for another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompatConfig {
    /// The prefix of every error code on the wire.
    pub code_prefix: String,
    /// Absolute path, outside the base path, of a second address of the older login; empty: none.
    pub login_path: String,
    /// Names of the object types that count as page plans.
    pub page_plan_types: Vec<String>,
}

impl Default for CompatConfig {
    fn default() -> CompatConfig {
        CompatConfig {
            code_prefix: "CMS.".to_owned(),
            login_path: String::new(),
            page_plan_types: vec!["PagePlan".to_owned()],
        }
    }
}

/// `[console]`: the web application that the server carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleConfig {
    /// Whether the server has the console, at `/console/` below the base path.
    pub enabled: bool,
}

impl Default for ConsoleConfig {
    fn default() -> ConsoleConfig {
        ConsoleConfig { enabled: true }
    }
}

/// `[auth]`: sessions and passwords.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// Seconds without a call after which a session ends.
    pub session_idle_seconds: u64,
    /// Seconds after which a session ends, used or not.
    pub session_absolute_seconds: u64,
    /// Maximum sessions of one user at a time; 0 for no limit.
    pub sessions_per_user: usize,
    /// Seconds without use after which a lock ends.
    pub lock_idle_seconds: u64,
    /// Seconds between two records of the last use of sessions.
    pub flush_seconds: u64,
    /// KiB of memory that hashing one password takes (Argon2id).
    pub password_memory_kib: u32,
    /// Passes over that memory.
    pub password_iterations: u32,
    /// Independent parts of that memory.
    pub password_lanes: u32,
    /// Minimum characters of a new password.
    pub password_min_length: usize,
    /// Single sign-on.
    pub cas: CasConfig,
    /// Failed logins of one user name from one address in the window; 0 is no limit.
    pub failures_per_user: u32,
    /// Failed logins of one user name, from all addresses where the user is not known, in the
    /// window; 0 is no limit.
    pub failures_per_user_anywhere: u32,
    /// Failed logins from one address in the window; 0 is no limit.
    pub failures_per_address: u32,
    /// Seconds of the window.
    pub failure_window_seconds: u64,
}

impl Default for AuthConfig {
    fn default() -> AuthConfig {
        AuthConfig {
            session_idle_seconds: 14_400,
            session_absolute_seconds: 86_400,
            sessions_per_user: 100,
            lock_idle_seconds: 28_800,
            flush_seconds: 60,
            password_memory_kib: 19_456,
            password_iterations: 2,
            password_lanes: 1,
            password_min_length: 8,
            cas: CasConfig::default(),
            failures_per_user: 10,
            failures_per_user_anywhere: 100,
            failures_per_address: 1000,
            failure_window_seconds: 300,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_the_cores_up_to_what_the_library_takes() {
        for (cores, threads) in [(1, 1), (2, 2), (7, 4), (1021, 511), (1022, 512), (1023, 512), (4096, 512)] {
            assert_eq!(ServerConfig::threads_for(cores), threads, "{cores}");
        }
        assert_eq!(ServerConfig { workers: 3, ..ServerConfig::default() }.threads(), 3);
    }
}
