//! Changes of several containers at once, such as creating in a folder, moving between drawers, and
//! discarding.
//!
//! A joint command gets the *turn* of each container it changes: its state, while its mailbox is
//! parked. Turns are taken in the order of loids, so two joint commands can't deadlock. All changes
//! are in one change set, so they are stored together or not at all.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::family::{Family, MemberFate, State};
use crate::id::Loid;
use crate::object::{Object, Record};

/// A change of several containers.
pub trait JointCommand: Send + Sync + 'static {
    /// The reply to the caller once the change is on disk; see [`crate::command::Command::Reply`].
    type Reply: Serialize + DeserializeOwned + Send + 'static;
    /// The name in events, logs and metrics.
    const NAME: &'static str;

    /// Whether the command excludes all other commands between its reads and its submission.
    /// Commands that remove objects need that: they must find every container that holds them.
    const ALONE: bool = false;

    /// Whether the command removes objects, which frees space in the end. It may use the last bytes
    /// of the disk (`store.reserve_bytes`).
    const REMOVES: bool = false;

    /// Whether the command waits for a running change of the subtree that one of its objects
    /// belongs to. Commands for objects in the recycle bin do; other commands report that the
    /// object is gone.
    const AWAITS: bool = false;

    /// Whether the command is itself a step of a running change of a subtree. Then it treats
    /// objects as their rows state.
    const GOES_ON: bool = false;

    /// Returns the root of a subtree that may only be changed in part when the command is on disk.
    /// The rest is done in further steps, and the reply is sent after the last one.
    fn top(&self) -> Option<Loid> {
        None
    }

    /// Returns the object that the reply is about. The caller gets the object's state after the
    /// command (`JointResult::left`).
    fn about(&self, _reply: &Self::Reply) -> Option<Loid> {
        None
    }

    /// Reports whether the command was carried out, according to its reply. Some commands change
    /// nothing if the state is not the expected one, and have to be repeated.
    fn was_made(_reply: &Self::Reply) -> bool {
        true
    }

    /// Returns the containers that the command certainly changes.
    fn wants(&self) -> Vec<Loid>;

    /// Applies the command; see [`crate::command::Command::apply`]. The command may turn out to
    /// need more containers ([`CommandFault::NeedsTurns`], also when [`ContainerTurns`] lacks one).
    /// Then it is applied again from the start, with their turns too.
    ///
    /// # Errors
    /// An error if a rule forbids it; then nothing is changed.
    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<Self::Reply, CommandFault>;
}

/// The states that a joint command may change.
#[derive(Default)]
pub struct ContainerTurns {
    taken: BTreeMap<Loid, TakenTurn>,
    missing: BTreeSet<Loid>,
    /// The live containers that are about to be discarded or destroyed along with a folder above
    /// them.
    leaving: BTreeSet<Loid>,
}

struct TakenTurn {
    state: Box<dyn AnyState>,
    gone: bool,
}

