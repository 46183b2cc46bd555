//! The service of a running server: ships records, and takes bases.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stet_actors::thread::lower_priority;
use stet_backup::{BackupError, BackupName, BackupTarget, BaseStamp, S3Settings, TimelineId};
use stet_content::ContentStore;
use stet_domain::store::Seq;
use stet_store::RedbStore;
use tokio::runtime::{Builder, Runtime};

use crate::base::{BaseWork, TakenBase};
use crate::contents::ContentSender;
use crate::drill::{DrillRecord, DrillTools, remove_scratch};
use crate::now_ms;
use crate::rounds::{DrillRounds, PruneRounds};
use crate::shipping::ArchiveEnd;
use crate::spool::Spool;
use crate::status::{BackupStatus, NewestBase};
use crate::timeline::OwnTimeline;

/// The longest wait for a record before the service looks whether a base is due.
const LOOK: Duration = Duration::from_millis(500);

/// The time for which records gather before they are shipped together.
const GATHER: Duration = Duration::from_millis(250);

/// The first pause after an error; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause between two attempts to take a base that is due.
const LONGEST_BASE_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The longest time that the end of the server waits for the last records to be shipped.
const LAST_SHIPPING: Duration = Duration::from_secs(10);

/// The settings of the backup.
pub struct BackupOptions {
    /// The address of the target.
    pub target: String,
    /// The settings of a target on an S3 server.
    pub s3: S3Settings,
    /// The data directory.
    pub data: PathBuf,
    /// The most bytes of the spool.
    pub spool_bytes: u64,
    /// The time from one base to the next.
    pub base_every: Duration,
    /// The most bytes that a base reads in a second.
    pub base_bytes_per_second: u64,
    /// The span whose states stay at the target.
    pub keep: Duration,
    /// The time from one drill to the next; zero: none but those that are asked for.
    pub drill_every: Duration,
    /// The parts of drills that know the configuration.
    pub drill: DrillTools,
}

/// The parts of a running server that the service reads.
pub(crate) struct ServedData {
    pub store: Arc<RedbStore>,
    pub content: ContentStore,
}

#[derive(Default)]
pub(crate) struct ServiceState {
    pub status: BackupStatus,
    pub prunes: PruneRounds,
    pub drills: DrillRounds,
    /// Whether somebody has asked for a base.
    is_base_wanted: bool,
    /// The time before which none is taken unless it is asked for, and how long the next pause is.
    /// A disk that stays full would otherwise cost one base after the other.
    next_base: Option<(Instant, Duration)>,
    /// The outcome of the last one.
    taken: Option<Result<TakenBase, BackupError>>,
    thread: Option<JoinHandle<()>>,
}

/// The backup of a running server.
pub struct BackupService {
    pub(crate) options: BackupOptions,
    pub(crate) spool: Arc<Spool>,
    pub(crate) state: Mutex<ServiceState>,
    pub(crate) is_ended: AtomicBool,
}

impl BackupService {
    /// Prepares the backup, before the store is opened: the store's options need the
    /// [spool](BackupService::spool).
    ///
    /// # Errors
    /// The spool can't be opened.
    pub fn open(options: BackupOptions) -> std::io::Result<Arc<BackupService>> {
        let spool = Arc::new(Spool::open(&options.data.join(crate::FOLDER), options.spool_bytes)?);
        let drill = DrillRecord::read(spool.folder());
        let status = BackupStatus { target: options.target.clone(), drill, ..BackupStatus::default() };
        let state = Mutex::new(ServiceState { status, ..ServiceState::default() });
        Ok(Arc::new(BackupService { options, spool, state, is_ended: AtomicBool::new(false) }))
    }

    /// Returns the tap for the store.
    pub fn spool(&self) -> Arc<Spool> {
        self.spool.clone()
    }

