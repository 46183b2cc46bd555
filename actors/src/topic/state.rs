//! A topic in memory: its lineup, and those of its items.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::rows::{Attached, Divider, Line, Lineup, TopicHead, TopicItem, id_of};
use super::{ITEM_TYPE, SUBITEM_TYPE};
use crate::command::{Context, Fault};
use crate::error::{Code, Error, Result};
use crate::family::{Fate, State};
use crate::id::{Loid, ObjectUuid};
use crate::lineup::NewDivider;
use crate::object::{FolderKey, Object, Text};
use crate::part;
use crate::sequence::{Movable, Numbers};
use crate::store::{Key, Row};

/// What a call names an item or subitem by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemAddress {
    /// Its loid; that of a version names no item.
    Loid(Loid),
    /// Its uuid.
    Uuid(ObjectUuid),
}

impl std::fmt::Display for ItemAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ItemAddress::Loid(loid) => loid.fmt(f),
            ItemAddress::Uuid(uuid) => uuid.fmt(f),
        }
    }
}

/// See the module's head. A clone shares everything.
#[derive(Debug, Clone)]
pub struct TopicState {
    object: Object,
    head: Arc<TopicHead>,
    /// Items, and dividers between them.
    own: Lineup,
    /// Number of an item → its subitems, and dividers between them; only where there are any.
    below: OrdMap<u64, Lineup>,
    /// Id of a line → number of the item in whose lineup it stands; [`OWN`] for the topic's own.
    under: Numbers,
    by_uuid: OrdMap<ObjectUuid, Loid>,
    /// Objects and the items that they hang on.
    attached: OrdSet<(Loid, Loid)>,
    /// What items, subitems and dividers take together.
    bytes: usize,
}

/// No item has that number.
const OWN: u128 = 0;

impl State for TopicState {
    fn object(&self) -> &Object {
        &self.object
    }

    fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn bytes(&self) -> usize {
        self.object.bytes() + self.head.title.len() + self.head.description.len() + self.bytes
    }
}

/// Bytes that a line takes, about.
fn bytes_of(line: &Line) -> usize {
    // The rest of a divider, and what finds it.
    const DIVIDER: usize = 384;
    match line {
        Line::Member(item) => item.bytes(),
        Line::Divider(divider) => DIVIDER + divider.title.len(),
    }
}

/// The item in whose lineup a line stands.
fn under(line: &Line) -> Option<Loid> {
    match line {
        Line::Member(item) => item.under(),
        Line::Divider(divider) => divider.under(),
    }
}

/// The same line in the lineup of an item, or of the topic itself, of that topic.
fn moved_under(line: &Line, topic: Loid, under: Option<Loid>) -> Line {
    let under = under.map(FolderKey);
    match line {
        Line::Member(item) => {
            let mut item = TopicItem::clone(item);
            (item.topic, item.under, item.record.folder) = (topic, under, Some(FolderKey(topic)));
            if under.is_none() && &*item.record.type_name == SUBITEM_TYPE {
                item.record.type_name = ITEM_TYPE.into();
            }
            Line::Member(Arc::new(item))
        }
        Line::Divider(divider) => {
            Line::Divider(Arc::new(Divider { container: topic, under, ..Divider::clone(divider) }))
        }
    }
}

/// An item that has left its place, to be put into another: with all that stands below it.
pub(super) struct Uprooted {
    item: Arc<TopicItem>,
    below: Vec<Line>,
}

impl Uprooted {
    /// The item.
    pub fn loid(&self) -> Loid {
        self.item.loid()
    }

    /// Whether an object hangs on the item, or on one of its subitems; be that shown or not.
    pub fn holds(&self, object: Loid) -> bool {
        let mut items = self.below.iter().filter_map(Line::member).chain([&self.item]);
        items.any(|item| item.attachment.is_some_and(|attached| attached.object == object))
    }

    /// How many lines these are.
    pub fn lines(&self) -> usize {
        1 + self.below.len()
    }

    /// Bytes that they take, about.
    pub fn bytes(&self) -> usize {
        self.item.bytes() + self.below.iter().map(bytes_of).sum::<usize>()
    }
}

impl TopicState {
    /// A topic with these items, subitems and dividers, in any order.
    pub fn new(object: Object, head: TopicHead, items: Vec<TopicItem>, dividers: Vec<Divider>) -> TopicState {
        let mut state = TopicState {
            object,
            head: Arc::new(head),
            own: Lineup::default(),
            below: OrdMap::default(),
            under: Numbers::default(),
            by_uuid: OrdMap::default(),
            attached: OrdSet::default(),
            bytes: 0,
        };
        let items = items.into_iter().map(|item| Line::Member(Arc::new(item)));
        for line in items.chain(dividers.into_iter().map(|divider| Line::Divider(Arc::new(divider)))) {
            let under = under(&line);
            state.note(&line);
            state.change_lineup(under, |lineup| lineup.keep(line));
        }
        state
    }

