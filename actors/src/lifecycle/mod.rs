//! How objects of any family come to be, go to the recycle bin, come back, and cease to be (docs/api/objects.md, "Creating" and
//! "The recycle bin").
//!
//! Each of these changes several containers at once: the folder that holds the name, the object, the containers that
//! hold it. They are joint commands, so none is ever half done.

mod create;
mod destroy;
mod discard;
mod parts;
mod rename;
mod restore;
mod subtree;

use std::sync::Arc;

use crate::command::Fault;
use crate::id::Loid;
use crate::joint::Turns;

pub use self::create::{Create, Created, Meet, NewObject, Outcome};
pub use self::destroy::Destroy;
pub use self::discard::Discard;
pub use self::parts::NewParts;
pub use self::rename::Rename;
pub use self::restore::Restore;

/// What lies in the folder changes, so its revision goes up. A name that [`crate::command::Context`] notes within the command
/// does that by itself; one that follows from a changed record does not.
fn touch(folder: Loid, turns: &mut Turns) -> Result<(), Fault> {
    let record = &mut turns.any(folder)?.record;
    *record = Arc::new((**record).clone());
    Ok(())
}
