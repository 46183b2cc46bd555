//! The end of an object.

use super::discard::check_removable;
use super::subtree;
use crate::checkout::{check_lock, drop_draft};
use crate::command::{Context, Fault};
use crate::drawer::Drawer;
use crate::error::{Code, Error};
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::liveblog::LiveBlog;
use crate::object::{Attributes, FamilyKind};

/// Removes an object for good, from its folder or from the recycle bin, with all that lies below it: versions, bytes, attributes,
/// and every shortcut to it.
#[derive(Debug, Clone, Copy)]
pub struct Destroy {
    /// The object.
    pub object: Loid,
}

impl Joint for Destroy {
    type Reply = ();
    const NAME: &'static str = "object.destroy";
    const ALONE: bool = true;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        let record = turns.any(self.object)?.record.clone();
        check_removable(&record)?;
        let tree = match &record.bin {
            None => {
                turns.need(record.folder())?;
                subtree::live(self.object, turns, context)?
            }
            Some(bin) if bin.entry == self.object => subtree::discarded(self.object, turns, context)?,
            Some(bin) => {
                let message = format!("`{}` was discarded along with `{}`: destroy that.", self.object, bin.entry);
                return Err(Error::new(Code::InvalidForContainer, message).with_source(self.object).into());
            }
        };
        for member in &tree.members {
            check_lock(&turns.any(*member)?.record, context)?;
        }
        context.concerns(self.object);
        for drawer in &tree.drawers {
            let drawer = turns.of_family::<Drawer>(*drawer)?;
            for member in &tree.members {
                drawer.take_object(*member, context);
            }
        }
        for member in &tree.members {
            match turns.any(*member)?.record.family {
                FamilyKind::Drawer => turns.of_family::<Drawer>(*member)?.dissolve(context),
                FamilyKind::LiveBlog => turns.of_family::<LiveBlog>(*member)?.dissolve(context)?,
                _ => {}
            }
            let object = turns.any(*member)?;
            context.remove(&*object.record);
            if *object.attributes != Attributes::none(*member) {
                context.remove(&*object.attributes);
            }
            context.remove_versions(*member)?;
            drop_draft(*member, context)?;
            turns.destroy(*member);
        }
        Ok(())
    }
}
