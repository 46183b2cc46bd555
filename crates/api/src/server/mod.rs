//! The server itself (docs/api/server.md).
//!
//! The checks of the doctor belong to the binary, which knows sockets and directories.
//! [`ServerDoctor`] runs them for the endpoint, and bounds what clients can make them cost.

mod backup;
mod report;
pub mod routes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use stet_domain::error::{Code, Error, Result};
use stet_web::call::Call;
use stet_web::reply::Json;
use tokio::sync::Mutex;

pub use self::backup::{BackupReport, BaseReport, DrillReport, backup};
pub use self::report::{DoctorFinding, DoctorReport, FindingLevel};

/// The time for which a report is replied again. An examination syncs the disk some times, for
/// which changes wait.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// The longest wait for an examination. A disk that does not respond may hold one for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// A report with the time at which its examination ended.
struct KeptReport {
    report: Arc<DoctorReport>,
    at: Instant,
}

/// The examination of the running server. At most one runs at a time, and none begins while the
/// report of the last one is kept. Callers in between get the same report.
pub struct ServerDoctor {
    examine: Arc<dyn Fn() -> DoctorReport + Send + Sync>,
    /// The last report. The caller that examines holds the lock, so the others wait for the report.
    last: Arc<Mutex<Option<KeptReport>>>,
    kept_for: Duration,
    longest_wait: Duration,
}

impl ServerDoctor {
    /// Returns the examination by `examine`, which may block.
    pub fn new(examine: impl Fn() -> DoctorReport + Send + Sync + 'static) -> ServerDoctor {
        ServerDoctor {
            examine: Arc::new(examine),
            last: Arc::default(),
            kept_for: KEPT_FOR,
            longest_wait: LONGEST_WAIT,
        }
    }

    /// Returns the last report, or that of a new examination.
    ///
    /// # Errors
    /// `Overloaded` if the examination takes too long; `RepositoryError` if it panics.
    async fn report(&self) -> Result<Arc<DoctorReport>> {
        let report = tokio::time::timeout(self.longest_wait, self.examined()).await;
        report.unwrap_or_else(|_| {
            let seconds = self.longest_wait.as_secs();
            let message = format!(
                "The examination has not ended within {seconds} seconds. The disk or the resolver of host names may \
                 not respond. Try again later."
            );
            Err(Error::new(Code::Overloaded, message))
        })
    }

    async fn examined(&self) -> Result<Arc<DoctorReport>> {
        let mut last = self.last.clone().lock_owned().await;
        if let Some(kept) = last.as_ref().filter(|kept| kept.at.elapsed() < self.kept_for) {
            return Ok(kept.report.clone());
        }
        let examine = self.examine.clone();
        // The lock belongs to the work, which is completed even if the caller has left. Otherwise
        // callers who leave could start any number of examinations. The threads for large work have
        // a low priority, with which the disk would seem slow on a busy machine.
        let examining = tokio::task::spawn_blocking(move || {
            let report = Arc::new(examine());
            *last = Some(KeptReport { report: report.clone(), at: Instant::now() });
            report
        });
        examining.await.map_err(|error| {
            tracing::error!(%error, "the examination of the server was interrupted");
            Error::internal()
        })
    }
}

/// `GET /v3/server/doctor`
pub async fn doctor(call: Call) -> Result<Json<DoctorReport>> {
    Json::of(&*call.app.kept::<ServerDoctor>().report().await?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use futures_util::future::join_all;
    use futures_util::{FutureExt, poll};

    use super::*;

    /// Returns a doctor whose warnings are the number of its examinations so far.
    fn counting(kept_for: Duration) -> ServerDoctor {
        let count = AtomicUsize::new(0);
        let examine = move || DoctorReport {
            warnings: 1 + count.fetch_add(1, Ordering::Relaxed),
            ..DoctorReport::of(Vec::new())
        };
        ServerDoctor { kept_for, ..ServerDoctor::new(examine) }
    }

    #[tokio::test]
    async fn callers_share_a_report_until_it_is_old() {
        let doctor = counting(Duration::MAX);
        let reports = join_all((0..20).map(|_| doctor.report())).await;
        assert!(reports.iter().all(|report| report.as_ref().is_ok_and(|report| report.warnings == 1)), "{reports:?}");
        let doctor = counting(Duration::ZERO);
        assert_eq!([doctor.report().await.unwrap().warnings, doctor.report().await.unwrap().warnings], [1, 2]);
    }

    #[tokio::test]
    async fn an_examination_goes_on_without_its_caller_and_keeps_others_from_beginning() {
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel::<()>();
        let ended = std::sync::Mutex::new(ended);
        let examine = move || {
            begin.send(()).expect("the test listens");
            ended.lock().expect("it is not poisoned").recv().expect("the test ends it");
            DoctorReport::of(vec![DoctorFinding::warn("disk", "it is slow", "wait")])
        };
        let doctor = ServerDoctor { kept_for: Duration::MAX, ..ServerDoctor::new(examine) };
        let mut left = Box::pin(doctor.report());
        assert!(poll!(&mut left).is_pending());
        begun.recv().expect("it has begun");
        drop(left);
        // Others wait for its report, but not for ever.
        assert!(doctor.report().now_or_never().is_none());
        let impatient = ServerDoctor {
            examine: doctor.examine.clone(),
            last: doctor.last.clone(),
            kept_for: Duration::MAX,
            longest_wait: Duration::ZERO,
        };
        assert_eq!(impatient.report().await.map_err(|error| error.code), Err(Code::Overloaded));
        end.send(()).expect("it still runs");
        assert_eq!(doctor.report().await.map(|report| report.warnings), Ok(1));
        assert!(begun.try_recv().is_err(), "there was one examination");
    }
}
