//! Dividers: titles between the entries of a lineup.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::Planning;
use crate::error::Result;
use crate::id::Loid;
use crate::object::{FolderKey, MAX_TITLE_BYTES, SharedText, check_texts};
use crate::sequence::{MovableItem, SequenceItem, StoredOrder};
use crate::store::{Row, RowPlace, loid_key};

/// A divider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Divider<F> {
    /// The container of the divider.
    #[serde(with = "loid_key")]
    pub container: Loid,
    /// The divider's id, never used twice in the repository.
    pub id: u64,
    /// The entry of the container in whose lineup the divider is; `None` for the container's own
    /// lineup.
    pub under: Option<FolderKey>,
    /// The place among the lines of its lineup.
    pub order: StoredOrder,
    /// The title; may be empty.
    pub title: SharedText,
    #[serde(skip)]
    pub(super) family: PhantomData<F>,
}

impl<F: Planning> Divider<F> {
    /// Creates a divider in the lineup of the container, or of its entry `under`.
    pub fn new(container: Loid, under: Option<Loid>, id: u64, title: SharedText) -> Divider<F> {
        Divider { container, id, under: under.map(FolderKey), order: 0.into(), title, family: PhantomData }
    }

    /// Returns the entry of the container in whose lineup the divider is; `None` for the
    /// container's own.
    pub fn under(&self) -> Option<Loid> {
        self.under.map(|key| key.0)
    }
}

impl<F: Planning> SequenceItem for Divider<F> {
    fn order(&self) -> u128 {
        self.order.into()
    }

    fn is_visible(&self) -> bool {
        true
    }
}

impl<F: Planning> MovableItem for Divider<F> {
    fn at(&self, order: u128) -> Divider<F> {
        Divider { order: order.into(), ..self.clone() }
    }
}

impl<F: Planning> Row for Divider<F> {
    fn place(&self) -> RowPlace {
        F::DIVIDER.place(self.container, &self.id.to_be_bytes())
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
