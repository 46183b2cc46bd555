//! The load of a whole newsroom at once. Clients log in, plan, write, correlate, fill drawers,
//! post, moderate, copy to channels, publish, send messages and clean up. Each works on things of
//! its own in shared containers.

use std::sync::Arc;

use hyper::Method;
use parking_lot::Mutex;

use super::client::{Call, CallAnswer, CallTrouble, Connection};
use super::desk::{Desk, encode_segment};
use super::figures::{format_count, number};
use super::hostile::{HostileClients, Tallies};
use super::options::{LoadSettings, mix_in_words};
use super::scenario::{LoadVerdict, OperationOutcome, Scenario, VerificationFinding, limit_problems};

mod book;
mod look;
mod office;
pub(super) mod options;
mod plan;
mod prepare;

use self::book::NewsroomBook;
use self::look::{message_id, token};
use self::office::{MailAction, NewsroomObjects, NewsroomReadTarget};
use self::plan::{
    DEFAULT_MIX, KINDS, NewsroomOperation, NewsroomOperationKind, NewsroomRecipe, NewsroomThing, ThingKey,
};
use self::prepare::FinalNewsroom;

/// The codes of refusals that the plan provokes: the object to be removed does not exist, or the
/// one to be created does.
const RULES: &[&str] = &["ObjectNotFound", "DuplicatedName"];

/// A sent message: its number for the client, and its id.
type SentMessage = (u32, String);

/// The load of a whole newsroom.
pub struct NewsroomLoad {
    clients: u32,
    weights: Vec<u32>,
    recipe: NewsroomRecipe,
    office: NewsroomObjects,
    /// The call that logs in.
    entry: Option<Call>,
    /// Each client's last message whose removal is not certain.
    sent: Vec<Mutex<Option<SentMessage>>>,
    /// The number of hostile clients of each kind.
    hostile_clients: u32,
    /// The connection to which users log in.
    connection: String,
    /// Each client's user token, if there are hostile clients. Without them it is empty, and all
    /// clients act as the user of the load.
    tokens: Vec<Arc<str>>,
    /// The hostile clients while they run.
    hostile: Mutex<Option<HostileClients>>,
    /// The answers to hostile clients, available after they have ended.
    tallies: Mutex<Option<Tallies>>,
}

impl NewsroomLoad {
    /// Creates the load from checked settings.
    ///
    /// # Errors
    /// One sentence that names the unusable setting.
    pub fn new(settings: &LoadSettings) -> Result<NewsroomLoad, String> {
        let weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        let recipe = NewsroomRecipe::new(settings.seed, &weights)?;
        // At most 20,000: checked.
        let clients = u32::try_from(settings.clients()).unwrap_or(u32::MAX);
        let office =
            NewsroomObjects { user: settings.user.clone(), desk: settings.newsroom.desk, ..NewsroomObjects::default() };
        let sent = (0..clients).map(|_| Mutex::new(None)).collect();
        let (hostile_clients, connection) = (settings.newsroom.hostile, settings.connection.clone());
        let (hostile, tallies) = (Mutex::new(None), Mutex::new(None));
        Ok(NewsroomLoad {
            clients,
            weights,
            recipe,
            office,
            entry: None,
            sent,
            hostile_clients,
            connection,
            tokens: Vec::new(),
            hostile,
            tallies,
        })
    }

    /// Logs in, and ends that session again.
    async fn log_in(&self, connection: &mut Connection) -> Result<CallAnswer, CallTrouble> {
        let entry = self.entry.as_ref().expect("`prepare` has kept it");
        let entered = connection.send_as(entry, None).await?;
        if !entered.is_success() {
            return Ok(entered);
        }
        let token: Arc<str> = encode_segment(&token(&entered).unwrap_or_default()).into();
        let logout = Call::new(Method::GET, "/v3/auth/logout".to_owned());
        connection.send_as(&logout, Some(token)).await
    }

