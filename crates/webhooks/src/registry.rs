//! The list of webhooks, and the operations on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use stet_actors::repository::{Repository, StandaloneChange};
use stet_actors::runtime::{ChangeRequest, store_failure};
use stet_base::limits::offload;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::SharedText;
use stet_domain::store::{EventId, EventPeriod, LogDirection, RowChange, Table};
use stet_newsroom::Newsroom;
use stet_newsroom::audit::EventKey;
use tokio::sync::{Mutex, Notify, Semaphore};
use uuid::Uuid;

use crate::live::LiveWebhook;
use crate::payload::{TEST, render_test};
use crate::rows::{Delivery, Webhook, WebhookProgress};
use crate::selection::EventSelection;
use crate::sender::{WebhookMessage, WebhookSender};
use crate::settings::WebhookSettings;
use crate::signature::WebhookSecret;
use crate::view::{DeliveryView, WebhookView};

/// Milliseconds for which a replaced secret signs as well: a day.
const FORMER_MS: u64 = 24 * 60 * 60 * 1000;

/// Number of receivers that are tried out at a time. Each call waits for its receiver.
const MOST_TESTS: usize = 4;

/// The position from which nothing is sent that has happened already.
const NEWEST: &str = "newest";

/// The position from which everything is sent that is still stored.
const OLDEST: &str = "oldest";

/// All webhooks.
pub struct Webhooks {
    pub(crate) newsroom: Arc<Newsroom>,
    pub(crate) repository: Repository,
    pub(crate) sender: WebhookSender,
    live: Arc<RwLock<BTreeMap<Uuid, Arc<LiveWebhook>>>>,
    /// Held from the check of a change until it is on disk.
    turn: Arc<Mutex<()>>,
    /// Notified when there is a new webhook.
    pub(crate) bell: Arc<Notify>,
    tests: Semaphore,
}

