//! A reply that is rendered anew on request, once for all clients that wait for it.
//!
//! Such a reply takes milliseconds to render, and anybody may request it at any rate. Clients that
//! ask while it is being rendered get the next one together, so each gets a reply that was begun
//! after its request. Between two of them rendering pauses, so that it takes only a part of the
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stet_base::limits::offload::offload_at_once;
use stet_domain::error::Result;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::kept_text::KeptText;

/// The length of the pause after rendering, as a multiple of the time that rendering took.
const REST: u32 = 4;

/// The longest pause: after a slow run on a busy machine clients should not wait longer.
const LONGEST_REST: Duration = Duration::from_millis(100);

/// A reply that is shared by the clients that wait for it.
#[derive(Default)]
pub struct SharedReply {
    /// The number of renderings begun.
    begun: AtomicU64,
    last: Arc<Mutex<LastReply>>,
}

#[derive(Default)]
struct LastReply {
    /// The number of the last rendering; 0 if there was none.
    number: u64,
    text: Arc<KeptText>,
    /// The earliest time of the next rendering; `None` if there was none.
    rested: Option<Instant>,
}

impl SharedReply {
    /// Returns the text of a call of `make` that began after this call. It runs outside of the
    /// threads that serve requests.
    ///
    /// # Errors
    /// The errors of [`offload_at_once`].
    ///
    /// # Panics
    /// When `make` does.
    pub async fn made(&self, make: impl FnOnce() -> String + Send + 'static) -> Result<Arc<KeptText>> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.clone().lock_owned().await;
        if last.number > before {
            return Ok(last.text.clone());
        }
        if let Some(rested) = last.rested {
            tokio::time::sleep_until(rested).await;
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        // The rendering is completed, and the pause follows, even if no client waits any more.
        // Otherwise a client that disconnects again and again would keep it running all the time.
        let work = move || {
            let begun = Instant::now();
            let text = Arc::new(KeptText::new(make()));
            let rested = Instant::now() + (begun.elapsed() * REST).min(LONGEST_REST);
            *last = LastReply { number, text: text.clone(), rested: Some(rested) };
            text
        };
        offload_at_once(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn concurrent_requests_share_a_reply_rendered_after_they_asked() {
        let (shared, made) = (SharedReply::default(), Arc::new(AtomicUsize::new(0)));
        let ask = || {
            let made = made.clone();
            shared.made(move || (made.fetch_add(1, Ordering::SeqCst) + 1).to_string())
        };
        for round in 0..3 {
            let before = made.load(Ordering::SeqCst);
            for text in join_all((0..100).map(|_| ask())).await {
                let number: usize = text.unwrap().plain().parse().unwrap();
                assert!(number > before, "{round}: {number} was made before it was asked for");
            }
            // The first client renders one text, and another is rendered for all that asked in the
            // meantime.
            assert!(made.load(Ordering::SeqCst) <= before + 2, "{round}: each has made its own");
        }
    }

    #[tokio::test]
    async fn a_shared_reply_whose_maker_goes_away_is_made_by_the_next_caller() {
        let (shared, (end, wait)) = (SharedReply::default(), mpsc::channel::<()>());
        {
            let make = move || {
                // Runs until the asking future is dropped.
                let _ = wait.recv();
                "gone".to_owned()
            };
            let gone = std::pin::pin!(shared.made(make));
            assert!(gone.now_or_never().is_none());
        }
        drop(end);
        assert_eq!(shared.made(|| "there".to_owned()).await.unwrap().plain(), "there");
    }

    /// Clients that disconnected at once made it render on all cores.
    #[tokio::test]
    async fn the_next_is_not_begun_before_one_ends_whose_asker_has_gone() {
        let (shared, ended) = (SharedReply::default(), Arc::new(AtomicBool::new(false)));
        let ((begin, begun), (end, wait)) = (mpsc::channel(), mpsc::channel());
        let ends = ended.clone();
        let make = move || {
            begin.send(()).expect("the test waits");
            wait.recv().expect("the test says so");
            ends.store(true, Ordering::SeqCst);
            "gone".to_owned()
        };
        {
            let mut gone = std::pin::pin!(shared.made(make));
            while begun.try_recv().is_err() {
                assert!(gone.as_mut().now_or_never().is_none());
                tokio::task::yield_now().await;
            }
        }
        let mut next = std::pin::pin!(shared.made(move || ended.load(Ordering::SeqCst).to_string()));
        for _ in 0..20 {
            assert!(next.as_mut().now_or_never().is_none(), "it was made beside another");
            // Work that was begun earlier has had a thread by then.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        }
        end.send(()).expect("it waits");
        assert_eq!(next.await.unwrap().plain(), "true");
    }
}
