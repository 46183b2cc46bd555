//! The rights of callers on objects (docs/api/rights.md).
//!
//! A grant is in force everywhere, or for a folder and everything below it. Rights are always
//! checked on the object itself, by the folders that contain it, or contained it before it was
//! discarded. Three more rules apply:
//!
//! - **An object that the caller may not read does not exist for them**: every call is answered as
//!   for a missing object, and no other privilege counts for it. Folders on the way to a readable
//!   one are visible, but nothing else in them.
//! - **The home**: a user who has a privilege below any folder has it in their own home, too, and
//!   may have the home created.
//! - **Ownership**: a user who may create objects at an object's place may change and discard it if
//!   they created it. This does not apply to folders, which may contain objects of others. A call
//!   that affects a bundle with everything in it needs all of that to be the user's own: see
//!   [`Access::reach_in`].
//!
//! Posts are parts of their liveblog; rights on them also depend on their creator: see
//! [`Access::sight`] and [`Access::reach`].
//!
//! A key for a machine has no home, and no rights by ownership: it has exactly the rights of its
//! grants.
//!
//! Commands make the same decisions on the rows that they find ([`Access::readable`],
//! [`Access::changeable`]). So the items that exist for the caller, and their positions, are
//! determined where no other change can intervene.
//!
//! A caller without a session sees only the configuration below [`CONFIGURATION`]
//! (docs/api/README.md, "Tokens").

mod principal;
mod rows;
mod statuses;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use stet_auth::Privilege;
use stet_auth::{LiveSession, Rights};
use stet_domain::error::{Code, Error, Result};
use stet_domain::id::Loid;
use stet_domain::liveblog::PostSight;
use stet_domain::object::{FamilyKind, PathLimits, Reach, Record, SharedText};
use stet_domain::readable::ObjectRights;

pub use self::principal::Principal;
use self::rows::{AccessDecision, AccessRows};
pub use self::statuses::CallerStatuses;
use crate::Newsroom;

/// The folder of the files that are served without a token.
pub const CONFIGURATION: &str = "/SysConfig";

/// The rights of one caller.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    rows: AccessRows<'a>,
    caller: Option<RightsHolder<'a>>,
    /// The caller's home, if it was looked up already: see [`Access::knowing_home`].
    home: Option<Option<Loid>>,
}

#[derive(Clone, Copy)]
struct RightsHolder<'a> {
    user: &'a SharedText,
    rights: &'a Rights,
    /// Whether the caller is a person, and not a key for a machine.
    person: bool,
}

/// How much a caller sees of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectVisibility {
    /// Nothing: the object does not exist for the caller.
    Nothing,
    /// Only that the object exists: it is a folder on the way to something that the caller may
    /// read.
    OnTheWay,
    /// All of the object.
    Whole,
}

impl<'a> Access<'a> {
    /// Returns the rights of the caller behind a session.
    pub fn of(newsroom: &'a Newsroom, session: &'a LiveSession, rights: &'a Rights) -> Access<'a> {
        Access::of_user(newsroom, session.user(), rights, session.grants().is_none())
    }

    /// Returns the access of a user with these rights. `person` is false for a key for a machine.
    pub fn of_user(newsroom: &'a Newsroom, user: &'a SharedText, rights: &'a Rights, person: bool) -> Access<'a> {
        let caller = RightsHolder { user, rights, person };
        Access { rows: AccessRows::Committed(newsroom), caller: Some(caller), home: None }
    }

    /// Returns the rights of a caller without a session.
    pub fn anonymous(newsroom: &'a Newsroom) -> Access<'a> {
        Access { rows: AccessRows::Committed(newsroom), caller: None, home: None }
    }

    /// Looks up the caller's home once, for a loop over many objects.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn knowing_home(self) -> Result<Access<'a>> {
        let home = self.caller.map_or(Ok(None), |caller| self.home(caller))?;
        Ok(Access { home: Some(home), ..self })
    }

    /// Reports whether every object may be read.
    pub fn sees_all(&self) -> bool {
        self.has_everywhere(Privilege::Read)
    }

    /// Returns the decision on the objects that the caller may read, for commands; `None` for every
    /// object. The grants are those of now; the places of objects are read when the command is
    /// applied.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn readable(&self) -> Result<Option<Arc<dyn ObjectRights>>> {
        self.decides(Privilege::Read)
    }

    /// Returns the decision on the objects that the caller may change, for commands that find these
    /// objects themselves. Like [`Access::readable`].
    ///
    /// # Errors
    /// Errors of the store.
    pub fn changeable(&self) -> Result<Option<Arc<dyn ObjectRights>>> {
        self.decides(Privilege::Write)
    }

    fn decides(&self, privilege: Privilege) -> Result<Option<Arc<dyn ObjectRights>>> {
        if self.has_everywhere(privilege) {
            Ok(None)
        } else {
            Ok(Some(Arc::new(AccessDecision::of(*self, privilege)?)))
        }
    }

    /// Reports whether the object may be read, or is a folder on the way to one that may.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn sees(&self, record: &Record) -> Result<bool> {
        Ok(self.seen(record)? != ObjectVisibility::Nothing)
    }

