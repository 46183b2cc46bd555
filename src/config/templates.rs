//! `[liveblog]`, `[story]`, `[topic]` and `[topic_plan]`: what these begin with.

use serde::{Deserialize, Serialize};

/// `[liveblog]`: liveblogs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveblogConfig {
    /// Path of the object, in the main database, that a liveblog is made from when the call names
    /// no template.
    pub template: String,
}

impl Default for LiveblogConfig {
    fn default() -> LiveblogConfig {
        LiveblogConfig { template: "/SysConfig/Product/Shared/Templates/Default/liveblog.xml".to_owned() }
    }
}

/// `[story]`: stories of the older surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoryConfig {
    /// Path of the object, in the main database, that a story is made from when the call brings no
    /// content.
    pub template: String,
}

impl Default for StoryConfig {
    fn default() -> StoryConfig {
        StoryConfig { template: "/SysConfig/Product/Shared/Templates/Default/story.xml".to_owned() }
    }
}

/// `[topic]`: topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TopicConfig {
    /// Path of the topic, in the main database, that a topic is made from when the call names no
    /// template.
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
    /// Path of the plan, in the main database, that a plan is made from when the call names no
    /// template.
    pub template: String,
}

impl Default for TopicPlanConfig {
    fn default() -> TopicPlanConfig {
        TopicPlanConfig { template: "/SysConfig/Product/Shared/Templates/Default/topicplan".to_owned() }
    }
}
