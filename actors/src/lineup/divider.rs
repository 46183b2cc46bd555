//! Dividers: titles that stand between the members of a lineup.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::Loid;
use crate::object::{FolderKey, MAX_TITLE_BYTES, Text, check_texts};
use crate::part::PartKind;
use crate::sequence::{Movable, Ordered, StoredOrder};
use crate::store::{Key, Row, loid_key};

/// A divider. `KIND` is the number of its kind of parts: each family has its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divider<const KIND: u8> {
    /// The container that it is a part of.
    #[serde(with = "loid_key")]
    pub container: Loid,
    /// Never given twice in the repository.
    pub id: u64,
    /// The part of the container in whose lineup it stands; `None`: the container's own.
    pub(crate) under: Option<FolderKey>,
    pub(crate) order: StoredOrder,
    /// May be empty.
    pub title: Text,
}

impl<const KIND: u8> Divider<KIND> {
    /// The kind of such dividers.
    pub const PART: PartKind = PartKind::of::<Divider<KIND>>(KIND);

    /// A divider in the lineup of `under`, a part of the container, or of the container itself.
    pub fn new(container: Loid, under: Option<Loid>, id: u64, title: Text) -> Divider<KIND> {
        Divider { container, id, under: under.map(FolderKey), order: 0.into(), title }
    }

    /// The part of the container in whose lineup it stands; `None`: the container's own.
    pub fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }
}

impl<const KIND: u8> Ordered for Divider<KIND> {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        true
    }
}

impl<const KIND: u8> Movable for Divider<KIND> {
    fn at(&self, order: u128) -> Divider<KIND> {
        Divider { order: order.into(), ..self.clone() }
    }
}

impl<const KIND: u8> Row for Divider<KIND> {
    fn place(&self) -> Key {
        Divider::<KIND>::PART.place(self.container, &self.id.to_be_bytes())
    }
}

/// What a caller says of a divider; what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct NewDivider {
    /// Empty in a new one without it.
    pub title: Option<Text>,
    /// Counted from 0 among the lines that the caller sees; −1 is the end, as nothing said is of a
    /// new one.
    pub position: Option<i64>,
}

impl NewDivider {
    /// Looks at the title.
    ///
    /// # Errors
    /// `InvalidParameter` when it is too long.
    pub(crate) fn check(&self) -> Result<()> {
        check_texts([("title", self.title.as_deref(), MAX_TITLE_BYTES)])
    }
}
