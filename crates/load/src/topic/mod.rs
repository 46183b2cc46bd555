//! The load of a planning desk: many clients create, edit, shift, move and remove items of the same
//! few topics of a plan. Followers receive all events of the first topic.

use std::collections::HashMap;
use std::sync::Arc;

use super::client::{Answer, Connection, Trouble};
use super::delivery::Delivery;
use super::desk::Desk;
use super::figures::counted;
use super::followers::audience::Audience;
use super::followers::board::Times;
use super::followers::files;
use super::followers::heard::Heard;
use super::options::{Settings, mix_in_words};
use super::replay::evidence::Span;
use super::scenario::{Outcome, Scenario, Verdict};

mod book;
mod fields;
mod model;
mod notes;
pub(super) mod options;
mod plan;
mod prepare;
mod verify;
pub(super) mod wire;

use self::book::Book;
use self::model::{Ids, Lines, topic_line};
use self::notes::{Notes, change, doubt_shared};
use self::options::TopicSettings;
use self::plan::{DEFAULT_MIX, Deed, KINDS, Kind, Operation, Plan, Recipe, Scene};
use self::prepare::Held;
use self::verify::Evidence;
use self::wire::{Paths, mark};

/// The codes of refusals by a topic's own rules (docs/api/topics.md): the item no longer exists, or
/// there are too many dividers or lines.
const RULES: &[&str] = &["ObjectNotFound", "TooLarge"];
/// The id of a line that was never created.
const NOWHERE: &str = "1$1.0.0";

/// The load of topics and their plan.
pub struct TopicLoad {
    settings: TopicSettings,
    weights: Vec<u32>,
    recipe: Recipe,
    patience: std::time::Duration,
    paths: Paths,
    book: Book,
    /// The state of each container before the load, the plan last.
    before: Vec<Held>,
    /// The reason why revisions cannot be relied on; `None` if they can.
    uncounted: Option<String>,
    audience: Audience,
}

