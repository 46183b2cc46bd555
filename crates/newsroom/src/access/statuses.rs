//! Rights to set workflow statuses (docs/api/configuration.md, "Workflows").

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::sync::Arc;

use stet_auth::{Privilege, Rights};
use stet_domain::error::{Error, Result};
use stet_domain::id::Loid;
use stet_domain::object::Record;
use stet_domain::store::RowReader;
use stet_domain::workflow::{StatusRights, WorkflowStatusChange};

use super::{Access, Principal};
use crate::Newsroom;

/// The rights of one caller to set statuses, for commands. The grants are those at the beginning of
/// the call; the client commands and the places of objects are read when the command asks.
pub struct CallerStatuses {
    /// The newsroom, for client commands and objects.
    pub newsroom: Arc<Newsroom>,
    /// The caller.
    pub principal: Principal,
    /// The caller's grants.
    pub rights: Arc<Rights>,
}

impl fmt::Debug for CallerStatuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerStatuses").field("user", &self.principal.user()).finish_non_exhaustive()
    }
}

impl StatusRights for CallerStatuses {
    fn check(&self, change: &WorkflowStatusChange, look: &dyn RowReader) -> Result<()> {
        // A status is removed only together with the type, whose change has a privilege of its own.
        let Some(to) = &change.to else { return Ok(()) };
        let needed = self.newsroom.sysconfig.privileges_for(change.object.database, &change.type_name, to);
        let may = self.holds_one(&needed, change.container, look)?;
        if may { Ok(()) } else { Err(self.access().denied_for(first_of(&needed), &change.object)) }
    }

    /// Checks the status of a new object. If no client command sets it, the right to create is
    /// enough.
    fn check_new(&self, made: &WorkflowStatusChange, look: &dyn RowReader) -> Result<()> {
        let Some(status) = &made.to else { return Ok(()) };
        let needed = self.newsroom.sysconfig.privileges_for(made.container.database, &made.type_name, status);
        if needed.contains(&Privilege::Write) {
            return Ok(());
        }
        let may = self.holds_one(&needed, made.container, look)?;
        if may { Ok(()) } else { Err(self.access().denied(first_of(&needed), &format!("the status `{status}`"))) }
    }
}

impl CallerStatuses {
    fn access(&self) -> Access<'_> {
        self.principal.access(&self.newsroom, &self.rights)
    }

    /// Reports whether one of these privileges holds for an object, as the command finds it.
    fn holds_one(&self, needed: &BTreeSet<Privilege>, object: Loid, look: &dyn RowReader) -> Result<bool> {
        for privilege in needed {
            let Some(decides) = self.access().decides(*privilege)? else { return Ok(true) };
            let mut may = decides.over(look)?;
            if may(object)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Access<'_> {
    /// Refuses an object for which none of these privileges holds; `source` is the caller's name
    /// for it.
    ///
    /// # Errors
    /// `PermissionDenied`; `ObjectNotFound` for an object that the caller does not see; errors of
    /// the store.
    pub fn check_any(&self, privileges: &BTreeSet<Privilege>, record: &Record, source: &impl Display) -> Result<()> {
        for privilege in privileges {
            if self.may(*privilege, record)? {
                return Ok(());
            }
        }
        let denied = || self.denied_for(first_of(privileges), source);
        Err(if self.sees(record)? { denied() } else { Error::not_found(source) })
    }

    /// Refuses a caller who holds none of these privileges for any object. `source` is the caller's
    /// name for the object of the call.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_any_anywhere(&self, privileges: &BTreeSet<Privilege>, source: Option<&str>) -> Result<()> {
        if privileges.iter().any(|privilege| self.check_anywhere(*privilege, source).is_ok()) {
            return Ok(());
        }
        self.check_anywhere(first_of(privileges), source)
    }
}

/// Returns the privilege that a refusal names when any of several would do: `write` if it is among
/// them, since most callers have that.
fn first_of(privileges: &BTreeSet<Privilege>) -> Privilege {
    let first = privileges.first().copied().unwrap_or(Privilege::Write);
    if privileges.contains(&Privilege::Write) { Privilege::Write } else { first }
}