    /// Evaluates a successful reply: compares a read with the expected values, or notes the change.
    fn done(&self, notes: &mut NewsroomBook, operation: &NewsroomOperation, answer: &CallAnswer) -> OperationOutcome {
        let client = operation.client;
        if operation.kind == NewsroomOperationKind::Read {
            return self.compare_read(notes, operation, answer);
        }
        let Some((key, value)) = self.effect(operation) else { return OperationOutcome::Succeeded };
        match key.thing {
            NewsroomThing::Headline => {
                let Some(done) = self.office.publication(client, answer) else {
                    notes.odd(format!(
                        "The reply to a publication had status {} and no readable content.",
                        answer.status
                    ));
                    return OperationOutcome::Failed("no such reply".to_owned());
                };
                // The reply lists its two changes separately. A change that it omits has an unknown
                // outcome.
                (notes.published, notes.maybe_published) =
                    (notes.published + u64::from(done.front), notes.maybe_published + u64::from(!done.front));
                if done.headline {
                    notes.is(key, value)
                } else {
                    notes.may_be(key, value)
                }
                if !done.headline || !done.front {
                    notes.doubts += 1;
                    return OperationOutcome::Failed("not published".to_owned());
                }
            }
            NewsroomThing::Message(number) if value > 0 => {
                let Some(id) = message_id(answer) else {
                    notes.odd(format!("The reply to a message had status {} and no readable id.", answer.status));
                    notes.doubts += 1;
                    notes.may_be(key, value);
                    return OperationOutcome::Failed("no such reply".to_owned());
                };
                *self.sent[client as usize].lock() = Some((number, id));
            }
            NewsroomThing::Message(_) => *self.sent[client as usize].lock() = None,
            _ => {}
        }
        notes.acked += 1;
        if value == 0 && key.thing.comes_once() {
            notes.is_gone(key)
        } else {
            notes.is(key, value)
        }
        OperationOutcome::Succeeded
    }

    /// Compares a read with the expected values, and notes what it has shown.
    fn compare_read(
        &self,
        notes: &mut NewsroomBook,
        operation: &NewsroomOperation,
        answer: &CallAnswer,
    ) -> OperationOutcome {
        let client = operation.client;
        let place = NewsroomReadTarget::of(operation);
        if place == NewsroomReadTarget::Posts
            && let Some(code) = look::overload(answer)
        {
            return OperationOutcome::Overloaded(code);
        }
        let Some(held) = self.office.held(place, client, answer) else {
            notes
                .odd(format!("The reply to a read of {place:?} had status {} and no readable content.", answer.status));
            return OperationOutcome::Failed("no such reply".to_owned());
        };
        notes.reads += 1;
        let is_told = |key: ThingKey| key.client == client && place.shows(key.thing);
        let differences = notes.differences(&held.things, client..client + 1, is_told);
        held.things.iter().filter(|(key, _)| is_told(**key)).for_each(|(key, value)| notes.seen(*key, *value));
        // Things that the read does not show do not exist.
        for key in notes.missing(&held.things, is_told) {
            notes.seen(key, 0);
        }
        for sentence in differences.into_iter().chain(held.odd) {
            notes.odd(format!("A read has shown: {sentence}"));
        }
        OperationOutcome::Succeeded
    }

    /// Decides how an operation uses messages. A client whose message could not be removed sends no
    /// other, because inboxes are bounded.
    fn mail(&self, operation: &NewsroomOperation) -> MailAction {
        if operation.kind != NewsroomOperationKind::Message || !NewsroomObjects::sends(operation.client) {
            return MailAction::Look;
        }
        match (&*self.sent[operation.client as usize].lock(), operation.makes()) {
            (None, true) => MailAction::Send(operation.number()),
            (Some((number, id)), false) => MailAction::Remove(*number, id.clone()),
            _ => MailAction::Look,
        }
    }

    /// Returns the thing that an operation changes, and its new value.
    fn effect(&self, operation: &NewsroomOperation) -> Option<(ThingKey, u32)> {
        if operation.kind != NewsroomOperationKind::Message {
            return operation.effect();
        }
        let about = |number| ThingKey { client: operation.client, thing: NewsroomThing::Message(number) };
        match self.mail(operation) {
            MailAction::Send(number) => Some((about(number), 1)),
            MailAction::Remove(number, _) => Some((about(number), 0)),
            MailAction::Look => None,
        }
    }

    /// Returns the rule that may refuse an operation, as [`NewsroomOperation::refused_by`] does,
    /// but for the message that it is about.
    fn refused_by(&self, operation: &NewsroomOperation) -> Option<(&'static str, ThingKey, u32)> {
        let (code, _, _) = operation.refused_by()?;
        self.effect(operation).map(|(key, value)| (code, key, value))
    }

