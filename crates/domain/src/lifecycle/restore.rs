//! Restoring an object from the recycle bin.

use std::sync::Arc;

use super::below::check_reach;
use super::subtree::{OpenFolder, StepScope, remainder};
use crate::checkout::catch_up;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::MemberFate;
use crate::folder::{check_free, check_place, child, free_name};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{CreateMode, FolderKey, Reach, RemainderTask};
use crate::store::ReadLevel;

/// Restores an entry of the recycle bin, with everything discarded along with it, to its former
/// folder or another one.
#[derive(Debug, Clone, Copy)]
pub struct RestoreObject {
    /// The entry.
    pub object: Loid,
    /// The target folder; `None` for the former one.
    pub folder: Option<Loid>,
    /// The action if the name has been taken meanwhile: `Exception` or `AutoRename`.
    pub mode: CreateMode,
    /// The reach of the caller's right, to which everything discarded along must belong; see
    /// [`check_reach`].
    pub reach: Reach,
}

impl JointCommand for RestoreObject {
    type Reply = ();
    const NAME: &'static str = "object.restore";
    const ALONE: bool = true;
    const AWAITS: bool = true;

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        std::iter::once(self.object).chain(self.folder).collect()
    }

    fn top(&self) -> Option<Loid> {
        Some(self.object)
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        let Some(bin) = &record.bin else {
            let message = format!("`{}` is not in the recycle bin.", self.object);
            return Err(Error::new(Code::ObjectNotFound, message).with_source(self.object).into());
        };
        if bin.entry != self.object {
            let message =
                format!("`{}` was discarded together with `{}`. Restore that object instead.", self.object, bin.entry);
            return Err(Error::new(Code::InvalidForContainer, message).with_source(self.object).into());
        }
        check_reach(&record, self.reach, context)?;
        let folder = self.folder.or(record.folder()).ok_or_else(|| Error::not_found(self.object))?;
        if folder.database != self.object.database {
            let message = format!("`{}` can't be restored into another database.", self.object);
            return Err(Error::new(Code::InvalidForContainer, message).with_source(folder).into());
        }
        turns.need([folder])?;
        if record.folder() != Some(folder) {
            check_free(&record)?;
        }
        if turns.any(folder).map_or(true, |object| object.record.is_discarded()) {
            let message =
                format!("The folder `{folder}`, into which `{}` would be restored, does not exist.", self.object);
            return Err(Error::new(Code::ObjectNotFound, message).with_source(folder).into());
        }
        if record.copy.is_none() {
            check_place(folder, record.family, turns, context)?;
        }
        let taken = |name: &str| Ok::<_, CommandFault>(child(context.look(), ReadLevel::Latest, folder, name)?);
        let name = if self.mode == CreateMode::AutoRename && record.copy.is_none() {
            free_name(&record.name, |name| Ok::<_, CommandFault>(taken(name)?.is_some()))?
        } else if let Some(existing) = taken(&record.name)? {
            let message = format!("The name `{}` is now taken in the folder.", record.name);
            return Err(context.name_taken(message, existing));
        } else {
            record.name.to_string()
        };
        let mut part = StepScope::beginning_with(self.object, context)?;
        let left = part.add_members(self.object, &[], context)?;
        part.take(turns)?;
        // Checked at the former location too, as that folder may be deeper now.
        match &left {
            None => context.check_depth(folder, part.levels(turns)?)?,
            // Too many objects to count their levels. The new location must not be deeper than the
            // old one.
            Some(_) => context.check_no_deeper(folder, bin.path.matches('/').count())?,
        };
        context.is_about(self.object);
        let record = Arc::make_mut(&mut turns.any(self.object)?.record);
        record.name = name.as_str().into();
        record.folder = Some(FolderKey(folder));
        bring_back(&part, turns, context)?;
        catch_up(self.object, turns, context)?;
        if let Some(after) = left {
            let open = OpenFolder { folder: self.object, after };
            context.put(None, &remainder(self.object, RemainderTask::Restore, open, context.who));
        }
        Ok(())
    }
}

/// Takes objects out of the recycle bin; their names must be free.
pub(super) fn bring_back(
    part: &StepScope,
    turns: &mut ContainerTurns,
    context: &mut Context<'_>,
) -> Result<(), CommandFault> {
    for object in &part.objects {
        Arc::make_mut(&mut turns.any(*object)?.record).bin = None;
    }
    part.notify(MemberFate::Shown, turns, context)
}
