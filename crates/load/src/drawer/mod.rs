//! Contention on drawers: many clients that add, position, shift, move, delete and read items of
//! the same few drawers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hyper::Method;
use parking_lot::RwLock;
use serde_json::json;

use super::client::{Call, CallAnswer, CallTrouble, Connection};
use super::desk::{Desk, encode_segment};
use super::figures::format_count;
use super::options::{LoadSettings, mix_in_words};
use super::replay::evidence::{
    AcknowledgedChange, ContainerRead, ContainerSpan, DoubtfulCall, ReplayEvidence, UNREPORTED,
};
use super::replay::ledger::{EvidenceCounts, Ledger};
use super::replay::print;
use super::scenario::{LoadVerdict, OperationOutcome, Scenario};

mod membership;
pub(super) mod model;
pub(super) mod options;
pub(super) mod plan;
#[cfg(test)]
mod tests;
mod verify;
pub(super) mod wire;

use self::model::{DrawerChange, DrawerModel};
use self::options::DrawerSettings;
use self::plan::{DEFAULT_MIX, DrawerOperation, DrawerOperationKind, DrawerPlan, DrawerRecipe, KINDS};
use self::wire::{DrawerLoadReply, Paths};

/// The codes of a drawer's own refusals (docs/api/drawers.md): full, missing, no such position.
const RULES: &[&str] = &["DrawerFull", "ObjectNotFound", "InvalidParameter"];
/// The number of an object that is not of the load.
const FOREIGN: u32 = u32::MAX;

/// The scenario of contention on drawers.
pub struct DrawerLoad {
    settings: DrawerSettings,
    weights: Vec<u32>,
    recipe: DrawerRecipe,
    paths: Paths,
    /// The number of each object, by loid.
    objects: HashMap<String, u32>,
    /// The ledger of each drawer, with its acknowledged changes and reads.
    ledgers: Vec<Ledger<DrawerModel>>,
    /// The longest time between the sending of a call and its end.
    longest: Duration,
    /// The last reported shortcut, by drawer and object.
    shortcuts: Vec<Vec<RwLock<Option<Box<str>>>>>,
    /// The reason why revisions are unreliable; `None` if they are reliable.
    unreliable: Option<String>,
}

/// The items and revision of a drawer at one time.
struct DrawerSnapshot {
    items: Vec<u32>,
    revision: Option<u64>,
}

/// The doubtful calls of a client; acknowledged ones are in the ledgers.
#[derive(Default)]
pub struct DrawerNotes {
    doubts: Vec<DoubtfulCall<DrawerChange>>,
}

/// A change of a drawer, and for a move also the change of the other drawer.
type MoveHalves = ((u16, DrawerChange), Option<(u16, DrawerChange)>);

impl DrawerLoad {
    /// Creates the scenario from checked settings.
    ///
    /// # Errors
    /// A sentence that names the impossible setting.
    pub fn new(settings: &LoadSettings) -> Result<DrawerLoad, String> {
        let own = &settings.drawer;
        let mut weights = match &settings.mix {
            Some(mix) => mix.weights(KINDS)?,
            None => DEFAULT_MIX.to_vec(),
        };
        let moves = &mut weights[DrawerOperationKind::Move as usize];
        if own.drawers == 1 && *moves > 0 {
            if settings.mix.is_some() {
                return Err("`mix` has moves, which need at least two `drawers`".to_owned());
            }
            *moves = 0;
        }
        let recipe = DrawerRecipe::new(settings.seed, &weights, own.drawers, own.skew, own.objects(), own.capacity)?;
        let (paths, objects, ledgers) = (Paths::default(), HashMap::new(), Vec::new());
        // A connection is opened, then the call is sent: each within its timeout. The rest is for a
        // busy machine.
        let longest = settings.patience() * 3 + Duration::from_secs(1);
        let shortcuts = (0..own.drawers).map(|_| (0..own.objects()).map(|_| RwLock::new(None)).collect()).collect();
        let own = own.clone();
        Ok(DrawerLoad { settings: own, weights, recipe, paths, objects, ledgers, longest, shortcuts, unreliable: None })
    }

    /// Notes a call of unknown outcome. Its drawers keep everything from now on.
    fn doubt(&self, notes: &mut DrawerNotes, halves: Option<MoveHalves>) {
        let Some((here, there)) = halves else { return };
        for (drawer, _) in [Some(here), there].into_iter().flatten() {
            self.ledgers[usize::from(drawer)].keep();
        }
        notes.doubts.push(DoubtfulCall { there, ..DoubtfulCall::of(here.0, here.1) });
    }

    /// Returns the number of an object by its loid.
    fn number(&self, loid: &str) -> u32 {
        self.objects.get(loid).copied().unwrap_or(FOREIGN)
    }

