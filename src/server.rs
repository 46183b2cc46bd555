//! The server from start to end: opening the data directory, filling a new one, serving, draining.

use std::future::Future;
use std::io::Write;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{self, Data};
use actix_web::{App as WebApp, HttpServer};
use stet_actors::clock::{Clock, SystemClock};
use stet_actors::error::Error;
use stet_actors::id::{DatabaseId, Source};
use stet_actors::repository::Repository;
use stet_actors::store::Store;
use stet_actors::store::observe::Observed;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::admin::Admin;
use crate::admin::socket::{self, AdminSocket};
use crate::app::{App, Parts, Stage};
use crate::audit;
use crate::auth::{Directory, Grant, Group, PasswordOptions, Passwords, SessionOptions, Sessions, User};
use crate::cli::{AuditArgs, Exit};
use crate::config::{Config, Durability as ConfiguredDurability};
use crate::content::ContentStore;
use crate::content::collect::Collector;
use crate::events::Followers;
use crate::http::dispatch::dispatch;
use crate::listen;
use crate::records::RecordCache;
use crate::sample::Newsroom;
use crate::store::{CheckpointOptions, Durability, LimitOptions, OpenError, RedbStore, StoreFile, StoreOptions};
use crate::sysconfig::{OBJECT_TYPES_PATH, SysConfig, WORKFLOWS_PATH};
use crate::telemetry;
use crate::tls::Certificates;

/// Records kept in memory: some 2 KB each.
const RECORDS: usize = 65_536;

/// Why the server did not come up, or did not end well.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// A sentence for the operator.
    pub message: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { exit, message: message.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(Exit::Failed, error.message)
    }
}

/// How the store is opened.
pub fn store_options(config: &Config) -> StoreOptions {
    let store = &config.store;
    StoreOptions {
        durability: match store.durability {
            ConfiguredDurability::Journal => Durability::Journal,
            ConfiguredDurability::None => Durability::None,
        },
        checkpoint: CheckpointOptions {
            bytes: store.checkpoint_bytes,
            entries: store.checkpoint_rows,
            interval: Duration::from_secs(store.checkpoint_seconds),
            ..CheckpointOptions::default()
        },
        linger: Duration::from_micros(store.linger_microseconds),
        limits: LimitOptions { queued: store.queue_change_sets, ..LimitOptions::default() },
        cache_bytes: store.cache_bytes,
        // 0 keeps them for ever.
        event_retention_ms: Some(store.events_keep_days * 24 * 60 * 60 * 1000).filter(|keep| *keep > 0),
        ..StoreOptions::new(&config.data.directory)
    }
}

/// Opens the data directory.
///
/// # Errors
/// [`Exit::Data`].
pub fn open_store(config: &Config) -> Result<RedbStore, Failure> {
    open_store_with(&config.data.directory, store_options(config))
}

fn open_store_with(data: &Path, options: StoreOptions) -> Result<RedbStore, Failure> {
    survived(data, || RedbStore::open(options))?
        .map_err(|error: OpenError| Failure::new(Exit::Data, format!("{} can't be opened: {error}", data.display())))
}

/// Runs what reads a data directory: redb panics on some pages that are damaged.
fn survived<T>(data: &Path, read: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| Failure::new(Exit::Data, format!("{} is damaged: its files can't be read", data.display())))
}

/// What a server stands on: the files of its store, and the time.
pub struct Ground {
    /// How the store is opened, and on what.
    pub store: StoreOptions,
    /// The time that sessions, containers and records go by.
    pub clock: Arc<dyn Clock>,
}

impl Ground {
    /// Files in the data directory and the system's time.
    pub fn of(config: &Config) -> Ground {
        Ground { store: store_options(config), clock: Arc::new(SystemClock) }
    }
}

/// Serves until `stop` resolves. `listening` is called once requests are taken, with the address as `http://host:port`, or
/// `https` with TLS.
///
/// # Errors
/// See [`Failure`].
pub async fn serve(
    config: Config,
    stop: impl Future<Output = ()> + 'static,
    listening: impl FnOnce(&str),
) -> Result<(), Failure> {
    let ground = Ground::of(&config);
    Prepared::on(ground, config).await?.serve(stop, listening).await
}