    /// Returns the verdict on the values found at the end.
    fn verdict(&self, book: &NewsroomBook, end: &FinalNewsroom) -> LoadVerdict {
        let mut problems = book.odd.clone();
        problems.extend(end.held.odd.iter().cloned());
        problems.extend(book.differences(&end.held.things, 0..self.clients, |_| true));
        let least = book.published;
        let most = least + book.maybe_published;
        if !(least..=most).contains(&end.published) {
            let known = format!(
                "{}, {} in doubt",
                format_count(least, "publication was acknowledged", "publications were acknowledged"),
                number(most - least)
            );
            problems.push(format!("The front page was counted up to {}: {known}.", number(end.published)));
        }
        let details = vec![
            format!(
                "{}, {} compared, {} had no certain outcome.",
                format_count(book.acked, "change was acknowledged", "changes were acknowledged"),
                format_count(book.reads, "read", "reads"),
                format_count(book.doubts, "call", "calls")
            ),
            format!(
                "Of {}, {} must have the last value that their client was told; the others may also have a value of a \
                 call with an unknown outcome.",
                format_count(book.len() as u64, "thing that was changed", "things that were changed"),
                number(book.certain() as u64)
            ),
            format!(
                "{} with the text of the story.",
                format_count(
                    end.followed as u64,
                    "channel copy has been compared",
                    "channel copies have been compared"
                )
            ),
            format!(
                "The front page was published {}, {} of them in doubt.",
                format_count(end.published, "time", "times"),
                number(most - least)
            ),
        ];
        let finding = if problems.is_empty() { VerificationFinding::Verified } else { VerificationFinding::Violated };
        let method =
            "Things: each thing of a client has the last value that the client was told, at the end and in each of \
             its reads; channel copies have the text of their story, and no publication is lost."
                .to_owned();
        LoadVerdict { finding, method, details, problems: limit_problems(problems) }
    }
}

