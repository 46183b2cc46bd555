//! The state of a topic in memory: its lineup, and those of its items.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::rows::{TopicAttachment, TopicDivider, TopicHead, TopicItem, TopicLineup, TopicLineupLine, id_of};
use super::{ITEM_TYPE, SUBITEM_TYPE};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::{MemberFate, State};
use crate::id::{Loid, ObjectUuid};
use crate::lineup::NewDivider;
use crate::object::{FolderKey, Object, SharedText};
use crate::part;
use crate::sequence::{MovableItem, NumberMap};
use crate::store::{Row, RowPlace};

/// An address of an item or subitem in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemAddress {
    /// The loid; the loid of a version matches no item.
    Loid(Loid),
    /// The uuid.
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

/// The state of a topic. A clone shares everything.
#[derive(Debug, Clone)]
pub struct TopicState {
    object: Object,
    head: Arc<TopicHead>,
    /// The items, and the dividers between them.
    own: TopicLineup,
    /// The number of an item → its subitems and the dividers between them. Has no empty lineups.
    below: OrdMap<u64, TopicLineup>,
    /// The id of a line → the number of the item in whose lineup it stands; [`OWN`] for the topic's
    /// own.
    under: NumberMap,
    by_uuid: OrdMap<ObjectUuid, Loid>,
    /// Attached objects, each with its item.
    attached: OrdSet<(Loid, Loid)>,
    /// The bytes of all items, subitems and dividers.
    bytes: usize,
}

/// A number that no item has.
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

/// Returns the approximate bytes of a line.
fn bytes_of(line: &TopicLineupLine) -> usize {
    // The other fields of a divider, and its index entries.
    const DIVIDER: usize = 384;
    match line {
        TopicLineupLine::Member(item) => item.bytes(),
        TopicLineupLine::Divider(divider) => DIVIDER + divider.title.len(),
    }
}

/// Returns the item in whose lineup a line stands.
fn parent_of(line: &TopicLineupLine) -> Option<Loid> {
    match line {
        TopicLineupLine::Member(item) => item.under(),
        TopicLineupLine::Divider(divider) => divider.under(),
    }
}

/// Returns a copy of the line for the lineup of an item of that topic, or of the topic itself.
fn moved_under(line: &TopicLineupLine, topic: Loid, under: Option<Loid>) -> TopicLineupLine {
    let under = under.map(FolderKey);
    match line {
        TopicLineupLine::Member(item) => {
            let mut item = TopicItem::clone(item);
            (item.topic, item.under, item.record.folder) = (topic, under, Some(FolderKey(topic)));
            if under.is_none() && &*item.record.type_name == SUBITEM_TYPE {
                item.record.type_name = ITEM_TYPE.into();
            }
            TopicLineupLine::Member(Arc::new(item))
        }
        TopicLineupLine::Divider(divider) => {
            TopicLineupLine::Divider(Arc::new(TopicDivider { container: topic, under, ..TopicDivider::clone(divider) }))
        }
    }
}

/// An item that was taken from its place to be put into another, with all lines below it.
pub(super) struct UprootedItem {
    item: Arc<TopicItem>,
    below: Vec<TopicLineupLine>,
}

impl UprootedItem {
    /// Returns the item's loid.
    pub fn loid(&self) -> Loid {
        self.item.loid()
    }

    /// Reports whether an object is attached to the item or to one of its subitems, hidden or not.
    pub fn holds(&self, object: Loid) -> bool {
        let mut items = self.below.iter().filter_map(TopicLineupLine::member).chain([&self.item]);
        items.any(|item| item.attachment.is_some_and(|attached| attached.object == object))
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        1 + self.below.len()
    }

    /// Returns the approximate bytes of the lines.
    pub fn bytes(&self) -> usize {
        self.item.bytes() + self.below.iter().map(bytes_of).sum::<usize>()
    }
}

impl TopicState {
    /// Creates a topic with these items, subitems and dividers, in any order.
    pub fn new(object: Object, head: TopicHead, items: Vec<TopicItem>, dividers: Vec<TopicDivider>) -> TopicState {
        let mut state = TopicState {
            object,
            head: Arc::new(head),
            own: TopicLineup::default(),
            below: OrdMap::default(),
            under: NumberMap::default(),
            by_uuid: OrdMap::default(),
            attached: OrdSet::default(),
            bytes: 0,
        };
        let items = items.into_iter().map(|item| TopicLineupLine::Member(Arc::new(item)));
        for line in items.chain(dividers.into_iter().map(|divider| TopicLineupLine::Divider(Arc::new(divider)))) {
            let under = parent_of(&line);
            state.note(&line);
            state.change_lineup(under, |lineup| lineup.keep(line));
        }
        state
    }

