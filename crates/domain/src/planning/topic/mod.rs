//! Topics: plans of one subject, as items with subitems and dividers between them
//! (docs/api/topics.md).
//!
//! Items are parts of their topic. The topic's actor makes all their changes one after the other,
//! and a new item adds one row, however many exist. An item has a loid, a uuid and attributes as
//! objects have.

mod commands;
mod fields;
mod make;
mod moves;
mod rows;
mod state;
mod update;

pub use self::commands::{
    AddTopicItem, AttachToItem, RemoveTopicItem, TopicItemPath, TopicItemResult, UpdateTopicItem,
};
pub use self::fields::ItemFields;
pub use self::make::{NewTopicItem, NewTopicLine};
pub use self::moves::{MAX_MOVED_BYTES, MoveTopicItems};
pub use self::rows::{MAX_ASSIGNEES, TextOrNumber, TopicAttachment, TopicItem};
pub use self::state::ItemAddress;
pub use self::update::UpdateTopic;
use super::{Divider, Lineup, LineupEntry, NewPlanning, Planning, PlanningHead, PlanningState};
use crate::command::{Command, CommandFault, Context};
use crate::error::Result;
use crate::family::MemberFate;
use crate::id::Loid;
use crate::object::FamilyKind;
use crate::part::{self, PartKind};

/// The name of the type of items in the objecttypes family.
pub const ITEM_TYPE: &str = "TopicItem";

/// The name of the type of subitems in the objecttypes family.
pub const SUBITEM_TYPE: &str = "TopicSubItem";

/// The family of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic;

/// The lineup of a topic, or of one of its items.
pub type TopicLineup = Lineup<Topic>;

/// The state of a topic.
pub type TopicState = PlanningState<Topic>;

/// The values of a new topic.
pub type NewTopic = NewPlanning<Topic>;

impl Planning for Topic {
    type Entry = TopicItem;
    type Parent = Option<ItemAddress>;
    type NewLine = NewTopicLine;
    const FAMILY: FamilyKind = FamilyKind::Topic;
    const HEAD: PartKind = PartKind::of::<PlanningHead<Topic>>(7);
    const ENTRY: PartKind = PartKind::of::<TopicItem>(8);
    const DIVIDER: PartKind = PartKind::of::<Divider<Topic>>(9);
    const ADD_DIVIDER: &'static str = "topic.divider.add";
    const UPDATE_DIVIDER: &'static str = "topic.divider.update";
    const REMOVE_DIVIDER: &'static str = "topic.divider.remove";
    const EVENTS_OF_PARTS: &'static [&'static str] =
        &[RemoveTopicItem::NAME, Topic::ADD_DIVIDER, Topic::UPDATE_DIVIDER, Topic::REMOVE_DIVIDER];
    const CONTAINER_NOUN: &'static str = "topic";
    const ENTRY_NOUN: &'static str = "item";

    fn find_parent(topic: &TopicState, item: &Option<ItemAddress>) -> Result<Option<Loid>> {
        item.map(|item| topic.item(item).map(|item| item.loid())).transpose()
    }

    fn count(lines: &[NewTopicLine]) -> usize {
        make::count(lines)
    }

    fn append(topic: &mut TopicState, lines: &[NewTopicLine], context: &mut Context<'_>) -> Result<(), CommandFault> {
        make::append(topic, None, lines, context)
    }

    fn erase(items: &[Loid], context: &mut Context<'_>) -> Result<(), CommandFault> {
        part::erase_plain(items, context)
    }

    fn update_holders(
        topic: &mut TopicState,
        object: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        topic.update_attachments(object, becomes, context);
        Ok(())
    }
}