    /// Starts to ship.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(self: &Arc<Self>, store: Arc<RedbStore>, content: ContentStore) -> std::io::Result<()> {
        let (service, served) = (self.clone(), Arc::new(ServedData { store, content }));
        let thread = std::thread::Builder::new().name("stet-backup".to_owned()).spawn(move || service.run(&served))?;
        self.state.lock().thread = Some(thread);
        Ok(())
    }

    /// Ships the last records, once the store is closed, and ends. Waits ten seconds at most.
    pub fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.spool.wake();
        let Some(thread) = self.state.lock().thread.take() else { return };
        let begun = Instant::now();
        while !thread.is_finished() {
            if begun.elapsed() > LAST_SHIPPING {
                tracing::warn!("the last changes are not in the backup yet; the next start ships them");
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.join().is_err() {
            tracing::error!("the thread of the backup has failed");
        }
    }

    /// Returns the present state.
    pub fn status(&self) -> BackupStatus {
        let (_, spool_bytes) = self.spool.progress();
        let status = self.state.lock().status.clone();
        let gap = self.spool.gap().or(status.gap);
        BackupStatus { committed: self.spool.last(), spool_bytes, gap, ..status }
    }

    /// Asks for a base. It is taken when [`BackupStatus::ended_bases`] is the returned number.
    pub fn request_base(&self) -> u64 {
        let mut state = self.state.lock();
        state.is_base_wanted = true;
        self.spool.wake();
        // One that is being taken may lack the last changes.
        state.status.ended_bases + if state.status.is_taking_base { 2 } else { 1 }
    }

    fn run(self: &Arc<Self>, served: &Arc<ServedData>) {
        lower_priority();
        if let Err(error) = remove_scratch(&self.options.data) {
            tracing::warn!(%error, "the directory of a drill can't be removed");
        }
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            tracing::error!("the backup has no runtime");
            return;
        };
        let mut pause = FIRST_PAUSE;
        loop {
            // A defect must not end the backup in silence.
            let work = || self.connected(&runtime, served, &mut pause);
            match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(())) => return,
                Ok(Err(error)) => self.note_fault(&error),
                Err(_) => {
                    self.note_fault(&BackupError::LocalFile("Shipping has panicked; the log has details.".to_owned()))
                }
            }
            if self.is_ended.load(Ordering::Acquire) {
                return;
            }
            let until = Instant::now() + pause;
            while Instant::now() < until && !self.is_ended.load(Ordering::Acquire) {
                std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn note_fault(&self, error: &BackupError) {
        let text = error.to_string();
        metrics::counter!("stet_backup_failures_total").increment(1);
        let before = self.state.lock().status.fault.replace(text.clone());
        if before.as_ref() != Some(&text) {
            tracing::error!(fault = text, "changes can't be shipped to the backup; trying again");
        }
    }

    /// Ships and takes bases until the end. Returns with an error if the target can't be used.
    fn connected(
        self: &Arc<Self>,
        runtime: &Runtime,
        served: &Arc<ServedData>,
        pause: &mut Duration,
    ) -> Result<(), BackupError> {
        let target = OwnTimeline::open_target(&self.options.target, &self.options.s3, self.spool.folder())?;
        let own = runtime.block_on(OwnTimeline::settle(&target, self.spool.folder()))?;
        let mut end = runtime.block_on(ArchiveEnd::find(&target, own.timeline))?;
        if end.last > self.spool.last() {
            return Err(set_back(&target, end.last, self.spool.last()));
        }
        let folder = self.spool.folder();
        self.spool.shipped(end.last).map_err(|error| spool_fault(folder, &error))?;
        let mut newest = runtime.block_on(newest_base(&target, own.timeline))?;
        runtime.block_on(target.remove_unfinished())?;
        self.state.lock().status.timeline = Some(own.timeline);
        let mut contents = ContentSender::new(&target, &served.content);
        loop {
            // Asked before the last shipping: the store is closed by then.
            let is_last = self.is_ended.load(Ordering::Acquire);
            runtime.block_on(end.ship(&self.spool, &target, &mut contents))?;
            *pause = FIRST_PAUSE;
            newest = self.bases(&target, served, &end, newest)?;
            self.note_progress(&end, newest);
            self.prune_round(&target, served, own.timeline);
            self.drill_round(&target, served, own.timeline, newest);
            if is_last {
                return Ok(());
            }
            self.spool.wait(LOOK);
            if !self.is_ended.load(Ordering::Acquire) {
                std::thread::sleep(GATHER);
            }
        }
    }

    /// Notes a base that has ended, and starts one if one is due. Returns the newest base.
    fn bases(
        self: &Arc<Self>,
        target: &BackupTarget,
        served: &Arc<ServedData>,
        end: &ArchiveEnd,
        newest: Option<BaseStamp>,
    ) -> Result<Option<BaseStamp>, BackupError> {
        let newest = self.note_base().or(newest);
        let folder = self.spool.folder();
        let mut state = self.state.lock();
        // A removal might take a chunk on which the base counts.
        if state.status.is_taking_base || state.status.is_pruning || self.is_ended.load(Ordering::Acquire) {
            return Ok(newest);
        }
        let has_gap = self.spool.gap().is_some();
        let is_old = newest.is_none_or(|base| {
            let age_ms = u128::from(now_ms().saturating_sub(base.taken_ms));
            base.seq < self.needed_base(end) || age_ms >= self.options.base_every.as_millis()
        });
        let is_due = is_old || has_gap;
        if !is_due {
            state.next_base = None;
        }
        let may_begin = state.next_base.is_none_or(|(at, _)| Instant::now() >= at);
        if !(is_due && may_begin || state.is_base_wanted) {
            return Ok(newest);
        }
        let pause = state.next_base.map_or(FIRST_PAUSE, |(_, pause)| (pause * 2).min(LONGEST_BASE_PAUSE));
        state.next_base = Some((Instant::now() + pause, pause));
        if has_gap {
            self.spool.begin().map_err(|error| spool_fault(folder, &error))?;
        }
        state.is_base_wanted = false;
        state.status.is_taking_base = true;
        drop(state);
        self.begin_base(target, served, end.timeline, self.needed_base(end));
        Ok(newest)
    }

    /// Returns the change that a base must have, so that the archive goes on from it without a gap.
    fn needed_base(&self, end: &ArchiveEnd) -> Seq {
        let begin = self.spool.begins_after();
        // Changes from before the spool that the archive lacks are only in the tables.
        if begin > end.last { begin } else { end.whole_from }
    }

    /// Notes the outcome of a base that has ended. Returns the base.
    fn note_base(&self) -> Option<BaseStamp> {
        let mut state = self.state.lock();
        let outcome = state.taken.take()?;
        state.status.is_taking_base = false;
        state.status.ended_bases += 1;
        match outcome {
            Ok(TakenBase { stamp, bytes, sent_bytes, seconds }) => {
                state.status.base_fault = None;
                state.prunes.next = Some(Instant::now());
                metrics::histogram!("stet_backup_base_seconds").record(seconds);
                metrics::counter!("stet_backup_base_sent_bytes_total").increment(sent_bytes);
                tracing::info!(change = stamp.seq, bytes, sent_bytes, seconds, "took a base for the backup");
                state.status.base = Some(NewestBase { change: stamp.seq, taken_ms: stamp.taken_ms });
                Some(stamp)
            }
            Err(error) => {
                metrics::counter!("stet_backup_failures_total").increment(1);
                tracing::error!(%error, "a base for the backup could not be taken; trying again");
                state.status.base_fault = Some(error.to_string());
                None
            }
        }
    }

    /// Takes a base on a thread of its own, while shipping goes on.
    fn begin_base(
        self: &Arc<Self>,
        target: &BackupTarget,
        served: &Arc<ServedData>,
        timeline: TimelineId,
        at_least: Seq,
    ) {
        let (service, target, served) = (self.clone(), target.clone(), served.clone());
        let work = move || {
            lower_priority();
            let runtime = Builder::new_current_thread().enable_all().build();
            let outcome = runtime.map_err(|error| BackupError::LocalFile(error.to_string())).and_then(|runtime| {
                let work = BaseWork {
                    runtime: &runtime,
                    target: &target,
                    store: &served.store,
                    content: &served.content,
                    timeline,
                    at_least,
                    bytes_per_second: service.options.base_bytes_per_second,
                    is_ended: &service.is_ended,
                };
                catch_unwind(AssertUnwindSafe(|| work.take())).unwrap_or_else(|_| {
                    Err(BackupError::LocalFile("Taking it has panicked; the log has details.".to_owned()))
                })
            });
            service.state.lock().taken = Some(outcome);
            service.spool.wake();
        };
        if let Err(error) = std::thread::Builder::new().name("stet-base".to_owned()).spawn(work) {
            self.state.lock().taken = Some(Err(BackupError::LocalFile(error.to_string())));
        }
    }

    fn note_progress(&self, end: &ArchiveEnd, newest: Option<BaseStamp>) {
        let needed = self.needed_base(end);
        let status = &mut self.state.lock().status;
        let has_base = newest.is_some_and(|base| base.seq >= needed);
        status.gap = (!has_base && needed > 0).then(|| format!("no base has the changes up to {needed} yet"));
        // A base after a gap has what the archive lacks.
        status.archived = end.last.max(newest.map_or(0, |base| base.seq));
        if status.fault.take().is_some() {
            tracing::info!("the backup gets changes again");
        }
        status.base = newest.map(|base| NewestBase { change: base.seq, taken_ms: base.taken_ms });
    }

    /// Sets the metrics of the present. Reads the spool, so it blocks. It belongs to another thread
    /// than that of the service, which may wait for a target that does not respond.
    pub fn measure(&self) {
        let status = self.status();
        metrics::gauge!("stet_backup_spool_bytes").set(status.spool_bytes as f64);
        metrics::gauge!("stet_backup_pending_changes").set(status.committed.saturating_sub(status.archived) as f64);
        metrics::gauge!("stet_backup_has_gap").set(f64::from(u8::from(status.gap.is_some())));
        let taken_s = status.base.map_or(0.0, |base| base.taken_ms as f64 / 1000.0);
        metrics::gauge!("stet_backup_base_timestamp_seconds").set(taken_s);
        if let Some(drill) = status.drill.filter(|_| !self.options.drill_every.is_zero()) {
            metrics::gauge!("stet_backup_verified_timestamp_seconds").set(drill.proven_ms() as f64 / 1000.0);
        }
        let since = self.spool.oldest_ms().map_or(0, |at_ms| now_ms().saturating_sub(at_ms));
        metrics::gauge!("stet_backup_behind_seconds").set(since as f64 / 1000.0);
    }
}

