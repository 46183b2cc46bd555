//! The load of a planning desk: many clients create, edit, shift, move and remove items of the same
//! few topics of a plan. Followers receive all events of the first topic.

use std::collections::HashMap;
use std::sync::Arc;

use super::client::{CallAnswer, CallTrouble, Connection};
use super::delivery::Delivery;
use super::desk::Desk;
use super::figures::format_count;
use super::followers::audience::Audience;
use super::followers::board::CallTimes;
use super::followers::files;
use super::followers::heard::ReceivedEvents;
use super::options::{LoadSettings, mix_in_words};
use super::replay::evidence::ContainerSpan;
use super::scenario::{LoadVerdict, OperationOutcome, Scenario};

mod book;
mod fields;
mod model;
mod notes;
pub(super) mod options;
mod plan;
mod prepare;
mod verify;
pub(super) mod wire;

use self::book::TopicBook;
use self::model::{Ids, TopicModel, topic_line};
use self::notes::{TopicNotes, change, doubt_shared};
use self::options::TopicSettings;
use self::plan::{
    DEFAULT_MIX, KINDS, TopicAction, TopicLoadPlan, TopicOperation, TopicOperationKind, TopicRecipe, TopicScene,
};
use self::prepare::HeldContainer;
use self::verify::TopicEvidence;
use self::wire::{Paths, hash_id};

/// The codes of refusals by a topic's own rules (docs/api/topics.md): the item no longer exists, or
/// there are too many dividers or lines.
const RULES: &[&str] = &["ObjectNotFound", "TooLarge"];
/// The id of a line that was never created.
const NOWHERE: &str = "1$1.0.0";

/// The load of topics and their plan.
pub struct TopicLoad {
    settings: TopicSettings,
    weights: Vec<u32>,
    recipe: TopicRecipe,
    patience: std::time::Duration,
    paths: Paths,
    book: TopicBook,
    /// The state of each container before the load, the plan last.
    before: Vec<HeldContainer>,
    /// The reason why revisions cannot be relied on; `None` if they can.
    uncounted: Option<String>,
    audience: Audience,
}

impl TopicLoad {
    /// Creates the load from checked settings.
    ///
    /// # Errors
    /// One sentence that names the unusable setting.
    pub fn new(settings: &LoadSettings) -> Result<TopicLoad, String> {
        let own = settings.topic.clone();
        let mut weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        let moves = &mut weights[TopicOperationKind::Move as usize];
        if own.topics == 1 && *moves > 0 {
            if settings.mix.is_some() {
                return Err("`mix` has moves, which need at least two `topics`".to_owned());
            }
            *moves = 0;
        }
        // At most 20,000: checked.
        let clients = u32::try_from(settings.clients()).unwrap_or(u32::MAX);
        let scene = TopicScene { clients, topics: own.topics, skew: own.skew, fill: own.fill, own: own.own };
        let recipe = TopicRecipe::new(settings.seed, &weights, scene)?;
        files::make_room(u64::from(clients) + u64::from(own.followers))?;
        let book = TopicBook::new(recipe.clone(), clients, own.topics + 1);
        let (paths, patience) = (Paths::default(), settings.patience());
        Ok(TopicLoad {
            settings: own,
            weights,
            recipe,
            patience,
            paths,
            book,
            before: Vec::new(),
            uncounted: None,
            audience: Audience::none(),
        })
    }

    /// Returns the number of the plan as a container, after those of the topics.
    fn plan_container(&self) -> u16 {
        self.settings.topics
    }
}

