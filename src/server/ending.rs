//! The graceful shutdown of the server.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_server::ServerHandle;
use futures_util::{Stream, StreamExt};
use stet_web::app::{App, ServerStage};

/// The time for which new connections are still served: their clients are about to send a request.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits for a request to end, and shuts the server down in steps. First `/readyz` returns 503, so
/// that load balancers send their clients elsewhere. All calls are still served for
/// `server.drain_seconds`, or until the second request to end. Then no connections are accepted any
/// more, and running calls get `server.shutdown_seconds`.
///
/// A socket that the starting process holds (`held`) stays open, and new clients wait there for the
/// next server. Therefore accepted connections are served before idle ones are closed, and none is
/// lost. On a socket of this process's own, new clients could not wait. They are refused at once,
/// so that a proxy may retry.
pub(super) async fn shut_down_when_asked(
    app: Arc<App>,
    handle: ServerHandle,
    stops: impl Stream<Item = ()>,
    held: bool,
) {
    let mut stops = pin!(stops.fuse());
    // If nobody can ask any more, the server ends, too.
    let _ = stops.next().await;
    app.enter(ServerStage::Draining);
    let seconds = app.config.server.drain_seconds;
    tracing::info!(seconds, "draining");
    if seconds > 0 {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
            Some(()) = stops.next() => tracing::info!("received a second signal: stopped draining"),
        }
    }
    tracing::info!("stopped accepting connections");
    if held {
        handle.pause().await;
        tokio::time::sleep(LAST_WORDS).await;
    }
    // Otherwise the shutdown would wait for them.
    app.followers.close();
    handle.stop(true).await;
}
