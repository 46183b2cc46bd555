//! The execution of a load: threads with clients, each of which makes one call at a time, and an
//! observer.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::{Either, join_all, select};
use futures_util::stream::{self, StreamExt};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use super::client::{CONNECTING, CallTrouble, Connection};
use super::measure::{
    KindMeasurements, MeasurementSeries, MeasurementSlice, OutcomeCodes, Punctuality, Recorder, micros,
};
use super::pace::{Alarm, OperationStart, Pace};
use super::progress::ProgressLine;
use super::saturation::{Meter, ThreadLoad};
use super::scenario::Scenario;

/// The outcome of a load.
pub struct DriveResult<N> {
    /// The figures by kind of operation.
    pub kinds: Vec<KindMeasurements>,
    /// The punctuality of an open loop.
    pub punctuality: Punctuality,
    /// The course over time.
    pub series: MeasurementSeries,
    /// The number of answers of each code.
    pub codes: OutcomeCodes,
    /// The notes of all clients, in no order.
    pub notes: Vec<N>,
    /// The load of each thread.
    pub threads: Vec<ThreadLoad>,
    /// The time of the begin.
    pub begun: SystemTime,
    /// The duration.
    pub elapsed: Duration,
    /// `true` if a signal ended the load.
    pub interrupted: bool,
}

/// The state that the threads share.
struct DriveState<S> {
    scenario: Arc<S>,
    pace: Pace,
    stop: watch::Receiver<bool>,
    go: watch::Receiver<Option<Instant>>,
}

/// A report of a thread.
enum ThreadReport<N> {
    Ready,
    Failed(String),
    Ended { notes: Vec<N>, load: ThreadLoad },
}

/// Carries out the plan of each client at the given pace, with one of the connections for each
/// client. The load ends early when `interrupt` resolves.
///
/// # Errors
/// A sentence if threads cannot be started.
pub async fn drive<S: Scenario>(
    scenario: Arc<S>,
    pace: Pace,
    threads: usize,
    connections: Vec<Connection>,
    mut progress: ProgressLine,
    interrupt: impl Future<Output = ()>,
) -> Result<DriveResult<S::Notes>, String> {
    let (stop, stopped) = watch::channel(false);
    let (go, gone) = watch::channel(None);
    let shared = Arc::new(DriveState { scenario: scenario.clone(), pace, stop: stopped, go: gone });
    let recorders: Vec<_> = (0..threads).map(|_| Arc::new(Mutex::new(Recorder::new(S::KINDS.len())))).collect();
    let mut reports = start_threads(&shared, &recorders, connections).await?;

    let (begun, start) = (SystemTime::now(), Instant::now());
    // The threads are alive: they wait for this.
    let _ = go.send(Some(start));
    // Fifty points make a plot; one point per second is enough for long loads.
    let tick = shared.pace.length.unwrap_or_default().div_f64(50.0);
    let mut ticks = tokio::time::interval(tick.clamp(Duration::from_millis(200), Duration::from_secs(1)));
    ticks.tick().await;
    let (mut series, mut codes, mut interrupted) = (MeasurementSeries::default(), OutcomeCodes::default(), false);
    let (mut notes, mut loads) = (Vec::new(), Vec::new());
    let mut interrupt = pin!(interrupt);
    // On a separate thread, since it may take long; the next run waits for it.
    let mut tidying = tokio::task::spawn_blocking(|| ());
    let mut look = |series: &mut MeasurementSeries, progress: &mut ProgressLine| {
        let mut slice = MeasurementSlice::default();
        recorders.iter().for_each(|recorder| slice.add(recorder.lock().take_slice()));
        progress.note(start.elapsed(), &slice, || scenario.aside());
        codes.add(std::mem::take(&mut slice.codes));
        series.push(start.elapsed().as_secs_f64(), slice);
    };
    while loads.len() < threads {
        tokio::select! {
            heard = reports.recv() => match heard {
                Some(ThreadReport::Ended { notes: more, load }) => {
                    notes.extend(more);
                    loads.push(load);
                }
                Some(ThreadReport::Failed(why)) => return Err(format!("a thread failed: {why}")),
                Some(ThreadReport::Ready) => {}
                None => return Err("a thread failed".to_owned()),
            },
            _ = ticks.tick() => {
                look(&mut series, &mut progress);
                if tidying.is_finished() {
                    let scenario = scenario.clone();
                    tidying = tokio::task::spawn_blocking(move || scenario.tidy());
                }
            }
            () = &mut interrupt, if !interrupted => {
                interrupted = true;
                progress.say("stopping: waiting for running calls; a second signal stops at once, without \
                              verification and report");
                // The threads may have ended already.
                let _ = stop.send(true);
            }
        }
    }
    let elapsed = start.elapsed();
    // A failure leaves the ledgers as they were.
    let _ = tidying.await;
    look(&mut series, &mut progress);
    series.finish();
    progress.end();
    let (kinds, punctuality) = totals(S::KINDS.len(), &recorders);
    Ok(DriveResult { kinds, punctuality, series, codes, notes, threads: loads, begun, elapsed, interrupted })
}

