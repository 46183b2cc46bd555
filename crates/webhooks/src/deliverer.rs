//! The delivery of events: one task for each webhook.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use stet_actors::runtime::store_failure;
use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::store::{Event, EventId, EventLog, EventPeriod, LogDirection, StoreError};
use stet_newsroom::audit::EventKey;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::live::LiveWebhook;
use crate::payload::{RenderedEvent, render_event};
use crate::registry::Webhooks;
use crate::rows::{Delivery, DeliveryFailure, Webhook};
use crate::selection::EventSelection;
use crate::sender::{GONE, SendOutcome, WebhookMessage};
use crate::view::WebhookState;

/// Maximum number of events of one webhook in memory.
const MOST_EVENTS: usize = 64;

/// Number of passages of the log that are read without a wanted event before others get their turn
/// and the position is noted.
const MOST_PASSAGES: usize = 50;

/// The longest pause between two attempts, in milliseconds.
const LONGEST_MS: u64 = 15 * 60 * 1000;

/// The shortest pause between two searches that have found nothing. Each commit of the server would
/// begin one otherwise.
const QUIET: Duration = Duration::from_millis(50);

/// Milliseconds between two times that the progress is stored while events are delivered.
const SAVE_MS: u64 = 1000;

/// The pause after an error of the store.
const AFTER_ERROR: Duration = Duration::from_secs(10);

/// The interval at which a disabled owner is looked up again.
const OWNER_LOOK: Duration = Duration::from_secs(5);

/// The interval at which the states of all webhooks are measured, and a task that has failed is
/// started again.
const LOOK: Duration = Duration::from_secs(10);

