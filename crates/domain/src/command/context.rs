//! The context of a command: what it may read beside its state, and what it notes.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::{HashMap, HashMapExt};

use super::rows::{ChangeLimits, NotedRows, SMALL};
use super::statuses::CommandStatuses;
use super::{CallerIdentity, CommandFault, NumberSource};
use crate::error::{Code, Error, Result};
use crate::expect::Precondition;
use crate::family::State;
use crate::history::FormerRowNotes;
use crate::id::Loid;
use crate::object::{
    Attributes, NewContent, Object, ObjectStanding, PathLimits, Record, SharedText, SmallBody, Version, depth_of,
    find_standing, links_of_all, recount,
};
use crate::readable::{ObjectRights, ReadCheck};
use crate::rules::{AttributeRules, RuleCheck};
use crate::store::{
    KeyRange, ReadLevel, Row, RowChange, RowPlace, RowReader, StoreError, Table, decode_value, encode_value,
};
use crate::workflow::WorkflowStatusChange;

/// The number of objects that one step changes below an object, unless configured otherwise.
pub const OBJECTS_PER_STEP: usize = 256;

/// The facts about subtrees that a command may use.
#[derive(Debug, Clone, Copy)]
pub struct SubtreeFacts {
    /// Whether changes of subtrees may be under way; if not, commands need not look for them.
    pub under_way: bool,
    /// The maximal number of objects that one step changes, including those that are notified.
    pub objects_per_step: usize,
    /// Whether locks below the changed object have been looked for; see
    /// [`CommandFault::NeedsLocks`].
    pub locks_seen: bool,
}

impl Default for SubtreeFacts {
    fn default() -> SubtreeFacts {
        SubtreeFacts { under_way: false, objects_per_step: OBJECTS_PER_STEP, locks_seen: false }
    }
}

/// The context of a command: its inputs beside the state, and the rows that it changes.
pub struct Context<'a> {
    /// Epoch milliseconds.
    pub now_ms: u64,
    /// The caller.
    pub who: &'a CallerIdentity,
    /// The facts about subtrees.
    pub subtrees: SubtreeFacts,
    pub(super) look: &'a dyn RowReader,
    numbers: &'a dyn NumberSource,
    readable: Option<&'a dyn ObjectRights>,
    rules: Option<&'a dyn AttributeRules>,
    /// Whether the objects come from another repository.
    imports: bool,
    limits: ChangeLimits,
    /// The locations of the objects that the command has made.
    made: HashMap<Loid, ObjectLocation>,
    /// The object that the command made last.
    newest: Option<Object>,
    expect: Option<&'a Precondition>,
    /// Whether the caller's expectation holds; `None` while the command has not named the object
    /// that it applies to.
    expected: Option<Result<()>>,
    pub(super) rows: NotedRows,
    pub(super) statuses: CommandStatuses<'a>,
    keeps_stamp: bool,
    /// The objects that keep their stamp, whatever else the command changes.
    keeping_stamp: BTreeSet<Loid>,
    mentions: EventMentions,
    former: FormerRowNotes,
}

/// The location of an object that the command has just made.
#[derive(Debug, Clone, Copy)]
struct ObjectLocation {
    folder: Loid,
    depth: usize,
}

/// The ids that an [`Event`](crate::store::Event) names.
#[derive(Debug, Clone, Default)]
pub struct ContainerMentions {
    /// The objects or parts.
    pub ids: Vec<String>,
    /// The ids that readers no longer see; `None` if the command has not said who sees what.
    pub withdrawn: Option<Vec<String>>,
    /// The ids that readers neither saw before nor see now; `None` likewise.
    pub unseen: Option<Vec<String>>,
}

/// The ids that the events of a command name. Each container's event names what concerns that
/// container; one object at most is named in all events. However many containers a command changes,
/// its events therefore name at most one id more than it has noted.
#[derive(Debug, Default)]
pub struct EventMentions {
    about: Option<String>,
    of: HashMap<Loid, ContainerMentions>,
}

impl EventMentions {
    /// Removes and returns the ids for the event of a container.
    pub fn take(&mut self, container: Loid) -> ContainerMentions {
        let mut concerned = self.of.remove(&container).unwrap_or_default();
        if let Some(about) = self.about.as_ref().filter(|about| !concerned.ids.contains(about)) {
            concerned.ids.insert(0, about.clone());
        }
        concerned
    }
}

