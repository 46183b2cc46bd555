//! Readers that follow a container's events for the whole load: many on a few threads, each with a
//! connection and little else.
//!
//! Each must receive every revision once and in order. A follower whose stream ends reconnects and
//! continues after the last revision that it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::client::ServerTarget;
use super::saturation::ThreadLoad;

pub mod audience;
pub mod board;
pub mod files;
mod follower;
pub mod heard;
mod sse;
mod thread;

use self::board::Board;

/// The interval of checks whether all followers have received everything.
const LOOK: Duration = Duration::from_millis(20);
/// The number of faults of followers that are reported in words.
const NAMED: usize = 8;

/// The specification of the followers.
pub struct FollowerSettings {
    /// The server.
    pub target: Arc<ServerTarget>,
    /// The encoded token of the session.
    pub token: Arc<str>,
    /// The path of the events.
    pub path: String,
    /// The number of followers.
    pub count: usize,
    /// The number of threads.
    pub threads: usize,
    /// The board for events after its first revision.
    pub board: Arc<Board>,
}

/// The running followers.
pub struct Followers {
    ledger: Arc<FollowerLedger>,
    board: Arc<Board>,
    phase: watch::Sender<FollowerPhase>,
    ended: mpsc::UnboundedReceiver<Result<ThreadLoad, String>>,
    threads: usize,
    /// The time at which all followed.
    since: Instant,
}

/// The phase of all followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowerPhase {
    /// The followers connect.
    Begin,
    /// The followers receive events and are measured.
    Follow,
    /// The followers stop.
    End,
}

/// The state that followers share.
#[derive(Default)]
struct FollowerLedger {
    progress: Vec<FollowerProgress>,
    faults: Mutex<FollowerFaults>,
}

/// The progress of one follower.
#[derive(Default)]
struct FollowerProgress {
    /// The last received revision.
    last: AtomicU64,
    /// `true` while its stream has ended and it has not reconnected.
    away: AtomicBool,
    /// `true` if it ever received a `reset`.
    was_sent_on: AtomicBool,
}

/// The faults and interruptions of followers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowerFaults {
    /// The number of ended streams, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The number of refused reconnections, by code.
    pub refused: BTreeMap<String, u64>,
    /// The number of reconnections that continued after the last revision.
    pub resumed: u64,
    /// The number of received `reset`s: missed events are no longer kept, and the follower must
    /// read the container again.
    pub resets: u64,
    /// The number of revisions that a follower never received, though it received later ones.
    pub gaps: u64,
    /// The number of revisions that a follower received again, or after a later one.
    pub repeats: u64,
    /// Descriptions of the first faults.
    pub words: Vec<String>,
}

/// The outcome for the followers.
#[derive(Debug, Clone, Default)]
pub struct FollowerOutcome {
    /// The number of followers.
    pub followers: u64,
    /// The number of followers that were connected in the end and never received a `reset`.
    pub whole: u64,
    /// The faults and interruptions.
    pub faults: FollowerFaults,
    /// Followers that stayed connected and never received the last revision: the number and last
    /// revision of each.
    pub behind: Vec<(usize, u64)>,
    /// The number of followers that were disconnected in the end.
    pub away: u64,
    /// The load of each thread.
    pub threads: Vec<ThreadLoad>,
    /// The time of measurement, since all followed.
    pub measured: Duration,
}

impl FollowerFaults {
    fn say(&mut self, words: impl FnOnce() -> String) {
        if self.words.len() < NAMED {
            self.words.push(words());
        }
    }

    /// Returns the number of ended streams.
    pub fn drops(&self) -> u64 {
        self.dropped.values().sum()
    }
}

impl Followers {
    /// Starts the followers. Returns when all follow.
    ///
    /// # Errors
    /// A sentence if one is refused, or if no thread can be started.
    pub async fn start(following: FollowerSettings) -> Result<Followers, String> {
        let FollowerSettings { count, threads, board, .. } = &following;
        let (count, threads, board) = (*count, *threads, board.clone());
        let progress = (0..count).map(|_| FollowerProgress::default()).collect();
        let ledger = Arc::new(FollowerLedger { progress, faults: Mutex::default() });
        let (phase, seen) = watch::channel(FollowerPhase::Begin);
        let (ready, mut heard) = mpsc::unbounded_channel();
        let (report, ended) = mpsc::unbounded_channel();
        let following = Arc::new(following);
        for thread in 0..threads {
            let (following, ledger) = (following.clone(), ledger.clone());
            let (seen, ready, report) = (seen.clone(), ready.clone(), report.clone());
            let body = move || {
                let numbers = (thread..count).step_by(threads);
                let ended = thread::run(&following, &ledger, numbers, &seen, &ready);
                // The receiver is gone only at the end of the whole command.
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
        // The threads are alive: they wait for this.
        let _ = phase.send(FollowerPhase::Follow);
        Ok(Followers { ledger, board, phase, ended, threads, since: Instant::now() })
    }

    /// Returns the number of followers that are disconnected now.
    pub fn away(&self) -> usize {
        self.ledger.progress.iter().filter(|place| place.away.load(Ordering::Relaxed)).count()
    }

    /// Waits until all followers have received that revision, or until nothing arrives for
    /// `patience`. Then ends them.
    ///
    /// # Errors
    /// A sentence if a thread failed.
    pub async fn end(mut self, revision: u64, patience: Duration) -> Result<FollowerOutcome, String> {
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
        let heard_all = |place: &&FollowerProgress| {
            let is_behind = place.last.load(Ordering::Relaxed) < revision;
            let is_gone = is_behind && place.away.load(Ordering::Relaxed);
            !is_gone && !place.was_sent_on.load(Ordering::Relaxed)
        };
        let whole = self.ledger.progress.iter().filter(heard_all).count() as u64;
        let (away, behind): (Vec<_>, Vec<_>) = behind().partition(|(number, _)| is_away(*number));
        // The threads may have ended already.
        let _ = self.phase.send(FollowerPhase::End);
        let measured = self.since.elapsed();
        let mut threads = Vec::new();
        for _ in 0..self.threads {
            let ended = self.ended.recv().await.ok_or("a thread of followers failed")?;
            threads.push(ended.map_err(|why| format!("a thread of followers failed: {why}"))?);
        }
        let faults = self.ledger.faults.lock().clone();
        let followers = self.ledger.progress.len() as u64;
        Ok(FollowerOutcome { followers, whole, faults, behind, away: away.len() as u64, threads, measured })
    }
}
