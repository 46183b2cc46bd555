//! The delivery of events: one task for each webhook.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use stet_actors::runtime::store_failure;
use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::store::{Event, EventId, EventLog, EventPeriod, LogDirection, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use crate::live::{DeliveryState, LiveWebhook};
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
const SEARCH_PAUSE: Duration = Duration::from_millis(50);

/// The time between two times that the progress is stored while events are delivered.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The time after which a place is stored that was reached without a delivery, so that a restart
/// does not read the same stretch of the log again.
const SAVE_PLACE_EVERY: Duration = Duration::from_secs(60);

/// The pause after an error of the store.
const AFTER_ERROR: Duration = Duration::from_secs(10);

/// The interval at which a disabled owner is looked up again.
const OWNER_CHECK: Duration = Duration::from_secs(5);

/// The interval at which the states of all webhooks are measured, and a task that has failed is
/// started again.
const MEASURE_EVERY: Duration = Duration::from_secs(10);

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
            () = tokio::time::sleep(MEASURE_EVERY) => {}
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
        let (state, waiting_ms) = live.measures(webhooks.has_owner(&live.webhook()).unwrap_or(true));
        *counts.entry(state.name()).or_insert(0_u32) += 1;
        if state != WebhookState::Paused {
            oldest_ms = oldest_ms.min(waiting_ms.unwrap_or(u64::MAX));
        }
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
    /// The time at which the progress was stored.
    saved: Instant,
    /// Whether something was delivered since.
    delivered: bool,
}

/// The outcome of a search of the log.
struct SearchResult {
    ready: VecDeque<(EventId, Event)>,
    /// The place up to which nothing else is wanted, before the first of these events.
    position: EventId,
    /// Whether the end of the log was reached.
    at_end: bool,
    /// Whether events after the beginning of the search may not be stored any more.
    has_gap: bool,
}

impl Deliverer {
    fn of(webhooks: Arc<Webhooks>, live: Arc<LiveWebhook>) -> Deliverer {
        let commits = webhooks.newsroom.followers.commits();
        let (ready, changes, delivered) = Default::default();
        Deliverer { webhooks, live, commits, ready, changes, saved: Instant::now(), delivered }
    }

