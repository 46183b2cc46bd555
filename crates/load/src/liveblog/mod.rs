//! Load on one liveblog: reporters that post and edit, producers that moderate and remove, readers
//! that poll and list, and followers that receive all events.

use hyper::Method;
use serde_json::json;

use super::client::{Call, CallAnswer, CallTrouble, Connection};
use super::delivery::Delivery;
use super::desk::Desk;
use super::followers::audience::Audience;
use super::followers::board::CallTimes;
use super::followers::files;
use super::followers::heard::ReceivedEvents;
use super::options::{LoadSettings, mix_in_words};
use super::scenario::{LoadVerdict, OperationOutcome, Scenario};

mod book;
mod evidence;
pub(super) mod model;
mod notes;
pub(super) mod options;
mod order;
mod plan;
mod prepare;
mod reads;
mod replay;
#[cfg(test)]
mod story;
mod verify;
pub(super) mod wire;

use self::book::PostBook;
use self::evidence::LiveblogEvidence;
use self::notes::LiveblogNotes;
use self::options::LiveblogSettings;
use self::plan::{DEFAULT_MIX, KINDS, LiveblogAction, LiveblogOperation, LiveblogPlan, LiveblogRecipe, PostTarget};
use self::wire::{NEWEST, PostCalls};

/// The codes of a liveblog's own refusals: the post does not exist.
const RULES: &[&str] = &["ObjectNotFound"];
/// The id of a post that was never created.
const NOWHERE: &str = "never-made";

/// The scenario of many clients on one liveblog.
pub struct LiveblogLoad {
    settings: LiveblogSettings,
    weights: Vec<u32>,
    recipe: LiveblogRecipe,
    clients: u32,
    patience: std::time::Duration,
    forms: PostCalls,
    book: PostBook,
    /// The liveblog's revision before the load.
    before: u64,
    /// The reason why revisions are unreliable; `None` if they are reliable.
    uncounted: Option<String>,
    audience: Audience,
}

impl LiveblogLoad {
    /// Creates the scenario from checked settings.
    ///
    /// # Errors
    /// A sentence that names the impossible setting.
    pub fn new(settings: &LoadSettings) -> Result<LiveblogLoad, String> {
        let own = settings.liveblog.clone();
        let weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        // At most 20,000, as checked.
        let clients = u32::try_from(settings.clients()).unwrap_or(u32::MAX);
        let recipe = LiveblogRecipe::new(settings.seed, &weights, clients, own.attachment_bytes > 0)?;
        files::make_room(u64::from(clients) + u64::from(own.followers))?;
        Ok(LiveblogLoad {
            settings: own,
            weights,
            recipe,
            clients,
            patience: settings.patience(),
            forms: PostCalls::default(),
            book: PostBook::default(),
            before: 0,
            uncounted: None,
            audience: Audience::none(),
        })
    }

    /// Returns the post of an operation, and its loid if known.
    fn target(&self, operation: &LiveblogOperation, target: PostTarget) -> (model::PostId, Option<Box<str>>) {
        let target = match operation.own {
            // Without an order of changes, the state of a post that two clients have moderated
            // would be unknown.
            Some(own) if self.uncounted.is_some() => PostTarget::The(own),
            _ => target,
        };
        self.book.find(operation, target)
    }
}

