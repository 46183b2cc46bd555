//! The meters of requests. The meters of an endpoint are created with its first call, so that
//! counting takes two atomic additions, and endpoints without calls are not shown. They also time
//! how long an endpoint, or the body of its reply, occupies a thread without yielding.

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
use stet_base::limits::{CallTask, turn_processor_time};
use stet_observe::metering;

use super::route::Route;

/// The endpoint name under which requests that fit no endpoint are counted.
pub const NO_ENDPOINT: &str = "none";

/// The meters of all endpoints.
pub struct Meters(HashMap<&'static str, EndpointMeters>);

#[derive(Default)]
struct EndpointMeters {
    seconds: OnceLock<Histogram>,
    /// The counters by status. Only statuses that the endpoint has returned are present.
    statuses: RwLock<Vec<(StatusCode, Counter)>>,
}

impl Meters {
    /// Creates the meters for these routes. Call it after the metrics have been set up.
    pub fn of(routes: impl Iterator<Item = &'static Route>) -> Meters {
        let ids = routes.map(|route| route.id).chain([NO_ENDPOINT]);
        Meters(ids.map(|id| (id, EndpointMeters::default())).collect())
    }

    /// Counts an answered request.
    pub fn record(&self, id: &'static str, status: StatusCode, took: Duration) {
        // Every known id has meters.
        let Some(endpoint) = self.0.get(id) else { return };
        let seconds = || metrics::histogram!("stet_http_request_seconds", "endpoint" => id);
        endpoint.seconds.get_or_init(seconds).record(took.as_secs_f64());
        if status.is_server_error() {
            // One series for each status over all endpoints. A series by endpoint begins with 1,
            // and no alert notices its first error.
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

/// The longest time that a call may occupy its thread without yielding. All other calls of the
/// thread wait for it: see [`give_way`](stet_base::limits::yielding).
pub const LONG_TURN: Duration = Duration::from_millis(5);

/// The future of a call whose polls are timed: each runs from one point where the call waits to the
/// next. A long poll is counted for the endpoint when it ends, even if the call is dropped later.
pub struct TimedCall<'f, F, E> {
    task: CallTask,
    inner: Pin<&'f mut F>,
    endpoint: E,
}

impl<'f, F: Future, E: Fn() -> &'static str + Unpin> TimedCall<'f, F, E> {
    /// Times a future as a part of that task. `endpoint` returns the endpoint to count for, which
    /// may not be known at the beginning.
    pub fn new(task: &CallTask, inner: Pin<&'f mut F>, endpoint: E) -> TimedCall<'f, F, E> {
        TimedCall { task: task.clone(), inner, endpoint }
    }
}

impl<F: Future, E: Fn() -> &'static str + Unpin> Future for TimedCall<'_, F, E> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let TimedCall { task, inner, endpoint } = self.get_mut();
        let (outcome, took) = task.poll(|| inner.as_mut().poll(cx));
        note_turn(took, endpoint);
        outcome
    }
}

/// The body of a reply whose polls are timed like those of its call ([`TimedCall`]), as a part of
/// the same task.
pub struct TimedBody {
    task: CallTask,
    inner: BoxBody,
    endpoint: &'static str,
}

impl TimedBody {
    /// Times the body of an endpoint's reply, unless it is complete in memory.
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

/// Counts a poll if it was long.
fn note_turn(took: Duration, endpoint: impl FnOnce() -> &'static str) {
    if took > LONG_TURN {
        let (endpoint, processor) = (endpoint(), turn_processor_time());
        metrics::counter!("stet_http_slow_turns_total", "endpoint" => endpoint).increment(1);
        metrics::histogram!("stet_http_slow_turn_seconds", "endpoint" => endpoint).record(took.as_secs_f64());
        metering::slow_turn(took, processor);
        let (took_us, processor_us) = (took.as_micros() as u64, processor.as_micros() as u64);
        tracing::debug!(endpoint, took_us, processor_us, "a call blocked its thread");
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::thread::sleep;

    use futures_util::FutureExt;
    use stet_base::limits::TimeSlices;
    use stet_observe::telemetry::init_metrics;

    use super::*;

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
        TimedCall::new(&task, pin!(busy), || "a-busy-one").await;
        assert!(count("a-busy-one") >= 2, "and no more, unless the machine is busy itself");
        // The poll counts even if its caller drops the call before it has finished.
        let abandoned = async {
            sleep(LONG_TURN * 2);
            std::future::pending::<()>().await;
        };
        let mut abandoned = pin!(abandoned);
        let turn = TimedCall::new(&task, abandoned.as_mut(), || "an-abandoned-one").now_or_never();
        assert!(turn.is_none(), "it is still under way");
        assert_eq!(count("an-abandoned-one"), 1);
    }
}
