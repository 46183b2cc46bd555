//! What changes a container: typed commands, applied to its state as pure functions.

mod context;
mod rows;
mod statuses;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::context::{Concerned, Context, Noted, OBJECTS_PER_STEP, Subtrees, Told};
pub use self::rows::{CHANGE_BYTES, ChangeLimits, LARGEST_CONTAINER, SMALL};
use crate::error::Result;
use crate::family::Family;
use crate::id::Loid;
use crate::object::Text;
use crate::store::{Event, StatusStep, StoreError};
use crate::workflow::STATUS_EVENT;

/// A change of one container.
///
/// `apply` is synchronous and short: microseconds, or some for each item of its container. Time,
/// fresh numbers and rows of others come through the context. What it does to the state counts only
/// if it returns `Ok` *and* the store takes the changes: the runtime hands it a copy. It may be
/// called again when a commit has failed in the meantime, hence `&self`.
pub trait Command: Send + Sync + 'static {
    /// The kind of container it changes.
    type Family: Family;
    /// What the caller gets when the change is on disk. It can be written down, so that a call sent
    /// again gets the same: see [`crate::receipt`].
    type Reply: Serialize + DeserializeOwned + Send + 'static;
    /// Name in events, logs and metrics, e.g. `drawer.item.add`.
    const NAME: &'static str;

    /// Applies the command. A command that puts no rows and leaves the record alone changes
    /// nothing: no event, same revision.
    ///
    /// # Errors
    /// Whatever rule says no; then nothing is changed.
    fn apply(
        &self,
        state: &mut <Self::Family as Family>::State,
        context: &mut Context<'_>,
    ) -> Result<Self::Reply, Fault>;
}

/// Why a command did not go through.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The caller gets this error.
    Refused(crate::error::Error),
    /// The store failed while a row was looked up.
    Store(StoreError),
    /// A joint command needs the turns of these containers too, and is to be applied again with
    /// them.
    NeedsTurns(Vec<Loid>),
    /// A joint command changes more objects below this one than one step can: locks of others there
    /// are to be looked for, and it is to be applied again if there are none.
    NeedsLocks(Loid),
    /// It would store attribute texts whose check was put off, and is to be applied again when they
    /// have been checked.
    Unchecked,
    /// It alters more than a small change, and is to be applied again when its caller's turn among
    /// those that do has come.
    IsLarge,
}

impl From<crate::error::Error> for Fault {
    fn from(error: crate::error::Error) -> Fault {
        Fault::Refused(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}

impl From<crate::store::DecodeError> for Fault {
    fn from(error: crate::store::DecodeError) -> Fault {
        Fault::Store(error.into())
    }
}

/// Who asks for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// Name of the user.
    pub user: Text,
    /// Reference of the session, not its token.
    pub session: Text,
    /// Network address of the caller, where there is one.
    pub address: Option<Text>,
}

impl Who {
    /// Returns the events of a container that a command has changed from `before` to a later
    /// revision, for the audit trail and for followers of the container. Each revision has one
    /// event: the command's own first, unless nothing but statuses has changed, then one for each
    /// changed status.
    pub(crate) fn events(
        &self,
        container: Loid,
        (before, after): (u64, u64),
        kind: &str,
        noted: &mut Noted,
        at_ms: u64,
    ) -> Vec<Event> {
        let Concerned { ids, withdrawn, unseen } = noted.told.take(container);
        let statuses: Vec<_> = noted.statuses.iter().filter(|change| change.container == container).collect();
        let own = Event { container: Some(container), withdrawn, unseen, ..self.deed(kind, ids, at_ms) };
        let has_own = after - before > statuses.len() as u64;
        let of_status = statuses.into_iter().map(|change| Event {
            container: Some(container),
            status: Some(StatusStep { from: text(&change.from), to: text(&change.to) }),
            ..self.deed(STATUS_EVENT, vec![change.object.to_string()], at_ms)
        });
        let all = has_own.then_some(own).into_iter().chain(of_status);
        (before + 1..).zip(all).map(|(revision, event)| Event { revision, ..event }).collect()
    }

    /// What was done at this caller's wish to what is in no container, such as users: for the audit
    /// trail.
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
        }
    }

    /// Whoever may write the data directory, on the machine itself: there is no user to be named.
    pub fn operator() -> Who {
        Who { user: "".into(), session: "".into(), address: Some("local".into()) }
    }

    /// The repository itself, e.g. when it fills a new data directory.
    pub fn system() -> Who {
        Who { user: "system".into(), session: "".into(), address: None }
    }
}

fn text(status: &Option<Text>) -> Option<String> {
    status.as_ref().map(Text::to_string)
}

/// Where fresh numbers come from; none is ever given twice, not even after a crash.
pub trait Numbers: Send + Sync {
    /// The next number.
    ///
    /// # Errors
    /// `Overloaded` when the numbers reserved on disk are used up faster than new ones can be
    /// reserved.
    fn next(&self) -> Result<u64>;
}
