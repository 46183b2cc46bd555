//! Counting requests: the meters of an endpoint are made with its first call, so that counting is
//! two atomic additions, and nothing is shown of what nobody has called. And timing how long an
//! endpoint, or the body of its reply, keeps a thread to itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::StatusCode;
use bytes::Bytes;
use foldhash::HashMap;
use metrics::{Counter, Histogram};
use parking_lot::RwLock;

use super::route::Route;
use crate::limits::CallTask;
use crate::metering;

/// What requests that fit no endpoint are counted under.
pub const NO_ENDPOINT: &str = "none";

/// The meters of all endpoints.
pub struct Meters(HashMap<&'static str, Endpoint>);

#[derive(Default)]
struct Endpoint {
    seconds: OnceLock<Histogram>,
    /// By status; the few that an endpoint really gives.
    statuses: RwLock<Vec<(StatusCode, Counter)>>,
}

impl Meters {
    /// Meters for these routes; to be called after the metrics have been set up.
    pub fn of(routes: impl Iterator<Item = &'static Route>) -> Meters {
        let ids = routes.map(|route| route.id).chain([NO_ENDPOINT]);
        Meters(ids.map(|id| (id, Endpoint::default())).collect())
    }

    /// Counts a request that was answered.
    pub fn record(&self, id: &'static str, status: StatusCode, took: Duration) {
        // Every id there is has its meters.
        let Some(endpoint) = self.0.get(id) else { return };
        let seconds = || metrics::histogram!("stet_http_request_seconds", "endpoint" => id);
        endpoint.seconds.get_or_init(seconds).record(took.as_secs_f64());
        if status.is_server_error() {
            // A series for each, whatever the endpoint: those by endpoint begin with 1, and no
            // alert sees the first.
            metrics::counter!("stet_http_server_errors_total", "status" => status.as_str().to_owned()).increment(1);
        }
        let count = |statuses: &[(StatusCode, Counter)]| {
            let known = statuses.iter().find(|(known, _)| *known == status);
            known.map(|(_, counter)| counter.increment(1)).is_some()
        };
        if count(&endpoint.statuses.read()) {
            return;
        }
        let mut statuses = endpoint.statuses.write();
        // Another request may have been the first with this status.
        if !count(&statuses) {
            let text = status.as_str().to_owned();
            let counter = metrics::counter!("stet_http_requests_total", "endpoint" => id, "status" => text);
            counter.increment(1);
            statuses.push((status, counter));
        }
    }
}

/// How long a call may keep its thread to itself. All others that the thread serves wait meanwhile:
/// see [`give_way`](crate::limits::yielding).
pub const LONG_TURN: Duration = Duration::from_millis(5);

/// The future of a call, of which each turn on its thread is timed: what lies between two points at
/// which it waits. Long turns are counted under the endpoint when they end, whatever becomes of the
/// call.
pub struct Timed<'f, F, E> {
    task: CallTask,
    inner: Pin<&'f mut F>,
    endpoint: E,
}

impl<'f, F: Future, E: Fn() -> &'static str + Unpin> Timed<'f, F, E> {
    /// Times a future as that task; `endpoint` says under which endpoint it counts, which may not
    /// be known from the beginning.
    pub fn new(task: &CallTask, inner: Pin<&'f mut F>, endpoint: E) -> Timed<'f, F, E> {
        Timed { task: task.clone(), inner, endpoint }
    }
}

impl<F: Future, E: Fn() -> &'static str + Unpin> Future for Timed<'_, F, E> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Timed { task, inner, endpoint } = self.get_mut();
        let (outcome, took) = task.poll(|| inner.as_mut().poll(cx));
        note_turn(took, endpoint);
        outcome
    }
}

/// The body of a reply, of which each turn is timed as those of the call ([`Timed`]), and as the
/// same task.
pub struct TimedBody {
    task: CallTask,
    inner: BoxBody,
    endpoint: &'static str,
}

impl TimedBody {
    /// Times the body of a reply of an endpoint, unless it is there as a whole.
    pub fn of(task: CallTask, endpoint: &'static str, body: BoxBody) -> BoxBody {
        match body.try_into_bytes() {
            Ok(whole) => BoxBody::new(whole),
            Err(inner) => {
                task.begin_reply();
                BoxBody::new(TimedBody { task, inner, endpoint })
            }
        }
    }
}

impl MessageBody for TimedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.inner.size()
    }

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let TimedBody { task, inner, endpoint } = self.get_mut();
        let (piece, took) = task.poll(|| Pin::new(inner).poll_next(cx));
        note_turn(took, || endpoint);
        piece
    }
}

/// Counts a turn that was long.
fn note_turn(took: Duration, endpoint: impl FnOnce() -> &'static str) {
    if took > LONG_TURN {
        let endpoint = endpoint();
        metrics::counter!("stet_http_slow_turns_total", "endpoint" => endpoint).increment(1);
        metrics::histogram!("stet_http_slow_turn_seconds", "endpoint" => endpoint).record(took.as_secs_f64());
        metering::slow_turn(took);
        tracing::debug!(endpoint, took_us = took.as_micros() as u64, "a call kept its thread to itself for long");
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::thread::sleep;

    use futures_util::FutureExt;

    use super::*;
    use crate::limits::TimeSlices;
    use crate::telemetry::init_metrics;

    #[tokio::test]
    async fn each_long_turn_counts_and_short_ones_do_not() {
        let metrics = init_metrics();
        let count = |endpoint: &str| {
            let line = format!("stet_http_slow_turns_total{{endpoint=\"{endpoint}\"}} ");
            let text = metrics.render();
            text.lines().find_map(|found| found.strip_prefix(&line)?.parse::<u64>().ok()).unwrap_or(0)
        };
        let busy = async {
            sleep(LONG_TURN * 2);
            tokio::task::yield_now().await;
            sleep(LONG_TURN * 2);
            tokio::time::sleep(LONG_TURN * 2).await;
        };
        let task = CallTask::new(&TimeSlices::new(1));
        Timed::new(&task, pin!(busy), || "a-busy-one").await;
        assert!(count("a-busy-one") >= 2, "and no more, unless the machine is busy itself");
        // It counts also if its caller goes away before it has come to an end.
        let abandoned = async {
            sleep(LONG_TURN * 2);
            std::future::pending::<()>().await;
        };
        let mut abandoned = pin!(abandoned);
        let turn = Timed::new(&task, abandoned.as_mut(), || "an-abandoned-one").now_or_never();
        assert!(turn.is_none(), "it is still under way");
        assert_eq!(count("an-abandoned-one"), 1);
    }
}
