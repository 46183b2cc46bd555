//! What the attribute texts of objects and parts are held to (docs/api/metadata.md, "Validation").
//!
//! Texts are checked as they are to be stored, at the places where rows with them are written: when
//! an object is created ([`Context::create`](crate::command::Context::create)), when one has
//! changed, and when a part gets new ones. So no command stores a text that was not checked,
//! whoever changes the object at the same time. A command does not know the rules: they come with
//! its [`Request`](crate::runtime::Request), and a request without any is held to none.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use crate::error::Result;
use crate::object::{Record, Text};

/// The rules for attribute texts.
pub trait AttributeRules: Debug + Send + Sync {
    /// Checks a text that the object or part of this record is to have. An `imported` one is
    /// reported and never refused.
    ///
    /// # Errors
    /// `InvalidAttributes`.
    fn check(&self, record: &Record, text: &Text, imported: bool) -> Result<Checked>;

    /// Checks what was put off, outside of any command.
    ///
    /// # Errors
    /// `Overloaded`.
    fn catch_up(&self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>;
}

/// Whether a text was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// The text may be stored.
    Now,
    /// Checking takes long and was put off: the command is to be applied again after
    /// [`AttributeRules::catch_up`].
    Later,
}
