//! What a kind of container must provide: to the runtime, to the lifecycle of objects, to the check
//! of a data directory, and to the code that decides who may learn of its changes.
//! [`crate::families`] lists the families.

use std::fmt::Debug;

use crate::command::{Context, Fault};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, Parts};
use crate::proof::Proof;
use crate::store::StoreError;

/// A kind of container: its state, how it is read from rows, and what becomes of it.
pub trait Family: Sized + Send + Sync + 'static {
    /// What the container's actor holds in memory. Cloning must share structure: it happens once
    /// per change.
    type State: State;

    /// The settings of a new container, beside those that every object has.
    type New: Debug + Send + Sync + 'static;

    /// Which objects belong to it.
    const KIND: FamilyKind;

    /// The kinds of its parts.
    const PARTS: &'static [PartKind] = &[];

    /// Whether its objects have bytes of their own, with versions and drafts.
    const HAS_CONTENT: bool = true;

    /// Whether some of its readers see only some of its parts. Then its commands note of each part
    /// that they concern who saw it ([`Context::concerns_seen`]).
    const HIDES_PARTS: bool = false;

    /// Names of the commands whose events name its parts, and no objects.
    const PART_EVENTS: &'static [&'static str] = &[];

    /// Builds the state from what is on disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when a row can't be understood.
    fn load(object: Object, parts: &Parts<'_>) -> Result<Self::State, StoreError>;

    /// Puts the parts of a new container, whose record and attributes the caller puts. Returns the
    /// bytes of memory that the container takes ([`State::bytes`]).
    ///
    /// # Errors
    /// Whatever rule says no; then nothing is made.
    fn make(new: &Self::New, object: Object, context: &mut Context<'_>) -> Result<usize, Fault>;

    /// Writes the given settings over an existing container: `Replace` sets all of them,
    /// `NewVersion` only those that were given.
    ///
    /// # Errors
    /// Whatever rule says no; then nothing is changed.
    fn write_over(
        new: &Self::New,
        state: &mut Self::State,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), Fault>;

    /// Informs a container of what becomes of an object that its parts hold
    /// ([`crate::object::hold`]). Called once for each object, however many parts hold it. The
    /// container may lie in the recycle bin itself, or be on its way there, or on its way out.
    ///
    /// # Errors
    /// What the store says. A family that holds no objects has no other answer: an index says that
    /// it does.
    fn member(state: &mut Self::State, member: Loid, becomes: Fate, context: &mut Context<'_>) -> Result<(), Fault> {
        let _ = (becomes, context);
        let container = state.object().record.loid;
        Err(StoreError::Corrupt(format!("{container} holds no objects, and an index says that it holds {member}"))
            .into())
    }

    /// Removes all parts of a container that ceases to be, with all that is theirs.
    ///
    /// # Errors
    /// What the store says.
    fn dissolve(state: &mut Self::State, context: &mut Context<'_>) -> Result<(), Fault>;

    /// Proves what only the family knows of a container's rows. That each can be read, and has its
    /// index entries, has been proved.
    ///
    /// # Errors
    /// Errors of the store; faults are reported to `proof`.
    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        let _ = (record, proof);
        Ok(())
    }
}

/// What becomes of an object that a container holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes to the recycle bin.
    Hidden,
    /// It comes back from there.
    Shown,
    /// It is destroyed: nothing may hold it any more.
    Gone,
}

/// The state of a container of any family.
pub trait State: Clone + Debug + Send + Sync + Unpin + 'static {
    /// The part that every container has.
    fn object(&self) -> &Object;

    /// The same, to be changed. The revision, `modified` and `last_modifier` are kept by the
    /// runtime.
    fn object_mut(&mut self) -> &mut Object;

    /// Bytes that it takes in memory, about. It is asked at each commit, so finding out must not
    /// take longer the more there is in the container.
    fn bytes(&self) -> usize;
}

/// The state of a container that has nothing beside what every object has.
#[derive(Debug, Clone)]
pub struct Plain {
    object: Object,
}

impl Plain {
    /// The state of that object.
    pub fn new(object: Object) -> Plain {
        Plain { object }
    }
}

impl State for Plain {
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

/// A family whose containers have nothing beside what every object has.
macro_rules! plain_family {
    ($(#[$about:meta])+ $name:ident, has_content: $has_content:literal) => {
        $(#[$about])+
        #[derive(Debug)]
        pub struct $name;

        impl $crate::family::Family for $name {
            type State = $crate::family::Plain;
            type New = ();
            const KIND: $crate::object::FamilyKind = $crate::object::FamilyKind::$name;
            const HAS_CONTENT: bool = $has_content;

            fn load(
                object: $crate::object::Object,
                _: &$crate::part::Parts<'_>,
            ) -> Result<Self::State, $crate::store::StoreError> {
                Ok($crate::family::Plain::new(object))
            }

            fn make(
                (): &(),
                object: $crate::object::Object,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<usize, $crate::command::Fault> {
                Ok(object.bytes())
            }

            fn write_over(
                (): &(),
                _: &mut Self::State,
                _: $crate::object::CreateMode,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<(), $crate::command::Fault> {
                Ok(())
            }

            fn dissolve(
                _: &mut Self::State,
                _: &mut $crate::command::Context<'_>,
            ) -> Result<(), $crate::command::Fault> {
                Ok(())
            }
        }
    };
}

pub(crate) use plain_family;
