//! Recurring tasks while the server runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stet_actors::command::Who;
use stet_actors::ends::EndTime;
use stet_actors::error::{Code, Error};
use stet_actors::id::DatabaseId;
use stet_actors::lifecycle::{Purge, entries_of_bin};
use stet_actors::repository::Repository;
use stet_actors::runtime::Request;
use stet_actors::store::View;
use stet_store::RedbStore;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::pressure;
use crate::auth::Name;
use crate::content::collect::Collector;
use crate::http::app::App;
use crate::metering::DataFigures;
use crate::tls::Certificates;

/// The recurring tasks, and what runs until it is told to end.
pub(super) struct Upkeep {
    recurring: Vec<JoinHandle<()>>,
    tending: Option<Tending>,
}

/// Tasks that end what they are at before they end.
struct Tending {
    end_collecting: oneshot::Sender<()>,
    collecting: JoinHandle<()>,
    end_relaying: watch::Sender<()>,
    relaying: JoinHandle<()>,
}

impl Upkeep {
    /// All of it.
    pub(super) fn whole(app: &Arc<App>, repository: &Repository) -> Upkeep {
        let least = Upkeep::least(app, repository);
        let (end_collecting, collecting) = collect(app, repository);
        let (end_relaying, relaying) = relay(app);
        let more = [actix::spawn(maintain(app.clone())), actix::spawn(purge(app.clone(), repository.clone()))];
        Upkeep {
            recurring: least.recurring.into_iter().chain(more).collect(),
            tending: Some(Tending { end_collecting, collecting, end_relaying, relaying }),
        }
    }

    /// What gives memory back, and no more: nothing that is kept is removed, no session ends, and
    /// no mail is sent. For how long that is to be, a server's configuration says, and a command
    /// may have been given none.
    pub(super) fn least(app: &Arc<App>, repository: &Repository) -> Upkeep {
        let every = Duration::from_secs(app.config.runtime.sweep_seconds.max(1));
        let recurring = vec![
            actix::spawn(sweep(repository.clone(), every)),
            actix::spawn(pressure::watch(app.clone(), repository.clone())),
        ];
        Upkeep { recurring, tending: None }
    }

    /// Ends it.
    pub(super) async fn end(self) {
        for task in self.recurring {
            task.abort();
        }
        let Some(Tending { end_collecting, collecting, end_relaying, mut relaying }) = self.tending else { return };
        drop((end_collecting, end_relaying));
        // Done while the data directory is still locked: the next server must not find a file that
        // is about to be removed.
        if let Err(error) = collecting.await {
            tracing::error!(%error, "collecting content files was cut off");
        }
        // It ends with the mail that it is at. A relay that keeps it waiting has had its chance:
        // what became of that mail is not known then.
        if tokio::time::timeout(Duration::from_secs(10), &mut relaying).await.is_err() {
            relaying.abort();
        }
    }
}

/// Lets go of containers that nobody has asked for in a while; for ever.
async fn sweep(repository: Repository, every: Duration) {
    let mut turns = tokio::time::interval(every);
    loop {
        turns.tick().await;
        repository.sweep();
    }
}