/// The notes of a command after it was applied.
#[derive(Debug, Default)]
pub struct CommandNotes {
    /// Rows and index entries.
    pub changes: Vec<RowChange>,
    /// Bytes of the rows noted by the command.
    pub bytes: usize,
    /// The objects or parts that the events name.
    pub mentions: EventMentions,
    /// Changes of statuses.
    pub statuses: Vec<WorkflowStatusChange>,
    /// The rows before the command.
    pub former: FormerRowNotes,
    /// Whether events have the former rows. Those of objects from another repository have none.
    pub keeps_history: bool,
}

impl<'a> Context<'a> {
    /// Creates a context without notes, for a caller who may read everything.
    pub fn new(
        now_ms: u64,
        who: &'a CallerIdentity,
        look: &'a dyn RowReader,
        numbers: &'a dyn NumberSource,
    ) -> Context<'a> {
        Context {
            now_ms,
            who,
            subtrees: SubtreeFacts::default(),
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
            rows: NotedRows::new(),
            statuses: CommandStatuses::default(),
            mentions: EventMentions::default(),
            former: FormerRowNotes::default(),
            keeps_stamp: false,
            keeping_stamp: BTreeSet::new(),
        }
    }

    /// Restricts the caller's reads to `readable`; `None` allows everything.
    #[must_use]
    pub fn reading(self, readable: Option<&'a dyn ObjectRights>) -> Context<'a> {
        Context { readable, ..self }
    }

    /// Holds attribute texts to `rules`; `None` means no rules.
    #[must_use]
    pub fn held_to(self, rules: Option<&'a dyn AttributeRules>) -> Context<'a> {
        Context { rules, ..self }
    }

    /// States that the command's objects come from another repository. They are exempt from the
    /// rules for attribute texts and from the limit on the size of a change.
    pub fn imports(&mut self) {
        self.imports = true;
        self.rows.lift_limit();
    }

    /// Holds an attribute text to the rules before it is stored, with the record that its object or
    /// part will have. A stored text is only checked again if the record has changed in a field
    /// that rules depend on.
    ///
    /// # Errors
    /// `InvalidAttributes`; [`CommandFault::Unchecked`].
    pub fn check_attributes(
        &self,
        before: Option<(&Record, Option<&SharedText>)>,
        record: &Record,
        text: Option<&SharedText>,
    ) -> Result<(), CommandFault> {
        let (Some(rules), Some(text)) = (self.rules, text) else { return Ok(()) };
        let is_stored = before.is_some_and(|(old, old_text)| {
            (&old.type_name, &old.work_folder, old_text) == (&record.type_name, &record.work_folder, Some(text))
        });
        if is_stored {
            return Ok(());
        }
        match rules.check(record, text, self.imports)? {
            RuleCheck::Now => Ok(()),
            RuleCheck::Later => Err(CommandFault::Unchecked),
        }
    }

    /// Sets whether the command may be large, that is whether it has its work permit.
    #[must_use]
    pub fn admitting_large(mut self, admits_large: bool) -> Context<'a> {
        self.rows.admit_large(admits_large);
        self
    }

    /// Applies the configured limits for changes and containers.
    #[must_use]
    pub fn limited_by(mut self, limits: ChangeLimits) -> Context<'a> {
        self.rows.limit(limits.change_bytes);
        self.limits = limits;
        self
    }

    /// States how many parts or objects the command is about to alter. A command that does not know
    /// is measured by its rows. If it turns out to be large, its application was wasted.
    ///
    /// # Errors
    /// [`CommandFault::IsLarge`].
    pub fn alters(&self, parts: usize) -> Result<(), CommandFault> {
        if parts <= SMALL || self.rows.admits_large() { Ok(()) } else { Err(CommandFault::IsLarge) }
    }

    /// Checks that the notes so far are no larger than allowed. A command that reads or builds much
    /// in a loop calls this in each iteration.
    ///
    /// # Errors
    /// [`CommandFault::IsLarge`] where a small change was expected, otherwise `TooLarge`.
    pub fn check_size(&self) -> Result<(), CommandFault> {
        self.rows.check_size()
    }

    /// Sets what the caller expects of the changed object; `None` means nothing.
    #[must_use]
    pub fn expecting(self, expect: Option<&'a Precondition>) -> Context<'a> {
        Context { expect, ..self }
    }

    /// Holds an object to the caller's expectation: the object that a joint command is about, or
    /// that it writes over or removes. Each joint command calls this for at least one object
    /// whenever it succeeds. A command of one container is held to that container automatically. A
    /// failed expectation is reported last: a precondition only matters if the request would
    /// succeed without it (RFC 9110, 13.2.1).
    pub fn expects(&mut self, record: &Record) {
        if let Some(expect) = self.expect
            && self.expected.as_ref().is_none_or(|so_far| so_far.is_ok())
        {
            self.expected = Some(expect.check(record));
        }
    }

    /// Reports whether the caller names the present state of an object in `If-Match`, and so knows
    /// what a change replaces.
    pub fn names_present(&self, record: &Record) -> bool {
        self.expect.is_some_and(|expect| expect.names(record))
    }

    /// Reports whether the caller expects anything of the objects that the command is about.
    pub fn is_conditional(&self) -> bool {
        self.expect.is_some()
    }

    /// Checks that the caller's expectation holds for the objects that the command is about.
    ///
    /// # Errors
    /// `PreconditionFailed`; also for a command that has not named any object.
    pub fn check_expected(&mut self) -> Result<()> {
        match (self.expect, self.expected.take()) {
            (None, _) => Ok(()),
            (Some(_), Some(expected)) => expected,
            (Some(Precondition::Nothing), None) => Ok(()),
            (Some(_), None) => Err(Precondition::met_nothing()),
        }
    }

    /// Returns the refusal of a name that is taken. A caller who may not read the other object only
    /// learns that the name is taken.
    pub fn name_taken(&self, message: impl Into<String>, existing: Loid) -> CommandFault {
        match self.reads().and_then(|mut reads| reads.may_read(existing)) {
            Ok(true) => Error::duplicated(message, Some(existing)).into(),
            Ok(false) => Error::duplicated(message, None::<Loid>).into(),
            Err(error) => error.into(),
        }
    }

    /// Returns the check of what the caller may read at this moment.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reads(&self) -> Result<ReadCheck<'a>> {
        ReadCheck::over(self.readable, self.look)
    }

    /// Reports whether the caller may read everything. A count for any other caller must not reveal
    /// objects that are hidden from them.
    pub fn reads_all(&self) -> bool {
        self.readable.is_none()
    }

    /// Returns the current time in epoch seconds.
    pub fn now_s(&self) -> u64 {
        self.now_ms / 1000
    }

    /// Returns a number that was never used before, for loids and shortcuts.
    ///
    /// # Errors
    /// `Overloaded`, see [`NumberSource::next`].
    pub fn next_number(&self) -> Result<u64> {
        self.numbers.next()
    }

    /// Reads a row as the next change will find it.
    ///
    /// # Errors
    /// Errors of the store; a row that can't be decoded.
    pub fn look_up<R: Row>(&self, key: &RowPlace) -> Result<Option<R>, StoreError> {
        match self.look.get(ReadLevel::Latest, key.table, &key.key)? {
            Some(value) => Ok(Some(decode_value(R::FORMAT, &value)?)),
            None => Ok(None),
        }
    }

    /// Returns the rows of the store, for look-ups in indexes. Use [`ReadLevel::Latest`].
    pub fn look(&self) -> &'a dyn RowReader {
        self.look
    }

    /// Reports whether the object is alive. It still will be when the change is submitted, since
    /// commands that remove objects run alone.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_alive(&self, loid: Loid) -> Result<bool, StoreError> {
        let Some(record) = self.look.get(ReadLevel::Latest, Table::Objects, &loid.to_key())? else { return Ok(false) };
        if !self.subtrees.under_way {
            return Ok(true);
        }
        let record: Record = decode_value(Record::FORMAT, &record)?;
        Ok(!matches!(find_standing(self.look, ReadLevel::Latest, &record)?, ObjectStanding::Leaving(_)))
    }

    /// Puts a row and updates its index entries; `old` is the previous row.
    pub fn put<R: Row>(&mut self, old: Option<&R>, new: &R) {
        let place = new.place();
        if let Some(old) = old {
            if !old.same_index(new) {
                self.index_change(old, Some(new));
            }
            let old_place = old.place();
            self.note_former(&old_place, Some(old));
            if old_place != place {
                self.note_former::<R>(&place, None);
                self.set(old_place, None);
            }
        } else {
            self.note_former::<R>(&place, None);
            self.index_change_new(new);
        }
        self.set(place, Some(encode_value(R::FORMAT, new)));
    }

    /// Removes a row and its index entries.
    pub fn remove<R: Row>(&mut self, old: &R) {
        self.index_change(old, None);
        let place = old.place();
        self.note_former(&place, Some(old));
        self.set(place, None);
    }

    /// Notes a row before the command, for the history of its container.
    fn note_former<R: Row>(&mut self, place: &RowPlace, old: Option<&R>) {
        if R::KEEPS_PAST {
            self.former.note(place, || old.map(|old| encode_value(R::FORMAT, old)));
        }
    }

    /// Leaves a container that the command destroys out of the history.
    pub fn forget_former(&mut self, container: Loid) {
        self.former.forget(container);
    }

    /// Sets a row that has no index and whose value is already encoded.
    pub fn set(&mut self, key: RowPlace, value: Option<Bytes>) {
        self.rows.push(RowChange { table: key.table, key: key.key, value });
    }

    /// Names the object that the command is about, in the events of all containers that it changes.
    /// There is one such object; the first call counts. All other ids concern one container
    /// ([`Context::concerns`]).
    pub fn is_about(&mut self, object: Loid) {
        let about = self.mentions.about.get_or_insert_with(|| object.to_string());
        debug_assert_eq!(*about, object.to_string(), "a command is about one object");
    }

    /// Names an object or part in the event of a container.
    pub fn concerns(&mut self, container: Loid, id: impl std::fmt::Display) {
        self.mentions_of(container).ids.push(id.to_string());
    }

    /// Names a part that readers see only at times in the event of its container. `before` and
    /// `after` state whether they see it before and after the change.
    pub fn concerns_seen(&mut self, container: Loid, id: impl std::fmt::Display, before: bool, after: bool) {
        let id = id.to_string();
        let concerned = self.mentions_of(container);
        let withdrawn = concerned.withdrawn.get_or_insert_default();
        let unseen = concerned.unseen.get_or_insert_default();
        match (before, after) {
            (_, true) => {}
            (true, false) => withdrawn.push(id.clone()),
            (false, false) => unseen.push(id.clone()),
        }
        concerned.ids.push(id);
    }

    /// Returns the mentions in a container's event. An object that the command has just made has no
    /// event yet; the folder's event mentions it.
    fn mentions_of(&mut self, container: Loid) -> &mut ContainerMentions {
        let mut teller = container;
        while let Some(made) = self.made.get(&teller) {
            teller = made.folder;
        }
        self.mentions.of.entry(teller).or_default()
    }

    /// Marks the change as none of the object as readers have it, such as a lock. The revision is
    /// raised, but `modified` and `last_modifier` stay.
    pub fn keep_stamp(&mut self) {
        self.keeps_stamp = true;
    }

    /// Does what [`Context::keep_stamp`] does, for only one of the changed objects.
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

    /// Puts a version and its bytes under another author than the caller.
    pub fn put_version_of(&mut self, author: SharedText, old: Option<&Version>, loid: Loid, new: &NewContent, at: u64) {
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
    /// Errors of the store; a row that can't be decoded.
    pub fn remove_versions(&mut self, object: Loid) -> Result<(), StoreError> {
        // Versions share all of the key but its last part, the version's number.
        let key = object.to_key();
        let range = KeyRange::prefix(&key[..Loid::KEY_LEN - 4]);
        for (_, value) in self.look.scan(ReadLevel::Latest, Table::Versions, &range, usize::MAX, false)? {
            let version: Version = decode_value(Version::FORMAT, &value)?;
            self.set(SmallBody::key(version.loid), None);
            self.remove(&version);
        }
        Ok(())
    }

    /// Removes the links of objects or parts that are destroyed.
    pub fn remove_links(&mut self, of: &[Loid]) -> Result<(), StoreError> {
        for link in links_of_all(self.look, ReadLevel::Latest, of)? {
            self.remove(&link);
        }
        Ok(())
    }

    /// Returns the limits of the length and depth of paths.
    pub fn path_limits(&self) -> PathLimits {
        self.limits.paths
    }

    /// Refuses a location below `folder` that is deeper than allowed, and returns its depth
    /// otherwise. `levels` is 1 for an object directly in the folder, and more for one that has
    /// others below it.
    ///
    /// # Errors
    /// `InvalidPath`; errors of the store.
    pub fn check_depth(&self, folder: Loid, levels: usize) -> Result<usize, CommandFault> {
        let most = self.limits.paths.depth;
        let above = match self.made.get(&folder) {
            Some(made) => made.depth,
            None => depth_of(self.look, ReadLevel::Latest, folder, most)?,
        };
        if above + levels <= most {
            return Ok(above + levels);
        }
        // If the folder lies even deeper, `above` is not its true depth.
        let deep = if above > most { format!("more than {most}") } else { (above + levels).to_string() };
        let message =
            format!("Below the folder `{folder}` the path would have {deep} names; at most {most} are allowed.");
        Err(Error::new(Code::InvalidPath, message).with_source(folder).with_detail("limit", most).into())
    }

    /// Refuses a location in `folder` for an object with an unknown number of levels below it, if
    /// that is deeper than its old one. The old path had `depth` names, and nothing below it was
    /// too deep there.
    ///
    /// # Errors
    /// The errors of [`Context::check_depth`].
    pub fn check_no_deeper(&self, folder: Loid, depth: usize) -> Result<usize, CommandFault> {
        self.check_depth(folder, (self.limits.paths.depth + 1).saturating_sub(depth).max(1))
    }

    /// Puts a new object: its record, attribute texts, and their indexes. Its parts are put
    /// separately. All objects are made by this method, so none can lie too deep.
    ///
    /// # Errors
    /// `InvalidPath` for a location that is too deep; `InvalidAttributes`;
    /// [`CommandFault::IsLarge`] and `TooLarge` for earlier notes; errors of the store.
    pub fn create(&mut self, object: &Object) -> Result<(), CommandFault> {
        self.check_size()?;
        let Object { record, attributes } = object;
        if let Some(folder) = record.folder() {
            let depth = self.check_depth(folder, 1)?;
            self.made.insert(record.loid, ObjectLocation { folder, depth });
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

    /// Checks that a container may take so much memory.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn check_container(&self, container: Loid, bytes: u64) -> Result<()> {
        let most = self.limits.container_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "`{container}` would take {bytes} bytes of memory with its items or posts; at most {most} are allowed."
        );
        Err(Error::new(Code::TooLarge, message).with_source(container).with_detail("limit", most))
    }

    /// Notes the memory, in bytes, of a container that the command has just created with its parts.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn note_container_bytes(&mut self, container: Loid, bytes: usize) -> Result<()> {
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

    /// Returns the folder, or the nearest one around it that the command has not made itself.
    fn nearest_kept(&self, folder: Loid) -> Loid {
        let mut nearest = folder;
        while let Some(made) = self.made.get(&nearest) {
            nearest = made.folder;
        }
        nearest
    }

    /// Returns the object that the command made last, if it is that one.
    pub fn made(&self, loid: Loid) -> Option<&Object> {
        self.newest.as_ref().filter(|object| object.record.loid == loid)
    }

    /// Reports whether the command has made the object.
    pub fn has_made(&self, loid: Loid) -> bool {
        self.made.contains_key(&loid)
    }

    /// Notes the changes of an object's own rows between `before` and `after`. If there are any, or
    /// if the command has noted rows (`touched`), raises the revision and stamps the record.
    /// Returns whether it did.
    ///
    /// # Errors
    /// `InvalidAttributes`; `TooLarge` for a container that would grow beyond its limit;
    /// [`CommandFault::Unchecked`].
    pub fn finish_record<S: State>(
        &mut self,
        before_state: &S,
        after_state: &mut S,
        touched: bool,
    ) -> Result<bool, CommandFault> {
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
        // A container that already exceeds a lowered limit may shrink.
        if bytes > bytes_before {
            self.check_container(before.record.loid, bytes)?;
        }
        let record = Arc::make_mut(&mut after.record);
        record.container_bytes = bytes;
        record.revision = before.record.revision + self.events_of(before.record.loid);
        // The recycle bin has its own note of the time and user. A restored object is the same as
        // before.
        let by_bin = record.bin.is_some() || before.record.bin.is_some();
        let keeps_stamp = self.keeps_stamp || by_bin || self.keeping_stamp.contains(&record.loid);
        if !keeps_stamp {
            record.modified = self.now_s();
            record.last_modifier = self.who.user.clone();
        }
        if before.record.family.keeps_past() {
            self.former.note_record(&before.record, &after.record);
        }
        self.put(Some(&*before.record), &*after.record);
        Ok(true)
    }

    /// Returns the rows noted so far.
    pub fn changes(&self) -> &[RowChange] {
        self.rows.noted()
    }

    /// Returns the notes of the command, completed by derived rows: the counts of objects in the
    /// folders whose names have changed.
    ///
    /// # Errors
    /// The errors of [`Context::check_size`]; errors of the store.
    pub fn into_noted(self) -> Result<CommandNotes, CommandFault> {
        self.check_size()?;
        let counts = recount(self.look, self.rows.noted())?;
        let bytes = self.rows.bytes() + self.former.bytes();
        let mut changes = self.rows.into_noted();
        changes.extend(counts);
        Ok(CommandNotes {
            changes,
            bytes,
            mentions: self.mentions,
            statuses: self.statuses.changes,
            former: self.former,
            keeps_history: !self.imports,
        })
    }
}
