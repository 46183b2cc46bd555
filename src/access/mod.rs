//! Who may do what with which object (docs/api/rights.md).
//!
//! A grant holds everywhere, or for a folder and all below it. Rights are always checked on the
//! object itself: the folders that it lies in now, or lay in before it came to the recycle bin.
//! Three rules come on top:
//!
//! - **An object that the caller may not read does not exist for them**: the answer is that for a
//!   missing object, whatever the call, and no other privilege counts for it. Folders on the way to
//!   a readable one are seen, but nothing else in them.
//! - **The home**: a user who has a privilege below any folder has it in their own home, too, and
//!   may have the home made.
//! - **Ownership**: whoever may create where an object lies may change and discard it if they
//!   created it. This does not apply to folders, in which others may have put things; and what acts
//!   on a bundle with all that lies in it needs all of that to be theirs: see [`Access::reach_in`].
//!
//! Posts are parts of their liveblog; rights on them also depend on who made them: see
//! [`Access::sight`] and [`Access::reach`].
//!
//! A key for a machine has no home, and no rights by ownership: it may do exactly what it was
//! granted.
//!
//! Commands ask the same of the rows as they find them ([`Access::readable`],
//! [`Access::changeable`]): which items are there for the caller, and at which position, is decided
//! where nobody can come between.
//!
//! Without a session a caller sees nothing but the configuration below [`CONFIGURATION`]
//! (docs/api/README.md, "Tokens").

mod rows;
mod statuses;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use stet_actors::error::{Code, Error, Result};
use stet_actors::id::Loid;
use stet_actors::liveblog::Sight;
use stet_actors::object::{FamilyKind, PathLimits, Reach, Record, Text};
use stet_actors::readable::Readable;

use self::rows::{Deciding, Rows};
pub use self::statuses::CallerStatuses;
use crate::auth::Privilege;
use crate::auth::{LiveSession, Rights};
use crate::newsroom::Newsroom;

/// The folder of the files that are served without a token.
pub const CONFIGURATION: &str = "/SysConfig";

/// What one caller may do.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    rows: Rows<'a>,
    caller: Option<Caller<'a>>,
    /// The caller's home, if it was looked for already: see [`Access::knowing_home`].
    home: Option<Option<Loid>>,
}

#[derive(Clone, Copy)]
struct Caller<'a> {
    user: &'a Text,
    rights: &'a Rights,
    /// Whether the caller is a person, and not a key for a machine.
    person: bool,
}

/// How much a caller sees of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// For them it is not there.
    Nothing,
    /// That it is there: a folder on the way to something that they may read.
    OnTheWay,
    /// All of it.
    Whole,
}

