//! The commands that change one topic (docs/api/topics.md).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fields::{ItemFields, describe};
use super::{ITEM_TYPE, ItemAddress, SUBITEM_TYPE, Topic, TopicAttachment, TopicItem, TopicState};
use crate::command::{Command, CommandFault, Context};
use crate::error::{Code, Error, Result};
use crate::family::State;
use crate::id::Loid;
use crate::object::{FamilyKind, Record};
use crate::planning::{Line, LineupEntry, Planning, check_room};
use crate::store::loid_key;

/// The item or subitem that a command was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicItemResult {
    /// The item.
    #[serde(with = "loid_key")]
    pub item: Loid,
}

/// The address of an item, or of a subitem within its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicItemPath {
    /// The item.
    pub item: ItemAddress,
    /// The subitem of it; `None` for the item itself.
    pub subitem: Option<ItemAddress>,
}

impl TopicItemPath {
    fn find(self, topic: &TopicState) -> Result<Arc<TopicItem>> {
        match self.subitem {
            None => topic.item(self.item),
            Some(subitem) => topic.subitem(self.item, subitem),
        }
        .cloned()
    }
}

/// Refuses objects that an item of a topic cannot hold: missing ones, ones that the caller may not
/// read, and the topic itself.
pub(super) fn check_attachment(topic: Loid, object: Loid, context: &Context<'_>) -> Result<(), CommandFault> {
    if object == topic {
        return Err(self_attachment_error(topic).into());
    }
    if context.is_alive(object)? && context.reads()?.may_read(object)? {
        return Ok(());
    }
    Err(Error::not_found(object).into())
}

/// Returns the error for a topic that would be attached to its own item.
pub(super) fn self_attachment_error(topic: Loid) -> Error {
    let message = format!("The topic `{topic}` can't be attached to an item of its own.");
    Error::new(Code::InvalidForContainer, message).with_source(topic)
}

/// Creates an item without a name. It takes the issue date and work folder of the topic, or of the
/// item that it stands below.
pub(super) fn new_item(state: &TopicState, under: Option<Loid>, context: &mut Context<'_>) -> Result<TopicItem> {
    let topic = state.object().record.loid;
    let loid = Loid::new(topic.database, context.next_number()?);
    let type_name = if under.is_some() { SUBITEM_TYPE } else { ITEM_TYPE };
    let above = match under {
        Some(item) => &state.place_of(item)?.1.record,
        None => &*state.object().record,
    };
    let record = Record {
        issue_date: above.issue_date.clone(),
        work_folder: above.work_folder.clone(),
        ..Record::new(loid, "", type_name, FamilyKind::Document, &context.who.user, context.now_ms)
    };
    Ok(TopicItem::new(topic, under, record))
}

/// Adds an item to the topic, or a subitem to one of its items.
#[derive(Debug, Clone)]
pub struct AddTopicItem {
    /// The item that gets a subitem; `None` adds an item to the topic.
    pub under: Option<ItemAddress>,
    /// The fields of the new item.
    pub fields: ItemFields,
    /// An object to attach to the new item.
    pub attachment: Option<Loid>,
    /// The position from 0 among items and dividers; −1 and `None` are the end.
    pub position: Option<i64>,
}

impl Command for AddTopicItem {
    type Family = Topic;
    type Reply = TopicItemResult;
    const NAME: &'static str = "topic.item.add";

    fn apply(&self, topic: &mut TopicState, context: &mut Context<'_>) -> Result<TopicItemResult, CommandFault> {
        let loid = topic.object().record.loid;
        let under = Topic::find_parent(topic, &self.under)?;
        check_room(loid, topic.lines() + 1)?;
        let place = topic.lineup_under(under).place(self.position, &mut context.reads()?)?;
        let mut item = new_item(topic, under, context)?;
        if self.fields.name.is_none() {
            return Err(Error::new(Code::InvalidName, "An item needs a `name`.").into());
        }
        describe(&mut item, &self.fields, context)?;
        if let Some(object) = self.attachment {
            check_attachment(loid, object, context)?;
            item.attachment = Some(TopicAttachment { object, hidden: false });
        }
        let done = TopicItemResult { item: item.loid() };
        topic.insert_item(item, place, context);
        concern(loid, self.attachment, context);
        Ok(done)
    }
}