/// What is done to sessions, locks, receipts and messages now and then; for ever.
async fn maintain(app: Arc<App>) {
    know_places(&app).await;
    let mut turns = tokio::time::interval(Duration::from_secs(app.config.auth.flush_seconds.max(1)));
    loop {
        turns.tick().await;
        // A clock that leaps is seen although nothing is to end.
        app.repository.ends().now();
        each_of([
            ("when sessions were last used could not be saved", Box::pin(app.sessions.flush()) as Step<'_>),
            ("sessions that have ended could not be removed", Box::pin(app.sessions.sweep())),
            ("locks that are over could not be taken off", Box::pin(app.sessions.release_locks())),
            ("receipts of old calls could not be removed", Box::pin(app.receipts.sweep())),
            ("old messages could not be removed", Box::pin(app.messages.sweep())),
        ])
        .await;
    }
}

/// Knows users where they were when the server ended: whoever tries their passwords meanwhile must
/// not keep them out.
async fn know_places(app: &App) {
    match app.sessions.list(None).await {
        Ok(sessions) => {
            for session in sessions.iter().map(|live| live.session()) {
                if let Ok(address) = session.address.parse() {
                    app.attempts.know(&Name::of(&session.user), address);
                }
            }
        }
        Err(error) => tracing::warn!(%error, "where users have sessions could not be read"),
    }
}

/// Something to be done now and then, and how many it was done to.
type Step<'a> = Pin<Box<dyn Future<Output = Result<usize, Error>> + 'a>>;

/// Takes one step after the other. A failed step is logged, and no step waits for another to
/// succeed: what can't be read or written now may be so for good.
async fn each_of<'a>(steps: impl IntoIterator<Item = (&'static str, Step<'a>)>) {
    for (failed, step) in steps {
        if let Err(error) = step.await {
            tracing::warn!(%error, "{failed}");
        }
    }
}

/// Removes content files that nothing refers to, until the sender is dropped.
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

/// Gives messages to the mail relay, until the sender is dropped.
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

/// How often the disk is looked at, and one of the folders of contents.
const LOOKS: Duration = Duration::from_secs(10);

/// How often until all folders have been looked at once.
const FIRST_LOOKS: Duration = Duration::from_millis(20);

/// Looks at the data directory now and then, for the metrics; for ever. One look at a time: who
/// waits for a disk that does not answer is one thread.
pub(super) async fn measure(mut figures: DataFigures, store: Arc<RedbStore>) {
    let mut told = None;
    loop {
        metrics::gauge!("stet_store_unfolded_bytes").set(store.unfolded_bytes() as f64);
        let look = tokio::task::spawn_blocking(move || {
            let outcome = figures.look().and_then(|()| figures.look_at_contents());
            (figures, outcome)
        });
        // Cut off only when the server ends.
        let Ok((looked, outcome)) = look.await else { return };
        figures = looked;
        // What fails every ten seconds is said once.
        let error = outcome.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|_| error != told) {
            tracing::warn!(error, "how large the data is, and how much room is left, can't be found out");
        }
        told = error;
        tokio::time::sleep(if figures.is_whole() { LOOKS } else { FIRST_LOOKS }).await;
    }
}

/// How often the recycle bin is looked at.
const PURGES: Duration = Duration::from_secs(600);

/// Entries of the recycle bin that are looked up at a time.
const PAGE: usize = 256;

/// Destroys what has lain in the recycle bin for longer than configuration says; for ever.
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
            match purged(&repository, database, (now, seconds)).await {
                Ok(0) => {}
                Ok(entries) => tracing::info!(%database, entries, "old entries of the recycle bin are destroyed"),
                Err(error) => tracing::warn!(%database, %error, "the recycle bin could not be purged"),
            }
        }
    }
}

/// Destroys the entries that have lain there for longer than so many seconds; one that can't be is
/// logged, and does not hold up the others. Returns how many there were.
async fn purged(repository: &Repository, database: DatabaseId, (now, seconds): (EndTime, u64)) -> Result<usize, Error> {
    let before = now.s().saturating_sub(seconds);
    let (mut after, mut count) = (None::<Bytes>, 0);
    loop {
        let page = entries_of_bin(repository.look(), View::Committed, database, after.as_deref(), (PAGE, false));
        let (entries, last) = page.map_err(|error| {
            tracing::error!(%error, "the recycle bin can't be read");
            Error::internal()
        })?;
        for object in &entries {
            let discarded = repository.any_record(*object)?.and_then(|record| record.bin).map(|bin| bin.at);
            // The oldest come first.
            if discarded.is_some_and(|at| at >= before) {
                return Ok(count);
            }
            match repository.joint(Purge { object: *object, before }, Request::by(Who::system())).await {
                Ok(done) => count += usize::from(done),
                Err(error) if error.code == Code::ObjectNotFound => {}
                Err(error) => tracing::warn!(%object, %error, "an old entry of the recycle bin is still there"),
            }
        }
        after = last;
        if entries.len() < PAGE {
            return Ok(count);
        }
    }
}

