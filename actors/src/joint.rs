//! Changes of several containers at once: create in a folder, move between drawers, discard.
//!
//! A joint command gets the *turn* of each container it changes: its state, while its mailbox is
//! parked. Turns are taken in loid order, so two joint commands can't wait for each other; all
//! changes go into one change set, so they can't be torn.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command::{Context, Fault};
use crate::error::{Code, Error};
use crate::family::{Family, Fate, State};
use crate::id::Loid;
use crate::object::{Object, Record};

/// A change of several containers.
pub trait Joint: Send + Sync + 'static {
    /// What the caller gets when the change is on disk; see [`crate::command::Command::Reply`].
    type Reply: Serialize + DeserializeOwned + Send + 'static;
    /// Name in events, logs and metrics.
    const NAME: &'static str;

    /// Whether no other command may be between its look at the rows and its submission while this
    /// one is: for those that remove objects, which must find every container that holds them.
    const ALONE: bool = false;

    /// Whether it waits until the change of a subtree that one of its objects belongs to is done,
    /// where other commands find that the object is gone: for those that change what lies in the
    /// recycle bin.
    const AWAITS: bool = false;

    /// Whether it is itself a part of the change of a subtree that is under way, and takes objects
    /// as their rows have them.
    const GOES_ON: bool = false;

    /// The object whose subtree it may have changed only in part when it is on disk: the rest is
    /// done step by step, and the answer goes out after that.
    fn top(&self) -> Option<Loid> {
        None
    }

    /// The object that its reply is about: the caller gets it as the command leaves it
    /// ([`crate::runtime::Jointly::left`]).
    fn about(&self, _reply: &Self::Reply) -> Option<Loid> {
        None
    }

    /// Whether it was carried out, as its reply says. Some change nothing where they find what they
    /// were not made for, and are to be made again.
    fn was_made(_reply: &Self::Reply) -> bool {
        true
    }

    /// The containers that it surely changes.
    fn wants(&self) -> Vec<Loid>;

    /// Applies the command; see [`crate::command::Command::apply`]. When it turns out to need more
    /// containers ([`Fault::NeedsTurns`], also by asking [`Turns`] for one that is not there), it
    /// is applied afresh with their turns too.
    ///
    /// # Errors
    /// Whatever rule says no; then nothing is changed.
    fn apply(&self, turns: &mut Turns, context: &mut Context<'_>) -> Result<Self::Reply, Fault>;
}

/// The states that a joint command may change.
#[derive(Default)]
pub struct Turns {
    taken: BTreeMap<Loid, Taken>,
    missing: BTreeSet<Loid>,
    /// Live ones that are on their way to the recycle bin, or out of the world, along with what
    /// they lie in.
    leaving: BTreeSet<Loid>,
}

struct Taken {
    state: Box<dyn AnyState>,
    gone: bool,
}

