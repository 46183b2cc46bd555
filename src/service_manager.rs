//! What the service manager (systemd) is told, where one has started this process and asks for it: sd_notify(3). Without one
//! nothing is told, and nothing is the worse for it.

use std::time::Duration;

use sd_notify::NotifyState;

/// Requests are taken at `address`.
pub fn ready(address: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("serving at {address}"))]);
}

/// The configuration is about to be read again; [`reloaded`] says when that is over.
pub fn reloading() {
    let Ok(now) = NotifyState::monotonic_usec_now() else { return };
    tell(&[NotifyState::Reloading, now]);
}

/// What could be taken over of the configuration is.
pub fn reloaded() {
    tell(&[NotifyState::Ready]);
}

/// It was asked to end, and does.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// Shows for ever that this thread gets to its tasks, twice in each span that the service manager allows (`WatchdogSec=`); at once
/// over if it does not watch.
pub async fn show_life() {
    let Some(allowed) = sd_notify::watchdog_enabled().filter(|allowed| *allowed >= Duration::from_millis(2)) else {
        return;
    };
    let mut ticks = tokio::time::interval(allowed / 2);
    loop {
        ticks.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager can't be told how it stands");
    }
}
