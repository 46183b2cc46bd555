//! Recurring tasks while the server runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_actors::runtime::ChangeRequest;
use stet_archiver::BackupService;
use stet_auth::Name;
use stet_base::limits::RowPager;
use stet_content::collect::Collector;
use stet_domain::command::CallerIdentity;
use stet_domain::ends::ExpiryTime;
use stet_domain::error::{Code, Error};
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::{PurgeBinEntry, bin_cursor, entry_of_bin};
use stet_observe::metering::DataFigures;
use stet_search::{FeedThread, NewsroomSearch};
use stet_store::RedbStore;
use stet_web::app::App;
use stet_webhooks::{Webhooks, deliverer};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::pressure;
use crate::tls::Certificates;

/// The recurring tasks, and those that must be ended in order.
pub(super) struct Upkeep {
    recurring: Vec<JoinHandle<()>>,
    tending: Option<GracefulTasks>,
}

/// The tasks that finish their current work before they end.
struct GracefulTasks {
    end_collecting: oneshot::Sender<()>,
    collecting: JoinHandle<()>,
    end_relaying: watch::Sender<()>,
    relaying: JoinHandle<()>,
    end_delivering: watch::Sender<()>,
    delivering: JoinHandle<()>,
    indexing: Option<FeedThread>,
}

impl Upkeep {
    /// Starts all tasks.
    pub(super) fn whole(app: &Arc<App>, repository: &Repository) -> Upkeep {
        let least = Upkeep::least(app, repository);
        let (end_collecting, collecting) = collect(app, repository);
        let (end_relaying, relaying) = relay(app);
        let (end_delivering, delivering) = deliver(app);
        let more = [
            actix::spawn(maintain(app.clone())),
            actix::spawn(purge(app.clone(), repository.clone())),
            actix::spawn(measure_search(app.clone())),
            actix::spawn(measure_backup(app.clone())),
        ];
        Upkeep {
            recurring: least.recurring.into_iter().chain(more).collect(),
            tending: Some(GracefulTasks {
                end_collecting,
                collecting,
                end_relaying,
                relaying,
                end_delivering,
                delivering,
                indexing: index(app),
            }),
        }
    }

    /// Starts only the tasks that free memory. Nothing that is kept is removed, no session ends,
    /// and no mail is sent. The periods for those are settings of a server, and a command may have
    /// been given none.
    pub(super) fn least(app: &Arc<App>, repository: &Repository) -> Upkeep {
        let every = Duration::from_secs(app.config.runtime.sweep_seconds.max(1));
        let recurring = vec![
            actix::spawn(sweep(repository.clone(), every)),
            actix::spawn(pressure::watch(app.clone(), repository.clone())),
        ];
        Upkeep { recurring, tending: None }
    }

    /// Ends all tasks.
    pub(super) async fn end(self) {
        for task in self.recurring {
            task.abort();
        }
        let Some(tasks) = self.tending else { return };
        let GracefulTasks { collecting, mut relaying, delivering, indexing, .. } = tasks;
        drop((tasks.end_collecting, tasks.end_relaying, tasks.end_delivering));
        // Awaited while the data directory is still locked: the next server must not find a file
        // that is about to be removed.
        if let Err(error) = collecting.await {
            tracing::error!(%error, "collecting content files was interrupted");
        }
        if let Err(error) = delivering.await {
            tracing::error!(%error, "delivering events to webhooks was interrupted");
        }
        // The last commit of the index takes a moment, so it does not run on a thread that serves.
        let indexing = tokio::task::spawn_blocking(|| indexing.map(FeedThread::end));
        if let Err(error) = indexing.await {
            tracing::error!(%error, "indexing changes for the search was interrupted");
        }
        // The relay ends after its current mail. If the mail server blocks it too long, it is
        // aborted, and the fate of that mail is unknown.
        if tokio::time::timeout(Duration::from_secs(10), &mut relaying).await.is_err() {
            relaying.abort();
        }
    }
}

/// Unloads containers that have not been used for a while, forever.
async fn sweep(repository: Repository, every: Duration) {
    let mut turns = tokio::time::interval(every);
    loop {
        turns.tick().await;
        repository.sweep();
    }
}

