//! The life of the server: opening the data directory, serving, draining.

mod configuration;
mod ending;
mod filling;
mod front;
pub(crate) mod left_out;
pub(crate) mod main_database;
mod marker;
mod offline;
mod pressure;
mod transfer;
mod upkeep;

use std::io;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use stet_actors::repository::Repository;
use stet_api::server::{DoctorFinding, DoctorReport, ServerDoctor};
use stet_archiver::{BackupOptions, BackupService, DrillTools};
use stet_auth::{Directory, Sessions};
use stet_base::limits::MemoryBudget;
use stet_config::{Config, Durability as ConfiguredDurability};
use stet_content::{ContentStore, UploadBounds};
use stet_domain::clock::{Clock, SystemClock};
use stet_domain::command::CallerIdentity;
use stet_domain::count::count_with_noun;
use stet_domain::id::DatabaseId;
use stet_domain::store::observe::ObservedStore;
use stet_domain::store::{Health, Store};
use stet_newsroom::administration::Admin;
use stet_newsroom::events::Followers;
use stet_newsroom::records::RecordCache;
use stet_newsroom::{Newsroom, NewsroomParts};
use stet_observe::metering::DataFigures;
use stet_observe::telemetry;
use stet_search::{ChangedObjects, NewsroomSearch};
use stet_store::{
    CheckpointOptions, CommitTap, Durability, LimitOptions, OpenError, RedbStore, StoreFile, StoreOptions,
};
use stet_sysconfig::SysConfig;
use stet_web::app::{App, ServerStage};
use stet_webhooks::Webhooks;

pub use self::configuration::{check_configuration, print_schema};
use self::filling::{FirstPasswords, check_filled, fill, make_roots};
use self::front::ServerFront;
use self::marker::Filling;
pub(crate) use self::marker::is_unfilled;
pub use self::offline::{audit, check, existing_directory, recover};
pub use self::transfer::transfer;
use self::upkeep::{Upkeep, measure, renew};
use crate::admin::socket::{self, AdminOperations, AdminSocket};
use crate::exit::{Exit, Failure};
use crate::listen::BoundAddresses;
use crate::tls::Certificates;

/// Open files beside connections and uploads: those of the store, contents being sent, and the
/// system's.
const OTHER_FILES: u64 = 512;

/// The most bytes of pages, and of changed rows, that a drill of the backup has in memory.
const DRILL_BYTES: usize = 32 << 20;

/// Returns the options with which the server opens the store.
pub fn store_options(config: &Config) -> StoreOptions {
    let store = &config.store;
    let overlay_bytes = config.memory.overlay();
    StoreOptions {
        durability: match store.durability {
            ConfiguredDurability::Journal => Durability::Journal,
            ConfiguredDurability::None => Durability::None,
        },
        checkpoint: CheckpointOptions {
            // Far less than what is refused, so that small changes have room during a checkpoint.
            bytes: store.checkpoint_bytes.min(overlay_bytes / 4),
            entries: store.checkpoint_rows,
            interval: Duration::from_secs(store.checkpoint_seconds),
            ..CheckpointOptions::default()
        },
        linger: Duration::from_micros(store.linger_microseconds),
        limits: LimitOptions { queued: store.queue_change_sets, overlay_bytes, ..LimitOptions::default() },
        cache_bytes: config.memory.pages(),
        // 0 keeps them forever.
        event_retention_ms: Some(store.events_keep_days * 24 * 60 * 60 * 1000).filter(|keep| *keep > 0),
        ..StoreOptions::new(&config.data.directory)
    }
}

/// Returns the options with which a command that does not serve opens the store. It removes no
/// events: their retention is a setting of the server, and the command may have been given only a
/// directory.
pub(crate) fn options_at_rest(config: &Config) -> StoreOptions {
    StoreOptions { event_retention_ms: None, ..store_options(config) }
}

/// Opens the data directory for a command that does not serve.
///
/// # Errors
/// [`Exit::Data`], [`Exit::InUse`].
pub fn open_store(config: &Config) -> Result<RedbStore, Failure> {
    open_store_with(&config.data.directory, options_at_rest(config))
}

fn open_store_with(data: &Path, options: StoreOptions) -> Result<RedbStore, Failure> {
    let store = catch_damage(data, || RedbStore::open(options))?.map_err(|error| unopened(data, &error))?;
    main_database::adopt(&store)?;
    Ok(store)
}

