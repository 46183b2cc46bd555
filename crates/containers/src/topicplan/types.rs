//! Topic plans on the wire.

use schemars::JsonSchema;
use serde::Serialize;
use stet_base::json::{ChangeAnswer, ReadyJson, ReplyList};
use stet_domain::object::SharedText;
use stet_newsroom::records::ObjectRecord;

use crate::correlates::CorrelateView;
use crate::topic::{DividerInfo, RemovedContainer, StructureLine, TopicItem};

/// `info` of a plan: its record, title and description. Counts and positions include only topics
/// that the caller may see.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanInfo")]
pub struct PlanInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// May be empty.
    pub title: SharedText,
    /// May be empty.
    pub description: SharedText,
    /// Number of visible topics.
    pub count: usize,
}

/// A plan.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanReply")]
pub struct PlanReply {
    /// The plan.
    pub info: PlanInfo,
    /// Dividers between its topics.
    pub dividers: Vec<DividerInfo>,
    /// The correlates of the plan, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<CorrelateView>>,
    /// The requested page of topics, in order. The reply to a change has only the topics concerned.
    pub items: ReplyList<PlannedTopic>,
    /// Total number of visible topics; absent in the reply to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// The reply to a change of a plan. It contains only the plan's identity if the plan was destroyed
/// since then, or moved out of the caller's sight.
pub type ChangedPlan = ChangeAnswer<PlanReply, RemovedContainer>;

/// A topic of a plan.
#[derive(Serialize, JsonSchema)]
pub struct PlannedTopic {
    /// The topic's record.
    pub info: ReadyJson<ObjectRecord>,
    /// Counted from 0 among the visible topics and the dividers.
    pub position: usize,
    /// Dividers between the topic's items, if those are requested.
    pub dividers: Vec<DividerInfo>,
    /// The correlates of the topic, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<CorrelateView>>,
    /// The topic's items, if requested.
    pub items: ReplyList<TopicItem>,
}

/// A plan and the ids of its topics and dividers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanStructure")]
pub struct PlanStructure {
    /// The plan.
    pub info: PlanInfo,
    /// The requested page of topics and dividers, in order.
    pub items: Vec<StructureLine>,
    /// Total number of visible topics and dividers.
    pub total: usize,
}
