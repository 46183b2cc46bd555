//! Folders: they hold objects under names. The names are an index of the store, not state of the
//! actor, so that a folder costs the same however much lies in it; the actor's turn is what keeps a
//! name from being given twice.

mod names;
mod place;

pub(crate) use self::names::entries;
pub use self::names::{child, children, free_name, path_by, path_of, walk};
pub use self::place::MAX_MEMBERS;
pub(crate) use self::place::{check_free, check_place, check_room};
use crate::family::plain_family;
use crate::id::{DatabaseId, Loid};

plain_family! {
    /// The family of folders.
    Folder, has_content: false
}

/// The root folder of a database.
pub const fn root(database: DatabaseId) -> Loid {
    Loid::new(database, 1)
}

/// Name of the type of folders in the objecttypes family.
pub const TYPE_NAME: &str = "Folder";
