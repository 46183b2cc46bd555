//! The items of a topic in memory.

use std::fmt;
use std::sync::Arc;

use super::{ITEM_TYPE, SUBITEM_TYPE, Topic, TopicAttachment, TopicItem, TopicState};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::{MemberFate, State};
use crate::id::{Loid, ObjectUuid};
use crate::object::{FolderKey, SharedText};
use crate::planning::{Divider, Line, LineupEntry};

/// An address of an item or subitem in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemAddress {
    /// The loid; the loid of a version matches no item.
    Loid(Loid),
    /// The uuid.
    Uuid(ObjectUuid),
}

impl fmt::Display for ItemAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemAddress::Loid(loid) => loid.fmt(f),
            ItemAddress::Uuid(uuid) => uuid.fmt(f),
        }
    }
}

/// An item that was taken from its place to be put into another, with all lines below it.
pub(super) struct UprootedItem {
    item: Loid,
    /// The item itself, then the lines below it.
    lines: Vec<Line<Topic>>,
}

impl UprootedItem {
    /// Returns the item's loid.
    pub fn loid(&self) -> Loid {
        self.item
    }

    /// Reports whether an object is attached to the item or to one of its subitems, hidden or not.
    pub fn holds(&self, object: Loid) -> bool {
        let mut items = self.lines.iter().filter_map(Line::member);
        items.any(|item| item.attachment.is_some_and(|attached| attached.object == object))
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Returns the approximate bytes of the lines.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(Line::bytes).sum()
    }
}

impl TopicState {
    /// Returns the item or subitem with this address.
    ///
    /// # Errors
    /// `ObjectNotFound` if the topic has no such item.
    pub fn get(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let loid = match address {
            ItemAddress::Loid(loid) => Some(loid),
            ItemAddress::Uuid(uuid) => self.index.by_uuid.get(&uuid).copied(),
        };
        let found = loid.and_then(|loid| self.place_of(loid).ok());
        found.map(|(_, item)| item).ok_or_else(|| self.not_held("item", address))
    }

    /// Returns the item or subitem with this loid, and its position in its lineup.
    ///
    /// # Errors
    /// The errors of [`TopicState::get`].
    pub fn place_of(&self, item: Loid) -> Result<(usize, &Arc<TopicItem>)> {
        let found = self.find(item.to_number()).and_then(|(position, line)| Some((position, line.member()?)));
        // A loid of a version has the number of the item.
        found.filter(|(_, found)| found.loid() == item).ok_or_else(|| self.not_held("item", item))
    }

    /// Returns the item with this address, which must not be a subitem.
    ///
    /// # Errors
    /// The errors of [`TopicState::get`].
    pub fn item(&self, address: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.get(address)?;
        if item.under.is_none() { Ok(item) } else { Err(self.not_held("item", address)) }
    }

    /// Returns the subitem with this address within an item.
    ///
    /// # Errors
    /// The errors of [`TopicState::get`].
    pub fn subitem(&self, item: ItemAddress, subitem: ItemAddress) -> Result<&Arc<TopicItem>> {
        let item = self.item(item)?;
        let found = self.get(subitem)?;
        if found.under() == Some(item.loid()) {
            return Ok(found);
        }
        let message = format!("The topic item `{}` has no subitem `{subitem}`.", item.loid());
        Err(Error::new(Code::ObjectNotFound, message).with_source(subitem))
    }

    /// Returns the revision that the present change will have.
    fn next_revision(&self) -> u64 {
        self.object().record.revision + 1
    }

    /// Returns the item with the metadata of a change.
    fn stamped(&self, mut item: TopicItem, context: &Context<'_>) -> TopicItem {
        item.record.revision = self.next_revision();
        item.record.modified = context.now_s();
        item.record.last_modifier = context.who.user.clone();
        item
    }

