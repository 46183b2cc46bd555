//! Topics, their items and dividers on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stet_actors::id::Loid;
use stet_actors::lineup::Revised;
use stet_actors::object::Text;
use stet_actors::topic;

use crate::api::attributes::Given;
use crate::api::object::{Correlate, Removed};
use crate::api::requests::{CreateOptions, DatabaseRef, SourceList, WireCreateMode};
use crate::http::body::Object;
use crate::json::{Changed, Listed, Ready};
use crate::records::ObjectRecord;

/// `info` of a topic: its record, and what a topic has beside.
#[derive(Serialize, JsonSchema)]
pub struct TopicInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub description: Text,
    /// How many items there are, subitems not counted.
    pub count: usize,
}

/// A topic.
#[derive(Serialize, JsonSchema)]
pub struct TopicReply {
    /// The topic.
    pub info: TopicInfo,
    /// Dividers between its items.
    pub dividers: Vec<Divider>,
    /// What it is linked with, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<Correlate>>,
    /// Its items, first to last, as many as were asked for. A change has none.
    pub items: Listed<TopicItem>,
    /// How many items there are in all, subitems not counted; not in the reply to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// The answer to a change of a topic; of one that others have destroyed since, or moved out of the
/// caller's sight, no more than which it was.
pub type ChangedTopic = Changed<TopicReply, Gone>;

/// A container that others have destroyed or hidden.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedContainer")]
pub struct Gone {
    /// Which it was.
    pub info: Removed,
}

/// A title between items of a topic, between subitems of an item, or between topics of a plan.
#[derive(Serialize, JsonSchema)]
pub struct Divider {
    /// Its id.
    pub id: String,
    /// May be empty.
    pub title: Text,
    /// Counted from 0 among the items and dividers of the same order.
    pub position: usize,
}

/// A divider alone.
#[derive(Serialize, JsonSchema)]
pub struct DividerReply {
    /// The divider.
    pub info: Divider,
}

/// The answer to a change of a divider; of one that others have removed since, no more than which
/// it was.
pub type ChangedDivider = Changed<DividerReply, RemovedDivider>;

/// A divider that was removed.
#[derive(Serialize, JsonSchema)]
pub struct RemovedDivider {
    /// Which it was.
    pub info: DividerId,
}

/// What a divider is named by.
#[derive(Serialize, JsonSchema)]
pub struct DividerId {
    /// Its id.
    pub id: String,
}

/// A word that was given as a text or as a number, as it was given.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "it must be a text or a whole number")]
pub enum Word {
    /// May be empty.
    Text(String),
    /// A whole number.
    Number(i64),
}

impl From<&topic::Word> for Word {
    fn from(word: &topic::Word) -> Word {
        match word {
            topic::Word::Text(text) => Word::Text(text.to_string()),
            topic::Word::Number(number) => Word::Number(*number),
        }
    }
}

impl From<Word> for topic::Word {
    fn from(word: Word) -> topic::Word {
        match word {
            Word::Text(text) => topic::Word::Text(text.into()),
            Word::Number(number) => topic::Word::Number(number),
        }
    }
}

/// `info` of an item or subitem: its record, and what an item has beside.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicItemInfo {
    /// Its record; its revision is that of the topic at the item's last change.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// What kind of content is planned; may be empty, as all texts here.
    pub content_type: String,
    /// Free text.
    pub comment: String,
    /// What the assignees do.
    pub occupation: String,
    /// How urgent it is.
    pub priority: Word,
    /// How urgent it is, in the newsroom's own words.
    pub custom_priority: Word,
    /// The product that it is for.
    pub product: String,
    /// The edition that it is for.
    pub edition: String,
    /// Who is to do it.
    pub assignees: Vec<String>,
    /// When it is to be done, epoch seconds.
    pub due_date: Option<u64>,
}

/// The object that hangs on an item.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AttachedObject")]
pub enum Attachment {
    /// Its record, where that is asked for.
    Shown(Ready<ObjectRecord>),
    /// Which it is.
    Named(AttachedId),
    /// It lies in the recycle bin, or may not be read.
    Hidden(HiddenObject),
}

/// Which object hangs on an item.
#[derive(Serialize, JsonSchema)]
pub struct AttachedId {
    /// Its loid.
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
    /// What it is.
    pub info: Ready<TopicItemInfo>,
    /// Counted from 0 among the items and dividers of the topic.
    pub position: usize,
    /// Dividers between its subitems, where those are asked for.
    pub dividers: Vec<Divider>,
    /// Its subitems, where they are asked for.
    pub items: Listed<TopicItemAlone>,
    /// The object that hangs on it.
    pub attachment: Option<Attachment>,
    /// What it is linked with, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<Correlate>>,
}

/// An item or subitem without what stands below it.
#[derive(Serialize, JsonSchema)]
pub struct TopicItemAlone {
    /// What it is.
    pub info: Ready<TopicItemInfo>,
    /// Counted from 0 among the items and dividers of the same order.
    pub position: usize,
    /// The object that hangs on it.
    pub attachment: Option<Attachment>,
    /// What it is linked with, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<Correlate>>,
}

/// The answer to a change of an item or subitem: the item as the change left it; of one that others
/// have removed since, no more than which it is.
pub type ChangedItem = Changed<TopicItemAlone, Gone>;

/// A topic and the ids of what is in it.
#[derive(Serialize, JsonSchema)]
pub struct TopicStructure {
    /// The topic.
    pub info: TopicInfo,
    /// Its items and dividers, first to last, as many as were asked for.
    pub items: Vec<StructureLine>,
    /// How many items and dividers there are, those below items not counted.
    pub total: usize,
}

