//! Topic plans on the wire.

use schemars::JsonSchema;
use serde::Serialize;
use stet_actors::object::Text;

use crate::api::object::Correlate;
use crate::api::topic::{Divider, Gone, StructureLine, TopicItem};
use crate::json::{Changed, Listed, Ready};
use crate::records::ObjectRecord;

/// `info` of a plan: its record, and what a plan has beside. Numbers speak of the topics that the
/// caller sees.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanInfo")]
pub struct PlanInfo {
    /// The record.
    #[serde(flatten)]
    pub record: ObjectRecord,
    /// May be empty.
    pub title: Text,
    /// May be empty.
    pub description: Text,
    /// How many topics can be seen.
    pub count: usize,
}

/// A plan.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanReply")]
pub struct PlanReply {
    /// The plan.
    pub info: PlanInfo,
    /// Dividers between its topics.
    pub dividers: Vec<Divider>,
    /// What it is linked with, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<Correlate>>,
    /// Its topics, first to last, as many as were asked for. A change has those that it was about.
    pub items: Listed<PlannedTopic>,
    /// How many topics can be seen; not in the reply to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

/// The answer to a change of a plan; of one that others have destroyed since, or moved out of the
/// caller's sight, no more than which it was.
pub type ChangedPlan = Changed<PlanReply, Gone>;

/// A topic of a plan.
#[derive(Serialize, JsonSchema)]
pub struct PlannedTopic {
    /// The topic's record.
    pub info: Ready<ObjectRecord>,
    /// Counted from 0 among the topics that can be seen and the dividers.
    pub position: usize,
    /// Dividers between its items, where those are asked for.
    pub dividers: Vec<Divider>,
    /// What it is linked with, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlates: Option<Vec<Correlate>>,
    /// Its items, where they are asked for.
    pub items: Listed<TopicItem>,
}

/// A plan and the ids of what is in it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TopicPlanStructure")]
pub struct PlanStructure {
    /// The plan.
    pub info: PlanInfo,
    /// Its topics and dividers, first to last, as many as were asked for.
    pub items: Vec<StructureLine>,
    /// How many topics that can be seen and dividers there are.
    pub total: usize,
}