impl Webhooks {
    /// Reads the webhooks of a repository.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn open(newsroom: Arc<Newsroom>, repository: Repository) -> Result<Webhooks> {
        let sender = WebhookSender::new(&newsroom.config.webhooks)?;
        let progress = repository.rows::<WebhookProgress>(Table::WebhookProgress)?;
        let mut progress: BTreeMap<Uuid, WebhookProgress> = progress.into_iter().map(|row| (row.id, row)).collect();
        let webhooks = repository.rows::<Webhook>(Table::Webhooks)?;
        let live = |webhook: Webhook| {
            let id = webhook.id;
            let progress = progress.remove(&id).unwrap_or_else(|| WebhookProgress::after(id, None));
            (id, Arc::new(LiveWebhook::of(webhook, progress)))
        };
        let live = Arc::new(RwLock::new(webhooks.into_iter().map(live).collect()));
        let (turn, bell, tests) = (Arc::default(), Arc::default(), Semaphore::new(MOST_TESTS));
        Ok(Webhooks { newsroom, repository, sender, live, turn, bell, tests })
    }

    /// Returns all webhooks in the order of their ids.
    pub(crate) fn all(&self) -> Vec<Arc<LiveWebhook>> {
        self.live.read().values().cloned().collect()
    }

    /// Returns the object that a source names, whoever may see it.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub fn find(&self, source: &ObjectSource, database: DatabaseId) -> Result<Loid> {
        Ok(self.newsroom.resolve(source, database)?.loid)
    }

    /// Returns the name of a user as in the directory; `None` if there is no such user.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn user(&self, name: &str) -> Result<Option<SharedText>> {
        Ok(self.newsroom.directory.user(name)?.map(|user| user.name.text().clone()))
    }

    /// Returns the views of all webhooks, the oldest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn list(&self) -> Result<Vec<WebhookView>> {
        let mut views = self.all().iter().map(|live| self.view(live)).collect::<Result<Vec<_>>>()?;
        views.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(views)
    }

    /// Returns the view of a webhook.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub fn get(&self, id: &str) -> Result<WebhookView> {
        self.view(&*self.live(id)?)
    }

    /// Returns the last attempts of a webhook, the newest first.
    ///
    /// # Errors
    /// `ObjectNotFound`.
    pub fn deliveries(&self, id: &str) -> Result<Vec<DeliveryView>> {
        let (progress, _) = self.live(id)?.progress();
        Ok(progress.deliveries.iter().rev().map(DeliveryView::of).collect())
    }

    /// Creates a webhook, which begins with the next event. Returns it with its secret.
    ///
    /// # Errors
    /// `InvalidBody` without a URL, and for settings; `TooLarge` if there are too many webhooks;
    /// errors of `find` and of the store.
    pub async fn create(
        &self,
        who: CallerIdentity,
        owner: SharedText,
        settings: WebhookSettings,
        find: impl Fn(&ObjectSource) -> Result<Loid>,
    ) -> Result<(WebhookView, String)> {
        let config = &self.newsroom.config.webhooks;
        if settings.url.is_none() {
            let message = "The body is invalid at `$.url`: a webhook needs an address.";
            return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$.url"));
        }
        let turn = self.turn.clone().lock_owned().await;
        if self.live.read().len() >= config.most {
            let message = format!("`webhooks.most` allows {} webhooks, and there are as many.", config.most);
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", config.most));
        }
        let mut webhook = Webhook {
            id: Uuid::new_v4(),
            url: String::new(),
            description: String::new(),
            selection: EventSelection::default(),
            owner,
            secret: WebhookSecret::random()?,
            former: None,
            paused: false,
            created_ms: self.repository.clock().now_ms(),
        };
        settings.apply(&mut webhook, &config.networks, find)?;
        let progress = WebhookProgress::after(webhook.id, self.newest().await?);
        let changes = vec![RowChange::put(&webhook), RowChange::put(&progress)];
        let live = Arc::new(LiveWebhook::of(webhook.clone(), progress));
        let (list, bell, new) = (self.live.clone(), self.bell.clone(), live.clone());
        let on_commit = move || {
            list.write().insert(webhook.id, new);
            bell.notify_one();
        };
        self.commit(who, "webhook.create", &live.webhook(), changes, turn, on_commit).await?;
        Ok((self.view(&live)?, live.webhook().secret.text()))
    }

    /// Changes the given settings of a webhook. `owner` becomes its owner if what the receiver is
    /// told may change, so that nobody makes it tell more than they may see.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidBody` for settings; errors of `find` and of the store.
    pub async fn change(
        &self,
        who: CallerIdentity,
        owner: Option<SharedText>,
        id: &str,
        settings: WebhookSettings,
        find: impl Fn(&ObjectSource) -> Result<Loid>,
    ) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let mut webhook = Webhook::clone(&live.webhook());
        let (resumes, discloses) = (settings.paused == Some(false), settings.change_disclosure());
        settings.apply(&mut webhook, &self.newsroom.config.webhooks.networks, find)?;
        if let Some(owner) = owner.filter(|_| discloses) {
            webhook.owner = owner;
        }
        self.replace(who, "webhook.change", &live, webhook, turn).await?;
        if resumes {
            live.change(|progress| (progress.ended, progress.failure) = (None, None));
            live.save(&self.repository).await?;
        }
        self.view(&live)
    }

    /// Gives a webhook a new secret, which is returned. The present one signs as well for a day.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn renew_secret(&self, who: CallerIdentity, id: &str) -> Result<(WebhookView, String)> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let mut webhook = Webhook::clone(&live.webhook());
        let before = std::mem::replace(&mut webhook.secret, WebhookSecret::random()?);
        webhook.former = Some((before, self.repository.clock().now_ms().saturating_add(FORMER_MS)));
        let secret = webhook.secret.text();
        self.replace(who, "webhook.secret", &live, webhook, turn).await?;
        Ok((self.view(&live)?, secret))
    }

    /// Removes a webhook. Returns it as it was.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn remove(&self, who: CallerIdentity, id: &str) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let view = self.view(&live)?;
        let webhook = live.webhook();
        let keys = [Webhook::key(webhook.id), WebhookProgress::key(webhook.id)];
        let changes = keys.map(RowChange::remove).to_vec();
        let (list, id) = (self.live.clone(), webhook.id);
        // The deliverer must not store its progress after the row was removed.
        live.set_removed(true).await;
        let removed = self
            .commit(who, "webhook.delete", &webhook, changes, turn, move || {
                list.write().remove(&id);
            })
            .await;
        if removed.is_err() {
            live.set_removed(false).await;
            self.bell.notify_one();
        }
        removed.map(|()| view)
    }

    /// Sets the place after which a webhook goes on: the id of an event, `newest` or `oldest`. A
    /// webhook that has ended is resumed.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidBody` for another position; errors of the store.
    pub async fn set_position(&self, who: CallerIdentity, id: &str, position: &str) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let position = match position {
            NEWEST => self.newest().await?,
            OLDEST => None,
            text => {
                let id = EventKey::parse("position", text).map_err(|_| {
                    let shown: String = text.chars().take(64).collect();
                    let message = format!(
                        "The body is invalid at `$.position`: `{shown}` is not the id of an event, `{NEWEST}` or \
                         `{OLDEST}`."
                    );
                    Error::new(Code::InvalidBody, message).with_detail("path", "$.position")
                })?;
                Some(id.id())
            }
        };
        // The row of the webhook is written as it is, for the entry in the audit trail.
        let webhook = Webhook::clone(&live.webhook());
        self.replace(who, "webhook.position", &live, webhook, turn).await?;
        live.change(|progress| {
            (progress.position, progress.ended, progress.failure) = (position, None, None);
        });
        live.save(&self.repository).await?;
        self.view(&live)
    }

    /// Sends a test to the receiver, once, and returns the outcome. It is in the log of deliveries.
    ///
    /// # Errors
    /// `ObjectNotFound`; `Overloaded` while too many others are tried out.
    pub async fn test(&self, id: &str) -> Result<DeliveryView> {
        let live = self.live(id)?;
        let Ok(_permit) = self.tests.try_acquire() else {
            let message = format!("{MOST_TESTS} receivers are being tried out. Try again when one has answered.");
            return Err(Error::new(Code::Overloaded, message));
        };
        let now_ms = self.repository.clock().now_ms();
        let rendered = render_test(now_ms).ok_or_else(Error::internal)?;
        let message = WebhookMessage { id: format!("test_{}", Uuid::new_v4()), body: rendered.body };
        let outcome = self.sender.send(&live.webhook(), &message, now_ms).await;
        let took_ms = self.repository.clock().now_ms().saturating_sub(now_ms);
        let delivery = Delivery {
            event: None,
            kind: TEST.to_owned(),
            at_ms: now_ms,
            took_ms,
            status: outcome.status,
            error: outcome.error,
        };
        let view = DeliveryView::of(&delivery);
        live.log(delivery);
        live.save(&self.repository).await?;
        Ok(view)
    }

    /// Replaces the row of a webhook.
    async fn replace(
        &self,
        who: CallerIdentity,
        kind: &'static str,
        live: &Arc<LiveWebhook>,
        webhook: Webhook,
        turn: impl Send + 'static,
    ) -> Result<()> {
        let (changes, replaced) = (vec![RowChange::put(&webhook)], live.clone());
        let new = webhook.clone();
        self.commit(who, kind, &webhook, changes, turn, move || replaced.set_webhook(new)).await
    }

    /// Commits a change of a webhook, with its entry in the audit trail.
    async fn commit(
        &self,
        who: CallerIdentity,
        kind: &'static str,
        webhook: &Webhook,
        changes: Vec<RowChange>,
        turn: impl Send + 'static,
        on_commit: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let deeds = vec![(kind, vec![webhook.id.to_string()])];
        let (on_commit, held) = (Box::new(on_commit), Box::new(turn));
        let change = async || Ok(StandaloneChange { reply: (), changes, deeds, on_commit, held });
        self.repository.note(kind, &ChangeRequest::by(who), change).await
    }

    fn live(&self, id: &str) -> Result<Arc<LiveWebhook>> {
        let known = id.parse::<Uuid>().ok().and_then(|id| self.live.read().get(&id).cloned());
        known.ok_or_else(|| Error::new(Code::ObjectNotFound, format!("There is no webhook `{id}`.")).with_source(id))
    }

    fn view(&self, live: &LiveWebhook) -> Result<WebhookView> {
        let (webhook, (progress, _)) = (live.webhook(), live.progress());
        Ok(WebhookView::of(&webhook, &progress, self.has_owner(&webhook)?))
    }

    /// Reports whether the owner exists and is not disabled.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn has_owner(&self, webhook: &Webhook) -> Result<bool> {
        Ok(self.newsroom.directory.user(&webhook.owner)?.is_some_and(|owner| !owner.disabled))
    }

    /// Returns the place of the newest event; `None` if there is none.
    async fn newest(&self) -> Result<Option<EventId>> {
        let repository = self.repository.clone();
        let read = move || repository.events().events(LogDirection::Back(None), &EventPeriod::default());
        let passage = offload::offload_at_once(read).await?.map_err(|error| store_failure(&error))?;
        Ok(passage.events.first().map(|(id, _)| *id))
    }
}
