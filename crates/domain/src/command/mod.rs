//! Commands: typed changes of a container, applied to its state as pure functions.

mod context;
mod rows;
mod statuses;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::context::{CommandNotes, ContainerMentions, Context, EventMentions, OBJECTS_PER_STEP, SubtreeFacts};
pub use self::rows::{CHANGE_BYTES, ChangeLimits, LARGEST_CONTAINER, SMALL};
use crate::error::Result;
use crate::family::Family;
use crate::id::Loid;
use crate::object::SharedText;
use crate::store::{Event, StatusStep, StoreError};
use crate::workflow::STATUS_EVENT;

/// A change of one container.
///
/// `apply` is synchronous and short: it takes microseconds, or some for each item of its container.
/// Time, new numbers and rows of other containers come through the context. The runtime passes a
/// copy of the state. The copy becomes the state only if `apply` returns `Ok` *and* the store
/// accepts the changes. `apply` takes `&self` because it is called again if a commit has failed in
/// the meantime.
pub trait Command: Send + Sync + 'static {
    /// The family of the container that the command changes.
    type Family: Family;
    /// The reply to the caller once the change is on disk. It can be stored, so that a repeated
    /// call gets the same reply: see [`crate::receipt`].
    type Reply: Serialize + DeserializeOwned + Send + 'static;
    /// The name in events, logs and metrics, e.g. `drawer.item.add`.
    const NAME: &'static str;

    /// Applies the command. A command that puts no rows and leaves the record alone changes
    /// nothing: there is no event, and the revision stays.
    ///
    /// # Errors
    /// An error if a rule forbids the change; then nothing is changed.
    fn apply(
        &self,
        state: &mut <Self::Family as Family>::State,
        context: &mut Context<'_>,
    ) -> Result<Self::Reply, CommandFault>;
}

/// The reason why a command was not carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandFault {
    /// An error for the caller.
    Refused(crate::error::Error),
    /// A failure of the store while a row was read.
    Store(StoreError),
    /// A joint command needs the turns of these containers too. It is applied again with them.
    NeedsTurns(Vec<Loid>),
    /// A joint command changes more objects below this one than one step can. The runtime looks for
    /// other users' locks there, and applies the command again if there are none.
    NeedsLocks(Loid),
    /// The command would store attribute texts whose check was postponed. It is applied again when
    /// they have been checked.
    Unchecked,
    /// The command is larger than a small change. It is applied again when its caller has a work
    /// permit for large changes.
    IsLarge,
}

impl From<crate::error::Error> for CommandFault {
    fn from(error: crate::error::Error) -> CommandFault {
        CommandFault::Refused(error)
    }
}

impl From<StoreError> for CommandFault {
    fn from(error: StoreError) -> CommandFault {
        CommandFault::Store(error)
    }
}

impl From<crate::store::DecodeError> for CommandFault {
    fn from(error: crate::store::DecodeError) -> CommandFault {
        CommandFault::Store(error.into())
    }
}

/// The user and session that a change is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The name of the user.
    pub user: SharedText,
    /// The reference of the session, not its token.
    pub session: SharedText,
    /// The network address of the caller, if known.
    pub address: Option<SharedText>,
}

impl CallerIdentity {
    /// Returns the events of a container that a command has changed from `before` to a later
    /// revision, for the audit trail and for followers of the container. Each revision has one
    /// event: the command's own first, unless nothing but statuses has changed, then one for each
    /// changed status.
    pub fn events(
        &self,
        container: Loid,
        (before, after): (u64, u64),
        kind: &str,
        noted: &mut CommandNotes,
        at_ms: u64,
    ) -> Vec<Event> {
        let ContainerMentions { ids, withdrawn, unseen } = noted.mentions.take(container);
        let former = if noted.keeps_history { noted.former.take(container) } else { None };
        let statuses: Vec<_> = noted.statuses.iter().filter(|change| change.container == container).collect();
        let own = Event { container: Some(container), withdrawn, unseen, ..self.deed(kind, ids, at_ms) };
        let has_own = after - before > statuses.len() as u64;
        let of_status = statuses.into_iter().map(|change| Event {
            container: Some(container),
            status: Some(StatusStep { from: status_text(&change.from), to: status_text(&change.to) }),
            ..self.deed(STATUS_EVENT, vec![change.object.to_string()], at_ms)
        });
        let all = has_own.then_some(own).into_iter().chain(of_status);
        // The whole change is taken back with its first event. The others take nothing back.
        let former = std::iter::once(former.clone()).chain(std::iter::repeat(former.map(|_| Bytes::new())));
        let numbered = (before + 1..).zip(former).zip(all);
        numbered.map(|((revision, before), event)| Event { revision, before, ..event }).collect()
    }

    /// Returns the audit event of an action of this caller on something outside of all containers,
    /// such as a user.
    pub fn deed(&self, kind: &str, ids: Vec<String>, at_ms: u64) -> Event {
        Event {
            container: None,
            revision: 0,
            kind: kind.to_owned(),
            ids,
            withdrawn: None,
            unseen: None,
            status: None,
            user: self.user.to_string(),
            at_ms,
            session: self.session.to_string(),
            address: self.address.as_deref().unwrap_or_default().to_owned(),
            before: None,
        }
    }

    /// Returns the caller for programs that run on the machine itself and may write the data
    /// directory. No user is known.
    pub fn operator() -> CallerIdentity {
        CallerIdentity { user: "".into(), session: "".into(), address: Some("local".into()) }
    }

    /// Returns the repository itself as a caller, e.g. for filling a new data directory.
    pub fn system() -> CallerIdentity {
        CallerIdentity { user: "system".into(), session: "".into(), address: None }
    }
}

fn status_text(status: &Option<SharedText>) -> Option<String> {
    status.as_ref().map(SharedText::to_string)
}

/// A source of new numbers. No number is ever used twice, not even after a crash.
pub trait NumberSource: Send + Sync {
    /// Returns the next number.
    ///
    /// # Errors
    /// `Overloaded` if the numbers reserved on disk are used up faster than new ones can be
    /// reserved.
    fn next(&self) -> Result<u64>;
}
