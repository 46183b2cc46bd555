//! A whole day of a newsroom at once: clients that log in, plan, write, correlate, fill drawers, post, moderate, copy to channels,
//! publish, send messages and clean up, each with things of its own in containers that they share.

use std::sync::Arc;

use hyper::Method;
use parking_lot::Mutex;

use super::client::{Answer, Call, Connection, Trouble};
use super::desk::{Desk, encoded};
use super::figures::number;
use super::options::{Settings, mix_in_words};
use super::scenario::{Finding, Outcome, Scenario, Verdict, named};

mod book;
mod look;
mod office;
pub(super) mod options;
mod plan;
mod prepare;

use self::book::Book;
use self::look::{message_id, token, unpublished};
use self::office::{Office, Place};
use self::plan::{DEFAULT_MIX, KINDS, Key, Kind, Operation, Recipe, Thing};
use self::prepare::End;

/// The codes by which the server says no for a reason of the plan's: what is to be taken away is not there, what is to be made is.
const RULES: &[&str] = &["ObjectNotFound", "DuplicatedName"];

/// See the module's head.
pub struct NewsroomLoad {
    clients: u32,
    weights: Vec<u32>,
    recipe: Recipe,
    office: Office,
    /// The call that logs in.
    entry: Option<Call>,
    /// By client: the message that it has sent and not removed.
    sent: Vec<Mutex<Option<String>>>,
}

impl NewsroomLoad {
    /// From the settings, which are checked.
    ///
    /// # Errors
    /// A sentence that names what can't be.
    pub fn new(settings: &Settings) -> Result<NewsroomLoad, String> {
        let weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        let recipe = Recipe::new(settings.seed, &weights)?;
        // At most 20,000: checked.
        let clients = u32::try_from(settings.clients()).unwrap_or(u32::MAX);
        let office = Office { user: settings.user.clone(), desk: settings.newsroom.desk, ..Office::default() };
        let sent = (0..clients).map(|_| Mutex::new(None)).collect();
        Ok(NewsroomLoad { clients, weights, recipe, office, entry: None, sent })
    }

    /// Logs in, and out of that session again.
    async fn log_in(&self, connection: &mut Connection) -> Result<Answer, Trouble> {
        let entry = self.entry.as_ref().expect("`prepare` has kept it");
        let entered = connection.send_as(entry, None).await?;
        if !entered.is_success() {
            return Ok(entered);
        }
        let token: Arc<str> = encoded(&token(&entered).unwrap_or_default()).into();
        let logout = Call::new(Method::GET, "/v3/auth/logout".to_owned());
        connection.send_as(&logout, Some(token)).await
    }

    /// What a success shows or does.
    fn done(&self, notes: &mut Book, operation: &Operation, answer: &Answer) -> Outcome {
        let client = operation.client;
        if operation.kind == Kind::Read {
            let place = Place::of(operation);
            let Some(held) = self.office.held(place, client, answer) else {
                return Outcome::Failed("no such reply".to_owned());
            };
            notes.reads += 1;
            let is_shown = |key: &Key| place != Place::Liveblog || held.things.contains_key(key);
            let is_told = |key: Key| key.client == client && place.shows(key.thing) && is_shown(&key);
            let differences = notes.differences(&held.things, is_told);
            for sentence in differences.into_iter().chain(held.odd) {
                notes.odd(format!("A read has shown: {sentence}"));
            }
            return Outcome::Done;
        }
        let Some((key, value)) = operation.effect() else { return Outcome::Done };
        match key.thing {
            Thing::Headline => {
                if let Some(why) = unpublished(answer) {
                    notes.odd(format!("A publication was answered with {}, and not carried out: {why}", answer.status));
                    return Outcome::Failed("not published".to_owned());
                }
                notes.published += 1;
            }
            Thing::Message(_) if operation.makes() => {
                let Some(id) = message_id(answer) else { return Outcome::Failed("no such reply".to_owned()) };
                *self.sent[client as usize].lock() = Some(id);
            }
            // Nothing was sent before: the inbox was read in its place.
            Thing::Message(_) if self.sent[client as usize].lock().take().is_none() => return Outcome::Done,
            _ => {}
        }
        notes.acked += 1;
        notes.is(key, value);
        Outcome::Done
    }