    /// Returns the title and description.
    pub fn head(&self) -> &TopicHead {
        &self.head
    }

    /// Returns the items, and the dividers between them.
    pub fn lineup(&self) -> &TopicLineup {
        &self.own
    }

    /// Returns the subitems of an item and the dividers between them; `None` if it has none.
    pub fn below(&self, item: Loid) -> Option<&TopicLineup> {
        self.below.get(&item.number)
    }

    /// Returns the number of items, subitems and dividers.
    pub fn lines(&self) -> usize {
        self.under.len()
    }

    /// Returns the item or subitem with this address.
    ///
    /// # Errors
    /// `ObjectNotFound` if the topic has no such item.
    pub fn get(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let loid = match address {
            ItemAddress::Loid(loid) => Some(loid),
            ItemAddress::Uuid(uuid) => self.by_uuid.get(&uuid).copied(),
        };
        let found = loid.and_then(|loid| self.place_of(loid).ok());
        found.map(|(_, item)| item).ok_or_else(|| self.not_held("item", address))
    }

    /// Returns the item or subitem with this loid, and its position in its lineup.
    ///
    /// # Errors
    /// Those of [`TopicState::get`].
    pub fn place_of(&self, item: Loid) -> Result<(usize, &Arc<TopicItem>)> {
        let found = self.find(id_of(item)).and_then(|(position, line)| Some((position, line.member()?)));
        let not_held = || self.not_held("item", ItemAddress::Loid(item));
        found.filter(|(_, found)| found.loid() == item).ok_or_else(not_held)
    }

    /// Returns the item with this address, which must not be a subitem.
    ///
    /// # Errors
    /// Those of [`TopicState::get`].
    pub fn item(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.get(address)?;
        if item.under.is_none() { Ok(item) } else { Err(self.not_held("item", address)) }
    }

    /// Returns the subitem with this address within an item.
    ///
    /// # Errors
    /// Those of [`TopicState::get`].
    pub fn subitem(&self, item: ItemAddress, subitem: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.item(item)?;
        let found = self.get(subitem)?;
        if found.under() == Some(item.loid()) {
            return Ok(found);
        }
        let message = format!("The topic item `{}` has no subitem `{subitem}`.", item.loid());
        Err(Error::new(Code::ObjectNotFound, message).with_source(subitem))
    }

    /// Returns the divider with this id in the lineup of an item, or of the topic itself.
    ///
    /// # Errors
    /// `ObjectNotFound` if there is none.
    pub fn divider(&self, under: Option<Loid>, id: u64) -> Result<&Arc<TopicDivider>> {
        let found = self.find(id.into()).and_then(|(_, line)| line.divider());
        found.filter(|divider| divider.under() == under).ok_or_else(|| self.not_held("divider", id))
    }

    /// Returns the line with this id, and its position in its lineup.
    pub fn find(&self, id: u128) -> Option<(usize, &TopicLineupLine)> {
        self.lineup_of(id)?.find(id)
    }

