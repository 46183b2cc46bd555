//! One thread with its share of the followers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::LocalSet;

use super::follower::Follower;
use super::{FollowerLedger, FollowerPhase, FollowerSettings};
use crate::client::CONNECTING;
use crate::saturation::{Meter, ThreadLoad};

/// Runs the thread from begin to end. Each follower reports once that it follows, or why it cannot.
pub(super) fn run(
    following: &Arc<FollowerSettings>,
    ledger: &Arc<FollowerLedger>,
    numbers: impl Iterator<Item = usize>,
    phase: &watch::Receiver<FollowerPhase>,
    ready: &mpsc::UnboundedSender<Result<(), String>>,
) -> std::io::Result<ThreadLoad> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    Ok(local.block_on(&runtime, async {
        let connecting = Arc::new(Semaphore::new(CONNECTING));
        let work: Vec<_> = numbers
            .map(|number| {
                let follower = Follower::new(number, following.clone(), ledger.clone(), phase.clone());
                tokio::task::spawn_local(follower.work(connecting.clone(), ready.clone()))
            })
            .collect();
        let mut phase = phase.clone();
        // The sender is gone only at the end of the whole command; then the followers end as well.
        let _ = phase.wait_for(|phase| *phase != FollowerPhase::Begin).await;
        let mut meter = Meter::start();
        let mut work = pin!(join_all(work));
        loop {
            let second = pin!(tokio::time::sleep(Duration::from_secs(1)));
            match select(work, second).await {
                Either::Left(_) => break,
                Either::Right(((), rest)) => work = rest,
            }
            meter.look();
        }
        meter.end()
    }))
}
