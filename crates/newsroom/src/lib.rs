//! The newsroom without HTTP: its objects as readers see them, who may do what, events, receipts,
//! messages, administration and the audit trail. Readers start at [`Newsroom`] and
//! [`caller::Caller`].
//!
//! The crate knows no requests and no routes. Changes of objects go through a [`Repository`], which
//! a [`Newsroom`] does not give away: a [`caller::Caller`] changes objects.

pub mod access;
pub mod administration;
pub mod attribute_input;
pub mod audit;
pub mod caller;
mod change_handle;
pub mod creation;
pub mod events;
pub mod messages;
pub mod receipts;
pub mod records;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod titles;

use std::sync::Arc;

use stet_actors::repository::{Reader, Repository};
use stet_auth::{
    AttemptOptions, Cas, Directory, LoginLimiter, PasswordOptions, PasswordRules, Passwords, SessionOptions, Sessions,
};
use stet_base::limits::MemoryBudget;
use stet_base::nearest::suggestion;
use stet_config::{Config, for_user};
use stet_content::ContentStore;
use stet_content::scaling::Scaler;
use stet_domain::error::{Code, Error, Result};
use stet_domain::folder::path_by;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::{FamilyKind, Record, SharedText};
use stet_sysconfig::SysConfig;
use stet_sysconfig::files::is_configuration;
use stet_xml::Limits;

use crate::change_handle::ChangeHandle;
use crate::events::Followers;
use crate::messages::Messages;
use crate::receipts::{ReceiptBounds, Receipts};
use crate::records::{CachedRecord, RecordCache};

/// The newsroom: repository, users, configuration, and the services on them.
pub struct Newsroom {
    /// The settings, from file, environment and command line.
    pub config: Config,
    /// Read access to the objects. Changes need a [`Repository`].
    pub repository: Reader,
    /// Records as readers see them.
    pub records: Arc<RecordCache>,
    /// The clients that follow containers live.
    pub followers: Arc<Followers>,
    /// Users and groups.
    pub directory: Arc<Directory>,
    /// The sessions of logged-in users, and keys.
    pub sessions: Arc<Sessions>,
    /// The failed logins that count towards the limits.
    pub attempts: Arc<LoginLimiter>,
    /// Single sign-on, where it is configured.
    pub cas: Option<Cas>,
    /// The receipts of calls that may be sent again.
    pub receipts: Arc<Receipts>,
    /// The configuration in force that the repository itself holds.
    pub sysconfig: SysConfig,
    /// Messages between users.
    pub messages: Messages,
    /// The contents of objects.
    pub content: ContentStore,
    /// Scaled pictures.
    pub scaler: Scaler,
    /// The memory budget of calls.
    pub memory: MemoryBudget,
    /// The handle by which callers change objects.
    changes: ChangeHandle,
}

/// The parts that a [`Newsroom`] is built from.
pub struct NewsroomParts {
    /// The settings.
    pub config: Config,
    /// Access to the objects, for callers, [`Newsroom::receipts`] and [`Newsroom::messages`].
    pub repository: Repository,
    /// The record cache.
    pub records: Arc<RecordCache>,
    /// The clients that follow containers live.
    pub followers: Arc<Followers>,
    /// Users and groups.
    pub directory: Arc<Directory>,
    /// The sessions and keys.
    pub sessions: Arc<Sessions>,
    /// The configuration in force.
    pub sysconfig: SysConfig,
    /// The contents of objects.
    pub content: ContentStore,
}

/// Creates the users and sessions of a repository.
///
/// # Errors
/// An error for passwords that can't be hashed as configured.
pub fn users_and_sessions(config: &Config, repository: &Repository) -> Result<(Arc<Directory>, Arc<Sessions>)> {
    let options = PasswordOptions {
        memory_kib: config.auth.password_memory_kib,
        iterations: config.auth.password_iterations,
        lanes: config.auth.password_lanes,
    };
    let passwords = Passwords::new(options, PasswordRules::of(&config.auth))?;
    let directory = Arc::new(Directory::new(repository.clone(), passwords, config.auth.cas.is_configured()));
    let options = SessionOptions {
        idle_seconds: config.auth.session_idle_seconds,
        absolute_seconds: config.auth.session_absolute_seconds,
        flush_seconds: config.auth.flush_seconds,
        per_user: config.auth.sessions_per_user,
    };
    let sessions = Arc::new(Sessions::new(repository.clone(), directory.clone(), options));
    Ok((directory, sessions))
}

impl Newsroom {
    /// Returns the limits of an XML text that is parsed as a whole.
    pub fn xml_limits(&self) -> Limits {
        let limits = &self.config.limits;
        Limits { max_depth: limits.xml_depth, max_bytes: limits.xml_bytes, ..Limits::default() }
    }

    /// Returns the limits of an attribute text that is to be stored.
    pub fn attribute_limits(&self) -> Limits {
        Limits { max_nodes: self.config.limits.json_values, ..self.xml_limits() }
    }

