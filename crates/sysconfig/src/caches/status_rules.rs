//! The workflows in force, which the runtime enforces for every command.

use std::fmt;
use std::sync::Arc;

use stet_domain::error::{Code, Error, Result};
use stet_domain::id::{DatabaseId, Loid};
use stet_domain::object::Record;
use stet_domain::workflow::{WorkflowStatusChange, Workflows as Enforced};

use super::{FileOrigin, PerDatabase};
use crate::object_types::ObjectTypes;
use crate::workflows::{Workflow, Workflows};

/// The object types and workflows that are in force when a command runs.
pub struct StatusRules {
    pub(super) types: PerDatabase<FileOrigin<ObjectTypes>>,
    pub(super) flows: PerDatabase<FileOrigin<Workflows>>,
}

impl fmt::Debug for StatusRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatusRules")
    }
}

impl StatusRules {
    fn workflows(&self, database: DatabaseId) -> Arc<Workflows> {
        self.flows.of(database).in_force().value.content.clone()
    }

    fn types(&self, database: DatabaseId) -> Arc<ObjectTypes> {
        self.types.of(database).in_force().value.content.clone()
    }
}

impl Enforced for StatusRules {
    fn check(&self, change: &WorkflowStatusChange) -> Result<()> {
        let (database, type_name) = (change.object.database, &*change.type_name);
        let (workflows, types) = (self.workflows(database), self.types(database));
        let workflow = types.get(type_name).and_then(|known| workflows.get(known.workflow.as_deref()?));
        match (workflow, change.to.as_deref()) {
            (Some(workflow), Some(to)) => workflows.check_step(&workflow.name, change.from.as_deref(), to),
            // Its type has changed to one without a workflow.
            (None, None) => Ok(()),
            (None, Some(_)) => Err(without_workflow(type_name).with_source(change.object)),
            (Some(workflow), None) => Err(without_status(change.object, workflow, change.from.as_deref())),
        }
    }

    fn check_type_change(&self, before: &Record, after: &Record) -> Result<()> {
        let database = after.loid.database;
        let (workflows, types) = (self.workflows(database), self.types(database));
        let workflow_of = |name: &str| types.get(name).and_then(|known| workflows.get(known.workflow.as_deref()?));
        let (left, entered) = (workflow_of(&before.type_name), workflow_of(&after.type_name));
        match (entered, &after.status) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(without_workflow(&after.type_name).with_source(after.loid)),
            (Some(entered), Some(status)) if left.is_some_and(|left| left.name == entered.name) => {
                let is_same = before.status.as_ref() == Some(status);
                if is_same { Ok(()) } else { workflows.check_step(&entered.name, before.status.as_deref(), status) }
            }
            (Some(entered), Some(status)) => workflows.check_status(Some(&entered.name), status),
            (Some(entered), None) => Err(without_status(after.loid, entered, None)),
        }
    }

    fn is_first(&self, database: DatabaseId, type_name: &str, status: &str) -> bool {
        let (workflows, types) = (self.workflows(database), self.types(database));
        let workflow = types.get(type_name).and_then(|known| workflows.get(known.workflow.as_deref()?));
        workflow.is_some_and(|workflow| *workflow.initial().name == *status)
    }

    fn has_status(&self, database: DatabaseId, type_name: &str, status: &str) -> bool {
        let (workflows, types) = (self.workflows(database), self.types(database));
        let workflow = types.get(type_name).and_then(|known| workflows.get(known.workflow.as_deref()?));
        workflow.is_some_and(|workflow| workflow.has(status))
    }

    fn is_closed(&self, database: DatabaseId, status: &str) -> bool {
        self.workflows(database).status(status).is_some_and(|known| known.closed)
    }
}

fn without_workflow(type_name: &str) -> Error {
    Error::new(
        Code::InvalidType,
        format!("Objects of the type `{type_name}` have no workflow, and therefore no status."),
    )
}

fn without_status(object: Loid, workflow: &Workflow, from: Option<&str>) -> Error {
    let message = format!("`{object}` must have a status, because its type has the workflow `{}`.", workflow.name);
    let allowed = workflow.reachable(from);
    Error::new(Code::InvalidStatus, message).with_source(object).with_detail("allowed", allowed)
}
