//! A webhook while the server runs: its rows in memory, shared by its deliverer and the calls that
//! change it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use stet_actors::repository::Repository;
use stet_domain::error::Result;
use stet_domain::store::RowChange;
use tokio::sync::Notify;

use crate::rows::{Delivery, Webhook, WebhookProgress};

/// A webhook and its progress.
pub struct LiveWebhook {
    webhook: RwLock<Arc<Webhook>>,
    progress: Mutex<WebhookProgress>,
    /// Number of changes of the progress by calls. A delivery that began before one must not
    /// overwrite it.
    changes: AtomicU64,
    removed: AtomicBool,
    /// Held from reading the progress until it is on disk, so that no older one is stored later.
    saving: tokio::sync::Mutex<()>,
    /// Notified when a call has changed something.
    pub bell: Notify,
}

impl LiveWebhook {
    /// Creates the webhook from its rows.
    pub fn of(webhook: Webhook, progress: WebhookProgress) -> LiveWebhook {
        let (changes, removed, saving, bell) = Default::default();
        LiveWebhook {
            webhook: RwLock::new(Arc::new(webhook)),
            progress: Mutex::new(progress),
            changes,
            removed,
            saving,
            bell,
        }
    }

    /// Returns the webhook as it is now.
    pub fn webhook(&self) -> Arc<Webhook> {
        self.webhook.read().clone()
    }

    /// Replaces the webhook.
    pub fn set_webhook(&self, webhook: Webhook) {
        *self.webhook.write() = Arc::new(webhook);
        self.bell.notify_one();
    }

    /// Returns the progress, and the number of changes of it by calls.
    pub fn progress(&self) -> (WebhookProgress, u64) {
        let progress = self.progress.lock();
        (progress.clone(), self.changes.load(Ordering::Relaxed))
    }

    /// Changes the progress for a call.
    pub fn change(&self, change: impl FnOnce(&mut WebhookProgress)) {
        let mut progress = self.progress.lock();
        change(&mut progress);
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.bell.notify_one();
    }

    /// Changes the progress for the deliverer, unless a call has changed it since the progress of
    /// that number was read. Returns whether it did.
    pub fn advance(&self, since: u64, change: impl FnOnce(&mut WebhookProgress)) -> bool {
        let mut progress = self.progress.lock();
        let is_current = self.changes.load(Ordering::Relaxed) == since;
        if is_current {
            change(&mut progress);
        }
        is_current
    }

    /// Reports whether the webhook was removed.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }

    /// Stores the progress.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn save(&self, repository: &Repository) -> Result<()> {
        let _turn = self.saving.lock().await;
        if self.is_removed() {
            return Ok(());
        }
        let row = self.progress.lock().clone();
        repository.commit(|set| set.changes.push(RowChange::put(&row))).await
    }

    /// Adds a delivery to the log.
    pub fn log(&self, delivery: Delivery) {
        self.progress.lock().log(delivery);
    }

    /// Marks the webhook as removed, or as not removed after all. The progress of a removed one is
    /// not stored any more.
    pub async fn set_removed(&self, removed: bool) {
        let _turn = self.saving.lock().await;
        self.removed.store(removed, Ordering::Relaxed);
        self.bell.notify_one();
    }
}