/// A server whose data directory is open and filled, and that does not listen yet.
pub struct Prepared {
    /// What it is made of.
    pub app: Arc<App>,
    store: Arc<RedbStore>,
    certificates: Option<Arc<Certificates>>,
}

impl Prepared {
    /// Opens the data directory, and fills a new one. Must be called within an actix system.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn on(ground: Ground, config: Config) -> Result<Prepared, Failure> {
        // Before anything is made: what is wrong with them is a fault of the configuration.
        let certificates = config.server.tls.is_on().then(|| Certificates::load(&config.server.tls)).transpose();
        let certificates = certificates.map_err(|error| Failure::new(Exit::Usage, error))?;
        let metrics = telemetry::init_metrics();
        let store = Arc::new(open_store_with(&config.data.directory, ground.store)?);
        let content = ContentStore::open(&config.data.directory, config.store.small_body_bytes)
            .map_err(|error| Failure::new(Exit::Data, format!("the contents can't be opened: {error}")))?;
        let records = Arc::new(RecordCache::new(RECORDS));
        let followers = Arc::new(Followers::new(config.events.clone()));
        let observed: Arc<dyn Store> =
            Arc::new(Observed::new(store.clone(), Arc::new((records.clone(), followers.clone()))));
        let repository = Repository::start(observed, ground.clock, config.runtime.clone())
            .await
            .map_err(|error| Failure::new(Exit::Data, error))?;
        let (directory, sessions) = people(&config, &repository)?;
        let sysconfig = SysConfig::new();
        let parts = Parts { config, repository, records, followers, directory, sessions, sysconfig, content, metrics };
        let app = Arc::new(App::new(parts));
        fill_if_new(&app).await?;
        load_sysconfig(&app).await;
        Ok(Prepared { app, store, certificates })
    }

    /// See [`serve`].
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn serve(
        self,
        stop: impl Future<Output = ()> + 'static,
        listening: impl FnOnce(&str),
    ) -> Result<(), Failure> {
        let Prepared { app, store, certificates } = self;
        let socket = open_socket(&app);
        let outcome = run(&app, certificates, stop, listening).await;
        // While the data directory is locked still: a server that comes after has a socket of its own.
        drop(socket);
        app.enter(Stage::Draining);
        if let Err(error) = app.sessions.flush().await {
            tracing::warn!(%error, "when sessions were last used could not be saved");
        }
        app.repository.shut_down().await;
        // Folding the rest into the tables may take a moment, and it must not be done on a thread that serves.
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        if let Err(error) = closed {
            tracing::error!(%error, "the store could not be closed in good order");
        }
        outcome
    }
}

/// Users and sessions of a repository.
///
/// # Errors
/// [`Exit::Usage`] for passwords that can't be hashed as configured.
pub fn people(config: &Config, repository: &Repository) -> Result<(Arc<Directory>, Arc<Sessions>), Failure> {
    let passwords = Passwords::new(PasswordOptions {
        memory_kib: config.auth.password_memory_kib,
        iterations: config.auth.password_iterations,
        lanes: config.auth.password_lanes,
    })
    .map_err(|error| Failure::new(Exit::Usage, error.message))?;
    let directory = Arc::new(Directory::new(repository.clone(), passwords));
    let options = SessionOptions {
        idle_seconds: config.auth.session_idle_seconds,
        absolute_seconds: config.auth.session_absolute_seconds,
        flush_seconds: config.auth.flush_seconds,
        per_user: config.auth.sessions_per_user,
    };
    let sessions = Arc::new(Sessions::new(repository.clone(), directory.clone(), options));
    Ok((directory, sessions))
}

/// The socket for the command line; without it the server serves all the same.
fn open_socket(app: &App) -> Option<AdminSocket> {
    let data = &app.config.data.directory;
    AdminSocket::open(data, Admin::of(app))
        .inspect_err(|error| {
            let path = data.join(socket::NAME);
            tracing::warn!(path = %path.display(), %error, "commands can't reach this server: no administration socket");
        })
        .ok()
}

