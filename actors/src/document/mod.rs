//! Documents: objects without parts of their own, such as stories and pictures.

use crate::family::{Family, Parts};
use crate::object::{FamilyKind, Object, Plain};
use crate::store::StoreError;

/// The family of documents. Objects of families that have no actor of their own yet are run by it too.
#[derive(Debug)]
pub struct Document;

impl Family for Document {
    type State = Plain;
    const KIND: FamilyKind = FamilyKind::Document;

    fn load(object: Object, _: &Parts<'_>) -> Result<Plain, StoreError> {
        Ok(Plain::new(object))
    }
}
