//! The list of webhooks, and the operations on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use stet_actors::repository::{Repository, StandaloneChange};
use stet_actors::runtime::ChangeRequest;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::SharedText;
use stet_domain::store::{EventId, RowChange, Table};
use stet_newsroom::Newsroom;
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

/// Number of searches of the log at a time. Each takes a thread that others need as well.
const MOST_SEARCHES: usize = 2;

/// Number of replaced secrets that sign at a time.
const MOST_FORMER: usize = 4;

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
    pub(crate) searches: Semaphore,
}

/// A change of the progress that a call makes.
type ProgressChange = fn(&mut WebhookProgress, EventId);

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
            let progress = progress.remove(&id).unwrap_or_else(|| WebhookProgress::after(id, EventId::default()));
            (id, Arc::new(LiveWebhook::of(webhook, progress)))
        };
        let live = Arc::new(RwLock::new(webhooks.into_iter().map(live).collect()));
        let (turn, bell) = (Arc::default(), Arc::default());
        let [tests, searches] = [MOST_TESTS, MOST_SEARCHES].map(Semaphore::new);
        Ok(Webhooks { newsroom, repository, sender, live, turn, bell, tests, searches })
    }

    /// Returns all webhooks in the order of their ids.
    pub(crate) fn all(&self) -> Vec<Arc<LiveWebhook>> {
        self.live.read().values().cloned().collect()
    }

    /// Returns the object that a source names, without a check of rights.
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
        Ok(self.live(id)?.deliveries())
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
            former: Vec::new(),
            paused: false,
            created_ms: self.repository.clock().now_ms(),
        };
        settings.apply(&mut webhook, &config.networks, find)?;
        let progress = WebhookProgress::after(webhook.id, self.repository.end_of_log());
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

    /// Changes the given settings of a webhook. A user who changes the selection of another's
    /// webhook becomes its owner, and must name the receiver: otherwise a receiver of somebody
    /// else's choice would get what that user may see. `user` is `None` for the operator, who
    /// changes no owner.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidBody` for settings; `PermissionDenied` for a change of another's
    /// webhook without a URL; errors of `find` and of the store.
    pub async fn change(
        &self,
        who: CallerIdentity,
        user: Option<SharedText>,
        id: &str,
        settings: WebhookSettings,
        find: impl Fn(&ObjectSource) -> Result<Loid>,
    ) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let (before, mut webhook) = (live.webhook(), Webhook::clone(&live.webhook()));
        let (resumes, names_receiver) = (settings.paused == Some(false), settings.url.is_some());
        settings.apply(&mut webhook, &self.newsroom.config.webhooks.networks, find)?;
        let discloses = (&webhook.url, &webhook.selection) != (&before.url, &before.selection);
        if let Some(user) = user.filter(|user| discloses && *user != before.owner) {
            if !names_receiver {
                return Err(not_the_owner(&before, "changes what it tells without naming its `url`"));
            }
            webhook.owner = user;
        }
        let resume: ProgressChange = |progress, _| (progress.ended, progress.failure) = (None, None);
        let change = resumes.then_some((resume, EventId::default()));
        self.replace(who, "webhook.change", &live, webhook, change, turn).await?;
        self.view(&live)
    }

    /// Gives a webhook a new secret, which is returned. The ones before sign as well for a day.
    /// `user` is `None` for the operator.
    ///
    /// # Errors
    /// `ObjectNotFound`; `PermissionDenied` for another's webhook; `TooLarge` for too many within a
    /// day; errors of the store.
    pub async fn renew_secret(
        &self,
        who: CallerIdentity,
        user: Option<SharedText>,
        id: &str,
    ) -> Result<(WebhookView, String)> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let mut webhook = Webhook::clone(&live.webhook());
        if user.is_some_and(|user| user != webhook.owner) {
            return Err(not_the_owner(&webhook, "gets a new secret"));
        }
        let now_ms = self.repository.clock().now_ms();
        webhook.former.retain(|(_, until_ms)| now_ms < *until_ms);
        if webhook.former.len() == MOST_FORMER {
            let message = format!("The secret was replaced {MOST_FORMER} times within a day; try again later.");
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", MOST_FORMER));
        }
        let before = std::mem::replace(&mut webhook.secret, WebhookSecret::random()?);
        webhook.former.push((before, now_ms.saturating_add(FORMER_MS)));
        let secret = webhook.secret.text();
        self.replace(who, "webhook.secret", &live, webhook, None, turn).await?;
        Ok((self.view(&live)?, secret))
    }

    /// Removes a webhook. Returns it as it was.
    ///
    /// # Errors
    /// `ObjectNotFound`; errors of the store.
    pub async fn remove(&self, who: CallerIdentity, id: &str) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let (view, webhook, saving) = (self.view(&live)?, live.webhook(), live.hold_saving().await);
        let keys = [Webhook::key(webhook.id), WebhookProgress::key(webhook.id)];
        let changes = keys.map(RowChange::remove).to_vec();
        let (list, id) = (self.live.clone(), webhook.id);
        let on_commit = move || {
            live.set_removed();
            list.write().remove(&id);
        };
        self.commit(who, "webhook.delete", &webhook, changes, (turn, saving), on_commit).await?;
        Ok(view)
    }

    /// Sets the place after which a webhook goes on: the id of an event, `newest` or `oldest`. A
    /// webhook that has ended is resumed.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidBody` for another position; errors of the store.
    pub async fn set_position(&self, who: CallerIdentity, id: &str, position: &str) -> Result<WebhookView> {
        let turn = self.turn.clone().lock_owned().await;
        let live = self.live(id)?;
        let end = self.repository.end_of_log();
        let position = match position {
            NEWEST => end,
            OLDEST => EventId::default(),
            text => EventId::parse(text).filter(|id| *id <= end).ok_or_else(|| {
                let shown: String = text.chars().take(64).collect();
                let message = format!(
                    "The body is invalid at `$.position`: `{shown}` is not the id of an event, `{NEWEST}` or \
                     `{OLDEST}`."
                );
                Error::new(Code::InvalidBody, message).with_detail("path", "$.position")
            })?,
        };
        let go_on: ProgressChange = |progress, position| {
            (progress.position, progress.ended, progress.failure) = (position, None, None);
        };
        let webhook = Webhook::clone(&live.webhook());
        self.replace(who, "webhook.position", &live, webhook, Some((go_on, position)), turn).await?;
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

    /// Replaces the row of a webhook, and changes its progress with it.
    async fn replace(
        &self,
        who: CallerIdentity,
        kind: &'static str,
        live: &Arc<LiveWebhook>,
        webhook: Webhook,
        change: Option<(ProgressChange, EventId)>,
        turn: impl Send + 'static,
    ) -> Result<()> {
        let saving = live.hold_saving().await;
        let change = change.map(|(change, position)| move |progress: &mut WebhookProgress| change(progress, position));
        let mut changes = vec![RowChange::put(&webhook)];
        changes.extend(change.map(|change| RowChange::put(&live.progress_with(change))));
        let (replaced, new) = (live.clone(), webhook.clone());
        let on_commit = move || replaced.replace(new, change);
        self.commit(who, kind, &webhook, changes, (turn, saving), on_commit).await
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
        Ok(live.view(self.has_owner(&live.webhook())?))
    }

    /// Reports whether the owner exists and is not disabled.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn has_owner(&self, webhook: &Webhook) -> Result<bool> {
        Ok(self.newsroom.directory.user(&webhook.owner)?.is_some_and(|owner| !owner.disabled))
    }
}

/// Returns the refusal of a change that only the owner may make.
fn not_the_owner(webhook: &Webhook, what: &str) -> Error {
    let message = format!("Only `{}`, the owner of the webhook, {what}.", webhook.owner);
    Error::new(Code::PermissionDenied, message)
}
