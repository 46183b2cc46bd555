//! Folders: containers that hold objects by name. The names are an index of the store and no state
//! of the actor. A folder's memory therefore does not depend on the number of its objects. The
//! actor's turn ensures that no name is used twice.

mod names;
mod place;

pub use self::names::entries;
pub use self::names::{child, children, free_name, path_by, path_of, walk};
pub use self::place::MAX_MEMBERS;
pub use self::place::{check_free, check_place, check_room};
use crate::family::plain_family;
use crate::id::{DatabaseId, Loid};

plain_family! {
    /// The family of folders.
    Folder, has_content: false
}

/// Returns the root folder of a database.
pub const fn root(database: DatabaseId) -> Loid {
    Loid::new(database, 1)
}

/// The name of the type of folders among the object types.
pub const TYPE_NAME: &str = "Folder";
