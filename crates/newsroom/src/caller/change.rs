//! The way in which callers change objects.
//!
//! Every change carries the condition of the call, and the receipt of an earlier attempt of the
//! same call. A failed precondition gets the current record added here.
//!
//! The reply to a change shows the state that the caller's change has produced, not later changes
//! of others. So its entity tag is valid for the caller's next change. After the change the reply
//! is always rendered: the call is no longer refused for want of a work permit or memory
//! ([`stet_base::limits::ChangeMark`]).

use std::sync::Arc;

use serde_json::Value;
use stet_actors::runtime::{ChangeRequest, CommandResult, JointResult};
use stet_auth::Privilege;
use stet_domain::command::Command;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::Precondition;
use stet_domain::family::Family;
use stet_domain::id::Loid;
use stet_domain::joint::JointCommand;
use stet_domain::receipt::ReceiptStep;
use stet_domain::rules::AttributeRules;
use stet_domain::workflow::StatusRights;

use super::attribute_rules::DefinedAttributes;
use super::{Caller, NamedContainer, SeenView, Warning};
use crate::access::CallerStatuses;
use crate::messages::{Message, NewMessage};
use crate::records::{Display, is_large, render};

/// The result of a command on a container.
pub struct ContainerChangeResult<R, F: Family> {
    /// The reply of the command.
    pub reply: R,
    /// The container right after the command.
    pub view: SeenView<F>,
}

impl Caller {
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
        let display = Display::with_defaults(false);
        self.make_in(container, command, self.step(), self.expect.clone(), &display).await
    }

    /// Changes a container under a receipt and a condition. `display` is as for [`Caller::make`].
    pub(super) async fn make_in<C: Command>(
        &self,
        container: &NamedContainer<C::Family>,
        command: C,
        step: Option<ReceiptStep>,
        expect: Option<Arc<Precondition>>,
        display: &Display,
    ) -> Result<ContainerChangeResult<C::Reply, C::Family>> {
        let (request, held_to) = self.request(step, expect)?;
        let span = self.begin_span(C::NAME);
        let outcome = self.newsroom.changes.repository.execute(container.loid(), command, request).await;
        drop(span);
        match outcome {
            Ok(CommandResult { reply, view }) => {
                self.changed.set(true);
                self.warn_of_attributes(&held_to);
                Ok(ContainerChangeResult { reply, view: SeenView::of_change(view) })
            }
            Err(error) => Err(self.with_current(error, display).await),
        }
    }

    /// Changes several objects as one, or creates or removes something, as the only change of the
    /// call. The change may be retried as long as nothing has been changed.
    ///
    /// # Errors
    /// The errors of [`Caller::change`].
    pub async fn change_jointly<J: JointCommand>(&self, joint: J) -> Result<JointResult<J::Reply>> {
        self.make(joint, self.step(), self.expect.clone(), &Display::with_defaults(false)).await
    }

    /// Makes a joint change under a receipt and a condition. `display` is for the record in a
    /// failed precondition.
    pub(super) async fn make<J: JointCommand>(
        &self,
        joint: J,
        step: Option<ReceiptStep>,
        expect: Option<Arc<Precondition>>,
        display: &Display,
    ) -> Result<JointResult<J::Reply>> {
        let (request, held_to) = self.request(step, expect)?;
        let span = self.begin_span(J::NAME);
        let outcome = self.newsroom.changes.repository.jointly(joint, request).await;
        drop(span);
        match outcome {
            Ok(done) => {
                self.changed.set(J::was_made(&done.reply));
                self.warn_of_attributes(&held_to);
                Ok(done)
            }
            Err(error) => Err(self.with_current(error, display).await),
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The errors of [`Messages::send`](crate::messages::Messages::send).
    pub async fn send(&self, mail: NewMessage) -> Result<Message> {
        let (request, _) = self.request(self.step(), self.expect.clone())?;
        let sent = self.newsroom.messages.send(mail, request).await?;
        self.changed.set(true);
        Ok(sent)
    }

    /// Begins the span of a change in the call's trace, if there is one. Drop it when the change is
    /// on disk or refused.
    fn begin_span(&self, command: &'static str) -> Option<Box<dyn Send>> {
        self.spans.as_ref().map(|begin| begin(command))
    }

    /// Adds warnings for attribute texts that violate metadata definitions that only warn.
    fn warn_of_attributes(&self, held_to: &DefinedAttributes) {
        for finding in held_to.take_reported() {
            self.warn(Warning::new(finding.path, finding.message));
        }
    }

    /// Builds the request that accompanies a change.
    fn request(
        &self,
        step: Option<ReceiptStep>,
        expect: Option<Arc<Precondition>>,
    ) -> Result<(ChangeRequest, Arc<DefinedAttributes>)> {
        let readable = self.access().readable()?;
        let held_to = Arc::new(DefinedAttributes::of(self.newsroom.clone()));
        let rules: Arc<dyn AttributeRules> = held_to.clone();
        let (newsroom, principal) = (self.newsroom.clone(), self.principal.clone());
        let statuses: Arc<dyn StatusRights> =
            Arc::new(CallerStatuses { newsroom, principal, rights: self.rights.clone() });
        let request = ChangeRequest {
            who: self.identity()?,
            readable,
            rules: Some(rules),
            statuses: Some(statuses),
            expect,
            step,
            large: Some(self.newsroom.changes.large.clone()),
            trace: self.trace.clone(),
        };
        Ok((request, held_to))
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
        let records = &self.newsroom.records;
        let cached = records.get(&self.newsroom.repository, loid).ok()??;
        if !self.access().may(Privilege::Read, &cached).ok()? {
            return None;
        }
        let bare = Display::bare();
        let attributes = records.attributes(&self.newsroom.repository, &cached).await.ok()?;
        let display = if is_large(attributes) { &bare } else { display };
        let groups = records.groups(&self.newsroom.repository, &cached, display).await.ok()?;
        let record = render(&self.newsroom, &cached.record, groups, display).ok()?;
        serde_json::to_value(record).ok()
    }
}
