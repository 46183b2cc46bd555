//! Renaming objects.

use std::sync::Arc;

use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::folder::child;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::file_name;
use crate::store::View;

/// Gives an object another name in its folder.
#[derive(Debug, Clone)]
pub struct Rename {
    /// The object.
    pub object: Loid,
    /// The name, as the client gave it.
    pub name: String,
}

impl Joint for Rename {
    type Reply = ();
    const NAME: &'static str = "object.rename";

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        let name = file_name(&self.name)?;
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        if *record.name == *name {
            return Ok(());
        }
        check_lock(&record, context)?;
        let Some(folder) = record.folder() else {
            return Err(Error::new(Code::InvalidForContainer, "The root folder has no name to change.").into());
        };
        turns.need([folder])?;
        // The same name in another normal form is still its own.
        if let Some(existing) =
            child(context.look(), View::Latest, folder, &name)?.filter(|there| *there != self.object)
        {
            return Err(context.name_taken(format!("The name `{name}` is taken in the folder."), existing));
        }
        Arc::make_mut(&mut turns.any(self.object)?.record).name = name.into();
        turns.touch(folder)?;
        context.concerns(self.object);
        Ok(())
    }
}
