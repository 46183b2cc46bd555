//! Bundles, such as compound stories: a text, and beside it a document for each channel that it goes to (docs/api/bundles.md).
//!
//! What a bundle holds lies in it as objects lie in a folder, under names, so that it goes to the recycle bin, comes back and moves
//! along with it. Only its channel copies lie there, and other bundles.

mod copy;

pub use self::copy::{Copied, CopyLinked, CopyToChannel, Inherit};
use crate::command::{Context, Fault};
use crate::family::{Family, Plain};
use crate::object::{CreateMode, FamilyKind, Object};
use crate::part::Parts;
use crate::store::StoreError;

/// The family of bundles.
#[derive(Debug)]
pub struct Bundle;

impl Family for Bundle {
    type State = Plain;
    type New = ();
    const KIND: FamilyKind = FamilyKind::Bundle;

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
