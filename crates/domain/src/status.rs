//! Changes of the workflow status of an object or a topic item (docs/api/objects.md, "Changing the
//! status").

use std::sync::Arc;

use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::SharedText;
use crate::planning::topic::Topic;
use crate::workflow::STATUS_EVENT;

/// Sets a workflow status. Setting the present status changes nothing.
///
/// The runtime applies the workflow and the caller's rights, as for any other command. A lock of
/// another user or session on an object refuses the change, as with other metadata. A lock on a
/// topic does not matter for its items, as with all commands on items.
#[derive(Debug, Clone)]
pub struct ChangeStatus {
    /// The object, or the topic that the item is in.
    pub object: Loid,
    /// The item or subitem; `None` for the object itself.
    pub item: Option<Loid>,
    /// The new status.
    pub status: SharedText,
}

impl JointCommand for ChangeStatus {
    type Reply = ();
    const NAME: &'static str = STATUS_EVENT;

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.item.unwrap_or(self.object)).into());
        }
        if let Some(item) = self.item {
            return turns.get::<Topic>(self.object)?.set_status(item, &self.status, context);
        }
        check_lock(&record, context)?;
        if record.status.as_ref() != Some(&self.status) {
            Arc::make_mut(&mut turns.any(self.object)?.record).status = Some(self.status.clone());
        }
        Ok(())
    }
}