fn unopened(data: &Path, error: &OpenError) -> Failure {
    let exit = if matches!(error, OpenError::InUse(_)) { Exit::InUse } else { Exit::Data };
    Failure::new(exit, format!("{} can't be opened: {error}", data.display()))
}

/// Wraps a failure of an open data directory whose data can't be used, with advice.
fn unusable(data: &Path, failure: &Failure) -> Failure {
    let (data, state, why) = (data.display(), StoreFile::State.name(), &failure.message);
    let hint = format!("Unless the disk is at fault, {state} is damaged: `stet check --data {data}` reports where");
    Failure::new(failure.exit, format!("{data} can't be used: {why}. {hint}"))
}

/// Runs code that reads a data directory, and turns panics into failures: redb panics on some
/// damaged pages.
pub(crate) fn catch_damage<T>(data: &Path, read: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| Failure::new(Exit::Data, format!("{} is damaged: its files can't be read", data.display())))
}

/// Examines the server that this process is, with its configuration.
pub type OwnExamination = fn(&Config) -> DoctorReport;

/// Reports that a server which a command starts for itself is not examined.
fn leave_unexamined(_: &Config) -> DoctorReport {
    let found = "a server that another command has started for itself is not examined";
    DoctorReport::of(vec![DoctorFinding::warn("unchecked", found, "run `stet doctor`")])
}

/// The environment of a server: the files of its store, its clock, and who examines it.
pub struct ServerEnvironment {
    /// The options and files of the store.
    pub store: StoreOptions,
    /// The clock for sessions, containers and records.
    pub clock: Arc<dyn Clock>,
    /// The checks of `stet doctor`. They are passed in, because they know the server.
    pub examine: OwnExamination,
}

impl ServerEnvironment {
    /// Returns the files in the data directory and the system clock. Nobody examines the server.
    pub fn of(config: &Config) -> ServerEnvironment {
        ServerEnvironment { store: store_options(config), clock: Arc::new(SystemClock), examine: leave_unexamined }
    }
}

/// Serves until `stops` yields; a second item ends the draining. Listens where the configuration
/// says, or on the `passed` sockets. `examine` has the findings of `GET /v3/server/doctor`. Calls
/// `listening` with the address, as `http://host:port` or with `https`, once requests are accepted.
///
/// # Errors
/// Those listed at [`Failure`].
pub async fn serve(
    config: Config,
    passed: Vec<TcpListener>,
    examine: OwnExamination,
    stops: impl Stream<Item = ()> + 'static,
    listening: impl FnOnce(&str),
) -> Result<(), Failure> {
    // First, before anything is created, or a password is printed with which nobody could log in.
    let reserved = reserve(&config, passed)?;
    let ground = ServerEnvironment { examine, ..ServerEnvironment::of(&config) };
    PreparedServer::on(ground, config).await?.serve(reserved, stops, listening).await
}

/// Serves like [`serve`], but for one command: nothing in the directory expires during it.
async fn serve_at_rest(
    config: Config,
    stops: impl Stream<Item = ()> + 'static,
    listening: impl FnOnce(&str),
) -> Result<(), Failure> {
    let reserved = reserve(&config, Vec::new())?;
    let ground = ServerEnvironment { store: options_at_rest(&config), ..ServerEnvironment::of(&config) };
    PreparedServer::on(ground, config).await?.untended().serve(reserved, stops, listening).await
}

/// Binds the addresses of the configuration, or takes the passed sockets.
///
/// # Errors
/// [`Exit::Failed`]: no address can be bound.
pub fn reserve(config: &Config, passed: Vec<TcpListener>) -> Result<BoundAddresses, Failure> {
    let unread = Some(Duration::from_secs(config.server.slow_reader_seconds)).filter(|unread| !unread.is_zero());
    BoundAddresses::take(&config.server.listen, passed, unread).map_err(|error| unlistenable(config, &error))
}

fn unlistenable(config: &Config, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot listen at {}: {error}", config.server.listen))
}

/// A server whose data directory is open and filled, but that does not listen yet.
pub struct PreparedServer {
    /// The application that serves calls.
    pub app: Arc<App>,
    /// The objects, for changes without the web layer.
    pub repository: Repository,
    store: Arc<RedbStore>,
    certificates: Option<Arc<Certificates>>,
    /// Whether the server removes expired data by itself.
    tends: bool,
}