impl<'a> Access<'a> {
    /// What the caller behind a session may do.
    pub fn of(newsroom: &'a Newsroom, session: &'a LiveSession, rights: &'a Rights) -> Access<'a> {
        let caller = Caller { user: session.user(), rights, person: session.grants().is_none() };
        Access { rows: Rows::Committed(newsroom), caller: Some(caller), home: None }
    }

    /// What a caller without a session may do.
    pub fn anonymous(newsroom: &'a Newsroom) -> Access<'a> {
        Access { rows: Rows::Committed(newsroom), caller: None, home: None }
    }

    /// The same for a loop over many objects: the home is where it is now, and not looked for with
    /// each of them.
    ///
    /// # Errors
    /// What the store says.
    pub fn knowing_home(self) -> Result<Access<'a>> {
        let home = self.caller.map_or(Ok(None), |caller| self.home(caller))?;
        Ok(Access { home: Some(home), ..self })
    }

    /// Whether every object may be read.
    pub fn sees_all(&self) -> bool {
        self.has_everywhere(Privilege::Read)
    }

    /// The decision on what the caller may read, for commands; `None` for everything. The grants
    /// are those of now, and where things lie is looked at when the command is carried out.
    ///
    /// # Errors
    /// What the store says.
    pub fn readable(&self) -> Result<Option<Arc<dyn Readable>>> {
        self.decides(Privilege::Read)
    }

    /// The decision on what the caller may change, for commands that find out themselves which
    /// objects they change; as [`Access::readable`].
    ///
    /// # Errors
    /// What the store says.
    pub fn changeable(&self) -> Result<Option<Arc<dyn Readable>>> {
        self.decides(Privilege::Write)
    }

    fn decides(&self, privilege: Privilege) -> Result<Option<Arc<dyn Readable>>> {
        if self.has_everywhere(privilege) { Ok(None) } else { Ok(Some(Arc::new(Deciding::of(*self, privilege)?))) }
    }

    /// Whether the object may be read, or is a folder on the way to one that may.
    ///
    /// # Errors
    /// What the store says.
    pub fn sees(&self, record: &Record) -> Result<bool> {
        Ok(self.seen(record)? != Seen::Nothing)
    }

    /// How much is seen of the object.
    ///
    /// # Errors
    /// What the store says.
    pub fn seen(&self, record: &Record) -> Result<Seen> {
        Ok(match self.may(Privilege::Read, record)? {
            true => Seen::Whole,
            false if self.passes_through(record)? => Seen::OnTheWay,
            false => Seen::Nothing,
        })
    }

    /// Whether the privilege holds for the object.
    ///
    /// # Errors
    /// What the store says.
    pub fn may(&self, privilege: Privilege, record: &Record) -> Result<bool> {
        Ok(self.reach_in(privilege, record)? != Reach::Nothing)
    }

    /// How far the privilege reaches in the object, for what acts on all that lies in it as well:
    /// everything by a grant, what the caller created by ownership, nothing where it does not hold
    /// for the object itself. The command decides by it on what it finds there.
    ///
    /// # Errors
    /// What the store says.
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

    /// Refuses an object for which the privilege does not hold: a folder that is only on the way to
    /// something may not be read.
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

    /// Refuses calls about an object, before it is known what they do there. Other than
    /// [`Access::check`] it lets those that read come to a folder that is only on the way: some
    /// tell its outline.
    ///
    /// # Errors
    /// As [`Access::check`].
    pub fn admit(&self, privilege: Privilege, record: &Record, source: &impl Display) -> Result<()> {
        match self.check(privilege, record, source) {
            Err(error) if error.code == Code::PermissionDenied && privilege == Privilege::Read => Ok(()),
            checked => checked,
        }
    }

    /// Refuses a caller who may not create in a folder; otherwise returns which existing objects
    /// they may change.
    ///
    /// `source` is the place that the caller named. The refusal has that alone, whichever folder on
    /// the way it is about, so that the answer for a path does not reveal how much of it exists.
    ///
    /// # Errors
    /// `PermissionDenied`, what the store says.
    pub fn check_place(&self, folder: Loid, source: &impl Display) -> Result<Reach> {
        if self.has_everywhere(Privilege::Create) && self.has_everywhere(Privilege::Write) {
            return Ok(Reach::All);
        }
        let denied = || self.denied_for(Privilege::Create, source);
        let record = self.rows.record(folder)?.ok_or_else(denied)?;
        if !self.may(Privilege::Create, &record)? {
            return Err(denied());
        }
        // Whose the place is, where that is a bundle, says nothing of what others have made in it.
        Ok(match self.reach_in(Privilege::Write, &record)? {
            Reach::All => Reach::All,
            Reach::Own | Reach::Nothing => self.reach_of_own(),
        })
    }

    /// Refuses a move that would let the caller do more with the object than where it lies, unless
    /// they may take it away from there: that needs `delete`.
    ///
    /// # Errors
    /// `PermissionDenied`; what the store says.
    pub fn check_move(&self, record: &Record, folder: &Record, source: &impl Display) -> Result<()> {
        for privilege in [Privilege::Delete, Privilege::Destroy, Privilege::Moderate, Privilege::ForceUnlock] {
            if self.may(privilege, folder)? && !self.may(privilege, record)? {
                return self.check(Privilege::Delete, record, source);
            }
        }
        Ok(())
    }

    /// Which posts of a liveblog the caller sees: all, if they may write it or moderate it; else
    /// the approved ones and their own.
    ///
    /// # Errors
    /// What the store says.
    pub fn sight(&self, liveblog: &Record) -> Result<Sight> {
        if self.may(Privilege::Write, liveblog)? || self.may(Privilege::Moderate, liveblog)? {
            return Ok(Sight::All);
        }
        Ok(match self.caller {
            Some(Caller { user, person: true, .. }) => Sight::Own(user.clone()),
            _ => Sight::Approved,
        })
    }

    /// Which posts of a liveblog the caller may change: all, if they may moderate it; else their
    /// own.
    ///
    /// # Errors
    /// What the store says.
    pub fn reach(&self, liveblog: &Record) -> Result<Reach> {
        Ok(if self.may(Privilege::Moderate, liveblog)? { Reach::All } else { self.reach_of_own() })
    }

    /// The reach of a caller who has no right to objects that others made.
    fn reach_of_own(&self) -> Reach {
        if self.caller.is_some_and(|caller| caller.person) { Reach::Own } else { Reach::Nothing }
    }

    /// Refuses a caller who holds the privilege nowhere: then no object is looked up, and nothing
    /// can be learnt of any.
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

    /// Refuses a key that does not hold the privilege for all objects names, addresses and messages
    /// of people: it may stand in an address that gets around.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_people(&self, privilege: Privilege) -> Result<()> {
        if self.caller.is_some_and(|caller| !caller.person) && !self.has_everywhere(privilege) {
            return Err(self.denied(privilege, "people: a key needs it for everything"));
        }
        Ok(())
    }

