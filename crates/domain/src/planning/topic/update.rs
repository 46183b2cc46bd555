//! The command that changes a topic's own fields together with those of every object.

use super::Topic;
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::lifecycle::ObjectFieldUpdate;
use crate::object::SharedText;

/// Changes the given fields of a topic: its title and description, its name, its attributes.
#[derive(Debug, Clone)]
pub struct UpdateTopic {
    /// The topic.
    pub topic: Loid,
    /// The new title.
    pub title: Option<SharedText>,
    /// The new description.
    pub description: Option<SharedText>,
    /// The new name.
    pub name: Option<String>,
    /// The new attributes, as XML.
    pub attributes: Option<SharedText>,
    /// The new workflow status.
    pub status: Option<SharedText>,
}

impl JointCommand for UpdateTopic {
    type Reply = ();
    const NAME: &'static str = "topic.update";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.topic)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.topic]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let topic = turns.get::<Topic>(self.topic)?;
        context.expects(&topic.object().record);
        check_lock(&topic.object().record, context)?;
        let head = topic.head().clone().with(self.title.as_ref(), self.description.as_ref())?;
        topic.set_head(head, context);
        let Self { name, attributes, status, .. } = self;
        ObjectFieldUpdate { name: name.as_deref(), attributes: attributes.as_ref(), status: status.as_ref() }
            .apply(self.topic, turns, context)
    }
}