    /// The verdict on what there is in the end.
    fn verdict(&self, book: &Book, end: &End) -> Verdict {
        let mut problems = book.odd.clone();
        problems.extend(end.held.odd.iter().cloned());
        problems.extend(book.differences(&end.held.things, |_| true));
        let least = book.published;
        let most = least + book.maybe_published;
        if !(least..=most).contains(&end.published) {
            let known =
                format!("{} publications were acknowledged, {} are in doubt", number(least), number(most - least));
            problems.push(format!("The front page was counted up to {}: {known}.", number(end.published)));
        }
        let details = vec![
            format!(
                "{} changes were acknowledged, {} reads compared, {} calls had no certain outcome.",
                number(book.acked),
                number(book.reads),
                number(book.doubts)
            ),
            format!(
                "Of {} things that were changed, {} must be what their client was told last; the others may also be what a call \
                 without an outcome has made of them.",
                number(book.len() as u64),
                number(book.certain() as u64)
            ),
            format!("{} channel copies have been compared with the text of their story.", number(end.followed as u64)),
            format!(
                "The front page was published {} times, {} of them in doubt.",
                number(end.published),
                number(most - least)
            ),
        ];
        let finding = if problems.is_empty() { Finding::Verified } else { Finding::Violated };
        let method =
            "Things: each thing of a client is what the client was told last, in the end and in each of its reads; \
                      channel copies have the text of their story, and no publication is lost."
                .to_owned();
        Verdict { finding, method, details, problems: named(problems) }
    }
}

impl Scenario for NewsroomLoad {
    type Operation = Operation;
    type Notes = Book;
    const NAME: &'static str = "newsroom";
    const KINDS: &'static [&'static str] = KINDS;
    const RULES: &'static str = "the newsroom";

    async fn prepare(&mut self, desk: &mut Desk) -> Result<(), String> {
        self.entry = Some(desk.entry().clone());
        self.make(desk).await
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = Operation> + Send + 'static {
        // There are no more clients than a u32 counts, and two channels at most.
        self.recipe.plan(client as u32, self.office.channels.len() as u32)
    }

    fn kind(operation: &Operation) -> usize {
        operation.kind as usize
    }

    async fn carry_out(&self, connection: &mut Connection, operation: &Operation) -> Result<Answer, Trouble> {
        if operation.kind == Kind::Login {
            return self.log_in(connection).await;
        }
        let message = self.sent[operation.client as usize].lock().clone();
        connection.send(&self.office.call(operation, message.as_deref())).await
    }

    fn note(&self, notes: &mut Book, operation: &Operation, answered: &Result<Answer, Trouble>) -> Outcome {
        let outcome = Outcome::of(answered, RULES);
        match answered {
            Ok(answer) if answer.is_success() => self.done(notes, operation, answer),
            // Refused before anything was done: that too is certain.
            Ok(answer) if answer.status < 500 || answer.code().ends_with("Overloaded") => {
                let Outcome::Refused(code) = &outcome else { return outcome };
                match operation.refused_at() {
                    Some((key, value)) if notes.is_possible(key, value) => {
                        notes.is(key, value);
                        outcome
                    }
                    _ => {
                        notes.odd(format!(
                            "A {} was refused with {code}, which can't be.",
                            KINDS[operation.kind as usize]
                        ));
                        Outcome::Failed(code.clone())
                    }
                }
            }
            Err(Trouble::Unreachable(_)) => outcome,
            // Nobody knows whether it was done.
            _ => {
                if let Some((key, value)) = operation.effect() {
                    notes.doubts += 1;
                    notes.maybe_published += u64::from(key.thing == Thing::Headline);
                    notes.may_be(key, value);
                }
                outcome
            }
        }
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<Book>) -> Verdict {
        let mut book = Book::default();
        notes.into_iter().for_each(|notes| book.add(notes));
        let end = match self.end(desk, book.doubts > 0).await {
            Ok(end) => end,
            Err(why) => return Verdict::unread("The newsroom", &why),
        };
        let mut verdict = self.verdict(&book, &end);
        if let Err(why) = NewsroomLoad::remove_messages(desk, &end.messages).await {
            verdict.details.push(format!("Messages are left behind in the inbox: {why}."));
        }
        verdict
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let pairs = [
            ("desk", format!("{} clients to a drawer, a liveblog and a topic", self.office.desk)),
            ("channels", self.office.channels.join(", ")),
            ("mix", mix_in_words(KINDS, &self.weights)),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
