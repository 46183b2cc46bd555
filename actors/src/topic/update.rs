//! The command that changes a topic's own fields together with those of every object.

use std::sync::Arc;

use super::Topic;
use super::make::{check_head, describe_head};
use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::lifecycle::Rename;
use crate::object::{CreateMode, Text};

/// Changes the given fields of a topic: its title and description, its name, its attributes.
#[derive(Debug, Clone)]
pub struct UpdateTopic {
    /// The topic.
    pub topic: Loid,
    /// The new title.
    pub title: Option<Text>,
    /// The new description.
    pub description: Option<Text>,
    /// The new name.
    pub name: Option<String>,
    /// The new attributes, as XML.
    pub attributes: Option<Text>,
    /// The new workflow status.
    pub status: Option<Text>,
}

impl Joint for UpdateTopic {
    type Reply = ();
    const NAME: &'static str = "topic.update";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.topic)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.topic]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        let topic = turns.get::<Topic>(self.topic)?;
        context.expects(&topic.object().record);
        check_lock(&topic.object().record, context)?;
        check_head(self.title.as_deref(), self.description.as_deref())?;
        let mut head = topic.head().clone();
        describe_head(&mut head, self.title.as_ref(), self.description.as_ref());
        topic.set_head(head, context);
        if let Some(name) = &self.name {
            Rename { object: self.topic, name: name.clone(), mode: CreateMode::Exception }.apply(turns, context)?;
        }
        let object = turns.any(self.topic)?;
        if let Some(attributes) = &self.attributes
            && object.attributes.attributes.as_ref() != Some(attributes)
        {
            Arc::make_mut(&mut object.attributes).attributes = Some(attributes.clone());
        }
        if self.status.is_some() && object.record.status != self.status {
            Arc::make_mut(&mut object.record).status.clone_from(&self.status);
        }
        Ok(())
    }
}
