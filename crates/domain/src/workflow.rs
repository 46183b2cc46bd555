//! Workflow statuses as the runtime enforces them (docs/api/configuration.md, "Workflows").
//!
//! The server provides the configuration as [`Workflows`]: which statuses exist, which may follow
//! another, and which are closed. [`StatusRights`], which comes with the
//! `ChangeRequest`, decides whether one caller may make a change.
//! The runtime asks both for every command, after it was applied and before its changes are
//! submitted ([`Context::check_statuses`](crate::command::Context)). So no command can bypass them.

use std::fmt::Debug;

use crate::error::{Code, Error, Result};
use crate::id::{DatabaseId, Loid};
use crate::object::{Record, SharedText};
use crate::store::RowReader;

/// The name of the event for a change of status, and of the command that changes nothing else.
pub const STATUS_EVENT: &str = "object.status";

/// A change of the workflow status of an object, or of a part of a container such as a topic item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStatusChange {
    /// The container whose event reports the change, and whose rights count: the object itself, or
    /// the topic.
    pub container: Loid,
    /// The object or part that has the status.
    pub object: Loid,
    /// The object's type after the change.
    pub type_name: SharedText,
    /// The status before; `None` for an object without one.
    pub from: Option<SharedText>,
    /// The status after.
    pub to: Option<SharedText>,
}

/// The workflows in force.
pub trait Workflows: Debug + Send + Sync + 'static {
    /// Refuses a change that the workflow of the object's type does not allow.
    ///
    /// `StatusNotFound` for an unknown status; `InvalidStatus` for one of another workflow, or one
    /// that cannot be reached; `InvalidType` for a type without a workflow.
    fn check(&self, change: &WorkflowStatusChange) -> Result<()>;

    /// Refuses a change of an object's type that the workflows do not allow: within one workflow,
    /// as a change of status; into another one, as a new object.
    ///
    /// # Errors
    /// `StatusNotFound`, `InvalidStatus`; `InvalidType` for a status of a type without a workflow.
    fn check_type_change(&self, before: &Record, after: &Record) -> Result<()>;

    /// Returns whether a new object of a type has that status without naming it.
    fn is_first(&self, database: DatabaseId, type_name: &str, status: &str) -> bool;

    /// Returns whether the workflow of a type has a status.
    fn has_status(&self, database: DatabaseId, type_name: &str, status: &str) -> bool;

    /// Returns whether containers with this status take no changes of their members.
    fn is_closed(&self, database: DatabaseId, status: &str) -> bool;
}

/// Decides which statuses one caller may set.
pub trait StatusRights: Debug + Send + Sync {
    /// Refuses a change that the caller has no privilege for. `look` reads the rows that the
    /// command sees; use [`ReadLevel::Latest`](crate::store::ReadLevel::Latest).
    ///
    /// # Errors
    /// `PermissionDenied`; store errors.
    fn check(&self, change: &WorkflowStatusChange, look: &dyn RowReader) -> Result<()>;

    /// Refuses a status for a new object, or a new part of a container, that the caller has no
    /// privilege for. The change's `container` is the folder or container of the new object.
    ///
    /// # Errors
    /// The errors of [`StatusRights::check`].
    fn check_new(&self, change: &WorkflowStatusChange, look: &dyn RowReader) -> Result<()>;
}

/// Returns the error for a change of members of a container whose status is closed.
pub fn closed_status_error(container: Loid, status: &str) -> Error {
    let message = format!(
        "`{container}` has the closed status `{status}`, so its contents can't be changed. Change its status first."
    );
    Error::new(Code::InvalidForContainer, message).with_source(container).with_detail("status", status)
}
