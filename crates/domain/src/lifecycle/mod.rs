//! The lifecycle of objects of any family: creation, recycle bin, restoration and destruction
//! (docs/api/objects.md, "Creating" and "The recycle bin").
//!
//! Each command changes several containers at once: the folder that holds the name, the object, and
//! the containers that hold it. They are joint commands, so none can be half done. A folder may
//! have too many objects below it for one change. Then the first step decides, and [`remainders`]
//! makes the others. Until the last one, objects below are no longer found at their old location
//! ([`crate::object::find_standing`]).

mod below;
mod beside;
mod create;
mod destroy;
mod discard;
mod fields;
mod imported;
mod move_object;
mod parts;
mod purge;
mod remainders;
mod rename;
mod restore;
mod subtree;

pub use self::beside::{CreateObjectPair, ObjectPairResult};
pub use self::create::{
    ConfirmObject, CreateInFolder, CreateOutcome, CreateResult, NewObject, ObjectDefaults, TypeStatuses,
};
pub use self::destroy::DestroyObject;
pub use self::discard::DiscardObject;
pub(crate) use self::fields::ObjectFieldUpdate;
pub use self::imported::{ImportedCopy, ImportedLink, ImportedObject};
pub use self::move_object::MoveObject;
pub use self::parts::NewParts;
pub use self::purge::{PurgeBinEntry, bin_cursor, entries_of_bin, entry_of_bin};
pub use self::remainders::{StepCommand, SubtreeStep, check_locks_below};
pub use self::rename::RenameObject;
pub use self::restore::RestoreObject;
