//! Destroying an object for good.

use super::discard::check_removable;
use super::subtree;
use crate::checkout::{check_lock, drop_draft};
use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::family::Fate;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::Attributes;

/// Removes an object for good, from its folder or from the recycle bin, with all that lies below it: versions, bytes, attributes,
/// and what holds it in any container.
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
        context.expects(&record);
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
        for object in &tree.objects {
            check_lock(&turns.any(*object)?.record, context)?;
        }
        context.concerns(self.object);
        // First: one of the objects may hold another.
        tree.notify(Fate::Gone, turns, context)?;
        for loid in &tree.objects {
            turns.dissolve(*loid, context)?;
            let object = turns.any(*loid)?;
            context.remove(&*object.record);
            if *object.attributes != Attributes::none(*loid) {
                context.remove(&*object.attributes);
            }
            context.remove_versions(*loid)?;
            drop_draft(*loid, context)?;
            turns.destroy(*loid);
        }
        Ok(())
    }
}
