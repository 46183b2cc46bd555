//! The caller: for whom something is done, and everything that they may do, without HTTP.
//!
//! A call of a client, a command line and a task of the server all act as a [`Caller`]. It finds
//! objects, checks rights, views containers and changes them. There is no other way to change
//! objects by the rules for callers: the handle for changes belongs to [`Newsroom`], which gives it
//! to this module only. The caller carries what belongs to its one call: the receipt under an
//! idempotency key, the condition on the changed object, the trace, the warnings, and whether
//! something has been changed already.

mod admission;
mod attribute_rules;
mod bulk;
mod change;
mod past;
#[cfg(test)]
mod tests;
mod view;
mod warnings;

use std::net::IpAddr;
use std::sync::Arc;

use stet_auth::{LiveSession, Privilege, Rights};
use stet_base::limits::{ChangeMark, MemoryPurpose, Reservation, behalf, change_mark};
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error, Result};
use stet_domain::expect::Precondition;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::object::SharedText;
use stet_domain::receipt::{IdempotentCall, ReceiptStep};
use stet_domain::trace::Trace;

pub use self::admission::{
    Admission, AdmissionRule, NamedObject, NamedObjectKind, NamedObjects, NeededPrivilege, PrivilegeScope,
};
pub use self::bulk::{BulkChange, BulkChanges};
pub use self::change::ContainerChangeResult;
pub use self::past::PastTurn;
pub use self::view::{NamedContainer, SeenView, ViewOf};
pub use self::warnings::{MAX_NAME_CHARS, MOST_WARNINGS, Warning, WarningList, Warnings, shown_name};
use crate::Newsroom;
pub use crate::access::Principal;
use crate::access::{Access, ObjectVisibility};
use crate::receipts::Claim;
use crate::records::CachedRecord;

