//! The way in which calls change objects.
//!
//! Every change carries the condition from `If-Match` and the outcome of an earlier attempt of the
//! same call. A failed precondition gets the current record added here. There is no other way to
//! change objects: handlers can reach only the repository's
//! [`Reader`](stet_actors::repository::Reader). The handle for changes is private to
//! [`ChangeHandle`], which only this file opens. Other code that changes objects (the sample,
//! sessions that release locks, receipts) got its own handle when the server was built.
//!
//! The reply to a change shows the state that the caller's change has produced, not later changes
//! of others. So its ETag is valid for the caller's next change. After the change the reply is
//! always rendered: the call is no longer refused for want of a work permit ([`set_changed`]). But
//! the reply shows only what the caller may read at that time: others may have moved an object out
//! of the caller's sight since the change, or since the first attempt of the same call. So replies
//! about containers are rendered from a [`SeenView`], which only this file creates.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use foldhash::HashMap;
use serde_json::Value;
use stet_actors::repository::Repository;
use stet_actors::runtime::{
    ChangeRequest, CommandResult, ContainerView, JointResult, LargeChangeAdmission, ResultingObject,
};
use stet_auth::Privilege;
use stet_base::limits::{LargeChangeQueue, set_changed};
use stet_config::Config;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::{Precondition, RevisionTag};
use stet_domain::family::{Family, State};
use stet_domain::id::{Loid, ObjectSource};
use stet_domain::joint::JointCommand;
use stet_domain::receipt::ReceiptStep;
use stet_domain::rules::AttributeRules;
use stet_domain::workflow::StatusRights;
use stet_newsroom::access::CallerStatuses;
use stet_newsroom::messages::{Message, NewMessage};
use stet_newsroom::records::{Display, is_large, render};
use stet_observe::traces::TraceSpan;

use super::attribute_rules::DefinedAttributes;
use super::call::Call;
use super::warnings::Warning;

/// The handle by which calls change objects. The web layer gets one, which only this file uses.
pub struct ChangeHandle {
    repository: Repository,
    large: Arc<dyn LargeChangeAdmission>,
}

impl ChangeHandle {
    /// Creates the handle for this repository, within the limits of the configuration.
    pub fn to(repository: Repository, config: &Config) -> ChangeHandle {
        let (data, reserve_bytes) = (config.data.directory.clone(), config.store.reserve_bytes);
        let large = Arc::new(LargeChangeQueue::of(repository.store().clone(), data, reserve_bytes));
        ChangeHandle { repository, large }
    }
}

/// A container that a call names, known to belong to its family.
pub struct NamedContainer<F> {
    loid: Loid,
    of: PhantomData<fn() -> F>,
}

impl<F> Clone for NamedContainer<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for NamedContainer<F> {}

impl<F: Family> NamedContainer<F> {
    /// Returns the container of a view.
    pub fn of(view: &ContainerView<F::State>) -> NamedContainer<F> {
        NamedContainer { loid: view.state.object().record.loid, of: PhantomData }
    }

    /// Returns the loid of the container.
    pub fn loid(&self) -> Loid {
        self.loid
    }
}

/// The committed view of a container of family `F`.
pub type ViewOf<F> = Arc<ContainerView<<F as Family>::State>>;

/// The committed view of a container that the caller may read.
pub struct SeenView<F: Family>(ViewOf<F>);

impl<F: Family> Clone for SeenView<F> {
    fn clone(&self) -> Self {
        SeenView(self.0.clone())
    }
}

impl<F: Family> Deref for SeenView<F> {
    type Target = ViewOf<F>;

    fn deref(&self) -> &ViewOf<F> {
        &self.0
    }
}

impl<F: Family> SeenView<F> {
    /// Wraps a view for a caller that a test made up.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_test(view: ViewOf<F>) -> SeenView<F> {
        SeenView(view)
    }
}

/// The result of a command on a container.
pub struct ContainerChangeResult<R, F: Family> {
    /// The reply of the command.
    pub reply: R,
    /// The container right after the command.
    pub view: SeenView<F>,
}

/// The objects that the body of a bulk call lists.
pub struct BulkChanges<'c> {
    call: &'c mut Call,
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
        self.call.look_again()?;
        self.call.still_in_use();
        // This change may still be refused, like the change of a call of its own.
        set_changed(false);
        Ok(BulkChange { call: self.call, place, left: &self.left })
    }
}

/// One of the objects that the body of a bulk call lists.
pub struct BulkChange<'c> {
    call: &'c Call,
    place: usize,
    left: &'c RefCell<HashMap<Loid, Arc<Precondition>>>,
}