async fn run(
    app: &Arc<App>,
    certificates: Option<Arc<Certificates>>,
    stop: impl Future<Output = ()> + 'static,
    listening: impl FnOnce(&str),
) -> Result<(), Failure> {
    let server = &app.config.server;
    let workers = if server.workers == 0 { automatic_workers() } else { server.workers };
    let data: Data<App> = Data::from(app.clone());
    let unlistenable = |error| Failure::new(Exit::Failed, format!("{} can't be listened at: {error}", server.listen));
    let unread = Some(Duration::from_secs(server.slow_reader_seconds)).filter(|unread| !unread.is_zero());
    let listeners = listen::listen(&server.listen, unread).map_err(unlistenable)?;
    let connections = workers.saturating_mul(server.max_connections);
    if let Some(room) = listen::room_for_connections().filter(|room| *room < connections as u64) {
        tracing::warn!(
            room,
            connections,
            "the process may not open enough files for server.max_connections on every worker: raise its limit (ulimit -Hn)"
        );
    }
    let mut built = HttpServer::new(move || WebApp::new().app_data(data.clone()).default_service(web::to(dispatch)))
        .workers(workers)
        .keep_alive(Duration::from_secs(server.keep_alive_seconds))
        .client_request_timeout(Duration::from_secs(server.slow_request_seconds))
        .max_connections(server.max_connections)
        .shutdown_timeout(server.shutdown_seconds)
        .tls_handshake_timeout(Duration::from_secs(server.tls.handshake_seconds))
        .disable_signals();
    for listener in listeners {
        built = match &certificates {
            Some(certificates) => {
                let config = certificates.server_config().map_err(|error| Failure::new(Exit::Failed, error))?;
                built.listen_rustls_0_23(listener, config)
            }
            None => built.listen(listener),
        }
        .map_err(unlistenable)?;
    }
    let address = built.addrs_with_scheme().first().map(|(address, scheme)| format!("{scheme}://{address}"));
    let running = built.run();
    let handle = running.handle();
    let background = actix::spawn(maintain(app.clone()));
    let (end_collecting, collecting) = collect(app);
    let renewal = certificates.map(|certificates| actix::spawn(renew(certificates, server.tls.reload_seconds)));
    app.enter(Stage::Ready);
    if let Some(address) = address {
        listening(&address);
    }
    let draining = app.clone();
    actix::spawn(async move {
        stop.await;
        draining.enter(Stage::Draining);
        tracing::info!("draining");
        // They would be waited for.
        draining.followers.close();
        handle.stop(true).await;
    });
    let outcome = running.await.map_err(|error| Failure::new(Exit::Failed, error));
    background.abort();
    drop(end_collecting);
    // While the data directory is locked still: whoever comes after must not find a file that is about to go.
    if let Err(error) = collecting.await {
        tracing::error!(%error, "collecting content files was cut off");
    }
    if let Some(renewal) = renewal {
        renewal.abort();
    }
    outcome
}

/// One thread for requests for each two cores: the containers, the writer and the checkpointer need some, too.
fn automatic_workers() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// What has to be done every now and then.
async fn maintain(app: Arc<App>) {
    let mut sweep = tokio::time::interval(Duration::from_secs(app.config.runtime.sweep_seconds.max(1)));
    let mut flush = tokio::time::interval(Duration::from_secs(app.config.auth.flush_seconds.max(1)));
    loop {
        tokio::select! {
            _ = sweep.tick() => {
                app.repository.sweep();
            }
            _ = flush.tick() => {
                each_of([
                    ("when sessions were last used could not be saved", Box::pin(app.sessions.flush()) as Step<'_>),
                    ("sessions that have ended could not be removed", Box::pin(app.sessions.sweep())),
                    ("locks that are over could not be taken off", Box::pin(app.sessions.release_locks())),
                    ("receipts of old calls could not be removed", Box::pin(app.receipts.sweep())),
                ])
                .await;
            }
        }
    }
}

/// Something to be done now and then, and how many it was done to.
type Step<'a> = Pin<Box<dyn Future<Output = Result<usize, Error>> + 'a>>;

/// Takes one step after the other. One that fails is told in the log, and none waits for it to go well: what can't be read or written
/// now may be so for good.
async fn each_of<'a>(steps: impl IntoIterator<Item = (&'static str, Step<'a>)>) {
    for (failed, step) in steps {
        if let Err(error) = step.await {
            tracing::warn!(%error, "{failed}");
        }
    }
}

/// Removes content files that nothing refers to, until the sender is dropped.
fn collect(app: &App) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (sender, end) = oneshot::channel();
    let collector = app
        .config
        .collect_after()
        .map(|after| Collector::new(app.content.clone(), app.repository.store().clone(), after));
    let work = async move {
        if let Some(collector) = collector {
            collector.run(end).await;
        }
    };
    (sender, actix::spawn(work))
}

