//! Parts of containers: the kinds that there are, and how they are read.

mod kind;
mod read;

pub use self::kind::{Derived, PartKind};
pub use self::read::Parts;