/// Maintains sessions, locks, receipts and messages periodically, forever.
async fn maintain(app: Arc<App>) {
    know_places(&app).await;
    let mut turns = tokio::time::interval(Duration::from_secs(app.config.auth.flush_seconds.max(1)));
    loop {
        turns.tick().await;
        // Detects a leap of the clock even if nothing is due.
        app.repository.ends().now();
        each_of([
            ("cannot save when sessions were last used", Box::pin(app.sessions.flush()) as UpkeepStep<'_>),
            ("cannot remove ended sessions", Box::pin(app.sessions.sweep())),
            ("cannot release the locks of ended sessions", Box::pin(app.sessions.release_locks())),
            ("cannot remove old receipts", Box::pin(app.receipts.sweep())),
            ("cannot remove old messages", Box::pin(app.messages.sweep())),
        ])
        .await;
    }
}

/// Registers the addresses of users' sessions as known. So someone who tries passwords after a
/// restart can't lock these users out.
async fn know_places(app: &App) {
    match app.sessions.list(None).await {
        Ok(sessions) => {
            for session in sessions.iter().map(|live| live.session()) {
                if let Ok(address) = session.address.parse() {
                    app.attempts.know(&Name::of(&session.user), address);
                }
            }
        }
        Err(error) => tracing::warn!(%error, "cannot read the addresses of users' sessions"),
    }
}

/// A periodic task. Its output is the number of affected entries.
type UpkeepStep<'a> = Pin<Box<dyn Future<Output = Result<usize, Error>> + 'a>>;

/// Runs one step after the other. A failed step is logged and does not stop the others, because its
/// fault may be permanent.
async fn each_of<'a>(steps: impl IntoIterator<Item = (&'static str, UpkeepStep<'a>)>) {
    for (failed, step) in steps {
        if let Err(error) = step.await {
            tracing::warn!(%error, "{failed}");
        }
    }
}

/// Removes unreferenced content files until the sender is dropped.
fn collect(app: &App, repository: &Repository) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (sender, end) = oneshot::channel();
    let collector =
        app.config.collect_after().map(|after| Collector::new(app.content.clone(), repository.store().clone(), after));
    let work = async move {
        if let Some(collector) = collector {
            collector.run(end).await;
        }
    };
    (sender, actix::spawn(work))
}

/// Passes messages to the mail relay until the sender is dropped.
fn relay(app: &App) -> (watch::Sender<()>, JoinHandle<()>) {
    let (sender, end) = watch::channel(());
    let relay = app.messages.relay().cloned();
    let work = async move {
        if let Some(relay) = relay {
            relay.run(end).await;
        }
    };
    (sender, actix::spawn(work))
}

/// Delivers events to webhooks until the sender is dropped.
fn deliver(app: &App) -> (watch::Sender<()>, JoinHandle<()>) {
    let (sender, end) = watch::channel(());
    (sender, actix::spawn(deliverer::run(app.kept::<Arc<Webhooks>>().clone(), end)))
}

/// Starts to index changes for the search, if the server has one. Without a thread for it the
/// search stays incomplete.
fn index(app: &App) -> Option<FeedThread> {
    let search = app.kept::<Option<Arc<NewsroomSearch>>>().clone()?;
    let started = FeedThread::start(search);
    started.inspect_err(|error| tracing::error!(%error, "changes can't be indexed for the search")).ok()
}

/// Measures how far the index of the search is behind, forever.
async fn measure_search(app: Arc<App>) {
    let mut turns = tokio::time::interval(Duration::from_secs(1));
    while let Some(search) = app.kept::<Option<Arc<NewsroomSearch>>>() {
        turns.tick().await;
        search.measure();
    }
}

/// Sets the metrics of the backup periodically, forever.
async fn measure_backup(app: Arc<App>) {
    let mut turns = tokio::time::interval(Duration::from_secs(1));
    while let Some(backup) = app.kept::<Option<Arc<BackupService>>>().clone() {
        turns.tick().await;
        if let Err(error) = tokio::task::spawn_blocking(move || backup.measure()).await {
            tracing::error!(%error, "measuring the backup was interrupted");
        }
    }
}

