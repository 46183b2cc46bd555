//! The end of a server that serves.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_server::ServerHandle;
use futures_util::{Stream, StreamExt};

use crate::http::app::{App, Stage};

/// How long those are served who have connected just now and are about to say what they want.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits until it is asked to end, and brings the end about in parts. First `/readyz` is 503, so
/// that load balancers send their clients elsewhere, and all are served as ever, for
/// `server.drain_seconds` or until it is asked again. Then no connection is accepted any more, and
/// calls under way get `server.shutdown_seconds`.
///
/// A socket that is `held` by who started this process stays open, and new clients wait there for
/// the next one. So those who have been accepted are served before connections without a call are
/// closed: none of them need be lost. At a socket of this process's own they could not wait, and
/// are refused at once, which a proxy may try again.
pub(super) async fn when_asked(app: Arc<App>, handle: ServerHandle, stops: impl Stream<Item = ()>, held: bool) {
    let mut stops = pin!(stops.fuse());
    // That nobody can ask any more is as good as being asked.
    let _ = stops.next().await;
    app.enter(Stage::Draining);
    let seconds = app.config.server.drain_seconds;
    tracing::info!(seconds, "draining");
    if seconds > 0 {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
            Some(()) = stops.next() => tracing::info!("asked again to end: draining is over"),
        }
    }
    tracing::info!("no connection is accepted any more");
    if held {
        handle.pause().await;
        tokio::time::sleep(LAST_WORDS).await;
    }
    // They would be waited for.
    app.followers.close();
    handle.stop(true).await;
}