/// Begins a span for a step of a call in a trace. The span ends when the result is dropped.
pub type BeginSpan = Arc<dyn Fn(&'static str) -> Box<dyn Send> + Send + Sync>;

/// Someone for whom something is done, with everything that belongs to the one call.
pub struct Caller {
    newsroom: Arc<Newsroom>,
    principal: Principal,
    rights: Arc<Rights>,
    admission: Admission,
    address: Option<IpAddr>,
    claim: Option<Arc<Claim>>,
    expect: Option<Arc<Precondition>>,
    trace: Trace,
    spans: Option<BeginSpan>,
    warnings: Warnings,
    /// Whether the call has changed something and not reported it yet.
    changed: ChangeMark,
}

/// The values that belong to the one call of a [`Caller`].
pub struct CallContext {
    /// The client's network address.
    pub address: Option<IpAddr>,
    /// The request that the work and its log lines are attributed to.
    pub trace: Trace,
    /// Begins spans of a trace, if there is one.
    pub spans: Option<BeginSpan>,
    /// The warnings for the client.
    pub warnings: Warnings,
}

impl Default for CallContext {
    fn default() -> CallContext {
        CallContext { address: None, trace: Trace::none(), spans: None, warnings: Warnings::default() }
    }
}

impl Caller {
    /// Creates a caller with the present rights of `principal`.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn new(newsroom: Arc<Newsroom>, principal: Principal, context: CallContext) -> Result<Caller> {
        let CallContext { address, trace, spans, warnings } = context;
        let rights = principal.rights(&newsroom)?;
        Ok(Caller {
            newsroom,
            principal,
            rights,
            admission: Admission::by(AdmissionRule::ANYONE),
            address,
            claim: None,
            expect: None,
            trace,
            spans,
            warnings,
            changed: change_mark(),
        })
    }

    /// Sets the claim on the call's idempotency key; `None` releases it.
    pub fn set_claim(&mut self, claim: Option<Arc<Claim>>) {
        self.claim = claim;
    }

    /// Sets the condition on the object that the call changes.
    pub fn set_expectation(&mut self, expect: Option<Precondition>) {
        self.expect = expect.map(Arc::new);
    }

    /// Makes `session` the caller, with these rights until they are looked up again.
    #[cfg(any(test, feature = "testing"))]
    pub fn sign_in(&mut self, session: Arc<LiveSession>, rights: Arc<Rights>) {
        self.rights = rights;
        self.principal = Principal::Session(session);
    }

    /// Returns the newsroom.
    pub fn newsroom(&self) -> &Arc<Newsroom> {
        &self.newsroom
    }

    /// Returns the claim on the call's idempotency key.
    pub fn claim(&self) -> Option<&Arc<Claim>> {
        self.claim.as_ref()
    }

    /// Returns the user, key or nobody for whom something is done.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the caller's rights, as last looked up.
    pub fn rights(&self) -> &Arc<Rights> {
        &self.rights
    }

    /// Returns the request that the call's work and log lines are attributed to.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the warnings for the client.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// Adds a warning to the reply of a call that is carried out nevertheless.
    pub fn warn(&self, warning: Warning) {
        self.warnings.add(warning);
    }

    /// Returns the network address of the client.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Returns the session, if the call has one.
    pub fn session(&self) -> Option<&Arc<LiveSession>> {
        match &self.principal {
            Principal::Session(session) => Some(session),
            Principal::Anonymous | Principal::Reader(_) | Principal::User(_) | Principal::Operator(_) => None,
        }
    }

    /// Returns the session of a call that needs one.
    ///
    /// # Errors
    /// `InvalidToken` for a call without a session.
    pub fn required_session(&self) -> Result<&Arc<LiveSession>> {
        self.session().ok_or_else(needs_token)
    }

    /// Returns the name of the user for whom the call is made.
    ///
    /// # Errors
    /// `InvalidToken` for an anonymous caller.
    pub fn user(&self) -> Result<&SharedText> {
        self.principal.user().ok_or_else(needs_token)
    }

    /// Returns the identity under which the repository makes the caller's changes.
    ///
    /// # Errors
    /// `InvalidToken` for an anonymous caller.
    pub fn identity(&self) -> Result<CallerIdentity> {
        let user = self.user()?.clone();
        let session = self.session().map_or_else(|| "".into(), |session| session.id().clone());
        Ok(CallerIdentity { user, session, address: self.address.map(|address| address.to_string().as_str().into()) })
    }

    /// Returns the caller's access to objects.
    pub fn access(&self) -> Access<'_> {
        self.principal.access(&self.newsroom, &self.rights)
    }

    /// Returns the caller's rights of now.
    ///
    /// # Errors
    /// `InvalidToken` for a session that has ended; errors of the store.
    fn current_rights(&self) -> Result<Arc<Rights>> {
        if let Some(session) = self.session() {
            self.newsroom.sessions.check(session)?;
        }
        self.principal.rights(&self.newsroom)
    }

    /// Notes that a long call still uses the session, which has just been checked.
    pub fn note_use(&self) {
        if let Some(session) = self.session() {
            self.newsroom.sessions.used_still(session);
        }
    }

    /// Returns an empty reservation for memory that the reply needs while it is built.
    pub fn reply_memory(&self) -> Reservation {
        self.newsroom.memory.reservation(behalf(), MemoryPurpose::Replies)
    }

    /// Returns a check whether the caller may continue to read an object, for replies that take as
    /// long as the client likes. Each run counts as a use of the session. If the object was
    /// removed, the caller may read the rest.
    pub fn may_go_on_reading(&self, object: Loid) -> impl Fn() -> Result<()> + use<> {
        let (newsroom, principal) = (self.newsroom.clone(), self.principal.clone());
        move || {
            if let Principal::Session(session) = &principal {
                newsroom.sessions.check(session)?;
                newsroom.sessions.used_still(session);
            }
            let rights = principal.rights(&newsroom)?;
            let access = principal.access(&newsroom, &rights);
            if access.sees_all() {
                return Ok(());
            }
            let record = match newsroom.records.record(&newsroom.repository, object)? {
                Some(record) => Some(record),
                None => newsroom.repository.any_record(object)?,
            };
            record.map_or(Ok(()), |record| access.check(Privilege::Read, &record, &object))
        }
    }

    /// Returns the record of the object that the call names by a parameter, if the privilege that
    /// it needs holds. The check is repeated, because a path may name another object by now.
    ///
    /// # Errors
    /// `ObjectNotFound`, `PermissionDenied`; an internal error if the call has no such parameter.
    pub fn resolve(&self, name: &str) -> Result<Arc<CachedRecord>> {
        let NamedObject { source, needs, .. } = self.named(name)?;
        self.find_for(needs.unwrap_or(Privilege::Read), source, self.admission.database)
    }

    /// Returns the record as [`Caller::resolve`] does, but only the outline of a folder that the
    /// caller may not read but that leads to objects they may: see [`Caller::find_seen`].
    ///
    /// # Errors
    /// The errors of [`Caller::resolve`].
    pub fn resolve_seen(&self, name: &str) -> Result<Arc<CachedRecord>> {
        self.find_seen(&self.named(name)?.source, self.admission.database)
    }

    /// Returns the object that the call names by a parameter.
    pub(crate) fn named(&self, name: &str) -> Result<&NamedObject> {
        let found = self.admission.objects.iter().find(|object| object.name == name);
        found.ok_or_else(|| {
            tracing::error!(name, "a call has no such object");
            Error::internal()
        })
    }

    /// Returns the record of the object that a source names, if the caller may read it.
    ///
    /// # Errors
    /// `ObjectNotFound`, `PermissionDenied`, `InvalidPath`, errors of the store.
    pub fn find(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        self.find_for(Privilege::Read, source, database)
    }

    /// Returns the record of a template or another object of the configuration, if the caller may
    /// read it: see [`Newsroom::resolve_configured`].
    ///
    /// # Errors
    /// The errors of [`Caller::find`].
    pub fn find_configured(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        let record = self.newsroom.resolve_configured(source, database)?;
        self.access().check(Privilege::Read, &record, source)?;
        Ok(record)
    }

    /// Returns the record of the object that a source names, if the privilege holds for it.
    /// Privileges other than reading are about objects, so a version is refused.
    ///
    /// # Errors
    /// The errors of [`Caller::find`]; `InvalidType` for a version.
    pub fn find_for(
        &self,
        privilege: Privilege,
        source: &ObjectSource,
        database: DatabaseId,
    ) -> Result<Arc<CachedRecord>> {
        let record = self.newsroom.resolve(source, database)?;
        self.access().check(privilege, &record, source)?;
        if privilege != Privilege::Read {
            check_whole(source)?;
        }
        Ok(record)
    }

    /// Returns the record of the object that a source names. Of a folder that the caller may not
    /// read, but that leads to readable objects, only the outline is returned. Use it only to show
    /// what is in the record: everything else about an object is found by its loid, which the
    /// outline contains.
    ///
    /// # Errors
    /// `ObjectNotFound`, `InvalidPath`, errors of the store.
    pub fn find_seen(&self, source: &ObjectSource, database: DatabaseId) -> Result<Arc<CachedRecord>> {
        let record = self.newsroom.resolve(source, database)?;
        self.as_seen(record)?.ok_or_else(|| Error::not_found(source))
    }

    /// Returns a record as the caller may see it: in full, as the outline of a folder on the way to
    /// readable objects, or `None` if it is hidden.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn as_seen(&self, record: Arc<CachedRecord>) -> Result<Option<Arc<CachedRecord>>> {
        Ok(match self.access().seen(&record)? {
            ObjectVisibility::Whole => Some(record),
            ObjectVisibility::OnTheWay => Some(Arc::new(record.outline())),
            ObjectVisibility::Nothing => None,
        })
    }

    /// Returns the receipt that keeps the outcome of this call, if it has an idempotency key.
    pub fn once(&self) -> Option<Arc<IdempotentCall>> {
        self.claim.as_ref().and_then(|claim| claim.once())
    }

    /// Returns the receipt step of a call that makes one change and has an idempotency key. For
    /// changes of anything but objects: changes of objects contain it already.
    pub fn step(&self) -> Option<ReceiptStep> {
        self.once().map(|once| once.only())
    }

    /// Reports whether an earlier attempt has made the only change of this call, and its reply was
    /// not kept. For calls that need the previous state to build their command.
    pub fn was_done(&self) -> bool {
        let was_done = self.once().is_some_and(|once| once.is_done());
        if was_done {
            self.changed.set(true);
        }
        was_done
    }
}

fn needs_token() -> Error {
    Error::new(Code::InvalidToken, "This call needs a token.")
}

/// Refuses a version where an object is to be changed, because versions can't be changed
/// (docs/api/README.md, "Versions").
///
/// # Errors
/// `InvalidType`.
pub fn check_whole(source: &ObjectSource) -> Result<()> {
    match source {
        ObjectSource::Loid(loid) if loid.version != 0 => {
            let message =
                format!("`{loid}` is a version, which can't be changed. Name the object, `{}`.", loid.object());
            Err(Error::new(Code::InvalidType, message).with_source(loid))
        }
        _ => Ok(()),
    }
}
