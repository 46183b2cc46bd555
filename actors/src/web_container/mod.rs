//! Web containers, and the page containers that are like them: documents whose content and links name stories (docs/api/bundles.md,
//! "Web containers").

use crate::command::{Context, Fault};
use crate::family::{Family, Plain};
use crate::object::{CreateMode, FamilyKind, Object};
use crate::part::Parts;
use crate::store::StoreError;

/// The family of web containers.
#[derive(Debug)]
pub struct WebContainer;

impl Family for WebContainer {
    type State = Plain;
    type New = ();
    const KIND: FamilyKind = FamilyKind::WebContainer;

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
