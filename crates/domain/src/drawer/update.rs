//! Update of a drawer: its head together with the fields of every object.

use std::sync::Arc;

use super::Drawer;
use super::commands::DrawerHeadUpdate;
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::lifecycle::RenameObject;
use crate::object::{CreateMode, SharedText};

/// Changes the given fields of a drawer: its head, its name, its attributes.
#[derive(Debug, Clone)]
pub struct UpdateDrawer {
    /// The drawer.
    pub drawer: Loid,
    /// The changes of the drawer's head.
    pub head: DrawerHeadUpdate,
    /// The new name.
    pub name: Option<String>,
    /// The new attributes, XML.
    pub attributes: Option<SharedText>,
    /// The new workflow status.
    pub status: Option<SharedText>,
}

impl JointCommand for UpdateDrawer {
    type Reply = ();
    const NAME: &'static str = "drawer.update";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.drawer)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.drawer]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let drawer = turns.get::<Drawer>(self.drawer)?;
        context.expects(&drawer.object().record);
        check_lock(&drawer.object().record, context)?;
        self.head.change(drawer, context)?;
        if let Some(name) = &self.name {
            RenameObject { object: self.drawer, name: name.clone(), mode: CreateMode::Exception }
                .apply(turns, context)?;
        }
        let object = turns.any(self.drawer)?;
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
