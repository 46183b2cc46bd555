//! Renaming of objects.

use std::sync::Arc;

use crate::checkout::check_lock;
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::folder::{check_free, child, free_name};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{CreateMode, name_for};
use crate::store::ReadLevel;

/// Gives an object another name in its folder.
#[derive(Debug, Clone)]
pub struct RenameObject {
    /// The object.
    pub object: Loid,
    /// The new name, as the client gave it.
    pub name: String,
    /// The action if the name is taken: `Exception` or `AutoRename`.
    pub mode: CreateMode,
}

impl JointCommand for RenameObject {
    type Reply = ();
    const NAME: &'static str = "object.rename";

    fn about(&self, (): &()) -> Option<Loid> {
        Some(self.object)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let record = turns.any(self.object)?.record.clone();
        let name = name_for(record.family, &self.name)?;
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        if *record.name == *name {
            return Ok(());
        }
        check_free(&record)?;
        check_lock(&record, context)?;
        let Some(folder) = record.folder() else {
            return Err(Error::new(Code::InvalidForContainer, "The root folder can't be renamed.").into());
        };
        turns.need([folder])?;
        let name = name_in(folder, &name, self.object, self.mode, context)?;
        Arc::make_mut(&mut turns.any(self.object)?.record).name = name.as_str().into();
        context.is_about(self.object);
        Ok(())
    }
}

/// Returns the name that an object gets in a folder if it asks for `wanted`.
///
/// # Errors
/// `DuplicatedName` if another object has the name, unless the mode asks for a free one.
pub(super) fn name_in(
    folder: Loid,
    wanted: &str,
    object: Loid,
    mode: CreateMode,
    context: &Context<'_>,
) -> Result<String, CommandFault> {
    // The object's own name in another normal form is not taken.
    let taken = |name: &str| {
        Ok::<_, CommandFault>(child(context.look(), ReadLevel::Latest, folder, name)?.filter(|there| *there != object))
    };
    match taken(wanted)? {
        None => Ok(wanted.to_owned()),
        Some(_) if mode == CreateMode::AutoRename => {
            free_name(wanted, |name| Ok::<_, CommandFault>(taken(name)?.is_some()))
        }
        Some(existing) => Err(context.name_taken(format!("The name `{wanted}` is taken in the folder."), existing)),
    }
}