    /// Builds the newsroom.
    pub fn new(parts: NewsroomParts) -> Newsroom {
        let NewsroomParts { config, repository, records, followers, directory, sessions, sysconfig, content } = parts;
        let attempts = LoginLimiter::new(AttemptOptions {
            per_user: config.auth.failures_per_user,
            per_user_anywhere: config.auth.failures_per_user_anywhere,
            per_address: config.auth.failures_per_address,
            window_seconds: config.auth.failure_window_seconds,
        });
        let bounds = ReceiptBounds {
            keys: config.limits.idempotency_keys_per_user,
            bytes: config.limits.idempotency_bytes_per_user,
        };
        let memory = records.memory().clone();
        Newsroom {
            attempts: Arc::new(attempts),
            receipts: Arc::new(Receipts::new(repository.clone(), config.limits.idempotency_seconds, bounds)),
            cas: Cas::configured(&config.auth.cas),
            messages: Messages::new(repository.clone(), directory.clone(), config.messages.clone(), &config.smtp),
            scaler: Scaler::new(&config.content, config.memory.caches().pictures(), &memory),
            memory,
            changes: ChangeHandle::to(repository.clone(), &config),
            config,
            repository: repository.reader(),
            records,
            followers,
            directory,
            sessions,
            sysconfig,
            content,
        }
    }

    /// Returns the database with this number or name; without one, the main database.
    ///
    /// # Errors
    /// `DatabaseNotFound`.
    pub fn database(&self, wanted: Option<&str>) -> Result<DatabaseId> {
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { return Ok(DatabaseId::main()) };
        let found = self.config.databases.iter().find(|known| known.is_named(wanted));
        found.map(|known| DatabaseId(known.id)).ok_or_else(|| {
            let help = suggestion(wanted, self.config.databases.iter().map(|known| &*known.name));
            let message = format!("There is no database `{wanted}`.{help}");
            Error::new(Code::DatabaseNotFound, message).with_source(wanted)
        })
    }

    /// Returns the live object that a source names, or the object of the version that it names.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, errors of the store.
    pub fn resolve(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        let loid = self.repository.loid_of(source, database)?.ok_or_else(|| Error::not_found(source))?;
        self.repository.check_version(loid, source)?;
        self.records.get(&self.repository, loid.object())?.ok_or_else(|| Error::not_found(source))
    }

    /// Returns a template or another object of the configuration like [`Newsroom::resolve`]. A path
    /// below `/SysConfig` that the database lacks is looked up in the main database.
    ///
    /// # Errors
    /// The errors of [`Newsroom::resolve`].
    pub fn resolve_configured(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        match (self.resolve(source, database), source) {
            (Err(error), ObjectSource::Path(path)) if error.code == Code::ObjectNotFound && is_configuration(path) => {
                self.resolve(source, DatabaseId::main())
            }
            (found, _) => found,
        }
    }

    /// Returns the topic of the item that a source names, and the item's loid.
    ///
    /// # Errors
    /// `ObjectNotFound`, also if the topic lies in the recycle bin; errors of the store.
    pub fn item(&self, source: &ObjectSource) -> Result<(Arc<CachedRecord>, Loid)> {
        let not_found = || Error::not_found(source);
        let (ObjectSource::Loid(_) | ObjectSource::Uuid(_)) = source else { return Err(not_found()) };
        let item = self.repository.loid_of(source, DatabaseId::main())?.ok_or_else(not_found)?.object();
        let topic = self.repository.container_of(item)?.ok_or_else(not_found)?;
        let topic = self.records.get(&self.repository, topic)?.ok_or_else(not_found)?;
        if topic.family == FamilyKind::Topic { Ok((topic, item)) } else { Err(not_found()) }
    }

    /// Returns the path of an object, with the help of the cache. Returns `None` if it lies deeper
    /// than any configuration allows.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn path_of(&self, record: &Record) -> Result<Option<String>> {
        let Some(folder) = record.folder() else { return Ok(Some("/".to_owned())) };
        // Read first: a path may be kept only if nothing has changed since.
        let before = self.records.changes();
        let above = match self.records.last_path(folder, before) {
            Some(above) => above,
            None => {
                let Some(found) = self.folder_and_name(folder)? else { return Ok(Some(format!("/{}", record.name))) };
                let Some(path) = path_by(found, |folder| self.folder_and_name(folder))? else { return Ok(None) };
                self.records.note_path(folder, before, path.as_str().into())
            }
        };
        Ok(Some(format!("{}/{}", above.trim_end_matches('/'), record.name)))
    }

    /// Returns the parent and the name of a folder; if the folder was discarded, the parent it had
    /// before.
    fn folder_and_name(&self, folder: Loid) -> Result<Option<(Option<Loid>, SharedText)>> {
        if let Some(cached) = self.records.get(&self.repository, folder)? {
            return Ok(Some((cached.folder(), cached.name.clone())));
        }
        Ok(self.repository.any_record(folder)?.map(|record| (record.folder(), record.name)))
    }

    /// Returns the path of a user's home folder.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn home_of(&self, user: &str) -> Result<String> {
        let own = self.directory.user(user)?.and_then(|user| user.home.clone());
        Ok(own.unwrap_or_else(|| for_user(&self.config.folders.home, user)))
    }

    /// Returns the path of a user's work folder.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn work_folder_of(&self, user: &str) -> Result<String> {
        let own = self.directory.user(user)?.and_then(|user| user.work.clone());
        Ok(own.unwrap_or_else(|| self.config.folders.work.clone()))
    }
}