impl<'c> BulkChange<'c> {
    /// Returns the call, with the caller's current rights.
    pub fn call(&self) -> &'c Call {
        self.call
    }

    /// Returns the object that an earlier attempt of the call has changed at this position, whose
    /// change is not repeated. Ask before a name is looked up: the object may be removed or renamed
    /// by now.
    pub fn done_before(&self) -> Option<Loid> {
        let object = self.call.once()?.done_at(self.place)?;
        // The revision that the earlier attempt left is not known any more.
        self.note_left(object, Precondition::Any);
        Some(object)
    }

    /// Changes the object. The change may be retried as long as nothing has been changed. Thousands
    /// may fail a precondition, so the record in the error is short.
    ///
    /// # Errors
    /// The errors of [`Call::change`].
    pub async fn change<J: JointCommand>(&self, object: Loid, joint: J) -> Result<J::Reply> {
        self.change_part(object, object, joint).await
    }

    /// Changes `named`, which is the object or a part of it; otherwise like [`BulkChange::change`].
    ///
    /// # Errors
    /// The errors of [`Call::change`].
    pub async fn change_part<J: JointCommand>(&self, named: Loid, object: Loid, joint: J) -> Result<J::Reply> {
        let call = self.call;
        let step = call.once().map(|once| once.at(self.place, named)).transpose()?;
        let (mut request, held_to) = call.request_under(step)?;
        if let Some(left) = self.left.borrow().get(&object) {
            request.expect = Some(left.clone());
        }
        let traced = call.traced(J::NAME);
        let outcome = call.app.changes.repository.jointly(joint, request).await;
        drop(traced);
        match outcome {
            Ok(JointResult { reply, left }) => {
                let was_made = J::was_made(&reply);
                set_changed(was_made);
                call.warn_of_attributes(&held_to);
                if let Some(left) = left.filter(|_| was_made) {
                    self.note_left(object, Precondition::one_of([RevisionTag::of(&left.object().record)]));
                }
                Ok(reply)
            }
            Err(error) => Err(call.with_current(error, &Display::bare()).await),
        }
    }

    /// Notes the expected revision of an object for later positions, if the call has a condition.
    fn note_left(&self, object: Loid, expect: Precondition) {
        if self.call.expect.is_some() {
            self.left.borrow_mut().insert(object, Arc::new(expect));
        }
    }
}

impl Call {
    /// Returns the container of family `F` that a path parameter names.
    ///
    /// # Errors
    /// `ObjectNotFound`; `InvalidType` for a container of another family.
    pub fn container<F: Family>(&self, param: &str) -> Result<NamedContainer<F>> {
        // A container in memory has a known family. A container that is changed all the time is in
        // no other cache.
        if let ObjectSource::Loid(loid) = self.source(param)?
            && loid.version == 0
            && self.app.repository.is_in_memory::<F>(loid)
        {
            return Ok(NamedContainer { loid, of: PhantomData });
        }
        let record = self.resolve(param)?;
        if record.family == F::KIND {
            return Ok(NamedContainer { loid: record.loid, of: PhantomData });
        }
        let (source, wanted) = (self.param(param), F::KIND.name());
        let message = format!("`{source}` is of type {}, not a {wanted}.", record.type_name);
        Err(Error::new(Code::InvalidType, message).with_source(source))
    }

    /// Returns the committed view of a container.
    ///
    /// # Errors
    /// The errors of [`Call::view_of`].
    pub async fn view<F: Family>(&self, container: &NamedContainer<F>) -> Result<SeenView<F>> {
        self.view_of(container.loid).await
    }

    /// Returns the committed view of the container with that loid.
    ///
    /// # Errors
    /// `ObjectNotFound` if it was removed, is in the recycle bin, or may not be read;
    /// `InvalidType`; an error if it can't be loaded.
    pub async fn view_of<F: Family>(&self, container: Loid) -> Result<SeenView<F>> {
        let view = match self.app.repository.loaded::<F>(container) {
            Some(view) => view,
            None => self.app.repository.view::<F>(container).await?,
        };
        self.seen(view)?.ok_or_else(|| Error::not_found(container))
    }

