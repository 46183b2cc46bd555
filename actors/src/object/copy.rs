//! Channel copies: documents that a bundle holds, one for each channel (docs/api/bundles.md).

use serde::{Deserialize, Serialize};

use super::Text;
use super::record::FolderKey;

/// How a channel copy came to be, in its record. It lies in its bundle, under the name of its
/// channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCopy {
    /// Name of the channel.
    pub channel: Text,
    /// What it was inherited from: its bundle, or another copy there; `None` if it was made without
    /// that.
    pub inherited_from: Option<FolderKey>,
    /// Name of the channel that it was inherited from.
    pub inherit_from: Option<Text>,
    /// Number of the version there that its content was last taken from.
    pub version: u32,
    /// Whether it still gets each content that is checked in there: until it is given one of its
    /// own.
    pub follows: bool,
}
