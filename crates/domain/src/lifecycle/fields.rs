//! The fields of every object that an update of a container changes together with its own.

use std::sync::Arc;

use super::RenameObject;
use crate::command::{CommandFault, Context};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{CreateMode, SharedText};

/// The new values of these fields; `None` leaves a field unchanged.
pub(crate) struct ObjectFieldUpdate<'a> {
    /// The name.
    pub name: Option<&'a str>,
    /// The attributes, as XML.
    pub attributes: Option<&'a SharedText>,
    /// The workflow status.
    pub status: Option<&'a SharedText>,
}

impl ObjectFieldUpdate<'_> {
    /// Changes the fields of an object whose turn the command has.
    ///
    /// # Errors
    /// The errors of [`RenameObject`]; store errors.
    pub fn apply(
        self,
        object: Loid,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        if let Some(name) = self.name {
            RenameObject { object, name: name.to_owned(), mode: CreateMode::Exception }.apply(turns, context)?;
        }
        let object = turns.any(object)?;
        if let Some(attributes) = self.attributes
            && object.attributes.attributes.as_ref() != Some(attributes)
        {
            Arc::make_mut(&mut object.attributes).attributes = Some(attributes.clone());
        }
        if self.status.is_some() && object.record.status.as_ref() != self.status {
            Arc::make_mut(&mut object.record).status = self.status.cloned();
        }
        Ok(())
    }
}
