//! What a command may know beside the state, and what it notes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use super::rows::{ChangeLimits, Rows, SMALL};
use super::statuses::Statuses;
use super::{Fault, Numbers, Who};
use crate::error::{Code, Error, Result};
use crate::expect::Expect;
use crate::family::State;
use crate::id::Loid;
use crate::object::{
    Attributes, NewContent, Object, PathLimits, Record, SmallBody, Standing, Text, Version, depth_of, links_of_all,
    recount, standing,
};
use crate::readable::{Readable, Reads};
use crate::rules::{AttributeRules, Checked};
use crate::store::{Change, Key, Look, Range, Row, StoreError, Table, View, decode_value};
use crate::workflow::StatusChange;

/// How many objects one step changes below an object, unless it is configured otherwise.
pub const OBJECTS_PER_STEP: usize = 256;

/// What a command may know of subtrees.
#[derive(Debug, Clone, Copy)]
pub struct Subtrees {
    /// Whether changes of subtrees may be under way: if not, nobody needs to look for them.
    pub under_way: bool,
    /// How many objects one step changes at most, those that are notified included.
    pub objects_per_step: usize,
    /// Whether locks below what it changes have been looked for; see [`Fault::NeedsLocks`].
    pub locks_seen: bool,
}

impl Default for Subtrees {
    fn default() -> Subtrees {
        Subtrees { under_way: false, objects_per_step: OBJECTS_PER_STEP, locks_seen: false }
    }
}

/// What a command may know beside the state, and where it notes the rows it changes.
pub struct Context<'a> {
    /// Epoch milliseconds.
    pub now_ms: u64,
    /// Who asks.
    pub who: &'a Who,
    /// What it may know of subtrees.
    pub subtrees: Subtrees,
    pub(super) look: &'a dyn Look,
    numbers: &'a dyn Numbers,
    readable: Option<&'a dyn Readable>,
    rules: Option<&'a dyn AttributeRules>,
    /// Whether its objects come from another repository.
    imports: bool,
    limits: ChangeLimits,
    /// Where the objects lie that the command has made.
    made: HashMap<Loid, Made>,
    /// The one of them that it made last.
    newest: Option<Object>,
    expect: Option<&'a Expect>,
    /// Whether what is expected holds; `None` while the command has not said of which object it is
    /// asked.
    expected: Option<Result<()>>,
    pub(super) rows: Rows,
    pub(super) statuses: Statuses<'a>,
    keeps_stamp: bool,
    /// The objects that keep theirs whatever else the command changes.
    keeping_stamp: BTreeSet<Loid>,
    told: Told,
}

/// Where an object lies that has just been made.
#[derive(Debug, Clone, Copy)]
struct Made {
    folder: Loid,
    depth: usize,
}

/// What an event names, see [`Event`](crate::store::Event).
#[derive(Debug, Clone, Default)]
pub struct Concerned {
    /// Objects or parts.
    pub ids: Vec<String>,
    /// Those of them that readers see no more; `None` if the command has not said who sees what.
    pub withdrawn: Option<Vec<String>>,
    /// Those of them that readers did not see, and do not; `None` likewise.
    pub unseen: Option<Vec<String>>,
}

/// What the events of a command name: each container's event what concerns that container, and all
/// of them one object at most. So however many containers a command changes, their events together
/// name no more than it has noted, and that one.
#[derive(Debug, Default)]
pub struct Told {
    about: Option<String>,
    of: HashMap<Loid, Concerned>,
}

impl Told {
    /// Takes out what the event of a container names.
    pub(crate) fn take(&mut self, container: Loid) -> Concerned {
        let mut concerned = self.of.remove(&container).unwrap_or_default();
        if let Some(about) = self.about.as_ref().filter(|about| !concerned.ids.contains(about)) {
            concerned.ids.insert(0, about.clone());
        }
        concerned
    }
}

