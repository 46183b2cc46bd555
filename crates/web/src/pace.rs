//! The limits for slow bodies: a client must not hold a call and its resources by sending a byte
//! now and then.
//!
//! A body that is held in memory must arrive within a time limit. An upload may take any time, but
//! must make progress.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::error::PayloadError;
use actix_web::web::Payload;
use bytes::Bytes;
use futures_util::Stream;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use tokio::time::{Instant, Sleep};

/// The resolution of the time for which a client is waited for.
const TICK: Duration = Duration::from_millis(250);

/// The remaining time for which a client is waited for. Time counts only while there is nothing to
/// do but wait: a thread or disk that is busy is not the client's fault. So time is counted in
/// ticks, and a tick that ends late counts no more than one that ends in time.
struct BodyPatience {
    left: Duration,
    tick: Pin<Box<Sleep>>,
}

impl BodyPatience {
    fn new(whole: Duration) -> BodyPatience {
        BodyPatience { left: whole, tick: Box::pin(tokio::time::sleep(TICK.min(whole))) }
    }

    /// Restores the full time, because the client has made progress.
    fn renew(&mut self, whole: Duration) {
        self.left = whole;
        self.next();
    }

    fn next(&mut self) {
        let length = TICK.min(self.left);
        self.tick.as_mut().reset(Instant::now() + length);
    }

    /// Reports whether the time is over. Call it only when nothing has arrived from the client.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.tick.as_mut().poll(cx).is_ready() {
            self.left = self.left.saturating_sub(TICK);
            if self.left.is_zero() {
                return Poll::Ready(());
            }
            self.next();
        }
        Poll::Pending
    }
}

/// Returns the result of `reading`, unless waiting for the client takes more than that number of
/// seconds; 0 sets no limit.
///
/// # Errors
/// `InvalidBody`, and the errors of `reading`.
pub async fn within<T>(seconds: u64, reading: impl Future<Output = Result<T>>) -> Result<T> {
    if seconds == 0 {
        return reading.await;
    }
    // Most bodies arrive with their heads.
    let mut patience = None;
    let mut reading = pin!(reading);
    poll_fn(|cx| match reading.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending => {
            patience.get_or_insert_with(|| BodyPatience::new(Duration::from_secs(seconds))).poll(cx).map(|()| {
                let message =
                    format!("The body did not arrive within the {} allowed.", count_with_noun(seconds, "second"));
                Err(Error::new(Code::InvalidBody, message).with_detail("limit", seconds))
            })
        }
    })
    .await
}

/// A body that must deliver a minimum of bytes in each period in which it is waited for.
pub struct PacedBody<S = Payload> {
    inner: S,
    least: usize,
    stretch: Duration,
    /// The rest of the current period; `None` if there is no limit.
    patience: Option<BodyPatience>,
    /// The number of bytes received in the current period.
    came: usize,
}

impl<S> PacedBody<S> {
    /// Requires at least `least` bytes in each `seconds`; 0 seconds set no limit.
    pub fn new(inner: S, least: usize, seconds: u64) -> PacedBody<S> {
        let stretch = Duration::from_secs(seconds);
        let patience = (seconds > 0).then(|| BodyPatience::new(stretch));
        PacedBody { inner, least, stretch, patience, came: 0 }
    }
}

impl<S: Stream<Item = Result<Bytes, PayloadError>> + Unpin> Stream for PacedBody<S> {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let next = Pin::new(&mut this.inner).poll_next(cx);
        let Some(patience) = &mut this.patience else { return next };
        match &next {
            Poll::Ready(Some(Ok(bytes))) => {
                this.came += bytes.len();
                if this.came >= this.least {
                    this.came = 0;
                    patience.renew(this.stretch);
                }
                next
            }
            Poll::Ready(_) => next,
            // Only a client that is being waited for can be too slow, not one whose data waited for
            // the disk.
            Poll::Pending => patience.poll(cx).map(|()| {
                let (least, seconds) = (this.least, this.stretch.as_secs());
                let message = format!(
                    "fewer than {} came within {}",
                    count_with_noun(least, "byte"),
                    count_with_noun(seconds, "second")
                );
                Some(Err(PayloadError::Io(io::Error::new(io::ErrorKind::TimedOut, message))))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use futures_util::stream;

    use super::*;

    /// Returns how many of 100 pieces of `size` bytes pass, with a `pause` in seconds before each.
    async fn taken(size: usize, pause: u64, seconds: u64) -> usize {
        let pieces = stream::iter(0..100).then(move |_| async move {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            Ok(Bytes::from(vec![0; size]))
        });
        let body = PacedBody::new(Box::pin(pieces), 1000, seconds);
        body.take_while(|piece| std::future::ready(piece.is_ok())).count().await
    }

    #[tokio::test(start_paused = true)]
    async fn steady_senders_may_take_any_time_and_stalled_ones_are_cut_off() {
        assert_eq!(taken(1000, 9, 10).await, 100);
        // One piece arrives before the period ends, and is too little.
        assert_eq!(taken(100, 9, 10).await, 1);
        assert_eq!(taken(1000, 11, 10).await, 0);
        // Five pieces reach the minimum in time, again and again.
        assert_eq!(taken(200, 1, 10).await, 100);
        assert_eq!(taken(1, 1000, 0).await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_must_be_there_in_time() {
        let late = || async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(1)
        };
        assert_eq!(within(6, late()).await, Ok(1));
        assert_eq!(within(0, late()).await, Ok(1));
        let error = within(4, late()).await.unwrap_err();
        assert!(error.code == Code::InvalidBody && error.message.contains("4 seconds"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_thread_was_busy_with_others_does_not_count() {
        let (came, coming) = tokio::sync::oneshot::channel();
        let read = within(60, async { coming.await.map_err(|_| Error::internal()) });
        let busy = async {
            // The clock runs while nothing is polled. Data that arrived in that time is read only
            // afterwards.
            tokio::time::advance(Duration::from_secs(300)).await;
            tokio::task::yield_now().await;
            let _ = came.send(1);
        };
        assert_eq!(tokio::join!(read, busy).0, Ok(1));
        // The same for an upload.
        let pieces = stream::iter(0..10).then(|_| async {
            tokio::time::advance(Duration::from_secs(300)).await;
            tokio::task::yield_now().await;
            Ok(Bytes::from_static(b"x"))
        });
        let body = PacedBody::new(Box::pin(pieces), 1000, 10);
        assert_eq!(body.take_while(|piece| std::future::ready(piece.is_ok())).count().await, 10);
    }
}
