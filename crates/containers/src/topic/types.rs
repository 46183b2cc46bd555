//! Topics, their items and dividers on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_base::json::{ChangeAnswer, ReadyJson, ReplyList};
use stet_domain::id::Loid;
use stet_domain::object::SharedText;
use stet_domain::planning::ContainerRevision;
use stet_domain::planning::topic;
use stet_endpoint::records::RemovedObject;
use stet_endpoint::requests::{CreateOptions, DatabaseRef, SourceList, WireCreateMode};
use stet_newsroom::attribute_input::AttributeInput;
use stet_newsroom::records::ObjectRecord;
use stet_web::body::JsonObject;

use crate::correlates::CorrelateView;

/// `info` of a topic: its record, title, description and number of items.
#[derive(Serialize, JsonSchema)]
pub struct TopicInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// May be empty.
    pub title: SharedText,
    /// May be empty.
    pub description: SharedText,
    /// Number of items, without subitems.
    pub count: usize,
}

/// A topic.
#[derive(Serialize, JsonSchema)]
pub struct TopicReply {
    /// The topic.
    pub info: TopicInfo,
    /// Dividers between its items.
    pub dividers: Vec<DividerInfo>,
    /// The correlates of the topic, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<CorrelateView>>,
    /// The requested page of items, in order; empty in the reply to a change.
    pub items: ReplyList<TopicItem>,
    /// Total number of items, without subitems; absent in the reply to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// The reply to a change of a topic. It contains only the topic's identity if the topic was
/// destroyed since then, or moved out of the caller's sight.
pub type ChangedTopic = ChangeAnswer<TopicReply, RemovedContainer>;

/// A container that was destroyed since, or that the caller may no longer see.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedContainer")]
pub struct RemovedContainer {
    /// The identity of the container.
    pub info: RemovedObject,
}

/// A title between items of a topic, between subitems of an item, or between topics of a plan.
#[derive(Serialize, JsonSchema)]
pub struct DividerInfo {
    /// Identifier of the divider.
    pub id: String,
    /// May be empty.
    pub title: SharedText,
    /// Counted from 0 among the items and dividers of the same order.
    pub position: usize,
}

/// A single divider.
#[derive(Serialize, JsonSchema)]
pub struct DividerReply {
    /// The divider.
    pub info: DividerInfo,
}

/// The reply to a change of a divider. It contains only the divider's id if the divider was removed
/// since then.
pub type ChangedDivider = ChangeAnswer<DividerReply, RemovedDivider>;

/// A divider that was removed.
#[derive(Serialize, JsonSchema)]
pub struct RemovedDivider {
    /// The identity of the divider.
    pub info: DividerId,
}

/// The identity of a divider.
#[derive(Serialize, JsonSchema)]
pub struct DividerId {
    /// Identifier of the divider.
    pub id: String,
}

/// A value that may be a text or a number, in the form in which it was given.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "it must be a text or a whole number")]
pub enum WireTextOrNumber {
    /// May be empty.
    Text(String),
    /// A whole number.
    Number(i64),
}

impl From<&topic::TextOrNumber> for WireTextOrNumber {
    fn from(word: &topic::TextOrNumber) -> WireTextOrNumber {
        match word {
            topic::TextOrNumber::Text(text) => WireTextOrNumber::Text(text.to_string()),
            topic::TextOrNumber::Number(number) => WireTextOrNumber::Number(*number),
        }
    }
}

impl From<WireTextOrNumber> for topic::TextOrNumber {
    fn from(word: WireTextOrNumber) -> topic::TextOrNumber {
        match word {
            WireTextOrNumber::Text(text) => topic::TextOrNumber::Text(text.into()),
            WireTextOrNumber::Number(number) => topic::TextOrNumber::Number(number),
        }
    }
}

/// `info` of an item or subitem: its record and the fields of a topic item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicItemInfo {
    /// The item's record; its revision is that of the topic at the item's last change.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// Kind of the planned content; may be empty, as all texts here.
    pub content_type: String,
    /// Free text.
    pub comment: String,
    /// Task of the assignees.
    pub occupation: String,
    /// Urgency of the item.
    pub priority: WireTextOrNumber,
    /// Urgency of the item, in the newsroom's own words.
    pub custom_priority: WireTextOrNumber,
    /// Product for which the item is planned.
    pub product: String,
    /// Edition for which the item is planned.
    pub edition: String,
    /// People to whom the item is assigned.
    pub assignees: Vec<String>,
    /// Due date in epoch seconds.
    pub due_date: Option<u64>,
}