/// A container's state, whatever its family: what [`Family`] says of it.
trait AnyState: Send {
    fn object(&self) -> &Object;
    fn object_mut(&mut self) -> &mut Object;
    fn has_content(&self) -> bool;
    fn member(&mut self, member: Loid, becomes: Fate, context: &mut Context<'_>) -> Result<(), Fault>;
    fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), Fault>;
    fn as_any(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

struct Typed<F: Family>(F::State);

impl<F: Family> AnyState for Typed<F> {
    fn object(&self) -> &Object {
        self.0.object()
    }
    fn object_mut(&mut self) -> &mut Object {
        self.0.object_mut()
    }
    fn has_content(&self) -> bool {
        F::HAS_CONTENT
    }
    fn member(&mut self, member: Loid, becomes: Fate, context: &mut Context<'_>) -> Result<(), Fault> {
        F::member(&mut self.0, member, becomes, context)
    }
    fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        F::dissolve(&mut self.0, context)
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl Turns {
    /// The state of a live container of the family.
    ///
    /// # Errors
    /// [`Fault::NeedsTurns`] when its turn has not been taken; `ObjectNotFound` when it lies in the
    /// recycle bin or is gone; `InvalidType` when it belongs to another family.
    pub fn get<F: Family>(&mut self, loid: Loid) -> Result<&mut F::State, Fault> {
        let object = self.any(loid)?;
        if object.record.is_discarded() {
            return Err(Error::not_found(loid).into());
        }
        self.of_family::<F>(loid)
    }

    /// The state of a container of the family, in the recycle bin or not.
    ///
    /// # Errors
    /// As [`Turns::get`].
    pub fn of_family<F: Family>(&mut self, loid: Loid) -> Result<&mut F::State, Fault> {
        self.any(loid)?;
        let state = self.state(loid)?;
        let kind = state.object().record.family;
        let typed = state.as_any().downcast_mut::<Typed<F>>().ok_or_else(|| {
            let message = format!("`{loid}` is a {kind:?}, where a {:?} is wanted.", F::KIND);
            Error::new(Code::InvalidType, message).with_source(loid)
        })?;
        Ok(&mut typed.0)
    }

    /// The common part of a container of any family, in the recycle bin or not.
    ///
    /// # Errors
    /// [`Fault::NeedsTurns`] when its turn has not been taken; `ObjectNotFound` when it is gone, or
    /// goes along with a folder.
    pub fn any(&mut self, loid: Loid) -> Result<&mut Object, Fault> {
        if self.leaving.contains(&loid) {
            return Err(Error::not_found(loid).into());
        }
        Ok(self.state(loid)?.object_mut())
    }

    /// A container changes though neither its record, nor its parts, nor the names in it do, so its
    /// revision goes up: what is linked with it.
    ///
    /// # Errors
    /// As [`Turns::any`].
    pub(crate) fn touch(&mut self, loid: Loid) -> Result<(), Fault> {
        let record = &mut self.any(loid)?.record;
        *record = Arc::new((**record).clone());
        Ok(())
    }

    /// See [`Family::HAS_CONTENT`].
    pub(crate) fn has_content(&mut self, loid: Loid) -> Result<bool, Fault> {
        Ok(self.state(loid)?.has_content())
    }

    /// Informs a container of what becomes of an object that it holds: see [`Family::member`].
    pub(crate) fn member(
        &mut self,
        container: Loid,
        member: Loid,
        becomes: Fate,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let begun = context.rows_noted();
        self.state(container)?.member(member, becomes, context)?;
        // It follows from what became of the object, which a closed container does not hold up.
        context.accept_in_closed(begun);
        Ok(())
    }

    /// See [`Family::dissolve`].
    pub(crate) fn dissolve(&mut self, loid: Loid, context: &mut Context<'_>) -> Result<(), Fault> {
        self.state(loid)?.dissolve(context)
    }

    fn state(&mut self, loid: Loid) -> Result<&mut dyn AnyState, Fault> {
        if self.missing.contains(&loid) {
            return Err(Error::not_found(loid).into());
        }
        match self.taken.get_mut(&loid) {
            None => Err(Fault::NeedsTurns(vec![loid])),
            Some(taken) if taken.gone => Err(Error::not_found(loid).into()),
            Some(taken) => Ok(&mut *taken.state),
        }
    }

    /// Makes sure that the turns of all these have been taken.
    ///
    /// # Errors
    /// [`Fault::NeedsTurns`] naming those that have not.
    pub fn need(&self, loids: impl IntoIterator<Item = Loid>) -> Result<(), Fault> {
        let more: Vec<Loid> =
            loids.into_iter().filter(|loid| !self.taken.contains_key(loid) && !self.missing.contains(loid)).collect();
        if more.is_empty() { Ok(()) } else { Err(Fault::NeedsTurns(more)) }
    }

    /// The record of a container whose turn has been taken, as the command has made it; `None` once
    /// it has ceased to be.
    pub(crate) fn record(&self, loid: Loid) -> Option<&Record> {
        self.object(loid).map(|object| &*object.record)
    }

    /// The object of a container whose turn has been taken, as the command has made it; `None` once
    /// it has ceased to be.
    pub(crate) fn object(&self, loid: Loid) -> Option<&Object> {
        self.taken.get(&loid).filter(|taken| !taken.gone).map(|taken| taken.state.object())
    }

    /// The container ceases to be; its rows are removed by the command.
    pub fn destroy(&mut self, loid: Loid) {
        if let Some(taken) = self.taken.get_mut(&loid) {
            taken.gone = true;
        }
    }

    pub(crate) fn lend<F: Family>(&mut self, loid: Loid, state: F::State) {
        self.taken.insert(loid, Taken { state: Box::new(Typed::<F>(state)), gone: false });
    }

    /// The container goes along with a folder above it, so nobody finds it any more; what it holds
    /// may still change.
    pub(crate) fn leave(&mut self, loid: Loid) {
        self.leaving.insert(loid);
    }

    /// There is no such container; asking for it says so.
    pub(crate) fn lend_nothing(&mut self, loid: Loid) {
        self.missing.insert(loid);
    }

    /// What became of a lent state: `None` when it was destroyed.
    pub(crate) fn take_back<F: Family>(&mut self, loid: Loid) -> Option<F::State> {
        let taken = self.taken.remove(&loid)?;
        if taken.gone {
            return None;
        }
        // It was lent as one of `F` and can't be replaced, only changed.
        taken.state.into_any().downcast::<Typed<F>>().ok().map(|typed| typed.0)
    }
}
