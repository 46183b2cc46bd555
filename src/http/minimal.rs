//! What a short reply says. Who asks for one, and how it is answered: [`prefer`](super::prefer).

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::expect::Tag;
use stet_actors::id::{Loid, ShortcutId};

use crate::json::as_text;

/// The media type of a [`Minimal`].
pub(super) const MEDIA_TYPE: &str = "application/vnd.stet.minimal+json";

/// What a client is told of a change that it wants to hear little of.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Minimal {
    /// What the change is about, as the whole reply names it: an object, a container, a post, an
    /// item, a divider.
    id: String,
    /// The revision, after the change, of what the ETag names.
    revision: u64,
    /// The items that the change put, moved or took out of a drawer.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<MinimalItem>>,
}

/// An item in a [`Minimal`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct MinimalItem {
    /// Its shortcut id.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "ShortcutId")]
    pub id: ShortcutId,
    /// Where it stands; where it stood, of one that was taken out.
    pub position: usize,
    /// Loid of its object.
    pub source: Loid,
}

impl Minimal {
    /// Of that id, in that state.
    pub fn of(id: impl ToString, state: Tag) -> Minimal {
        Minimal { id: id.to_string(), revision: state.revision, items: None }
    }

    /// Of the drawer in that state, and some of its items.
    pub fn with_items(items: impl IntoIterator<Item = MinimalItem>, state: Tag) -> Minimal {
        Minimal { items: Some(items.into_iter().collect()), ..Minimal::of(state.object, state) }
    }
}

impl MinimalItem {
    /// Bytes of one on the wire, about.
    pub const BYTES: usize = 100;
}
