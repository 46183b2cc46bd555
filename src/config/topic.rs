//! `[topic]` and `[topic_plan]`.

use serde::{Deserialize, Serialize};

/// `[topic]`: topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TopicConfig {
    /// Path of the topic, in the main database, that a topic is made from when the call names no template.
    pub template: String,
}

impl Default for TopicConfig {
    fn default() -> TopicConfig {
        TopicConfig { template: "/SysConfig/Product/Shared/Templates/Default/topic".to_owned() }
    }
}

/// `[topic_plan]`: topic plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TopicPlanConfig {
    /// Path of the plan, in the main database, that a plan is made from when the call names no template.
    pub template: String,
}

impl Default for TopicPlanConfig {
    fn default() -> TopicPlanConfig {
        TopicPlanConfig { template: "/SysConfig/Product/Shared/Templates/Default/topicplan".to_owned() }
    }
}
