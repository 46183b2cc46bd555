//! Admission: the checks that a caller must pass before a call has an effect, and again while it
//! goes on, because a caller may lose their session or rights meanwhile.

use std::sync::Arc;

use smallvec::SmallVec;
use stet_auth::Privilege;
use stet_domain::error::{Code, Result};
use stet_domain::id::{DatabaseId, ObjectSource};

use super::Caller;
use crate::Newsroom;
use crate::access::Access;

/// The scope in which the privilege of a call is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PrivilegeScope {
    /// The server as a whole: a grant below a folder is not enough.
    Server,
    /// The objects that the call is about ([`NamedObject`]).
    Path,
    /// Names, addresses and messages of people: a key needs the privilege everywhere.
    People,
    /// Objects that are found later, or the caller's own. A grant below any folder admits the call,
    /// and each object is checked when it is found.
    Named,
}

/// The privilege that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededPrivilege {
    /// No privilege.
    Nothing,
    /// One privilege.
    One(Privilege),
    /// The first privilege, or the second one. The call itself checks which of them it needs.
    Either(Privilege, Privilege),
    /// The privilege that the configuration requires for the requested status. The call itself
    /// checks that. Beforehand, the caller must hold one of those privileges for some object.
    OfStatus,
}

impl NeededPrivilege {
    /// Returns the privilege for the first object of the call that states none of its own.
    pub fn of_object(self) -> Option<Privilege> {
        match self {
            NeededPrivilege::Nothing => None,
            NeededPrivilege::One(privilege) | NeededPrivilege::Either(privilege, _) => Some(privilege),
            NeededPrivilege::OfStatus => Some(Privilege::Read),
        }
    }
}

/// The objects that a call may name besides live ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedObjectKind {
    /// Live objects only.
    Live,
    /// Objects in the recycle bin, too.
    Recycled,
    /// Items of topics, too. Then the privilege is needed on the topic.
    Items,
}

/// The rule by which a caller is admitted to a call.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRule {
    /// The privilege that the call needs.
    pub needed: NeededPrivilege,
    /// The scope in which it is checked.
    pub scope: PrivilegeScope,
    /// The objects that the call may name.
    pub takes: NamedObjectKind,
}

impl AdmissionRule {
    /// Admits every caller. Objects are checked when they are found.
    pub const ANYONE: AdmissionRule =
        AdmissionRule { needed: NeededPrivilege::Nothing, scope: PrivilegeScope::Named, takes: NamedObjectKind::Live };
}

/// An object that a call is about.
#[derive(Debug, Clone)]
pub struct NamedObject {
    /// The name of the parameter that names the object.
    pub name: &'static str,
    /// The object, as the caller named it.
    pub source: ObjectSource,
    /// The privilege that the caller needs on it, if any.
    pub needs: Option<Privilege>,
}

/// The objects that a call is about. The inline capacity is enough for every endpoint, so there is
/// no allocation.
pub type NamedObjects = SmallVec<[NamedObject; 2]>;

/// The rule of a call, and the objects that it is about.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The rule.
    pub rule: AdmissionRule,
    /// The database in which paths are resolved.
    pub database: DatabaseId,
    /// The objects that the call is about.
    pub objects: NamedObjects,
}

impl Admission {
    /// Returns the admission of a call about no particular object.
    pub fn by(rule: AdmissionRule) -> Admission {
        Admission { rule, database: DatabaseId::main(), objects: NamedObjects::new() }
    }

    /// Returns the object that a refusal of the privilege names.
    fn subject(&self) -> Option<String> {
        let needed = self.rule.needed.of_object();
        self.objects.iter().find(|object| object.needs == needed).map(|object| object.source.to_string())
    }
}

/// Refuses a caller before any object is looked up, so that a caller who holds the privilege
/// nowhere learns nothing about any object. `subject` returns the object that the refusal names.
///
/// # Errors
/// `PermissionDenied`.
fn check_privilege(
    newsroom: &Newsroom,
    access: Access<'_>,
    rule: &AdmissionRule,
    subject: impl Fn() -> Option<String>,
) -> Result<()> {
    let anywhere = |privilege| {
        let refused = access.check_anywhere(privilege, None).is_err();
        if refused { access.check_anywhere(privilege, subject().as_deref()) } else { Ok(()) }
    };
    let (needed, other) = match rule.needed {
        NeededPrivilege::Nothing => return Ok(()),
        NeededPrivilege::OfStatus => {
            let privileges = newsroom.sysconfig.privileges_of_statuses();
            return access.check_any_anywhere(&privileges, subject().as_deref());
        }
        NeededPrivilege::One(needed) => (needed, None),
        NeededPrivilege::Either(needed, other) => (needed, Some(other)),
    };
    match rule.scope {
        PrivilegeScope::Server => access.check_everywhere(needed),
        PrivilegeScope::People => {
            access.check_anywhere(needed, None)?;
            access.check_people(needed)
        }
        _ if other.is_some_and(|other| access.check_anywhere(other, None).is_ok()) => Ok(()),
        _ => anywhere(needed),
    }
}