/// Notes the attached object in the event, so that a search for its history finds the change.
fn concern(topic: Loid, object: Option<Loid>, context: &mut Context<'_>) {
    if let Some(object) = object {
        context.concerns(topic, object);
    }
}

/// Changes an item or subitem: its given fields, its attachment, its place.
#[derive(Debug, Clone)]
pub struct UpdateTopicItem {
    /// The item.
    pub which: TopicItemPath,
    /// The fields to change.
    pub fields: ItemFields,
    /// The new attachment; `Some(None)` removes it.
    pub attachment: Option<Option<Loid>>,
    /// The new position as in [`AddTopicItem`]; `None` keeps the present one.
    pub position: Option<i64>,
}

impl Command for UpdateTopicItem {
    type Family = Topic;
    type Reply = TopicItemResult;
    const NAME: &'static str = "topic.item.update";

    fn apply(&self, topic: &mut TopicState, context: &mut Context<'_>) -> Result<TopicItemResult, CommandFault> {
        let old = self.which.find(topic)?;
        let mut item = TopicItem::clone(&old);
        let described = describe(&mut item, &self.fields, context)?;
        if let Some(object) = self.attachment {
            hang(&mut item, object, context)?;
        }
        let place = topic.place_to_move(&Line::Member(old.clone()), self.position, context)?;
        match &item.record.status {
            Some(status) if !described && place.is_none() && old.differs_by_status(&item) => {
                topic.change_status(&old, status.clone(), context);
            }
            _ if described || place.is_some() || item != *old => topic.change_item(&old, item, place, context),
            _ => {}
        }
        Ok(TopicItemResult { item: old.loid() })
    }
}

/// Attaches an object to an item in place of the present one; `None` removes that.
fn hang(item: &mut TopicItem, object: Option<Loid>, context: &mut Context<'_>) -> Result<(), CommandFault> {
    if item.attachment.map(|there| there.object) == object {
        return Ok(());
    }
    if let Some(object) = object {
        check_attachment(item.topic, object, context)?;
    }
    item.attachment = object.map(|object| TopicAttachment { object, hidden: false });
    concern(item.topic, object, context);
    Ok(())
}

/// Attaches an object to an item or subitem, in place of the present one.
#[derive(Debug, Clone, Copy)]
pub struct AttachToItem {
    /// The item.
    pub which: TopicItemPath,
    /// The object.
    pub object: Loid,
}

impl Command for AttachToItem {
    type Family = Topic;
    type Reply = TopicItemResult;
    const NAME: &'static str = "topic.item.attach";

    fn apply(&self, topic: &mut TopicState, context: &mut Context<'_>) -> Result<TopicItemResult, CommandFault> {
        let old = self.which.find(topic)?;
        let mut item = TopicItem::clone(&old);
        hang(&mut item, Some(self.object), context)?;
        if item != *old {
            topic.change_item(&old, item, None, context);
        }
        Ok(TopicItemResult { item: old.loid() })
    }
}

/// Removes a subitem, or an item with its subitems and dividers, permanently.
#[derive(Debug, Clone, Copy)]
pub struct RemoveTopicItem {
    /// The item.
    pub which: TopicItemPath,
}

impl Command for RemoveTopicItem {
    type Family = Topic;
    type Reply = TopicItemResult;
    const NAME: &'static str = "topic.item.remove";

    fn apply(&self, topic: &mut TopicState, context: &mut Context<'_>) -> Result<TopicItemResult, CommandFault> {
        let item = self.which.find(topic)?;
        context.alters(topic.lines_of(item.loid()))?;
        context.concerns(item.topic, item.loid());
        topic.take(&[Line::Member(item.clone())], context)?;
        Ok(TopicItemResult { item: item.loid() })
    }
}
