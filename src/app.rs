//! What the server is made of, and the questions that several handlers ask of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;
use stet_actors::error::{Code, Error, Result};
use stet_actors::folder::{child, root};
use stet_actors::id::{DatabaseId, Loid, Source};
use stet_actors::object::{Text, check_path};
use stet_actors::repository::Repository;
use stet_actors::store::View;

use crate::api::drawer::Rendered;
use crate::auth::{Directory, Sessions};
use crate::config::{Config, for_user};
use crate::content::ContentStore;
use crate::http::call::Call;
use crate::http::display::Display;
use crate::http::meters::Meters;
use crate::http::router::Router;
use crate::records::{Cached, RecordCache};
use crate::sysconfig::SysConfig;
use crate::telemetry::Metrics;
use crate::xml::{self, Limits};

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
    /// Rendered drawers.
    pub drawers: RenderedDrawers,
    /// Users and groups.
    pub directory: Arc<Directory>,
    /// Who is logged in.
    pub sessions: Arc<Sessions>,
    /// Object types and workflows.
    pub sysconfig: SysConfig,
    /// Bodies.
    pub content: ContentStore,
    /// Finds endpoints.
    pub router: Router,
    /// What `/metrics` shows.
    pub metrics: Metrics,
    /// The meters of the endpoints.
    pub meters: Meters,
    /// What `/openapi.json` answers, once it was asked for.
    pub openapi: OnceLock<Bytes>,
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
        let Parts { config, repository, records, directory, sessions, sysconfig, content, metrics } = parts;
        App {
            config,
            repository,
            records,
            drawers: RenderedDrawers::default(),
            directory,
            sessions,
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
    pub fn next_request_id(&self) -> String {
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

    /// Where something new goes: a folder that exists, and the names below it that may not yet. Without a source the user's home.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidType`, `InvalidPath`, `DatabaseNotFound`.
    pub fn place(&self, call: &Call, folder: Option<Source>) -> Result<(Loid, Vec<String>)> {
        self.place_in(call, folder, call.database()?)
    }

    /// As [`App::place`], with paths in the given database.
    ///
    /// # Errors
    /// As [`App::place`].
    pub fn place_in(&self, call: &Call, folder: Option<Source>, database: DatabaseId) -> Result<(Loid, Vec<String>)> {
        let source = match folder {
            Some(source) => source,
            None => Source::Path(self.home_of(call.caller()?.user())?),
        };
        let Source::Path(path) = &source else {
            let record = self.repository.resolve(&source, database)?;
            crate::api::folder::check_folder(&record, &source.to_string())?;
            return Ok((record.loid, Vec::new()));
        };
        self.place_of_path(path, database)
    }

    /// The folders of a path that exist, and the names of those that do not.
    ///
    /// # Errors
    /// `InvalidPath`, `InvalidType` where something on the way is no folder.
    pub fn place_of_path(&self, path: &str, database: DatabaseId) -> Result<(Loid, Vec<String>)> {
        let mut names = check_path(path)?;
        let mut at = root(database);
        while let Some(name) = names.next() {
            let found = child(self.repository.look(), View::Committed, at, name).map_err(|error| {
                tracing::error!(%error, "a path can't be followed");
                Error::internal()
            })?;
            let Some(next) = found else {
                return Ok((at, std::iter::once(name).chain(names).map(str::to_owned).collect()));
            };
            let record = self.repository.record(next)?.ok_or_else(|| Error::not_found(path))?;
            crate::api::folder::check_folder(&record, path)?;
            at = next;
        }
        Ok((at, Vec::new()))
    }

    /// What an attribute text is held to.
    pub fn xml_limits(&self) -> Limits {
        Limits { max_depth: self.config.limits.xml_depth, max_bytes: self.config.limits.xml_bytes }
    }

    /// An attribute text given as XML or as JSON; stored is XML (decisions 3). Nothing for null or absence.
    ///
    /// # Errors
    /// `InvalidAttributes` naming the field.
    pub fn attribute_text(&self, field: &str, value: Option<&Value>) -> Result<Option<Text>> {
        let limits = self.xml_limits();
        let invalid = |error: xml::XmlError| {
            let message = format!("`{field}` can't be taken: {error}");
            Error::new(Code::InvalidAttributes, message).with_detail("field", field)
        };
        match value {
            None | Some(Value::Null) => Ok(None),
            // As an object without any shows it.
            Some(Value::Object(json)) if json.is_empty() => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => {
                xml::check(text, &limits).map_err(invalid)?;
                Ok(Some(text.as_str().into()))
            }
            Some(json) => {
                let text = xml::from_json(json, &limits).map_err(invalid)?;
                // What is stored must be readable within the same bounds.
                xml::check(&text, &limits).map_err(invalid)?;
                Ok(Some(text.into()))
            }
        }
    }

    /// As [`App::attribute_text`], with a root element that is given.
    ///
    /// # Errors
    /// `InvalidAttributes` naming the field.
    pub fn rooted_text(&self, field: &str, value: Option<&Value>, root: &str) -> Result<Option<Text>> {
        let Some(text) = self.attribute_text(field, value)? else { return Ok(None) };
        let limits = self.xml_limits();
        // `attribute_text` has just checked it.
        let found = xml::check(&text, &limits).unwrap_or_default();
        if found == root {
            return Ok(Some(text));
        }
        let message = format!("`{field}` must have the root `{root}`, but has `{found}`.");
        Err(Error::new(Code::InvalidAttributes, message).with_detail("field", field))
    }

    /// Adds the current record to a failed precondition (decisions 1).
    ///
    /// # Errors
    /// The outcome's own.
    pub fn with_current<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| {
            let loid = error.source.as_ref().and_then(|source| source.parse().ok());
            let (Code::PreconditionFailed, Some(loid)) = (error.code, loid) else { return error };
            let display = Display::with_defaults(false);
            match crate::api::current_record(self, loid, &display) {
                Some(current) => error.with_detail("current", current),
                None => error,
            }
        })
    }
}

/// Rendered drawers, the ones asked for lately.
pub struct RenderedDrawers(Mutex<LruCache<DrawerKey, Arc<Rendered>>>);

/// Which drawer, under which display, with its items or without.
type DrawerKey = (Loid, Display, bool);

/// How many renderings are kept: each is as large as the drawer it shows.
const RENDERINGS: NonZeroUsize = NonZeroUsize::new(512).unwrap();

impl Default for RenderedDrawers {
    fn default() -> Self {
        RenderedDrawers(Mutex::new(LruCache::new(RENDERINGS)))
    }
}

impl RenderedDrawers {
    /// What was kept; whether it is still so is for the caller to find out.
    pub fn get(&self, key: &DrawerKey) -> Option<Arc<Rendered>> {
        self.0.lock().get(key).cloned()
    }

    /// Keeps a rendering.
    pub fn put(&self, key: DrawerKey, rendered: Arc<Rendered>) {
        self.0.lock().put(key, rendered);
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

    fn next(&self) -> String {
        format!("{:08x}-{:x}", self.process, self.count.fetch_add(1, Ordering::Relaxed))
    }
}
