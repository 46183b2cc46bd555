//! One follower.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::select;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::sse::{Event, Parser};
use super::{FollowerLedger, FollowerPhase, FollowerSettings};
use crate::client::{AnswerStream, CallAnswer, CallTrouble};

/// The wait before a reconnection: the first and the longest one.
const WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// One follower of events.
pub(super) struct Follower {
    number: usize,
    following: Arc<FollowerSettings>,
    ledger: Arc<FollowerLedger>,
    phase: watch::Receiver<FollowerPhase>,
    /// The last received revision.
    last: Option<u64>,
}

impl Follower {
    pub(super) fn new(
        number: usize,
        following: Arc<FollowerSettings>,
        ledger: Arc<FollowerLedger>,
        phase: watch::Receiver<FollowerPhase>,
    ) -> Follower {
        Follower { number, following, ledger, phase, last: None }
    }

    /// Follows until the end. `ready` receives the outcome of the first connection once.
    pub(super) async fn work(mut self, connecting: Arc<Semaphore>, ready: mpsc::UnboundedSender<Result<(), String>>) {
        let mut phase = self.phase.clone();
        let ended = pin!(async move {
            // A dropped sender is an end as well.
            let _ = phase.wait_for(|phase| *phase == FollowerPhase::End).await;
        });
        // Whichever is first; the other is dropped with its connection.
        select(pin!(self.follow(&connecting, &ready)), ended).await;
    }

    async fn follow(&mut self, connecting: &Semaphore, ready: &mpsc::UnboundedSender<Result<(), String>>) {
        let mut first = Some(ready);
        let mut wait = WAIT.0;
        loop {
            // The semaphore is never closed.
            let permit = connecting.acquire().await;
            let opened = self.open().await;
            drop(permit);
            let why = match opened {
                Ok(stream) => {
                    if first.is_none() {
                        self.ledger.faults.lock().resumed += 1;
                    }
                    self.place(false);
                    let before = self.last;
                    let why = self.hear(stream, &mut first).await;
                    if self.last != before {
                        wait = WAIT.0;
                    }
                    self.place(true);
                    *self.ledger.faults.lock().dropped.entry(why.clone()).or_default() += 1;
                    why
                }
                Err(refusal) => {
                    if first.is_none() {
                        *self.ledger.faults.lock().refused.entry(refusal.code()).or_default() += 1;
                    }
                    refusal.message()
                }
            };
            if let Some(ready) = first {
                // The receiver is gone only at the end of the whole command.
                let _ = ready.send(Err(why));
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(WAIT.1);
        }
    }

    fn place(&self, away: bool) {
        self.ledger.progress[self.number].away.store(away, Ordering::Relaxed);
    }

    async fn open(&self) -> Result<AnswerStream, StreamRefusal> {
        let FollowerSettings { target, token, path, .. } = &*self.following;
        target.stream(token, path, self.last).await.map_err(StreamRefusal)
    }

    /// Receives events until the stream ends, and returns the reason. The first event of the first
    /// stream must arrive in time: all followers wait for it.
    async fn hear(
        &mut self,
        mut stream: AnswerStream,
        first: &mut Option<&mpsc::UnboundedSender<Result<(), String>>>,
    ) -> String {
        let mut parser = Parser::default();
        let begun = Instant::now() + self.following.target.patience();
        loop {
            let next = frame(stream.body());
            let heard = if first.is_none() { Ok(next.await) } else { timeout_at(begun, next).await };
            let Ok(heard) = heard else { return "no first event came in time".to_owned() };
            let bytes = match heard {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return "the server ended the stream".to_owned(),
                Err(trouble) => return trouble.kind().to_owned(),
            };
            let mut odd = None;
            let fed = parser.feed(&bytes, |event| {
                if let Err(why) = self.take(event) {
                    odd.get_or_insert(why);
                }
            });
            if let Some(why) = fed.err().or(odd) {
                return why;
            }
            if self.last.is_some()
                && let Some(ready) = first.take()
            {
                // The receiver is gone only at the end of the whole command.
                let _ = ready.send(Ok(()));
            }
        }
    }

    /// Handles one event.
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        let Ok(revision) = event.id.parse::<u64>() else {
            return Err(format!("an event has the id `{}`, which is no revision", event.id));
        };
        let place = &self.ledger.progress[self.number];
        let Some(last) = self.last else {
            if event.name != "hello" {
                return Err(format!("the first event is `{}`, not `hello`", event.name));
            }
            self.last = Some(revision);
            place.last.store(revision, Ordering::Relaxed);
            return Ok(());
        };
        if event.name == "reset" {
            let mut faults = self.ledger.faults.lock();
            faults.resets += 1;
            place.was_sent_on.store(true, Ordering::Relaxed);
            faults.say(|| format!("follower {} was sent from revision {last} to {revision}", self.number));
        } else if revision <= last {
            let mut faults = self.ledger.faults.lock();
            faults.repeats += 1;
            faults.say(|| format!("follower {} received revision {revision} after {last}", self.number));
            return Ok(());
        } else {
            if revision > last + 1 {
                let mut faults = self.ledger.faults.lock();
                faults.gaps += revision - last - 1;
                faults.say(|| format!("follower {} received revision {revision} right after {last}", self.number));
            }
            let mut hasher = DefaultHasher::new();
            (event.name, event.data).hash(&mut hasher);
            self.following.board.heard(revision, event.name, event.data, hasher.finish());
        }
        self.last = Some(revision);
        place.last.store(revision, Ordering::Relaxed);
        Ok(())
    }
}

/// The reason why no stream began: the server's refusal, or no answer.
struct StreamRefusal(Result<CallAnswer, CallTrouble>);

impl StreamRefusal {
    fn message(&self) -> String {
        match &self.0 {
            Ok(answer) => answer.message(),
            Err(trouble) => trouble.to_string(),
        }
    }

    /// Returns the name under which it is counted.
    fn code(&self) -> String {
        match &self.0 {
            Ok(answer) => answer.code(),
            Err(trouble) => trouble.kind().to_owned(),
        }
    }
}

/// Returns the next bytes; `None` at the end.
async fn frame(body: &mut Incoming) -> Result<Option<hyper::body::Bytes>, CallTrouble> {
    loop {
        match body.frame().await {
            Some(Ok(frame)) => {
                // Frames that are not data (trailers) are ignored.
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(error)) => return Err(CallTrouble::Lost(error.to_string())),
            None => return Ok(None),
        }
    }
}