/// Starts a thread for each recorder, with its share of the connections, and waits until all are
/// ready. Returns the receiver of their reports.
///
/// # Errors
/// A sentence if a thread cannot be started.
async fn start_threads<S: Scenario>(
    shared: &Arc<DriveState<S>>,
    recorders: &[Arc<Mutex<Recorder>>],
    connections: Vec<Connection>,
) -> Result<mpsc::UnboundedReceiver<ThreadReport<S::Notes>>, String> {
    let (report, mut reports) = mpsc::unbounded_channel();
    let mut shares: Vec<Vec<(usize, Connection)>> = recorders.iter().map(|_| Vec::new()).collect();
    for (client, connection) in connections.into_iter().enumerate() {
        shares[client % recorders.len()].push((client, connection));
    }
    for (thread, (clients, recorder)) in shares.into_iter().zip(recorders).enumerate() {
        let (shared, recorder, report) = (shared.clone(), recorder.clone(), report.clone());
        let body = move || {
            let ended = generate(&shared, &recorder, clients, &report);
            // The receiver is gone only at the end of the whole command.
            let _ = report.send(ended.unwrap_or_else(|error| ThreadReport::Failed(error.to_string())));
        };
        let spawned = std::thread::Builder::new().name(format!("load-{thread}")).spawn(body);
        spawned.map_err(|error| format!("no thread can be started: {error}"))?;
    }
    drop(report);
    for _ in recorders {
        match reports.recv().await {
            Some(ThreadReport::Ready) => {}
            Some(ThreadReport::Failed(why)) => return Err(format!("a thread can't work: {why}")),
            _ => return Err("a thread ended before it began".to_owned()),
        }
    }
    Ok(reports)
}

/// Returns the figures of all threads together.
fn totals(kinds: usize, recorders: &[Arc<Mutex<Recorder>>]) -> (Vec<KindMeasurements>, Punctuality) {
    let mut kinds = vec![KindMeasurements::default(); kinds];
    let mut punctuality = Punctuality::default();
    for recorder in recorders {
        let recorder = recorder.lock();
        kinds.iter_mut().zip(&recorder.kinds).for_each(|(total, more)| total.add(more));
        punctuality.add(&recorder.punctuality);
    }
    (kinds, punctuality)
}

/// Runs one thread from begin to end.
fn generate<S: Scenario>(
    shared: &Arc<DriveState<S>>,
    recorder: &Arc<Mutex<Recorder>>,
    mut clients: Vec<(usize, Connection)>,
    report: &mpsc::UnboundedSender<ThreadReport<S::Notes>>,
) -> std::io::Result<ThreadReport<S::Notes>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let alarm = Alarm::start()?;
    let local = LocalSet::new();
    Ok(local.block_on(&runtime, async {
        // A connection that fails now is tried again with its first call, which then reports the
        // error.
        let connecting = clients.iter_mut().map(|(_, connection)| connection.connect());
        stream::iter(connecting).for_each_concurrent(CONNECTING, |made| async { drop(made.await) }).await;
        // The receiver is gone only at the end of the whole command.
        let _ = report.send(ThreadReport::Ready);
        let mut go = shared.go.clone();
        let start = match go.wait_for(Option::is_some).await {
            Ok(start) => start.unwrap_or_else(Instant::now),
            Err(_) => return ThreadReport::Failed("it was never begun".to_owned()),
        };
        let mut meter = Meter::start();
        let work: Vec<_> = clients
            .into_iter()
            .map(|(number, connection)| {
                let client =
                    DriveClient { shared: shared.clone(), recorder: recorder.clone(), number, connection, start };
                tokio::task::spawn_local(client.work(alarm.clone()))
            })
            .collect();
        let mut work = pin!(join_all(work));
        let ended = loop {
            let second = pin!(tokio::time::sleep(Duration::from_secs(1)));
            match select(work, second).await {
                Either::Left((ended, _)) => break ended,
                Either::Right(((), rest)) => work = rest,
            }
            meter.look();
        };
        let load = meter.end();
        match ended.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(notes) => ThreadReport::Ended { notes, load },
            Err(error) => ThreadReport::Failed(error.to_string()),
        }
    }))
}

struct DriveClient<S> {
    shared: Arc<DriveState<S>>,
    recorder: Arc<Mutex<Recorder>>,
    number: usize,
    connection: Connection,
    start: Instant,
}

impl<S: Scenario> DriveClient<S> {
    /// Carries out one operation after the other until the end. Returns the client's notes.
    async fn work(mut self, alarm: Alarm) -> S::Notes {
        let scenario = self.shared.scenario.clone();
        let mut stop = self.shared.stop.clone();
        let mut plan = scenario.plan(self.number);
        let mut notes = S::Notes::default();
        let mut done = 0;
        while !*stop.borrow_and_update() {
            let now = self.start.elapsed();
            let counted_from = match self.shared.pace.turn(self.number, done, now) {
                OperationStart::End => break,
                OperationStart::Now => Instant::now(),
                OperationStart::At(time) => {
                    let time = self.start + time;
                    let free = Instant::now() <= time;
                    if free {
                        let stopped = pin!(stop.changed());
                        if let Either::Right(_) = select(pin!(alarm.until(time)), stopped).await {
                            continue;
                        }
                    }
                    if self.shared.pace.open {
                        let punctuality = &mut self.recorder.lock().punctuality;
                        if free {
                            punctuality.lateness.saturating_record(micros(time.elapsed()));
                        } else {
                            punctuality.queued += 1;
                        }
                        time
                    } else {
                        // A client whose turn has come checks again: it may have to wait once more.
                        continue;
                    }
                }
            };
            let Some(operation) = plan.next() else { break };
            let answered = scenario.carry_out(&mut self.connection, &operation).await;
            let took = counted_from.elapsed();
            let outcome = scenario.note(&mut notes, &operation, &answered);
            let counts = matches!(answered, Ok(_) | Err(CallTrouble::TimedOut));
            let refused_to_connect = matches!(answered, Err(CallTrouble::Unreachable(_)));
            self.recorder.lock().record(S::kind(&operation), took, outcome, counts);
            done += 1;
            if refused_to_connect && !self.shared.pace.open {
                // An unreachable server is called again, but not in a tight loop.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        notes
    }
}
