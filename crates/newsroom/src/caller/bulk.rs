//! Bulk calls: each object that a call lists is changed by a command of its own.

use std::cell::RefCell;
use std::sync::Arc;

use foldhash::HashMap;
use stet_actors::runtime::JointResult;
use stet_domain::command::Command;
use stet_domain::error::Result;
use stet_domain::expect::{Precondition, RevisionTag};
use stet_domain::family::State;
use stet_domain::id::Loid;
use stet_domain::joint::JointCommand;
use stet_domain::receipt::ReceiptStep;

use super::{Caller, NamedContainer};
use crate::records::Display;

/// The objects that a bulk call lists.
pub struct BulkChanges<'c> {
    caller: &'c mut Caller,
    /// The revisions that this call itself has left, for objects that it changed under a condition.
    /// An object that is listed again no longer has the revision that the caller stated, and the
    /// caller's own change is the reason.
    left: RefCell<HashMap<Loid, Arc<Precondition>>>,
}

impl BulkChanges<'_> {
    /// Returns the object at a position of the list as the client sent it. A retry recognises
    /// completed changes by this position. A long list takes time, so the caller is checked again
    /// before each object: their rights at that time count.
    ///
    /// # Errors
    /// `InvalidToken`, `PermissionDenied`: for this object only; the call continues with the next.
    pub fn at(&mut self, place: usize) -> Result<BulkChange<'_>> {
        self.caller.look_again()?;
        self.caller.note_use();
        // This change may still be refused, like the change of a call of its own.
        let has_changed_others = self.caller.changed.is_set();
        self.caller.changed.set(false);
        Ok(BulkChange { caller: self.caller, place, left: &self.left, has_changed_others })
    }
}

/// One of the objects that a bulk call lists.
pub struct BulkChange<'c> {
    caller: &'c Caller,
    place: usize,
    left: &'c RefCell<HashMap<Loid, Arc<Precondition>>>,
    /// Whether the call has changed an object before this one.
    has_changed_others: bool,
}

impl Drop for BulkChange<'_> {
    fn drop(&mut self) {
        // Whatever happened to this object, the reply tells of the others.
        if self.has_changed_others {
            self.caller.changed.set(true);
        }
    }
}

impl<'c> BulkChange<'c> {
    /// Returns the caller, with their current rights.
    pub fn caller(&self) -> &'c Caller {
        self.caller
    }

    /// Returns the object that an earlier attempt of the call has changed at this position, whose
    /// change is not repeated. Ask before a name is looked up: the object may be removed or renamed
    /// by now.
    pub fn done_before(&self) -> Option<Loid> {
        let object = self.caller.once()?.done_at(self.place)?;
        self.caller.changed.set(true);
        // The revision that the earlier attempt left is not known any more. That of a container is
        // not known either, but others may have changed it since: its other parts keep the
        // condition of the call.
        self.note_left(object, Precondition::Any);
        Some(object)
    }

    /// Changes the object. The change may be retried as long as nothing has been changed. Thousands
    /// may fail a precondition, so the record in the error is short.
    ///
    /// # Errors
    /// The errors of [`Caller::change`].
    pub async fn change<J: JointCommand>(&self, object: Loid, joint: J) -> Result<J::Reply> {
        self.change_part(object, object, joint).await
    }

    /// Changes `named`, which is the object or a part of it; otherwise like [`BulkChange::change`].
    ///
    /// # Errors
    /// The errors of [`Caller::change`].
    pub async fn change_part<J: JointCommand>(&self, named: Loid, object: Loid, joint: J) -> Result<J::Reply> {
        let (step, expect) = (self.step(named)?, self.expected(object));
        let JointResult { reply, left } = self.caller.make(joint, step, expect, &Display::bare()).await?;
        if let Some(left) = left.filter(|_| J::was_made(&reply)) {
            self.note_left(object, Precondition::one_of([RevisionTag::of(&left.object().record)]));
        }
        Ok(reply)
    }

    /// Changes a part of a container by a command of the container; otherwise like
    /// [`BulkChange::change`].
    ///
    /// # Errors
    /// The errors of [`Caller::change`].
    pub async fn change_in<C: Command>(
        &self,
        container: &NamedContainer<C::Family>,
        part: Loid,
        command: C,
    ) -> Result<C::Reply> {
        let (step, expect) = (self.step(part)?, self.expected(container.loid()));
        let done = self.caller.make_in(container, command, step, expect, &Display::bare()).await?;
        let left = RevisionTag::of(&done.view.state.object().record);
        self.note_left(container.loid(), Precondition::one_of([left]));
        Ok(done.reply)
    }

    /// Returns the receipt step for the change of an object at this position.
    fn step(&self, object: Loid) -> Result<Option<ReceiptStep>> {
        self.caller.once().map(|once| once.at(self.place, object)).transpose()
    }

    /// Returns the condition on an object at this position.
    fn expected(&self, object: Loid) -> Option<Arc<Precondition>> {
        self.left.borrow().get(&object).cloned().or_else(|| self.caller.expect.clone())
    }

    /// Notes the expected revision of an object for later positions, if the call has a condition.
    fn note_left(&self, object: Loid, expect: Precondition) {
        if self.caller.expect.is_some() {
            self.left.borrow_mut().insert(object, Arc::new(expect));
        }
    }
}

impl Caller {
    /// Begins the changes of a bulk call that lists `many` objects. Each object is changed by a
    /// command of its own.
    ///
    /// # Errors
    /// An error if the call can't be carried out under its idempotency key: see
    /// [`IdempotentCall::check_places`](stet_domain::receipt::IdempotentCall).
    pub fn each_of(&mut self, many: usize) -> Result<BulkChanges<'_>> {
        if let Some(once) = self.once() {
            once.check_places(many)?;
        }
        Ok(BulkChanges { caller: self, left: RefCell::default() })
    }
}