    async fn run(mut self) {
        while !self.live.is_removed() {
            let next = self.step().await;
            self.live.set_broken(next.is_err());
            let next = next.unwrap_or_else(|error| {
                tracing::warn!(%error, webhook = %self.live.webhook().id, "cannot deliver events; trying again");
                // Read again: none may be left out.
                self.ready.clear();
                NextStep::Pause(AFTER_ERROR)
            });
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
                let save_at = self.saved + if self.delivered { SAVE_EVERY } else { SAVE_PLACE_EVERY };
                tokio::select! {
                    () = self.live.bell.notified() => {}
                    // The other end lives as long as the newsroom.
                    _ = self.commits.changed() => tokio::time::sleep(SEARCH_PAUSE).await,
                    () = tokio::time::sleep_until(save_at) => {}
                }
            }
        }
    }

    /// Delivers the next event, if there is one and it is time.
    async fn step(&mut self) -> Result<NextStep> {
        let DeliveryState { webhook, position, failure, has_ended, changes } = self.live.delivery_state();
        if self.saved.elapsed() >= if self.delivered { SAVE_EVERY } else { SAVE_PLACE_EVERY } {
            self.save().await?;
        }
        if webhook.paused || has_ended {
            return Ok(NextStep::Change);
        }
        if !self.webhooks.has_owner(&webhook)? {
            return Ok(NextStep::Pause(OWNER_CHECK));
        }
        let now_ms = self.now_ms();
        if let Some(pause) = failure.and_then(|failure| pause_until(failure.next_ms, now_ms)) {
            return Ok(NextStep::Pause(pause));
        }
        if self.changes != changes {
            self.ready.clear();
            self.changes = changes;
        }
        let Some((id, event)) = self.ready.pop_front() else { return self.search(&webhook, position).await };
        let at_ms = event.at_ms;
        self.live.set_waiting(Some(at_ms));
        let Some(rendered) = render_event(&self.webhooks.newsroom, &webhook, event).await? else {
            self.live.advance(changes, |progress| progress.move_to(id));
            return Ok(NextStep::Now);
        };
        let outcome = self.send(&webhook, id, &rendered).await;
        self.note(outcome, id, rendered.kind, now_ms).await
    }

    /// Reads the log after a place until something is wanted.
    async fn search(&mut self, webhook: &Webhook, position: EventId) -> Result<NextStep> {
        // Before the log is read: a later commit is not missed.
        self.commits.mark_unchanged();
        let (repository, selection) = (self.webhooks.repository.clone(), webhook.selection.clone());
        let end_of_log = repository.end_of_log();
        let search = move || search(repository.events(), &selection, position, end_of_log);
        // The semaphore is never closed.
        let turn = self.webhooks.searches.acquire().await;
        let found = offload::offload_at_once(search).await?.map_err(|error| store_failure(&error))?;
        drop(turn);
        // A receiver that gets an event must find its change in the container.
        self.webhooks.repository.views_agree().await;
        if found.has_gap {
            let (event, kind, now_ms) = (Some(found.position), String::new(), self.now_ms());
            let error = Some("events before this one are not stored any more, and were not sent".to_owned());
            tracing::error!(webhook = %webhook.id, before = %found.position, "events for a webhook were not sent in time");
            self.live.log(Delivery { event, kind, at_ms: now_ms, took_ms: 0, status: None, error });
        }
        if found.position != position {
            self.live.advance(self.changes, |progress| progress.move_to(found.position));
        }
        let is_quiet = found.at_end && found.ready.is_empty();
        if is_quiet {
            self.live.set_waiting(None);
        }
        self.ready = found.ready;
        Ok(if is_quiet { NextStep::Commit } else { NextStep::Now })
    }

    async fn send(&self, webhook: &Webhook, id: EventId, rendered: &RenderedEvent) -> SendOutcome {
        let message = WebhookMessage { id: format!("evt_{id}"), body: rendered.body.clone() };
        let outcome = self.webhooks.sender.send(webhook, &message, self.now_ms()).await;
        let label = if outcome.error.is_none() { "delivered" } else { "failed" };
        counter!("stet_webhook_deliveries_total", "outcome" => label).increment(1);
        outcome
    }

    /// Notes the outcome of an attempt that began at a time.
    async fn note(&mut self, outcome: SendOutcome, id: EventId, kind: String, began_ms: u64) -> Result<NextStep> {
        let (SendOutcome { status, error }, now_ms) = (outcome, self.now_ms());
        let took_ms = now_ms.saturating_sub(began_ms);
        self.live.log(Delivery { event: Some(id), kind, at_ms: began_ms, took_ms, status, error: error.clone() });
        self.delivered = true;
        let Some(error) = error else {
            self.live.advance(self.changes, |progress| {
                progress.move_to(id);
                progress.delivered += 1;
            });
            return Ok(NextStep::Now);
        };
        // Read again at the next attempt: the webhook may have been changed by then.
        self.ready.clear();
        let (webhook, config) = (self.live.webhook().id, &self.webhooks.newsroom.config.webhooks);
        // `None` while the clock may be wrong: then nothing ends.
        let trusted_ms = self.webhooks.repository.ends().now().map(|now| now.ms());
        self.live.advance(self.changes, |progress| {
            let first = DeliveryFailure { event: id, since_ms: None, attempts: 0, next_ms: 0 };
            let failure = progress.failure.filter(|failure| failure.event == id).unwrap_or(first);
            let (attempts, since_ms) = (failure.attempts + 1, failure.since_ms.or(trusted_ms));
            let next_ms = now_ms + pause_ms(config.retry_seconds * 1000, attempts);
            progress.failure = Some(DeliveryFailure { event: id, since_ms, attempts, next_ms });
            let failed_ms = trusted_ms.zip(since_ms).map_or(0, |(now_ms, since_ms)| now_ms.saturating_sub(since_ms));
            if status == Some(GONE) {
                progress.ended = Some(error.clone());
            } else if failed_ms >= config.give_up_hours * 60 * 60 * 1000 {
                progress.ended = Some(format!("nothing was accepted for too long: {error}"));
            }
            if progress.ended.is_some() {
                tracing::error!(%webhook, error, "a webhook has ended, and waits for somebody to resume it");
            } else {
                tracing::warn!(%webhook, error, attempts, "an event was not accepted, and is sent again");
            }
        });
        self.save().await?;
        Ok(NextStep::Now)
    }

    async fn save(&mut self) -> Result<()> {
        self.live.save(&self.webhooks.repository).await?;
        (self.delivered, self.saved) = (false, Instant::now());
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        self.webhooks.repository.clock().now_ms()
    }
}

/// Returns the pause after a number of failed attempts.
fn pause_ms(retry_ms: u64, attempts: u32) -> u64 {
    retry_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(LONGEST_MS)
}

/// Returns the time until the next attempt; `None` if it is due. A time further off than any pause
/// is from a clock that was ahead.
fn pause_until(next_ms: u64, now_ms: u64) -> Option<Duration> {
    let pause_ms = next_ms.checked_sub(now_ms).filter(|pause_ms| (1..=LONGEST_MS).contains(pause_ms))?;
    Some(Duration::from_millis(pause_ms))
}

