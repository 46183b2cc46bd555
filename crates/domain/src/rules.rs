//! The rules for attribute texts of objects and parts (docs/api/metadata.md, "Validation").
//!
//! Texts are checked in their final form, wherever rows with them are written: when an object is
//! created ([`Context::create`](crate::command::Context::create)), when it has changed, and when a
//! part gets new texts. No command therefore stores an unchecked text, even if others change the
//! object at the same time. Commands do not know the rules: they are part of the
//! `ChangeRequest`. A request without rules is held to none.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use crate::error::Result;
use crate::object::{Record, SharedText};

/// The rules for attribute texts.
pub trait AttributeRules: Debug + Send + Sync {
    /// Checks the new text of the object or part with this record. Faults of an `imported` one are
    /// reported, but never refused.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    fn check(&self, record: &Record, text: &SharedText, imported: bool) -> Result<RuleCheck>;

    /// Makes the postponed checks, outside of any command.
    ///
    /// # Errors
    /// `Overloaded`.
    fn catch_up(&self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>;
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCheck {
    /// The text was checked and may be stored.
    Now,
    /// The check would be slow and was postponed. The command is to be applied again after
    /// [`AttributeRules::catch_up`].
    Later,
}
