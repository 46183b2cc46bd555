//! Workflow statuses of what creations make (docs/api/configuration.md, "Workflows").

use std::sync::Arc;

use stet_actors::error::{Code, Error, Result};
use stet_actors::id::DatabaseId;
use stet_actors::lifecycle::{NewObject, Statuses};
use stet_actors::object::Text;

use crate::http::app::App;
use crate::sysconfig::{ObjectTypes, Workflows};

/// The status that is asked for, and the one that a new object of a database gets without one: the workflow's first.
///
/// # Errors
/// `StatusNotFound`; `InvalidStatus` for one of another workflow.
pub(in crate::api) fn status_of(
    app: &App,
    database: DatabaseId,
    wanted: Option<&str>,
    workflow: Option<&str>,
) -> Result<(Option<Text>, Option<Text>)> {
    let workflows = app.sysconfig.workflows(database);
    let wanted = given(wanted);
    if let Some(status) = &wanted {
        check(&workflows, workflow, status)?;
    }
    Ok((wanted, first(&workflows, workflow)))
}

/// Gives an object whose type the caller did not name the same. Its status is checked by the command: one that is there may have that of
/// its own type, whatever workflow the inferred one has.
pub(in crate::api) fn give_inferred(
    app: &App,
    database: DatabaseId,
    object: &mut NewObject,
    wanted: Option<&str>,
    workflow: Option<&str>,
) {
    let (types, workflows) = (app.sysconfig.object_types(database), app.sysconfig.workflows(database));
    object.status = given(wanted);
    object.initial_status = first(&workflows, workflow);
    object.inferred = Some(Arc::new(ByType { types, workflows }));
}

fn given(wanted: Option<&str>) -> Option<Text> {
    wanted.filter(|wanted| !wanted.is_empty()).map(Text::from)
}

fn first(workflows: &Workflows, workflow: Option<&str>) -> Option<Text> {
    workflow.and_then(|workflow| workflows.initial(workflow)).map(|status| status.name.clone())
}

/// Refuses a status that objects of that workflow may not have; those without one may have any.
fn check(workflows: &Workflows, workflow: Option<&str>, wanted: &str) -> Result<()> {
    if workflows.status(wanted).is_none() {
        let message = format!("There is no workflow status `{wanted}`.");
        return Err(Error::new(Code::StatusNotFound, message).with_source(wanted));
    }
    let fits = workflow.is_none_or(|workflow| {
        workflows.get(workflow).is_none_or(|workflow| workflow.statuses.iter().any(|status| *status.name == *wanted))
    });
    if fits {
        return Ok(());
    }
    let message = format!("The status `{wanted}` does not belong to the workflow `{}`.", workflow.unwrap_or_default());
    Err(Error::new(Code::InvalidStatus, message).with_source(wanted))
}

/// What the configuration said when the creation came.
#[derive(Debug)]
struct ByType {
    types: Arc<ObjectTypes>,
    workflows: Arc<Workflows>,
}

impl Statuses for ByType {
    fn check(&self, type_name: &str, status: &str) -> Result<()> {
        let workflow = self.types.get(type_name).and_then(|known| known.workflow.as_deref());
        check(&self.workflows, workflow, status)
    }
}
