//! Update of a drawer: its head together with the fields of every object.

use super::Drawer;
use super::commands::DrawerHeadUpdate;
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::family::State;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::lifecycle::ObjectFieldUpdate;
use crate::object::SharedText;

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
        let Self { name, attributes, status, .. } = self;
        ObjectFieldUpdate { name: name.as_deref(), attributes: attributes.as_ref(), status: status.as_ref() }.apply(
            self.drawer,
            turns,
            context,
        )
    }
}
