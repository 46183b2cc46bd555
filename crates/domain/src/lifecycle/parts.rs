//! The initial parts of a new container of any family.

use std::fmt;
use std::sync::Arc;

use crate::command::{CommandFault, Context};
use crate::family::Family;
use crate::id::Loid;
use crate::joint::ContainerTurns;
use crate::object::{CreateMode, FamilyKind, Object};

/// The settings of a new object as a container ([`Family::New`]). They determine the family of the
/// object.
#[derive(Clone)]
pub struct NewParts(Arc<dyn AnyNew>);

impl NewParts {
    /// Wraps the settings of a new container of the family `F`.
    pub fn of<F: Family>(new: F::New) -> NewParts {
        NewParts(Arc::new(TypedParts::<F>(new)))
    }

    /// Returns the family.
    pub fn family(&self) -> FamilyKind {
        self.0.family()
    }

    /// Makes the parts of a new container ([`Family::make`]).
    pub(super) fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        self.0.make(object, context)
    }

    /// Writes the settings over a container ([`Family::write_over`]), whose turn must have been
    /// taken.
    pub(super) fn write_over(
        &self,
        existing: Loid,
        mode: CreateMode,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        self.0.write_over(existing, mode, turns, context)
    }
}

impl fmt::Debug for NewParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

/// The settings [`Family::New`] of any family.
trait AnyNew: Send + Sync {
    fn family(&self) -> FamilyKind;
    fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault>;
    fn write_over(
        &self,
        existing: Loid,
        mode: CreateMode,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault>;
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

struct TypedParts<F: Family>(F::New);

impl<F: Family> AnyNew for TypedParts<F> {
    fn family(&self) -> FamilyKind {
        F::KIND
    }

    fn make(&self, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        F::make(&self.0, object, context)
    }

    fn write_over(
        &self,
        existing: Loid,
        mode: CreateMode,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        F::write_over(&self.0, turns.get::<F>(existing)?, mode, context)
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(F::KIND.name()).field(&self.0).finish()
    }
}
