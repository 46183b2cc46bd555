//! Permanent destruction of an object.

use super::discard::{begin_discard, check_removable, collect_live};
use super::subtree::{OpenFolder, StepScope, remainder};
use crate::checkout::drop_draft;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::MemberFate;
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{Attributes, RemainderTask};

/// Removes an object permanently, from its folder or the recycle bin, with everything below it.
/// Removed are versions, bytes, attributes, and the parts of containers that hold it.
#[derive(Debug, Clone, Copy)]
pub struct DestroyObject {
    /// The object.
    pub object: Loid,
}

impl JointCommand for DestroyObject {
    type Reply = ();
    const NAME: &'static str = "object.destroy";
    const ALONE: bool = true;
    const REMOVES: bool = true;
    const AWAITS: bool = true;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn top(&self) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        check_removable(&record)?;
        let (part, is_all) = match &record.bin {
            None => {
                let (part, left) = collect_live(&record, turns, context)?;
                let is_all = left.is_empty();
                if !is_all {
                    // Too much for one step: the object is discarded first, and destroyed in the
                    // bin.
                    begin_discard(&record, &part, left, turns, context)?;
                }
                (part, is_all)
            }
            Some(bin) if bin.entry == self.object => {
                let mut part = StepScope::beginning_with(self.object, context)?;
                let is_all = part.add_members(self.object, &[], context)?.is_none();
                if is_all {
                    part.take(turns)?;
                } else {
                    turns.touch(self.object)?;
                    context.is_about(self.object);
                }
                (part, is_all)
            }
            Some(bin) => {
                let message = format!(
                    "`{}` was discarded together with `{}`. Destroy that object instead.",
                    self.object, bin.entry
                );
                return Err(Error::new(Code::InvalidForContainer, message).with_source(self.object).into());
            }
        };
        if is_all {
            context.is_about(self.object);
            return remove(&part, turns, context);
        }
        context.put(None, &remainder(self.object, RemainderTask::Destroy, OpenFolder::all(self.object), context.who));
        Ok(())
    }
}

/// Removes objects with everything that belongs to them.
pub(super) fn remove(
    part: &StepScope,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    // Containers are informed first, since one of the objects may hold another.
    part.notify(MemberFate::Gone, turns, context)?;
    for loid in &part.objects {
        turns.dissolve(*loid, context)?;
        let object = turns.any(*loid)?;
        context.remove(&*object.record);
        if *object.attributes != Attributes::none(*loid) {
            context.remove(&*object.attributes);
        }
        context.remove_versions(*loid)?;
        drop_draft(*loid, context)?;
        context.remove_links(&[*loid])?;
        turns.destroy(*loid);
    }
    Ok(())
}