    fn lineup_of(&self, id: u128) -> Option<&TopicLineup> {
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

    /// Returns the lineup of an item, or of the topic itself.
    pub(super) fn lineup_under(&self, item: Option<Loid>) -> Option<&TopicLineup> {
        item.map_or(Some(&self.own), |item| self.below(item))
    }

    /// Returns the revision that the present change will have.
    fn next_revision(&self) -> u64 {
        self.object.record.revision + 1
    }

    /// Returns the item with the metadata of a change.
    fn stamped(&self, mut item: TopicItem, context: &Context<'_>) -> TopicItem {
        item.record.revision = self.next_revision();
        item.record.modified = context.now_s();
        item.record.last_modifier = context.who.user.clone();
        item
    }

    fn note(&mut self, line: &TopicLineupLine) {
        self.bytes += bytes_of(line);
        self.under.insert(line.id(), parent_of(line).map_or(OWN, id_of));
        if let Some(item) = line.member() {
            self.by_uuid.insert(item.record.uuid, item.loid());
            if let Some(attached) = &item.attachment {
                self.attached.insert((attached.object, item.loid()));
            }
        }
    }

    fn forget(&mut self, line: &TopicLineupLine) {
        self.bytes -= bytes_of(line);
        self.under.remove(line.id());
        if let Some(item) = line.member() {
            self.by_uuid.remove(&item.record.uuid);
            if let Some(attached) = &item.attachment {
                self.attached.remove(&(attached.object, item.loid()));
            }
        }
    }

    fn change_lineup<T>(&mut self, under: Option<Loid>, change: impl FnOnce(&mut TopicLineup) -> T) -> T {
        let Some(item) = under else { return change(&mut self.own) };
        let lineup = self.below.entry(item.number).or_default();
        let changed = change(lineup);
        if lineup.is_empty() {
            self.below.remove(&item.number);
        }
        changed
    }

    /// Inserts a new line in front of a place in the lineup of an item, or of the topic itself.
    /// `make` is called with its order number.
    pub(super) fn insert(
        &mut self,
        under: Option<Loid>,
        place: usize,
        make: impl FnOnce(u128) -> TopicLineupLine,
        context: &mut Context<'_>,
    ) {
        let line = self.change_lineup(under, |lineup| lineup.insert(place, make, context));
        context.concerns(self.head.loid, name_of(&line));
        self.note(&line);
    }

    /// Inserts an item as a new one of this topic.
    pub(super) fn insert_item(
        &mut self,
        mut item: TopicItem,
        under: Option<Loid>,
        place: usize,
        context: &mut Context<'_>,
    ) {
        (item.topic, item.under, item.record.revision) = (self.head.loid, under.map(FolderKey), self.next_revision());
        context.note_new_status(self.head.loid, &item.record);
        self.insert(under, place, |order| TopicLineupLine::Member(Arc::new(item).at(order)), context);
    }

    /// Inserts a divider with this id.
    pub(super) fn insert_divider(
        &mut self,
        id: u64,
        under: Option<Loid>,
        title: SharedText,
        place: usize,
        context: &mut Context<'_>,
    ) {
        let new = TopicDivider::new(self.head.loid, under, id, title);
        self.insert(under, place, |order| TopicLineupLine::Divider(Arc::new(new.at(order))), context);
    }

    /// Replaces an item with its new state, at its place or at another place of its lineup.
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
            // The change of the status is a separate event, after that of the rest.
            new.record.revision += 1;
        }
        self.change(&TopicLineupLine::Member(old.clone()), TopicLineupLine::Member(Arc::new(new)), place, context);
    }

    /// Sets the workflow status of an item or subitem. Setting the present status changes nothing.
    ///
    /// # Errors
    /// `ObjectNotFound` if the topic has no such item.
    pub fn set_status(
        &mut self,
        item: Loid,
        status: &SharedText,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        let old = self.get(ItemAddress::Loid(item))?.clone();
        if old.record.status.as_ref() != Some(status) {
            self.change_status(&old, status.clone(), context);
        }
        Ok(())
    }

    /// Changes only the workflow status of an item.
    pub(super) fn change_status(&mut self, old: &Arc<TopicItem>, status: SharedText, context: &mut Context<'_>) {
        let mut new = self.stamped(TopicItem::clone(old), context);
        new.record.status = Some(status);
        context.note_status(self.head.loid, &old.record, &new.record);
        let begun = context.rows_noted();
        self.change(&TopicLineupLine::Member(old.clone()), TopicLineupLine::Member(Arc::new(new)), None, context);
        context.changes_only_status(self.head.loid, begun);
    }

    /// Changes the given fields of a divider.
    pub(super) fn change_divider(
        &mut self,
        old: &Arc<TopicDivider>,
        said: &NewDivider,
        place: Option<usize>,
        context: &mut Context<'_>,
    ) {
        let new = TopicDivider { title: said.title.as_ref().unwrap_or(&old.title).clone(), ..TopicDivider::clone(old) };
        let old = TopicLineupLine::Divider(old.clone());
        let place = place.filter(|place| !self.stands_at(&old, *place));
        if place.is_some() || old.divider().is_some_and(|old| **old != new) {
            context.concerns(self.head.loid, name_of(&old));
            self.change(&old, TopicLineupLine::Divider(Arc::new(new)), place, context);
        }
    }

    /// Reports whether a line already stands where a move to that place of its lineup would put it.
    pub(super) fn stands_at(&self, line: &TopicLineupLine, place: usize) -> bool {
        self.lineup_of(line.id()).is_some_and(|lineup| lineup.stands_at(line.id(), place))
    }

    fn change(&mut self, old: &TopicLineupLine, new: TopicLineupLine, place: Option<usize>, context: &mut Context<'_>) {
        // The keys that the line is found by, and its lineup, stay the same.
        self.bytes = self.bytes - bytes_of(old) + bytes_of(&new);
        let attached =
            |line: &TopicLineupLine| line.member().and_then(|item| Some((item.attachment?.object, item.loid())));
        let (before, after) = (attached(old), attached(&new));
        if before != after {
            before.map(|before| self.attached.remove(&before));
            after.map(|after| self.attached.insert(after));
        }
        self.change_lineup(parent_of(old), |lineup| match place {
            None => lineup.replace(old, new, context),
            Some(place) => lineup.shift(old, &new, place, context),
        });
    }

    /// Removes lines permanently, with all lines below them.
    ///
    /// # Errors
    /// Store errors.
    pub(super) fn take(&mut self, lines: &[TopicLineupLine], context: &mut Context<'_>) -> Result<(), CommandFault> {
        let mut gone = Vec::new();
        for line in lines {
            if let Some(item) = line.member() {
                gone.extend(self.all_below(item.loid()));
            }
            gone.push(line.clone());
        }
        let items: Vec<Loid> = gone.iter().filter_map(TopicLineupLine::member).map(|item| item.loid()).collect();
        part::erase_plain(&items, context)?;
        for line in &gone {
            self.forget(line);
            self.change_lineup(parent_of(line), |lineup| lineup.take(line, context));
        }
        Ok(())
    }

    /// Returns the number of lines of an item, itself included.
    pub(super) fn lines_of(&self, item: Loid) -> usize {
        1 + self.below(item).map_or(0, TopicLineup::len)
    }

    fn all_below(&self, item: Loid) -> Vec<TopicLineupLine> {
        self.below(item).into_iter().flat_map(TopicLineup::lines).cloned().collect()
    }

    /// Takes an item out, with all lines below it. Its rows stay as they are until
    /// [`TopicState::plant`] rewrites them.
    pub(super) fn uproot(&mut self, item: &Arc<TopicItem>) -> UprootedItem {
        let below = self.all_below(item.loid());
        for line in below.iter().chain([&TopicLineupLine::Member(item.clone())]) {
            self.forget(line);
            self.change_lineup(parent_of(line), |lineup| lineup.let_go(line));
        }
        UprootedItem { item: item.clone(), below }
    }

    /// Inserts an uprooted item in front of a place among this topic's items, with all lines below
    /// it.
    pub(super) fn plant(&mut self, uprooted: &UprootedItem, place: usize, context: &mut Context<'_>) {
        let (topic, item) = (self.head.loid, uprooted.item.loid());
        let lines = [(TopicLineupLine::Member(uprooted.item.clone()), None, place)];
        let below = uprooted.below.iter().map(|line| (line.clone(), Some(item), usize::MAX));
        for (old, under, place) in lines.into_iter().chain(below) {
            let mut new = moved_under(&old, topic, under);
            if let TopicLineupLine::Member(item) = &new {
                new = TopicLineupLine::Member(Arc::new(self.stamped(TopicItem::clone(item), context)));
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

    /// Applies the fate of an object to the items that it is attached to.
    pub(super) fn member(&mut self, member: Loid, becomes: MemberFate, context: &mut Context<'_>) {
        let from = (member, Loid { number: 0, ..member });
        let holders: Vec<Loid> =
            self.attached.range(from..).take_while(|(object, _)| *object == member).map(|(_, item)| *item).collect();
        for holder in holders {
            let Some(old) = self.find(id_of(holder)).and_then(|(_, line)| line.member()).cloned() else { continue };
            let attachment = match becomes {
                MemberFate::Hidden => Some(TopicAttachment { object: member, hidden: true }),
                MemberFate::Shown => Some(TopicAttachment { object: member, hidden: false }),
                MemberFate::Gone => None,
            };
            if old.attachment != attachment {
                let mut new = TopicItem { attachment, ..TopicItem::clone(&old) };
                // No caller has changed the item, but readers see a different one.
                new.record.revision = self.next_revision();
                self.change(&TopicLineupLine::Member(old), TopicLineupLine::Member(Arc::new(new)), None, context);
            }
        }
    }

    /// Removes all rows of a topic that is being destroyed.
    ///
    /// # Errors
    /// Store errors.
    pub(super) fn dissolve(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        self.clear(context)?;
        context.remove(&*self.head);
        Ok(())
    }

    /// Removes all lines.
    ///
    /// # Errors
    /// Store errors.
    pub(super) fn clear(&mut self, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let lines: Vec<TopicLineupLine> = self.own.lines().cloned().collect();
        self.take(&lines, context)
    }

    /// Returns the places of the rows that this state should have among the parts, for tests and
    /// checks.
    pub fn rows(&self) -> Vec<RowPlace> {
        let lines = self.own.lines().chain(self.below.values().flat_map(TopicLineup::lines));
        let places = lines.map(|line| match line {
            TopicLineupLine::Member(item) => item.place(),
            TopicLineupLine::Divider(divider) => divider.place(),
        });
        std::iter::once(self.head.place()).chain(places).collect()
    }
}

/// Returns the name of a line in events.
pub(super) fn name_of(line: &TopicLineupLine) -> String {
    match line {
        TopicLineupLine::Member(item) => item.loid().to_string(),
        TopicLineupLine::Divider(divider) => divider.id.to_string(),
    }
}
