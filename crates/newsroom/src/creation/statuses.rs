//! Workflow statuses of new objects (docs/api/configuration.md, "Workflows").

use std::sync::Arc;

use stet_domain::error::Result;
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::{NewObject, TypeStatuses};
use stet_domain::object::SharedText;
use stet_sysconfig::{ObjectTypes, Workflows};

use crate::Newsroom;

/// Returns the requested status, and the status that a new object in the database gets without one:
/// the workflow's first.
///
/// # Errors
/// `StatusNotFound`; `InvalidStatus` for one of another workflow.
pub fn status_of(
    newsroom: &Newsroom,
    database: DatabaseId,
    wanted: Option<&str>,
    workflow: Option<&str>,
) -> Result<(Option<SharedText>, Option<SharedText>)> {
    let workflows = newsroom.sysconfig.workflows(database);
    let wanted = given(wanted);
    if let Some(status) = &wanted {
        workflows.check_status(workflow, status)?;
    }
    Ok((wanted, first(&workflows, workflow)))
}

/// Sets the status of an object whose type the caller did not name. The command checks it, because
/// an existing object may have a status of its own type, whatever workflow the inferred type has.
pub(super) fn give_inferred(
    newsroom: &Newsroom,
    database: DatabaseId,
    object: &mut NewObject,
    wanted: Option<&str>,
    workflow: Option<&str>,
) {
    let (types, workflows) = (newsroom.sysconfig.object_types(database), newsroom.sysconfig.workflows(database));
    object.status = given(wanted);
    object.initial_status = first(&workflows, workflow);
    object.inferred = Some(Arc::new(ByType { types, workflows }));
}

fn given(wanted: Option<&str>) -> Option<SharedText> {
    wanted.filter(|wanted| !wanted.is_empty()).map(SharedText::from)
}

fn first(workflows: &Workflows, workflow: Option<&str>) -> Option<SharedText> {
    workflow.and_then(|workflow| workflows.initial(workflow)).map(|status| status.name.clone())
}

/// The configuration at the time of the creation.
#[derive(Debug)]
struct ByType {
    types: Arc<ObjectTypes>,
    workflows: Arc<Workflows>,
}

impl TypeStatuses for ByType {
    fn check(&self, type_name: &str, status: &str) -> Result<()> {
        let workflow = self.types.get(type_name).and_then(|known| known.workflow.as_deref());
        self.workflows.check_status(workflow, status)
    }
}
