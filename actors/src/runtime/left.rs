//! The result of a joint command, for the code that replies to its caller.

use std::any::Any;
use std::sync::Arc;

use super::cell::Published;
use crate::family::{Family, State};
use crate::object::Object;

/// The result of a joint command that is on disk.
#[derive(Debug)]
pub struct Jointly<R> {
    /// The reply of the command.
    pub reply: R,
    /// The object that the command is about ([`crate::joint::Joint::about`]) right after the
    /// command, without later changes. `None` if the command is about none, has removed it, or was
    /// carried out earlier under the same key.
    pub left: Option<Left>,
}

/// The state of an object right after a joint command.
#[derive(Debug, Clone)]
pub struct Left {
    object: Object,
    /// The [`Published`] of its family. `None` for an object that the command has made, as no
    /// container has loaded it yet.
    view: Option<Arc<dyn Any + Send + Sync>>,
}

impl Left {
    /// Creates the state of a new object.
    pub(super) fn made(object: Object) -> Left {
        Left { object, view: None }
    }

    /// Creates the state of an existing object.
    pub(super) fn changed<S: State>(state: S) -> Left {
        Left { object: state.object().clone(), view: Some(Arc::new(Published { state })) }
    }

    /// Returns the record and the attributes.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the view of the container, if it is of that family and existed before the command.
    pub fn view<F: Family>(&self) -> Option<Arc<Published<F::State>>> {
        self.view.clone()?.downcast().ok()
    }
}
