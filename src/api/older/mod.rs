//! The older, unversioned resources.

mod linked;
pub mod routes;

pub use self::linked::linked;