/// Returns the newest base of a timeline.
async fn newest_base(target: &BackupTarget, timeline: TimelineId) -> Result<Option<BaseStamp>, BackupError> {
    let listed = target.list(&BackupName::bases_folder(timeline)).await?;
    let bases = listed.iter().filter_map(|(name, _)| match BackupName::parse(name)? {
        BackupName::Base(_, stamp) => Some(stamp),
        _ => None,
    });
    Ok(bases.max_by_key(|base| base.seq))
}

fn set_back(target: &BackupTarget, archived: Seq, own: Seq) -> BackupError {
    BackupError::Refused(format!(
        "`{}` has the changes of this data directory up to {archived}, and the directory only those up to {own}: it was \
         set back, or is a copy that others have gone on from. Give it another target, or restore it from the backup.",
        target.address()
    ))
}

fn spool_fault(folder: &std::path::Path, error: &std::io::Error) -> BackupError {
    BackupError::LocalFile(format!("The spool in `{}` can't be used: {error}.", folder.display()))
}

#[cfg(test)]
mod tests {
    use stet_backup::BackupIdentity;
    use stet_content::UploadBounds;
    use stet_domain::clock::ManualClock;
    use stet_domain::store::Store;
    use stet_store::{CommitTap, StoreOptions};

    use super::*;

