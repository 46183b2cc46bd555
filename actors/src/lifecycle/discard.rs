//! Discarding an object: to the recycle bin.

use std::sync::Arc;

use super::{subtree, touch};
use crate::checkout::check_lock;
use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::family::Fate;
use crate::folder::path_of;
use crate::id::Loid;
use crate::joint::{Joint, Turns};
use crate::object::{Bin, Record};
use crate::store::View;

/// Moves an object to the recycle bin, a folder with all that lies below it. Versions, attributes and the places in containers
/// that hold it are kept; the name becomes free.
#[derive(Debug, Clone, Copy)]
pub struct Discard {
    /// The object.
    pub object: Loid,
}

/// Refuses what must always be there.
pub(super) fn check_removable(record: &Record) -> Result<(), Fault> {
    if record.folder.is_some() {
        return Ok(());
    }
    let error = Error::new(Code::InvalidForContainer, "The root folder can't be removed.");
    Err(error.with_source(record.loid).into())
}

impl Joint for Discard {
    type Reply = ();
    const NAME: &'static str = "object.discard";
    const ALONE: bool = true;

    fn wants(&self) -> Vec<Loid> {
        vec![self.object]
    }

    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<(), Fault> {
        let record = turns.any(self.object)?.record.clone();
        context.expects(&record);
        if record.is_discarded() {
            return Err(Error::not_found(self.object).into());
        }
        check_removable(&record)?;
        turns.need(record.folder())?;
        let tree = subtree::live(self.object, turns, context)?;
        if let Some(folder) = record.folder() {
            touch(folder, turns)?;
        }
        context.concerns(self.object);
        for object in &tree.objects {
            let record = &mut turns.any(*object)?.record;
            check_lock(record, context)?;
            let bin = Bin {
                at: context.now_s(),
                by: context.who.user.clone(),
                entry: self.object,
                // One that lies too deep for a path gets the end of it.
                path: match path_of(context.look(), View::Latest, record)? {
                    Some(path) => path.into(),
                    None => format!("/…/{}", record.name).into(),
                },
            };
            let record = Arc::make_mut(record);
            record.bin = Some(bin);
            // Nobody works on it there.
            record.lock = None;
        }
        tree.notify(Fate::Hidden, turns, context)
    }
}