impl PreparedServer {
    /// Opens the data directory, and fills a new one. Must be called within an actix system.
    ///
    /// # Errors
    /// Those listed at [`Failure`].
    pub async fn on(ground: ServerEnvironment, config: Config) -> Result<PreparedServer, Failure> {
        // First, before anything is created: unusable certificates are a fault of the
        // configuration.
        let certificates = config.server.tls.is_on().then(|| Certificates::load(&config.server.tls)).transpose();
        let certificates = certificates.map_err(|error| Failure::new(Exit::Usage, error))?;
        let given = || FirstPasswords::given(&config);
        if !config.data.directory.exists() {
            // Checked first, so that no directory is created for nothing.
            given()?;
        }
        if let Some(filling) = Filling::begin(&config.data.directory, &*ground.store.backends)? {
            let passwords = match given() {
                Ok(passwords) => passwords,
                Err(failure) => {
                    filling.give_up()?;
                    return Err(failure);
                }
            };
            // Filling always uses the journal, whatever later changes use. The data is on disk and
            // in the tables before the directory counts as filled. So an operator who later gives
            // up a damaged journal does not lose all users with it.
            let store = StoreOptions { durability: Durability::Journal, ..ground.store.clone() };
            let ground = ServerEnvironment { store, clock: ground.clock.clone(), examine: ground.examine };
            let filled = PreparedServer::open(ground, config.clone(), certificates.clone()).await?;
            let outcome =
                fill(&filled.app, &filled.repository, passwords).await.map_err(|failure| filled.unfilled(failure));
            filled.close().await;
            outcome?;
            filling.finish()?;
        }
        let opened = PreparedServer::open(ground, config, certificates).await?;
        match opened.make_ready().await {
            Ok(()) => Ok(opened),
            Err(failure) => {
                opened.close().await;
                Err(failure)
            }
        }
    }

    /// Checks that the directory has what every server needs, and puts the configuration into
    /// force.
    async fn make_ready(&self) -> Result<(), Failure> {
        check_filled(&self.app)?;
        left_out::warn_of_left_out(&self.app.config, &*self.store);
        make_roots(&self.app, &self.repository).await.map_err(|failure| self.unusable(failure))?;
        self.app.sysconfig.restore().await;
        Ok(())
    }

