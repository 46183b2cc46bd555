//! How objects of any family come to be, go to the recycle bin, come back, and cease to be
//! (docs/api/objects.md, "Creating" and "The recycle bin").
//!
//! Each of these changes several containers at once: the folder that holds the name, the object,
//! the containers that hold it. They are joint commands, so none is ever half done. What lies below
//! a folder may be too much for one change. Then the first one decides, and [`remainders`] goes on;
//! until that is done, nobody finds what is below where it was ([`crate::object::standing`]).

mod below;
mod beside;
mod create;
mod destroy;
mod discard;
mod imported;
mod move_object;
mod parts;
mod purge;
mod remainders;
mod rename;
mod restore;
mod subtree;

pub use self::beside::{CreateBeside, CreatedBeside};
pub use self::create::{Beginning, Create, Created, Meet, NewObject, Outcome, Statuses};
pub use self::destroy::Destroy;
pub use self::discard::Discard;
pub use self::imported::{Imported, ImportedCopy, ImportedLink};
pub use self::move_object::MoveObject;
pub use self::parts::NewParts;
pub use self::purge::{Purge, entries_of_bin};
pub(crate) use self::remainders::{GoOn, Step, check_locks_below};
pub use self::rename::Rename;
pub use self::restore::Restore;
