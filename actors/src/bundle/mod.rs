//! Bundles, such as compound stories: a text, and beside it a document for each channel that it
//! goes to (docs/api/bundles.md).
//!
//! What a bundle holds lies in it as objects lie in a folder, under names, so that it goes to the
//! recycle bin, comes back and moves along with it. Only its channel copies lie there, and other
//! bundles.

mod copy;

pub use self::copy::{Copied, CopiedBundle, CopyLinked, CopyToChannel, Inherit, MAX_COPIES};
use crate::family::plain_family;

plain_family! {
    /// The family of bundles.
    Bundle, has_content: true
}