    /// Whether the privilege holds for all objects.
    pub fn has_everywhere(&self, privilege: Privilege) -> bool {
        self.caller.is_some_and(|caller| {
            let everywhere = caller.rights.everywhere();
            everywhere.contains(privilege)
                && (everywhere.contains(Privilege::Read)
                    || matches!(privilege, Privilege::ManageGroups | Privilege::Configure))
        })
    }

    /// Whether what is missing below that folder, by these names, is the caller's home or leads
    /// into it, and they may create there. It goes by where the names are missing and not by a
    /// path, which leads elsewhere in another database.
    ///
    /// # Errors
    /// What the store says.
    pub fn may_make_home(&self, folder: Loid, missing: &[String]) -> Result<bool> {
        let Some(caller) = self.creator() else { return Ok(false) };
        let Some(home) = self.rows.home_path(caller.user)? else { return Ok(false) };
        let (last, of_home) = self.rows.follow(&home)?;
        Ok(last == folder && !of_home.is_empty() && missing.starts_with(&of_home))
    }

    /// Whether the object is the caller's home, and they may create there: to make it again changes
    /// nothing.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_home(&self, object: Loid) -> Result<bool> {
        let Some(caller) = self.creator() else { return Ok(false) };
        Ok(self.home(caller)? == Some(object))
    }

    /// The caller, if they have a home and may create there.
    fn creator(&self) -> Option<Caller<'a>> {
        let needed = [Privilege::Create, Privilege::Read];
        self.caller
            .filter(|caller| caller.person && needed.iter().all(|needed| caller.rights.anywhere().contains(*needed)))
    }

    /// Returns the refusal of a call about an object, which the caller has named so.
    fn denied_for(&self, needed: Privilege, source: &impl Display) -> Error {
        self.denied(needed, &format!("`{source}`")).with_source(source)
    }

    fn denied(&self, needed: Privilege, about: &str) -> Error {
        let name = needed.name();
        let message = match self.caller {
            Some(Caller { user, person: false, .. }) => {
                format!("This key of `{user}` lacks the privilege `{name}` for {about}.")
            }
            Some(Caller { user, .. }) => format!("`{user}` lacks the privilege `{name}` for {about}."),
            None => format!("A caller without a token lacks the privilege `{name}` for {about}."),
        };
        Error::new(Code::PermissionDenied, message).with_detail("privilege", name)
    }

    /// Whether a grant below one of these folders gives the privilege, or the home does.
    fn holds(&self, caller: Caller<'_>, privilege: Privilege, around: &[Loid]) -> Result<bool> {
        if !caller.rights.anywhere().contains(privilege) {
            return Ok(false);
        }
        if around.iter().any(|folder| caller.rights.at(*folder).contains(privilege)) {
            return Ok(true);
        }
        Ok(self.home(caller)?.is_some_and(|home| around.contains(&home)))
    }

    /// The caller's home, if they have one and it is there by now.
    fn home(&self, caller: Caller<'_>) -> Result<Option<Loid>> {
        match self.home {
            Some(home) => Ok(home),
            None if caller.person => self.rows.home(caller.user),
            None => Ok(None),
        }
    }

    /// Whether it is a folder above an object that may be read.
    fn passes_through(&self, record: &Record) -> Result<bool> {
        let Some(caller) = self.caller.filter(|_| record.family == FamilyKind::Folder) else { return Ok(false) };
        if self.is_on_way_to_grant(caller.rights, record.loid)? {
            return Ok(true);
        }
        let home = if caller.rights.anywhere().contains(Privilege::Read) { self.home(caller)? } else { None };
        home.map_or(Ok(false), |home| self.lies_in(home, record.loid))
    }

    /// Returns whether a folder leads to a folder below which a grant allows to read, or is one.
    fn is_on_way_to_grant(&self, rights: &Rights, folder: Loid) -> Result<bool> {
        let Rows::Committed(newsroom) = self.rows else { return self.walks_to_grant(rights, folder) };
        match newsroom.records.ways.kept(rights.identity()) {
            Ok(ways) => Ok(ways.contains(&folder)),
            Err(generation) => Ok(self.ways(newsroom, rights, generation)?.contains(&folder)),
        }
    }

    /// Answers [`Access::is_on_way_to_grant`] by a walk up from each grant.
    fn walks_to_grant(&self, rights: &Rights, folder: Loid) -> Result<bool> {
        for granted in readable(rights) {
            if self.lies_in(granted, folder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a live folder lies in another, or is that one.
    fn lies_in(&self, folder: Loid, other: Loid) -> Result<bool> {
        Ok(match self.rows.record(folder)? {
            Some(record) => self.around(&record)?.contains(&other),
            None => false,
        })
    }

    /// The folders on the way to those that a grant allows to read, and these themselves; kept
    /// until one of them changes.
    fn ways(&self, newsroom: &Newsroom, rights: &Rights, generation: u64) -> Result<Arc<HashSet<Loid>>> {
        let kept = &newsroom.records.ways;
        // With the number of levels that a walk went up from there: another walk need not go
        // further.
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
            // What is in the recycle bin comes back when a folder around it does.
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

    /// The object and the folders around it, innermost first. No more than any configuration
    /// allows: what was made deeper once is beyond the reach of grants on the folders further up.
    fn around(&self, record: &Record) -> Result<Vec<Loid>> {
        let mut around = vec![record.loid];
        self.climb(record, |folder, _| {
            around.push(folder);
            true
        })?;
        Ok(around)
    }

    /// Visits the folders around an object, innermost first, each before it is read, until `visit`
    /// says that it is enough. `visit` is given a folder and the number of levels that may be
    /// climbed from there.
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

/// The folders below which a grant allows to read.
fn readable(rights: &Rights) -> impl Iterator<Item = Loid> {
    let below = rights.below().iter().filter(|(_, privileges)| privileges.contains(Privilege::Read));
    below.map(|(folder, _)| *folder)
}