    fn service(data: &std::path::Path) -> Arc<BackupService> {
        let options = BackupOptions {
            target: String::new(),
            s3: S3Settings::default(),
            data: data.to_owned(),
            spool_bytes: 1 << 20,
            base_every: Duration::from_secs(60),
            base_bytes_per_second: 1 << 20,
            keep: Duration::from_secs(14 * 24 * 60 * 60),
            drill_every: Duration::ZERO,
            drill: DrillTools {
                store_options: Box::new(|folder| StoreOptions::new(folder)),
                check: Box::new(|_| Ok(())),
                reserve_bytes: 0,
            },
        };
        BackupService::open(options).unwrap()
    }

    /// A base after a gap may fail, and the server may be killed before the next attempt.
    #[test]
    fn a_gap_lasts_until_a_base_has_what_the_spool_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}/target", folder.path().display());
        let target = BackupTarget::create(&address, &S3Settings::default()).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let end = runtime.block_on(ArchiveEnd::find(&target, TimelineId(1))).unwrap();
        let begun = service(folder.path());
        begun.spool.opened(7, 7);
        begun.spool.begin().unwrap();
        drop(begun);
        let service = service(folder.path());
        service.spool.opened(7, 7);
        assert_eq!((service.spool.gap(), service.needed_base(&end)), (None, 7));
        let of = |seq| Some(BaseStamp { seq, taken_ms: 1 });
        for (newest, has_gap) in [(None, true), (of(6), true), (of(7), false), (of(9), false)] {
            service.note_progress(&end, newest);
            assert_eq!(service.status().gap.is_some(), has_gap, "{newest:?}");
        }
    }

    #[test]
    fn a_span_that_is_shorter_than_configured_is_refused_without_force() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path());
        let error = service.request_prune(Some(13), false).unwrap_err().to_string();
        assert!(error.contains("13 days") && error.contains("`backup.keep_days` is 14"), "{error}");
        for (days, force) in [(Some(14), false), (None, false), (Some(13), true)] {
            assert_eq!(service.request_prune(days, force), Ok(1));
        }
        assert_eq!(service.state.lock().prunes.wanted, Some(Duration::from_secs(13 * 24 * 60 * 60)));
        service.state.lock().status.is_pruning = true;
        assert_eq!(service.request_prune(None, false), Ok(2), "the one that runs may have another span");
    }

    /// A data directory that is served, with a clock to be set, and its target.
    fn served(data: &std::path::Path) -> (ManualClock, Arc<ServedData>, BackupTarget) {
        let clock = ManualClock::at(now_ms());
        let options = StoreOptions { clock: Arc::new(clock.clone()), ..StoreOptions::new(data) };
        let store = Arc::new(RedbStore::open(options).unwrap());
        let content = ContentStore::open(data, 0, UploadBounds { reserve_bytes: 0, at_once: 1 }).unwrap();
        let target =
            BackupTarget::create(&format!("file://{}/target", data.display()), &S3Settings::default()).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let identity = BackupIdentity::new(1).encode();
        runtime.block_on(target.put(&BackupName::Identity.to_string(), identity)).unwrap();
        (clock, Arc::new(ServedData { store, content }), target)
    }

    /// Waits for the removal that runs. Returns its fault.
    fn prune_fault(service: &Arc<BackupService>, target: &BackupTarget, served: &Arc<ServedData>) -> Option<String> {
        while service.status().is_pruning {
            service.prune_round(target, served, TimelineId(1));
            std::thread::yield_now();
        }
        service.status().prune_fault
    }

    /// A base counts on chunks that were there when it began.
    #[test]
    fn no_base_is_taken_during_a_removal_and_nothing_is_removed_during_a_base() {
        let folder = tempfile::tempdir().unwrap();
        let (_, served, target) = served(folder.path());
        let service = service(folder.path());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let end = runtime.block_on(ArchiveEnd::find(&target, TimelineId(1))).unwrap();
        let until = service.request_prune(None, false).unwrap();
        service.state.lock().status.is_taking_base = true;
        service.prune_round(&target, &served, TimelineId(1));
        assert!(!service.status().is_pruning, "it waits for the base");
        service.state.lock().status.is_taking_base = false;
        service.prune_round(&target, &served, TimelineId(1));
        assert!(service.status().is_pruning);
        service.bases(&target, &served, &end, None).unwrap();
        assert!(!service.status().is_taking_base, "it waits for the removal");
        assert_eq!(prune_fault(&service, &target, &served), None);
        assert_eq!(service.status().ended_prunes, until);
        service.bases(&target, &served, &end, None).unwrap();
        assert!(service.status().is_taking_base);
    }

    #[test]
    fn nothing_is_removed_while_the_clock_is_in_doubt() {
        let folder = tempfile::tempdir().unwrap();
        let (clock, served, target) = served(folder.path());
        let service = service(folder.path());
        assert!(served.store.ends().unwrap().now().is_some());
        for (days, is_doubted) in [(40, true), (0, false)] {
            clock.set(now_ms() + days * 24 * 60 * 60 * 1000);
            service.request_prune(None, false).unwrap();
            service.prune_round(&target, &served, TimelineId(1));
            let fault = prune_fault(&service, &target, &served);
            assert_eq!(fault.is_some_and(|why| why.contains("The clock")), is_doubted);
        }
    }
}
