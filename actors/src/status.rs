//! Changing the workflow status of an object, or of an item of a topic (docs/api/objects.md,
//! "Changing the status").

use std::sync::Arc;

use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::Error;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::Text;
use crate::topic::Topic;
use crate::workflow::STATUS_EVENT;

/// Sets a workflow status. The present status again changes nothing.
///
/// The runtime holds the change to the workflow and to the caller's rights, as that of any other
/// command. A lock of another user or session on an object refuses the change, as with other
/// metadata; items of a topic are changed whoever has locked the topic, as by all commands on
/// items.
#[derive(Debug, Clone)]
pub struct ChangeStatus {
    /// The object, or the topic that the item is in.
    pub object: Loid,
    /// The item or subitem; `None`: the object itself.
    pub item: Option<Loid>,
    /// The status that it gets.
    pub status: Text,
}

impl Joint for ChangeStatus {
    type Reply = ();
    const NAME: &'static str = STATUS_EVENT;

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
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
