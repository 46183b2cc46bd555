//! Large changes: those that alter more than [`SMALL`](crate::command::SMALL) parts, or as many
//! rows or bytes. They come one after the other, whoever asks for how many of them, so that a small
//! change waits for one or two and not for all.
//!
//! A command is given to its container as a small one. If it turns out to be large it is given back
//! with nothing changed, waits for its turn without a permit, and is given to the container again
//! with the turn, which goes with its permit: until it is on disk or refused, even if the caller
//! has gone away. So no large change is submitted without a turn, whatever its command says of
//! itself.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use super::Request;
use crate::error::Result;

/// Whose turn it is.
pub trait LargeChanges: Debug + Send + Sync {
    /// A turn, when it has come to whom the present task works for. A change that `removes` objects
    /// makes room on the disk in the end, so it may use what is reserved there.
    ///
    /// # Errors
    /// `Overloaded`, `StorageFull`.
    fn turn(&self, removes: bool) -> Pin<Box<dyn Future<Output = Result<LargeTurn>> + Send + '_>>;
}

/// The turn of a large change.
pub trait ChangeTurn: Send + Sync {
    /// Charges the bytes that the change stores: the next turns of its user come later in
    /// proportion.
    fn charge(&self, bytes: usize);
}

/// A turn, until it is dropped.
pub type LargeTurn = Box<dyn ChangeTurn>;

/// Why a command is given back with nothing changed, to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenBack {
    /// The command has no turn for a large change and needs one.
    Large,
    /// Attribute texts are to be checked first.
    Unchecked,
}

impl Request {
    /// Whether a command may be large. Those that the repository carries out of its own accord wait
    /// for nobody.
    pub(crate) fn admits_large(&self, turn: Option<&LargeTurn>) -> bool {
        turn.is_some() || self.large.is_none()
    }

    /// Does what a command that was given back waits for, and returns its turn if it has one.
    /// `removes` is whether the command removes objects.
    ///
    /// # Errors
    /// `Overloaded`, `StorageFull`.
    pub(crate) async fn prepare(&self, why: GivenBack, removes: bool) -> Result<Option<LargeTurn>> {
        match (why, &self.rules) {
            (GivenBack::Large, _) | (_, None) => self.large_turn(removes).await,
            (GivenBack::Unchecked, Some(rules)) => {
                rules.catch_up().await?;
                Ok(None)
            }
        }
    }

    /// The turn for a command that is large.
    async fn large_turn(&self, removes: bool) -> Result<Option<LargeTurn>> {
        match &self.large {
            Some(large) => large.turn(removes).await.map(Some),
            None => Ok(None),
        }
    }
}