    /// What it has beside record and items.
    pub fn head(&self) -> &TopicHead {
        &self.head
    }

    /// Its items, and dividers between them.
    pub fn lineup(&self) -> &Lineup {
        &self.own
    }

    /// The subitems of an item, and dividers between them; `None`: none.
    pub fn below(&self, item: Loid) -> Option<&Lineup> {
        self.below.get(&item.number)
    }

    /// How many items, subitems and dividers there are.
    pub fn lines(&self) -> usize {
        self.under.len()
    }

    /// The item or subitem so named.
    ///
    /// # Errors
    /// `ObjectNotFound` when the topic has none of that name.
    pub fn get(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let loid = match address {
            ItemAddress::Loid(loid) => Some(loid),
            ItemAddress::Uuid(uuid) => self.by_uuid.get(&uuid).copied(),
        };
        let found = loid.and_then(|loid| self.place_of(loid).ok());
        found.map(|(_, item)| item).ok_or_else(|| self.not_held("item", address))
    }

    /// The item or subitem with that loid, and its position in its lineup.
    ///
    /// # Errors
    /// As [`TopicState::get`].
    pub fn place_of(&self, item: Loid) -> Result<(usize, &Arc<TopicItem>)> {
        let found = self.find(id_of(item)).and_then(|(position, line)| Some((position, line.member()?)));
        let not_held = || self.not_held("item", ItemAddress::Loid(item));
        found.filter(|(_, found)| found.loid() == item).ok_or_else(not_held)
    }

    /// The item so named, which is no subitem.
    ///
    /// # Errors
    /// As [`TopicState::get`].
    pub fn item(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.get(address)?;
        if item.under.is_none() { Ok(item) } else { Err(self.not_held("item", address)) }
    }

    /// The subitem of an item so named.
    ///
    /// # Errors
    /// As [`TopicState::get`].
    pub fn subitem(&self, item: ItemAddress, subitem: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.item(item)?;
        let found = self.get(subitem)?;
        if found.under() == Some(item.loid()) {
            return Ok(found);
        }
        let message = format!("The topic item `{}` has no subitem `{subitem}`.", item.loid());
        Err(Error::new(Code::ObjectNotFound, message).with_source(subitem))
    }

    /// The divider of that id in the lineup of an item, or of the topic itself.
    ///
    /// # Errors
    /// `ObjectNotFound` when there is none.
    pub fn divider(&self, under: Option<Loid>, id: u64) -> Result<&Arc<Divider>> {
        let found = self.find(id.into()).and_then(|(_, line)| line.divider());
        found.filter(|divider| divider.under() == under).ok_or_else(|| self.not_held("divider", id))
    }

    /// The line of that id, and its position in its lineup.
    pub fn find(&self, id: u128) -> Option<(usize, &Line)> {
        self.lineup_of(id)?.find(id)
    }

    fn lineup_of(&self, id: u128) -> Option<&Lineup> {
        match self.under.get(id)? {
            OWN => Some(&self.own),
            item => self.below.get(&u64::try_from(item).ok()?),
        }
    }

    fn not_held(&self, what: &str, address: impl std::fmt::Display) -> Error {
        let topic = self.head.loid;
        let message = format!("The topic `{topic}` has no {what} `{address}`.");
        Error::new(Code::ObjectNotFound, message).with_source(address)
    }

    /// The lineup of an item, or of the topic itself.
    pub(super) fn lineup_under(&self, item: Option<Loid>) -> Option<&Lineup> {
        item.map_or(Some(&self.own), |item| self.below(item))
    }

    /// The revision that the change under way will have.
    fn next_revision(&self) -> u64 {
        self.object.record.revision + 1
    }

    /// An item as it is after a change of it.
    fn stamped(&self, mut item: TopicItem, context: &Context<'_>) -> TopicItem {
        item.record.revision = self.next_revision();
        item.record.modified = context.now_s();
        item.record.last_modifier = context.who.user.clone();
        item
    }

    fn note(&mut self, line: &Line) {
        self.bytes += bytes_of(line);
        self.under.insert(line.id(), under(line).map_or(OWN, id_of));
        if let Some(item) = line.member() {
            self.by_uuid.insert(item.record.uuid, item.loid());
            if let Some(attached) = &item.attachment {
                self.attached.insert((attached.object, item.loid()));
            }
        }
    }

    fn forget(&mut self, line: &Line) {
        self.bytes -= bytes_of(line);
        self.under.remove(line.id());
        if let Some(item) = line.member() {
            self.by_uuid.remove(&item.record.uuid);
            if let Some(attached) = &item.attachment {
                self.attached.remove(&(attached.object, item.loid()));
            }
        }
    }

