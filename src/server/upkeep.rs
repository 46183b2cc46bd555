//! Recurring tasks while the server runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stet_actors::error::Error;
use stet_actors::repository::Repository;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::auth::Name;
use crate::content::collect::Collector;
use crate::http::app::App;
use crate::tls::Certificates;

/// The recurring tasks.
pub(super) async fn maintain(app: Arc<App>, repository: Repository) {
    know_places(&app).await;
    let mut sweep = tokio::time::interval(Duration::from_secs(app.config.runtime.sweep_seconds.max(1)));
    let mut flush = tokio::time::interval(Duration::from_secs(app.config.auth.flush_seconds.max(1)));
    loop {
        tokio::select! {
            _ = sweep.tick() => {
                repository.sweep();
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

/// Knows users where they were when the server ended: whoever tries their passwords meanwhile must not keep them out.
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

/// Takes one step after the other. A failed step is logged, and no step waits for another to succeed: what can't be read or
/// written now may be so for good.
async fn each_of<'a>(steps: impl IntoIterator<Item = (&'static str, Step<'a>)>) {
    for (failed, step) in steps {
        if let Err(error) = step.await {
            tracing::warn!(%error, "{failed}");
        }
    }
}

/// Removes content files that nothing refers to, until the sender is dropped.
pub(super) fn collect(app: &App, repository: &Repository) -> (oneshot::Sender<()>, JoinHandle<()>) {
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

/// Looks for new certificates every now and then, and at SIGHUP.
pub(super) async fn renew(certificates: Arc<Certificates>, seconds: u64) {
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
