//! Clients at work on pairs of drawers of a real server, which is killed now and then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use super::choice;
use super::record::{Call, History, Recorder, is_linearizable, shrink};
use super::spec::{CAPACITIES, Named, OBJECTS, Op, Refusal, Reply, Shown};
use super::tell::told;
use crate::harness::*;

/// Pairs at work at once, so that the server is busy and commits are shared.
const PAIRS: usize = 6;
/// Who works on each pair.
const CLIENTS: usize = 4;
/// How many calls each of them makes.
const CALLS: usize = 8;

/// What is to be done.
pub struct Plan {
    pub seed: u64,
    pub rounds: usize,
    /// In one round out of so many the server is killed, twice.
    pub kills_every: Option<usize>,
    /// Of the server.
    pub settings: &'static [(&'static str, &'static str)],
}

/// What was done.
#[derive(Debug, Default)]
pub struct Summary {
    pub histories: usize,
    pub calls: usize,
    /// Calls during which another call on the same pair was asked or answered.
    pub overlapping: usize,
    /// Calls whose outcome is unknown.
    pub unknown: usize,
    pub kills: usize,
}

impl Summary {
    fn count(&mut self, history: &[Call]) {
        let unknown = history.iter().filter(|call| call.answered.is_none()).count();
        let next = |call: &&Call| call.answered.as_ref().is_some_and(|(end, _)| end.place == call.asked.place + 1);
        self.histories += 1;
        self.calls += history.len();
        self.unknown += unknown;
        self.overlapping += history.len() - history.iter().filter(next).count();
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { histories, calls, overlapping, unknown, kills } = self;
        write!(
            f,
            "{histories} histories: {calls} calls, {overlapping} of them while others were under way, {unknown} with an \
             unknown outcome, {kills} kills and restarts"
        )
    }
}

/// A pair of drawers with its history.
struct Pair {
    drawers: [String; 2],
    recorder: Recorder,
}

/// Where the server is, for clients that have lost it.
struct Whereabouts {
    /// How often it has been started, and how to speak to it.
    now: Mutex<(usize, Client)>,
    moved: Condvar,
}

impl Whereabouts {
    fn of(server: &Server, client: &Client) -> Whereabouts {
        Whereabouts { now: Mutex::new((0, client.to(server))), moved: Condvar::new() }
    }

    fn moved_to(&self, server: &Server) {
        let now = &mut *self.now.lock();
        *now = (now.0 + 1, now.1.to(server));
        self.moved.notify_all();
    }

    /// Waits until it has been started more often than `known` times.
    fn after(&self, known: usize) -> (usize, Client) {
        let (begun, mut now) = (Instant::now(), self.now.lock());
        while now.0 <= known {
            self.moved.wait_for(&mut now, PATIENCE);
            assert!(begun.elapsed() < PATIENCE, "the server does not come back");
        }
        now.clone()
    }
}