/// Looks for new certificates every now and then, and at SIGHUP.
async fn renew(certificates: Arc<Certificates>, seconds: u64) {
    let mut looks = tokio::time::interval(Duration::from_secs(seconds.max(1)));
    let mut hang_up = signal(SignalKind::hangup()).ok();
    loop {
        let asked = async {
            match &mut hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = looks.tick() => {}
            _ = asked => {}
        }
        let files = certificates.clone();
        match tokio::task::spawn_blocking(move || files.reload()).await {
            Ok(Ok(true)) => tracing::info!("the TLS certificate was renewed"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the TLS certificate can't be renewed; the old one stays in force")
            }
            Err(error) => tracing::error!(%error, "the TLS certificate could not be looked at"),
        }
    }
}

/// Fills a data directory that has no root folder yet.
async fn fill_if_new(app: &App) -> Result<(), Failure> {
    let databases: Vec<DatabaseId> = app.config.databases.iter().map(|database| DatabaseId(database.id)).collect();
    let finished = app.directory.user(ADMIN)?.is_some_and(|admin| admin.has_password());
    app.repository.make_roots(&databases).await?;
    if finished {
        return Ok(());
    }
    let newsroom = Newsroom::read()?;
    // What the service itself goes by, before the files that say so are there.
    let (types, workflows) = (Newsroom::text(OBJECT_TYPES_PATH), Newsroom::text(WORKFLOWS_PATH));
    report_sysconfig(app.sysconfig.load(types, workflows));
    if app.config.sample.enabled {
        newsroom.write(&app.repository, &app.content, &app.sysconfig).await?;
    }
    make_users(app, &newsroom).await
}

/// The user that every new data directory has.
const ADMIN: &str = "admin";

/// Users and groups; `admin` gets a password last, which marks the directory as filled.
async fn make_users(app: &App, newsroom: &Newsroom) -> Result<(), Failure> {
    for group in newsroom.groups() {
        let grants = group.privileges.iter();
        let privileges =
            grants.map(|grant| Grant { privilege: grant.privilege, folder: grant.folder.clone() }).collect();
        let group = Group { name: group.name.as_str().into(), description: group.description.clone(), privileges };
        app.directory.put_group(group).await?;
    }
    let shared = std::env::var("STET_SAMPLE_PASSWORD").ok().filter(|password| !password.is_empty());
    let mut passwords = Vec::new();
    for sample in newsroom.users().iter().filter(|user| user.name == ADMIN || app.config.sample.enabled) {
        let mut user = User::new(&sample.name);
        user.full_name.clone_from(&sample.full_name);
        user.description.clone_from(&sample.description);
        user.groups.clone_from(&sample.groups);
        user.home.clone_from(&sample.home);
        user.work.clone_from(&sample.work);
        user.team.clone_from(&sample.team);
        user.home_email.clone_from(&sample.home_email);
        user.business_email.clone_from(&sample.business_email);
        user.disabled = sample.disabled || (sample.name != ADMIN && shared.is_none());
        app.directory.put_user(user).await?;
        if let (true, Some(shared)) = (sample.name != ADMIN, &shared) {
            passwords.push(app.directory.set_password(&sample.name, shared));
        }
    }
    for set in futures_util::future::join_all(passwords).await {
        set?;
    }
    let given = std::env::var("STET_ADMIN_PASSWORD").ok().filter(|password| !password.is_empty());
    let password = given.clone().unwrap_or_else(random_password);
    if given.is_none() {
        // To the operator's terminal only: the log may be kept. First, for what can't be told must not be set.
        let told = writeln!(std::io::stdout(), "new data directory: log in as `{ADMIN}` with the password {password}");
        told.map_err(|error| Failure::new(Exit::Failed, format!("the password of `{ADMIN}` can't be told: {error}")))?;
    }
    app.directory.set_password(ADMIN, &password).await?;
    Ok(())
}

/// Twenty letters and digits: about 119 bits.
fn random_password() -> String {
    use rand::RngExt;
    let mut rng = rand::rng();
    (0..20).map(|_| char::from(rng.sample(rand::distr::Alphanumeric))).collect()
}

