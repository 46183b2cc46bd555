//! SIGINT and SIGTERM. The first signal ends the load; the second ends the process, whatever the
//! threads are doing.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// The stack size of the work's thread in bytes, as the main thread has elsewhere.
const STACK: usize = 8 << 20;

/// The work's access to signals, and what the signal handler needs to know of the work.
#[derive(Clone)]
pub struct Signals {
    counted: watch::Receiver<u32>,
    stage: Arc<Mutex<WorkStage>>,
}

/// The state of the work.
#[derive(Debug, Default)]
struct WorkStage {
    /// `true` if the work itself reports the first signal.
    speaks: bool,
    /// The description of what an immediate end would leave behind.
    leaves: Option<String>,
}

impl Signals {
    /// Resolves after the first signal.
    pub async fn heard(mut self) {
        if self.counted.wait_for(|count| *count >= 1).await.is_err() {
            // The sender is gone, so no signal will be reported.
            std::future::pending().await
        }
    }

    /// Sets whether the work waits for the first signal and reports it.
    pub fn waited_for(&self, is: bool) {
        self.stage.lock().speaks = is;
    }

    /// Sets what an immediate end would leave behind.
    pub fn leaves(&self, what: Option<String>) {
        self.stage.lock().leaves = what;
    }
}

/// Runs the work on a thread of its own, since it may be busy when a signal arrives, and returns
/// its result.
///
/// # Errors
/// One sentence: signals cannot be received, no thread can be started, or two signals have arrived.
/// After two signals the caller has to end the process.
pub fn interruptible<T: Send + 'static>(work: impl FnOnce(Signals) -> T + Send + 'static) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime can be made: {error}"))?;
    runtime.block_on(async {
        let cannot = |error| format!("signals can't be received: {error}");
        let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        let (count, counted) = watch::channel(0);
        let signals = Signals { counted, stage: Arc::default() };
        let stage = signals.stage.clone();
        let (done, mut ended) = oneshot::channel();
        let body = move || {
            // The receiver is gone only if the process ends.
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
                return Err(format!("it was stopped at once, without verification and report{left}"));
            }
            if !stage.lock().speaks {
                // The reader may be gone.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), AGAIN);
            }
        }
    })
}

const AGAIN: &[u8] = b"stopping; a second signal stops at once, without verification and report\n";