    /// Returns a container as a change has left it. If that view is not known
    /// ([`JointResult::left`]), returns the current one, in the recycle bin or not. `None` if the
    /// container was removed or may not be read, which does not make the change fail.
    ///
    /// # Errors
    /// An error if the container can't be loaded; errors of the store.
    pub async fn view_after<F: Family>(
        &self,
        container: Loid,
        left: Option<&ResultingObject>,
    ) -> Result<Option<SeenView<F>>> {
        if let Some(view) = left.and_then(ResultingObject::view::<F>) {
            return self.seen(view);
        }
        match self.app.repository.any_view::<F>(container).await {
            Ok(view) => self.seen(view),
            Err(error) if error.code == Code::ObjectNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn seen<F: Family>(&self, view: ViewOf<F>) -> Result<Option<SeenView<F>>> {
        let may = self.access().may(Privilege::Read, &view.state.object().record)?;
        Ok(may.then(|| SeenView(view)))
    }

    /// Changes a container, as the only change of the call.
    ///
    /// # Errors
    /// The errors of the command; `PreconditionFailed` with the current record; `Overloaded`;
    /// errors of the store.
    pub async fn change<C: Command>(
        &self,
        container: &NamedContainer<C::Family>,
        command: C,
    ) -> Result<ContainerChangeResult<C::Reply, C::Family>> {
        let (request, held_to) = self.request()?;
        let traced = self.traced(C::NAME);
        let outcome = self.app.changes.repository.execute(container.loid, command, request).await;
        drop(traced);
        match outcome {
            // The caller was admitted to the container by its name in the path, and this is the
            // caller's own result.
            Ok(CommandResult { reply, view }) => {
                set_changed(true);
                self.warn_of_attributes(&held_to);
                Ok(ContainerChangeResult { reply, view: SeenView(view) })
            }
            Err(error) => Err(self.with_current(error, &Display::with_defaults(false)).await),
        }
    }

    /// Changes several objects as one, or creates or removes something, as the only change of the
    /// call. The change may be retried as long as nothing has been changed.
    ///
    /// # Errors
    /// The errors of [`Call::change`].
    pub async fn change_jointly<J: JointCommand>(&self, joint: J) -> Result<JointResult<J::Reply>> {
        let (request, held_to) = self.request()?;
        let traced = self.traced(J::NAME);
        let outcome = self.app.changes.repository.jointly(joint, request).await;
        drop(traced);
        match outcome {
            Ok(done) => {
                set_changed(J::was_made(&done.reply));
                self.warn_of_attributes(&held_to);
                Ok(done)
            }
            Err(error) => Err(self.with_current(error, &Display::with_defaults(false)).await),
        }
    }

    /// Begins the changes of a bulk call whose body lists `many` objects. Each object is changed by
    /// a command of its own.
    ///
    /// # Errors
    /// An error if the call can't be carried out under its `Idempotency-Key`: see
    /// [`IdempotentCall::check_places`](stet_domain::receipt::IdempotentCall).
    pub fn each_of(&mut self, many: usize) -> Result<BulkChanges<'_>> {
        if let Some(once) = self.once() {
            once.check_places(many)?;
        }
        Ok(BulkChanges { call: self, left: RefCell::default() })
    }

    /// Reports whether an earlier attempt has made the only change of this call, and its reply was
    /// not kept. For handlers that need the previous state to build their command.
    pub fn was_done(&self) -> bool {
        self.once().is_some_and(|once| once.is_done())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// See [`Messages::send`](stet_newsroom::messages::Messages::send).
    pub async fn send(&self, mail: NewMessage) -> Result<Message> {
        let sent = self.app.messages.send(mail, self.request()?.0).await?;
        set_changed(true);
        Ok(sent)
    }

    /// Begins the span of a change in the request's trace, if there is one. Drop it when the change
    /// is on disk or refused.
    fn traced(&self, command: &'static str) -> Option<TraceSpan> {
        self.otel.as_ref().map(|trace| trace.step(command))
    }

    /// Builds the request that accompanies the only change of the call.
    fn request(&self) -> Result<(ChangeRequest, Arc<DefinedAttributes>)> {
        self.request_under(self.step())
    }

    /// Adds warnings for attribute texts that violate metadata definitions that only warn.
    fn warn_of_attributes(&self, held_to: &DefinedAttributes) {
        for finding in held_to.take_reported() {
            self.warn(Warning::new(finding.path, finding.message));
        }
    }

    /// Returns the receipt step of a call that makes one change and has an `Idempotency-Key`. For
    /// changes of anything but objects: changes of objects contain it already.
    pub fn step(&self) -> Option<ReceiptStep> {
        self.once().map(|once| once.only())
    }

    fn request_under(&self, step: Option<ReceiptStep>) -> Result<(ChangeRequest, Arc<DefinedAttributes>)> {
        let readable = self.access().readable()?;
        let held_to = Arc::new(DefinedAttributes::of(self.app.newsroom.clone()));
        let rules: Arc<dyn AttributeRules> = held_to.clone();
        let (expect, large) = (self.expect.clone(), Some(self.app.changes.large.clone()));
        let (newsroom, session) = (self.app.newsroom.clone(), self.caller()?.clone());
        let statuses: Arc<dyn StatusRights> =
            Arc::new(CallerStatuses { newsroom, session, rights: self.rights.clone() });
        let (who, trace) = (self.who()?, self.trace.clone());
        let (rules, statuses) = (Some(rules), Some(statuses));
        Ok((ChangeRequest { who, readable, rules, statuses, expect, step, large, trace }, held_to))
    }

    /// Adds the current record to a failed precondition (docs/api/README.md, "Conditional
    /// requests"), if the caller may read it.
    async fn with_current(&self, error: Error, display: &Display) -> Error {
        let loid = error.source.as_ref().and_then(|source| source.parse().ok());
        let (Code::PreconditionFailed, Some(loid)) = (error.code, loid) else { return error };
        match self.current_record(loid, display).await {
            Some(current) => error.with_detail("current", current),
            None => error,
        }
    }

    /// Returns an object's record as a JSON value, without large attribute groups; `None` if it is
    /// not available.
    async fn current_record(&self, loid: Loid, display: &Display) -> Option<Value> {
        let cached = self.app.records.get(&self.app.repository, loid).ok()??;
        if !self.access().may(Privilege::Read, &cached).ok()? {
            return None;
        }
        let bare = Display::bare();
        let display = if is_large(&cached.attributes) { &bare } else { display };
        let groups = self.app.records.groups(&cached, display).await.ok()?;
        let record = render(&self.app, &cached.record, groups, display).ok()?;
        serde_json::to_value(record).ok()
    }
}
