//! Folders: they hold objects under names. The names are an index of the store, not state of the actor, so that a folder
//! costs the same however much lies in it; the actor's turn is what keeps a name from being given twice.

mod names;
mod place;

pub(crate) use self::names::entries;
pub use self::names::{child, children, free_name, path_by, path_of, walk};
pub use self::place::MAX_MEMBERS;
pub(crate) use self::place::{check_free, check_place, check_room};
use crate::command::{Context, Fault};
use crate::family::{Family, Plain};
use crate::id::{DatabaseId, Loid};
use crate::object::{CreateMode, FamilyKind, Object};
use crate::part::Parts;
use crate::store::StoreError;

/// The family of folders.
#[derive(Debug)]
pub struct Folder;

/// The root folder of a database.
pub const fn root(database: DatabaseId) -> Loid {
    Loid::new(database, 1)
}

/// Name of the type of folders in the objecttypes family.
pub const TYPE_NAME: &str = "Folder";

impl Family for Folder {
    type State = Plain;
    type New = ();
    const KIND: FamilyKind = FamilyKind::Folder;
    const HAS_CONTENT: bool = false;

    fn load(object: Object, _: &Parts<'_>) -> Result<Plain, StoreError> {
        Ok(Plain::new(object))
    }

    fn make(_: &(), _: Object, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn write_over(_: &(), _: &mut Plain, _: CreateMode, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn dissolve(_: &mut Plain, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }
}
