//! Clients at work on things of a real server, which is killed now and then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::record::{Call, Recorder, Whiteboard, is_explained, shrink};
use super::tell::told;
use crate::harness::*;

/// Things worked on at once, so that the server is busy and commits are shared.
const AT_ONCE: usize = 6;
/// The number of clients that work on each thing.
pub const CLIENTS: usize = 4;
/// The number of calls of each client.
pub const CALLS: usize = 8;

/// A kind of thing whose histories are recorded.
pub trait Subject: Sized + Send + Sync {
    type Board: Whiteboard;
    /// Data that all histories of a run share.
    type Room: Sync;
    /// The memory of a client.
    type Known: Default;
    /// The user of each client; each client has a session of its own.
    const USERS: [&'static str; CLIENTS];
    /// Settings of the server.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[];

    fn room(client: &Client, folder: &str) -> Self::Room;
    /// Makes a new one.
    fn make(client: &Client, folder: &str, name: &str) -> Self;
    /// A call that makes sense in some state, not always in the present one.
    fn choose(client: usize, dice: &mut Dice, known: &mut Self::Known) -> Op<Self>;
    /// Takes note of an answer.
    fn learn(_known: &mut Self::Known, _op: &Op<Self>, _reply: &Reply<Self>) {}
    /// Sends the call; an error if no answer came.
    fn send(&self, room: &Self::Room, client: &Client, op: &Op<Self>) -> Result<Answer, String>;
    fn understood(&self, room: &Self::Room, op: &Op<Self>, answer: &Answer) -> Reply<Self>;
    /// Returns a second reading that the answer to a change contains, made some time after the
    /// change.
    fn shown_beside(&self, _op: &Op<Self>, _answer: &Answer) -> Option<(Op<Self>, Reply<Self>)> {
        None
    }
    /// Returns the reads of the first client's session at the end.
    fn last_looks() -> Vec<Op<Self>>;
    /// Asserts conditions beyond one history. `which` is the round, and the thing in it.
    fn inspect(_room: &mut Self::Room, _which: (usize, usize), _history: &[Call<Self::Board>]) {}
}

pub type Op<S> = <<S as Subject>::Board as Whiteboard>::Op;
pub type Reply<S> = <<S as Subject>::Board as Whiteboard>::Reply;

/// The parameters of a run.
pub struct Plan {
    pub seed: u64,
    pub rounds: usize,
    /// The interval of rounds in which the server is killed, twice each time.
    pub kills_every: Option<usize>,
    /// Settings of the server.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The counts of a run.
#[derive(Debug, Default)]
pub struct Summary {
    pub histories: usize,
    pub calls: usize,
    /// Calls during which another call on the same thing was asked or answered.
    pub overlapping: usize,
    /// Calls whose outcome is unknown.
    pub unknown: usize,
    /// Histories that take the checker too long.
    pub undecided: usize,
    pub kills: usize,
}

impl Summary {
    fn count<W: Whiteboard>(&mut self, history: &[Call<W>]) {
        let unknown = history.iter().filter(|call| call.answered.is_none()).count();
        let next = |call: &&Call<W>| call.answered.as_ref().is_some_and(|(end, _)| end.place == call.asked.place + 1);
        self.histories += 1;
        self.calls += history.len();
        self.unknown += unknown;
        self.overlapping += history.len() - history.iter().filter(next).count();
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { histories, calls, overlapping, unknown, undecided, kills } = self;
        write!(
            f,
            "{histories} histories, {undecided} undecided: {calls} calls, {overlapping} of them while others were under \
             way, {unknown} with an unknown outcome, {kills} kills and restarts"
        )
    }
}

/// The address of the server, for clients that have lost it.
struct Whereabouts {
    /// The number of restarts, and the address.
    now: Mutex<(usize, String)>,
    moved: Condvar,
}

impl Whereabouts {
    fn of(server: &Server) -> Whereabouts {
        Whereabouts { now: Mutex::new((0, server.base.clone())), moved: Condvar::new() }
    }

    fn moved_to(&self, server: &Server) {
        let now = &mut *self.now.lock();
        *now = (now.0 + 1, server.base.clone());
        self.moved.notify_all();
    }

