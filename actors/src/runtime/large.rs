//! Large changes, which alter more than [`SMALL`](stet_domain::command::SMALL) parts, or
//! correspondingly many rows or bytes. For all callers together, only a few are made at a time; the
//! implementation of [`LargeChangeAdmission`] decides how many. A small change thus waits for those
//! few, and not for all.
//!
//! A command is first given to its container as a small one. If it turns out to be large, it is
//! given back without changes. It waits for a work permit without holding a permit for the
//! container, and is then given to the container again. The work permit is held until the change is
//! on disk or refused, even if the caller has disconnected. So no large change is submitted without
//! a work permit, whatever its command claims.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use super::ChangeRequest;
use stet_domain::error::Result;
use stet_domain::object::SharedText;

/// The queue of large changes, which hands out work permits.
pub trait LargeChangeAdmission: Debug + Send + Sync {
    /// Waits for a work permit for the user of the present task. A change that `removes` objects
    /// frees space in the end, so it may use the reserve on the disk.
    ///
    /// # Errors
    /// `Overloaded`, `StorageFull`.
    fn turn(&self, removes: bool) -> Pin<Box<dyn Future<Output = Result<LargeChangePermit>> + Send + '_>>;

    /// Checks that a user may make a change without a work permit.
    ///
    /// # Errors
    /// `StorageFull`.
    fn check_small(&self, user: &SharedText) -> Result<()>;

    /// Charges a user for the bytes that a change without a work permit stores.
    fn charge_small(&self, user: &SharedText, bytes: usize);
}

/// The work permit of a large change.
pub trait ChangePermit: Send + Sync {
    /// Charges the bytes that the change stores; the next permits of its user come later in
    /// proportion.
    fn charge(&self, bytes: usize);
}

/// A work permit, held until it is dropped.
pub type LargeChangePermit = Box<dyn ChangePermit>;

/// The reason why a command is given back without changes, to be submitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReturnReason {
    /// The command needs a work permit for a large change and has none.
    Large,
    /// Attribute texts have to be checked first.
    Unchecked,
}

impl ChangeRequest {
    /// Reports whether a command may be large. Commands of the repository itself need no work
    /// permit.
    pub(crate) fn admits_large(&self, turn: Option<&LargeChangePermit>) -> bool {
        turn.is_some() || self.large.is_none()
    }

    /// Fulfils the condition for which a command was given back, and returns its work permit if it
    /// has one. `removes` states whether the command removes objects.
    ///
    /// # Errors
    /// `Overloaded`, `StorageFull`.
    pub(crate) async fn prepare(&self, why: ReturnReason, removes: bool) -> Result<Option<LargeChangePermit>> {
        match (why, &self.rules) {
            (ReturnReason::Large, _) | (_, None) => self.large_turn(removes).await,
            (ReturnReason::Unchecked, Some(rules)) => {
                rules.catch_up().await?;
                Ok(None)
            }
        }
    }

    /// Checks that the caller may make a change, unless it removes objects.
    ///
    /// # Errors
    /// `StorageFull`.
    pub(crate) fn check_share(&self, removes: bool) -> Result<()> {
        match &self.large {
            Some(large) if !removes => large.check_small(&self.who.user),
            _ => Ok(()),
        }
    }

    /// Charges the work permit, or else the caller, for the bytes that a change stores.
    pub fn charge(&self, turn: Option<&LargeChangePermit>, bytes: usize) {
        match (turn, &self.large) {
            (Some(turn), _) => turn.charge(bytes),
            (None, Some(large)) => large.charge_small(&self.who.user, bytes),
            (None, None) => {}
        }
    }

    /// Waits for the work permit of a large command.
    async fn large_turn(&self, removes: bool) -> Result<Option<LargeChangePermit>> {
        match &self.large {
            Some(large) => large.turn(removes).await.map(Some),
            None => Ok(None),
        }
    }
}
