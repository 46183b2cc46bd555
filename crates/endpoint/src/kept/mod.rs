//! Caches of rendered replies about containers: whole replies, and parts of containers as they
//! stand in replies. Each is rendered once for each change. Nothing here depends on the family.

mod parts;
mod replies;

pub use self::parts::{KeptParts, ShownPart};
pub use self::replies::{RecordCopies, Renderings, ReplyLookup};
