//! Channel copies: documents that a bundle holds, one for each channel (docs/api/bundles.md).

use serde::{Deserialize, Serialize};

use super::SharedText;
use super::record::FolderKey;

/// The origin of a channel copy, in its record. The copy lies in its bundle, and its name is that
/// of the channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCopy {
    /// The name of the channel.
    pub channel: SharedText,
    /// The source that the copy inherits from: its bundle, or another copy in the bundle. `None` if
    /// it was made without inheritance.
    pub inherited_from: Option<FolderKey>,
    /// The name of the channel that it was inherited from.
    pub inherit_from: Option<SharedText>,
    /// The version of the source whose content the copy took last.
    pub version: u32,
    /// Whether the copy still gets each content that is checked in at its source. It does until it
    /// is given a content of its own.
    pub follows: bool,
}