/// The object that is attached to an item.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AttachedObject")]
pub enum AttachedObject {
    /// The object's record, if requested.
    Shown(ReadyJson<ObjectRecord>),
    /// The object's loid only.
    Named(AttachedId),
    /// An object that is in the recycle bin or that the caller may not read.
    Hidden(HiddenObject),
}

/// The identity of the object that is attached to an item.
#[derive(Serialize, JsonSchema)]
pub struct AttachedId {
    /// Loid of the object.
    pub id: Loid,
}

/// An object that is not shown.
#[derive(Serialize, JsonSchema)]
pub struct HiddenObject {
    /// Always true.
    pub hidden: bool,
}

/// An item of a topic.
#[derive(Serialize, JsonSchema)]
pub struct TopicItem {
    /// The item's record and fields.
    pub info: ReadyJson<TopicItemInfo>,
    /// Counted from 0 among the items and dividers of the topic.
    pub position: usize,
    /// Dividers between the subitems, if those are requested.
    pub dividers: Vec<DividerInfo>,
    /// The subitems, if requested.
    pub items: ReplyList<TopicItemAlone>,
    /// The object that is attached to the item.
    pub attachment: Option<AttachedObject>,
    /// The correlates of the item, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<CorrelateView>>,
}

/// An item or subitem without its subitems.
#[derive(Serialize, JsonSchema)]
pub struct TopicItemAlone {
    /// The item's record and fields.
    pub info: ReadyJson<TopicItemInfo>,
    /// Counted from 0 among the items and dividers of the same order.
    pub position: usize,
    /// The object that is attached to the item.
    pub attachment: Option<AttachedObject>,
    /// The correlates of the item, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<CorrelateView>>,
}

/// The reply to a change of an item or subitem: its state after the change. It contains only the
/// item's identity if the item was removed since then.
pub type ChangedItem = ChangeAnswer<TopicItemAlone, RemovedContainer>;

/// A topic and the ids of its items and dividers.
#[derive(Serialize, JsonSchema)]
pub struct TopicStructure {
    /// The topic.
    pub info: TopicInfo,
    /// The requested page of items and dividers, in order.
    pub items: Vec<StructureLine>,
    /// Total number of items and dividers, without those below items.
    pub total: usize,
}

/// An item or divider in a structure.
#[derive(Serialize, JsonSchema)]
pub struct StructureLine {
    /// Loid of an item, id of a divider.
    pub id: String,
    /// Kind of the line.
    pub kind: LineKind,
    /// Subitems of an item, and dividers between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<StructureLine>,
}

/// The kind of a line in an order of items or topics.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// An item or subitem of a topic.
    Item,
    /// A topic of a plan.
    Topic,
    /// A divider.
    Divider,
}

/// The moved items or topics, with their new positions.
#[derive(Serialize, JsonSchema)]
pub struct MovedReply {
    /// The target topic or plan.
    pub info: ObjectRecord,
    /// The moved items or topics in the order of the request, without those that others have moved
    /// again since.
    pub items: Vec<MovedLine>,
    /// The topics or plans that the move has changed, including the target.
    pub revisions: Vec<MoveRevision>,
}

/// The revision of a topic or plan after a move, as in its ETag.
#[derive(Serialize, JsonSchema)]
pub struct MoveRevision {
    /// Loid of the topic or plan.
    pub id: Loid,
    /// Revision of the topic or plan after the move.
    pub revision: u64,
}

impl From<ContainerRevision> for MoveRevision {
    fn from(revised: ContainerRevision) -> MoveRevision {
        MoveRevision { id: revised.container, revision: revised.revision }
    }
}

/// An item or topic that was moved.
#[derive(Serialize, JsonSchema)]
pub struct MovedLine {
    /// Loid of the item or topic.
    pub id: Loid,
    /// Counted from 0 among the items or topics and the dividers.
    pub position: usize,
}

/// The reply to a move. It contains only the target's identity if the target was destroyed since
/// then.
pub type MoveResponse = ChangeAnswer<MovedReply, RemovedContainer>;

