//! Lending of a container's state to a joint command: its turn.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::cell::ViewCell;
use super::container::LiveState;
use super::job::Permit;
use stet_domain::error::{Error, Result};
use stet_domain::family::Family;
use stet_domain::store::{Epoch, Seq};

/// A request for a container's turn. The container's mailbox is parked until the turn is returned.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(crate) struct TurnRequest<F: Family> {
    pub sender: oneshot::Sender<Result<BorrowedTurn<F>>>,
    pub permit: Permit,
}

/// A container's turn. If it is dropped without being returned, the container loads again.
pub(crate) struct BorrowedTurn<F: Family> {
    /// The state, including pending changes; `None` if the container is destroyed.
    pub state: Option<F::State>,
    /// The epoch in which the state is valid.
    pub epoch: Epoch,
    pub cell: Arc<ViewCell<F>>,
    pub back: oneshot::Sender<TurnReturn<F>>,
    pub permit: Permit,
}

/// The way in which a turn is returned.
pub(crate) enum TurnReturn<F: Family> {
    /// Nothing was submitted.
    Unchanged,
    /// A change of this container was submitted.
    Changed { state: Option<F::State>, seq: Seq },
    /// The store reported that the state is stale.
    Stale,
}

impl<F: Family> TurnRequest<F> {
    pub fn refuse(self, error: Error) {
        drop(self.permit);
        // The borrower may have given up.
        let _ = self.sender.send(Err(error));
    }

    /// Hands the turn over. Returns the receiver for its return, or `None` if the borrower has
    /// given up.
    pub fn hand_over(
        self,
        live: &LiveState<F::State>,
        cell: Arc<ViewCell<F>>,
    ) -> Option<oneshot::Receiver<TurnReturn<F>>> {
        let (back, returned) = oneshot::channel();
        let lent = BorrowedTurn { state: live.state.clone(), epoch: live.epoch, cell, back, permit: self.permit };
        self.sender.send(Ok(lent)).is_ok().then_some(returned)
    }
}
