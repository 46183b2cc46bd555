//! Documents: objects without parts of their own, such as stories and pictures.

use crate::command::{Context, Fault};
use crate::family::{Family, Plain};
use crate::object::{CreateMode, FamilyKind, Object};
use crate::part::Parts;
use crate::store::StoreError;

/// The family of documents.
#[derive(Debug)]
pub struct Document;

impl Family for Document {
    type State = Plain;
    type New = ();
    const KIND: FamilyKind = FamilyKind::Document;

    fn load(object: Object, _: &Parts<'_>) -> Result<Plain, StoreError> {
        Ok(Plain::new(object))
    }

    fn make(_: &(), _: Object, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn write_over(_: &(), _: &mut Plain, _: CreateMode, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn dissolve(_: &mut Plain, _: &mut Context<'_>) -> Result<(), Fault> {
        Ok(())
    }
}
