//! What a container shows to callers that do not use its mailbox: the published view, and its
//! phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::ContainerMemory;
use crate::error::Error;
use crate::family::{Family, State};
use crate::store::Seq;

/// A container's state as it is on disk: what readers get.
#[derive(Debug)]
pub struct Published<S> {
    /// The state.
    pub state: S,
}

impl<S: State> Published<S> {
    /// Counts the container's changes.
    pub fn revision(&self) -> u64 {
        self.state.object().record.revision
    }
}

/// Where in its life a container is, as far as readers care.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// No view yet.
    Loading,
    /// There is a view.
    Live,
    /// There is no such container (any more).
    Gone,
    /// It can't be loaded before that time of the steady clock.
    Failed(Error, u64),
}

pub(crate) struct Cell<F: Family> {
    view: ArcSwapOption<Published<F::State>>,
    phase: watch::Sender<Phase>,
    /// The container's last change that is on disk and shown.
    acknowledged: AtomicU64,
    /// Bytes that the view takes.
    weight: AtomicU64,
    /// The account of all containers.
    memory: Arc<ContainerMemory>,
}

impl<F: Family> Cell<F> {
    /// A cell whose view counts among all.
    pub fn new(memory: Arc<ContainerMemory>) -> Cell<F> {
        Cell {
            view: ArcSwapOption::empty(),
            phase: watch::Sender::new(Phase::Loading),
            acknowledged: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            memory,
        }
    }

    pub fn view(&self) -> Option<Arc<Published<F::State>>> {
        self.view.load_full()
    }

    /// Waits for the view to be there.
    pub async fn wait(&self) -> Result<Arc<Published<F::State>>, Option<Error>> {
        let mut phase = self.phase.subscribe();
        loop {
            // First the phase, then the view, which is there before its phase is: the other way
            // round one that came between the two looks would count as seen, and be waited for in
            // vain.
            let seen = phase.borrow_and_update().clone();
            if let Some(view) = self.view() {
                return Ok(view);
            }
            match seen {
                Phase::Gone => return Err(None),
                Phase::Failed(error, _) => return Err(Some(error)),
                Phase::Loading | Phase::Live => {}
            }
            // The sender lives as long as `self`.
            if phase.changed().await.is_err() {
                return Err(None);
            }
        }
    }

    /// Shows the state that a commit has left; `None`: the container is gone.
    ///
    /// Others have yet to hear of the commit, so [`Cell::acknowledge`] comes after it.
    pub fn show(&self, view: Option<Arc<Published<F::State>>>) {
        #[cfg(feature = "planted-bugs")]
        if crate::planted::holds_back_view() {
            return;
        }
        self.publish(view);
    }

    /// `seq` is on disk, and nothing shows any more what was before it: from now on answers may
    /// build on it that wait for nothing.
    pub fn acknowledge(&self, seq: Seq) {
        self.acknowledged.store(seq, Ordering::Release);
    }

    /// Shows what has been read from disk.
    pub fn publish(&self, view: Option<Arc<Published<F::State>>>) {
        let gone = view.is_none();
        self.weigh(view.as_ref().map_or(0, |view| view.state.bytes() as u64));
        self.view.store(view);
        self.phase.send_if_modified(|phase| {
            let fitting = matches!((&*phase, gone), (Phase::Live, false) | (Phase::Gone, true));
            if !fitting {
                *phase = if gone { Phase::Gone } else { Phase::Live };
            }
            !fitting
        });
    }

    /// Bytes that the view takes.
    pub fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }

    fn weigh(&self, weight: u64) {
        // Relaxed: nothing else goes by this number.
        let before = self.weight.swap(weight, Ordering::Relaxed);
        self.memory.resize(before, weight);
    }

    /// It can't be loaded until then, a time of the steady clock.
    pub fn fail(&self, error: Error, until: u64) {
        self.phase.send_replace(Phase::Failed(error, until));
    }

    /// Ends a failure whose time is over; true for the one who does.
    pub fn try_again(&self, now_ms: u64) -> bool {
        self.phase.send_if_modified(|phase| {
            let over = matches!(phase, Phase::Failed(_, until) if *until <= now_ms);
            if over {
                *phase = Phase::Loading;
            }
            over
        })
    }

    pub fn loading(&self) {
        self.phase.send_replace(Phase::Loading);
    }

    pub fn acknowledged(&self) -> Seq {
        self.acknowledged.load(Ordering::Acquire)
    }
}

impl<F: Family> Drop for Cell<F> {
    fn drop(&mut self) {
        self.weigh(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::document::Document;
    use crate::family::Plain;
    use crate::folder::root;
    use crate::id::DatabaseId;
    use crate::object::{Attributes, FamilyKind, Object, Record};

    fn view() -> Arc<Published<Plain>> {
        let loid = root(DatabaseId::FIRST);
        let record = Record::new(loid, "", "Any", FamilyKind::Document, &"nobody".into(), 0);
        let object = Object { record: Arc::new(record), attributes: Arc::new(Attributes::none(loid)) };
        Arc::new(Published { state: Plain::new(object) })
    }

    /// The view may come at any instant of the wait, and none may be missed: two threads begin
    /// together, one of them later by a few instructions more each time.
    #[test]
    fn whoever_waits_for_a_view_gets_it_whenever_it_comes() {
        const ROUNDS: usize = 60_000;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let cells: Vec<Cell<Document>> = (0..ROUNDS).map(|_| Cell::new(ContainerMemory::new(0))).collect();
        let begun = AtomicU64::new(0);
        let view = view();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (round, cell) in cells.iter().enumerate() {
                    while begun.load(Ordering::Acquire) <= round as u64 {
                        std::hint::spin_loop();
                    }
                    (0..round % 100).for_each(|_| std::hint::spin_loop());
                    cell.publish(Some(view.clone()));
                }
            });
            let mut missed = None;
            for (round, cell) in cells.iter().enumerate() {
                begun.store(round as u64 + 1, Ordering::Release);
                let patience = Duration::from_secs(if missed.is_some() { 0 } else { 10 });
                let waited = runtime.block_on(async { tokio::time::timeout(patience, cell.wait()).await });
                if waited.is_err() {
                    // The other thread goes on to its end first.
                    missed.get_or_insert(round);
                }
            }
            assert_eq!(missed, None, "it was waited for in vain");
        });
    }
}