/// A container's state without its family, with the operations of [`Family`].
trait AnyState: Send {
    fn object(&self) -> &Object;
    fn object_mut(&mut self) -> &mut Object;
    fn has_content(&self) -> bool;
    fn member(&mut self, member: Loid, becomes: MemberFate, context: &mut Context<'_>) -> Result<(), CommandFault>;
    fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault>;
    fn as_any(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

struct TypedState<F: Family>(F::State);

impl<F: Family> AnyState for TypedState<F> {
    fn object(&self) -> &Object {
        self.0.object()
    }
    fn object_mut(&mut self) -> &mut Object {
        self.0.object_mut()
    }
    fn has_content(&self) -> bool {
        F::HAS_CONTENT
    }
    fn member(&mut self, member: Loid, becomes: MemberFate, context: &mut Context<'_>) -> Result<(), CommandFault> {
        F::member(&mut self.0, member, becomes, context)
    }
    fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        F::dissolve(&mut self.0, context)
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl ContainerTurns {
    /// Returns the state of a live container of the family.
    ///
    /// # Errors
    /// [`CommandFault::NeedsTurns`] if its turn has not been taken; `ObjectNotFound` if it is in
    /// the recycle bin or destroyed; `InvalidType` if it belongs to another family.
    pub fn get<F: Family>(&mut self, loid: Loid) -> Result<&mut F::State, CommandFault> {
        let object = self.any(loid)?;
        if object.record.is_discarded() {
            return Err(Error::not_found(loid).into());
        }
        self.of_family::<F>(loid)
    }

    /// Returns the state of a container of the family, in the recycle bin or not.
    ///
    /// # Errors
    /// The errors of [`ContainerTurns::get`].
    pub fn of_family<F: Family>(&mut self, loid: Loid) -> Result<&mut F::State, CommandFault> {
        self.any(loid)?;
        let state = self.state(loid)?;
        let kind = state.object().record.family;
        let typed = state.as_any().downcast_mut::<TypedState<F>>().ok_or_else(|| {
            let message = format!("`{loid}` is a {kind:?}, not a {:?}.", F::KIND);
            Error::new(Code::InvalidType, message).with_source(loid)
        })?;
        Ok(&mut typed.0)
    }

    /// Returns the object of a container of any family, in the recycle bin or not.
    ///
    /// # Errors
    /// [`CommandFault::NeedsTurns`] if its turn has not been taken; `ObjectNotFound` if it is
    /// destroyed, or is leaving along with a folder.
    pub fn any(&mut self, loid: Loid) -> Result<&mut Object, CommandFault> {
        if self.leaving.contains(&loid) {
            return Err(Error::not_found(loid).into());
        }
        Ok(self.state(loid)?.object_mut())
    }

    /// Marks a container as changed, so that its revision is raised. It is for changes of links,
    /// which are neither in the record, nor in the parts, nor in the names.
    ///
    /// # Errors
    /// The errors of [`ContainerTurns::any`].
    pub fn touch(&mut self, loid: Loid) -> Result<(), CommandFault> {
        let record = &mut self.any(loid)?.record;
        *record = Arc::new((**record).clone());
        Ok(())
    }

    /// Reports whether the container has content ([`Family::HAS_CONTENT`]).
    pub fn has_content(&mut self, loid: Loid) -> Result<bool, CommandFault> {
        Ok(self.state(loid)?.has_content())
    }

    /// Informs a container of the new state of an object that it holds ([`Family::member`]).
    pub fn member(
        &mut self,
        container: Loid,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let begun = context.rows_noted();
        self.state(container)?.member(member, becomes, context)?;
        // The change follows from that of the object, and a closed container can't prevent it.
        context.accept_in_closed(begun);
        Ok(())
    }

    /// Removes all parts of a container that is destroyed ([`Family::dissolve`]).
    pub fn dissolve(&mut self, loid: Loid, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.state(loid)?.dissolve(context)
    }

    fn state(&mut self, loid: Loid) -> Result<&mut dyn AnyState, CommandFault> {
        if self.missing.contains(&loid) {
            return Err(Error::not_found(loid).into());
        }
        match self.taken.get_mut(&loid) {
            None => Err(CommandFault::NeedsTurns(vec![loid])),
            Some(taken) if taken.gone => Err(Error::not_found(loid).into()),
            Some(taken) => Ok(&mut *taken.state),
        }
    }

    /// Ensures that the turns of all these containers have been taken.
    ///
    /// # Errors
    /// [`CommandFault::NeedsTurns`] with those that have not.
    pub fn need(&self, loids: impl IntoIterator<Item = Loid>) -> Result<(), CommandFault> {
        let more: Vec<Loid> =
            loids.into_iter().filter(|loid| !self.taken.contains_key(loid) && !self.missing.contains(loid)).collect();
        if more.is_empty() { Ok(()) } else { Err(CommandFault::NeedsTurns(more)) }
    }

    /// Returns the record of a container whose turn has been taken, with the command's changes;
    /// `None` if the command has destroyed it.
    pub fn record(&self, loid: Loid) -> Option<&Record> {
        self.object(loid).map(|object| &*object.record)
    }

    /// Returns the object of a container whose turn has been taken, with the command's changes;
    /// `None` if the command has destroyed it.
    pub fn object(&self, loid: Loid) -> Option<&Object> {
        self.taken.get(&loid).filter(|taken| !taken.gone).map(|taken| taken.state.object())
    }

    /// Marks a container as destroyed; the command removes its rows.
    pub fn destroy(&mut self, loid: Loid) {
        if let Some(taken) = self.taken.get_mut(&loid) {
            taken.gone = true;
        }
    }

    /// Adds the state of a container, for tests.
    pub fn lend<F: Family>(&mut self, loid: Loid, state: F::State) {
        self.taken.insert(loid, TakenTurn { state: Box::new(TypedState::<F>(state)), gone: false });
    }

    /// Marks a container as leaving along with a folder above it. It is no longer found, but its
    /// contents may still change.
    pub fn hide_leaving(&mut self, loid: Loid) {
        self.leaving.insert(loid);
    }

    /// Records that a container does not exist; requests for it then fail.
    pub fn lend_nothing(&mut self, loid: Loid) {
        self.missing.insert(loid);
    }

    /// Takes back a lent state; `None` if it was destroyed.
    pub fn take_back<F: Family>(&mut self, loid: Loid) -> Option<F::State> {
        let taken = self.taken.remove(&loid)?;
        if taken.gone {
            return None;
        }
        // It was lent as a state of `F` and can only be changed, not replaced.
        taken.state.into_any().downcast::<TypedState<F>>().ok().map(|typed| typed.0)
    }
}