    fn change_lineup<T>(&mut self, under: Option<Loid>, change: impl FnOnce(&mut Lineup) -> T) -> T {
        let Some(item) = under else { return change(&mut self.own) };
        let lineup = self.below.entry(item.number).or_default();
        let changed = change(lineup);
        if lineup.is_empty() {
            self.below.remove(&item.number);
        }
        changed
    }

    /// Puts a new line in front of a place of the lineup of an item, or of the topic itself; `make`
    /// is given its order number.
    pub(super) fn insert(
        &mut self,
        under: Option<Loid>,
        place: usize,
        make: impl FnOnce(u128) -> Line,
        context: &mut Context<'_>,
    ) {
        let line = self.change_lineup(under, |lineup| lineup.insert(place, make, context));
        context.concerns(self.head.loid, name_of(&line));
        self.note(&line);
    }

    /// Puts an item where it belongs, as a new one of this topic.
    pub(super) fn insert_item(
        &mut self,
        mut item: TopicItem,
        under: Option<Loid>,
        place: usize,
        context: &mut Context<'_>,
    ) {
        (item.topic, item.under, item.record.revision) = (self.head.loid, under.map(FolderKey), self.next_revision());
        context.note_new_status(self.head.loid, &item.record);
        self.insert(under, place, |order| Line::Member(Arc::new(item).at(order)), context);
    }

    /// Puts a divider with that id.
    pub(super) fn insert_divider(
        &mut self,
        id: u64,
        under: Option<Loid>,
        title: Text,
        place: usize,
        context: &mut Context<'_>,
    ) {
        let new = Divider::new(self.head.loid, under, id, title);
        self.insert(under, place, |order| Line::Divider(Arc::new(new.at(order))), context);
    }

    /// Puts an item in the place of what it was, or at another place of its lineup.
    pub(super) fn change_item(
        &mut self,
        old: &Arc<TopicItem>,
        new: TopicItem,
        place: Option<usize>,
        context: &mut Context<'_>,
    ) {
        context.concerns(self.head.loid, old.loid());
        let mut new = self.stamped(new, context);
        if old.record.status != new.record.status {
            context.note_status(self.head.loid, &old.record, &new.record);
            // The change of the status is an event of its own, after that of the rest.
            new.record.revision += 1;
        }
        self.change(&Line::Member(old.clone()), Line::Member(Arc::new(new)), place, context);
    }

    /// Gives an item or subitem a workflow status; the present one again changes nothing.
    ///
    /// # Errors
    /// `ObjectNotFound` when the topic has no such item.
    pub(crate) fn set_status(&mut self, item: Loid, status: &Text, context: &mut Context<'_>) -> Result<(), Fault> {
        let old = self.get(ItemAddress::Loid(item))?.clone();
        if old.record.status.as_ref() != Some(status) {
            self.change_status(&old, status.clone(), context);
        }
        Ok(())
    }

    /// Changes nothing of an item but its workflow status.
    pub(super) fn change_status(&mut self, old: &Arc<TopicItem>, status: Text, context: &mut Context<'_>) {
        let mut new = self.stamped(TopicItem::clone(old), context);
        new.record.status = Some(status);
        context.note_status(self.head.loid, &old.record, &new.record);
        let begun = context.rows_noted();
        self.change(&Line::Member(old.clone()), Line::Member(Arc::new(new)), None, context);
        context.changes_only_status(self.head.loid, begun);
    }

    /// Changes what is said of a divider.
    pub(super) fn change_divider(
        &mut self,
        old: &Arc<Divider>,
        said: &NewDivider,
        place: Option<usize>,
        context: &mut Context<'_>,
    ) {
        let new = Divider { title: said.title.as_ref().unwrap_or(&old.title).clone(), ..Divider::clone(old) };
        let old = Line::Divider(old.clone());
        let place = place.filter(|place| !self.stands_at(&old, *place));
        if place.is_some() || old.divider().is_some_and(|old| **old != new) {
            context.concerns(self.head.loid, name_of(&old));
            self.change(&old, Line::Divider(Arc::new(new)), place, context);
        }
    }

    /// Whether a line stands where one that is moved to that place of its lineup would stand.
    pub(super) fn stands_at(&self, line: &Line, place: usize) -> bool {
        self.lineup_of(line.id()).is_some_and(|lineup| lineup.stands_at(line.id(), place))
    }

    fn change(&mut self, old: &Line, new: Line, place: Option<usize>, context: &mut Context<'_>) {
        // What it is found by, and the lineup that it stands in, stay.
        self.bytes = self.bytes - bytes_of(old) + bytes_of(&new);
        let attached = |line: &Line| line.member().and_then(|item| Some((item.attachment?.object, item.loid())));
        let (before, after) = (attached(old), attached(&new));
        if before != after {
            before.map(|before| self.attached.remove(&before));
            after.map(|after| self.attached.insert(after));
        }
        self.change_lineup(under(old), |lineup| match place {
            None => lineup.replace(old, new, context),
            Some(place) => lineup.shift(old, &new, place, context),
        });
    }