    /// Stores the shortcuts of a reply.
    fn learn(&self, drawer: u16, reply: &DrawerLoadReply<'_>) {
        for item in &reply.items {
            let Some(shortcut) = self.shortcuts[usize::from(drawer)].get(self.number(&item.source) as usize) else {
                continue;
            };
            if !item.id.is_empty() && shortcut.read().as_deref() != Some(&*item.id) {
                *shortcut.write() = Some(item.id.as_ref().into());
            }
        }
    }

    /// Reads a drawer with its items.
    async fn look(&self, desk: &mut Desk, drawer: usize) -> Result<DrawerSnapshot, String> {
        let path = format!("/v3/container/drawer/{}?showItems=true", self.paths.drawers[drawer]);
        let (_, answer) = desk.call(&Call::new(Method::GET, path)).await?;
        let reply = wire::reply(&answer).ok_or("the drawer's reply does not have the documented form")?;
        let items = reply.items.iter().map(|item| self.number(&item.source)).collect();
        Ok(DrawerSnapshot { items, revision: wire::revision(&answer, Some(&reply)) })
    }

    /// Tries with one object whether each change raises a drawer's revision by one and reports it.
    /// Returns the reason if not.
    async fn try_revisions(&self, desk: &mut Desk) -> Result<Option<String>, String> {
        let one =
            |kind| DrawerOperation { kind, drawer: 0, target: 1, object: self.settings.objects() - 1, position: 0 };
        let Some(mut last) = self.look(desk, 0).await?.revision else {
            return Ok(Some("its replies carry no revision".to_owned()));
        };
        for (kind, step) in
            [(DrawerOperationKind::Add, 1), (DrawerOperationKind::Add, 0), (DrawerOperationKind::Delete, 1)]
        {
            let (_, answer) = desk.call(&self.paths.call(&one(kind), None)).await?;
            if wire::revision(&answer, wire::reply(&answer).as_ref()) != Some(last + step) {
                return Ok(Some("its revision does not rise by one with each change".to_owned()));
            }
            last += step;
        }
        if self.weights[DrawerOperationKind::Move as usize] > 0 {
            desk.call(&self.paths.call(&one(DrawerOperationKind::Add), None)).await?;
            let (_, answer) = desk.call(&self.paths.call(&one(DrawerOperationKind::Move), None)).await?;
            let acked = wire::reply(&answer).and_then(|reply| reply.revisions);
            desk.call(&self.paths.call(&DrawerOperation { drawer: 1, ..one(DrawerOperationKind::Delete) }, None))
                .await?;
            if acked.is_none_or(|acked| acked.source != last + 2) {
                return Ok(Some("the reply to a move does not contain both drawers' revisions".to_owned()));
            }
        }
        Ok(None)
    }
}

