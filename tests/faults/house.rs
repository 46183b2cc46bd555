//! A server in this process, on a disk in memory.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use futures_util::stream;
use stet::server::{PreparedServer, ServerEnvironment, reserve, store_options};
use stet_actors::repository::Repository;
use stet_config::Config;
use stet_content::{ContentStore, UploadBounds};
use stet_domain::clock::{Clock, ManualClock, SystemClock};
use stet_store::RedbStore;
use stet_web::app::App;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;

/// A directory filled by the real binary, and the token of `admin` in it.
struct Template {
    filled: Filled,
    token: String,
}

fn template() -> &'static Template {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let mut server = Server::filling(&[]);
        let token = server.login("admin").token.expect("a login gives a token");
        assert_eq!(server.terminate(), Some(0));
        Template { filled: Filled::of(server.data()), token }
    })
}

/// A disk with a filled repository on it.
fn filled_disk() -> SimulatedDisk {
    SimulatedDisk::holding(StoreFile::ALL.map(|file| (file, template().filled.file(file.name()).to_vec())))
}

/// A server and its environment.
pub struct House {
    pub disk: SimulatedDisk,
    pub clock: Option<ManualClock>,
    pub config: Config,
    /// The number of rows in memory beside the tables; `None` for the real server's value.
    pub rows_in_memory: Option<usize>,
    /// The maximum of change sets in a commit; `None` for the real server's value.
    pub sets_in_commit: Option<usize>,
    data: TempDir,
    running: Option<Running>,
    _place: Place,
}

