//! Moving objects between folders.

use std::collections::VecDeque;
use std::sync::Arc;

use super::below::check_reach;
use super::rename::name_in;
use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::folder::{check_free, check_place, children};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{CreateMode, FolderKey, Reach, Record, depth_of};
use crate::store::ReadLevel;

/// Moves an object, with everything below it, to another folder of its database.
#[derive(Debug, Clone, Copy)]
pub struct MoveObject {
    /// The object.
    pub object: Loid,
    /// The target folder.
    pub folder: Loid,
    /// The action if the name is taken there: `Exception` or `AutoRename`.
    pub mode: CreateMode,
    /// The reach of the caller's right, to which everything in the object must belong; see
    /// [`check_reach`].
    pub reach: Reach,
}

impl JointCommand for MoveObject {
    type Reply = ();
    const NAME: &'static str = "object.move";
    /// No other folder moves at the same time. Two that were moved into each other would be cut
    /// off.
    const ALONE: bool = true;

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object, self.folder]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() || !context.is_alive(self.object)? {
            return Err(Error::not_found(self.object).into());
        }
        let refuse = |why: &str| {
            let message = format!("`{}` can't be moved: {why}.", self.object);
            Error::new(Code::InvalidForContainer, message).with_source(self.folder)
        };
        let Some(from) = record.folder() else { return Err(refuse("it is the root folder").into()) };
        if self.folder.database != self.object.database {
            return Err(refuse("the folder is in another database").into());
        }
        if !context.is_alive(self.folder)? {
            return Err(Error::not_found(self.folder).into());
        }
        if from == self.folder {
            return Ok(());
        }
        check_reach(&record, self.reach, context)?;
        check_free(&record)?;
        check_place(self.folder, record.family, turns, context)?;
        check_lock(&record, context)?;
        if self.leads_into_itself(context)? {
            return Err(refuse("the folder is the object itself, or lies below it").into());
        }
        turns.need([from])?;
        let name = name_in(self.folder, &record.name, self.object, self.mode, context)?;
        match levels(&record, context)? {
            Some(levels) => context.check_depth(self.folder, levels)?,
            // Too many objects to count their levels. The new location must not be deeper than the
            // old one.
            None => {
                let depth = depth_of(context.look(), ReadLevel::Latest, self.object, context.path_limits().depth)?;
                context.check_no_deeper(self.folder, depth)?
            }
        };
        context.is_about(self.object);
        let record = Arc::make_mut(&mut turns.any(self.object)?.record);
        record.name = name.as_str().into();
        record.folder = Some(FolderKey(self.folder));
        Ok(())
    }
}

impl MoveObject {
    /// Reports whether the object is the target folder itself, or above it.
    fn leads_into_itself(&self, context: &Context<'_>) -> Result<bool, CommandFault> {
        let mut at = Some(self.folder);
        // The loop ends, since the depth of paths is limited.
        while let Some(folder) = at {
            if folder == self.object {
                return Ok(true);
            }
            at = context.look_up::<Record>(&Record::live_key(folder))?.and_then(|record| record.folder());
        }
        Ok(false)
    }
}

/// Returns the number of levels of an object: 1 if nothing is below it; `None` if more is below it
/// than one step looks at.
fn levels(record: &Record, context: &Context<'_>) -> Result<Option<usize>, CommandFault> {
    let (mut most, mut room) = (1, context.subtrees.objects_per_step);
    let mut folders = VecDeque::new();
    if record.family.holds_by_name() {
        folders.push_back((record.loid, 1));
    }
    while let Some((folder, level)) = folders.pop_front() {
        let (below, _) = children(context.look(), ReadLevel::Latest, folder, room.saturating_add(1))?;
        if below.len() > room {
            return Ok(None);
        }
        room -= below.len();
        if !below.is_empty() {
            most = most.max(level + 1);
        }
        for loid in below {
            let child = context.look_up::<Record>(&Record::live_key(loid))?;
            if child.as_ref().is_some_and(|child| child.family.holds_by_name()) {
                folders.push_back((loid, level + 1));
            }
        }
    }
    Ok(Some(most))
}