    async fn open(
        ground: ServerEnvironment,
        config: Config,
        certificates: Option<Arc<Certificates>>,
    ) -> Result<PreparedServer, Failure> {
        let data = config.data.directory.display().to_string();
        let metrics = telemetry::init_metrics();
        let backup = open_backup(&config)?;
        let tap = backup.as_ref().map(|backup| backup.spool() as Arc<dyn CommitTap>);
        let store = Arc::new(open_store_with(&config.data.directory, StoreOptions { tap, ..ground.store })?);
        let is_new_main = main_database::settle(&config, &*store)?;
        let contents = stet_content::identity::look(&*store, &config.data.directory)
            .map_err(|why| Failure::new(Exit::Data, format!("{data} can't be used: {why}")))?;
        let bounds = UploadBounds { reserve_bytes: config.store.reserve_bytes, at_once: config.limits.uploads_at_once };
        let content = ContentStore::open(&config.data.directory, config.store.small_body_bytes, bounds)
            .map_err(|error| Failure::new(Exit::Data, format!("{data}: the contents can't be opened: {error}")))?;
        let records =
            Arc::new(RecordCache::new(config.memory.caches().records(), MemoryBudget::new(config.memory.calls())));
        let followers = Arc::new(Followers::new(config.events.clone()));
        let changed = config.search.enabled.then(Arc::<ChangedObjects>::default);
        let observers = (records.clone(), Arc::new((followers.clone(), Arc::new(changed.clone()))));
        let observed: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), Arc::new(observers)));
        let repository = Repository::start(observed, ground.clock, config.runtime_options())
            .await
            .map_err(|error| Failure::new(Exit::Data, format!("{data} can't be opened: {error}")))?;
        stet_content::identity::settle(contents, &content, &repository).await;
        if is_new_main {
            main_database::note(&config, &repository).await?;
        }
        let (directory, sessions) = users_and_sessions(&config, &repository)?;
        let databases: Vec<DatabaseId> = config.databases.iter().map(|database| DatabaseId(database.id)).collect();
        let sysconfig =
            SysConfig::start(&repository, &content, &directory, &databases, config.memory.caches().xml_files());
        repository.enforce(Arc::new(sysconfig.status_rules()));
        let given = repository.clone();
        let parts =
            NewsroomParts { config, repository: given, records, followers, directory, sessions, sysconfig, content };
        let newsroom = Arc::new(Newsroom::new(parts));
        let webhooks = Webhooks::open(newsroom.clone(), repository.clone()).map_err(|error| {
            Failure::new(Exit::Data, format!("{data} can't be opened: the webhooks can't be read: {error}"))
        })?;
        let mut surface = stet_api::surface(&newsroom.config);
        let search = changed.map(|changed| Arc::new(NewsroomSearch::of(newsroom.clone(), changed)));
        let examined = newsroom.clone();
        let doctor = ServerDoctor::new(move || (ground.examine)(&examined.config));
        surface.kept = surface.kept.with(Arc::new(webhooks)).with(search).with(doctor).with(backup);
        let app = Arc::new(App::new(newsroom, surface, metrics));
        Ok(PreparedServer { app, repository, store, certificates, tends: true })
    }

    /// Returns the same server for one command; see [`Upkeep::least`].
    fn untended(self) -> PreparedServer {
        PreparedServer { tends: false, ..self }
    }

    /// Serves; see [`serve`].
    ///
    /// # Errors
    /// Those listed at [`Failure`].
    pub async fn serve(
        self,
        reserved: BoundAddresses,
        stops: impl Stream<Item = ()> + 'static,
        listening: impl FnOnce(&str),
    ) -> Result<(), Failure> {
        let socket = open_socket(&self.app);
        let certificates = self.certificates.clone();
        let figures = DataFigures::new(self.app.config.data.directory.clone(), self.app.content.clone());
        let measuring = actix::spawn(measure(figures, self.store.clone()));
        self.start_backup();
        let begin = if self.tends { Upkeep::whole } else { Upkeep::least };
        let upkeep = || begin(&self.app, &self.repository);
        let outcome = run(&self.app, upkeep, certificates, reserved, stops, listening).await;
        measuring.abort();
        // While the data directory is still locked, because the next server creates its own socket.
        drop(socket);
        self.app.enter(ServerStage::Draining);
        if let Err(error) = self.app.sessions.flush().await {
            tracing::warn!(%error, "cannot save when sessions were last used");
        }
        if let Some(traces) = self.app.traces.clone() {
            // This waits for the collector. It is cut off only when the runtime ends.
            let _ = tokio::task::spawn_blocking(move || traces.end()).await;
        }
        self.close().await;
        outcome
    }

    /// Begins to ship changes to the backup. Without it, the server also runs.
    fn start_backup(&self) {
        let Some(backup) = self.app.kept::<Option<Arc<BackupService>>>() else { return };
        if let Err(error) = backup.start(self.store.clone(), self.app.content.clone()) {
            tracing::error!(%error, "the backup can't be started");
        }
    }

    /// Wraps a failure to read or create what every server needs.
    fn unusable(&self, failure: Failure) -> Failure {
        unusable(&self.app.config.data.directory, &failure)
    }

    /// Wraps a failure to fill. If the disk is full, the message says so; the command may have
    /// failed with another one.
    fn unfilled(&self, failure: Failure) -> Failure {
        let data = self.app.config.data.directory.display();
        let why = match self.store.health() {
            Health::Full => "the disk is full".to_owned(),
            _ => failure.message,
        };
        Failure::new(failure.exit, format!("{data} can't be filled: {why}. The next start begins again"))
    }

    /// Ends all tasks, and checkpoints and closes the store.
    async fn close(self) {
        let PreparedServer { app, repository, store, .. } = self;
        let backup = app.kept::<Option<Arc<BackupService>>>().clone();
        repository.shut_down().await;
        // The last checkpoint may take a moment, so it does not run on a thread that serves.
        let closed = tokio::task::spawn_blocking(move || {
            store.close();
            backup.inspect(|backup| backup.end());
        });
        let closed = closed.await;
        if let Err(error) = closed {
            tracing::error!(%error, "cannot close the store cleanly");
        }
    }
}

