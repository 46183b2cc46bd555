//! What the server is made of, and the questions that several handlers ask of it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use actix_web::http::header::HeaderValue;
use stet_actors::drawer::DrawerState;
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::{DatabaseId, Source};
use stet_actors::repository::Repository;

use crate::api::liveblog::{KeptPosts, Lengths};
use crate::auth::{AttemptOptions, Attempts, Cas, Directory, Sessions};
use crate::config::{Config, for_user};
use crate::content::ContentStore;
use crate::content::scaling::Scaler;
use crate::events::Followers;
use crate::http::calls::CallLimit;
use crate::http::client::Proxies;
use crate::http::meters::Meters;
use crate::http::openapi::Served;
use crate::http::router::Router;
use crate::receipts::Receipts;
use crate::records::{Cached, RecordCache, Renderings};
use crate::sysconfig::SysConfig;
use crate::telemetry::Metrics;

#[cfg(test)]
pub mod testing;

/// Where in its life the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Not yet of use.
    Starting,
    /// Serving.
    Ready,
    /// Ending: what is under way is brought to its end.
    Draining,
}

/// See the module's head.
pub struct App {
    /// As read from file, environment and command line.
    pub config: Config,
    /// The objects.
    pub repository: Repository,
    /// Records as readers see them.
    pub records: Arc<RecordCache>,
    /// Who follows containers live.
    pub followers: Arc<Followers>,
    /// Rendered drawers.
    pub drawers: Renderings<DrawerState>,
    /// Rendered posts of liveblogs.
    pub posts: KeptPosts,
    /// How long the resolved contents of liveblogs are.
    pub lengths: Lengths,
    /// Users and groups.
    pub directory: Arc<Directory>,
    /// Who is logged in.
    pub sessions: Arc<Sessions>,
    /// Single sign-on, where it is configured.
    pub cas: Option<Cas>,
    /// Calls that may be sent again.
    pub receipts: Arc<Receipts>,
    /// Object types and workflows.
    pub sysconfig: SysConfig,
    /// Bodies.
    pub content: ContentStore,
    /// Scaled pictures.
    pub scaler: Scaler,
    /// Finds endpoints.
    pub router: Router,
    /// The proxies that are trusted.
    pub proxies: Proxies,
    /// What tells browsers to come by TLS only, if they are to be told.
    pub strict_transport: Option<HeaderValue>,
    /// How often logins have failed.
    pub attempts: Attempts,
    /// How many calls a client may make, if that is limited.
    pub call_limit: Option<CallLimit>,
    /// What `/metrics` shows.
    pub metrics: Metrics,
    /// The meters of the endpoints.
    pub meters: Meters,
    /// What `/openapi.json` answers, once it was asked for.
    pub openapi: OnceLock<Served>,
    stage: AtomicU8,
    request_ids: RequestIds,
}

/// What an [`App`] is put together from.
pub struct Parts {
    /// See [`App`].
    pub config: Config,
    /// See [`App`].
    pub repository: Repository,
    /// See [`App`].
    pub records: Arc<RecordCache>,
    /// See [`App`].
    pub followers: Arc<Followers>,
    /// See [`App`].
    pub directory: Arc<Directory>,
    /// See [`App`].
    pub sessions: Arc<Sessions>,
    /// See [`App`].
    pub sysconfig: SysConfig,
    /// See [`App`].
    pub content: ContentStore,
    /// See [`App`].
    pub metrics: Metrics,
}

impl App {
    /// Puts the server together; it is [`Stage::Starting`].
    pub fn new(parts: Parts) -> App {
        let Parts { config, repository, records, followers, directory, sessions, sysconfig, content, metrics } = parts;
        let receipts = Arc::new(Receipts::new(repository.clone(), config.limits.idempotency_seconds));
        let attempts = AttemptOptions {
            per_user: config.auth.failures_per_user,
            per_address: config.auth.failures_per_address,
            window_seconds: config.auth.failure_window_seconds,
        };
        let strict = config.server.tls.strict_transport_seconds;
        let strict_transport = (config.server.tls.is_on() && strict > 0).then(|| {
            // A word and digits are visible ASCII, which is all that a header's value must be.
            HeaderValue::try_from(format!("max-age={strict}")).expect("a number of seconds is a header's value")
        });
        App {
            cas: Cas::configured(&config.auth.cas),
            strict_transport,
            proxies: Proxies::new(&config.server),
            attempts: Attempts::new(attempts),
            call_limit: CallLimit::new(config.limits.calls_per_minute),
            posts: KeptPosts::new(config.liveblog.cache_bytes),
            lengths: Lengths::default(),
            scaler: Scaler::new(&config.content),
            config,
            repository,
            records,
            followers,
            drawers: Renderings::default(),
            directory,
            sessions,
            receipts,
            sysconfig,
            content,
            router: Router::new(crate::http::routes::all()),
            metrics,
            meters: Meters::new(),
            openapi: OnceLock::new(),
            stage: AtomicU8::new(Stage::Starting as u8),
            request_ids: RequestIds::new(),
        }
    }