/// Runs the plan. An error is the story of a history that nothing explains.
pub fn run(plan: &Plan) -> Result<Summary, String> {
    // Checkpoints fall into the rounds, and containers come and go.
    let often = [("STORE__CHECKPOINT_ROWS", "300"), ("RUNTIME__IDLE_SECONDS", "1"), ("RUNTIME__SWEEP_SECONDS", "1")];
    let settings: Vec<_> = often.iter().chain(plan.settings).copied().collect();
    let mut server = Server::with(&settings);
    let mut client = server.login("editor");
    let top = own_folder();
    let objects: Vec<String> = (0..OBJECTS).map(|number| client.story(&top, &format!("{number}.xml"))).collect();
    let (mut summary, mut shortcuts) = (Summary::default(), BTreeMap::new());
    for round in 0..plan.rounds {
        let pairs: Vec<Pair> = (0..PAIRS)
            .map(|pair| {
                let drawer =
                    |number: usize| client.drawer(&top, &format!("{round}-{pair}-{number}"), CAPACITIES[number] as u32);
                Pair { drawers: [drawer(0), drawer(1)], recorder: Recorder::new() }
            })
            .collect();
        let kills = plan.kills_every.filter(|every| round % every == every - 1).map_or(0, |_| 2);
        let chance = |words: &[u64]| Dice::of(&[&[plan.seed, round as u64], words].concat());
        server = work(server, &client, &pairs, &objects, kills, chance);
        client = client.to(&server);
        summary.kills += kills;
        for (number, pair) in pairs.into_iter().enumerate() {
            // What is left is read when all is over: it must be explained, too.
            for drawer in 0..2 {
                ask(&pair, &objects, &client, CLIENTS, &Op::Read(drawer)).expect("the server is up");
            }
            let history = pair.recorder.history();
            summary.count(&history);
            // A shortcut stands for one object in one drawer, for all time.
            for call in &history {
                for item in call.answered.iter().flat_map(|(_, reply)| reply.shown()) {
                    let of = (round, number, call.op.drawer(), item.object);
                    let first = *shortcuts.entry(item.shortcut).or_insert(of);
                    assert_eq!(of, first, "the shortcut {} was given twice", item.shortcut);
                }
            }
            judge(&history, &format!("STET_HISTORY_SEED={} round {round} pair {number}", plan.seed))?;
        }
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    // A fault on purpose may have damaged what is there; that is not what is looked for.
    assert!(code == Some(0) || !plan.settings.is_empty(), "{output}");
    Ok(summary)
}

fn judge(history: &History, which: &str) -> Result<(), String> {
    if is_linearizable(history) {
        return Ok(());
    }
    let least = shrink(history);
    Err(format!("no order of these calls explains their answers ({which}):\n{}", told(&least)))
}

/// All clients of all pairs make their calls, while the server is killed so many times; gives the server as it is then.
fn work(
    mut server: Server,
    client: &Client,
    pairs: &[Pair],
    objects: &[String],
    kills: usize,
    chance: impl Fn(&[u64]) -> Dice + Sync,
) -> Server {
    let whereabouts = Whereabouts::of(&server, client);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (pair_number, pair) in pairs.iter().enumerate() {
            for number in 0..CLIENTS {
                let (whereabouts, done, chance) = (&whereabouts, &done, &chance);
                threads.push(scope.spawn(move || {
                    let mut dice = chance(&[pair_number as u64, number as u64]);
                    let (mut started, client) = whereabouts.now.lock().clone();
                    // Connections of its own.
                    let mut client = client.afresh();
                    let mut shortcuts = choice::Known::default();
                    for _ in 0..CALLS {
                        let op = choice::op(&mut dice, &shortcuts);
                        match ask(pair, objects, &client, number, &op) {
                            Some(reply) => shortcuts.learn(&op, &reply),
                            None => {
                                (started, client) = whereabouts.after(started);
                                client = client.afresh();
                            }
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
        }
        let mut dice = chance(&[u64::MAX]);
        let all = PAIRS * CLIENTS * CALLS;
        for kill in 0..kills {
            // Somewhere in the first half, then somewhere in the second.
            let enough = all * kill / kills + dice.roll(all / kills);
            wait_until("the clients get on", || {
                done.load(Ordering::Relaxed) >= enough || threads.iter().all(|thread| thread.is_finished())
            });
            server.kill();
            server = server.restart();
            whereabouts.moved_to(&server);
        }
        threads.into_iter().for_each(|thread| thread.join().expect("a client must not fail"));
        server
    })
}

/// Makes a call and notes it with its answer; `None` when none came.
fn ask(pair: &Pair, objects: &[String], client: &Client, number: usize, op: &Op) -> Option<Reply> {
    let (method, path, body) = request(pair, objects, op);
    let headers: &[(&str, &str)] = if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
    let call = pair.recorder.asks(number, op.clone());
    let answer = client.try_send(method, &path, headers, body.as_bytes()).ok()?;
    let reply = understood(&answer, objects, op);
    pair.recorder.is_answered(call, reply.clone());
    Some(reply)
}

fn request(pair: &Pair, objects: &[String], op: &Op) -> (&'static str, String, String) {
    let drawer = |number: usize| format!("/v3/container/drawer/{}", encoded(&pair.drawers[number]));
    let object = |object: usize| encoded(&objects[object]);
    let item = |item: &Named| item.shortcut.map_or_else(|| object(item.object), |shortcut| shortcut.to_string());
    let empty = String::new();
    match op {
        Op::Add(at, added) => ("POST", format!("{}/item/{}", drawer(*at), object(*added)), empty),
        Op::AddAll(at, all) => {
            let sources: Vec<&String> = all.iter().map(|object| &objects[*object]).collect();
            ("POST", format!("{}/item", drawer(*at)), json!({ "sources": sources }).to_string())
        }
        Op::Place(at, put, position) => {
            ("PUT", format!("{}/item/{}/position/{position}", drawer(*at), object(*put)), empty)
        }
        Op::Shift(at, named, position) => {
            ("PUT", format!("{}/shortcut/{}/position/{position}", drawer(*at), item(named)), empty)
        }
        Op::Delete(at, named) => ("DELETE", format!("{}/item/{}", drawer(*at), item(named)), empty),
        Op::Clear(at) => ("PUT", format!("{}/item/clear", drawer(*at)), empty),
        Op::Move { from, item: named } => {
            let target = encoded(&pair.drawers[1 - from]);
            ("PUT", format!("{}/item/{}/move/{target}", drawer(*from), item(named)), empty)
        }
        Op::Read(at) => ("GET", format!("{}?showItems=true", drawer(*at)), empty),
    }
}

fn understood(answer: &Answer, objects: &[String], op: &Op) -> Reply {
    if answer.status != 200 {
        let code = answer.json()["result"]["code"].take();
        return Reply::Refused(match (answer.status, code.as_str()) {
            (409, Some("CMS.DrawerFull")) => Refusal::DrawerFull,
            (404, Some("CMS.ObjectNotFound")) => Refusal::ObjectNotFound,
            (400, Some("CMS.InvalidParameter")) => Refusal::InvalidParameter,
            _ => panic!("{op}: {} {}", answer.status, String::from_utf8_lossy(&answer.body)),
        });
    }
    let reply = answer.ok();
    let number = |value: &Value| value.as_u64().expect("it is a number") as usize;
    let count = number(&reply["info"]["count"]);
    let shown = |item: &Value| {
        let object = objects.iter().position(|known| item["source"] == known.as_str());
        let shortcut = item["id"].as_str().expect("an item has an id").parse();
        Shown {
            at: number(&item["position"]),
            object: object.expect("only these were put into it"),
            shortcut: shortcut.expect("a shortcut is a number"),
        }
    };
    let items: Vec<Shown> = reply["items"].as_array().expect("a drawer has items").iter().map(shown).collect();
    match op {
        Op::Move { .. } => Reply::Moved,
        Op::Read(_) => {
            assert_eq!(items.len(), count, "the reply does not agree with itself: {reply}");
            Reply::List(items)
        }
        _ => Reply::Changed { count, items },
    }
}