/// Looks for new certificates every now and then, and at SIGHUP; `/metrics` tells how that goes.
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
                tracing::info!("the TLS certificate was renewed");
                tell_end(&certificates);
                false
            }
            Ok(Ok(false)) => false,
            Ok(Err(error)) => {
                tracing::error!(%error, "the TLS certificate can't be renewed; the old one stays in force");
                true
            }
            Err(error) => {
                tracing::error!(%error, "the TLS certificate could not be looked at");
                true
            }
        };
        metrics::gauge!("stet_tls_reload_failed").set(f64::from(u8::from(failed)));
    }
}

/// Tells when the certificate in force ends.
fn tell_end(certificates: &Certificates) {
    let ends_s = match certificates.validity() {
        Ok(validity) => validity.until_s as f64,
        Err(error) => {
            tracing::warn!(error, "when the TLS certificate ends can't be told");
            // Neither the end of the one before nor a number to take for an end.
            f64::NAN
        }
    };
    metrics::gauge!("stet_tls_certificate_ends_seconds").set(ends_s);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use stet_actors::clock::ManualClock;
    use stet_actors::folder::root;
    use stet_actors::lifecycle::{Create, Discard, NewObject, Restore};
    use stet_actors::object::CreateMode;
    use stet_actors::runtime::RuntimeOptions;
    use stet_actors::store::memory::MemoryStore;

    use super::*;

    #[actix_web::test]
    async fn what_lies_in_the_bin_for_long_is_destroyed_and_nothing_else() {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let started = Repository::start(Arc::new(MemoryStore::new()), clock.clone(), RuntimeOptions::default()).await;
        let repository = started.expect("a repository starts");
        let database = DatabaseId::main();
        repository.make_roots(&[database]).await.expect("roots are made");
        let make = async |name: &str, below: &[&str]| {
            let below = below.iter().map(|name| (*name).to_owned()).collect();
            let create = Create { folder: root(database), below, object: NewObject::document(name, "Story") };
            repository.joint(create, Request::by(Who::system())).await.expect("it is made").loid
        };
        let discard = async |object: stet_actors::id::Loid| {
            repository
                .joint(Discard { object, reach: stet_actors::object::Reach::All }, Request::by(Who::system()))
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
        let restore =
            Restore { object: back, folder: None, mode: CreateMode::Exception, reach: stet_actors::object::Reach::All };
        repository.joint(restore, Request::by(Who::system())).await.expect("it comes back");
        let now = || repository.ends().now().expect("the clock is right");
        assert_eq!(purged(&repository, database, (now(), 1000)).await, Ok(0), "not at that very moment");
        assert_eq!(purged(&repository, database, (now(), 999)).await, Ok(2));
        for gone in [old, folder, inner] {
            assert_eq!(repository.any_record(gone), Ok(None));
        }
        for there in [back, new, kept] {
            assert!(repository.any_record(there).unwrap().is_some(), "{there}");
        }
        let late = Purge { object: back, before: u64::MAX };
        assert_eq!(repository.joint(late, Request::by(Who::system())).await, Ok(false), "it was restored");
        clock.advance(std::time::Duration::from_secs(1));
        assert_eq!(purged(&repository, database, (now(), 0)).await, Ok(1));
        assert_eq!(purged(&repository, database, (now(), 0)).await, Ok(0));
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
            ("it could not be done", Box::pin(step) as Step<'_>)
        };
        each_of([step("flush", Ok(1)), step("locks", Err(Error::internal())), step("receipts", Ok(0))]).await;
        assert_eq!(*taken.borrow(), ["flush", "locks", "receipts"]);
    }
}