/// Metrics belong to the process, so a test that looks at them has it for itself; others go on
/// beside each other.
#[expect(dead_code, reason = "a guard is never read, only held")]
enum Place {
    Alone(RwLockWriteGuard<'static, ()>),
    Shared(RwLockReadGuard<'static, ()>),
}

static PLACE: RwLock<()> = RwLock::new(());

struct Running {
    base: String,
    app: Arc<App>,
    repository: Repository,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), String>>,
}

/// Returns an environment on `disk`: checkpoints only where a test asks for them, and no long waits
/// for a failing journal.
fn ground_of(config: &Config, disk: &SimulatedDisk, clock: Arc<dyn Clock>) -> ServerEnvironment {
    let mut store = store_options(config);
    store.backends = Arc::new(disk.clone());
    store.decide_within = std::time::Duration::from_millis(50);
    store.clock = clock.clone();
    ServerEnvironment { store, clock, ..ServerEnvironment::of(config) }
}

impl House {
    /// A server on a filled repository, not started, and alone in the process.
    pub fn empty() -> House {
        // A test that has failed leaves nothing behind that another could stumble over.
        House::at(Place::Alone(PLACE.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A server on a disk on which nothing is yet, not started; beside others.
    pub fn new_directory() -> House {
        let mut house = House::shared();
        house.disk = SimulatedDisk::new();
        house.data = TempDir::new().expect("a temporary directory can be made");
        house.config.data.directory = house.data.path().to_owned();
        // The disk is what fails here, and password hashes would take most of the time.
        house.config.auth.password_memory_kib = 64;
        house.config.auth.password_iterations = 1;
        house
    }

    /// A server beside others in the process, so that its metrics mean nothing.
    pub fn shared() -> House {
        House::at(Place::Shared(PLACE.read().unwrap_or_else(PoisonError::into_inner)))
    }

    fn at(place: Place) -> House {
        let disk = filled_disk();
        let data = TempDir::new().expect("a temporary directory can be made");
        template().filled.lay_out_folder("content", data.path());
        let mut config = Config::default();
        config.data.directory = data.path().to_owned();
        config.server.listen = "127.0.0.1:0".to_owned();
        config.server.workers = 1;
        config.store.checkpoint_seconds = 3600;
        config.memory.pages_bytes = 8 << 20;
        config.runtime.restart_backoff_milliseconds = 0;
        House {
            disk,
            clock: None,
            config,
            rows_in_memory: None,
            sets_in_commit: None,
            data,
            running: None,
            _place: place,
        }
    }

    /// A started server on a filled repository.
    pub fn started() -> House {
        let mut house = House::empty();
        house.start();
        house
    }

    /// Starts the server; it must come up.
    pub fn start(&mut self) {
        self.try_start().unwrap_or_else(|error| panic!("the server does not come up: {error}"));
    }

    /// Starts the server, or returns the reason why it does not start.
    pub fn try_start(&mut self) -> Result<(), String> {
        assert!(self.running.is_none(), "it runs already");
        let clock: Arc<dyn Clock> = match &self.clock {
            Some(clock) => Arc::new(clock.clone()),
            None => Arc::new(SystemClock),
        };
        let (config, mut ground) = (self.config.clone(), ground_of(&self.config, &self.disk, clock));
        // So few that each checkpoint packs some.
        ground.store.checkpoint.segment_events = 8;
        if let Some(rows) = self.rows_in_memory {
            ground.store.limits.overlay_entries = rows;
        }
        if let Some(sets) = self.sets_in_commit {
            ground.store.limits.batch_sets = sets;
        }
        let (told, listening) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            actix::System::new().block_on(async move {
                let reserved = reserve(&config, Vec::new()).map_err(|failure| failure.message)?;
                let prepared = PreparedServer::on(ground, config).await.map_err(|failure| failure.message)?;
                let (app, repository) = (prepared.app.clone(), prepared.repository.clone());
                let stops = stream::once(async {
                    // Dropped unsent is as good.
                    let _ = stopped.await;
                });
                let tell = move |base: &str| {
                    told.send((base.to_owned(), app, repository)).expect("the test waits for it");
                };
                prepared.serve(reserved, stops, tell).await.map_err(|failure| failure.message)
            })
        });
        match listening.recv() {
            Ok((base, app, repository)) => {
                self.running = Some(Running { base, app, repository, stop, thread });
                Ok(())
            }
            // The sender is gone, so the thread has ended.
            Err(_) => Err(thread.join().expect("the server does not panic").expect_err("it has not listened")),
        }
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    /// A client with the token of `admin`.
    pub fn client(&self) -> Client {
        Client::at(&self.running().base, Some(template().token.clone()))
    }

    /// The repository behind the web layer.
    pub fn repository(&self) -> Repository {
        self.running().repository.clone()
    }

    /// Returns the application of the running server.
    pub fn app(&self) -> Arc<App> {
        self.running().app.clone()
    }

    /// Ends the server in good order, as far as the disk lets it.
    pub fn stop(&mut self) {
        if let Some(Running { stop, thread, app, .. }) = self.running.take() {
            drop((stop, app));
            thread.join().expect("the server does not panic").expect("it ends in good order");
        }
    }

    /// Lets the machine lose power: the process ends, and unsynced writes are lost, except those
    /// that `seed` leaves.
    pub fn lose_power(&mut self, seed: u64) {
        self.disk.crash(seed);
        // Its files are dead; nothing that it still does reaches the disk.
        self.stop();
    }

    /// Status and reason of `/readyz`.
    pub fn readiness(&self) -> (u16, String) {
        let answer = Client::at(&self.running().base, None).get("/readyz");
        (answer.status, answer.json()["why"].as_str().unwrap_or_default().to_owned())
    }

    /// A value of `/metrics`; 0 when it is not there yet.
    pub fn metric(&self, name: &str) -> f64 {
        Client::at(&self.running().base, None).metric(name)
    }

    /// The store of a server that has ended, to be looked into or damaged.
    pub fn store(&self) -> RedbStore {
        assert!(self.running.is_none(), "the server has it open");
        let ground = ground_of(&self.config, &self.disk, Arc::new(SystemClock));
        RedbStore::open(ground.store).unwrap_or_else(|error| panic!("the store does not open: {error}"))
    }

    /// The data directory: of contents alone, for the store is elsewhere.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Returns the faults that `stet check` finds.
    pub fn faults(&self) -> Vec<String> {
        let content = ContentStore::open(self.data(), self.config.store.small_body_bytes, UploadBounds::NONE);
        let report = stet::check::check(&self.store(), &content.expect("contents can be opened"));
        report.expect("the store can be read").faults
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.disk.heal();
        self.disk.release();
        if let Some(Running { stop, thread, app, .. }) = self.running.take() {
            drop((stop, app));
            // If the test has failed that is what counts.
            let _ = thread.join();
        }
    }
}