impl Scenario for DrawerLoad {
    type Operation = DrawerOperation;
    type Notes = DrawerNotes;
    const NAME: &'static str = "drawer";
    const KINDS: &'static [&'static str] = KINDS;
    const RULES: &'static str = "the drawers";

    async fn prepare(&mut self, desk: &mut Desk) -> Result<(), String> {
        desk.make_folder().await?;
        let objects = desk.make_stories(self.settings.objects() as usize).await?;
        let mut drawers = Vec::new();
        for number in 0..self.settings.drawers {
            let body = json!({ "name": format!("drawer-{number}"), "folderPath": desk.folder,
                "capacity": self.settings.capacity });
            let made = desk.call(&Call::json(Method::POST, "/v3/container/drawer", &body)).await;
            let (reply, _) = made.map_err(|why| format!("a drawer can't be created in {}: {why}", desk.folder))?;
            drawers.push(reply["info"]["id"].as_str().ok_or("a new drawer has no `id` in the reply")?.to_owned());
        }
        self.paths = Paths::of(&drawers, &objects);
        self.objects = objects.iter().zip(0..).map(|(loid, number)| (loid.clone(), number)).collect();
        self.unreliable = self.try_revisions(desk).await.map_err(|why| format!("a drawer can't be used: {why}"))?;
        for (number, drawer) in drawers.iter().enumerate() {
            if self.settings.fill() > 0 {
                // Each drawer begins elsewhere in the pool, so that no object is in all drawers or
                // in none.
                let from = number * self.settings.fill() as usize;
                let pool = objects.iter().cycle().skip(from % objects.len());
                let sources: Vec<_> = pool.take(self.settings.fill() as usize).collect();
                let path = format!("/v3/container/drawer/{}/item", encode_segment(drawer));
                let filled = desk.call(&Call::json(Method::POST, &path, &json!({ "sources": sources }))).await;
                filled.map_err(|why| format!("a drawer can't be filled: {why}"))?;
            }
            let before = self.look(desk, number).await.map_err(|why| format!("a drawer can't be read: {why}"))?;
            let model = DrawerModel::new(before.items, self.settings.capacity as usize);
            let ledger = Ledger::new(model, before.revision.unwrap_or(0), self.longest);
            if before.revision.is_none() {
                self.unreliable.get_or_insert_with(|| "its replies carry no revision".to_owned());
            }
            if self.unreliable.is_some() {
                ledger.keep();
            }
            self.ledgers.push(ledger);
        }
        Ok(())
    }

    fn plan(&self, client: usize) -> impl Iterator<Item = DrawerOperation> + Send + 'static {
        let plan: DrawerPlan = self.recipe.plan(client);
        plan
    }

    fn kind(operation: &DrawerOperation) -> usize {
        operation.kind as usize
    }

    async fn carry_out(
        &self,
        connection: &mut Connection,
        operation: &DrawerOperation,
    ) -> Result<CallAnswer, CallTrouble> {
        let call = if operation.kind == DrawerOperationKind::Shift {
            let shortcut = &self.shortcuts[usize::from(operation.drawer)][operation.object as usize];
            self.paths.call(operation, shortcut.read().as_deref())
        } else {
            self.paths.call(operation, None)
        };
        connection.send(&call).await
    }

    fn note(
        &self,
        notes: &mut DrawerNotes,
        operation: &DrawerOperation,
        answered: &Result<CallAnswer, CallTrouble>,
    ) -> OperationOutcome {
        let outcome = OperationOutcome::of(answered, RULES);
        let DrawerOperation { kind, drawer, target, object, position } = *operation;
        let halves = match DrawerChange::of(kind, object, position) {
            Some(change) => Some(((drawer, change), None)),
            None if kind == DrawerOperationKind::Move => {
                Some(((drawer, DrawerChange::Leave(object)), Some((target, DrawerChange::Arrive(object)))))
            }
            None => None,
        };
        let answer = match answered {
            Ok(answer) if answer.is_success() => answer,
            // Refused before it had any effect, so its outcome is certain.
            Ok(answer) if answer.is_refusal() => return outcome,
            Err(CallTrouble::Unreachable(_)) => return outcome,
            // The outcome is unknown.
            _ => {
                self.doubt(notes, halves);
                return outcome;
            }
        };
        let Some(reply) = wire::reply(answer) else {
            self.doubt(notes, halves);
            return OperationOutcome::Failed("no such reply".to_owned());
        };
        let revision = wire::revision(answer, Some(&reply));
        match halves {
            None => {
                self.learn(drawer, &reply);
                if let Some(revision) = revision {
                    let print = print(reply.items.iter().map(|item| u64::from(self.number(&item.source))));
                    self.ledgers[usize::from(drawer)].seen(ContainerRead { container: drawer, revision, print });
                }
            }
            Some(((drawer, change), None)) => {
                if kind != DrawerOperationKind::Delete {
                    self.learn(drawer, &reply);
                }
                let place = reply.items.first().and_then(|item| item.position).unwrap_or(UNREPORTED);
                let count = reply.info.count.unwrap_or(UNREPORTED);
                let ack = AcknowledgedChange { change, container: drawer, revision, after: 0, place, count };
                self.ledgers[usize::from(drawer)].acked(ack);
            }
            Some((here, Some(there))) => {
                self.learn(target, &reply);
                // The reply shows the target's present state; only the revisions are those of the
                // move.
                for ((drawer, change), revision) in [
                    (here, reply.revisions.map(|revisions| revisions.source)),
                    (there, reply.revisions.map(|revisions| revisions.target)),
                ] {
                    let (place, count) = (UNREPORTED, UNREPORTED);
                    let ack = AcknowledgedChange { change, container: drawer, revision, after: 0, place, count };
                    self.ledgers[usize::from(drawer)].acked(ack);
                }
            }
        }
        outcome
    }

    fn tidy(&self) {
        let now = Instant::now();
        self.ledgers.iter().for_each(|ledger| ledger.fold(now));
    }

    async fn verify(&self, desk: &mut Desk, notes: Vec<DrawerNotes>) -> LoadVerdict {
        let mut evidence = ReplayEvidence::<DrawerModel>::default();
        notes.into_iter().for_each(|notes| evidence.doubts.extend(notes.doubts));
        let after = match verify::read_settled(self, desk, !evidence.doubts.is_empty()).await {
            Ok(after) => after,
            Err(why) => return LoadVerdict::unread("The drawers", &why),
        };
        let mut told = EvidenceCounts::default();
        for (ledger, after) in self.ledgers.iter().zip(after) {
            let rest = ledger.take();
            let revisions = after.revision.map(|last| (rest.revision, last));
            evidence.containers.push(ContainerSpan { initial: rest.paper, held: after.items, revisions });
            evidence.acked.extend(rest.acked);
            evidence.seen.extend(rest.seen);
            told.add(rest.counts);
        }
        verify::verdict(&evidence, told, self.settings.objects(), self.unreliable.as_deref())
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let own = &self.settings;
        let pairs = [
            ("drawers", own.drawers.to_string()),
            ("skew (Zipf exponent)", own.skew.to_string()),
            ("capacity", format_count(own.capacity.into(), "item", "items")),
            ("filled with", format_count(own.fill().into(), "item each", "items each")),
            ("objects", own.objects().to_string()),
            ("mix", mix_in_words(KINDS, &self.weights)),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