impl TopicLoad {
    /// Creates the load from checked settings.
    ///
    /// # Errors
    /// One sentence that names the unusable setting.
    pub fn new(settings: &Settings) -> Result<TopicLoad, String> {
        let own = settings.topic.clone();
        let mut weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        let moves = &mut weights[Kind::Move as usize];
        if own.topics == 1 && *moves > 0 {
            if settings.mix.is_some() {
                return Err("`mix` has moves, which want two `topics` or more".to_owned());
            }
            *moves = 0;
        }
        // At most 20,000: checked.
        let clients = u32::try_from(settings.clients()).unwrap_or(u32::MAX);
        let scene = Scene { clients, topics: own.topics, skew: own.skew, fill: own.fill, own: own.own };
        let recipe = Recipe::new(settings.seed, &weights, scene)?;
        files::make_room(u64::from(clients) + u64::from(own.followers))?;
        let book = Book::new(recipe.clone(), clients, own.topics + 1);
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
    type Operation = Operation;
    type Notes = Notes;
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
            return Err(format!("`followers` can't be held to anything: {why}; say --followers 0"));
        }
        let (path, threads) = (self.paths.events(), self.settings.follower_threads());
        self.audience = Audience::start(desk, path, count, threads, base.unwrap_or(0)).await?;
        Ok(())
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = Operation> + Send + 'static {
        // The number of clients fits into a u32.
        let plan: Plan = self.recipe.plan(u32::try_from(client).unwrap_or(u32::MAX));
        plan
    }

    fn kind(operation: &Operation) -> usize {
        operation.kind() as usize
    }

    async fn carry_out(&self, connection: &mut Connection, operation: &Operation) -> Result<Answer, Trouble> {
        let (paths, client) = (&self.paths, operation.client);
        let line = match operation.deed {
            Deed::Read(_) | Deed::Structure(_) | Deed::Plan => 0,
            Deed::Shift(recent, _) | Deed::Move(recent, ..) => self.book.recent(recent),
            Deed::Order(topic, _) => topic_line(topic),
            Deed::Item(line, ..)
            | Deed::Edit(line, _)
            | Deed::Attach(line)
            | Deed::Remove(line)
            | Deed::Divide(line, ..)
            | Deed::ShiftDivider(line, _)
            | Deed::Undivide(line) => line,
        };
        let mut known = self.book.find(line);
        if let (Deed::Attach(_), Some(known)) = (operation.deed, &mut known) {
            let next = known.attached.map_or(0, |last| (last + 1) % paths.objects.len());
            self.book.attaching(line, next);
            known.attached = Some(next);
        }
        let (at, id) = known.as_ref().map_or((0, NOWHERE), |known| (known.topic, &*known.id));
        let (container, call) = match operation.deed {
            Deed::Read(topic) => (topic, paths.read(topic)),
            Deed::Structure(topic) => (topic, paths.structure(topic)),
            Deed::Plan => (self.plan_container(), paths.plan()),
            Deed::Item(_, topic, position) => (topic, paths.item(topic, line, position)),
            Deed::Edit(_, step) => (at, paths.edit(at, id, step)),
            Deed::Attach(_) => {
                (at, paths.attach(at, id, known.as_ref().and_then(|known| known.attached).unwrap_or_default()))
            }
            Deed::Remove(_) => (at, paths.remove(at, id)),
            Deed::Shift(_, position) => (at, paths.shift(at, id, position)),
            Deed::Move(_, topic, position) => (topic, paths.move_into(topic, id, position)),
            Deed::Divide(_, topic, position) => (topic, paths.divide(topic, line, position)),
            Deed::ShiftDivider(_, position) => (at, paths.shift_divider(at, id, position)),
            Deed::Undivide(_) => (at, paths.undivide(at, id)),
            Deed::Order(topic, position) => (self.plan_container(), paths.order(topic, position)),
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

    fn note(&self, notes: &mut Notes, operation: &Operation, answered: &Result<Answer, Trouble>) -> Outcome {
        let outcome = Outcome::of(answered, RULES);
        let (deed, asked) = (operation.deed, self.book.asked(operation.client));
        let Some(change) = change(deed, asked.line) else {
            let understood = match answered {
                Ok(answer) if answer.is_success() => notes.read(deed, asked.container, &self.paths, answer),
                _ => true,
            };
            return if understood { outcome } else { Outcome::Failed("no such reply".to_owned()) };
        };
        let noted = notes.changed(deed, change, &asked, &self.paths, answered, &outcome);
        if let Ok(answer) = answered
            && answer.is_success()
        {
            match (deed, &noted.made) {
                (Deed::Item(line, topic, _) | Deed::Divide(line, topic, _), Some(id)) => {
                    self.book.learn(line, id, topic);
                }
                (Deed::Move(..), _) => self.book.moved(asked.line, asked.container),
                (Deed::Remove(line), _) => self.book.removed(line),
                _ => {}
            }
            if let Some(revision) = answer.revision() {
                self.book.revised(asked.container, revision);
            }
        }
        for (container, revision) in &noted.revised {
            self.book.revised(*container, *revision);
            if *container == 0 {
                self.audience.made(*revision, Times { sent: asked.sent, answered: asked.answered });
            }
        }
        if noted.understood { outcome } else { Outcome::Failed("no such reply".to_owned()) }
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<Notes>) -> Verdict {
        let mut evidence = Evidence { known: self.book.known(), ..Evidence::default() };
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
            Err(why) => return Verdict::unread("The topics", &why),
        };
        let last = after.first().and_then(|first| first.revision).unwrap_or(0);
        let topics = usize::from(self.settings.topics);
        for held in &after[..topics] {
            evidence.held.extend(held.ids.iter().cloned());
            evidence.said.extend(&held.said);
        }
        // The final state has the ids of lines whose creation was never acknowledged.
        let plan = (0..).zip(&self.paths.topics).map(|(topic, id)| (topic_line(topic), mark(id)));
        let known = evidence.known.iter().map(|(line, id)| (*line, mark(id)));
        let held = evidence.held.iter().map(|(line, id)| (*line, mark(id)));
        let ids: Arc<Ids> = Arc::new(held.chain(known).chain(plan).collect::<HashMap<_, _>>());
        let spans = self.before.iter().zip(after).map(|(before, after)| Span {
            initial: Lines::new(before.lines.clone(), ids.clone()),
            held: after.lines,
            revisions: before.revision.zip(after.revision),
        });
        evidence.order.containers = spans.collect();
        let is_divider = |line| self.recipe.is_divider(line);
        match self.audience.end(last, self.patience).await {
            Err(why) => Verdict::unread("What followers heard", &why),
            Ok(None) => verify::verdict(&evidence, None, self.uncounted.as_deref(), is_divider),
            Ok(Some((summary, followed))) => {
                let verdict = verify::verdict(&evidence, Some(&Heard::of(&summary, &followed)), None, is_divider);
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
            ("filled with", counted(own.fill.into(), "item each", "items each")),
            ("own", counted(own.own.into(), "item a client", "items a client")),
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
