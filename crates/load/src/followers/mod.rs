//! Readers that follow a container's events for the whole load: as many as wanted on a few threads,
//! each with a connection and next to nothing else.
//!
//! Each must hear of every revision once and in order. One whose stream ends goes on behind the
//! last that it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::client::Target;
use super::saturation::ThreadLoad;

pub mod audience;
pub mod board;
pub mod files;
mod follower;
pub mod heard;
mod sse;
mod thread;

use self::board::Board;

/// How often it is looked whether all have heard everything.
const LOOK: Duration = Duration::from_millis(20);
/// How many faults of followers are reported in words.
const NAMED: usize = 8;

/// What is followed, and by whom.
pub struct Following {
    /// The server.
    pub target: Arc<Target>,
    /// The session's token as it stands in a query.
    pub token: Arc<str>,
    /// Path of the events.
    pub path: String,
    /// How many follow.
    pub count: usize,
    /// On how many threads.
    pub threads: usize,
    /// What they note; events after its first revision.
    pub board: Arc<Board>,
}

/// Those that follow.
pub struct Followers {
    ledger: Arc<Ledger>,
    board: Arc<Board>,
    phase: watch::Sender<Phase>,
    ended: mpsc::UnboundedReceiver<Result<ThreadLoad, String>>,
    threads: usize,
    /// When all followed.
    since: Instant,
}

/// Where all are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They connect.
    Begin,
    /// They follow, and are measured.
    Follow,
    /// They stop.
    End,
}

/// What followers share.
#[derive(Default)]
struct Ledger {
    progress: Vec<Progress>,
    faults: Mutex<Faults>,
}

/// How far one follower has come.
#[derive(Default)]
struct Progress {
    /// The last revision that it heard of.
    last: AtomicU64,
    /// Whether it was let go and is not back.
    away: AtomicBool,
    /// Whether it was ever sent a `reset`.
    was_sent_on: AtomicBool,
}

/// What happened to followers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// How often a stream ended, and why.
    pub dropped: BTreeMap<String, u64>,
    /// How often one that was let go could not come back at once, and why, by code.
    pub refused: BTreeMap<String, u64>,
    /// How often one went on behind the last that it had.
    pub resumed: u64,
    /// How often one was sent a `reset`: events that it missed are no longer kept, and it has to
    /// read anew.
    pub resets: u64,
    /// Revisions that a follower never received, though it received later ones.
    pub gaps: u64,
    /// Revisions that a follower received again, or after a later one.
    pub repeats: u64,
    /// The first of the faults in words.
    pub words: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Followed {
    /// How many followed.
    pub followers: u64,
    /// Of these, how many were connected in the end and never sent a `reset`.
    pub whole: u64,
    /// What happened to them.
    pub faults: Faults,
    /// Followers that were there all the time and never heard of the last revision: which, and how
    /// far they came.
    pub behind: Vec<(usize, u64)>,
    /// Followers that were let go and were not back in the end.
    pub away: u64,
    /// By thread.
    pub threads: Vec<ThreadLoad>,
    /// How long they were measured: from when all followed.
    pub measured: Duration,
}

impl Faults {
    fn say(&mut self, words: impl FnOnce() -> String) {
        if self.words.len() < NAMED {
            self.words.push(words());
        }
    }

    /// How often a stream ended.
    pub fn drops(&self) -> u64 {
        self.dropped.values().sum()
    }
}

impl Followers {
    /// Starts them; returns when all follow.
    ///
    /// # Errors
    /// A sentence: one is refused, or no thread can be had.
    pub async fn start(following: Following) -> Result<Followers, String> {
        let Following { count, threads, board, .. } = &following;
        let (count, threads, board) = (*count, *threads, board.clone());
        let progress = (0..count).map(|_| Progress::default()).collect();
        let ledger = Arc::new(Ledger { progress, faults: Mutex::default() });
        let (phase, seen) = watch::channel(Phase::Begin);
        let (ready, mut heard) = mpsc::unbounded_channel();
        let (report, ended) = mpsc::unbounded_channel();
        let following = Arc::new(following);
        for thread in 0..threads {
            let (following, ledger) = (following.clone(), ledger.clone());
            let (seen, ready, report) = (seen.clone(), ready.clone(), report.clone());
            let body = move || {
                let numbers = (thread..count).step_by(threads);
                let ended = thread::run(&following, &ledger, numbers, &seen, &ready);
                // Whoever waits for it has gone only when the whole command has.
                let _ = report.send(ended.map_err(|error| error.to_string()));
            };
            let spawned = std::thread::Builder::new().name(format!("load-follow-{thread}")).spawn(body);
            spawned.map_err(|error| format!("no thread can be started: {error}"))?;
        }
        drop((ready, report));
        for _ in 0..count {
            match heard.recv().await {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(format!("a follower can't follow: {why}")),
                None => return Err("a thread of followers ended before it began".to_owned()),
            }
        }
        // The threads have not gone: they wait for this.
        let _ = phase.send(Phase::Follow);
        Ok(Followers { ledger, board, phase, ended, threads, since: Instant::now() })
    }

    /// How many are let go and not back, now.
    pub fn away(&self) -> usize {
        self.ledger.progress.iter().filter(|place| place.away.load(Ordering::Relaxed)).count()
    }

    /// Waits until all have heard of that revision, or for so long nothing more was heard; then
    /// ends them.
    ///
    /// # Errors
    /// A sentence: a thread failed.
    pub async fn end(mut self, revision: u64, patience: Duration) -> Result<Followed, String> {
        let behind = || {
            let progress = self.ledger.progress.iter().enumerate();
            let progress = progress.map(|(number, place)| (number, place.last.load(Ordering::Relaxed)));
            progress.filter(|(_, last)| *last < revision)
        };
        let (mut heard, mut since) = (self.board.deliveries(), Instant::now());
        while behind().next().is_some() && since.elapsed() < patience {
            tokio::time::sleep(LOOK).await;
            let now = self.board.deliveries();
            if now != heard {
                (heard, since) = (now, Instant::now());
            }
        }
        let is_away = |number: usize| self.ledger.progress[number].away.load(Ordering::Relaxed);
        let heard_all = |place: &&Progress| {
            let is_behind = place.last.load(Ordering::Relaxed) < revision;
            let is_gone = is_behind && place.away.load(Ordering::Relaxed);
            !is_gone && !place.was_sent_on.load(Ordering::Relaxed)
        };
        let whole = self.ledger.progress.iter().filter(heard_all).count() as u64;
        let (away, behind): (Vec<_>, Vec<_>) = behind().partition(|(number, _)| is_away(*number));
        // The threads may have ended by themselves.
        let _ = self.phase.send(Phase::End);
        let measured = self.since.elapsed();
        let mut threads = Vec::new();
        for _ in 0..self.threads {
            let ended = self.ended.recv().await.ok_or("a thread of followers failed")?;
            threads.push(ended.map_err(|why| format!("a thread of followers failed: {why}"))?);
        }
        let faults = self.ledger.faults.lock().clone();
        let followers = self.ledger.progress.len() as u64;
        Ok(Followed { followers, whole, faults, behind, away: away.len() as u64, threads, measured })
    }
}