/// Prepares the backup, if there is one.
///
/// # Errors
/// [`Exit::Data`]: the spool can't be opened.
fn open_backup(config: &Config) -> Result<Option<Arc<BackupService>>, Failure> {
    let backup = &config.backup;
    if !backup.is_on() {
        return Ok(None);
    }
    let options = BackupOptions {
        target: backup.target.clone(),
        s3: crate::backup::s3_settings(backup),
        data: config.data.directory.clone(),
        spool_bytes: backup.spool_bytes,
        base_every: Duration::from_secs(backup.base_hours * 60 * 60),
        base_bytes_per_second: backup.base_bytes_per_second,
        keep: Duration::from_secs(backup.keep_days * 24 * 60 * 60),
        drill_every: Duration::from_secs(backup.drill_days * 24 * 60 * 60),
        drill: drill_tools(config),
    };
    let data = config.data.directory.display();
    let unopened = |error| Failure::new(Exit::Data, format!("{data}: the backup's spool can't be opened: {error}"));
    BackupService::open(options).map(Some).map_err(unopened)
}

/// Returns how a drill of the backup opens and checks a directory, beside the server's own.
fn drill_tools(config: &Config) -> DrillTools {
    let options = |config: &Config, folder: &Path| {
        let mut config = config.clone();
        config.data.directory = folder.to_owned();
        let least = options_at_rest(&config);
        let limits = LimitOptions { overlay_bytes: DRILL_BYTES.min(least.limits.overlay_bytes), ..least.limits };
        StoreOptions { cache_bytes: DRILL_BYTES.min(least.cache_bytes), limits, ..least }
    };
    let (for_options, for_check) = (config.clone(), config.clone());
    DrillTools {
        store_options: Box::new(move |folder| options(&for_options, folder)),
        check: Box::new(move |folder| {
            let options = options(&for_check, folder);
            let report = offline::examine(folder, options, for_check.store.small_body_bytes);
            let report = report.map_err(|failure| failure.message)?;
            match report.faults.first() {
                Some(first) => Err(format!("It has {}: {first}", count_with_noun(report.fault_count, "fault"))),
                None => Ok(()),
            }
        }),
        reserve_bytes: config.store.reserve_bytes,
    }
}

/// Creates the users and sessions of a repository.
///
/// # Errors
/// [`Exit::Usage`] for passwords that can't be hashed as configured.
pub fn users_and_sessions(
    config: &Config,
    repository: &Repository,
) -> Result<(Arc<Directory>, Arc<Sessions>), Failure> {
    stet_newsroom::users_and_sessions(config, repository).map_err(|error| Failure::new(Exit::Usage, error.message))
}

/// Opens the administration socket for the command line. The server also runs without it.
fn open_socket(app: &App) -> Option<AdminSocket> {
    let data = &app.config.data.directory;
    let operations = AdminOperations {
        admin: Admin::of(app, CallerIdentity::operator()),
        webhooks: app.kept::<Arc<Webhooks>>().clone(),
        search: app.kept::<Option<Arc<NewsroomSearch>>>().clone(),
        backup: app.kept::<Option<Arc<BackupService>>>().clone(),
    };
    AdminSocket::open(data, operations)
        .inspect_err(|error| {
            let path = data.join(socket::NAME);
            tracing::warn!(
                path = %path.display(), %error,
                "cannot open the administration socket: commands can't reach this server"
            );
        })
        .ok()
}

async fn run(
    app: &Arc<App>,
    upkeep: impl FnOnce() -> Upkeep,
    certificates: Option<Arc<Certificates>>,
    reserved: BoundAddresses,
    stops: impl Stream<Item = ()> + 'static,
    listening: impl FnOnce(&str),
) -> Result<(), Failure> {
    let unlistenable = |error| unlistenable(&app.config, &error);
    let held = reserved.is_held();
    let listeners = reserved.listen().map_err(unlistenable)?;
    let most = connections(&app.config)?;
    note_connections(&app.config, most);
    warn_of_clear_text(&listeners, certificates.is_some());
    let scheme = if certificates.is_some() { "https" } else { "http" };
    let address = listeners.first().and_then(|listener| listener.local_addr().ok());
    let address = address.map(|address| format!("{scheme}://{address}"));
    let mut front = ServerFront::new(app, app.config.server.threads(), most, certificates.clone());
    for listener in listeners {
        front = front.listen(listener).map_err(unlistenable)?;
    }
    let running = front.run();
    let handle = running.handle();
    let upkeep = upkeep();
    let renewal =
        certificates.map(|certificates| actix::spawn(renew(certificates, app.config.server.tls.reload_seconds)));
    app.enter(ServerStage::Ready);
    if let Some(address) = address {
        listening(&address);
    }
    actix::spawn(ending::shut_down_when_asked(app.clone(), handle, stops, held));
    let outcome = running.await.map_err(|error| Failure::new(Exit::Failed, error));
    upkeep.end().await;
    if let Some(renewal) = renewal {
        renewal.abort();
    }
    outcome
}