/// Checks the privilege on each object that a call is about. A caller who has the privilege
/// everywhere skips the check, and the call itself reports a missing object. Any other caller gets
/// that error here, where an object that they may not see counts as missing.
///
/// # Errors
/// `ObjectNotFound`, `PermissionDenied`; errors of the store.
fn check_objects(newsroom: &Newsroom, access: Access<'_>, admission: &Admission) -> Result<()> {
    let Admission { rule, database, objects } = admission;
    for NamedObject { source, needs, .. } in objects {
        let Some(needed) = needs.filter(|needed| !access.has_everywhere(*needed)) else { continue };
        match newsroom.resolve(source, *database) {
            Ok(cached) => access.admit(needed, &cached, source)?,
            Err(error) if error.code != Code::ObjectNotFound => return Err(error),
            Err(error) => match rule.takes {
                NamedObjectKind::Recycled => {
                    access.admit(needed, &newsroom.repository.resolve_any(source, *database)?, source)?;
                }
                NamedObjectKind::Items => access.admit(needed, &newsroom.item(source)?.0, source)?,
                // The source may name a template. The call itself decides whether the main
                // database's template is used.
                NamedObjectKind::Live if needed == Privilege::Read => {
                    access.admit(needed, &*newsroom.resolve_configured(source, *database)?, source)?;
                }
                NamedObjectKind::Live => return Err(error),
            },
        }
    }
    Ok(())
}

impl Caller {
    /// Admits the caller to a call whose objects are not known yet. `subject` is the object that a
    /// refusal names.
    ///
    /// # Errors
    /// `PermissionDenied` if the caller holds the privilege nowhere.
    pub fn admit(&mut self, rule: AdmissionRule, subject: impl Fn() -> Option<String>) -> Result<()> {
        check_privilege(&self.newsroom, self.access(), &rule, subject)?;
        self.admission = Admission::by(rule);
        Ok(())
    }

    /// Sets the objects that the call is about, and the database in which their paths are resolved.
    /// [`Caller::check_objects`] checks them.
    pub fn name_objects(&mut self, objects: NamedObjects, database: DatabaseId) {
        (self.admission.objects, self.admission.database) = (objects, database);
    }

    /// Checks the caller's privileges on the objects that the call is about.
    ///
    /// # Errors
    /// `ObjectNotFound`, `PermissionDenied`; errors of the store.
    pub fn check_objects(&self) -> Result<()> {
        check_objects(&self.newsroom, self.access(), &self.admission)
    }

    /// Returns the objects that the call is about.
    pub fn objects(&self) -> &[NamedObject] {
        &self.admission.objects
    }

    /// Returns the objects that the call is about, to replace their sources.
    pub fn objects_mut(&mut self) -> &mut [NamedObject] {
        &mut self.admission.objects
    }

    /// Renews the caller's rights, and checks them without the objects of the call. The session and
    /// the rights of now count, not those from the beginning of the call.
    ///
    /// # Errors
    /// `InvalidToken` for a session that has ended since; `PermissionDenied`.
    pub fn renew(&mut self) -> Result<()> {
        self.rights = self.current_rights()?;
        let rule = self.admission.rule;
        check_privilege(&self.newsroom, self.access(), &rule, || self.admission.subject())
    }

    /// Checks the caller again, with the objects of the call. After a refusal the caller has no
    /// rights, so that nothing that follows shows what they may no longer read.
    ///
    /// # Errors
    /// The errors of [`Caller::renew`] and [`Caller::check_objects`].
    pub fn look_again(&mut self) -> Result<()> {
        let outcome = self.renew().and_then(|()| self.check_objects());
        outcome.inspect_err(|_| self.rights = Arc::default())
    }

    /// Checks the caller as [`Caller::look_again`] does, but changes nothing in the caller.
    ///
    /// # Errors
    /// The errors of [`Caller::look_again`].
    pub fn check_again(&self) -> Result<()> {
        let rights = self.current_rights()?;
        let access = self.principal.access(&self.newsroom, &rights);
        check_privilege(&self.newsroom, access, &self.admission.rule, || self.admission.subject())?;
        check_objects(&self.newsroom, access, &self.admission)
    }
}