/// Reads the log after a place until something is selected, or for long enough.
fn search(
    log: &dyn EventLog,
    selection: &EventSelection,
    position: EventId,
    end_of_log: EventId,
) -> std::result::Result<SearchResult, StoreError> {
    let mut found = SearchResult { ready: VecDeque::new(), position, at_end: false, has_gap: false };
    let mut at = position;
    'passages: for _ in 0..MOST_PASSAGES {
        let passage = log.events(LogDirection::Forth(Some(at)), &EventPeriod::default())?;
        for (id, event) in passage.events {
            if found.ready.len() == MOST_EVENTS {
                break 'passages;
            }
            if selection.fits(&event) {
                found.ready.push_back((id, event));
            } else if found.ready.is_empty() {
                found.position = id;
            }
            at = id;
        }
        found.at_end = passage.next.is_none();
        at = passage.next.unwrap_or(at);
        if found.at_end || !found.ready.is_empty() {
            break;
        }
    }
    // Asked afterwards, since events may be removed meanwhile. A search from the very beginning
    // has no gap.
    let kept = log.oldest()?.map_or(end_of_log, EventId::before);
    found.has_gap = position < kept && position != EventId::default();
    if position < kept {
        found.position = found.position.max(kept);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use stet_domain::id::{DatabaseId, Loid};
    use stet_domain::store::memory::MemoryStore;
    use stet_domain::store::{ChangeSet, Store};

    use super::*;

    #[test]
    fn pauses_double_up_to_a_quarter_of_an_hour() {
        let pauses: Vec<u64> = (1..10).map(|attempts| pause_ms(5000, attempts) / 1000).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 900]);
        assert_eq!(pause_ms(900_000, u32::MAX), LONGEST_MS);
    }

    #[test]
    fn an_attempt_is_due_at_its_time_and_when_the_clock_was_ahead() {
        assert_eq!(pause_until(1500, 1000), Some(Duration::from_millis(500)));
        assert_eq!([pause_until(1000, 1000), pause_until(900, 1000)], [None, None]);
        assert_eq!(pause_until(1000 + LONGEST_MS, 1000), Some(Duration::from_millis(LONGEST_MS)));
        assert_eq!(pause_until(1001 + LONGEST_MS, 1000), None);
    }

    fn event(kind: &str) -> Event {
        Event {
            container: Some(Loid::new(DatabaseId::FIRST, 7)),
            revision: 1,
            kind: kind.to_owned(),
            ids: Vec::new(),
            user: "ada".to_owned(),
            at_ms: 5,
            session: String::new(),
            address: String::new(),
            withdrawn: None,
            unseen: None,
            status: None,
            before: None,
        }
    }

    /// Returns a store with a change set for each of these kinds.
    fn store<'a>(kinds: impl IntoIterator<Item = &'a str>) -> MemoryStore {
        let store = MemoryStore::new();
        for kind in kinds {
            let mut set = ChangeSet::fence(store.epoch(), |_| ());
            set.events.push(event(kind));
            store.submit(set).expect("it is taken");
        }
        store
    }

    #[test]
    fn searches_pass_unwanted_events_and_return_no_more_than_fit() {
        let selection = EventSelection { kinds: vec!["b".to_owned()], ..EventSelection::default() };
        let kinds = std::iter::repeat_n("a", 10).chain(std::iter::repeat_n("b", MOST_EVENTS + 5)).chain(["a"; 3]);
        let store = store(kinds);
        let (mut position, mut wanted) = (EventId::default(), Vec::new());
        loop {
            let found = search(&store, &selection, position, EventId::default()).expect("it can be read");
            assert!(found.ready.len() <= MOST_EVENTS && !found.has_gap);
            assert!(found.ready.front().is_none_or(|(id, _)| found.position < *id), "nothing wanted is passed");
            wanted.extend(found.ready.iter().map(|(id, _)| *id));
            position = found.ready.back().map_or(found.position, |(id, _)| *id);
            if found.at_end {
                break;
            }
        }
        assert_eq!(wanted.len(), MOST_EVENTS + 5);
        assert!(wanted.is_sorted_by(|one, next| one < next));
        let rest = search(&store, &selection, position, EventId::default()).expect("it can be read");
        assert!(rest.ready.is_empty() && rest.at_end);
    }

    #[test]
    fn searches_tell_of_events_that_are_not_stored_any_more() {
        let store = store(["a"]);
        let oldest = store.oldest().expect("it can be read").expect("there is one");
        let gap = |position| {
            let found = search(&store, &EventSelection::default(), position, oldest).expect("it can be read");
            (found.has_gap, found.position, found.ready.len())
        };
        let first = EventId { seq: 0, ordinal: 1 };
        assert!(first < oldest.before(), "there were others before");
        assert_eq!(gap(first), (true, oldest.before(), 1));
        assert_eq!(gap(EventId::default()), (false, oldest.before(), 1), "that begins with what there is");
        assert_eq!(gap(oldest.before()), (false, oldest.before(), 1));
    }
}