    /// Takes lines out for good, with all that stands below them.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn take(&mut self, lines: &[Line], context: &mut Context<'_>) -> Result<(), Fault> {
        let mut gone = Vec::new();
        for line in lines {
            if let Some(item) = line.member() {
                gone.extend(self.all_below(item.loid()));
            }
            gone.push(line.clone());
        }
        let items: Vec<Loid> = gone.iter().filter_map(Line::member).map(|item| item.loid()).collect();
        part::erase_plain(&items, context)?;
        for line in &gone {
            self.forget(line);
            self.change_lineup(under(line), |lineup| lineup.take(line, context));
        }
        Ok(())
    }

    /// How many lines an item is, with those below it.
    pub(super) fn lines_of(&self, item: Loid) -> usize {
        1 + self.below(item).map_or(0, Lineup::len)
    }

    fn all_below(&self, item: Loid) -> Vec<Line> {
        self.below(item).into_iter().flat_map(Lineup::lines).cloned().collect()
    }

    /// Lets an item go with all that stands below it. Its rows stay as they are until
    /// [`TopicState::plant`] writes them.
    pub(super) fn uproot(&mut self, item: &Arc<TopicItem>) -> Uprooted {
        let below = self.all_below(item.loid());
        for line in below.iter().chain([&Line::Member(item.clone())]) {
            self.forget(line);
            self.change_lineup(under(line), |lineup| lineup.let_go(line));
        }
        Uprooted { item: item.clone(), below }
    }

    /// Puts an item that was let go in front of a place among this topic's items, with all that
    /// stood below it.
    pub(super) fn plant(&mut self, uprooted: &Uprooted, place: usize, context: &mut Context<'_>) {
        let (topic, item) = (self.head.loid, uprooted.item.loid());
        let lines = [(Line::Member(uprooted.item.clone()), None, place)];
        let below = uprooted.below.iter().map(|line| (line.clone(), Some(item), usize::MAX));
        for (old, under, place) in lines.into_iter().chain(below) {
            let mut new = moved_under(&old, topic, under);
            if let Line::Member(item) = &new {
                new = Line::Member(Arc::new(self.stamped(TopicItem::clone(item), context)));
            }
            let kept = self.change_lineup(under, |lineup| lineup.insert_moved(&old, &new, place, context));
            self.note(&kept);
        }
        context.concerns(topic, item);
    }

    /// Sets the head.
    pub(super) fn set_head(&mut self, head: TopicHead, context: &mut Context<'_>) {
        if head != *self.head {
            context.put(Some(&*self.head), &head);
            self.head = Arc::new(head);
        }
    }

    /// Does what becomes of an object to the items that it hangs on.
    pub(super) fn member(&mut self, member: Loid, becomes: Fate, context: &mut Context<'_>) {
        let from = (member, Loid { number: 0, ..member });
        let holders: Vec<Loid> =
            self.attached.range(from..).take_while(|(object, _)| *object == member).map(|(_, item)| *item).collect();
        for holder in holders {
            let Some(old) = self.find(id_of(holder)).and_then(|(_, line)| line.member()).cloned() else { continue };
            let attachment = match becomes {
                Fate::Hidden => Some(Attached { object: member, hidden: true }),
                Fate::Shown => Some(Attached { object: member, hidden: false }),
                Fate::Gone => None,
            };
            if old.attachment != attachment {
                let mut new = TopicItem { attachment, ..TopicItem::clone(&old) };
                // Nobody has changed the item, but readers see another one.
                new.record.revision = self.next_revision();
                self.change(&Line::Member(old), Line::Member(Arc::new(new)), None, context);
            }
        }
    }

    /// The topic ceases to be: all that it has goes.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        self.clear(context)?;
        context.remove(&*self.head);
        Ok(())
    }

    /// Takes everything out.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn clear(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        let lines: Vec<Line> = self.own.lines().cloned().collect();
        self.take(&lines, context)
    }

    /// The rows that this state should have among the parts, for tests and checks.
    pub fn rows(&self) -> Vec<Key> {
        let lines = self.own.lines().chain(self.below.values().flat_map(Lineup::lines));
        let places = lines.map(|line| match line {
            Line::Member(item) => item.place(),
            Line::Divider(divider) => divider.place(),
        });
        std::iter::once(self.head.place()).chain(places).collect()
    }
}

/// What events name a line by.
pub(super) fn name_of(line: &Line) -> String {
    match line {
        Line::Member(item) => item.loid().to_string(),
        Line::Divider(divider) => divider.id.to_string(),
    }
}
