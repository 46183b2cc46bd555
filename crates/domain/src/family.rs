//! The interface of a kind of container. It serves the runtime, the lifecycle of objects, the check
//! of a data directory, and the code that decides who may learn of changes. `families`
//! lists the families.

use std::fmt::Debug;

use crate::command::{CommandFault, Context};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, PartReader};
use crate::proof::Proof;
use crate::store::StoreError;

/// A kind of container: its state, the way to read it from rows, and its behaviour in the
/// lifecycle.
pub trait Family: Sized + Send + Sync + 'static {
    /// The state that the container's actor holds in memory. Cloning must share structure, as it
    /// happens once for each change.
    type State: State;

    /// The settings of a new container, beside those that every object has.
    type New: Debug + Send + Sync + 'static;

    /// The kind of objects that belong to the family.
    const KIND: FamilyKind;

    /// The kinds of parts.
    const PARTS: &'static [PartKind] = &[];

    /// Whether its objects have bytes of their own, with versions and drafts.
    const HAS_CONTENT: bool = true;

    /// Whether some readers see only some of the parts. Then the family's commands note for each
    /// part concerned who saw it ([`Context::concerns_seen`]).
    const HIDES_PARTS: bool = false;

    /// The names of the commands whose events name parts, and no objects.
    const PART_EVENTS: &'static [&'static str] = &[];

    /// Builds the state from the rows on disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a row can't be decoded.
    fn load(object: Object, parts: &PartReader<'_>) -> Result<Self::State, StoreError>;

    /// Puts the parts of a new container, whose record and attributes the caller puts. Returns the
    /// bytes of memory that the container takes ([`State::bytes`]).
    ///
    /// # Errors
    /// An error if a rule forbids it; then nothing is made.
    fn make(new: &Self::New, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault>;

    /// Writes the given settings over an existing container: `Replace` sets all of them,
    /// `NewVersion` only those that were given.
    ///
    /// # Errors
    /// An error if a rule forbids it; then nothing is changed.
    fn write_over(
        new: &Self::New,
        state: &mut Self::State,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault>;

    /// Informs a container of the new state of an object that its parts hold
    /// ([`crate::object::hold`]). It is called once for each object, however many parts hold it.
    /// The container itself may be in the recycle bin, or on its way there, or about to be
    /// destroyed.
    ///
    /// # Errors
    /// Errors of the store. A family that holds no objects always fails, as only a corrupt index
    /// can name it as a container of the member.
    fn member(
        state: &mut Self::State,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let _ = (becomes, context);
        let container = state.object().record.loid;
        Err(StoreError::Corrupt(format!("{container} holds no objects, and an index says that it holds {member}"))
            .into())
    }

    /// Removes all parts of a container that is destroyed, with everything that belongs to them.
    ///
    /// # Errors
    /// Errors of the store.
    fn dissolve(state: &mut Self::State, context: &mut Context<'_>) -> Result<(), CommandFault>;

    /// Checks the family's own rules for a container's rows. The general checks are done before:
    /// each row can be decoded, and has its index entries.
    ///
    /// # Errors
    /// Errors of the store; faults are reported to `proof`.
    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        let _ = (record, proof);
        Ok(())
    }
}

/// The new state of an object that a container holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberFate {
    /// The object is moved to the recycle bin.
    Hidden,
    /// The object is restored from the recycle bin.
    Shown,
    /// The object is destroyed: nothing may hold it any more.
    Gone,
}

/// The state of a container of any family.
pub trait State: Clone + Debug + Send + Sync + Unpin + 'static {
    /// Returns the object's record and attributes, which every container has.
    fn object(&self) -> &Object;

    /// Returns the object for changes. The runtime maintains the revision, `modified` and
    /// `last_modifier`.
    fn object_mut(&mut self) -> &mut Object;

    /// Returns the approximate size in memory, in bytes. It is called at each commit, so its cost
    /// must not grow with the contents of the container.
    fn bytes(&self) -> usize;
}

/// The state of a container that has nothing but its object.
#[derive(Debug, Clone)]
pub struct PlainState {
    object: Object,
}

impl PlainState {
    /// Creates the state of a container.
    pub fn new(object: Object) -> PlainState {
        PlainState { object }
    }
}

impl State for PlainState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        self.object.bytes()
    }
}

/// Defines a family whose containers have nothing but their object.
macro_rules! plain_family {
    ($(#[$about:meta])+ $name:ident, has_content: $has_content:literal) => {
        $(#[$about])+
        #[derive(Debug)]
        pub struct $name;

        impl $crate::family::Family for $name {
            type State = $crate::family::PlainState;
            type New = ();
            const KIND: $crate::object::FamilyKind = $crate::object::FamilyKind::$name;
            const HAS_CONTENT: bool = $has_content;

            fn load(
                object: $crate::object::Object,
                _: &$crate::part::PartReader<'_>,
            ) -> Result<Self::State, $crate::store::StoreError> {
                Ok($crate::family::PlainState::new(object))
            }

            fn make(
                (): &(),
                object: $crate::object::Object,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<usize, $crate::command::CommandFault> {
                Ok(object.bytes())
            }

            fn write_over(
                (): &(),
                _: &mut Self::State,
                _: $crate::object::CreateMode,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<(), $crate::command::CommandFault> {
                Ok(())
            }

            fn dissolve(
                _: &mut Self::State,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<(), $crate::command::CommandFault> {
                Ok(())
            }
        }
    };
}

pub(crate) use plain_family;