/// What a command has noted.
#[derive(Debug, Default)]
pub struct Noted {
    /// Rows and index entries.
    pub changes: Vec<Change>,
    /// Bytes of the rows noted by the command.
    pub bytes: usize,
    /// Objects or parts concerned.
    pub told: Told,
    /// Changes of statuses.
    pub statuses: Vec<StatusChange>,
}

impl<'a> Context<'a> {
    /// A context with nothing noted, of a caller who reads everything.
    pub fn new(now_ms: u64, who: &'a Who, look: &'a dyn Look, numbers: &'a dyn Numbers) -> Context<'a> {
        Context {
            now_ms,
            who,
            subtrees: Subtrees::default(),
            look,
            numbers,
            readable: None,
            rules: None,
            imports: false,
            limits: ChangeLimits::default(),
            made: HashMap::new(),
            newest: None,
            expect: None,
            expected: None,
            rows: Rows::new(),
            statuses: Statuses::default(),
            told: Told::default(),
            keeps_stamp: false,
            keeping_stamp: BTreeSet::new(),
        }
    }

    /// The same for a caller who reads what that says; everything if it is `None`.
    #[must_use]
    pub fn reading(self, readable: Option<&'a dyn Readable>) -> Context<'a> {
        Context { readable, ..self }
    }

    /// The same with attribute texts held to rules; to none if it is `None`.
    #[must_use]
    pub fn held_to(self, rules: Option<&'a dyn AttributeRules>) -> Context<'a> {
        Context { rules, ..self }
    }

    /// States that the command's objects come from another repository. Neither the rules for
    /// attribute texts nor the limit on the size of a change apply to them.
    pub fn imports(&mut self) {
        self.imports = true;
        self.rows.lift_limit();
    }

    /// Holds an attribute text that is to be stored to the rules, with the record that its object
    /// or part is to have. What was stored before is not checked again unless the record has
    /// changed what rules depend on.
    ///
    /// # Errors
    /// `InvalidAttributes`; [`Fault::Unchecked`].
    pub(crate) fn check_attributes(
        &self,
        before: Option<(&Record, Option<&Text>)>,
        record: &Record,
        text: Option<&Text>,
    ) -> Result<(), Fault> {
        let (Some(rules), Some(text)) = (self.rules, text) else { return Ok(()) };
        let is_stored = before.is_some_and(|(old, old_text)| {
            (&old.type_name, &old.work_folder, old_text) == (&record.type_name, &record.work_folder, Some(text))
        });
        if is_stored {
            return Ok(());
        }
        match rules.check(record, text, self.imports)? {
            Checked::Now => Ok(()),
            Checked::Later => Err(Fault::Unchecked),
        }
    }

    /// Sets whether the command may be large: whether its turn for that has come.
    #[must_use]
    pub(crate) fn admitting_large(mut self, admits_large: bool) -> Context<'a> {
        self.rows.admit_large(admits_large);
        self
    }

    /// Holds the command to the limits that are configured for changes and containers.
    #[must_use]
    pub(crate) fn limited_by(mut self, limits: ChangeLimits) -> Context<'a> {
        self.rows.limit(limits.change_bytes);
        self.limits = limits;
        self
    }

    /// States how many parts or objects the command is about to alter. A command that does not know
    /// is measured by its rows, but then it was applied in vain if it is large.
    ///
    /// # Errors
    /// [`Fault::IsLarge`].
    pub fn alters(&self, parts: usize) -> Result<(), Fault> {
        if parts <= SMALL || self.rows.admits_large() { Ok(()) } else { Err(Fault::IsLarge) }
    }

    /// Checks that what has been noted is no larger than it may be. A command that reads or builds
    /// much in a loop asks at each turn.
    ///
    /// # Errors
    /// [`Fault::IsLarge`] where a small change was expected, otherwise `TooLarge`.
    pub(crate) fn check_size(&self) -> Result<(), Fault> {
        self.rows.check_size()
    }

    /// The same for a caller who expects that of what is changed; nothing if it is `None`.
    #[must_use]
    pub fn expecting(self, expect: Option<&'a Expect>) -> Context<'a> {
        Context { expect, ..self }
    }

    /// Holds an object to what the caller expects of it: the one that a joint command is about, or
    /// that it writes over or removes. Each joint command says so of one object at least, whenever
    /// it goes through; a command of one container is held to that container by itself. What does
    /// not hold is found out last: a precondition counts only for what would succeed without it
    /// (RFC 9110, 13.2.1).
    pub fn expects(&mut self, record: &Record) {
        if let Some(expect) = self.expect
            && self.expected.as_ref().is_none_or(|so_far| so_far.is_ok())
        {
            self.expected = Some(expect.check(record));
        }
    }

    /// Whether the caller names the present state of an object in `If-Match`, and so knows what a
    /// change replaces.
    pub fn names_present(&self, record: &Record) -> bool {
        self.expect.is_some_and(|expect| expect.names(record))
    }

    /// Whether the caller expects anything of the objects that the command is about.
    pub fn is_conditional(&self) -> bool {
        self.expect.is_some()
    }

    /// Whether what the caller expects holds of what the command is about.
    ///
    /// # Errors
    /// `PreconditionFailed`; also for a command that has not said of any object.
    pub(crate) fn check_expected(&mut self) -> Result<()> {
        match (self.expect, self.expected.take()) {
            (None, _) => Ok(()),
            (Some(_), Some(expected)) => expected,
            (Some(Expect::Nothing), None) => Ok(()),
            (Some(_), None) => Err(Expect::met_nothing()),
        }
    }

    /// The refusal of a name that an object has already. Who may not read that object learns only
    /// that the name is taken.
    pub fn name_taken(&self, message: impl Into<String>, existing: Loid) -> Fault {
        match self.reads().and_then(|mut reads| reads.may_read(existing)) {
            Ok(true) => Error::duplicated(message, Some(existing)).into(),
            Ok(false) => Error::duplicated(message, None::<Loid>).into(),
            Err(error) => error.into(),
        }
    }

    /// What the caller may read at this moment.
    ///
    /// # Errors
    /// What the store says.
    pub fn reads(&self) -> Result<Reads<'a>> {
        Reads::over(self.readable, self.look)
    }

    /// Whether the caller may read everything: a count for anybody else must not reveal what is
    /// hidden from them.
    pub fn reads_all(&self) -> bool {
        self.readable.is_none()
    }

    /// Epoch seconds.
    pub fn now_s(&self) -> u64 {
        self.now_ms / 1000
    }

    /// A number that was never given before: for loids and shortcuts.
    ///
    /// # Errors
    /// `Overloaded`, see [`Numbers::next`].
    pub fn next_number(&self) -> Result<u64> {
        self.numbers.next()
    }

    /// A row as the next change will find it.
    ///
    /// # Errors
    /// What the store says, or that the row can't be understood.
    pub fn look_up<R: Row>(&self, key: &Key) -> Result<Option<R>, StoreError> {
        match self.look.get(View::Latest, key.table, &key.key)? {
            Some(value) => Ok(Some(decode_value(R::FORMAT, &value)?)),
            None => Ok(None),
        }
    }

    /// The rows underneath, for look-ups in indexes. Use [`View::Latest`].
    pub fn look(&self) -> &'a dyn Look {
        self.look
    }