/// Body of the creation of a topic or plan.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateTopic {
    /// Generated if absent; `:`, `"`, `|` and `/` become `_`.
    pub name: Option<String>,
    /// Title for readers.
    pub title: Option<String>,
    /// Description for editors.
    pub description: Option<String>,
    /// Loid, uuid or path of the folder, created if missing. Without it the folder follows from
    /// type and work folder, or is the user's home.
    pub folder: Option<String>,
    /// Path of the folder, created if missing.
    pub folder_path: Option<String>,
    /// Path of the work folder.
    pub work_folder: Option<String>,
    /// `yyyyMMdd` or `yyMMdd`.
    pub issue_date: Option<String>,
    /// Name of the workflow status; the workflow's first status if absent.
    pub status: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `props`.
    pub system_attributes: Option<AttributeInput>,
    /// The database; the main one if absent.
    pub database_id: Option<DatabaseRef>,
    /// Whether an object that exists already is an error, and whether it is changed.
    pub create_mode: Option<WireCreateMode>,
    /// Options for the reply.
    pub options: Option<JsonObject<CreateOptions>>,
}

/// Body of the update of a topic: only the fields that are present change.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateTopic {
    /// New name.
    pub name: Option<String>,
    /// Title for readers.
    pub title: Option<String>,
    /// Description for editors.
    pub description: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<AttributeInput>,
    /// Name of the workflow status.
    pub status: Option<String>,
}

/// Body of an item or subitem. An update changes the fields that are present; a new item needs a
/// name.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ItemBody {
    /// Name of the item; names need not be unique.
    pub name: Option<String>,
    /// Kind of the planned content.
    pub content_type: Option<String>,
    /// Free text.
    pub comment: Option<String>,
    /// Task of the assignees.
    pub occupation: Option<String>,
    /// Urgency of the item.
    pub priority: Option<WireTextOrNumber>,
    /// Urgency of the item, in the newsroom's own words.
    pub custom_priority: Option<WireTextOrNumber>,
    /// Product for which the item is planned.
    pub product: Option<String>,
    /// Edition for which the item is planned.
    pub edition: Option<String>,
    /// People to whom the item is assigned.
    pub assignees: Option<Vec<String>>,
    /// Due date in epoch seconds; null removes it.
    #[serde(deserialize_with = "said")]
    pub due_date: Option<Option<u64>>,
    /// Name of the workflow status.
    pub status: Option<String>,
    /// `yyyyMMdd` or `yyMMdd`; if absent, a new item has the date of its topic, a new subitem that
    /// of its item.
    pub issue_date: Option<String>,
    /// Path of the work folder; if absent, inherited in the same way.
    pub work_folder: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<AttributeInput>,
    /// XML text or JSON with the root `props`.
    pub system_attributes: Option<AttributeInput>,
    /// Loid, uuid or path of the attached object; null detaches it.
    #[serde(deserialize_with = "said")]
    pub attachment: Option<Option<String>>,
    /// Database in which the path of the attachment is resolved; the main one if absent.
    pub database_id: Option<DatabaseRef>,
    /// Position counted from 0 among items and dividers; −1 is the end. A new item without it is
    /// appended.
    pub position: Option<i64>,
    /// Options for the reply.
    pub options: Option<JsonObject<ReplyOptions>>,
}

/// Deserializes a field that is present as `Some`, so that null differs from an absent field.
fn said<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Options for the reply to a change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplyOptions {
    /// The record of the attached object.
    pub show_attachment: Option<bool>,
}

/// Body of the attachment of an object.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachBody {
    /// Options for the reply.
    pub options: Option<JsonObject<ReplyOptions>>,
}

/// Body of a divider.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DividerBody {
    /// Title of the divider; a new one without it has an empty title.
    pub title: Option<String>,
    /// Position counted from 0 among items and dividers; −1 is the end. A new divider without it is
    /// appended.
    pub position: Option<i64>,
}

/// Body of a move.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveBody {
    /// Items and subitems of any topics, or topics. Items are given as loids or uuids, topics also
    /// as paths; at most 500 topics.
    pub sources: SourceList,
    /// The target of the move: a topic for items, a plan for topics; loid, uuid or path.
    pub target: String,
    /// Position of the first, counted from 0 among the remaining lines of the target. −1 or no
    /// position is the end.
    pub position: Option<i64>,
    /// The database; the main one if absent.
    #[serde(default)]
    pub database_id: Option<DatabaseRef>,
}
