//! Bundles, such as compound stories: a text, with a document for each channel on which it is
//! published (docs/api/bundles.md).
//!
//! A bundle contains its members by name, as a folder does. They are therefore discarded, restored
//! and moved along with it. Only its channel copies and other bundles may lie in it.

mod copy;

pub use self::copy::{ChannelCopyOutcome, CopiedBundle, CopyInheritance, CopyLinkedBundles, CopyToChannel, MAX_COPIES};
use crate::family::plain_family;

plain_family! {
    /// The family of bundles.
    Bundle, has_content: true
}
