//! What a joint command leaves, for who replies to its caller.

use std::any::Any;
use std::sync::Arc;

use super::cell::Published;
use crate::family::{Family, State};
use crate::object::Object;

/// A joint command's outcome, once it is on disk.
#[derive(Debug)]
pub struct Jointly<R> {
    /// What the command says.
    pub reply: R,
    /// The object that the command is about ([`crate::joint::Joint::about`]), right after it: what
    /// others have changed since is not in it. `None` where the command is about none or has
    /// removed it, and for one that was carried out under the same key before.
    pub left: Option<Left>,
}

/// An object as a joint command has left it.
#[derive(Debug, Clone)]
pub struct Left {
    object: Object,
    /// The [`Published`] of its family; `None` of one that the command has made, which no container
    /// has loaded yet.
    view: Option<Arc<dyn Any + Send + Sync>>,
}

impl Left {
    /// One that was made.
    pub(super) fn made(object: Object) -> Left {
        Left { object, view: None }
    }

    /// One that was there.
    pub(super) fn changed<S: State>(state: S) -> Left {
        Left { object: state.object().clone(), view: Some(Arc::new(Published { state })) }
    }

    /// Record and attributes.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The container, if it is of that family and was there before the command.
    pub fn view<F: Family>(&self) -> Option<Arc<Published<F::State>>> {
        self.view.clone()?.downcast().ok()
    }
}
