//! The title and description of a topic or plan.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::Planning;
use crate::error::Result;
use crate::id::Loid;
use crate::object::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES, SharedText, check_texts};
use crate::store::{Row, RowPlace, loid_key};

/// The title and description of a topic or plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct PlanningHead<F> {
    /// The container.
    #[serde(with = "loid_key")]
    pub loid: Loid,
    /// The title, which may be empty.
    pub title: SharedText,
    /// The description, which may be empty.
    pub description: SharedText,
    #[serde(skip)]
    family: PhantomData<F>,
}

impl<F: Planning> PlanningHead<F> {
    /// Creates the head of a container.
    pub fn new(loid: Loid, title: SharedText, description: SharedText) -> PlanningHead<F> {
        PlanningHead { loid, title, description, family: PhantomData }
    }

    /// Returns the head with the given texts; `None` keeps the present one.
    ///
    /// # Errors
    /// `InvalidParameter` that names the text that is too long.
    pub(super) fn with(
        mut self,
        title: Option<&SharedText>,
        description: Option<&SharedText>,
    ) -> Result<PlanningHead<F>> {
        check_texts([
            ("title", title.map(|title| &**title), MAX_TITLE_BYTES),
            ("description", description.map(|description| &**description), MAX_DESCRIPTION_BYTES),
        ])?;
        for (text, new) in [(&mut self.title, title), (&mut self.description, description)] {
            if let Some(new) = new {
                text.clone_from(new);
            }
        }
        Ok(self)
    }
}

impl<F: Planning> Row for PlanningHead<F> {
    fn place(&self) -> RowPlace {
        F::HEAD.place(self.loid, &[])
    }
}