/// An item or divider in a structure.
#[derive(Serialize, JsonSchema)]
pub struct StructureLine {
    /// Loid of an item, id of a divider.
    pub id: String,
    /// What it is.
    pub kind: LineKind,
    /// Subitems of an item, and dividers between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<StructureLine>,
}

/// What stands in an order.
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

/// What was moved, and where it is now.
#[derive(Serialize, JsonSchema)]
pub struct MovedReply {
    /// The topic or plan that it went to.
    pub info: ObjectRecord,
    /// In the order of the request. What others have moved on since is left out.
    pub items: Vec<MovedLine>,
    /// The topics or plans that the move has changed, the target among them.
    pub revisions: Vec<MoveRevision>,
}

/// The revision that a move led a topic or plan to, as its ETag has it.
#[derive(Serialize, JsonSchema)]
pub struct MoveRevision {
    /// Loid of the topic or plan.
    pub id: Loid,
    /// Its revision.
    pub revision: u64,
}

impl From<Revised> for MoveRevision {
    fn from(revised: Revised) -> MoveRevision {
        MoveRevision { id: revised.container, revision: revised.revision }
    }
}

/// An item or topic that was moved.
#[derive(Serialize, JsonSchema)]
pub struct MovedLine {
    /// Its loid.
    pub id: Loid,
    /// Counted from 0 among the items or topics and the dividers.
    pub position: usize,
}

/// The answer to a move; of a target that others have destroyed since, no more than which it was.
pub type Moved = Changed<MovedReply, Gone>;

/// Body of the creation of a topic or plan.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateTopic {
    /// Generated without it; `:`, `"`, `|` and `/` become `_`.
    pub name: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Loid, uuid or path of the folder, made if it is not there; without it that of type and work
    /// folder, or the user's home.
    pub folder: Option<String>,
    /// Path of the folder, made if it is not there.
    pub folder_path: Option<String>,
    pub work_folder: Option<String>,
    /// `yyyyMMdd` or `yyMMdd`.
    pub issue_date: Option<String>,
    /// Name of the workflow status; the workflow's first without it.
    pub status: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<Given>,
    /// XML text or JSON with the root `props`.
    pub system_attributes: Option<Given>,
    /// The main one without it.
    pub database_id: Option<DatabaseRef>,
    pub create_mode: Option<WireCreateMode>,
    pub options: Option<Object<CreateOptions>>,
}

/// Body of the update of a topic: what is named changes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateTopic {
    pub name: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<Given>,
    /// Name of the workflow status.
    pub status: Option<String>,
}

/// Body of an item or subitem. Of one that is there what is named changes; a new one needs a name.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ItemBody {
    /// What it is called; names need not differ.
    pub name: Option<String>,
    /// What kind of content is planned.
    pub content_type: Option<String>,
    /// Free text.
    pub comment: Option<String>,
    /// What the assignees do.
    pub occupation: Option<String>,
    /// How urgent it is.
    pub priority: Option<Word>,
    /// How urgent it is, in the newsroom's own words.
    pub custom_priority: Option<Word>,
    /// The product that it is for.
    pub product: Option<String>,
    /// The edition that it is for.
    pub edition: Option<String>,
    /// Who is to do it.
    pub assignees: Option<Vec<String>>,
    /// When it is to be done, epoch seconds; null takes it back.
    #[serde(deserialize_with = "said")]
    pub due_date: Option<Option<u64>>,
    /// Name of the workflow status.
    pub status: Option<String>,
    /// `yyyyMMdd` or `yyMMdd`; a new item has that of its topic without it, a subitem that of its
    /// item.
    pub issue_date: Option<String>,
    /// Path of the work folder; likewise.
    pub work_folder: Option<String>,
    /// XML text or JSON.
    pub attributes: Option<Given>,
    /// XML text or JSON with the root `props`.
    pub system_attributes: Option<Given>,
    /// Loid, uuid or path of the object that hangs on it; null takes it away.
    #[serde(deserialize_with = "said")]
    pub attachment: Option<Option<String>>,
    /// Where the path of the attachment is looked up; the main one without it.
    pub database_id: Option<DatabaseRef>,
    /// Counted from 0 among items and dividers; −1 is the end, and so is nothing of a new item.
    pub position: Option<i64>,
    pub options: Option<Object<ReplyOptions>>,
}

/// A field that is there says something, if only null.
fn said<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// What a reply to a change shows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplyOptions {
    /// The record of the attached object.
    pub show_attachment: Option<bool>,
}

/// Body of an attachment.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachBody {
    pub options: Option<Object<ReplyOptions>>,
}

/// Body of a divider.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DividerBody {
    /// Empty in a new one without it.
    pub title: Option<String>,
    /// Counted from 0 among items and dividers; −1 is the end, and so is nothing of a new divider.
    pub position: Option<i64>,
}

/// Body of a move.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveBody {
    /// Items and subitems of any topics, or topics: loids or uuids, of topics also paths. 500
    /// topics at most.
    pub sources: SourceList,
    /// The topic that the items go to, or the plan that the topics go to: loid, uuid or path.
    pub target: String,
    /// Where the first is to stand, counted from 0 among what stays in the target; −1 and nothing
    /// are the end.
    pub position: Option<i64>,
    /// The main one without it.
    #[serde(default)]
    pub database_id: Option<DatabaseRef>,
}