    /// Waits until it has been started more often than `known` times.
    fn after(&self, known: usize) -> (usize, String) {
        let (begun, mut now) = (Instant::now(), self.now.lock());
        while now.0 <= known {
            self.moved.wait_for(&mut now, PATIENCE);
            assert!(begun.elapsed() < PATIENCE, "the server does not come back");
        }
        now.clone()
    }
}

/// Data that all clients of a run share.
struct Work<'a, S: Subject> {
    room: &'a S::Room,
    /// The things, each with its history.
    things: &'a [(S, Recorder<S::Board>)],
    /// The clients' tokens.
    tokens: &'a [String],
}

/// Runs the plan. An error is the story of a history that nothing explains.
pub fn run<S: Subject>(plan: &Plan) -> Result<Summary, String> {
    // Checkpoints fall into the rounds, and containers come and go.
    let often = [("STORE__CHECKPOINT_ROWS", "300"), ("RUNTIME__IDLE_SECONDS", "1"), ("RUNTIME__SWEEP_SECONDS", "1")];
    let settings: Vec<_> = often.iter().chain(S::SETTINGS).chain(plan.settings).copied().collect();
    let mut server = Server::with(&settings);
    let tokens = S::USERS.map(|user| server.login(user).token.expect("a login gives a token"));
    let top = own_folder();
    let mut room = S::room(&Client::at(&server.base, Some(tokens[0].clone())), &top);
    let mut summary = Summary::default();
    for round in 0..plan.rounds {
        let client = Client::at(&server.base, Some(tokens[0].clone()));
        let things: Vec<_> = (0..AT_ONCE)
            .map(|number| (S::make(&client, &top, &format!("{round}-{number}")), Recorder::new()))
            .collect();
        let kills = plan.kills_every.filter(|every| round % every == every - 1).map_or(0, |_| 2);
        let chance = |words: &[u64]| Dice::of(&[&[plan.seed, round as u64], words].concat());
        let work = Work { room: &room, things: &things, tokens: &tokens };
        server = work.go_on(server, kills, chance);
        summary.kills += kills;
        // The final state is read at the end. It must be explained, too.
        let client = Client::at(&server.base, Some(tokens[0].clone()));
        for number in 0..AT_ONCE {
            for op in S::last_looks() {
                let work = Work { room: &room, things: &things, tokens: &tokens };
                work.ask(number, &client, CLIENTS, &op).expect("the server is up");
            }
        }
        for (number, (_, recorder)) in things.into_iter().enumerate() {
            let history = recorder.history();
            summary.count(&history);
            S::inspect(&mut room, (round, number), &history);
            let is_decided =
                judge(&history, &format!("STET_HISTORY_SEED={} round {round} number {number}", plan.seed))?;
            summary.undecided += usize::from(!is_decided);
        }
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    // A planted fault may have damaged the data, which is not what this run looks for.
    assert!(code == Some(0) || !plan.settings.is_empty(), "{output}");
    Ok(summary)
}

/// Returns whether the checker could decide that the history is explained. An error is the story of
/// one that nothing explains.
fn judge<W: Whiteboard>(history: &[Call<W>], which: &str) -> Result<bool, String> {
    let verdict = is_explained(history);
    if verdict != Some(false) {
        return Ok(verdict.is_some());
    }
    let least = shrink(history);
    Err(format!("no order of these calls explains their answers ({which}):\n{}", told(&least)))
}

impl<S: Subject> Work<'_, S> {
    /// Lets all clients of all things make their calls, while the server is killed `kills` times.
    /// Returns the server after the last restart.
    fn go_on(&self, mut server: Server, kills: usize, chance: impl Fn(&[u64]) -> Dice + Sync) -> Server {
        let whereabouts = Whereabouts::of(&server);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for thing in 0..self.things.len() {
                for number in 0..CLIENTS {
                    let (whereabouts, done, chance) = (&whereabouts, &done, &chance);
                    threads.push(scope.spawn(move || {
                        let mut dice = chance(&[thing as u64, number as u64]);
                        let (mut started, mut base) = whereabouts.now.lock().clone();
                        // Connections of its own.
                        let here = |base: &str| Client::at(base, Some(self.tokens[number].clone()));
                        let mut client = here(&base);
                        let mut known = S::Known::default();
                        for _ in 0..CALLS {
                            let op = S::choose(number, &mut dice, &mut known);
                            match self.ask(thing, &client, number, &op) {
                                Some(reply) => S::learn(&mut known, &op, &reply),
                                None => {
                                    (started, base) = whereabouts.after(started);
                                    client = here(&base);
                                }
                            }
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }));
                }
            }
            let mut dice = chance(&[u64::MAX]);
            let all = self.things.len() * CLIENTS * CALLS;
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
    fn ask(&self, thing: usize, client: &Client, number: usize, op: &Op<S>) -> Option<Reply<S>> {
        let (thing, recorder) = &self.things[thing];
        let call = recorder.asks(number, op.clone());
        let answer = thing.send(self.room, client, op).ok()?;
        let reply = thing.understood(self.room, op, &answer);
        recorder.is_answered(call, reply.clone());
        if let Some((op, reply)) = thing.shown_beside(op, &answer) {
            recorder.shows(call, op, reply);
        }
        Some(reply)
    }
}