    /// Whether the object is alive; it will still be when the change is submitted, since whatever
    /// removes objects steps alone.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_alive(&self, loid: Loid) -> Result<bool, StoreError> {
        let Some(record) = self.look.get(View::Latest, Table::Objects, &loid.to_key())? else { return Ok(false) };
        if !self.subtrees.under_way {
            return Ok(true);
        }
        let record: Record = decode_value(Record::FORMAT, &record)?;
        Ok(!matches!(standing(self.look, View::Latest, &record)?, Standing::Leaving(_)))
    }

    /// Puts a row, with the index entries that follow; `old` is the row as it was.
    pub fn put<R: Row>(&mut self, old: Option<&R>, new: &R) {
        let place = new.place();
        if let Some(old) = old {
            if !old.same_index(new) {
                self.index_change(old, Some(new));
            }
            let old_place = old.place();
            if old_place != place {
                self.set(old_place, None);
            }
        } else {
            self.index_change_new(new);
        }
        self.set(place, Some(crate::store::encode_value(R::FORMAT, new)));
    }

    /// Removes a row and its index entries.
    pub fn remove<R: Row>(&mut self, old: &R) {
        self.index_change(old, None);
        self.set(old.place(), None);
    }

    /// Sets a row that has no index and whose value is given as it is stored.
    pub fn set(&mut self, key: Key, value: Option<Bytes>) {
        self.rows.push(Change { table: key.table, key: key.key, value });
    }

    /// Says which object the command is about: the events of all containers that it changes name
    /// that one. It is one object, or what is said first counts: what else there is to name
    /// concerns one container ([`Context::concerns`]).
    pub fn is_about(&mut self, object: Loid) {
        let about = self.told.about.get_or_insert_with(|| object.to_string());
        debug_assert_eq!(*about, object.to_string(), "a command is about one object");
    }

    /// Names an object or part in the event of a container.
    pub fn concerns(&mut self, container: Loid, id: impl std::fmt::Display) {
        self.told_by(container).ids.push(id.to_string());
    }

    /// Names a part in the event of its container that readers see only at times: whether they saw
    /// it before the change, and see it after.
    pub fn concerns_seen(&mut self, container: Loid, id: impl std::fmt::Display, before: bool, after: bool) {
        let id = id.to_string();
        let concerned = self.told_by(container);
        let withdrawn = concerned.withdrawn.get_or_insert_default();
        let unseen = concerned.unseen.get_or_insert_default();
        match (before, after) {
            (_, true) => {}
            (true, false) => withdrawn.push(id.clone()),
            (false, false) => unseen.push(id.clone()),
        }
        concerned.ids.push(id);
    }

    /// What a container's event names. An object that has just been made has none yet: it is told
    /// of by the folder that it lies in.
    fn told_by(&mut self, container: Loid) -> &mut Concerned {
        let mut teller = container;
        while let Some(made) = self.made.get(&teller) {
            teller = made.folder;
        }
        self.told.of.entry(teller).or_default()
    }

    /// What the command changes is no change of the object as readers have it, such as a lock: the
    /// revision goes up, but `modified` and `last_modifier` stay.
    pub fn keep_stamp(&mut self) {
        self.keeps_stamp = true;
    }

    /// As [`Context::keep_stamp`], for one of the objects that the command changes.
    pub fn keep_stamp_of(&mut self, object: Loid) {
        self.keeping_stamp.insert(object);
    }

    fn index_change_new<R: Row>(&mut self, new: &R) {
        let mut entries = Vec::new();
        new.index(&mut entries);
        for (key, value) in entries {
            self.set(key, Some(value));
        }
    }

    fn index_change<R: Row>(&mut self, old: &R, new: Option<&R>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        old.index(&mut before);
        if let Some(new) = new {
            new.index(&mut after);
        }
        for (key, _) in &before {
            if !after.iter().any(|(kept, _)| kept == key) {
                self.set(key.clone(), None);
            }
        }
        for entry in after {
            if !before.contains(&entry) {
                self.set(entry.0, Some(entry.1));
            }
        }
    }

    /// Puts a version and its bytes, in place of `old` if given.
    pub fn put_version(&mut self, old: Option<&Version>, loid: Loid, new: &NewContent, at: u64) {
        let author = self.who.user.clone();
        self.put_version_of(author, old, loid, new, at);
    }

    /// The same of somebody else than the caller.
    pub fn put_version_of(&mut self, author: Text, old: Option<&Version>, loid: Loid, new: &NewContent, at: u64) {
        let version = Version { loid, author, at, content: new.content.clone() };
        self.put(old, &version);
        match (&new.small, old) {
            (Some(bytes), _) => self.set(SmallBody::key(loid), Some(bytes.clone())),
            (None, Some(_)) => self.set(SmallBody::key(loid), None),
            (None, None) => {}
        }
    }

    /// Removes all versions of an object with their bytes.
    ///
    /// # Errors
    /// What the store says, or that a row can't be understood.
    pub fn remove_versions(&mut self, object: Loid) -> Result<(), StoreError> {
        // Versions share all of the key but its last part, the version's number.
        let key = object.to_key();
        let range = Range::prefix(&key[..Loid::KEY_LEN - 4]);
        for (_, value) in self.look.scan(View::Latest, Table::Versions, &range, usize::MAX, false)? {
            let version: Version = decode_value(Version::FORMAT, &value)?;
            self.set(SmallBody::key(version.loid), None);
            self.remove(&version);
        }
        Ok(())
    }

    /// Removes the links of objects or parts that cease to be.
    pub(crate) fn remove_links(&mut self, of: &[Loid]) -> Result<(), StoreError> {
        for link in links_of_all(self.look, View::Latest, of)? {
            self.remove(&link);
        }
        Ok(())
    }

    /// How long and deep paths may be.
    pub fn path_limits(&self) -> PathLimits {
        self.limits.paths
    }

    /// Refuses a place below `folder` that is deeper than objects may lie; `levels` is 1 for an
    /// object that goes into it, and more for one that has others below.
    ///
    /// # Errors
    /// `InvalidPath`, what the store says.
    pub fn check_depth(&self, folder: Loid, levels: usize) -> Result<usize, Fault> {
        let most = self.limits.paths.depth;
        let above = match self.made.get(&folder) {
            Some(made) => made.depth,
            None => depth_of(self.look, View::Latest, folder, most)?,
        };
        if above + levels <= most {
            return Ok(above + levels);
        }
        // For one that goes deeper still `above` is not its true depth.
        let deep = if above > most { format!("more than {most}") } else { (above + levels).to_string() };
        let message =
            format!("Below the folder `{folder}` the path would have {deep} names; at most {most} are allowed.");
        Err(Error::new(Code::InvalidPath, message).with_source(folder).with_detail("limit", most).into())
    }

    /// Refuses a place in `folder` for what was there with `depth` names in its path and has
    /// unknown levels below, if that is deeper than it was: nothing below was too deep there.
    ///
    /// # Errors
    /// As [`Context::check_depth`].
    pub fn check_no_deeper(&self, folder: Loid, depth: usize) -> Result<usize, Fault> {
        self.check_depth(folder, (self.limits.paths.depth + 1).saturating_sub(depth).max(1))
    }

    /// Puts a new object: record, attribute texts, and their indexes. Its parts are put beside.
    /// There is no other way to make one, and so none that lies too deep.
    ///
    /// # Errors
    /// `InvalidPath` for a place that is too deep; `InvalidAttributes`; [`Fault::IsLarge`] and
    /// `TooLarge` for what was noted before; what the store says.
    pub fn create(&mut self, object: &Object) -> Result<(), Fault> {
        self.check_size()?;
        let Object { record, attributes } = object;
        if let Some(folder) = record.folder() {
            let depth = self.check_depth(folder, 1)?;
            self.made.insert(record.loid, Made { folder, depth });
        }
        self.check_attributes(None, record, attributes.attributes.as_ref())?;
        if let Some(folder) = record.folder() {
            self.note_new_status(self.nearest_kept(folder), record);
        }
        let record = Arc::new(Record { container_bytes: object.bytes() as u64, ..Record::clone(record) });
        self.put(None, &*record);
        if **attributes != Attributes::none(record.loid) {
            self.put(None, &**attributes);
        }
        self.newest = Some(Object { record, attributes: attributes.clone() });
        Ok(())
    }

    /// Checks that a container may take that many bytes of memory.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn check_container(&self, container: Loid, bytes: u64) -> Result<()> {
        let most = self.limits.container_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "`{container}` would take {bytes} bytes of memory with its items or posts; at most {most} are allowed."
        );
        Err(Error::new(Code::TooLarge, message).with_source(container).with_detail("limit", most))
    }

    /// Notes the bytes of memory that a container takes which the command has just created with
    /// parts.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn note_container_bytes(&mut self, container: Loid, bytes: usize) -> Result<()> {
        self.check_container(container, bytes as u64)?;
        let made = self.newest.as_mut().filter(|made| made.record.loid == container);
        if let Some(made) = made
            && made.record.container_bytes != bytes as u64
        {
            let before = made.record.clone();
            Arc::make_mut(&mut made.record).container_bytes = bytes as u64;
            let after = made.record.clone();
            self.put(Some(&*before), &*after);
        }
        Ok(())
    }

    /// The folder, or the nearest one around it that the command has not made itself.
    fn nearest_kept(&self, folder: Loid) -> Loid {
        let mut nearest = folder;
        while let Some(made) = self.made.get(&nearest) {
            nearest = made.folder;
        }
        nearest
    }

    /// The object that the command made last, if it is that one.
    pub(crate) fn made(&self, loid: Loid) -> Option<&Object> {
        self.newest.as_ref().filter(|object| object.record.loid == loid)
    }

    /// Whether the command has made the object.
    pub(crate) fn has_made(&self, loid: Loid) -> bool {
        self.made.contains_key(&loid)
    }

    /// Notes what became of an object's own rows between `before` and `after`; with a change, or
    /// with rows noted by the command (`touched`), raises the revision and stamps the record.
    /// Returns whether it did.
    ///
    /// # Errors
    /// `InvalidAttributes`; `TooLarge` for a container that would grow beyond its limit;
    /// [`Fault::Unchecked`].
    pub(crate) fn settle<S: State>(
        &mut self,
        before_state: &S,
        after_state: &mut S,
        touched: bool,
    ) -> Result<bool, Fault> {
        let (bytes_before, bytes) = (before_state.bytes() as u64, after_state.bytes() as u64);
        let (before, after) = (before_state.object(), after_state.object_mut());
        let attributes_changed = !Arc::ptr_eq(&before.attributes, &after.attributes);
        if attributes_changed || !Arc::ptr_eq(&before.record, &after.record) {
            let old = (&*before.record, before.attributes.attributes.as_ref());
            self.check_attributes(Some(old), &after.record, after.attributes.attributes.as_ref())?;
        }
        if attributes_changed {
            self.put(Some(&*before.attributes), &*after.attributes);
        }
        let record_changed = !Arc::ptr_eq(&before.record, &after.record);
        if !(record_changed || attributes_changed || touched) {
            return Ok(false);
        }
        // A container that is above its limit already, since that was lowered, may shrink.
        if bytes > bytes_before {
            self.check_container(before.record.loid, bytes)?;
        }
        let record = Arc::make_mut(&mut after.record);
        record.container_bytes = bytes;
        record.revision = before.record.revision + self.events_of(before.record.loid);
        // The recycle bin notes when and by whom an object came there. Back from it, an object is
        // what it was.
        let by_bin = record.bin.is_some() || before.record.bin.is_some();
        let keeps_stamp = self.keeps_stamp || by_bin || self.keeping_stamp.contains(&record.loid);
        if !keeps_stamp {
            record.modified = self.now_s();
            record.last_modifier = self.who.user.clone();
        }
        self.put(Some(&*before.record), &*after.record);
        Ok(true)
    }

    /// The rows noted so far.
    pub(crate) fn changes(&self) -> &[Change] {
        self.rows.noted()
    }

    /// The changes noted so far, and what follows from all of them: how much lies in the folders
    /// whose names have changed.
    ///
    /// # Errors
    /// [`Context::check_size`]; what the store says.
    pub(crate) fn into_noted(self) -> Result<Noted, Fault> {
        self.check_size()?;
        let counts = recount(self.look, self.rows.noted())?;
        let bytes = self.rows.bytes();
        let mut changes = self.rows.into_noted();
        changes.extend(counts);
        Ok(Noted { changes, bytes, told: self.told, statuses: self.statuses.changes })
    }
}
