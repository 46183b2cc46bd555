//! The public side of a container, for callers that do not use its mailbox: the published view, and
//! its phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::ContainerMemory;
use stet_domain::error::Error;
use stet_domain::family::{Family, State};
use stet_domain::store::Seq;

/// The view of a container: its state as it is on disk, for readers.
#[derive(Debug)]
pub struct ContainerView<S> {
    /// The state.
    pub state: S,
}

impl<S: State> ContainerView<S> {
    /// Returns the container's revision.
    pub fn revision(&self) -> u64 {
        self.state.object().record.revision
    }
}

/// The phase of a container's life, as far as readers are concerned.
#[derive(Debug, Clone)]
pub(crate) enum ContainerPhase {
    /// No view yet.
    Loading,
    /// The view is present.
    Live,
    /// The container does not exist, or was destroyed.
    Gone,
    /// The load has failed, and must not be repeated before this time of the steady clock.
    Failed(Error, u64),
}

pub(crate) struct ViewCell<F: Family> {
    view: ArcSwapOption<ContainerView<F::State>>,
    phase: watch::Sender<ContainerPhase>,
    /// The container's last change that is on disk and published.
    acknowledged: AtomicU64,
    /// The size of the view in bytes.
    weight: AtomicU64,
    /// The memory account of all containers.
    memory: Arc<ContainerMemory>,
}

impl<F: Family> ViewCell<F> {
    /// Creates a cell whose view counts in the account.
    pub fn new(memory: Arc<ContainerMemory>) -> ViewCell<F> {
        ViewCell {
            view: ArcSwapOption::empty(),
            phase: watch::Sender::new(ContainerPhase::Loading),
            acknowledged: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            memory,
        }
    }

    pub fn view(&self) -> Option<Arc<ContainerView<F::State>>> {
        self.view.load_full()
    }

    /// Waits for a view.
    pub async fn wait(&self) -> Result<Arc<ContainerView<F::State>>, Option<Error>> {
        let mut phase = self.phase.subscribe();
        loop {
            // The phase is read before the view, since the view is set before its phase. In the
            // other order, a view that is set between the two reads would be missed, and the wait
            // would not end.
            let seen = phase.borrow_and_update().clone();
            if let Some(view) = self.view() {
                return Ok(view);
            }
            match seen {
                ContainerPhase::Gone => return Err(None),
                ContainerPhase::Failed(error, _) => return Err(Some(error)),
                ContainerPhase::Loading | ContainerPhase::Live => {}
            }
            // The sender lives as long as `self`.
            if phase.changed().await.is_err() {
                return Err(None);
            }
        }
    }

    /// Publishes the state after a commit; `None` if the container is destroyed.
    ///
    /// Others are notified of the commit later, so [`ViewCell::acknowledge`] is called after this.
    pub fn publish_committed(&self, view: Option<Arc<ContainerView<F::State>>>) {
        #[cfg(feature = "planted-bugs")]
        if stet_domain::planted::holds_back_view() {
            return;
        }
        self.publish_loaded(view);
    }

    /// Records that `seq` is on disk, and that no view or cache shows an older state. From now on
    /// replies that depend on it need not wait.
    pub fn acknowledge(&self, seq: Seq) {
        self.acknowledged.store(seq, Ordering::Release);
    }

    /// Publishes a state that was read from disk.
    pub fn publish_loaded(&self, view: Option<Arc<ContainerView<F::State>>>) {
        let gone = view.is_none();
        self.weigh(view.as_ref().map_or(0, |view| view.state.bytes() as u64));
        self.view.store(view);
        self.phase.send_if_modified(|phase| {
            let fitting = matches!((&*phase, gone), (ContainerPhase::Live, false) | (ContainerPhase::Gone, true));
            if !fitting {
                *phase = if gone { ContainerPhase::Gone } else { ContainerPhase::Live };
            }
            !fitting
        });
    }

    /// Returns the size of the view in bytes.
    pub fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }

    fn weigh(&self, weight: u64) {
        // Relaxed is enough, as nothing else depends on this number.
        let before = self.weight.swap(weight, Ordering::Relaxed);
        self.memory.resize(before, weight);
    }

    /// Records a failure to load; the next try is at the steady time `until`.
    pub fn fail(&self, error: Error, until: u64) {
        self.phase.send_replace(ContainerPhase::Failed(error, until));
    }

    /// Ends a failure whose time is over; true for the caller that did.
    pub fn try_again(&self, now_ms: u64) -> bool {
        self.phase.send_if_modified(|phase| {
            let over = matches!(phase, ContainerPhase::Failed(_, until) if *until <= now_ms);
            if over {
                *phase = ContainerPhase::Loading;
            }
            over
        })
    }

    pub fn loading(&self) {
        self.phase.send_replace(ContainerPhase::Loading);
    }

    pub fn acknowledged(&self) -> Seq {
        self.acknowledged.load(Ordering::Acquire)
    }
}

impl<F: Family> Drop for ViewCell<F> {
    fn drop(&mut self) {
        self.weigh(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use stet_domain::document::Document;
    use stet_domain::family::PlainState;
    use stet_domain::folder::root;
    use stet_domain::id::DatabaseId;
    use stet_domain::object::{Attributes, FamilyKind, Object, Record};

    fn view() -> Arc<ContainerView<PlainState>> {
        let loid = root(DatabaseId::FIRST);
        let record = Record::new(loid, "", "Any", FamilyKind::Document, &"nobody".into(), 0);
        let object = Object { record: Arc::new(record), attributes: Arc::new(Attributes::none(loid)) };
        Arc::new(ContainerView { state: PlainState::new(object) })
    }

    /// The view may be published at any instant of the wait, and must not be missed. Two threads
    /// start together, one of them later by a few more instructions each time.
    #[test]
    fn a_published_view_wakes_its_waiter_at_any_instant_of_the_wait() {
        const ROUNDS: usize = 60_000;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let cells: Vec<ViewCell<Document>> = (0..ROUNDS).map(|_| ViewCell::new(ContainerMemory::new(0))).collect();
        let begun = AtomicU64::new(0);
        let view = view();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (round, cell) in cells.iter().enumerate() {
                    while begun.load(Ordering::Acquire) <= round as u64 {
                        std::hint::spin_loop();
                    }
                    (0..round % 100).for_each(|_| std::hint::spin_loop());
                    cell.publish_loaded(Some(view.clone()));
                }
            });
            let mut missed = None;
            for (round, cell) in cells.iter().enumerate() {
                begun.store(round as u64 + 1, Ordering::Release);
                let patience = Duration::from_secs(if missed.is_some() { 0 } else { 10 });
                let waited = runtime.block_on(async { tokio::time::timeout(patience, cell.wait()).await });
                if waited.is_err() {
                    // The other thread finishes first.
                    missed.get_or_insert(round);
                }
            }
            assert_eq!(missed, None, "it was waited for in vain");
        });
    }
}
