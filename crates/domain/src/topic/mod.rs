//! Topics: plans of one subject, as items with subitems and dividers between them
//! (docs/api/topics.md).
//!
//! Items are parts of their topic. The topic's actor makes all their changes one after the other,
//! and a new item adds one row, however many exist. An item has a loid, a uuid and attributes as
//! objects have. The topic and each of its items have a lineup of their own ([`crate::lineup`]).

mod commands;
mod fields;
mod make;
mod moves;
mod prove;
mod rows;
mod state;
mod update;

pub use self::commands::{
    AddTopicDivider, AddTopicItem, AttachToItem, RemoveTopicDivider, RemoveTopicItem, TopicDividerResult,
    TopicItemPath, TopicItemResult, UpdateTopicDivider, UpdateTopicItem,
};
pub use self::fields::ItemFields;
pub use self::make::{MAX_NEW_LINES, NewTopic, NewTopicItem, NewTopicLine};
pub use self::moves::{MAX_MOVED_BYTES, MoveTopicItems};
pub use self::rows::{
    DIVIDER, HEAD, ITEM, MAX_ASSIGNEES, TextOrNumber, TopicAttachment, TopicDivider, TopicHead, TopicItem, TopicLineup,
    TopicLineupLine,
};
pub use self::state::{ItemAddress, TopicState};
pub use self::update::UpdateTopic;
use crate::command::{Command, CommandFault, Context};
use crate::family::{Family, MemberFate};
use crate::id::Loid;
use crate::object::{CreateMode, FamilyKind, Object, Record};
use crate::part::{PartKind, PartReader};
use crate::proof::Proof;
use crate::store::StoreError;

/// The name of the type of items in the objecttypes family.
pub const ITEM_TYPE: &str = "TopicItem";

/// The name of the type of subitems in the objecttypes family.
pub const SUBITEM_TYPE: &str = "TopicSubItem";

/// The family of topics.
#[derive(Debug)]
pub struct Topic;

impl Family for Topic {
    type State = TopicState;
    type New = NewTopic;
    const KIND: FamilyKind = FamilyKind::Topic;
    const PARTS: &'static [PartKind] = &[HEAD, ITEM, DIVIDER];
    const HAS_CONTENT: bool = false;
    const PART_EVENTS: &'static [&'static str] =
        &[RemoveTopicItem::NAME, AddTopicDivider::NAME, UpdateTopicDivider::NAME, RemoveTopicDivider::NAME];

    fn load(object: Object, parts: &PartReader<'_>) -> Result<TopicState, StoreError> {
        Ok(TopicState::new(object, parts.head(HEAD)?, parts.all(ITEM)?, parts.all(DIVIDER)?))
    }

    fn make(new: &NewTopic, object: Object, context: &mut Context<'_>) -> Result<usize, CommandFault> {
        new.make(object, context)
    }

    fn write_over(
        new: &NewTopic,
        topic: &mut TopicState,
        mode: CreateMode,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        new.write_over(topic, mode, context)
    }

    fn member(
        topic: &mut TopicState,
        member: Loid,
        becomes: MemberFate,
        context: &mut Context<'_>,
    ) -> Result<(), CommandFault> {
        topic.member(member, becomes, context);
        Ok(())
    }

    fn dissolve(topic: &mut TopicState, context: &mut Context<'_>) -> Result<(), CommandFault> {
        topic.dissolve(context)
    }

    fn prove(record: &Record, proof: &mut Proof<'_>) -> Result<(), StoreError> {
        prove::prove(record, proof)
    }
}
