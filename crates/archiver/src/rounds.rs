//! The recurring work of the service beside shipping: removals and drills. Each runs on a thread of
//! its own, so that changes are shipped meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stet_actors::thread::lower_priority;
use stet_backup::{BackupError, BackupTarget, BaseStamp, TimelineId};
use stet_domain::store::{Seq, Store};
use tokio::runtime::Builder;

use crate::drill::{DrillRecord, DrillWork};
use crate::now_ms;
use crate::pruning::{PruneReport, PruneWork};
use crate::service::{BackupService, ServedData};

/// A day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time from the start to the first removal without a base, and the pause after one that has
/// failed.
const PRUNE_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The removals of a service.
#[derive(Default)]
pub(crate) struct PruneRounds {
    /// The span of a removal that somebody has asked for.
    pub wanted: Option<Duration>,
    /// The time of the next one.
    pub next: Option<Instant>,
    /// The outcome of the last one, and the first deletion that the target has refused.
    ended: Option<(Result<PruneReport, BackupError>, Option<String>)>,
    /// When refused deletions were logged.
    logged: Option<Instant>,
}

/// The drills of a service.
#[derive(Default)]
pub(crate) struct DrillRounds {
    /// Whether somebody has asked for one.
    is_wanted: bool,
    /// The outcome of the last one.
    ended: Option<Result<Seq, String>>,
}

