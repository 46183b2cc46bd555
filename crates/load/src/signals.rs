//! SIGINT and SIGTERM: the first ends the load, the second all of it, whatever the threads are at.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// Memory for what the thread of the work calls: what the main thread has elsewhere.
const STACK: usize = 8 << 20;

/// What the work may know of signals, and what they have to know of it.
#[derive(Clone)]
pub struct Signals {
    counted: watch::Receiver<u32>,
    stage: Arc<Mutex<Stage>>,
}

/// How far the work is.
#[derive(Debug, Default)]
struct Stage {
    /// It says by itself what a first signal does.
    speaks: bool,
    /// What it would leave behind.
    leaves: Option<String>,
}

impl Signals {
    /// Resolves when one has come.
    pub async fn heard(mut self) {
        if self.counted.wait_for(|count| *count >= 1).await.is_err() {
            // Nobody counts any more, so none comes.
            std::future::pending().await
        }
    }

    /// From here on somebody waits for the first one, and says so; or nobody does any more.
    pub fn waited_for(&self, is: bool) {
        self.stage.lock().speaks = is;
    }

    /// What is left behind if all ends now.
    pub fn leaves(&self, what: Option<String>) {
        self.stage.lock().leaves = what;
    }
}

/// Does the work on a thread of its own, since it may be busy with something else when a signal
/// comes, and gives what it came to.
///
/// # Errors
/// A sentence: signals can't be heard, there is no thread to be had, or two signals have come. Of
/// these the second ends all at once: the caller has to end the process.
pub fn interruptible<T: Send + 'static>(work: impl FnOnce(Signals) -> T + Send + 'static) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime can be made: {error}"))?;
    runtime.block_on(async {
        let cannot = |error| format!("signals can't be heard: {error}");
        let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        let (count, counted) = watch::channel(0);
        let signals = Signals { counted, stage: Arc::default() };
        let stage = signals.stage.clone();
        let (done, mut ended) = oneshot::channel();
        let body = move || {
            // Whoever waits for it has gone only if the process ends.
            let _ = done.send(work(signals));
        };
        let spawned = std::thread::Builder::new().name("load".to_owned()).stack_size(STACK).spawn(body);
        spawned.map_err(|error| format!("no thread can be started: {error}"))?;
        loop {
            tokio::select! {
                ended = &mut ended => return ended.map_err(|_| "its thread has failed".to_owned()),
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            count.send_modify(|count| *count += 1);
            if *count.borrow() > 1 {
                let left =
                    stage.lock().leaves.take().map(|left| format!("; {left} is left behind")).unwrap_or_default();
                return Err(format!("it was ended at once, without verification and report{left}"));
            }
            if !stage.lock().speaks {
                // Whoever reads may have gone.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), AGAIN);
            }
        }
    })
}

const AGAIN: &[u8] = b"ending; once more ends it at once, without verification and report\n";