/// The time between two readings of the disk and of one content folder.
const LOOKS: Duration = Duration::from_secs(10);

/// The time between two readings until all folders have been read once.
const FIRST_LOOKS: Duration = Duration::from_millis(20);

/// Reads the figures of the data directory periodically, forever. Only one reading runs at a time,
/// so a disk that does not answer blocks one thread.
pub(super) async fn measure(mut figures: DataFigures, store: Arc<RedbStore>) {
    let mut told = None;
    loop {
        metrics::gauge!("stet_store_unfolded_bytes").set(store.unfolded_bytes() as f64);
        let look = tokio::task::spawn_blocking(move || {
            let outcome = figures.look().and_then(|()| figures.look_at_contents());
            (figures, outcome)
        });
        // An error means that the server ends.
        let Ok((looked, outcome)) = look.await else { return };
        figures = looked;
        // The same failure every ten seconds is logged once.
        let error = outcome.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|_| error != told) {
            tracing::warn!(error, "cannot measure the data and the free space");
        }
        told = error;
        tokio::time::sleep(if figures.is_whole() { LOOKS } else { FIRST_LOOKS }).await;
    }
}

/// The time between two purges of the recycle bin.
const PURGES: Duration = Duration::from_secs(600);

/// Destroys entries that are in the recycle bin longer than configured, forever.
async fn purge(app: Arc<App>, repository: Repository) {
    let Some(seconds) = app.config.recycle_bin.purge_after_days.checked_mul(86_400).filter(|seconds| *seconds > 0)
    else {
        return;
    };
    let mut turns = tokio::time::interval(PURGES);
    loop {
        turns.tick().await;
        let Some(now) = repository.ends().now() else { continue };
        for database in app.config.databases.iter().map(|known| DatabaseId(known.id)) {
            match purge_database(&repository, database, (now, seconds)).await {
                Ok(0) => {}
                Ok(entries) => tracing::info!(%database, entries, "destroyed old entries of the recycle bin"),
                Err(error) => tracing::warn!(%database, %error, "cannot purge the recycle bin"),
            }
        }
    }
}

/// Destroys the entries that are older than `seconds`. An entry that can't be destroyed is logged
/// and does not stop the others. Returns the number of destroyed entries.
async fn purge_database(
    repository: &Repository,
    database: DatabaseId,
    (now, seconds): (ExpiryTime, u64),
) -> Result<usize, Error> {
    let before = now.s().saturating_sub(seconds);
    let unreadable = |error| {
        tracing::error!(%error, "the recycle bin can't be read");
        Error::internal()
    };
    let (mut pager, mut count) = (RowPager::new(repository.look(), bin_cursor(database)), 0);
    while let Some((key, _)) = pager.next().await.map_err(unreadable)? {
        let object = entry_of_bin(&key).map_err(unreadable)?;
        let discarded = repository.any_record(object)?.and_then(|record| record.bin).map(|bin| bin.at);
        // The oldest entries come first.
        if discarded.is_some_and(|at| at >= before) {
            break;
        }
        match repository.joint(PurgeBinEntry { object, before }, ChangeRequest::by(CallerIdentity::system())).await {
            Ok(done) => count += usize::from(done),
            Err(error) if error.code == Code::ObjectNotFound => {}
            Err(error) => tracing::warn!(%object, %error, "cannot destroy an old entry of the recycle bin"),
        }
    }
    Ok(count)
}

/// Reloads the certificates periodically and at SIGHUP. A metric shows failures.
pub(super) async fn renew(certificates: Arc<Certificates>, seconds: u64) {
    let mut looks = tokio::time::interval(Duration::from_secs(seconds.max(1)));
    let mut hang_up = signal(SignalKind::hangup()).ok();
    tell_end(&certificates);
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
        let failed = match tokio::task::spawn_blocking(move || files.reload()).await {
            Ok(Ok(true)) => {
                tracing::info!("renewed the TLS certificate");
                tell_end(&certificates);
                false
            }
            Ok(Ok(false)) => false,
            Ok(Err(error)) => {
                tracing::error!(%error, "cannot renew the TLS certificate; the old one stays in force");
                true
            }
            Err(error) => {
                tracing::error!(%error, "the check of the TLS certificate was interrupted");
                true
            }
        };
        metrics::gauge!("stet_tls_reload_failed").set(f64::from(u8::from(failed)));
    }
}

