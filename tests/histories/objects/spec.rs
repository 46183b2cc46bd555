//! The specification of an object (docs/api/content.md): its versions, a draft, a lock, and the
//! effect of each change. Bytes are any values that can be distinguished, such as numbers.

/// A session, by number.
pub type Session = usize;

/// The users of the sessions: one user twice, one who may not break locks of others, one who may.
pub const USERS: [&str; 4] = ["editor", "editor", "reporter", "admin"];

fn may_break(session: Session) -> bool {
    USERS[session] != "reporter"
}

/// The options of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    pub check_in: bool,
    pub keep: bool,
    pub unlock: bool,
    pub new_version: bool,
    pub check_out: bool,
    pub clean: bool,
}

/// A check-in only, as a write without options does.
pub const PLAIN: Switches =
    Switches { check_in: true, keep: false, unlock: false, new_version: false, check_out: false, clean: false };

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<B> {
    Write(Switches, Option<B>),
    /// The bytes of the version of that number as a new one.
    Restore(usize),
    Lock,
    Unlock {
        force: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    ObjectLocked,
    ObjectLockedByMe,
    ObjectNotLocked,
    ObjectNotCheckedOut,
    ObjectNotFound,
    PermissionDenied,
}

/// Saved content that is not checked in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Draft<B> {
    pub bytes: B,
    author: &'static str,
    /// The number of versions and the latest one at the start of the draft. `None` if the author
    /// can't have seen them.
    base: Option<(usize, B)>,
}

/// The whiteboard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sheet<B> {
    /// Oldest first; their numbers count from 1.
    pub versions: Vec<B>,
    /// The author of the latest version.
    latest_by: &'static str,
    /// The draft, which stays when the lock ends.
    pub draft: Option<Draft<B>>,
    pub lock: Option<Session>,
}

impl<B: Clone + PartialEq> Sheet<B> {
    /// An object that the user of the first session created with these bytes.
    pub fn new(first: B) -> Sheet<B> {
        Sheet { versions: vec![first], latest_by: USERS[0], draft: None, lock: None }
    }

    /// The latest version.
    pub fn latest(&self) -> &B {
        self.versions.last().expect("it was made with a version")
    }

    /// Returns the content that a session reads: its working copy, or the latest version.
    pub fn seen_by(&self, session: Session) -> &B {
        let draft = self.draft.as_ref().filter(|_| self.lock == Some(session));
        draft.map_or(self.latest(), |draft| &draft.bytes)
    }

    /// Carries a change out. One that is refused changes nothing.
    pub fn change(&mut self, by: Session, change: &Change<B>) -> Result<(), Refusal> {
        if !matches!(change, Change::Unlock { .. }) {
            self.check_lock(by)?;
        }
        match change {
            Change::Write(switches, bytes) => self.write(by, *switches, bytes.clone())?,
            Change::Restore(number) => {
                let old = number.checked_sub(1).and_then(|at| self.versions.get(at));
                let old = old.ok_or(Refusal::ObjectNotFound)?.clone();
                self.versions.push(old);
                self.latest_by = USERS[by];
            }
            Change::Lock => self.lock = Some(by),
            Change::Unlock { force } => {
                let holder = self.lock.ok_or(Refusal::ObjectNotLocked)?;
                if !force {
                    self.check_lock(by)?;
                } else if USERS[holder] != USERS[by] && !may_break(by) {
                    return Err(Refusal::PermissionDenied);
                }
                self.lock = None;
            }
        }
        Ok(())
    }

    fn check_lock(&self, by: Session) -> Result<(), Refusal> {
        match self.lock {
            Some(holder) if holder == by => Ok(()),
            Some(holder) if USERS[holder] == USERS[by] => Err(Refusal::ObjectLockedByMe),
            Some(_) => Err(Refusal::ObjectLocked),
            None => Ok(()),
        }
    }

    fn write(&mut self, by: Session, to: Switches, bytes: Option<B>) -> Result<(), Refusal> {
        let checked_out = self.lock.is_some() || to.check_out || to.clean;
        if !checked_out && bytes.is_none() {
            return Err(Refusal::ObjectNotCheckedOut);
        }
        if to.clean {
            self.draft = None;
        }
        // What another has saved, and who has not held the lock until now can't have read.
        let is_unseen = |draft: &&Draft<B>| self.lock.is_none() && draft.author != USERS[by];
        let unseen = self.draft.as_ref().filter(is_unseen).map(|draft| draft.bytes.clone());
        let present = (self.versions.len(), self.latest().clone());
        // The latest version of another is not replaced by a caller who has not held the lock until
        // now.
        let overtaken = self.lock.is_none() && self.latest_by != USERS[by];
        if !to.check_in {
            if let Some(bytes) = bytes {
                // No user can save over an unseen draft.
                if unseen.is_some() {
                    return Err(Refusal::ObjectNotCheckedOut);
                }
                // A draft saved again keeps its base.
                let base = self.draft.take().map_or((!overtaken).then_some(present), |draft| draft.base);
                self.draft = Some(Draft { bytes, author: USERS[by], base });
            }
            self.lock = (checked_out && !to.unlock).then_some(by);
            return Ok(());
        }
        // A draft with another base than the version that it would replace becomes a version of its
        // own.
        let is_stale = |draft: &Draft<B>| draft.base.as_ref() != Some(&present);
        let draft = self.draft.as_ref().map(|draft| (draft.bytes.clone(), to.new_version || is_stale(draft)));
        // The same holds for bytes of a caller who continues such a draft.
        let goes_on = self.draft.as_ref().filter(|_| checked_out && unseen.is_none());
        let overtaken = overtaken || goes_on.is_some_and(is_stale);
        // Bytes leave one that was not seen alone. Who keeps the lock would read it in place of
        // them: it becomes a version before theirs.
        let unseen = unseen.filter(|_| bytes.is_some());
        let stays = unseen.is_some() && !to.keep;
        let kept = unseen.filter(|_| to.keep);
        let as_new = to.new_version || overtaken || kept.is_some();
        self.versions.extend(kept);
        if let Some((new, as_new)) = bytes.map(|bytes| (bytes, as_new)).or(draft) {
            if !as_new {
                self.versions.pop();
            }
            self.versions.push(new);
            self.latest_by = USERS[by];
        }
        // It belongs to who has the object checked out.
        if !stays && (checked_out || to.keep) {
            self.draft = None;
        }
        self.lock = to.keep.then_some(by);
        Ok(())
    }
}