impl BackupService {
    /// Asks for the removal of what is not needed for the states of `keep_days`, or of the
    /// configured span. It has ended when
    /// [`BackupStatus::ended_prunes`](crate::BackupStatus::ended_prunes) is the returned number.
    ///
    /// # Errors
    /// `Refused`: the span is shorter than the configured one, and `force` is not set.
    pub fn request_prune(&self, keep_days: Option<u64>, force: bool) -> Result<u64, BackupError> {
        let configured = self.options.keep;
        let keep = keep_days.map_or(configured, |days| DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)));
        if keep < configured && !force {
            return Err(BackupError::Refused(format!(
                "States of {} days would be kept, and `backup.keep_days` is {}. With --force the others are removed for \
                 good.",
                keep.as_secs() / DAY.as_secs(),
                configured.as_secs() / DAY.as_secs()
            )));
        }
        let mut state = self.state.lock();
        state.prunes.wanted = Some(keep);
        self.spool.wake();
        Ok(state.status.ended_prunes + if state.status.is_pruning { 2 } else { 1 })
    }

    /// Asks for a drill. It has ended when
    /// [`BackupStatus::ended_drills`](crate::BackupStatus::ended_drills) is the returned number.
    pub fn request_drill(&self) -> u64 {
        let mut state = self.state.lock();
        state.drills.is_wanted = true;
        self.spool.wake();
        state.status.ended_drills + if state.status.is_drilling { 2 } else { 1 }
    }

    /// Notes a removal that has ended, and begins one if one is due.
    pub(crate) fn prune_round(self: &Arc<Self>, target: &BackupTarget, served: &Arc<ServedData>, own: TimelineId) {
        self.note_prune();
        let mut state = self.state.lock();
        // A base that is being taken counts on chunks.
        if state.status.is_pruning || state.status.is_taking_base || self.is_ended.load(Ordering::Acquire) {
            return;
        }
        let next = *state.prunes.next.get_or_insert_with(|| Instant::now() + PRUNE_PAUSE);
        if state.prunes.wanted.is_none() && Instant::now() < next {
            return;
        }
        let keep = state.prunes.wanted.take().unwrap_or(self.options.keep);
        state.status.is_pruning = true;
        drop(state);
        let (service, target, served) = (self.clone(), target.clone(), served.clone());
        let work = move || {
            let mut refusal = None;
            let pruned = catch_unwind(AssertUnwindSafe(|| service.prune(&target, &served, own, keep, &mut refusal)));
            let panicked = |_| Err(BackupError::LocalFile("It has panicked; the log has details.".to_owned()));
            service.state.lock().prunes.ended = Some((pruned.unwrap_or_else(panicked), refusal));
            service.spool.wake();
        };
        if let Err(error) = in_background("stet-prune", work) {
            self.state.lock().prunes.ended = Some((Err(BackupError::LocalFile(error.to_string())), None));
        }
    }

    fn prune(
        &self,
        target: &BackupTarget,
        served: &ServedData,
        own: TimelineId,
        keep: Duration,
        refusal: &mut Option<String>,
    ) -> Result<PruneReport, BackupError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| BackupError::LocalFile(error.to_string()))?;
        let doubted = || {
            let why = "The clock is more than a day off the expected time, so nothing is removed until it is trusted.";
            BackupError::Unreachable(why.to_owned())
        };
        let now_ms = served.store.ends().map_or(Some(now_ms()), |ends| Some(ends.now()?.ms())).ok_or_else(doubted)?;
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let may_delete = |_: &str| match self.is_ended.load(Ordering::Acquire) {
            true => Err(BackupError::Unreachable("The server ends.".to_owned())),
            false => Ok(()),
        };
        let mut work = PruneWork {
            target,
            own,
            now_ms,
            since_ms: now_ms.saturating_sub(ms(keep)),
            // Another server with these settings takes a base in that time.
            silence_ms: ms(self.options.base_every.saturating_mul(2).saturating_add(DAY)),
            may_delete: &may_delete,
            report: PruneReport::default(),
            refusal: None,
        };
        let outcome = runtime.block_on(work.run());
        *refusal = work.refusal;
        outcome.map(|()| PruneReport { at_ms: now_ms, ..work.report })
    }

    fn note_prune(&self) {
        let mut state = self.state.lock();
        let Some((outcome, refusal)) = state.prunes.ended.take() else { return };
        state.status.is_pruning = false;
        state.status.ended_prunes += 1;
        let is_logged = state.prunes.logged.is_some_and(|logged| logged.elapsed() < DAY);
        if let Some(refusal) = refusal.filter(|_| !is_logged) {
            tracing::warn!(refusal, "the target of the backup refuses deletions; what is old stays there");
            state.prunes.logged = Some(Instant::now());
        }
        let pause = match outcome {
            Ok(report) => {
                let PruneReport { files, bytes, merged, .. } = report;
                if files + merged > 0 {
                    tracing::info!(files, bytes, merged, "removed what the backup does not need any more");
                }
                state.status.prune_fault = None;
                state.status.prune = Some(report);
                DAY
            }
            Err(error) => {
                let why = Some(error.to_string());
                if state.status.prune_fault != why {
                    tracing::warn!(%error, "nothing more is removed from the backup; trying again");
                }
                state.status.prune_fault = why;
                // Another server's timeline, for example, goes on to be there.
                if matches!(error, BackupError::Refused(_)) { DAY } else { PRUNE_PAUSE }
            }
        };
        state.prunes.next = Some(Instant::now() + pause);
    }

    /// Notes a drill that has ended, and begins one if one is due.
    pub(crate) fn drill_round(
        self: &Arc<Self>,
        target: &BackupTarget,
        served: &Arc<ServedData>,
        timeline: TimelineId,
        newest: Option<BaseStamp>,
    ) {
        self.note_drill();
        let Some(base) = newest else { return };
        let mut state = self.state.lock();
        if state.status.is_drilling || self.is_ended.load(Ordering::Acquire) {
            return;
        }
        let record = state.status.drill.get_or_insert_with(|| {
            let record = DrillRecord::since(base.taken_ms);
            self.keep_record(&record);
            record
        });
        let every = self.options.drill_every;
        let is_due = !every.is_zero() && record.is_due(now_ms(), every);
        if !is_due && !state.drills.is_wanted {
            return;
        }
        state.drills.is_wanted = false;
        state.status.is_drilling = true;
        drop(state);
        let (service, target, served) = (self.clone(), target.clone(), served.clone());
        let work = move || {
            let work = DrillWork {
                target: &target,
                tools: &service.options.drill,
                content: &served.content,
                data: &service.options.data,
                timeline,
                bytes_per_second: service.options.base_bytes_per_second,
                is_ended: &service.is_ended,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| work.run()));
            let outcome = outcome.unwrap_or_else(|_| Err("It has panicked; the log has details.".to_owned()));
            service.state.lock().drills.ended = Some(outcome);
            service.spool.wake();
        };
        if let Err(error) = in_background("stet-drill", work) {
            self.state.lock().drills.ended = Some(Err(error.to_string()));
        }
    }

    fn note_drill(&self) {
        let mut state = self.state.lock();
        let Some(outcome) = state.drills.ended.take() else { return };
        state.status.is_drilling = false;
        // The end of the server is no fault of the backup.
        if self.is_ended.load(Ordering::Acquire) {
            return;
        }
        match &outcome {
            Ok(change) => tracing::info!(change, "restored and checked the newest state of the backup"),
            Err(fault) => tracing::error!(fault, "the newest state of the backup could not be restored and checked"),
        }
        state.status.ended_drills += 1;
        let record = state.status.drill.take().unwrap_or_else(|| DrillRecord::since(now_ms())).after(outcome);
        self.keep_record(&record);
        state.status.drill = Some(record);
    }

    fn keep_record(&self, record: &DrillRecord) {
        if let Err(error) = record.write(self.spool.folder()) {
            tracing::warn!(%error, "the outcome of a drill can't be kept over a restart");
        }
    }
}

/// Runs work of low priority on a thread of its own.
fn in_background(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let work = || {
        lower_priority();
        work();
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}
