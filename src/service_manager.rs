//! Notifications to the service manager (systemd) by sd_notify(3). Without a service manager that
//! asks for them, nothing is sent.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use sd_notify::NotifyState;

/// Reports that requests are accepted at `address`.
pub fn ready(address: &str) {
    queue_message(&[NotifyState::Ready, NotifyState::Status(&format!("serving at {address}"))]);
}

/// Reports that the configuration is about to be read again; [`reloaded`] reports the end.
pub fn reloading() {
    let Ok(now) = NotifyState::monotonic_usec_now() else { return };
    queue_message(&[NotifyState::Reloading, now]);
}

/// Reports that the configuration was applied as far as possible.
pub fn reloaded() {
    queue_message(&[NotifyState::Ready]);
}

/// Reports that the server is shutting down.
pub fn stopping() {
    queue_message(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// Reports that this thread is alive, twice in each period of the watchdog (`WatchdogSec=`),
/// forever. Returns at once if there is no watchdog.
pub async fn show_life() {
    let Some(allowed) = sd_notify::watchdog_enabled().filter(|allowed| *allowed >= Duration::from_millis(2)) else {
        return;
    };
    let mut ticks = tokio::time::interval(allowed / 2);
    loop {
        ticks.tick().await;
        queue_message(&[NotifyState::Watchdog]);
    }
}

/// The largest number of messages that wait for a slow service manager. Further ones are dropped.
const QUEUED: usize = 64;

/// Queues a message. A thread of its own sends it, so that a blocked service manager delays
/// nothing.
fn queue_message(state: &[NotifyState<'_>]) {
    static TELLER: OnceLock<Option<SyncSender<String>>> = OnceLock::new();
    let Some(teller) = TELLER.get_or_init(start_sender) else { return };
    let lines: Vec<String> = state.iter().map(ToString::to_string).collect();
    if teller.try_send(lines.join("\n")).is_err() {
        tracing::warn!("the service manager is too slow: dropped a notification");
    }
}

/// Starts the sending thread; `None` without a service manager.
fn start_sender() -> Option<SyncSender<String>> {
    std::env::var_os("NOTIFY_SOCKET")?;
    let (teller, told) = sync_channel::<String>(QUEUED);
    let tell = move || {
        for lines in told {
            if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&lines)]) {
                tracing::warn!(%error, "cannot notify the service manager");
            }
        }
    };
    let started = std::thread::Builder::new().name("stet-manager".to_owned()).spawn(tell);
    started
        .inspect_err(|error| tracing::error!(%error, "cannot start the thread that notifies the service manager"))
        .ok()?;
    Some(teller)
}