    /// Returns how much of the object the caller sees.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn seen(&self, record: &Record) -> Result<ObjectVisibility> {
        Ok(match self.may(Privilege::Read, record)? {
            true => ObjectVisibility::Whole,
            false if self.passes_through(record)? => ObjectVisibility::OnTheWay,
            false => ObjectVisibility::Nothing,
        })
    }

    /// Reports whether the privilege holds for the object.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn may(&self, privilege: Privilege, record: &Record) -> Result<bool> {
        Ok(self.reach_in(privilege, record)? != Reach::Nothing)
    }

    /// Returns how far the privilege reaches in the object, for calls that affect its contents as
    /// well. A grant reaches everything, ownership the caller's own objects. The reach is nothing
    /// if the privilege does not hold for the object itself. The command applies the result to the
    /// contents that it finds.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reach_in(&self, privilege: Privilege, record: &Record) -> Result<Reach> {
        let all_if = |holds| if holds { Reach::All } else { Reach::Nothing };
        let Some(caller) = self.caller else { return self.is_configuration(record).map(all_if) };
        if self.has_everywhere(privilege) {
            return Ok(Reach::All);
        }
        let around = self.around(record)?;
        let read =
            caller.rights.everywhere().contains(Privilege::Read) || self.holds(caller, Privilege::Read, &around)?;
        if !read || privilege == Privilege::Read {
            return Ok(all_if(read));
        }
        if caller.rights.everywhere().contains(privilege) || self.holds(caller, privilege, &around)? {
            return Ok(Reach::All);
        }
        let owns = caller.person
            && matches!(privilege, Privilege::Write | Privilege::Delete)
            && record.family != FamilyKind::Folder
            && record.creator == *caller.user;
        let owns = owns
            && (caller.rights.everywhere().contains(Privilege::Create)
                || self.holds(caller, Privilege::Create, &around)?);
        Ok(if owns { Reach::Own } else { Reach::Nothing })
    }

    /// Refuses an object for which the privilege does not hold. A folder that is only on the way to
    /// something readable is refused, too.
    ///
    /// # Errors
    /// `ObjectNotFound` for an object that the caller does not see, as for a missing one;
    /// `PermissionDenied`.
    pub fn check(&self, privilege: Privilege, record: &Record, source: &impl Display) -> Result<()> {
        match self.may(privilege, record)? {
            true => Ok(()),
            false if self.sees(record)? => Err(self.denied_for(privilege, source)),
            false => Err(Error::not_found(source)),
        }
    }

    /// Refuses a call about an object before its action is known. Unlike [`Access::check`], it
    /// admits reads of a folder on the way to something readable, because some calls show its
    /// outline.
    ///
    /// # Errors
    /// The errors of [`Access::check`].
    pub fn admit(&self, privilege: Privilege, record: &Record, source: &impl Display) -> Result<()> {
        match self.check(privilege, record, source) {
            Err(error) if error.code == Code::PermissionDenied && privilege == Privilege::Read => Ok(()),
            checked => checked,
        }
    }

    /// Refuses a caller who may not create in a folder; otherwise returns the reach of their right
    /// to change existing objects there.
    ///
    /// `source` is the place that the caller named. The refusal names only that, even if it is
    /// about another folder on the way. So the reply for a path does not reveal how much of it
    /// exists.
    ///
    /// # Errors
    /// `PermissionDenied`; errors of the store.
    pub fn check_place(&self, folder: Loid, source: &impl Display) -> Result<Reach> {
        if self.has_everywhere(Privilege::Create) && self.has_everywhere(Privilege::Write) {
            return Ok(Reach::All);
        }
        let denied = || self.denied_for(Privilege::Create, source);
        let record = self.rows.record(folder)?.ok_or_else(denied)?;
        if !self.may(Privilege::Create, &record)? {
            return Err(denied());
        }
        // If the place is a bundle, its owner says nothing about the objects of others in it.
        Ok(match self.reach_in(Privilege::Write, &record)? {
            Reach::All => Reach::All,
            Reach::Own | Reach::Nothing => self.reach_of_own(),
        })
    }

    /// Refuses a move that would give the caller more rights on the object than they have at its
    /// present place. The move is allowed if they may discard the object there, which needs
    /// `delete`.
    ///
    /// # Errors
    /// `PermissionDenied`; errors of the store.
    pub fn check_move(&self, record: &Record, folder: &Record, source: &impl Display) -> Result<()> {
        for privilege in [Privilege::Delete, Privilege::Destroy, Privilege::Moderate, Privilege::ForceUnlock] {
            if self.may(privilege, folder)? && !self.may(privilege, record)? {
                return self.check(Privilege::Delete, record, source);
            }
        }
        Ok(())
    }

    /// Returns which posts of a liveblog the caller sees: all, if they may write or moderate it;
    /// else the approved ones and their own.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn sight(&self, liveblog: &Record) -> Result<PostSight> {
        if self.may(Privilege::Write, liveblog)? || self.may(Privilege::Moderate, liveblog)? {
            return Ok(PostSight::All);
        }
        Ok(match self.caller {
            Some(RightsHolder { user, person: true, .. }) => PostSight::Own(user.clone()),
            _ => PostSight::Approved,
        })
    }

    /// Returns which posts of a liveblog the caller may change: all, if they may moderate it; else
    /// their own.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reach(&self, liveblog: &Record) -> Result<Reach> {
        Ok(if self.may(Privilege::Moderate, liveblog)? { Reach::All } else { self.reach_of_own() })
    }

    /// Returns the reach of a caller without a right to the objects of others.
    fn reach_of_own(&self) -> Reach {
        if self.caller.is_some_and(|caller| caller.person) { Reach::Own } else { Reach::Nothing }
    }

    /// Refuses a caller who holds the privilege nowhere. Then no object is looked up, and the
    /// caller learns nothing about any.
    ///
    /// `source` is the object that the call is about, as the caller named it.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_anywhere(&self, privilege: Privilege, source: Option<&str>) -> Result<()> {
        let Some(caller) = self.caller else { return Ok(()) };
        let anywhere = caller.rights.anywhere();
        let may_own = caller.person && matches!(privilege, Privilege::Write | Privilege::Delete);
        if anywhere.contains(privilege) || (may_own && anywhere.contains(Privilege::Create)) {
            return Ok(());
        }
        Err(match source {
            Some(source) => self.denied_for(privilege, &source),
            None => self.denied(privilege, "any object"),
        })
    }

    /// Refuses a caller who does not hold the privilege for the server as a whole.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_everywhere(&self, privilege: Privilege) -> Result<()> {
        if self.has_everywhere(privilege) { Ok(()) } else { Err(self.denied(privilege, "the server")) }
    }

    /// Refuses a key access to names, addresses and messages of people, unless it holds the
    /// privilege for all objects. A key may be part of an address that is passed around.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_people(&self, privilege: Privilege) -> Result<()> {
        if self.caller.is_some_and(|caller| !caller.person) && !self.has_everywhere(privilege) {
            return Err(self.denied(privilege, "data of users: a key needs it for the whole server"));
        }
        Ok(())
    }

    /// Reports whether the privilege holds for all objects.
    pub fn has_everywhere(&self, privilege: Privilege) -> bool {
        self.caller.is_some_and(|caller| {
            let everywhere = caller.rights.everywhere();
            everywhere.contains(privilege)
                && (everywhere.contains(Privilege::Read)
                    || matches!(privilege, Privilege::ManageGroups | Privilege::Configure))
        })
    }

    /// Reports whether the names in `missing`, missing below that folder, are the caller's home or
    /// lead to it, and the caller may create there. The decision is by the folder where the names
    /// are missing, and not by a path, which leads elsewhere in another database.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn may_make_home(&self, folder: Loid, missing: &[String]) -> Result<bool> {
        let Some(caller) = self.creator() else { return Ok(false) };
        let Some(home) = self.rows.home_path(caller.user)? else { return Ok(false) };
        let (last, of_home) = self.rows.follow(&home)?;
        Ok(last == folder && !of_home.is_empty() && missing.starts_with(&of_home))
    }

    /// Reports whether the object is the caller's home, and they may create there. Creating the
    /// home again changes nothing.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_home(&self, object: Loid) -> Result<bool> {
        let Some(caller) = self.creator() else { return Ok(false) };
        Ok(self.home(caller)? == Some(object))
    }

    /// Returns the caller, if they have a home and may create there.
    fn creator(&self) -> Option<RightsHolder<'a>> {
        let needed = [Privilege::Create, Privilege::Read];
        self.caller
            .filter(|caller| caller.person && needed.iter().all(|needed| caller.rights.anywhere().contains(*needed)))
    }

    /// Returns the refusal of a call about an object that the caller named `source`.
    fn denied_for(&self, needed: Privilege, source: &impl Display) -> Error {
        self.denied(needed, &format!("`{source}`")).with_source(source)
    }

    fn denied(&self, needed: Privilege, about: &str) -> Error {
        let name = needed.name();
        let message = match self.caller {
            Some(RightsHolder { user, person: false, .. }) => {
                format!("This key of `{user}` lacks the privilege `{name}` for {about}.")
            }
            Some(RightsHolder { user, .. }) => format!("`{user}` lacks the privilege `{name}` for {about}."),
            None => format!("A caller without a token lacks the privilege `{name}` for {about}."),
        };
        Error::new(Code::PermissionDenied, message).with_detail("privilege", name)
    }

    /// Reports whether a grant below one of these folders gives the privilege, or the home does.
    fn holds(&self, caller: RightsHolder<'_>, privilege: Privilege, around: &[Loid]) -> Result<bool> {
        if !caller.rights.anywhere().contains(privilege) {
            return Ok(false);
        }
        if around.iter().any(|folder| caller.rights.at(*folder).contains(privilege)) {
            return Ok(true);
        }
        Ok(self.home(caller)?.is_some_and(|home| around.contains(&home)))
    }

    /// Returns the caller's home, if they have one and it exists.
    fn home(&self, caller: RightsHolder<'_>) -> Result<Option<Loid>> {
        match self.home {
            Some(home) => Ok(home),
            None if caller.person => self.rows.home(caller.user),
            None => Ok(None),
        }
    }

    /// Reports whether the object is a folder above one that may be read.
    fn passes_through(&self, record: &Record) -> Result<bool> {
        let Some(caller) = self.caller.filter(|_| record.family == FamilyKind::Folder) else { return Ok(false) };
        if self.is_on_way_to_grant(caller.rights, record.loid)? {
            return Ok(true);
        }
        let home = if caller.rights.anywhere().contains(Privilege::Read) { self.home(caller)? } else { None };
        home.map_or(Ok(false), |home| self.lies_in(home, record.loid))
    }

    /// Reports whether a folder leads to a folder below which a grant allows to read, or is one.
    fn is_on_way_to_grant(&self, rights: &Rights, folder: Loid) -> Result<bool> {
        let AccessRows::Committed(newsroom) = self.rows else { return self.walks_to_grant(rights, folder) };
        match newsroom.records.ways.kept(rights.identity()) {
            Ok(ways) => Ok(ways.contains(&folder)),
            Err(generation) => Ok(self.ways(newsroom, rights, generation)?.contains(&folder)),
        }
    }

    /// Computes [`Access::is_on_way_to_grant`] by a walk up from each grant.
    fn walks_to_grant(&self, rights: &Rights, folder: Loid) -> Result<bool> {
        for granted in readable(rights) {
            if self.lies_in(granted, folder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether an object is in a folder, at any depth, or is that folder.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn lies_within(&self, record: &Record, folder: Loid) -> Result<bool> {
        Ok(self.around(record)?.contains(&folder))
    }

    /// Reports whether a live folder is in another, or is that one.
    fn lies_in(&self, folder: Loid, other: Loid) -> Result<bool> {
        Ok(match self.rows.record(folder)? {
            Some(record) => self.lies_within(&record, other)?,
            None => false,
        })
    }

    /// Returns the folders on the way to those that a grant allows to read, and these themselves.
    /// The set is cached until one of them changes.
    fn ways(&self, newsroom: &Newsroom, rights: &Rights, generation: u64) -> Result<Arc<HashSet<Loid>>> {
        let kept = &newsroom.records.ways;
        // The value is the number of levels that a walk climbed from there; another walk need not
        // climb further.
        let mut on_way: HashMap<Loid, usize> = HashMap::default();
        for folder in readable(rights) {
            kept.watch(generation, folder);
            let live = self.rows.record(folder)?;
            let is_live = live.is_some();
            let Some(record) = live.map_or_else(|| newsroom.repository.any_record(folder), |live| Ok(Some(live)))?
            else {
                continue;
            };
            if is_live {
                on_way.entry(folder).or_default();
            }
            // A discarded folder is restored when a folder around it is.
            self.climb(&record, |above, levels| {
                kept.watch(generation, above);
                if !is_live {
                    return true;
                }
                let known = on_way.entry(above).or_default();
                let goes_further = *known < levels;
                *known = (*known).max(levels);
                goes_further
            })?;
        }
        let ways: Arc<HashSet<Loid>> = Arc::new(on_way.into_keys().collect());
        kept.keep(generation, rights.identity(), ways.clone());
        Ok(ways)
    }

    fn is_configuration(&self, record: &Record) -> Result<bool> {
        Ok(match self.rows.loid_of(CONFIGURATION)? {
            Some(folder) => self.around(record)?.contains(&folder),
            None => false,
        })
    }

    /// Returns the object and the folders around it, innermost first, up to the widest configurable
    /// depth. Objects that were once created deeper are out of reach of grants on the folders
    /// further up.
    fn around(&self, record: &Record) -> Result<Vec<Loid>> {
        let mut around = vec![record.loid];
        self.climb(record, |folder, _| {
            around.push(folder);
            true
        })?;
        Ok(around)
    }

    /// Visits the folders around an object, innermost first, each before it is read, until `visit`
    /// returns false. `visit` gets a folder and the number of levels that may be climbed from
    /// there.
    fn climb(&self, record: &Record, mut visit: impl FnMut(Loid, usize) -> bool) -> Result<()> {
        let (mut next, mut levels) = (record.folder(), PathLimits::WIDEST.depth);
        while let Some(folder) = next.filter(|_| levels > 0) {
            if !visit(folder, levels) {
                break;
            }
            levels -= 1;
            next = self.rows.above(folder)?;
        }
        Ok(())
    }
}

/// Returns the folders below which a grant allows to read.
fn readable(rights: &Rights) -> impl Iterator<Item = Loid> {
    let below = rights.below().iter().filter(|(_, privileges)| privileges.contains(Privilege::Read));
    below.map(|(folder, _)| *folder)
}
