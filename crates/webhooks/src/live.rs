//! A webhook while the server runs: its rows in memory, shared by its deliverer and the calls that
//! change it.

use std::sync::Arc;

use parking_lot::Mutex;
use stet_actors::repository::Repository;
use stet_domain::error::Result;
use stet_domain::store::{EventId, RowChange};
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::rows::{Delivery, DeliveryFailure, Webhook, WebhookProgress};
use crate::view::{DeliveryView, WebhookState, WebhookView};

/// A webhook and its progress.
pub struct LiveWebhook {
    state: Mutex<LiveState>,
    /// Held from reading the progress until its row is decided, so that no older one is stored
    /// later.
    saving: Arc<tokio::sync::Mutex<()>>,
    /// Notified when a call has changed something.
    pub bell: Notify,
}

struct LiveState {
    webhook: Arc<Webhook>,
    progress: WebhookProgress,
    /// Number of changes by calls that concern the next delivery. An outcome from before one is not
    /// noted.
    changes: u64,
    removed: bool,
    /// Whether the progress has changed since it was stored.
    unsaved: bool,
    /// The time of the event that is delivered next, in epoch milliseconds; `None` if there is
    /// none.
    waiting_ms: Option<u64>,
    /// Whether events can't be read.
    broken: bool,
}

/// The state that decides on the next delivery.
pub struct DeliveryState {
    /// The webhook.
    pub webhook: Arc<Webhook>,
    /// The place in the log up to which all is done.
    pub position: EventId,
    /// The failure of the next event.
    pub failure: Option<DeliveryFailure>,
    /// Whether nothing is sent any more.
    pub has_ended: bool,
    /// Number of changes by calls, for [`LiveWebhook::advance`].
    pub changes: u64,
}

impl LiveWebhook {
    /// Creates the webhook from its rows.
    pub fn of(webhook: Webhook, progress: WebhookProgress) -> LiveWebhook {
        let (changes, removed, unsaved, waiting_ms, broken) = Default::default();
        let webhook = Arc::new(webhook);
        let state = LiveState { webhook, progress, changes, removed, unsaved, waiting_ms, broken };
        LiveWebhook { state: Mutex::new(state), saving: Arc::default(), bell: Notify::new() }
    }

    /// Returns the webhook as it is now.
    pub fn webhook(&self) -> Arc<Webhook> {
        self.state.lock().webhook.clone()
    }

    /// Returns the state that decides on the next delivery.
    pub fn delivery_state(&self) -> DeliveryState {
        let state = self.state.lock();
        DeliveryState {
            webhook: state.webhook.clone(),
            position: state.progress.position,
            failure: state.progress.failure,
            has_ended: state.progress.ended.is_some(),
            changes: state.changes,
        }
    }

    /// Returns the view, for callers.
    pub fn view(&self, has_owner: bool) -> WebhookView {
        let state = self.state.lock();
        WebhookView::of(&state.webhook, &state.progress, state.name(has_owner))
    }

    /// Returns the state, and the time of the event that is delivered next, in epoch milliseconds.
    pub fn measures(&self, has_owner: bool) -> (WebhookState, Option<u64>) {
        let state = self.state.lock();
        (state.name(has_owner), state.waiting_ms)
    }

    /// Returns the last attempts, the newest first.
    pub fn deliveries(&self) -> Vec<DeliveryView> {
        self.state.lock().progress.deliveries.iter().rev().map(DeliveryView::of).collect()
    }

    /// Waits until no row of the progress is being stored, and lets none be until the result is
    /// dropped.
    pub async fn hold_saving(&self) -> OwnedMutexGuard<()> {
        self.saving.clone().lock_owned().await
    }

    /// Returns the progress with a change, to be stored while [`LiveWebhook::hold_saving`] holds.
    pub fn progress_with(&self, change: impl FnOnce(&mut WebhookProgress)) -> WebhookProgress {
        let mut progress = self.state.lock().progress.clone();
        change(&mut progress);
        progress
    }

    /// Applies what a call has stored: the webhook, and a change of the progress if it made one.
    pub fn replace(&self, webhook: Webhook, change: Option<impl FnOnce(&mut WebhookProgress)>) {
        let mut state = self.state.lock();
        let discloses = (&webhook.url, &webhook.selection) != (&state.webhook.url, &state.webhook.selection);
        state.changes += u64::from(discloses || change.is_some());
        if let Some(change) = change {
            change(&mut state.progress);
            // The deliverer may have gone on since the change was stored.
            state.unsaved = true;
        }
        state.webhook = Arc::new(webhook);
        self.bell.notify_one();
    }

    /// Changes the progress for the deliverer, unless a call has changed something since that
    /// number of changes was read.
    pub fn advance(&self, since: u64, change: impl FnOnce(&mut WebhookProgress)) {
        let mut state = self.state.lock();
        if state.changes == since {
            change(&mut state.progress);
            state.unsaved = true;
        }
    }

    /// Adds a delivery to the log.
    pub fn log(&self, delivery: Delivery) {
        let mut state = self.state.lock();
        state.progress.log(delivery);
        state.unsaved = true;
    }

    /// Notes the time of the event that is delivered next, in epoch milliseconds; `None` if there
    /// is none.
    pub fn set_waiting(&self, waiting_ms: Option<u64>) {
        self.state.lock().waiting_ms = waiting_ms;
    }

    /// Notes whether events can't be read.
    pub fn set_broken(&self, broken: bool) {
        self.state.lock().broken = broken;
    }

    /// Marks the webhook as removed. Its progress is not stored any more.
    pub fn set_removed(&self) {
        self.state.lock().removed = true;
        self.bell.notify_one();
    }

    /// Reports whether the webhook was removed.
    pub fn is_removed(&self) -> bool {
        self.state.lock().removed
    }

    /// Stores the progress, if it has changed.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn save(&self, repository: &Repository) -> Result<()> {
        let _turn = self.hold_saving().await;
        let row = {
            let mut state = self.state.lock();
            if state.removed || !state.unsaved {
                return Ok(());
            }
            state.unsaved = false;
            RowChange::put(&state.progress)
        };
        let saved = repository.commit(|set| set.changes.push(row)).await;
        if saved.is_err() {
            self.state.lock().unsaved = true;
        }
        saved
    }
}

impl LiveState {
    fn name(&self, has_owner: bool) -> WebhookState {
        if self.webhook.paused {
            WebhookState::Paused
        } else if self.progress.ended.is_some() {
            WebhookState::Ended
        } else if !has_owner {
            WebhookState::OwnerDisabled
        } else if self.progress.failure.is_some() || self.broken {
            WebhookState::Failing
        } else {
            WebhookState::Active
        }
    }
}
