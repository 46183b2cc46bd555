//! `[liveblog]`, `[story]`, `[topic]` and `[topic_plan]`: the templates of new objects.

use serde::{Deserialize, Serialize};

use super::public::PublicConfig;

/// `[liveblog]`: liveblogs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveblogConfig {
    /// Path of the object, in the main database, from which a liveblog is created when the call
    /// names no template.
    pub template: String,
    /// Live blogs that everybody may read.
    pub public: PublicConfig,
}

impl Default for LiveblogConfig {
    fn default() -> LiveblogConfig {
        LiveblogConfig {
            template: "/SysConfig/Product/Shared/Templates/Default/liveblog.xml".to_owned(),
            public: PublicConfig::default(),
        }
    }
}

/// `[story]`: stories of the older surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoryConfig {
    /// Path of the object, in the main database, from which a story is created when the call has no
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
    /// Path of the topic, in the main database, from which a topic is created when the call names
    /// no template.
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
    /// Path of the plan, in the main database, from which a plan is created when the call names no
    /// template.
    pub template: String,
}

impl Default for TopicPlanConfig {
    fn default() -> TopicPlanConfig {
        TopicPlanConfig { template: "/SysConfig/Product/Shared/Templates/Default/topicplan".to_owned() }
    }
}