/// Updates the metric of the certificate's expiry.
fn tell_end(certificates: &Certificates) {
    let ends_s = match certificates.validity() {
        Ok(validity) => validity.until_s as f64,
        Err(error) => {
            tracing::warn!(error, "cannot find out when the TLS certificate expires");
            // Not a number: neither the previous expiry nor another time would be true.
            f64::NAN
        }
    };
    metrics::gauge!("stet_tls_certificate_ends_seconds").set(ends_s);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use stet_actors::runtime::RuntimeOptions;
    use stet_domain::clock::ManualClock;
    use stet_domain::folder::root;
    use stet_domain::lifecycle::{CreateInFolder, DiscardObject, NewObject, RestoreObject};
    use stet_domain::object::CreateMode;
    use stet_domain::store::memory::MemoryStore;

    use super::*;

    #[actix_web::test]
    async fn expired_bin_entries_are_destroyed_and_nothing_else() {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let started = Repository::start(Arc::new(MemoryStore::new()), clock.clone(), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let database = DatabaseId::main();
        repository.make_roots(&[database]).await.expect("roots are made");
        let make = async |name: &str, below: &[&str]| {
            let below = below.iter().map(|name| (*name).to_owned()).collect();
            let create = CreateInFolder { folder: root(database), below, object: NewObject::document(name, "Story") };
            repository.joint(create, ChangeRequest::by(CallerIdentity::system())).await.expect("it is made").loid
        };
        let discard = async |object: stet_domain::id::Loid| {
            repository
                .joint(
                    DiscardObject { object, reach: stet_domain::object::Reach::All },
                    ChangeRequest::by(CallerIdentity::system()),
                )
                .await
                .expect("it is discarded");
        };
        let (old, back, inner) = (make("old", &[]).await, make("back", &[]).await, make("inner", &["folder"]).await);
        let folder = repository.record(inner).unwrap().and_then(|record| record.folder()).expect("it lies in one");
        for object in [old, back, folder] {
            discard(object).await;
        }
        clock.advance(std::time::Duration::from_secs(1000));
        let (new, kept) = (make("new", &[]).await, make("kept", &[]).await);
        discard(new).await;
        let restore = RestoreObject {
            object: back,
            folder: None,
            mode: CreateMode::Exception,
            reach: stet_domain::object::Reach::All,
        };
        repository.joint(restore, ChangeRequest::by(CallerIdentity::system())).await.expect("it comes back");
        let now = || repository.ends().now().expect("the clock is right");
        assert_eq!(purge_database(&repository, database, (now(), 1000)).await, Ok(0), "not at that very moment");
        assert_eq!(purge_database(&repository, database, (now(), 999)).await, Ok(2));
        for gone in [old, folder, inner] {
            assert_eq!(repository.any_record(gone), Ok(None));
        }
        for there in [back, new, kept] {
            assert!(repository.any_record(there).unwrap().is_some(), "{there}");
        }
        let late = PurgeBinEntry { object: back, before: u64::MAX };
        assert_eq!(
            repository.joint(late, ChangeRequest::by(CallerIdentity::system())).await,
            Ok(false),
            "it was restored"
        );
        clock.advance(std::time::Duration::from_secs(1));
        assert_eq!(purge_database(&repository, database, (now(), 0)).await, Ok(1));
        assert_eq!(purge_database(&repository, database, (now(), 0)).await, Ok(0));
    }

    #[actix_web::test]
    async fn a_step_that_fails_keeps_none_after_it_from_being_taken() {
        let taken = RefCell::new(Vec::new());
        let step = |name: &'static str, outcome: Result<usize, Error>| {
            let taken = &taken;
            let step = async move {
                taken.borrow_mut().push(name);
                outcome
            };
            ("it could not be done", Box::pin(step) as UpkeepStep<'_>)
        };
        each_of([step("flush", Ok(1)), step("locks", Err(Error::internal())), step("receipts", Ok(0))]).await;
        assert_eq!(*taken.borrow(), ["flush", "locks", "receipts"]);
    }
}