impl Scenario for LiveblogLoad {
    type Operation = LiveblogOperation;
    type Notes = LiveblogNotes;
    const NAME: &'static str = "liveblog";
    const KINDS: &'static [&'static str] = KINDS;
    const RULES: &'static str = "the liveblog";

    async fn prepare(&mut self, desk: &mut Desk) -> Result<(), String> {
        desk.make_folder().await?;
        let body = json!({ "name": "liveblog", "folderPath": desk.folder });
        let made = desk.call(&Call::json(Method::POST, "/v3/container/liveblog/from/template", &body)).await;
        let (reply, _) = made.map_err(|why| format!("a liveblog can't be created in {}: {why}", desk.folder))?;
        let id = reply["info"]["id"].as_str().ok_or("a new liveblog has no `id` in the reply")?;
        self.forms = PostCalls::of(id, self.settings.text_bytes, self.settings.attachment_bytes);
        self.try_out(desk).await?;
        self.book = PostBook::new(self.clients, self.before);
        let count = self.settings.followers;
        if count > 0
            && let Some(why) = &self.uncounted
        {
            return Err(format!("the events of `followers` can't be verified: {why}; use --followers 0"));
        }
        let (path, threads) = (self.forms.events(), self.settings.follower_threads());
        self.audience = Audience::start(desk, path, count, threads, self.before).await?;
        Ok(())
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = LiveblogOperation> + Send + 'static {
        // A u32 can count all clients.
        let plan: LiveblogPlan = self.recipe.plan(u32::try_from(client).unwrap_or(u32::MAX));
        plan
    }

    fn kind(operation: &LiveblogOperation) -> usize {
        operation.kind() as usize
    }

    async fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &LiveblogOperation,
    ) -> Result<CallAnswer, CallTrouble> {
        let client = operation.client;
        let call = match operation.deed {
            LiveblogAction::Poll => self.forms.poll(self.book.asked(client).since),
            LiveblogAction::List => self.forms.list(0, NEWEST),
            LiveblogAction::Change(target, change) => {
                let (post, id) = self.target(operation, target);
                let known = id.is_some();
                self.book.ask(client, |asked| (asked.post, asked.known) = (Some(post), known));
                self.forms.change(post, change, id.as_deref().unwrap_or(NOWHERE))
            }
        };
        let sent = self.audience.now();
        let answered = connection.send(&call).await;
        let now = self.audience.now();
        self.book.ask(client, |asked| (asked.sent, asked.answered) = (sent, now));
        answered
    }

    fn note(
        &self,
        notes: &mut LiveblogNotes,
        operation: &LiveblogOperation,
        answered: &Result<CallAnswer, CallTrouble>,
    ) -> OperationOutcome {
        let outcome = OperationOutcome::of(answered, RULES);
        let asked = self.book.asked(operation.client);
        let understood = match (operation.deed, answered) {
            (LiveblogAction::Poll, Ok(answer)) if answer.is_success() => notes.polled(self, operation.client, answer),
            (LiveblogAction::List, Ok(answer)) if answer.is_success() => notes.listed(self, answer),
            (LiveblogAction::Poll | LiveblogAction::List, _) => true,
            (LiveblogAction::Change(_, change), answered) => {
                // `carry_out` has just set it.
                let Some(post) = asked.post else { return outcome };
                let noted = notes.changed(self, post, change, &asked, answered, &outcome);
                if let Some(revision) = noted.revision {
                    self.audience.made(revision, CallTimes { sent: asked.sent, answered: asked.answered });
                }
                noted.understood
            }
        };
        if understood { outcome } else { OperationOutcome::Failed("no such reply".to_owned()) }
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<LiveblogNotes>) -> LoadVerdict {
        let mut evidence = LiveblogEvidence {
            before: self.before,
            counted: self.uncounted.is_none(),
            known: self.book.known().collect(),
            ..LiveblogEvidence::default()
        };
        for notes in notes {
            notes.join(&mut evidence);
        }
        match prepare::end(self, desk, !evidence.doubts.is_empty()).await {
            Ok(end) => evidence.end = end,
            Err(why) => return LoadVerdict::unread("The liveblog", &why),
        }
        match self.audience.end(evidence.end.revision, self.patience).await {
            Err(why) => LoadVerdict::unread("What followers heard", &why),
            Ok(None) => verify::verdict(&evidence, None, self.uncounted.as_deref()),
            Ok(Some((summary, followed))) => {
                let verdict = verify::verdict(&evidence, Some(&ReceivedEvents::of(&summary, &followed)), None);
                self.audience.keep(Delivery::of(summary, followed));
                verdict
            }
        }
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let own = &self.settings;
        let pairs = [
            ("followers", own.followers.to_string()),
            ("follower threads", own.follower_threads().to_string()),
            ("text", format!("{} bytes", own.text_bytes)),
            ("attachments", format!("{} bytes, one post in ten", own.attachment_bytes)),
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
