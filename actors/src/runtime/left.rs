//! The result of a joint command, for the code that replies to its caller.

use std::any::Any;
use std::sync::Arc;

use super::cell::ContainerView;
use stet_domain::family::{Family, State};
use stet_domain::object::Object;

/// The result of a joint command that is on disk.
#[derive(Debug)]
pub struct JointResult<R> {
    /// The reply of the command.
    pub reply: R,
    /// The object that the command is about ([`stet_domain::joint::JointCommand::about`]) right
    /// after the command, without later changes. `None` if the command is about none, has removed
    /// it, or was carried out earlier under the same key.
    pub left: Option<ResultingObject>,
}

/// The state of an object right after a joint command.
#[derive(Debug, Clone)]
pub struct ResultingObject {
    object: Object,
    /// The [`ContainerView`] of its family. `None` for an object that the command has made, as no
    /// container has loaded it yet.
    view: Option<Arc<dyn Any + Send + Sync>>,
}

impl ResultingObject {
    /// Creates the state of a new object.
    pub(super) fn made(object: Object) -> ResultingObject {
        ResultingObject { object, view: None }
    }

    /// Creates the state of an existing object.
    pub(super) fn changed<S: State>(state: S) -> ResultingObject {
        ResultingObject { object: state.object().clone(), view: Some(Arc::new(ContainerView { state })) }
    }

    /// Returns the record and the attributes.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the view of the container, if it is of that family and existed before the command.
    pub fn view<F: Family>(&self) -> Option<Arc<ContainerView<F::State>>> {
        self.view.clone()?.downcast().ok()
    }
}