    /// Where in its life the server is.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::Starting,
            1 => Stage::Ready,
            _ => Stage::Draining,
        }
    }

    /// Goes on to another stage.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    /// An id for the next request: unique in this process, and unlikely to be that of another's.
    pub fn next_request_id(&self) -> RequestId {
        self.request_ids.next()
    }

    /// The database of that number or name; the main one without it.
    ///
    /// # Errors
    /// `DatabaseNotFound`.
    pub fn database(&self, wanted: Option<&str>) -> Result<DatabaseId> {
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { return Ok(DatabaseId::MAIN) };
        let number = wanted.parse::<u16>().ok();
        let found = self.config.databases.iter().find(|known| Some(known.id) == number || known.name == wanted);
        found.map(|known| DatabaseId(known.id)).ok_or_else(|| {
            let message = format!("There is no database `{wanted}`.");
            Error::new(Code::DatabaseNotFound, message).with_source(wanted)
        })
    }

    /// The object that a source names: a live one, or the one that a version belongs to.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, what the store says.
    pub fn resolve(&self, source: &Source, database: DatabaseId) -> Result<Arc<Cached>> {
        let loid = self.repository.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.repository.check_version(loid, source)?;
        self.records.get(&self.repository, loid.object())?.ok_or_else(|| Error::not_found(source))
    }

    /// Path of a user's home folder.
    ///
    /// # Errors
    /// What the store says.
    pub fn home_of(&self, user: &str) -> Result<String> {
        let own = self.directory.user(user)?.and_then(|user| user.home.clone());
        Ok(own.unwrap_or_else(|| for_user(&self.config.folders.home, user)))
    }

    /// Path of a user's work folder.
    ///
    /// # Errors
    /// What the store says.
    pub fn work_folder_of(&self, user: &str) -> Result<String> {
        let own = self.directory.user(user)?.and_then(|user| user.work.clone());
        Ok(own.unwrap_or_else(|| self.config.folders.work.clone()))
    }
}

/// What one request is called in its answer and in the log.
#[derive(Debug, Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The text.
    pub fn as_str(&self) -> &str {
        // It was made of visible ASCII.
        self.0.to_str().unwrap_or_default()
    }

    /// As it stands in a header.
    pub fn into_value(self) -> HeaderValue {
        self.0
    }
}

/// Ids of requests: a random beginning for the process, then a count.
struct RequestIds {
    process: u32,
    count: AtomicU64,
}

impl RequestIds {
    fn new() -> RequestIds {
        RequestIds { process: rand::random(), count: AtomicU64::new(0) }
    }

    fn next(&self) -> RequestId {
        // Without the machinery of `format!`, for every call gets one. Eight digits, a dash, and up to sixteen digits.
        let mut text = [0; 25];
        let mut length = 0;
        let mut put = |byte| {
            text[length] = byte;
            length += 1;
        };
        let digit = |value: u64| b"0123456789abcdef"[(value & 15) as usize];
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        (0..8).rev().for_each(|place| put(digit(u64::from(self.process) >> (4 * place))));
        put(b'-');
        let digits = (u64::BITS - count.leading_zeros()).div_ceil(4).max(1);
        (0..digits).rev().for_each(|place| put(digit(count >> (4 * place))));
        // Hexadecimal digits and a dash are visible ASCII, which is all that a header's value must be.
        RequestId(HeaderValue::from_bytes(&text[..length]).expect("a request id is a header's value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_the_process_and_a_count_in_hexadecimal() {
        for (process, count) in [(0, 0), (0xab, 0xf), (0x1234_5678, 0x10), (u32::MAX, u64::MAX)] {
            let ids = RequestIds { process, count: AtomicU64::new(count) };
            assert_eq!(ids.next().as_str(), format!("{process:08x}-{count:x}"));
        }
    }
}
