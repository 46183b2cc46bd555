//! What replies about containers are made of, kept in memory so that it is made once for each
//! change: whole replies, and parts of containers as they stand in replies. Nothing of it depends
//! on the family.

mod parts;
mod replies;

pub(crate) use self::parts::{KeptParts, ShownPart};
pub(crate) use self::replies::{Asked, Renderings, Seen};