    /// Inserts a new item or subitem in front of a place in the lineup that it belongs to.
    pub(super) fn insert_item(&mut self, mut item: TopicItem, place: usize, context: &mut Context<'_>) {
        item.record.revision = self.next_revision();
        context.note_new_status(item.topic, &item.record);
        context.concerns(item.topic, item.loid());
        self.insert(None, &Line::Member(Arc::new(item)), place, context);
    }

    /// Replaces an item with its new state, at its place or at another place of its lineup.
    pub(super) fn change_item(
        &mut self,
        old: &Arc<TopicItem>,
        new: TopicItem,
        place: Option<usize>,
        context: &mut Context<'_>,
    ) {
        context.concerns(old.topic, old.loid());
        let mut new = self.stamped(new, context);
        if old.record.status != new.record.status {
            context.note_status(old.topic, &old.record, &new.record);
            // The change of the status is a separate event, after that of the rest.
            new.record.revision += 1;
        }
        self.change(&Line::Member(old.clone()), Line::Member(Arc::new(new)), place, context);
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
        context.note_status(old.topic, &old.record, &new.record);
        let begun = context.rows_noted();
        self.change(&Line::Member(old.clone()), Line::Member(Arc::new(new)), None, context);
        context.changes_only_status(old.topic, begun);
    }

    /// Returns the number of lines of an item, itself included.
    pub(super) fn lines_of(&self, item: Loid) -> usize {
        1 + self.below(item).map_or(0, |lineup| lineup.len())
    }

    /// Takes an item out, with all lines below it. Its rows stay as they are until
    /// [`TopicState::plant`] rewrites them.
    pub(super) fn uproot(&mut self, item: &Arc<TopicItem>) -> UprootedItem {
        let lines = self.with_all_below(&Line::Member(item.clone()));
        for line in &lines {
            self.note(Some(line), None);
            self.change_lineup(line.under(), |lineup| lineup.let_go(line));
        }
        UprootedItem { item: item.loid(), lines }
    }

    /// Inserts an uprooted item in front of a place among this topic's items, with all lines below
    /// it.
    pub(super) fn plant(&mut self, uprooted: &UprootedItem, place: usize, context: &mut Context<'_>) {
        for (index, old) in uprooted.lines.iter().enumerate() {
            let (under, place) = if index == 0 { (None, place) } else { (Some(uprooted.item), usize::MAX) };
            let new = self.moved(old, under, context);
            self.insert(Some(old), &new, place, context);
        }
        context.concerns(self.head().loid, uprooted.item);
    }

    /// Returns a copy of a line for the lineup of an item of this topic, or of the topic itself.
    fn moved(&self, line: &Line<Topic>, under: Option<Loid>, context: &Context<'_>) -> Line<Topic> {
        let (topic, under) = (self.head().loid, under.map(FolderKey));
        match line {
            Line::Member(item) => {
                let mut item = self.stamped(TopicItem::clone(item), context);
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

    /// Applies the new state of an object to the items that it is attached to.
    pub(super) fn update_attachments(&mut self, object: Loid, becomes: MemberFate, context: &mut Context<'_>) {
        let from = (object, Loid { number: 0, ..object });
        let attached = self.index.attached.range(from..);
        let holders: Vec<Loid> = attached.take_while(|(held, _)| *held == object).map(|(_, item)| *item).collect();
        for holder in holders {
            let Ok((_, old)) = self.place_of(holder) else { continue };
            let old = old.clone();
            let attachment = match becomes {
                MemberFate::Hidden => Some(TopicAttachment { object, hidden: true }),
                MemberFate::Shown => Some(TopicAttachment { object, hidden: false }),
                MemberFate::Gone => None,
            };
            if old.attachment != attachment {
                let mut new = TopicItem { attachment, ..TopicItem::clone(&old) };
                // No caller has changed the item, but readers see a different one.
                new.record.revision = self.next_revision();
                self.change(&Line::Member(old), Line::Member(Arc::new(new)), None, context);
            }
        }
    }
}
