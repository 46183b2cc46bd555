//! What the service manager (systemd) is told, where one has started this process and asks for it:
//! sd_notify(3). Without one nothing is told, and nothing is the worse for it.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
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

/// Shows for ever that this thread gets to its tasks, twice in each span that the service manager
/// allows (`WatchdogSec=`); at once over if it does not watch.
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

/// Messages that wait for a service manager that is slow to take them; further ones are dropped.
const QUEUED: usize = 64;

/// Goes out on a thread of its own: a service manager that takes nothing must hold nobody up.
fn tell(state: &[NotifyState<'_>]) {
    static TELLER: OnceLock<Option<SyncSender<String>>> = OnceLock::new();
    let Some(teller) = TELLER.get_or_init(teller) else { return };
    let lines: Vec<String> = state.iter().map(ToString::to_string).collect();
    if teller.try_send(lines.join("\n")).is_err() {
        tracing::warn!("the service manager does not take what it is told");
    }
}

/// The thread that tells; none without a service manager.
fn teller() -> Option<SyncSender<String>> {
    std::env::var_os("NOTIFY_SOCKET")?;
    let (teller, told) = sync_channel::<String>(QUEUED);
    let tell = move || {
        for lines in told {
            if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&lines)]) {
                tracing::warn!(%error, "the service manager can't be told how it stands");
            }
        }
    };
    let started = std::thread::Builder::new().name("stet-manager".to_owned()).spawn(tell);
    started.inspect_err(|error| tracing::error!(%error, "no thread to tell the service manager anything")).ok()?;
    Some(teller)
}