impl Scenario for NewsroomLoad {
    type Operation = NewsroomOperation;
    type Notes = NewsroomBook;
    const NAME: &'static str = "newsroom";
    const KINDS: &'static [&'static str] = KINDS;
    const RULES: &'static str = "the newsroom";

    async fn prepare(&mut self, desk: &mut Desk) -> Result<(), String> {
        self.entry = Some(desk.entry().clone());
        self.make(desk).await?;
        if self.hostile_clients > 0 {
            let hostile = HostileClients::begin(desk, self.hostile_clients, &self.connection, self.clients).await?;
            self.tokens = (0..self.clients).map_while(|client| hostile.colleague(client)).collect();
            *self.hostile.lock() = Some(hostile);
        }
        Ok(())
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = NewsroomOperation> + Send + 'static {
        // There are no more clients than a u32 counts, and two channels at most.
        self.recipe.plan(client as u32, self.office.channels.len() as u32)
    }

    fn kind(operation: &NewsroomOperation) -> usize {
        operation.kind as usize
    }

    async fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &NewsroomOperation,
    ) -> Result<CallAnswer, CallTrouble> {
        if operation.kind == NewsroomOperationKind::Login {
            return self.log_in(connection).await;
        }
        let call = self.office.call(operation, &self.mail(operation));
        match self.tokens.get(operation.client as usize) {
            // All messages belong to the user of the load, whose inbox is read at the end.
            Some(token) if operation.kind != NewsroomOperationKind::Message => {
                connection.send_as(&call, Some(token.clone())).await
            }
            _ => connection.send(&call).await,
        }
    }

    fn note(
        &self,
        notes: &mut NewsroomBook,
        operation: &NewsroomOperation,
        answered: &Result<CallAnswer, CallTrouble>,
    ) -> OperationOutcome {
        let outcome = OperationOutcome::of(answered, RULES);
        match answered {
            Ok(answer) if answer.is_success() => self.done(notes, operation, answer),
            // A refusal precedes any change, so its outcome is certain as well.
            Ok(answer) if answer.is_refusal() => {
                let OperationOutcome::Refused(code) = &outcome else { return outcome };
                match self.refused_by(operation) {
                    Some((bare, key, value)) if code.ends_with(bare) && notes.is_possible(key, value) => {
                        notes.is(key, value);
                        if matches!(key.thing, NewsroomThing::Message(_)) {
                            *self.sent[operation.client as usize].lock() = None;
                        }
                        outcome
                    }
                    _ => {
                        notes.odd(format!(
                            "A {} was refused with {code}, which is impossible.",
                            KINDS[operation.kind as usize]
                        ));
                        OperationOutcome::Failed(code.clone())
                    }
                }
            }
            Err(CallTrouble::Unreachable(_)) => outcome,
            // The outcome is unknown.
            _ => {
                if let Some((key, value)) = self.effect(operation) {
                    notes.doubts += 1;
                    notes.maybe_published += u64::from(key.thing == NewsroomThing::Headline);
                    notes.may_be(key, value);
                }
                outcome
            }
        }
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<NewsroomBook>) -> LoadVerdict {
        let mut book = NewsroomBook::default();
        notes.into_iter().for_each(|notes| book.add(notes));
        let hostile = self.hostile.lock().take();
        let mut left = None;
        if let Some(hostile) = hostile {
            let (tallies, dismissed) = hostile.end(desk).await;
            *self.tallies.lock() = Some(tallies);
            left = dismissed.err();
        }
        let end = match self.end(desk, book.doubts > 0).await {
            Ok(end) => end,
            Err(why) => return LoadVerdict::unread("The newsroom", &why),
        };
        let mut verdict = self.verdict(&book, &end);
        verdict.details.extend(left.map(|what| format!("{what}.")));
        verdict
    }

    fn hostile(&self) -> Option<Tallies> {
        self.tallies.lock().clone()
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let pairs = [
            (
                "desk",
                format_count(self.office.desk.into(), "client", "clients") + " to a drawer, a liveblog and a topic",
            ),
            ("channels", self.office.channels.join(", ")),
            ("hostile", format_count(self.hostile_clients.into(), "client", "clients") + " of each kind"),
            ("mix", mix_in_words(KINDS, &self.weights)),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plan::{POSTS, ThingKey};
    use super::*;

    /// One client, whose front page and story are known.
    fn load() -> NewsroomLoad {
        let mut load = NewsroomLoad::new(&LoadSettings { clients: Some(1), ..LoadSettings::default() }).unwrap();
        load.office.folder = "/Load/1".to_owned();
        load.office.front = "1$1.0.7".to_owned();
        load
    }

    fn operation(kind: NewsroomOperationKind, step: u32) -> NewsroomOperation {
        NewsroomOperation { client: 0, kind, slot: 0, step }
    }

    fn key(thing: NewsroomThing) -> ThingKey {
        ThingKey { client: 0, thing }
    }

    fn answer(status: u16, result: &Value) -> Result<CallAnswer, CallTrouble> {
        Ok(CallAnswer { status, etag: None, body: json!({ "result": result }).to_string().into() })
    }

    fn refused(code: &str) -> Result<CallAnswer, CallTrouble> {
        answer(400, &json!({ "code": format!("CMS.{code}") }))
    }

    #[test]
    fn a_message_is_removed_before_another_is_sent() {
        let (load, mut notes) = (load(), NewsroomBook::default());
        let [send, remove, send_again, remove_again] =
            [1, 2, 3, 4].map(|step| operation(NewsroomOperationKind::Message, step));
        load.note(&mut notes, &send, &answer(200, &json!({ "id": "1$1.0.9" })));
        let first = MailAction::Remove(0, "1$1.0.9".to_owned());
        assert_eq!(load.mail(&remove), first);
        // The removal did not reach the server. Another message would be one too many in the inbox.
        load.note(&mut notes, &remove, &Err(CallTrouble::Unreachable(String::new())));
        assert_eq!((load.mail(&send_again), load.mail(&remove_again)), (MailAction::Look, first));
        load.note(&mut notes, &send_again, &answer(200, &json!({ "items": [] })));
        assert!(
            notes.is_possible(key(NewsroomThing::Message(0)), 1)
                && !notes.is_possible(key(NewsroomThing::Message(0)), 0)
        );
        // The outcome is unknown. The removal is requested again, and the message may be gone
        // already.
        load.note(&mut notes, &remove_again, &Err(CallTrouble::TimedOut));
        load.note(&mut notes, &remove_again, &refused("ObjectNotFound"));
        assert_eq!((load.mail(&remove), load.mail(&send_again)), (MailAction::Look, MailAction::Send(1)));
        assert!(notes.odd.is_empty(), "{:?}", notes.odd);
        load.note(&mut notes, &send_again, &answer(200, &json!({})));
        assert_eq!((notes.odd.len(), load.mail(&remove)), (1, MailAction::Look), "a reply of another shape is told");
        assert!(
            notes.is_possible(key(NewsroomThing::Message(1)), 1)
                && notes.is_possible(key(NewsroomThing::Message(1)), 0)
        );
    }

    #[test]
    fn a_refusal_must_be_right_and_of_the_right_code() {
        let (load, mut notes) = (load(), NewsroomBook::default());
        let (make, remove) = (operation(NewsroomOperationKind::Copy, 1), operation(NewsroomOperationKind::Copy, 2));
        assert!(matches!(load.note(&mut notes, &remove, &refused("ObjectNotFound")), OperationOutcome::Refused(_)));
        assert!(notes.odd.is_empty(), "there was none");
        load.note(&mut notes, &make, &answer(200, &json!({})));
        assert!(matches!(load.note(&mut notes, &make, &refused("DuplicatedName")), OperationOutcome::Refused(_)));
        for (operation, code) in [(&remove, "ObjectNotFound"), (&remove, "DuplicatedName"), (&make, "ObjectNotFound")] {
            let before = notes.odd.len();
            assert!(matches!(load.note(&mut notes, operation, &refused(code)), OperationOutcome::Failed(_)));
            assert_eq!(notes.odd.len(), before + 1, "{code}");
        }
        // A thing in doubt may have either value, which is no fault.
        load.note(&mut notes, &remove, &Err(CallTrouble::TimedOut));
        let before = notes.odd.len();
        load.note(&mut notes, &remove, &refused("ObjectNotFound"));
        assert_eq!(notes.odd.len(), before);
        assert!(notes.is_possible(key(NewsroomThing::Copy(0)), 0));
    }

    #[test]
    fn a_publication_counts_what_its_reply_reports_as_published() {
        let load = load();
        let (story, front) = (json!({ "source": "/Load/1/own-0.xml" }), json!({ "source": "1$1.0.7" }));
        for (items, headline, published) in [
            (vec![&story, &front], true, (1, 0)),
            (vec![&story], true, (0, 1)),
            (vec![&front], false, (1, 0)),
            (vec![], false, (0, 1)),
        ] {
            let mut notes = NewsroomBook::default();
            let reply = answer(200, &json!({ "items": items, "errors": [] }));
            let outcome = load.note(&mut notes, &operation(NewsroomOperationKind::Publish, 1), &reply);
            assert_eq!(outcome == OperationOutcome::Succeeded, items.len() == 2);
            assert_eq!((notes.published, notes.maybe_published), published, "{items:?}");
            assert_eq!(notes.is_possible(key(NewsroomThing::Headline), 0), !headline, "{items:?}");
            assert!(notes.is_possible(key(NewsroomThing::Headline), 1) && notes.odd.is_empty());
        }
        let mut notes = NewsroomBook::default();
        load.note(&mut notes, &operation(NewsroomOperationKind::Publish, 1), &answer(200, &json!({})));
        assert_eq!(notes.odd.len(), 1, "a reply of another shape is told");
    }

    #[test]
    fn each_read_is_held_against_what_its_client_knows() {
        let (mut load, mut notes) = (load(), NewsroomBook::default());
        load.office.liveblogs.push(crate::liveblog::wire::PostCalls::of("1$1.0.8", 400, 0));
        let posts = (1..)
            .map(|step| operation(NewsroomOperationKind::Read, step))
            .find(|read| NewsroomReadTarget::of(read) == NewsroomReadTarget::Posts)
            .unwrap();
        load.note(&mut notes, &posts, &answer(200, &json!({ "items": [] })));
        assert_eq!(notes.odd.len(), 2 * POSTS as usize, "{:?}", notes.odd);
        let mut notes = NewsroomBook::default();
        let overload = json!({ "items": [], "errors": [{ "source": "1$1.0.9", "code": "CMS.Overloaded" }] });
        let outcome = load.note(&mut notes, &posts, &answer(200, &overload));
        assert!(matches!(outcome, OperationOutcome::Overloaded(_)) && notes.odd.is_empty(), "{:?}", notes.odd);
        let story = (1..)
            .map(|step| operation(NewsroomOperationKind::Read, step))
            .find(|read| NewsroomReadTarget::of(read) == NewsroomReadTarget::Story)
            .unwrap();
        let text = |step| Ok(CallAnswer { status: 200, etag: None, body: office::text(0, step).into() });
        let mut notes = NewsroomBook::default();
        load.note(&mut notes, &story, &text(0));
        load.note(&mut notes, &operation(NewsroomOperationKind::Write, 1), &Err(CallTrouble::TimedOut));
        load.note(&mut notes, &story, &text(1));
        assert!(notes.odd.is_empty() && notes.certain() == 1, "what was in doubt is seen to have been done");
        load.note(&mut notes, &story, &text(0));
        assert_eq!(notes.odd.len(), 1, "and is not undone");
    }
}
