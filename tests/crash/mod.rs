//! `kill -9` under load, again and again: every acknowledged change is there, and no change is
//! there in part.
//!
//! Each worker changes things of its own, and keeps a model of them after every acknowledged
//! change. The one change under way when the server dies may be there or not, but not in part.
//! Sometimes the server is killed again while it recovers.
//!
//! `STET_CRASH_ROUNDS` sets the number of rounds (3), `STET_CRASH_SEED` repeats the choices of a
//! run.

mod bundles;
mod contents;
mod damage;
mod drawers;
mod filling;
mod posts;
mod subtrees;
mod topics;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::*;

/// A worker that changes things, and knows their expected state.
trait Worker: Send {
    /// Changes things until the server is gone, and counts acknowledged changes. Notes the change
    /// that was under way then.
    fn work(&mut self, client: &Client, acknowledged: &AtomicUsize);

    /// Returns whether the outcome of a change is unknown.
    fn has_pending(&self) -> bool;

    /// Compares the present state with the model, with or without the pending change, and continues
    /// from it.
    fn settle(&mut self, client: &Client);

    /// Asserts conditions that must hold after all rounds.
    fn end(&mut self, client: &Client) {
        let _ = client;
    }
}

/// Workers for a new server, which has a folder for them.
type Hire = fn(&Server, &Client, &str, &mut Dice) -> Vec<Box<dyn Worker>>;

/// Returns random bytes, sometimes so many that they must lie in a file.
fn some_bytes(dice: &mut Dice) -> Vec<u8> {
    let len = if dice.roll(8) == 0 { 150_000 + dice.roll(100_000) } else { 1 + dice.roll(2000) };
    let seed = dice.roll(256);
    (0..len).map(|at| (at * 31 + seed) as u8).collect()
}

/// Returns the beginning of a thing's debug form, which may have many bytes.
fn short(thing: &impl std::fmt::Debug) -> String {
    format!("{thing:?}").chars().take(200).collect()
}

/// Rounds on one data directory; then a new one, since all that is there is read in each round.
const ROUNDS_EACH: u64 = 10;

/// The counts so far.
struct Tally {
    rounds: u64,
    acknowledged: usize,
    unknown: usize,
    /// Kills while it was starting, or had hardly started.
    early: usize,
    begun: Instant,
}

impl Tally {
    fn new() -> Tally {
        Tally { rounds: 0, acknowledged: 0, unknown: 0, early: 0, begun: Instant::now() }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { rounds, acknowledged, unknown, early, begun } = self;
        let seconds = begun.elapsed().as_secs_f64();
        write!(
            f,
            "{rounds} rounds: {acknowledged} changes acknowledged, {unknown} with an unknown outcome, \
             {rounds} kills and restarts, {early} kills more while it started, {seconds:.1} s"
        )
    }
}

/// Runs the configured number of rounds.
fn all_rounds(hire: Hire) {
    let rounds = setting("STET_CRASH_ROUNDS").unwrap_or(3);
    let mut dice = Dice::new(seed("STET_CRASH_SEED"));
    let mut tally = Tally::new();
    while tally.rounds < rounds {
        crash_again_and_again((rounds - tally.rounds).min(ROUNDS_EACH), &[], hire, &mut dice, &mut tally);
        println!("{tally}");
    }
    // Otherwise it has shown nothing.
    assert!(tally.acknowledged > 0);
}

/// Runs that number of rounds on a new data directory.
fn crash_again_and_again(rounds: u64, settings: &[(&str, &str)], hire: Hire, dice: &mut Dice, tally: &mut Tally) {
    // Checkpoints fall into the rounds, too.
    let mut server = Server::with(&[&[("STORE__CHECKPOINT_ROWS", "300")], settings].concat());
    let client = server.login("editor");
    let mut workers = hire(&server, &client, &own_folder(), dice);
    for round in 0..rounds {
        let client = client.to(&server);
        let acknowledged = AtomicUsize::new(0);
        let enough = 40 + dice.roll(120);
        std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .map(|worker| {
                    let (client, acknowledged) = (&client, &acknowledged);
                    scope.spawn(move || worker.work(client, acknowledged))
                })
                .collect();
            wait_until("the workers get on", || {
                acknowledged.load(Ordering::Relaxed) >= enough || threads.iter().any(|thread| thread.is_finished())
            });
            server.kill();
            join_all(threads);
        });
        tally.rounds += 1;
        tally.acknowledged += acknowledged.into_inner();
        tally.unknown += workers.iter().filter(|worker| worker.has_pending()).count();
        // What lies there right after the crash, in one round before and in the other after a
        // server has seen it.
        if round % 2 == 0 {
            let (code, output) = server.check();
            assert_eq!(code, Some(0), "round {round}: what is there is not whole: {output}");
        }
        // Now and then it does not get far, and begins its recovery anew.
        while dice.roll(3) == 0 {
            server.crash_while_starting(Duration::from_micros(dice.roll(60_000) as u64));
            tally.early += 1;
        }
        server = server.restart();
        let client = client.to(&server);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for worker in &mut workers {
                let client = client.afresh();
                threads.push(scope.spawn(move || worker.settle(&client)));
            }
            join_all(threads);
        });
    }
    let client = client.to(&server);
    for worker in &mut workers {
        worker.end(&client);
    }
    assert_eq!(server.terminate(), Some(0));
    let (code, output) = server.check();
    assert_eq!(code, Some(0), "what is there is not whole: {output}");
}

/// Waits for all threads. A panic continues with the message of the thread that found a fault.
fn join_all(threads: Vec<std::thread::ScopedJoinHandle<'_, ()>>) {
    for thread in threads {
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// A fault on purpose must be found within these rounds, by who knows what must be there or by
/// `stet check`; see `histories/plants.rs`.
#[cfg(feature = "planted-bugs")]
fn look_for(fault: &str, hire: Hire) {
    let mut dice = Dice::new(seed("STET_CRASH_SEED"));
    let mut tally = Tally::new();
    crash_again_and_again(ROUNDS_EACH, &[("PLANTED_BUG", fault)], hire, &mut dice, &mut tally);
    println!("{tally}");
}
