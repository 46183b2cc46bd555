//! The content of short replies. Module [`prefer`](super::prefer) decides when they are sent.

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::as_text;
use stet_domain::expect::RevisionTag;
use stet_domain::id::{Loid, ShortcutId};

/// The media type of a [`MinimalReply`] reply.
pub(super) const MEDIA_TYPE: &str = "application/vnd.stet.minimal+json";

/// The short reply to a change, for `Prefer: return=minimal`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MinimalReply {
    /// The id of the object, container, post, item or divider that was changed.
    id: String,
    /// The revision, after the change, of the object that the ETag names.
    revision: u64,
    /// The items that the change put into, moved within or took out of a drawer.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<MinimalItem>>,
}

/// An item in a [`MinimalReply`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct MinimalItem {
    /// The item's shortcut id.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "ShortcutId")]
    pub id: ShortcutId,
    /// The item's position; for an item that was taken out, its former position.
    pub position: usize,
    /// The loid of the item's object.
    pub source: Loid,
}

impl MinimalReply {
    /// Creates the reply for an id, with the revision of `state`.
    pub fn of(id: impl ToString, state: RevisionTag) -> MinimalReply {
        MinimalReply { id: id.to_string(), revision: state.revision, items: None }
    }

    /// Creates the reply for the drawer in that state, with some of its items.
    pub fn with_items(items: impl IntoIterator<Item = MinimalItem>, state: RevisionTag) -> MinimalReply {
        MinimalReply { items: Some(items.into_iter().collect()), ..MinimalReply::of(state.object, state) }
    }
}

impl MinimalItem {
    /// The approximate size of an item in a reply, in bytes.
    pub const BYTES: usize = 100;
}