/// Reads object types and workflows from the repository.
async fn load_sysconfig(app: &App) {
    let mut texts = Vec::new();
    for path in [OBJECT_TYPES_PATH, WORKFLOWS_PATH] {
        texts.push(match read_text(app, path).await {
            Ok(text) => Some(text),
            Err(error) => {
                tracing::warn!(path, %error, "a configuration file can't be read; the built-in minimum serves");
                None
            }
        });
    }
    report_sysconfig(app.sysconfig.load(texts[0].as_deref(), texts[1].as_deref()));
}

fn report_sysconfig(outcome: Result<(), Vec<crate::sysconfig::LoadError>>) {
    for error in outcome.err().unwrap_or_default() {
        tracing::error!(%error, "a configuration file can't be taken over; the old one stays in force");
    }
}

async fn read_text(app: &App, path: &str) -> Result<String, Error> {
    let record = app.repository.resolve(&Source::Path(path.to_owned()), DatabaseId::MAIN)?;
    let bytes = crate::api::object::bytes_of(app, &record).await?;
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Error::new(stet_actors::error::Code::InvalidBody, format!("`{path}` is no UTF-8 text.")))
}

/// The data directory, which is there.
///
/// # Errors
/// [`Exit::Data`] when it is not, for opening would make what is missing.
pub fn existing(config: &Config) -> Result<&Path, Failure> {
    let data: &Path = &config.data.directory;
    if !data.is_dir() {
        return Err(Failure::new(Exit::Data, format!("{} is not there", data.display())));
    }
    if !data.join(StoreFile::State.name()).is_file() {
        return Err(Failure::new(Exit::Data, format!("{} is no data directory of stet", data.display())));
    }
    Ok(data)
}

/// Opens a data directory that must be there.
fn open_existing(config: &Config) -> Result<RedbStore, Failure> {
    existing(config)?;
    open_store(config)
}

/// Prints the audit trail, oldest first.
///
/// # Errors
/// [`Exit::Data`] when the data directory can't be opened or read, [`Exit::Failed`] when nothing can be printed.
pub fn audit(config: &Config, wanted: &AuditArgs) -> Result<(), Failure> {
    let store = open_existing(config)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let walked = survived(&config.data.directory, || {
        audit::walk(&store, &audit::Filter::of(wanted), |entry| {
            written = if wanted.json { entry.write_json(&mut out) } else { entry.write_line(&mut out) };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    store.close();
    match written.and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
        Err(error) => return Err(Failure::new(Exit::Failed, format!("the trail can't be printed: {error}"))),
        Ok(()) => {}
    }
    walked?.map_err(|error| Failure::new(Exit::Data, error))
}

/// Checks the data directory.
///
/// # Errors
/// [`Exit::Data`] when it can't be opened or read, [`Exit::Faults`] when it has faults; they are printed.
pub fn check(config: &Config) -> Result<(), Failure> {
    let data: &Path = &config.data.directory;
    let store = open_existing(config)?;
    let content = ContentStore::open(data, config.store.small_body_bytes)
        .map_err(|error| Failure::new(Exit::Data, format!("the contents can't be opened: {error}")))?;
    let report = survived(data, || crate::check::check(&store, &content));
    store.close();
    let report = report?.map_err(|error| Failure::new(Exit::Data, error))?;
    for (table, rows) in &report.rows {
        println!("{table:20} {rows}");
    }
    for fault in &report.faults {
        println!("fault: {fault}");
    }
    if report.unused_files > 0 {
        let (files, bytes) = (report.unused_files, report.unused_bytes);
        println!("{files} content files of {bytes} bytes are referred to by no row, and go in time");
    }
    println!("{} faults", report.fault_count);
    if report.fault_count == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::Faults, format!("{} has {} faults", data.display(), report.fault_count)))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[actix_web::test]
    async fn a_step_that_fails_keeps_none_after_it_from_being_taken() {
        let taken = RefCell::new(Vec::new());
        let step = |name: &'static str, outcome: Result<usize, Error>| {
            let taken = &taken;
            let step = async move {
                taken.borrow_mut().push(name);
                outcome
            };
            ("it could not be done", Box::pin(step) as Step<'_>)
        };
        each_of([step("flush", Ok(1)), step("locks", Err(Error::internal())), step("receipts", Ok(0))]).await;
        assert_eq!(*taken.borrow(), ["flush", "locks", "receipts"]);
    }
}