impl Scenario for TopicLoad {
    type Operation = TopicOperation;
    type Notes = TopicNotes;
    const NAME: &'static str = "topic";
    const KINDS: &'static [&'static str] = KINDS;
    const RULES: &'static str = "the topics";

    async fn prepare(&mut self, desk: &mut Desk) -> Result<(), String> {
        self.make(desk).await?;
        self.fill(desk).await?;
        self.before = self.look(desk).await.map_err(|why| format!("a topic can't be read: {why}"))?;
        let base = self.before.first().and_then(|first| first.revision);
        for (held, container) in self.before.iter().zip(0..) {
            self.book.revised(container, held.revision.unwrap_or(0));
        }
        let count = self.settings.followers;
        if count > 0
            && let Some(why) = &self.uncounted
        {
            return Err(format!("the events of `followers` can't be verified: {why}; use --followers 0"));
        }
        let (path, threads) = (self.paths.events(), self.settings.follower_threads());
        self.audience = Audience::start(desk, path, count, threads, base.unwrap_or(0)).await?;
        Ok(())
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = TopicOperation> + Send + 'static {
        // The number of clients fits into a u32.
        let plan: TopicLoadPlan = self.recipe.plan(u32::try_from(client).unwrap_or(u32::MAX));
        plan
    }

    fn kind(operation: &TopicOperation) -> usize {
        operation.kind() as usize
    }

    async fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &TopicOperation,
    ) -> Result<CallAnswer, CallTrouble> {
        let (paths, client) = (&self.paths, operation.client);
        let line = match operation.deed {
            TopicAction::Read(_) | TopicAction::Structure(_) | TopicAction::Plan => 0,
            TopicAction::Shift(recent, _) | TopicAction::Move(recent, ..) => self.book.recent(recent),
            TopicAction::Order(topic, _) => topic_line(topic),
            TopicAction::Item(line, ..)
            | TopicAction::Edit(line, _)
            | TopicAction::Attach(line)
            | TopicAction::Remove(line)
            | TopicAction::Divide(line, ..)
            | TopicAction::ShiftDivider(line, _)
            | TopicAction::Undivide(line) => line,
        };
        let mut known = self.book.find(line);
        if let (TopicAction::Attach(_), Some(known)) = (operation.deed, &mut known) {
            let next = known.attached.map_or(0, |last| (last + 1) % paths.objects.len());
            self.book.attaching(line, next);
            known.attached = Some(next);
        }
        let (at, id) = known.as_ref().map_or((0, NOWHERE), |known| (known.topic, &*known.id));
        let (container, call) = match operation.deed {
            TopicAction::Read(topic) => (topic, paths.read(topic)),
            TopicAction::Structure(topic) => (topic, paths.structure(topic)),
            TopicAction::Plan => (self.plan_container(), paths.plan()),
            TopicAction::Item(_, topic, position) => (topic, paths.item(topic, line, position)),
            TopicAction::Edit(_, step) => (at, paths.edit(at, id, step)),
            TopicAction::Attach(_) => {
                (at, paths.attach(at, id, known.as_ref().and_then(|known| known.attached).unwrap_or_default()))
            }
            TopicAction::Remove(_) => (at, paths.remove(at, id)),
            TopicAction::Shift(_, position) => (at, paths.shift(at, id, position)),
            TopicAction::Move(_, topic, position) => (topic, paths.move_into(topic, id, position)),
            TopicAction::Divide(_, topic, position) => (topic, paths.divide(topic, line, position)),
            TopicAction::ShiftDivider(_, position) => (at, paths.shift_divider(at, id, position)),
            TopicAction::Undivide(_) => (at, paths.undivide(at, id)),
            TopicAction::Order(topic, position) => (self.plan_container(), paths.order(topic, position)),
        };
        let after = self.book.newest(container);
        let sent = self.audience.now();
        let answered = connection.send(&call).await;
        let now = self.audience.now();
        self.book.ask(client, |asked| {
            (asked.line, asked.known, asked.container, asked.after) = (line, known, container, after);
            (asked.sent, asked.answered) = (sent, now);
        });
        answered
    }

    fn note(
        &self,
        notes: &mut TopicNotes,
        operation: &TopicOperation,
        answered: &Result<CallAnswer, CallTrouble>,
    ) -> OperationOutcome {
        let outcome = OperationOutcome::of(answered, RULES);
        let (deed, asked) = (operation.deed, self.book.asked(operation.client));
        let Some(change) = change(deed, asked.line) else {
            let understood = match answered {
                Ok(answer) if answer.is_success() => notes.read(deed, asked.container, &self.paths, answer),
                _ => true,
            };
            return if understood { outcome } else { OperationOutcome::Failed("no such reply".to_owned()) };
        };
        let noted = notes.changed(deed, change, &asked, &self.paths, answered, &outcome);
        if let Ok(answer) = answered
            && answer.is_success()
        {
            match (deed, &noted.made) {
                (TopicAction::Item(line, topic, _) | TopicAction::Divide(line, topic, _), Some(id)) => {
                    self.book.learn(line, id, topic);
                }
                (TopicAction::Move(..), _) => self.book.moved(asked.line, asked.container),
                (TopicAction::Remove(line), _) => self.book.removed(line),
                _ => {}
            }
            if let Some(revision) = answer.revision() {
                self.book.revised(asked.container, revision);
            }
        }
        for (container, revision) in &noted.revised {
            self.book.revised(*container, *revision);
            if *container == 0 {
                self.audience.made(*revision, CallTimes { sent: asked.sent, answered: asked.answered });
            }
        }
        if noted.understood { outcome } else { OperationOutcome::Failed("no such reply".to_owned()) }
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<TopicNotes>) -> LoadVerdict {
        let mut evidence = TopicEvidence { known: self.book.known(), ..TopicEvidence::default() };
        for notes in notes {
            evidence.order.acked.extend(notes.acked);
            evidence.order.seen.extend(notes.seen);
            evidence.order.doubts.extend(notes.doubts);
            evidence.told.extend(notes.told);
            evidence.removed.extend(notes.removed);
            evidence.unsure.extend(notes.unsure);
            evidence.denied.extend(notes.denied);
            evidence.odd.extend(notes.odd);
        }
        doubt_shared(&mut evidence.order.acked, &mut evidence.order.doubts);
        let after = match self.end(desk, !evidence.order.doubts.is_empty()).await {
            Ok(after) => after,
            Err(why) => return LoadVerdict::unread("The topics", &why),
        };
        let last = after.first().and_then(|first| first.revision).unwrap_or(0);
        let topics = usize::from(self.settings.topics);
        for held in &after[..topics] {
            evidence.held.extend(held.ids.iter().cloned());
            evidence.said.extend(&held.said);
        }
        // The final state has the ids of lines whose creation was never acknowledged.
        let plan = (0..).zip(&self.paths.topics).map(|(topic, id)| (topic_line(topic), hash_id(id)));
        let known = evidence.known.iter().map(|(line, id)| (*line, hash_id(id)));
        let held = evidence.held.iter().map(|(line, id)| (*line, hash_id(id)));
        let ids: Arc<Ids> = Arc::new(held.chain(known).chain(plan).collect::<HashMap<_, _>>());
        let spans = self.before.iter().zip(after).map(|(before, after)| ContainerSpan {
            initial: TopicModel::new(before.lines.clone(), ids.clone()),
            held: after.lines,
            revisions: before.revision.zip(after.revision),
        });
        evidence.order.containers = spans.collect();
        let is_divider = |line| self.recipe.is_divider(line);
        match self.audience.end(last, self.patience).await {
            Err(why) => LoadVerdict::unread("What followers heard", &why),
            Ok(None) => verify::verdict(&evidence, None, self.uncounted.as_deref(), is_divider),
            Ok(Some((summary, followed))) => {
                let verdict =
                    verify::verdict(&evidence, Some(&ReceivedEvents::of(&summary, &followed)), None, is_divider);
                self.audience.keep(Delivery::of(summary, followed));
                verdict
            }
        }
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let own = &self.settings;
        let pairs = [
            ("topics", own.topics.to_string()),
            ("skew (Zipf exponent)", own.skew.to_string()),
            ("filled with", format_count(own.fill.into(), "item each", "items each")),
            ("own", format_count(own.own.into(), "item a client", "items a client")),
            ("objects", own.objects.to_string()),
            ("followers", own.followers.to_string()),
            ("follower threads", own.follower_threads().to_string()),
            ("mix", mix_in_words(KINDS, &self.weights)),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn aside(&self) -> String {
        self.audience.aside()
    }

    fn delivery(&self) -> Option<Delivery> {
        self.audience.delivery()
    }
}
