//! Dividers: titles between the entries of a lineup.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::Loid;
use crate::object::{FolderKey, MAX_TITLE_BYTES, SharedText, check_texts};
use crate::part::PartKind;
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, loid_key};

/// A divider. `KIND` is the number of its kind of parts, which differs by family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divider<const KIND: u8> {
    /// The container of the divider.
    #[serde(with = "loid_key")]
    pub container: Loid,
    /// The divider's id, never used twice in the repository.
    pub id: u64,
    /// The part of the container in whose lineup the divider is; `None` for the container's own
    /// lineup.
    pub under: Option<FolderKey>,
    /// The place among the lines of its lineup.
    pub order: StoredOrder,
    /// The title; may be empty.
    pub title: SharedText,
}

impl<const KIND: u8> Divider<KIND> {
    /// The kind of parts.
    pub const PART: PartKind = PartKind::of::<Divider<KIND>>(KIND);

    /// Creates a divider in the lineup of the container, or of its part `under`.
    pub fn new(container: Loid, under: Option<Loid>, id: u64, title: SharedText) -> Divider<KIND> {
        Divider { container, id, under: under.map(FolderKey), order: 0.into(), title }
    }

    /// Returns the part of the container in whose lineup the divider is; `None` for the container's
    /// own.
    pub fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }
}

impl<const KIND: u8> SequenceItem for Divider<KIND> {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        true
    }
}

impl<const KIND: u8> MovableItem for Divider<KIND> {
    fn at(&self, order: u128) -> Divider<KIND> {
        Divider { order: order.into(), ..self.clone() }
    }
}

impl<const KIND: u8> Row for Divider<KIND> {
    fn place(&self) -> RowPlace {
        Divider::<KIND>::PART.place(self.container, &self.id.to_be_bytes())
    }
}

/// The fields of a divider that a caller sets; a field that is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct NewDivider {
    /// The title; `None` in a new divider means an empty one.
    pub title: Option<SharedText>,
    /// The position among the lines that the caller sees, from 0; −1 is the end, and the default
    /// for a new divider.
    pub position: Option<i64>,
}

impl NewDivider {
    /// Checks the title.
    ///
    /// # Errors
    /// `InvalidParameter` if it is too long.
    pub fn check(&self) -> Result<()> {
        check_texts([("title", self.title.as_deref(), MAX_TITLE_BYTES)])
    }
}
