//! The end of a server that serves.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_server::ServerHandle;
use futures_util::{Stream, StreamExt};

use crate::http::app::{App, Stage};

/// Waits until it is asked to end, and brings the end about in two parts. First `/readyz` is 503, so that load balancers send their
/// clients elsewhere, and all are served as ever, for `server.drain_seconds` or until it is asked again. Then no connection is
/// accepted any more, and calls under way get `server.shutdown_seconds`.
pub(super) async fn when_asked(app: Arc<App>, handle: ServerHandle, stops: impl Stream<Item = ()>) {
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
    // They would be waited for.
    app.followers.close();
    handle.stop(true).await;
}