/// Delivers events of all webhooks until the other end of `end` is dropped.
pub async fn run(webhooks: Arc<Webhooks>, mut end: watch::Receiver<()>) {
    let mut tasks: HashMap<Uuid, JoinHandle<()>> = HashMap::new();
    loop {
        let all = webhooks.all();
        tasks.retain(|_, task| !task.is_finished());
        for live in &all {
            let deliverer = || tokio::task::spawn_local(Deliverer::of(webhooks.clone(), live.clone()).run());
            tasks.entry(live.webhook().id).or_insert_with(deliverer);
        }
        measure(&webhooks, &all);
        tokio::select! {
            _ = end.changed() => break,
            () = webhooks.bell.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    for task in tasks.values() {
        task.abort();
    }
    for live in webhooks.all() {
        if let Err(error) = live.save(&webhooks.repository).await {
            tracing::warn!(%error, "cannot store the progress of a webhook: its last events will be sent again");
        }
    }
}

/// Sets the metrics of all webhooks.
fn measure(webhooks: &Webhooks, all: &[Arc<LiveWebhook>]) {
    let (mut counts, mut oldest_ms) = (HashMap::new(), u64::MAX);
    for live in all {
        let (progress, webhook) = (live.progress().0, live.webhook());
        let state = WebhookState::of(&webhook, &progress, webhooks.has_owner(&webhook).unwrap_or(true));
        *counts.entry(state.name()).or_insert(0_u32) += 1;
        oldest_ms = oldest_ms.min(progress.failure.map_or(u64::MAX, |failure| failure.at_ms));
    }
    for state in WebhookState::ALL {
        gauge!("stet_webhooks", "state" => state.name()).set(counts.get(state.name()).copied().unwrap_or_default());
    }
    let now_ms = webhooks.repository.clock().now_ms();
    gauge!("stet_webhook_oldest_seconds").set(now_ms.saturating_sub(oldest_ms) as f64 / 1000.0);
}

/// The reason to wait.
enum NextStep {
    /// There is something to do at once.
    Now,
    /// All events were delivered: wait for a commit.
    Commit,
    /// Nothing is to be sent: wait for a change of the webhook.
    Change,
    /// Wait for that long, or for a change of the webhook.
    Pause(Duration),
}

/// The deliverer of one webhook.
struct Deliverer {
    webhooks: Arc<Webhooks>,
    live: Arc<LiveWebhook>,
    commits: watch::Receiver<()>,
    /// The next events that are wanted by kind and container, oldest first.
    ready: VecDeque<(EventId, Event)>,
    /// Number of changes by calls when they were read.
    changes: u64,
    /// The time at which the progress was stored, in epoch milliseconds.
    saved_ms: u64,
    /// Whether something was delivered since.
    unsaved: bool,
}

/// The outcome of a search of the log.
struct SearchResult {
    ready: VecDeque<(EventId, Event)>,
    /// The place up to which nothing else is wanted, before the first of these events.
    position: Option<EventId>,
    /// Whether the end of the log was reached.
    at_end: bool,
}

impl Deliverer {
    fn of(webhooks: Arc<Webhooks>, live: Arc<LiveWebhook>) -> Deliverer {
        let commits = webhooks.newsroom.followers.commits();
        let (ready, changes, saved_ms, unsaved) = Default::default();
        Deliverer { webhooks, live, commits, ready, changes, saved_ms, unsaved }
    }

    async fn run(mut self) {
        while !self.live.is_removed() {
            let next = match self.step().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, webhook = %self.live.webhook().id, "cannot deliver events");
                    NextStep::Pause(AFTER_ERROR)
                }
            };
            self.wait(next).await;
        }
    }

    async fn wait(&mut self, next: NextStep) {
        match next {
            NextStep::Now => {}
            NextStep::Change => self.live.bell.notified().await,
            NextStep::Pause(pause) => {
                tokio::select! {
                    () = self.live.bell.notified() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
            NextStep::Commit => {
                let save = async {
                    match self.unsaved {
                        true => tokio::time::sleep(Duration::from_millis(SAVE_MS)).await,
                        false => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = self.live.bell.notified() => {}
                    // The other end lives as long as the newsroom.
                    _ = self.commits.changed() => tokio::time::sleep(QUIET).await,
                    () = save => {}
                }
            }
        }
    }

    /// Delivers the next event, if there is one and it is time.
    async fn step(&mut self) -> Result<NextStep> {
        let (webhook, (progress, changes), now_ms) = (self.live.webhook(), self.live.progress(), self.now_ms());
        if self.unsaved && now_ms.saturating_sub(self.saved_ms) >= SAVE_MS {
            self.save().await?;
        }
        if webhook.paused || progress.ended.is_some() {
            return Ok(NextStep::Change);
        }
        if !self.webhooks.has_owner(&webhook)? {
            return Ok(NextStep::Pause(OWNER_LOOK));
        }
        if let Some(failure) = progress.failure.filter(|failure| now_ms < failure.next_ms) {
            return Ok(NextStep::Pause(Duration::from_millis(failure.next_ms - now_ms)));
        }
        if self.changes != changes {
            self.ready.clear();
            self.changes = changes;
        }
        let Some((id, event)) = self.ready.pop_front() else {
            return self.search(&webhook, progress.position).await;
        };
        let at_ms = event.at_ms;
        let Some(rendered) = render_event(&self.webhooks.newsroom, &webhook, event).await? else {
            self.live.advance(changes, |progress| progress.move_to(Some(id)));
            return Ok(NextStep::Now);
        };
        let outcome = self.send(&webhook, id, &rendered).await;
        self.note(outcome, (id, at_ms), rendered.kind, now_ms).await
    }

    /// Reads the log after a place until something is wanted.
    async fn search(&mut self, webhook: &Webhook, position: Option<EventId>) -> Result<NextStep> {
        // Before the log is read: a later commit is not missed.
        self.commits.mark_unchanged();
        let (repository, selection) = (self.webhooks.repository.clone(), webhook.selection.clone());
        let search = move || search(repository.events(), &selection, position);
        let found = offload::offload_at_once(search).await?.map_err(|error| store_failure(&error))?;
        let moved = found.position != position;
        self.live.advance(self.changes, |progress| progress.move_to(found.position));
        let is_quiet = found.at_end && found.ready.is_empty();
        // A webhook whose events are rare would read the same stretch again after a restart.
        self.unsaved |= moved && !is_quiet;
        self.ready = found.ready;
        Ok(if is_quiet { NextStep::Commit } else { NextStep::Now })
    }

    async fn send(&self, webhook: &Webhook, id: EventId, rendered: &RenderedEvent) -> SendOutcome {
        let message = WebhookMessage { id: format!("evt_{}", EventKey::from(id)), body: rendered.body.clone() };
        let outcome = self.webhooks.sender.send(webhook, &message, self.now_ms()).await;
        let label = if outcome.error.is_none() { "delivered" } else { "failed" };
        counter!("stet_webhook_deliveries_total", "outcome" => label).increment(1);
        outcome
    }

    /// Notes the outcome of an attempt that began at a time.
    async fn note(
        &mut self,
        outcome: SendOutcome,
        (id, at_ms): (EventId, u64),
        kind: String,
        began_ms: u64,
    ) -> Result<NextStep> {
        let (SendOutcome { status, error }, now_ms) = (outcome, self.now_ms());
        let took_ms = now_ms.saturating_sub(began_ms);
        self.live.log(Delivery { event: Some(id), kind, at_ms: began_ms, took_ms, status, error: error.clone() });
        let Some(error) = error else {
            self.live.advance(self.changes, |progress| {
                progress.move_to(Some(id));
                progress.delivered += 1;
            });
            self.unsaved = true;
            return Ok(NextStep::Now);
        };
        // Read again at the next attempt: the webhook may have been changed by then.
        self.ready.clear();
        let webhook = self.live.webhook().id;
        let give_up = self.webhooks.newsroom.config.webhooks.give_up_hours * 60 * 60 * 1000;
        let first = DeliveryFailure { event: id, at_ms, since_ms: began_ms, attempts: 0, next_ms: 0 };
        // A clock that may be wrong ends nothing.
        let surely_ms = self.webhooks.repository.ends().now().map_or(0, |now| now.ms());
        let retry_ms = self.webhooks.newsroom.config.webhooks.retry_seconds * 1000;
        self.live.advance(self.changes, |progress| {
            let failure = progress.failure.filter(|failure| failure.event == id).unwrap_or(first);
            let attempts = failure.attempts + 1;
            let next_ms = now_ms + pause_ms(retry_ms, attempts);
            progress.failure = Some(DeliveryFailure { attempts, next_ms, ..failure });
            if status == Some(GONE) {
                progress.ended = Some(error.clone());
            } else if surely_ms.saturating_sub(failure.since_ms) >= give_up {
                progress.ended = Some(format!("nothing was accepted for too long: {error}"));
            }
            if progress.ended.is_some() {
                tracing::error!(%webhook, error, "a webhook has ended, and waits for somebody to resume it");
            } else {
                tracing::warn!(%webhook, error, attempts, "an event was not accepted, and is sent again");
            }
        });
        // For the metrics.
        self.webhooks.bell.notify_one();
        self.save().await?;
        Ok(NextStep::Now)
    }

    async fn save(&mut self) -> Result<()> {
        (self.unsaved, self.saved_ms) = (false, self.now_ms());
        self.live.save(&self.webhooks.repository).await
    }

    fn now_ms(&self) -> u64 {
        self.webhooks.repository.clock().now_ms()
    }
}

/// Returns the pause after a number of failed attempts.
fn pause_ms(retry_ms: u64, attempts: u32) -> u64 {
    retry_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(LONGEST_MS)
}

/// Reads the log after a place until something is selected, or for long enough.
fn search(
    log: &dyn EventLog,
    selection: &EventSelection,
    position: Option<EventId>,
) -> std::result::Result<SearchResult, StoreError> {
    let mut found = SearchResult { ready: VecDeque::new(), position, at_end: false };
    let mut at = position;
    for _ in 0..MOST_PASSAGES {
        let passage = log.events(LogDirection::Forth(at), &EventPeriod::default())?;
        for (id, event) in passage.events {
            if found.ready.len() == MOST_EVENTS {
                return Ok(found);
            }
            if selection.fits(&event) {
                found.ready.push_back((id, event));
            } else if found.ready.is_empty() {
                found.position = Some(id);
            }
            at = Some(id);
        }
        found.at_end = passage.next.is_none();
        at = passage.next.or(at);
        if found.at_end || !found.ready.is_empty() {
            break;
        }
    }
    Ok(found)
}