/// Raises the limit of open files to what the configuration needs. Returns the number of
/// connections per worker: the configured one, or fewer if the limit is lower.
///
/// # Errors
/// [`Exit::Failed`]: the limit leaves no connections.
pub fn connections(config: &Config) -> Result<usize, Failure> {
    let wanted = files_for(config, config.server.max_connections);
    // A limit that can't be read is not enforced here.
    let Ok(limit) = rlimit::increase_nofile_limit(wanted) else { return Ok(config.server.max_connections) };
    let connections = connections_within(limit, config).ok_or_else(|| {
        let least = files_for(config, 1);
        let message =
            format!("the process may open {limit} files, but needs at least {least}: raise its limit (ulimit -Hn)");
        Failure::new(Exit::Failed, message)
    })?;
    Ok(connections)
}

/// Logs that the limit of open files allows fewer connections than configured. They are enough for
/// most servers, and `stet doctor` gives advice.
fn note_connections(config: &Config, connections: usize) {
    let wanted = config.server.max_connections;
    if connections < wanted {
        tracing::info!(
            connections,
            wanted,
            files = files_for(config, wanted),
            "the limit of open files (ulimit -Hn) allows each worker fewer connections than server.max_connections"
        );
    }
}

/// Warns of listeners that other machines can reach without TLS.
fn warn_of_clear_text(listeners: &[TcpListener], has_tls: bool) {
    let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let exposed: Vec<String> = addresses
        .filter(|address| !address.ip().to_canonical().is_loopback())
        .map(|address| address.to_string())
        .collect();
    if !has_tls && !exposed.is_empty() {
        tracing::warn!(
            addresses = exposed.join(", "),
            "passwords, tokens and contents cross the network unencrypted: set [server.tls], or listen at 127.0.0.1 \
             behind a proxy that speaks TLS"
        );
    }
}

/// Returns the number of open files with this number of connections per worker. Each connection is
/// open twice: see `stet_web::connection`. A webhook may keep two.
pub(crate) fn files_for(config: &Config, connections: usize) -> u64 {
    let connections = config.server.threads().saturating_mul(connections).saturating_mul(2) as u64;
    let webhooks = 2 * config.webhooks.most as u64;
    connections.saturating_add(config.limits.uploads_at_once as u64 + webhooks).saturating_add(OTHER_FILES)
}

/// Returns the number of connections per worker within a limit of open files, at most the
/// configured one; `None` for none.
pub(crate) fn connections_within(limit: u64, config: &Config) -> Option<usize> {
    let each = limit.checked_sub(files_for(config, 0))? / 2 / config.server.threads() as u64;
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    Some(each.min(config.server.max_connections)).filter(|each| *each > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_as_many_as_files_are_left_for_them() {
        let mut config = Config::default();
        config.server.workers = 3;
        config.server.max_connections = 100;
        config.limits.uploads_at_once = 20;
        config.webhooks.most = 3;
        let others = 20 + 6 + OTHER_FILES;
        assert_eq!(files_for(&config, 100), others + 600);
        for (limit, wanted) in [
            (0, None),
            (others - 1, None),
            (others + 5, None),
            (others + 6, Some(1)),
            (others + 599, Some(99)),
            (others + 600, Some(100)),
            (u64::MAX, Some(100)),
        ] {
            assert_eq!(connections_within(limit, &config), wanted, "{limit}");
        }
    }

    #[test]
    fn events_are_kept_for_as_many_days_as_configured_and_for_ever_with_none() {
        let kept_ms = |days| {
            let mut config = Config::default();
            config.store.events_keep_days = days;
            // A command may run without a configuration, and then has the default retention.
            assert_eq!(options_at_rest(&config).event_retention_ms, None);
            store_options(&config).event_retention_ms
        };
        assert_eq!(kept_ms(0), None);
        assert_eq!(kept_ms(90), Some(7_776_000_000));
    }
}
